"""Whose things are left over: those of processes of this machine that are gone, and nobody else's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.environments.remote import scripts
from tools.environments.remote.scripts import is_left, own_prefix, owned_name


def _of_a_process_that_is_gone() -> str:
    script = "from tools.environments.remote.scripts import owned_name; print(owned_name())"
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.strip()


def test_what_a_process_that_is_gone_has_named_is_left() -> None:
    assert is_left(_of_a_process_that_is_gone())
    assert not is_left(owned_name())
    assert not is_left(f"{own_prefix()}{os.getpid()}-x-1")


def test_what_a_machine_of_the_same_name_owns_is_never_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = _of_a_process_that_is_gone()
    (tmp_path / "machine-id").write_text("0123456789abcdef\n")
    monkeypatch.setattr(scripts, "MACHINE_IDS", (tmp_path / "none", tmp_path / "machine-id"))
    assert not is_left(name)
    assert not name.startswith(own_prefix())
