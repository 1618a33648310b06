"""A learner's browser reduced to its websocket: it reruns the page, presses buttons and reads what comes back."""

import asyncio
import json
import re
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

LEARNER_COOKIE = "two_phases_learner"
_POLL_S = 0.3  # the page's own clock asks again after as long
_MAX_POLLS = 100
_SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_STATUS = re.compile(r"step (\d+) of \d+")


@dataclass(slots=True)
class Learner:
    """Sends nothing before the last answer has come, as a browser with one patient learner."""

    socket: ClientConnection
    page: str
    query: str = ""
    page_hash: str = ""
    step: int = 0
    """As the page's status text says; 0 before prefill."""
    pass_s: float = 0.0
    """Of the pass on the screen, as the page's own card says it; 0 before the first."""
    buttons: dict[str, str] = field(default_factory=dict)
    """Key to widget id, as seen in the newest run; the disabled are not among them."""

    async def rerun(self, pressed: str | None = None) -> float:
        """One run of the page, with a button pressed or none; the seconds until its script has finished."""
        states = [] if pressed is None else [WidgetState(id=self.buttons[pressed], trigger_value=True)]
        self.buttons.clear()
        self.step = 0
        client = ClientState(
            page_name=self.page,
            page_script_hash=self.page_hash,
            query_string=self.query,
            widget_states=WidgetStates(widgets=states),
        )
        start = time.perf_counter()
        await self.socket.send(BackMsg(rerun_script=client).SerializeToString())
        while True:
            data = await self.socket.recv()
            assert isinstance(data, bytes)
            message = ForwardMsg.FromString(data)
            kind = message.WhichOneof("type")
            if kind == "navigation":
                self.page_hash = message.navigation.page_script_hash
            elif kind == "delta":
                self._read(message.delta)
            elif kind == "script_finished":
                if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    return time.perf_counter() - start
                if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    raise RuntimeError("the page's script failed; look at the server's log")

    async def press(self, key: str) -> float:
        """Press a button and wait until the step it asked for is on the page; the seconds of all that."""
        start, before = time.perf_counter(), 0 if key == "prefill" else self.step
        await self.rerun(key)
        for _ in range(_MAX_POLLS):
            if self.step not in (0, before):
                break
            await asyncio.sleep(_POLL_S)
            await self.rerun()
        if self.step != before + 1:
            raise RuntimeError(f"{key} led from step {before} to step {self.step}")
        return time.perf_counter() - start

    def _read(self, delta: Delta) -> None:
        element = delta.new_element
        kind = element.WhichOneof("type")
        if kind == "button" and not element.button.disabled:
            self.buttons[element.button.id.split("-", 2)[2]] = element.button.id  # $$ID-hash-key
        elif kind == "bidi_component" and element.bidi_component.id.endswith("-pass"):
            self.pass_s = _measured_s(element.bidi_component.json)
        elif kind == "text" and (found := _STATUS.match(element.text.body)):
            self.step = int(found[1])


def _measured_s(card: str) -> float:
    """Seconds that a pass card calls measured; 0 where it has none yet."""
    figures = json.loads(card)["figures"]
    said = next((figure["value"] for figure in figures if figure["label"] == "measured"), "0 s")
    number, unit = said.split()
    return float(number.replace(",", "")) * _SECONDS[unit]


@asynccontextmanager
async def learner(port: int, page: str, *, query: str = "", name: str = "") -> AsyncIterator[Learner]:
    """A learner whose first run of the page has finished. `name` is their cookie, 32 hex digits."""
    headers = {"Cookie": f"{LEARNER_COOKIE}={name or secrets.token_hex(16)}"}
    address = f"ws://127.0.0.1:{port}/_stcore/stream"
    names = [Subprotocol("streamlit")]
    async with connect(address, subprotocols=names, additional_headers=headers, max_size=None) as socket:
        found = Learner(socket, page, query)
        await found.rerun()
        yield found
