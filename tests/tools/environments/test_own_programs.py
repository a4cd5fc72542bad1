"""Programs that run on this program's own behalf are not taken from where anyone may have put them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.environments.program_finder import ProgramFinder

SYSTEM = str(Path(shutil.which("git") or "/usr/bin/git").parent)


@pytest.fixture
def finder() -> ProgramFinder:
    return ProgramFinder()


def _program(folder: Path, name: str = "git") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    return folder / name


@pytest.mark.parametrize("folder", [".venv/bin", "node_modules/.bin", "bin", "a/b/c"])
def test_a_program_of_a_workspace_is_passed_over(finder, program_folder, folder):
    workspace, system = program_folder / "workspace", program_folder / "system"
    planted, real = _program(workspace / folder), _program(system)
    path = f"{planted.parent}:{system}"
    assert finder.find("git", path) == str(planted)
    finder.distrust([workspace])
    assert finder.find("git", path) == str(real)
    assert finder.find("git", str(planted.parent)) is None
    assert str(planted) in finder.missing("git", str(planted.parent))
    assert finder.search_path(path) == str(system)


def test_a_program_in_a_temporary_directory_is_passed_over(finder, tmp_path, program_folder, monkeypatch):
    planted, real = _program(tmp_path / "bin"), _program(program_folder)
    assert finder.find("git", f"{planted.parent}:{program_folder}") == str(real)
    monkeypatch.setenv("TMPDIR", str(program_folder))
    assert finder.find("git", str(program_folder)) is None


@pytest.mark.parametrize("path", ["", ".", "bin", "bin:", "::", "./bin:.."])
def test_a_relative_place_on_the_path_is_none(finder, tmp_path, monkeypatch, path):
    _program(tmp_path / "bin")
    _program(tmp_path)
    monkeypatch.chdir(tmp_path / "bin")
    assert finder.find("git", path) is None
    assert finder.find("bin/git", SYSTEM) is None


def test_a_link_that_leads_through_a_workspace_is_passed_over(finder, program_folder):
    workspace, system = program_folder / "workspace", program_folder / "system"
    real = _program(system / "real")
    into = _program(workspace)
    system.mkdir(exist_ok=True)
    (system / "git").symlink_to(into)  # a program of the workspace
    (system / "through").symlink_to(workspace / "step")  # one of the system, as long as the workspace says so
    (workspace / "step").symlink_to(real)
    (workspace / "back").symlink_to(system / "real")  # a directory of the system, by the workspace's name
    (system / "folder").symlink_to(workspace)
    finder.distrust([workspace])
    assert finder.find("git", str(system)) is None
    assert finder.find("through", str(system)) is None
    assert finder.find("git", str(workspace / "back")) is None
    assert finder.find("git", str(system / "folder")) is None
    assert finder.find("git", str(system / "real")) == str(real)


def test_a_program_that_the_settings_name_counts_wherever_it_lies(finder, tmp_path):
    named = _program(tmp_path)
    finder.distrust([tmp_path])
    finder.name({"git": str(named)})
    assert finder.find("git", SYSTEM) == str(named)
    named.unlink()
    assert finder.find("git", SYSTEM) is None
    assert finder.missing("git", SYSTEM).startswith(f"The setting programs.git names {named}, which is no program.")


def test_a_program_that_is_nowhere_is_to_be_installed(finder, tmp_path):
    assert finder.missing("git", str(tmp_path)).startswith("There is no program git on PATH. Install it")


def test_a_workspace_is_known_by_where_it_really_is(finder, program_folder):
    _program(program_folder / "workspace" / "bin")
    (program_folder / "name").symlink_to(program_folder / "workspace")
    finder.distrust([program_folder / "name"])
    assert finder.find("git", str(program_folder / "workspace" / "bin")) is None
