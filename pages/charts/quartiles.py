"""The spread of measured repeats, drawn the same way at every line of medians."""

from collections.abc import Sequence

import numpy as np

from inference.machine.sweeps import SweepPoint


def medians_ms(points: Sequence[SweepPoint]) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array([point.median_s * 1e3 for point in points])


def quartiles_ms(points: Sequence[SweepPoint]) -> dict[str, object]:
    """Plotly's error bars from the first to the third quartile."""
    medians = medians_ms(points)
    return {
        "array": np.array([point.upper_s * 1e3 for point in points]) - medians,
        "arrayminus": medians - np.array([point.lower_s * 1e3 for point in points]),
        "thickness": 1.2,
        "width": 4,
    }
