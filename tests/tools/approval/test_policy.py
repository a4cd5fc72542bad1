"""The one policy, over every combination of action, place, mode, edit policy and earlier answer."""

import itertools
from pathlib import Path

import pytest

from tools.approval.actions import CallMcpTool, LeavePlan, ReadPath, RunCommand, WritePath, describe
from tools.approval.grants import Grants
from tools.approval.policy import Rules, decide
from tools.approval.scopes import reaches

ROOT = Path("/srv/project")
OTHER_ROOT = Path("/srv/library")
DATABASE = Path("/srv/project/hermes-acp.db")
RULES = Rules(
    roots=(ROOT, OTHER_ROOT),
    private=(Path("/home/u/agent"),),
    closed=frozenset({DATABASE}),
    allowed_commands=frozenset({"rm -rf build"}),
)

PLACES = {
    "inside": ROOT / "src/app.py",
    "the root itself": ROOT,
    "inside the second root": OTHER_ROOT / "lib.py",
    "outside": Path("/srv/data.txt"),
    "beside": Path("/srv/project-two/app.py"),
    "sensitive": ROOT / ".env",
    "private": Path("/home/u/agent/config.yaml"),
    "closed": DATABASE,
}
INSIDE = {"inside", "the root itself", "inside the second root"}
COMMANDS = {
    "looking": "git status",
    "ordinary": "make test",
    "dangerous": "rm file",
    "dangerous though it only looks": "cat .env",
    "allowed by a rule": "  rm -rf build\n",
    "forbidden": "rm -rf /",
}
MODES = ("plan", "default", "accept_edits", "dont_ask")
EDITS = ("mode", "ask")
ANSWERS = ("none", "yes", "no")
MCP = CallMcpTool("files", "write", "{}")


def _write(path, before=b"a", after=b"b"):
    return WritePath(path, before, after, shown=path)


PATH_ACTIONS = {
    "read": ReadPath,
    "create": lambda path: _write(path, before=None),
    "edit": _write,
    "delete": lambda path: _write(path, after=None),
}


def _answered(action, answer):
    grants = Grants()
    if answer == "yes":
        grants.allow(reaches(action, RULES.roots, is_risky=True)[0])
    elif answer == "no":
        grants.refuse(action)
    return grants


def _expected_for_path(kind, mode, place, edits, answer):
    if place == "closed" or answer == "no":
        return "deny"
    if mode == "plan" and kind != "read":
        return "deny"
    is_quiet = place in INSIDE and (kind == "read" or mode == "accept_edits")
    if kind != "read" and edits == "ask":
        return "ask"
    return "allow" if is_quiet or mode == "dont_ask" or answer == "yes" else "ask"


@pytest.mark.parametrize(
    ("kind", "mode", "place", "edits", "answer"),
    list(itertools.product(PATH_ACTIONS, MODES, PLACES, EDITS, ANSWERS)),
)
def test_what_may_happen_to_a_path(kind, mode, place, edits, answer):
    action = PATH_ACTIONS[kind](PLACES[place])

    decision = decide(action, mode, RULES, _answered(action, answer), edits)

    assert decision.verdict == _expected_for_path(kind, mode, place, edits, answer)
    # That an edit is shown before it is made needs no reason; everything else does.
    assert bool(decision.reason) == (
        decision.verdict == "deny" or (decision.verdict == "ask" and place not in INSIDE)
    )
    assert decision.is_risky == (decision.verdict == "ask" and place in {"sensitive", "private"})


@pytest.mark.parametrize("name", [".github/workflows/ci.yml", ".vscode/tasks.json", ".bashrc"])
def test_what_runs_later_may_be_read_but_not_changed_unasked(name):
    assert decide(ReadPath(ROOT / name), "accept_edits", RULES, Grants()).verdict == "allow"
    changed = decide(_write(ROOT / name), "accept_edits", RULES, Grants())
    assert changed.verdict == "ask"
    assert changed.reason


