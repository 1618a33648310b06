"""Sizes and times of `claims` i, every cell, and the link that an H100 needs to keep up."""

import pytest

from inference.arithmetic.links import LINKS, cache_bytes, needed_bandwidth, transfer_s
from inference.catalogue import models

BY_NAME = {link.name: link for link in LINKS}


@pytest.mark.parametrize(
    ("model", "size_mb", "times_ms"),
    [  # NVLink, 400 Gbit/s, PCIe 4 x16, 10 GbE
        ("llama-3.1-8b", 268, (0.6, 5.4, 8.4, 215)),
        ("llama-3.1-70b", 671, (1.5, 13.4, 21, 537)),
        ("deepseek-v3", 144, (0.3, 2.9, 4.5, 115)),
    ],
)
def test_the_cache_of_2048_tokens_on_every_link(model: str, size_mb: int, times_ms: tuple[float, ...]) -> None:
    spec = models()[model]
    assert cache_bytes(spec, 2048) / 1e6 == pytest.approx(size_mb, abs=0.5)
    names = ("NVLink 4", "400 Gbit/s InfiniBand", "PCIe 4.0 x16", "10 GbE")
    for name, expected in zip(names, times_ms, strict=True):
        found_ms = transfer_s(spec, 2048, BY_NAME[name]) * 1e3
        assert found_ms == pytest.approx(expected, abs=0.051 if expected < 20 else 0.51), name


def test_mooncakes_example_of_a_70b_at_131072_tokens() -> None:
    spec = models()["llama-3.1-70b"]
    assert cache_bytes(spec, 131_072) / 2**30 == pytest.approx(40.0)
    assert cache_bytes(spec, 131_072) / 87e9 == pytest.approx(0.49, abs=0.005)  # its 87 GB/s on 4 x 200 Gbit/s
    assert cache_bytes(spec, 131_072) / 190e9 == pytest.approx(0.23, abs=0.005)


def test_a_worker_of_35400_tokens_a_second_needs_4_6_gb_a_second() -> None:
    """An H100 at half its peak."""
    needed = needed_bandwidth(models()["llama-3.1-8b"], 2048, prefill_s=2048 / 35_400)
    assert needed == pytest.approx(4.64e9, rel=0.005)
