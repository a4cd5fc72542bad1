"""Files through an editor: its unsaved text wins, nothing of it is lost, and whatever it cannot do the disk does."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.client_io import files
from acp_adapter.client_io.calls import EditorGone
from acp_adapter.client_io.files import MAX_BYTES, EditorFileSystem, EditorMemory
from agent_core.cancel import CancelToken
from tests.support.editor_host import Params, RpcError
from tests.support.hosted_editor import HostedEditor, hosted_editor
from tests.support.port_contracts import read
from tools.environments.local_files import LocalFileSystem
from tools.errors import FileChanged, FileMissing, ToolInterrupted
from tools.ports import SearchQuery

READ, WRITE = "fs/read_text_file", "fs/write_text_file"


async def refuse(_: Params) -> Any:
    raise RpcError(-32603, "not now")


class TestReading:
    def test_text_that_is_not_saved_wins_over_the_disk(self, editor: HostedEditor, fs, path: Path):
        editor.files.buffers[str(path)] = "not saved\n"
        assert read(fs, path) == b"not saved\n"
        assert editor.asked(READ) == [{"sessionId": "s", "path": str(path)}]

    def test_it_comes_in_the_encoding_and_with_the_line_endings_of_the_file(self, editor, fs, path):
        cases = {
            b"\xef\xbb\xbfsaved\r\n": b"\xef\xbb\xbfgr\xc3\xb6\xc3\x9fer\r\nx\r\n",
            "größe\n".encode("latin-1"): "größer\nx\n".encode("latin-1"),
            "\ufeffsaved\n".encode("utf-16-le"): "\ufeffgrößer\nx\n".encode("utf-16-le"),
        }
        editor.files.buffers[str(path)] = "größer\nx\n"
        for disk, expected in cases.items():
            path.write_bytes(disk)
            assert read(fs, path) == expected

    def test_a_character_that_the_file_cannot_hold_makes_it_utf8(self, editor, fs, path):
        path.write_bytes("größe\n".encode("latin-1"))
        editor.files.buffers[str(path)] = "10 € groß\n"
        assert read(fs, path) == "10 € groß\n".encode()

    @pytest.mark.parametrize("shown", ["gr\ufffd\ufffde\n", "gr\ufffd\ufffder\n"])
    def test_what_the_editor_could_not_read_is_read_from_the_disk(self, shown, editor, fs, path):
        path.write_bytes("größe\n".encode("latin-1"))
        editor.files.buffers[str(path)] = shown
        assert read(fs, path) == "größe\n".encode("latin-1")

    def test_another_reading_of_the_same_bytes_is_no_change(self, editor, fs, path):
        path.write_bytes(b"a \x96 b\n")
        editor.files.buffers[str(path)] = "a \N{EN DASH} b\n"
        assert read(fs, path) == b"a \x96 b\n"

    def test_bytes_that_are_not_utf_8_are_no_change_of_the_editors_and_stay(self, editor, fs, path):
        path.write_bytes("größe \u00fc".encode() + b" \xff\n")
        editor.files.buffers[str(path)] = "größe ü \ufffd\n"
        assert read(fs, path) == "größe ü".encode() + b" \xff\n"
        assert fs.hindrance(path) == ""
        fs.write(path, "Größe ü".encode() + b" \xff\n", expected="größe ü".encode() + b" \xff\n")
        assert path.read_bytes() == "Größe ü".encode() + b" \xff\n"

    def test_an_empty_buffer_is_an_empty_file(self, editor, fs, path):
        editor.files.buffers[str(path)] = ""
        assert read(fs, path) == b""

    @pytest.mark.parametrize("content", [b"\x7fELF\0\0", b"x" * (MAX_BYTES + 1)], ids=["binary", "large"])
    def test_binary_and_large_files_are_read_from_the_disk(self, content, editor, fs, path):
        path.write_bytes(content)
        editor.files.buffers[str(path)] = "text"
        assert read(fs, path) == content
        assert editor.methods() == []

    def test_a_file_of_twenty_megabytes_is_not_even_looked_through(self, editor, fs, path):
        with path.open("wb") as file:
            file.truncate(20_000_000)
        with fs.open(path) as stream:
            assert stream.fileno() > 0  # the disk's own
        assert editor.methods() == []

    def test_a_file_that_is_not_on_disk_is_missing(self, editor, fs, tmp_path):
        editor.files.buffers[str(tmp_path / "gone.txt")] = "deleted, and still shown\n"
        with pytest.raises(FileMissing):
            fs.open(tmp_path / "gone.txt")

    @pytest.mark.parametrize("answer", [{}, {"content": None}, {"content": 7}, [], None])
    def test_an_answer_without_text_means_the_disk(self, answer, editor, fs, path):
        async def odd(_: Params) -> Any:
            return answer

        editor.answer(READ, odd)
        assert read(fs, path) == b"saved\n"

    def test_an_error_means_the_disk_however_often(self, editor, fs, path):
        editor.answer(READ, refuse)
        assert [read(fs, path) for _ in range(4)] == [b"saved\n"] * 4
        assert len(editor.asked(READ)) == 4

    def test_a_silent_editor_is_asked_twice_and_then_left_alone_for_the_turn(
        self, editor, fs, path, memory, monkeypatch
    ):
        monkeypatch.setattr(files, "READ_SECONDS", 0.05)
        editor.silence(READ)
        assert [read(fs, path) for _ in range(4)] == [b"saved\n"] * 4
        assert len(editor.asked(READ)) == 2
        next_turn = EditorFileSystem(LocalFileSystem(), editor.calls, editor.client, CancelToken(), memory)
        assert read(next_turn, path) == b"saved\n"
        assert len(editor.asked(READ)) == 3

    def test_a_request_without_an_answer_is_withdrawn(self, editor, fs, path, monkeypatch):
        monkeypatch.setattr(files, "READ_SECONDS", 0.05)
        editor.silence(READ)
        read(fs, path)
        asked = next(frame for frame in editor.editor.frames if frame.method == READ)
        withdrawn = editor.on_loop(lambda: editor.editor.wait_for(lambda frame: frame.method == "$/cancel_request"))
        assert withdrawn.params == {"requestId": asked.id}

    def test_the_cancel_ends_the_wait(self, editor, fs, path):
        begun = threading.Event()

        async def wait_for_ever(_: Params) -> Any:
            begun.set()
            await asyncio.Event().wait()

        editor.answer(READ, wait_for_ever)
        failed: list[type[BaseException]] = []

        def work() -> None:
            with pytest.raises(ToolInterrupted) as caught:
                fs.open(path)
            failed.append(caught.type)

        worker = threading.Thread(target=work)
        worker.start()
        assert begun.wait(10)
        fs.interrupt.cancel()
        worker.join(10)
        assert failed == [ToolInterrupted]

    def test_without_a_connection_files_are_the_disk_s(self, fs, path):
        class Gone:
            def call(self, *_: Any) -> dict[str, Any]:
                raise EditorGone("The editor left.")

        alone = EditorFileSystem(LocalFileSystem(), Gone(), fs.client, CancelToken())
        assert read(alone, path) == b"saved\n"
        alone.write(path, b"mine\n", expected=b"saved\n")
        alone.write(path.parent / "new", b"new\n", expected=None)
        assert [path.read_bytes(), (path.parent / "new").read_bytes()] == [b"mine\n", b"new\n"]

    def test_the_editor_hears_the_names_that_it_gave(self, editor, tmp_path):
        real, link = tmp_path / "real", tmp_path / "link"
        (real / "below").mkdir(parents=True)
        link.symlink_to("real")
        (real / "below" / "f").write_bytes(b"saved\n")
        editor.files.buffers[str(link / "below" / "f")] = "not saved\n"
        fs = EditorFileSystem(LocalFileSystem(), editor.calls, editor.client, CancelToken(), roots=(link,))
        assert read(fs, real / "below" / "f") == b"not saved\n"


class TestOutdatedText:
    """The disk changed by other hands than the editor's, which has not noticed yet."""

    def test_the_disk_wins_over_text_that_was_the_disk_s(self, editor, fs, path):
        editor.files.buffers[str(path)] = "saved\n"
        assert read(fs, path) == b"saved\n"
        path.write_bytes(b"by a command\n")
        assert read(fs, path) == b"by a command\n"
        assert read(fs, path) == b"by a command\n"

    def test_such_a_file_is_written_on_disk(self, editor, fs, path):
        editor.files.buffers[str(path)] = "saved\n"
        read(fs, path)
        path.write_bytes(b"by a command\n")
        fs.write(path, b"mine\n", expected=b"by a command\n")
        assert path.read_bytes() == b"mine\n"
        assert editor.asked(WRITE) == []
        assert read(fs, path) == b"mine\n"

    def test_what_the_person_takes_back_is_text_that_is_not_saved(self, editor, fs, path):
        editor.files.buffers[str(path)] = "saved\n"
        fs.write(path, b"mine\n", expected=read(fs, path))
        editor.files.buffers[str(path)] = "saved\n"
        assert read(fs, path) == b"saved\n"

    def test_where_both_have_changed_the_text_that_is_not_saved_wins(self, editor, fs, path):
        editor.files.buffers[str(path)] = "saved\n"
        read(fs, path)
        path.write_bytes(b"by a command\n")
        editor.files.buffers[str(path)] = "by the person\n"
        assert read(fs, path) == b"by the person\n"


