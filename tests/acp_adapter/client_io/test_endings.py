"""Final newlines, Windows line endings and byte order marks through clients that treat them otherwise: what the agent
meant is what the file holds, what it did not mean is not changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_adapter.client_io.endings import EndingHabits, as_meant
from acp_adapter.client_io.files import EditorFileSystem, EditorMemory
from agent_core.cancel import CancelToken
from tests.support.each import each
from tests.support.editor_host import Params, RpcError
from tests.support.hosted_editor import HostedEditor
from tests.support.port_contracts import read
from tools.environments.local_files import LocalFileSystem

READ, WRITE = "fs/read_text_file", "fs/write_text_file"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_bytes(b"one\ntwo\n")
    return path


def sent(editor: HostedEditor) -> list[str]:
    """What the editor was given to write so far."""
    return [params["content"] for params in editor.asked(WRITE)]


def another_session(editor: HostedEditor, memory: EditorMemory) -> EditorFileSystem:
    return EditorFileSystem(
        LocalFileSystem(), editor.calls, editor.client, CancelToken(), EditorMemory(memory.endings)
    )


class TestClientThatAddsANewline:
    """Its open files are lists of lines, and what it is given is split into them."""

    @pytest.fixture(autouse=True)
    def _open(self, editor: HostedEditor, path: Path) -> None:
        editor.files.keeps_lines = True
        editor.files.buffers[str(path)] = "one\ntwo"

    def test_edits_of_an_open_file_add_no_empty_line(self, editor, fs, path):
        for before, after in [("two", "three"), ("three", "four"), ("one", "zero")]:
            seen = read(fs, path)
            wanted = seen.replace(before.encode(), after.encode())
            assert fs.write(path, wanted, expected=seen) == wanted
            assert path.read_bytes() == wanted
            assert editor.files.buffers[str(path)] == wanted.decode().removesuffix("\n")

    def test_the_first_final_newline_teaches_it_for_the_client(self, editor, fs, memory, path, tmp_path):
        fs.write(path, b"one\nthree\n", expected=read(fs, path))
        assert sent(editor) == ["one\nthree\n", "one\nthree"]
        fs.write(path, b"one\nfour\n", expected=read(fs, path))
        other = tmp_path / "other.txt"
        other.write_bytes(b"a\n")
        editor.files.buffers[str(other)] = "a"
        later = another_session(editor, memory)
        assert later.write(other, b"b\n", expected=read(later, other)) == b"b\n"
        assert sent(editor)[2:] == ["one\nfour", "b"]
        assert (path.read_bytes(), other.read_bytes()) == (b"one\nfour\n", b"b\n")

    def test_a_file_that_is_not_open_keeps_its_final_newline_too(self, editor, fs, path, tmp_path):
        fs.write(path, b"one\n", expected=read(fs, path))
        closed = tmp_path / "closed.txt"
        closed.write_bytes(b"a\n")
        for text in (b"b\n", b"c\n"):
            assert fs.write(closed, text, expected=read(fs, closed)) == text
            assert closed.read_bytes() == text
        assert sent(editor)[2:] == ["b", "b\n", "c\n"], "what holds for the open ones was tried once"

    def test_empty_lines_that_the_agent_wrote_stay(self, editor, fs, path):
        for text in (b"one\n\n", b"\n", b"one\n\n\n"):
            assert fs.write(path, text, expected=read(fs, path)) == text
            assert path.read_bytes() == text

    def test_a_final_newline_that_the_agent_took_away_stays_away(self, editor, fs, path):
        fs.write(path, b"one\n", expected=read(fs, path))
        assert fs.write(path, b"one", expected=read(fs, path)) == b"one"
        assert path.read_bytes() == b"one"

    def test_a_file_without_a_final_newline_gets_none_by_an_edit(self, editor, fs, path):
        path.write_bytes(b"one\ntwo")
        assert fs.write(path, b"one\nthree", expected=read(fs, path)) == b"one\nthree"
        assert path.read_bytes() == b"one\nthree"

    def test_its_newline_is_no_unsaved_text_where_a_command_has_changed_the_file(self, editor, fs, path):
        fs.write(path, b"one\n", expected=read(fs, path))
        editor.files.buffers[str(path)] = "one\n\n"
        path.write_bytes(b"formatted\n")
        assert read(fs, path) == b"formatted\n"

    def test_a_client_that_refuses_the_second_write_is_put_right_on_the_disk(self, editor, fs, path):
        writing = editor.editor.host.write_text_file

        async def once(params: Params) -> Any:
            if len(editor.asked(WRITE)) > 1:
                raise RpcError(-32603, "busy")
            return await writing(params)

        editor.answer(WRITE, once)
        assert fs.write(path, b"one\nthree\n", expected=read(fs, path)) == b"one\nthree\n"
        assert path.read_bytes() == b"one\nthree\n"
        assert fs.remarks() == ()


class TestClientThatLeavesOutTheLastNewline:
    @pytest.fixture(autouse=True)
    def _leaves_out(self, editor: HostedEditor) -> None:
        editor.files.leaves_out_newline = True

    @pytest.mark.parametrize("is_open", [True, False])
    def test_its_text_is_the_file_s(self, is_open, editor, fs, path):
        if is_open:
            editor.files.buffers[str(path)] = "one\ntwo\n"
        assert read(fs, path) == b"one\ntwo\n"
        assert fs.hindrance(path) == "", "a newline at the very end is nothing that is not saved"

    def test_edits_keep_the_final_newline(self, editor, fs, path):
        for text in (b"one\nthree\n", b"one\nfour\n"):
            assert fs.write(path, text, expected=read(fs, path)) == text
            assert path.read_bytes() == text

    def test_unsaved_text_has_the_final_newline_once_the_client_is_known(self, editor, fs, path, tmp_path):
        read(fs, path)
        other = tmp_path / "other.txt"
        other.write_bytes(b"saved\n")
        editor.files.buffers[str(other)] = "not saved\n"
        assert read(fs, other) == b"not saved\n"

    def test_a_file_without_a_final_newline_gets_none(self, editor, fs, path):
        read(fs, path)
        path.write_bytes(b"one")
        editor.files.buffers[str(path)] = "two"
        assert read(fs, path) == b"two"

    def test_a_newline_that_the_agent_took_away_stays_away(self, editor, fs, path):
        assert fs.write(path, b"one\ntwo", expected=read(fs, path)) == b"one\ntwo"
        assert path.read_bytes() == b"one\ntwo"

    def test_text_of_before_a_change_on_the_disk_is_known_as_that(self, editor, fs, path):
        editor.files.buffers[str(path)] = "one\ntwo\n"
        read(fs, path)
        path.write_bytes(b"by a command\n")
        assert read(fs, path) == b"by a command\n"


class TestClientThatStrips:
    @pytest.fixture(autouse=True)
    def _strips(self, editor: HostedEditor) -> None:
        editor.files.strips = True

    @pytest.mark.parametrize("apart", [True, False])
    @pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
    def test_windows_line_endings_and_the_byte_order_mark_are_put_back(self, apart, mark, editor, fs, path):
        editor.files.buffers[str(path)] = "one\ntwo\n" if apart else "\ufeff" * bool(mark) + "one\r\ntwo\r\n"
        path.write_bytes(mark + b"one\r\ntwo\r\n")
        for text in (b"one\r\nthree\r\n", b"one\r\nfour\r\n"):
            assert fs.write(path, mark + text, expected=read(fs, path)) == mark + text
            assert path.read_bytes() == mark + text
        assert fs.remarks() == ()

    def test_a_new_file_gets_the_line_endings_that_the_agent_wrote(self, editor, fs, tmp_path):
        new = tmp_path / "new.txt"
        assert fs.write(new, b"a\r\nb\r\n", expected=None) == b"a\r\nb\r\n"
        assert new.read_bytes() == b"a\r\nb\r\n"

    def test_line_endings_that_are_lost_with_more_are_told(self, editor, fs, path):
        editor.files.on_save = str.upper
        path.write_bytes(b"one\r\n")
        assert fs.write(path, b"two\r\n", expected=read(fs, path)) == b"TWO\n"
        (told,) = fs.remarks()
        assert str(path) in told
        assert "with Unix line endings instead of Windows ones" in told


def test_an_editor_that_ends_the_last_line_may(editor: HostedEditor, fs: EditorFileSystem, path: Path) -> None:
    editor.files.on_save = lambda text: text.removesuffix("\n") + "\n"
    assert fs.write(path, b"one\nthree", expected=read(fs, path)) == b"one\nthree\n"
    assert path.read_bytes() == b"one\nthree\n"
    assert fs.write(path, b"one\n", expected=read(fs, path)) == b"one\n"
    assert sent(editor) == ["one\nthree", "one\n"], "nothing was wrong"


@each(
    "landed, data, before, adds, meant",
    [
        (b"a\n\n", b"a\n", b"b\n", False, b"a\n"),
        (b"a", b"a\n", b"b\n", False, b"a\n"),
        (b"a\n", b"a", b"b\n", False, b"a\n"),
        (b"a\n", b"a", b"b\n", True, b"a"),
        (b"a\n", b"a", b"b", False, b"a"),
        (b"a\n", b"a", None, False, b"a\n"),
        (b"a\nb\n", b"\xef\xbb\xbfa\r\nb\r\n", None, False, b"\xef\xbb\xbfa\r\nb\r\n"),
        (b"a\nb\n", b"a\r\nb", b"x\r\n", False, b"a\r\nb\r\n"),
        (b"A\n", b"a\n", b"b\n", True, b"A\n"),
        (b"a\n\n\n", b"a\n", b"b\n", True, b"a\n\n\n"),
        (b"\xff\n\n", b"\xff\n", b"b\n", True, b"\xff\n\n"),
    ],
)
def test_only_ends_are_put_right(landed: bytes, data: bytes, before: bytes | None, adds: bool, meant: bytes) -> None:
    assert as_meant(landed, data, before, adds=adds) == meant


def test_the_memory_of_final_newlines_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acp_adapter.client_io.endings.MOST_FILES", 2)
    habits = EndingHabits()
    for name in ("a", "b", "c"):
        habits.has_written(Path(name), "x\n", b"x\n")
    habits.has_written(Path("d"), "x\n", b"x\n\n")
    assert [habits.as_sent(Path(name), "y\n") for name in ("a", "c", "d")] == ["y", "y\n", "y"]
