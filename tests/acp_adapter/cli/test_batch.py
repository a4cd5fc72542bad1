"""`hermes-acp batch`, as a process with workers of its own."""

import json
import signal
import subprocess
import sys

import pytest

from tests.support.waiting import wait_until

MAIN = [sys.executable, "-P", "-m", "acp_adapter", "batch"]
OFFLINE = ["--provider", "offline", "--model", "offline"]


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


def test_the_same_command_goes_on_where_it_was_left(run, prompts, tmp_path):
    lines = [{"id": "a", "prompt": "say A"}, {"id": "b", "prompt": "fail 400"}, {"id": "c", "prompt": "say C"}]
    first = run(prompts(*lines), "--workers", "2", "--limit", "2")
    assert (first.returncode, first.stderr) == (1, "")
    assert "1 are left; the same command goes on with them." in first.stdout
    assert {line["id"]: line["status"] for line in results(tmp_path)} == {"a": "completed", "b": "failed"}
    second = run(prompts(*lines[:1], {"id": "b", "prompt": "say B"}, lines[2]))
    assert second.returncode == 0
    assert second.stdout.startswith("1 of 3 were done before.\n")
    done = [(line["id"], line["status"], line["answer"].strip()) for line in results(tmp_path)]
    assert sorted(done[:2]) == [("a", "completed", "A"), ("b", "failed", "")]
    assert sorted(done[2:]) == [("b", "completed", "B"), ("c", "completed", "C")]


def test_what_was_not_completed_is_tried_again_when_asked(run, prompts, tmp_path):
    file = prompts({"id": "a", "prompt": "fail 400"})
    assert run(file).returncode == 1
    assert "Nothing was left to do" in run(file).stdout
    assert "[1/1] a: failed" in run(file, "--retry-failed").stdout
    assert len(results(tmp_path)) == 2


def test_prompts_that_are_wrong_begin_nothing(run, prompts, tmp_path):
    outcome = run(prompts({"prompt": "say A"}, {"id": "b"}))
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr == f'hermes-acp batch: {tmp_path}/prompts.jsonl, line 2: it has no "prompt".\n'
    assert not (tmp_path / "runs").exists()


def test_prompts_come_from_standard_input(run):
    outcome = run("-", input='"say A"\n')
    assert "[1/1] 1: completed" in outcome.stdout


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
