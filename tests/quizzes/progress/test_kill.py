"""Processes that write to one database: started at once, and killed in the middle of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from quizzes.progress.progress import Progress

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
NUM_ANSWERS = 60


def learner(url: str, key: str, name: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.quizzes.answering", url, key, name]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def killed_in_the_middle(process: "subprocess.Popen[str]") -> set[str]:
    """The answers it had acknowledged when SIGKILL hit it, the last one perhaps cut short."""
    assert process.stdout
    lines = [process.stdout.readline() for _ in range(NUM_ANSWERS)]
    process.kill()
    lines += process.stdout.readlines()
    process.stdout.close()
    assert process.wait() == -9, "it ended before it was killed"
    return {line.strip() for line in lines if line.endswith("\n")}


def test_every_acknowledged_answer_survives_kill_9(url: str) -> None:
    key = Progress(url).new_key()
    acknowledged: set[str] = set()
    for life in range(3):
        acknowledged |= killed_in_the_middle(learner(url, key, f"life-{life}"))
    after = Progress(url)
    assert len(acknowledged) >= 3 * NUM_ANSWERS
    kept = after.answers(key)
    assert acknowledged <= set(kept)
    assert after.mastery(key)["i"].right == len(kept), "an answer without its review would be half a write"
    assert after.answer(key, "after", "x", is_correct=True, idea="i", submission="after").is_new
    after.close()


def test_servers_that_start_at_once_on_an_empty_database_share_it(url: str) -> None:
    key = Progress(url).new_key()
    processes = [learner(url, key, f"server-{number}") for number in range(3)]
    acknowledged = set().union(*(killed_in_the_middle(process) for process in processes))
    after = Progress(url)
    assert acknowledged <= set(after.answers(key))
    assert {name.split("-")[1] for name in acknowledged} == {"0", "1", "2"}
    after.close()
