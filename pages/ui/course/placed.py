"""The experiments a lesson may place, by name, with settings spelled `key=value` after it."""

import inspect
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from pages.ui.experiments.batching.batch_sweep import BatchSweepSettings, batch_sweep
from pages.ui.experiments.batching.batching import BatchingSettings, batching
from pages.ui.experiments.batching.chunked_prefill import ChunkedPrefillSettings, chunked_prefill
from pages.ui.experiments.batching.prefill_batching import PrefillBatchingSettings, prefill_batching
from pages.ui.experiments.disaggregation.fleet import FleetSettings, fleet
from pages.ui.experiments.disaggregation.link import LinkSettings, link
from pages.ui.experiments.disaggregation.two_processes import TwoProcessesSettings, two_processes
from pages.ui.experiments.kv_cache.agreement import AgreementSettings, agreement
from pages.ui.experiments.kv_cache.blocks import BlocksSettings, paged_blocks
from pages.ui.experiments.kv_cache.cache_norms import CacheNormsSettings, cache_norms
from pages.ui.experiments.kv_cache.growth import GrowthSettings, cache_growth
from pages.ui.experiments.kv_cache.kv_formulas import KvFormulasSettings, kv_formulas
from pages.ui.experiments.kv_cache.recompute import RecomputeSettings, with_and_without
from pages.ui.experiments.kv_cache.scores import ScoresSettings, score_matrix
from pages.ui.experiments.latency.diagnosis import DiagnosisSettings, diagnosis
from pages.ui.experiments.latency.goodput import GoodputSettings, goodput_limits
from pages.ui.experiments.latency.load import LoadSettings, load
from pages.ui.experiments.latency.passes import PassesSettings, passes
from pages.ui.experiments.latency.readings import ReadingSettings, tool_readings
from pages.ui.experiments.latency.ttft_itl import TtftItlSettings, ttft_itl
from pages.ui.experiments.latency.waterfall import WaterfallSettings, waterfall
from pages.ui.experiments.planning.layer_clock import LayerClockSettings, layer_clock
from pages.ui.experiments.planning.more_gpus import MoreGpusSettings, more_gpus
from pages.ui.experiments.planning.plan_compare import PlanCompareSettings, plan_compare
from pages.ui.experiments.prefix_caching.chat import ChatSettings, conversation
from pages.ui.experiments.prefix_caching.pair import PairSettings, two_prompts
from pages.ui.experiments.prefix_caching.shared import SharedSettings, shared_prompt
from pages.ui.experiments.prefix_caching.tenants import TenantsSettings, tenants
from pages.ui.experiments.roofline.cores import CoresSettings, more_cores
from pages.ui.experiments.roofline.modules import ModuleSettings, module_times
from pages.ui.experiments.roofline.operators import OperatorSettings, operator_table
from pages.ui.experiments.roofline.roofline import RooflineSettings, roofline
from pages.ui.experiments.sampling.chain import ChainSettings, chain
from pages.ui.experiments.sampling.draws import DrawsSettings, draws
from pages.ui.experiments.sampling.order import OrderSettings, order
from pages.ui.experiments.sampling.structure import StructureSettings, structure
from pages.ui.experiments.speculation.draws import SpeculationDrawsSettings, speculation_draws
from pages.ui.experiments.speculation.sizes import SizesSettings, speculation_sizes
from pages.ui.experiments.speculation.speculation import SpeculationSettings, speculation


@dataclass(frozen=True, slots=True)
class Placeable:
    """One experiment: what draws it, and what it can be told."""

    draw: Callable[..., None]
    """Called as draw(settings, key=..., is_fixed=True)."""
    settings: type[Any]


