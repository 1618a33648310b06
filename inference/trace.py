"""What was measured in one run: a `Step` per forward pass, and the `Trace` that everything on a screen reads."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.spec import ModelSpec
from inference.run.params import SamplingParams

if TYPE_CHECKING:
    import pandas as pd

Phase = Literal["prefill", "decode"]
StopReason = Literal["end token", "stop string", "maximum", "context full"]

_STRICT: dict[str, Any] = {
    "extra": "forbid",
    "allow_inf_nan": False,
    "ser_json_bytes": "hex",
    "val_json_bytes": "hex",
}


@dataclass(frozen=True, slots=True)
class Token:
    id: int
    raw: bytes
    """The token's own bytes; a token may hold part of a character."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the most probable next tokens of a pass."""

    token_id: int
    raw: bytes
    probability: float
    """Over the full vocabulary, before any sampling setting."""
    sampling_probability: float
    """Its chance of being chosen under the settings of that step; 0 if they cut it."""
    is_kept: bool
    """False if top-k, top-p or min-p removed it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class Chunk:
    """One pass over a part of a prompt that was fed in several, so that others could step between them."""

    num_query_tokens: int
    forward_s: float

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class Step:
    """One forward pass, measured, and the token sampled from it."""

    index: int
    """0 is prefill."""
    phase: Phase
    num_query_tokens: int
    context_len: int
    """Tokens in the KV cache after the pass; the sampled token is not among them."""
    token_id: int
    text: str
    """What this token adds to the text; empty while a character is incomplete and for special tokens."""
    logprob: float
    """Natural logarithm of the token's probability over the full vocabulary, before any sampling setting."""
    entropy: float
    """Of that distribution, in nats: 0 is certain, ln(vocabulary) is no idea."""
    tokenize_s: float
    queue_s: float
    """Wait for the worker."""
    forward_s: float
    """Host time from the call to the synchronised logits."""
    device_s: float | None
    """The device's own time for the pass; None where it has no clock of its own."""
    sample_s: float
    detokenize_s: float
    kv_bytes: int
    """Summed over the cache's tensors after the pass."""
    raw: bytes = b""
    is_forced: bool = False
    """True if the learner chose the token, not the sampler."""
    rebuild_s: float = 0.0
    """Time to recompute a cache that had been given up for memory, before this pass."""
    candidates: tuple[Candidate, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    """The passes of a prefill that gave way; `forward_s` is their sum. Empty for one pass."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    @property
    def number(self) -> int:
        """Its place as counted on the screen: the number of output tokens after it."""
        return self.index + 1

    @property
    def latency_s(self) -> float:
        """All the time this token took, waiting included; the learner's pauses between steps are not in it."""
        return self.tokenize_s + self.queue_s + self.rebuild_s + self.forward_s + self.sample_s + self.detokenize_s


@dataclass(frozen=True, slots=True)
class Metadata:
    """Where a trace comes from: model, machine, versions and settings."""

    model: str
    revision: str
    spec: ModelSpec
    dtype: str
    device: str
    threads: int
    attention: str
    execution: str
    torch_version: str
    transformers_version: str
    app_version: str
    date: str
    """ISO 8601, with the offset."""
    has_random_weights: bool
    chat_template: bool
    max_new_tokens: int
    stop: tuple[str, ...]
    sampling: tuple[tuple[int, SamplingParams], ...]
    """(index of the first step, settings): more than one entry where the learner changed them on the way."""
    num_left_out: int = 0
    """Characters of the prompt that have no token in the model's vocabulary."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(slots=True)
class Trace:
    metadata: Metadata
    prompt: str
    prompt_tokens: tuple[Token, ...]
    steps: list[Step] = field(default_factory=list)
    key_norms: list[array[float]] = field(default_factory=list)
    """Per cached position, the L2 norm of its key in every layer (over all KV heads): the cache map."""
    ceilings: Ceilings | None = None
    stop_reason: StopReason | None = None

    @property
    def ttft_s(self) -> float:
        """Time to first token: all of step 0."""
        return self.steps[0].latency_s

    @property
    def itl_s(self) -> list[float]:
        """Inter-token latencies: one gap per decode step."""
        return [step.latency_s for step in self.steps[1:]]

    @property
    def e2e_s(self) -> float:
        return sum(step.latency_s for step in self.steps)

    @property
    def tps(self) -> float | None:
        """Tokens per second in decode, for this one request; None before the first decode."""
        gaps = self.itl_s
        return len(gaps) / sum(gaps) if gaps else None

    @property
    def text(self) -> str:
        return "".join(step.text for step in self.steps)

    @property
    def token_ids(self) -> list[int]:
        """Prompt and output."""
        return [token.id for token in self.prompt_tokens] + [step.token_id for step in self.steps]

    def params_at(self, index: int) -> SamplingParams:
        """The sampling settings in force at a step."""
        return [params for start, params in self.metadata.sampling if start <= index][-1]

    def until(self, index: int) -> Trace:
        """The same run as it stood after step `index`; shares the steps."""
        if index == len(self.steps) - 1:
            return self
        steps = self.steps[: index + 1]
        norms = self.key_norms[: steps[-1].context_len] if steps else []
        return replace(self, steps=steps, key_norms=norms, stop_reason=None)

    def to_frame(self) -> pd.DataFrame:
        """One row per step, the measured fields as columns; candidates are left out."""
        from inference.run.trace_io import to_frame  # noqa: PLC0415  # pandas takes longer to import than a page may wait

        return to_frame(self)

    def to_json(self) -> str:
        from inference.run.trace_io import to_json  # noqa: PLC0415  # pydantic, the same

        return to_json(self)

    @staticmethod
    def from_json(text: str | bytes) -> Trace:
        """Read what `to_json` wrote; anything else is a TraceError with one sentence."""
        from inference.run.trace_io import from_json  # noqa: PLC0415

        return from_json(text)
