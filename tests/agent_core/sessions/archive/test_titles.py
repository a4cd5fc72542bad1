"""Titles say in a line what a conversation is about, in whatever script."""

from __future__ import annotations

import unicodedata

import pytest

from agent_core.config import ConfigSource
from agent_core.events import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidText
from agent_core.home import Home
from agent_core.model_request.side_models import AuxiliaryClient, Completion
from agent_core.providers.base import Usage
from agent_core.sessions.titles import ask_title, clean_title, title_from_prompt
from tests.support.each import each
from tests.support.model_server import Reply, Status
from tests.support.settings_files import configure
from tests.support.side_tasks import at
from tests.support.wire_agents import Connections, pooled


def test_a_secret_in_the_first_prompt_is_not_in_the_title_whole_or_cut() -> None:
    token = "ghp_" + "a1B2" * 9
    assert title_from_prompt(f"The token for the new server is {token}") == (
        "The token for the new server is [redacted: github token]"
    )
    assert "ghp_" not in title_from_prompt(f"Look at the server, it needs the token {token} to answer")
    assert token not in clean_title(f"Use {token}")


@each(
    ("prompt", "title"),
    [
        ("Fix the sums", "Fix the sums"),
        ("\n\n  ---\n***\n# Fix **the** `sums`\nmore", "Fix the sums"),
        ("- [ ] first\n- second", "first"),
        ("> > quoted", "quoted"),
        ("3. third", "third"),
        ("3.5 is not a number of a list", "3.5 is not a number of a list"),
        ("```python\nprint(1)\n```\nWhat does this do?", "What does this do?"),
        ("~~~\n```\nx\n~~~\nafter", "after"),
        ("```\nprint(1)\n```", "print(1)"),
        ("```\nnever closed", "never closed"),
        ("See [@sums.py](file:///srv/sums.py) and ![a picture](x.png)", "See sums.py and a picture"),
        ("Look at @src/sums.py, me@example.com", "Look at src/sums.py, me@example.com"),
        ("<context>\n<file path='a'>\nWhy?\n</file>\n</context>", "Why?"),
        ("a < b and c > d", "a < b and c > d"),
        ("<user_query>Fix the sums</user_query>", "Fix the sums"),
        ("<prompt>\n<task id='1'>Fix the sums\nplease</task>\n</prompt>\n", "Fix the sums"),
        ("<context>\n<note>Why?</note>\n</context>", "Why?"),
        ("<div>\n  is not centered", "is not centered"),
        ("<div> is not centered", "<div> is not centered"),
        ("<div>this</div> is not centered", "<div>this</div> is not centered"),
        ("<div></div>", "<div></div>"),
        ("__init__ and 2 ** 3 ** 4 and snake_case", "__init__ and 2 ** 3 ** 4 and snake_case"),
        ("x\x1b[31my\u202e\ud800z", "x [31myz"),
        ("/undo", "/undo"),
        ("", ""),
        (" \n\t\n...!?", ""),
    ],
)
def test_a_prompt_is_called_by_its_first_line_that_says_something(prompt, title):
    assert title_from_prompt(prompt) == title


def test_a_long_line_is_cut_between_words():
    title = title_from_prompt("Please find out why the function that adds two numbers returns their difference")
    assert title == "Please find out why the function that adds two numbers…"


def test_a_script_without_spaces_is_cut_at_the_limit():
    assert title_from_prompt("这是一个很长的问题" * 20) == ("这是一个很长的问题" * 20)[:59] + "…"


