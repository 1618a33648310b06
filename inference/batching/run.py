"""transformers' continuous batching on a paged cache, driven one pass at a time in the caller's own thread."""

import time
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from transformers import ContinuousBatchingConfig, GenerationConfig
from transformers.generation.continuous_batching import ContinuousBatchingManager
from transformers.generation.continuous_batching.requests import RequestState

from inference.batching.records import PAGE, BatchingComparison, BatchPass, ServedPlan, ServingPlan, Share
from inference.jobs.experiments import Report, Reports

if TYPE_CHECKING:
    from inference.engine import Engine

_TEXT = (
    "The keeper climbed the stairs of the lighthouse at dusk, as he had done every evening for thirty years. Below "
    "him the sea was grey and restless, and far out a single ship was making for the harbour. He trimmed the lamp, "
    "wiped the glass, and wrote the weather into his book: wind from the west, rain before midnight. "
)


class PagedServer:
    """Schedules requests into passes. `close` gives every block back; the engine's model is never changed."""

    def __init__(self, engine: "Engine", *, slots: int, tokens_per_pass: int, num_blocks: int) -> None:
        settings = ContinuousBatchingConfig(
            page_size=PAGE,
            num_blocks=num_blocks,
            max_batch_tokens=tokens_per_pass,
            max_requests_per_batch=slots,
            max_blocks_per_request=0,
            allow_block_sharing=False,  # prefix caching has a lab of its own
            use_async_batching=False,
            use_cuda_graph=False,
            auto_switch_to_flash=False,
            safety_margin=0.0,  # the blocks are enough for whatever can meet
            seed=0,
        )
        self._model = _sharing_parameters(engine.model)
        with torch.random.fork_rng():  # it seeds torch, which is everybody's
            manager = ContinuousBatchingManager(
                self._model, GenerationConfig(do_sample=False, eos_token_id=-1), settings
            )
            self._processor: Any = manager._create_batch_processor()
        self._cache = self._processor.cache
        self.num_blocks = int(self._cache.num_blocks)

    @property
    def is_busy(self) -> bool:
        return bool(self._processor.has_pending_requests())

    @property
    def free_blocks(self) -> int:
        per_block: int = self._cache.bytes_per_sector * self._cache.num_sectors // self.num_blocks
        return int(self._cache.compute_free_capacity(relative=False)) // per_block

    def add(self, request: int, token_ids: Sequence[int], output_tokens: int) -> None:
        self._processor.scheduler.add_waiting_request(
            RequestState(str(request), list(token_ids), max_new_tokens=output_tokens)
        )

    def step(self, number: int) -> BatchPass:
        """One pass over what the scheduler puts together."""
        start = time.perf_counter()
        if not self._processor.prepare_next_batch():
            raise RuntimeError("no request can be scheduled; add one before step()")
        scheduled = self._processor.inputs_and_outputs.requests_in_batch
        before = [request_state.state.generated_len() for request_state in scheduled]
        blocks = self.num_blocks - self.free_blocks
        self._processor._generation_step(self._model)
        self._processor.update_batch()  # reads the tokens, which waits for the device
        seconds = time.perf_counter() - start
        shares = tuple(
            Share(
                request=int(request_state.state.request_id),
                phase="decode" if num_before else "prefill",
                num_tokens=request_state.query_length,
                token_id=request_state.state.generated_tokens[-1] if request_state.has_new_token else None,
            )
            for request_state, num_before in zip(scheduled, before, strict=True)
        )
        return BatchPass(number, seconds, blocks, shares)

    def close(self) -> None:
        """Drop what is unfinished, request by request; its blocks are free afterwards."""
        scheduler = self._processor.scheduler
        for name in [*scheduler.active_requests, *scheduler.waiting_requests]:
            scheduler.set_request_cancellation(name)
        scheduler.clear_cancelled_requests()


def serve(engine: "Engine", plan: ServingPlan) -> Generator[BatchPass | None, None, None]:
    """Carry the plan out. Yields after every pass, None after those that only warm up."""
    server = PagedServer(engine, slots=plan.slots, tokens_per_pass=plan.tokens_per_pass, num_blocks=plan.num_blocks)
    prompts = prompt_ids(engine, plan)
    with closing(server):
        for request in range(min(plan.slots, len(prompts))):  # first passes of their size pay for memory
            server.add(request, prompts[request], output_tokens=1)
        while server.is_busy:
            server.step(0)
            yield None
        coming = deque(sorted(range(len(prompts)), key=lambda place: plan.arrivals[place].before_pass))
        queue: deque[int] = deque()
        number = 0
        while coming or queue or server.is_busy:
            if not queue and not server.is_busy:
                number = max(number, plan.arrivals[coming[0]].before_pass)
            while coming and plan.arrivals[coming[0]].before_pass <= number:
                queue.append(coming.popleft())
            for _ in range(_num_admitted(plan, len(queue), server)):
                request = queue.popleft()
                server.add(request, prompts[request], plan.arrivals[request].output_tokens)
            yield server.step(number)
            number += 1


def _num_admitted(plan: ServingPlan, num_queued: int, server: PagedServer) -> int:
    """Continuous: all, the scheduler fills slots as they fall free. Static: a group once the last is through."""
    if not plan.is_static:
        return num_queued
    return 0 if server.is_busy else min(plan.slots, num_queued)


def compare(engine: "Engine", plans: Sequence[ServingPlan]) -> Reports[BatchingComparison]:
    """Serve the plans in turns, a pass of each; yields after every pass."""
    arms = [ServedPlan(plan) for plan in plans]
    num_tokens, num_done = sum(arrival.output_tokens for plan in plans for arrival in plan.arrivals), 0
    with ExitStack() as stack:
        running = {place: stack.enter_context(closing(serve(engine, plan))) for place, plan in enumerate(plans)}
        while running:
            for place, passes in list(running.items()):
                try:
                    newest = next(passes)
                except StopIteration:
                    del running[place]
                    continue
                if newest is not None:
                    arms[place] = replace(arms[place], passes=(*arms[place].passes, newest))
                    num_done += sum(share.token_id is not None for share in newest.shares)
                words = f"{plans[place].name}: " + (f"pass {len(arms[place].passes)}" if newest else "warm-up")
                yield Report(num_done / num_tokens, BatchingComparison(tuple(arms)), words)
    return BatchingComparison(tuple(arms))


def prompt_ids(engine: "Engine", plan: ServingPlan) -> list[list[int]]:
    """A stretch of the same text for each request, each from another place on."""
    ids = engine.tokenizer(_TEXT, add_special_tokens=False)["input_ids"]
    prompts = []
    for place, arrival in enumerate(plan.arrivals):
        start = 7 * place % len(ids)
        repeated = ids * (1 + (start + arrival.prompt_tokens) // len(ids))
        prompts.append(repeated[start : start + arrival.prompt_tokens])
    return prompts


def _sharing_parameters(model: Any) -> Any:
    """A copy with the same weights in memory: batching may set another attention on it."""
    shared = {id(tensor): tensor for tensor in [*model.parameters(), *model.buffers()]}
    return deepcopy(model, shared)
