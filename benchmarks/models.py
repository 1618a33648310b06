"""The default model, loaded once and frozen as the server does it, and the prompt that is run on it."""

import gc
from functools import cache

from inference.engine import Engine

PROMPT = (  # greedy decoding does not reach the end token within the 600 tokens that are asked for
    "The lighthouse keeper had not spoken to anyone for eleven days when, on the twelfth morning, "
    "a small boat with a torn grey sail came around the point and"
)


@cache
def default_engine() -> Engine:
    engine = Engine.load()
    gc.collect()
    gc.freeze()
    return engine
