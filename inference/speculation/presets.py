"""Texts on which speculation by look-up wins, gains little, and loses."""

from dataclasses import dataclass
from random import Random

_TEXT = (
    "The lighthouse keeper climbed the stairs every evening at six, lit the lamp, wrote the weather in his book, "
    "and watched the ships go by until the morning came. Then he put out the lamp, cleaned the glass with a soft "
    "cloth, counted the gulls on the roof, and walked down to the village to buy bread and milk."
)
_NAMED = (
    "Edwin climbed the stairs every evening at six. Edwin lit the lamp, wrote the weather in the book, and watched "
    "the ships go by until the morning came. Then Edwin put out the lamp and walked down to the village to buy "
    "bread and milk."
)
_STORY = "Tell a bedtime story about a fox who wants to learn to swim."
_NUM_DIGITS = 160


@dataclass(frozen=True, slots=True)
class TextPreset:
    title: str
    prompt: str
    max_new_tokens: int
    temperature: float = 0.0
    chat_template: bool = True


def _digits() -> str:
    """From a fixed seed: pairs of digits recur, and what follows them is no hint."""
    return "".join(Random(0).choices("0123456789", k=_NUM_DIGITS))


PRESETS = {
    "copy": TextPreset("Copy a text", f"Repeat the following text exactly: {_TEXT}", 80),
    "edit": TextPreset("Edit a text", f"Replace the name Edwin with the name Martha in this text: {_NAMED}", 64),
    "story": TextPreset("Write a story (little)", _STORY, 64),
    "random": TextPreset("Random digits (loses)", _digits(), 40, temperature=1.0, chat_template=False),
}
