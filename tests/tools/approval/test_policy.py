"""The one policy, over every combination of action, mode, place and grant."""

import itertools
from pathlib import Path

import pytest

from tools.approval.actions import ReadPath, RunCommand, WritePath
from tools.approval.grants import Grants, scope
from tools.approval.policy import Rules, decide

ROOT = Path("/srv/project")
OTHER_ROOT = Path("/srv/library")
RULES = Rules(
    roots=(ROOT, OTHER_ROOT), private=(Path("/home/u/agent"),), allowed_commands=frozenset({"rm -rf build"})
)

PLACES = {
    "inside": ROOT / "src/app.py",
    "the root itself": ROOT,
    "inside the second root": OTHER_ROOT / "lib.py",
    "outside": Path("/srv/data.txt"),
    "beside": Path("/srv/project-two/app.py"),
    "sensitive": ROOT / ".env",
    "private": Path("/home/u/agent/config.yaml"),
}
INSIDE = {"inside", "the root itself", "inside the second root"}
COMMANDS = {
    "ordinary": "make test",
    "dangerous": "rm file",
    "allowed by a rule": "  rm -rf build\n",
    "forbidden": "rm -rf /",
}
MODES = ("default", "accept_edits", "dont_ask")


def _write(path, before=b"a", after=b"b"):
    return WritePath(path, before, after, shown=path)


PATH_ACTIONS = {
    "read": ReadPath,
    "create": lambda path: _write(path, before=None),
    "edit": _write,
    "delete": lambda path: _write(path, after=None),
}


def _expected_for_path(kind, mode, place, granted):
    if mode == "dont_ask" or granted:
        return "allow"
    if place not in INSIDE:
        return "ask"
    return "allow" if kind == "read" or mode == "accept_edits" else "ask"


@pytest.mark.parametrize(
    ("kind", "mode", "place", "granted"),
    list(itertools.product(PATH_ACTIONS, MODES, PLACES, [False, True])),
)
def test_what_may_happen_to_a_path(kind, mode, place, granted):
    action = PATH_ACTIONS[kind](PLACES[place])
    grants = Grants()
    if granted:
        grants.add(action)

    decision = decide(action, mode, RULES, grants)

    assert decision.verdict == _expected_for_path(kind, mode, place, granted)
    # That an edit is shown before it is made needs no reason; the place may.
    assert bool(decision.reason) == (decision.verdict == "ask" and place not in INSIDE)


@pytest.mark.parametrize("name", [".github/workflows/ci.yml", ".vscode/tasks.json", ".bashrc"])
def test_what_runs_later_may_be_read_but_not_changed_unasked(name):
    assert decide(ReadPath(ROOT / name), "accept_edits", RULES, Grants()).verdict == "allow"
    changed = decide(_write(ROOT / name), "accept_edits", RULES, Grants())
    assert changed.verdict == "ask"
    assert changed.reason


@pytest.mark.parametrize(("kind", "mode", "granted"), list(itertools.product(COMMANDS, MODES, [False, True])))
def test_what_may_happen_to_a_command(kind, mode, granted):
    action = RunCommand(COMMANDS[kind], ROOT)
    grants = Grants()
    if granted:
        grants.add(action)
    expected = {"ordinary": "allow", "allowed by a rule": "allow", "forbidden": "deny"}.get(kind)

    decision = decide(action, mode, RULES, grants)

    assert decision.verdict == (expected or ("allow" if mode == "dont_ask" or granted else "ask"))
    assert bool(decision.reason) == (decision.verdict != "allow")


def test_the_verb_of_a_change_follows_from_what_was_and_will_be():
    assert [PATH_ACTIONS[kind](ROOT).verb for kind in ("create", "edit", "delete")] == ["create", "edit", "delete"]


@pytest.mark.parametrize(
    ("granted", "other"),
    [
        (ReadPath(ROOT / "a"), ReadPath(ROOT / "b")),
        (ReadPath(ROOT / "a"), _write(ROOT / "a")),
        (_write(ROOT / "a"), _write(ROOT / "b")),
        (_write(ROOT / "a"), _write(ROOT / "a", after=None)),
        (_write(ROOT / "a", after=None), _write(ROOT / "a")),
        (RunCommand("rm a", ROOT), RunCommand("rm b", ROOT)),
        (RunCommand("rm a", ROOT), RunCommand("rm a", OTHER_ROOT)),
        (RunCommand("rm a", ROOT), RunCommand("rm a ", ROOT)),
    ],
)
def test_a_grant_reaches_no_further_than_what_was_asked(granted, other):
    grants = Grants()
    grants.add(granted)

    assert grants.covers(granted)
    assert not grants.covers(other)


def test_a_grant_for_a_file_covers_its_later_edits():
    assert scope(_write(ROOT / "a", b"1", b"2")) == scope(_write(ROOT / "a", b"2", b"3"))
