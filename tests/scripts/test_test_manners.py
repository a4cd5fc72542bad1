"""Tests that patch our code or read what is private of it are found, and files may be exempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.test_manners import Fault, faults, main

_HEAD = "import os\nimport time\nfrom agent_core import loop\nfrom tools.files import read as reading\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two modules of ours, a test without a word, and no exemption."""
    for name, text in {
        "agent_core/loop.py": "import time\nSECONDS = 1.0\n_SECONDS = 1.0\n\ndef go(): ...\n",
        "tools/files/read.py": "class Reader:\n    def __init__(self):\n        self._line = self._own = ''\n",
        "acp_adapter/__init__.py": "",
        "tests/test_loop.py": "",
        "pyproject.toml": "[tool.test-manners]\nexempt = []\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def found(root: Path, line: str) -> list[str]:
    (root / "tests/test_loop.py").write_text(_HEAD + line)
    return [fault.text for fault in faults(root)]


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("monkeypatch.setattr(loop, 'go', None)", "agent_core.loop.go"),
        ("monkeypatch.setattr('agent_core.loop.go', None)", "agent_core.loop.go"),
        ("patch.delattr(reading.Reader, 'lines')", "tools.files.read.Reader.lines"),
        ("monkeypatch.setattr(loop.time, 'sleep', None)", "agent_core.loop.time.sleep"),
        ("monkeypatch.setattr(loop, '_SECONDS', 0.1)", "agent_core.loop._SECONDS"),
    ],
)
def test_what_is_patched_of_ours_is_a_fault(root: Path, line: str, target: str) -> None:
    assert found(root, line) == [f"patches {target}"]


@pytest.mark.parametrize(
    "line",
    [
        "monkeypatch.setattr(loop, 'SECONDS', 0.1)",
        "monkeypatch.setattr('agent_core.loop.SECONDS', 0.1)",
        "monkeypatch.setattr(time, 'sleep', None)",
        "monkeypatch.delattr(os, 'pidfd_open')",
        "monkeypatch.setattr(made_here, 'go', None)",
        "monkeypatch.setenv('HOME', '/')",
    ],
)
def test_public_bounds_and_the_standard_library_may_be_patched(root: Path, line: str) -> None:
    assert found(root, line) == []


def test_what_only_our_code_calls_private_is_not_read(root: Path) -> None:
    assert found(root, "assert reading.Reader()._line") == ["reads reading.Reader()._line"]
    assert found(root, "point._replace(x=1)\nos._exit(0)") == []
    assert found(root, "class Mine:\n    _line = ''\n\nassert Mine()._line") == []


def test_a_fault_fails_the_check_unless_its_file_is_exempt(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"], root) == 0
    assert found(root, "monkeypatch.setattr(loop, 'go', None)")
    assert main(["--check"], root) == 1
    assert "tests/test_loop.py:5: patches agent_core.loop.go" in capsys.readouterr().err
    (root / "pyproject.toml").write_text('[tool.test-manners]\nexempt = ["tests/test_loop.py"]\n')
    assert main(["--check"], root) == 0
    assert main([], root) == 0
    assert capsys.readouterr().out == "tests/test_loop.py:5: patches agent_core.loop.go\n"


def test_an_exemption_that_nothing_needs_fails_too(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "pyproject.toml").write_text('[tool.test-manners]\nexempt = ["tests/test_loop.py"]\n')
    assert main(["--check"], root) == 1
    assert "tests/test_loop.py needs no exemption any more" in capsys.readouterr().err


def test_a_fault_says_where_it_is(root: Path) -> None:
    (root / "tests/test_loop.py").write_text("from agent_core import loop\npatch.setattr(loop, 'go', None)\n")
    assert list(faults(root)) == [Fault("tests/test_loop.py", 2, "patches agent_core.loop.go")]
