"""A stored session as events: order, ends of turns, plan and use, and turns that only have messages."""

from __future__ import annotations

import pytest

from agent_core.events import (
    AgentText,
    AgentThought,
    ContextUsed,
    PlanChanged,
    SaidDocument,
    SaidImage,
    SaidLink,
    SaidText,
    SessionEvent,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
    UserSaid,
)
from agent_core.messages import (
    INTERRUPTED_RESULT,
    Message,
    assistant_message,
    injected_message,
    tool_call,
    tool_message,
    user_message,
)
from agent_core.sessions.records import Hidden, StoredEvent, StoredMessage, TurnRecord
from agent_core.sessions.replay import replayed
from tests.support.journaled import CWD, transcript_of
from tools.context import TodoItem
from tools.result import ShownText, ToolResult

_PROMPT = UserSaid("u", (SaidText("Do it."),))
_PLAN = PlanChanged((TodoItem("1", "read", "pending"),))


def _turn(number: int = 1, ended: bool = True, outcome: str = "end_turn", note: str = "") -> TurnRecord:
    return TurnRecord(number, f"t{number}", 1.0, 2.0 if ended else None, outcome if ended else None, note)


def _items(*items: tuple[SessionEvent, ...] | SessionEvent, turn: int = 1) -> list[StoredEvent]:
    found = []
    for position, item in enumerate(items):
        events = item if isinstance(item, tuple) else (item,)
        is_call = isinstance(events[0], ToolAnnounced | ToolRequested)
        is_open = is_call and not isinstance(events[-1], ToolFinished)
        found.append(StoredEvent(turn, position, 1.0, events, is_open))
    return found


def _messages(*messages: Message, turn: int = 1, hidden: Hidden = "") -> list[StoredMessage]:
    return [StoredMessage(number, turn, message, 1.0, hidden) for number, message in enumerate(messages)]


def _open(*more: SessionEvent) -> tuple[SessionEvent, ...]:
    return (ToolRequested("c", "terminal", {"command": "x"}, CWD, announced=False), *more)


def test_turns_come_in_order_and_their_plans_and_use_at_the_end_as_they_stand() -> None:
    first = _items(_PROMPT, PlanChanged(()), ContextUsed(1, 9), AgentText("m1", "one"))
    second = _items(AgentText("m2", "two"), _PLAN, ContextUsed(2, 9), turn=2)
    third = _items(AgentText("m3", "three"), turn=3)
    transcript = transcript_of([_turn(3), _turn(1), _turn(2)], [*first, *second, *third])
    assert list(replayed(transcript)) == [
        _PROMPT,
        AgentText("m1", "one"),
        AgentText("m2", "two"),
        AgentText("m3", "three"),
        _PLAN,
        ContextUsed(2, 9),
    ]


def test_a_plan_that_was_emptied_is_not_shown() -> None:
    transcript = transcript_of([_turn(1), _turn(2)], [*_items(_PLAN), *_items(PlanChanged(()), turn=2)])
    assert list(replayed(transcript)) == []


