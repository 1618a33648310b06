"""A prompt block by block: shaded where another prompt has the same full blocks, underlined where they part."""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from inference.kv_cache.paged import equal_start
from inference.sampling_lab.next_token import Vocabulary
from pages.charts.tokens import visible
from pages.ui import state

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "two_phases_prefix_strip",
    html='<p class="title"></p><div class="blocks" tabindex="0" role="region"></div>',
    css=(_HERE / "strip.css").read_text(),
    js=(_HERE / "strip.js").read_text(),
)
_BEFORE, _AFTER = 1, 3  # blocks shown around the place where the prompts part


@dataclass(frozen=True, slots=True)
class Pair:
    """Two prompts as token ids; the strip is of the first."""

    shown: tuple[int, ...]
    other: tuple[int, ...]


def prefix_strip(
    pair: Pair | None, vocabulary: Vocabulary | None, *, block_size: int, title: str, key: str
) -> None:
    """Draw one prompt's blocks; between the ends and the place where the prompts part, blocks are folded."""

    def blocks() -> list[dict[str, object]]:
        return _blocks(pair, vocabulary, block_size) if pair and vocabulary else []

    shown = state.remembered(key, (pair, block_size, vocabulary is None), blocks)
    _component(data={"title": title, "blocks": shown, "hint": "The model is loading."}, key=key)


def _blocks(pair: Pair, vocabulary: Vocabulary, block_size: int) -> list[dict[str, object]]:
    same = equal_start(pair.shown, pair.other)
    starts = range(0, len(pair.shown), block_size)
    parting = same // block_size
    shown = {0, *range(parting - _BEFORE, parting + _AFTER), len(starts) - 1}
    blocks: list[dict[str, object]] = []
    folded = 0
    for number, start in enumerate(starts):
        if number not in shown:
            folded += 1
            if number + 1 in shown or number + 1 == len(starts):
                blocks.append(_gap(folded, is_shared=number < parting))
                folded = 0
            continue
        ids = pair.shown[start : start + block_size]
        kind = "partial" if len(ids) < block_size else "shared" if start + block_size <= same else "own"
        blocks.append(
            {
                "kind": kind,
                "hint": _HINTS[kind].format(number=number + 1),
                "tokens": [
                    {"label": visible(vocabulary[token_id]), "changed": place == same}
                    for place, token_id in enumerate(ids, start=start)
                ],
            }
        )
    return blocks


_HINTS = {
    "shared": "block {number}: the same in both prompts, and everything before it",
    "own": "block {number}: full, but not the same in both prompts up to its end",
    "partial": "block {number}: partial, so it is never kept and never hit",
}


def _gap(count: int, *, is_shared: bool) -> dict[str, object]:
    words = f" … {count:,} more {'blocks' if count > 1 else 'block'}{' the same' if is_shared else ''} … "
    return {"kind": "gap", "hint": "folded", "tokens": [{"label": words, "changed": False}]}
