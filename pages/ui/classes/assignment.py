"""An assignment: what a teacher's link carries, written into the database and read back."""

from dataclasses import asdict, dataclass
from urllib.parse import parse_qs, urlsplit

from pydantic import TypeAdapter

from inference.run.recipe import LONGEST_LINK, Recipe, from_query
from quizzes.progress.progress import Settings


@dataclass(frozen=True, slots=True)
class Assignment:
    lessons: tuple[str, ...]
    """Their ids, in the order of the course."""
    query: str = ""
    """Prompt and sampling settings as in a link from Step through; empty for none."""
    model: str = ""
    """Only said where another one answers."""
    name: str = ""
    """What the teacher calls the class: typed, so never markup. Empty in classes of older versions."""

    @property
    def recipe(self) -> Recipe | None:
        return from_query(parse_qs(self.query))[0]

    def to_settings(self) -> Settings:
        return asdict(self) | {"lessons": list(self.lessons)}


_ASSIGNMENT = TypeAdapter(Assignment)


def from_settings(settings: Settings) -> Assignment:
    return _ASSIGNMENT.validate_python(settings)


def read_link(address: str) -> Recipe:
    """The recipe in a pasted link. ValueError says what is wrong with it.

    Only the recipe is taken: the link may hold the key of whoever copied it.
    """
    if len(address) > 2 * LONGEST_LINK:
        raise ValueError(f"the link has {len(address):,} characters; take a prompt that fits into {LONGEST_LINK:,}")
    try:
        query = urlsplit(address.strip()).query
    except ValueError:
        raise ValueError("this is no link; copy one from Step through, under Export") from None
    recipe, problems = from_query(parse_qs(query))
    if recipe is None:
        raise ValueError("this link carries no prompt; copy one from Step through, under Export")
    if problems:
        raise ValueError("; ".join(problems))
    return recipe
