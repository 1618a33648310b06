"""Where drafts come from: look-up in the text so far, or a smaller model named by TWOPHASES_DRAFT."""

import os
from collections.abc import Sequence

LOOK_UP = "prompt look-up"
LONGEST_MATCH, SHORTEST_MATCH = 3, 2


def draft_name() -> str | None:
    """The smaller model that this server may draft with: a folder, a hub id or `random:SHAPE`."""
    return os.environ.get("TWOPHASES_DRAFT") or None


def look_up(token_ids: Sequence[int], num_tokens: int) -> tuple[int, ...]:
    """Up to `num_tokens` tokens that followed the newest ones when these stood in the text before.

    The longest match wins, then the latest. Empty where the newest tokens are new.
    """
    ids = list(token_ids)
    for length in range(min(LONGEST_MATCH, len(ids) - 1), SHORTEST_MATCH - 1, -1):
        newest = ids[-length:]
        for start in range(len(ids) - length - 1, -1, -1):
            if ids[start : start + length] == newest:
                return tuple(ids[start + length : start + length + num_tokens])
    return ()
