"""A plan's settings as a link's parameters, and back: whatever a link says is checked, or left at its default."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar
from urllib.parse import urlencode

from inference import catalogue
from inference.arithmetic.ranges import Range, shown
from inference.kv_cache.growth import MOST_CONVERSATIONS, MOST_TOKENS
from inference.planner.deployment import BITS, MOST_PARTS
from inference.planner.efficiency import ENGINES
from inference.planner.own.machine_link import OWN, machine_from_query, machine_query, parsed, spelled
from inference.planner.own.shape_link import shape_from_query, shape_query
from inference.planner.settings import ALL_REDUCE_US, LAYER_US, LINK_GB_S, PRICE, SHARE, PlanSettings, in_full

T = TypeVar("T")
PARTS = Range(1, MOST_PARTS)
WHOLE: Mapping[str, tuple[str, Range]] = {
    "in": ("prompt_tokens", Range(1, MOST_TOKENS)),
    "out": ("output_tokens", Range(1, MOST_TOKENS)),
    "users": ("concurrency", Range(1, MOST_CONVERSATIONS)),
    "tp": ("tensor_parallel", PARTS),
    "pp": ("pipeline_parallel", PARTS),
    "replicas": ("replicas", PARTS),
}
NUMBERS: Mapping[str, tuple[str, Range]] = {
    "weights": ("weight_bits", BITS),
    "cache": ("kv_bits", BITS),
    "e": ("bandwidth_share", SHARE),
    "flops": ("flops_share", SHARE),
    "attention": ("attention_share", SHARE),
    "c_us": ("layer_us", LAYER_US),
    "latency_us": ("all_reduce_us", ALL_REDUCE_US),
    "link": ("link_gb_s", LINK_GB_S),
    "price": ("price", PRICE),
}
_DEFAULT = PlanSettings()


def to_query(settings: PlanSettings) -> str:
    """The query string that makes this plan again, on any server and after any new fit: nothing is left out."""
    pairs = [("model", OWN if settings.own_model else settings.model)]
    pairs += shape_query(settings.own_model) if settings.own_model else []
    pairs += [("hardware", OWN if settings.own_hardware else settings.hardware)]
    pairs += machine_query(settings.own_hardware, settings.measured) if settings.own_hardware else []
    pairs += [("engine", settings.engine)]
    explicit = in_full(settings)
    for name, (attribute, _) in {**WHOLE, **NUMBERS}.items():
        if (value := getattr(explicit, attribute)) is not None:
            pairs.append((name, spelled(value)))
    return urlencode([*pairs, ("overlap", str(int(bool(explicit.is_overlapped))))])


def is_plan(query: Mapping[str, str]) -> bool:
    """Whether these parameters ask for a plan at all."""
    return "prompt" not in query and bool({"model", "hardware", "engine", *WHOLE, *NUMBERS} & query.keys())


def from_query(query: Mapping[str, str]) -> tuple[PlanSettings, tuple[str, ...]]:
    """The settings, and a sentence for each part that could not be used and was left at its default."""
    read = _Reader(query)
    settings = PlanSettings(
        model=read.one_of("model", catalogue.models(), _DEFAULT.model),
        hardware=read.one_of("hardware", catalogue.hardware(), _DEFAULT.hardware),
        engine=read.one_of("engine", dict.fromkeys(ENGINES), _DEFAULT.engine),
    )
    changed: dict[str, object] = {}
    for name, (attribute, within) in WHOLE.items():
        changed[attribute] = read.whole(name, attribute, within, getattr(_DEFAULT, attribute))
    for name, (attribute, within) in NUMBERS.items():
        changed[attribute] = read.number(name, attribute, within, getattr(_DEFAULT, attribute))
    overlap = read.whole("overlap", "is_overlapped", Range(0, 1), None)
    changed["is_overlapped"] = None if overlap is None else bool(overlap)
    if query.get("model") == OWN:
        changed["own_model"] = read.checked("model", lambda: shape_from_query(query))
    if query.get("hardware") == OWN:
        found = read.checked("hardware", lambda: machine_from_query(query))
        changed["own_hardware"], changed["measured"] = found or (None, None)
    return replace(settings, **changed), tuple(read.problems)  # type: ignore[arg-type]  # by attribute


@dataclass(slots=True)
class _Reader:
    """Reads parameters one by one and collects what is wrong with them."""

    query: Mapping[str, str]
    problems: list[str] = field(default_factory=list)

    def one_of(self, name: str, known: Mapping[str, object], default: str) -> str:
        value = self.query.get(name, default)
        if value in known or (value == OWN and name != "engine"):
            return value if value in known else default
        self.problems.append(f"{name} {shown(value)} of the link is not known here; {default} is taken")
        return default

    def number(self, name: str, of: str, within: Range, default: float | None) -> float | None:
        return self._read(name, of, within.number, default)

    def whole(self, name: str, of: str, within: Range, default: int | None) -> float | None:
        return self._read(name, of, within.whole, default)

    def checked(self, name: str, make: Callable[[], T]) -> T | None:
        try:
            return make()
        except ValueError as error:
            self.problems.append(f"the {name} of the link cannot be used, the default is taken: {error}")
            return None

    def _read(
        self, name: str, of: str, check: Callable[[str, object], float], default: float | None
    ) -> float | None:
        """The parameter `name` as the setting `of`."""
        if name not in self.query:
            return default
        text = self.query[name]
        try:
            value: object = parsed(text)
        except ValueError:
            value = text
        try:
            return check(of, value)
        except ValueError as error:
            kept = "; the default is taken" if default is None else f"; {spelled(default)} is taken"
            self.problems.append(f"{error}{kept}")
            return default
