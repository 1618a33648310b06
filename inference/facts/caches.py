"""Facts of published models: their shapes, caches, and where the cache outgrows the weights. 16 bits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from inference.arithmetic.spec import ModelSpec
from inference.catalogue import models
from inference.cost import kv_bytes, kv_bytes_per_token
from inference.facts.fact import Fact
from inference.kv_cache.formulas import window_factor
from inference.kv_cache.growth import outweighing_batch
from inference.kv_cache.scores import Scores

MODELS = {
    "smollm2_1700m": "smollm2-1.7b",
    "llama2_7b": "llama-2-7b",
    "8b": "llama-3.1-8b",
    "70b": "llama-3.1-70b",
    "mixtral": "mixtral-8x7b",
    "qwen3_30b": "qwen3-30b-a3b",
    "gemma3_27b": "gemma-3-27b",
    "deepseek_v3": "deepseek-v3",
}
"""Their names in facts, and their ids in the catalogue."""
K = 1024


@cache
def spec_of(name: str) -> ModelSpec:
    return models()[MODELS[name]]


@dataclass(frozen=True, slots=True)
class Grouped:
    """Weights as AWQ and GPTQ checkpoints keep them: the layers' matrices in 4 bits, the tables at both ends in 16.

    Each group of 128 weights has a scale of 16 bits and a zero point of 4. Norms are left out: under 0.01 %.
    """

    spec: ModelSpec

    @property
    def layer_bytes(self) -> float:
        """P / 2, P the weights of every layer's matrices."""
        return sum(self.spec.layer_matmul_params) * 4 / 8

    @property
    def scale_bytes(self) -> float:
        """P / 128 x (16 + 4) / 8."""
        return sum(self.spec.layer_matmul_params) / 128 * (16 + 4) / 8

    @property
    def table_bytes(self) -> float:
        """Input embedding and LM head: vocabulary x width x 2 bytes each, kept once if tied."""
        return self.spec.lm_head_params * (1 if self.spec.is_tied else 2) * 16 / 8

    @property
    def weight_bytes(self) -> float:
        return self.layer_bytes + self.scale_bytes + self.table_bytes


def _8b() -> ModelSpec:
    return spec_of("8b")


def _awq() -> Grouped:
    return Grouped(_8b())


def _scores() -> Scores:
    """Of Llama-2-7B at 4,096 tokens, FP16."""
    return Scores(spec_of("llama2_7b"), 4 * K)


def _cache(name: str, length: int) -> Callable[[], float]:
    return lambda: kv_bytes(spec_of(name), context_len=length)


def _cache_if_full(name: str, length: int) -> float:
    return _cache(name, length)() * window_factor(spec_of(name), context_len=length)


def _outweighing(name: str, length: int) -> Callable[[], float]:
    return lambda: outweighing_batch(spec_of(name), context_len=length)


_SHAPES = [
    Fact("layers_8b", lambda: _8b().num_layers, "int", "layers of Llama-3.1-8B"),
    Fact("query_heads_8b", lambda: _8b().num_query_heads, "int", "its query heads"),
    Fact("kv_heads_8b", lambda: _8b().num_kv_heads, "int", "its KV heads"),
    Fact("head_dim_8b", lambda: _8b().head_dim, "int", "values in one of its keys"),
    Fact("weights_8b", lambda: _8b().weight_bytes, "bytes", "its weights"),
    Fact("query_heads_70b", lambda: spec_of("70b").num_query_heads, "int", "query heads of Llama-3.1-70B"),
    Fact("weights_70b", lambda: spec_of("70b").weight_bytes, "bytes", "its weights"),
    Fact(
        "params_8b_over_smollm2_1700m",
        lambda: _8b().total_params / spec_of("smollm2_1700m").total_params,
        "x",
        "parameters of Llama-3.1-8B over those of SmolLM2-1.7B",
    ),
]

_AWQ = [
    Fact("awq_layers_8b", lambda: _awq().layer_bytes, "bytes", "the 8B's layers in 4 bits"),
    Fact("awq_scales_8b", lambda: _awq().scale_bytes, "bytes", "their scales, groups of 128"),
    Fact("awq_tables_8b", lambda: _awq().table_bytes, "bytes", "its two tables, left in 16 bits"),
    Fact("weights_awq_8b", lambda: _awq().weight_bytes, "bytes", "the 8B as a usual 4-bit checkpoint"),
    Fact(
        "outweigh_batch_awq_8b_32k",
        lambda: _awq().weight_bytes // kv_bytes(_8b(), context_len=32 * K) + 1,
        "int",
        "fewest conversations of 32,768 tokens whose 16-bit caches outweigh that",
    ),
    Fact(
        "matching_context_awq_8b",
        lambda: _awq().weight_bytes / kv_bytes_per_token(_8b()),
        "int",
        "tokens whose 16-bit cache equals that",
    ),
]

_CACHES = [
    Fact("kv_bytes_per_token_8b", lambda: kv_bytes_per_token(_8b()), "bytes", "one token of Llama-3.1-8B"),
    Fact(
        "kv_bytes_per_token_smollm2_1700m",
        lambda: kv_bytes_per_token(spec_of("smollm2_1700m")),
        "bytes",
        "one token of SmolLM2-1.7B",
    ),
    Fact("cache_llama2_7b_4k", _cache("llama2_7b", 4 * K), "bytes", "Llama-2-7B at 4,096 tokens"),
    Fact("cache_8b_4k", _cache("8b", 4 * K), "bytes", "Llama-3.1-8B at 4,096 tokens"),
    Fact("cache_8b_32k", _cache("8b", 32 * K), "bytes", "at 32,768 tokens"),
    Fact("cache_8b_64k", _cache("8b", 64 * K), "bytes", "at 65,536 tokens"),
    Fact("cache_8b_128k", _cache("8b", 128 * K), "bytes", "at 131,072 tokens, read whole by every decode step"),
    Fact("cache_gemma3_27b_128k", _cache("gemma3_27b", 128 * K), "bytes", "Gemma 3 27B at 131,072 tokens"),
    Fact(
        "cache_if_full_gemma3_27b_128k",
        lambda: _cache_if_full("gemma3_27b", 128 * K),
        "bytes",
        "the same if no layer had a window",
    ),
    Fact("outweigh_batch_8b_32k", _outweighing("8b", 32 * K), "int", "fewest such caches that outweigh the 8B"),
    Fact("outweigh_batch_8b_64k", _outweighing("8b", 64 * K), "int", "at 65,536 tokens"),
    Fact("outweigh_batch_8b_128k", _outweighing("8b", 128 * K), "int", "at 131,072 tokens"),
    Fact("outweigh_batch_70b_128k", _outweighing("70b", 128 * K), "int", "of Llama-3.1-70B"),
    Fact("outweigh_batch_gemma3_27b_128k", _outweighing("gemma3_27b", 128 * K), "int", "of Gemma 3 27B"),
]

_SCORES = [
    Fact("scores_matrix_4096", lambda: _scores().matrix_bytes, "binary", "of one head in one layer, if stored"),
    Fact("scores_all_4096_llama2_7b", lambda: _scores().stored_bytes, "binary", "all layers, which nobody keeps"),
    Fact("scores_row_4096", lambda: _scores().row_bytes, "binary", "what a decode step has of one head: one row"),
]

FACTS = _SHAPES + _AWQ + _CACHES + _SCORES
