"""Everything that makes a run happen again: what the reproducing link, the exported code and the form all hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

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
        pairs = [("prompt", self.prompt), ("max", str(self.max_new_tokens)), ("steps", str(self.num_steps))]
        pairs += [("sampling", self.params.spelled())] if self.params.spelled() else []
        pairs += [("chat", "1")] if self.chat_template else []
        pairs += [("stop", text) for text in self.stop]
        pairs += [("forced", f"{index}:{token_id}") for index, token_id in self.forced.items()]
        pairs += [("change", f"{index}:{params.spelled()}") for index, params in self.changes]
        pairs += [("model", self.model)] if self.model else []
        return urlencode(pairs)


def from_query(query: Mapping[str, list[str]]) -> tuple[Recipe | None, list[str]]:
    """The recipe in a link's parameters, and a sentence for each part that was not understood and left out.

    None where the link carries no prompt.
    """
    problems: list[str] = []

    def read(name: str, parse: type[int], default: int, low: int, high: int) -> int:
        text = query.get(name, [""])[-1]
        if not text:
            return default
        try:
            value = parse(text)
        except ValueError:
            value = low - 1
        if low <= value <= high:
            return value
        problems.append(f"{name} must be a whole number from {low} to {high:,}, got {text[:40]!r}")
        return default

    prompt = query.get("prompt", [""])[-1]
    if not prompt:
        return None, problems
    stop = [text for text in query.get("stop", []) if text]
    if len(stop) > MOST_STOPS or any(len(text) > LONGEST_STOP for text in stop):
        problems.append(f"stop texts are read up to {MOST_STOPS}, of at most {LONGEST_STOP} characters")
    recipe = Recipe(
        prompt=prompt,
        params=_params(query.get("sampling", [""])[-1], problems),
        max_new_tokens=read("max", int, 64, 1, 100_000),
        chat_template=query.get("chat", ["0"])[-1] == "1",
        stop=tuple(text[:LONGEST_STOP] for text in stop[:MOST_STOPS]),
        num_steps=read("steps", int, 0, 0, 100_000),
        forced=dict(_numbered(query.get("forced", []), "forced", problems)),
        changes=tuple(
            (index, _params(text, problems)) for index, text in _split(query.get("change", []), "change", problems)
        ),
        model=query.get("model", [""])[-1][:200],
    )
    return recipe, problems


def _params(text: str, problems: list[str]) -> SamplingParams:
    try:
        return SamplingParams.from_spelled(text)
    except ValueError as error:
        problems.append(f"sampling is left at greedy: {error}")
        return SamplingParams()


def _split(items: list[str], name: str, problems: list[str]) -> list[tuple[int, str]]:
    pairs = []
    if len(items) > MOST_ITEMS:
        problems.append(f"only the first {MOST_ITEMS} of {len(items):,} {name} were read")
    for item in items[:MOST_ITEMS]:
        index, _, rest = item.partition(":")
        if index.isascii() and index.isdigit() and len(index) < 7:
            pairs.append((int(index), rest))
        else:
            problems.append(f"{name} must look like 5:260, got {item[:40]!r}")
    return pairs


def _numbered(items: list[str], name: str, problems: list[str]) -> list[tuple[int, int]]:
    pairs = []
    for index, rest in _split(items, name, problems):
        if rest.isascii() and rest.isdigit() and len(rest) < 8:
            pairs.append((index, int(rest)))
        else:
            problems.append(f"{name} must look like 5:260, got {f'{index}:{rest}'[:40]!r}")
    return pairs


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
