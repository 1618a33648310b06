"""What speculation should bring: expected tokens per pass and gain in time, after Leviathan et al. 2023.

arXiv 2211.17192, equation 1 and theorem 3.8. Both take every drafted token to be accepted with the same chance,
whatever came before it; the paper says so, and real text keeps to it only roughly.
"""

import math

from inference.arithmetic.ranges import SHARE, Range


def expected_tokens(acceptance: float, num_drafted: int) -> float:
    """Tokens one pass of the model yields if each of `num_drafted` tokens is accepted with this chance.

    From 1, where nothing is accepted, to `num_drafted` + 1: the pass itself always adds a token.
    """
    SHARE.number("acceptance", acceptance)
    Range(0, math.inf).whole("the number of drafted tokens", num_drafted)
    if acceptance == 1:
        return float(num_drafted + 1)
    return float((1 - acceptance ** (num_drafted + 1)) / (1 - acceptance))


def expected_gain(acceptance: float, num_drafted: int, *, draft_cost: float, pass_cost: float = 1.0) -> float:
    """Times as fast as plain decoding.

    `draft_cost` is the time to draft one token, `pass_cost` that of the pass over all drafted tokens, both over the
    time of a plain decode step. The theorem has a `pass_cost` of 1: a pass over a few tokens costs what a pass
    over one does, because both wait for the same weights.
    """
    if draft_cost < 0 or pass_cost <= 0:
        raise ValueError(f"costs must be positive, got {draft_cost} to draft and {pass_cost} for the pass")
    return expected_tokens(acceptance, num_drafted) / (num_drafted * draft_cost + pass_cost)
