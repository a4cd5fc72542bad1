"""From a transcript to its story."""

from acp_adapter.export.transcript import Answer, Card, Mode, Plan, Prompt, Thought, tell
from agent_core.events import (
    AgentText,
    AgentThought,
    ContextUsed,
    SaidText,
    ToolAnnounced,
    ToolOutput,
    UserSaid,
)
from agent_core.messages import assistant_message, tool_call, tool_message, user_message
from agent_core.sessions.records import TurnRecord
from tests.support.sample_transcript import TranscriptMaker, call, sample_transcript
from tools.result import ShownOutput, ShownText, ToolResult


def told(events=(), messages=(), **options):
    maker = TranscriptMaker()
    maker.turn(events, messages, **options)
    return tell(maker.made()).turns[0]


def test_a_turn_is_told_in_order():
    items = tell(sample_transcript()).turns[0].items
    assert [type(item) for item in items] == [Prompt, Thought, Card, Card, Plan, Card, Card, Card, Mode, Answer]
    assert [(item.kind, item.title, item.status) for item in items if isinstance(item, Card)] == [
        ("read", "Read sums.py from line 3", "completed"),
        ("execute", "pytest -q", "completed"),
        ("edit", "Edit sums.py", "completed"),
        ("edit", "Write CHANGES.md", "completed"),
        ("other", "plugin_tool", "failed"),
    ]


def test_pieces_of_one_message_that_were_stored_apart_become_one():
    turn = told([AgentText("m", "one "), AgentText("m", "two"), AgentText("n", "three"), AgentThought("n", "x")])
    assert turn.items == (Answer("one two"), Answer("three"), Thought("x"))


def test_a_call_that_never_ended_shows_what_it_printed():
    turn = told([call("c", "terminal", {"command": "make"}, None, ToolOutput("c", "one\n", "one\n"))], outcome=None)
    (card,) = turn.items
    assert (card.status, card.shown) == ("interrupted", (ShownOutput("one\n"),))


def test_a_call_of_which_only_the_name_is_known_is_told():
    (card,) = told([ToolAnnounced("c", "terminal", "/srv")], outcome=None).items
    assert (card.title, card.status) == ("Run a command", "interrupted")


def test_a_call_took_until_its_result_was_stored():
    asked = tool_call("c", "terminal", '{"command": "ls"}')
    events = [UserSaid("u", (SaidText("x"),)), call("c", "terminal", {"command": "ls"}, ToolResult("{}"))]
    turn = told(events, [user_message("x"), tool_message(asked, "{}")])
    assert turn.items[1].seconds == 0.375  # from 0.25 s to 0.625 s


def test_a_turn_without_events_is_told_from_its_messages():
    asked = [tool_call("c", "terminal", '{"command": "ls"}'), tool_call("d", "patch", "no JSON")]
    turn = told(
        [],
        [
            user_message("Hello"),
            assistant_message("I look.", asked, "Hm."),
            tool_message(asked[0], '{"error": "no"}'),
        ],
    )
    assert [type(item) for item in turn.items] == [Prompt, Thought, Answer, Card, Card]
    assert [card.status for card in turn.items[3:]] == ["failed", "interrupted"]
    assert turn.items[3].shown == (ShownText("no"),)


def test_a_prompt_that_no_event_tells_of_comes_from_the_messages():
    turn = told([AgentText("m", "Hi")], [user_message("Hello")])
    assert turn.items == (Prompt((SaidText("Hello"),)), Answer("Hi"))


def test_figures_come_from_the_window_where_it_was_told_and_are_left_out_elsewhere():
    maker = TranscriptMaker()
    maker.turn([ContextUsed(1_000, 9_000, 0.25)], seconds=5)
    maker.turn([ContextUsed(1_600, 9_000, 0.75)], seconds=7)
    maker.turn([], [user_message("x" * 400)])
    maker.turn([ContextUsed(500, 9_000, 0.75)], [user_message("x" * 40)], outcome=None)
    figures = [(turn.tokens, turn.cost) for turn in tell(maker.made()).turns]
    assert figures == [(1_000, 0.25), (600, 0.5), (0, None), (0, None)]
    assert [turn.seconds for turn in tell(maker.made()).turns] == [5.0, 7.0, 10.0, 0.25]


def test_a_session_without_a_title_is_called_by_its_first_prompt():
    maker = TranscriptMaker()
    maker.turn([UserSaid("u", (SaidText("Please\n  mend " + "this " * 40),))])
    title = tell(maker.made()).title
    assert title.startswith("Please mend this this")
    assert len(title) <= 80
    assert title.endswith("…")
    assert tell(TranscriptMaker().made()).title == "A session without a title"


def test_a_turn_that_has_only_its_record_is_told():
    maker = TranscriptMaker()
    maker.turns.append(TurnRecord(1, "t1", 5.0))
    assert tell(maker.made()).turns[0].items == ()
