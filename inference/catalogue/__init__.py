"""The models and machines of the YAML files beside this one, checked row by row."""

from functools import cache
from pathlib import Path

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.spec import ModelSpec
from inference.catalogue.rows import HardwareRow, ModelRow, load

HERE = Path(__file__).parent


@cache
def models() -> dict[str, ModelSpec]:
    """Every catalogued model by id, 16-bit weights and cache; `dataclasses.replace` gives other widths."""
    return {id: row.spec for id, row in load(HERE / "models.yaml", ModelRow, "models").items()}


@cache
def hardware() -> dict[str, Hardware]:
    """Every catalogued machine by id, datasheet numbers."""
    return {id: row.machine() for id, row in load(HERE / "hardware.yaml", HardwareRow, "hardware").items()}
