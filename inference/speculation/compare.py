"""The same request with speculation and without, in turn, so that a slow moment of the machine meets both."""

from collections.abc import Generator

from inference.arithmetic.ranges import Range
from inference.cost import kv_bytes
from inference.engine import Engine
from inference.generation import Generation
from inference.jobs.experiments import Report, Reports
from inference.jobs.limits import Limits
from inference.run import tokens
from inference.run.params import SamplingParams
from inference.run.recipe import Recipe
from inference.speculation.draft import LOOK_UP, draft_name
from inference.speculation.draft_sources import open_draft
from inference.speculation.records import MOST_DRAFTED, Parting, Repeat, Speculated, SpeculationRequest
from inference.speculation.run import Speculation


def begin(engine: Engine, request: SpeculationRequest) -> Generation:
    """The same request without speculation."""
    return Generation(
        engine,
        request.prompt,
        SamplingParams(temperature=request.temperature, seed=request.seed),
        request.max_new_tokens,
        chat_template=request.chat_template and engine.is_chat_model,
    )


def begin_speculating(engine: Engine, request: SpeculationRequest) -> Speculation:
    plain = begin(engine, request)
    return Speculation(
        engine,
        [token.id for token in plain.trace.prompt_tokens],
        open_draft(request.draft, engine),
        plain.params,
        max_new_tokens=request.max_new_tokens,
        num_drafted=request.num_drafted,
    )


def check(engine: Engine, limits: Limits, request: SpeculationRequest) -> None:
    """Refuse what cannot be run, before any pass."""
    Range(1, MOST_DRAFTED).whole("Drafts per round", request.num_drafted)
    if request.draft not in (LOOK_UP, draft_name()):
        raise ValueError(
            f"No draft is called {request.draft!r} here; start the server with TWOPHASES_DRAFT set to it."
        )
    if any(engine.spec.layer_windows):
        raise ValueError(
            f"{engine.name} has layers with a sliding window, which cannot give back rejected tokens; "
            "choose a model with full attention."
        )
    limits.check(Recipe(request.prompt, max_new_tokens=request.max_new_tokens))
    plain = begin(engine, request)
    limits.check_tokens(plain)
    most = min(len(plain.trace.prompt_tokens) + request.max_new_tokens, engine.spec.max_context)
    limits.check_kv(2 * kv_bytes(engine.spec, context_len=most), "The two KV caches, with speculation and without,")


def compare(engine: Engine, request: SpeculationRequest, num_repeats: int) -> Reports[Speculated]:
    """Decode with speculation and without, taking turns: after each round, plain decoding catches up."""
    if request.draft != LOOK_UP:
        yield Report(0.0, doing="loading the draft model")
    done: list[Repeat] = []
    first: _Both | None = None
    for number in range(num_repeats):
        both = _Both(engine, request)
        first = first or both
        for _ in both.run():
            whole = len(first.plain.trace.steps) if done else request.max_new_tokens
            share = min(len(both.plain.trace.steps) / whole, 1.0)
            repeats = (*done, both.repeat) if not done or both.is_finished else tuple(done)
            speculated = first.told(repeats) if first.speculation.rounds and repeats[0].plain_s else None
            yield Report((number + share) / num_repeats, speculated, f"repeat {number + 1} of {num_repeats}")
        done.append(both.repeat)
    assert first is not None
    return first.told(tuple(done))


class _Both:
    """One repeat: the request with speculation and without, each with its own cache."""

    def __init__(self, engine: Engine, request: SpeculationRequest) -> None:
        self._engine, self._request = engine, request
        self.plain, self.speculation = begin(engine, request), begin_speculating(engine, request)
        self._logit_difference = 0.0
        self._parting: Parting | None = None

    @property
    def is_finished(self) -> bool:
        return self.plain.finished and self.speculation.ending is not None

    def run(self) -> Generator[None, None, None]:
        self.speculation.prefill()
        yield
        self.plain.prefill()
        yield
        while not self.is_finished:
            if self.speculation.ending is None:
                yield from self.speculation.round()
            while not self.plain.finished and self._is_behind():
                self.plain.decode()
                self._compare()
                yield

    def _is_behind(self) -> bool:
        is_over = self.speculation.ending is not None
        return is_over or len(self.plain.trace.steps) < len(self.speculation.token_ids)

    def _compare(self) -> None:
        """The newest plain step with the position that decided on the same token, as long as the texts agree."""
        place, forward = len(self.plain.trace.steps) - 1, self.plain.last
        logits = self.speculation.logits_of(place)
        if not self.plain.params.is_greedy or self._parting or forward is None or logits is None:
            return
        self._logit_difference = max(self._logit_difference, float((forward.logits - logits).abs().max()))
        if self.plain.trace.steps[-1].token_id != self.speculation.token_ids[place]:
            best, second = forward.logits.topk(2).values.tolist()
            self._parting = Parting(place, best - second)

    @property
    def repeat(self) -> Repeat:
        steps = self.plain.trace.steps[1:]
        return Repeat(tuple(self.speculation.rounds), tuple(step.forward_s + step.sample_s for step in steps))

    def told(self, repeats: tuple[Repeat, ...]) -> Speculated:
        """All that is known, with these repeats; this one is the first of them."""
        ids = self.speculation.token_ids
        return Speculated(
            request=self._request,
            dtype=str(self._engine.dtype).removeprefix("torch."),
            num_prompt=len(self.plain.trace.prompt_tokens),
            first_id=ids[0],
            repeats=repeats,
            text=tokens.decode(self._engine.tokenizer, ids),
            plain_ids=tuple(step.token_id for step in self.plain.trace.steps),
            logit_difference=self._logit_difference,
            parting=self._parting,
            ending=self.speculation.ending if self.is_finished else None,
        )
