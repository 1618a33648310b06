"""Optimisations that change which work shares a pass, and where it runs: batching, chunks, disaggregation."""

from inference.arithmetic.links import transfer_s
from inference.arithmetic.units import percent, scaled, seconds
from inference.planner.options.option import Assumptions, Change, Optimisation, counted, pass_inputs
from inference.planner.pass_time import mixed_pass, prefill_pass
from inference.planner.plan import Plan

_MOST_CHUNKS = 32  # of a prompt that are computed; of a longer one, evenly spread ones stand for the others


def continuous_batching(base: Plan, assumed: Assumptions) -> Optimisation:
    """Against static batches, whose answers are evenly spread from nothing to about twice the mean.

    A static batch of B waits for its longest answer, 2 N B / (B + 1) tokens where N is the mean: of its slots
    (B + 1) / 2B are useful. Who comes while a batch is under way waits for half of it, and then for the prompts.
    """
    name, size = "Continuous batching", base.per_replica
    if size == 1:
        return _nothing(name, "batching", "One conversation at a time has nobody to share a batch with.")
    mean, useful = base.workload.output_tokens, (size + 1) / (2 * size)
    static_s = size * base.prompt_s + (mean / useful - 1) * base.itl_s
    waited_s = static_s / 2 + (size + 1) / 2 * base.prompt_s
    return Optimisation(
        name,
        "batching",
        f"The plan has it already. Before: static batches of {size:,}, answers evenly spread around {mean:,} "
        f"tokens, which leaves {percent(useful)} of the slots useful.",
        (
            Change("TTFT", waited_s, base.ttft_s, "s"),
            Change("TPS, all", base.tps_total * base.round_s / static_s, base.tps_total, "tokens/s"),
        ),
        "A prompt that joins makes the others wait for its prefill.",
    )


def chunked_prefill(base: Plan, assumed: Assumptions) -> Optimisation:
    """The prompt in chunks that share passes with the others' decode steps, against one pass of its own."""
    name = "Chunked prefill"
    if base.per_replica == 1:
        return _nothing(name, "batching", "One conversation at a time has no streams that a prompt could stop.")
    prompt, chunk = base.workload.prompt_tokens, min(assumed.chunk_tokens, base.workload.prompt_tokens)
    starts = range(0, prompt, chunk)
    computed = starts[:: -(-len(starts) // _MOST_CHUNKS)]
    passes_s = [
        base.hop_s
        + mixed_pass(
            *pass_inputs(base),
            num_tokens=min(chunk, prompt - past),
            past=past,
            context_len=base.workload.middle_context,
            batch_size=base.batch_size,
            ways=base.deployment.tensor_parallel,
        ).total_s
        for past in computed
    ]
    prefill_s = sum(passes_s) / len(passes_s) * len(starts)
    return Optimisation(
        name,
        "batching",
        f"Prompts of {counted(prompt, 'token')} among {counted(base.batch_size, 'stream')}, {chunk:,} of them per "
        f"pass: {counted(len(starts), 'pass')}.",
        (
            Change("Worst gap", base.itl_s + base.prefill_s, max(passes_s), "s"),
            Change("TTFT", base.ttft_s, base.ttft_s - base.prefill_s + prefill_s, "s"),
        ),
        "Every chunk reads the weights and the cache so far again: the prompt's own first token comes later.",
    )


def prefill_batching(base: Plan, assumed: Assumptions) -> Optimisation:
    """Prompts that wait at the same time in one pass, against one after another."""
    count, work = assumed.num_prompts, base.workload
    together_s = base.hop_s + (
        prefill_pass(
            *pass_inputs(base),
            num_tokens=work.prompt_tokens,
            batch_size=count,
            ways=base.deployment.tensor_parallel,
        ).total_s
    )
    tokens = count * work.prompt_tokens
    return Optimisation(
        "Prefill batching",
        "batching",
        f"{counted(count, 'prompt')} of {counted(work.prompt_tokens, 'token')} waiting at the same time.",
        (
            Change("Prompt tokens/s", tokens / (count * base.prefill_s), tokens / together_s, "tokens/s"),
            Change("Mean TTFT of the prompts", (count + 1) / 2 * base.prefill_s, together_s, "s"),
        ),
        "Everybody waits for everybody. It gains where a prompt is too short to keep the arithmetic busy.",
    )


def disaggregation(base: Plan, assumed: Assumptions) -> Optimisation:
    """One deployment that only prefills and one that only decodes, against two that do both.

    A pair is as fast as its slower half; two that share both kinds of work never rest.
    """
    name, work = "Disaggregation", base.workload
    if base.per_replica == 1:
        return _nothing(name, "disaggregation", "One conversation at a time is not disturbed by others' prompts.")
    moved_s = transfer_s(base.spec, work.prompt_tokens, assumed.link)
    per_request_s = base.round_s / base.per_replica
    decode_s = (work.output_tokens - 1) * base.itl_s / base.per_replica
    pace = per_request_s / (2 * max(base.prompt_s, decode_s))
    tps = base.tps_total / base.deployment.num_accelerators
    return Optimisation(
        name,
        "disaggregation",
        f"One half prefills, the other decodes; the cache moves over {assumed.link.name}, "
        f"{scaled(assumed.link.bandwidth, 'B/s')}, in {seconds(moved_s)}.",
        (
            Change("Worst gap", base.itl_s + base.prefill_s, base.itl_s, "s"),
            Change("Mean gap", base.tpot_s, base.itl_s, "s"),
            Change("TTFT", base.ttft_s, base.prefill_s + moved_s, "s"),
            Change("TPS per accelerator", tps, tps * pace, "tokens/s"),
        ),
        "No throughput gained: of a pair, the half with less to do rests, and the best ratio of the two only loses "
        "nothing. It buys that no prompt stops a stream, and pays in network.",
    )


def _nothing(name: str, lab_path: str, why: str) -> Optimisation:
    return Optimisation(name, lab_path, why, (), "")
