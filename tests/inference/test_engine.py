"""The engine's passes against torch's counter and the formulas; loading; refusals."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForImageTextToText
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from inference.cost import forward_work, kv_bytes_per_token
from inference.engine import Engine, OutOfMemoryError, measured_kv_bytes
from inference.weights import WeightsError
from tests.inference.passes import counted, failing_once
from tests.inference.test_cost import uncausal_half


@pytest.fixture
def eager() -> Engine:
    """A tiny engine of its own: torch counts no FLOPs of the CPU's fused attention."""
    engine = Engine.load("random:tiny")
    engine.model.set_attn_implementation("eager")
    return engine


@pytest.fixture
def real_eager(real: Engine) -> Iterator[Engine]:
    before = real.model.config._attn_implementation
    real.model.set_attn_implementation("eager")
    yield real
    real.model.set_attn_implementation(before)


def counted_flops(run: Callable[[], object]) -> int:
    with FlopCounterMode(display=False) as counter:
        run()
    return int(counter.get_total_flops())


def assert_flops_are_torchs(engine: Engine, num_prompt: int, num_decodes: int) -> None:
    """Eager attention computes the whole square of the prompt; the model's FLOPs count its causal half."""
    cache = engine.new_cache()
    prefill = forward_work(engine.spec, num_query_tokens=num_prompt, context_len=num_prompt)
    counted = counted_flops(lambda: engine.forward([5] * num_prompt, cache))
    assert counted == prefill.flops + uncausal_half(engine.spec, num_prompt)
    for step in range(1, num_decodes + 1):
        decode = forward_work(engine.spec, num_query_tokens=1, context_len=num_prompt + step)
        assert counted_flops(lambda: engine.forward([5], cache)) == decode.flops


def test_flops_of_prefill_and_decode_are_those_torch_counts(eager: Engine) -> None:
    assert_flops_are_torchs(eager, num_prompt=37, num_decodes=3)


@pytest.mark.real_model
def test_flops_of_the_default_model_are_those_torch_counts(real_eager: Engine) -> None:
    assert_flops_are_torchs(real_eager, num_prompt=64, num_decodes=2)


def test_a_pass_in_pieces_gives_the_logits_of_one_pass(tiny: Engine) -> None:
    ids = list(range(40))
    whole = tiny.forward(ids, tiny.new_cache())
    cache = tiny.new_cache()
    tiny.forward(ids[:30], cache)
    pieces = [tiny.forward([token_id], cache) for token_id in ids[30:]]
    torch.testing.assert_close(pieces[-1].logits, whole.logits, atol=1e-5, rtol=1e-4)


def test_logits_are_one_row_over_the_vocabulary_and_time_is_positive(tiny: Engine) -> None:
    forward = tiny.forward([1, 2, 3], tiny.new_cache())
    assert forward.logits.shape == (tiny.spec.vocab_size,)
    assert forward.logits.dtype == torch.float32
    assert forward.logits.device.type == "cpu"
    assert forward.forward_s > 0
    assert (forward.device_s is None) == (tiny.device.type == "cpu")


def test_warming_up_runs_one_pass_of_each_kind(tiny: Engine) -> None:
    with counted(tiny) as passes:
        tiny.warm_up()
    assert passes == [16, 1]


def test_the_caches_own_tensors_have_the_bytes_of_the_formula(tiny: Engine) -> None:
    cache = tiny.new_cache()
    assert measured_kv_bytes(cache) == 0
    tiny.forward([1] * 20, cache)
    assert measured_kv_bytes(cache) == 20 * kv_bytes_per_token(tiny.spec)


def test_the_shape_counts_the_models_own_parameters(tiny: Engine) -> None:
    assert tiny.spec.total_params == sum(parameter.numel() for parameter in tiny.model.parameters())
    assert not any(parameter.requires_grad for parameter in tiny.model.parameters())
    assert tiny.has_random_weights


def test_the_same_random_shape_has_the_same_weights_and_shares_no_settings(tiny: Engine) -> None:
    other = Engine.load("random:tiny")
    weights = tiny.model.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in other.model.state_dict().items())
    assert other.model.config is not tiny.model.config


@pytest.mark.parametrize("dtype", ["bfloat16", torch.float16])
def test_half_precision_halves_weights_and_cache(tiny: Engine, dtype: str | torch.dtype) -> None:
    half = Engine.load("random:tiny", dtype=dtype)
    assert half.spec.weight_bytes == tiny.spec.weight_bytes / 2
    cache = half.new_cache()
    half.forward([1] * 10, cache)
    assert measured_kv_bytes(cache) == 10 * kv_bytes_per_token(half.spec) == 5 * kv_bytes_per_token(tiny.spec)


def test_an_unknown_dtype_is_refused() -> None:
    with pytest.raises(ValueError, match="dtype must be one of float32"):
        Engine.load("random:tiny", dtype="int3")


@pytest.mark.parametrize("model", ["random:", "random:nope", "random:deepseek-v3", "no such model", "/nowhere"])
def test_a_model_that_cannot_be_had_is_refused_in_one_sentence(model: str) -> None:
    with pytest.raises(WeightsError) as refusal:
        Engine.load(model)
    assert "\n" not in str(refusal.value)


def test_the_environment_names_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWOPHASES_MODEL", "random:tiny")
    assert Engine.load().name == "random:tiny"


