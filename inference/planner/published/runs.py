"""Published, measured inference times, each with its source: what the planner is fitted to and judged by."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from inference import catalogue
from inference.arithmetic.hardware import Hardware
from inference.arithmetic.spec import ModelSpec
from inference.catalogue.rows import Row, Text, load
from inference.cost import forward_work
from inference.planner.efficiency import Engine, family

FILE = catalogue.HERE / "published_runs.yaml"
Kind = Literal["prefill", "decode", "request"]
Use = Literal["calibrate", "check", "context", "outlier", "shown"]
_USED: tuple[Use, ...] = ("calibrate", "check")  # the others miss a condition, or are known anomalies
_ENGINES: tuple[tuple[str, Engine], ...] = (  # the first part of the name that is found decides
    ("megakernel", "megakernel"),
    ("persistent kernel", "megakernel"),
    ("gpt-fast", "compiled"),
    ("torch.compile", "compiled"),
    ("eager", "eager"),
    ("mlx", "llama.cpp"),
    ("llama.cpp", "llama.cpp"),
    ("exllama", "llama.cpp"),
    ("vllm", "serving"),
    ("sglang", "serving"),
    ("tensorrt-llm", "serving"),
    ("lmdeploy", "serving"),
)
"""MLX and ExLlamaV2 are counted with llama.cpp: engines of one's own machine, with quantised weights."""


