"""No secret gets into a recording: not in pieces, not in names, not where a text is cut, not encoded."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

import pytest

from acp_adapter.export.recording import Cleaner
from tools.redaction import Redactor

KEY = "our-own-key-0123456789"
TOKEN = "ghp_" + "a1B2" * 9
PATIENCE = 5.0


def cleaner() -> Cleaner:
    return Cleaner(Redactor([KEY]), PATIENCE)


def cleaned(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    made = cleaner()
    return [*(line for entry in entries for line in made.cleaned(entry)), *made.settled(is_over=True)]


def message(frame: Any, t: float = 0.0) -> dict[str, Any]:
    return {"dir": "in", "t": t, "frame": frame}


def update(session: str, t: float = 0.0, **fields: Any) -> dict[str, Any]:
    return message({"method": "session/update", "params": {"sessionId": session, "update": fields}}, t)


def chunk(text: str, session: str = "s", t: float = 0.0, kind: str = "agent_message_chunk") -> dict[str, Any]:
    return update(session, t, sessionUpdate=kind, content={"type": "text", "text": text})


def printed(text: str) -> dict[str, Any]:
    output = {"terminal_id": "t1", "data": text}
    return update("s", sessionUpdate="tool_call_update", toolCallId="c", _meta={"terminal_output": output})


def texts(lines: Iterable[dict[str, Any]]) -> list[str]:
    found = [line["frame"]["params"]["update"].get("content", {}) for line in lines if "params" in line["frame"]]
    return [content["text"] for content in found if "text" in content]


def pieces_of(text: str, size: int = 3) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def test_a_secret_in_pieces_is_found_and_the_text_is_whole_but_for_it() -> None:
    told = ("It is: ", "at ", TOKEN[:7], TOKEN[7:20], TOKEN[20:] + " so", " there", ".")
    assert texts(cleaned(*map(chunk, told))) == ["It is: at [redacted: github token] so there.", *[""] * 6]


def test_pieces_of_two_sessions_by_turns_are_two_texts() -> None:
    by_turns = [chunk(piece, session) for piece in pieces_of(f"it is {TOKEN} ") for session in ("s", "o")]
    lines = cleaned(*by_turns)
    for session in ("s", "o"):
        own = texts(line for line in lines if line["frame"]["params"]["sessionId"] == session)
        assert "".join(own) == "it is [redacted: github token] "
    assert [line["frame"]["params"]["sessionId"] for line in lines] == ["s", "o"] * (len(lines) // 2)


@pytest.mark.parametrize(
    "between",
    [
        update("s", sessionUpdate="usage_update", used=1, size=2),
        update("s", sessionUpdate="tool_call_update", toolCallId="c", status="completed"),
        message({"id": 7, "method": "fs/read_text_file", "params": {"sessionId": "o", "path": "/x"}}),
        message({"id": 8, "result": {}}),
        {"dir": "out", "t": 0.0, "line": "no message"},
    ],
)
def test_what_comes_between_two_pieces_is_no_end_of_the_text(between: dict[str, Any]) -> None:
    lines = cleaned(chunk(TOKEN[:20]), between, chunk(TOKEN[20:]))
    assert TOKEN[20:] not in json.dumps(lines)
    assert lines[1] == between


def test_what_stands_behind_the_text_ends_it_and_is_not_waited_for() -> None:
    ends = (
        chunk("hm", kind="agent_thought_chunk"),
        update("s", sessionUpdate="tool_call", toolCallId="c"),
        message({"id": 7, "method": "fs/read_text_file", "params": {"sessionId": "s", "path": "/x"}}),
    )
    for end in ends:
        made = cleaner()
        assert [*made.cleaned(chunk("The-last-word"))] == []
        assert texts([*made.cleaned(end)][:1]) == ["The-last-word"]


def test_a_text_that_begins_right_behind_another_is_judged_by_itself() -> None:
    lines = cleaned(
        chunk("done"), update("s", sessionUpdate="tool_call", toolCallId="c"), *map(chunk, pieces_of(TOKEN))
    )
    assert "".join(texts(lines)) == "done[redacted: github token]"


def test_a_model_that_is_slower_than_the_wait_gives_no_piece_of_a_secret_away() -> None:
    made, lines = cleaner(), []
    for at, piece in enumerate(pieces_of(f"The token is {TOKEN} and no more.")):
        lines += [*made.cleaned(chunk(piece, t=at * PATIENCE / 2)), *made.settled(is_over=False)]
    lines += made.settled(is_over=True)
    assert "".join(texts(lines)) == "The token is [redacted: github token] and no more."


def test_what_is_said_is_written_before_the_text_is_over_but_for_its_last_word() -> None:
    made = cleaner()
    lines = [line for piece in ("one ", "two ", "thr") for line in made.cleaned(chunk(piece))]
    assert lines == []
    assert texts(made.settled(is_over=False)) == ["one ", "two "]
    assert texts(made.settled(is_over=True)) == ["thr"]


@pytest.mark.long
def test_a_secret_in_thousands_of_pieces_of_an_endless_text_is_found() -> None:
    said = (
        f"{'word ' * 13_000}{TOKEN} {'word ' * 3_000}-----BEGIN PRIVATE KEY-----\n{'aB3/' * 16}\n" + "word " * 9_000
    )
    made = cleaner()
    lines = [line for piece in pieces_of(said, 5) for line in made.cleaned(chunk(piece))]
    assert lines, "an endless text is not kept back as a whole"
    lines += made.settled(is_over=True)
    told = "".join(texts(lines))
    assert TOKEN[10:] not in told
    assert "aB3/aB3/" not in told
    assert len(lines) == len(pieces_of(said, 5))
    assert told.count("word") > 13_000 + 3_000


def test_a_secret_that_a_command_prints_in_pieces_is_found() -> None:
    lines = cleaned(*map(printed, (f"x {TOKEN[:9]}", TOKEN[9:], " y")))
    data = [line["frame"]["params"]["update"]["_meta"]["terminal_output"]["data"] for line in lines]
    assert "".join(data) == "x [redacted: github token] y"


def test_names_are_no_hiding_place() -> None:
    (line,) = cleaned(message({"id": 1, "params": {TOKEN: 1, "found": {KEY: {"a": 1}}}}))
    assert line["frame"]["params"] == {"[redacted: github token]": 1, "found": {"[redacted: our key]": {"a": 1}}}


@pytest.mark.parametrize("room", range(1_950, 2_010, 5))
def test_no_line_is_cut_in_the_middle_of_a_secret(room: int) -> None:
    (line,) = cleaned({"dir": "in", "t": 0.0, "line": f"{'x' * room} {TOKEN} {'y' * 50_000}"})
    assert "ghp_" not in line["line"]
    assert len(line["line"]) <= 2_000


def test_no_text_is_cut_in_the_middle_of_a_secret() -> None:
    (line,) = cleaned(message({"id": 1, "params": {"text": f"{'x' * 19_980} {TOKEN} {'y' * 100_000}"}}))
    assert "ghp_" not in line["frame"]["params"]["text"]
    secrets = f"{TOKEN} " * 5_000  # each of them gets shorter, so that others move to where the text is cut
    (line,) = cleaned(message({"id": 1, "params": {"text": secrets}}))
    assert "ghp_" not in line["frame"]["params"]["text"]


@pytest.mark.parametrize("end", ["…", "..."])
def test_a_title_that_was_cut_in_the_middle_of_a_secret_does_not_give_its_beginning_away(end: str) -> None:
    (line,) = cleaned(message({"id": 1, "params": {"title": f"use {TOKEN[:30]}{end}", "other": f"a long word{end}"}}))
    assert line["frame"]["params"] == {
        "title": f"use [redacted: beginning of a secret]{end}",
        "other": f"a long word{end}",
    }


def test_what_is_attached_in_base64_is_not_kept() -> None:
    data = base64.b64encode(f"TOKEN={TOKEN}".encode()).decode()
    picture = {"type": "image", "data": data, "mimeType": "image/png"}
    resource = {"type": "resource", "resource": {"uri": "file:///x", "blob": data}}
    (line,) = cleaned(message({"id": 1, "params": {"prompt": [picture, resource]}}))
    assert data not in json.dumps(line)
    assert (
        line["frame"]["params"]["prompt"][0]["data"]
        == f"[{len(data)} characters of base64 left out of the recording]"
    )


@pytest.mark.parametrize("before", ["", "a", "ab", "me:"])
def test_a_key_of_ours_is_known_in_base64(before: str) -> None:
    data = base64.b64encode(f"{before}{KEY}\n".encode()).decode()
    (line,) = cleaned(message({"id": 1, "params": {"text": f"echo {data} | base64 -d"}}))
    assert "[redacted: our key]" in line["frame"]["params"]["text"]
    assert KEY not in base64.b64decode(line["frame"]["params"]["text"].split()[1] + "==", validate=False).decode(
        "latin-1"
    )


def test_values_behind_options_that_name_secrets_are_not_kept() -> None:
    args = ["--api-key", "zzSecret99q", "--verbose", "yes", "-H", "x", "--header", "X-Auth: abc", "--token", "t"]
    (line,) = cleaned(message({"id": 1, "params": {"args": args}}))
    hidden = "[redacted: value]"
    assert line["frame"]["params"]["args"] == [
        "--api-key", hidden, "--verbose", "yes", "-H", "x", "--header", f"X-Auth: {hidden}", "--token", hidden,
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["password", "api_key", "Authorization", "accessToken"])
def test_what_a_name_says_is_secret_is_not_kept_however_it_looks(name: str) -> None:
    (line,) = cleaned(message({"id": 1, "result": {"content": {name: "hunter"}}}))
    assert line["frame"]["result"]["content"] == {name: "[redacted: value]"}


@pytest.mark.parametrize("name", ["env", "headers"])
@pytest.mark.parametrize(
    "given", [["A=plain-value"], {"A": "plain-value"}, [{"name": "A", "value": "plain-value"}], "plain-value"]
)
def test_variables_and_headers_are_known_in_every_form(name: str, given: Any) -> None:
    (line,) = cleaned(message({"id": 1, "params": {"mcpServers": [{"name": "the server", name: given}]}}))
    assert "plain-value" not in json.dumps(line)
    assert "the server" in json.dumps(line)


def test_a_message_that_is_nested_too_deeply_is_named_and_nothing_else_is_lost() -> None:
    deep: Any = "leaf"
    for _ in range(700):
        deep = {"a": deep}
    lines = cleaned(message({"id": 1, "params": deep}), message({"id": 2, "result": {}}))
    assert "too deeply" in lines[0]["line"]
    assert lines[1]["frame"]["id"] == 2