EXPERIMENTS: Mapping[str, Placeable] = {
    "agreement": Placeable(agreement, AgreementSettings),
    "batch-sweep": Placeable(batch_sweep, BatchSweepSettings),
    "batching": Placeable(batching, BatchingSettings),
    "cache-growth": Placeable(cache_growth, GrowthSettings),
    "cache-norms": Placeable(cache_norms, CacheNormsSettings),
    "chain": Placeable(chain, ChainSettings),
    "chunked-prefill": Placeable(chunked_prefill, ChunkedPrefillSettings),
    "conversation": Placeable(conversation, ChatSettings),
    "diagnosis": Placeable(diagnosis, DiagnosisSettings),
    "draws": Placeable(draws, DrawsSettings),
    "fleet": Placeable(fleet, FleetSettings),
    "four-readings": Placeable(tool_readings, ReadingSettings),
    "goodput-limits": Placeable(goodput_limits, GoodputSettings),
    "kv-formulas": Placeable(kv_formulas, KvFormulasSettings),
    "layer-clock": Placeable(layer_clock, LayerClockSettings),
    "link": Placeable(link, LinkSettings),
    "load": Placeable(load, LoadSettings),
    "module-times": Placeable(module_times, ModuleSettings),
    "more-cores": Placeable(more_cores, CoresSettings),
    "more-gpus": Placeable(more_gpus, MoreGpusSettings),
    "operator-table": Placeable(operator_table, OperatorSettings),
    "order": Placeable(order, OrderSettings),
    "paged-blocks": Placeable(paged_blocks, BlocksSettings),
    "passes": Placeable(passes, PassesSettings),
    "plan-compare": Placeable(plan_compare, PlanCompareSettings),
    "prefill-batching": Placeable(prefill_batching, PrefillBatchingSettings),
    "roofline": Placeable(roofline, RooflineSettings),
    "score-matrix": Placeable(score_matrix, ScoresSettings),
    "shared-prompt": Placeable(shared_prompt, SharedSettings),
    "speculation": Placeable(speculation, SpeculationSettings),
    "speculation-draws": Placeable(speculation_draws, SpeculationDrawsSettings),
    "speculation-sizes": Placeable(speculation_sizes, SizesSettings),
    "structure": Placeable(structure, StructureSettings),
    "tenants": Placeable(tenants, TenantsSettings),
    "ttft-itl": Placeable(ttft_itl, TtftItlSettings),
    "two-processes": Placeable(two_processes, TwoProcessesSettings),
    "two-prompts": Placeable(two_prompts, PairSettings),
    "waterfall": Placeable(waterfall, WaterfallSettings),
    "with-and-without": Placeable(with_and_without, RecomputeSettings),
}


def settings_of(name: str, spelled: str) -> object:
    """The frozen settings that `key=value key="two words"` spells. ValueError names what is wrong."""
    if name not in EXPERIMENTS:
        raise ValueError(f"no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    kind = EXPERIMENTS[name].settings
    types = get_type_hints(kind)
    known = [setting.name for setting in fields(kind)]
    values: dict[str, object] = {}
    for part in shlex.split(spelled):
        key, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{name}: {part!r} is not key=value; quote a value that has spaces")
        if key not in known:
            raise ValueError(f"{name}: no setting {key!r}; there are {', '.join(known)}")
        if key in values:
            raise ValueError(f"{name}: {key!r} is set twice")
        values[key] = value.split(",") if get_origin(types[key]) is tuple else value
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        problems = "; ".join(
            f"{mistake['loc'][0]}: {mistake['msg']}, got {mistake['input']!r}" for mistake in error.errors()
        )
        raise ValueError(f"{name}: {problems}") from error


def draw(name: str, spelled: str, *, number: int = 1) -> None:
    """Draw the experiment with these settings fixed; `number` counts those of this name on the page.

    The first keeps the key it has in its lab, for which the style sheet has reserved its height.
    """
    experiment = EXPERIMENTS[name]
    key = str(inspect.signature(experiment.draw).parameters["key"].default)
    experiment.draw(settings_of(name, spelled), key=key if number == 1 else f"{key}-{number}", is_fixed=True)
