"""Predicted TTFT, ITL, TPS and memory for a model, hardware and a workload. Estimated throughout."""

from dataclasses import dataclass, replace
from typing import Literal

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.roofline import Regime
from inference.arithmetic.spec import ModelSpec
from inference.planner.deployment import (
    Deployment,
    Memory,
    Workload,
    check_split,
    exchange_of,
    memory,
    served,
    share_out,
)
from inference.planner.efficiency import AT_BEST, Efficiency, efficiency
from inference.planner.pass_time import Exchange, PassTime, decode_pass, prefill_pass

Phase = Literal["prefill", "decode"]
_PLAIN = Deployment()


@dataclass(frozen=True, slots=True)
class Plan:
    """What to expect. Seconds; tokens per second."""

    spec: ModelSpec
    hardware: Hardware
    workload: Workload
    deployment: Deployment
    efficiency: Efficiency
    prefill: PassTime
    """Of one prompt alone."""
    decode: PassTime
    """Of one step of all conversations of a replica, halfway through their answers."""
    batch_size: int
    """Conversations in one step: those of a replica, shared out over its pipeline's stages."""
    memory: Memory
    hop_s: float
    """What the hops between pipeline stages add to every pass."""

    @property
    def prefill_s(self) -> float:
        """One prompt through all layers, nobody else in the way."""
        return self.prefill.total_s + self.hop_s

    @property
    def itl_s(self) -> float:
        """One decode step: the gap between two tokens while no prompt comes in between."""
        return self.decode.total_s + self.hop_s

    @property
    def ttft_s(self) -> float:
        """Prefill, after half of the step that is under way when others are served. No queue of other prompts."""
        wait = self.itl_s / 2 if self.per_replica > 1 else 0.0
        return wait + self.prefill_s

    @property
    def burst_ttft_s(self) -> float:
        """TTFT of the last one when all conversations of a replica start at once, their prompts one by one."""
        return self.prefill_s + (self.per_replica - 1) * self.prompt_s

    @property
    def tpot_s(self) -> float:
        """Mean gap between tokens: a step, and the prompts of the others that come in between."""
        steps = self.workload.output_tokens - 1
        others = (self.per_replica - 1) * self.prompt_s
        return self.itl_s + (others / steps if steps else 0.0)

    @property
    def e2e_s(self) -> float:
        """From the request to its last token: TTFT + (N - 1) x TPOT."""
        return self.ttft_s + (self.workload.output_tokens - 1) * self.tpot_s

    @property
    def tps_per_user(self) -> float:
        """Tokens a reader sees per second once the answer runs: 1 / TPOT."""
        return 1 / self.tpot_s

    @property
    def tps_total(self) -> float:
        """Output tokens per second of all replicas together, each at its own pace and never idle."""
        most, replicas = self.per_replica, self.deployment.replicas
        num_lighter = most * replicas - self.workload.concurrency
        rate = (replicas - num_lighter) * most / self.round_s
        if most > 1 and num_lighter:
            size = share_out(most - 1, self.deployment.pipeline_parallel)
            step_s = self.step_s(context_len=self.workload.middle_context, batch_size=size)
            rate += num_lighter * (most - 1) / self._round_s(most - 1, step_s)
        return rate * self.workload.output_tokens

    @property
    def prefill_tps(self) -> float:
        """Prompt tokens per second of the whole deployment while it does nothing but prefill."""
        busy = min(self.deployment.replicas, self.workload.concurrency)
        return busy * self.workload.prompt_tokens / self.prompt_s

    @property
    def prefill_share(self) -> float:
        """Of the accelerators' time. Above a half the work is prefill-heavy."""
        return self.per_replica * self.prompt_s / self.round_s

    @property
    def round_s(self) -> float:
        """Time in which the busiest replica serves all its conversations once: all prompts, then all steps."""
        return self._round_s(self.per_replica, self.itl_s)

    @property
    def regimes(self) -> dict[Phase, Regime]:
        """Which limit sets the pace of each phase."""
        return {"prefill": self.prefill.regime, "decode": self.decode.regime}

    @property
    def per_replica(self) -> int:
        """Conversations of the busiest replica."""
        return share_out(self.workload.concurrency, self.deployment.replicas)

    @property
    def prompt_s(self) -> float:
        """What one prompt takes from the others: stages of a pipeline work on different prompts."""
        return self.prefill_s / min(self.deployment.pipeline_parallel, self.per_replica)

    @property
    def exchange(self) -> Exchange:
        """What tensor parallelism adds to its passes."""
        return exchange_of(self.hardware, self.deployment)

    def step_s(self, *, context_len: int, batch_size: int, num_query_tokens: int = 1) -> float:
        """A decode pass of this deployment at another length, batch or number of tokens per sequence."""
        step = decode_pass(
            self.spec,
            self.hardware,
            self.efficiency,
            self.exchange,
            context_len=context_len,
            batch_size=batch_size,
            ways=self.deployment.tensor_parallel,
            num_query_tokens=num_query_tokens,
        )
        return step.total_s + self.hop_s

    def _round_s(self, conversations: int, step_s: float) -> float:
        prompts_s = conversations * self.prefill_s / min(self.deployment.pipeline_parallel, conversations)
        return prompts_s + (self.workload.output_tokens - 1) * step_s


def plan(spec: ModelSpec, hardware: Hardware, workload: Workload, deployment: Deployment = _PLAIN) -> Plan:
    """Predict a deployment. What does not fit is predicted all the same; `memory` says so.

    A context beyond the model's own, a split that does not divide it and hardware without a peak are refused.
    """
    spec, length = served(spec, deployment), workload.full_context
    if length > spec.max_context:
        raise ValueError(
            f"{workload.prompt_tokens:,} tokens in and {workload.output_tokens:,} out are {length:,}; "
            f"{spec.name} takes {spec.max_context:,}. Shorten the prompt or the answer"
        )
    check_split(spec, deployment)
    ways, stages = deployment.tensor_parallel, deployment.pipeline_parallel
    rates = deployment.efficiency or efficiency(deployment.engine, hardware)
    exchange = exchange_of(hardware, deployment)
    per_replica = share_out(workload.concurrency, deployment.replicas)
    batch_size = share_out(per_replica, stages)
    return Plan(
        spec=spec,
        hardware=hardware,
        workload=workload,
        deployment=deployment,
        efficiency=rates,
        prefill=prefill_pass(spec, hardware, rates, exchange, num_tokens=workload.prompt_tokens, ways=ways),
        decode=decode_pass(
            spec,
            hardware,
            rates,
            exchange,
            context_len=workload.middle_context,
            batch_size=batch_size,
            ways=ways,
        ),
        batch_size=batch_size,
        memory=memory(spec, hardware, workload, deployment),
        hop_s=(stages - 1) * exchange.all_reduce_s,
    )


def at_best(planned: Plan) -> Plan:
    """The same at full peak and bandwidth, without the layers' clock; exchanges stay. No engine gets under it."""
    ideal = replace(planned.deployment, efficiency=AT_BEST)
    return plan(planned.spec, planned.hardware, planned.workload, ideal)
