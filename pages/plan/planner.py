"""The planner: what to expect of a model on hardware under a workload, and how far off that is."""

from pages.ui.planner.screen import planner

planner()
