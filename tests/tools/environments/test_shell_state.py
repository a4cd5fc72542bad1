"""What a session's shell keeps from one command to the next, with real shells."""

import os
import shutil
import string

import pytest

pytest.importorskip("hypothesis", reason="needs hypothesis: pip install 'hermes-editor-agent[dev]'")
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.processes import open_descriptors
from tests.support.shells import shells


class TestKept:
    def test_the_directory_lasts(self, session, tmp_path):
        (tmp_path / "sub").mkdir()
        session.run("cd sub")

        assert session.run("pwd").output == f"{tmp_path / 'sub'}\n"

    def test_the_directory_keeps_the_name_by_which_the_shell_got_there(self, session, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        session.run("cd link")

        assert session.memory.state().cwd == tmp_path / "link"
        assert session.run("pwd").output == f"{tmp_path / 'link'}\n"

    def test_a_directory_with_a_strange_name_lasts(self, session, tmp_path):
        name = "a b\n'\"$x `é"
        (tmp_path / name).mkdir()
        session.run("cd a*")

        assert session.memory.state().cwd == tmp_path / name

    def test_one_can_go_back(self, session, tmp_path):
        session.run("cd /usr")

        assert session.run("cd - && pwd").output == f"{tmp_path}\n{tmp_path}\n"

    def test_an_exported_variable_lasts(self, session):
        session.run("export GREETING='good  day'")

        assert session.run('echo "$GREETING"').output == "good  day\n"

    def test_a_variable_that_is_not_exported_does_not(self, session):
        session.run("GREETING=hello")

        assert session.run('echo "[$GREETING]"').output == "[]\n"

    def test_a_variable_can_be_taken_away_and_come_back(self, tmp_path):
        with shells(tmp_path, variables={"PATH": os.environ["PATH"], "FROM_USER": "x"}) as session:
            session.run("unset FROM_USER")
            assert session.run('echo "[$FROM_USER]"').output == "[]\n"

            session.run("export FROM_USER=y")
            assert session.run('echo "[$FROM_USER]"').output == "[y]\n"

    def test_a_virtual_environment_stays_active(self, session, tmp_path):
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "tool").write_text("#!/bin/sh\necho mine\n")
        (tmp_path / "bin" / "tool").chmod(0o755)
        (tmp_path / "activate").write_text('VIRTUAL_ENV=$PWD; PATH="$PWD/bin:$PATH"; export VIRTUAL_ENV PATH\n')
        session.run("source ./activate")

        assert session.run("tool").output == "mine\n"

    def test_what_is_as_in_a_fresh_shell_is_not_remembered(self, session, tmp_path):
        session.run("true")

        assert session.memory.state().variables == {}


class TestEndings:
    @pytest.mark.parametrize(
        "command",
        [
            "cd sub; export KEPT=1; exit 3",
            "set -e; cd sub; export KEPT=1; false; echo never",
            "cd sub; export KEPT=1; set -u; echo $MISSING",
            "cd sub; export KEPT=1\nno-such-program",
            "set -x; cd sub; export KEPT=1",
            "set -f; set -o posix; cd sub; export KEPT=1",
            "cd sub; export KEPT=1; (exit 9)",
            "exec > log 2>&1; cd sub; export KEPT=1; echo x",
            'printf() { echo broken; }; pwd() { echo /; }; export() { command export "$@"; }; cd sub; export KEPT=1',
            "cd sub; export KEPT=1; sleep 100 > /dev/null &",
        ],
    )
    def test_state_is_kept_however_the_shell_ends_by_itself(self, command, session, tmp_path):
        (tmp_path / "sub").mkdir()
        session.run(command)

        assert session.memory.state().cwd == tmp_path / "sub"
        assert session.memory.state().variables["KEPT"] == "1"

    @pytest.mark.parametrize(
        "command",
        [
            "cd sub; export LOST=1; exec true",
            "cd sub; export LOST=1; kill -9 $$",
            "cd sub; export LOST=1; kill -TERM $$",
            "cd sub; export LOST=1; sleep 100",
            "trap 'true' EXIT; cd sub; export LOST=1",
            "cd sub; export LOST=1; read x < <(sleep 100)",
            "cd 'sub",
        ],
    )
    def test_otherwise_nothing_changes(self, command, session, tmp_path):
        (tmp_path / "sub").mkdir()
        session.run("export BEFORE=1")
        before = session.memory.state()
        outcome = session.run(command, timeout=0.3)

        assert session.memory.state().cwd == before.cwd
        assert "LOST" not in session.memory.state().variables
        assert session.memory.state().variables["BEFORE"] == "1"
        assert "\0" not in outcome.output

    def test_a_cancelled_command_leaves_nothing(self, session, tmp_path):
        session.live = type("Cancelling", (list,), {"append": lambda _self, _text: session.token.cancel()})()
        outcome = session.run("cd /; echo up; read x < <(sleep 100)")

        assert outcome.interrupted
        assert outcome.left is None

    def test_the_report_never_comes_into_the_output(self, session):
        outcome = session.run("echo out; wait", timeout=0.3)

        assert outcome.output == "out\n"
        assert session.run("trap 'exit 4' TERM; echo a; sleep 30 & wait", timeout=0.3).output == "a\n"

    def test_a_variable_with_which_no_program_starts_is_not_kept(self, session):
        outcome = session.run("export KEPT=1 BIG=$(head -c 131068 /dev/zero | tr '\\0' a)")

        assert outcome.not_kept == ("BIG",)
        assert session.run("echo $KEPT ${#BIG}").output == "1 0\n"

    def test_the_longest_variable_with_which_programs_start_is_kept(self, session):
        session.run("export BIG=$(head -c 131067 /dev/zero | tr '\\0' a)")

        assert session.run("echo ${#BIG}").output == "131067\n"

    def test_a_very_large_environment_is_not_kept_and_said_so(self, session):
        outcome = session.run('export BEFORE=1; for i in {1..4}; do export BIG$i=$(printf "%090000d" 1); done')

        assert any("too long" in name for name in outcome.not_kept)
        assert session.memory.state().variables == {}

    def test_the_command_sees_nothing_of_it(self, session):
        assert session.run('echo "$# $0 [$1] [$go]"; ls /proc/self/fd').output == "0 bash [] []\n0\n1\n2\n3\n"


