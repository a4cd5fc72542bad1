"""Which server is for which file."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.lsp.server import Language, Places, command_of, language_of

PYTHON = Language("python", "python")


@pytest.fixture
def places(tmp_path: Path, program_folder: Path) -> Places:
    own, bins, root = tmp_path / "own", program_folder / "bin", tmp_path / "root"
    for path in (own, bins, root / ".venv/bin", root / "node_modules/.bin"):
        path.mkdir(parents=True)
    (root / ".venv/pyvenv.cfg").touch()
    return Places((root,), {"PATH": str(bins)}, own)


def _program(path: Path) -> str:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_the_first_that_is_installed_is_used(places: Places) -> None:
    assert command_of(PYTHON, {}, places) is None
    ruff = _program(places.own / "ruff")
    assert command_of(PYTHON, {}, places) == (ruff, "server")
    pylsp = _program(Path(places.variables["PATH"]) / "pylsp")
    assert command_of(PYTHON, {}, places) == (pylsp,)


def test_what_the_workspace_brings_is_run_only_where_the_settings_name_it_and_last(places: Places) -> None:
    brought = _program(places.roots[0] / ".venv/bin/ruff")
    assert command_of(PYTHON, {}, places) is None
    named = {"python": ("ruff", "server")}
    assert command_of(PYTHON, named, places) == (brought, "server")
    ours = _program(places.own / "ruff")
    assert command_of(PYTHON, named, places) == (ours, "server")


def test_a_language_server_of_the_workspace_that_is_first_on_path_is_not_run(places: Places) -> None:
    root = places.roots[0]
    for folder in (".venv/bin", "node_modules/.bin"):
        _program(root / folder / "pylsp")
        active = Places(places.roots, {"PATH": f"{root / folder}:{places.variables['PATH']}"}, places.own)
        assert command_of(PYTHON, {}, active) is None


def test_the_servers_path_begins_with_the_workspaces_programs(places: Places) -> None:
    root = places.roots[0]
    parts = [str(root / ".venv/bin"), str(root / "node_modules/.bin"), places.variables["PATH"]]
    assert places.path().split(":") == parts


def test_a_configured_server_is_the_only_choice(places: Places) -> None:
    _program(places.own / "ruff")
    assert command_of(PYTHON, {"python": ("missing",)}, places) is None
    assert command_of(PYTHON, {"python": ()}, places) is None
    mine = _program(places.own.parent / "mine")
    assert command_of(PYTHON, {"python": (mine, "--x")}, places) == (mine, "--x")


def test_files_are_known_by_their_suffix() -> None:
    assert language_of(Path("/srv/A.TSX"), {}) == Language("typescript", "typescriptreact")
    assert language_of(Path("/srv/a.vue"), {}) is None
    assert language_of(Path("/srv/a.vue"), {".vue": ("vls",)}) == Language(".vue", "vue")
