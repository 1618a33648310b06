"""What a speculative run showed, in words and tables: gain, price, condition, and whether the text is the same."""

from collections.abc import Sequence

from inference.arithmetic.units import percent, seconds, significant
from inference.speculation.acceptance import expected_gain, expected_tokens
from inference.speculation.draft import LOOK_UP
from inference.speculation.records import Round, Speculated
from pages.ui.experiments.speculation.strip import token_text
from pages.ui.parts.card import Card, Figure
from pages.ui.parts.live_chart import Table

LEGEND = (
    "A block is a pass: its width the time, its height the tokens. Solid: drafted and accepted. Hatched: the "
    "model's own token. Pale: drafted for nothing. Below: plain decoding, in turn."
)
UNMEASURED = (
    "Both ways decode on the same engine and take turns: after each round plain decoding catches up. Watch how "
    "much wider a round's pass is than a plain step, and how many tokens stand on it."
)
_HEIGHT = 68


def summary(run: Speculated | None) -> Card:
    """Gain, tokens per pass and acceptance."""
    if run is None:
        return Card(kicker="Speculation against plain decoding", note="Not run yet.", height=_HEIGHT)
    least, most = min(run.gains), max(run.gains)
    spread = f"; repeats {significant(least)} to {significant(most)}" if len(run.gains) > 1 else ""
    tested = sum(round_.num_tested for round_ in run.rounds)
    return Card(
        figures=(
            Figure(f"{significant(run.gain)} times", f"as fast as plain decoding, measured{spread}"),
            Figure(
                significant(run.tokens_per_pass),
                f"tokens per pass, measured; {significant(run.expected_tokens)} expected",
                "By the formula at the measured acceptance, with as many drafts as each round had.",
            ),
            Figure(
                percent(run.acceptance) if tested else "none",
                f"accepted, of {tested:,} drafts that were decided on",
                "Drafts behind the first wrong one of a round are never decided on.",
            ),
        ),
        height=_HEIGHT,
    )


def sameness(run: Speculated) -> str:
    """Whether the text is that of plain decoding, and where not, why."""
    if run.request.temperature:
        return (
            f"Drawn at temperature {run.request.temperature:g}, the text is another than plain decoding's with the "
            "same seed; what stays the same is the distribution it is drawn from: see Sampled."
        )
    rounding = (
        "verified among others or decoded alone, a position's logits differ by at most "
        f"{run.logit_difference:.1g}, which is rounding"
    )
    if run.parting is None:
        num_same = min(len(run.token_ids), len(run.plain_ids))
        return f"Same text as plain greedy decoding, token by token: {num_same:,} of {num_same:,}; {rounding}."
    apart = f"the two best logits are {run.parting.margin:.1g} apart"
    where = f"The texts part at token {run.parting.place + 1:,}, where {apart}"
    if run.is_tie:
        return f"{where}: a tie ({rounding})."
    return f"{where}: more than rounding can explain. This is a fault of the program; please report it."


def explanation(run: Speculated) -> str:
    """The phase it helps, the price and the condition, with this run's numbers."""
    drafted = sum(len(round_.drafted) for round_ in run.rounds)
    fallen = drafted - sum(round_.num_accepted for round_ in run.rounds)
    return (
        "Speculation helps decode where it waits for the weights: one reading of them serves several tokens. Here "
        f"a pass took {significant(run.pass_cost)} times a plain step on average and yielded "
        f"{significant(run.tokens_per_pass)} tokens, and {_verdict(run)}. The price is work thrown away: "
        f"{fallen:,} of {drafted:,} drafted tokens. The condition is text that can be guessed, and arithmetic to "
        "spare, which many requests at once would use up."
    )


def _verdict(run: Speculated) -> str:
    """By all repeats: one that disagrees leaves it open."""
    times = f"{significant(run.gain)} times as fast as plain decoding"
    if min(run.gains) > 1:
        return f"speculation won: {times}"
    if max(run.gains) < 1:
        return f"speculation lost: {times}"
    return f"the repeats do not agree on a winner: in the middle {times}"


def theorem(run: Speculated) -> str:
    """Theorem 3.8 of the paper beside the measured gain."""
    k, acceptance = run.request.num_drafted, run.acceptance
    simple = expected_gain(acceptance, k, draft_cost=run.draft_cost)
    source = "look a token up" if run.request.draft == LOOK_UP else "draft a token"
    return (
        f"By the paper's theorem 3.8 the gain would be E/(kc + 1) = {significant(simple)} times, with k = {k}, "
        f"E = {significant(expected_tokens(acceptance, k))} tokens and c = {significant(run.draft_cost, 2)}, "
        f"the measured time to {source} over a plain step. It takes every round to have k drafts, and a pass over "
        f"them to cost no more than a plain step. Measured: {significant(run.gain)} times."
    )


def round_lines(round_: Round, number: int) -> list[str]:
    """For the hover of a block."""
    num_tokens = len(round_.token_ids)
    head = f"round {number}: {num_tokens} token{'s' * (num_tokens > 1)} in {seconds(round_.total_s)}"
    if not round_.drafted:
        return [head, f"no draft; the model wrote {token_text(*round_.token_ids)}"]
    own = f", then {round_.last} {token_text(round_.token_id)}" if round_.token_id is not None else ""
    return [
        head,
        f"drafted {_short(token_text(*round_.drafted))}",
        f"accepted {round_.num_accepted} of {len(round_.drafted)}{own}",
    ]


def _short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def rounds_table(run: Speculated | None) -> Table:
    return Table(
        ["round", "drafted", "accepted", "then", "tokens", "draft", "pass", "verify"],
        [_line(number, round_) for number, round_ in enumerate(run.rounds if run else (), 1)],
    )


def _line(number: int, round_: Round) -> list[str]:
    own = (
        f"{round_.last}: {token_text(round_.token_id)}"
        if round_.token_id is not None
        else "ended by an accepted draft"
    )
    return [
        f"{number}",
        token_text(*round_.drafted) if round_.drafted else "nothing",
        f"{round_.num_accepted} of {len(round_.drafted)}",
        own,
        f"{len(round_.token_ids)}",
        seconds(round_.draft_s),
        seconds(round_.forward_s),
        seconds(round_.verify_s),
    ]


def sizes_table(runs: Sequence[Speculated]) -> tuple[Table, tuple[tuple[int, int], ...]]:
    """A line for each k, and the cells of the best one."""
    rows = [
        [
            f"{run.request.num_drafted}",
            percent(run.acceptance),
            significant(expected_tokens(run.acceptance, run.request.num_drafted)),
            significant(run.tokens_per_pass),
            f"{significant(run.pass_cost)} times",
            f"{significant(run.gain)} times",
        ]
        for run in runs
    ]
    columns = [
        "drafts a round, k",
        "acceptance",
        "tokens per pass, expected",
        "tokens per pass, measured",
        "time of a pass over a plain step, measured",
        "gain, measured",
    ]
    best = max(range(len(runs)), key=lambda place: runs[place].gain, default=-1)
    marked = tuple((best, column) for column in range(len(columns))) if len(runs) > 1 else ()
    return Table(columns, rows), marked
