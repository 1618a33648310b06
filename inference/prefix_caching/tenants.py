"""Two tenants on one cache: what one asked, the other can time; and what a salt per tenant changes."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inference.arithmetic.spec import ModelSpec
from inference.cost import kv_bytes
from inference.jobs.experiments import Job, Report, Reports
from inference.prefix_caching.prompts import document, inside
from inference.prefix_caching.records import CachedPrefill, check_request, median_ttft_s
from inference.run import tokens

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

REPEATS = 3
RECORD_TOKENS = 240
SECRETS = ("asthma", "diabetes", "migraine", "anaemia")
TRUE_SECRET = 2  # what the first tenant asked about
_OWNER, _GUESSER = "tenant A", "tenant B"


@dataclass(frozen=True, slots=True)
class Leak:
    """Where in the prompt the secret stands."""

    is_at_end: bool = False
    """Behind the last full block; otherwise at the beginning."""
    record_tokens: int = RECORD_TOKENS


WINS, LOSES = "Secret at the beginning (leaks)", "Secret in the last, partial block (does not)"
PRESETS = {WINS: Leak(), LOSES: Leak(is_at_end=True)}


@dataclass(frozen=True, slots=True)
class Guess:
    """One prompt that the second tenant tries."""

    secret: str
    together: tuple[CachedPrefill, ...] = ()
    """Both tenants hash without a salt; one per repeat."""
    salted: tuple[CachedPrefill, ...] = ()
    """Each tenant has a salt of its own."""


@dataclass(frozen=True, slots=True)
class Tenants:
    """The guesses themselves are not kept, or each would make its own repeat warm."""

    spec: ModelSpec
    block_size: int
    guesses: tuple[Guess, ...]
    added_blocks: int | None = None
    """Kept anew when at last tenant B asks the same as A, without salts."""
    added_blocks_salted: int | None = None
    """The same with a salt each: the price, as nothing is shared."""

    @property
    def is_whole(self) -> bool:
        return all(guess.salted for guess in self.guesses)


def spread(guesses: tuple[Guess, ...], *, is_salted: bool) -> tuple[int, float]:
    """The guess that was answered first, and how many times longer the next one took, by the medians."""
    times = [median_ttft_s(guess.salted if is_salted else guess.together) for guess in guesses]
    first, second = sorted(times)[:2]
    return times.index(first), second / first


def tenants_job(leak: Leak | None = None, *, block_size: int = 16, repeats: int = REPEATS) -> Job[Tenants]:
    """Tenant A asks; then tenant B tries every guess, in turn without and with salts."""
    chosen = leak or Leak()

    def prompt(engine: "Engine", secret: str) -> list[int]:
        start = tokens.encode(engine.tokenizer, "Patient record.", chat_template=False)
        record = document(engine.tokenizer, chosen.record_tokens)
        named = inside(engine.tokenizer, f" Diagnosis: {secret}.")
        if not chosen.is_at_end:
            return start + named + record
        full = (len(start) + len(record)) // max(block_size, 1) * block_size  # the check refuses 0 later
        return (start + record)[:full] + named

    def begin(engine: "Engine", limits: "Limits") -> Reports[Tenants]:
        prompts = [prompt(engine, secret) for secret in SECRETS]
        longest = max(map(len, prompts))
        check_request(
            engine.spec,
            block_size=block_size,
            budget_bytes=_budget_bytes(engine, longest, block_size),
            num_tokens=longest,
            what="The record with its diagnosis",
        )
        limits.check_kv(kv_bytes(engine.spec, context_len=longest, batch_size=5), "Kept blocks and one request")
        return run(engine)

    def run(engine: "Engine") -> Reports[Tenants]:
        from inference.prefix_caching.store import PrefixStore  # noqa: PLC0415  # pages must not wait for torch

        prompts = [prompt(engine, secret) for secret in SECRETS]
        budget_bytes = _budget_bytes(engine, max(map(len, prompts)), block_size)
        store = PrefixStore(engine, block_size=block_size, budget_bytes=budget_bytes)
        for salt in ("", _OWNER):
            with store.request(prompts[TRUE_SECRET], salt) as request:
                request.prefill()
                request.keep()
            yield Report(0.0, doing="tenant A asks")
        tenants = Tenants(engine.spec, block_size, tuple(map(Guess, SECRETS)))
        for repeat in range(repeats):
            for place, ids in enumerate(prompts):
                for salt in ("", _GUESSER):
                    with store.request(ids, salt) as request:
                        served = request.prefill()
                    tenants = _with(tenants, place, served, is_salted=bool(salt))
                    done = repeat + (place + 0.5 + 0.5 * bool(salt)) / len(prompts)
                    partial = tenants if tenants.is_whole else None
                    yield Report(0.95 * done / repeats, partial, f"tenant B guesses {SECRETS[place]}")
        added = []
        for salt in ("", _GUESSER):
            before = store.cache.num_blocks
            with store.request(prompts[TRUE_SECRET], salt) as request:
                request.prefill()
                request.keep()
            added.append(store.cache.num_blocks - before)
            yield Report(0.98, tenants, "tenant B asks the same as A")
        return replace(tenants, added_blocks=added[0], added_blocks_salted=added[1])

    where = "at the end" if chosen.is_at_end else "at the beginning"
    name = f"tenants, secret {where} of {chosen.record_tokens} tokens, blocks of {block_size}, {repeats} repeats"
    return Job(name, Tenants, begin)


def _budget_bytes(engine: "Engine", longest: int, block_size: int) -> float:
    """Room for the first tenant's blocks without and with a salt, and the second's."""
    return kv_bytes(engine.spec, context_len=max(longest, block_size), batch_size=4)


def _with(tenants: Tenants, place: int, served: CachedPrefill, *, is_salted: bool) -> Tenants:
    guesses = list(tenants.guesses)
    guess = guesses[place]
    guesses[place] = (
        replace(guess, salted=(*guess.salted, served))
        if is_salted
        else replace(guess, together=(*guess.together, served))
    )
    return replace(tenants, guesses=tuple(guesses))
