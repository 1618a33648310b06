"""What the instrument costs: a decode step as a learner gets it, beside the bare model and beside `generate`.

The three take turns token by token on the same token ids, so that all see the same machine: `generate` hands
each token to a streamer, and the other two run while it waits there. Each has its own KV cache.
"""

import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.generation.streamers import BaseStreamer

from benchmarks.measurement import Measurement
from benchmarks.models import PROMPT, default_engine
from inference.engine import Engine
from inference.generation import Generation
from inference.run.tokens import newest_text

_ROUNDS = 4
_TOKENS = 49  # of which 48 decode
_WARM_UP = 4


class _Turns(BaseStreamer):  # type: ignore[misc]  # transformers is not typed here
    """Between two tokens of `generate`: one step of the Generation and one bare pass, first one then the other."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.step_s: list[float] = []
        self.bare_s: list[float] = []
        self.generate_s: list[float] = []
        self.token_ids: list[int] = []
        self.generation = Generation(engine, PROMPT, max_new_tokens=_TOKENS)
        self.cache: DynamicCache = engine.new_cache()
        self._released_s = 0.0

    def put(self, value: Tensor) -> None:
        arrived_s = time.perf_counter()
        if value.dim() > 1:  # the prompt itself
            self.generation.prefill()
            self._bare(value)
        else:
            self.token_ids.append(int(value))
            if len(self.token_ids) > 1:
                self.generate_s.append(arrived_s - self._released_s)
                self._take_turns(torch.tensor([self.token_ids[-2:-1]]))
        self._released_s = time.perf_counter()

    def end(self) -> None:
        """Nothing is left to hand over."""

    def _take_turns(self, token: Tensor) -> None:
        def step() -> None:
            self.step_s.append(_seconds(self.generation.decode))

        def bare() -> None:
            self.bare_s.append(_seconds(lambda: self._bare(token)))

        for turn in (step, bare) if len(self.token_ids) % 2 else (bare, step):
            turn()

    @torch.inference_mode()
    def _bare(self, ids: Tensor) -> None:
        self.engine.model(input_ids=ids, cache=self.cache, use_cache=True, logits_to_keep=1)


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _round(engine: Engine) -> _Turns:
    turns = _Turns(engine)
    ids = torch.tensor([[token.id for token in turns.generation.trace.prompt_tokens]])
    mask = torch.ones_like(ids)
    engine.model.generate(
        ids, attention_mask=mask, do_sample=False, max_new_tokens=_TOKENS, pad_token_id=0, streamer=turns
    )
    assert turns.token_ids == [step.token_id for step in turns.generation.trace.steps]
    return turns


def run() -> list[Measurement]:
    engine = default_engine()
    step_s, bare_s, generate_s = [], [], []
    for _ in range(_ROUNDS):
        turns = _round(engine)
        step_s += turns.step_s[_WARM_UP:]
        bare_s += turns.bare_s[_WARM_UP:]
        generate_s += turns.generate_s[_WARM_UP:]
    return [
        _ratio("decode step / bare forward", step_s, bare_s, limit=1.05),
        _ratio("decode step / generate, per token", step_s, generate_s, limit=1.0),
        _detokenizing(engine),
    ]


def _detokenizing(engine: Engine) -> Measurement:
    """The text of one more token, late in an answer beside early in it; a step decodes no more than the newest."""
    token_ids = engine.tokenizer(PROMPT * 1_000).input_ids

    def step(num_tokens: int) -> float:
        answer = token_ids[:num_tokens]
        return _seconds(lambda: newest_text(engine.tokenizer, answer, num_told=num_tokens - 1, is_last=False))

    early_s, late_s = zip(*((step(10), step(1_000)) for _ in range(200)), strict=True)
    return _ratio("detokenise at step 1,000 / at step 10", list(late_s), list(early_s), limit=2.0)


def _ratio(name: str, ours_s: list[float], theirs_s: list[float], *, limit: float) -> Measurement:
    """Median of the pairs' ratios; the quartiles say how sure it is."""
    ratios = [ours / theirs for ours, theirs in zip(ours_s, theirs_s, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    detail = {
        "lower_quartile": low,
        "upper_quartile": high,
        "num_pairs": len(ratios),
        "ours_ms": statistics.median(ours_s) * 1e3,
        "theirs_ms": statistics.median(theirs_s) * 1e3,
    }
    return Measurement(name, middle, limit=limit, detail=detail)