class TestWriting:
    def test_it_goes_through_the_editor(self, editor, fs, path):
        editor.files.buffers[str(path)] = "saved\n"
        assert fs.write(path, b"mine\n", expected=b"saved\n") == b"mine\n"
        assert editor.asked(WRITE) == [{"sessionId": "s", "path": str(path), "content": "mine\n"}]
        assert (path.read_bytes(), editor.files.buffers[str(path)]) == (b"mine\n", "mine\n")

    def test_what_the_model_saw_of_unsaved_text_can_be_changed(self, editor, fs, path):
        editor.files.buffers[str(path)] = "not saved\n"
        fs.write(path, b"not saved, mine\n", expected=read(fs, path))
        assert path.read_bytes() == b"not saved, mine\n"

    def test_text_that_came_meanwhile_is_not_overwritten(self, editor, fs, path):
        seen = read(fs, path)
        editor.files.buffers[str(path)] = "typed meanwhile\n"
        with pytest.raises(FileChanged, match="changed since it was read"):
            fs.write(path, b"mine\n", expected=seen)
        assert path.read_bytes() == b"saved\n"
        assert editor.files.buffers[str(path)] == "typed meanwhile\n"
        assert editor.asked(WRITE) == []

    @pytest.mark.parametrize("apart", [True, False], ids=["kept apart", "shown"])
    def test_mark_and_line_endings_survive(self, apart, editor, fs, path):
        editor.files.keeps_endings_apart = apart
        path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
        after = b"\xef\xbb\xbfone\r\nthree\r\n"
        assert fs.write(path, after, expected=read(fs, path)) == after
        sent = "one\nthree\n" if apart else after.decode()
        assert [params["content"] for params in editor.asked(WRITE)] == [sent]
        assert path.read_bytes() == after

    def test_a_mixture_of_line_endings_that_the_editor_hides_is_written_on_disk(self, editor, fs, path):
        editor.files.keeps_endings_apart = True
        path.write_bytes(b"one\r\ntwo\n")
        fs.write(path, b"one\r\nthree\n", expected=b"one\r\ntwo\n")
        assert path.read_bytes() == b"one\r\nthree\n"
        assert editor.asked(WRITE) == []

    @pytest.mark.parametrize(
        "content", [b"a\0b", "größe\n".encode("latin-1"), b"x" * (MAX_BYTES + 1)], ids=["binary", "latin-1", "large"]
    )
    def test_what_cannot_go_through_the_editor_is_written_on_disk(self, content, editor, fs, path):
        assert fs.write(path, content, expected=b"saved\n") == content
        assert path.read_bytes() == content
        assert editor.asked(WRITE) == []

    def test_nor_does_that_overwrite_unsaved_text(self, editor, fs, path):
        editor.files.buffers[str(path)] = "not saved\n"
        with pytest.raises(FileChanged, match=r"unsaved changes.*Ask the user to save"):
            fs.write(path, b"a\0b", expected=b"not saved\n")
        assert path.read_bytes() == b"saved\n"

    def test_what_the_editor_makes_of_it_is_told(self, editor, fs, path):
        editor.files.on_save = lambda text: text.rstrip() + "\n"
        assert fs.write(path, b"mine  \n\n", expected=b"saved\n") == b"mine\n"
        assert path.read_bytes() == b"mine\n"
        assert read(fs, path) == b"mine\n"

    def test_what_the_editor_takes_and_does_not_save_is_saved(self, editor, fs, path):
        editor.files.saves = False
        assert fs.write(path, b"mine\n", expected=b"saved\n") == b"mine\n"
        assert path.read_bytes() == b"mine\n"

    def test_permissions_that_the_editor_loses_are_put_back(self, editor, fs, path):
        editor.files.renames = True
        path.chmod(0o755)
        fs.write(path, b"mine\n", expected=b"saved\n")
        assert path.stat().st_mode & 0o777 == 0o755

    def test_an_editor_that_refuses_leaves_it_to_the_disk(self, editor, fs, path):
        editor.answer(WRITE, refuse)
        assert fs.write(path, b"mine\n", expected=b"saved\n") == b"mine\n"
        assert path.read_bytes() == b"mine\n"

    def test_an_editor_that_refuses_keeps_its_unsaved_text(self, editor, fs, path):
        editor.answer(WRITE, refuse)
        editor.files.buffers[str(path)] = "not saved\n"
        with pytest.raises(FileChanged, match="unsaved changes"):
            fs.write(path, b"mine\n", expected=b"not saved\n")
        assert path.read_bytes() == b"saved\n"

    def test_an_editor_that_fails_after_it_has_written_has_written(self, editor, fs, path):
        async def fail_late(params: Params) -> Any:
            path.write_text(params["content"])
            raise RpcError(-32603, "the formatter failed")

        editor.answer(WRITE, fail_late)
        editor.files.buffers[str(path)] = "not saved\n"
        assert fs.write(path, b"mine\n", expected=b"not saved\n") == b"mine\n"

    def test_an_editor_that_reads_and_does_not_write(self, tmp_path, path):
        with hosted_editor({"fs": {"readTextFile": True}}) as editor:
            fs = EditorFileSystem(LocalFileSystem(), editor.calls, editor.client, CancelToken())
            fs.write(path, b"mine\n", expected=b"saved\n")
            assert path.read_bytes() == b"mine\n"
            editor.files.buffers[str(path)] = "not saved\n"
            with pytest.raises(FileChanged, match="unsaved changes"):
                fs.write(path, b"again\n", expected=read(fs, path))
            assert set(editor.methods()) == {READ}

    def test_an_editor_that_writes_and_does_not_read_is_not_made_to_overwrite(self, path):
        with hosted_editor({"fs": {"writeTextFile": True}}) as editor:
            fs = EditorFileSystem(LocalFileSystem(), editor.calls, editor.client, CancelToken())
            fs.write(path, b"mine\n", expected=b"saved\n")
            assert path.read_bytes() == b"mine\n"
            assert editor.methods() == []


