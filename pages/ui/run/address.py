"""The run on the main screen as its address: a link that reproduces it."""

from inference.run.recipe import LONGEST_LINK, Recipe
from pages.ui import state
from pages.ui.screen import Screen


def show_run_in_address(screen: Screen) -> None:
    """Up to the step looked at. A link that still has to be run stays as it is."""
    here = state.tab().run
    if here.link or here.target:
        return
    run = None if screen.is_recorded or screen.shown < 0 else screen.trace
    query = Recipe.of(run).until(screen.shown + 1).to_query() if run else ""
    state.show_in_address(query if len(query) <= LONGEST_LINK else "")
