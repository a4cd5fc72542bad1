"""Commands in the editor's terminals: shown, bounded, and released whatever happens."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.client_io import terminals
from acp_adapter.client_io.calls import EditorGone
from acp_adapter.client_io.terminals import EditorTerminals
from agent_core.cancel import CancelToken
from tests.acp_adapter.client_io.conftest import LIMITS
from tests.support.editor_host import Params, RpcError
from tests.support.hosted_editor import HostedEditor
from tests.support.processes import has_ended
from tests.support.waiting import wait_until
from tools.environments.local_commands import LocalEnvironment
from tools.errors import CommandError
from tools.ports import CommandOutcome, CommandSpec

CREATE, WAIT, OUTPUT = "terminal/create", "terminal/wait_for_exit", "terminal/output"
KILL, RELEASE = "terminal/kill", "terminal/release"


class Bench:
    """Runs commands in one directory; keeps what was shown and what was heard."""

    def __init__(self, local: LocalEnvironment, editor: HostedEditor, cwd: Path) -> None:
        self.editor, self.cwd = editor, cwd
        self.shown: list[tuple[str, str]] = []
        self.heard: list[str] = []
        self.token = CancelToken()
        self.chosen = True
        self.environment = EditorTerminals(
            local, editor.calls, lambda: self.chosen, lambda *ids: self.shown.append(ids), LIMITS
        )

    def __call__(self, command: str, timeout: float = 20.0) -> CommandOutcome:
        spec = CommandSpec(command, self.cwd, timeout, call_id="call-1")
        return self.environment.run(spec, self.heard.append, self.token)

    def begin(self, command: str) -> list[CommandOutcome]:
        """Run on a thread until it has made the file `begun`; the list gets the outcome."""
        done: list[CommandOutcome] = []
        self.worker = threading.Thread(target=lambda: done.append(self(command, 60.0)))
        self.worker.start()
        wait_until((self.cwd / "begun").exists)
        return done

    def end(self) -> None:
        self.worker.join(10)
        assert not self.worker.is_alive()


@pytest.fixture
def run(local: LocalEnvironment, editor: HostedEditor, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(local, editor, tmp_path)
    yield bench
    assert editor.terminals == {}, "a terminal was not released"


async def refuse(_: Params) -> Any:
    raise RpcError(-32603, "not now")


def test_the_card_gets_the_terminal_before_the_command_ends(run: Bench, editor: HostedEditor):
    os.mkfifo(run.cwd / "go")
    done = run.begin("touch begun; read line < go; echo $line")
    wait_until(lambda: run.shown == [("call-1", "term-1")])
    (run.cwd / "go").write_text("on\n")
    run.end()
    assert done[0].output == "on\n"
    assert run.heard == []
    assert editor.methods() == [CREATE, WAIT, OUTPUT, RELEASE]


def test_the_request_says_everything_and_none_of_our_secrets(run, editor, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("HERMES_HOME", "/srv/home")
    run("echo 'a b' | cat")
    request = editor.asked(CREATE)[0]
    assert request["command"].endswith("sh")
    assert request["args"] == ["-c", "echo 'a b' | cat"]
    assert request["cwd"] == str(run.cwd)
    assert request["outputByteLimit"] >= 4 * LIMITS.max_output_chars
    names = {variable["name"] for variable in request["env"]}
    assert {"PAGER", "GIT_TERMINAL_PROMPT"} <= names
    assert not names & {"OPENAI_API_KEY", "HERMES_HOME", "PATH", "HOME"}


def test_a_failing_command_is_released_too(run, editor):
    assert run("exit 3").exit_code == 3
    assert len(editor.asked(RELEASE)) == 1


def test_the_time_out_kills_and_releases(run, editor):
    outcome = run("echo $$; echo begun; sleep 60", timeout=0.3)
    pid, begun = outcome.output.split()
    assert (outcome.timed_out, outcome.exit_code, outcome.signal, begun) == (True, None, "SIGKILL", "begun")
    assert editor.methods() == [CREATE, WAIT, KILL, WAIT, OUTPUT, RELEASE]
    assert has_ended(int(pid))


def test_the_cancel_kills_releases_and_keeps_what_was_printed(run, editor):
    done = run.begin("echo so far; touch begun; sleep 60")
    wait_until(lambda: WAIT in editor.methods())
    run.token.cancel()
    run.end()
    assert done[0].interrupted
    assert run.heard == ["so far\n"]
    assert KILL in editor.methods()


def test_a_terminal_that_comes_after_the_cancel_is_not_left_behind(run, editor):
    asked, go = threading.Event(), asyncio.Event()
    create = editor.editor.handlers[CREATE]

    async def late(params: Params) -> Any:
        asked.set()
        await go.wait()
        return await create(params)

    async def let_go() -> None:
        go.set()

    editor.answer(CREATE, late)
    done: list[CommandOutcome] = []
    worker = threading.Thread(target=lambda: done.append(run("sleep 60")))
    worker.start()
    assert asked.wait(10)
    run.token.cancel()
    editor.on_loop(let_go)
    worker.join(10)
    assert done[0].interrupted
    assert run.shown == []
    assert RELEASE in editor.methods()


def test_an_editor_that_refuses_a_terminal_leaves_the_command_to_us(run, editor):
    editor.answer(CREATE, refuse)
    assert run("echo here").output == "here\n"
    assert run.heard == ["here\n"]
    assert run.shown == []


def test_a_silent_editor_may_run_the_command_so_it_does_not_run_twice(run, editor, monkeypatch):
    monkeypatch.setattr(terminals, "CREATE_SECONDS", 0.05)
    editor.silence(CREATE)
    with pytest.raises(CommandError, match="not known whether the command has run"):
        run("touch made")
    assert not (run.cwd / "made").exists()


@pytest.mark.parametrize("answer", [{}, None, {"terminalId": ""}, {"terminalId": 7}, "term"])
def test_an_answer_without_an_id_is_an_error(answer, run, editor):
    async def odd(_: Params) -> Any:
        return answer

    editor.answer(CREATE, odd)
    if answer == "term":  # no object: as good as an error
        assert run("echo here").output == "here\n"
        return
    with pytest.raises(CommandError, match="did not tell the id"):
        run("true")


def test_a_terminal_that_the_person_closes_is_an_error_and_is_released(run, editor):
    editor.answer(WAIT, refuse)
    with pytest.raises(CommandError, match="lost the command's terminal"):
        run("sleep 60")
    assert editor.methods()[-1] == RELEASE


def test_output_that_cannot_be_had_is_not_an_empty_output(run, editor):
    editor.answer(OUTPUT, refuse)
    outcome = run("echo a; exit 2")
    assert (outcome.output, outcome.exit_code) == ("[the editor did not give the output]", 2)


def test_a_failing_release_does_not_fail_the_command(run, editor):
    release = editor.editor.handlers[RELEASE]

    async def fail(params: Params) -> Any:
        await release(params)
        raise RpcError(-32603, "not now")

    editor.answer(RELEASE, fail)
    assert run("echo a").output == "a\n"
    assert not run.environment.is_busy()


def test_output_that_the_editor_has_cut_says_so(run, editor):
    async def cut(_: Params) -> Any:
        return {"output": "the end\r\n", "truncated": True, "exitStatus": None}

    editor.answer(OUTPUT, cut)
    outcome = run("true")
    assert outcome.output == "[… the editor has kept only the end …]\nthe end\n"
    assert outcome.exit_code == 0


def test_the_exit_code_may_come_with_the_output_alone(run, editor):
    async def empty(params: Params) -> Any:
        await wait(params)

    wait = editor.editor.handlers[WAIT]
    editor.answer(WAIT, empty)
    assert run("exit 5").exit_code == 5


def test_the_choice_is_asked_for_each_command(run, editor):
    run.chosen = False
    assert run("echo here").output == "here\n"
    assert editor.methods() == []
    run.chosen = True
    assert run("echo there").output == "there\n"
    assert editor.methods()[0] == CREATE


def test_closing_ends_the_running_ones(run, editor):
    done = run.begin("touch begun; sleep 60")
    wait_until(run.environment.is_busy)
    run.environment.close()
    run.end()
    assert (done[0].signal, done[0].interrupted) == ("SIGKILL", False)


def test_a_connection_that_ends_is_an_error(local: LocalEnvironment, tmp_path: Path):
    class Leaves:
        def call(self, method: str, *_: Any) -> dict[str, Any]:
            if method == CREATE:
                return {"terminalId": "t"}
            raise EditorGone("The editor left.")

    environment = EditorTerminals(local, Leaves(), lambda: True, lambda *_: None, LIMITS)
    with pytest.raises(CommandError, match="The editor left"):
        environment.run(CommandSpec("true", tmp_path, 5.0), lambda _: None, CancelToken())
    assert not environment.is_busy()
