"""Command hooks: real programs, told in JSON, heard in exit codes and JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.agent import AIAgent
from agent_core.cancel import CancelToken
from agent_core.errors import HookRefused
from agent_core.hooks.command_hooks import Ran, from_run, run_command
from agent_core.hooks.hook import HookCall, HookFailed, Verdict
from tests.support.agents import Ears, in_background
from tests.support.each import each
from tests.support.hooks import hooked_agent, of_home, script
from tests.support.processes import has_ended
from tests.support.scripted_provider import ScriptedProvider, says, uses
from tests.support.settings_files import configure
from tests.support.tool_context import ScriptedApprover, told_in
from tests.support.waiting import wait_until
from tools.environments.guardian import Guardian
from tools.errors import ToolInterrupted

WRITE = uses(("call-1", "write_file", {"path": "a.txt", "content": "x"}))


@pytest.fixture
def guardian() -> Iterator[Guardian]:
    made = Guardian()
    yield made
    assert made.groups() == frozenset(), "nothing is left of a hook"
    made.kill_all()


class Bench:
    """An agent in a workspace, with the hooks that the home's settings name."""

    def __init__(self, home: Path, cwd: Path, guardian: Guardian) -> None:
        self.home, self.cwd, self.guardian = home, cwd, guardian
        self.ears = Ears()

    def run(self, hooks: dict[str, Any], *scripts: Any, **options: Any) -> AIAgent:
        configure(self.home, {"hooks": hooks})
        made = of_home(self.home, self.cwd, self.guardian)
        agent = hooked_agent(self.cwd, *scripts, hooks=made, callbacks=self.ears.callbacks(), **options)
        agent.chat("go")
        return agent

    def program(self, name: str, source: str) -> str:
        return script(self.home, name, source)

    def told(self) -> dict[str, Any]:
        """What a program that saved it was told."""
        value: dict[str, Any] = json.loads((self.cwd / "told.json").read_text(encoding="utf-8"))
        return value


SAVE = "open('told.json', 'w').write(json.dumps(told))"


@pytest.fixture
def bench(home: Path, tmp_path: Path, guardian: Guardian) -> Bench:
    return Bench(home, tmp_path, guardian)


def result(agent: AIAgent) -> Any:
    messages = agent.messages
    return told_in(str(next(message["content"] for message in messages if message["role"] == "tool")))


def group(command: str, matcher: str = "", **options: Any) -> list[dict[str, Any]]:
    """The community's way to write one."""
    return [{"matcher": matcher, "hooks": [{"type": "command", "command": command, **options}]}]


def test_exit_code_2_refuses_with_what_the_program_complains(bench: Bench) -> None:
    agent = bench.run({"PreToolUse": group("echo 'not on a Sunday' >&2; exit 2", "Write|Edit")}, WRITE, says("Ok."))

    assert "not on a Sunday (said by The hook `echo" in result(agent)["error"]
    assert not (bench.cwd / "a.txt").exists()


def test_it_is_told_in_the_community_s_form(bench: Bench) -> None:
    bench.run({"PreToolUse": group(bench.program("save", SAVE))}, WRITE, says("Ok."))

    assert bench.told() == {
        "session_id": "session-1",
        "transcript_path": "",
        "cwd": str(bench.cwd),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"path": "a.txt", "content": "x", "file_path": str(bench.cwd / "a.txt")},
        "tool_use_id": "call-1",
    }


def test_or_in_upstream_s_where_the_event_is_written_so(bench: Bench) -> None:
    bench.run({"pre_tool_call": [{"command": bench.program("save", SAVE)}]}, WRITE, says("Ok."))

    told = bench.told()
    assert (told["hook_event_name"], told["tool_name"]) == ("pre_tool_call", "write_file")
    assert told["tool_input"] == {"path": "a.txt", "content": "x"}
    assert told["extra"]["tool_call_id"] == "call-1"


