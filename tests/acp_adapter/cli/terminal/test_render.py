"""What a person sees of a session's updates."""

from io import UnsupportedOperation
from pathlib import Path

import pytest

from acp_adapter.cli.console import Style, columns, style_for
from acp_adapter.cli.transcript import Renderer
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
    lines = [line for number, each in enumerate(updates) for line in renderer.update(each, float(number))]
    return "".join(f"{line}\n" for line in (*lines, *renderer.end_message()))


def test_the_pieces_of_a_message_flow_together():
    assert shown(text("Hel"), text("lo, "), text("you\nthere")) == "Hello, you\nthere\n"


def test_an_end_of_line_that_comes_in_two_pieces_is_one():
    assert shown(text("a\r"), text("\nb\r\n"), text("\nc")) == "a\nb\n\nc\n"


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


def told(words, call_id="c1", **fields):
    return change(call_id, content=[block for text in words for block in content(text)], **fields)


def test_what_sub_agents_say_is_shown_and_then_the_reports():
    lines = shown(
        call(title="Delegate 2 tasks", kind="think", content=[*content("1. Look"), *content("2. Test")]),
        change(status="in_progress"),
        told(["```\nAgent 1: I look.\n```"]),
        told(["```\nAgent 1: I look.\nAgent 2: I test.\n```"]),
        told(["**1. Look**\n\nIt is a.py.", "**2. Test**\n\nAll is well."], status="completed"),
    ).splitlines()
    assert [line.removeprefix("    |").strip() for line in lines if line.startswith("    |")] == [
        *("1. Look", "2. Test", "Agent 1: I look.", "Agent 2: I test."),
        *("**1. Look**", "", "It is a.py.", "**2. Test**", "", "All is well."),
    ]


def test_a_long_report_is_shown_after_much_that_was_said():
    said = "".join(f"Agent 1: {number}\n" for number in range(500))
    lines = shown(
        call(title="Delegate", kind="think", status="in_progress"),
        told([said]),
        told(["Report"], status="completed"),
    ).splitlines()
    assert lines[-2] == "    | Report"
    assert "    | (420 more lines)" in lines


def test_what_a_program_prints_follows_its_code_and_its_end_is_told_once():
    code, title = "```python\nimport os\nprint(1)\n```", "python: print(1)"
    lines = shown(
        call(title=title, kind="execute", content=content(code)),
        change(status="in_progress"),
        call("inner", title="Read a", kind="read", _meta={"hermes": {"parentToolCallId": "c1"}}),
        told([code, "```\n1\n```"]),
        change("inner", status="completed"),
        told([code, "```\n1\n2\n```\nexit code 0"], status="completed"),
    ).splitlines()
    assert lines == [
        "  o execute  python: print(1)  [pending]",
        "    | import os",
        "    | print(1)",
        "  > execute  python: print(1)  [running]",
        "    o read     Read a  [pending]",
        "    + read     Read a  [done, 2.00 s]",
        "  + execute  python: print(1)  [done, 4.00 s]",
        "    | 1",
        "    | 2",
        "    | exit code 0",
    ]


def test_last_lines_that_go_on_from_what_was_shown_are_shown_once():
    lines = shown(
        call(title="x", kind="execute", status="in_progress"),
        told(["3\n4\n5\n"]),
        told(["4\n5\n6\n"]),
        told(["6\n7\n"]),
    ).splitlines()
    assert [line.split("| ")[1] for line in lines if "|" in line] == list("34567")


def test_pictures_and_links_under_a_card_are_named():
    link = {"type": "resource_link", "name": "Full output (289 kB)", "uri": "file:///srv/out.txt"}
    image = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    ended = change(status="completed", content=[{"type": "content", "content": block} for block in (link, image)])
    out = shown(call(title="x", kind="read"), ended)
    assert "| Full output (289 kB): file:///srv/out.txt\n" in out
    assert "| [image: image/png]\n" in out


