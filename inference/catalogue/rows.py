"""What a row of the catalogue's files holds: its keys, what each of them may be, and what the row stands for."""

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from inference.arithmetic import ranges
from inference.arithmetic.architectures import IS_MLP_GATED, known_type
from inference.arithmetic.hardware import Hardware
from inference.arithmetic.ranges import Range, shown
from inference.arithmetic.spec import Mla, ModelSpec, Moe
from inference.arithmetic.vector_params import vector_params
from inference.files.safe_yaml import read_yaml

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def whole(within: Range) -> PlainValidator:
    return PlainValidator(lambda value, info: within.whole(info.field_name, value))


def number(within: Range) -> PlainValidator:
    return PlainValidator(lambda value, info: within.number(info.field_name, value))


def number_or_null(within: Range) -> PlainValidator:
    return PlainValidator(lambda value, info: None if value is None else within.number(info.field_name, value))


Count = Annotated[int, whole(ranges.COUNT)]
Width = Annotated[int, whole(ranges.WIDTH)]
Heads = Annotated[int, whole(ranges.HEADS)]
HeadWidth = Annotated[int, whole(ranges.HEAD_WIDTH)]
Experts = Annotated[int, whole(ranges.EXPERTS)]
Tflops = Annotated[float | None, number_or_null(ranges.TFLOPS)]


