"""What a server is told by its environment, and which limit it names when it refuses."""

import pytest

from inference.engine import Engine
from inference.generation import Generation
from inference.jobs.limits import Limits


@pytest.mark.parametrize(
    "name",
    [
        "MAX_PROMPT_CHARS",
        "MAX_PROMPT_TOKENS",
        "MAX_NEW_TOKENS",
        "KV_BYTES_PER_LEARNER",
        "KV_BYTES_TOTAL",
        "MAX_LEARNERS",
    ],
)
def test_a_setting_that_is_no_size_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, name: str, subtests: pytest.Subtests
) -> None:
    words = f"TWOPHASES_{name} must be a whole number from 1 to .*, or leave it out for"
    for text in ("0", "-1", "²", "٣", "1e9", "", " ", "1_000", "9" * 5_000, "4.5"):
        monkeypatch.setenv(f"TWOPHASES_{name}", text)
        with subtests.test(text=text[:9]), pytest.raises(ValueError, match=words):
            Limits()


def test_caches_may_be_given_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWOPHASES_IDLE_SECONDS", "0")
    assert Limits().idle_s == 0
    monkeypatch.setenv("TWOPHASES_IDLE_SECONDS", "-1")
    with pytest.raises(ValueError, match="TWOPHASES_IDLE_SECONDS must be a whole number from 0 to"):
        Limits()


@pytest.mark.parametrize(
    ("one", "total", "told"),
    [
        (2_000_000, 1_000_000, "all learners together may hold 1 MB"),
        (1_000_000, 2_000_000, "a learner may hold 1 MB"),
    ],
)
def test_the_limit_that_refuses_is_the_one_named(tiny: Engine, one: int, total: int, told: str) -> None:
    limits = Limits(kv_bytes_per_learner=one, kv_bytes_total=total)
    with pytest.raises(ValueError, match=told):
        limits.check_kv(3_000_000, "This batch")
    small = Limits(kv_bytes_per_learner=one // 100, kv_bytes_total=total // 100)
    with pytest.raises(ValueError, match=told.replace("1 MB", "0 MB")):
        small.check_tokens(Generation(tiny, "x" * 400))
