"""A model's shape as a link's parameters, and back: the numbers a plan needs, and nothing else of its file."""

from collections.abc import Callable, Mapping
from dataclasses import astuple
from functools import partial
from itertools import groupby

from inference.arithmetic import ranges
from inference.arithmetic.ranges import Range, shown
from inference.arithmetic.spec import Mla, ModelSpec, Moe
from inference.planner.own.hardware import EXPERTS, LONGEST_NAME, SHAPE, checked_name
from inference.run.link import Parameter, read, written

_MLA = (Range(0, ranges.WIDTH.high), *(ranges.HEAD_WIDTH,) * 4)  # a query rank of 0: not compressed


def shape_query(spec: ModelSpec) -> list[tuple[str, str]]:
    """Name, numbers, and the windows, the latent attention and the experts where it has them."""
    return [("name", spec.name[:LONGEST_NAME]), *written(_PARAMETERS, partial(getattr, spec))]


def shape_from_query(query: Mapping[str, str]) -> ModelSpec:
    """What `shape_query` wrote. A `ValueError` names what is missing, no number or out of range."""
    name = checked_name(query.get("name", ""))
    shape = read(_PARAMETERS, query)
    layers, windows = shape["num_layers"], shape.pop("layer_windows", None)
    layer_windows = (None,) * layers if windows is None else _windows(windows, layers)
    return ModelSpec(id=name, name=name, layer_windows=layer_windows, source="from a link", **shape)


def _digits(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else text


def _whole(name: str, attribute: str, within: Range) -> Parameter:
    return Parameter(name, attribute, lambda text: within.whole(name, _digits(text)), is_needed=True)


def _flag(name: str, attribute: str) -> Parameter:
    whole = _whole(name, attribute, Range(0, 1)).read
    return Parameter(name, attribute, lambda text: bool(whole(text)), lambda flag: str(int(flag)), is_needed=True)


def _row(name: str, limits: tuple[Range, ...], make: Callable[..., object]) -> Parameter:
    """Whole numbers with hyphens between, for a record of as many fields; None is 0."""

    def record(text: str) -> object:
        numbers = text.split("-", len(limits))
        if len(numbers) != len(limits):
            raise ValueError(f"{name} must be {len(limits)} whole numbers with hyphens between, got {shown(text)}")
        return make(*(within.whole(name, _digits(digits)) for digits, within in zip(numbers, limits, strict=True)))

    return Parameter(name, name, record, lambda record: "-".join(str(number or 0) for number in astuple(record)))


def _runs(layer_windows: tuple[int | None, ...]) -> str:
    """`1024x5-0x1` is five layers with a window of 1,024, then one that keeps everything; empty without windows."""
    runs = ((window or 0, len(list(layers))) for window, layers in groupby(layer_windows))
    return "-".join(f"{window}x{count}" for window, count in runs) if any(layer_windows) else ""


def _windows(runs: str, num_layers: int) -> tuple[int | None, ...]:
    windows: list[int | None] = []
    for part in runs.split("-", num_layers):
        window, _, count = part.partition("x")
        size = Range(0, ranges.CONTEXT.high).whole("windows", _digits(window))
        windows += [size or None] * ranges.LAYERS.whole("windows", _digits(count))
    return tuple(windows)


_NAMES = {
    "layers": "num_layers",
    "hidden": "hidden_size",
    "inner": "intermediate_size",
    "heads": "num_query_heads",
    "kv_heads": "num_kv_heads",
    "head_dim": "head_dim",
    "vocab": "vocab_size",
    "context": "max_context",
}
_PARAMETERS = (
    *(_whole(name, attribute, SHAPE[attribute]) for name, attribute in _NAMES.items()),
    _whole("params", "total_params", Range(1, 10**15)),
    _flag("tied", "is_tied"),
    _flag("gated", "is_mlp_gated"),
    Parameter("windows", "layer_windows", str, _runs),  # read once the number of layers is known
    _row("mla", _MLA, lambda rank, *widths: Mla(rank or None, *widths)),
    _row("moe", tuple(EXPERTS.values()), Moe),
)
