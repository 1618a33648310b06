"""Messages in the model's own chat template: text or parts, as it takes them, and its own words when it refuses."""

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import TemplateError

Message = Mapping[str, Any]
_PROBE = "two-phases-user-text"  # stands for a prompt whose place in the template is looked for

# what a template of somebody else's raises: its own refusals, and whatever its expressions run into
_TEMPLATE_ERRORS = (
    TemplateError,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


def filled(tokenizer: Any, messages: Sequence[Message]) -> str:
    """The messages in the template, up to where the answer begins.

    Content is given as text; as a list of parts to a template that drops text or refuses it, as multimodal ones
    do. ValueError with the template's own words where neither is taken.
    """
    if tokenizer.chat_template is None:
        raise ValueError("this model has no chat template; switch the template off")
    faults: list[ValueError] = []
    for content in (_as_text, _as_parts):
        try:
            if _PROBE in _apply(tokenizer, [content({"role": "user", "content": _PROBE})]):
                return _apply(tokenizer, [content(message) for message in messages])
        except ValueError as fault:
            faults.append(fault)
    if faults:
        raise faults[0]
    raise ValueError("the model's chat template leaves the prompt out; switch the template off")


def around(tokenizer: Any) -> list[str]:
    """What the template puts before, after and, if it repeats it, between the places of a prompt."""
    return filled(tokenizer, [{"role": "user", "content": _PROBE}]).split(_PROBE)


def _as_text(message: Message) -> Message:
    return message


def _as_parts(message: Message) -> Message:
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


def _apply(tokenizer: Any, messages: Sequence[Message]) -> str:
    try:
        return str(tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True))
    except _TEMPLATE_ERRORS as error:
        words = " ".join(str(error).split())[:200]
        raise ValueError(
            f"the model's chat template refuses this: {words or type(error).__name__}; switch the template off"
        ) from error
