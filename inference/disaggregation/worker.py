"""One of two worker processes: reads its orders, serves its requests, tells every pass. Greedy, on the CPU.

Started as `python -m inference.disaggregation.worker CONTROL INBOX OUTBOX` with three open file descriptors:
both ways to the parent, from the other worker, to the other worker. It ends when the parent does.
"""

import os
import shutil
import statistics
import sys
import time
from collections import deque
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty

import torch
from transformers import DynamicCache

from inference.disaggregation import handover, model_copy
from inference.disaggregation.records import StepTimes, Transfer, WorkerPass
from inference.disaggregation.streams import Streams
from inference.disaggregation.wire import (
    Began,
    Failed,
    Finished,
    FromWorker,
    Lost,
    Ready,
    Setup,
    Start,
    Timed,
    prompt_ids,
)
from inference.engine import Engine
from inference.trace import Phase

_REPEATS = 3  # the first of each warms up
_LOOK_S = 0.02  # how long it waits for a cache before it looks for orders again


class Orders:
    """The line to the parent. Whatever cannot be said or heard because the parent is gone ends the process."""

    def __init__(self, control: Connection) -> None:
        self._control = control

    def tell(self, message: FromWorker) -> None:
        try:
            self._control.send(message)
        except OSError:
            raise SystemExit(1) from None

    def hear(self) -> Setup | Start:
        try:
            order: Setup | Start = self._control.recv()
        except (EOFError, OSError):
            raise SystemExit(0) from None
        return order

    def check(self) -> None:
        """Ends the process if the parent is gone: nothing is said to a worker that serves."""
        if self._control.poll():
            raise SystemExit(0)


class ServingWorker:
    """Serves requests in the order they arrive: a waiting prompt goes before the next token of any stream."""

    def __init__(self, number: int, engine: Engine, orders: Orders, inbox: Connection, outbox: Connection) -> None:
        self._number, self._engine, self._orders, self._outbox = number, engine, orders, outbox
        self._arrivals = handover.receive_all(inbox)
        self._is_alone = False

    def serve(self, start: Start) -> None:
        """Until every request is done; without the other worker, as far as it can get."""
        self._start = start
        self._left = [ask.output_tokens for ask in start.asks]
        self._streams, self._awaited = Streams(self._engine), start.num_awaited
        waiting = deque(start.mine)
        while waiting or self._streams or (self._awaited and not self._is_alone):
            self._orders.check()
            now = self._now()
            due_s = start.asks[waiting[0]].arrival_s - now if waiting else _LOOK_S
            if waiting and due_s <= 0:
                self._prefill(waiting.popleft())
            elif self._streams:
                self._take(0.0)
                self._decode()
            else:
                self._take(min(due_s, _LOOK_S))
        self._orders.tell(Finished())

    def _now(self) -> float:
        return time.monotonic() - self._start.zero_s

    def _prefill(self, place: int) -> None:
        ask = self._start.asks[place]
        self._orders.tell(Began(f"the prefill of request {place + 1}"))
        start_s = self._now()
        newest, cache = _prefilled(self._engine, place, ask.prompt_tokens)
        self._tell_pass("prefill", {place: newest}, ask.prompt_tokens, start_s)
        if ask.output_tokens == 1:
            return
        if self._start.role == "both":
            self._streams.join(place, newest, cache)
            return
        self._orders.tell(Began(f"sending the cache of request {place + 1}"))
        try:
            handover.send(self._outbox, place, newest, cache)
        except OSError:
            self._lose(f"while sending it the cache of request {place + 1}")

    def _decode(self) -> None:
        start_s = self._now()
        new_ids, _ = self._streams.step()
        self._tell_pass("decode", new_ids, self._streams.context_len, start_s)

    def _tell_pass(self, phase: Phase, new_ids: dict[int, int], context_len: int, start_s: float) -> None:
        places, ids = tuple(new_ids), tuple(new_ids.values())
        self._orders.tell(WorkerPass(self._number, phase, places, ids, context_len, start_s, self._now()))
        for place in places:
            self._left[place] -= 1
            if not self._left[place] and place in self._streams.names:
                self._streams.leave(place)

    def _take(self, wait_s: float) -> None:
        """Put what has arrived beside the streams; waits for the first if there is nothing else to do."""
        while True:
            try:
                arrived = self._arrivals.get(timeout=wait_s) if wait_s > 0 else self._arrivals.get_nowait()
            except Empty:
                return
            if isinstance(arrived, handover.PeerLost):
                self._lose("while waiting for a cache" if self._awaited else "while serving its own requests")
                return
            zero_s, wait_s = self._start.zero_s, 0.0
            self._awaited -= 1
            self._left[arrived.ask] -= 1  # its prefill gave the first one
            self._orders.tell(
                Transfer(arrived.ask, arrived.num_bytes, arrived.start_s - zero_s, arrived.end_s - zero_s)
            )
            self._streams.join(arrived.ask, arrived.newest, arrived.cache)

    def _lose(self, noticed: str) -> None:
        if not self._is_alone:
            self._orders.tell(Lost(noticed))
        self._is_alone = True


def _prefilled(engine: Engine, place: int, num_tokens: int) -> tuple[int, DynamicCache]:
    """The first token of a request, and its cache."""
    cache = DynamicCache()
    return int(engine.forward(prompt_ids(place, num_tokens), cache).logits.argmax()), cache


def _time_passes(engine: Engine, orders: Orders, setup: Setup) -> StepTimes:
    """Median seconds of a prefill at each length, and of a decode pass at each batch, at the shortest prompt."""
    prefill, decode = [], []
    for length in setup.prompt_lengths:
        orders.tell(Timed(f"prefill of {length:,} tokens"))
        times = [engine.forward(prompt_ids(0, length), DynamicCache()).forward_s for _ in range(_REPEATS)]
        prefill.append((length, statistics.median(times[1:])))
    for batch in setup.batch_sizes:
        orders.tell(Timed(f"decode at batch {batch}"))
        streams = Streams(engine)
        for place in range(batch):
            streams.join(place, *_prefilled(engine, place, setup.prompt_lengths[0]))
        times = [streams.step()[1].forward_s for _ in range(_REPEATS)]
        decode.append((batch, statistics.median(times[1:])))
    return StepTimes(tuple(prefill), tuple(decode))


def _pin(cores: tuple[int, ...]) -> bool:
    if not cores or sys.platform != "linux":
        return False
    os.sched_setaffinity(0, cores)
    return True


def main(control: int, inbox: int, outbox: int) -> None:
    orders = Orders(Connection(control))
    setup = orders.hear()
    assert isinstance(setup, Setup)
    try:
        torch.set_num_threads(setup.num_threads)
        is_pinned = _pin(setup.cores)
        engine = model_copy.read(Path(setup.folder))
        peer = Connection(inbox, writable=False), Connection(outbox, readable=False)
        worker = ServingWorker(setup.number, engine, orders, *peer)
        orders.tell(Ready(_time_passes(engine, orders, setup), is_pinned))
        while True:
            start = orders.hear()
            assert isinstance(start, Start)
            worker.serve(start)
    except (RuntimeError, MemoryError, ValueError, OSError) as error:
        orders.tell(Failed(str(error) or type(error).__name__))
    finally:
        shutil.rmtree(setup.folder, ignore_errors=True)  # the parent does it too, unless it was killed


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
