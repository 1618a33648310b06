"""Records the cases of the diagnosis on this machine: `python -m benchmarks.diagnosis_cases`, a few minutes.

Every pass is real; only the arrival at the client is simulated. A case whose tell-tale is not clear is made again.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from statistics import median

import torch
from pydantic import TypeAdapter

from inference.arithmetic.metrics import Request
from inference.cost import forward_work
from inference.device import device_name
from inference.engine import Engine
from inference.jobs.worker import Worker
from inference.latency.diagnosis import CAUSES, SlowRequest, TimedPass
from inference.latency.request_events import in_chunks

FOLDER = Path(__file__).parents[1] / "lessons/traces/diagnosis"
NUM_TOKENS = 13  # of each answer: a prefill and 12 decode passes
SHORT, LONG = 12, 700
CONTEXT = 7_000
CHUNK = 4  # tokens per event
SLOW_S = 4.0  # a slow client takes an event every so many decode passes
MAX_TRIES = 4
_CASE = TypeAdapter(SlowRequest)
# Which number each case gets: fixed, so that a link to a case stays right, and in no order that helps.
ORDER = (
    "chunks",
    "prefix miss",
    "stalled by a neighbour",
    "overhead",
    "long prompt",
    "slow client",
    "cold start",
    "memory pressure",
    "queue",
    "long context",
)


def is_clear(case: SlowRequest, margin: float = 1.2) -> bool:
    """Exactly the cause it was recorded for, with room on both sides of every limit."""
    return all(
        cause.tell(case) >= cause.limit * margin if name == case.cause else cause.tell(case) <= cause.limit / margin
        for name, cause in CAUSES.items()
    )


class _Sequence:
    """One request's cache, fed by hand so that a case can do to it what servers do."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._cache = engine.new_cache()
        self._ids: list[int] = []

    def feed(self, num_tokens: int, queue_s: float = 0.0) -> TimedPass:
        rebuild_s = 0.0
        if self._cache.get_seq_length() < len(self._ids):
            rebuild_s = self._engine.forward(self._ids, self._cache).forward_s
        ids = [(7 * (len(self._ids) + place)) % 200 + 10 for place in range(num_tokens)]  # which ones costs nothing
        forward_s = self._engine.forward(ids, self._cache).forward_s
        self._ids += ids
        return TimedPass(num_tokens, len(self._ids), queue_s, rebuild_s, forward_s)

    def fill(self, num_tokens: int) -> None:
        """Untimed, in slices: what an earlier turn left in the cache."""
        for start in range(0, num_tokens, 500):
            self.feed(min(500, num_tokens - start))

    def release(self) -> None:
        self._cache = self._engine.new_cache()

    def repeat(self, num_tokens: int) -> float:
        """Seconds of a pass of `num_tokens` from here, which leaves nothing behind: a median of 5."""
        times = []
        for _ in range(5):
            times.append(
                self._engine.forward(self._ids[:1] * num_tokens or [10] * num_tokens, self._cache).forward_s
            )
            self._cache.crop(-num_tokens)
        return median(times)

    def answer(self, num_prompt: int) -> tuple[TimedPass, ...]:
        return (self.feed(num_prompt), *(self.feed(1) for _ in range(NUM_TOKENS - 1)))


def stream(passes: Sequence[TimedPass], num_prompt: int) -> Request:
    """Each token as the server has it; the way to the client takes no time."""
    times = tuple(accumulate(one.total_s for one in passes))
    return Request(0.0, times, (1,) * len(times), num_prompt)


def slowly(request: Request, gap_s: float) -> Request:
    """The same events through a client that takes one every `gap_s` seconds at most."""
    times: list[float] = []
    for ready_s in request.event_times_s:
        times.append(max(ready_s, times[-1] + gap_s if times else ready_s))
    return Request(request.sent_s, tuple(times), request.tokens_per_event, request.num_prompt_tokens)


