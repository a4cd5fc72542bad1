"""The folders of the person's own commands, hostile ones too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acp_adapter.commands.registry import MOST_BYTES, MOST_COMMANDS, CommandShelf


@pytest.fixture
def project(workspace: Path) -> Path:
    folder = workspace / ".hermes" / "commands"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def own(home: Path) -> Path:
    folder = home / "commands"
    folder.mkdir()
    return folder


@pytest.fixture
def shelf(workspace: Path, home: Path) -> CommandShelf:
    return CommandShelf(workspace, home)


def _names(shelf: CommandShelf) -> list[str]:
    shelf.refresh()
    return [command.name for command in shelf.commands]


def test_commands_of_both_folders_are_there_and_the_projects_win(shelf: CommandShelf, project: Path, own: Path):
    (own / "mine.md").write_text("Mine.")
    (own / "both.md").write_text("The person's.")
    (project / "both.md").write_text("The project's.")
    (project / "docs").mkdir()
    (project / "docs" / "write.md").write_text("Write.")
    assert _names(shelf) == ["both", "docs:write", "mine"]
    assert [command.origin for command in shelf.commands] == ["project", "project", "yours"]


def test_without_folders_there_are_none(shelf: CommandShelf):
    assert not shelf.refresh()
    assert shelf.commands == ()


def test_a_change_is_seen_and_told_once(shelf: CommandShelf, project: Path):
    assert not shelf.refresh()
    (project / "one.md").write_text("One.")
    assert shelf.refresh()
    assert not shelf.refresh()
    (project / "one.md").write_text("Another.")
    assert shelf.refresh()
    assert shelf.commands[0].body == "Another."
    (project / "one.md").unlink()
    assert shelf.refresh()
    assert shelf.commands == ()


def test_what_has_not_changed_is_not_read_again(shelf: CommandShelf, project: Path, monkeypatch: pytest.MonkeyPatch):
    (project / "one.md").write_text("One.")
    (project / "bad.md").write_bytes(b"\xff\xfe")
    shelf.refresh()
    opened: list[str] = []
    opening = os.open
    monkeypatch.setattr(os, "open", lambda path, *more: opened.append(str(path)) or opening(path, *more))
    assert not shelf.refresh()
    assert opened == []


@pytest.mark.parametrize(
    "name",
    [
        "Upper.md",
        "spaced name.md",
        "-dash.md",
        ".hidden.md",
        "a:b.md",
        "dot.ted.md",
        "none.txt",
        ".md",
        f"{'x' * 65}.md",
    ],
)
def test_a_file_whose_name_cannot_be_typed_is_no_command(name: str, shelf: CommandShelf, project: Path):
    (project / name).write_text("No.")
    assert _names(shelf) == []


def test_folders_go_one_deep(shelf: CommandShelf, project: Path):
    (project / "one" / "two").mkdir(parents=True)
    (project / "one" / "two" / "deep.md").write_text("No.")
    (project / "one" / "fine.md").write_text("Yes.")
    assert _names(shelf) == ["one:fine"]


def test_a_link_must_not_lead_out_of_its_folder(shelf: CommandShelf, project: Path, own: Path, home: Path):
    secret = home / "secret.md"
    secret.write_text("Secret.")
    outside = home / "outside"
    outside.mkdir()
    (outside / "also.md").write_text("Secret.")
    (project / "real.md").write_text("Fine.")
    for folder in (project, own):
        (folder / "leak.md").symlink_to(secret)
        (folder / "folder").symlink_to(outside)
        (folder / "dangling.md").symlink_to(home / "nothing")
        (folder / "loop.md").symlink_to(folder / "loop.md")
    (project / "alias.md").symlink_to("real.md")
    assert _names(shelf) == ["alias", "real"]


def test_a_projects_folder_must_not_lead_out_of_the_project(shelf: CommandShelf, workspace: Path, home: Path):
    (home / "notes").mkdir()
    (home / "notes" / "private.md").write_text("Private.")
    (workspace / ".hermes").mkdir()
    (workspace / ".hermes" / "commands").symlink_to(home / "notes")
    assert _names(shelf) == []


def test_what_must_not_be_read_unasked_is_no_command_of_a_project(workspace: Path, home: Path, own: Path):
    """A folder that is a link to the project's root has all of the project below it."""
    (workspace / ".env").write_text("PASSWORD=x")
    (workspace / "secrets").mkdir()
    (workspace / "secrets" / "notes.md").write_text("Notes.")
    (workspace / ".hermes").mkdir()
    (workspace / ".hermes" / "commands").symlink_to("..")
    (workspace / "env.md").symlink_to(".env")
    (workspace / "fine.md").write_text("Fine.")
    (own / "mine.md").write_text("Mine.")
    closed = (workspace.resolve() / ".env", workspace.resolve() / "secrets" / "notes.md")
    shelf = CommandShelf(workspace, home, refusal=lambda path: "is closed" if path in closed else "")
    assert {"env", "secrets:notes"}.isdisjoint(_names(shelf))
    assert {"fine", "mine"} <= set(_names(shelf))


def test_the_persons_own_folder_may_be_elsewhere(shelf: CommandShelf, tmp_path: Path, home: Path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "mine.md").write_text("Mine.")
    (home / "commands").symlink_to(tmp_path / "kept")
    assert _names(shelf) == ["mine"]


def test_one_folder_that_is_both_is_the_persons(home: Path):
    user = home.parent
    (home / "commands").mkdir()
    (home / "commands" / "mine.md").write_text("Mine.")
    shelf = CommandShelf(user, home)
    shelf.refresh()
    assert [(command.name, command.origin) for command in shelf.commands] == [("mine", "yours")]


def test_what_is_too_large_or_no_text_or_no_file_is_passed_over(shelf: CommandShelf, project: Path):
    (project / "large.md").write_text("x" * (MOST_BYTES + 1))
    (project / "binary.md").write_bytes(b"\xff\xfe\x00")
    (project / "empty.md").write_text("\n")
    os.mkfifo(project / "pipe.md")
    (project / "folder.md").mkdir()
    (project / "fits.md").write_text("x" * MOST_BYTES)
    (project / "marked.md").write_bytes(b"\xef\xbb\xbfMarked.")
    assert _names(shelf) == ["fits", "marked"]
    assert shelf.commands[1].body == "Marked."


def test_there_are_only_so_many(shelf: CommandShelf, project: Path):
    for number in range(MOST_COMMANDS + 20):
        (project / f"n{number:04}.md").write_text(f"Number {number}.")
    assert len(_names(shelf)) == MOST_COMMANDS


def test_a_file_that_cannot_be_read_hides_no_other(
    shelf: CommandShelf, project: Path, monkeypatch: pytest.MonkeyPatch
):
    (project / "good.md").write_text("Good.")
    (project / "closed.md").write_text("Closed.")
    opening = os.open

    def refuse(path: str, *more: int) -> int:
        if path.endswith("closed.md"):
            raise PermissionError(13, "Permission denied")
        return opening(path, *more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        assert _names(shelf) == ["good"]
    assert _names(shelf) == ["closed", "good"]
