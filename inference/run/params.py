"""How the next token is chosen: the settings, checked when they are made, and their one-line spelling."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from inference.arithmetic.ranges import SHARE, Range

_WHOLE = Range(0, 2**53 - 1)  # what a browser can hold exactly
_TEMPERATURE = Range(1e-4, 1e4, remedy="0 is greedy")  # beyond, float32 logits overflow or all become equal
_TOP_P, _PENALTY, _BIAS = Range(1e-6, 1), Range(0.01, 100), Range(-1e4, 1e4)
_TOKEN_ID = Range(0, math.inf)


@dataclass(frozen=True, slots=True)
class SamplingParams:
    temperature: float = 0.0
    """0 is greedy: the most probable token, no draw."""
    top_k: int = 0
    """Keep the k most probable tokens; 0 keeps all, as does a k above the vocabulary."""
    top_p: float = 1.0
    """Keep the smallest set of tokens whose probability reaches p."""
    min_p: float = 0.0
    """Keep tokens at least this share as probable as the best one."""
    repetition_penalty: float = 1.0
    """Above 1, tokens already in the context become less probable (Keskar et al. 2019)."""
    logit_bias: Mapping[int, float] | None = None
    """Added to the logits of these token ids."""
    seed: int = 0
    temperature_last: bool = False
    """False: temperature before the cuts, as transformers does; True: after them, as llama.cpp does."""

    def __post_init__(self) -> None:
        if self.temperature != 0:
            _TEMPERATURE.number("temperature", self.temperature)
        _WHOLE.whole("top_k", self.top_k)
        _TOP_P.number("top_p", self.top_p)
        SHARE.number("min_p", self.min_p)
        _PENALTY.number("repetition_penalty", self.repetition_penalty)
        _WHOLE.whole("seed", self.seed)
        for token_id, bias in (self.logit_bias or {}).items():
            _TOKEN_ID.whole("a logit_bias token id", token_id)
            _BIAS.number("a logit_bias", bias)
        if not isinstance(self.temperature_last, bool):
            raise ValueError(f"temperature_last must be true or false, got {self.temperature_last!r}")

    @property
    def is_greedy(self) -> bool:
        return self.temperature == 0

    @property
    def order(self) -> tuple[str, ...]:
        """The stages that logits go through, first to last; those whose setting changes nothing are skipped."""
        cuts = ("top-k", "top-p", "min-p")
        rest = (*cuts, "temperature") if self.temperature_last else ("temperature", *cuts)
        return ("logit bias", "repetition penalty", *rest)

    def check_vocabulary(self, vocab_size: int) -> None:
        """Refuse a bias on a token that a model with this vocabulary does not have."""
        for token_id in self.logit_bias or {}:
            if token_id >= vocab_size:
                raise ValueError(
                    f"logit_bias names token {token_id!r:.40}, but the vocabulary ends at {vocab_size - 1}"
                )

    def spelled(self) -> str:
        """The settings that differ from the defaults, as `temperature=0.8,top_k=50`; empty for greedy."""
        default = SamplingParams()
        parts = []
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if value == getattr(default, name) or value == {}:
                continue
            if isinstance(value, Mapping):
                value = ";".join(f"{token_id}:{bias}" for token_id, bias in value.items())
            parts.append(f"{name}={value}")
        return ",".join(parts)

    @classmethod
    def from_spelled(cls, text: str) -> "SamplingParams":
        """Read what `spelled` wrote. Anything else is a ValueError that names the part."""
        values: dict[str, object] = {}
        for part in filter(None, text.split(",")):
            name, _, value = part.partition("=")
            if name not in _READERS:
                raise ValueError(f"no sampling setting is called {name!r}; there are {', '.join(_READERS)}")
            try:
                values[name] = _READERS[name](value)
            except ValueError:
                raise ValueError(f"{name} cannot be {value!r}; give a value like {_EXAMPLES[name]}") from None
        return cls(**values)  # type: ignore[arg-type]  # each reader returns its field's type


def _read_bias(text: str) -> dict[int, float]:
    return {int(token_id): float(bias) for token_id, _, bias in (item.partition(":") for item in text.split(";"))}


def _read_bool(text: str) -> bool:
    if text not in ("True", "False"):
        raise ValueError(text)
    return text == "True"


_READERS: dict[str, Callable[[str], object]] = {
    "temperature": float,
    "top_k": int,
    "top_p": float,
    "min_p": float,
    "repetition_penalty": float,
    "logit_bias": _read_bias,
    "seed": int,
    "temperature_last": _read_bool,
}
_EXAMPLES = {
    "temperature": "0.8",
    "top_k": "50",
    "top_p": "0.9",
    "min_p": "0.05",
    "repetition_penalty": "1.1",
    "logit_bias": "260:5;28:-5",
    "seed": "7",
    "temperature_last": "True",
}
