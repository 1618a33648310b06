"""The shape of a model: everything its FLOPs, bytes and cache size are computed from."""

from dataclasses import dataclass

from inference.arithmetic import architectures as read
from inference.arithmetic import ranges

Matrix = tuple[int, int]
"""One weight matrix as (inputs, outputs): inputs x outputs weights."""


@dataclass(frozen=True, slots=True)
class Mla:
    """Multi-head latent attention: the cache keeps one compressed vector and one rotary key per token."""

    q_lora_rank: int | None
    """Width of the compressed query, None where queries are projected directly."""
    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int


@dataclass(frozen=True, slots=True)
class Moe:
    """Mixture of experts in place of the MLP."""

    num_experts: int
    experts_per_token: int
    expert_intermediate_size: int
    num_shared_experts: int = 0
    """Experts every token passes, beside the routed ones."""
    num_dense_layers: int = 0
    """How many of the first layers keep an ordinary MLP."""

    def __post_init__(self) -> None:
        if self.experts_per_token > self.num_experts:
            raise ValueError(
                f"experts_per_token must be at most num_experts, got {self.experts_per_token:,} and "
                f"{self.num_experts:,}"
            )


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A decoder-only transformer's shape. Norms, biases and position tables are in `total_params` only."""

    id: str
    name: str
    num_layers: int
    hidden_size: int
    intermediate_size: int
    num_query_heads: int
    num_kv_heads: int
    head_dim: int
    """Width of one query and key; of one value too, except under MLA."""
    vocab_size: int
    max_context: int
    is_tied: bool
    """The LM head is the embedding table, kept once."""
    total_params: int
    """Every parameter in memory, as counted on the checkpoint."""
    layer_windows: tuple[int | None, ...]
    """Per layer: the sliding window in tokens, or None for full attention."""
    is_mlp_gated: bool = True
    mla: Mla | None = None
    moe: Moe | None = None
    weight_bits: float = 16
    """Bits per weight, scales included. One number for all weights, LM head too."""
    kv_bits: float = 16
    source: str = ""

    def __post_init__(self) -> None:
        ranges.LAYERS.whole("num_layers", self.num_layers)
        if len(self.layer_windows) != self.num_layers:
            raise ValueError(f"{self.id}: {len(self.layer_windows)} layer windows for {self.num_layers} layers")
        if self.num_query_heads % self.num_kv_heads:
            raise ValueError(
                f"{self.id}: {self.num_query_heads} query heads do not share {self.num_kv_heads} KV heads evenly; "
                "num_query_heads must be a multiple of num_kv_heads"
            )
        if self.num_dense_layers > self.num_layers:
            raise ValueError(f"{self.id}: {self.num_dense_layers} dense layers in a model of {self.num_layers}")
        if self.total_params < self.matrix_params:
            raise ValueError(
                f"{self.id}: total_params is {self.total_params:,}, below its matrices' "
                f"{self.matrix_params:,} weights; count unpacked parameters and check the shape"
            )

    @property
    def weight_bytes(self) -> float:
        """Bytes the weights occupy in memory. A pass reads fewer: see `cost.forward_work`."""
        return self.total_params * self.weight_bits / 8

    @property
    def lm_head_params(self) -> int:
        """Weights of the LM head, tied or not."""
        return self.vocab_size * self.hidden_size

    @property
    def num_dense_layers(self) -> int:
        """Layers with an ordinary MLP: all of them without experts."""
        return self.moe.num_dense_layers if self.moe else self.num_layers

    @property
    def attention_matrices(self) -> tuple[Matrix, ...]:
        """The projections of one layer's attention: query, key, value, output."""
        d, heads = self.hidden_size, self.num_query_heads
        if self.mla is None:
            q, kv = heads * self.head_dim, self.num_kv_heads * self.head_dim
            return ((d, q), (d, kv), (d, kv), (q, d))
        mla, q = self.mla, heads * (self.mla.qk_nope_head_dim + self.mla.qk_rope_head_dim)
        query = ((d, q),) if mla.q_lora_rank is None else ((d, mla.q_lora_rank), (mla.q_lora_rank, q))
        compress = (d, mla.kv_lora_rank + mla.qk_rope_head_dim)
        expand = (mla.kv_lora_rank, heads * (mla.qk_nope_head_dim + mla.v_head_dim))
        return (*query, compress, expand, (heads * mla.v_head_dim, d))

    @property
    def mlp_matrices(self) -> tuple[Matrix, ...]:
        """The matrices of one ordinary MLP."""
        return self._mlp(self.intermediate_size)

    @property
    def expert_matrices(self) -> tuple[Matrix, ...]:
        """The matrices of one expert, none without experts."""
        return self._mlp(self.moe.expert_intermediate_size) if self.moe else ()

    @property
    def layer_matmul_params(self) -> tuple[int, ...]:
        """Per layer: the weights one token is multiplied with, so only the experts it is routed to."""
        attention, dense = num_params(self.attention_matrices), num_params(self.mlp_matrices)
        routed = 0
        if self.moe:
            active = self.moe.experts_per_token + self.moe.num_shared_experts
            routed = self.hidden_size * self.moe.num_experts + active * num_params(self.expert_matrices)
        num_dense = self.num_dense_layers
        return tuple(attention + (dense if i < num_dense else routed) for i in range(self.num_layers))

    @property
    def matmul_params(self) -> int:
        """Weights one token is multiplied with: LM head in, input embedding (a row look-up) out."""
        return sum(self.layer_matmul_params) + self.lm_head_params

    @property
    def matrix_params(self) -> int:
        """Weights of every matrix in memory: all experts, the embedding, the LM head if it is its own."""
        idle = 0
        if self.moe:
            idle = (self.moe.num_experts - self.moe.experts_per_token) * num_params(self.expert_matrices)
        idle *= self.num_layers - self.num_dense_layers
        return self.matmul_params + idle + (0 if self.is_tied else self.lm_head_params)

    def _mlp(self, width: int) -> tuple[Matrix, ...]:
        up, down = (self.hidden_size, width), (width, self.hidden_size)
        return (up, up, down) if self.is_mlp_gated else (up, down)

    @classmethod
    def from_config(
        cls, config: object, *, name: str, total_params: int, weight_bits: float = 16, kv_bits: float = 16
    ) -> "ModelSpec":
        """The shape in a transformers config; a `ValueError` names what is missing, unknown or out of range."""
        config = read.as_known(config)
        kind = str(getattr(config, "model_type", None))
        read.check_plain(config)
        hidden, mla = read.hidden_size(config), _mla(config) if kind in read.MLA else None
        mlp_default = 4 * hidden if kind == "gpt2" else None  # GPT-2 writes None for the usual four times
        return cls(
            id=name,
            name=name,
            num_layers=read.num_layers(config),
            hidden_size=hidden,
            intermediate_size=read.whole_number(
                config, "intermediate_size", within=ranges.WIDTH, default=mlp_default
            ),
            num_query_heads=read.query_heads(config),
            num_kv_heads=read.kv_heads(config),
            head_dim=mla.qk_nope_head_dim + mla.qk_rope_head_dim if mla else read.head_dim(config),
            vocab_size=read.whole_number(config, "vocab_size", within=ranges.VOCABULARY),
            max_context=read.whole_number(config, "max_position_embeddings", within=ranges.CONTEXT),
            is_tied=read.flag(config, "tie_word_embeddings"),
            total_params=total_params,
            layer_windows=read.layer_windows(config),
            is_mlp_gated=read.IS_MLP_GATED[kind],
            mla=mla,
            moe=_experts(config, kind) if kind in read.EXPERT_WIDTH else None,
            weight_bits=weight_bits,
            kv_bits=kv_bits,
        )


