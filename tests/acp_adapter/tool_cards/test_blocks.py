"""Content of cards that no editor stumbles over, and the way to what was cut of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_adapter.tools import diff_block, live_block, saved_blocks, shown_block, text_block
from tests.support.each import each
from tools.result import MAX_SHOWN_CHARS, SavedOutput, ShownDiff, ShownOutput, ShownText


def _text(block: dict[str, Any]) -> str:
    return str(block["content"]["text"])


def test_a_huge_diff_is_a_note() -> None:
    big = "x" * (600 * 1024)
    assert diff_block(ShownDiff(Path("/a"), "old", big))["type"] == "diff"
    half = "x" * (512 * 1024)
    assert diff_block(ShownDiff(Path("/a"), half, half))["type"] == "diff"
    note = diff_block(ShownDiff(Path("/a"), big, big))
    assert note == text_block("The change of /a is too large to show here.")


def test_a_diff_of_a_new_and_of_a_deleted_file() -> None:
    created, deleted = diff_block(ShownDiff(Path("/a"), None, "x")), shown_block(ShownDiff(Path("/a"), "x", None))
    assert created == {"type": "diff", "path": "/a", "oldText": None, "newText": "x"}
    assert deleted == {"type": "diff", "path": "/a", "oldText": "x", "newText": ""}


@each("inner", ["`", "``", "```", "````\nx\n````", "a ````` b"])
def test_a_fence_is_longer_than_any_in_its_text(inner: str) -> None:
    for block in (text_block(inner, ""), shown_block(ShownOutput(f"{inner}\n", 0)), text_block(inner, "md")):
        shown = _text(block)
        fence = shown[: len(shown) - len(shown.lstrip("`"))]
        assert len(fence) >= 3
        assert fence not in inner
        assert f"\n{fence}" in shown


@pytest.mark.parametrize("nothing", ["", "\n", " \r\n\n", "\x1b[0m\x1b]0;title\x07"])
def test_what_printed_nothing_has_no_empty_code_block(nothing: str) -> None:
    assert _text(shown_block(ShownOutput(nothing, 0))) == "(no output, exit code 0)"
    assert _text(shown_block(ShownOutput(nothing, None, "SIGKILL"))) == "(no output, ended by SIGKILL)"
    assert _text(shown_block(ShownOutput(nothing, None))) == "(no output, running)"
    assert _text(live_block(nothing)) == "(only blank lines so far)"


def test_an_empty_file_is_told_and_a_sentence_stays_what_it_is() -> None:
    assert _text(shown_block(ShownText("\n", "py"))) == "(empty)"
    assert _text(text_block("", "")) == "(empty)"
    assert _text(text_block("")) == ""


def test_text_may_be_plain_or_a_block() -> None:
    assert _text(shown_block(ShownText("**bold**"))) == "**bold**"
    assert _text(shown_block(ShownText("x = 1\n", "python"))) == "```python\nx = 1\n```"


def test_long_text_is_cut_and_says_by_how_much() -> None:
    assert _text(text_block("x" * MAX_SHOWN_CHARS)) == "x" * MAX_SHOWN_CHARS
    assert _text(shown_block(ShownOutput("a\n" * (MAX_SHOWN_CHARS // 2), 0))).count("\na") == MAX_SHOWN_CHARS // 2
    assert _text(text_block("x" * 30_000)).endswith("x… (10000 more characters)")
    assert _text(text_block("x" * 30_000, "py")).endswith("x… (10000 more characters)\n```")


@each("shift", [0, 1, 2])
def test_of_a_long_output_its_beginning_and_its_end_are_shown_in_whole_lines(shift: int) -> None:
    printed = "".join(f"line {number}\n" for number in range(10_000))
    shown = _text(shown_block(ShownOutput(printed[:-1] + "." * shift + "\n", 2)))
    assert len(shown) < MAX_SHOWN_CHARS + 200
    assert shown.startswith("```\nline 0\nline 1\n")
    assert shown.endswith(f"\nline 9998\nline 9999{'.' * shift}\n```\nexit code 2")
    lines = shown.split("\n")[1:-2]
    cut = lines.index("[… the middle is left out here …]")
    assert all(line.startswith("line ") for at, line in enumerate(lines) if at != cut)
    assert int(lines[cut + 1].removeprefix("line ")) > int(lines[cut - 1].removeprefix("line ")) + 1


@each(
    ("inner", "shown"),
    [
        ("plain", "```md\nplain\n```"),
        ("`a` ``b``", "```md\n`a` ``b``\n```"),
        ("```", "````md\n```\n````"),
        ("two blanks  \n\n", "```md\ntwo blanks  \n```"),
    ],
)
def test_a_fence_is_no_longer_than_it_has_to_be(inner: str, shown: str) -> None:
    assert _text(text_block(inner, "md")) == shown


def test_of_an_output_that_is_one_long_line_both_ends_are_shown() -> None:
    shown = _text(shown_block(ShownOutput("a" * 30_000 + "z" * 30_000, 0)))
    assert shown.startswith("```\naaa")
    assert shown.endswith("zzz\n```\nexit code 0")
    assert MAX_SHOWN_CHARS < len(shown) < MAX_SHOWN_CHARS + 100


@each(
    "raw",
    [
        "\x1b[1;31mred\x1b[0m", "\x1b]0;title\x07red", "\x1b]8;;http://x\x1b\\red\x1b]8;;\x1b\\", "\x1b(B\x1b[mred",
        "\x1b7\x1b=red\x1b8", "old\rred", "re\x00d", "\x1b[38;5;1mred\x1b[K",
    ],
)  # fmt: skip
def test_plain_clients_see_no_escape_sequences(raw: str) -> None:
    assert _text(shown_block(ShownOutput(f"{raw}\r\nnext\n", 0))) == "```\nred\nnext\n```\nexit code 0"
    assert _text(live_block(raw)) == "```\nred\n```"


@each(
    ("size", "name"),
    [
        (400, "1 kB"),
        (20_480, "20 kB"),
        (999_499, "999 kB"),
        (1_000_000, "1.0 MB"),
        (1_234_567, "1.2 MB"),
        (64 * 1024 * 1024, "67.1 MB"),
    ],
)
def test_a_saved_output_is_linked_with_its_size(size: int, name: str) -> None:
    (block,) = saved_blocks({"saved": SavedOutput(Path("/home/me/.hermes/outputs/s/c 1%.txt"), size).facts()})
    assert block["type"] == "content"
    assert block["content"] == {
        "type": "resource_link",
        "name": f"Full output ({name})",
        "uri": "file:///home/me/.hermes/outputs/s/c%201%25.txt",
        "mimeType": "text/plain",
        "size": size,
    }


@each("saved", [None, "x", {}, {"path": "/x"}, {"path": "x", "size": 1}, {"path": 7, "size": 1}, {"size": 1}])
def test_a_stored_fact_that_names_no_file_is_no_link(saved: object) -> None:
    assert saved_blocks({} if saved is None else {"saved": saved}) == []
