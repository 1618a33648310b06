"""Optimisations that change what a pass costs or yields: speculation, prefixes, fewer bits, masks."""

from dataclasses import replace

from inference.arithmetic.units import percent, scaled, seconds, significant
from inference.cost import kv_bytes
from inference.planner.options.option import Assumptions, Change, Optimisation, counted, pass_inputs, total_tps
from inference.planner.pass_time import peak, prefill_pass
from inference.planner.plan import Plan, plan
from inference.prefix_caching.records import saving
from inference.speculation.acceptance import expected_tokens

_LARGEST_BATCH = 4096


def speculation(base: Plan, assumed: Assumptions) -> Optimisation:
    """Drafts verified in one pass, against a pass per token."""
    expected = expected_tokens(assumed.acceptance, assumed.num_drafted)
    gap_s = _speculative_gap_s(base, assumed, base.batch_size)
    lost = first_loss(base, assumed)
    turn = "at this context no batch loses" if lost is None else f"at a batch of {lost:,} it loses"
    return Optimisation(
        "Speculative decoding",
        "speculative-decoding",
        f"{counted(assumed.num_drafted, 'token')} drafted a pass, {percent(assumed.acceptance)} accepted, each "
        f"drafted in {percent(assumed.draft_cost)} of a step of {counted(base.batch_size, 'sequence')}; {turn}.",
        (
            Change("Tokens per pass", 1.0, expected, "tokens per pass"),
            Change("Mean gap without prompts", base.itl_s, gap_s, "s"),
            Change("TPS, all", base.tps_total, total_tps(base, gap_s=gap_s), "tokens/s"),
        ),
        f"Of {assumed.num_drafted + 1} positions in a pass {significant(assumed.num_drafted + 1 - expected)} are "
        "thrown away; tokens come in bursts, and a draft model needs memory, which is not counted.",
    )


def first_loss(base: Plan, assumed: Assumptions) -> int | None:
    """The first batch of 1, 2, 4 .. at which speculation makes tokens slower; None where it never does."""
    for batch_size in (1 << power for power in range(_LARGEST_BATCH.bit_length())):
        if _speculative_gap_s(base, assumed, batch_size) > _step_s(base, batch_size, 1):
            return batch_size
    return None


def prefix_caching(base: Plan, assumed: Assumptions) -> Optimisation:
    """The beginning that all conversations share, computed once and kept."""
    prompt, block = base.workload.prompt_tokens, assumed.block_tokens
    cached = min(int(assumed.shared_share * prompt), prompt - 1) // block * block
    warm = prefill_pass(
        *pass_inputs(base), num_tokens=prompt - cached, past=cached, ways=base.deployment.tensor_parallel
    )
    after = replace(base, prefill=warm)
    saved = saving(base.spec, prompt_tokens=prompt, cached_tokens=cached)
    kept = kv_bytes(base.spec, context_len=cached) if cached else 0.0
    return Optimisation(
        "Prefix caching",
        "prefix-caching",
        f"{percent(assumed.shared_share)} of the prompt is the same for all from its first token on and was "
        f"computed before: {counted(cached, 'token')} in full blocks of {block}.",
        (
            Change("FLOPs of a prefill", saved.cold.flops, saved.warm.flops, "FLOP"),
            Change("TTFT", base.ttft_s, after.ttft_s, "s"),
            Change("TPS, all", base.tps_total, after.tps_total, "tokens/s"),
        ),
        f"{scaled(kept, 'B')} kept. After the first token that differs everything is new; steps are no faster.",
    )


def cache_bits(base: Plan, bits: float) -> Optimisation:
    """A narrower KV cache."""
    after = plan(base.spec, base.hardware, base.workload, replace(base.deployment, kv_bits=bits))
    return Optimisation(
        f"KV cache of {bits:g} bits",
        "kv-cache",
        f"Keys and values kept in {bits:g} bits in place of {base.deployment.kv_bits:g}; products as before.",
        (
            Change("ITL", base.itl_s, after.itl_s, "s"),
            Change("TPS, all", base.tps_total, after.tps_total, "tokens/s"),
            *_conversations(base, after),
        ),
        "Rounded keys and values change some answers; how much is for a test of your own to say.",
    )


def weight_bits(base: Plan, bits: float) -> Optimisation:
    """Narrower weights; arithmetic in 8 bits too where weights and hardware both have them."""
    after = plan(base.spec, base.hardware, base.workload, replace(base.deployment, weight_bits=bits))
    before, now = peak(base.spec, base.hardware), peak(after.spec, after.hardware)
    products = "the width they had before"
    if now != before:
        products = (
            f"8-bit floats, {significant(now / before)} times as fast"
            if now > before
            else "16 bits, slower than 8-bit floats"
        )
    return Optimisation(
        f"Weights of {bits:g} bits",
        "roofline",
        f"Weights kept in {bits:g} bits in place of {base.deployment.weight_bits:g}; products in {products}.",
        (
            Change("TTFT", base.ttft_s, after.ttft_s, "s"),
            Change("ITL", base.itl_s, after.itl_s, "s"),
            Change("TPS, all", base.tps_total, after.tps_total, "tokens/s"),
            *_conversations(base, after),
        ),
        "Rounded weights change some answers. Unpacking them and the bits of their scales are not counted.",
    )


def structured_output(base: Plan, assumed: Assumptions) -> Optimisation:
    """A mask over the vocabulary before each token is chosen."""
    gap_s = base.itl_s + base.batch_size * assumed.mask_s
    return Optimisation(
        "Structured output",
        "sampling",
        f"A mask over {base.spec.vocab_size:,} tokens at each step of {counted(base.batch_size, 'sequence')}, "
        f"{seconds(assumed.mask_s)} each on the host while nothing else runs.",
        (
            Change("ITL", base.itl_s, gap_s, "s"),
            Change("TPS, all", base.tps_total, total_tps(base, gap_s=gap_s), "tokens/s"),
        ),
        "No speed at all: it buys a form that always parses. Built during the pass, the mask costs nothing.",
    )


def _speculative_gap_s(base: Plan, assumed: Assumptions, batch_size: int) -> float:
    """Mean seconds per token: the drafts one after another, then one pass over all of them, per token it yields."""
    step_s = _step_s(base, batch_size, 1)
    verify_s = _step_s(base, batch_size, assumed.num_drafted + 1)
    drafts_s = assumed.num_drafted * assumed.draft_cost * step_s
    return (verify_s + drafts_s) / expected_tokens(assumed.acceptance, assumed.num_drafted)


def _step_s(base: Plan, batch_size: int, num_query_tokens: int) -> float:
    context_len = base.workload.middle_context + num_query_tokens - 1
    return base.step_s(context_len=context_len, batch_size=batch_size, num_query_tokens=num_query_tokens)


def _conversations(base: Plan, after: Plan) -> tuple[Change, ...]:
    """How many fit, of all replicas; nothing where the memory is not known."""
    before, now = base.memory.conversations, after.memory.conversations
    if before is None or now is None:
        return ()
    replicas = base.deployment.replicas
    return (Change("Conversations that fit", before * replicas, now * replicas, "conversations"),)
