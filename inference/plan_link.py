"""A plan's settings as a link's parameters, and back: whatever a link says is checked, or left at its default."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from inference import catalogue, ranges
from inference.efficiency import ENGINES
from inference.growth import MOST_CONVERSATIONS, MOST_TOKENS
from inference.hardware import Hardware
from inference.own_hardware import own_hardware
from inference.plan_settings import ALL_REDUCE_US, LAYER_US, LINK_GB_S, PRICE, SHARE, PlanSettings, in_full
from inference.ranges import Range, shown
from inference.shape_link import shape_from_query, shape_query

OWN = "own"
BITS, PARTS = Range(0.5, 64, "bits"), Range(1, 4096)
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
_MACHINE: Mapping[str, tuple[str, Range]] = {
    "hw_memory": ("memory_gb", ranges.MEMORY_GB),
    "hw_bandwidth": ("bandwidth_gb_s", ranges.BANDWIDTH_GB_S),
    "hw_tflops": ("tflops_16bit", ranges.TFLOPS),
    "hw_fp8": ("tflops_fp8", ranges.TFLOPS),
    "hw_fp32": ("tflops_fp32", ranges.TFLOPS),
    "hw_link": ("link_gb_s", ranges.LINK_GB_S),
    "hw_tdp": ("tdp_w", ranges.POWER_W),
}
_DEFAULT = PlanSettings()


def to_query(settings: PlanSettings) -> str:
    """The query string that makes this plan again, on any server and after any new fit: nothing is left out."""
    pairs = [("model", OWN if settings.own_model else settings.model)]
    pairs += shape_query(settings.own_model) if settings.own_model else []
    pairs += [("hardware", OWN if settings.own_hardware else settings.hardware)]
    pairs += _machine_query(settings) if settings.own_hardware else []
    pairs += [("engine", settings.engine)]
    explicit = in_full(settings)
    for name, (attribute, _) in {**WHOLE, **NUMBERS}.items():
        if (value := getattr(explicit, attribute)) is not None:
            pairs.append((name, spelled(value)))
    return urlencode(pairs)


def is_plan(query: Mapping[str, str]) -> bool:
    """Whether these parameters ask for a plan at all."""
    return bool({"model", "hardware", "engine", *WHOLE, *NUMBERS} & query.keys())


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
        changed[attribute] = read.whole(name, within, getattr(_DEFAULT, attribute))
    for name, (attribute, within) in NUMBERS.items():
        changed[attribute] = read.number(name, within, getattr(_DEFAULT, attribute))
    if query.get("model") == OWN:
        changed["own_model"] = read.checked("model", lambda: shape_from_query(query))
    if query.get("hardware") == OWN:
        changed["own_hardware"] = read.checked("hardware", lambda: _machine(query))
    return replace(settings, **changed), tuple(read.problems)  # type: ignore[arg-type]  # by attribute


def spelled(value: float) -> str:
    """A number without loss: 16.0 is 16."""
    return str(int(value)) if float(value).is_integer() else repr(value)


def parsed(text: str) -> float:
    """What `spelled` wrote, a whole number as one. ValueError for anything else."""
    if not text.isascii() or len(text) > _LONGEST_NUMBER or "_" in text:
        raise ValueError(text)
    digits = text[1:] if text[:1] == "-" else text
    return int(text) if digits.isdigit() else float(text)


_LONGEST_NUMBER = 30


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

    def number(self, name: str, within: Range, default: float | None) -> float | None:
        return self._read(name, within.number, default)

    def whole(self, name: str, within: Range, default: int) -> float | None:
        return self._read(name, within.whole, default)

    def checked(self, name: str, make: Callable[[], object]) -> object:
        try:
            return make()
        except ValueError as error:
            self.problems.append(f"the {name} of the link cannot be used, the default is taken: {error}")
            return None

    def _read(self, name: str, check: Callable[[str, object], float], default: float | None) -> float | None:
        if name not in self.query:
            return default
        text = self.query[name]
        try:
            value: object = parsed(text)
        except ValueError:
            value = text
        try:
            return check(name, value)
        except ValueError as error:
            kept = "; the default is taken" if default is None else f"; {spelled(default)} is taken"
            self.problems.append(f"{error}{kept}")
            return default


def _machine_query(settings: PlanSettings) -> list[tuple[str, str]]:
    own = settings.own_hardware
    if own is None:
        return []
    peaks = own.peak_flops
    values = {
        "hw_memory": (own.memory_bytes or 0) / 1e9,
        "hw_bandwidth": own.bandwidth / 1e9,
        "hw_tflops": next(
            (peaks[name] / 1e12 for name in ("float16", "bfloat16", "float32") if name in peaks), 0.0
        ),
        "hw_fp8": peaks["float8"] / 1e12 if "float8" in peaks else None,
        "hw_fp32": peaks["float32"] / 1e12 if "float32" in peaks else None,
        "hw_link": own.interconnect_bandwidth / 1e9 if own.interconnect_bandwidth else None,
        "hw_tdp": own.tdp_w,
    }
    pairs = [(name, spelled(value)) for name, value in values.items() if value is not None]
    return [("hw_name", own.name), *pairs]


def _machine(query: Mapping[str, str]) -> Hardware:
    values: dict[str, float] = {}
    for name, (argument, _) in _MACHINE.items():
        if name in query:
            try:
                values[argument] = parsed(query[name])
            except ValueError:
                raise ValueError(f"{name} must be a number, got {shown(query[name])}") from None
    missing = [name for name in ("hw_memory", "hw_bandwidth", "hw_tflops") if name not in query]
    if missing:
        raise ValueError(f"{', '.join(missing)} is missing; an own machine needs memory, bandwidth and a peak")
    made = own_hardware(query.get("hw_name", ""), **values)
    return replace(made, id=OWN)  # its name must not lend it the published rows of a family
