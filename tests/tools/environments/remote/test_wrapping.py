"""What a command is sent as, and how its output is told from what is about it, in every shell that there is here."""

import shlex
import shutil
import threading
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.cancel import CancelToken
from tests.support.local_machine import LocalMachine
from tests.support.processes import has_ended
from tests.support.waiting import wait_until
from tools.environments.guardian import Guardian
from tools.environments.remote.scripts import Framing, quoted, wrap
from tools.environments.remote.session import FarSide
from tools.ports import SearchQuery
from tools.shell.session import ShellCommand

SHELLS = [shell for shell in (("dash",), ("bash",), ("bash", "--posix"), ("busybox", "sh")) if shutil.which(shell[0])]
WHOLE = b"hello\n\0tok:begun 42\0out\0put\0to\0tok:report\0\0shell\0/srv\n\0export A='1'\n\0end\0\0tok:exit 7\0late"


@given(st.lists(st.integers(0, len(WHOLE)), max_size=12))
def test_the_output_is_the_same_however_it_is_cut(cuts):
    places = [0, *sorted(cuts), len(WHOLE)]
    framing = Framing("tok")
    out = b"".join(framing.feed(WHOLE[start:end]) for start, end in pairwise(places))
    assert out + framing.rest() == b"out\0put\0to"
    assert (framing.pid, framing.status, framing.is_over) == (42, 7, True)
    assert b"/srv" in framing.report


def test_output_without_an_end_is_handed_out_whole():
    framing = Framing("tok")
    assert framing.feed(b"\0tok:begun 1\0all\0to") + framing.rest() == b"all\0to"
    assert not framing.is_over


def test_what_comes_before_the_beginning_is_nobody_s():
    framing = Framing("tok")
    assert framing.feed(b"Welcome!\n") + framing.rest() == b""
    assert not framing.begun


@given(st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",))))
def test_any_text_is_one_word(text):
    assert shlex.split(quoted(text)) == [text]


def test_a_null_character_is_refused():
    with pytest.raises(ValueError, match="null"):
        wrap("echo a\0b", Path("/"), {}, folder="/tmp/x")


@pytest.fixture(scope="module", params=SHELLS, ids=" ".join)
def side(request):
    guardian = Guardian()
    side = FarSide(LocalMachine(request.param, greeting="Welcome, and mind the gap!"), guardian)
    yield side
    side.close()
    guardian.kill_all()


def run(side, command, cwd, timeout=20.0, token=None, **fields):
    spec = ShellCommand(command, cwd, timeout, **fields)
    return side.environment.run(spec, lambda _text: None, token or CancelToken())


def test_every_shell_runs_reports_and_ends_a_command(side, tmp_path):
    outcome = run(side, "printf '%s|' 'a\\nb' \"it's\" \"$MINE\"; exit 3", tmp_path, env={"MINE": "x\ny\\z"})
    assert (outcome.output, outcome.exit_code) == ("a\\nb|it's|x\ny\\z|", 3)
    assert run(side, "cd /; export A=1", tmp_path).left.added()["A"] == "1"
    assert run(side, "kill -TERM $$", tmp_path).signal == "SIGTERM"
    late = run(side, "echo $$ > pid; trap '' TERM; sleep 60 & wait", tmp_path, timeout=0.3)
    assert late.timed_out
    wait_until(lambda: has_ended(int((tmp_path / "pid").read_text())))
    wait_until(lambda: not side.environment.is_busy())


def test_every_shell_ends_what_left_its_group_when_the_session_ends(side, tmp_path):
    worker = threading.Thread(
        target=lambda: run(side, "setsid sleep 61 & echo $! > left; touch begun; sleep 62", tmp_path, 60.0)
    )
    worker.start()
    wait_until((tmp_path / "begun").exists)
    side.environment.close()
    worker.join(10)
    assert not worker.is_alive()
    wait_until(lambda: has_ended(int((tmp_path / "left").read_text())))


def test_files_work_in_every_shell(side, tmp_path):
    guardian = Guardian()
    facts = replace(side.facts(), programs=frozenset({"grep"}))
    plain = FarSide(side.link.machine, guardian, facts=facts)
    fs = plain.files()
    fs.write(tmp_path / "d" / "it's.txt", b"a\0b\n", expected=None)
    fs.write(tmp_path / "d" / "it's.txt", b"c\n", expected=b"a\0b\n")
    assert fs.list(tmp_path / "d") == ["it's.txt"]
    (tmp_path / "link").symlink_to("d")
    assert fs.resolve(tmp_path / "link" / "new" / "x") == tmp_path / "d" / "new" / "x"
    fs.write(tmp_path / "d" / "b.txt", b"one\ntwo\n", expected=None)
    hits = fs.search(SearchQuery("tw.", tmp_path)).hits
    assert [(hit.path.name, hit.line) for hit in hits] == [("b.txt", 2)]
    assert side.files().stat(tmp_path / "d" / "b.txt").size == 8
    plain.close()
    guardian.kill_all()
