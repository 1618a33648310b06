"""Queues against the textbook formulas, within the error that sampling leaves."""

import math

import numpy as np
import pytest

from inference.latency.queueing import Waits, expected_wait_s, simulate

MANY = 400_000


def _standard_error(waits: Waits) -> float:
    """Of the mean wait. Waits of neighbours are alike, so the error is that of the means of 100 long batches."""
    batches = np.array(waits.waits_s).reshape(100, -1).mean(axis=1)
    return float(batches.std(ddof=1) / math.sqrt(len(batches)))


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_equal_service_times_wait_as_m_d_1_says(load: float) -> None:
    waits = simulate([0.5], load=load, num_requests=MANY, seed=1)
    by_hand = load * 0.5 / (2 * (1 - load))
    assert waits.mean_s == pytest.approx(by_hand, abs=4 * _standard_error(waits))
    assert expected_wait_s([0.5], load) == pytest.approx(by_hand)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_exponential_service_times_wait_as_m_m_1_says(load: float) -> None:
    services = np.random.default_rng(7).exponential(0.5, 100_000)
    services *= 0.5 / services.mean()
    waits = simulate(services.tolist(), load=load, num_requests=MANY, seed=2)
    by_hand = load * 0.5 / (1 - load)
    assert waits.mean_s == pytest.approx(by_hand, abs=4 * _standard_error(waits) + 0.02 * by_hand)
    assert expected_wait_s(services.tolist(), load) == pytest.approx(by_hand, rel=0.02)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_the_slowest_of_a_hundred_m_m_1_stays_is_4_6_means_at_any_load(load: float) -> None:
    """Sojourn times of M/M/1 are exponential: their 99th percentile is ln(100) = 4.6 means."""
    services = np.random.default_rng(8).exponential(1.0, 100_000)
    waits = simulate(services.tolist(), load=load, num_requests=MANY, seed=3)
    stays = np.array(waits.waits_s) + np.array(waits.services_s)
    assert np.percentile(stays, 99) / stays.mean() == pytest.approx(math.log(100), rel=0.08)


def test_waits_are_those_of_a_clock_followed_by_hand() -> None:
    """The recursion, against a loop that keeps the time at which the server is free."""
    waits = simulate([1.0, 0.2, 2.5], load=0.7, num_requests=200, seed=5)
    rng = np.random.default_rng(5)
    services = rng.choice(np.array([1.0, 0.2, 2.5]), 200)
    arrivals = np.cumsum(rng.exponential(1.0, 200) * services_mean() / 0.7)
    free_s, expected = 0.0, []
    for arrival, service in zip(arrivals, services, strict=True):
        expected.append(max(free_s - arrival, 0.0))
        free_s = max(free_s, arrival) + service
    assert waits.waits_s == pytest.approx(expected, abs=1e-9)


def services_mean() -> float:
    return (1.0 + 0.2 + 2.5) / 3


def test_the_mean_number_waiting_is_arrivals_times_mean_wait() -> None:
    """Little's law, with the number waiting integrated over time from arrivals and starts."""
    waits = simulate([0.5], load=0.7, num_requests=50_000, seed=9)
    rng = np.random.default_rng(9)
    rng.choice(np.array([0.5]), 50_000)
    arrivals = np.cumsum(rng.exponential(1.0, 50_000) * 0.5 / 0.7)
    starts = arrivals + np.array(waits.waits_s)
    duration = starts[-1]
    events = np.concatenate([np.stack([arrivals, np.ones(50_000)]), np.stack([starts, -np.ones(50_000)])], axis=1)
    times, changes = events[:, np.lexsort((-events[1], events[0]))]
    integrated = float((np.cumsum(changes)[:-1] * np.diff(times)).sum() / duration)
    assert integrated == pytest.approx(50_000 / duration * waits.mean_s, rel=1e-6)


def test_the_same_seed_gives_the_same_queue_and_another_does_not() -> None:
    first = simulate([0.1, 0.9], load=0.5, num_requests=100, seed=3)
    assert simulate([0.1, 0.9], load=0.5, num_requests=100, seed=3) == first
    assert simulate([0.1, 0.9], load=0.5, num_requests=100, seed=4) != first


def test_percentiles_are_numpys() -> None:
    waits = simulate([0.1, 0.9], load=0.8, num_requests=1000, seed=3)
    for percent in (50, 90, 99):
        assert waits.wait_percentile_s(percent) == pytest.approx(np.percentile(waits.waits_s, percent))


def test_nobody_waits_for_an_idle_server() -> None:
    assert set(simulate([0.5], load=0, num_requests=50, seed=0).waits_s) == {0.0}
    assert expected_wait_s([0.5], 0) == 0


@pytest.mark.parametrize("load", [1, 1.5, -0.1, math.nan])
def test_a_load_no_server_can_bear_is_refused(load: float) -> None:
    with pytest.raises(ValueError, match="load must be from 0 to below 1"):
        simulate([0.5], load=load, num_requests=10, seed=0)


@pytest.mark.parametrize("services", [[], [0.0], [0.5, -1.0]])
def test_service_times_that_cannot_be_are_refused(services: list[float]) -> None:
    with pytest.raises(ValueError, match="above 0 seconds"):
        simulate(services, load=0.5, num_requests=10, seed=0)
