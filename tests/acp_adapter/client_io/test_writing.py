"""A write through an editor that refuses it, cannot do it, or says nothing: one writer, and what happened is told."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from acp_adapter.client_io import files
from acp_adapter.client_io import files as writing
from acp_adapter.client_io.files import EditorFileSystem, EditorMemory
from agent_core.cancel import CancelToken
from tests.support.editor_host import Params, RpcError
from tests.support.hosted_editor import HostedEditor
from tests.support.port_contracts import read
from tools.environments.local_files import LocalFileSystem
from tools.errors import FileAccessError, ToolInterrupted

READ, WRITE = "fs/read_text_file", "fs/write_text_file"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "READ_SECONDS", 0.3)
    monkeypatch.setattr(writing, "WRITE_SECONDS", 0.3)


def refuse(editor: HostedEditor, method: str, code: int, text: str) -> None:
    async def refuse(_: Params) -> Any:
        raise RpcError(code, text)

    editor.answer(method, refuse)


def later_prompt(editor: HostedEditor, memory: EditorMemory) -> EditorFileSystem:
    return EditorFileSystem(LocalFileSystem(), editor.calls, editor.client, CancelToken(), memory)


class TestRefusals:
    def test_what_the_editor_refuses_is_not_written_past_it(self, editor, fs, path):
        refuse(editor, WRITE, -32603, "The buffer is read-only.")
        with pytest.raises(FileAccessError, match=r"refuses to write .*«The buffer is read-only.» .*ask the user"):
            fs.write(path, b"mine\n", expected=b"saved\n")
        assert path.read_bytes() == b"saved\n"
        assert fs.remarks() == ()

    def test_nor_is_a_new_file(self, editor, fs, tmp_path):
        refuse(editor, WRITE, -32000, "no")
        with pytest.raises(FileAccessError, match="refuses"):
            fs.write(tmp_path / "new", b"mine\n", expected=None)
        assert not (tmp_path / "new").exists()

    def test_what_the_editor_cannot_write_is_written_on_disk_and_told(self, editor, fs, path, tmp_path):
        refuse(editor, WRITE, -32601, "Method not found")
        fs.write(path, b"mine\n", expected=b"saved\n")
        fs.write(tmp_path / "new", b"mine\n", expected=None)
        assert (path.read_bytes(), (tmp_path / "new").read_bytes()) == (b"mine\n", b"mine\n")
        because = "the editor could not write it: «Method not found» (-32601)"
        why = f"was written on disk, not through the editor: {because}."
        assert fs.remarks() == (f"{path} {why}", f"{tmp_path}/new {why}")

    def test_what_it_cannot_read_is_told_when_it_is_written(self, editor, fs, path):
        refuse(editor, READ, -32603, "Too large for this editor.")
        fs.write(path, b"mine\n", expected=read(fs, path))
        (told,) = fs.remarks()
        assert "could not read it: «Too large for this editor.»" in told

    def test_text_that_it_has_for_a_new_file_is_told(self, editor, fs, tmp_path):
        editor.files.buffers[str(tmp_path / "new")] = "never saved\n"
        fs.write(tmp_path / "new", b"mine\n", expected=None)
        (told,) = fs.remarks()
        assert "has other text for it, which is not saved" in told

    def test_a_refusal_after_it_has_written_is_none(self, editor, fs, path):
        async def write_and_fail(params: Params) -> Any:
            path.write_text(params["content"])
            raise RpcError(-32603, "the user rejected the formatting")

        editor.answer(WRITE, write_and_fail)
        assert fs.write(path, b"mine\n", expected=b"saved\n") == b"mine\n"

    def test_writing_as_usual_says_nothing(self, editor, fs, path, tmp_path):
        fs.write(path, b"mine\n", expected=b"saved\n")
        fs.write(path, b"a\0b", expected=b"mine\n")
        fs.write(tmp_path / "new", b"mine\n", expected=None)
        assert fs.remarks() == ()


@pytest.mark.usefixtures("impatient")
class TestSilence:
    def test_nothing_is_written_beside_an_editor_that_may_still_write(self, editor, fs, path):
        editor.silence(WRITE)
        with pytest.raises(FileAccessError, match=r"did not answer .*On disk nothing has changed yet.*later"):
            fs.write(path, b"mine\n", expected=b"saved\n")
        assert path.read_bytes() == b"saved\n"

    def test_nor_is_a_file_made(self, editor, fs, tmp_path):
        editor.silence(WRITE)
        with pytest.raises(FileAccessError, match="did not answer"):
            fs.write(tmp_path / "new", b"mine\n", expected=None)
        assert not (tmp_path / "new").exists()

    def test_what_has_arrived_without_an_answer_is_found_and_told(self, editor, fs, path):
        async def write_only(params: Params) -> Any:
            path.write_text(params["content"])
            await asyncio.get_running_loop().create_future()

        editor.answer(WRITE, write_only)
        assert fs.write(path, b"mine\n", expected=b"saved\n") == b"mine\n"
        assert fs.remarks() == (
            f"The editor did not answer whether it has written {path}, but the new content is there.",
        )
        editor.silence(READ)
        fs.write(path, b"more\n", expected=b"mine\n")
        assert path.read_bytes() == b"more\n"

    def test_something_else_on_the_disk_is_told(self, editor, fs, path):
        async def write_other(_: Params) -> Any:
            path.write_text("other\n")
            await asyncio.get_running_loop().create_future()

        editor.answer(WRITE, write_other)
        with pytest.raises(FileAccessError, match="it has changed, to something else"):
            fs.write(path, b"mine\n", expected=b"saved\n")

    def test_in_a_later_prompt_a_silent_editor_is_still_the_only_writer(self, editor, fs, path, memory):
        editor.silence(WRITE)
        with pytest.raises(FileAccessError):
            fs.write(path, b"mine\n", expected=b"saved\n")
        editor.silence(READ)
        later = later_prompt(editor, memory)
        for _ in range(3):  # also once it is not asked any more
            with pytest.raises(FileAccessError, match="an earlier change of it, and may still"):
                later.write(path, b"again\n", expected=read(later, path))
        assert path.read_bytes() == b"saved\n"
        with pytest.raises(FileAccessError, match="was not deleted"):
            later.remove(path, expected=b"saved\n")
        with pytest.raises(FileAccessError, match="was not moved"):
            later.rename(path, path.with_name("g"))

    def test_once_the_change_has_arrived_the_file_may_be_written(self, editor, fs, path, memory):
        editor.silence(WRITE)
        with pytest.raises(FileAccessError):
            fs.write(path, b"mine\n", expected=b"saved\n")
        path.write_bytes(b"mine\n")  # the editor, at last
        editor.silence(READ)
        later = later_prompt(editor, memory)
        later.write(path, b"again\n", expected=b"mine\n")
        assert path.read_bytes() == b"again\n"

    def test_an_editor_that_answers_again_writes_again(self, editor, fs, path, memory):
        usual = editor.editor.handlers[WRITE]
        editor.silence(WRITE)
        with pytest.raises(FileAccessError):
            fs.write(path, b"mine\n", expected=b"saved\n")
        editor.answer(WRITE, usual)
        later = later_prompt(editor, memory)
        later.write(path, b"again\n", expected=b"saved\n")
        assert path.read_bytes() == b"again\n"
        later.remove(path, expected=b"again\n")

    def test_a_cancel_leaves_the_write_to_the_editor_as_well(self, editor, fs, path, memory, monkeypatch):
        begun = threading.Event()

        async def hang(_: Params) -> Any:
            begun.set()
            await asyncio.get_running_loop().create_future()

        editor.answer(WRITE, hang)
        monkeypatch.setattr(writing, "WRITE_SECONDS", 30.0)
        ended: list[str] = []

        def work() -> None:
            with pytest.raises(ToolInterrupted):
                fs.write(path, b"mine\n", expected=b"saved\n")
            ended.append("interrupted")

        worker = threading.Thread(target=work)
        worker.start()
        assert begun.wait(10)
        fs.interrupt.cancel()
        worker.join(10)
        assert ended == ["interrupted"]
        editor.silence(READ)
        later = later_prompt(editor, memory)
        with pytest.raises(FileAccessError, match="may still do so"):
            later.write(path, b"again\n", expected=b"saved\n")

    def test_a_silence_in_reading_is_told_when_the_disk_is_written(self, editor, fs, path):
        editor.silence(READ)
        for number in range(3):  # asked, asked, and not asked any more
            fs.write(path, b"%d\n" % number, expected=read(LocalFileSystem(), path))
        assert len(editor.asked(READ)) == 2
        assert len(fs.remarks()) == 3
        assert all("does not answer, so what may not be saved there was not seen" in told for told in fs.remarks())
