"""The simulated caches serve what real ones would, and nothing else."""

from __future__ import annotations

import copy

from tests.support.prefix_cache import cost_of_run

MARK = {"cache_control": {"type": "ephemeral"}}
LONG = "a sentence of the system prompt. " * 300


def conversation(messages, marks=(), **fields):
    """A request whose messages say the given texts; those at `marks` are marked."""
    blocks = [{"type": "text", "text": text} for text in messages]
    for at in marks:
        blocks[at].update(MARK)
    sent = [{"role": ("user", "assistant")[at % 2], "content": [block]} for at, block in enumerate(blocks)]
    return {"model": "m", "system": [{"type": "text", "text": LONG}], "messages": sent, **fields}


def texts(count):
    return [f"message {number} " * 50 for number in range(count)]


def test_a_conversation_that_only_grows_is_served_but_for_the_last_step():
    cost = cost_of_run([conversation(texts(count)) for count in (1, 3, 5)], by_marks=False)
    assert cost.possible - 2 * 128 < cost.served <= cost.possible < cost.sent


def test_what_comes_after_a_change_is_not_served():
    first, second = conversation(texts(9)), conversation(texts(11))
    second["messages"][2]["content"][0]["text"] = "another"
    assert cost_of_run([first, second], by_marks=False).share < 0.9
    other_model = copy.deepcopy(first) | {"model": "n"}
    assert cost_of_run([first, other_model], by_marks=False).served == 0


def test_short_beginnings_are_not_kept():
    short = [conversation(texts(1), system=[]), conversation(texts(3), system=[])]
    assert cost_of_run(short, by_marks=False).served == 0


def test_where_marks_count_nothing_is_kept_without_one():
    grows = [conversation(texts(count)) for count in (1, 3, 5)]
    assert cost_of_run(grows, by_marks=True).served == 0
    marked = [conversation(texts(count), marks=[count - 1]) for count in (1, 3, 5)]
    assert cost_of_run(marked, by_marks=True).share == 1


def test_a_beginning_is_found_twenty_blocks_before_a_mark_and_no_further():
    for more, found in ((20, True), (21, False)):
        run = [conversation(texts(1), marks=[0]), conversation(texts(1 + more), marks=[more])]
        assert (cost_of_run(run, by_marks=True).served > 0) == found
