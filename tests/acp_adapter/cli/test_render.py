"""What a person sees of a session's updates."""

from pathlib import Path

import pytest

from acp_adapter.cli.render import Renderer
from acp_adapter.cli.style import Style, style_for
from tests.support.scripted import update

CWD = Path("/srv space")
PLAIN = Style()
COLOURED = Style(colour=True, signs=True)


def text(words, message_id=None):
    return update("agent_message_chunk", content={"type": "text", "text": words}, messageId=message_id)


def thought(words):
    return update("agent_thought_chunk", content={"type": "text", "text": words})


def call(call_id="c1", **fields):
    return update("tool_call", toolCallId=call_id, **fields)


def change(call_id="c1", **fields):
    return update("tool_call_update", toolCallId=call_id, **fields)


def content(words):
    return [{"type": "content", "content": {"type": "text", "text": words}}]


def shown(*updates, style=PLAIN):
    renderer = Renderer(style, CWD)
    pieces = [renderer.update(each, float(number)) for number, each in enumerate(updates)]
    return "".join(pieces) + renderer.end_line()


def test_the_pieces_of_a_message_flow_together():
    assert shown(text("Hel"), text("lo, "), text("you\nthere")) == "Hello, you\nthere\n"


def test_thoughts_and_text_are_paragraphs_of_their_own():
    assert shown(thought("Hm"), thought("mm."), text("Yes.")) == "Hmmm.\n\nYes.\n"


def test_another_message_id_begins_another_paragraph():
    assert shown(text("one", "m1"), text("two", "m2")) == "one\n\ntwo\n"


def test_a_message_that_ends_with_empty_lines_is_not_followed_by_more_of_them():
    assert shown(text("one\n\n"), thought("\n\ntwo")) == "one\n\ntwo\n"


def test_thoughts_are_dim_and_text_is_not():
    assert shown(thought("Hm"), text("Yes"), style=COLOURED) == "\x1b[2mHm\x1b[0m\n\nYes\n"


def test_a_card_begins_on_a_line_of_its_own_in_the_middle_of_a_message():
    lines = shown(text("Look"), call(title="Read x", kind="read"), text("ing")).splitlines()
    assert lines == ["Look", "", "  o read     Read x  [pending]", "", "ing"]


def test_a_card_shows_each_status_once_with_place_and_time():
    place = [{"path": "/srv space/src/a.py", "line": 7}]
    lines = shown(
        call(title="Read the file", kind="read", locations=place, status="pending"),
        change(status="in_progress"),
        change(status="in_progress"),
        change(status="completed"),
    ).splitlines()
    assert lines == [
        "  o read     Read the file  src/a.py:7  [pending]",
        "  > read     Read the file  src/a.py:7  [running]",
        "  + read     Read the file  src/a.py:7  [done, 2.00 s]",
    ]


def test_a_place_that_the_title_names_is_not_said_twice():
    assert shown(call(title="Read a.py", locations=[{"path": "/srv space/a.py"}])).count("a.py") == 1


def test_the_working_directory_is_no_place():
    assert shown(call(title="Search", kind="search", locations=[{"path": str(CWD)}])).endswith("Search  [pending]\n")


def test_the_text_of_a_planning_call_is_left_to_the_plan():
    assert "A step" not in shown(
        call(title="Plan", kind="think"), change(status="completed", content=content("A step"))
    )
    assert "No steps" in shown(call(title="Plan", kind="think"), change(status="failed", content=content("No steps")))


def test_a_place_outside_the_working_directory_is_shown_whole():
    assert "/etc/hosts" in shown(call(title="Read", locations=[{"path": "/etc/hosts"}]))


def test_an_update_for_an_unknown_call_makes_its_card():
    assert shown(change(title="Run", kind="execute", status="in_progress")) == "  > execute  Run  [running]\n"


def test_a_failed_command_tells_its_exit_code():
    ended = change(status="failed", _meta={"terminal_exit": {"terminal_id": "t", "exit_code": 3, "signal": None}})
    assert "[failed, exit 3, 1.00 s]" in shown(call(title="make", kind="execute"), ended)


def test_live_output_is_shown_in_whole_lines_and_its_rest_at_the_end():
    def piece(data):
        return change(_meta={"terminal_output": {"terminal_id": "t", "data": data}})

    lines = shown(
        call(title="make", kind="execute", status="in_progress"),
        piece("one\ntw"),
        piece("o\nthr"),
        change(status="completed", content=[{"type": "terminal", "terminalId": "t"}]),
    ).splitlines()
    assert lines == [
        "  > execute  make  [running]",
        "    | one",
        "    | two",
        "    | thr",
        "  + execute  make  [done, 3.00 s]",
    ]


def test_content_that_grows_is_shown_once():
    lines = shown(
        call(title="make", kind="execute", status="in_progress"),
        change(content=content("```\none\n```")),
        change(content=content("```\none\ntwo\n```")),
        change(status="completed", content=content("```\none\ntwo\nthree\n```")),
    ).splitlines()
    assert [line for line in lines if "|" in line] == ["    | one", "    | two", "    | three"]


def test_content_that_only_keeps_the_end_is_replaced_by_what_it_finally_is():
    lines = shown(
        call(title="make", kind="execute", status="in_progress"),
        change(content=content("5\n6\n")),
        change(status="completed", content=content("9\n10\n")),
    ).splitlines()
    assert [line.split("| ")[1] for line in lines if "|" in line] == ["5", "6", "9", "10"]


def test_the_content_of_a_command_whose_output_was_live_is_not_repeated():
    live = change(_meta={"terminal_output": {"terminal_id": "t", "data": "same\n"}})
    end = change(status="completed", content=content("same\n"))
    assert shown(call(title="make", kind="execute"), live, end).count("same") == 1


