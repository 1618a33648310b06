"""This machine's roofs, measured: read bandwidth, matmul rate, and what a pass costs before any arithmetic."""

import datetime
import logging
from collections.abc import Callable, Generator
from pathlib import Path

import torch
from pydantic import TypeAdapter, ValidationError

from inference import APP_VERSION
from inference.arithmetic.roofline import MULTIPLY, OVERHEAD, READ, Ceilings, Spread
from inference.arithmetic.units import scaled
from inference.device import device_name
from inference.engine import Engine
from inference.files.cache_folder import cache_folder, write_whole
from inference.jobs.bounded import Budget, Climb, TimedSize, part
from inference.jobs.drive import drained
from inference.machine import roof_parts
from inference.machine.elementwise import seconds_per_value, values

log = logging.getLogger(__name__)
_CEILINGS = TypeAdapter(Ceilings)
_PARTS: tuple[tuple[Callable[[Engine, Budget], Generator[float, None, Climb]], float], ...] = (
    (roof_parts.bandwidth, 4.0),
    (roof_parts.products, 3.0),
    (roof_parts.overhead, 2.0),
    (values, 3.0),
    (roof_parts.attention, 2.0),
    (roof_parts.ladder, 8.0),
)
"""What is measured, each with its budget in seconds."""
_SLOW = 4
"""A dtype this many times slower than float32 has no arithmetic of its own: it is widened number by number."""


def measure(engine: Engine) -> Generator[float, None, Ceilings]:
    """Yields the fraction done after every short piece of work; returns the roofs and keeps them on disk."""
    climbs: list[Climb] = []
    for place, (work, budget_s) in enumerate(_PARTS):
        climbs.append((yield from part(work(engine, Budget(budget_s)), place, len(_PARTS))))
    reading, products, overhead, elementwise, attention, ladder = climbs
    read, product, twin = reading.timed[-1], min(products.timed, key=_seconds_per_work), overhead.timed[-1]
    attended = attention.timed[-1]
    ceilings = Ceilings(
        device=device_name(engine.device),
        dtype=_name(engine),
        bandwidth=read.work / read.best_s,
        flops=product.work / product.best_s,
        overhead_s=twin.best_s,
        measured_on=datetime.date.today().isoformat(),
        threads=torch.get_num_threads(),
        matmul_ladder=tuple(
            (num_tokens, num_tokens * _seconds_per_work(rung))
            for num_tokens, rung in zip(roof_parts.LADDER, ladder.timed, strict=False)
        ),
        attention_flops=attended.work / attended.best_s,
        elementwise_s=seconds_per_value(elementwise),
        spreads=(_rates(READ, read), _rates(MULTIPLY, product), Spread(OVERHEAD, *twin.quartiles_s)),
        left_out=(*_slow(engine, products, product), *_left_out(climbs)),
    )
    remember(engine, ceilings)
    return ceilings


def _seconds_per_work(timed: TimedSize) -> float:
    return timed.best_s / timed.work


def _rates(roof: str, timed: TimedSize) -> Spread:
    shortest_s, median_s, longest_s = timed.quartiles_s
    return Spread(roof, timed.work / longest_s, timed.work / median_s, timed.work / shortest_s)


def _slow(engine: Engine, products: Climb, product: TimedSize) -> tuple[str, ...]:
    """The sentence on a dtype whose larger products were too long, if float32 would have been far faster."""
    if engine.dtype == torch.float32 or not products.left_out:
        return ()
    *_, same = drained(roof_parts.float32_product(engine, product.work, Budget(1.0)))[0].timed
    if product.best_s < _SLOW * same.best_s:
        return ()
    rates = [scaled(size.work / size.best_s, "FLOP/s") for size in (product, same)]
    return (f"{_name(engine)} has no fast arithmetic here: {rates[0]}, where float32 reaches {rates[1]}.",)


def _left_out(climbs: list[Climb]) -> tuple[str, ...]:
    missing = [climb.left_out for climb in climbs if climb.left_out]
    return (f"Not measured, nor anything larger: {'; '.join(missing)}.",) if missing else ()


def _name(engine: Engine) -> str:
    return str(engine.dtype).removeprefix("torch.")


def remember(engine: Engine, ceilings: Ceilings) -> None:
    """Keep the roofs of this machine on disk, if it can be written."""
    try:
        write_whole(_path(engine), _CEILINGS.dump_json(ceilings))
    except OSError as error:
        log.warning("The measured roofs cannot be kept (%s); they are measured again at the next start", error)


def remembered(engine: Engine) -> Ceilings | None:
    """The roofs measured earlier on this machine for this device, dtype, thread count and depth; None if never."""
    try:
        ceilings = _CEILINGS.validate_json(_path(engine).read_bytes())
    except (OSError, ValidationError):
        return None
    return ceilings if ceilings.spreads else None  # written before they were kept: nobody knows how busy it was


def _path(engine: Engine) -> Path:
    kind = "".join(char if char.isalnum() else "-" for char in device_name(engine.device))
    depth = f"{type(engine.model).__name__}-{engine.spec.num_layers}"
    name = f"{APP_VERSION}-{kind}-{_name(engine)}-{torch.get_num_threads()}-{torch.__version__}-{depth}.json"
    return cache_folder() / "ceilings" / name
