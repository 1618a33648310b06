"""Results kept on disk per machine, model, dtype and version, with the day they were measured."""

import datetime
import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from inference import APP_VERSION
from inference.files.cache_folder import cache_folder, write_whole

if TYPE_CHECKING:
    from inference.engine import Engine

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Page(Generic[T]):
    name: str
    measured_on: str
    result: T


class Kept:
    """One folder for one machine, model, dtype, thread count and version of everything that sets the speed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of(cls, engine: "Engine") -> "Kept":
        import torch  # noqa: PLC0415  # pages read what is kept, and must not wait for it

        from inference.device import device_name  # noqa: PLC0415  # the same

        machine = [APP_VERSION, torch.__version__, torch.get_num_threads(), device_name(engine.device)]
        what = [*machine, engine.name, engine.revision, engine.dtype]
        return cls(cache_folder() / "measured" / _digest("\n".join(map(str, what))))

    def today(self) -> str:
        return datetime.date.today().isoformat()

    def read(self, name: str, kind: type[T]) -> tuple[T, str] | None:
        """The result and its date; None if it was never measured or cannot be read any more."""
        try:
            content = self._path(name).read_bytes()  # a page asks at every run: no schema for what is not there
            page = _adapter(kind).validate_json(content)
        except (OSError, ValidationError):
            return None
        return (page.result, page.measured_on) if page.name == name else None

    def write(self, name: str, kind: type[T], result: T) -> str:
        """Keep a result, atomically; returns its date. A full disk costs the keeping, not the result."""
        page = _Page(name, self.today(), result)
        try:
            write_whole(self._path(name), _adapter(kind).dump_json(page))
        except OSError as error:
            log.warning("A measurement cannot be kept (%s); it is lost when the server stops", error)
        return page.measured_on

    def _path(self, name: str) -> Path:
        return self.folder / f"{_digest(name)}.json"


def _adapter(kind: type[T]) -> "TypeAdapter[_Page[T]]":
    return TypeAdapter(_Page[kind])  # type: ignore[valid-type]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
