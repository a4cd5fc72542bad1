"""The wheel, in an environment with nothing else: its size, its set-up without questions, a prompt by two clients."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests.e2e.foreign.programs import ACPX
from tests.support.model_server import ModelServer, Reply

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

ROOT = Path(__file__).parents[3]
MOST_DISTRIBUTIONS = 46
MOST_MEGABYTES = 95
KEY = "sk-test-0123456789"
# What a person's shell has, and nothing of the checkout: PYTHONPATH would let the tests' own tree in.
_PASSED_ON = ("HOME", "HERMES_HOME", "PATH", "LANG", "TMPDIR", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel in it."""

    root: Path

    @property
    def command(self) -> str:
        return str(self.root / "bin" / "hermes-acp")

    @property
    def packages(self) -> Path:
        return next(self.root.glob("lib/python3.*/site-packages"))

    def run(self, *words: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return _run([self.command, *words], cwd=cwd, stdin=stdin)


def _run(words: list[str], *, cwd: Path, stdin: str = "", timeout: float = 60) -> subprocess.CompletedProcess[str]:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return subprocess.run(
        words, check=False, cwd=cwd, env=environment, input=stdin, capture_output=True, text=True, timeout=timeout
    )


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """What pip makes of the wheel, which is built from the sdist, and of the sdist itself."""
    made, root = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("installed") / "env"
    for target, source in (("sdist", ROOT), ("wheel", made / "source")):
        built = _run([sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(made)], cwd=source)
        assert built.returncode == 0, built.stderr
        if target == "sdist":
            (made / "source").mkdir()
            sdist = next(made.glob("*.tar.gz"))
            subprocess.run(
                ["tar", "-xzf", str(sdist), "--strip-components=1", "-C", str(made / "source")], check=True
            )
    venv.create(root, with_pip=True)
    pip = [str(root / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--no-compile"]
    package = next(made.glob("*.whl" if request.param == "wheel" else "*.tar.gz"))
    fetched = _run([*pip, "--quiet", str(package)], cwd=made, timeout=300)
    if fetched.returncode and "No matching distribution" in fetched.stderr:
        pytest.skip(f"no package index can be reached to install the dependencies from: {fetched.stderr[-300:]}")
    assert fetched.returncode == 0, fetched.stderr
    return Installed(root)


def test_it_is_as_small_as_promised(installed: Installed) -> None:
    names = {each.name for each in distributions(path=[str(installed.packages)])} - {"pip", "setuptools"}
    assert "hermes-editor-agent" in names
    assert len(names) <= MOST_DISTRIBUTIONS, sorted(names)
    own = [path for path in installed.packages.rglob("*") if path.is_file() and not path.is_symlink()]
    counted = [
        path for path in own if path.suffix != ".pyc" and path.relative_to(installed.packages).parts[0] != "pip"
    ]
    assert sum(path.stat().st_size for path in counted) <= MOST_MEGABYTES * 1_000_000


def test_set_up_without_questions_it_answers_its_own_client_and_another(
    installed: Installed, home: Path, workspace: Path
) -> None:
    with ModelServer(default=Reply("All is well.")) as server:
        where = ("--provider", "custom", "--base-url", server.base_url, "--model", "test-model")
        done = installed.run("setup", "--non-interactive", *where, "--key-stdin", cwd=workspace, stdin=KEY)
        assert done.returncode == 0, done.stdout + done.stderr
        assert (home / ".env").stat().st_mode & 0o777 == 0o600
        answered = installed.run("prompt", "Is all well?", cwd=workspace)
        assert answered.returncode == 0, answered.stdout + answered.stderr
        assert "All is well." in answered.stdout
        assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}


def test_a_client_of_others_works_with_it(installed: Installed, home: Path, workspace: Path, node: str) -> None:
    with ModelServer(default=Reply("All is well.")) as server:
        where = ("--provider", "custom", "--base-url", server.base_url, "--model", "test-model")
        done = installed.run("setup", "--non-interactive", *where, "--key-stdin", cwd=workspace, stdin=KEY)
        assert done.returncode == 0, done.stdout + done.stderr
        command = [node, str(ACPX), "--agent", installed.command, "--format", "json", "--json-strict"]
        ran = _run([*command, "--approve-all", "exec", "Is all well?"], cwd=workspace)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    messages = [json.loads(line) for line in ran.stdout.splitlines()]
    assert "end_turn" in [(message.get("result") or {}).get("stopReason") for message in messages]
    assert "All is well." in ran.stdout


def test_what_an_extra_brings_is_named_with_the_line_that_installs_it(
    installed: Installed, home: Path, workspace: Path
) -> None:
    """A new user's first look at a document: no extra is there, and the answer says which to install and how."""
    (workspace / "report.docx").write_bytes(b"PK\x03\x04")
    ran = installed.run("prompt", "--offline", "--approve", "all", "read report.docx", cwd=workspace)
    assert "hermes-editor-agent[docs]" in ran.stdout + ran.stderr, ran.stdout + ran.stderr


def test_the_demo_runs(installed: Installed, home: Path, workspace: Path) -> None:
    ran = installed.run("demo", cwd=workspace)
    assert ran.returncode == 0, ran.stdout + ran.stderr
