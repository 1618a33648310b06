"""What a work yields and returns, when it is driven from outside."""

from collections.abc import Generator

from inference.jobs.drive import Drive, drained


def halves(number: int) -> Generator[int, None, str]:
    while number > 1:
        number //= 2
        yield number
    return "done"


def test_a_work_is_run_to_its_end_with_everything_it_yields() -> None:
    assert drained(halves(8)) == ("done", [4, 2, 1])
    assert drained(halves(1)) == ("done", [])


def test_a_driven_work_goes_on_only_as_far_as_its_loop() -> None:
    drive = Drive(halves(8))
    for number in drive:
        assert number == 4
        break
    assert not hasattr(drive, "result")
