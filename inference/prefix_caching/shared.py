"""System prompts shared by many learners under a memory budget: what hits, what is evicted."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inference.arithmetic.spec import ModelSpec
from inference.cost import kv_bytes
from inference.jobs.experiments import Job, Report, Reports
from inference.prefix_caching.prompts import document, question
from inference.prefix_caching.records import CachedPrefill, check_request

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

NUM_LEARNERS = 12
MOST_LEARNERS = 200
SYSTEM_TOKENS = 256
BUDGET_MB = 25.0
_TITLES = ("Course", "Museum", "Archive", "Harbour")
MOST_PROMPTS = len(_TITLES)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Who asks what: learners come one after the other, their system prompts go round."""

    num_prompts: int = 1
    num_learners: int = NUM_LEARNERS
    system_tokens: int = SYSTEM_TOKENS


WINS, LOSES = "One system prompt", "Three in turn, room for two (loses)"
PRESETS = {WINS: Arrivals(), LOSES: Arrivals(num_prompts=3)}


@dataclass(frozen=True, slots=True)
class LearnerPrefill:
    """One learner's request, and the cache after it."""

    prompt: int
    """Which system prompt, from 0."""
    served: CachedPrefill
    num_evicted: int
    """Blocks evicted to keep this request's own."""
    num_kept: int
    """Blocks in the cache after it."""


@dataclass(frozen=True, slots=True)
class SharedRun:
    spec: ModelSpec
    block_size: int
    budget_bytes: float
    capacity: int
    """Blocks that fit the budget."""
    arrivals: tuple[LearnerPrefill, ...] = ()
    kept_bytes: int = 0
    """After the newest, measured on the tensors."""

    @property
    def hit_share(self) -> float:
        """Of all prompt tokens, those that came from the cache."""
        served = [prefill.served for prefill in self.arrivals]
        return sum(prefill.cached_tokens for prefill in served) / sum(prefill.prompt_tokens for prefill in served)


def shared_job(
    arrivals: Arrivals | None = None, *, budget_mb: float = BUDGET_MB, block_size: int = 16
) -> Job[SharedRun]:
    """One prefill per learner; its full blocks are kept as far as the budget allows."""
    asked = arrivals or Arrivals()
    budget_bytes = budget_mb * 1e6

    def token_ids(engine: "Engine", place: int) -> list[int]:
        title = _TITLES[place % asked.num_prompts]
        return document(engine.tokenizer, asked.system_tokens, title) + question(engine.tokenizer, place)

    def begin(engine: "Engine", limits: "Limits") -> Reports[SharedRun]:
        if not 1 <= asked.num_prompts <= MOST_PROMPTS:
            raise ValueError(f"there are 1 to {MOST_PROMPTS} system prompts here, got {asked.num_prompts}")
        if not 1 <= asked.num_learners <= MOST_LEARNERS:
            raise ValueError(f"1 to {MOST_LEARNERS} learners can ask here, got {asked.num_learners}")
        longest = max(len(token_ids(engine, place)) for place in range(asked.num_learners))
        check_request(
            engine.spec,
            block_size=block_size,
            budget_bytes=budget_bytes,
            num_tokens=longest,
            what="A system prompt with its question",
        )
        limits.check_kv(kv_bytes(engine.spec, context_len=longest) + budget_bytes, "The budget and one request")
        return run(engine)

    def run(engine: "Engine") -> Reports[SharedRun]:
        from inference.prefix_caching.store import PrefixStore  # noqa: PLC0415  # pages must not wait for torch

        store = PrefixStore(engine, block_size=block_size, budget_bytes=budget_bytes)
        shared_run = SharedRun(engine.spec, block_size, budget_bytes, store.cache.capacity)
        for place in range(asked.num_learners):
            before = store.cache.num_evicted
            with store.request(token_ids(engine, place)) as request:
                served = request.prefill()
                request.keep()
            arrival = LearnerPrefill(
                place % asked.num_prompts, served, store.cache.num_evicted - before, store.cache.num_blocks
            )
            shared_run = replace(shared_run, arrivals=(*shared_run.arrivals, arrival), kept_bytes=store.kept_bytes)
            yield Report(
                (place + 1) / asked.num_learners, shared_run, f"learner {place + 1} of {asked.num_learners}"
            )
        return shared_run

    name = (
        f"{asked.num_learners} learners, {asked.num_prompts} system prompts of {asked.system_tokens}, "
        f"{budget_mb:g} MB, blocks of {block_size}"
    )
    return Job(name, SharedRun, begin)
