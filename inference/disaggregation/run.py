"""Serves the same requests colocated and disaggregated, on the same two worker processes."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from inference.disaggregation import model_copy
from inference.disaggregation.pair import NAMES, WorkerPair
from inference.disaggregation.records import (
    ARRANGEMENTS,
    ArrangementComparison,
    ArrangementRun,
    ClientRequest,
    StepTimes,
    Transfer,
    WorkerPass,
)
from inference.disaggregation.wire import (
    BATCH_SIZES,
    PROMPT_LENGTHS,
    ROLES,
    Began,
    Finished,
    FromWorker,
    Ready,
    Start,
    Timed,
)
from inference.engine import Engine
from inference.jobs.experiments import Report, Reports

_SHARED, _PREPARED = 0.05, 0.3  # of the work: when the weights are written, when the first request comes


def compare(engine: Engine, asks: tuple[ClientRequest, ...]) -> Reports[ArrangementComparison]:
    """Both arrangements, one after the other; no process and no file is left, however this ends."""
    pair = WorkerPair()
    comparison = ArrangementComparison(asks, (), StepTimes(), pair.threads_per_worker, is_pinned=False)
    try:
        for fraction in model_copy.write(engine, pair.folder):
            yield Report(_SHARED * min(fraction, 1), comparison, "sharing the weights")
        lengths = _prompt_lengths(asks, engine.spec.max_context)
        pair.start(lengths)
        messages = pair.messages()
        ready: list[Ready] = []
        words, num_timed = "starting two processes", 0
        while len(ready) < len(NAMES):
            message = next(messages)
            if isinstance(message, Ready):
                ready.append(message)
            elif isinstance(message, Timed):
                words, num_timed = f"timing a {message.words}", num_timed + 1
            share = num_timed / (len(NAMES) * (len(lengths) + len(BATCH_SIZES)))
            yield Report(_SHARED + (_PREPARED - _SHARED) * share, comparison, words)
        pair.delete()  # whatever ends this process from here on, nothing is left
        comparison = replace(
            comparison, step_times=_mean(ready), is_pinned=all(worker.is_pinned for worker in ready)
        )
        num_tokens = sum(ask.output_tokens for ask in asks)
        for place, arrangement in enumerate(ARRANGEMENTS):
            before = comparison.served
            for served, doing in _serve(pair, messages, asks, ArrangementRun(arrangement)):
                comparison = replace(comparison, served=(*before, served))
                done = (place + sum(len(step.tokens) for step in served.passes) / num_tokens) / len(ARRANGEMENTS)
                yield Report(_PREPARED + (1 - _PREPARED) * done, comparison, f"{arrangement}: {doing}")
        return comparison
    finally:
        pair.close()


def _prompt_lengths(asks: Sequence[ClientRequest], max_context: int) -> tuple[int, ...]:
    longest = max(ask.prompt_tokens for ask in asks)
    return tuple(sorted({longest, *(length for length in PROMPT_LENGTHS if length <= max_context)}))


def _mean(ready: Sequence[Ready]) -> StepTimes:
    """Both workers time the same passes while the other does: the mean of the two."""
    times = [worker_times.step_times for worker_times in ready]
    return StepTimes(
        _mean_points([worker_times.prefill for worker_times in times]),
        _mean_points([worker_times.decode for worker_times in times]),
    )


def _mean_points(columns: Sequence[tuple[tuple[int, float], ...]]) -> tuple[tuple[int, float], ...]:
    return tuple(
        (points[0][0], sum(seconds for _, seconds in points) / len(points)) for points in zip(*columns, strict=True)
    )


def _in_order(passes: tuple[WorkerPass, ...]) -> tuple[WorkerPass, ...]:
    """By their end: two lines bring them, and one may be read a moment later."""
    return tuple(sorted(passes, key=lambda timed: timed.end_s))


def _serve(
    pair: WorkerPair, messages: Iterator[FromWorker | None], asks: tuple[ClientRequest, ...], served: ArrangementRun
) -> Iterator[tuple[ArrangementRun, str]]:
    """Yields what has been served so far and what is done now, again and again, until all of it is served."""
    order = sorted(range(len(asks)), key=lambda place: asks[place].arrival_s)
    first, second = ROLES[served.arrangement]
    if first == "both":
        mine, num_sent = (order[::2], order[1::2]), 0
    else:
        mine, num_sent = (order, []), sum(ask.output_tokens > 1 for ask in asks)
    zero_s = time.monotonic()
    for number, role in enumerate((first, second)):
        pair.tell(number, Start(role, asks, tuple(mine[number]), num_sent * (role == "decode"), zero_s))
    num_finished, doing = 0, "the first prefill"
    while num_finished < len(NAMES):
        message = next(messages)
        if isinstance(message, Began):
            doing = message.doing
        elif isinstance(message, WorkerPass):
            served = replace(served, passes=_in_order((*served.passes, message)))
        elif isinstance(message, Transfer):
            served = replace(served, transfers=(*served.transfers, message))
        elif isinstance(message, Finished):
            num_finished += 1
        yield served, doing