Count = Annotated[int, BeforeValidator(lambda value: 0 if value is None else value), Field(ge=0)]
"""0 where the source does not say."""
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class RunRow(Row):
    """One row of the file, as its source prints it."""

    id: Text
    source: Text
    year: int
    model: Text
    params_b: Positive | None
    weight_bits: Positive
    weights_bytes_read: Positive | None = None
    weights_bytes_basis: Text = ""
    kv_bits: Annotated[int, Field(ge=1)]
    hardware: Text
    hw_bandwidth_gb_s: Positive | None = None
    hw_fp16_tflops: Positive | None = None
    hw_source: Text = ""
    n_gpus: Annotated[int, Field(ge=1)]
    parallelism: Text
    engine: Text
    batch: Count
    prompt_tokens: Count
    output_tokens: Count
    metric: Literal["decode_tok_s_per_seq", "total_tok_s", "prefill_tok_s", "ttft_ms", "itl_ms", "mbu"]
    value: Positive
    total_kind: Literal["request_output", "decode_output"] | None = None
    includes_prefill: bool = False
    lm_head_all: bool = False
    peak: Text = ""
    regime: Text = ""
    reported_gb_s: Positive | None = None
    conditions: str
    note: str
    use: Use
    confidence: Literal["high", "medium", "low"]
    computed: dict[str, float | None]

    @property
    def is_request(self) -> bool:
        """The value is of whole requests, prefill included."""
        return self.includes_prefill or self.total_kind == "request_output"

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        """What its time is worked out from is there, if anything is."""
        needed: dict[str, float | None] = {"batch": self.batch}
        if self.metric == "prefill_tok_s":
            needed["prompt_tokens"] = self.prompt_tokens
        if self.is_request:
            needed["output_tokens"] = self.output_tokens
        if self.hardware not in catalogue.hardware():
            needed["hw_bandwidth_gb_s"] = self.hw_bandwidth_gb_s
        missing = [name for name, number in needed.items() if not number]
        if missing and self.use in (*_USED, "shown"):
            raise ValueError(
                f"{', '.join(missing)} must be given in a row of use {self.use}; give it or use context"
            )
        return self


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """One measurement by somebody else, as seconds of one pass or of one whole request."""

    id: str
    kind: Kind
    seconds: float
    """Of a prefill, of one decode step, or of a request from its prompt to its last token."""
    spec: ModelSpec
    """With the weights' and the cache's bits of the run."""
    hardware: Hardware
    tensor_parallel: int
    engine: Engine
    engine_name: str
    batch_size: int
    prompt_tokens: int
    output_tokens: int
    all_logits: bool
    """The LM head ran over every prompt token, not the last one alone."""
    year: int
    source: str
    conditions: str

    @property
    def group(self) -> tuple[Engine, str | None]:
        """Engine class and family of hardware: the rows that share their shares."""
        return self.engine, family(self.hardware.id)

    @property
    def context_len(self) -> int:
        """Tokens in a cache halfway through the answer: where a mean step stands."""
        return max(1, self.prompt_tokens + self.output_tokens // 2)


@cache
def published_runs() -> tuple[PublishedRun, ...]:
    """Every usable row: its model in the catalogue, its conditions known, no anomaly."""
    return tuple(run for run in _runs(_USED) if run.kind == "decode" or _has_peak(run.hardware))


@cache
def shown_runs() -> tuple[PublishedRun, ...]:
    """Rows of an exhibit that nothing is fitted to or judged by: they came after the third was drawn."""
    return tuple(_runs(("shown",)))


def _runs(uses: tuple[Use, ...]) -> Iterator[PublishedRun]:
    models = catalogue.models()
    return (_read(row, models[row.model]) for row in _rows() if row.use in uses and row.model in models)


@cache
def _rows() -> tuple[RunRow, ...]:
    return tuple(load(FILE, RunRow).values())


@cache
def held_back() -> frozenset[str]:
    """The ids of a third of the rows, which no share was fitted to.

    A stratified draw that nothing but the ids decides: rows are put in order by kind, engine and hardware, within
    these by a hash of the id, and every third one from the second on is held back.
    """

    def stratum(run: PublishedRun) -> tuple[str, str, str]:
        return run.kind, run.engine, family(run.hardware.id) or ""

    drawn = sorted(published_runs(), key=lambda run: (stratum(run), sha256(run.id.encode()).hexdigest()))
    return frozenset(run.id for run in drawn[1::3])


def fitting_runs() -> tuple[PublishedRun, ...]:
    """The other two thirds."""
    return tuple(run for run in published_runs() if run.id not in held_back())


def _read(row: RunRow, model: ModelSpec) -> PublishedRun:
    spec, machine = replace(model, weight_bits=_weight_bits(row, model), kv_bits=row.kv_bits), _machine(row)
    kind, seconds = _seconds(row, spec, machine)
    return PublishedRun(
        id=row.id,
        kind=kind,
        seconds=seconds,
        spec=spec,
        hardware=machine,
        tensor_parallel=row.n_gpus,
        engine=_engine(row.engine),
        engine_name=row.engine,
        batch_size=row.batch,
        prompt_tokens=row.prompt_tokens,
        output_tokens=row.output_tokens,
        all_logits=row.lm_head_all,
        year=row.year,
        source=row.source,
        conditions=row.conditions,
    )


def _seconds(row: RunRow, spec: ModelSpec, machine: Hardware) -> tuple[Kind, float]:
    match row.metric:
        case "mbu":  # of the time in which the weights alone cross the memory's bandwidth
            read = forward_work(spec, num_query_tokens=1, context_len=1).weight_bytes
            return "decode", read / machine.bandwidth / row.value
        case "prefill_tok_s":
            return "prefill", row.batch * row.prompt_tokens / row.value
        case "ttft_ms":
            return "prefill", row.value / 1e3
        case "itl_ms":
            return "decode", row.value / 1e3
        case "decode_tok_s_per_seq" | "total_tok_s":
            step_s = (row.batch if row.metric == "total_tok_s" else 1) / row.value
            return ("request", row.output_tokens * step_s) if row.is_request else ("decode", step_s)


def _weight_bits(row: RunRow, model: ModelSpec) -> float:
    """Mean bits per weight that is read: the row's own, or from the bytes it says a token reads."""
    if row.weights_bytes_read is None:
        return row.weight_bits
    read = forward_work(model, num_query_tokens=1, context_len=1).weight_bytes
    return row.weights_bytes_read / read * model.weight_bits


def _has_peak(machine: Hardware) -> bool:
    return bool(machine.peak_flops or machine.estimated_flops)


def _engine(name: str) -> Engine:
    for part, engine in _ENGINES:
        if part in name.lower():
            return engine
    raise ValueError(f"{FILE.name}: engine {name!r} belongs to no class")


def _machine(row: RunRow) -> Hardware:
    known = catalogue.hardware()
    if row.hardware in known:
        return known[row.hardware]
    assert row.hw_bandwidth_gb_s is not None
    return Hardware(
        id=row.hardware,
        name=row.hardware,
        memory_bytes=None,
        bandwidth=row.hw_bandwidth_gb_s * 1e9,
        peak_flops={} if row.hw_fp16_tflops is None else {"float16": row.hw_fp16_tflops * 1e12},
        source=row.hw_source,
    )
