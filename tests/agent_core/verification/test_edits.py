"""What counts as an edit of code and what as a check of it, however it was done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_core.agent import AIAgent
from agent_core.messages import tool_call
from agent_core.settings.project import PermissionSettings
from agent_core.verification import FailedCheck, UncheckedEdits
from agent_core.workspace import local_workspace
from tests.support.agents import injected, make_agent
from tests.support.each import each
from tests.support.scripted_provider import ScriptedProvider, says, uses
from tools.result import ShownDiff, ToolResult


def writes(path):
    return uses(("w", "write_file", {"path": path, "content": "x = 1\n"}))


def runs(command):
    return uses(("r", "terminal", {"command": command}))


@pytest.fixture
def watched(bench, guardian):
    """Makes an agent whose commands are looked at for what they change, as in a session."""

    def make(*scripts, **options):
        workspace = local_workspace(
            bench.work,
            guardian=guardian,
            mode="dont_ask",
            permissions=PermissionSettings(mode="off"),
            history=lambda call: bench.versions.for_call(call.session_id, call.turn_id, call.call_id, (bench.work,)),
        )
        return AIAgent("test-model", ScriptedProvider(*scripts), workspace=workspace, **options)

    return make


@pytest.mark.parametrize(
    "command",
    [
        "printf 'x = 2\n' > app.py",
        "sed -i s/1/2/ app.py",
        "python - <<'END'\nopen('app.py', 'w').write('x = 2')\nEND",
        "python -c \"open('app.py', 'w').write('x = 2')\"",
        "rm app.py",
        "mv app.py new.py",
    ],
)
def test_code_that_a_command_changed_counts_as_edited(bench, watched, command):
    bench.path("app.py").write_text("x = 1\n")
    (nudge,) = injected(watched(runs(command), says("Done."), says("No need.")).run_conversation("change it"))
    assert "app.py" in nudge


@pytest.mark.parametrize(
    "command",
    [
        "printf 'x = 2\n' > app.py; python app.py",
        "sed -i s/1/2/ app.py && python -m py_compile app.py",
        "printf 'print(1)' > probe.py; python probe.py; rm probe.py",
        "touch app.py; chmod +x app.py",
        "echo hi > notes.md",
        "git init -q .; git --version; printf 'x = 3' > app.py",
        "mkdir build && rm -r build",
    ],
)
def test_a_command_that_checks_what_it_changes_or_changes_no_code_is_none(bench, watched, command):
    bench.path("app.py").write_text("x = 1\n")
    assert injected(watched(runs(command), says("Done.")).run_conversation("change it")) == []


def test_code_that_came_and_went_with_the_turn_needs_no_check(bench, watched):
    scripts = writes("probe.py"), runs("rm probe.py"), says("Done.")
    assert injected(watched(*scripts).run_conversation("look")) == []


def test_code_that_was_there_and_was_removed_needs_one(tmp_path):
    (tmp_path / "app.py").write_text("x = 1\n")
    gone = uses(("p", "patch", {"mode": "patch", "patch": "*** Begin Patch\n*** Delete File: app.py\n*** End Patch"}))
    agent = make_agent(tmp_path, gone, says("Done."), says("Nobody used it."))
    assert len(injected(agent.run_conversation("clean up"))) == 1


def background(code):
    return ToolResult("", facts={"command": "npm run build", "process": "p1", "exit_code": code})


def edited():
    edits = UncheckedEdits()
    shown = ShownDiff(Path("/srv/app.py"), "x = 1", "x = 2")
    edits.see(tool_call("w", "write_file", "{}"), ToolResult("", (shown,)))
    return edits


@each(
    ("action", "process", "owed"),
    [("poll", "p1", False), ("wait", "p1", False), ("log", "p1", False), ("kill", "p1", True), ("poll", "p2", True)],
)
def test_a_check_in_the_background_counts_once_the_model_has_looked_at_it(action, process, owed):
    edits = edited()
    edits.see(tool_call("t", "terminal", "{}"), background(None))
    assert edits.unchecked == "app.py"
    seen = ToolResult("", facts={"command": "npm run build", "process": process, "exit_code": None})
    edits.see(tool_call("p", "process", json.dumps({"action": action, "session_id": process})), seen)
    assert bool(edits.unchecked) == owed


def test_a_check_in_the_background_that_failed_at_once_is_a_failed_check():
    edits = edited()
    edits.see(tool_call("t", "terminal", "{}"), background(1))
    assert edits.failed == FailedCheck("npm run build", "it ended with exit code 1")


def test_a_check_in_the_background_that_fails_later_is_a_failed_check_once_the_model_has_looked():
    edits = edited()
    edits.see(tool_call("t", "terminal", "{}"), background(None))
    seen = ToolResult("", facts={"command": "npm run build", "process": "p1", "exit_code": 2})
    edits.see(tool_call("p", "process", json.dumps({"action": "wait", "session_id": "p1"})), seen)
    assert edits.failed == FailedCheck("npm run build", "it ended with exit code 2")


def test_arguments_that_are_no_json_look_at_nothing():
    edits = edited()
    edits.see(tool_call("t", "terminal", "{}"), background(None))
    edits.see(tool_call("p", "process", "{poll"), ToolResult("", facts={"process": "p1", "exit_code": 0}))
    assert edits.unchecked
