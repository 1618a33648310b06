"""Facts of the planner: what to expect instead of at best, how far off that is, and the clock of the layers.

They move with the fitted shares, and with the published rows these were fitted to.
"""

import math
from functools import cache

from inference.cost import kv_bytes
from inference.facts.caches import spec_of
from inference.facts.fact import Fact
from inference.facts.hardware import machine, memory
from inference.facts.serving import WORKLOADS
from inference.planner import plan
from inference.planner.compare import compare
from inference.planner.deployment import Deployment, Workload, smallest_fit
from inference.planner.efficiency import Efficiency, efficiency
from inference.planner.more_gpus import Scenario, predict_use
from inference.planner.plan import Phase
from inference.planner.published.error import select
from inference.planner.published.layer_clock import ClockRow, rows
from inference.planner.published.tolerance import tolerance

CONVERSATIONS = 8
"""At once, where two kinds of work are compared."""
_CLOCKS = {"qwen_05b": "qw25-a100-0.5b-hf", "qwen_7b": "qw25-a100-7b-hf"}


def _serving() -> Efficiency:
    return efficiency("serving", machine("h100"))


def _prefill_share(conversations: int) -> float:
    work = Workload(*WORKLOADS["retrieval"], conversations)
    return plan(spec_of("8b"), machine("h100"), work).prefill_share


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


def _split_s(model: str, ways: int) -> float:
    return predict_use(
        Scenario(spec_of(model), machine("h100"), is_at_best=False), "tensor parallel", ways
    ).plan.itl_s


@cache
def _clock(model: str) -> ClockRow:
    return next(row for row in rows() if row.run.id == _CLOCKS[model])


def _held_back(phase: Phase) -> list[Fact]:
    held = f"published {phase} rows that nothing was fitted to"
    return [
        Fact(f"plan_error_{phase}", lambda: tolerance(phase).median, "percent", f"median error on {held}"),
        Fact(f"plan_rows_{phase}", lambda: tolerance(phase).count, "int", held),
    ]


def _single_rows() -> float:
    return len(select("decode", is_held_back=True, batch_size=1))


_EXPECTED = [
    Fact(
        "e_serving_h100",
        lambda: _serving().bandwidth_share,
        "percent",
        "e, of the bandwidth: a serving engine on H100s and an H200, fitted to published runs",
    ),
    Fact("c_serving_h100", lambda: _serving().layer_s, "seconds", "c, per layer of the same"),
    Fact("clock_s_8b_h100", lambda: _serving().layer_s * spec_of("8b").num_layers, "seconds", "32 x c"),
    Fact(
        "c_eager_a100", lambda: efficiency("eager", machine("a100")).layer_s, "seconds", "c of eager PyTorch, A100"
    ),
    Fact("expected_step_s_8b_h100", lambda: _split_s("8b", 1), "seconds", "a step with an empty cache, one H100"),
    Fact(
        "tp_expected_gain_70b_8",
        lambda: _split_s("70b", 1) / _split_s("70b", 8),
        "x",
        "times as fast: Llama-3.1-70B on 8 H100, tensor parallel, expected of a serving engine",
    ),
]

_WORK = [
    Fact("retrieval_prefill_share_1", lambda: _prefill_share(1), "percent", "of an H100's time: retrieval, 8B"),
    Fact("retrieval_prefill_share_8", lambda: _prefill_share(8), "percent", "the same, eight at once"),
    Fact(
        "retrieval_times_l40s_rtx_5090",
        lambda: _times("retrieval", "l40s", "rtx_5090"),
        "x",
        "times the retrieval on an L40S of that on an RTX 5090, eight at once, 8B, expected",
    ),
    Fact(
        "writing_times_rtx_5090_l40s",
        lambda: _times("writing", "rtx_5090", "l40s"),
        "x",
        "times the writing on an RTX 5090 of that on an L40S",
    ),
    Fact("caches_retrieval_70b", _caches, "bytes", "caches of eight conversations of retrieval, Llama-3.1-70B"),
    Fact("held_retrieval_70b", _held, "bytes", "its weights and those caches"),
    Fact(
        "cards_by_bytes_retrieval_70b_h100",
        lambda: math.ceil(_held() / memory("h100")),
        "int",
        "H100s with so much memory, whether or not the heads can be shared out over so many",
    ),
    Fact("cards_retrieval_70b_h100", _cards, "int", "H100s that hold them"),
]


def _eager(model: str) -> list[Fact]:
    what = f"a decode step of {model} in eager PyTorch on an A100"
    return [
        Fact(f"eager_s_{model}", lambda: _clock(model).run.seconds, "seconds", f"measured by others: {what}"),
        Fact(f"eager_floor_s_{model}", lambda: _clock(model).floor_s, "seconds", f"at the roofline: {what}"),
        Fact(f"eager_layers_{model}", lambda: _clock(model).run.spec.num_layers, "int", f"layers in {what}"),
    ]


_RATIOS = [
    Fact(
        "eager_params_ratio",
        lambda: _clock("qwen_7b").run.spec.total_params / _clock("qwen_05b").run.spec.total_params,
        "x",
        "parameters, Qwen2.5-7B over Qwen2.5-0.5B",
    ),
    Fact(
        "eager_seconds_ratio",
        lambda: _clock("qwen_7b").run.seconds / _clock("qwen_05b").run.seconds,
        "x",
        "the same of their measured steps in eager PyTorch on an A100",
    ),
]

FACTS = [
    *_held_back("prefill"),
    *_held_back("decode"),
    Fact("plan_rows_decode_alone", _single_rows, "int", "of those decode rows, a single sequence"),
    *_EXPECTED,
    *_WORK,
    *(fact for model in _CLOCKS for fact in _eager(model)),
    *_RATIOS,
]
