"""Commands on this machine: real shells, real signals."""

import os
import sys
import threading
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.processes import has_ended, open_descriptors
from tests.support.waiting import wait_until
from tools.environments.guardian import group_is_alive
from tools.environments.local_commands import LocalEnvironment
from tools.errors import CommandError
from tools.ports import CommandSpec


@pytest.fixture
def environment(guardian):
    environment = LocalEnvironment(guardian)
    yield environment
    environment.close()


class Runner:
    """Runs commands in one directory and keeps what came live."""

    def __init__(self, environment, cwd):
        self.environment = environment
        self.cwd = cwd
        self.live = []
        self.token = CancelToken()

    def __call__(self, command, timeout=20.0, on_output=None, **spec):
        return self.environment.run(
            CommandSpec(command, spec.pop("cwd", self.cwd), timeout, **spec),
            on_output or self.live.append,
            self.token,
        )


@pytest.fixture
def run(environment, tmp_path):
    return Runner(environment, tmp_path)


def _wait_until_reaped(orphan):
    def gone():
        try:
            os.kill(orphan, 0)
        except ProcessLookupError:
            return True
        return False

    try:
        wait_until(gone)
    except AssertionError:
        pytest.skip("nobody reaps orphans in this container")


class TestOutputAndExit:
    def test_output_is_shown_while_the_command_still_runs(self, run, tmp_path):
        seen = threading.Event()
        os.mkfifo(tmp_path / "go")

        def on_output(text):
            if "first" in text:
                seen.set()
                (tmp_path / "go").write_text("now\n")

        outcome = run("echo first; read line < go; echo $line", on_output=on_output)

        assert seen.is_set()
        assert outcome.output == "first\nnow\n"

    def test_a_character_whose_bytes_come_apart_stays_whole(self, run, tmp_path):
        os.mkfifo(tmp_path / "go")

        def on_output(text):
            run.live.append(text)
            if "a" in text:
                (tmp_path / "go").write_text("\n")

        outcome = run(r"printf 'a\xe2\x82'; read line < go; printf '\xacb'", on_output=on_output)

        assert outcome.output == "a€b"
        assert "".join(run.live) == "a€b"

    def test_bytes_that_are_no_text_are_replaced(self, run):
        assert run(r"printf 'a\xffb\xe2'").output == "a\ufffdb\ufffd"

    def test_all_output_arrives_when_the_shell_ends_at_once(self, run):
        assert run("head -c 50000 /dev/zero | tr '\\0' x").output == "x" * 50000

    def test_a_shell_that_closes_its_output_is_waited_for(self, run):
        assert run("exec >&- 2>&-; exit 7").exit_code == 7

    def test_standard_input_is_empty(self, run):
        assert run("cat; echo end").output == "end\n"

    def test_there_is_no_terminal_to_prompt_on(self, run):
        assert run("read x < /dev/tty").exit_code != 0

    def test_bash_syntax_works_where_bash_is_installed(self, run):
        assert run("[[ abc == a* ]] && x=(1 2) && echo ${#x[@]}").output == "2\n"


class TestLimits:
    def test_an_endless_output_does_not_grow_memory(self, run):
        resource = pytest.importorskip("resource")
        run("true")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        outcome = run("yes", timeout=2, on_output=lambda text: None)

        unit = 1 if sys.platform == "darwin" else 1024
        assert outcome.truncated_chars > 1_000_000
        assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit < 20_000_000

    def test_no_descriptor_is_left_open(self, run):
        run("true")
        before = open_descriptors()

        for _ in range(20):
            run("echo x")

        assert open_descriptors() == before


class TestTimeout:
    def test_a_command_may_clean_up_after_the_first_signal(self, run):
        outcome = run("trap 'echo cleaned; exit 4' TERM; sleep 30 & wait", timeout=0.2)

        assert outcome.timed_out
        assert "cleaned" in outcome.output
        assert outcome.exit_code == 4

    def test_a_command_that_ignores_the_first_signal_is_killed(self, run):
        outcome = run("trap '' TERM; sleep 30", timeout=0.1)

        assert (outcome.timed_out, outcome.signal) == (True, "SIGKILL")
        assert outcome.duration < 5

    def test_children_in_the_background_end_with_it(self, run):
        outcome = run("trap '' TERM; sleep 30 & echo $!; sleep 30", timeout=0.3)

        wait_until(lambda: has_ended(int(outcome.output)))


class TestCancel:
    def test_the_cancel_ends_a_running_command_and_its_children_at_once(self, run):
        def on_output(text):
            run.live.append(text)
            run.token.cancel()

        outcome = run("trap '' TERM; sleep 1000 & echo $!; sleep 1000", timeout=600, on_output=on_output)

        assert outcome.interrupted
        assert not outcome.timed_out
        wait_until(lambda: has_ended(int(run.live[0])))

    def test_a_cancel_after_the_end_disturbs_nothing(self, run):
        assert run("true").exit_code == 0
        run.token.cancel()

    def test_an_error_while_showing_output_ends_the_command(self, run, guardian):
        def broken(text):
            run.live.append(text)
            raise ConnectionError("the editor is gone")

        with pytest.raises(ConnectionError):
            run("echo $$; sleep 1000", on_output=broken)

        wait_until(lambda: has_ended(int(run.live[0])))


