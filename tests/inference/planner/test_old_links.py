"""Links to plans that older versions made: they open as they did, and say the same where a part is wrong."""

from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.spec import Mla, ModelSpec, Moe
from inference.planner.efficiency import Efficiency
from inference.planner.link import from_query, to_query
from inference.planner.settings import PlanSettings

SHAPE = (
    "model=own&name=S&layers=2&hidden=64&inner=128&heads=4&kv_heads=2&head_dim=16&vocab=1000&context=512&"
    "params=500000&tied=1&gated=0"
)
MEASURED = (
    "hardware=own&hw_name=M&hw_bandwidth=20&hw_tflops=0.2&hw_e=0.4&hw_batch=0.25&hw_flops=0.8&"
    "hw_attention=0.25&hw_layer=0.0004&hw_cache=1&hw_overlap=0&hw_steps=1"
)

MADE: tuple[tuple[str, PlanSettings], ...] = (
    (
        (
            "model=llama-3.1-8b&hardware=h100-sxm-80gb&engine=serving&in=2048&out=500&users=1&tp=1&pp=1&replicas=1&"
            "weights=16&cache=16&e=0.897&flops=0.484&attention=0.321&c_us=93.2&latency_us=2.62&link=450&overlap=0"
        ),
        PlanSettings(
            bandwidth_share=0.897,
            flops_share=0.484,
            attention_share=0.321,
            layer_us=93.2,
            is_overlapped=False,
            all_reduce_us=2.62,
            link_gb_s=450,
        ),
    ),
    (
        (
            "model=qwen3-30b-a3b&hardware=a10&engine=eager&in=128&out=1&users=64&tp=2&pp=2&replicas=3&weights=4.5&"
            "cache=8&e=0.5&flops=0.123456789&attention=1&c_us=0.1&latency_us=7.25&link=450&price=2.5&overlap=1"
        ),
        PlanSettings(
            model="qwen3-30b-a3b",
            hardware="a10",
            prompt_tokens=128,
            output_tokens=1,
            concurrency=64,
            weight_bits=4.5,
            kv_bits=8,
            tensor_parallel=2,
            pipeline_parallel=2,
            replicas=3,
            engine="eager",
            bandwidth_share=0.5,
            flops_share=0.123456789,
            attention_share=1,
            layer_us=0.1,
            is_overlapped=True,
            all_reduce_us=7.25,
            link_gb_s=450,
            price=2.5,
        ),
    ),
    (
        (
            "model=llama-3.1-8b&hardware=own&hw_name=Gr%C3%B6%C3%9Fe+%3Cb%3E%22X%22%3C%2Fb%3E+%26+S%C3%B6hne&"
            "hw_memory=80&hw_bandwidth=3350.5&hw_tflops=989.4&hw_fp8=1979&hw_fp32=67&hw_link=450&hw_tdp=700&"
            "engine=compiled&in=2048&out=500&users=1&tp=2&pp=1&replicas=1&weights=16&cache=16&e=0.791&flops=0.582&"
            "attention=0.303&c_us=51.7&latency_us=2.62&link=450&overlap=0"
        ),
        PlanSettings(
            tensor_parallel=2,
            engine="compiled",
            bandwidth_share=0.791,
            flops_share=0.582,
            attention_share=0.303,
            layer_us=51.7,
            is_overlapped=False,
            all_reduce_us=2.62,
            link_gb_s=450,
            own_hardware=Hardware(
                id="own",
                name='Größe <b>"X"</b> & Söhne',
                memory_bytes=80000000000.0,
                bandwidth=3350500000000.0,
                peak_flops={
                    "float32": 67000000000000.0,
                    "float16": 989400000000000.0,
                    "bfloat16": 989400000000000.0,
                    "float8": 1979000000000000.0,
                },
                source="typed by a learner",
                interconnect="link",
                interconnect_bandwidth=450000000000.0,
                tdp_w=700,
            ),
        ),
    ),
    (
        (
            "model=llama-3.1-8b&hardware=own&hw_name=No+memory&hw_bandwidth=100.5&hw_tflops=3&engine=llama.cpp&"
            "in=2048&out=500&users=1&tp=1&pp=1&replicas=1&weights=16&cache=16&e=0.738&flops=0.698&attention=0.255&"
            "c_us=71.3&latency_us=10&price=0&overlap=0"
        ),
        PlanSettings(
            engine="llama.cpp",
            bandwidth_share=0.738,
            flops_share=0.698,
            attention_share=0.255,
            layer_us=71.3,
            is_overlapped=False,
            all_reduce_us=10,
            price=0,
            own_hardware=Hardware(
                id="own",
                name="No memory",
                memory_bytes=None,
                bandwidth=100500000000.0,
                peak_flops={"float16": 3000000000000.0, "bfloat16": 3000000000000.0},
                source="typed by a learner",
            ),
        ),
    ),
    (
        (
            "model=own&name=SmolLM2-135M&layers=30&hidden=576&inner=1536&heads=9&kv_heads=3&head_dim=64&"
            "vocab=49152&context=8192&params=134515008&tied=1&gated=1&hardware=own&hw_name=A+laptop&"
            "hw_bandwidth=20&hw_tflops=0.2&hw_fp32=0.2&hw_e=1&hw_flops=1&hw_attention=1&"
            "hw_layer=0.0003333333333333333&hw_cache=3&hw_overlap=0&hw_steps=1&engine=eager&in=2048&out=500&"
            "users=1&tp=1&pp=1&replicas=1&weights=32&cache=16&e=1&flops=1&attention=1&c_us=333.3333333333333&"
            "latency_us=10&overlap=0"
        ),
        PlanSettings(
            weight_bits=32,
            engine="eager",
            bandwidth_share=1,
            flops_share=1,
            attention_share=1,
            layer_us=333.3333333333333,
            is_overlapped=False,
            all_reduce_us=10,
            own_model=ModelSpec(
                id="SmolLM2-135M",
                name="SmolLM2-135M",
                num_layers=30,
                hidden_size=576,
                intermediate_size=1536,
                num_query_heads=9,
                num_kv_heads=3,
                head_dim=64,
                vocab_size=49152,
                max_context=8192,
                is_tied=True,
                total_params=134515008,
                layer_windows=(None,) * 30,
                source="from a link",
            ),
            own_hardware=Hardware(
                id="own",
                name="A laptop",
                memory_bytes=None,
                bandwidth=20000000000.0,
                peak_flops={"float16": 200000000000.0, "bfloat16": 200000000000.0},
                source="typed by a learner",
                is_measured=True,
            ),
            measured=Efficiency(
                bandwidth_share=1,
                flops_share=1,
                attention_share=1,
                layer_s=0.0003333333333333333,
                cache_passes=3,
                is_step_summed=True,
            ),
        ),
    ),
    (
        (
            "model=llama-3.1-8b&hardware=own&hw_name=A+laptop&hw_bandwidth=20&hw_tflops=0.2&hw_fp32=0.2&hw_e=1&"
            "hw_flops=1&hw_attention=1&hw_layer=0.0003333333333333333&hw_cache=3&hw_overlap=1&hw_steps=0&"
            "engine=eager&in=2048&out=500&users=1&tp=1&pp=1&replicas=1&weights=16&cache=16&e=1&flops=1&attention=1&"
            "c_us=333.3333333333333&latency_us=10&overlap=1"
        ),
        PlanSettings(
            engine="eager",
            bandwidth_share=1,
            flops_share=1,
            attention_share=1,
            layer_us=333.3333333333333,
            is_overlapped=True,
            all_reduce_us=10,
            own_hardware=Hardware(
                id="own",
                name="A laptop",
                memory_bytes=None,
                bandwidth=20000000000.0,
                peak_flops={"float16": 200000000000.0, "bfloat16": 200000000000.0},
                source="typed by a learner",
                is_measured=True,
            ),
            measured=Efficiency(
                bandwidth_share=1,
                flops_share=1,
                attention_share=1,
                layer_s=0.0003333333333333333,
                is_overlapped=True,
                cache_passes=3,
            ),
        ),
    ),
    (
        (
            "model=own&name=DeepSeek-V2-Lite&layers=27&hidden=2048&inner=10944&heads=16&kv_heads=16&head_dim=192&"
            "vocab=102400&context=163840&params=15706484224&tied=0&gated=1&mla=0-512-128-64-128&moe=64-6-1408-2-1&"
            "hardware=h100-sxm-80gb&engine=serving&in=2048&out=500&users=1&tp=1&pp=1&replicas=1&weights=16&"
            "cache=16&e=0.897&flops=0.484&attention=0.321&c_us=93.2&latency_us=2.62&link=450&overlap=0"
        ),
        PlanSettings(
            bandwidth_share=0.897,
            flops_share=0.484,
            attention_share=0.321,
            layer_us=93.2,
            is_overlapped=False,
            all_reduce_us=2.62,
            link_gb_s=450,
            own_model=ModelSpec(
                id="DeepSeek-V2-Lite",
                name="DeepSeek-V2-Lite",
                num_layers=27,
                hidden_size=2048,
                intermediate_size=10944,
                num_query_heads=16,
                num_kv_heads=16,
                head_dim=192,
                vocab_size=102400,
                max_context=163840,
                is_tied=False,
                total_params=15706484224,
                layer_windows=(None,) * 27,
                mla=Mla(
                    q_lora_rank=None, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128
                ),
                moe=Moe(
                    num_experts=64,
                    experts_per_token=6,
                    expert_intermediate_size=1408,
                    num_shared_experts=2,
                    num_dense_layers=1,
                ),
                source="from a link",
            ),
        ),
    ),
    (
        (
            "model=own&name=Mistral-7B-v0.1&layers=32&hidden=4096&inner=14336&heads=32&kv_heads=8&head_dim=128&"
            "vocab=32000&context=32768&params=7241732096&tied=0&gated=1&windows=4096x32&hardware=h100-sxm-80gb&"
            "engine=serving&in=2048&out=500&users=1&tp=1&pp=1&replicas=1&weights=16&cache=16&e=0.897&flops=0.484&"
            "attention=0.321&c_us=93.2&latency_us=2.62&link=450&overlap=0"
        ),
        PlanSettings(
            bandwidth_share=0.897,
            flops_share=0.484,
            attention_share=0.321,
            layer_us=93.2,
            is_overlapped=False,
            all_reduce_us=2.62,
            link_gb_s=450,
            own_model=ModelSpec(
                id="Mistral-7B-v0.1",
                name="Mistral-7B-v0.1",
                num_layers=32,
                hidden_size=4096,
                intermediate_size=14336,
                num_query_heads=32,
                num_kv_heads=8,
                head_dim=128,
                vocab_size=32000,
                max_context=32768,
                is_tied=False,
                total_params=7241732096,
                layer_windows=(4096,) * 32,
                source="from a link",
            ),
        ),
    ),
    (
        (
            "model=own&name=Mixtral-8x7B-v0.1&layers=32&hidden=4096&inner=14336&heads=32&kv_heads=8&head_dim=128&"
            "vocab=32000&context=32768&params=46702792704&tied=0&gated=1&moe=8-2-14336-0-0&hardware=own&"
            "hw_name=No+memory&hw_bandwidth=100.5&hw_tflops=3&engine=serving&in=2048&out=500&users=1&tp=1&pp=1&"
            "replicas=1&weights=16&cache=16&e=0.895&flops=0.62&attention=0.324&c_us=108&latency_us=10&overlap=0"
        ),
        PlanSettings(
            bandwidth_share=0.895,
            flops_share=0.62,
            attention_share=0.324,
            layer_us=108,
            is_overlapped=False,
            all_reduce_us=10,
            own_model=ModelSpec(
                id="Mixtral-8x7B-v0.1",
                name="Mixtral-8x7B-v0.1",
                num_layers=32,
                hidden_size=4096,
                intermediate_size=14336,
                num_query_heads=32,
                num_kv_heads=8,
                head_dim=128,
                vocab_size=32000,
                max_context=32768,
                is_tied=False,
                total_params=46702792704,
                layer_windows=(None,) * 32,
                moe=Moe(num_experts=8, experts_per_token=2, expert_intermediate_size=14336),
                source="from a link",
            ),
            own_hardware=Hardware(
                id="own",
                name="No memory",
                memory_bytes=None,
                bandwidth=100500000000.0,
                peak_flops={"float16": 3000000000000.0, "bfloat16": 3000000000000.0},
                source="typed by a learner",
            ),
        ),
    ),
)

