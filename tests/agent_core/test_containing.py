"""Where a session's commands may write and what they do not see, as settings and machine have it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.errors import SettingsError
from agent_core.settings.sections import SandboxPart
from agent_core.workspace_factory import containment_of
from tools.environments.containment import Containment
from tools.environments.sandbox import kernel

_LATE = {
    "tools.environments.sandbox.landlock_sandbox",
    "tools.environments.sandbox.probe",
    "tools.environments.sandbox.network.session_network",
    "tools.environments.sandbox.network.proxy",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path.resolve() / "home"
    (home / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return home


def _containment(home: Path, **settings: object) -> Containment:
    return containment_of(SandboxPart(caches=False, **settings), [home / "project"], home / ".own")


def test_a_sign_in_that_comes_during_the_session_is_hidden_from_the_next_command(home: Path) -> None:
    containment = _containment(home)
    try:
        assert home / ".aws" not in containment.grounds().hidden
        (home / ".aws").mkdir()
        (home / ".npmrc").write_text("//registry.npmjs.org/:_authToken=npm_abc\n")
        assert {home / ".aws", home / ".npmrc"} <= set(containment.grounds().hidden)
    finally:
        containment.close()


def test_a_directory_of_the_settings_is_not_led_elsewhere_by_a_link_in_a_root(home: Path) -> None:
    (home / "project" / "out").symlink_to(home)
    (home / "beside").mkdir()
    named = (str(home / "project" / "out"), "~/beside", "~/missing")
    containment = _containment(home, writable=named)
    try:
        writable = containment.grounds().writable
        assert home / "project" in writable
        assert home not in writable
        (home / "beside").rmdir()
        (home / "beside").symlink_to(home)
        assert containment.grounds().writable == writable
    finally:
        containment.close()


_LOOK = f"""
import sys
from pathlib import Path
from agent_core.workspace_factory import containment_of, load_sandbox
from agent_core.settings.sections import SandboxPart

def loaded():
    return [name for name in sys.modules if name in {sorted(_LATE)}]

containment = containment_of(SandboxPart(), [Path(sys.argv[1])], Path(sys.argv[2]))
print(len(loaded()))
load_sandbox()
print(len(loaded()))
before = set(sys.modules)
print(containment.contains and containment.sandbox.name)
print(sorted(set(sys.modules) - before))
containment.close()
"""


def test_opening_a_session_loads_and_tries_no_sandbox_and_its_first_command_loads_no_more(home: Path) -> None:
    if not sys.platform.startswith("linux") or kernel.landlock_version() < 1:
        pytest.skip("the kernel has no Landlock (Linux 5.13), or it is off")
    command = [sys.executable, "-c", _LOOK, str(home / "project"), str(home / ".own")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == ["0", str(len(_LATE)), "landlock", "[]"]


def test_what_is_written_into_git_s_settings_after_the_session_began_allows_no_host(home: Path) -> None:
    _set_remote(home / "project", "code.example.org")
    containment = _containment(home, registries=False)
    _set_remote(home / "project", "evil.example.org")
    assert "code.example.org" in containment.hosts_told
    assert "evil.example.org" not in containment.hosts_told
    containment.close()


def _set_remote(root: Path, host: str) -> None:
    for folder in ("objects", "refs"):
        (root / ".git" / folder).mkdir(parents=True, exist_ok=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git" / "config").write_text(f'[remote "origin"]\n\turl = https://{host}/a.git\n')


def test_a_host_that_cannot_be_read_is_told_when_the_session_begins(home: Path) -> None:
    with pytest.raises(SettingsError, match=r"settings of `sandbox` name a host .*'a b'"):
        _containment(home, allow_hosts=("a b",))
