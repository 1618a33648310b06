"""What the progress database keeps and answers, and what it refuses before any query."""

import re
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import JsonValue

MAX_ID_CHARS = 200
MAX_NICKNAME_CHARS = 40
MAX_SETTINGS_CHARS = 20_000

Settings: TypeAlias = dict[str, JsonValue]
"""What a teacher fixes in an assignment: lessons, model, settings of the labs."""

Remains: TypeAlias = Literal["nothing", "log", "server"]
"""Where deleted text may still be: nowhere; in a log that someone else holds; in a server's log or copies."""

_UNSEEN = {"Cc", "Cf", "Zl", "Zp"}  # control, format (what turns the direction too), separators of lines
_JOINERS = {"\u200c", "\u200d"}  # part of how Persian, Hindi and an emoji of several are written
_KEY = re.compile(r"[A-Za-z0-9_-]{22}")  # what token_urlsafe(16) makes: 128 random bits
_CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without 0, O, 1 and I, which are misread on a board
_CODE = re.compile(f"[{_CODE_LETTERS}]{{8}}")


class ProgressError(RuntimeError):
    """Nothing was kept, or nothing can be read now; the message names the remedy and may be shown to anyone."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """One answer as it stands in the database."""

    given: str
    is_correct: bool | None
    """None: a written answer nobody has judged."""
    idea: str
    answered_at: datetime


@dataclass(frozen=True, slots=True)
class Saved:
    """The receipt for an answer: what is stored under its submission, by this call or by an earlier one."""

    question_id: str
    answer: StoredAnswer
    is_new: bool
    """False: the same submission had arrived before; nothing was added."""


@dataclass(frozen=True, slots=True)
class Mastery:
    """How one idea stands: its questions by their newest graded answer."""

    right: int
    wrong: int
    due: datetime
    """When the first of the idea's questions is up for review."""
    stability: float
    """Days until the chance of recalling the weakest question falls to 90 % (FSRS)."""


@dataclass(frozen=True, slots=True)
class Class:
    """An assignment and how many joined it."""

    code: str
    settings: Settings
    created_at: datetime
    num_members: int


@dataclass(frozen=True, slots=True)
class ClassAnswer:
    """The newest answer of one member of a class to one question, without the learner's key."""

    member: int
    """Counts members from 1 in the order in which they joined: two may have one nickname."""
    nickname: str
    """As typed, so never markup; may be empty."""
    question_id: str
    answer: StoredAnswer


def new_key() -> str:
    return secrets.token_urlsafe(16)


def is_key(text: object) -> bool:
    """Whether new_key() could have made it; anything else never reaches a query."""
    return isinstance(text, str) and _KEY.fullmatch(text) is not None


def check_key(key: str) -> str:
    if not is_key(key):
        raise ProgressError(
            f"{_shown(key)} is no learner's key: one has 22 letters, digits, - or _. "
            "Open the course without it to get a new one. Nothing was saved."
        )
    return key


def new_code() -> str:
    return "".join(secrets.choice(_CODE_LETTERS) for _ in range(8))


def is_code(text: object) -> bool:
    return isinstance(text, str) and _CODE.fullmatch(text) is not None


def unknown_class(code: str) -> ProgressError:
    return ProgressError(f"There is no class {_shown(code)}; ask your teacher for the link again.")


def check_id(name: str, value: str) -> str:
    if not value:
        raise ProgressError(f"The {name} is empty. Nothing was saved.")
    return check_text(name, value, MAX_ID_CHARS)


def check_text(name: str, value: str, limit: int) -> str:
    """The value itself, if both databases can keep it: not too long, no NUL, no half of a surrogate pair."""
    if len(value) > limit:
        raise ProgressError(f"The {name} has at most {limit:,} characters, got {len(value):,}. Nothing was saved.")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ProgressError(
            f"The {name} holds a character that is no text (NUL or half of a pair); "
            "take it out and send it again. Nothing was saved."
        )
    return value


def check_line(name: str, value: str, limit: int) -> str:
    """The value itself, if it is one line that reads the same wherever it stands."""
    check_text(name, value, limit)
    for letter in value:
        if unicodedata.category(letter) in _UNSEEN and letter not in _JOINERS:
            raise ProgressError(
                f"The {name} holds an invisible character (U+{ord(letter):04X}); type it again without. "
                "Nothing was saved."
            )
    return value


def _shown(text: object) -> str:
    return repr(str(text)[:30])