def test_changed_arguments_are_what_is_done_and_asked_about(bench: Bench) -> None:
    answer = (
        "told['tool_input']['file_path'] = 'b.txt'\n"
        "print(json.dumps({'hookSpecificOutput': {'hookEventName': 'PreToolUse', 'permissionDecision': 'allow',"
        " 'updatedInput': told['tool_input']}}))"
    )
    approver = ScriptedApprover("allow_once")
    hooks = {"PreToolUse": group(bench.program("move", answer))}
    bench.run(hooks, WRITE, says("Ok."), mode="default", approver=approver)

    assert [path.name for path in bench.cwd.iterdir()] == ["b.txt"]
    assert [getattr(action, "path", None) for action in approver.asked] == [bench.cwd / "b.txt"], "its yes is none"


def test_what_it_says_after_a_call_is_told_to_the_model(bench: Bench) -> None:
    answer = f"{SAVE}\nprint(json.dumps({{'decision': 'block', 'reason': 'Format it.'}}))"
    agent = bench.run({"PostToolUse": group(bench.program("after", answer), "Write")}, WRITE, says("Ok."))

    assert result(agent)["line"] == "A hook of the user's says: Format it."
    assert bench.told()["tool_response"]["path"] == "a.txt"


def test_plain_words_at_a_prompt_are_for_the_model(bench: Bench) -> None:
    agent = bench.run({"UserPromptSubmit": group("echo It is Friday.")}, says("Ok."))

    assert isinstance(agent.provider, ScriptedProvider)
    assert agent.provider.requests[0].messages[1]["content"].endswith("Their hooks say:]\nIt is Friday.")


def test_a_prompt_can_be_refused(bench: Bench) -> None:
    with pytest.raises(HookRefused, match="no secrets"):
        bench.run({"UserPromptSubmit": group("echo no secrets >&2; exit 2")}, says("Ok."))


def test_a_stop_hook_sends_the_model_on_once(bench: Bench) -> None:
    answer = "if not told['stop_hook_active']: print(json.dumps({'decision': 'block', 'reason': 'Test it.'}))"
    agent = bench.run({"Stop": group(bench.program("stop", answer))}, says("Done."), says("Tested."))

    assert isinstance(agent.provider, ScriptedProvider)
    assert [request.messages[-1]["content"] for request in agent.provider.requests][1].endswith("Test it.")
    assert len(agent.provider.requests) == 2


def test_a_permission_request_can_be_refused_with_a_reason(bench: Bench) -> None:
    answer = f"""{SAVE}
print(json.dumps({{"hookSpecificOutput": {{"decision": {{"behavior": "deny", "message": "frozen"}}}}}}))"""
    approver = ScriptedApprover("allow_once")
    agent = bench.run(
        {"PermissionRequest": group(bench.program("deny", answer), "Write")},
        WRITE,
        says("Ok."),
        mode="default",
        approver=approver,
    )

    assert approver.asked == []
    assert "refuses it: frozen" in result(agent)["error"]
    assert bench.told()["tool_name"] == "Write"


BROKEN = ("exit 1", "no-such-program-here", "echo '{'", "kill -9 $$", "sleep 60")


def test_one_that_breaks_or_is_late_refuses_what_it_stands_before(bench: Bench) -> None:
    said = []
    for command in BROKEN:
        agent = bench.run({"PreToolUse": group(command, timeout=0.3)}, WRITE, says("Ok."))
        said.append(result(agent)["error"])
        assert not (bench.cwd / "a.txt").exists(), command

    assert [word in text for word, text in zip(
        ("ended with status 1", "could not be run (status 127)", "no JSON", "signal 9", "within 0.3 seconds"), said,
        strict=True,
    )] == [True] * 5  # fmt: skip


def test_it_does_not_where_the_user_says_so_and_is_told_of(bench: Bench) -> None:
    bench.run({"PreToolUse": group("exit 1", fail_closed=False)}, WRITE, says("Ok."))

    assert (bench.cwd / "a.txt").exists()
    assert any("ended with status 1" in status.text for status in bench.ears.of("status"))


