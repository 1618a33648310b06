"""The prompts of the prefix caching lab as token ids: long documents, short questions, one changed token."""

from collections.abc import Sequence
from typing import Any

from inference.run import tokens

_PASSAGE = (
    "The lighthouse at Corran Point was built of granite that came by barge from the quarries to the south. Its "
    "lamp burned oil for sixty years, then gas, and at last electricity, and through all of them a keeper climbed "
    "the stairs at dusk. The log books are kept in the town hall. They record the weather four times a day, every "
    "ship that passed, and now and then a line about the garden. In the winter of the great storm the sea took the "
    "jetty and the boat house, and for nine weeks no supplies could be landed. The keepers lived on flour and "
    "dried fish, and did not miss a single night."
)
QUESTIONS = (
    "which fuels did the lamp burn, and in what order? Answer:",
    "what did the keepers eat during the great storm? Answer:",
    "where are the log books kept today, and what is in them? Answer:",
    "from where did the granite of the tower come? Answer:",
)


def document(tokenizer: Any, num_tokens: int, title: str = "Part") -> list[int]:
    """A text of exactly that many tokens, its parts numbered; another title makes another text from the start."""
    num_parts = 1
    while True:
        text = " ".join(f"{title} {number}. {_PASSAGE}" for number in range(1, num_parts + 1))
        ids = tokens.encode(tokenizer, text, chat_template=False)
        if len(ids) >= num_tokens:
            return ids[:num_tokens]
        num_parts *= 2


def question(tokenizer: Any, number: int) -> list[int]:
    """Tokens to put behind a document; the questions go round, but their numbers do not."""
    return inside(tokenizer, f"\n\nQuestion {number + 1}: {QUESTIONS[number % len(QUESTIONS)]}")


def inside(tokenizer: Any, text: str) -> list[int]:
    """Tokens of a text that stands in the middle of a prompt: no token for a beginning before it."""
    return list(tokenizer(text, add_special_tokens=False).input_ids)


def with_change(token_ids: Sequence[int], place: int) -> list[int]:
    """The same tokens, but the one at `place`, counted from 1, is another of them; 0 changes nothing."""
    if not 0 <= place <= len(token_ids):
        raise ValueError(f"token {place:,} cannot be changed: the text has tokens 1 to {len(token_ids):,}")
    changed = list(token_ids)
    if place:
        old = changed[place - 1]
        changed[place - 1] = next((token_id for token_id in changed if token_id != old), old + 1)
    return changed
