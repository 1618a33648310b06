"""Facts of the planner: what to expect instead of at best, how far off that is, and the clock of the layers.

They move with the fitted shares, and with the published rows these were fitted to.
"""

import math
from collections.abc import Iterator
from functools import cache, partial

from inference.cost import kv_bytes
from inference.deployment import Deployment, Workload, smallest_fit
from inference.efficiency import Efficiency, efficiency
from inference.fact import Fact
from inference.facts_cache import MODELS, spec_of
from inference.facts_hardware import machine
from inference.facts_serving import WORKLOADS
from inference.layer_clock import ClockRow, rows
from inference.more_gpus import Case, use
from inference.plan_compare import compare
from inference.plan_tolerance import tolerance
from inference.planner import Phase, plan
from inference.planner_error import select

CONVERSATIONS = 8
"""At once, where two kinds of work are compared."""
_CLOCKS = {"qwen_05b": "qw25-a100-0.5b-hf", "qwen_7b": "qw25-a100-7b-hf"}


def _error(phase: Phase) -> float:
    return tolerance(phase).median


def _rows(phase: Phase) -> float:
    return tolerance(phase).count


def _single_rows() -> float:
    return len(select("decode", is_held_back=True, batch_size=1))


def _serving() -> Efficiency:
    return efficiency("serving", machine("h100"))


def _prefill_share(kind: str, conversations: int) -> float:
    return plan(spec_of("8b"), machine("h100"), Workload(*WORKLOADS[kind], conversations)).prefill_share


def _times(kind: str, fast: str, slow: str) -> float:
    """What a machine serves in the time in which another serves one."""
    work = Workload(*WORKLOADS[kind], CONVERSATIONS)
    seconds = {name: compare(spec_of("8b"), work, [machine(name)])[0][0].total_s for name in (fast, slow)}
    return seconds[slow] / seconds[fast]


def _reading() -> Workload:
    return Workload(*WORKLOADS["retrieval"], CONVERSATIONS)


def _caches() -> float:
    length = _reading().prompt_tokens + _reading().output_tokens
    return kv_bytes(spec_of("70b"), context_len=length, batch_size=CONVERSATIONS)


def _cards() -> float:
    return smallest_fit(spec_of("70b"), machine("h100"), _reading(), Deployment()) or float("inf")


def _held() -> float:
    """Weights and caches together, in bytes."""
    return spec_of("70b").weight_bytes + _caches()


def _cards_by_bytes() -> float:
    """Cards whose memory adds up to that, whether or not the heads can be shared out over so many."""
    memory_bytes = machine("h100").memory_bytes
    assert memory_bytes is not None
    return math.ceil(_held() / memory_bytes)


def _split_s(model: str, ways: int) -> float:
    return use(Case(spec_of(model), machine("h100"), is_at_best=False), "tensor parallel", ways).plan.itl_s


def _split_gain(model: str) -> float:
    return _split_s(model, 1) / _split_s(model, 8)


@cache
def _clock(model: str) -> ClockRow:
    return next(row for row in rows() if row.run.id == _CLOCKS[model])


def _eager_s(model: str) -> float:
    return _clock(model).run.seconds


def _eager_floor_s(model: str) -> float:
    return _clock(model).floor_s


def _eager_layers(model: str) -> float:
    return _clock(model).run.spec.num_layers


def _eager_params() -> float:
    return _clock("qwen_7b").run.spec.total_params / _clock("qwen_05b").run.spec.total_params


def _held_back() -> Iterator[Fact]:
    phases: tuple[Phase, ...] = ("prefill", "decode")
    for phase in phases:
        held = f"published {phase} rows that nothing was fitted to"
        yield Fact(f"plan_error_{phase}", partial(_error, phase), "percent", f"median error on {held}")
        yield Fact(f"plan_rows_{phase}", partial(_rows, phase), "int", held)
    yield Fact("plan_rows_decode_alone", _single_rows, "int", "of those decode rows, a single sequence")


def _expected() -> Iterator[Fact]:
    fitted = "a serving engine on H100s, fitted to published runs"
    yield Fact("e_serving_h100", lambda: _serving().bandwidth_share, "percent", f"e, of the bandwidth: {fitted}")
    yield Fact("c_serving_h100", lambda: _serving().layer_s, "seconds", f"c, per layer: {fitted}")
    yield Fact(
        "clock_s_8b_h100", lambda: _serving().layer_s * spec_of("8b").num_layers, "seconds", f"32 x c: {fitted}"
    )
    eager = "eager PyTorch on A100s, fitted to published runs"
    yield Fact("c_eager_a100", lambda: efficiency("eager", machine("a100")).layer_s, "seconds", f"c: {eager}")
    one = "a step of the 8B on one H100 with an empty cache, expected of a serving engine"
    yield Fact("expected_step_s_8b_h100", partial(_split_s, "8b", 1), "seconds", one)
    for model in ("8b", "70b"):
        what = f"times as fast: {MODELS[model]} on 8 H100, tensor parallel, expected of a serving engine"
        yield Fact(f"tp_expected_gain_{model}_8", partial(_split_gain, model), "x", what)


def _work() -> Iterator[Fact]:
    for conversations in (1, CONVERSATIONS):
        what = f"of an H100's time that is prefill: retrieval, {conversations} at once, 8B, expected"
        share = partial(_prefill_share, "retrieval", conversations)
        yield Fact(f"retrieval_prefill_share_{conversations}", share, "percent", what)
    for kind, fast, slow in (("retrieval", "l40s", "rtx_5090"), ("writing", "rtx_5090", "l40s")):
        what = f"times the {kind} on {fast} of that on {slow}, {CONVERSATIONS} at once, 8B, expected"
        yield Fact(f"{kind}_times_{fast}_{slow}", partial(_times, kind, fast, slow), "x", what)
    beside = f"{CONVERSATIONS} conversations of retrieval, Llama-3.1-70B, 16 bits"
    yield Fact("caches_retrieval_70b", _caches, "bytes", f"caches of {beside}")
    yield Fact("held_retrieval_70b", _held, "bytes", f"weights and caches: {beside}")
    yield Fact("cards_by_bytes_retrieval_70b_h100", _cards_by_bytes, "int", f"H100s with so much memory: {beside}")
    yield Fact("cards_retrieval_70b_h100", _cards, "int", f"H100s that hold the weights and {beside}")


def _layers() -> Iterator[Fact]:
    for model in _CLOCKS:
        what = f"a decode step of {model} in eager PyTorch on an A100"
        yield Fact(f"eager_s_{model}", partial(_eager_s, model), "seconds", f"measured by others: {what}")
        yield Fact(f"eager_floor_s_{model}", partial(_eager_floor_s, model), "seconds", f"at the roofline: {what}")
        yield Fact(f"eager_layers_{model}", partial(_eager_layers, model), "int", f"layers in {what}")
    yield Fact("eager_params_ratio", _eager_params, "x", "parameters, Qwen2.5-7B over Qwen2.5-0.5B")
    times = "the same of their measured steps in eager PyTorch on an A100"
    yield Fact("eager_seconds_ratio", lambda: _eager_s("qwen_7b") / _eager_s("qwen_05b"), "x", times)


FACTS: list[Fact] = [*_held_back(), *_expected(), *_work(), *_layers()]
