"""What a question shows of an action that reaches further than files: the web, and running programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_adapter.permissions import asked_card
from tests.support.each import each
from tools.approval.actions import (
    Action,
    CallMcpTool,
    CallOwnTool,
    ConnectHost,
    LeavePlan,
    ProcessInput,
    ReachHost,
    ReadPath,
    ReadSecretFiles,
    RunCommand,
    SearchWeb,
    UseBrowser,
    WriteMemory,
    WritePath,
)
from tools.approval.questions import Question

_ROOT = Path("/srv")
_URL = "https://example.com/a"


def _card(action: Action, reason: str = "") -> dict[str, object]:
    return asked_card(Question("call-7", action, reason), _ROOT)


@each(
    ("action", "reason", "title"),
    [
        (ReachHost(_URL, "example.com"), "", f"Fetch {_URL}"),
        (ReachHost(_URL, "example.com", "a private host"), "leads inside", f"Fetch {_URL} (it leads inside)"),
        (ReachHost("https://example.com/\u202etxt\n", "example.com"), "", r"Fetch https://example.com/\u202etxt\n"),
        (SearchWeb("Brave", "acp agents"), "", "Search Brave for acp agents"),
        (SearchWeb("Brave", "acp\nagents"), "", r"Search Brave for acp\nagents"),
        (
            ConnectHost("example.com", 443, command="curl https://example.com/\n-v"),
            "",
            r"Let a command reach example.com: curl https://example.com/\n-v",
        ),
        (
            ConnectHost("localhost", 5432, "this machine", "psql"),
            "",
            "Let a command reach localhost:5432 (it is this machine): psql",
        ),
        (UseBrowser("example.com", "click @e12"), "", "Click @e12 on example.com"),
        (CallOwnTool("weather"), "", "Call your own tool weather"),
        (ProcessInput("python3 -i", "print(1)\n", _ROOT), "types", "Type into python3 -i: print(1)"),
    ],
)
def test_the_title_says_what_would_happen_on_one_line(action: Action, reason: str, title: str) -> None:
    assert _card(action, reason)["title"] == title


def test_what_is_typed_is_shown_as_a_whole_with_nothing_hidden() -> None:
    [block] = _blocks(ProcessInput("sh", "echo a\necho \u200bb\n", _ROOT))
    assert "echo a\necho \\u200bb" in block["content"]["text"]


def _blocks(action: Action) -> list[Any]:
    content = _card(action)["content"]
    assert isinstance(content, list)
    return content


@each("sign", ["\u200b", "\u200d", "\u2028", "\u061c", "\u00ad", "\ufeff", "\u3164", "\U000e0041"])
def test_no_sign_that_is_not_seen_is_left_in_the_title_of_a_command(sign: str) -> None:
    assert _card(RunCommand(f"rm a{sign}b", _ROOT))["title"] == f"rm a{ascii(sign)[1:-1]}b"


@pytest.mark.parametrize(
    ("room", "shown"), [(" " * 300, "ls [… 300 blanks …] ; rm x"), ("\n" * 50, "ls\n[… 49 blank lines …]\n; rm x")]
)
def test_nothing_of_a_command_is_pushed_out_of_sight(room: str, shown: str) -> None:
    card = _card(RunCommand(f"ls{room}; rm x", _ROOT))
    assert card["title"] == shown
    assert card["rawInput"] == {"command": f"ls{room}; rm x", "cwd": str(_ROOT), "reason": ""}


@pytest.mark.parametrize(
    ("cwd", "outside", "title"),
    [
        (_ROOT, False, "make clean"),
        (_ROOT / "sub", False, "In sub: make clean"),
        (Path("/opt/x"), False, "In /opt/x: make clean"),
        (Path("/opt/x"), True, "Without the sandbox, in /opt/x: make clean"),
    ],
)
def test_a_command_says_where_it_runs_unless_that_is_the_sessions_directory(
    cwd: Path, outside: bool, title: str
) -> None:
    assert _card(RunCommand("make clean", cwd, outside=outside))["title"] == title


def test_a_diff_with_signs_that_are_not_seen_says_so() -> None:
    path = _ROOT / "a.py"
    _, note = _blocks(WritePath(path, b"x", "x = 'a\u202eb'".encode(), path))
    assert "\\u202e" in note["content"]["text"]
    assert len(_blocks(WritePath(path, "a\u202eb".encode(), "c\u202eb".encode(), path))) == 1


def test_a_plan_hides_nothing() -> None:
    [block] = _blocks(LeavePlan("do\u202e this"))
    assert block["content"]["text"] == "do\\u202e this"


def _new(name: str, content: bytes) -> WritePath:
    return WritePath(_ROOT / name, None, content, shown=_ROOT / name)


def test_one_question_about_several_changes_shows_each_and_names_what_there_is_no_room_for() -> None:
    also = (
        _new(".vscode/tasks.json", b"{}\n"),
        _new("AGENTS.md", b"x" * 1_000_000),
        _new(".nvim.lua", b"os.exit()\n"),
    )
    question = Question("call-7", _new(".envrc", b"evil\n"), "is run by direnv", also=also)
    card: dict[str, Any] = asked_card(question, _ROOT)
    assert card["title"] == "Create .envrc and 3 more: it is run by direnv"
    assert [place["path"] for place in card["locations"]] == [
        str(_ROOT / name) for name in (".envrc", ".vscode/tasks.json", "AGENTS.md", ".nvim.lua")
    ]
    reasons, *diffs, rest = card["content"]
    assert "\nAGENTS.md is read by coding agents as what they are to do\n" in reasons["content"]["text"]
    assert [(diff["path"], diff["newText"]) for diff in diffs] == [
        (str(_ROOT / ".envrc"), "evil\n"),
        (str(_ROOT / ".vscode/tasks.json"), "{}\n"),
        (str(_ROOT / ".nvim.lua"), "os.exit()\n"),
    ]
    assert rest["content"]["text"].splitlines()[1:] == [str(_ROOT / "AGENTS.md")]


@pytest.mark.parametrize("number", [1, 29, 80])
def test_the_title_of_many_changes_counts_all_of_them(number: int) -> None:
    also = tuple(_new(f"p{each}/.envrc", b"x") for each in range(number))
    card: dict[str, Any] = asked_card(Question("call-7", _new(".envrc", b"x"), "", also=also), _ROOT)
    assert card["title"] == f"Create .envrc and {number} more"


_EVERY_ACTION: list[tuple[Action, str]] = [
    (RunCommand("rm -rf build", _ROOT), "execute"),
    (ProcessInput("sh", "ls\n", _ROOT), "execute"),
    (ConnectHost("example.com", 443, command="curl x"), "execute"),
    (ReadSecretFiles(_ROOT, (_ROOT / ".env",), "npm test"), "execute"),
    (UseBrowser("example.com", "click @e1"), "execute"),
    (ReadPath(Path("/etc/passwd")), "read"),
    (WritePath(_ROOT / "a", None, b"x", _ROOT / "a"), "edit"),
    (WritePath(_ROOT / "a", b"x", b"y", _ROOT / "a"), "edit"),
    (WritePath(_ROOT / "a", b"x", None, _ROOT / "a"), "delete"),
    (WriteMemory("memory", _ROOT / "MEMORY.md", "a", "b"), "edit"),
    (ReachHost(_URL, "example.com"), "fetch"),
    (SearchWeb("Brave", "acp"), "fetch"),
    (LeavePlan("# Plan"), "switch_mode"),
    (CallMcpTool("git", "log", "{}"), "other"),
    (CallOwnTool("weather"), "other"),
]


@each(("action", "kind"), _EVERY_ACTION)
@each("reason", ["", "deletes files"])
def test_a_permission_question_stands_alone(action: Action, kind: str, reason: str) -> None:
    card: dict[str, Any] = asked_card(Question("call-7", action, reason), _ROOT)
    assert (card["toolCallId"], card["status"], card["kind"]) == ("call-7", "pending", kind)
    assert card["title"]
    assert isinstance(card["locations"], list)
    assert card["content"]


@each("action", [RunCommand("rm -rf build", _ROOT), CallOwnTool("weather"), ReadPath(Path("/etc/passwd"))])
def test_the_reason_of_a_permission_question_is_in_its_content(action: Action) -> None:
    *_, why = asked_card(Question("call-7", action, "deletes \u202efiles"), _ROOT)["content"]
    assert why["content"]["text"] == "It deletes \\u202efiles."


def test_a_permission_question_without_a_reason_still_says_what_it_is_about() -> None:
    [block] = _blocks(CallOwnTool("weather"))
    assert "Call your own tool weather" in block["content"]["text"]


def test_the_files_of_a_permission_question_about_secrets_are_in_its_content() -> None:
    files, command = _blocks(ReadSecretFiles(_ROOT, (_ROOT / ".env", _ROOT / "a.key"), "npm test"))
    assert "/srv/.env\n/srv/a.key" in files["content"]["text"]
    assert command["content"]["text"] == "```sh\nnpm test\n```"
