"""One contract for each port, held by all that implement it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from acp_adapter.client_io.files import EditorFileSystem
from acp_adapter.client_io.terminals import EditorTerminals
from agent_core.cancel import CancelToken
from tests.acp_adapter.client_io.conftest import LIMITS
from tests.support.editor import MINIMAL
from tests.support.hosted_editor import HostedEditor, hosted_editor
from tests.support.port_contracts import EnvironmentContract, FileSystemContract
from tools.environments.local_commands import LocalEnvironment
from tools.environments.local_files import LocalFileSystem
from tools.ports import Environment, FileSystem


class TestDisk(FileSystemContract):
    @pytest.fixture
    def fs(self) -> FileSystem:
        return LocalFileSystem()


class TestEditorThatShowsFilesAsTheyAre(FileSystemContract):
    """The fixture `fs` is that of conftest."""


class TestEditorThatKeepsLineEndingsApart(FileSystemContract):
    @pytest.fixture
    def fs(self, editor: HostedEditor) -> FileSystem:
        editor.files.keeps_endings_apart = True
        return EditorFileSystem(LocalFileSystem(), editor.calls, editor.client, CancelToken())


class TestEditorThatOffersNothing(FileSystemContract):
    @pytest.fixture
    def fs(self) -> Iterator[FileSystem]:
        with hosted_editor(MINIMAL) as editor:
            yield EditorFileSystem(LocalFileSystem(), editor.calls, editor.client, CancelToken())
            assert editor.methods() == []


class TestEditorThatOffersOnlyReading(FileSystemContract):
    @pytest.fixture
    def fs(self) -> Iterator[FileSystem]:
        with hosted_editor({"fs": {"readTextFile": True}}) as editor:
            yield EditorFileSystem(LocalFileSystem(), editor.calls, editor.client, CancelToken())


class TestShell(EnvironmentContract):
    @pytest.fixture
    def environment(self, local: LocalEnvironment) -> Environment:
        return local


class TestEditorTerminals(EnvironmentContract):
    @pytest.fixture
    def environment(self, local: LocalEnvironment, editor: HostedEditor) -> Iterator[Environment]:
        yield EditorTerminals(local, editor.calls, lambda: True, lambda *_: None, LIMITS)
        assert editor.terminals == {}


class TestEditorTerminalsThatNobodyChose(EnvironmentContract):
    @pytest.fixture
    def environment(self, local: LocalEnvironment, editor: HostedEditor) -> Iterator[Environment]:
        yield EditorTerminals(local, editor.calls, lambda: False, lambda *_: None, LIMITS)
        assert editor.methods() == []
