"""How many combinations of alternatives a schema spells: a compiler of grammars tries each."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

MAX_COMBINATIONS = 4_096
_MAX_REFERENCES = 64  # one after the other; what lies behind more of them is left to the trial


class Counter:
    """Counts in the parts of one schema, each part once."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._known: dict[int, int] = {}

    def count(self, node: object, depth: int = 0) -> int:
        """The product over `allOf` and what stands beside it, of the sums over `anyOf` and `oneOf`; no more than
        one above the most. A part that leads back to itself counts once."""
        if not isinstance(node, dict) or depth > _MAX_REFERENCES:
            return 1
        if id(node) in self._known:
            return self._known[id(node)]
        self._known[id(node)] = 1
        total = 1
        for name in ("anyOf", "oneOf"):
            if branches := _list(node.get(name)):
                total *= sum(self.count(branch, depth + 1) for branch in branches)
        for part in _list(node.get("allOf")):
            total = min(total * self.count(part, depth + 1), MAX_COMBINATIONS + 1)
        if "$ref" in node:
            total *= self.count(self._target(node["$ref"]), depth + 1)
        self._known[id(node)] = min(total, MAX_COMBINATIONS + 1)
        return self._known[id(node)]

    def _target(self, reference: object) -> object:
        """What a reference within the schema points to; None where there is nothing."""
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return self._root if reference == "#" else None
        node: object = self._root
        for step in reference[2:].split("/"):
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            node = node.get(name) if isinstance(node, dict) else None
        return node


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
