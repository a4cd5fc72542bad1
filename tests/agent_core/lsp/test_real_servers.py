"""Servers from the package index, as people have them: the same edits, the same new errors."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from agent_core.lsp.server import LspLimits, Places, command_of, language_of
from tests.agent_core.lsp.conftest import Bench, OpenBench

_OLD = "import os\n\nold = undefined_before\n"


def _installed(program: str, requirement: str) -> str:
    found = shutil.which(program, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"{program} is not installed: pip install {requirement!r}")
    return found


def _tells_new_errors(session: Bench) -> None:
    (session.root / "a.py").write_text(_OLD)
    (problem,) = session.edit(f"# moved\n{_OLD}print(undefined_now)\n", "a.py")
    assert problem.line == 5
    assert "undefined_now" in problem.message
    assert not session.edit(f"# moved\n{_OLD}print(old)\n", "a.py")
    (again,) = session.edit(f"# moved\n{_OLD}print(old)\n\n\ndef f():\n    return undefined_at_last\n", "a.py")
    assert (again.line, again.severity) == (9, "error")


def test_ruff(bench: OpenBench) -> None:
    _tells_new_errors(bench(command=[_installed("ruff", "hermes-editor-agent[lsp]"), "server"]))


def test_ruff_has_no_old_errors_that_a_syntax_error_hid(bench: OpenBench) -> None:
    session = bench(command=[_installed("ruff", "hermes-editor-agent[lsp]"), "server"])
    path = session.root / "a.py"
    session.servers.before(path, _OLD)  # the edit that breaks the syntax is not put to a server
    path.write_text(f"def f(:\n{_OLD}")
    assert not session.edit(f"def f():\n    return 1\n\n\n{_OLD}", "a.py")


def test_ruff_is_found_without_settings() -> None:
    _installed("ruff", "hermes-editor-agent[lsp]")
    language = language_of(Path("/srv/a.py"), {})
    assert language is not None
    command = command_of(language, {}, Places((Path("/srv"),), {"PATH": ""}))
    assert command is not None


@pytest.mark.slow
def test_python_lsp_server(bench: OpenBench) -> None:
    _tells_new_errors(bench(command=[_installed("pylsp", "python-lsp-server[pyflakes]")], limits=LspLimits(wait=30)))


@pytest.mark.slow
def test_basedpyright(bench: OpenBench) -> None:
    program = _installed("basedpyright-langserver", "basedpyright")
    _tells_new_errors(bench(command=[program, "--stdio"], limits=LspLimits(wait=30)))
