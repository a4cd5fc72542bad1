from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_core.messages import Message, assistant_message, repaired, tool_call, tool_message, user_message
from agent_core.turn import SoundHistory

_CALLS = [tool_call(f"c{number}", "read_file", "{}") for number in range(3)]
_MESSAGES = st.sampled_from(
    [
        user_message("hello"),
        assistant_message("done"),
        assistant_message("", _CALLS[:1]),
        assistant_message("", _CALLS[1:]),
        *(tool_message(call, "text") for call in _CALLS),
    ]
)


@given(st.lists(st.tuples(st.integers(0, 8), st.lists(_MESSAGES, max_size=5)), max_size=6))
def test_a_history_that_changes_between_turns_is_repaired_as_if_it_were_seen_for_the_first_time(
    steps: list[tuple[int, list[Message]]],
) -> None:
    history, messages = SoundHistory(), list[Message]()
    for kept, more in steps:
        messages = [*messages[:kept], *more]
        assert history.take_up(messages, set()) == repaired(messages)


def test_ids_of_calls_are_told_once_for_each_message() -> None:
    history, ids = SoundHistory(), set[str]()
    said = [user_message("x"), assistant_message("", _CALLS[:1]), tool_message(_CALLS[0], "text")]
    history.take_up(said, ids)
    assert ids == {"c0"}
    ids.clear()
    history.take_up([*said, assistant_message("", _CALLS[1:])], ids)
    assert ids == {"c1", "c2"}


def test_the_list_that_is_given_is_the_turns_own() -> None:
    history = SoundHistory()
    taken = history.take_up([user_message("x")], set())
    taken.append(user_message("y"))
    assert history.take_up([user_message("x")], set()) == [user_message("x")]
