"""The form of the main screen as a recipe, and back: which widget keys there are and what they mean."""

from collections.abc import Mapping
from typing import Any

from inference.run.params import SamplingParams
from inference.run.recipe import Recipe

ORDERS = ("temperature, then the cuts", "the cuts, then temperature")
SPEEDS = {"slow": 0.6, "steady": 0.25, "fast": 0.0}  # seconds between passes while playing
EXAMPLES = {
    "The lighthouse": "The lighthouse keeper had not spoken to anyone for eleven days when, on the twelfth "
    "morning, a small boat with a torn grey sail came around the point and",
    "One question": "What is the capital of France?",
    "A list to continue": "Monday, Tuesday, Wednesday,",
    "Code": "def fibonacci(n):\n    ",
    "Characters in pieces": "A woman astronaut, a family and a rainbow flag: 👩‍🚀👨‍👩‍👧🏳️‍🌈",
}
CHAT_EXAMPLES = ("One question",)


def read_form(values: Mapping[str, Any]) -> Recipe:
    """The recipe the widgets spell. ValueError names what is wrong with it."""
    bias = str(values["logit_bias"]).strip()
    params = SamplingParams(
        temperature=float(values["temperature"]),
        top_k=int(values["top_k"]),
        top_p=float(values["top_p"]),
        min_p=float(values["min_p"]),
        repetition_penalty=float(values["repetition_penalty"]),
        logit_bias=SamplingParams.from_spelled(f"logit_bias={bias}").logit_bias if bias else None,
        seed=int(values["seed"]),
        temperature_last=values["order"] == ORDERS[1],
    )
    return Recipe(
        prompt=str(values["prompt"]),
        params=params,
        max_new_tokens=int(values["max_new_tokens"]),
        chat_template=bool(values["chat_template"]),
        stop=_stops(values),
    )


def form_values(recipe: Recipe) -> dict[str, Any]:
    """What the widgets hold so that they spell this recipe; the last sampling settings where they changed."""
    params = recipe.changes[-1][1] if recipe.changes else recipe.params
    return {
        "prompt": recipe.prompt,
        "temperature": float(params.temperature),
        "top_k": params.top_k,
        "top_p": float(params.top_p),
        "min_p": float(params.min_p),
        "repetition_penalty": float(params.repetition_penalty),
        "logit_bias": ";".join(f"{token_id}:{bias!r}" for token_id, bias in (params.logit_bias or {}).items()),
        "seed": params.seed,
        "order": ORDERS[params.temperature_last],
        "max_new_tokens": recipe.max_new_tokens,
        "chat_template": recipe.chat_template,
        "stop": "\n".join(recipe.stop),
    }


def unlike(values: Mapping[str, Any], run: Recipe) -> tuple[str, ...]:
    """What the widgets say otherwise than this run, and only a new prefill can take up."""
    differs = {
        "the prompt": values["prompt"] != run.prompt,
        "the chat template": values["chat_template"] != run.chat_template,
        "the maximum": values["max_new_tokens"] != run.max_new_tokens,
        "the stop strings": _stops(values) != run.stop,
    }
    return tuple(words for words, is_other in differs.items() if is_other)


def _stops(values: Mapping[str, Any]) -> tuple[str, ...]:
    """One a line; an empty line is none."""
    return tuple(line for line in str(values["stop"]).splitlines() if line)


FIELDS = (*form_values(Recipe(prompt="")), "speed")