class Recorder:
    """Makes each case by doing what its cause does."""

    def __init__(
        self, load: Callable[[], Engine], small: Engine, worker: Worker, *, long: int = LONG, context: int = CONTEXT
    ) -> None:
        self._load, self._small, self._worker = load, small, worker
        self._engine = load()
        self._engine.warm_up()
        small.warm_up()
        self._long, self._context = long, context

    def cold_start(self) -> SlowRequest:
        """Loading the weights counts into the first pass, as it does for a client."""
        start = time.perf_counter()
        engine = self._load()
        load_s = time.perf_counter() - start
        first, *later = _Sequence(engine).answer(SHORT)
        passes = (replace(first, forward_s=load_s + first.forward_s), *later)
        words = "The server had been scaled to zero: it loaded the model's weights before the first pass."
        return self._case("cold start", words, passes, engine=engine)

    def long_prompt(self) -> SlowRequest:
        passes = _Sequence(self._engine).answer(self._long)
        return self._case("long prompt", f"A prompt of {self._long} tokens on a warm, idle server.", passes)

    def prefix_miss(self) -> SlowRequest:
        passes = _Sequence(self._engine).answer(self._long)
        kept = _Sequence(self._engine)
        kept.fill(self._long - SHORT)
        words = f"A prompt of {self._long} tokens, all but {SHORT} computed for an earlier request and not kept."
        return self._case(
            "prefix miss", words, passes, shared=self._long - SHORT, reused_prefill_s=kept.repeat(SHORT)
        )

    def queue(self) -> SlowRequest:
        mine = _Sequence(self._engine)
        first = self._behind_a_neighbour(lambda queue_s: mine.feed(SHORT, queue_s), 2 * self._long)
        words = f"A prompt of {2 * self._long:,} tokens came in just before it; one worker serves both."
        return self._case("queue", words, (first, *(mine.feed(1) for _ in range(NUM_TOKENS - 1))))

    def stalled(self) -> SlowRequest:
        mine = _Sequence(self._engine)
        early = [mine.feed(SHORT), *(mine.feed(1) for _ in range(4))]
        stall = self._behind_a_neighbour(lambda queue_s: mine.feed(1, queue_s), self._long)
        words = f"A neighbour's prefill of {self._long} tokens came in between two of its decode passes."
        late = [mine.feed(1) for _ in range(NUM_TOKENS - 1 - len(early))]
        return self._case("stalled by a neighbour", words, (*early, stall, *late))

    def slow_client(self) -> SlowRequest:
        passes = _Sequence(self._engine).answer(SHORT)
        pace = SLOW_S * median(one.forward_s for one in passes)
        words = f"A client that takes one event every {SLOW_S:.0f} decode passes (simulated)."
        return self._case("slow client", words, passes, client=slowly(stream(passes, SHORT), pace))

    def chunks(self) -> SlowRequest:
        passes = _Sequence(self._engine).answer(SHORT)
        words = f"The server sends {CHUNK} tokens in one event (simulated)."
        return self._case("chunks", words, passes, client=in_chunks(stream(passes, SHORT), CHUNK))

    def overhead(self) -> SlowRequest:
        num_prompt = 300
        passes = _Sequence(self._small).answer(num_prompt)
        words = "A model of random weights, so small that reading and multiplying them takes next to no time."
        return self._case("overhead", words, passes, engine=self._small)

    def memory_pressure(self) -> SlowRequest:
        mine = _Sequence(self._engine)
        mine.fill(self._long)
        early = [mine.feed(SHORT), *(mine.feed(1) for _ in range(6))]
        mine.release()
        late = [mine.feed(1) for _ in range(NUM_TOKENS - len(early))]
        words = "Its KV cache was given up in the middle, to make room for another's, and computed again."
        return self._case("memory pressure", words, (*early, *late), shared=self._long)

    def long_context(self) -> SlowRequest:
        mine = _Sequence(self._engine)
        mine.fill(self._context)
        words = f"A chat of {self._context:,} tokens, kept in the cache; its last message is short."
        return self._case("long context", words, mine.answer(SHORT), shared=self._context)

    def _behind_a_neighbour(self, run: Callable[[float], TimedPass], num_tokens: int) -> TimedPass:
        """The worker is given the neighbour's prefill first; the wait is the worker's own clock."""
        neighbour = _Sequence(self._engine)
        self._worker.submit(lambda queue_s: neighbour.feed(num_tokens))
        return self._worker.submit(run).result()

    def _case(
        self,
        cause: str,
        conditions: str,
        passes: tuple[TimedPass, ...],
        *,
        client: Request | None = None,
        shared: int = 0,
        reused_prefill_s: float | None = None,
        engine: Engine | None = None,
    ) -> SlowRequest:
        engine = engine or self._engine
        first = passes[0]
        before = first.context_len - first.num_query_tokens
        alone = _Sequence(engine)
        usual_decode_s = _short_decode_s(engine)
        alone.fill(before)
        num_prompt = first.context_len
        return SlowRequest(
            cause=cause,
            conditions=conditions,
            model=engine.name,
            weight_bytes=int(forward_work(engine.spec, num_query_tokens=1, context_len=1).weight_bytes),
            dtype=str(engine.dtype).removeprefix("torch."),
            device=device_name(engine.device),
            threads=torch.get_num_threads(),
            torch_version=torch.__version__,
            date=datetime.now().astimezone().isoformat(timespec="seconds"),
            load=round(os.getloadavg()[0], 2),
            num_prompt_tokens=num_prompt,
            num_shared_tokens=shared,
            usual_prefill_s=alone.repeat(first.num_query_tokens),
            usual_decode_s=usual_decode_s,
            reused_prefill_s=reused_prefill_s,
            passes=passes,
            client=client or stream(passes, num_prompt),
        )


def _short_decode_s(engine: Engine) -> float:
    short = _Sequence(engine)
    short.fill(SHORT)
    return short.repeat(1)


def record(recorder: Recorder) -> Iterator[SlowRequest]:
    """Every case, clear or the last try of it."""
    for make in (
        recorder.cold_start,
        recorder.long_prompt,
        recorder.prefix_miss,
        recorder.queue,
        recorder.stalled,
        recorder.slow_client,
        recorder.chunks,
        recorder.overhead,
        recorder.memory_pressure,
        recorder.long_context,
    ):
        case = make()
        for _ in range(MAX_TRIES - 1):
            if is_clear(case):
                break
            case = make()
        yield case


def main(folder: Path = FOLDER) -> int:
    """Write what is clear; returns how many cases are not."""
    folder.mkdir(parents=True, exist_ok=True)
    worker = Worker()
    num_unclear = 0
    for case in record(Recorder(Engine.load, Engine.load("random:tiny"), worker)):
        tells = ", ".join(f"{name} {cause.tell(case) / cause.limit:.2f}" for name, cause in CAUSES.items())
        print(f"{case.cause}: {tells}", flush=True)
        if is_clear(case):
            (folder / f"case-{ORDER.index(case.cause) + 1}.json").write_bytes(_CASE.dump_json(case, indent=1))
        else:
            num_unclear += 1
            print("  not clear, so not written; run this again on a quieter machine", flush=True)
    worker.stop()
    return num_unclear


if __name__ == "__main__":
    sys.exit(main())
