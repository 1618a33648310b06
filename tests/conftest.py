"""Loads the engine's settings before anything loads torch."""

import inference  # noqa: F401
