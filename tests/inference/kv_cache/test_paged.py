"""Blocks, waste and sharing by hand calculation."""

import pytest

from inference.kv_cache.paged import Conversation, equal_start, layout, same_beginning

ALONE = Conversation("alone", prompt_tokens=20, cached_tokens=37, reserved_tokens=84)


def test_tokens_fill_blocks_and_only_the_last_is_partly_empty() -> None:
    found = layout([ALONE], block_size=16)
    (row,) = found.rows
    assert row.table == (0, 1, 2)
    assert row.empty_tokens == 48 - 37
    assert found.num_blocks == 3


def test_waste_is_the_end_of_last_blocks_against_the_unused_reservation() -> None:
    second = Conversation("second", prompt_tokens=16, cached_tokens=16, reserved_tokens=116)
    found = layout([ALONE, second], block_size=16)
    assert found.empty_tokens == 11 + 0
    assert found.reserved_tokens == 84 + 116
    assert found.unused_tokens == (84 - 37) + (116 - 16)


def test_blocks_of_one_token_waste_nothing() -> None:
    found = layout([ALONE], block_size=1)
    assert (found.num_blocks, found.empty_tokens) == (37, 0)


def test_a_block_larger_than_the_conversation_is_mostly_empty() -> None:
    found = layout([ALONE], block_size=256)
    assert (found.num_blocks, found.empty_tokens) == (1, 256 - 37)


def test_prompts_get_neighbouring_blocks_and_growth_takes_turns() -> None:
    # 3 and 2 tokens of prompt in blocks of 2: 2 + 1 blocks; then 7 and 5 tokens need two more each
    pair = [Conversation("a", 3, 7, 9), Conversation("b", 2, 5, 9)]
    assert [row.table for row in layout(pair, block_size=2).rows] == [(0, 1, 3, 5), (2, 4, 6)]


def test_an_equal_beginning_shares_full_blocks_only() -> None:
    first = Conversation("first", prompt_tokens=40, cached_tokens=50, reserved_tokens=100)
    second = Conversation("second", 45, 45, 100, same_as=0, same_tokens=39)
    found = layout([first, second], block_size=16)
    # 39 equal tokens fill two blocks of 16; prompts: blocks 0-2 and 0, 1, 3; then the first needs a fourth
    assert [row.table for row in found.rows] == [(0, 1, 2, 4), (0, 1, 3)]
    assert [row.num_shared for row in found.rows] == [0, 2]
    assert (found.num_blocks, found.num_saved) == (5, 2)


def test_two_thousand_equal_tokens_are_125_blocks() -> None:
    pair = [Conversation("a", 2100, 2100, 2200), Conversation("b", 2100, 2100, 2200, same_as=0, same_tokens=2000)]
    found = layout(pair)
    assert found.num_saved == 125
    assert found.num_blocks == 2 * 132 - 125  # 2,100 tokens take 131.25 blocks


def test_a_third_shares_with_whoever_begins_most_alike() -> None:
    prompts = [[1, 2, 3, 4, 5], [1, 2, 9], [1, 2, 9, 8], [7]]
    assert same_beginning(prompts, 0) == (None, 0)
    assert same_beginning(prompts, 1) == (0, 2)
    assert same_beginning(prompts, 2) == (1, 3)
    assert same_beginning(prompts, 3) == (None, 0)


def test_equal_tokens_count_from_position_zero_only() -> None:
    assert equal_start([1, 2, 3], [1, 2, 4]) == 2
    assert equal_start([9, 2, 3], [1, 2, 3]) == 0
    assert equal_start([1, 2], [1, 2, 3]) == 2
    assert equal_start([], [1]) == 0


def test_no_conversation_takes_no_block() -> None:
    found = layout([])
    assert (found.num_blocks, found.empty_tokens, found.unused_tokens) == (0, 0, 0)


@pytest.mark.parametrize("block_size", [0, -1, 257])
def test_a_block_size_nobody_uses_is_refused(block_size: int) -> None:
    with pytest.raises(ValueError, match=f"1 to 256 tokens, got {block_size}"):
        layout([ALONE], block_size=block_size)


@pytest.mark.parametrize("lengths", [(0, 5, 9), (6, 5, 9), (3, 10, 9)])
def test_lengths_that_cannot_be_are_refused(lengths: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="rise in this order"):
        Conversation("odd", *lengths)


def test_sharing_with_nobody_before_or_more_than_a_prompt_is_refused() -> None:
    with pytest.raises(ValueError, match="earlier conversation"):
        layout([Conversation("a", 5, 5, 9, same_as=0, same_tokens=3)])
    with pytest.raises(ValueError, match="earlier conversation"):
        layout([Conversation("a", 2, 9, 9), Conversation("b", 5, 5, 9, same_as=0, same_tokens=3)])
    with pytest.raises(ValueError, match="6 equal tokens, but the prompt has fewer"):
        Conversation("b", 5, 5, 9, same_as=0, same_tokens=6)
