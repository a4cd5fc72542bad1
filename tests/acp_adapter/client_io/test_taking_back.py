"""What changes through the editor is kept and can be taken back, and asks like any other change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_adapter.client_io.files import EditorFileSystem
from acp_adapter.client_io.terminals import EditorTerminals
from agent_core.cancel import CancelToken
from tests.acp_adapter.client_io.conftest import LIMITS
from tests.support.file_bench import FileBench
from tests.support.hosted_editor import HostedEditor
from tests.support.tool_context import ScriptedApprover
from tools.approval.gate import Approvals, Gate
from tools.approval.policy import Rules
from tools.environments.gated_commands import GatedEnvironment
from tools.environments.gated_ports import GatedFileSystem
from tools.environments.local_commands import LocalEnvironment
from tools.errors import Denied
from tools.ports import CommandSpec


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[FileBench]:
    bench = FileBench(tmp_path)
    bench.begin()
    yield bench
    bench.database.close()


@pytest.fixture
def approver() -> ScriptedApprover:
    return ScriptedApprover()


@pytest.fixture
def gate(bench: FileBench, approver: ScriptedApprover) -> Gate:
    approvals = Approvals(Rules(roots=(bench.work.resolve(),)), "accept_edits", approver)
    return Gate(approvals, "call-1", CancelToken(), on_allowed=lambda _: None, history=bench.history)


@pytest.fixture
def gated(fs: EditorFileSystem, gate: Gate) -> GatedFileSystem:
    return GatedFileSystem(fs, gate)


def test_a_write_through_the_editor_is_taken_back(editor: HostedEditor, gated, bench):
    path = bench.path("f")
    path.write_bytes(b"before\n")
    path.chmod(0o750)
    editor.files.renames = True
    gated.write(path, b"after\n", expected=b"before\n")
    gated.write(bench.path("new/g"), b"new\n", expected=None)
    assert len(editor.asked("fs/write_text_file")) == 2
    bench.undo()
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"before\n", 0o750)
    assert not bench.path("new").exists()
    bench.redo()
    assert (path.read_bytes(), bench.path("new/g").read_bytes()) == (b"after\n", b"new\n")


def test_what_was_taken_back_is_the_unsaved_text_that_was_changed(editor, gated, bench):
    path = bench.path("f")
    path.write_bytes(b"saved\n")
    editor.files.buffers[str(path)] = "not saved\n"
    with gated.open(path) as stream:
        before = stream.read()
    gated.write(path, b"changed\n", expected=before)
    bench.undo()
    assert path.read_bytes() == b"not saved\n"


def test_what_the_editor_has_made_of_a_write_is_taken_back_too(editor, gated, bench):
    path = bench.path("f")
    path.write_bytes(b"before\n")
    editor.files.on_save = str.upper
    assert gated.write(path, b"after\n", expected=b"before\n") == b"AFTER\n"
    bench.undo()
    assert path.read_bytes() == b"before\n"
    bench.redo()
    assert path.read_bytes() == b"AFTER\n"


def test_a_file_that_may_not_be_read_is_not_asked_for(editor, gated, bench, approver, tmp_path):
    (tmp_path / "secret").write_bytes(b"secret\n")
    approver.choice = "reject_once"
    with pytest.raises(Denied):
        gated.open(tmp_path / "secret")
    with pytest.raises(Denied):
        gated.write(tmp_path / "secret", b"mine\n", expected=b"secret\n")
    assert editor.methods() == []


def test_what_a_command_in_the_editor_s_terminal_has_changed_is_taken_back(editor, gate, bench, local):
    bench.path("f").write_bytes(b"before\n")
    terminals = EditorTerminals(local, editor.calls, lambda: True, lambda *_: None, LIMITS)
    gated = GatedEnvironment(terminals, gate)
    spec = CommandSpec("echo after > f; mkdir d; mv f d/g", bench.work, 10.0)
    gated.run(spec, lambda _: None, CancelToken())
    assert bench.path("d/g").read_bytes() == b"after\n"
    bench.undo()
    assert bench.path("f").read_bytes() == b"before\n"
    assert not bench.path("d").exists()


def test_a_command_that_was_refused_makes_no_terminal(editor, gate, bench, local: LocalEnvironment, approver):
    approver.choice = "reject_once"
    terminals = EditorTerminals(local, editor.calls, lambda: True, lambda *_: None, LIMITS)
    with pytest.raises(Denied):
        GatedEnvironment(terminals, gate).run(
            CommandSpec("rm -rf f", bench.work, 10.0), lambda _: None, CancelToken()
        )
    assert editor.methods() == []
