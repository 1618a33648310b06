"""Predict, then see: the learner's guess is kept and stands beside the outcome."""

from dataclasses import dataclass

import streamlit as st

from pages.ui import actions, state
from pages.ui.learner import saved
from pages.ui.parts.framed import framed


@dataclass(frozen=True, slots=True)
class Bins:
    """The options of a question after a number, from small to large."""

    named: tuple[tuple[float, str], ...]
    """Thresholds, each with the name of what lies under it and under no other."""
    above: str
    """The name of everything from the last threshold on."""

    @property
    def options(self) -> tuple[str, ...]:
        return (*(name for _, name in self.named), self.above)

    def name_of(self, value: float) -> str:
        return next((name for threshold, name in self.named if value < threshold), self.above)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A question asked before the measurement. All of it is ours: it may hold Markdown."""

    id: str
    prompt: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured or computed."""

    right: str
    """The option that it bears out; one of the prediction's."""
    sentence: str
    """With the number, and whether it is measured or computed."""


def predict(prediction: Prediction, outcome: Outcome | None, *, how: str = "Measure to see.") -> None:
    """Ask; once there is a guess, show the outcome beside it, or `how` the learner gets to it."""
    guess = saved.lab_guess(prediction.id)
    with framed(f"predict-{prediction.id}"):
        st.markdown(f"**Predict first.** {prediction.prompt}")
        st.segmented_control(
            prediction.prompt,
            prediction.options,
            default=guess,
            key=f"predict-{prediction.id}",
            label_visibility="collapsed",
            on_change=actions.guess,
            args=(prediction.id,),
        )
        st.text(_words(guess, outcome, how))


def veiled(prediction: Prediction, outcome: Outcome | None) -> bool:
    """Whether what is known already stays hidden: until this learner has guessed, or wants to see it without."""
    answering = state.tab().answering
    if outcome is None or saved.lab_guess(prediction.id) is not None or prediction.id in answering.shown_outcomes:
        answering.predicting = prediction.id
        return False
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"veil-{prediction.id}"):
        st.text("The result is known already. It is shown once you have predicted it.")
        st.button("Show me", key=f"show-{prediction.id}", on_click=actions.show_outcome, args=(prediction.id,))
    return True


def _words(guess: str | None, outcome: Outcome | None, how: str) -> str:
    if guess is None:
        return "Choose one: a guess you can check teaches more than a number you are told."
    if outcome is None:
        return f"You predicted {guess}. {how}"
    verdict = "as it turned out" if guess == outcome.right else f"it is {outcome.right}"
    return f"You predicted {guess}; {verdict}. {outcome.sentence}"
