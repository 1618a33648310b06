"""Time to first token, stage by stage: what a learner waited for before the first word."""

from dataclasses import dataclass

from inference.trace import Step


@dataclass(frozen=True, slots=True)
class TtftStage:
    name: str
    seconds: float
    is_simulated: bool = False


def ttft_stages(first: Step, *, simulated_queue_s: float | None = None) -> tuple[TtftStage, ...]:
    """The measured stages of a run's first step in order; their sum is its TTFT.

    With `simulated_queue_s` the measured wait gives way to that one, marked as simulated.
    """
    if first.phase != "prefill":
        raise ValueError(f"the first token comes from the prefill step, got a {first.phase} step")
    queue = TtftStage("queue", first.queue_s)
    if simulated_queue_s is not None:
        queue = TtftStage("queue", simulated_queue_s, is_simulated=True)
    stages = [
        TtftStage("tokenise", first.tokenize_s),
        queue,
        TtftStage("prefill", first.forward_s),
        TtftStage("sample", first.sample_s),
        TtftStage("detokenise", first.detokenize_s),
    ]
    if first.rebuild_s:
        stages.insert(2, TtftStage("rebuild the cache", first.rebuild_s))
    return tuple(stages)
