"""What a denying rule about files or hosts hits in what an MCP server is given."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.each import each
from tools.approval.actions import CallMcpTool
from tools.approval.grants import Grants
from tools.approval.policy import Decision, Rules, decide
from tools.approval.rules import parse_rule
from tools.approval.scopes import OfServer


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = (tmp_path_factory.mktemp("mcp") / "project").resolve()
    (root / "private").mkdir(parents=True)
    (root / "private/notes.txt").write_text("n")
    (root / "link").symlink_to("private")
    (root / "Makefile").write_text("all:\n")
    return root


def _decided(project: Path, rule: str, arguments: Any, *, mode: Any = "dont_ask", reads: bool = False) -> Decision:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments).replace("ROOT", str(project))
    rules = Rules(roots=(project,), deny=(parse_rule(rule),))
    return decide(CallMcpTool("files", "tool", text, only_reads=reads), mode, rules, Grants())


@each(
    ("arguments"),
    [
        {"path": "ROOT/private/notes.txt"},
        {"path": "private/notes.txt"},
        {"path": "./private/../private/notes.txt"},
        {"path": "PRIVATE/notes.txt"},
        {"path": "ROOT/link/notes.txt"},
        {"path": "link/../private/notes.txt"},
        {"path": "private"},
        {"pattern": "priv*/*.txt"},
        {"uri": "file://ROOT/private/notes.txt"},
        {"uri": "file://localhost/ROOT/private/notes.txt"},
        {"uri": "FILE:ROOT/private/notes.txt"},
        {"uri": "files://ROOT/priv%61te/notes.txt"},
        {"files": [{"read": [" private/notes.txt "]}]},
        {"files": {"private/notes.txt": None}},
        {"list": "README.md\nprivate/notes.txt"},
        {"option": "--file=private/notes.txt"},
        {"path": "./" * 3_000 + "private/notes.txt"},
        {"uri": "file://ROOT/" + "%2e/" * 2_000 + "private/notes.txt"},
        {"path": "x\0=private/notes.txt"},
        {"content": "a\n" * 1_500, "path": "private/notes.txt"},
    ],
)
def test_a_path_that_must_not_be_read_is_denied_however_a_server_is_given_it(project: Path, arguments: Any) -> None:
    for mode in ("default", "accept_edits", "dont_ask"):
        assert _decided(project, "read: private/**", arguments, mode=mode).cause == "rule"


@each(
    ("rule", "arguments"),
    [
        ("read: private/**", {"path": "src/notes.txt", "text": "a private matter"}),
        ("read: private", {"query": "private things", "id": 7, "ok": True, "none": None}),
        ("read: Makefile.bak", {"path": "Makefile"}),
        ("read: private/**", {"text": "private/" * 1000}),
        ("read: private/*/**", {"path": "private/notes.txt"}),
        ("read: private/**", {"text": "More than a name can hold. " * 100}),
        ("read: private/**", {"text": "half a sign: \ud800, and no name: /\ud800/\0"}),
        ("host: evil.example", {"url": "https://good.example/evil.example"}),
        ("run: git push*", {"command": "git push"}),
    ],
)
def test_what_is_something_else_is_not_denied(project: Path, rule: str, arguments: Any) -> None:
    assert _decided(project, rule, arguments).verdict == "allow"


@each(
    ("arguments"),
    [
        {"url": "https://evil.example/x?y"},
        {"url": "https://me:word@sub.evil.example:8443"},
        {"url": "https:\\\\evil.example\\x"},
        {"url": "https://%65vil.example/"},
        {"url": "https://evil.example/?q=" + "x" * 5_000},
        {"host": "evil.example"},
        {"hosts": ["good.example", "evil.example:443"]},
        {"text": "look at https://evil.example/x now"},
    ],
)
def test_a_host_that_is_denied_is_denied_in_what_a_server_is_given(project: Path, arguments: Any) -> None:
    assert _decided(project, "host: evil.example", arguments).cause == "rule"


@each(
    ("rule", "arguments"),
    [
        ("write: '*.lock'", {"path": "yarn.lock"}),
        ("delete: private/**", {"path": "ROOT/private/notes.txt"}),
        ("read: private/**", {"command": "cat 'private/notes.txt' | less"}),
        ("read: private/**", {"path": "'private/notes.txt'"}),
        ("read: private/**", {"command": "cat private/notes.txt"}),
        ("read: private/**", {"text": "see private/notes.txt" + " word" * 600}),
        ("write: Makefile", {"path": "Makefile"}),
        ("host: *.example", {"text": "look at docs.example"}),
    ],
)
def test_what_may_be_denied_is_asked_about_and_refused_where_nobody_is_asked(
    project: Path, rule: str, arguments: Any
) -> None:
    rule = rule.replace("'", "")
    assert _decided(project, rule, arguments).verdict == "deny"
    asked = _decided(project, rule, arguments, mode="default")
    assert (asked.verdict, asked.cause) == ("ask", "rule-unclear")
    assert f"`{rule}`" in asked.reason


def test_an_earlier_yes_to_a_server_is_none_to_what_a_rule_may_deny(project: Path) -> None:
    answers = Grants()
    answers.allow(OfServer("files"))
    rules = Rules(roots=(project,), deny=(parse_rule("write: private/**"),), allow=(parse_rule("mcp: files"),))
    other = CallMcpTool("files", "write", json.dumps({"path": "src/a"}))
    denied = replace(other, arguments=json.dumps({"path": "private/a"}))
    assert decide(other, "default", rules, answers).verdict == "allow"
    assert decide(denied, "default", rules, answers).verdict == "ask"


def test_a_resource_is_only_read(project: Path) -> None:
    uri = {"uri": f"file://{quote(str(project))}/yarn.lock"}
    assert _decided(project, "write: *.lock", uri, reads=True).verdict == "allow"
    assert _decided(project, "read: *.lock", uri, reads=True).cause == "rule"


def test_arguments_that_are_no_json_are_read_as_a_text(project: Path) -> None:
    assert _decided(project, "read: private/**", "private/notes.txt").cause == "rule"
