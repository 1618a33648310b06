"""A conversation in which every turn sends the whole text again: with reuse of the turns before, and without."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from inference.arithmetic.spec import ModelSpec
from inference.cost import kv_bytes
from inference.jobs.experiments import Job, Report, Reports
from inference.prefix_caching.both_ways import BothWays, decode_both
from inference.prefix_caching.prompts import inside
from inference.prefix_caching.records import CachedPrefill, check_request
from inference.run import tokens
from inference.run.chat_template import filled

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

NUM_TURNS, REPLY_TOKENS, REPEATS = 5, 16, 2
ASKED = (
    "What is a lighthouse for?",
    "Who kept its lamp burning?",
    "What did they write down every day?",
    "Why was granite used to build it?",
    "Name one danger of the work.",
    "What replaced the keepers?",
    "How far can the light be seen?",
    "Is it still needed today?",
)
_SYSTEM = (
    "You are the guide of a small museum of lighthouses on a rocky coast. Visitors are curious and have little "
    "time. Answer in one short sentence, in plain words, and stay with what is known. Say so if you do not know. "
    "Never invent dates, names or numbers, and do not repeat the question. If somebody asks about opening hours or "
    "tickets, send them to the desk at the entrance."
)


@dataclass(frozen=True, slots=True)
class Style:
    """How a client writes its prompts."""

    is_clock_first: bool = False
    """It puts the time of each turn before everything else, as many assistants do."""


WINS, LOSES = "Same beginning every turn", "Time of day at the top (loses)"
PRESETS = {WINS: Style(), LOSES: Style(is_clock_first=True)}


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn, measured both ways; the reply is the reused one's."""

    question: str
    reply: str
    cold: tuple[CachedPrefill, ...]
    """The whole prompt computed, one per repeat."""
    warm: tuple[CachedPrefill, ...]
    """With the blocks of the turns before."""
    both: BothWays


@dataclass(frozen=True, slots=True)
class Chat:
    spec: ModelSpec
    block_size: int
    turns: tuple[Turn, ...] = ()
    kept_bytes: int = 0
    """Of all blocks after the newest turn, measured."""


def chat_job(
    style: Style | None = None,
    *,
    num_turns: int = NUM_TURNS,
    reply_tokens: int = REPLY_TOKENS,
    block_size: int = 16,
    repeats: int = REPEATS,
) -> Job[Chat]:
    """Every turn: the prompt cold and warm in turn, then the reply decoded both ways and its blocks kept."""
    chosen = style or Style()

    def begin(engine: "Engine", limits: "Limits") -> Reports[Chat]:
        if engine.tokenizer.chat_template is None:
            raise ValueError("This model has no chat template, so it has no turns; load a chat model.")
        if not 2 <= num_turns <= len(ASKED):
            raise ValueError(f"a conversation here has 2 to {len(ASKED)} turns, got {num_turns}")
        silent = [(question, "") for question in ASKED[: num_turns - 1]]
        last = _prompt(engine.tokenizer, chosen, silent, ASKED[num_turns - 1])
        longest = len(last) + num_turns * reply_tokens
        _refuse(engine, longest, block_size)
        limits.check_kv(kv_bytes(engine.spec, context_len=longest, batch_size=3), "Two requests and kept blocks")
        return run(engine)

    def run(engine: "Engine") -> Reports[Chat]:
        from inference.prefix_caching.store import PrefixStore  # noqa: PLC0415  # pages must not wait for torch

        budget_bytes = num_turns * kv_bytes(engine.spec, context_len=engine.spec.max_context)
        store, empty = (PrefixStore(engine, block_size=block_size, budget_bytes=budget_bytes) for _ in range(2))
        chat, said = Chat(engine.spec, block_size), list[tuple[str, str]]()
        for place, question in enumerate(ASKED[:num_turns]):
            ids = _prompt(engine.tokenizer, chosen, said, question)
            _refuse(engine, len(ids) + reply_tokens, block_size)
            cold_runs: list[CachedPrefill] = []
            warm_runs: list[CachedPrefill] = []
            say = partial(_report, chat, place, num_turns)
            for repeat in range(1, repeats + 1):
                with empty.request(ids) as cold, store.request(ids) as warm:
                    cold_runs.append(cold.prefill())
                    yield say(0.5 * repeat / repeats)
                    warm_runs.append(warm.prefill())
                    yield say(0.5 * repeat / repeats)
                    if repeat < repeats:
                        continue
                    both = yield from decode_both(
                        cold, warm, reply_tokens, partial(_later, say), ends=engine.end_tokens
                    )
                    warm.keep()
            said.append((question, tokens.decode(engine.tokenizer, both.warm_tokens)))
            turn = Turn(*said[-1], tuple(cold_runs), tuple(warm_runs), both)
            chat = replace(chat, turns=(*chat.turns, turn), kept_bytes=store.kept_bytes)
        return chat

    clock = "clock first" if chosen.is_clock_first else "same beginning"
    name = f"conversation, {clock}: {num_turns} turns of {reply_tokens}, blocks of {block_size}, {repeats} repeats"
    return Job(name, Chat, begin)


def _refuse(engine: "Engine", num_tokens: int, block_size: int) -> None:
    check_request(
        engine.spec,
        block_size=block_size,
        budget_bytes=kv_bytes(engine.spec, context_len=engine.spec.max_context),
        num_tokens=num_tokens,
        what="The conversation",
    )


def _prompt(tokenizer: Any, style: Style, said: Sequence[tuple[str, str]], question: str) -> list[int]:
    """What a client sends: everything said so far and the new question, in the model's chat template."""
    clock = f"It is {9 + len(said)}:{7 * len(said):02d}. " if style.is_clock_first else ""
    messages = [{"role": "system", "content": clock + _SYSTEM}]
    for asked, replied in said:
        messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": replied}]
    messages.append({"role": "user", "content": question})
    return inside(tokenizer, filled(tokenizer, messages))


def _report(chat: Chat, place: int, num_turns: int, share: float) -> Report[Chat]:
    return Report((place + share) / num_turns, chat if chat.turns else None, f"turn {place + 1} of {num_turns}")


def _later(say: "partial[Report[Chat]]", share: float) -> Report[Chat]:
    return say(0.5 + 0.5 * share)
