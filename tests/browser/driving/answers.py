"""What a page asked the server for and what was answered, read from the messages between them."""

import time

from playwright.sync_api import Page, WebSocket
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
_LOOK_AGAIN_MS = 20


class Answers:
    """Counts requests to run the script, and the request whose run was the last to end."""

    def __init__(self, page: Page) -> None:
        self.num_asked = self.num_answered = 0
        self._running = 0
        self._page = page
        page.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        self.num_answered = self.num_asked  # what was asked over an older connection is not answered any more
        socket.on("framesent", self._sent)
        socket.on("framereceived", self._received)

    def _sent(self, frame: bytes | str) -> None:
        if isinstance(frame, bytes) and BackMsg.FromString(frame).WhichOneof("type") == "rerun_script":
            self.num_asked += 1

    def _received(self, frame: bytes | str) -> None:
        if not isinstance(frame, bytes):
            return
        message = ForwardMsg.FromString(frame)
        if message.WhichOneof("type") == "new_session":
            self._running = self.num_asked  # a run that begins takes in all that was asked before
        has_ended = message.WhichOneof("type") == "script_finished"
        if has_ended and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self.num_answered = self._running

    def wait(self, before: int, timeout_s: float) -> None:
        """Until what was asked after `before` requests is answered; at once if nothing was asked.

        A press is handled within the next frame: what it asks for has been sent by then.
        """
        self._page.evaluate(_TWO_FRAMES)
        if self.num_asked > before:
            self.wait_for(self.num_asked, timeout_s)

    def wait_for(self, wanted: int, timeout_s: float) -> None:
        """Until the request of that number, which may not even have been sent yet, is answered."""
        deadline = time.monotonic() + timeout_s
        while self.num_answered < wanted:
            assert time.monotonic() < deadline, f"request {wanted} was not answered in {timeout_s:.0f} s"
            self._page.wait_for_timeout(_LOOK_AGAIN_MS)
