"""One workload on one deployment: what it takes and what its readers wait."""

from inference.planner.deployment import Deployment, Workload
from inference.planner.plan import Plan, at_best, plan

__all__ = ["Deployment", "Plan", "Workload", "at_best", "plan"]
