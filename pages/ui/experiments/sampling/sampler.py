"""What every view of the sampling lab shares: the context, its next token's logits, and the sampler's settings."""

from dataclasses import dataclass, field

import streamlit as st

from inference.jobs.experiments import Job
from inference.run.params import SamplingParams
from inference.sampling_lab.next_token import NextToken, find_token, prompt_job, step_job
from pages.ui import state
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.measurement import at_once, run_job
from pages.ui.screen import sentence

PROMPTS = {
    "A story begins": "Once upon a time, there was a",
    "A known fact": "The capital of France is",
    "A list goes on": "Monday, Tuesday, Wednesday,",
    "A line of code": "def fibonacci(n):\n    ",
}
TYPED, RUN = "a prompt typed here", "your run"
FIRST, LAST = "first", "last"
_TOP_K = (0, 1, 2, 3, 5, 10, 20, 40, 50, 100, 200, 500, 1_000, 10_000)
_MOST_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    prompt: str = PROMPTS["A story begins"]
    temperature: float = 0.7
    top_k: int = 50
    top_p: float = 0.9
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    biased_token: str = ""
    """A token's text or id; empty for no bias."""
    bias: int = 5
    seed: int = 0
    temperature_last: bool = False


@dataclass(frozen=True, slots=True)
class Sampler:
    """What the controls say."""

    job: Job[NextToken] | None
    """None where there is no run to look at."""
    params: SamplingParams
    problems: list[str] = field(default_factory=list)

    @property
    def version(self) -> object:
        return (self.job.name if self.job else "", self.params)


def sampler(controls: Controls, settings: SamplerSettings, key: str, *, has_order: bool = True) -> Sampler:
    """Two lines of controls; what cannot be read from them is left out, and said."""
    problems: list[str] = []
    with row(f"{key}-numbers"):
        temperature = controls.slider("Temperature", settings.temperature, 0.0, 2.0, 0.1, width=_SLIDER)
        top_k = controls.steps("Top-k", _TOP_K, settings.top_k, format_func=_count, width=_SLIDER)
        top_p = controls.slider("Top-p", settings.top_p, 0.05, 1.0, 0.05, width=_SLIDER)
        min_p = controls.slider("Min-p", settings.min_p, 0.0, 0.5, 0.01, width=_SLIDER)
        penalty = controls.slider("Repetition penalty", settings.repetition_penalty, 1.0, 2.0, 0.1, width=_SLIDER)
    with row(f"{key}-context"):
        job = _context(controls, settings, problems)
        logit_bias = _bias(controls, settings, problems)
        seed = controls.number("Seed", settings.seed, 0, 10_000, width=110)
        is_last = settings.temperature_last
        if has_order:
            is_last = controls.choice("Temperature is", (FIRST, LAST), LAST if is_last else FIRST) == LAST
    params = SamplingParams(temperature, top_k, top_p, min_p, penalty, logit_bias, seed, is_last)
    return Sampler(job, params, problems)


_SLIDER = 168


def _count(top_k: int) -> str:
    return f"{top_k:,}" if top_k else "all"


def _context(controls: Controls, settings: SamplerSettings, problems: list[str]) -> Job[NextToken] | None:
    names = {prompt: name for name, prompt in PROMPTS.items()}
    chosen = controls.select(
        "Next token after",
        [*PROMPTS, TYPED, RUN],
        names.get(settings.prompt, TYPED),
        format_func=_source,
        width=190,
    )
    if chosen == RUN:
        return _run_job(problems)
    if chosen == TYPED:
        return prompt_job(controls.text("Prompt", settings.prompt, max_chars=_MOST_CHARS))
    return prompt_job(PROMPTS[chosen])


def _source(name: str) -> str:
    run = state.live_run()
    if name != RUN or run is None:
        return name
    return f"{RUN}, step {_shown(len(run.trace.steps)) + 1}"


def _shown(num_steps: int) -> int:
    """Index of the step on the main screen."""
    run = state.tab().run
    shown = None if run.opened else run.shown
    return num_steps - 1 if shown is None else min(shown, num_steps - 1)


def _run_job(problems: list[str]) -> Job[NextToken] | None:
    run = state.live_run()
    if run is None or not run.trace.steps:
        problems.append("There is no run of yours yet: press Prefill under Step through, and come back.")
        return None
    index = _shown(len(run.trace.steps))
    num_context = len(run.trace.prompt_tokens) + index
    return step_job(run.generation, run.trace.token_ids[:num_context], index)


def _bias(controls: Controls, settings: SamplerSettings, problems: list[str]) -> dict[int, float] | None:
    with st.container(width=_SLIDER):  # a typed prompt takes the rest of the line
        text = controls.text("Bias a token, by text or id", settings.biased_token, max_chars=60)
    bias = controls.number("Logit bias", settings.bias, -100, 100, width=120)
    engine = state.laboratory().engine
    if not text or engine is None:
        return None
    try:
        token_id = state.laboratory().with_engine(lambda engine: find_token(engine.tokenizer, text))
        SamplingParams(logit_bias={token_id: bias}).check_vocabulary(engine.spec.vocab_size)
    except ValueError as error:
        problems.append(sentence(error))
        return None
    return {token_id: float(bias)} if bias else None


def next_token(job: Job[NextToken] | None, *, key: str) -> NextToken | None:
    """The logits, from one pass that runs by itself the first time; a line of progress while it has to wait."""
    if job is None:
        return None
    return at_once(job) or run_job(job, key=f"{key}-pass", label="Run")
