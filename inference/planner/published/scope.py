"""Where a plan lies outside the published measurements the planner was held against: said beside its numbers."""

from collections.abc import Iterator

from inference.planner.efficiency import efficiency, family
from inference.planner.plan import Plan
from inference.planner.published.runs import PublishedRun, published_runs

PUBLISHED_IN = {"deepseek-v3": "FP8", "gpt-oss-20b": "MXFP4", "gpt-oss-120b": "MXFP4"}
"""The format of a model's own checkpoint where it is under 16 bits, by the notes of its row in the catalogue."""
_MUCH = 1.05  # a batch or a prompt this little above the largest published one is not worth a sentence


def outside(plan: Plan) -> tuple[str, ...]:
    """One sentence for each way in which nothing published stands behind this plan; empty where all of it does."""
    return tuple(_sentences(plan))


def other_widths(plan: Plan) -> str:
    """That the plan counts more bits than the model was published in; empty where it does not."""
    bits, published = plan.deployment.weight_bits, PUBLISHED_IN.get(plan.spec.id)
    if published is None or bits < 16:
        return ""
    return (
        f"{plan.spec.name} is published in {published}; this plan counts {bits:g} bits for each weight, so it asks "
        "for more memory and more bytes a step than that checkpoint does. Set the weight bits to what you run."
    )


def _sentences(plan: Plan) -> Iterator[str]:
    engine, kind = plan.deployment.engine, family(plan.hardware.id)
    rows = [run for run in published_runs() if run.engine == engine]
    near = [run for run in rows if kind is not None and run.group == (engine, kind)]
    if plan.hardware.is_measured:
        yield "A machine by its measured roofs: published rows do not speak for it, its own sweeps do."
        return
    where = f"{plan.hardware.name} or its family" if kind else plan.hardware.name
    missing = [name for name, runs in (("prefill", _prefills(near)), ("decode", _decodes(near))) if not runs]
    if missing:
        yield (
            f"No published {' or '.join(missing)} of this engine class on {where}: "
            f"{'its' if len(missing) == 1 else 'the'} values are those of the engine in general."
        )
    if plan.efficiency != efficiency(engine, plan.hardware):
        yield "The efficiency values are your own; the errors are those of the fitted ones."
    yield from _sizes(plan, near or rows)
    yield from _kinds(plan, rows)


def _sizes(plan: Plan, rows: list[PublishedRun]) -> Iterator[str]:
    """Batch, prompt and context beyond any of the rows."""
    batch = max((run.batch_size for run in rows), default=0)
    prompt = max((run.prompt_tokens for run in _prefills(rows)), default=0)
    context = max((run.context_len for run in _decodes(rows)), default=0)
    if batch and plan.batch_size > batch * _MUCH:
        yield f"{plan.batch_size:,} conversations in a step; it was checked up to {batch:,} in a step."
    if prompt and plan.workload.prompt_tokens > prompt * _MUCH:
        yield f"{plan.workload.prompt_tokens:,} prompt tokens; it was checked up to {prompt:,}."
    length = plan.workload.prompt_tokens + plan.workload.output_tokens // 2
    if context and length > context * _MUCH:
        yield f"Steps at {length:,} tokens of context; it was checked up to {context:,}."


def _kinds(plan: Plan, rows: list[PublishedRun]) -> Iterator[str]:
    """Splits and architectures that no row has."""
    deployment, spec = plan.deployment, plan.spec
    ways = {run.tensor_parallel for run in rows}
    if deployment.tensor_parallel > max(ways, default=1):
        yield (
            f"Tensor parallelism of {deployment.tensor_parallel}: "
            + (f"the rows of this engine end at {max(ways)}." if max(ways, default=1) > 1 else "no row has any.")
        )
    if deployment.pipeline_parallel > 1:
        yield "Pipeline stages: no published row has them; the hops between stages are assumed."
    if spec.moe and not any(run.spec.moe for run in rows):
        yield "A mixture of experts: no row of this engine class has one."
    elif spec.moe and plan.batch_size > 1 and not any(run.spec.moe and run.batch_size > 1 for run in rows):
        yield "A mixture of experts in a batch: its rows are of one sequence; how tokens share experts is assumed."
    if spec.mla and not any(run.spec.mla for run in rows):
        yield "Latent attention (MLA): no row of this engine class has it."
    if any(spec.layer_windows) and not any(any(run.spec.layer_windows) for run in rows):
        yield "Sliding windows: no row of this engine class has them."
    bits = {run.spec.weight_bits for run in rows}
    if bits and not min(bits) <= spec.weight_bits <= max(bits):
        yield f"{spec.weight_bits:g}-bit weights; the rows of this engine are from {min(bits):g} to {max(bits):g}."


def _prefills(rows: list[PublishedRun]) -> list[PublishedRun]:
    return [run for run in rows if run.kind in ("prefill", "request")]


def _decodes(rows: list[PublishedRun]) -> list[PublishedRun]:
    return [run for run in rows if run.kind in ("decode", "request")]