class TestEnds:
    def test_a_turn_whose_process_died_says_that_it_was_interrupted(self) -> None:
        events = list(replayed(transcript_of([_turn(ended=False), _turn(2)], _items(AgentText("m", "half a sen")))))
        note = events[1]
        assert isinstance(note, AgentText)
        assert note.message_id == "t1-interrupted"
        assert note.text.startswith("\n\n"), "a client may draw it together with the text before it"
        assert "interrupted" in note.text
        assert len(events) == 2

    def test_a_note_after_something_else_than_text_has_no_gap(self) -> None:
        (_, note) = replayed(transcript_of([_turn(ended=False)], _items(AgentThought("m", "hm"))))
        assert isinstance(note, AgentText)
        assert note.text.startswith("*")

    def test_a_turn_without_any_event_is_told_as_well(self) -> None:
        (note,) = replayed(transcript_of([_turn(ended=False)]))
        assert isinstance(note, AgentText)

    def test_a_turn_that_failed_says_what_the_person_was_told(self) -> None:
        (_, note) = replayed(transcript_of([_turn(outcome="error", note="No model answered.")], _items(_PROMPT)))
        assert note == AgentText("t1-failed", "**This turn failed:** No model answered.")

    @pytest.mark.parametrize("outcome", ["end_turn", "cancelled", "refusal", ""])
    def test_other_ends_say_nothing_more(self, outcome: str) -> None:
        assert list(replayed(transcript_of([_turn(outcome=outcome)], _items(_PROMPT)))) == [_PROMPT]

    def test_the_last_turn_that_runs_elsewhere_is_not_called_interrupted(self) -> None:
        transcript = transcript_of(
            [_turn(ended=False), _turn(2, ended=False)],
            [*_items(_PROMPT), *_items(_open(), AgentText("m", "half"), turn=2)],
        )
        _, first, _, end, _, last = replayed(transcript, is_running=True)
        assert isinstance(first, AgentText)
        assert first.message_id == "t1-interrupted"
        assert isinstance(end, ToolFinished)
        assert "still running" in end.result.text
        assert isinstance(last, AgentText)
        assert last.message_id == "t2-running"

    def test_a_turn_that_ended_has_ended_whoever_holds_the_session(self) -> None:
        transcript = transcript_of([_turn()], _items(_PROMPT))
        assert list(replayed(transcript, is_running=True)) == [_PROMPT]


class TestOpenCalls:
    @pytest.mark.parametrize("ended", [True, False])
    def test_a_call_without_an_end_gets_one_that_says_it_was_interrupted(self, ended: bool) -> None:
        events = list(replayed(transcript_of([_turn(ended=ended)], _items(_open(), _PROMPT))))
        result = ToolResult(INTERRUPTED_RESULT, failed=True)
        assert events[1] == ToolFinished("c", "terminal", {"command": "x"}, CWD, result, ran=False)
        assert events[2] == _PROMPT

    @pytest.mark.parametrize(("text", "shown"), [('{"command": "x"}', {"command": "x"}), ("{broken", None)])
    def test_what_it_was_to_do_is_known_from_the_answer_that_called_it(
        self, text: str, shown: dict[str, str]
    ) -> None:
        messages = _messages(
            assistant_message("", [tool_call("b", "terminal", "{}"), tool_call("c", "terminal", text)])
        )
        events = _items((ToolAnnounced("c", "terminal", CWD),))
        first, *asked, end = replayed(transcript_of([_turn()], events, messages))
        assert isinstance(first, ToolAnnounced)
        assert asked == ([] if shown is None else [ToolRequested("c", "terminal", shown, CWD, announced=True)])
        assert isinstance(end, ToolFinished)
        assert end.arguments == (shown or {})

    @pytest.mark.parametrize("runs", [True, False])
    def test_one_of_a_sub_agent_is_still_its_own(self, runs: bool) -> None:
        asked = ToolRequested("c", "terminal", {}, CWD, announced=False, parent="p", by="Agent 3")
        running = (ToolRunning("c", "terminal", {}, CWD, by="Agent 3"),) if runs else ()
        events = list(replayed(transcript_of([_turn()], _items((asked, *running)))))
        end = events[-1]
        assert isinstance(end, ToolFinished)
        assert (end.by, end.ran) == ("Agent 3", runs)

    def test_what_it_printed_stays(self) -> None:
        running = ToolRunning("c", "terminal", {"command": "x"}, CWD)
        events = list(replayed(transcript_of([_turn()], _items(_open(running, ToolOutput("c", "a\nb\n", "b\n"))))))
        end = events[-1]
        assert isinstance(end, ToolFinished)
        assert end.ran
        assert end.result.shown[0] == ShownText("b\n", "")
        assert end.result.text == INTERRUPTED_RESULT

    def test_one_of_which_only_the_name_was_known(self) -> None:
        (_, end) = replayed(transcript_of([_turn()], _items((ToolAnnounced("c", "patch", CWD),))))
        assert isinstance(end, ToolFinished)
        assert (end.name, end.arguments, end.ran) == ("patch", {}, False)

    def test_a_note_in_place_of_an_open_item_that_cannot_be_read_has_no_end(self) -> None:
        note = AgentThought("note-tool-2", "…")
        assert list(replayed(transcript_of([_turn()], [StoredEvent(1, 0, 1.0, (note,), open=True)]))) == [note]


