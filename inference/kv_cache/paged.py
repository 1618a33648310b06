"""KV caches in blocks: block tables, what a last block leaves empty, and blocks shared by equal beginnings.

The sizes are counted from lengths alone; nothing here keeps a token.
"""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_TOKENS_PER_BLOCK = 256


@dataclass(frozen=True, slots=True)
class Conversation:
    """The lengths of one conversation, in tokens."""

    name: str
    prompt_tokens: int
    cached_tokens: int
    """In the cache now: the prompt and what was generated and fed back."""
    reserved_tokens: int
    """Prompt and maximum of new tokens: one contiguous reservation must hold the longest it may become."""
    same_as: int | None = None
    """Place of an earlier conversation that begins with the same tokens."""
    same_tokens: int = 0
    """How many of its first tokens are the same."""
    is_example: bool = False
    """Made up from settings, not somebody's run."""

    def __post_init__(self) -> None:
        if not 1 <= self.prompt_tokens <= self.cached_tokens <= self.reserved_tokens:
            raise ValueError(
                f"{self.name}: a prompt of {self.prompt_tokens:,} tokens, {self.cached_tokens:,} cached and "
                f"{self.reserved_tokens:,} reserved must be 1 or more and rise in this order"
            )
        if not 0 <= self.same_tokens <= self.prompt_tokens:
            raise ValueError(f"{self.name}: {self.same_tokens:,} equal tokens, but the prompt has fewer")


@dataclass(frozen=True, slots=True)
class Held:
    """Somebody's live cache: its lengths, and its bytes as measured on its tensors."""

    conversation: Conversation
    kv_bytes: int


@dataclass(frozen=True, slots=True)
class Paged:
    """One conversation in blocks."""

    conversation: Conversation
    table: tuple[int, ...]
    """The block table: which physical block holds its first tokens, its next, and so on."""
    num_shared: int
    """Blocks at the start of the table that an earlier conversation had filled."""
    empty_tokens: int
    """Slots of the last block without a token."""


@dataclass(frozen=True, slots=True)
class Layout:
    """All conversations in blocks of one size."""

    block_size: int
    rows: tuple[Paged, ...]
    num_blocks: int
    """Physical blocks; a shared one counts once."""

    @property
    def empty_tokens(self) -> int:
        """Slots that paging leaves empty: the ends of last blocks."""
        return sum(row.empty_tokens for row in self.rows)

    @property
    def reserved_tokens(self) -> int:
        """Slots of one contiguous reservation for each conversation."""
        return sum(row.conversation.reserved_tokens for row in self.rows)

    @property
    def unused_tokens(self) -> int:
        """Slots that contiguous reservations leave empty."""
        return self.reserved_tokens - sum(row.conversation.cached_tokens for row in self.rows)

    @property
    def num_saved(self) -> int:
        """Blocks that sharing saves."""
        return sum(row.num_shared for row in self.rows)


def layout(conversations: Sequence[Conversation], *, block_size: int = 16) -> Layout:
    """Prompts get their blocks as they arrive; then all grow together, a block each in turn.

    Only full blocks are shared: a last block that is still being filled belongs to one conversation.
    """
    if not 1 <= block_size <= MOST_TOKENS_PER_BLOCK:
        raise ValueError(f"a block must hold 1 to {MOST_TOKENS_PER_BLOCK} tokens, got {block_size}")
    tables: list[list[int]] = []
    shared, num_blocks = [], 0
    for place, conversation in enumerate(conversations):
        taken: list[int] = []
        if conversation.same_as is not None:
            if (
                not 0 <= conversation.same_as < place
                or conversation.same_tokens > conversations[conversation.same_as].prompt_tokens
            ):
                raise ValueError(
                    f"{conversation.name}: its first tokens must be those of an earlier conversation's prompt"
                )
            taken = tables[conversation.same_as][: conversation.same_tokens // block_size]
        own = _blocks(conversation.prompt_tokens, block_size) - len(taken)
        tables.append([*taken, *range(num_blocks, num_blocks + own)])
        shared.append(len(taken))
        num_blocks += own
    needed = [_blocks(conversation.cached_tokens, block_size) for conversation in conversations]
    while any(len(table) < number for table, number in zip(tables, needed, strict=True)):
        for table, number in zip(tables, needed, strict=True):
            if len(table) < number:
                table.append(num_blocks)
                num_blocks += 1
    rows = (
        Paged(conversation, tuple(table), count, len(table) * block_size - conversation.cached_tokens)
        for conversation, table, count in zip(conversations, tables, shared, strict=True)
    )
    return Layout(block_size, tuple(rows), num_blocks)


def equal_start(first: Sequence[int], second: Sequence[int]) -> int:
    """How many token ids two sequences have in common from position 0 on."""
    length = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        length += 1
    return length


def same_beginning(prompts: Sequence[Sequence[int]], place: int) -> tuple[int | None, int]:
    """Which earlier prompt begins most like the one at `place`, and with how many equal tokens: counts only."""
    lengths = [equal_start(earlier, prompts[place]) for earlier in prompts[:place]]
    most = max(lengths, default=0)
    return (lengths.index(most), most) if most else (None, 0)


def _blocks(num_tokens: int, block_size: int) -> int:
    return -(-num_tokens // block_size)
