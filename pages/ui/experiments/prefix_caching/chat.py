"""A conversation whose turns reuse the turns before: tokens from the cache, TTFT both ways."""

import statistics
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.units import percent, scaled, seconds
from inference.prefix_caching.chat import ASKED, NUM_TURNS, PRESETS, REPLY_TOKENS, WINS, Chat, Turn, chat_job
from inference.prefix_caching.records import estimated_ttft_s, median_ttft_s
from pages.charts.prefix_caching.blocks import token_bars
from pages.charts.prefix_caching.ttft import ttft_turns
from pages.ui import state
from pages.ui.experiments.compared import way
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.parts.measurement import run_job


@dataclass(frozen=True, slots=True)
class ChatSettings:
    preset: str = WINS
    num_turns: int = NUM_TURNS
    reply_tokens: int = REPLY_TOKENS
    """The most of each reply."""
    block_size: int = 16


_DEFAULT = ChatSettings()


def conversation(settings: ChatSettings = _DEFAULT, *, key: str = "prefix-chat", is_fixed: bool = False) -> None:
    """Two charts, what was said, and one paragraph."""
    controls = Controls(key, is_fixed=is_fixed)
    with row(key):
        preset = controls.select("Preset", tuple(PRESETS), settings.preset, width=300)
        num_turns = controls.number("Turns", settings.num_turns, 2, len(ASKED))
    job = chat_job(
        PRESETS[preset], num_turns=num_turns, reply_tokens=settings.reply_tokens, block_size=settings.block_size
    )
    chat = run_job(job, key=key, label="Run")
    turns = chat.turns if chat else ()
    left, right = st.columns(2)
    with left:
        _draw_tokens(turns, num_turns, key)
    with right:
        _draw_ttft(chat, num_turns, state.laboratory().ceilings, key)
    with st.container(key=f"{key}-words"):
        st.text(words(chat) if chat and len(turns) > 1 else _BEFORE)


_BEFORE = "A chat sends everything said so far with every turn. Run to see how much of it has to be computed again."


def _draw_tokens(turns: tuple[Turn, ...], num_turns: int, key: str) -> None:
    served = [turn.warm[-1] for turn in turns]
    chart_card(
        lambda: token_bars(served, num_turns, "turn"),
        version=(tuple(served), num_turns),
        key=f"{key}-tokens",
        title="Prompt of each turn, with reuse",
        caption="outlined: from the cache; solid: computed by prefill",
        alt="Tokens of each turn's prompt: those from the cache and those that prefill computed.",
        table=lambda: Table(
            ["turn", "question", "reply", "tokens", "from the cache", "computed"],
            [
                [
                    str(place),
                    turn.question,
                    turn.reply,
                    f"{turn.warm[0].prompt_tokens:,}",
                    f"{turn.warm[0].cached_tokens:,}",
                    f"{turn.warm[0].computed_tokens:,}",
                ]
                for place, turn in enumerate(turns, start=1)
            ],
        ),
    )


def _draw_ttft(chat: Chat | None, num_turns: int, ceilings: Ceilings | None, key: str) -> None:
    turns = chat.turns if chat else ()
    likely_s = [_likely_s(chat, turn, ceilings) for turn in turns] if chat and ceilings else []
    chart_card(
        lambda: ttft_turns(turns, num_turns, likely_s),
        version=(turns, num_turns, tuple(likely_s)),
        key=f"{key}-ttft",
        title="TTFT of each turn, both ways",
        caption="solid: measured, medians of repeats in turn; dashed: estimated",
        alt="Time to the first token turn by turn: computed again, and reusing the turns before.",
        table=lambda: Table(
            ["turn", "computed again", "with reuse", "estimated", "estimated with reuse"],
            [
                [
                    str(place + 1),
                    seconds(median_ttft_s(turn.cold)),
                    seconds(median_ttft_s(turn.warm)),
                    *(map(seconds, likely_s[place]) if likely_s else ("roofs not measured",) * 2),
                ]
                for place, turn in enumerate(turns)
            ],
        ),
    )


def _likely_s(chat: Chat, turn: Turn, ceilings: Ceilings) -> tuple[float, float]:
    prompt = turn.warm[0].prompt_tokens
    cold, warm = (
        estimated_ttft_s(chat.spec, ceilings, prompt_tokens=prompt, cached_tokens=cached)
        for cached in (0, turn.warm[-1].cached_tokens)
    )
    return cold, warm


def words(chat: Chat) -> str:
    """The phase it helps, the price, the condition, with the run's numbers."""
    served = [turn.warm[-1] for turn in chat.turns]
    cached, prompt = (
        sum(request.cached_tokens for request in served),
        sum(request.prompt_tokens for request in served),
    )
    last = chat.turns[-1]
    cold_s, warm_s = median_ttft_s(last.cold), median_ttft_s(last.warm)
    equal = all(turn.both.are_equal for turn in chat.turns)
    replies = "The replies are the same both ways" if equal else "Some replies part at a near tie"
    price = f"The price: {scaled(chat.kept_bytes, 'B')} kept by turn {len(chat.turns)}."
    if not cached:
        return (
            f"None of {prompt:,} prompt tokens came from the cache: the first block is another in every turn, so "
            f"every later block is new too, and the last turn's TTFT is {seconds(cold_s)} without reuse and "
            f"{seconds(warm_s)} with it. "
            f"{price} The condition is the same beginning: put what changes at the end."
        )
    helped = "It helps prefill" if way(cold_s, warm_s) == "less" else "It does not shorten prefill here"
    return (
        f"{helped}: {percent(cached / prompt)} of all prompt tokens came from the cache, and the last turn's TTFT "
        f"is {seconds(warm_s)} with reuse and {seconds(cold_s)} without. {replies}; decode takes {_itl(chat)} a "
        f"token, without and with reuse. {price} The condition: every turn begins with exactly the tokens of the "
        "one before; a partial block at the end is always computed again."
    )


def _itl(chat: Chat) -> str:
    cold = [value for turn in chat.turns for value in turn.both.cold_s]
    warm = [value for turn in chat.turns for value in turn.both.warm_s]
    return f"{seconds(statistics.median(cold))} and {seconds(statistics.median(warm))}" if cold else "no time"
