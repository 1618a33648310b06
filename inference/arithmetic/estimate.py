"""How long one pass should take on this machine: the operators' arithmetic at the rates measured here."""

import math
from dataclasses import dataclass

from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.spec import ModelSpec
from inference.cost import Work, operator_work

CACHE_PASSES = 3
"""transformers' growing cache copies itself at every pass (a read and a write), then attention reads it."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds of one pass by what takes them. An eager pass does one thing after the other, so they add up."""

    overhead_s: float
    """Before any arithmetic: launches, Python and the framework, through every layer."""
    matmul_s: float
    """Every weight matrix, the LM head among them."""
    attention_s: float
    """Scores and values, and moving the KV cache."""
    elementwise_s: float
    """Norms, activation function, gate, rotary embedding, residual sums."""

    @property
    def total_s(self) -> float:
        return self.overhead_s + self.matmul_s + self.attention_s + self.elementwise_s


def estimate(
    spec: ModelSpec, ceilings: Ceilings, *, num_query_tokens: int, context_len: int, batch_size: int = 1
) -> Estimate:
    """One pass as `cost.forward_work` counts it, `context_len` being the cache's length after it."""
    work = operator_work(spec, num_query_tokens=num_query_tokens, context_len=context_len, batch_size=batch_size)
    attention = work.pop("attention scores and values")
    lm_head = work.pop("LM head")
    num_tokens = num_query_tokens * batch_size
    matmul_s = _matmul_s(lm_head, spec, ceilings, batch_size)
    matmul_s += sum(_matmul_s(part, spec, ceilings, num_tokens) for part in work.values())
    moved = CACHE_PASSES * attention.kv_read_bytes if context_len > num_query_tokens else attention.kv_write_bytes
    attention_s = attention.flops / (ceilings.attention_flops or ceilings.flops) + moved / ceilings.bandwidth
    elementwise_s = ceilings.elementwise_s * num_tokens * spec.num_layers * spec.hidden_size
    return Estimate(ceilings.overhead_s, matmul_s, attention_s, elementwise_s)


def _matmul_s(work: Work, spec: ModelSpec, ceilings: Ceilings, num_tokens: int) -> float:
    if not ceilings.matmul_ladder:
        return max(work.flops / ceilings.flops, work.weight_bytes / ceilings.bandwidth)
    return work.weight_bytes * 8 / spec.weight_bits * seconds_per_weight(ceilings, num_tokens)


def seconds_per_weight(ceilings: Ceilings, num_tokens: int) -> float:
    """Of a product with that many tokens, between the measured ones by a straight line in logarithms.

    Beyond the longest one the time grows as the tokens do.
    """
    ladder = ceilings.matmul_ladder
    if num_tokens >= ladder[-1][0]:
        return ladder[-1][1] * num_tokens / ladder[-1][0]
    above = next(place for place, (tokens, _) in enumerate(ladder) if tokens > num_tokens)
    (low, low_s), (high, high_s) = ladder[above - 1], ladder[above]
    share = math.log(num_tokens / low) / math.log(high / low)
    return math.exp(math.log(low_s) * (1 - share) + math.log(high_s) * share)


@dataclass(frozen=True, slots=True)
class PrefillTerms:
    """Estimated seconds of one prefill, by how they grow with the prompt."""

    floor_s: float
    """What a single token costs: overhead and every weight read once. Less where the whole pass takes less."""
    linear_s: float
    """The matrices' arithmetic beyond that and what stands between them: as many times more as there are tokens.

    0 where a product of these tokens was measured to take no longer than that of one: no term is below 0.
    """
    quadratic_s: float
    """Attention, in which every token meets all before it, and writing the cache."""


def prefill_terms(spec: ModelSpec, ceilings: Ceilings, num_tokens: int) -> PrefillTerms:
    """The estimate of a prefill in three terms; they add up to its `total_s`."""
    whole = estimate(spec, ceilings, num_query_tokens=num_tokens, context_len=num_tokens)
    decode = estimate(spec, ceilings, num_query_tokens=1, context_len=1)
    shared_s = whole.overhead_s + whole.matmul_s + whole.elementwise_s
    floor_s = min(decode.overhead_s + decode.matmul_s + decode.elementwise_s, shared_s)
    return PrefillTerms(floor_s=floor_s, linear_s=shared_s - floor_s, quadratic_s=whole.attention_s)