class Row(BaseModel):
    """Keys and types as declared; a key that is not declared is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Checked = TypeVar("Checked", bound=BaseModel)


class LatentRow(Row):
    """Multi-head latent attention, as in `Mla`."""

    q_lora_rank: Width | None
    kv_lora_rank: Width
    qk_nope_head_dim: HeadWidth
    qk_rope_head_dim: HeadWidth
    v_head_dim: HeadWidth


class ExpertsRow(Row):
    """A mixture of experts, as in `Moe`."""

    num_experts: Experts
    experts_per_token: Experts
    expert_intermediate_size: Width
    num_shared_experts: Count
    num_dense_layers: Count


class ModelRow(Row):
    """A model. Its shape must add up to the parameters published for it."""

    id: Text
    hf_repo: Text
    architecture: Text
    num_layers: Annotated[int, whole(ranges.LAYERS)]
    hidden_size: Width
    intermediate_size: Width
    num_attention_heads: Heads
    num_key_value_heads: Heads
    head_dim: HeadWidth
    vocab_size: Annotated[int, whole(ranges.VOCABULARY)]
    max_position_embeddings: Annotated[int, whole(ranges.CONTEXT)]
    tie_word_embeddings: bool
    attention_kind: Literal["MHA", "MQA", "GQA", "MLA"]
    attention: Text
    sliding_window: Annotated[int, Field(ge=1)] | None
    sliding_window_layers: Count
    full_attention_layers: Count
    mla: LatentRow | None = None
    moe: ExpertsRow | None
    total_params_computed: int
    total_params_published: int
    total_params_published_source: Text
    total_params_difference_pct: float
    active_params_computed: int
    active_params_published: Text = ""
    active_params_published_source: Text = ""
    non_embedding_params_computed: int
    weights_bytes_fp16: int
    kv_cache_bytes_per_token_fp16: int
    kv_growing_bytes_per_token_fp16: int | None = None
    kv_sliding_constant_bytes_fp16: int | None = None
    kv_bytes_per_token_if_expanded_to_full_heads_fp16: int | None = None
    source: Text
    note: str = ""
    verified: bool

    @cached_property
    def spec(self) -> ModelSpec:
        return ModelSpec(
            id=self.id,
            name=self.hf_repo.split("/")[-1],
            num_layers=self.num_layers,
            hidden_size=self.hidden_size,
            intermediate_size=self.intermediate_size,
            num_query_heads=self.num_attention_heads,
            num_kv_heads=self.num_key_value_heads,
            head_dim=self.head_dim,
            vocab_size=self.vocab_size,
            max_context=self.max_position_embeddings,
            is_tied=self.tie_word_embeddings,
            total_params=self.total_params_published,
            layer_windows=self._layer_windows(),
            is_mlp_gated=IS_MLP_GATED[known_type(self.architecture)],
            mla=Mla(**dict(self.mla)) if self.mla else None,
            moe=Moe(**dict(self.moe)) if self.moe else None,
            source=self.source,
        )

    def _layer_windows(self) -> tuple[int | None, ...]:
        """Window per layer. A row gives counts; in every family here each group of layers ends in a full one."""
        layers, full = self.num_layers, self.full_attention_layers
        if full + self.sliding_window_layers != layers:
            raise ValueError(f"full_attention_layers and sliding_window_layers do not add up to {layers}")
        if full < layers and self.sliding_window is None:
            raise ValueError("sliding_window is null but sliding_window_layers is not 0")
        group = layers // full if full else layers + 1
        windows = tuple(None if i % group == 0 else self.sliding_window for i in range(1, layers + 1))
        if windows.count(None) != full:
            raise ValueError(f"{full} full-attention layers cannot end equal groups of {layers} layers")
        return windows

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if (self.attention_kind == "MLA") != (self.mla is not None):
            raise ValueError(f"attention_kind is {self.attention_kind}; give mla with MLA and with no other")
        total = self.spec.matrix_params + vector_params(self.spec, self.architecture)
        if total != self.total_params_published:
            raise ValueError(
                f"the shape adds up to {total:,} parameters, published are {self.total_params_published:,}"
            )
        return self


class HardwareRow(Row):
    """A machine, by its datasheet. Null: not supported, or read nowhere."""

    id: Text
    name: Text
    vendor: Text
    year: int
    memory_gb: Annotated[float | None, number_or_null(ranges.MEMORY_GB)]
    memory_bandwidth_gb_s: Annotated[float, number(ranges.BANDWIDTH_GB_S)]
    fp32_tflops: Tflops
    fp16_bf16_tensor_tflops: Tflops
    bf16_supported: bool
    fp8_tflops: Tflops
    int8_tops: Tflops
    estimate_fp16_tflops: Tflops = None
    tdp_w: Annotated[float | None, number_or_null(ranges.POWER_W)]
    estimate_power_w: Annotated[float | None, number_or_null(ranges.POWER_W)] = None
    interconnect_gb_s: Annotated[float | None, number_or_null(ranges.LINK_GB_S)]
    interconnect_convention: Literal["per_direction", "total_bidirectional", None]
    interconnect: Text | None
    ridge_flop_per_byte_16bit: float | None
    source: Annotated[list[Text], Field(min_length=1)]
    source_kind: Text
    verified: bool
    note: str

    def machine(self) -> Hardware:
        """GB and TFLOP/s become bytes and FLOP/s, nulls are left out."""
        tflops = {
            "float32": self.fp32_tflops,
            "float16": self.fp16_bf16_tensor_tflops,
            "bfloat16": self.fp16_bf16_tensor_tflops if self.bf16_supported else None,
            "float8": self.fp8_tflops,
            "int8": self.int8_tops,
        }
        link_gb_s, estimate = self.interconnect_gb_s, self.estimate_fp16_tflops
        directions = 2 if self.interconnect_convention == "total_bidirectional" else 1
        return Hardware(
            id=self.id,
            name=self.name,
            memory_bytes=None if self.memory_gb is None else self.memory_gb * 1e9,
            bandwidth=self.memory_bandwidth_gb_s * 1e9,
            peak_flops={dtype: value * 1e12 for dtype, value in tflops.items() if value is not None},
            source="; ".join(self.source),
            note=self.note,
            estimated_flops={} if estimate is None else {"float16": estimate * 1e12},
            interconnect=self.interconnect,
            interconnect_bandwidth=None if link_gb_s is None else link_gb_s * 1e9 / directions,
            tdp_w=self.tdp_w,
            is_verified=self.verified,
        )


def load(path: Path, row_type: type[Checked], section: str = "") -> dict[str, Checked]:
    """The rows of one file by id."""
    document: Any = read_yaml(path)
    rows: dict[str, Checked] = {}
    for place, row in enumerate(document[section] if section else document, start=1):
        row_id = row.get("id", f"row {place}")
        if row_id in rows:
            raise ValueError(f"{path.name}: {row_id}: this id is used twice")
        rows[row_id] = checked(row_type, row, f"{path.name}: {row_id}")
    return rows


def checked(model: type[Checked], value: object, where: str) -> Checked:
    """What was read, as declared; an error names the place, the key and what is wrong with it."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise ValueError(f"{where}: {'; '.join(map(_problem, error.errors()))}") from error


def _problem(error: ErrorDetails) -> str:
    *around, _ = key = tuple(map(str, error["loc"])) or ("",)
    match error["type"]:
        case "missing":
            return f"missing {'.'.join(key)}"
        case "extra_forbidden" | "unexpected_keyword_argument":
            return f"unknown {'.'.join(key)}"
        case "value_error":  # names the last key itself
            return ": ".join((*around, str(error["ctx"]["error"])))
    return f"{'.'.join(key)}: {error['msg']}, got {shown(error['input'])}"
