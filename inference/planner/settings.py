"""All that a plan is asked with: what the form of the planner holds, its link carries and its export lists."""

from dataclasses import dataclass, replace

from inference import catalogue
from inference.arithmetic.hardware import Hardware
from inference.arithmetic.ranges import Range
from inference.arithmetic.spec import ModelSpec
from inference.planner.deployment import Deployment, Workload, exchange_of
from inference.planner.efficiency import Efficiency, efficiency
from inference.planner.plan import Plan, plan

MICRO, GIGA = 1e-6, 1e9
PRICE = Range(0, 10_000, "of your currency an hour")
SHARE = Range(0.01, 1)
LAYER_US = Range(0, 1_000_000, "microseconds")
ALL_REDUCE_US = Range(0, 1_000_000, "microseconds")
LINK_GB_S = Range(0.001, 100_000, "GB/s")


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """One plan. The model and the machine are rows of the catalogue, or a learner's own."""

    model: str = "llama-3.1-8b"
    """Id of a catalogue model; of no account with `own_model`."""
    hardware: str = "h100-sxm-80gb"
    """Id of a catalogue machine; of no account with `own_hardware`."""
    prompt_tokens: int = 2048
    output_tokens: int = 500
    concurrency: int = 1
    weight_bits: float = 16
    kv_bits: float = 16
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    replicas: int = 1
    engine: str = "serving"
    bandwidth_share: float | None = None
    """None, here and below: what was fitted or assumed for this engine and hardware."""
    flops_share: float | None = None
    attention_share: float | None = None
    layer_us: float | None = None
    """c, microseconds per layer and pass."""
    is_overlapped: bool | None = None
    """Whether the layers' clock runs beside the work."""
    all_reduce_us: float | None = None
    link_gb_s: float | None = None
    """In one direction."""
    price: float | None = None
    """Per accelerator and hour, in any currency; None where it is not known."""
    own_model: ModelSpec | None = None
    own_hardware: Hardware | None = None
    measured: Efficiency | None = None
    """What stands in for the fitted values where the machine's own were measured."""

    @property
    def spec(self) -> ModelSpec:
        return self.own_model or catalogue.models()[self.model]

    @property
    def machine(self) -> Hardware:
        return self.own_hardware or catalogue.hardware()[self.hardware]


def defaults(settings: PlanSettings) -> Efficiency:
    """The values of this engine on this hardware before anybody changes them."""
    return settings.measured or efficiency(settings.engine, settings.machine)


def rates(settings: PlanSettings) -> Efficiency:
    """Those in force. ValueError names the one that is out of range."""
    fitted = defaults(settings)
    typed = {name: getattr(settings, name) for name in ("bandwidth_share", "flops_share", "attention_share")}
    shares = {name: SHARE.number(name, share) for name, share in typed.items() if share is not None}
    return replace(
        fitted,
        **shares,  # type: ignore[arg-type]  # by name
        layer_s=_scaled("layer_us", settings.layer_us, LAYER_US, MICRO, fitted.layer_s),
        is_overlapped=fitted.is_overlapped if settings.is_overlapped is None else settings.is_overlapped,
    )


def deployment(settings: PlanSettings) -> Deployment:
    """How it is served, everything said: nothing is left to a default. ValueError names what is out of range."""
    plain = Deployment(
        weight_bits=settings.weight_bits,
        kv_bits=settings.kv_bits,
        tensor_parallel=settings.tensor_parallel,
        engine=settings.engine,
        pipeline_parallel=settings.pipeline_parallel,
        replicas=settings.replicas,
        efficiency=rates(settings),
    )
    usual = exchange_of(settings.machine, plain)
    return replace(
        plain,
        all_reduce_s=_scaled("all_reduce_us", settings.all_reduce_us, ALL_REDUCE_US, MICRO, usual.all_reduce_s),
        link_bandwidth=usual.link_bandwidth
        if settings.link_gb_s is None
        else _scaled("link_gb_s", settings.link_gb_s, LINK_GB_S, GIGA, usual.link_bandwidth or 0.0),
    )


def in_full(settings: PlanSettings) -> PlanSettings:
    """The same with every default written out, in the units of the form and the link. What was typed stays."""
    used, served = rates(settings), deployment(settings)
    latency, link = served.all_reduce_s, served.link_bandwidth
    usual = {
        "bandwidth_share": used.bandwidth_share,
        "flops_share": used.flops_share,
        "attention_share": used.attention_share,
        "layer_us": _in(MICRO, used.layer_s),
        "is_overlapped": used.is_overlapped,
        "all_reduce_us": None if latency is None else _in(MICRO, latency),
        "link_gb_s": None if link is None else _in(GIGA, link),
    }
    missing = {name: value for name, value in usual.items() if getattr(settings, name) is None}
    return replace(settings, **missing)  # type: ignore[arg-type]  # by name


def _scaled(name: str, value: float | None, within: Range, unit: float, default: float) -> float:
    """A typed number in seconds or bytes/s; the default, to its last bit, where it is what was typed."""
    if value is None or value == _in(unit, default):
        return default
    return within.number(name, value) * unit


def _in(unit: float, value: float) -> float:
    """Seconds in microseconds, bytes in GB: whichever of the two operations is exact more often."""
    return value * round(1 / unit) if unit < 1 else value / unit


def make(settings: PlanSettings) -> Plan:
    """The plan. Every `ValueError` names the value, the rule and the remedy."""
    if settings.price is not None:
        PRICE.number("price", settings.price)
    work = Workload(settings.prompt_tokens, settings.output_tokens, settings.concurrency)
    return plan(settings.spec, settings.machine, work, deployment(settings))
