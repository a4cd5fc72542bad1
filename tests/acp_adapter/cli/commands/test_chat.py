"""`hermes-acp chat`: turn after turn in one session, at a terminal and from a pipe."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from acp_adapter.cli.questions import Approver
from acp_adapter.cli.transcript import View
from tests.support.scripted import agent_command, permission_step, update_step
from tests.support.terminal import Terminal

MAIN = [sys.executable, "-P", "-m", "acp_adapter", "chat"]


def plain_terminal() -> dict[str, str]:
    return {**os.environ, "TERM": "dumb"}


def say(terminal: Terminal, words: str, until: str = "[end_turn, ") -> None:
    """Type `words`, and read until the turn is over and the next line is waited for."""
    terminal.text = ""
    terminal.type(words)
    wait(terminal, until)


def wait(terminal: Terminal, until: str) -> None:
    """Read until these words, and then until the next line is waited for: only then it hears what is typed."""
    seen = terminal.read_until(until)
    terminal.text = seen[seen.index(until) :]
    terminal.read_until("\n> ")
    terminal.text = seen + terminal.text


@pytest.mark.long
def test_turns_follow_each_other_in_one_session_and_it_can_be_gone_on_with(home: Path, workspace: Path) -> None:
    with Terminal([*MAIN, "--offline", "--cwd", str(workspace)], plain_terminal()) as terminal:
        terminal.read_until("> ")
        say(terminal, "say one\n")
        say(terminal, "say two \\\nand three\n")
        terminal.type("\x04")
        assert terminal.end() == 0
    said = subprocess.run(
        [*MAIN, "--offline", "--continue", "--cwd", str(workspace)],
        check=False, input="say four\n/exit\nsay never\n", capture_output=True, text=True, timeout=50,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert "four" in said.stdout
    assert "never" not in said.stdout
    assert said.stderr == ""
    listed = subprocess.run(
        [*MAIN[:-1], "sessions", "list"], check=True, capture_output=True, text=True, timeout=50
    ).stdout
    assert "3 turns" in listed


@pytest.mark.long
def test_our_own_server_asks_where_the_person_is(workspace: Path) -> None:
    with Terminal([*MAIN, "--offline", "--cwd", str(workspace)], plain_terminal()) as terminal:
        terminal.read_until("> ")
        terminal.type("write new.txt hello\n")
        terminal.read_until("a number or a letter: ")
        terminal.type("y\n")
        wait(terminal, "[end_turn, ")
        terminal.type("/exit\n")
        assert terminal.end() == 0
    assert (workspace / "new.txt").read_text() == "hello"


@pytest.mark.long
def test_ctrl_c_ends_our_own_servers_turn_and_not_the_conversation(workspace: Path) -> None:
    with Terminal([*MAIN, "--offline", "--approve", "all", "--cwd", str(workspace)], plain_terminal()) as terminal:
        terminal.read_until("> ")
        terminal.type("run sleep 60\n")
        terminal.read_until("sleep 60  ")
        terminal.interrupt()
        wait(terminal, "[cancelled, ")
        say(terminal, "say still here\n")
        assert "still here" in terminal.text
        terminal.type("\x04")
        assert terminal.end() == 0


def test_a_question_is_asked_where_the_person_is(tmp_path: Path) -> None:
    agent = shlex.join(agent_command(permission_step(title="Run", kind="execute")))
    with Terminal([*MAIN, "--agent", agent, "--cwd", str(tmp_path)], plain_terminal()) as terminal:
        terminal.read_until("> ")
        terminal.type("go\n")
        terminal.read_until("a number or a letter: ")
        terminal.type("y\n")
        assert '"optionId": "yes"' in terminal.read_until("[end_turn, ")


def test_ctrl_c_ends_the_turn_and_not_the_conversation(tmp_path: Path) -> None:
    agent = shlex.join(agent_command("echo", "cancelled"))
    with Terminal([*MAIN, "--agent", agent, "--cwd", str(tmp_path)], plain_terminal()) as terminal:
        terminal.read_until("> ")
        terminal.type("work\\\nmore\n")
        terminal.read_until("\nwork")
        terminal.interrupt()
        wait(terminal, "[cancelled, ")
        say(terminal, "still here\n", "[cancelled, ")  # what the agent has heard once it does not forget
        assert terminal.text.count("still here") == 2
        terminal.type("\x04")
        assert terminal.end() == 0


def test_a_turn_that_fails_is_told_and_the_conversation_goes_on(tmp_path: Path) -> None:
    agent = shlex.join(agent_command('error={"code": -32603, "message": "It broke."}'))
    ran = subprocess.run(
        [*MAIN, "--agent", agent, "--cwd", str(tmp_path)],
        check=False, input="one\ntwo\n", capture_output=True, text=True, timeout=50,
    )  # fmt: skip
    assert ran.returncode == 0
    assert ran.stderr.count("It broke.") == 2


def test_how_full_the_window_is_and_what_it_cost_stands_behind_a_turn(tmp_path: Path) -> None:
    used = update_step("usage_update", used=12_300, size=200_000, cost={"amount": 0.031, "currency": "USD"})
    ran = subprocess.run(
        [*MAIN, "--agent", shlex.join(agent_command("text=Hi.", used)), "--cwd", str(tmp_path)],
        check=True, input="hello\n", capture_output=True, text=True, timeout=50,
    )  # fmt: skip
    assert "s, 12.3k of 200k tokens, $0.03]" in ran.stdout


PROMPT = "\x1b[0m>"
"""The beginning of a line that is edited."""


def echoing(tmp_path: Path) -> list[str]:
    return [*MAIN, "--agent", shlex.join(agent_command("text=heard: ", "echo")), "--cwd", str(tmp_path)]


def test_lines_that_are_pasted_are_one_prompt_and_are_there_again_the_next_time(home: Path, tmp_path: Path) -> None:
    home.mkdir(exist_ok=True)
    kept = home / "chat_history"
    kept.write_text("from before\n")
    kept.chmod(0o600)
    with Terminal(echoing(tmp_path), {**os.environ, "TERM": "xterm"}) as terminal:
        terminal.read_until(PROMPT)
        terminal.type("\x1b[200~one\ntwo\x1b[201~\r")
        assert "heard: one\ntwo\n" in terminal.read_until("[end_turn, ")
        terminal.text = ""
        terminal.read_until(PROMPT)
        terminal.type("/ex\t\r")  # Tab completes it
        assert terminal.end() == 0
    assert kept.read_text() == "from before\none\\\ntwo\n/exit \n"
    with Terminal(echoing(tmp_path), {**os.environ, "TERM": "xterm"}) as terminal:
        terminal.read_until(PROMPT)
        terminal.type("\x10\x10\r")  # what was said before /exit
        assert "heard: one\ntwo\n" in terminal.read_until("[end_turn, ")


def test_what_is_said_is_kept_for_this_user_alone(home: Path, tmp_path: Path) -> None:
    home.mkdir(exist_ok=True)
    with Terminal(echoing(tmp_path), {**os.environ, "TERM": "xterm"}) as terminal:
        terminal.read_until(PROMPT)
        terminal.type("/exit\r")
        assert terminal.end() == 0
    assert (home / "chat_history").stat().st_mode & 0o077 == 0


def test_where_pastes_are_not_marked_lines_that_come_at_once_are_one_prompt(tmp_path: Path) -> None:
    with Terminal(echoing(tmp_path), plain_terminal()) as terminal:
        terminal.read_until("> ")
        terminal.type("one\ntwo\n")
        assert "heard: one\ntwo\n" in terminal.read_until("[end_turn, ")


def test_a_signal_at_the_prompt_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    with Terminal(echoing(tmp_path), {**os.environ, "TERM": "xterm"}) as terminal:
        before = terminal.modes()
        terminal.read_until(PROMPT)
        terminal.process.terminate()
        assert terminal.process.wait(30) == 143
        assert terminal.modes() == before


def test_what_makes_no_sense_as_usage_is_not_shown() -> None:
    view = View(Approver("none", Path()))
    assert view.usage() == ""
    for update in ({"used": "x", "size": 1}, {"used": 1, "size": 0}, {"cost": "much"}, {"used": -1, "size": 5}):
        view.on_update({"sessionUpdate": "usage_update", **update}, 0)
        assert view.usage() == ""
    view.on_update(
        {"sessionUpdate": "usage_update", "used": 1, "size": 9, "cost": {"amount": 2, "currency": "EUR"}}, 0
    )
    assert view.usage() == "1 of 9 tokens, 2.00 EUR"