def _expected_for_command(kind, mode, answer):
    if kind == "forbidden" or answer == "no":
        return "deny"
    if mode == "plan":
        return "allow" if kind == "looking" else "deny"
    if kind in {"looking", "ordinary", "allowed by a rule"} or mode == "dont_ask" or answer == "yes":
        return "allow"
    return "ask"


@pytest.mark.parametrize(
    ("kind", "mode", "edits", "answer"), list(itertools.product(COMMANDS, MODES, EDITS, ANSWERS))
)
def test_what_may_happen_to_a_command(kind, mode, edits, answer):
    action = RunCommand(COMMANDS[kind], ROOT)

    decision = decide(action, mode, RULES, _answered(action, answer), edits)

    assert decision.verdict == _expected_for_command(kind, mode, answer)
    assert bool(decision.reason) == (decision.verdict != "allow")
    assert decision.is_risky == (decision.verdict == "ask")


@pytest.mark.parametrize(("mode", "edits", "answer"), list(itertools.product(MODES, EDITS, ANSWERS)))
def test_what_may_happen_to_a_tool_of_an_mcp_server(mode, edits, answer):
    expected = "deny" if answer == "no" or mode == "plan" else "allow"
    if answer == "none" and mode in {"default", "accept_edits"}:
        expected = "ask"

    assert decide(MCP, mode, RULES, _answered(MCP, answer), edits).verdict == expected


@pytest.mark.parametrize(("mode", "edits"), list(itertools.product(MODES, EDITS)))
def test_leaving_plan_mode_is_asked_whatever_was_answered_before(mode, edits):
    plan = LeavePlan("1. Begin")
    grants = Grants()
    grants.refuse(plan)

    assert decide(plan, mode, RULES, grants, edits).verdict == "ask"
    assert reaches(plan, RULES.roots, is_risky=False) == ()


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("ls -l src", "allow"),
        ("git log --oneline | head -5", "allow"),
        ("grep -rn add . && wc -l a.py", "allow"),
        ("make test", "deny"),
        ("python -m pytest", "deny"),
        ("touch new.txt", "deny"),
        ("echo text > new.txt", "deny"),
        ("git commit -m x", "deny"),
        ("cat .env", "deny"),
        ("cat $(touch x)", "deny"),
    ],
)
def test_in_plan_mode_only_commands_run_that_surely_change_nothing(command, verdict):
    assert decide(RunCommand(command, ROOT), "plan", RULES, Grants()).verdict == verdict


@pytest.mark.parametrize(
    ("action", "phrase"),
    [
        (ReadPath(ROOT), "read /srv/project"),
        (_write(ROOT), "edit /srv/project"),
        (RunCommand("ls", ROOT), "run: ls"),
        (MCP, "call write of the MCP server files"),
        (LeavePlan("x"), "leave plan mode"),
    ],
)
def test_every_action_has_a_phrase(action, phrase):
    assert describe(action) == phrase


def test_the_verb_of_a_change_follows_from_what_was_and_will_be():
    assert [PATH_ACTIONS[kind](ROOT).verb for kind in ("create", "edit", "delete")] == ["create", "edit", "delete"]


@pytest.mark.parametrize(
    ("command", "cwd"),
    [
        ("rm -rf *", "/"),
        ("rm -rf ./*", "/"),
        ("rm -fr -- .", "~"),
        ("true; sudo rm --recursive *", "~"),
        ("rm -rf etc usr", "/"),
        ("rm -rf ../../*", "/srv/project"),
        ("rm -rf *", "/etc"),
    ],
)
def test_no_mode_deletes_the_root_or_home_from_within(command, cwd):
    assert decide(RunCommand(command, Path(cwd).expanduser()), "dont_ask", RULES, Grants()).cause == "floor"


@pytest.mark.parametrize(
    ("command", "cwd"),
    [("rm -rf *", "/srv/project"), ("rm -rf build", "~"), ("cd build && rm -rf *", "~"), ("rm notes.txt", "/")],
)
def test_deleting_elsewhere_is_no_matter_of_the_floor(command, cwd):
    assert decide(RunCommand(command, Path(cwd).expanduser()), "dont_ask", RULES, Grants()).verdict == "allow"