class TestNewFiles:
    def test_they_go_through_the_editor_into_directories_that_are_made_for_it(self, editor, fs, tmp_path):
        editor.files.makes_directories = False
        fs.write(tmp_path / "a" / "b" / "f", b"new\n", expected=None)
        assert (tmp_path / "a" / "b" / "f").read_bytes() == b"new\n"
        assert len(editor.asked(WRITE)) == 1

    def test_text_that_was_never_saved_stays_the_editor_s(self, editor, fs, tmp_path):
        editor.files.buffers[str(tmp_path / "f")] = "never saved\n"
        fs.write(tmp_path / "f", b"new\n", expected=None)
        assert (tmp_path / "f").read_bytes() == b"new\n"
        assert editor.files.buffers[str(tmp_path / "f")] == "never saved\n"

    def test_an_editor_that_takes_one_and_does_not_save_it(self, editor, fs, tmp_path):
        editor.files.saves = False
        fs.write(tmp_path / "f", b"new\n", expected=None)
        assert (tmp_path / "f").read_bytes() == b"new\n"

    def test_an_editor_that_refuses_one(self, editor, fs, tmp_path):
        editor.answer(WRITE, refuse)
        fs.write(tmp_path / "a" / "f", b"new\n", expected=None)
        assert (tmp_path / "a" / "f").read_bytes() == b"new\n"


