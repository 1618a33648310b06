"""Numbers as the screen writes them; they are written the same way in lessons, so `inference.units` has them."""

from inference.units import UNKNOWN, count, percent, scaled, seconds, significant

__all__ = ["UNKNOWN", "count", "percent", "scaled", "seconds", "significant"]
