"""Work in a process that can be ended: answers, refusals, and what becomes of work without end."""

import time
from concurrent.futures import Future
from typing import Any

import pytest

from inference.jobs import killable

PATIENCE_S = 60


def _double(value: int) -> int:
    return 2 * value


def _refuse(value: int) -> None:
    raise ValueError(f"{value} is refused")


def _never() -> None:
    while True:
        pass


def _fill() -> int:
    return len(b"x" * 2_000_000_000)


def _fail() -> None:
    raise KeyError("x")


def _submit(function: Any, *args: object, deadline_s: float = 10.0) -> Future[Any]:
    return killable.submit(function, *args, deadline_s=deadline_s)


def test_it_answers_and_refuses_as_the_function_does() -> None:
    assert _submit(_double, 21).result(PATIENCE_S) == 42
    with pytest.raises(ValueError, match="7 is refused"):
        _submit(_refuse, 7).result(PATIENCE_S)
    assert _submit(_double, 4).result(PATIENCE_S) == 8


def test_work_without_end_is_ended_and_the_next_is_served() -> None:
    with pytest.raises(killable.KilledError, match=r"took longer than 0\.5 s"):
        _submit(_never, deadline_s=0.5).result(PATIENCE_S)
    assert _submit(_double, 1).result(PATIENCE_S) == 2


@pytest.mark.parametrize("work", [_fill, _fail])
def test_work_that_brings_its_process_down_says_so_and_the_next_is_served(work: Any) -> None:
    with pytest.raises(killable.KilledError, match="ended without an answer"):
        _submit(work).result(PATIENCE_S)
    assert _submit(_double, 1).result(PATIENCE_S) == 2


def test_others_are_served_beside_work_without_end() -> None:
    endless = _submit(_never, deadline_s=1.0)
    start = time.monotonic()
    assert _submit(_double, 1).result(PATIENCE_S) == 2
    assert endless.running() or time.monotonic() - start > 1
    with pytest.raises(killable.KilledError):
        endless.result(PATIENCE_S)