class TestMessages:
    def test_a_turn_that_was_not_taken_down_is_made_up_from_its_messages(self) -> None:
        call = tool_call("c", "read_file", '{"path": "a.py"}')
        transcript = transcript_of(
            [_turn()],
            messages=_messages(
                user_message("Do it."),
                assistant_message("Let me see.", [call], "hm"),
                tool_message(call, '{"error": "No."}'),
                assistant_message("Half"),
            ),
        )
        result = ToolResult('{"error": "No."}', failed=True)
        assert list(replayed(transcript)) == [
            UserSaid("t1-user-1", (SaidText("Do it."),)),
            AgentThought("t1-thought-1", "hm"),
            AgentText("t1-message-1", "Let me see."),
            ToolRequested("c", "read_file", {"path": "a.py"}, CWD, announced=False),
            ToolFinished("c", "read_file", {"path": "a.py"}, CWD, result),
            AgentText("t1-message-2", "Half"),
        ]

    def test_an_answer_that_was_cut_goes_on_in_the_same_message_without_our_words_between(self) -> None:
        half: Message = {**assistant_message("Half a sen"), "unfinished": True}
        messages = _messages(user_message("x"), half, injected_message("[Go on.]"), assistant_message("tence."))
        assert list(replayed(transcript_of([_turn()], messages=messages)))[1:] == [
            AgentText("t1-message-1", "Half a sen"),
            AgentText("t1-message-1", "tence."),
        ]

    def test_each_turn_is_looked_at_for_itself(self) -> None:
        transcript = transcript_of(
            [_turn(), _turn(2)],
            _items(_PROMPT),
            [*_messages(user_message("taken down")), *_messages(user_message("not taken down"), turn=2)],
        )
        assert list(replayed(transcript)) == [_PROMPT, UserSaid("t2-user-1", (SaidText("not taken down"),))]

    def test_what_the_model_refused_is_shown_and_what_was_undone_is_not(self) -> None:
        messages = [
            *_messages(user_message("refused"), hidden="withdrawn"),
            *_messages(user_message("undone"), hidden="undone"),
        ]
        assert list(replayed(transcript_of([_turn()], messages=messages))) == [
            UserSaid("t1-user-1", (SaidText("refused"),))
        ]

    def test_a_call_without_a_result_was_interrupted_and_bad_arguments_are_none(self) -> None:
        messages = _messages(user_message("x"), assistant_message("", [tool_call("c", "todo", "{bad")]))
        assert list(replayed(transcript_of([_turn()], messages=messages)))[1:] == [
            ToolRequested("c", "todo", {}, CWD, announced=False),
            ToolFinished("c", "todo", {}, CWD, ToolResult(INTERRUPTED_RESULT, failed=True)),
        ]

    def test_images_and_documents_come_as_what_they_were(self) -> None:
        prompt = user_message(
            [
                {"type": "text", "text": "Look."},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}},
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGVsbG8="}},
            ]
        )
        (event,) = replayed(transcript_of([_turn()], messages=_messages(prompt)))
        assert event == UserSaid(
            "t1-user-1",
            (
                SaidText("Look."),
                SaidImage("image/png", "aGVsbG8="),
                SaidLink("https://example.org/a.png", "image"),
                SaidDocument("a.pdf", None, "aGVsbG8=", "application/pdf"),
            ),
        )

    def test_what_was_saved_of_a_turn_whose_record_is_lost_is_shown(self) -> None:
        transcript = transcript_of([_turn(2)], _items(AgentText("m", "two"), turn=2), _messages(user_message("one")))
        assert list(replayed(transcript)) == [UserSaid("s-1-user-1", (SaidText("one"),)), AgentText("m", "two")]
