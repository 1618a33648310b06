"""A learner without a mouse: Tab, Space, Enter, arrows and typing, and nothing else."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Locator, expect

from quizzes import PredictQuestion, Question, TermQuestion
from tests.browser.driving.lab_page import LabPage

_FOCUSED = """() => {
    const element = document.activeElement
    let card = ""
    for (let node = element; node && !card; node = node.parentElement)
        card = String(node.className?.baseVal ?? node.className).match(/st-key-card-([\\w-]+)/)?.[1] ?? ""
    const label = element.getAttribute("aria-label") || element.closest("label")?.innerText || element.innerText
    return { tag: element.tagName, label: (label ?? "").trim(), card }
}"""
_OPTION = """() => {
    const id = document.activeElement.getAttribute("aria-activedescendant")
    const option = id ? document.getElementById(id) : document.querySelector("[role=option][aria-selected=true]")
    return option?.innerText ?? ""
}"""
_MARKS = re.compile(r"[\s`*$]+")
MAX_STOPS = 40


@dataclass(frozen=True, slots=True)
class Focus:
    tag: str
    label: str
    card: str
    """The question, or other card, that holds it; empty outside of all."""

    def shows(self, text: str) -> bool:
        """Whether this is its label, whatever Markdown made of it."""
        return _MARKS.sub("", self.label) == _MARKS.sub("", text)


class Keyboard:
    """Answers questions rightly; a control that cannot be reached, or loses the focus, fails the test."""

    def __init__(self, lab: LabPage) -> None:
        self.lab, self.page = lab, lab.page
        self._answer: dict[str, Callable[[Question], None]] = {
            "choice": self._choose,
            "multiple": self._choose_several,
            "order": self._sort,
            "number": lambda question: self._type(_right(question)),
            "term": self._name,
            "predict": self._predict,
            "written": self._write,
        }

    def focus(self) -> Focus:
        return Focus(**self.page.evaluate(_FOCUSED))

    def tab(self) -> Focus:
        self.page.keyboard.press("Tab")
        return self.focus()

    def tab_to(self, is_it: Callable[[Focus], bool]) -> Focus:
        seen = [self.tab()]
        while not is_it(seen[-1]):
            assert len(seen) < MAX_STOPS, f"never reached; {[one.label[:30] for one in seen]}"
            seen.append(self.tab())
        return seen[-1]

    def press(self, key: str) -> None:
        """Press, let the page answer, and find the focus where it was."""
        card = self.focus().card
        with self.lab.answered():
            self.page.keyboard.press(key)
        assert self.focus().card == card, f"{key} took the focus away, to {self.focus()}"

    def answer(self, question: Question) -> None:
        """From outside its card to its verdict."""
        self.lab.wait_still()
        self.tab_to(lambda focus: focus.card == question.id)
        self._answer[question.kind](question)
        verdict = "Right." if question.kind not in ("predict", "written") else "Right.|Not quite.|Model answer"
        expect(self.card(question.id).get_by_text(re.compile(verdict)).first).to_be_visible(timeout=60_000)
        self.lab.wait_still()  # what is drawn last may still be on its way
        assert self.focus().card == question.id, f"the focus is at {self.focus()}"

    def card(self, name: str) -> Locator:
        return self.page.locator(f".st-key-card-{name}").first

    def _button(self, label: str) -> None:
        card = self.focus().card
        self.tab_to(lambda focus: focus.tag == "BUTTON" and focus.label == label and focus.card == card)
        self.press("Enter")

    def _choose(self, question: Question) -> None:
        text = _texts(question)[_right(question)]
        self.press("Space")
        for _ in _texts(question):
            if self.focus().shows(text):
                break
            self.press("ArrowDown")
        assert self.focus().shows(text)
        self._button("Check")

    def _choose_several(self, question: Question) -> None:
        right = [_texts(question)[one] for one in _right(question).split(",")]
        for place in range(len(_texts(question))):
            focus = self.tab() if place else self.focus()
            if any(focus.shows(text) for text in right):
                self.press("Space")
        self._button("Check")

    def _sort(self, question: Question) -> None:
        for place, item in enumerate(_right(question).split(",")):
            if place:
                self.tab_to(lambda focus: focus.tag == "INPUT" and focus.card == question.id)
            text = _MARKS.sub("", _texts(question)[item])
            self._open_list()
            for _ in _texts(question):
                if _MARKS.sub("", self.page.evaluate(_OPTION)) == text:
                    break
                self.page.keyboard.press("ArrowDown")
            self.press("Enter")
        self._button("Check")

    def _open_list(self) -> None:
        """A list shuts when the page is drawn anew under it: a learner on a busy machine presses again."""
        option = self.page.get_by_role("option").first
        for _ in range(MAX_STOPS):
            self.page.keyboard.press("ArrowDown")
            self.page.wait_for_timeout(300)
            if option.is_visible():
                return
        raise AssertionError("the list of options never opened")

    def _type(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.press("Enter")

    def _name(self, question: Question) -> None:
        assert isinstance(question, TermQuestion)
        self._type(question.accepts[0])

    def _predict(self, question: Question) -> None:
        assert isinstance(question, PredictQuestion)
        self.tab_to(lambda focus: focus.tag == "INPUT" and focus.card == question.id)  # after the prompt's box
        self._type("5")
        self._button("Run")

    def _write(self, question: Question) -> None:
        self.page.keyboard.type(
            "Prefill reads the whole prompt in one pass; decode reads the weights for each token."
        )
        self._button("Compare with the rubric")


def _texts(question: Question) -> dict[str, str]:
    return {option.id: option.text for option in question.asked("").options}


def _right(question: Question) -> str:
    assert not isinstance(question, PredictQuestion), "its own run decides"
    return question.right()
