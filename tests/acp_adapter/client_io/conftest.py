"""An editor for each test, and the ports over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_adapter.client_io.files import EditorFileSystem, EditorMemory
from agent_core.cancel import CancelToken
from tests.support.hosted_editor import HostedEditor, hosted_editor
from tools.environments.guardian import Guardian
from tools.environments.local_commands import LocalEnvironment
from tools.environments.local_files import LocalFileSystem
from tools.settings import TerminalSettings

LIMITS = TerminalSettings(max_output_chars=1000, head_share=0.4)


@pytest.fixture
def editor() -> Iterator[HostedEditor]:
    with hosted_editor() as editor:
        yield editor


@pytest.fixture
def memory() -> EditorMemory:
    return EditorMemory()


@pytest.fixture
def fs(editor: HostedEditor, memory: EditorMemory) -> EditorFileSystem:
    return EditorFileSystem(LocalFileSystem(), editor.calls, editor.client, CancelToken(), memory)


@pytest.fixture
def local() -> Iterator[LocalEnvironment]:
    guardian = Guardian()
    environment = LocalEnvironment(guardian, LIMITS)
    yield environment
    environment.close()
    guardian.kill_all()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "f.txt"
    path.write_bytes(b"saved\n")
    return path
