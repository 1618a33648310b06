"""One token decided many times over by draft and model: is it distributed as the model alone would draw it?

No torch here, so that pages may import it; `draws` draws.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from inference.arithmetic.ranges import Range
from inference.jobs.experiments import Job, Reports
from inference.speculation.draft import LOOK_UP
from inference.speculation.draw_records import SampledDraws
from inference.speculation.jobs import preset_request

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

NUM_DRAWS = 2_000
MOST_DRAWS = 20_000


def draws_job(
    preset: str = "random",
    temperature: float = 1.0,
    *,
    num_draws: int = NUM_DRAWS,
    is_mistaken: bool = False,
    draft: str = LOOK_UP,
    seed: int = 0,
) -> Job[SampledDraws]:
    """The first token for which there is a draft, drawn `num_draws` times."""
    request = replace(preset_request(preset, 1, temperature, draft), seed=seed)

    def begin(engine: "Engine", limits: "Limits") -> Reports[SampledDraws]:
        from inference.speculation.compare import check  # noqa: PLC0415  # pages must not wait for torch
        from inference.speculation.draws import draw_first  # noqa: PLC0415

        Range(1, MOST_DRAWS).whole("Draws", num_draws)
        check(engine, limits, request)
        return draw_first(engine, request, num_draws, is_mistaken=is_mistaken)

    return Job(f"speculative draws: {request!r}, {num_draws}, {is_mistaken}", SampledDraws, begin)
