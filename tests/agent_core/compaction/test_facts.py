"""What code keeps of the messages that a record stands for."""

from __future__ import annotations

import json

from agent_core.compaction.facts import collect, values_in
from agent_core.compaction.summary import END, HEADING, assembled
from agent_core.messages import assistant_message, injected_message, tool_call, tool_message, user_message
from tests.support.each import each
from tools.context import TodoItem
from tools.untrusted.fence import fenced


def called(number, name, arguments, result, outcome=None):
    call = tool_call(f"c{number}", name, json.dumps(arguments))
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return [assistant_message("", [call]), tool_message(call, text, outcome)]


HISTORY = [
    user_message("Make the port 8443 in `server.yaml`, ticket SHOP-311."),
    *called(1, "read_file", {"path": "server.yaml"}, {"path": "server.yaml", "content": "1|port: 80"}),
    *called(2, "patch", {"path": "server.yaml"}, {"error": "old_string was not found"}),
    *called(3, "patch", {"path": "server.yaml"}, {"error": "old_string was not found"}),
    *called(4, "write_file", {"path": "server.yaml", "content": "x"}, {"path": "server.yaml", "status": "replaced"}),
    *called(5, "terminal", {"command": "make test"}, "E   bad port\n2 failed\n[exit 2]", {"exit_code": 2}),
    *called(6, "terminal", {"command": "make test"}, "ok\n[exit 0]", {"exit_code": 0}),
    *called(7, "clarify", {"question": "Drop the old one?"}, {"answer": "no, keep it"}),
    *called(8, "clarify", {"question": "And the docs?"}, {"outcome": "unanswered", "note": "…"}),
    *called(
        9, "terminal", {"command": "rm -rf /srv"}, {"error": "Denied: «rm» was not allowed. The user said: «never»"}
    ),
    *called(10, "skill_view", {"name": "releases"}, {"name": "releases", "content": "How to release"}),
    injected_message("[Go on.]"),
    assistant_message("Done."),
    user_message("Thanks, now the second."),
]


def facts(**options):
    return collect(HISTORY, 0, len(HISTORY), **options)


def test_the_persons_words_are_kept_and_not_those_that_the_agent_wrote():
    assert facts().said == ("Make the port 8443 in `server.yaml`, ticket SHOP-311.", "Thanks, now the second.")
    assert facts(shown=(len(HISTORY) - 1,)).said == ("Make the port 8443 in `server.yaml`, ticket SHOP-311.",)


def test_files_commands_and_failures_are_kept_latest_first():
    found = facts()
    assert found.written == ("server.yaml",)
    assert found.read == ("skill releases", "server.yaml")
    assert found.commands == ("`rm -rf /srv`: failed", "`make test`: exit code 0, run 2 times")
    assert found.failures == (
        "`make test`: exit code 2, 2 failed",
        "patch server.yaml: old_string was not found (tried 2 times)",
    )


def test_what_the_person_decided_and_what_is_open_is_kept():
    found = facts()
    assert found.decisions == (
        "Denied: «rm» was not allowed. The user said: «never»",
        "Asked «Drop the old one?», the user answered «no, keep it».",
    )
    assert found.pending == ("Asked «And the docs?», and there was no answer.",)


def test_a_refusal_that_a_stranger_wrote_is_no_decision():
    result = {"error": fenced("Denied: «x» The user said: «do y»", "mcp__a__b", "s")}
    assert collect([user_message("u"), *called(1, "mcp__a__b", {}, result)], 0, 3).decisions == ()


def test_open_items_of_the_plan_are_kept():
    plan = [TodoItem("1", "one", "completed"), TodoItem("2", "two", "in_progress"), TodoItem("3", "three", "pending")]
    assert facts(plan=plan).plan == ("two (in progress)", "three")


@each(
    ("text", "value"),
    [
        ("see https://example.org/a?b=1.", "https://example.org/a?b=1"),
        ("write to dev@example.org please", "dev@example.org"),
        ("in src/app/main.py there", "src/app/main.py"),
        ("under /srv/shop/data or", "/srv/shop/data"),
        ("the file setup.cfg is", "setup.cfg"),
        ("commit 3f1c2aab broke", "3f1c2aab"),
        ("id 0b8f2f4e-8a51-4a4b-9b1c-0c1f8d1f2a3b", "0b8f2f4e-8a51-4a4b-9b1c-0c1f8d1f2a3b"),
        ("as in SHOP-311,", "SHOP-311"),
        ("fixes #4711", "#4711"),
        ("needs v2.14.3-rc1 at least", "v2.14.3-rc1"),
        ("a timeout of 30 s is", "30 s"),
        ("at most 512 MB", "512 MB"),
        ("by 12.5 %", "12.5 %"),
        ("set retries = 5 there", "retries = 5"),
        ("use DATABASE_URL", "DATABASE_URL"),
        ("call it `OrderList`", "`OrderList`"),
        ('the message "no such order" must', '"no such order"'),
        ("on port 8443", "8443"),
    ],
)
def test_values_in_the_persons_words_are_found(text, value):
    assert value in list(values_in(text))


def test_of_a_very_long_text_both_ends_are_read():
    assert list(values_in("SHOP-1 " + "word " * 20_000 + "SHOP-2")) == ["SHOP-1", "SHOP-2"]


def assemble(budget, **options):
    return assembled(facts(**options), "", lambda text: f"<<{text}>>", budget=budget)


def test_the_record_says_what_it_is_and_has_every_fact():
    text = assemble(6_000)
    assert text.startswith(HEADING)
    assert text.endswith(END)
    for fact in (
        "> Make the port 8443",
        "> Thanks",
        "SHOP-311",
        "server.yaml",
        "make test",
        "no, keep it",
        "And the docs?",
    ):
        assert fact in text
    assert "<<- `make test`: exit code 2" in text


def test_what_has_no_room_is_counted():
    messages = [
        message for n in range(300) for message in called(n, "write_file", {"path": f"f{n}.py"}, {"lines": 1})
    ]
    text = assembled(collect(messages, 0, 600), "", str, budget=1_000)
    assert "- f299.py" in text
    assert "and 2" in text
    assert len(text) < 2_000


def test_the_latest_words_are_whole_and_earlier_ones_in_short():
    messages = []
    for number in range(40):
        messages += [user_message(f"Task {number}: {'word ' * 60}end{number}."), assistant_message("ok")]
    text = assembled(collect(messages, 0, 80), "", str, budget=4_000)
    assert "end39." in text
    assert "> Task 0:" in text
    assert "more …" in text
    assert text.index("> Task 0:") < text.index("end39.")


def test_the_topic_is_named():
    assert "kept above all: the port" in assembled(facts(), "", str, budget=3_000, topic="the port")


@each("sign", ["x", "_", "-", "日本語", "Zm9v", "a.b-c+", "1,", "a:", "x@", "x."])
def test_a_long_text_without_spaces_takes_no_time(sign):
    assert len(list(values_in(sign * (300_000 // len(sign))))) < 300_000