def test_a_broken_one_that_must_be_asked_refuses_a_permission(bench: Bench) -> None:
    approver = ScriptedApprover("allow_once")
    hooks = {"PermissionRequest": group("exit 7", fail_closed=True)}
    bench.run(hooks, WRITE, says("Ok."), mode="default", approver=approver)

    assert approver.asked == []
    assert not (bench.cwd / "a.txt").exists()


def test_elsewhere_a_broken_one_is_told_and_passed_over(bench: Bench) -> None:
    agent = bench.run({"UserPromptSubmit": group("exit 3"), "Stop": group("exit 3")}, says("Ok."))

    assert len([status for status in bench.ears.of("status") if "status 3" in status.text]) == 2
    assert agent.messages[-1]["content"] == "Ok."


def test_its_environment_has_no_keys_and_says_where_it_is(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    monkeypatch.setenv("PLAIN", "kept")
    bench.run({"SessionStart": group(bench.program("env", _ENV))}, says("Ok."))

    env = json.loads((bench.cwd / "env.json").read_text())
    assert "SOME_API_KEY" not in env
    assert (env["PLAIN"], env["HERMES_HOOK_EVENT"]) == ("kept", "session_start")
    assert env["HERMES_PROJECT_DIR"] == env["CLAUDE_PROJECT_DIR"] == str(bench.cwd)


def test_a_hook_finds_programs_of_the_workspace_last_and_none_at_the_beginning(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, program_folder: Path
) -> None:
    planted = bench.cwd / "node_modules" / ".bin"
    for folder, says_what in ((planted, "planted"), (program_folder, "ours")):
        folder.mkdir(parents=True, exist_ok=True)
        for name in {"planted": ("both", "linter"), "ours": ("both",)}[says_what]:
            (folder / name).write_text(f"#!/bin/sh\necho {says_what} >> out.txt\n")
            (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{planted}:{program_folder}:{os.environ['PATH']}")
    hooks = {name: group("both; linter; true") for name in ("SessionStart", "UserPromptSubmit", "Stop")}
    bench.run(hooks, says("Ok."))
    assert (bench.cwd / "out.txt").read_text().split() == ["ours", "ours", "ours", "planted"]


_ENV = "import os; open('env.json', 'w').write(json.dumps(dict(os.environ)))"


def test_the_session_s_end_is_told(bench: Bench) -> None:
    configure(bench.home, {"hooks": {"SessionEnd": group("cat > end.json", "other")}})
    hooks = of_home(bench.home, bench.cwd, bench.guardian)
    hooked_agent(bench.cwd, says("Ok."), hooks=hooks).chat("go")
    hooks.end_session("other")
    hooks.end_session("other")

    assert json.loads((bench.cwd / "end.json").read_text())["reason"] == "other"


class TestProcess:
    def _run(self, command: str, cwd: Path, guardian: Guardian, told: bytes = b"{}", **options: Any) -> Ran:
        given = {"seconds": 20.0, "interrupt": None, **options}
        return run_command(command, told, cwd=cwd, env=dict(os.environ), guardian=guardian, **given)

    def test_it_gets_all_it_is_told_and_much_is_heard(self, tmp_path: Path, guardian: Guardian) -> None:
        told = b"x" * 1_000_000 + b"\nend"
        ran = self._run("wc -c; head -c 3000000 /dev/zero", tmp_path, guardian, told)

        assert ran.stdout.split()[0] == str(len(told))
        assert len(ran.stdout) == 1024 * 1024, "no more than that is kept"

    def test_one_that_does_not_listen_is_none_the_worse(self, tmp_path: Path, guardian: Guardian) -> None:
        assert self._run("exec 0<&-; echo said", tmp_path, guardian, b"x" * 500_000).stdout == "said\n"

    def test_what_it_leaves_running_is_ended(self, tmp_path: Path, guardian: Guardian) -> None:
        ran = self._run("sleep 600 & echo $!", tmp_path, guardian)

        wait_until(lambda: has_ended(int(ran.stdout)))

    def test_so_is_what_has_left_its_group(self, tmp_path: Path, guardian: Guardian) -> None:
        leaving = (
            "setsid sh -c 'echo $$ > pid.tmp; mv pid.tmp pid; sleep 600' & while [ ! -e pid ]; do sleep 0.01; done"
        )
        self._run(leaving, tmp_path, guardian)

        left = int((tmp_path / "pid").read_text(encoding="utf-8"))
        wait_until(lambda: has_ended(left))

    def test_a_cancel_ends_it_at_once(self, tmp_path: Path, guardian: Guardian) -> None:
        token = CancelToken()
        running = in_background(
            lambda: self._run("mkfifo begun; echo > begun; sleep 600", tmp_path, guardian, interrupt=token)
        )
        wait_until((tmp_path / "begun").exists)
        (tmp_path / "begun").read_text()
        token.cancel()

        with pytest.raises(ToolInterrupted):
            running.result(10)

    def test_a_directory_that_is_gone_is_told(self, tmp_path: Path, guardian: Guardian) -> None:
        with pytest.raises(HookFailed, match="could not be started"):
            self._run("true", tmp_path / "gone", guardian)


BLOCKED = Verdict(refusal="x", permission="deny", reason="x")


@each(
    "event, written, ran, wanted",
    [
        ("pre_tool_call", "PreToolUse", Ran(0, "", ""), Verdict()),
        ("pre_tool_call", "PreToolUse", Ran(0, "all is well", ""), Verdict()),
        ("pre_tool_call", "PreToolUse", Ran(2, '{"reason": "x", "decision": "block"}', "y"), Verdict(refusal="x")),
        ("pre_tool_call", "PreToolUse", Ran(2, "", ""), Verdict(refusal="it does not say why")),
        ("prompt", "UserPromptSubmit", Ran(2, "{debug: on", "no"), Verdict(refusal="no")),
        ("permission", "PermissionRequest", Ran(2, "{debug: on", "no"), Verdict(permission="deny", reason="no")),
        ("stop", "Stop", Ran(0, '\ufeff{"decision": "block", "reason": "x"}', ""), BLOCKED),
        ("stop", "Stop", Ran(0, 'looking …\n{"decision": "block", "reason": "x"}\n', ""), BLOCKED),
        ("permission", "PermissionRequest", Ran(2, "", "no"), Verdict(permission="deny", reason="no")),
        ("session_start", "SessionStart", Ran(2, "", "hm"), Verdict(note="hm")),
        ("session_start", "SessionStart", Ran(0, "Be brief.\n", ""), Verdict(context="Be brief.")),
        ("stop", "Stop", Ran(0, '{"decision": "block", "reason": "x"}', ""), BLOCKED),
        ("prompt", "pre_llm_call", Ran(0, '{"context": "x"}', ""), Verdict(context="x")),
        ("stop", "Stop", Ran(0, '{"continue": false, "stopReason": "enough"}', ""), Verdict(ends="enough")),
        ("pre_tool_call", "pre_tool_call", Ran(0, '{"action": "approve"}', ""), Verdict(permission="ask")),
        ("prompt", "UserPromptSubmit", Ran(0, '{"systemMessage": "hi"}', ""), Verdict(note="hi")),
    ],
)
def test_what_a_program_says(event: Any, written: str, ran: Ran, wanted: Verdict) -> None:
    call = HookCall(event, "s", Path("/ws"), facts={"tool_name": "patch", "args": {}})

    assert from_run(written, call, ran) == wanted


@each("said", ['{"hookSpecificOutput": {"permissionDecision": "maybe"}}', "{[", '{"action": "modify", "args": 3}'])
def test_what_means_nothing_is_a_failure(said: str) -> None:
    call = HookCall("pre_tool_call", "s", Path("/ws"), facts={"tool_name": "patch", "args": {}})

    with pytest.raises(HookFailed):
        from_run("PreToolUse", call, Ran(0, said, ""))
