"""Optimisations that change what a pass costs or yields: speculation, prefixes, fewer bits, masks."""

from dataclasses import replace

from inference.arithmetic.units import percent, scaled, seconds, significant
from inference.cost import kv_bytes
from inference.planner.options.option import Assumptions, Change, Optimisation, counted, given, total_tps
from inference.planner.pass_time import peak, prefill_pass
from inference.planner.plan import Plan, plan
from inference.prefix_caching.records import saving
from inference.speculation.acceptance import expected_tokens

_LARGEST_BATCH = 4096


def speculation(made: Plan, assumed: Assumptions) -> Optimisation:
    """Drafts verified in one pass, against a pass per token."""
    expected = expected_tokens(assumed.acceptance, assumed.num_drafted)
    gap_s = _speculative_gap_s(made, assumed, made.batch_size)
    lost = first_loss(made, assumed)
    turn = "at this context no batch loses" if lost is None else f"at a batch of {lost:,} it loses"
    return Optimisation(
        "Speculative decoding",
        "speculative-decoding",
        f"{counted(assumed.num_drafted, 'token')} drafted a pass, {percent(assumed.acceptance)} accepted, each "
        f"drafted in {percent(assumed.draft_cost)} of a step of {counted(made.batch_size, 'sequence')}; {turn}.",
        (
            Change("Tokens per pass", 1.0, expected, "tokens per pass"),
            Change("Mean gap without prompts", made.itl_s, gap_s, "s"),
            Change("TPS, all", made.tps_total, total_tps(made, gap_s=gap_s), "tokens/s"),
        ),
        f"Of {assumed.num_drafted + 1} positions in a pass {significant(assumed.num_drafted + 1 - expected)} are "
        "thrown away; tokens come in bursts, and a draft model needs memory, which is not counted.",
    )


def first_loss(made: Plan, assumed: Assumptions) -> int | None:
    """The first batch of 1, 2, 4 .. at which speculation makes tokens slower; None where it never does."""
    for batch_size in (1 << power for power in range(_LARGEST_BATCH.bit_length())):
        if _speculative_gap_s(made, assumed, batch_size) > _step_s(made, batch_size, 1):
            return batch_size
    return None


def prefix_caching(made: Plan, assumed: Assumptions) -> Optimisation:
    """The beginning that all conversations share, computed once and kept."""
    prompt, block = made.workload.prompt_tokens, assumed.block_tokens
    cached = min(int(assumed.shared_share * prompt), prompt - 1) // block * block
    warm = prefill_pass(*given(made), num_tokens=prompt - cached, past=cached, ways=made.deployment.tensor_parallel)
    after = replace(made, prefill=warm)
    saved = saving(made.spec, prompt_tokens=prompt, cached_tokens=cached)
    kept = kv_bytes(made.spec, context_len=cached) if cached else 0.0
    return Optimisation(
        "Prefix caching",
        "prefix-caching",
        f"{percent(assumed.shared_share)} of the prompt is the same for all from its first token on and was "
        f"computed before: {counted(cached, 'token')} in full blocks of {block}.",
        (
            Change("FLOPs of a prefill", saved.cold.flops, saved.warm.flops, "FLOP"),
            Change("TTFT", made.ttft_s, after.ttft_s, "s"),
            Change("TPS, all", made.tps_total, after.tps_total, "tokens/s"),
        ),
        f"{scaled(kept, 'B')} kept. After the first token that differs everything is new; steps are no faster.",
    )


def cache_bits(made: Plan, bits: float) -> Optimisation:
    """A narrower KV cache."""
    after = plan(made.spec, made.hardware, made.workload, replace(made.deployment, kv_bits=bits))
    return Optimisation(
        f"KV cache of {bits:g} bits",
        "kv-cache",
        f"Keys and values kept in {bits:g} bits in place of {made.deployment.kv_bits:g}; products as before.",
        (
            Change("ITL", made.itl_s, after.itl_s, "s"),
            Change("TPS, all", made.tps_total, after.tps_total, "tokens/s"),
            *_conversations(made, after),
        ),
        "Rounded keys and values change some answers; how much is for a test of your own to say.",
    )


def weight_bits(made: Plan, bits: float) -> Optimisation:
    """Narrower weights; arithmetic in 8 bits too where weights and hardware both have them."""
    after = plan(made.spec, made.hardware, made.workload, replace(made.deployment, weight_bits=bits))
    before, now = peak(made.spec, made.hardware), peak(after.spec, after.hardware)
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
        f"Weights kept in {bits:g} bits in place of {made.deployment.weight_bits:g}; products in {products}.",
        (
            Change("TTFT", made.ttft_s, after.ttft_s, "s"),
            Change("ITL", made.itl_s, after.itl_s, "s"),
            Change("TPS, all", made.tps_total, after.tps_total, "tokens/s"),
            *_conversations(made, after),
        ),
        "Rounded weights change some answers. Unpacking them and the bits of their scales are not counted.",
    )


def structured_output(made: Plan, assumed: Assumptions) -> Optimisation:
    """A mask over the vocabulary before each token is chosen."""
    gap_s = made.itl_s + made.batch_size * assumed.mask_s
    return Optimisation(
        "Structured output",
        "sampling",
        f"A mask over {made.spec.vocab_size:,} tokens at each step of {counted(made.batch_size, 'sequence')}, "
        f"{seconds(assumed.mask_s)} each on the host while nothing else runs.",
        (
            Change("ITL", made.itl_s, gap_s, "s"),
            Change("TPS, all", made.tps_total, total_tps(made, gap_s=gap_s), "tokens/s"),
        ),
        "No speed at all: it buys a form that always parses. Built during the pass, the mask costs nothing.",
    )


def _speculative_gap_s(made: Plan, assumed: Assumptions, batch_size: int) -> float:
    """Mean seconds per token: the drafts one after another, then one pass over all of them, per token it yields."""
    step_s = _step_s(made, batch_size, 1)
    verify_s = _step_s(made, batch_size, assumed.num_drafted + 1)
    drafts_s = assumed.num_drafted * assumed.draft_cost * step_s
    return (verify_s + drafts_s) / expected_tokens(assumed.acceptance, assumed.num_drafted)


def _step_s(made: Plan, batch_size: int, num_query_tokens: int) -> float:
    context_len = made.workload.middle_context + num_query_tokens - 1
    return made.step_s(context_len=context_len, batch_size=batch_size, num_query_tokens=num_query_tokens)


def _conversations(made: Plan, after: Plan) -> tuple[Change, ...]:
    """How many fit, of all replicas; nothing where the memory is not known."""
    before, now = made.memory.conversations, after.memory.conversations
    if before is None or now is None:
        return ()
    replicas = made.deployment.replicas
    return (Change("Conversations that fit", before * replicas, now * replicas, "conversations"),)