@pytest.fixture
def folder(tiny: Engine, tmp_path: Path) -> Path:
    tiny.model.save_pretrained(tmp_path / "model")
    tiny.tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_a_saved_model_loads_from_its_folder_with_the_same_logits(tiny: Engine, folder: Path) -> None:
    loaded = Engine.load(str(folder))
    assert (loaded.name, loaded.end_tokens) == ("model", tiny.end_tokens)
    passes = [engine.forward([1, 2, 3], engine.new_cache()) for engine in (loaded, tiny)]
    torch.testing.assert_close(passes[0].logits, passes[1].logits)


@pytest.mark.parametrize(
    ("wrapper", "decoder", "pictures"),
    [
        ("mistral3", "mistral", "pixtral"),
        ("gemma3", "gemma3_text", "siglip_vision_model"),
        ("llava", "llama", "clip_vision_model"),
        ("internvl", "qwen2", "internvl_vision"),
    ],
)
def test_of_a_multimodal_folder_the_text_decoder_is_loaded(
    tiny: Engine, tmp_path: Path, wrapper: str, decoder: str, pictures: str
) -> None:
    layers = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 64}
    text = layers | {"model_type": decoder, "vocab_size": 320, "num_key_value_heads": 2, "head_dim": 8}
    seen = layers | {"model_type": pictures, "image_size": 16, "patch_size": 8}
    config = CONFIG_MAPPING[wrapper](
        text_config=text, vision_config=seen, tie_word_embeddings=decoder == "gemma3_text"
    )
    whole = AutoModelForImageTextToText.from_config(config)
    whole.save_pretrained(tmp_path / "both")
    tiny.tokenizer.save_pretrained(tmp_path / "both")
    loaded = Engine.load(str(tmp_path / "both"))
    logits = loaded.forward([1, 2, 3], loaded.new_cache()).logits
    torch.testing.assert_close(
        logits, whole(torch.tensor([[1, 2, 3]])).logits[0, -1].detach(), atol=1e-4, rtol=1e-4
    )
    assert loaded.spec.total_params == sum(parameter.numel() for parameter in loaded.model.parameters())
    assert loaded.spec.total_params < whole.num_parameters()


def test_an_adapter_in_the_folder_is_noted_on_the_engine(folder: Path, tiny: Engine) -> None:
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    loaded = Engine.load(str(folder))
    assert "not applied" in loaded.note
    assert loaded.in_dtype("bfloat16").note == loaded.note
    assert tiny.note == ""


@pytest.mark.parametrize(
    "change",
    [
        {"model_type": "nope"},
        {"num_hidden_layers": 3},
        {"vocab_size": 100},
        {"hidden_size": 30},
        {"num_attention_heads": 0},
        {"num_attention_heads": "four"},
        {"hidden_act": "nope"},
    ],
)
def test_a_configuration_that_does_not_fit_its_weights_is_refused(folder: Path, change: dict[str, object]) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(WeightsError, match="choose another model"):
        Engine.load(str(folder))


def test_a_broken_tokenizer_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(WeightsError, match=f"the tokenizer in {folder} cannot be loaded"):
        Engine.load(str(folder))


def test_a_missing_tokenizer_is_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "bare", ignore=shutil.ignore_patterns("tokenizer*"))
    with pytest.raises(WeightsError, match="tokenizer"):
        Engine.load(str(tmp_path / "bare"))


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_running_out_of_memory_is_told_with_a_remedy(tiny: Engine, error: Exception) -> None:
    with failing_once(tiny.model, error), pytest.raises(OutOfMemoryError, match="pass of 3 tokens; shorten"):
        tiny.forward([1, 2, 3], tiny.new_cache())


def test_another_error_in_a_pass_is_not_renamed(tiny: Engine) -> None:
    with failing_once(tiny.model, RuntimeError("broken")), pytest.raises(RuntimeError, match=r"^broken$"):
        tiny.forward([1, 2, 3], tiny.new_cache())


def test_a_batch_of_equal_rows_gives_each_row_what_it_gets_alone(tiny: Engine) -> None:
    rows = [[5, 6, 7], [9, 8, 7]]
    cache = tiny.new_cache()
    together = tiny.forward_rows(rows, cache)
    assert cache.get_seq_length() == 3
    assert [layer.keys.shape[0] for layer in cache.layers] == [2, 2]
    alone = tiny.new_cache()
    assert torch.allclose(together.logits, tiny.forward(rows[0], alone).logits, atol=1e-5)
    other = tiny.new_cache()
    tiny.forward(rows[1], other)
    assert torch.allclose(cache.layers[1].keys[1], other.layers[1].keys[0], atol=1e-5)


def test_another_dtype_is_a_copy_that_leaves_the_first_alone(tiny: Engine) -> None:
    half = tiny.in_dtype("bfloat16")
    assert half.dtype == torch.bfloat16
    assert half.spec.weight_bits == half.spec.kv_bits == 16
    assert half.spec.weight_bytes == tiny.spec.weight_bytes / 2
    assert {parameter.dtype for parameter in tiny.model.parameters()} == {torch.float32}
    assert tiny.in_dtype("float32") is tiny
    logits = half.forward([1, 2, 3], half.new_cache()).logits
    assert torch.allclose(logits, tiny.forward([1, 2, 3], tiny.new_cache()).logits, atol=0.05)
