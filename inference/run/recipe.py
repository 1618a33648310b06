"""Everything that makes a run happen again: what the reproducing link, the exported code and the form all hold."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from urllib.parse import urlencode

from inference.arithmetic.ranges import Range
from inference.run.link import Parameter, read, written
from inference.run.params import SamplingParams
from inference.trace import Trace

LONGEST_LINK = 6_000  # characters; browsers and proxies cut longer ones
MOST_ITEMS, MOST_STOPS, LONGEST_STOP = 1_000, 8, 200


def check_prompt(prompt: str) -> None:
    """Refuse nothing but spaces and line ends; a control character is something. Refuse half a character."""
    if not prompt.strip(" \t\r\n"):
        raise ValueError("The prompt is empty. Type some text or choose an example.")
    try:
        prompt.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"The prompt has half a character at position {error.start}. Delete it.") from None


def check_request(prompt: str, max_new_tokens: int, stop: Sequence[str]) -> None:
    """Refuse what no run can begin with."""
    check_prompt(prompt)
    Range(1, math.inf).whole("max_new_tokens", max_new_tokens)
    if isinstance(stop, str) or any(not text for text in stop):
        raise ValueError("stop must be a list of texts that are not empty")


@dataclass(frozen=True, slots=True)
class Recipe:
    prompt: str
    params: SamplingParams = field(default_factory=SamplingParams)
    max_new_tokens: int = 64
    chat_template: bool = False
    stop: tuple[str, ...] = ()
    num_steps: int = 0
    """How far to run on opening; 0 waits for the learner."""
    forced: Mapping[int, int] = field(default_factory=dict)
    """Step index to the token id the learner chose there."""
    changes: tuple[tuple[int, SamplingParams], ...] = ()
    """(step index, settings) where sampling changed on the way."""
    model: str = ""
    """The model it was made with; only said when another one answers."""

    @classmethod
    def of(cls, trace: Trace) -> "Recipe":
        metadata = trace.metadata
        return cls(
            prompt=trace.prompt,
            params=metadata.sampling[0][1],
            max_new_tokens=metadata.max_new_tokens,
            chat_template=metadata.chat_template,
            stop=metadata.stop,
            num_steps=len(trace.steps),
            forced={step.index: step.token_id for step in trace.steps if step.is_forced},
            changes=metadata.sampling[1:],
            model=metadata.model,
        )

    def is_done_in(self, trace: Trace) -> bool:
        """Whether this run has taken all the steps that are asked for, just so; perhaps more."""
        done = Recipe.of(trace).until(self.num_steps)
        return 0 < self.num_steps <= len(trace.steps) and replace(self, model=self.model or done.model) == done

    def until(self, num_steps: int) -> "Recipe":
        """The same, stopped earlier."""
        return replace(
            self,
            num_steps=num_steps,
            forced={index: token_id for index, token_id in self.forced.items() if index < num_steps},
            changes=tuple(change for change in self.changes if change[0] < num_steps),
        )

    def to_query(self) -> str:
        """The query string of the reproducing link."""
        value_of = partial(getattr, self)
        items = [("stop", text) for text in self.stop]
        items += [("forced", f"{index}:{token_id}") for index, token_id in self.forced.items()]
        items += [("change", f"{index}:{params.spelled()}") for index, params in self.changes]
        return urlencode([*written(_PARAMETERS, value_of), *items, *written([_MODEL], value_of)])


def from_query(query: Mapping[str, list[str]]) -> tuple[Recipe | None, list[str]]:
    """The recipe in a link's parameters, and a sentence for each part that was not understood and left out.

    None where the link carries no prompt.
    """
    problems: list[str] = []
    last = {name: texts[-1] for name, texts in query.items() if texts and texts[-1]}
    if "prompt" not in last:
        return None, problems
    stop = [text for text in query.get("stop", []) if text]
    if len(stop) > MOST_STOPS or any(len(text) > LONGEST_STOP for text in stop):
        problems.append(f"stop texts are read up to {MOST_STOPS}, of at most {LONGEST_STOP} characters")

    def refuse(_: Parameter, error: ValueError) -> None:
        problems.append(str(error))

    recipe = Recipe(
        **read((*_PARAMETERS, _MODEL), last, refuse),
        stop=tuple(text[:LONGEST_STOP] for text in stop[:MOST_STOPS]),
        forced={index: int(token_id) for index, token_id in _at_steps(query, "forced", _FORCED, problems)},
        changes=tuple(
            (index, read([_SAMPLING], {"sampling": text}, refuse).get("params", SamplingParams()))
            for index, text in _at_steps(query, "change", _CHANGE, problems)
        ),
    )
    return recipe, problems


def _at_steps(
    query: Mapping[str, list[str]], name: str, pattern: re.Pattern[str], problems: list[str]
) -> list[tuple[int, str]]:
    """What happens at which step, of a parameter that comes many times."""
    texts = query.get(name, [])
    if len(texts) > MOST_ITEMS:
        problems.append(f"only the first {MOST_ITEMS} of {len(texts):,} {name} were read")
    matches = [(text, pattern.fullmatch(text)) for text in texts[:MOST_ITEMS]]
    problems += [f"{name} must look like 5:260, got {text[:40]!r}" for text, match in matches if not match]
    return [(int(match[1]), match[2] or "") for _, match in matches if match]


def _sampling(text: str) -> SamplingParams:
    try:
        return SamplingParams.from_spelled(text)
    except ValueError as error:
        raise ValueError(f"sampling is left at greedy: {error}") from None


def _whole(name: str, attribute: str, low: int, high: int) -> Parameter:
    def number(text: str) -> int:
        value = int(text) if text.strip().isdecimal() and len(text) < 20 else -1
        if not low <= value <= high:
            raise ValueError(f"{name} must be a whole number from {low} to {high:,}, got {text[:40]!r}")
        return value

    return Parameter(name, attribute, number)


_SAMPLING = Parameter("sampling", "params", _sampling, SamplingParams.spelled)
_PARAMETERS = (
    Parameter("prompt", "prompt", str),
    _whole("max", "max_new_tokens", 1, 100_000),
    _whole("steps", "num_steps", 0, 100_000),
    _SAMPLING,
    Parameter("chat", "chat_template", lambda text: text == "1", lambda is_chat: "1" if is_chat else ""),
)
_MODEL = Parameter("model", "model", lambda text: text[:200])
_FORCED = re.compile(r"([0-9]{1,6}):([0-9]{1,7})")
_CHANGE = re.compile(r"([0-9]{1,6})(?::(.*))?", re.DOTALL)


def to_code(trace: Trace) -> str:
    """A few lines of plain transformers that generate the same tokens with `generate`."""
    metadata, params = trace.metadata, trace.metadata.sampling[0][1]
    chosen = {
        "temperature": params.temperature,
        "top_k": params.top_k,
        "top_p": params.top_p,
        "min_p": params.min_p,
    }
    options = [f"max_new_tokens={len(trace.steps)}", f"do_sample={not params.is_greedy}"]
    options += [f"{name}={value!r}" for name, value in chosen.items()] if not params.is_greedy else []
    if params.repetition_penalty != 1:
        options.append(f"repetition_penalty={params.repetition_penalty!r}")
    if params.logit_bias:
        options.append(f"sequence_bias={ {(token_id,): bias for token_id, bias in params.logit_bias.items()}!r}")
    if metadata.stop:
        options.append(f"stop_strings={list(metadata.stop)!r}, tokenizer=tokenizer")
    encode = (
        f'tokenizer.apply_chat_template([{{"role": "user", "content": {trace.prompt!r}}}],\n'
        '    add_generation_prompt=True, return_tensors="pt", return_dict=True)'
        if metadata.chat_template
        else f'tokenizer({trace.prompt!r}, return_tensors="pt")'
    )
    notes = (
        [] if params.is_greedy else ["# sampled: generate draws with its own random numbers, so the tokens differ"]
    )
    if any(step.is_forced for step in trace.steps) or len(metadata.sampling) > 1:
        notes.append("# this run was steered by hand on the way; generate shows it without that")
    return "\n".join(
        [
            "import torch",
            "from transformers import AutoModelForCausalLM, AutoTokenizer",
            "",
            f"model_id = {metadata.model!r}  # a folder with the same weights, or a hub id",
            "tokenizer = AutoTokenizer.from_pretrained(model_id)",
            f"model = AutoModelForCausalLM.from_pretrained(model_id, dtype=torch.{metadata.dtype})",
            f"inputs = {encode}",
            *notes,
            f"output = model.generate(**inputs, {', '.join(options)})",
            "print(tokenizer.decode(output[0, inputs['input_ids'].shape[1]:], skip_special_tokens=True))",
            "",
        ]
    )
