"""The words and numbers beside the roofline: table, caption, what keeps a pass from its roof, the prediction."""

from collections.abc import Sequence

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.roofline import Ceilings, Explained
from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.units import percent, scaled, seconds, significant
from inference.machine.placed import Placed, reasons, words
from pages.charts.run.explained import verdict as verdict_of
from pages.ui.parts.live_chart import Table
from pages.ui.parts.prediction import Bins, Outcome, Prediction

_FACTORS = Bins(
    ((0.5, "the decode step"), (2.0, "about the same"), (10.0, "the prompt, 2 to 10 times")),
    "the prompt, over 10 times",
)
PREDICTION = Prediction(
    "roofline-factor",
    "A prompt of 512 tokens in one pass, and one decode step: which reaches more of this machine's FLOP/s, "
    "and by what factor?",
    _FACTORS.options[::-1],
)


def caption(
    placed: Sequence[Placed], roofs: Sequence[Ceilings], sheet: Hardware | None, dtypes: Sequence[str], trouble: str
) -> str:
    sentences = (
        [trouble] if trouble else ["Solid: roofs measured here; dotted: the overhead roof; bars: quartiles."]
    )
    if placed and roofs:
        best = max(placed, key=lambda placed_pass: placed_pass.share(roofs[0]))
        sentences.append(f"Closest to its roof: {words(best.point.setting)}, {percent(best.share(roofs[0]))}.")
    if sheet:
        missing = [dtype for dtype in dtypes if dtype not in sheet.peak_flops]
        sentences.append(f"Dashed: {sheet.name}, datasheet.")
        sentences += [
            f"It has no sourced peak in {dtype}, so no compute roof is drawn for it." for dtype in missing
        ]
    return " ".join(sentences)


def table(placed: Sequence[Placed], ceilings: Ceilings | None) -> Table:
    columns = ["pass", "FLOP/byte, estimated", "FLOP/s", "median", "quartiles", "regime", "of its roof"]
    columns += ["arithmetic at least", "bytes at least", "overhead"]
    return Table(columns, [_line(placed_pass, ceilings) for placed_pass in placed])


def _line(placed_pass: Placed, ceilings: Ceilings | None) -> list[str]:
    point = placed_pass.point
    cells = [words(point.setting), significant(placed_pass.work.intensity), scaled(placed_pass.rate, "FLOP/s")]
    cells += [seconds(point.median_s), f"{seconds(point.lower_s)} to {seconds(point.upper_s)}"]
    if ceilings is None:
        return cells + ["no roof"] * 5
    return [
        *cells,
        verdict_of(placed_pass.explained(ceilings)),
        percent(placed_pass.share(ceilings)),
        seconds(placed_pass.work.flops / ceilings.flops),
        seconds(placed_pass.work.bytes / ceilings.bandwidth),
        seconds(ceilings.overhead_s),
    ]


def reason(placed_pass: Placed, spec: ModelSpec, ceilings: Ceilings) -> str:
    """The three floors of a pass against its measured time, and what they leave unexplained."""
    parts, explained = reasons(placed_pass, spec, ceilings), placed_pass.explained(ceilings)
    least = parts.least

    def share(time_s: float) -> str:
        return f"{seconds(time_s)} ({percent(time_s / parts.measured_s)})"

    name = words(placed_pass.point.setting)
    sentences = [
        f"{name[:1].upper()}{name[1:]} took {seconds(parts.measured_s)}. Its floors: arithmetic "
        f"{seconds(least.compute_s)}, {scaled(placed_pass.work.bytes, 'B')} to move {seconds(least.memory_s)}, "
        f"overhead {seconds(least.overhead_s)}. {_longest(explained)}"
    ]
    on_top = (
        ("Bytes and arithmetic", parts.roof_s)
        if least.regime == "overhead-bound"
        else ("Overhead", least.overhead_s)
    )
    sentences.append(f"{on_top[0]} on top: {share(on_top[1])}.")
    if parts.slower_s > 0:
        sentences.append(
            f"This model's own products, attention and norms run below the roof: {share(parts.slower_s)} more."
        )
    if parts.rest_s >= 0:
        sentences.append(f"Left unexplained: {share(parts.rest_s)}; norms and activation functions are in it.")
    else:
        sentences.append(
            f"Together that is {seconds(-parts.rest_s)} more than was measured: the parts overlap, or the machine "
            "was busier while its roofs were measured."
        )
    return " ".join(sentences)


def _longest(explained: Explained) -> str:
    """Whether the longest floor explains the pass."""
    share = max(explained.reading, explained.arithmetic, explained.overhead)
    if explained.is_above_roof:
        return "It lies above a measured roof: a processor cache helped, or the roof was measured too low."
    if explained.regime is None:
        return f"The longest is {percent(share)} of the time: no single limit explains this pass."
    return f"The longest is {percent(share)} of the time: it is {explained.regime}."


def verdict(prompt: float, step: float) -> Outcome:
    """For the FLOP/s of the two."""
    factor = prompt / step
    rates = f"{scaled(prompt, 'FLOP/s')} in prefill, {scaled(step, 'FLOP/s')} in decode, times measured"
    return Outcome(_FACTORS.name_of(factor), f"{rates}: {significant(factor)} times as much.")
