"""Whole turns of a session that works on another machine, as an editor sees them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.editor import PLAIN, RpcError
from tests.support.editor_policies import reject
from tests.support.fake_apptainer import FakeApptainer
from tests.support.fake_engine import FakeEngine
from tests.support.in_memory import EditorFactory
from tests.support.local_machine import LocalMachine
from tests.support.ssh_server import SshServer, needs_other_disk, ssh_server
from tools.environments.backends import Elsewhere, Wanted, forget_backend, register_backend
from tools.environments.remote.session import side_of, with_shared_places


@pytest.fixture
def there(tmp_path: Path) -> Path:
    (tmp_path / "there").mkdir()
    return tmp_path / "there"


@pytest.fixture
def server(tmp_path: Path, there: Path, workspace: Path) -> Iterator[SshServer]:
    with ssh_server(tmp_path / "sshd", (there, workspace)) as server:
        yield server


def works_on(home: Path, **terminal: object) -> None:
    file = home / "config.yaml"
    written = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**written, "terminal": terminal}))


def works_over_ssh(home: Path, server: SshServer) -> None:
    target = server.target()
    works_on(
        home,
        backend="ssh",
        ssh_host=target.host,
        ssh_user=target.user,
        ssh_port=target.port,
        ssh_key=str(target.key),
        ssh_options=list(target.options),
    )


@needs_other_disk
async def test_a_turn_changes_files_there_and_undo_brings_them_back(
    start: EditorFactory, home: Path, workspace: Path, there: Path, server: SshServer
) -> None:
    works_over_ssh(home, server)
    (there / "sums.py").write_text("a - b\n")
    (there / "sums.py").chmod(0o755)
    editor = await start()
    await editor.initialize(PLAIN)
    session = await editor.new_session(workspace)
    turn = "read sums.py\nedit sums.py a - b => a + b\nwrite new.txt hello\nrun cat sums.py > seen.txt"
    await editor.prompt(session, turn)
    assert (there / "sums.py").read_text() == "a + b\n"
    assert (there / "new.txt").read_text() == "hello"
    assert (there / "seen.txt").read_text() == "a + b\n"
    assert not (workspace / "new.txt").exists()
    await editor.prompt(session, "/undo")
    assert (there / "sums.py").read_text() == "a - b\n"
    assert (there / "sums.py").stat().st_mode & 0o777 == 0o755
    assert not (there / "new.txt").exists()
    await editor.prompt(session, "/redo")
    assert (there / "sums.py").read_text() == "a + b\n"
    assert (there / "new.txt").read_text() == "hello"


@needs_other_disk
async def test_an_undo_leaves_what_somebody_else_has_changed_there(
    start: EditorFactory, home: Path, workspace: Path, there: Path, server: SshServer
) -> None:
    works_over_ssh(home, server)
    (there / "f.txt").write_text("old\n")
    editor = await start()
    await editor.initialize(PLAIN)
    session = await editor.new_session(workspace)
    await editor.prompt(session, "read f.txt\nwrite f.txt mine")
    (there / "f.txt").write_text("theirs\n")
    editor.on_permission = reject
    await editor.prompt(session, "/undo")
    assert (there / "f.txt").read_text() == "theirs\n"


@needs_other_disk
async def test_files_of_another_machine_are_never_taken_for_this_one_s(
    start: EditorFactory, home: Path, workspace: Path, there: Path, server: SshServer
) -> None:
    works_over_ssh(home, server)
    editor = await start()
    await editor.initialize(PLAIN)
    session = await editor.new_session(workspace)
    await editor.prompt(session, "write f.txt mine")
    await editor.request("session/close", {"sessionId": session})
    works_on(home, backend="local")
    await editor.request("session/load", {"sessionId": session, "cwd": str(workspace), "mcpServers": []})
    await editor.prompt(session, "/undo")
    assert (there / "f.txt").read_text() == "mine"
    assert not (workspace / "f.txt").exists()
    assert "where the session does not work now" in json.dumps(editor.updates(session))


@needs_other_disk
async def test_what_the_project_there_denies_is_denied(
    start: EditorFactory, home: Path, workspace: Path, there: Path, server: SshServer
) -> None:
    works_over_ssh(home, server)
    (there / ".hermes").mkdir()
    (there / ".hermes" / "config.yaml").write_text('approvals:\n  deny: ["run: make*", "write: locked.txt"]\n')
    editor = await start()
    await editor.initialize(PLAIN)
    session = await editor.new_session(workspace)
    await editor.prompt(session, "run make all\nwrite locked.txt x\nwrite open.txt x")
    cards = list(editor.cards(session).values())
    assert [card["status"] for card in cards] == ["failed", "failed", "completed"]
    assert "is denied by the user's rule" in json.dumps(cards[0])
    assert sorted(path.name for path in there.iterdir()) == [".hermes", "open.txt"]


async def test_a_session_in_a_container_edits_here_and_runs_there(
    start: EditorFactory, home: Path, workspace: Path, tmp_path: Path
) -> None:
    engine = FakeEngine(tmp_path / "engine")
    works_on(home, backend="docker", docker_program=str(engine.program))
    editor = await start()
    await editor.initialize(PLAIN)
    session = await editor.new_session(workspace)
    await editor.prompt(session, "write f.txt mine\nrun cat f.txt > g.txt")
    assert (workspace / "g.txt").read_text() == "mine"
    assert list(engine.boxes().values()) == [True]
    await editor.prompt(session, "/undo")
    assert not (workspace / "f.txt").exists()
    assert not (workspace / "g.txt").exists()
    await editor.request("session/close", {"sessionId": session})
    assert engine.boxes() == {}


async def test_the_first_turn_tells_that_a_backend_is_experimental(
    start: EditorFactory, home: Path, workspace: Path, tmp_path: Path
) -> None:
    program = FakeApptainer(tmp_path / "apptainer")
    works_on(home, backend="apptainer", singularity_program=str(program.program))
    editor = await start()
    await editor.initialize(PLAIN)
    session = await editor.new_session(workspace)
    await editor.prompt(session, "run echo here > seen.txt")
    assert (workspace / "seen.txt").read_text() == "here\n"
    assert editor.text(session).count("The backend apptainer is experimental") == 1
    await editor.prompt(session, "run echo again > seen.txt")
    assert editor.text(session).count("The backend apptainer is experimental") == 1
    forget_backend("apptainer")


class Nearby(LocalMachine):
    """Counts those that are not closed."""

    at_hand = 0

    def __init__(self) -> None:
        super().__init__()
        Nearby.at_hand += 1

    def close(self) -> None:
        Nearby.at_hand -= 1


@pytest.fixture
def nearby(home: Path) -> Iterator[None]:
    def factory(wanted: Wanted) -> Elsewhere:
        return with_shared_places("nearby", side_of(Nearby(), wanted), wanted, "it is near")

    Nearby.at_hand = 0
    register_backend("nearby", factory)
    works_on(home, backend="nearby")
    yield
    forget_backend("nearby")
    assert Nearby.at_hand == 0


@pytest.mark.usefixtures("nearby")
async def test_a_session_that_cannot_be_opened_leaves_nothing_on_its_machine(
    start: EditorFactory, home: Path, workspace: Path
) -> None:
    editor = await start()
    await editor.initialize(PLAIN)
    session = await editor.new_session(workspace)
    await editor.prompt(session, "say here")
    assert Nearby.at_hand == 1
    fork = {"sessionId": session, "cwd": str(workspace), "mcpServers": []}
    with pytest.raises(RpcError):
        await editor.request("session/fork", {**fork, "_meta": {"hermes": {"messageId": "none"}}})
    assert Nearby.at_hand == 1

    settings = home / "config.yaml"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "approvals": {"deny": ["paint: a"]}}))
    with pytest.raises(RpcError, match="paint"):
        await editor.request("session/fork", fork)
    assert Nearby.at_hand == 1
    await editor.request("session/close", {"sessionId": session})
    assert Nearby.at_hand == 0
