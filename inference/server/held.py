"""The caches that learners hold now, as lengths and measured bytes: nothing of what anybody wrote."""

from collections.abc import Collection, Sequence

from inference.kv_cache.paged import Conversation, Held, same_beginning
from inference.server.owned import Owned, Run

MOST_SHOWN = 8
"""Conversations; the most recently used of the others."""


def held(runs: Owned, learner: str, *, public_prompts: Collection[str] = ()) -> tuple[Held, ...]:
    """The learner's own cache first, named "yours", then those of others.

    Equal beginnings are looked for only among prompts that are this program's own examples. A count over what
    people wrote would let a learner guess another's prompt token by token; real servers salt their hashes for it.
    """
    everyone = sorted(runs.newest(), key=lambda item: item[0] != learner)
    live = [(name, run) for name, run in everyone if run.trace.steps and not run.released][:MOST_SHOWN]
    shown = [run for _, run in live]
    has_own = bool(live) and live[0][0] == learner
    names = [
        "yours" if has_own and place == 0 else f"learner {place + 1 + (not has_own)}" for place in range(len(shown))
    ]
    prompts = [_public(run, public_prompts) for run in shown]
    return tuple(
        _held(run, name, same_beginning(prompts, place))
        for place, (run, name) in enumerate(zip(shown, names, strict=True))
    )


def _held(run: Run, name: str, same: tuple[int | None, int]) -> Held:
    trace, spec = run.trace, run.trace.metadata.spec
    prompt_tokens, newest = len(trace.prompt_tokens), trace.steps[-1]
    longest = min(prompt_tokens + trace.metadata.max_new_tokens, spec.max_context)
    conversation = Conversation(
        name=name,
        prompt_tokens=prompt_tokens,
        cached_tokens=newest.context_len,
        reserved_tokens=max(longest, newest.context_len),
        same_as=same[0],
        same_tokens=same[1],
    )
    return Held(conversation, newest.kv_bytes)


def _public(run: Run, public_prompts: Collection[str]) -> Sequence[int]:
    """The prompt's ids if it may be compared with others, none otherwise."""
    trace = run.trace
    return [token.id for token in trace.prompt_tokens] if trace.prompt in public_prompts else []
