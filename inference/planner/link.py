"""A plan's settings as a link's parameters, and back: whatever a link says is checked, or left at its default."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar
from urllib.parse import urlencode

from inference import catalogue
from inference.arithmetic.ranges import Range, shown
from inference.kv_cache.growth import MOST_CONVERSATIONS, MOST_TOKENS
from inference.planner.deployment import BITS, MOST_PARTS
from inference.planner.efficiency import ENGINES
from inference.planner.own.machine_link import OWN, machine_from_query, machine_query
from inference.planner.own.shape_link import shape_from_query, shape_query
from inference.planner.settings import ALL_REDUCE_US, LAYER_US, LINK_GB_S, PRICE, SHARE, PlanSettings, in_full
from inference.run.link import Parameter, number, read, spelled, written

T = TypeVar("T")
_DEFAULT = PlanSettings()


def _one_of(name: str, known: Callable[[], Collection[str]], own: str | None = None) -> Parameter:
    """An id; `own` stands for what the link describes by numbers."""

    def known_id(text: str) -> str:
        if text == own:
            return str(getattr(_DEFAULT, name))
        if text not in known():
            raise ValueError(f"{name} {shown(text)} of the link is not known here")
        return text

    return Parameter(name, name, known_id)


_MODEL = _one_of("model", catalogue.models, OWN)
_HARDWARE = _one_of("hardware", catalogue.hardware, OWN)
_PARTS = Range(1, MOST_PARTS)
_OVERLAP = number("overlap", "is_overlapped", Range(0, 1).whole)
_REST = (
    _one_of("engine", lambda: ENGINES),
    number("in", "prompt_tokens", Range(1, MOST_TOKENS).whole),
    number("out", "output_tokens", Range(1, MOST_TOKENS).whole),
    number("users", "concurrency", Range(1, MOST_CONVERSATIONS).whole),
    number("tp", "tensor_parallel", _PARTS.whole),
    number("pp", "pipeline_parallel", _PARTS.whole),
    number("replicas", "replicas", _PARTS.whole),
    number("weights", "weight_bits", BITS.number),
    number("cache", "kv_bits", BITS.number),
    number("e", "bandwidth_share", SHARE.number),
    number("flops", "flops_share", SHARE.number),
    number("attention", "attention_share", SHARE.number),
    number("c_us", "layer_us", LAYER_US.number),
    number("latency_us", "all_reduce_us", ALL_REDUCE_US.number),
    number("link", "link_gb_s", LINK_GB_S.number),
    number("price", "price", PRICE.number),
    replace(_OVERLAP, read=lambda text: bool(_OVERLAP.read(text))),
)


def to_query(settings: PlanSettings) -> str:
    """The query string that makes this plan again, on any server and after any new fit: nothing is left out."""
    model, machine = settings.own_model, settings.own_hardware
    named = partial(getattr, in_full(settings))
    return urlencode(
        [
            *([("model", OWN), *shape_query(model)] if model else written([_MODEL], named)),
            *(
                [("hardware", OWN), *machine_query(machine, settings.measured)]
                if machine
                else written([_HARDWARE], named)
            ),
            *written(_REST, named),
        ]
    )


def is_plan(query: Mapping[str, str]) -> bool:
    """Whether these parameters ask for a plan at all."""
    return "prompt" not in query and any(parameter.name in query for parameter in (_MODEL, _HARDWARE, *_REST))


def from_query(query: Mapping[str, str]) -> tuple[PlanSettings, tuple[str, ...]]:
    """The settings, and a sentence for each part that could not be used and was left at its default."""
    problems: list[str] = []

    def refuse(parameter: Parameter, error: ValueError) -> None:
        default = getattr(_DEFAULT, parameter.attribute)
        kept = "the default" if default is None else default if isinstance(default, str) else spelled(default)
        problems.append(f"{error}; {kept} is taken")

    def described(name: str, make: Callable[[Mapping[str, str]], T]) -> T | None:
        try:
            return make(query) if query.get(name) == OWN else None
        except ValueError as error:
            problems.append(f"the {name} of the link cannot be used, the default is taken: {error}")
            return None

    settings = PlanSettings(**read((_MODEL, _HARDWARE, *_REST), query, refuse))
    model = described("model", shape_from_query)
    machine, measured = described("hardware", machine_from_query) or (None, None)
    return replace(settings, own_model=model, own_hardware=machine, measured=measured), tuple(problems)
