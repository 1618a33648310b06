"""What one forward pass costs by arithmetic: FLOPs and bytes, whole and per operator. Always estimated."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from operator import attrgetter

from inference.arithmetic.spec import ModelSpec, num_params


@dataclass(frozen=True, slots=True)
class Work:
    """Floating-point operations and bytes moved, estimated."""

    flops: float
    weight_bytes: float
    kv_read_bytes: float
    kv_write_bytes: float
    activation_bytes: float

    @classmethod
    def of_all(cls, parts: Iterable["Work"]) -> "Work":
        """Of several pieces of work, one after another."""
        return cls(*(sum(column) for column in zip(*map(_numbers, parts), strict=True)))

    @property
    def bytes(self) -> float:
        """All bytes to and from memory."""
        return self.weight_bytes + self.kv_read_bytes + self.kv_write_bytes + self.activation_bytes

    @property
    def intensity(self) -> float:
        """Arithmetic intensity, FLOPs per byte."""
        return self.flops / self.bytes


# astuple copies each number: half the time that the work of a pass took
_numbers = attrgetter(*(field.name for field in fields(Work)))


def forward_work(spec: ModelSpec, *, num_query_tokens: int, context_len: int, batch_size: int = 1) -> Work:
    """FLOPs and bytes of one pass: `batch_size` sequences, each fed `num_query_tokens` tokens.

    `context_len` is the number of tokens in each KV cache after the pass: the prompt length for a prefill,
    prompt + decode steps for a decode.

    FLOPs are model FLOPs: 2 per matmul weight and token, the LM head on each sequence's last position only,
    only causal (in sliding layers, in-window) pairs in attention. Norms, activation functions, rotary
    embedding and softmax are left out: about 1 % for SmolLM2-135M at a thousand tokens, less for larger.

    Bytes: each weight that is multiplied is read once per pass; of routed experts, the share that uniform
    routing is expected to touch. Each sequence's cache is read once, the new keys and values among it, and
    the new ones are written once. Norms, biases and the input embedding's rows are left out: about 0.1 %.

    Activations, a simple rule: every matmul reads its input and writes its output once, attention reads
    queries and writes outputs, at the weights' width but at least 16 bits; all between is fused and scores
    are never stored. That is 0.3 % of a decode pass of SmolLM2-135M but most bytes of a long prefill, and
    too much on a machine that holds them in its processor cache.
    """
    parts = operator_work(
        spec, num_query_tokens=num_query_tokens, context_len=context_len, batch_size=batch_size
    ).values()
    return Work.of_all(parts)


def operator_work(
    spec: ModelSpec, *, num_query_tokens: int, context_len: int, batch_size: int = 1
) -> dict[str, Work]:
    """The same pass by operator group; the groups add up to `forward_work`."""
    if num_query_tokens < 1 or batch_size < 1:
        raise ValueError(f"a pass needs tokens: got num_query_tokens={num_query_tokens}, batch_size={batch_size}")
    if context_len < num_query_tokens:
        raise ValueError(
            f"context_len counts the cache after the pass, so at least num_query_tokens={num_query_tokens}; "
            f"got {context_len}"
        )
    num_tokens = num_query_tokens * batch_size
    return {
        "attention projections": _projections(spec, num_tokens),
        "attention scores and values": _attention(spec, num_query_tokens, context_len, batch_size),
        "MLP": _mlp(spec, num_tokens),
        "LM head": matmul_work(
            spec, num_tokens=batch_size, params=spec.lm_head_params, width=spec.hidden_size + spec.vocab_size
        ),
    }


def kv_bytes_per_token(spec: ModelSpec) -> float:
    """Bytes one token adds to the KV cache: a key and a value vector per KV head per layer.

    Under MLA it is one latent and one rotary key per layer.
    Sliding-window layers are counted in full: once a window is full, a new token replaces an old one there.
    """
    return spec.num_layers * _layer_kv_bytes(spec)


def kv_bytes(spec: ModelSpec, *, context_len: int, batch_size: int = 1) -> float:
    """Bytes of `batch_size` KV caches of `context_len` tokens; a sliding layer keeps its window only."""
    kept = sum(context_len if window is None else min(context_len, window) for window in spec.layer_windows)
    return batch_size * kept * _layer_kv_bytes(spec)


def _layer_kv_bytes(spec: ModelSpec) -> float:
    if spec.mla:
        return (spec.mla.kv_lora_rank + spec.mla.qk_rope_head_dim) * spec.kv_bits / 8
    return 2 * spec.num_kv_heads * spec.head_dim * spec.kv_bits / 8


def _activation_bytes(spec: ModelSpec, num_values: float) -> float:
    return num_values * max(spec.weight_bits, 16) / 8  # weights are quantised below 16 bits, activations rarely


def matmul_work(spec: ModelSpec, *, num_tokens: int, params: float, width: int, read: float | None = None) -> Work:
    """Tokens through matrices: `params` weights per token, `width` inputs + outputs, `read` weights read."""
    return Work(
        flops=2 * num_tokens * params,
        weight_bytes=(params if read is None else read) * spec.weight_bits / 8,
        kv_read_bytes=0,
        kv_write_bytes=0,
        activation_bytes=_activation_bytes(spec, num_tokens * width),
    )


def _projections(spec: ModelSpec, num_tokens: int) -> Work:
    matrices = spec.attention_matrices
    return matmul_work(
        spec,
        num_tokens=num_tokens,
        params=spec.num_layers * num_params(matrices),
        width=spec.num_layers * sum(map(sum, matrices)),
    )


def _mlp(spec: ModelSpec, num_tokens: int) -> Work:
    dense, num_dense = spec.mlp_matrices, spec.num_dense_layers
    params = num_dense * num_params(dense)
    width = num_dense * sum(map(sum, dense))
    read: float = params
    if moe := spec.moe:
        num_routed, expert = spec.num_layers - num_dense, num_params(spec.expert_matrices)
        active = moe.experts_per_token + moe.num_shared_experts
        router = spec.hidden_size * moe.num_experts
        touched = moe.num_experts * (1 - (1 - moe.experts_per_token / moe.num_experts) ** num_tokens)
        params += num_routed * (router + active * expert)
        width += num_routed * (spec.hidden_size + moe.num_experts + active * sum(map(sum, spec.expert_matrices)))
        read += num_routed * (router + (touched + moe.num_shared_experts) * expert)
    return matmul_work(spec, num_tokens=num_tokens, params=params, width=width, read=read)


def _attention(spec: ModelSpec, num_query_tokens: int, context_len: int, batch_size: int) -> Work:
    past = context_len - num_query_tokens
    pairs = keys_read = 0
    for window in spec.layer_windows:
        pairs += _visible(context_len, window) - _visible(past, window)
        # the oldest new token still looks a window back, so a chunk reads window - 1 older keys and its own
        keys_read += context_len if window is None else min(context_len, window + num_query_tokens - 1)
    key_dim = spec.head_dim
    value_dim = spec.mla.v_head_dim if spec.mla else spec.head_dim
    flops = 2 * (key_dim + value_dim) * spec.num_query_heads * pairs
    if spec.mla:
        flops = _mla_flops(spec, pairs, past)
    outputs = spec.num_layers * num_query_tokens * spec.num_query_heads * (key_dim + value_dim)
    per_token = _layer_kv_bytes(spec)
    return Work(
        flops=batch_size * flops,
        weight_bytes=0,
        kv_read_bytes=batch_size * keys_read * per_token,
        kv_write_bytes=batch_size * spec.num_layers * num_query_tokens * per_token,
        activation_bytes=_activation_bytes(spec, batch_size * outputs),
    )


def _visible(context_len: int, window: int | None) -> int:
    """Query-key pairs of the first `context_len` positions, each seeing itself and what is before it."""
    growing = context_len if window is None else min(context_len, window)
    full = 0 if window is None else (context_len - growing) * window
    return growing * (growing + 1) // 2 + full


def _mla_flops(spec: ModelSpec, pairs: int, past: int) -> int:
    """MLA attention in the cheaper of its two forms: a decode's is absorbed, a prompt's expanded.

    Absorbed: queries meet the latent itself. Expanded: the past latents are first multiplied out to keys and
    values (the new tokens' share of that is among the projections, in either form).
    """
    mla = spec.mla
    assert mla is not None
    absorbed = 2 * (2 * mla.kv_lora_rank + mla.qk_rope_head_dim) * spec.num_query_heads * pairs
    expand = 2 * mla.kv_lora_rank * spec.num_query_heads * (mla.qk_nope_head_dim + mla.v_head_dim)
    expanded = 2 * (spec.head_dim + mla.v_head_dim) * spec.num_query_heads * pairs
    return min(absorbed, expanded + spec.num_layers * past * expand)