class TestTheRest:
    def test_a_file_with_unsaved_text_is_not_deleted_or_moved(self, editor, fs, path):
        editor.files.buffers[str(path)] = "not saved\n"
        with pytest.raises(FileChanged, match="nothing was deleted"):
            fs.remove(path, expected=b"not saved\n")
        with pytest.raises(FileChanged, match="nothing was moved"):
            fs.rename(path, path.with_name("g"))
        assert fs.list(path.parent) == ["f.txt"]

    def test_search_and_stat_are_the_disk_s(self, editor, fs, path):
        editor.files.buffers[str(path)] = "not saved, and longer\n"
        assert fs.stat(path).size == len(b"saved\n")
        assert fs.search(SearchQuery("longer", path.parent)).total == 0
        assert fs.search(SearchQuery("saved", path.parent)).total == 1
        assert editor.methods() == []


def test_many_threads_read_at_once(editor: HostedEditor, fs: EditorFileSystem, tmp_path: Path):
    paths = [tmp_path / str(number) for number in range(20)]
    for path in paths:
        path.write_bytes(b"saved\n")
        editor.files.buffers[str(path)] = path.name
    found: dict[Path, bytes] = {}
    workers = [threading.Thread(target=lambda path=path: found.update({path: read(fs, path)})) for path in paths]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(10)
    assert found == {path: path.name.encode() for path in paths}


def test_empty_lines_that_are_not_saved_are_kept_where_the_disk_has_changed_too(editor, fs, tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n")
    editor.files.buffers[str(path)] = "one\n"
    assert read(fs, path) == b"one\n"
    editor.files.buffers[str(path)] = "one\n\n\n"
    path.write_bytes(b"two\n")
    assert read(fs, path) == b"one\n\n\n"


def test_the_memory_of_files_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("acp_adapter.client_io.files.MOST_FILES", 2)
    memory = EditorMemory()
    for name in ("a", "b", "c"):
        memory.in_common(Path(name), "text")
    assert [memory.is_outdated(Path(name), "text") for name in ("a", "b", "c")] == [False, True, True]
