"""Numbers as the screen writes them; they are written the same way in lessons, so `inference.units` has them."""

from inference.units import percent, scaled, seconds, significant

__all__ = ["percent", "scaled", "seconds", "significant"]
