"""The learners' KV caches in blocks, as a paging server would lay them out; examples where nobody runs."""

from dataclasses import dataclass, replace

import streamlit as st

from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.units import scaled
from inference.cost import kv_bytes_per_token
from inference.kv_cache.paged import MOST_TOKENS_PER_BLOCK, Conversation, Held, Layout, layout
from pages.charts.kv_cache.blocks import blocks
from pages.ui import state
from pages.ui.form import EXAMPLES
from pages.ui.parts.card import Card, Figure, card
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart

_FEWEST = 2  # live caches that need no examples beside them
_MOST_EXAMPLE_TOKENS = 4096
_NEW_TOKENS = 64
_EXAMPLES = ((0, 5), (9, 30), (22, 51))  # tokens the prompt is longer, tokens generated of _NEW_TOKENS


@dataclass(frozen=True, slots=True)
class BlocksSettings:
    block_size: int = 16
    """Tokens a block: vLLM's default."""
    prompt_tokens: int = 60
    """Of the shortest example."""
    same_tokens: int = 40
    """With which the examples begin alike."""


_DEFAULT = BlocksSettings()


def paged_blocks(settings: BlocksSettings = _DEFAULT, *, key: str = "blocks", is_fixed: bool = False) -> None:
    """One strip a conversation, one line of settings, and what paging wastes against reserving."""
    controls = Controls(key, is_fixed=is_fixed)
    drawing = framed(f"{key}-chart")
    live = _live()
    with row(key):
        size = controls.number("Tokens a block", settings.block_size, 1, MOST_TOKENS_PER_BLOCK)
        conversations = [held.conversation for held in live]
        if len(live) < _FEWEST:
            prompt = controls.number("Example prompt", settings.prompt_tokens, 1, _MOST_EXAMPLE_TOKENS)
            same = controls.number("Equal beginning", settings.same_tokens, 0, _MOST_EXAMPLE_TOKENS)
            conversations += examples(len(live), prompt, min(same, prompt))
    paged = layout(conversations, block_size=size)
    with drawing:
        live_chart(
            lambda: blocks(paged),
            version=paged,
            key=f"{key}-chart",
            title=f"KV caches in blocks of {size} {'token' if size == 1 else 'tokens'}",
            caption=_caption(live, len(conversations)),
            alt="A strip of blocks for each conversation: filled, shared, partly filled, reserved but empty.",
            table=lambda: _table(paged),
        )
    engine = state.laboratory().engine
    with framed(f"{key}-numbers"):
        if engine is None:
            st.text("The model is loading: its bytes a token are not known yet.")
        else:
            card(numbers(paged, live, engine.spec), key=f"{key}-numbers")


def _live() -> tuple[Held, ...]:
    from inference.server.held import held  # noqa: PLC0415  # it knows runs, and with them torch: only once they are there

    runs = state.laboratory().runs
    return held(runs, state.learner(), public_prompts=frozenset(EXAMPLES.values())) if runs else ()


def examples(first: int, prompt_tokens: int, same_tokens: int) -> list[Conversation]:
    """Conversations from the settings; the others begin like the first of them, whose place is `first`."""
    conversations = [
        Conversation(
            name=f"example {number}",
            prompt_tokens=prompt_tokens + longer,
            cached_tokens=prompt_tokens + longer + generated,
            reserved_tokens=prompt_tokens + longer + _NEW_TOKENS,
            is_example=True,
        )
        for number, (longer, generated) in enumerate(_EXAMPLES, start=1)
    ]
    return [
        conversations[0],
        *(replace(conversation, same_as=first, same_tokens=same_tokens) for conversation in conversations[1:]),
    ]


def _caption(live: tuple[Held, ...], num_shown: int) -> str:
    whose = f"{len(live)} live" if live else "no live run"
    if num_shown > len(live):
        whose += f", {num_shown - len(live)} made-up examples in grey"
    return (
        f"{whose}; solid: written by prefill, then decode; outlined: shared, or empty in a last block; dashed: "
        "reserved without blocks"
    )


def _table(paged: Layout) -> Table:
    rows = []
    for strip in paged.rows:
        lengths = strip.conversation
        rows.append(
            [
                lengths.name,
                f"{lengths.cached_tokens:,}",
                _numbers(strip.table),
                f"{strip.num_shared:,}",
                f"{strip.empty_tokens:,}",
                f"{lengths.reserved_tokens - lengths.cached_tokens:,}",
            ]
        )
    columns = ["conversation", "tokens", "block table", "shared blocks", "empty, paged", "empty, reserved"]
    return Table(columns, rows)


def _numbers(table: tuple[int, ...]) -> str:
    """Runs of neighbouring blocks written together: 0-3, 7, 9-10."""
    spans: list[list[int]] = []
    for number in table:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in spans)


def numbers(paged: Layout, live: tuple[Held, ...], spec: ModelSpec) -> Card:
    """Blocks, and what stays empty with them and without; bytes of the model that runs here."""
    each = kv_bytes_per_token(spec)
    figures = [
        Figure(f"{paged.num_blocks:,}", f"physical blocks; sharing saves {paged.num_saved:,}"),
        Figure(_bytes(paged.empty_tokens * each), "empty in blocks, computed"),
        Figure(_bytes(paged.unused_tokens * each), "empty in contiguous reservations, computed"),
    ]
    if live:
        measured = sum(held.kv_bytes for held in live)
        figures.append(Figure(_bytes(measured), f"held by {len(live)} live, measured"))
    return Card(figures=tuple(figures), sentence=_WORDS, height=_HEIGHT)


def _bytes(value: float) -> str:
    return scaled(value, "B")


_HEIGHT = 148
_WORDS = (
    "A block table says where each block lies, so each leaves at most one block partly empty; a contiguous "
    "reservation must hold the longest it may become. Only full blocks from position 0 on are shared. This server "
    "does not page: it is what vLLM would do with these lengths. Between learners only the example prompts are "
    "compared: a count would give away what others wrote."
)