# By hand, cut short or changed.
OPENED: tuple[tuple[str, PlanSettings], ...] = (
    ("in=5&overlap=1", PlanSettings(prompt_tokens=5, is_overlapped=True)),
    ("in=5&in=6&out=7", PlanSettings(prompt_tokens=6, output_tokens=7)),
    (
        MEASURED,
        PlanSettings(
            own_hardware=Hardware(
                id="own",
                name="M",
                memory_bytes=None,
                bandwidth=20000000000.0,
                peak_flops={"float16": 200000000000.0, "bfloat16": 200000000000.0},
                source="typed by a learner",
                is_measured=True,
            ),
            measured=Efficiency(
                bandwidth_share=0.4,
                flops_share=0.8,
                attention_share=0.25,
                layer_s=0.0004,
                batch_share=0.25,
                cache_passes=1,
                is_step_summed=True,
            ),
        ),
    ),
    (
        (
            "hardware=own&hw_name=M&hw_bandwidth=20&hw_tflops=0.2&hw_e=0.4&hw_flops=0.8&hw_attention=0.25&"
            "hw_layer=0.0004&hw_cache=1&hw_overlap=0&hw_steps=1"
        ),
        PlanSettings(
            own_hardware=Hardware(
                id="own",
                name="M",
                memory_bytes=None,
                bandwidth=20000000000.0,
                peak_flops={"float16": 200000000000.0, "bfloat16": 200000000000.0},
                source="typed by a learner",
                is_measured=True,
            ),
            measured=Efficiency(
                bandwidth_share=0.4,
                flops_share=0.8,
                attention_share=0.25,
                layer_s=0.0004,
                cache_passes=1,
                is_step_summed=True,
            ),
        ),
    ),
    (
        (
            "hardware=own&hw_name=M&hw_bandwidth=20&hw_tflops=0.2&hw_e=0.4&hw_batch=0.25&hw_flops=0.8&"
            "hw_attention=0.25&hw_layer=0.0004&hw_cache=1"
        ),
        PlanSettings(
            own_hardware=Hardware(
                id="own",
                name="M",
                memory_bytes=None,
                bandwidth=20000000000.0,
                peak_flops={"float16": 200000000000.0, "bfloat16": 200000000000.0},
                source="typed by a learner",
                is_measured=True,
            ),
            measured=Efficiency(
                bandwidth_share=0.4,
                flops_share=0.8,
                attention_share=0.25,
                layer_s=0.0004,
                batch_share=0.25,
                cache_passes=1,
            ),
        ),
    ),
    (
        SHAPE,
        PlanSettings(
            own_model=ModelSpec(
                id="S",
                name="S",
                num_layers=2,
                hidden_size=64,
                intermediate_size=128,
                num_query_heads=4,
                num_kv_heads=2,
                head_dim=16,
                vocab_size=1000,
                max_context=512,
                is_tied=True,
                total_params=500000,
                layer_windows=(None,) * 2,
                is_mlp_gated=False,
                source="from a link",
            )
        ),
    ),
    (
        SHAPE + "&name=%20n%20",
        PlanSettings(
            own_model=ModelSpec(
                id="n",
                name="n",
                num_layers=2,
                hidden_size=64,
                intermediate_size=128,
                num_query_heads=4,
                num_kv_heads=2,
                head_dim=16,
                vocab_size=1000,
                max_context=512,
                is_tied=True,
                total_params=500000,
                layer_windows=(None,) * 2,
                is_mlp_gated=False,
                source="from a link",
            )
        ),
    ),
    (
        SHAPE + "&windows=128x1-0x1",
        PlanSettings(
            own_model=ModelSpec(
                id="S",
                name="S",
                num_layers=2,
                hidden_size=64,
                intermediate_size=128,
                num_query_heads=4,
                num_kv_heads=2,
                head_dim=16,
                vocab_size=1000,
                max_context=512,
                is_tied=True,
                total_params=500000,
                layer_windows=(128,) * 1 + (None,) * 1,
                is_mlp_gated=False,
                source="from a link",
            )
        ),
    ),
    (
        SHAPE + "&mla=0-16-8-8-16&kv_heads=4&params=50000000",
        PlanSettings(
            own_model=ModelSpec(
                id="S",
                name="S",
                num_layers=2,
                hidden_size=64,
                intermediate_size=128,
                num_query_heads=4,
                num_kv_heads=4,
                head_dim=16,
                vocab_size=1000,
                max_context=512,
                is_tied=True,
                total_params=50000000,
                layer_windows=(None,) * 2,
                is_mlp_gated=False,
                mla=Mla(q_lora_rank=None, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=16),
                source="from a link",
            )
        ),
    ),
    (
        SHAPE + "&moe=8-2-32-1-1",
        PlanSettings(
            own_model=ModelSpec(
                id="S",
                name="S",
                num_layers=2,
                hidden_size=64,
                intermediate_size=128,
                num_query_heads=4,
                num_kv_heads=2,
                head_dim=16,
                vocab_size=1000,
                max_context=512,
                is_tied=True,
                total_params=500000,
                layer_windows=(None,) * 2,
                is_mlp_gated=False,
                moe=Moe(
                    num_experts=8,
                    experts_per_token=2,
                    expert_intermediate_size=32,
                    num_shared_experts=1,
                    num_dense_layers=1,
                ),
                source="from a link",
            )
        ),
    ),
)