@each("letter", ["e\u0301\u0323", "👩\u200d💻", "👍🏽", "नि", "❤\ufe0f"])
def test_no_letter_is_cut_in_two(letter):
    for shift in range(1, 9):
        title = title_from_prompt("x" * shift + letter * 60)
        assert title.endswith("…")
        rest = title[shift:-1]
        assert len(rest) > 40
        assert rest == letter * (len(rest) // len(letter))


def test_a_prompt_without_words_is_called_by_what_it_mentions():
    link = SaidLink("file:///srv/a.py", "a.py")
    assert title_from_prompt([SaidImage("image/png", "x"), SaidText(" "), link]) == "Image"
    assert title_from_prompt([link, SaidText("Why?")]) == "Why?"
    assert title_from_prompt([link]) == "a.py"
    assert title_from_prompt([SaidLink("file:///srv/a.py", "", title="The module")]) == "The module"
    assert title_from_prompt([SaidDocument("file:///srv/my%20notes.md", "text")]) == "my notes.md"
    assert title_from_prompt([SaidAudio("audio/wav", "x")]) == "Recording"
    assert title_from_prompt([]) == ""


def test_a_huge_prompt_costs_no_more_than_its_beginning():
    assert title_from_prompt("\n" * 5_000_000 + "late") == ""
    assert title_from_prompt("[" * 20_000 + "(") == ""
    assert title_from_prompt("*" * 200_000) == ""
    assert title_from_prompt("a **a **" * 50_000).startswith("a **a")


def test_a_clean_title_is_one_line_of_at_most_200_characters():
    title = clean_title("a\r\nb\x00c\u2028d\x7f" + "\u200b" * 10 + " e" * 300)
    assert title.startswith("a b c d e e")
    assert len(title) <= 200
    assert not any(unicodedata.category(char).startswith("C") for char in title)
    assert clean_title("\x00\n") == ""


def answering(text, truncated=False):
    asked = []

    def complete(task, messages, *, max_tokens=None):
        asked.append((task, messages, max_tokens))
        return None if text is None else Completion(text, "offline:m", Usage(), None, truncated)

    complete.asked = asked
    return complete


@each(
    ("answer", "title"),
    [
        ("Mend the sums", "Mend the sums"),
        ('  "Mend the sums."\n', "Mend the sums"),
        ("Title: «Mend the sums»", "Mend the sums"),
        ("**Title:** Mend the sums", "Mend the sums"),
        ("# Mend the sums", "Mend the sums"),
        ("Here is a title:\n\n“Mend the sums”", "Mend the sums"),
        ("标题：《修正加法》", "修正加法"),
        ("Mend the sums\n\nIt says what it is about.", "Mend the sums"),
        ("What's wrong with `add`?", "What's wrong with `add`?"),
        ("Version 3.11", "Version 3.11"),
    ],
)
def test_a_models_title_is_freed_of_what_is_around_it(answer, title):
    assert ask_title(answering(answer), "Why?", "Because.") == title


@each(
    "answer",
    [
        None,
        "",
        " \n ",
        '""',
        "...",
        "Title:",
        "I'm sorry, I can't help with that",
        "I cannot do this",
        "As an AI model",
        "Sorry, no",
        "The function adds two numbers but in truth it subtracts them which is why your tests fail all the time",
        "x" * 101,
    ],
)
def test_what_is_no_title_is_not_taken(answer):
    assert ask_title(answering(answer), "Why?", "Because.") is None


def test_an_answer_that_was_cut_off_is_not_taken():
    assert ask_title(answering("Mend the", truncated=True), "Why?", "Because.") is None


def test_the_model_sees_the_beginnings_only():
    complete = answering("Title")
    ask_title(complete, [SaidText("p" * 50_000), SaidImage("image/png", "x" * 50_000)], "a" * 50_000)
    ((task, (message,), max_tokens),) = complete.asked
    assert task == "title"
    assert 3_000 < len(message["content"]) < 4_000
    assert max_tokens is not None


@pytest.mark.parametrize(("reply", "title"), [(Reply('"Mend the sums"'), "Mend the sums"), (Status(500), None)])
def test_the_auxiliary_model_is_asked(home, model_server, reply, title):
    model_server.add(reply, reply)
    title_model, own_model = at(model_server, model="small"), at(model_server, default="big")
    configure(home, {"auxiliary": {"title": title_model}, "model": own_model})
    connections = Connections()
    client = AuxiliaryClient(ConfigSource(Home(home)), lambda config, choice: pooled(choice), connections)
    try:
        assert ask_title(client.complete, "Why is 2 + 2 = 0?", "Because of a minus.") == title
    finally:
        connections.close()
    assert "Why is 2 + 2 = 0?" in model_server.requests[0].body["messages"][0]["content"]
