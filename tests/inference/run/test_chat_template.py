"""A model's own chat template: parts where it wants parts, its own words where it refuses, any number of places."""

import pytest

from inference.engine import Engine
from inference.generation import Generation
from inference.jobs.limits import Limits
from inference.prefix_caching.chat import chat_job
from inference.run import tokens
from inference.run.chat_template import filled
from tests.inference.incomplete import engine, with_template

PARTS = (
    "{% for message in messages %}[{{ message.role }}]{% for part in message.content %}"
    "{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}{% endfor %}"
)
PARTS_ONLY = "{% if messages[0].content is string %}{{ raise_exception('give parts') }}{% endif %}" + PARTS
TEXT = "{% for message in messages %}[{{ message.role }}]{{ message.content }}{% endfor %}"
TWICE = "Q: {{ messages[0].content }}<|end|>Again: {{ messages[0].content }}<|end|>"
USER = [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize("template", [TEXT, PARTS, PARTS_ONLY], ids=["text", "parts", "parts only"])
def test_content_is_given_as_the_template_takes_it(template: str) -> None:
    assert filled(with_template(template), USER) == "[user]Hi"


@pytest.mark.parametrize("prompt", ["Hi", "a<|end|>b"])
def test_a_template_that_repeats_the_prompt_has_it_twice(tiny: Engine, prompt: str) -> None:
    other = engine(tiny, with_template(TWICE))
    ids = tokens.encode(other.tokenizer, prompt, chat_template=True)
    text = b"".join(other.token_bytes[token_id] for token_id in ids).decode()
    assert text == f"Q: {prompt}<|end|>Again: {prompt}<|end|>"
    assert sum(token_id in other.end_tokens for token_id in ids) == 2  # what the learner typed stays text


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{{ raise_exception('System role not supported') }}", "refuses this: System role not supported; switch"),
        ("{{ messages[0].content + 1 }}", "refuses this: can only concatenate str"),
        ("{{ messages[0].tools.name.first }}", "refuses this: .*has no attribute"),
        ("{{ 1 // 0 }}", "refuses this: "),
        ("{% for message in messages %}", "refuses this: Unexpected end of template"),
        ("{{ raise_exception('two\nlines of <b>words</b>') }}", "refuses this: two lines of <b>words</b>"),
        ("[user]", "leaves the prompt out"),
    ],
)
def test_a_template_that_takes_no_prompt_is_named_as_the_cause(tiny: Engine, template: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"^the model's chat template {words}"):
        Generation(engine(tiny, with_template(template)), "Hello", chat_template=True)


def test_a_conversation_that_the_template_refuses_is_refused_in_its_words(tiny: Engine) -> None:
    no_system = "{% if messages[0].role == 'system' %}{{ raise_exception('no system turn') }}{% endif %}" + TEXT
    with pytest.raises(ValueError, match="chat template refuses this: no system turn"):
        chat_job().begin(engine(tiny, with_template(no_system)), Limits())
