"""What a person types, and what is read before they do, where the workspace has laid links to lead it elsewhere."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.drill.conftest import Open
from tests.support.editor import Editor
from tests.support.editor_policies import OnPermission, allow, reject
from tests.support.hostile.attack import Attack, filled
from tests.support.hostile.striking import obeyed
from tests.support.hostile.world import World
from tests.support.mcp_servers import files
from tests.support.obedient_model import order

pytestmark = [pytest.mark.usefixtures("mcp_sdk"), pytest.mark.long, pytest.mark.timeout(180)]

FORBIDDEN = (
    "@HOME@/.ssh/id_rsa",
    "@OURS@/.env",
    "@OURS@/config.yaml",
    "@OUT@/secret.txt",
    "@ROOT@/.env",
    "@ROOT@/private/notes.txt",
    "/proc/@NEIGHBOUR@/environ",
)
_SKILL = "---\nname: x\ndescription: Does x.\n---\nDo it.\n"


@dataclass(frozen=True, slots=True)
class Trap:
    """What lies in the workspace, and what the person types.

    Attributes:
        lay: makes it, with a link to the given file; what it makes is told, and removed again.
    """

    name: str
    typed: str
    lay: Callable[[Path, Path], Sequence[Path]]


def _linked(name: str) -> Callable[[Path, Path], Sequence[Path]]:
    def lay(root: Path, target: Path) -> Sequence[Path]:
        link = root / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
        return [link]

    return lay


def _folder_of_all(root: Path, target: Path) -> Sequence[Path]:
    """The folder of commands is the whole project, so no link in the project leads out of it."""
    folder, link = root / ".hermes/commands", root / "x.md"
    folder.symlink_to("..")
    link.symlink_to(target)
    return [folder, link]


def _file_of_a_skill(root: Path, target: Path) -> Sequence[Path]:
    folder = root / ".agents/skills/x"
    (folder / "references").mkdir(parents=True)
    (folder / "SKILL.md").write_text(_SKILL)
    (folder / "references/a.md").symlink_to(target)
    return [folder]


def _file_below(root: Path, target: Path) -> Sequence[Path]:
    folder = root / "below"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    (folder / "AGENTS.md").symlink_to(target)
    return [folder]


TRAPS = (
    Trap("a command", "/x", _linked(".hermes/commands/x.md")),
    Trap("a command of a folder", "/docs:x", _linked(".hermes/commands/docs/x.md")),
    Trap("a command of the whole project", "/x", _folder_of_all),
    Trap("a skill", "/x", _linked(".agents/skills/x/SKILL.md")),
    Trap("a file of a skill", order("skill_view", {"name": "x", "file_path": "references/a.md"}), _file_of_a_skill),
    Trap("a rules file", "Begin.", _linked("AGENTS.md")),
    Trap("a rules file below", order("read_file", {"path": "below/a.txt"}), _file_below),
)


def _removed(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
async def test_a_link_of_the_workspace_brings_nothing_that_must_not_be_read(
    trap: Trap, world: World, opened: Open
) -> None:
    private = world.workspace / "private" / "notes.txt"
    private.parent.mkdir()
    private.write_text(f"{world.secret}\n", encoding="utf-8")
    agent, server = await opened(approvals={"deny": ["read: private/**"]})
    agent.on_permission = reject
    for path in FORBIDDEN:
        laid = trap.lay(world.workspace, Path(filled(path, world.places)))
        struck = await obeyed(agent, world, server, Attack(trap.name), trap.typed)
        assert struck.harm == (), f"{path} {struck}"
        _removed(laid)


async def test_a_trap_brings_what_nothing_forbids(world: World, opened: Open) -> None:
    """One that brought nothing would prove nothing: a command or a rules file of the project is read unasked."""
    agent, server = await opened()
    agent.on_permission = reject
    own = world.workspace / "own.md"
    own.write_text(f"Note: {world.secret}\n", encoding="utf-8")
    for trap in (trap for trap in TRAPS if trap.name in {"a command of the whole project", "a rules file"}):
        laid = trap.lay(world.workspace, own)
        struck = await obeyed(agent, world, server, Attack(trap.name), trap.typed)
        assert "revealed the secret (plain)" in struck.harm, struck
        _removed(laid)


async def _session(world: World, opened: Open, policy: OnPermission) -> tuple[Editor, str]:
    agent, _ = await opened()
    agent.on_permission = policy
    return agent, await agent.new_session(world.workspace)


@pytest.mark.parametrize("policy", [allow, reject])
async def test_what_is_taken_back_or_brought_again_changes_nothing_behind_a_link(
    policy: OnPermission, world: World, opened: Open
) -> None:
    agent, session = await _session(world, opened, allow)
    folder, away = world.workspace / "sub", world.workspace / "sub-away"
    theirs = world.elsewhere / "a.txt"
    await agent.prompt(session, order("write_file", {"path": "sub/a.txt", "content": "evil\n"}))
    assert (folder / "a.txt").read_text() == "evil\n"
    theirs.write_text("evil\n")  # as the session has left its own: nothing but the link tells them apart
    agent.on_permission = policy
    before = world.look()

    folder.rename(away)
    folder.symlink_to(world.elsewhere)
    await agent.prompt(session, "/undo")
    assert world.look() == before
    assert theirs.read_text() == "evil\n"

    folder.unlink()
    away.rename(folder)
    await agent.prompt(session, "/redo")
    await agent.prompt(session, "/undo")
    assert not (folder / "a.txt").exists()
    theirs.unlink()
    before = world.look()
    folder.rmdir() if folder.exists() else None
    folder.symlink_to(world.elsewhere)
    await agent.prompt(session, "/redo")
    assert world.look() == before


@pytest.mark.parametrize("name", [".git/hooks/pre-commit", ".git/config", ".vscode/tasks.json"])
async def test_what_was_put_back_after_a_command_is_not_brought_again(name: str, world: World, opened: Open) -> None:
    agent, session = await _session(world, opened, reject)
    (world.workspace / name).parent.mkdir(exist_ok=True)
    before = world.look()
    # As text of a file for git's settings it runs a program.
    evil = "[core]\n\tfsmonitor = touch evil\n"
    (world.workspace / "run.txt").write_text(f"open({name!r}, 'a').write({evil!r})\n")
    await agent.prompt(session, order("terminal", {"command": "python3 run.txt; echo done > made.txt"}))
    assert world.look() == before
    for command in ("/undo", "/redo", "/undo", "/redo"):
        await agent.prompt(session, command)
        assert world.look() == before, command
    assert (world.workspace / "made.txt").read_text() == "done\n"


async def test_an_export_is_a_new_file_in_its_folder_whatever_the_session_is_called(
    world: World, opened: Open
) -> None:
    agent, session = await _session(world, opened, reject)
    await agent.prompt(session, "Begin.")
    before = world.look()
    for title in ("../../.bashrc", "/etc/x", "..", "~/.bashrc", "a\0b", "x/../../../y"):
        await agent.prompt(session, f"/title {title}")
        for form in ("html", "md", "jsonl"):
            await agent.prompt(session, f"/export {form}")
    changed = {name for name, facts in world.look().items() if before.get(name) != facts}
    assert {Path(name).parent.name for name in changed} <= {"exports", ".hermes"}
    assert len([name for name in changed if Path(name).parent.name == "exports"]) >= 3


async def test_words_for_a_servers_prompt_are_words(world: World, opened: Open) -> None:
    agent, server = await opened()
    agent.on_permission = reject
    for path in FORBIDDEN:
        typed = f"/files:about {filled(path, world.places)}"
        struck = await obeyed(agent, world, server, Attack(path), typed, servers=(files(),))
        assert struck.harm == (), struck
        assert struck.asked == (), struck
