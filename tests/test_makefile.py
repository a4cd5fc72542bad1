"""`make` installs beside the packages of .venv, whether uv or pip made it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAKE = shutil.which("make")
pytestmark = pytest.mark.skipif(MAKE is None, reason="there is no make")

_WITHOUT_PIP = 'case "$*" in "-m pip --version") exit 1;; *) exit 9;; esac'
_WORKS = 'case "$*" in *--version) ;; *) echo "$0 $*";; esac'


class Machine:
    """Programs that only tell how they were called, and no others."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.path = place / "path"
        self.venv = place / "venv"
        for directory in (self.path, self.venv):
            directory.mkdir()
        self.has(self.venv / "python", _WITHOUT_PIP)
        self.has(self.path / "python3", _WITHOUT_PIP)

    def has(self, program: Path, script: str) -> None:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def make(self, *targets: str) -> subprocess.CompletedProcess[str]:
        assert MAKE
        words = [MAKE, "-s", *targets, f"BIN={self.venv}", "READY=", "PYTHON=python3", f"SDK_RC={self.place}/rc"]
        surroundings = {"PATH": str(self.path), "HOME": os.environ.get("HOME", "/")}
        return subprocess.run(words, cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_uv_is_taken_where_it_is_there(machine: Machine):
    machine.has(machine.path / "uv", _WORKS)
    told = machine.make("sdk-rc").stdout
    assert told.startswith(
        f"{machine.path}/uv pip install -q --python {machine.venv}/python --target {machine.place}/rc"
    )
    assert "agent-client-protocol==" in told


def test_without_uv_the_environments_own_pip_is_taken(machine: Machine):
    machine.has(machine.venv / "python", _WORKS)
    assert machine.make("sdk-rc").stdout.startswith(f"{machine.venv}/python -m pip install ")


def test_an_environment_without_pip_is_filled_by_that_of_another_python(machine: Machine):
    machine.has(machine.path / "python3", _WORKS)
    assert machine.make("sdk-rc").stdout.startswith(
        f"{machine.path}/python3 -m pip --python {machine.venv}/python install "
    )


def test_where_nothing_can_install_it_says_what_to_do(machine: Machine):
    ran = machine.make("sdk-rc")
    assert ran.returncode != 0
    assert "put uv on PATH" in ran.stdout
    assert f"{machine.venv}/python -m ensurepip" in ran.stdout


def test_what_makes_mutants_is_installed_in_the_same_way(machine: Machine):
    machine.has(machine.path / "python3", _WORKS)
    machine.has(machine.path / "touch", ":")
    place = machine.place / "mutmut"
    told = machine.make(f"{place}/mutmut/__init__.py", f"MUTMUT={place}").stdout
    assert told.startswith(f"{machine.path}/python3 -m pip --python {machine.venv}/python install ")
    assert "mutmut==" in told
