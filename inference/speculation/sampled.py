"""One token decided many times over by draft and model: is it distributed as the model alone would draw it?

No torch here, so that pages may import it; `speculative_draws` draws.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inference.arithmetic.ranges import Range
from inference.jobs.experiments import Job, Work
from inference.sampling_lab.records import ChiSquare
from inference.speculation.draft import LOOK_UP
from inference.speculation.jobs import preset_request
from inference.speculation.records import Request

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

NUM_DRAWS = 2_000
MOST_DRAWS = 20_000


@dataclass(frozen=True, slots=True)
class Bin:
    """A token, or all those together that are expected too seldom."""

    token_id: int | None
    num_tokens: int
    count: int
    expected: float
    """Under the model's own distribution."""


@dataclass(frozen=True, slots=True)
class SampledDraws:
    request: Request
    context: str
    """The end of the text behind which the token stands."""
    drafted_id: int | None
    """None where the draft itself draws, another token each time."""
    num_draws: int
    num_accepted: int
    expected_acceptance: float
    """The sum of min(p, q) over the vocabulary."""
    is_mistaken: bool
    """True if rejected drafts were replaced from p, not from what the draft left over."""
    bins: tuple[Bin, ...]
    test: ChiSquare | None
    """None where nearly all the chance is one token's."""


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

    def begin(engine: "Engine", limits: "Limits") -> Work[SampledDraws]:
        from inference.speculation.compare import check  # noqa: PLC0415  # pages must not wait for torch
        from inference.speculation.draws import draw_first  # noqa: PLC0415

        Range(1, MOST_DRAWS).whole("Draws", num_draws)
        check(engine, limits, request)
        return draw_first(engine, request, num_draws, is_mistaken=is_mistaken)

    return Job(f"speculative draws: {request!r}, {num_draws}, {is_mistaken}", SampledDraws, begin)
