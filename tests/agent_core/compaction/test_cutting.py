"""Where a history may be cut, and what of it is protected."""

from __future__ import annotations

from agent_core.compaction.view import group_starts, head_end, last_words, tail_start
from agent_core.messages import assistant_message, injected_message, tool_call, tool_message, user_message
from tests.support.each import each

CALL = tool_call("a", "read_file", "{}")
SAID, ANSWER = user_message("go"), assistant_message("done")
CALLING, RESULT = assistant_message("", [CALL]), tool_message(CALL, "found")
CUT_OFF = {**assistant_message("half an ans"), "unfinished": True}
GO_ON, NEWS = injected_message("go on"), injected_message("the build has ended")


@each(
    ("messages", "starts"),
    [
        ([], []),
        ([SAID, ANSWER], [0, 1]),
        ([ANSWER, SAID], [0, 1]),
        ([SAID, CALLING, RESULT, RESULT, ANSWER], [0, 1, 4]),
        ([SAID, CUT_OFF, GO_ON, ANSWER, SAID], [0, 1, 4]),
        ([SAID, CUT_OFF, GO_ON, CUT_OFF, GO_ON, CALLING, RESULT, ANSWER], [0, 1, 7]),
        ([SAID, {**CALLING, "unfinished": True}, RESULT, GO_ON, ANSWER], [0, 1]),
        ([SAID, ANSWER, NEWS, ANSWER], [0, 1, 2, 3]),
        # Who speaks instead of waiting for the rest ends what was unfinished.
        ([SAID, CUT_OFF, SAID, ANSWER, NEWS], [0, 1, 2, 3, 4]),
    ],
)
def test_an_answer_is_not_parted_from_its_results_nor_from_the_rest_of_it(messages, starts):
    assert group_starts(messages) == starts


@each(("protected", "end"), [(0, 0), (1, 1), (2, 3), (3, 3), (4, 5), (5, 5), (9, 5)])
def test_the_protected_beginning_ends_between_groups(protected, end):
    messages = [SAID, CALLING, RESULT, ANSWER, SAID]
    assert head_end(messages, [0, 1, 3], protected) == end


@each(
    ("budget", "least", "start"),
    [
        (100, 0, 0),
        (40, 0, 0),
        (39, 0, 1),
        (10, 0, 3),
        # The last group belongs to it, whatever its size.
        (9, 0, 3),
        (0, 9, 3),
        # So many messages do, while they are not half as large again as the budget.
        (20, 2, 1),
        (20, 1, 3),
        (27, 3, 1),
        (27, 4, 0),
        (26, 4, 1),
    ],
)
def test_the_protected_end_is_as_many_groups_as_fit(budget, least, start):
    messages = [SAID, CALLING, RESULT, ANSWER]

    def ten_each(part):
        return 10 * len(part)

    assert tail_start(messages, [0, 1, 3], ten_each, budget, least) == start


def test_only_groups_that_are_named_belong_to_the_protected_end():
    assert tail_start([SAID, ANSWER, SAID], [2], len, 100, 0) == 2
    assert tail_start([SAID, ANSWER], [], len, 100, 0) == 2


@each(
    ("messages", "position"),
    [
        ([], None),
        ([ANSWER, NEWS], None),
        ([SAID], 0),
        ([SAID, ANSWER], 0),
        ([SAID, ANSWER, SAID], 2),
        ([SAID, SAID, ANSWER, NEWS, ANSWER], 1),
    ],
)
def test_the_persons_last_words_are_found(messages, position):
    assert last_words(messages) == position