def test_long_output_is_cut_with_its_end_kept():
    data = "".join(f"line {number}\n" for number in range(1000))
    live = change(_meta={"terminal_output": {"terminal_id": "t", "data": data}})
    lines = shown(call(title="make", kind="execute"), live, change(status="completed")).splitlines()
    assert "    | line 199" in lines
    assert "    | (780 more lines)" in lines
    assert "    | line 200" not in lines
    assert lines[-2] == "    | line 999"


def test_output_of_parallel_calls_is_headed_by_the_call_it_belongs_to():
    def piece(call_id, data):
        return change(call_id, _meta={"terminal_output": {"terminal_id": "t", "data": data}})

    lines = shown(
        call("a", title="first", kind="execute", status="in_progress"),
        call("b", title="second", kind="execute", status="in_progress"),
        piece("a", "from a\n"),
        piece("b", "from b\n"),
        piece("b", "more of b\n"),
    ).splitlines()
    assert [line.split("[")[0].split()[-1] for line in lines] == ["first", "second", "first", "a", "second", "b", "b"]


def test_a_failure_without_content_shows_its_raw_output():
    lines = shown(call(title="x"), change(status="failed", rawOutput={"error": "no such file"})).splitlines()
    assert lines[1] == '    | {"error": "no such file"}'


def test_a_diff_is_unified_once_and_relative():
    diff = [{"type": "diff", "path": "/srv space/a.py", "oldText": "one\ntwo\n", "newText": "one\n2\n"}]
    lines = shown(
        call(title="Edit", kind="edit", content=diff), change(status="completed", content=diff)
    ).splitlines()
    assert lines[1:-1] == ["    --- a.py", "    +++ a.py", "    @@ -1,2 +1,2 @@", "     one", "    -two", "    +2"]


def test_a_new_file_is_a_diff_from_nothing():
    diff = [{"type": "diff", "path": "/srv space/a.py", "oldText": None, "newText": "one\n"}]
    assert "    --- /dev/null\n    +++ a.py\n" in shown(call(title="Write", content=diff))


def test_a_diff_is_coloured_where_colours_are():
    diff = [{"type": "diff", "path": "/srv space/a.py", "oldText": "a\n", "newText": "b\n"}]
    lines = shown(call(title="Edit", content=diff), style=COLOURED)
    assert "\x1b[31m-a\x1b[0m" in lines
    assert "\x1b[32m+b\x1b[0m" in lines


def test_the_plan_is_shown_when_it_changes():
    def plan(status):
        return update(
            "plan", entries=[{"content": "Fix", "status": status}, {"content": "Test", "status": "pending"}]
        )

    assert shown(plan("in_progress"), plan("in_progress"), plan("completed")).splitlines() == [
        "Plan",
        "  [>] Fix",
        "  [ ] Test",
        "Plan",
        "  [x] Fix",
        "  [ ] Test",
    ]


def test_a_question_shows_the_whole_command():
    renderer = Renderer(PLAIN, CWD)
    tool_call = {"toolCallId": "c", "title": "Run", "kind": "execute", "rawInput": {"command": "rm a\nrm b"}}
    lines = renderer.question({"toolCall": tool_call}, 0.0).splitlines()
    assert lines[-3:] == ["  ? Allow execute: Run", "    $ rm a", "    $ rm b"]
    assert renderer.answer("Allow once") == "    -> Allow once\n"


def test_nothing_from_the_agent_steers_the_terminal():
    evil = "a\x1b[2Jb\x1b]0;title\x07c\x9b5md\x08e\u202ef\x07"
    live = change(_meta={"terminal_output": {"terminal_id": "t", "data": f"{evil}\n"}})
    plan = update("plan", entries=[{"content": evil}])
    out = shown(text(evil), call(title=evil, kind=evil, locations=[{"path": evil}]), live, plan)
    assert out.count("abcdef") == 5
    assert not set(out) & set("\x1b\x07\x08\x9b\u202e")


def test_plain_output_has_no_character_beyond_ascii_of_its_own():
    diff = [{"type": "diff", "path": "/srv space/a.py", "oldText": "a\n", "newText": "b\n"}]
    out = shown(thought("hm"), call(title="Edit", content=diff), change(status="failed", rawOutput="no\nnever"))
    assert out.isascii()
    assert "\x1b" not in out


@pytest.mark.parametrize(
    "broken",
    [
        {},
        update("a_kind_of_the_future", content=5),
        update("agent_message_chunk"),
        update("plan", entries=None),
        update("tool_call", toolCallId="c", title=None, locations="x", content=[None, {}, {"type": "content"}]),
    ],
)
def test_updates_of_an_unexpected_shape_are_borne(broken):
    shown(broken, text("x"))


class Stream:
    def __init__(self, terminal, encoding="utf-8"):
        self.isatty = lambda: terminal
        self.encoding = encoding


@pytest.mark.parametrize(
    ("terminal", "environment", "encoding", "style"),
    [
        (True, {}, "utf-8", Style(colour=True, signs=True)),
        (True, {"NO_COLOR": "1"}, "utf-8", Style(colour=False, signs=True)),
        (True, {"NO_COLOR": ""}, "utf-8", Style(colour=True, signs=True)),
        (True, {}, "ascii", Style(colour=True, signs=False)),
        (True, {"TERM": "dumb"}, "utf-8", Style()),
        (False, {}, "utf-8", Style()),
    ],
)
def test_the_style_follows_the_stream_and_the_environment(terminal, environment, encoding, style):
    assert style_for(Stream(terminal, encoding), environment) == style
