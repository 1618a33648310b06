"""Loads the engine's settings before anything loads torch, and tests the default model whatever the shell says."""

import os

import inference  # noqa: F401

os.environ.pop("TWOPHASES_MODEL", None)
