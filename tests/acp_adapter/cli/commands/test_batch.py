"""`hermes-acp batch`, as a process with workers of its own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.subcommands import main_of
from tests.support.waiting import wait_until

main = main_of("batch")

MAIN = [sys.executable, "-P", "-m", "acp_adapter", "batch"]
OFFLINE = ["--provider", "offline", "--model", "offline"]
PROMPTS = {"a": "say A", "b": "fail 400", "c": "say C"}


@pytest.fixture
def prompts(tmp_path):
    file = tmp_path / "prompts.jsonl"

    def prompts(*lines):
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return str(file)

    return prompts


@pytest.fixture
def run(home, tmp_path):
    def run(*arguments, **options):
        command = [*MAIN, *arguments, "--out", str(tmp_path / "runs"), *OFFLINE]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)

    return run


def results(tmp_path):
    return [json.loads(line) for line in (tmp_path / "runs" / "results.jsonl").read_text().splitlines()]


@pytest.mark.long
def test_the_same_command_goes_on_where_it_was_left(run, prompts, tmp_path):
    file = prompts(*({"id": name, "prompt": text} for name, text in PROMPTS.items()))
    first = run("-", "--workers", "1", "--limit", "2", input=Path(file).read_text())
    assert (first.returncode, first.stderr) == (1, "")
    assert "1 are left; the same command goes on with them." in first.stdout
    assert [(line["id"], line["status"]) for line in results(tmp_path)] == [("a", "completed"), ("b", "failed")]
    second = run(file, "--workers", "1", "--retry-failed")
    assert second.returncode == 1, "b has failed again"
    assert second.stdout.startswith("1 of 3 were done before.\n[1/2] b: failed")
    assert [line["answer"].strip() for line in results(tmp_path)] == ["A", "", "", "C"]


def test_prompts_that_are_wrong_begin_nothing(home, prompts, tmp_path, capsys):
    file = prompts({"prompt": "say A"}, {"id": "b"})
    assert main([file, "--out", str(tmp_path / "runs"), *OFFLINE]) == 2
    assert capsys.readouterr() == ("", f'hermes-acp batch: {file}, line 2: it has no "prompt".\n')
    assert not (tmp_path / "runs").exists()


@pytest.mark.long
def test_a_prompt_may_hold_any_sign_that_json_allows(run, tmp_path, capsys):
    line = json.dumps({"id": "a", "prompt": "say one\u2028two\x85three"}, ensure_ascii=False)
    outcome = run("-", input=f"{line}\r\n", encoding="utf-8")
    assert (outcome.returncode, outcome.stderr) == (0, "")
    file = tmp_path / "prompts.jsonl"
    file.write_text(f"{line}\n{{}}\n", encoding="utf-8")
    assert main([str(file), "--out", str(tmp_path / "others"), *OFFLINE]) == 2
    assert 'line 2: it has no "prompt"' in capsys.readouterr().err


@pytest.mark.long
def test_ctrl_c_cancels_what_runs_and_the_next_time_runs_it_again(home, prompts, tmp_path):
    marker = tmp_path / "runs" / "work" / "slow" / "begun"
    file = prompts({"id": "slow", "prompt": "write begun x\nsleep 600"}, {"id": "later", "prompt": "say A"})
    command = [*MAIN, file, "--out", str(tmp_path / "runs"), *OFFLINE, "--workers", "1", "--mode", "accept_edits"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        wait_until(marker.exists, timeout=30)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "slow: cancelled" in out
    assert "The same command goes on" in out
    assert not (tmp_path / "runs" / "results.jsonl").exists()


def test_whoever_kills_it_leaves_no_worker_at_work(home, prompts, tmp_path):
    made = tmp_path / "runs" / "work" / "slow" / "pids"
    command = json.dumps({"command": "echo $$ $PPID > pids.new; mv pids.new pids; sleep 600"})
    file = prompts({"id": "slow", "prompt": f"call terminal {command}"})
    batch = [*MAIN, file, "--out", str(tmp_path / "runs"), *OFFLINE, "--workers", "1", "--mode", "dont_ask"]
    process = subprocess.Popen(batch, stdout=subprocess.DEVNULL)
    try:
        wait_until(made.exists, timeout=30)
    finally:
        process.kill()
        process.wait()
    pids = made.read_text().split()
    try:
        wait_until(lambda: not any(map(_lives, pids)), timeout=10)
    finally:
        for pid in filter(_lives, pids):
            os.kill(int(pid), signal.SIGKILL)


def _lives(pid):
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True
