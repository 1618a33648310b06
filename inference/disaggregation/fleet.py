"""Prefill and decode workers at any scale: a discrete-event simulation with the passes of a given pace."""

from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

import numpy as np
import simpy

from inference.arithmetic.metrics import Request
from inference.disaggregation.pace import Pace
from inference.disaggregation.records import ClientRequest

MOST_WORKERS, MOST_SIMULATED = 32, 500
Events = Generator[simpy.Event, None, None]


@dataclass(frozen=True, slots=True)
class Fleet:
    """Workers, and the link each prefill worker sends finished caches over."""

    num_prefill: int
    num_decode: int
    """0: nobody only decodes; the `num_prefill` workers are colocated and do both."""
    link: float = float("inf")
    """Bytes per second."""
    most_streams: int = 64
    """Sequences one worker decodes together; more wait for a place."""

    def __post_init__(self) -> None:
        if not (self.num_prefill >= 1 and self.num_decode >= 0 and self.num_workers <= MOST_WORKERS):
            raise ValueError(
                f"a fleet needs 1 or more prefill workers and at most {MOST_WORKERS} in all, "
                f"got {self.num_prefill} and {self.num_decode}"
            )
        if self.link <= 0 or self.most_streams < 1:
            raise ValueError(f"a link and a place are needed, got {self.link} bytes/s and {self.most_streams}")

    @property
    def num_workers(self) -> int:
        return self.num_prefill + self.num_decode


def poisson(
    rate: float, num_requests: int, *, prompt_tokens: int, output_tokens: int, seed: int
) -> list[ClientRequest]:
    """Requests that arrive at random, `rate` per second, with lengths spread evenly over half to one and a half."""
    if not (rate > 0 and 1 <= num_requests <= MOST_SIMULATED):
        raise ValueError(
            f"a simulation needs a rate above 0 and 1 to {MOST_SIMULATED} requests, got {rate:g} and {num_requests}"
        )
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1.0, num_requests)) / rate
    prompts = _spread(rng, prompt_tokens, num_requests)
    outputs = _spread(rng, output_tokens, num_requests)
    return [ClientRequest(*values) for values in zip(arrivals.tolist(), prompts, outputs, strict=True)]


def _spread(rng: np.random.Generator, mean: int, count: int) -> list[int]:
    values: list[int] = rng.integers(max(mean // 2, 1), mean + mean // 2, count, endpoint=True).tolist()
    return values


def simulate(asks: Sequence[ClientRequest], fleet: Fleet, pace: Pace, *, bytes_per_token: float) -> list[Request]:
    """What every client would see, in the order of `asks`. All of it is simulated, nothing measured.

    As in the two-process run: a waiting prompt goes before the next token of any stream, all streams of a worker
    share a pass, and colocated requests are dealt out in turn. Apart, prompts wait in one queue for any prefill
    worker; a cache is sent while the next prompt is computed, to the decode worker with the fewest streams.
    """
    world = _World(asks, fleet, pace, bytes_per_token)
    world.env.run()
    return [
        Request(ask.arrival_s, tuple(times), (1,) * len(times), ask.prompt_tokens)
        for ask, times in zip(asks, world.times, strict=True)
    ]


@dataclass(slots=True, eq=False)
class _Worker:
    """What waits at one worker, and the event that wakes it."""

    prompts: "deque[int]"
    wake: simpy.Event
    can_prefill: bool
    arrived: "deque[int]" = field(default_factory=deque)
    """Streams to be decoded that have no place yet."""
    streams: "list[int]" = field(default_factory=list)

    @property
    def num_streams(self) -> int:
        return len(self.arrived) + len(self.streams)


class _World:
    def __init__(self, asks: Sequence[ClientRequest], fleet: Fleet, pace: Pace, bytes_per_token: float) -> None:
        self.env = simpy.Environment()
        self.times: list[list[float]] = [[] for _ in asks]
        self._asks, self._fleet, self._pace, self._bytes_per_token = asks, fleet, pace, bytes_per_token
        common: deque[int] = deque()
        is_apart = fleet.num_decode > 0
        self._prefillers = [
            _Worker(common if is_apart else deque(), self.env.event(), can_prefill=True)
            for _ in range(fleet.num_prefill)
        ]
        self._decoders = [_Worker(deque(), self.env.event(), can_prefill=False) for _ in range(fleet.num_decode)]
        self.env.process(self._arrive())
        for worker in self._prefillers:
            self.env.process(self._work(worker, simpy.Resource(self.env)))
        for worker in self._decoders:
            self.env.process(self._work(worker, None))

    def _arrive(self) -> Events:
        order = sorted(range(len(self._asks)), key=lambda place: self._asks[place].arrival_s)
        for number, place in enumerate(order):
            yield self.env.timeout(self._asks[place].arrival_s - self.env.now)
            self._prefillers[number % len(self._prefillers)].prompts.append(place)
            for worker in self._prefillers:
                _wake(worker)

    def _work(self, worker: _Worker, link: simpy.Resource | None) -> Events:
        while True:
            if worker.can_prefill and worker.prompts:
                yield from self._prefill(worker, worker.prompts.popleft(), link)
                continue
            while worker.arrived and len(worker.streams) < self._fleet.most_streams:
                worker.streams.append(worker.arrived.popleft())
            if worker.streams:
                yield from self._decode(worker)
            else:
                worker.wake = self.env.event()
                yield worker.wake

    def _prefill(self, worker: _Worker, place: int, link: simpy.Resource | None) -> Events:
        yield self.env.timeout(self._pace.prefill_s(self._asks[place].prompt_tokens))
        self.times[place].append(self.env.now)
        if self._asks[place].output_tokens == 1:
            return
        if self._decoders and link is not None:
            self.env.process(self._send(place, link))
        else:
            worker.arrived.append(place)

    def _send(self, place: int, link: simpy.Resource) -> Events:
        with link.request() as turn:
            yield turn
            yield self.env.timeout(self._asks[place].prompt_tokens * self._bytes_per_token / self._fleet.link)
        receiver = min(self._decoders, key=lambda worker: worker.num_streams)
        receiver.arrived.append(place)
        _wake(receiver)

    def _decode(self, worker: _Worker) -> Events:
        context = max(self._asks[place].prompt_tokens + len(self.times[place]) for place in worker.streams)
        yield self.env.timeout(self._pace.decode_s(len(worker.streams), context))
        for place in worker.streams:
            self.times[place].append(self.env.now)
        worker.streams = [
            place for place in worker.streams if len(self.times[place]) < self._asks[place].output_tokens
        ]


def _wake(worker: _Worker) -> None:
    if not worker.wake.triggered:
        worker.wake.succeed()