def num_params(matrices: tuple[Matrix, ...]) -> int:
    """Weights in these matrices."""
    return sum(inputs * outputs for inputs, outputs in matrices)


def _mla(config: object) -> Mla:
    """The latent attention of a DeepSeek config. A null `q_lora_rank` says that queries are not compressed."""
    names = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    if not hasattr(config, "q_lora_rank"):
        raise ValueError("the config has no q_lora_rank; write null if its queries are not compressed")
    is_compressed = config.q_lora_rank is not None
    return Mla(
        read.whole_number(config, "q_lora_rank", within=ranges.WIDTH) if is_compressed else None,
        **{name: read.whole_number(config, name, within=ranges.HEAD_WIDTH) for name in names},
    )


def _experts(config: object, kind: str) -> Moe:
    """The experts of a Mixtral, Qwen3 MoE, gpt-oss or DeepSeek config."""
    is_deepseek = kind in read.MLA
    counts = ("n_routed_experts",) if is_deepseek else ("num_local_experts", "num_experts")
    num_dense = 0
    if is_deepseek:
        num_dense = read.whole_number(config, "first_k_dense_replace", within=ranges.COUNT)
    return Moe(
        num_experts=read.whole_number(config, *counts, within=ranges.EXPERTS),
        experts_per_token=read.whole_number(config, "num_experts_per_tok", within=ranges.EXPERTS),
        expert_intermediate_size=read.whole_number(config, read.EXPERT_WIDTH[kind], within=ranges.WIDTH),
        num_shared_experts=read.whole_number(config, "n_shared_experts", within=ranges.COUNT, default=0),
        num_dense_layers=num_dense,
    )
