"""The same tokens through the model with the KV cache and without it: how far apart the logits are, per dtype."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inference import tokens
from inference.experiments import Job, Report, Work

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.limits import Limits

PROMPT = "Once upon a time, in a small village by the sea, there lived an old clockmaker who"
DTYPES = ("float32", "bfloat16")
NUM_TOKENS = 32
MOST_TOKENS = 256


@dataclass(frozen=True, slots=True)
class Agreement:
    """One dtype. Both ways are fed the same tokens, those that greedy decoding with the cache chooses."""

    dtype: str
    token_ids: tuple[int, ...]
    differences: tuple[float, ...]
    """Per token, the largest absolute difference of any logit. 0 at the first: both ways begin with one prefill."""
    first_differing: int | None = None
    """The first token, counted from 1, that would be another without the cache; None if none would."""

    @property
    def largest(self) -> float:
        return max(self.differences)


@dataclass(frozen=True, slots=True)
class Agreements:
    prompt_tokens: int
    dtypes: tuple[Agreement, ...] = ()


def agreement_job(num_tokens: int = NUM_TOKENS, dtypes: Sequence[str] = DTYPES) -> Job[Agreements]:
    """Greedy decoding of a fixed prompt in each dtype, on past an end token so that the number is the same."""

    def check(engine: "Engine", limits: "Limits") -> None:
        num_prompt, most = len(_prompt(engine)), engine.spec.max_context
        if not 2 <= num_tokens <= MOST_TOKENS or num_prompt + num_tokens - 1 > most:
            raise ValueError(
                f"{num_tokens:,} tokens after a prompt of {num_prompt} cannot be compared: choose from 2 to "
                f"{min(MOST_TOKENS, most - num_prompt + 1):,}, which the context of {most:,} holds."
            )

    def run(engine: "Engine") -> Work[Agreements]:
        found = Agreements(len(_prompt(engine)))
        for place, dtype in enumerate(dtypes):
            work = _both_ways(engine.in_dtype(dtype), dtype, num_tokens)
            try:
                while True:
                    report = next(work)
                    known = (*found.dtypes, report.partial) if report.partial else found.dtypes
                    fraction = (place + report.fraction) / len(dtypes)
                    yield Report(fraction, Agreements(found.prompt_tokens, known), report.doing)
            except StopIteration as end:
                found = Agreements(found.prompt_tokens, (*found.dtypes, end.value))
        return found

    return Job(f"agreement over {num_tokens} tokens in {', '.join(dtypes)}", Agreements, run, check)


def _prompt(engine: "Engine") -> list[int]:
    return tokens.encode(engine.tokenizer, PROMPT, chat_template=False)


def _both_ways(engine: "Engine", dtype: str, num_tokens: int) -> Work[Agreement]:
    cache, read = engine.new_cache(), _prompt(engine)
    num_prompt, num_cached = len(read), 0
    differences: list[float] = []
    first_differing = None
    known: Agreement | None = None
    for number in range(1, num_tokens + 1):
        words = f"{dtype}: token {number:,} of {num_tokens:,}"
        cached = engine.forward(read[num_cached:], cache).logits
        num_cached = len(read)
        yield Report((number - 0.5) / num_tokens, known, f"{words}, with the cache")
        fresh = engine.forward(read, engine.new_cache()).logits
        differences.append(float((cached - fresh).abs().max()))
        chosen = int(cached.argmax())
        if first_differing is None and int(fresh.argmax()) != chosen:
            first_differing = number
        read.append(chosen)
        known = Agreement(dtype, tuple(read[num_prompt:]), tuple(differences), first_differing)
        yield Report(number / num_tokens, known, f"{words}, without it")
    assert known is not None
    return known
