"""KV caches in blocks: one strip a conversation, with what is filled, shared, empty, and reserved without need."""

from collections.abc import Iterator

import numpy as np
import plotly.graph_objects as go

from inference.kv_cache.paged import Layout, Paged
from pages.charts.palette import CARD, DECODE, ESTIMATE, INK, PREFILL, figure
from pages.charts.strips import DASHES, OUTLINE, edges, frame, name_rows

_ROW = 46  # pixels a conversation
_AROUND = 64  # pixels: the axis and its title
_FEWEST = 3  # rows whose room is kept, so that a card does not shrink when the second learner arrives
_HALF = 0.3  # of a strip's height
_MOST_NUMBERED, _MOST_DIVIDED = 16, 120  # blocks side by side that still have room for a number, for an edge


def blocks(layout: Layout) -> go.Figure:
    """Solid: tokens held. Outlined: slots of blocks. Dashed: the rest of a contiguous reservation."""
    rows = layout.rows
    chart = figure(height=_AROUND + _ROW * max(_FEWEST, len(rows)), x="tokens", y="", is_empty=not rows)
    if not rows:
        return chart
    for name, colour, is_example in (
        ("written by prefill", PREFILL, False),
        ("written by decode", DECODE, False),
        ("example", ESTIMATE, True),
    ):
        _filled(chart, layout, name, colour, is_example=is_example)
    widest = max(max(row.conversation.reserved_tokens, len(row.table) * layout.block_size) for row in rows)
    for place, row in enumerate(rows):
        end, size = len(row.table) * layout.block_size, layout.block_size
        _outline(chart, place, (end, row.conversation.reserved_tokens), DASHES)
        _outline(chart, place, (0, row.num_shared * size), OUTLINE)
        _outline(chart, place, (row.conversation.cached_tokens, end), OUTLINE)
    if widest <= _MOST_DIVIDED * layout.block_size:
        _edges(chart, layout)
    if widest <= _MOST_NUMBERED * layout.block_size:
        _numbers(chart, layout)
    chart.update_layout(margin={"l": 84, "r": 8, "t": 4, "b": 40}, barmode="overlay")
    name_rows(chart, [row.conversation.name for row in rows])
    chart.update_xaxes(range=[0, widest * 1.01], showgrid=False)
    return chart


def _filled(chart: go.Figure, layout: Layout, name: str, colour: str, *, is_example: bool) -> None:
    """The tokens a conversation holds in blocks of its own."""
    rows = [(place, row) for place, row in enumerate(layout.rows) if row.conversation.is_example == is_example]
    spans = [_span(row, layout.block_size, name) for _, row in rows]
    chart.add_bar(
        y=[place for place, _ in rows],
        base=[start for start, _ in spans],
        x=[stop - start for start, stop in spans],
        orientation="h",
        width=2 * _HALF,
        marker={"color": colour, "line": {"width": 0}},
        name=name,
        hovertext=[_hover(row) for _, row in rows],
        hoverinfo="text",
    )


def _span(row: Paged, block_size: int, name: str) -> tuple[int, int]:
    conversation, shared = row.conversation, row.num_shared * block_size
    if name == "written by prefill":
        return shared, conversation.prompt_tokens
    return (conversation.prompt_tokens if name == "written by decode" else shared), conversation.cached_tokens


def _hover(row: Paged) -> str:
    conversation = row.conversation
    return (
        f"{conversation.name}: {conversation.cached_tokens:,} tokens in {len(row.table):,} blocks"
        f"<br>{row.num_shared:,} of them shared, {row.empty_tokens:,} slots of the last one empty"
        f"<br>a contiguous reservation: {conversation.reserved_tokens:,} tokens"
    )


def _outline(chart: go.Figure, place: int, span: tuple[int, int], line: dict[str, object]) -> None:
    if span[0] < span[1]:
        frame(chart, span, place, half_height=_HALF, line=line)


def _edges(chart: go.Figure, layout: Layout) -> None:
    """Where one block ends and the next begins: a trace for shared and one for own blocks, broken by gaps."""
    for is_shared, line in ((True, OUTLINE), (False, {"color": CARD, "width": 2})):
        spots = [
            (number * layout.block_size, place)
            for place, number in _places(layout)
            if number and (number < layout.rows[place].num_shared) == is_shared
        ]
        edges(chart, spots, half_height=_HALF, line=line)


def _numbers(chart: go.Figure, layout: Layout) -> None:
    """The physical block under every piece of a strip: the block table, read from left to right."""
    places = list(_places(layout))
    middles = [(number + 0.5) * layout.block_size for _, number in places]
    rows = [layout.rows[place] for place, _ in places]
    chart.add_scatter(
        x=np.array(middles),
        y=np.array([place for place, _ in places]),
        mode="text",
        text=[str(row.table[number]) for row, (_, number) in zip(rows, places, strict=True)],
        textfont={
            "size": 13,
            "color": [
                CARD if row.num_shared * layout.block_size < middle < row.conversation.cached_tokens else INK
                for row, middle in zip(rows, middles, strict=True)
            ],
        },
        name="physical block",
        hoverinfo="skip",
    )


def _places(layout: Layout) -> Iterator[tuple[int, int]]:
    """Each strip with the numbers of its blocks, counted along it."""
    for place, row in enumerate(layout.rows):
        for number in range(len(row.table)):
            yield place, number
