"""Two tenants on one cache: the clock tells one what the other asked; a salt hides it, and what that costs."""

import statistics
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.units import seconds, significant
from inference.prefix_caching.records import median_ttft_s
from inference.prefix_caching.tenants import (
    PRESETS,
    RECORD_TOKENS,
    REPEATS,
    SECRETS,
    TRUE_SECRET,
    WINS,
    Guess,
    Leak,
    Tenants,
    spread,
    tenants_job,
)
from pages.charts.prefix_caching.ttft import ttft_bars
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.parts.measurement import run_job

_HEIGHT = 230
_CLEAR = 1.3  # times: what a stranger's clock tells apart through the noise of a few repeats
_ARMS = ((False, "One cache for all"), (True, "A salt for each tenant"))


@dataclass(frozen=True, slots=True)
class TenantsSettings:
    preset: str = WINS
    record_tokens: int = RECORD_TOKENS
    block_size: int = 16
    repeats: int = REPEATS


_DEFAULT = TenantsSettings()


def tenants(settings: TenantsSettings = _DEFAULT, *, key: str = "prefix-tenants", is_fixed: bool = False) -> None:
    """The same guesses timed without and with salts, side by side, and one paragraph."""
    controls = Controls(key, is_fixed=is_fixed)
    with row(key):
        preset = controls.select("Preset", tuple(PRESETS), settings.preset, width=340)
    leak = Leak(PRESETS[preset].is_at_end, settings.record_tokens)
    run = run_job(tenants_job(leak, block_size=settings.block_size, repeats=settings.repeats), key=key, label="Run")
    with st.container(key=f"{key}-story"):
        st.text(
            "Tenant A has sent a patient record with a diagnosis. Tenant B knows the record, but not the "
            f"diagnosis, and sends it with each of {len(SECRETS)} guesses, only to time the answers."
        )
    guesses = run.guesses if run else ()
    longest_s = max(
        (request.ttft_s for guess in guesses for request in (*guess.together, *guess.salted)), default=0.0
    )
    for (is_salted, title), column in zip(_ARMS, st.columns(2), strict=True):
        name = "salted" if is_salted else "together"
        with column:
            _draw(guesses, longest_s, title=title, is_salted=is_salted, key=f"{key}-{name}")
    with st.container(key=f"{key}-words"):
        st.text(words(run) if run else _BEFORE)


_BEFORE = "Run to see whether the clock gives tenant A's diagnosis away."


def _draw(guesses: tuple[Guess, ...], longest_s: float, *, title: str, is_salted: bool, key: str) -> None:
    rows = [(guess.secret, guess.salted if is_salted else guess.together) for guess in guesses]
    chart_card(
        lambda: ttft_bars(rows, len(SECRETS), longest_s=longest_s, height=_HEIGHT),
        version=(tuple(rows), longest_s),
        key=key,
        title=title,
        caption="TTFT of each guess, measured: median, a dot for each repeat",
        alt=f"{title}: time to the first token of each of tenant B's guesses.",
        table=lambda: Table(
            ["guess", "blocks hit", "TTFT, measured"],
            [[name, f"{served[0].hit_blocks:,}", seconds(median_ttft_s(served))] for name, served in rows],
        ),
    )


def words(run: Tenants) -> str:
    """What the clock says without salts and with them, why, and the price of the salt."""
    (first, times), (salted_first, salted_times) = (spread(run.guesses, is_salted=arm) for arm, _ in _ARMS)
    hits = [guess.together[0].hit_blocks for guess in run.guesses]
    if len(set(hits)) == 1:
        sentence = (
            f"Every guess hits the same {hits[0]} blocks, because partial blocks are never kept: the fastest is "
            f"{significant(times)} times ahead of the next, {_TELLS_NOTHING[times > _CLEAR]}"
        )
    elif times > _CLEAR and first == TRUE_SECRET:
        sentence = (
            f"On one cache {SECRETS[first]} is answered {significant(times)} times sooner than the next guess: a "
            "hit shortens prefill, so timing reveals what another tenant has asked. With a salt in every hash, "
            f"tenant B hits nothing that tenant A left, and {_salted(salted_first, salted_times)}"
        )
    else:
        sentence = (
            f"On one cache the fastest guess is {significant(times)} times ahead of the next: through this much "
            "noise the clock does not give the diagnosis away in these few repeats."
        )
    return f"{sentence} {_price(run)}" if run.added_blocks_salted is not None else sentence


_TELLS_NOTHING = {
    False: "which tells nothing.",
    True: "which is noise: all of them had the same to compute.",
}


def _salted(first: int, times: float) -> str:
    ahead = f"{significant(times)} times ahead of the next"
    if times <= _CLEAR:
        return f"the fastest guess is only {ahead}."
    noise = "noise that happens to favour the right one" if first == TRUE_SECRET else "noise, for it is a wrong one"
    return f"the fastest guess is {ahead}: {noise}."


def _price(run: Tenants) -> str:
    right = run.guesses[TRUE_SECRET]
    together_s, salted_s = (
        statistics.median(request.ttft_s for request in arm) for arm in (right.together, right.salted)
    )
    per_block = right.together[0].block_size
    return (
        f"The price of the salt: where both tenants ask the same, tenant B's TTFT is {seconds(salted_s)} with it "
        f"and {seconds(together_s)} without, and {run.added_blocks_salted} blocks of {per_block} tokens are kept "
        f"a second time instead of {run.added_blocks}."
    )
