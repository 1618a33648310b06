"""The score matrix: what attention's scores would take if they were stored, against the KV cache."""

from dataclasses import dataclass

from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.units import percent, scaled, significant
from inference.catalogue import models
from inference.kv_cache.growth import MOST_TOKENS
from inference.kv_cache.scores import Scores, outgrown_from
from pages.charts.kv_cache.scores import score_matrix as chart
from pages.ui.parts.card import Card, Figure, text_card
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart

_BITS = (32, 16, 8)


@dataclass(frozen=True, slots=True)
class ScoresSettings:
    model: str = "llama-2-7b"
    """Id of a catalogue model."""
    num_tokens: int = 4096
    bits: int = 16
    """Per score; the cache has 16."""


_DEFAULT = ScoresSettings()


def score_matrix(settings: ScoresSettings = _DEFAULT, *, key: str = "scores", is_fixed: bool = False) -> None:
    """One chart, one line of settings, and the sizes at the chosen length. All estimated."""
    controls = Controls(key, is_fixed=is_fixed)
    drawing = framed(f"{key}-chart")
    names = {name: spec.name for name, spec in models().items()}
    with row(key):
        model = controls.select("Model", list(names), settings.model, format_func=lambda name: names[name])
        num_tokens = controls.number("Tokens", settings.num_tokens, 1, MOST_TOKENS)
        bits = controls.select("Bits per score", _BITS, settings.bits, width=130)
    spec = models()[model]
    scores = Scores(spec, num_tokens, bits)
    with drawing:
        live_chart(
            lambda: chart(spec, num_tokens=num_tokens, bits=bits),
            version=(model, num_tokens, bits),
            key=f"{key}-chart",
            title="Score matrix against KV cache",
            caption=f"{spec.name}, {spec.num_query_heads} query heads in {spec.num_layers} layers, {bits}-bit "
            "scores, 16-bit cache; estimated; both axes grow by factors",
            alt="Bytes of attention's scores, growing with the square of the tokens, and of the KV cache.",
            table=lambda: _table(spec, num_tokens, bits),
        )
    text_card(sizes(scores), key=f"{key}-numbers")


def _table(spec: ModelSpec, num_tokens: int, bits: int) -> Table:
    lengths = sorted({outgrown_from(spec, bits=bits), *(4**power for power in range(3, 9)), num_tokens})
    scores = [Scores(spec, length, bits) for length in lengths]
    return Table(
        ["tokens", "one head, one layer", "all, if stored", "KV cache", "one row"],
        [
            [f"{score.num_tokens:,}"]
            + [
                scaled(size, "B")
                for size in (score.matrix_bytes, score.stored_bytes, score.kv_bytes, score.row_bytes)
            ]
            for score in scores
        ],
    )


def sizes(scores: Scores) -> Card:
    """The four sizes, and why the largest of them never exists."""
    tokens = f"{scores.num_tokens:,}"
    times = scores.stored_bytes / scores.kv_bytes
    figures = (
        Figure(scaled(scores.matrix_bytes, "B"), f"{tokens} × {tokens} scores: one head, one layer"),
        Figure(scaled(scores.stored_bytes, "B"), f"all heads and layers, if stored: {significant(times)} caches"),
        Figure(scaled(scores.kv_bytes, "B"), "the KV cache of the same tokens"),
        Figure(scaled(scores.row_bytes, "B"), "one row: a decode step, per head"),
    )
    return Card(figures=figures, sentence=_WORDS.format(masked=percent(scores.masked_share)), height=_HEIGHT)


_HEIGHT = 128
_WORDS = (
    "Scores are temporary and the cache stays. {masked} of each matrix is masked, layers run one after another, "
    "and fused kernels (FlashAttention) compute it tile by tile and never write it to memory. Decode needs one row."
)
