"""The second order, inside `inference/`: each room stands on the ones below it, and no import goes in a circle."""

from graphlib import CycleError, TopologicalSorter

import pytest

from tests.imports import files, graph, imports, modules, reaches

SPINE = ("engine", "device", "sampling", "generation", "recording", "trace", "cost")
"""One run, measured: the files beside the rooms."""
LABS = {
    *("kv_cache", "latency", "sampling_lab", "structure"),
    *("batching", "speculation", "prefix_caching", "disaggregation"),
}
_UNDER_LABS = {"arithmetic", "files", "weights", "run", "spine", "jobs", "machine"}
STANDS_ON = {
    "files": set[str](),
    "arithmetic": {"spine"},  # cost, which is as light
    "catalogue": {"arithmetic", "files"},
    "weights": {"catalogue", "files"},
    "run": {"arithmetic", "files", "spine"},  # of the spine the trace
    "spine": {"arithmetic", "weights", "run"},
    "jobs": {"arithmetic", "files", "run", "spine"},
    "machine": {"arithmetic", "files", "run", "spine", "jobs"},
    **dict.fromkeys(LABS, _UNDER_LABS),
    "planner": {"arithmetic", "files", "catalogue", "run", "spine"},
    "server": {"arithmetic", "weights", "run", "spine", "jobs", "machine"},
    "facts": {"arithmetic", "catalogue", "spine", "planner", "jobs", *LABS},
}
"""From the ground up."""
EXCEPTIONS = {
    ("prefix_caching", "kv_cache.paged"): "a prefix is shared block by block: the blocks are the cache's",
    ("speculation", "sampling_lab.records"): "its draws are counted by the same test",
    ("speculation", "sampling_lab.draws"): "its draws are counted by the same test",
    ("server", "kv_cache.paged"): "the blocks that this server's runs hold",
    ("planner", "kv_cache.growth"): "the planner stands on the labs' arithmetic",
    ("planner", "speculation.acceptance"): "the planner stands on the labs' arithmetic",
    ("planner", "prefix_caching.records"): "the planner stands on the labs' arithmetic",
    ("planner", "machine.sweeps"): "its records: the planner held against this machine",
}
"""A room and a module of a room that it would not stand on."""
CIRCLES = {
    # a trace writes and reads itself; the reading is parted from the record for its length
    frozenset({"inference.trace", "inference.run.trace_io", "inference.run.trace_bounds"}),
    # a lesson's page shows the lesson, which leads on to the next lesson's page
    frozenset({"pages.ui.course.page", "pages.ui.course.lesson"}),
}
LIGHT = {"torch", "transformers", "pandas"}


def _room(module: str) -> str:
    parts = module.split(".")
    return "spine" if len(parts) == 1 or parts[1] in SPINE else parts[1]


@pytest.mark.parametrize("room", STANDS_ON)
def test_a_room_stands_on_those_below_it(room: str) -> None:
    reached = {
        (module, target)
        for module, targets in graph().items()
        if module.startswith("inference.") and _room(module) == room
        for target in targets
        if target.startswith("inference.") and _room(target) not in STANDS_ON[room] | {room}
    }
    wrong = {
        (module, target)
        for module, target in reached
        if (room, target.removeprefix("inference.")) not in EXCEPTIONS
    }
    assert not wrong


def test_every_room_has_a_rule_and_every_exception_is_used() -> None:
    rooms = {_room(module) for module in modules() if module.startswith("inference.")}
    assert rooms == set(STANDS_ON)
    pairs = {(_room(module), target.removeprefix("inference.")) for module, to in graph().items() for target in to}
    assert set(EXCEPTIONS) <= pairs


def test_imports_go_in_no_circle_but_the_two_that_are_meant() -> None:
    edges = {module: set(targets) for module, targets in graph().items()}
    for circle in CIRCLES:
        for module in circle:
            edges[module] -= circle
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' <- '.join(error.args[1])}")


def test_arithmetic_the_catalogue_and_all_records_import_nothing_heavy() -> None:
    light = [path for folder in ("arithmetic", "catalogue") for path in files(f"inference/{folder}")]
    light += [path for path in files("inference") if path.stem.endswith("records")]
    light += [modules()[f"inference.{name}"] for name in ("cost", "trace", "run.params")]
    heavy = {path.as_posix(): found for path in light if (found := reaches(imports(path, only_top=True), LIGHT))}
    assert len(light) > 20
    assert not heavy


def test_no_folder_of_the_product_holds_more_than_a_reader_takes_in() -> None:
    folders = {path.parent for path in modules().values()}
    full = {folder.as_posix(): num for folder in folders if (num := len(list(folder.glob("*.py")))) > 16}
    assert not full
