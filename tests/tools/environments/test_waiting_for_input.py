"""Commands that wait for somebody to type are ended, and say at what they waited."""

import shutil

import pytest

from tests.support.processes import has_ended
from tests.support.waiting import wait_until

READS_ITS_TERMINAL = """
import sys, termios
flags = termios.tcgetattr(0)
flags[3] &= ~termios.ECHO
termios.tcsetattr(0, termios.TCSANOW, flags)
print("Key for the vault", end=" ", flush=True)
sys.stdin.readline()
"""


class TestAtATerminal:
    @pytest.mark.parametrize(
        ("command", "question"),
        [
            ("read -p 'Go on? [y/N] ' x", "Go on? [y/N]"),
            ("read -p 'Do you want to continue? ' x", "Do you want to continue?"),
            ("read -s -p 'Password: ' x", "Password:"),
            ("python3 -q", ">>>"),
        ],
    )
    def test_a_question_is_recognised(self, command, question, session):
        outcome = session.run(command, pty=True)

        assert outcome.waits_for == question
        assert not outcome.timed_out
        assert outcome.left is None

    def test_a_terminal_that_hides_what_is_typed_tells_of_a_password(self, session, tmp_path):
        (tmp_path / "ask.py").write_text(READS_ITS_TERMINAL)

        assert session.run("python3 ask.py", pty=True).waits_for == "Key for the vault"

    @pytest.mark.skipif(shutil.which("less") is None, reason="needs less: apt install less")
    def test_a_pager_is_ended(self, session):
        assert session.run("seq 1000 | less", pty=True).waits_for

    def test_a_full_screen_program_is_ended(self, session):
        outcome = session.run(r"printf '\033[?1049hmenu\n'; read x", pty=True)

        assert outcome.waits_for == "a full-screen program"

    def test_one_that_has_left_the_screen_again_is_not(self, session):
        outcome = session.run(r"printf '\033[?1049hmenu\n\033[?1049l'; sleep 0.5; echo done", pty=True)

        assert (outcome.waits_for, outcome.exit_code) == ("", 0)

    def test_its_children_end_with_it(self, session):
        outcome = session.run("sleep 1000 & echo $!; read -p 'Password: ' x", pty=True)

        wait_until(lambda: has_ended(int(outcome.output.split()[0])))

    def test_a_program_sees_a_terminal_of_its_own(self, session):
        outcome = session.run("test -t 0 && test -t 1 && test -t 2 && stty size < /dev/tty; echo $TERM", pty=True)

        assert outcome.output == "40 120\r\nxterm-256color\r\n"

    def test_all_of_a_long_output_arrives(self, session):
        outcome = session.run("seq 1 5000", pty=True)

        assert outcome.output.split() == [str(number) for number in range(1, 5001)]

    def test_a_child_that_never_stops_printing_does_not_hold_the_call(self, session):
        outcome = session.run("(trap '' HUP; yes) & sleep 0.1; exit 5", pty=True)

        assert outcome.exit_code == 5
        assert outcome.duration < 5


class TestWithoutATerminal:
    def test_a_question_that_hangs_all_the_same_is_recognised(self, session):
        outcome = session.run("printf 'Overwrite? [y/n] '; sleep 100")

        assert outcome.waits_for == "Overwrite? [y/n]"

    def test_a_program_that_is_told_that_nobody_types_goes_on(self, session):
        outcome = session.run("printf 'Continue? [y/N] '; read x || echo nobody")

        assert outcome.output == "Continue? [y/N] nobody\n"
        assert outcome.waits_for == ""

    @pytest.mark.parametrize("text", ["Compiling: ", "50% [####] ", "Loading...", "what? ", "Password: ok\\n"])
    def test_a_silent_command_whose_output_asks_nothing_goes_on(self, text, session):
        outcome = session.run(f"printf '{text.replace('%', '%%')}'; sleep 0.5; echo done")

        assert (outcome.exit_code, outcome.waits_for) == (0, "")

    def test_a_question_that_the_command_answers_itself_is_none(self, session):
        assert session.run("printf 'Sure? [y/N] '; sleep 0.05; echo y; sleep 0.4; echo done").exit_code == 0