def test_calls_of_a_call_stand_under_it_and_so_do_their_questions():
    renderer = Renderer(PLAIN, CWD)
    renderer.update(call("a", title="Delegate", kind="think"), 0.0)
    renderer.update(call("b", title="Program", kind="execute", _meta={"hermes": {"parentToolCallId": "a"}}), 0.0)
    asked = {"toolCallId": "c", "title": "Edit", "kind": "edit", "_meta": {"hermes": {"parentToolCallId": "b"}}}
    lines = renderer.question({"toolCall": asked}, 0.0) + renderer.answer("Allow once")
    assert lines == [
        "      o edit     Edit  [pending]",
        "      ? Allow edit: Edit",
        "        -> Allow once",
    ]


def test_a_card_that_is_its_own_parent_is_borne():
    assert "Look" in shown(call("a", title="Look", _meta={"hermes": {"parentToolCallId": "a"}}))


def test_on_a_terminal_heads_fit_on_a_line_and_prose_breaks_between_words():
    narrow, words = Style(columns=lambda: 60), "word " * 30
    lines = shown(
        call(title=words, kind="fetch", locations=[{"path": "/srv space/a.py"}]),
        told([words], status="completed"),
        call("c2", title="cat a", kind="execute", status="in_progress"),
        told(["x" * 90], "c2", status="completed"),
        style=narrow,
    ).splitlines()
    assert max(len(line) for line in lines if "x" * 90 not in line) <= 60
    assert lines[0].endswith("...  [pending]")
    assert [line.count("word") for line in lines if "| word" in line] == [11, 11, 8]
    assert "    | " + "x" * 90 in lines


def test_a_title_in_wide_signs_fits_its_line_too():
    line = shown(call(title="日本語" * 30), style=Style(columns=lambda: 60)).rstrip("\n")
    assert columns(line) <= 60
    assert "...  [pending]" in line


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


def test_a_diff_of_a_long_line_shows_the_changed_characters_and_leaves_out_none_of_them():
    old, new = "o" * 500, "n" * 500
    line = "x" * 5000 + old + "y" * 5000
    diff = [{"type": "diff", "path": "/srv space/a.py", "oldText": line, "newText": line.replace(old, new)}]
    text = shown(call(title="Edit", kind="edit", content=diff))
    for sign, changed in (("-", old), ("+", new)):
        assert f"{sign}[… 4920 characters]{'x' * 80}{changed}{'y' * 80}[… 4920 characters]" in text


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


def test_a_change_of_the_mode_is_told_unless_the_person_made_it():
    renderer = Renderer(PLAIN, CWD)
    renderer.mode_is("dont_ask")
    assert renderer.update(update("current_mode_update", currentModeId="dont_ask"), 0) == []
    for mode in ("plan", "dont_ask"):
        assert f"is now {mode}." in renderer.update(update("current_mode_update", currentModeId=mode), 0)[-1]


def test_a_question_shows_the_whole_command():
    renderer = Renderer(PLAIN, CWD)
    tool_call = {"toolCallId": "c", "title": "Run", "kind": "execute", "rawInput": {"command": "rm a\nrm b"}}
    lines = renderer.question({"toolCall": tool_call}, 0.0)
    assert lines[-3:] == ["  ? Allow execute: Run", "    $ rm a", "    $ rm b"]
    assert renderer.answer("Allow once") == ["    -> Allow once"]


def asked(*updates, **tool_call):
    renderer = Renderer(PLAIN, CWD)
    for each in updates:
        renderer.update(each, 0.0)
    lines = renderer.question({"toolCall": {"toolCallId": "c1", **tool_call}}, 0.0)
    return lines[next(number for number, line in enumerate(lines) if line.startswith("  ? Allow")) :]


def test_a_question_shows_all_lines_of_a_title():
    assert asked(title="git status\nrm -rf ~", kind="execute") == ["  ? Allow execute: git status", "    rm -rf ~"]


