"""Facts of published models: their shapes, caches, and where the cache outgrows the weights. 16 bits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from inference.catalogue import models
from inference.cost import kv_bytes, kv_bytes_per_token
from inference.fact import Fact
from inference.growth import matching_context, outweighing_batch
from inference.kv_formulas import by_hidden_width, by_query_heads, window_factor
from inference.scores import Scores
from inference.spec import ModelSpec

MODELS = {
    "llama2_7b": "llama-2-7b",
    "smollm2_1700m": "smollm2-1.7b",
    "1b": "llama-3.2-1b",
    "8b": "llama-3.1-8b",
    "70b": "llama-3.1-70b",
    "405b": "llama-3.1-405b",
    "mistral_7b": "mistral-7b-v0.1",
    "mixtral": "mixtral-8x7b",
    "qwen3_8b": "qwen3-8b",
    "qwen3_30b": "qwen3-30b-a3b",
    "gemma3_27b": "gemma-3-27b",
    "gpt_oss_20b": "gpt-oss-20b",
    "deepseek_v3": "deepseek-v3",
}
"""Their names in facts, and their ids in the catalogue."""
CONTEXTS = {"4k": 4096, "8k": 8192, "32k": 32_768, "64k": 65_536, "128k": 131_072}


@cache
def spec_of(name: str) -> ModelSpec:
    return models()[MODELS[name]]


def _of(name: str, compute: Callable[[ModelSpec], float]) -> Callable[[], float]:
    return lambda: compute(spec_of(name))


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


def _grouped(name: str, compute: Callable[[Grouped], float]) -> Callable[[], float]:
    return lambda: compute(Grouped(spec_of(name)))


def _matching(spec: ModelSpec) -> float:
    tokens = matching_context(spec)
    assert tokens is not None, f"{spec.id}: every layer slides"
    return tokens


def _shape(name: str) -> Iterator[Fact]:
    model = MODELS[name]
    yield Fact(f"params_{name}", _of(name, lambda s: s.total_params), "int", f"parameters of {model}")
    yield Fact(f"layers_{name}", _of(name, lambda s: s.num_layers), "int", f"layers of {model}")
    yield Fact(f"query_heads_{name}", _of(name, lambda s: s.num_query_heads), "int", f"query heads of {model}")
    yield Fact(f"kv_heads_{name}", _of(name, lambda s: s.num_kv_heads), "int", f"KV heads of {model}")
    yield Fact(f"head_dim_{name}", _of(name, lambda s: s.head_dim), "int", f"values in one key of {model}")
    yield Fact(f"weights_{name}", _of(name, lambda s: s.weight_bytes), "bytes", f"weights of {model}, 16 bits")


def _cache_facts(name: str) -> Iterator[Fact]:
    model = MODELS[name]
    yield Fact(f"kv_bytes_per_token_{name}", _of(name, kv_bytes_per_token), "bytes", f"{model}, 16 bits")
    yield Fact(
        f"kv_query_heads_factor_{name}",
        _of(name, lambda s: by_query_heads(s).times_right),
        "x",
        f"times too much if query heads of {model} are counted",
    )
    yield Fact(
        f"kv_hidden_factor_{name}",
        _of(name, lambda s: by_hidden_width(s).times_right),
        "x",
        f"times too much if the hidden width of {model} is counted",
    )
    for label, length in CONTEXTS.items():
        if length <= spec_of(name).max_context or name == "mistral_7b":
            yield from _at_context(name, label, length)


def _at_context(name: str, label: str, length: int) -> Iterator[Fact]:
    model = MODELS[name]
    yield Fact(
        f"cache_{name}_{label}",
        _of(name, lambda s: kv_bytes(s, context_len=length)),
        "bytes",
        f"KV cache of {model} at {length:,} tokens, read whole by every decode step",
    )
    if any(spec_of(name).layer_windows):
        yield Fact(
            f"cache_if_full_{name}_{label}",
            _of(name, lambda s: kv_bytes(s, context_len=length) * window_factor(s, context_len=length)),
            "bytes",
            f"the same if no layer of {model} had a window",
        )
    yield Fact(
        f"outweigh_batch_{name}_{label}",
        _of(name, lambda s: outweighing_batch(s, context_len=length)),
        "int",
        f"fewest conversations of {length:,} tokens whose caches outweigh {model}",
    )


_MATCHING = [
    Fact(f"matching_context_{name}", _of(name, _matching), "int", f"tokens whose cache equals {MODELS[name]}")
    for name in MODELS
    if name != "mistral_7b"  # its windows stop the cache before it is as large as the weights
]

_SCORES = [
    Fact("scores_matrix_4096", _of("llama2_7b", lambda s: Scores(s, 4096).matrix_bytes), "binary",
         "4,096 x 4,096 scores of one head in one layer, FP16, if they were stored"),
    Fact("scores_matrix_128k", _of("llama2_7b", lambda s: Scores(s, 131_072).matrix_bytes), "binary",
         "the same at 131,072 tokens"),
    Fact("scores_layer_4096_llama2_7b", _of("llama2_7b", lambda s: Scores(s, 4096).stored_bytes / s.num_layers),
         "binary", "all heads of one layer of Llama-2-7B at 4,096 tokens"),
    Fact("scores_all_4096_llama2_7b", _of("llama2_7b", lambda s: Scores(s, 4096).stored_bytes), "binary",
         "all heads and layers of Llama-2-7B at 4,096 tokens, which nobody keeps"),
    Fact("scores_row_4096", _of("llama2_7b", lambda s: Scores(s, 4096).row_bytes), "binary",
         "what a decode step has of one head at 4,096 tokens: one row"),
    Fact("scores_masked_share_4096", _of("llama2_7b", lambda s: Scores(s, 4096).masked_share), "percent",
         "of the matrix that is masked"),
]  # fmt: skip

_AWQ = [
    Fact("awq_layers_8b", _grouped("8b", lambda w: w.layer_bytes), "bytes", "the 8B's layers in 4 bits"),
    Fact("awq_scales_8b", _grouped("8b", lambda w: w.scale_bytes), "bytes", "their scales, groups of 128"),
    Fact("awq_tables_8b", _grouped("8b", lambda w: w.table_bytes), "bytes", "its two tables, left in 16 bits"),
    Fact("weights_awq_8b", _grouped("8b", lambda w: w.weight_bytes), "bytes", "the 8B as a usual 4-bit checkpoint"),
    Fact("outweigh_batch_awq_8b_32k",
         _grouped("8b", lambda w: w.weight_bytes // kv_bytes(w.spec, context_len=CONTEXTS["32k"]) + 1), "int",
         "fewest conversations of 32,768 tokens whose 16-bit caches outweigh that"),
    Fact("matching_context_awq_8b", _grouped("8b", lambda w: w.weight_bytes / kv_bytes_per_token(w.spec)), "int",
         "tokens whose 16-bit cache equals that"),
]  # fmt: skip

_SMALL_AND_LARGE = Fact(
    "params_8b_over_smollm2_1700m",
    lambda: spec_of("8b").total_params / spec_of("smollm2_1700m").total_params,
    "x",
    "parameters of Llama-3.1-8B over those of SmolLM2-1.7B",
)

FACTS = [
    *_AWQ,
    _SMALL_AND_LARGE,
    *(fact for name in MODELS for fact in (*_shape(name), *_cache_facts(name))),
    *_MATCHING,
    *_SCORES,
]
