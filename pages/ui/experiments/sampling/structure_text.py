"""The words and tables of the structure experiment. Tables may hold a model's text: cells are set as text."""

from collections.abc import Sequence
from itertools import zip_longest
from statistics import median

from inference.arithmetic.units import percent, seconds
from inference.structure.records import Kind, StructuredRun, StructuredStep, TokenOption
from pages.charts.sampling.structured import share
from pages.charts.tokens import visible
from pages.ui.parts.live_chart import Table

COLUMNS = ["without the mask", "probability", "mask", "with the mask", "probability"]
FORBIDDEN = "forbidden"
JUDGES: dict[Kind, str] = {
    "JSON schema": "jsonschema",
    "regular expression": "the module regex",
    "choices": "a look at the list",
}
LEGEND = "Boxed: the mask forbade the model's first choice. Dotted: it left a single token."


def verdict(run: StructuredRun) -> str:
    """Whether it is whole and valid, and who says so."""
    judge = JUDGES[run.request.constraint.kind]
    opinion = {
        True: f"valid, says {judge}, independent of the mask",
        False: f"not valid, says {judge}",
        None: f"{judge} could not say in time whether it is valid",
    }[run.is_valid]
    if run.ending is None:
        return "Being written."
    if not run.request.is_masked:
        return f"Written without the mask: {opinion}."
    if not run.is_complete:
        where = f"at the maximum of {run.request.recipe.max_new_tokens:,} tokens"
        where = "where the context was full" if run.ending == "context full" else where
        return f"Cut off {where}: incomplete, and {opinion}. Raise the maximum, or bound what may be long."
    return f"Complete, and {opinion}."


def influence(run: StructuredRun) -> str:
    """At how many tokens the mask decided."""
    num = len(run.steps)
    overridden = sum(step.is_overridden for step in run.steps)
    forced = sum(step.is_forced for step in run.steps)
    if not run.request.is_masked:
        return "All tokens were allowed at every step."
    return f"The mask forbade the first choice at {overridden} of {num} tokens; at {forced} it left a single one."


def cost(run: StructuredRun) -> str:
    """What the mask adds, by medians."""
    mask_s, forward_s = median(step.mask_s for step in run.steps), median(step.forward_s for step in run.steps)
    if not run.request.is_masked:
        return f"A forward pass took {seconds(forward_s)}, the median; there was no mask."
    return (
        f"Medians: {seconds(mask_s)} for the mask, {seconds(forward_s)} for a pass, {percent(mask_s / forward_s)}. "
        f"Building the grammar once took {seconds(run.compile_s)}."
    )


def telling_step(run: StructuredRun) -> int:
    """The step to look at first: where the mask overrode the model and still left a choice, at the least mass."""
    if run.ending is None:
        return len(run.steps) - 1
    disputed = [step for step in run.steps if step.is_overridden and not step.is_forced]
    return min(disputed or run.steps, key=lambda step: step.feasible_mass).index


def step_title(step: StructuredStep, num_steps: int, vocab_size: int) -> str:
    return f"Token {step.index + 1} of {num_steps}: {step.num_allowed:,} of {vocab_size:,} tokens allowed"


def step_words(step: StructuredStep) -> str:
    best = step.raw_top[0]
    sentences = [f"The model gave the allowed tokens {share(step.feasible_mass)} before the mask."]
    if step.is_overridden:
        sentences.append(f"Its first choice {_quoted(best.raw)} was forbidden; {_quoted(step.raw)} was chosen.")
    elif step.is_changed:
        sentences.append(
            f"{_quoted(step.raw)} was drawn; with the same seed and no mask it would have been another."
        )
    elif step.is_forced:
        sentences.append(f"{_quoted(step.raw)} was the only one left: an engine may write it without a pass.")
    else:
        sentences.append(f"{_quoted(step.raw)} was chosen, as it would have been without the mask.")
    return " ".join(sentences)


def step_table(step: StructuredStep) -> tuple[Table, tuple[tuple[int, int], ...]]:
    """Both ranks side by side, and the cells of the token chosen."""
    rows = [
        [*_without(left), *_with(right)]
        for left, right in zip_longest(step.raw_top, step.masked_top, fillvalue=None)
    ]
    marked = [*_places(step.raw_top, step.token_id, 0), *_places(step.masked_top, step.token_id, 3)]
    return Table(COLUMNS, rows), tuple(marked)


def _without(option: TokenOption | None) -> list[str]:
    if option is None:
        return ["", "", ""]
    return [_quoted(option.raw), share(option.probability), "" if option.is_allowed else FORBIDDEN]


def _with(option: TokenOption | None) -> list[str]:
    return ["", ""] if option is None else [_quoted(option.raw), share(option.masked_probability)]


def _quoted(raw: bytes) -> str:
    """In a sentence, and in a column that must not be taken for numbers."""
    return f"“{visible(raw)}”"


def _places(options: Sequence[TokenOption], token_id: int, column: int) -> list[tuple[int, int]]:
    return [(row, column) for row, option in enumerate(options) if option.token_id == token_id]


def mass_table(run: StructuredRun | None) -> Table:
    steps = run.steps if run else ()
    rows = [
        [
            str(step.index + 1),
            visible(step.raw),
            share(step.feasible_mass),
            f"{step.num_allowed:,}",
            visible(step.raw_top[0].raw) if step.is_overridden else "",
        ]
        for step in steps
    ]
    return Table(["token", "text", "feasible mass, measured", "allowed", "forbidden first choice"], rows)


def cost_table(run: StructuredRun | None) -> Table:
    steps = run.steps if run else ()
    rows = [[str(step.index + 1), step.phase, seconds(step.forward_s), seconds(step.mask_s)] for step in steps]
    return Table(["token", "phase", "forward pass, measured", "mask, measured"], rows)
