"""Numbers as the screen and the lessons write them; `inference.arithmetic.units` has them."""

from inference.arithmetic.units import UNKNOWN, count, percent, scaled, seconds, significant

__all__ = ["UNKNOWN", "count", "percent", "scaled", "seconds", "significant"]