class TestBackgroundChildren:
    def test_a_child_that_never_stops_printing_does_not_hold_the_call(self, run):
        assert run("yes & exit 5").exit_code == 5

    def test_it_stays_alive_until_close(self, run, environment, guardian):
        child = int(run("sleep 1000 > /dev/null & echo $!").output)
        assert not has_ended(child)
        assert len(guardian.groups()) == 1

        environment.close()

        wait_until(lambda: has_ended(child))
        assert guardian.groups() == frozenset()

    def test_a_group_that_ended_by_itself_is_forgotten_at_the_next_command(self, run, guardian):
        child = int(run("sleep 0.05 > /dev/null & echo $!").output)
        _wait_until_reaped(child)

        run("true")

        assert guardian.groups() == frozenset()

    def test_an_ordinary_command_leaves_no_group_behind(self, run, guardian):
        run("echo x | cat")

        assert guardian.groups() == frozenset()


class TestClose:
    def test_what_has_left_its_group_and_its_session_ends_too(self, run, environment):
        script = "import subprocess; print(subprocess.Popen(['sleep', '1000'], start_new_session=True).pid)"
        child = int(run(f'{sys.executable} -c "{script}"').output)
        other = int(run("setsid --fork sh -c 'echo $$; exec sleep 1000' | head -1").output)
        assert not has_ended(child)

        environment.close()

        wait_until(lambda: has_ended(child))
        wait_until(lambda: has_ended(other))

    def test_the_processes_of_another_session_go_on(self, run, environment, guardian, tmp_path):
        other = LocalEnvironment(guardian)
        spec = CommandSpec("setsid --fork sh -c 'echo $$; exec sleep 1000' | head -1", tmp_path, 60)
        child = int(other.run(spec, lambda _: None, CancelToken()).output)
        run("true")

        environment.close()

        assert not has_ended(child)
        other.close()
        wait_until(lambda: has_ended(child))


class TestStart:
    def test_a_file_as_directory_is_a_clear_error(self, run, tmp_path):
        (tmp_path / "file").write_text("")

        with pytest.raises(CommandError, match="Not a directory"):
            run("true", cwd=tmp_path / "file")

    def test_a_command_too_long_for_the_system_is_a_clear_error(self, run):
        with pytest.raises(CommandError, match="too long"):
            run("true " + "x" * 5_000_000)

    def test_a_failed_start_leaves_no_descriptor(self, run):
        run("true")
        before = open_descriptors()

        with pytest.raises(CommandError):
            run("echo a\0b")

        assert open_descriptors() == before

    def test_the_directory_keeps_the_name_it_was_given_by(self, run, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")

        assert run("pwd", cwd=tmp_path / "link").output.strip() == str(tmp_path / "link")

    def test_each_command_is_a_process_group_of_its_own(self, run):
        pid, group = run("echo $$ $(ps -o pgid= -p $$)").output.split()

        assert pid == group
        assert int(group) != os.getpgrp()

    def test_secrets_stay_here_and_the_call_s_own_variables_go_along(self, guardian, tmp_path):
        environment = LocalEnvironment(
            guardian, variables={"PATH": os.environ["PATH"], "OPENAI_API_KEY": "k1", "USER_SET": "u"}
        )
        spec = CommandSpec('echo "[$OPENAI_API_KEY] $USER_SET $ADDED $PAGER"', tmp_path, 20, env={"ADDED": "added"})

        assert environment.run(spec, lambda text: None, CancelToken()).output == "[] u added cat\n"

    def test_children_inherit_no_descriptor_but_the_three(self, run):
        if not Path("/proc/self/fd").is_dir():
            pytest.skip("needs /proc")
        secret = os.open(os.devnull, os.O_RDONLY)
        os.set_inheritable(secret, True)
        try:
            listed = run("ls /proc/self/fd").output.split()
        finally:
            os.close(secret)

        # 3 is the directory that ls itself reads
        assert listed == ["0", "1", "2", "3"]


class TestWithoutPidfd:
    def test_a_thread_takes_the_descriptor_s_place(self, run, monkeypatch):
        monkeypatch.delattr(os, "pidfd_open", raising=False)

        assert run("echo x; exit 3").exit_code == 3
        assert run("sleep 30", timeout=0.1).timed_out
        assert run("sleep 1000 & echo bg").output == "bg\n"

    def test_even_without_waitid(self, run, monkeypatch):
        monkeypatch.delattr(os, "pidfd_open", raising=False)
        monkeypatch.delattr(os, "waitid", raising=False)

        assert run("echo x; exit 3").exit_code == 3
        assert run("kill -9 $$").signal == "SIGKILL"


def test_many_threads_run_commands_at_once(environment, tmp_path, guardian):
    outputs = {}

    def work(number):
        spec = CommandSpec(f"echo {number}; sleep 1000 & echo $!", tmp_path, 20)
        outputs[number] = environment.run(spec, lambda text: None, CancelToken()).output.split()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [outputs[number][0] for number in range(16)] == [str(number) for number in range(16)]
    assert all(group_is_alive(group) for group in guardian.groups())
    environment.close()
    wait_until(lambda: all(has_ended(int(pid)) for _, pid in outputs.values()))
