"""What every implementation of a port does. A test class inherits from the contract and has the fixture it names."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.waiting import wait_until
from tools.errors import CommandError, FileChanged, FileMissing, FileRefused
from tools.ports import CommandOutcome, CommandSpec, Environment, FileSystem, SearchQuery

TEXTS = {
    "plain": b"one\ntwo\n",
    "without an end": b"one\ntwo",
    "windows": b"one\r\ntwo\r\n",
    "mixed": b"one\r\ntwo\nthree\r\n",
    "marked": b"\xef\xbb\xbfone\n",
    "marked windows": b"\xef\xbb\xbfone\r\ntwo\r\n",
    "utf-16": "\ufeffone\n".encode("utf-16-le"),
    "latin-1": "größe\n".encode("latin-1"),
    "other letters": "größe → 大\n".encode(),
    "binary": b"\x7fELF\0\1\2\xff",
    "empty": b"",
}
texts = pytest.mark.parametrize("content", TEXTS.values(), ids=TEXTS)


def read(fs: FileSystem, path: Path) -> bytes:
    with fs.open(path) as stream:
        return stream.read()


class FileSystemContract:
    """For the fixture `fs`, a file system whose files are the disk's as long as nobody edits them."""

    def test_stat_tells_kinds_and_sizes(self, fs: FileSystem, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"123")
        os.mkfifo(tmp_path / "p")
        found = [fs.stat(tmp_path / name) for name in (".", "f", "p")]
        assert [facts.kind for facts in found if facts] == ["directory", "file", "other"]
        assert found[1] is not None
        assert found[1].size == 3
        assert fs.stat(tmp_path / "nothing") is None

    @texts
    def test_a_file_is_read_as_it_is(self, content: bytes, fs: FileSystem, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(content)
        assert read(fs, tmp_path / "f") == content

    @texts
    def test_what_was_read_can_be_replaced(self, content: bytes, fs: FileSystem, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(content)
        (tmp_path / "f").chmod(0o754)
        after = content.replace(b"e", b"E") + b"x"
        fs.write(tmp_path / "f", after, expected=read(fs, tmp_path / "f"))
        assert (tmp_path / "f").read_bytes() == after
        assert read(fs, tmp_path / "f") == after
        assert (tmp_path / "f").stat().st_mode & 0o777 == 0o754

    @texts
    def test_a_new_file_is_made_with_its_directories(self, content: bytes, fs: FileSystem, tmp_path: Path) -> None:
        fs.write(tmp_path / "a" / "b" / "f", content, expected=None)
        assert (tmp_path / "a" / "b" / "f").read_bytes() == content

    def test_a_text_can_become_binary_and_back(self, fs: FileSystem, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"text\n")
        fs.write(tmp_path / "f", b"\0\1", expected=b"text\n")
        fs.write(tmp_path / "f", b"text again\n", expected=b"\0\1")
        assert (tmp_path / "f").read_bytes() == b"text again\n"

    def test_nothing_is_there_to_read(self, fs: FileSystem, tmp_path: Path) -> None:
        with pytest.raises(FileMissing):
            fs.open(tmp_path / "f")

    def test_only_regular_files_are_read(self, fs: FileSystem, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "p")
        for path in (tmp_path, tmp_path / "p", Path("/proc/self/environ")):
            with pytest.raises(FileRefused):
                fs.open(path)

    def test_a_file_that_has_changed_is_left_alone(self, fs: FileSystem, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"new\n")
        with pytest.raises(FileChanged, match="Read it again"):
            fs.write(tmp_path / "f", b"mine\n", expected=b"old\n")
        with pytest.raises(FileChanged):
            fs.remove(tmp_path / "f", expected=b"old\n")
        assert (tmp_path / "f").read_bytes() == b"new\n"

    def test_a_file_that_is_there_is_not_made_anew(self, fs: FileSystem, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"theirs\n")
        with pytest.raises(FileChanged, match="already exists"):
            fs.write(tmp_path / "f", b"mine\n", expected=None)
        assert (tmp_path / "f").read_bytes() == b"theirs\n"

    def test_a_file_that_is_gone_is_not_made_again(self, fs: FileSystem, tmp_path: Path) -> None:
        with pytest.raises(FileMissing):
            fs.write(tmp_path / "f", b"mine\n", expected=b"old\n")
        assert not (tmp_path / "f").exists()

    def test_files_are_listed_moved_and_deleted(self, fs: FileSystem, tmp_path: Path) -> None:
        (tmp_path / "b").write_bytes(b"b\n")
        (tmp_path / "a").write_bytes(b"a\n")
        fs.rename(tmp_path / "b", tmp_path / "c" / "d")
        fs.remove(tmp_path / "a", expected=b"a\n")
        assert fs.list(tmp_path) == ["c"]
        assert read(fs, tmp_path / "c" / "d") == b"b\n"

    def test_nothing_is_moved_onto_another_file(self, fs: FileSystem, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"a\n")
        (tmp_path / "b").write_bytes(b"b\n")
        with pytest.raises(FileChanged):
            fs.rename(tmp_path / "a", tmp_path / "b")
        assert (tmp_path / "b").read_bytes() == b"b\n"

    def test_a_link_is_deleted_and_not_what_it_leads_to(self, fs: FileSystem, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"f\n")
        (tmp_path / "link").symlink_to("f")
        fs.remove(tmp_path / "link", expected=b"f\n")
        assert fs.list(tmp_path) == ["f"]

    def test_a_search_finds_lines(self, fs: FileSystem, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"one\ntwo\n")
        hits = fs.search(SearchQuery("tw.", tmp_path)).hits
        assert [(hit.path.name, hit.line, hit.text) for hit in hits] == [("f", 2, "two")]


class EnvironmentContract:
    """For the fixture `environment`, which keeps 1000 characters of output, 400 of them from the beginning."""

    def run(self, environment: Environment, cwd: Path, command: str, timeout: float = 20.0) -> CommandOutcome:
        return environment.run(CommandSpec(command, cwd, timeout, {"OWN": "1"}), lambda _: None, CancelToken())

    def test_output_and_exit_code(self, environment: Environment, tmp_path: Path) -> None:
        outcome = self.run(environment, tmp_path, "echo one; echo two >&2; exit 3")
        assert (outcome.output, outcome.exit_code, outcome.signal) == ("one\ntwo\n", 3, None)
        assert not outcome.timed_out
        assert not outcome.interrupted
        assert 0 < outcome.duration < 20

    def test_it_runs_where_it_is_told_with_variables(self, environment: Environment, tmp_path: Path) -> None:
        outcome = self.run(environment, tmp_path, 'pwd; echo "$OWN $PAGER $GIT_TERMINAL_PROMPT"')
        assert outcome.output == f"{tmp_path}\n1 cat 0\n"

    def test_a_shell_reads_the_command(self, environment: Environment, tmp_path: Path) -> None:
        outcome = self.run(environment, tmp_path, "x='a  b'; echo \"$x\" | tr a c && echo 'it''s'")
        assert outcome.output == "c  b\nits\n"

    def test_a_signal_is_named(self, environment: Environment, tmp_path: Path) -> None:
        outcome = self.run(environment, tmp_path, "kill -SEGV $$")
        assert (outcome.exit_code, outcome.signal) == (None, "SIGSEGV")

    def test_the_middle_of_a_long_output_is_left_out(self, environment: Environment, tmp_path: Path) -> None:
        outcome = self.run(
            environment, tmp_path, "printf a%.0s {1..400}; printf b%.0s {1..99}; printf c%.0s {1..600}"
        )
        assert outcome.truncated_chars == 99
        assert outcome.output == f"{'a' * 400}\n[… 99 characters left out …]\n{'c' * 600}"

    def test_what_takes_too_long_is_ended(self, environment: Environment, tmp_path: Path) -> None:
        outcome = self.run(environment, tmp_path, "echo begun; sleep 60", timeout=0.3)
        assert outcome.timed_out
        assert outcome.output == "begun\n"
        assert outcome.exit_code is None
        assert outcome.duration < 10

    def test_the_cancel_ends_a_command(self, environment: Environment, tmp_path: Path) -> None:
        token = CancelToken()
        done: list[CommandOutcome] = []
        spec = CommandSpec("touch begun; sleep 60", tmp_path, 60.0)
        worker = threading.Thread(target=lambda: done.append(environment.run(spec, lambda _: None, token)))
        worker.start()
        wait_until((tmp_path / "begun").exists)
        token.cancel()
        worker.join(10)
        assert done[0].interrupted
        assert not done[0].timed_out
        wait_until(lambda: not environment.is_busy())

    def test_after_the_cancel_nothing_starts(self, environment: Environment, tmp_path: Path) -> None:
        token = CancelToken()
        token.cancel()
        outcome = environment.run(CommandSpec("touch begun", tmp_path, 5.0), lambda _: None, token)
        assert outcome.interrupted
        assert not (tmp_path / "begun").exists()

    def test_closing_ends_what_runs_and_more_may_follow(self, environment: Environment, tmp_path: Path) -> None:
        done: list[CommandOutcome] = []
        worker = threading.Thread(
            target=lambda: done.append(self.run(environment, tmp_path, "touch begun; sleep 60", timeout=60.0))
        )
        worker.start()
        wait_until((tmp_path / "begun").exists)
        wait_until(environment.is_busy)
        environment.close()
        worker.join(10)
        assert (done[0].exit_code, done[0].signal) == (None, "SIGKILL")
        assert self.run(environment, tmp_path, "echo more").output == "more\n"
        wait_until(lambda: not environment.is_busy())

    def test_a_child_in_the_background_does_not_hold_the_call(self, environment: Environment, tmp_path: Path) -> None:
        outcome = self.run(environment, tmp_path, "sleep 60 & echo on")
        assert outcome.output == "on\n"
        assert not outcome.timed_out

    def test_what_cannot_start_says_why(self, environment: Environment, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="no directory"):
            self.run(environment, tmp_path / "nothing", "true")
        with pytest.raises(CommandError, match="null"):
            self.run(environment, tmp_path, "echo a\0b")
