"""Sequences of different lengths in one pass: each gets what it would get alone."""

import torch
from transformers import DynamicCache

from inference.disaggregation.streams import Streams
from inference.engine import Engine

PROMPTS = ([10, 20, 30, 40, 50, 60, 70], [5, 6], [9] * 20)


def prefilled(engine: Engine, prompt: list[int]) -> tuple[int, DynamicCache]:
    cache = engine.new_cache()
    return int(engine.forward(prompt, cache).logits.argmax()), cache


def alone(engine: Engine, prompt: list[int], num_tokens: int) -> list[int]:
    """What transformers generates greedily, whatever the token."""
    ids = torch.tensor([prompt])
    output = engine.model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=num_tokens, do_sample=False, eos_token_id=None
    )
    return [int(token) for token in output[0, len(prompt) :]]


def test_sequences_that_join_and_leave_at_any_time_get_what_they_get_alone(tiny: Engine) -> None:
    streams, got = Streams(tiny), {name: list[int]() for name in range(3)}

    def join(name: int) -> None:
        newest, cache = prefilled(tiny, PROMPTS[name])
        got[name].append(newest)
        streams.join(name, newest, cache)

    def step() -> None:
        tokens, _ = streams.step()
        for name, token in tokens.items():
            got[name].append(token)

    join(0)
    step()
    join(1)
    step()
    join(2)
    assert streams.context_len == 20
    step()
    streams.leave(2)
    assert streams.context_len == 10  # 7 and three steps: no longer padded for the one that left
    step()
    streams.leave(0)
    step()
    assert streams.names == (1,)
    assert streams.context_len == 6
    assert got == {name: alone(tiny, PROMPTS[name], len(tokens)) for name, tokens in got.items()}
    assert sorted(map(len, got.values())) == [2, 5, 5]
    streams.leave(1)
    assert len(streams) == 0


def test_logits_beside_longer_sequences_are_those_of_the_sequence_alone(tiny: Engine) -> None:
    newest, cache = prefilled(tiny, PROMPTS[1])
    expected = tiny.forward([newest], cache).logits
    streams = Streams(tiny)
    for name, prompt in enumerate(PROMPTS):
        streams.join(name, *prefilled(tiny, prompt))
    _, forward = streams.step()
    assert forward.logits.shape == expected.shape
    streams = Streams(tiny)
    streams.join(1, *prefilled(tiny, PROMPTS[1]))  # the first row is the one whose logits are returned
    streams.join(2, *prefilled(tiny, PROMPTS[2]))
    _, forward = streams.step()
    torch.testing.assert_close(forward.logits, expected)