class TestNotKept:
    @pytest.mark.parametrize(
        "name",
        [
            "BASH_ENV",
            "MAKEFLAGS",
            "LD_PRELOAD",
            "GIT_SSH_COMMAND",
            "GIT_EXTERNAL_DIFF",
            "GIT_CONFIG_COUNT",
            "PAGER",
            "HOME",
            "IFS",
        ],
    )
    def test_what_makes_harmless_programs_run_code_lasts_for_one_command_only(self, name, session):
        outcome = session.run(f'export {name}=./x; echo "${name}"')

        assert outcome.output == "./x\n"
        assert outcome.not_kept == (name,)
        assert name not in session.memory.state().variables

    def test_exported_functions_are_not_kept(self, session):
        session.run("ls() { echo evil; }; export -f ls")

        assert session.run("ls").output == ""

    def test_who_wrote_a_commit_is_kept(self, session):
        assert session.run("export GIT_AUTHOR_NAME=A").not_kept == ()
        assert session.run("echo $GIT_AUTHOR_NAME").output == "A\n"


class TestSessions:
    def test_they_know_nothing_of_each_other(self, session, tmp_path):
        with shells(tmp_path) as other:
            session.run("cd /usr; export MINE=1")

            assert other.run('echo "[$MINE]"; pwd').output == f"[]\n{tmp_path}\n"

    def test_keys_of_ours_are_not_in_it(self, tmp_path):
        with shells(tmp_path, variables={"PATH": os.environ["PATH"], "MODEL_API_KEY": "k"}) as session:
            session.run("true")

            assert "MODEL_API_KEY" not in str(session.memory.state())
            assert session.run("env | grep -c MODEL_API_KEY").output == "0\n"

    def test_resetting_gives_a_fresh_shell(self, session, tmp_path):
        session.run("cd /usr; export MINE=1")
        session.memory.reset()

        assert session.run('echo "[$MINE]"; pwd').output == f"[]\n{tmp_path}\n"

    def test_no_descriptor_is_left_open(self, session):
        session.run("true")
        before = open_descriptors()
        for _ in range(10):
            session.run("export X=1; exit 1")
            session.run("true", pty=True)

        assert open_descriptors() == before


_names = st.text(string.ascii_uppercase, min_size=1, max_size=3).map(lambda name: f"V_{name}")
_values = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
_slow = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


@_slow
@given(given_values=st.dictionaries(_names, _values, max_size=4), failing=st.booleans())
def test_any_value_comes_back_as_it_was_across_failing_commands(given_values, failing, tmp_path_factory):
    with shells(tmp_path_factory.getbasetemp()) as session:
        session.run("".join(f"export {name}={_quoted(value)}\n" for name, value in given_values.items()))
        session.run("false" if failing else "true")
        session.run("exit 7")

        assert dict(session.memory.state().variables) == given_values


@pytest.mark.skipif(shutil.which("dash") is None, reason="needs a plain /bin/sh: apt install dash")
def test_a_plain_shell_keeps_state_too(tmp_path):
    (tmp_path / "sub").mkdir()
    with shells(tmp_path, shell=shutil.which("dash")) as session:
        session.run("cd sub; export A=\"it's\" B='two\nlines'; exit 2")

        assert session.run('echo "$A"; echo "$B"; pwd').output == f"it's\ntwo\nlines\n{tmp_path / 'sub'}\n"
