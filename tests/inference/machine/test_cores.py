"""The same pass with one core and with more."""

import pytest
import torch

from inference.device import cores
from inference.engine import Engine
from inference.jobs.drive import drained
from inference.jobs.limits import Limits
from inference.machine.cores import PASSES, by_pass, core_counts, cores_job, gain
from inference.machine.sweeps import Setting, SweepPoint


@pytest.fixture
def two_cores() -> object:
    """Two threads of torch's, also where the machine gives this process one core."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("most", "counts"), [(1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (8, (1, 2, 4, 8)), (12, (1, 2, 4, 8, 12))]
)
def test_cores_are_counted_in_powers_of_two_and_all_of_them(most: int, counts: tuple[int, ...]) -> None:
    assert core_counts(most) == counts


@pytest.mark.usefixtures("two_cores")
def test_each_pass_runs_with_as_many_cores_as_it_says_and_leaves_the_others_theirs(tiny: Engine) -> None:
    used: list[int] = []
    handle = tiny.model.register_forward_hook(lambda *_: used.append(torch.get_num_threads()))
    between: list[int] = []
    try:
        work = cores_job().begin(tiny, Limits())
        while True:
            next(work)
            between.append(torch.get_num_threads())
    except StopIteration as end:
        sweep = end.value
    finally:
        handle.remove()
    assert set(between) == {2}, "between its passes a learner's step has all cores"
    assert {1, 2} == set(used)
    assert [len(points) for points in by_pass(sweep)] == [2] * len(PASSES)
    assert [point.setting.num_cores for point in sweep.points] == [1, 2] * len(PASSES)
    assert not sweep.left_out


@pytest.mark.usefixtures("two_cores")
def test_nothing_is_compared_where_there_is_one_core(tiny: Engine) -> None:
    with cores(1), pytest.raises(ValueError, match="no second one"):
        cores_job().begin(tiny, Limits())


def test_a_gain_is_the_median_of_neighbours_so_that_a_slow_moment_counts_on_both_sides() -> None:
    one, more = (
        SweepPoint(Setting("decode", "decode", 1, 9, num_cores=count), times_s, (9.0,))
        for count, times_s in ((1, (2.0, 40.0, 2.0)), (2, (1.0, 20.0, 2.0)))
    )
    assert gain(one, more) == 2.0


@pytest.mark.usefixtures("two_cores")
def test_logits_do_not_depend_on_the_number_of_cores(tiny: Engine) -> None:
    with cores(1):
        one = tiny.forward([1, 2, 3], tiny.new_cache()).logits
    assert torch.allclose(one, tiny.forward([1, 2, 3], tiny.new_cache()).logits, atol=1e-5)


def test_a_job_drained_to_its_end_reports_what_it_is_doing(tiny: Engine) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        _, reports = drained(cores_job().begin(tiny, Limits()))
    finally:
        torch.set_num_threads(before)
    words = {report.doing for report in reports}
    assert "decode at 512 tokens, 1 core, warm-up" in words
    assert "decode at 128 tokens, batch 32, 2 cores" in words
