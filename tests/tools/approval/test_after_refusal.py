"""After a no, calls of the same answer that would change what the refused one named ask, whatever allows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_core.cancel import CancelToken
from tests.support.agents import make_agent
from tests.support.each import each
from tests.support.scripted_provider import says, uses
from tests.support.tool_context import ScriptedApprover
from tools.approval.actions import Action, CallMcpTool, ReadPath, RunCommand, WritePath
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Confines, Mode, Rules
from tools.approval.rules import parse_rule
from tools.errors import Denied


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path.resolve() / "work"
    (work / "static").mkdir(parents=True)
    (work / "static" / "a.css").write_text("a {}\n")
    (work / "b.py").write_text("b = 1\n")
    return work


def approvals(work: Path, mode: Mode = "accept_edits", **options: Any) -> Approvals:
    rules = Rules((work,), confines=Confines(lambda: ""), **options)
    return Approvals(rules, mode, ScriptedApprover("reject_once"))


def gate(of: Approvals) -> Gate:
    return Gate(of, "call", CancelToken(), lambda _: None)


def refuse(of: Approvals, action: Action) -> None:
    with pytest.raises(Denied):
        gate(of).authorize(action)


def write(path: Path, after: bytes | None = b"new") -> WritePath:
    return WritePath(path, b"old", after, path)


@each(
    ("refused", "later"),
    [
        ("rm -rf static", "static/a.css"),
        ("rm -rf static", "static/new.css"),
        ("rm static/a.css", "static/a.css"),
        ("cd static && rm -rf -- *", "static/a.css"),
        ("rm -rf ./static/../static", "static/a.css"),
        ('rm -rf "$DIR"', "b.py"),
        ("find static -delete", "static/a.css"),
        ("python3 -c \"import shutil; shutil.rmtree('static')\"", "static/a.css"),
        ("sudo rm -rf static", "static/a.css"),
    ],
)
def test_a_change_below_what_a_refused_command_named_asks_in_a_mode_that_allows_edits(
    work: Path, refused: str, later: str
) -> None:
    of = approvals(work)
    refuse(of, RunCommand(refused, work, outside=True))
    decision = of.decide(write(work / later, None))
    assert (decision.verdict, decision.cause) == ("ask", "refused")
    assert f"may change what was just refused (“run without the sandbox: {refused}”)" in decision.reason


@each(
    "later",
    [
        "rm -r static",
        "mv static old",
        "cp b.py static/",
        "sed -i s/a/b/ static/a.css",
        "rm -rf .",
        "echo > static/a.css",
    ],
)
def test_a_command_that_names_what_was_refused_or_a_directory_above_asks(work: Path, later: str) -> None:
    of = approvals(work, allow=(parse_rule("run: *"),))
    refuse(of, RunCommand("rm static/a.css", work, outside=True))
    assert of.decide(RunCommand(later, work)).cause == "refused"


@each("later", [RunCommand("ls static", Path("/w")), RunCommand("cat static/a.css", Path("/w"))])
def test_what_only_looks_at_it_is_not_asked_about(work: Path, later: RunCommand) -> None:
    of = approvals(work)
    refuse(of, RunCommand("rm -rf static", work, outside=True))
    assert of.decide(RunCommand(later.command, work)).verdict == "allow"
    assert of.decide(ReadPath(work / "static" / "a.css")).verdict == "allow"


def test_other_files_are_changed_unasked_and_so_is_everything_in_the_next_answer(work: Path) -> None:
    of = approvals(work)
    refuse(of, RunCommand("rm -rf static", work, outside=True))
    assert of.decide(write(work / "b.py")).verdict == "allow"
    of.begin_answer()
    assert of.decide(write(work / "static" / "a.css")).verdict == "allow"


def test_a_refused_edit_and_a_refused_call_of_a_server_name_their_paths(work: Path) -> None:
    of = approvals(work, mode="default", allow=(parse_rule("run: rm *"), parse_rule("write: static/**")))
    refuse(of, write(work / "b.py"))
    assert of.decide(RunCommand("rm b.py", work)).cause == "refused"
    refuse(of, CallMcpTool("files", "delete", '{"items": [{"path": "static/a.css"}]}'))
    assert of.decide(write(work / "static" / "a.css")).cause == "refused"


def test_a_rules_no_counts_and_where_nobody_is_asked_the_change_is_refused_with_advice(work: Path) -> None:
    of = approvals(work, mode="dont_ask", deny=(parse_rule("run: rm *"),))
    refuse(of, RunCommand("rm -rf static", work))
    with pytest.raises(Denied, match=r"may change what was just refused .*In this mode nobody is asked"):
        gate(of).authorize(write(work / "static" / "a.css"))
    gate(of).authorize(write(work / "b.py"))


def test_an_earlier_yes_for_the_session_does_not_let_it_happen_unseen(work: Path) -> None:
    person = ScriptedApprover("allow_session")
    of = Approvals(Rules((work,), confines=Confines(lambda: "")), "default", person)
    gate(of).authorize(write(work / "static" / "a.css"))
    assert of.decide(write(work / "static" / "a.css", b"more")).verdict == "allow"
    person.choice = "reject_once"
    refuse(of, RunCommand("rm -rf static", work))
    assert of.decide(write(work / "static" / "a.css", b"more")).cause == "refused"


def test_a_sub_agent_is_asked_about_what_its_parents_answer_was_refused(work: Path) -> None:
    of = approvals(work)
    refuse(of, RunCommand("rm -rf static", work))
    child = of.for_another("sub-agent 1")
    child.begin_answer()
    assert child.decide(write(work / "static" / "a.css")).cause == "refused"


def test_after_a_refused_rm_the_deletion_by_a_patch_of_the_same_answer_asks_the_person(work: Path) -> None:
    deletes = "*** Begin Patch\n*** Delete File: static/a.css\n*** End Patch"
    both = uses(("r", "terminal", {"command": "rm -rf static"}), ("p", "patch", {"mode": "patch", "patch": deletes}))
    again = uses(("p", "patch", {"mode": "patch", "patch": deletes}))
    person = ScriptedApprover("reject_once")
    agent = make_agent(work, both, again, says("I left it."), mode="accept_edits", approver=person)
    result = agent.run_conversation("clean up")
    assert [type(action).__name__ for action in person.asked] == ["RunCommand", "WritePath"]
    told = [str(message["content"]) for message in result["messages"] if message["role"] == "tool"]
    assert "Do not try it again" in told[0]
    assert "may change what was just refused (“run: rm -rf static”)" in told[1]
    # The model has read the no: what it does then is its decision, in a mode that allows edits.
    assert not (work / "static" / "a.css").exists()


def test_what_output_is_thrown_into_is_nothing_that_was_refused(work: Path) -> None:
    of = approvals(work)
    refuse(of, RunCommand("cat secret.txt 2>/dev/null", work, outside=True))
    assert of.decide(RunCommand("pytest -q . 2>/dev/null", work / "other")).cause != "refused"
