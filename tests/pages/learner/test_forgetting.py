"""A learner who deletes is forgotten in every session of their browser, in open tabs and in those left behind."""

import asyncio
import gc
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime, RuntimeConfig, SessionClient
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from pages.ui.serving.cookies import LEARNER_COOKIE

MARK = "my own secret words"
SCRIPT = f"""
import streamlit as st
from pages.ui import state
from pages.ui.learner import forgetting, key

forgetting.forget_if_wished()
match dict(st.query_params).get("do"):
    case "write":
        state.set_widget("prompt", "{MARK}")
        state.keep_guess(key.key(), "p", "{MARK}")
        state.remembered("earlier answers", 1, lambda: ["{MARK}"])
    case "delete":
        forgetting.forget_learner()
"""
MINE, THEIRS = "ab" * 16, "cd" * 16


@dataclass
class Browser:
    """The context of a connection."""

    name: str
    headers: tuple[tuple[str, str], ...] = ()
    remote_ip: str | None = "10.0.0.7"

    @property
    def cookies(self) -> Mapping[str, str]:
        return {LEARNER_COOKIE: self.name}


class Client(SessionClient):
    def __init__(self, name: str) -> None:
        self._browser = Browser(name)

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        """Nothing is drawn here."""

    @property
    def client_context(self) -> Browser:
        return self._browser


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Runtime]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    files = MemoryMediaFileStorage("/media"), MemoryUploadedFileManager("/upload")
    yield Runtime(RuntimeConfig(str(script), *files))
    Runtime._instance = None


def held(word: str, root: object) -> bool:
    """Whether anything that can be reached from here is a text with this word in it."""
    seen, waiting = {id(root)}, [root]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and word in one:
            return True
        for found in gc.get_referents(one):
            if id(found) not in seen and not isinstance(found, ModuleType | FunctionType | FrameType | type):
                seen.add(id(found))
                waiting.append(found)
    return False


async def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def run_script(server: Runtime, session: str, query: str) -> None:
    message = BackMsg()
    message.rerun_script.query_string = query
    server.handle_backmsg(session, message)
    await until(lambda: _num_runs(server, session) > 0 and not _is_running(server, session))


def _app(server: Runtime, session: str) -> Any:
    info = server._session_mgr.get_session_info(session)
    return info.session if info else None


def _num_runs(server: Runtime, session: str) -> int:
    return len(_app(server, session).session_state.filtered_state)


def _is_running(server: Runtime, session: str) -> bool:
    return str(_app(server, session)._state).endswith("APP_IS_RUNNING")


def test_every_session_of_the_browser_is_emptied_and_nobody_elses(server: Runtime) -> None:
    async def go() -> None:
        await server.start()
        names = {"here": MINE, "open": MINE, "left": MINE, "stranger": THEIRS}
        ids = {role: server.connect_session(Client(name), {}) for role, name in names.items()}
        for session in ids.values():
            await run_script(server, session, "do=write")
        server.disconnect_session(ids["left"])
        states = {role: _app(server, session).session_state for role, session in ids.items()}
        assert all(held(MARK, one) for one in states.values())

        await run_script(server, ids["here"], "do=delete")
        await until(lambda: not held(MARK, states["open"]))
        assert not held(MARK, states["here"])
        assert _app(server, ids["left"]) is None
        assert server.is_active_session(ids["open"])
        assert held(MARK, states["stranger"])
        server.stop()
        await server.stopped
        assert not held(MARK, states["open"])

    asyncio.run(go())
