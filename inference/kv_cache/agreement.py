"""The same tokens through the model with the KV cache and without it: how far apart the logits are, per dtype."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inference.arithmetic.units import seconds
from inference.cost import forward_work
from inference.jobs.bounded import PASS_S, Budget, reported
from inference.jobs.drive import Drive
from inference.jobs.experiments import Job, Report, Reports
from inference.run import tokens

if TYPE_CHECKING:
    from torch import Tensor

    from inference.engine import Engine
    from inference.jobs.limits import Limits

PROMPT = "Once upon a time, in a small village by the sea, there lived an old clockmaker who"
DTYPES = ("float32", "bfloat16")
NUM_TOKENS = 32
MOST_TOKENS = 256
TOTAL_S = 30.0
"""Of passes in one dtype."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """One dtype. Both ways are fed the same tokens, those that greedy decoding with the cache chooses."""

    dtype: str
    token_ids: tuple[int, ...] = ()
    differences: tuple[float, ...] = ()
    """Per token, the largest absolute difference of any logit. 0 at the first: both ways begin with one prefill."""
    first_differing: int | None = None
    """The first token, counted from 1, that would be another without the cache; None if none would."""
    left_out: str = ""
    """Why it ends before the tokens asked for; empty if it does not."""

    @property
    def largest(self) -> float:
        return max(self.differences)


@dataclass(frozen=True, slots=True)
class Agreements:
    prompt_tokens: int
    dtypes: tuple[Agreement, ...] = ()

    @property
    def left_out(self) -> tuple[str, ...]:
        """Sentences on what was asked for and not compared, and why."""
        return tuple(agreement.left_out for agreement in self.dtypes if agreement.left_out)


def agreement_job(num_tokens: int = NUM_TOKENS, dtypes: Sequence[str] = DTYPES) -> Job[Agreements]:
    """Greedy decoding of a fixed prompt in each dtype, on past an end token so that the number is the same."""

    def begin(engine: "Engine", limits: "Limits") -> Reports[Agreements]:
        num_prompt, most = len(_prompt(engine)), engine.spec.max_context
        if not 2 <= num_tokens <= MOST_TOKENS or num_prompt + num_tokens - 1 > most:
            raise ValueError(
                f"{num_tokens:,} tokens after a prompt of {num_prompt} cannot be compared: choose from 2 to "
                f"{min(MOST_TOKENS, most - num_prompt + 1):,}, which the context of {most:,} holds."
            )
        return run(engine)

    def run(engine: "Engine") -> Reports[Agreements]:
        agreements = Agreements(len(_prompt(engine)))
        for place, dtype in enumerate(dtypes):
            converted = engine.in_dtype(dtype)
            rate = None if converted is engine else (yield from _rate(converted, place / len(dtypes)))
            drive = Drive(both_ways(converted, dtype, num_tokens, rate))
            for report in drive:
                known = (*agreements.dtypes, report.partial) if report.partial else agreements.dtypes
                fraction = (place + report.fraction) / len(dtypes)
                yield Report(fraction, Agreements(agreements.prompt_tokens, known), report.doing)
            agreements = Agreements(agreements.prompt_tokens, (*agreements.dtypes, drive.result))
        return agreements

    return Job(f"agreement over {num_tokens} tokens in {', '.join(dtypes)}", Agreements, begin)


def _prompt(engine: "Engine") -> list[int]:
    return tokens.encode(engine.tokenizer, PROMPT, chat_template=False)


def _rate(engine: "Engine", at: float) -> Generator[Report[Agreements], None, float]:
    """FLOP/s of the largest product that is cheap: a dtype without arithmetic of its own shows here."""
    from inference.machine.roof_parts import products  # noqa: PLC0415  # pages import this module, and must not wait for torch

    climb = yield from reported(products(engine, Budget(1.0)), "how fast this machine multiplies", at)
    newest = climb.timed[-1]
    return newest.work / newest.best_s


def both_ways(engine: "Engine", dtype: str, num_tokens: int, flops_per_s: float | None) -> Reports[Agreement]:
    """`flops_per_s`: the FLOP/s to expect of the first pass; None lets it run whatever it takes."""
    cache, read = engine.new_cache(), _prompt(engine)
    num_prompt, num_cached = len(read), 0
    known, budget, rate = Agreement(dtype), Budget(TOTAL_S, PASS_S), flops_per_s
    for number in range(1, num_tokens + 1):
        work = forward_work(engine.spec, num_query_tokens=len(read), context_len=len(read)).flops
        if rate and budget.refusal(work / rate):
            left_s = sum(
                forward_work(engine.spec, num_query_tokens=length, context_len=length).flops / rate
                for length in range(len(read), num_prompt + num_tokens)
            )
            return replace(known, left_out=_left_out(dtype, number - 1, num_tokens, budget.spent_s + left_s))
        words = f"{dtype}: token {number:,} of {num_tokens:,}"
        cached = engine.forward(read[num_cached:], cache)
        num_cached = len(read)
        yield Report((number - 0.5) / num_tokens, known, f"{words}, with the cache")
        fresh = engine.forward(read, engine.new_cache())
        budget.spend(cached.forward_s + fresh.forward_s)
        rate = work / fresh.forward_s
        known = _with(known, cached.logits, fresh.logits)
        read.append(known.token_ids[-1])
        yield Report(number / num_tokens, known, f"{words}, without it")
    return known


def _with(known: Agreement, cached: "Tensor", fresh: "Tensor") -> Agreement:
    """One token more: that which the logits with the cache choose."""
    chosen, first_differing = int(cached.argmax()), known.first_differing
    if first_differing is None and int(fresh.argmax()) != chosen:
        first_differing = len(known.token_ids) + 1
    difference = float((cached - fresh).abs().max())
    return Agreement(known.dtype, (*known.token_ids, chosen), (*known.differences, difference), first_differing)


def _left_out(dtype: str, num_compared: int, num_tokens: int, all_s: float) -> str:
    done = f"{num_compared:,} of {num_tokens:,} tokens were compared" if num_compared else "no token was compared"
    return (
        f"In {dtype} {done}: on this machine all {num_tokens:,} were expected to take {seconds(all_s)}, and others "
        f"wait meanwhile."
    )
