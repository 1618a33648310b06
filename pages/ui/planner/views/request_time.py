"""Where the time of one request goes: by phase, and within a phase by what takes it."""

from inference.arithmetic.units import percent, seconds
from inference.planner import Plan
from inference.planner.parts import parts
from inference.planner.settings import PlanSettings
from pages.charts.planner.request_time import request_time
from pages.ui.parts.live_chart import Table, chart_card


def time_view(plan: Plan, settings: PlanSettings) -> None:
    chart_card(
        lambda: request_time(plan),
        version=plan,
        key="planner-time-chart",
        title="The time of one request",
        caption="estimated; each bar is a whole, from 0 to 100 %",
        alt="Three bars: the request by phase, one prefill and one decode step by what takes the time.",
        table=lambda: _table(plan),
    )


def _table(plan: Plan) -> Table:
    rows = []
    for phase, whole in (("prefill", plan.prefill_s), ("decode", plan.itl_s)):
        for part in parts(plan, phase):  # type: ignore[arg-type]  # the two phases
            hidden = f", {part.hidden} meanwhile" if part.hidden else ""
            rows.append([phase, part.name + hidden, seconds(part.seconds), percent(part.seconds / whole)])
    return Table(["phase", "what takes it", "time, estimated", "share of the pass"], rows)
