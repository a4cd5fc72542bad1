"""Background processes: real shells, pipes, terminals and signals."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.processes import has_ended, open_descriptors
from tests.support.shells import shells
from tests.support.waiting import wait_until
from tools.errors import CommandError, ToolError, ToolInterrupted
from tools.shell.session import ProcessLimits

PROJECT = Path(__file__).parents[3]


def wait(session, process_id, timeout=20.0):
    return session.processes.wait(process_id, timeout, session.token)


def until_shown(session, process_id, text):
    """All of the output, once `text` is in it."""
    wait_until(lambda: text in session.processes.log(process_id).output)
    return session.processes.log(process_id).output


def zombies():
    """Ended children of this process that nobody has waited for."""
    shown = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "stat="], check=True, stdout=subprocess.PIPE)
    return shown.stdout.count(b"Z")


class TestLooking:
    def test_starting_returns_while_it_runs(self, session, tmp_path):
        info = session.start("sleep 1000")

        assert info.running
        assert (info.exit_code, info.signal, info.cwd) == (None, None, tmp_path)
        assert [(known.id, known.pid) for known in session.processes.list()] == [(info.id, info.pid)]

    def test_polling_tells_only_what_is_new(self, session):
        name = session.start("echo one; read x; echo two").id
        until_shown(session, name, "one")

        assert session.processes.poll(name).output == "one\n"
        assert session.processes.poll(name).output == ""
        session.processes.write(name, "", submit=True)
        assert wait(session, name).output == "two\n"
        assert session.processes.log(name).output == "one\ntwo\n"

    def test_waiting_ends_with_the_process(self, session):
        view = wait(session, session.start("echo out; exit 3").id)

        assert (view.output, view.info.running, view.info.exit_code) == ("out\n", False, 3)

    def test_waiting_ends_with_the_time(self, session):
        assert wait(session, session.start("sleep 1000").id, 0.05).info.running

    def test_waiting_ends_with_the_turn(self, session):
        name = session.start("echo up; sleep 1000").id
        token = CancelToken()
        canceller = threading.Thread(target=lambda: until_shown(session, name, "up") and token.cancel())
        canceller.start()

        with pytest.raises(ToolInterrupted):
            session.processes.wait(name, 60, token)
        canceller.join()
        assert session.processes.poll(name).info.running, "the process goes on"

    def test_one_that_does_not_exist_is_named_with_those_that_do(self, session):
        known = session.start("sleep 1000").id

        with pytest.raises(ToolError, match=f"no process 'nope'.*{known}"):
            session.processes.poll("nope")

    def test_what_the_shell_remembers_goes_along(self, session):
        name = session.start("echo $A [$B]", env={"A": "1"}, unset=("B",)).id

        assert wait(session, name).output == "1 []\n"

    def test_a_command_that_cannot_start_says_why(self, session, tmp_path):
        with pytest.raises(CommandError, match="null byte"):
            session.start("echo a\0b")
        assert session.processes.list() == ()


class TestOutput:
    def test_the_end_of_a_long_output_is_kept_and_all_of_it_on_disk(self, tmp_path):
        with shells(tmp_path, limits=ProcessLimits(kept_chars=1000)) as session:
            name = session.start("seq 1 200000", save_to=tmp_path / "log" / "out.txt").id
            view = wait(session, name)

        assert view.output.endswith("199999\n200000\n")
        assert len(view.output) == 1000
        assert view.missed == len((tmp_path / "log" / "out.txt").read_text()) - 1000
        assert view.info.log == tmp_path / "log" / "out.txt"
        assert view.info.log.read_text().split() == [str(number) for number in range(1, 200_001)]

    def test_a_short_output_makes_no_file(self, session, tmp_path):
        view = wait(session, session.start("echo x", save_to=tmp_path / "out.txt").id)

        assert view.info.log is None
        assert not (tmp_path / "out.txt").exists()

    def test_bytes_that_are_no_text_are_replaced(self, session):
        assert (
            wait(session, session.start(r"head -c 300 /dev/zero; printf 'a\xffb'").id).output
            == "\0" * 300 + "a\ufffdb"
        )


class TestTyping:
    def test_a_pipe_is_read_line_by_line_and_closed(self, session):
        name = session.start("cat; echo ended").id
        session.processes.write(name, "one\n")
        session.processes.write(name, "two", submit=True)
        session.processes.end_input(name)

        assert wait(session, name).output == "one\ntwo\nended\n"

    def test_a_terminal_answers_a_question(self, session):
        name = session.start('python3 -c \'print("hello", input("name? [y/n] "))\'', pty=True).id

        assert wait(session, name).info.waits_for == "name? [y/n]"
        session.processes.write(name, "Ann", submit=True)
        assert "hello Ann" in wait(session, name).output

    def test_a_terminal_takes_the_end_of_input(self, session):
        name = session.start("cat; echo ended", pty=True).id
        session.processes.write(name, "x", submit=True)
        session.processes.end_input(name)

        assert wait(session, name).output.endswith("ended\r\n")

    def test_a_terminal_takes_an_interrupt(self, session):
        name = session.start("trap 'echo caught; exit 3' INT; echo up; while :; do sleep 0.05; done", pty=True).id
        until_shown(session, name, "up")
        session.processes.write(name, "\x03")

        view = wait(session, name)
        assert view.info.exit_code == 3
        assert "caught" in view.output

    def test_input_larger_than_a_pipe_arrives_whole(self, session):
        name = session.start("wc -c").id
        session.processes.write(name, "x" * 300_000)
        session.processes.end_input(name)

        assert wait(session, name).output.strip() == "300000"

    def test_a_program_that_does_not_read_is_told_of(self, session, monkeypatch):
        monkeypatch.setattr("tools.environments.background_process.WRITE_SECONDS", 0.1)
        name = session.start("sleep 1000").id

        with pytest.raises(CommandError, match=r"does not read its input: \d+ of 300000 bytes"):
            session.processes.write(name, "x" * 300_000)

    def test_one_that_has_ended_takes_nothing(self, session):
        name = session.start("true").id
        wait(session, name)

        with pytest.raises(CommandError, match="it has ended"):
            session.processes.write(name, "x")
        with pytest.raises(CommandError):
            session.processes.end_input(name)

    def test_closed_input_takes_nothing(self, session):
        name = session.start("sleep 1000").id
        session.processes.end_input(name)

        with pytest.raises(CommandError, match="closed"):
            session.processes.write(name, "x")
        with pytest.raises(CommandError, match="closed already"):
            session.processes.end_input(name)


class TestEnding:
    @pytest.mark.parametrize("pty", [False, True])
    def test_killing_ends_the_whole_group(self, pty, session):
        name = session.start("trap '' TERM HUP; sleep 1000 & echo $!; sleep 1000", pty=pty).id
        child = int(until_shown(session, name, "\n"))
        info = session.processes.kill(name)

        assert not info.running
        assert (info.exit_code, info.signal) == (None, "SIGKILL")
        wait_until(lambda: has_ended(child))

    def test_killing_again_does_no_harm(self, session):
        name = session.start("sleep 1000").id
        session.processes.kill(name)

        assert session.processes.kill(name).signal == "SIGTERM"

    def test_it_may_clean_up_first(self, session):
        name = session.start("trap 'echo cleaned; exit 4' TERM; echo up; while :; do sleep 0.01; done").id
        until_shown(session, name, "up")

        assert session.processes.kill(name).exit_code == 4
        assert "cleaned" in session.processes.poll(name).output

    def test_it_counts_for_the_session_and_ends_with_it(self, session):
        name = session.start("sleep 1000 & echo $!; sleep 1000").id
        child = int(until_shown(session, name, "\n"))
        assert session.environment.is_busy()
        assert len(session.guardian.groups()) == 1

        session.environment.close()

        wait_until(lambda: has_ended(child))
        assert wait(session, name).info.signal == "SIGKILL"

    def test_many_that_ignore_the_first_signal_end_together(self, session):
        names = [session.start("trap '' TERM; echo up; sleep 1000").id for _ in range(20)]
        for name in names:
            until_shown(session, name, "up")
        session.processes.close()

        assert [info.signal for info in session.processes.list()] == ["SIGKILL"] * 20

    def test_nothing_is_left_open(self, session):
        session.run("true")
        before = open_descriptors()
        names = [session.start("echo x; exit 1", pty=number % 2 == 0).id for number in range(10)]
        names.append(session.start("sleep 1000").id)
        session.processes.kill(names[-1])
        for name in names:
            wait(session, name)
        wait_until(lambda: open_descriptors() == before)
        wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("watch proc_")])

        assert not zombies()

    def test_when_this_process_is_killed_they_die(self, tmp_path):
        script = (
            "import sys; from pathlib import Path; from tests.support.shells import shells\n"
            "with shells(Path(sys.argv[1])) as session:\n"
            "    name = session.start('trap \"\" TERM HUP; echo $$; sleep 1000', pty=True).id\n"
            "    while '\\n' not in (text := session.processes.log(name).output): pass\n"
            "    print(text, flush=True); sys.stdin.read()\n"
        )
        owner = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], cwd=PROJECT, stdout=subprocess.PIPE, stdin=subprocess.PIPE
        )
        pid = int(owner.stdout.readline())
        owner.kill()
        owner.communicate()

        wait_until(lambda: has_ended(pid))


class TestEvents:
    def test_begin_and_end_are_told_and_whether_somebody_asked_for_the_end(self, session):
        events = []
        session.processes.subscribe(events.append)
        silent, told = session.start("true").id, session.start("exit 2", notify_on_complete=True).id
        wait(session, silent)
        wait(session, told)

        wait_until(lambda: len(events) == 4)
        found = {(event.kind, event.info.id) for event in events}
        assert found == {("started", silent), ("ended", silent), ("started", told), ("completed", told)}
        assert [event.info.exit_code for event in events if event.kind == "completed"] == [2]

    def test_a_watched_text_is_told_with_its_line(self, session):
        events = []
        session.processes.subscribe(events.append)
        name = session.start("echo starting; echo ready on port 80; sleep 1000", watch_patterns=("ready",)).id

        wait_until(lambda: any(event.kind == "matched" for event in events))
        (match,) = [event.match for event in events if event.kind == "matched"]
        assert (match.pattern, match.line) == ("ready", "ready on port 80")
        assert [match.line for match in session.processes.poll(name).info.matches] == ["ready on port 80"]

    def test_who_has_left_is_told_no_more(self, session):
        events = []
        forget = session.processes.subscribe(events.append)
        forget()
        forget()
        wait(session, session.start("true", notify_on_complete=True).id)

        assert events == []

    def test_a_listener_that_fails_harms_nobody(self, session):
        events = []

        def broken(event):
            raise OSError("gone")

        session.processes.subscribe(broken)
        session.processes.subscribe(events.append)
        wait(session, session.start("true", notify_on_complete=True).id)

        wait_until(lambda: bool(events))


class TestLimits:
    def test_only_so_many_run_at_once(self, tmp_path):
        with shells(tmp_path, limits=ProcessLimits(max_processes=2)) as session:
            first = session.start("sleep 1000").id
            session.start("sleep 1000")
            with pytest.raises(CommandError, match="2 background processes are running"):
                session.start("touch made")
            session.processes.kill(first)
            session.start("sleep 1000")

            assert first not in [info.id for info in session.processes.list()]
        assert not (tmp_path / "made").exists()

    def test_ended_ones_are_forgotten_after_a_while(self, tmp_path):
        with shells(tmp_path, limits=ProcessLimits(keep_finished_seconds=0.05)) as session:
            name = session.start("true").id
            wait(session, name)

            wait_until(lambda: session.processes.list() == ())
            with pytest.raises(ToolError):
                session.processes.poll(name)

    def test_many_at_once_do_not_mix(self, session):
        names = [session.start(f"for i in 1 2 3; do echo {number}; done").id for number in range(20)]

        assert [wait(session, name).output for name in names] == [f"{number}\n" * 3 for number in range(20)]
        assert len(set(names)) == 20