# A link, and on the line below what is said of it.
_LINES = (Path(__file__).parent / "refused_links.txt").read_text().splitlines()
REFUSED = list(zip(_LINES[::2], map(str.strip, _LINES[1::2]), strict=True))


def opened(link: str) -> tuple[PlanSettings, tuple[str, ...]]:
    return from_query(dict(parse_qsl(link, keep_blank_values=True)))


@pytest.mark.parametrize(("link", "settings"), MADE + OPENED)
def test_a_link_made_before_opens_the_same_plan(link: str, settings: PlanSettings) -> None:
    assert opened(link) == (settings, ())


@pytest.mark.parametrize(("link", "settings"), MADE)
def test_what_a_link_opened_as_makes_the_same_link(link: str, settings: PlanSettings) -> None:
    # a measured machine's peak is that of its one precision; opened elsewhere, of 16 bits
    assert to_query(settings) == link.replace("&hw_fp32=0.2", "")


@pytest.mark.parametrize(("link", "problem"), REFUSED)
def test_a_wrong_part_is_refused_in_the_same_words(link: str, problem: str) -> None:
    assert opened(link) == (PlanSettings(), (problem,))


def test_a_wrong_part_leaves_the_rest_as_it_was() -> None:
    settings, problems = opened("in=7&users=x&model=own&hardware=own")
    assert settings == PlanSettings(prompt_tokens=7)
    assert problems == (
        "concurrency must be a whole number from 1 to 1,000,000, got 'x'; 1 is taken",
        (
            "the model of the link cannot be used, the default is taken: name must be text of 1 to 80 characters, "
            "got ''"
        ),
        (
            "the hardware of the link cannot be used, the default is taken: bandwidth_gb_s of your own hardware is "
            "missing; its datasheet has the number"
        ),
    )
