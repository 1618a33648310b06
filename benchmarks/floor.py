"""How far passes are from this machine's roofs, which are measured in the same run, a piece between two passes."""

import statistics

from benchmarks.measurement import Measurement
from benchmarks.models import default_engine
from inference.arithmetic.roofline import Ceilings
from inference.cost import forward_work
from inference.engine import Engine
from inference.jobs.drive import Drive
from inference.machine.ceilings import measure

_CONTEXT = 512
_PREFILL_EVERY = 6  # a prefill takes ten times as long as a decode


def run() -> list[Measurement]:
    engine = default_engine()
    decode_s, prefill_s, ceilings = _interleaved(engine)
    decode = forward_work(engine.spec, num_query_tokens=1, context_len=_CONTEXT + 1)
    prefill = forward_work(engine.spec, num_query_tokens=_CONTEXT, context_len=_CONTEXT)
    read_s = (decode.weight_bytes + decode.kv_read_bytes) / ceilings.bandwidth
    compute_s = prefill.flops / ceilings.flops
    measured = {
        "bandwidth_bytes_per_s": ceilings.bandwidth,
        "flops_per_s": ceilings.flops,
        "overhead_s": ceilings.overhead_s,
    }
    return [
        Measurement(
            f"decode at {_CONTEXT} tokens / its read floor",
            statistics.median(decode_s) / read_s,
            detail={"decode_s": statistics.median(decode_s), "floor_s": read_s, **measured},
        ),
        Measurement(
            f"prefill of {_CONTEXT} tokens / its FLOP floor",
            statistics.median(prefill_s) / compute_s,
            detail={"prefill_s": statistics.median(prefill_s), "floor_s": compute_s, **measured},
        ),
    ]


def _interleaved(engine: Engine) -> tuple[list[float], list[float], Ceilings]:
    """The roofs are also kept for the app, as its own button "Measure again" would do."""
    prompt = [1] * _CONTEXT
    cache = engine.new_cache()
    engine.forward(prompt, cache)
    decode_s: list[float] = []
    prefill_s: list[float] = []
    drive = Drive(measure(engine))
    for _ in drive:
        decode_s.append(engine.forward([1], cache).forward_s)
        cache.crop(-1)
        if len(decode_s) % _PREFILL_EVERY == 0:
            prefill_s.append(engine.forward(prompt, engine.new_cache()).forward_s)
    return decode_s, prefill_s, drive.result
