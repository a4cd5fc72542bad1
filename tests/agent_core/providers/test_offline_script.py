"""The offline provider's language."""

from __future__ import annotations

import json

from agent_core.providers.base import ReasoningDelta, TextDelta
from agent_core.providers.offline import HELP, Call, Fail, Pause, Say, parse_script
from tests.support.each import each


def call(tool: str, **arguments: object) -> tuple[str, object]:
    return tool, arguments


def seen(step):
    return (step.tool, json.loads(step.arguments)) if isinstance(step, Call) else step


@each(
    ("line", "step"),
    [
        ("say Hello there.", Say("Hello there.")),
        ("  say   indented ", Say("indented")),
        ("think Hm.", Say("Hm.", reasoning=True)),
        ("read src/a file.py", call("read_file", path="src/a file.py")),
        ("write a.txt one\\ntwo\\t\\\\n", call("write_file", path="a.txt", content="one\ntwo\t\\n")),
        ("write a.txt", call("write_file", path="a.txt", content="")),
        (
            "edit a.py x = 1 => x = 2",
            call("patch", mode="replace", path="a.py", old_string="x = 1", new_string="x = 2"),
        ),
        ("search def .*", call("search_files", pattern="def .*")),
        ("run make test && echo ok", call("terminal", command="make test && echo ok")),
        (
            "todo Look; Write ;; Check",
            call(
                "todo",
                todos=[
                    {"id": "1", "content": "Look", "status": "in_progress"},
                    {"id": "2", "content": "Write", "status": "pending"},
                    {"id": "3", "content": "Check", "status": "pending"},
                ],
            ),
        ),
        ('call any_tool {"a": [1]}', call("any_tool", a=[1])),
        ("call any_tool", call("any_tool")),
        ("sleep 0.25", Pause(0.25)),
        ("sleep -1", Pause(0.0)),
        ("sleep inf", Pause(86_400.0)),
        ("stream 3", Say("", pieces=3)),
        ("fail 429", Fail(429)),
    ],
)
def test_each_line_is_a_step(line, step):
    ((parsed,),) = parse_script(line)
    assert seen(parsed) == step


@each(
    "line",
    ["", "Hello there.", "say", "Say hello", "parallel", "end"],
)
def test_lines_that_are_no_step_are_passed_over(line):
    assert parse_script(line) == []


@each("line", ["edit a.py x", "sleep long", "stream 0", "stream x", "stream ²", "fail badly", "fail ²"])
def test_a_step_that_is_not_as_it_should_be_is_named(line):
    ((step,),) = parse_script(line)
    assert isinstance(step, Say)
    assert line in step.text


def test_broken_arguments_of_any_call_are_passed_on_as_they_are():
    ((step,),) = parse_script('call any_tool {"broken')
    assert step == Call("any_tool", '{"broken')


def test_steps_come_in_order_one_by_one():
    assert parse_script("say one\n\nfoo\nrun ls\nsay two") == [
        [Say("one")],
        [Call("terminal", '{"command": "ls"}')],
        [Say("two")],
    ]


def test_calls_between_parallel_and_end_are_one_batch():
    batches = parse_script("read a\nparallel\nread b\nread c\nend\nread d")
    assert [[json.loads(step.arguments)["path"] for step in batch] for batch in batches] == [["a"], ["b", "c"], ["d"]]


def test_a_batch_that_is_never_ended_ends_with_the_prompt():
    assert [len(batch) for batch in parse_script("parallel\nread a\nread b")] == [2]


def test_an_empty_batch_is_none():
    assert parse_script("parallel\nend") == []


def test_text_streams_word_by_word_and_loses_nothing():
    deltas = list(Say("one  two three").deltas())
    assert len(deltas) == 3
    assert "".join(delta.text for delta in deltas) == "one  two three\n"
    assert all(isinstance(delta, TextDelta) for delta in deltas)
    assert all(isinstance(delta, ReasoningDelta) for delta in Say("hm hm", reasoning=True).deltas())


def test_a_flood_has_as_many_pieces_as_asked_all_different():
    pieces = [delta.text for delta in Say("", pieces=1000).deltas()]
    assert len(set(pieces)) == 1000


@each("word", ["say", "think", "read", "write", "edit", "search", "run", "todo", "call", "sleep", "stream", "fail"])
def test_every_step_is_explained(word):
    assert f"    {word} " in HELP
