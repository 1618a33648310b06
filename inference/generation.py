"""One prompt's run: prefill, then decode, with its KV cache, its rng and its trace."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import torch
from transformers import DynamicCache

from inference.engine import Engine, Forward, measured_kv_bytes
from inference.recording import candidates, entropy, key_norms, known_logprob, metadata
from inference.run import tokens
from inference.run.params import SamplingParams
from inference.run.recipe import check_request
from inference.sampling import draw, stages, step_rng
from inference.trace import Chunk, Phase, Step, StopReason, Token, Trace


class Generation:
    """Belongs to one learner and one run. Runs in any thread, one caller at a time.

    N output tokens take one `prefill` and N - 1 `decode`s. The newest token is not in the cache.
    """

    def __init__(
        self,
        engine: Engine,
        prompt: str,
        params: SamplingParams | None = None,
        max_new_tokens: int = 64,
        *,
        chat_template: bool = False,
        stop: Sequence[str] = (),
    ) -> None:
        check_request(prompt, max_new_tokens, stop)
        params = params or SamplingParams()
        params.check_vocabulary(engine.spec.vocab_size)
        start = time.perf_counter()
        prompt_ids = tokens.encode(engine.tokenizer, prompt, chat_template=chat_template)
        self._tokenize_s = time.perf_counter() - start
        num_left_out = tokens.num_left_out(engine.tokenizer, engine.token_bytes, prompt)
        if not prompt_ids or num_left_out == len(prompt):
            raise ValueError(tokens.no_tokens(engine.name, prompt))
        engine.check_tokens(prompt_ids)
        if len(prompt_ids) > (limit := engine.spec.max_context):
            raise ValueError(
                f"the prompt has {len(prompt_ids):,} tokens, the model's context holds {limit:,}; shorten it"
            )
        self.engine = engine
        self.last: Forward | None = None
        """The newest pass; None before prefill and after a rewind."""
        self._cache: DynamicCache | None = None
        self._prompt_ids = prompt_ids
        self._chunks: list[Chunk] = []
        self.trace = Trace(
            metadata=metadata(
                engine, params, max_new_tokens, chat_template, tuple(stop), num_left_out=num_left_out
            ),
            prompt=prompt,
            prompt_tokens=tuple(Token(token_id, engine.token_bytes[token_id]) for token_id in prompt_ids),
        )

    @classmethod
    def of_trace(cls, engine: Engine, trace: Trace) -> "Generation":
        """A run of this engine as its trace tells it, without a cache: the next pass rebuilds it."""
        generation = cls.__new__(cls)
        generation.engine, generation.last, generation._cache, generation._tokenize_s = engine, None, None, 0.0
        generation._prompt_ids = [token.id for token in trace.prompt_tokens]
        generation._chunks = []
        generation.trace = replace(trace, steps=list(trace.steps), key_norms=list(trace.key_norms))
        return generation

    @property
    def params(self) -> SamplingParams:
        return self.trace.metadata.sampling[-1][1]

    @property
    def stop_reason(self) -> StopReason | None:
        return self.trace.stop_reason

    @property
    def finished(self) -> bool:
        return self.trace.stop_reason is not None

    @property
    def num_cached(self) -> int:
        """Tokens whose keys and values are held now."""
        return 0 if self._cache is None else int(self._cache.get_seq_length())

    @property
    def kv_bytes(self) -> int:
        """Bytes of the KV cache held now; 0 while given up."""
        return 0 if self._cache is None else measured_kv_bytes(self._cache)

    def set_params(self, params: SamplingParams) -> None:
        """Sample the next steps with other settings; the trace says from where."""
        if params == self.params:
            return
        params.check_vocabulary(self.engine.spec.vocab_size)
        here = len(self.trace.steps)
        earlier = tuple(entry for entry in self.trace.metadata.sampling if entry[0] < here)
        self.trace.metadata = replace(self.trace.metadata, sampling=(*earlier, (here, params)))

    def prefill(self, *, queue_s: float = 0.0) -> Step:
        """Feed the whole prompt in one pass and sample the first token from its last position.

        What was fed in chunks before is not fed again: this pass is then the last chunk.
        """
        if self.trace.steps:
            raise RuntimeError("prefill has run; call decode() for the next token")
        rest = self._prompt_ids[sum(chunk.num_query_tokens for chunk in self._chunks) :]
        return self._pass("prefill", rest, queue_s=queue_s, tokenize_s=self._tokenize_s)

    def feed(self, num_tokens: int) -> Chunk:
        """Feed the next tokens of the prompt and sample nothing, so that others can step before the rest."""
        start = sum(chunk.num_query_tokens for chunk in self._chunks)
        if self.trace.steps or not 0 < num_tokens < len(self._prompt_ids) - start:
            raise RuntimeError(f"a chunk leaves something for prefill() to feed; {num_tokens} tokens do not")
        self._ensure_cache(start)
        assert self._cache is not None
        forward = self.engine.forward(self._prompt_ids[start : start + num_tokens], self._cache)
        self.trace.key_norms += key_norms(self._cache, num_tokens)
        self._chunks.append(Chunk(num_tokens, forward.forward_s))
        return self._chunks[-1]

    def decode(self, *, queue_s: float = 0.0) -> Step:
        """Feed the newest token and sample the next."""
        if not self.trace.steps:
            raise RuntimeError("the KV cache is empty; call prefill() before decode()")
        if self.finished:
            raise RuntimeError(f"the run has ended ({self.stop_reason}); rewind() or fork() to go on")
        return self._pass("decode", [self.trace.steps[-1].token_id], queue_s=queue_s)

    def rewind(self, index: int) -> None:
        """Make step `index` the newest again: later columns are cropped off the cache, nothing is recomputed."""
        steps = self.trace.steps
        if not 0 <= index < len(steps):
            raise ValueError(f"step {index} does not exist; this run has steps 0 to {len(steps) - 1}")
        num_dropped = len(steps) - 1 - index
        if num_dropped == 0:
            return
        self.last = None
        self._crop(num_dropped)
        del steps[index + 1 :]
        del self.trace.key_norms[steps[-1].context_len :]
        kept = tuple(entry for entry in self.trace.metadata.sampling if entry[0] <= index)
        self.trace.metadata = replace(self.trace.metadata, sampling=kept)
        self.trace.stop_reason = self._reason()

    def fork(self, token_id: int) -> Step:
        """Put another token in the newest step's place and go on from there; its pass is not run again."""
        if not self.trace.steps:
            raise RuntimeError("there is no step to fork from; call prefill() first")
        step = self.trace.steps[-1]
        if not 0 <= token_id < self.engine.spec.vocab_size:
            raise ValueError(f"token {token_id} is not in the vocabulary of {self.engine.spec.vocab_size:,}")
        logprob = known_logprob(step, self.last.logits if self.last else None, token_id)
        self.trace.steps[-1] = replace(
            step,
            token_id=token_id,
            raw=self.engine.token_bytes[token_id],
            logprob=logprob,
            is_forced=True,
            text="",
        )
        self._finish_step()
        return self.trace.steps[-1]

    def release_cache(self) -> None:
        """Give the KV cache's memory up; the next decode rebuilds it from the token ids."""
        self._cache = None

    def _pass(self, phase: Phase, token_ids: list[int], *, queue_s: float, tokenize_s: float = 0.0) -> Step:
        try:
            rebuild_s = self._ensure_cache(len(self.trace.token_ids) - len(token_ids))
            assert self._cache is not None
            forward = self.engine.forward(token_ids, self._cache)
        except BaseException:
            self._cache = None  # some layers may have grown; the token ids rebuild it
            raise
        start = time.perf_counter()
        index, before = len(self.trace.steps), self._chunks if phase == "prefill" else []
        chain = stages(forward.logits, self.params, self.trace.token_ids)
        token_id = draw(chain[-1], self.params, step_rng(self.params.seed, index))
        sample_s = time.perf_counter() - start
        logprobs = torch.log_softmax(forward.logits, dim=-1)
        step = Step(
            index=index,
            phase=phase,
            num_query_tokens=len(token_ids) + sum(chunk.num_query_tokens for chunk in before),
            context_len=self.num_cached,
            token_id=token_id,
            text="",
            logprob=min(float(logprobs[token_id]), 0.0),
            entropy=entropy(logprobs),
            tokenize_s=tokenize_s,
            queue_s=queue_s,
            forward_s=math.fsum([*(chunk.forward_s for chunk in before), forward.forward_s]),
            device_s=None if before else forward.device_s,
            sample_s=sample_s,
            detokenize_s=0.0,
            kv_bytes=measured_kv_bytes(self._cache),
            raw=self.engine.token_bytes[token_id],
            rebuild_s=rebuild_s,
            candidates=candidates(
                logprobs,
                chain[-1].logits,
                token_id,
                is_greedy=self.params.is_greedy,
                token_bytes=self.engine.token_bytes,
            ),
            chunks=(*before, Chunk(len(token_ids), forward.forward_s)) if before else (),
        )
        self.last = forward
        self.trace.key_norms += key_norms(self._cache, len(token_ids))
        self.trace.steps.append(step)
        self._finish_step()
        return self.trace.steps[-1]

    def _finish_step(self) -> None:
        """Decide whether the newest step ends the run, and add its text, timed."""
        start = time.perf_counter()
        steps = self.trace.steps
        self.trace.stop_reason = self._reason()
        text = tokens.newest_text(
            self.engine.tokenizer,
            [step.token_id for step in steps],
            num_told=next((length for length in range(len(steps) - 1, 0, -1) if steps[length - 1].text), 0),
            is_last=self.finished,
        )
        steps[-1] = replace(steps[-1], text=text)
        self.trace.stop_reason = self._reason()  # a stop string may only now be complete
        steps[-1] = replace(steps[-1], detokenize_s=time.perf_counter() - start)

    def _reason(self) -> StopReason | None:
        steps, metadata = self.trace.steps, self.trace.metadata
        if steps[-1].token_id in self.engine.end_tokens:
            return "end token"
        if any(stop in self.trace.text for stop in metadata.stop):
            return "stop string"
        if len(steps) >= metadata.max_new_tokens:
            return "maximum"
        if steps[-1].context_len >= self.engine.spec.max_context:
            return "context full"
        return None

    def _ensure_cache(self, num_tokens: int) -> float:
        """Hold a cache of the first `num_tokens` tokens. Returns the seconds a rebuild took, 0 if none."""
        if self._cache is not None and self.num_cached == num_tokens:
            return 0.0
        self._cache, held = self.engine.new_cache(), self.trace.token_ids[:num_tokens]
        return self.engine.forward(held, self._cache).forward_s if held else 0.0

    def _crop(self, num_tokens: int) -> None:
        if self._cache is not None and any(getattr(layer, "is_sliding", False) for layer in self._cache.layers):
            self._cache = None  # a sliding window has forgotten what it would have to give back
        elif self._cache is not None:
            self._cache.crop(-num_tokens)