def test_a_question_tells_what_would_not_be_seen_of_a_command():
    command = {"command": "git status \x1b];rm -rf ~\x07"}
    assert asked(title="git status", kind="execute", rawInput=command) == [
        "  ? Allow execute: git status",
        "    $ git status \\x1b];rm -rf ~\\x07",
    ]


def test_a_question_shows_a_command_that_is_a_list_of_words():
    words = {"command": ["sh", "-c", "rm -rf ~"]}
    assert asked(title="List", kind="execute", rawInput=words)[1:] == ["    $ sh -c 'rm -rf ~'"]


def test_a_question_about_a_call_that_shows_nothing_tells_what_it_is_given():
    assert asked(title="delete", rawInput={"id": 7, "force": True})[1:] == ['    with {"id": 7, "force": true}']
    assert asked(title="Read a.txt", kind="read", rawInput={"path": "a.txt", "limit": None})[1:] == []
    assert asked(call(content=content("deletes it")), title="delete", rawInput={"id": 7})[1:] == []


def test_a_question_shows_what_was_too_long_before():
    before = call(title="Send", content=content("".join(f"line {number}\n" for number in range(40))))
    lines = asked(before)
    assert lines[1:3] == ["    What was left out above:", "    | line 15"]
    assert lines[-1] == "    | line 39"
    new = [{"type": "diff", "path": "/srv space/a", "newText": "".join(f"{number}\n" for number in range(300))}]
    lines = asked(call(title="Edit", kind="edit", content=new))
    assert lines[2] == "    +117"
    assert lines[-1] == "    +299"


def test_nothing_from_the_agent_steers_the_terminal_at_a_question():
    place = {"path": "/x", "line": "\x1b]52;c;eA==\x07"}
    lines = asked(title="t", kind="execute\x1b[2J", locations=[place], rawInput={"a": "\x1b[2J"})
    assert "".join(lines).isprintable()


def test_a_change_hides_nothing_and_tells_the_ends_of_lines_where_they_change():
    hidden = [{"type": "diff", "path": "/a", "oldText": "a\n", "newText": "# \x1b]\nimport os  # \x07\n"}]
    out = shown(call(title="Edit", content=hidden))
    assert "+# \\x1b]\n    +import os  # \\x07\n" in out
    ends = [{"type": "diff", "path": "/a", "oldText": "a\nb\n", "newText": "a\r\nb\r\n"}]
    assert "    +a\\r\n" in shown(call(title="Edit", content=ends))


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
        update("plan", entries=5),
        {"sessionUpdate": ["agent_message_chunk"]},
        update("tool_call", toolCallId="c", title=None, locations="x", content=[None, {}, {"type": "content"}]),
    ],
)
def test_updates_of_an_unexpected_shape_are_borne(broken):
    shown(broken, text("x"))


class Stream:
    def __init__(self, terminal, encoding="utf-8"):
        self.isatty = lambda: terminal
        self.encoding = encoding

    def fileno(self):
        raise UnsupportedOperation


@pytest.mark.parametrize(
    ("terminal", "environment", "encoding", "shown"),
    [
        (True, {}, "utf-8", {"colour", "signs", "live"}),
        (True, {"NO_COLOR": "1"}, "utf-8", {"signs", "live"}),
        (True, {"NO_COLOR": ""}, "utf-8", {"colour", "signs", "live"}),
        (True, {}, "ascii", {"colour", "live"}),
        (True, {"TERM": "dumb"}, "utf-8", set()),
        (False, {}, "utf-8", set()),
    ],
)
def test_the_style_follows_the_stream_and_the_environment(terminal, environment, encoding, shown):
    style = style_for(Stream(terminal, encoding), environment)
    assert {name for name in ("colour", "signs", "live") if getattr(style, name)} == shown
    assert style.width == 0
