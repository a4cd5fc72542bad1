"""What every test has: an own home, an own environment, and the fakes by name."""

from __future__ import annotations

import compileall
import gc
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from itertools import count
from pathlib import Path
from venv import EnvBuilder

import pytest

from agent_core.providers.catalog import SERVICES
from tests.support.model_server import ModelServer
from tools.environments.guardian import Guardian
from tools.environments.program_finder import PROGRAMS

_VENDOR_KEYS = ("OPENAI_", "ANTHROPIC_", "OPENROUTER_", "HERMES_")
_KEYS = frozenset(name for service in SERVICES.values() for name in service.keys)
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_homes = count(1)
_directories = count(1)
_BESIDE_EACH_OTHER = 64
_SELDOM = (20_000, 10, 20)
_CHECKOUT = Path(__file__).resolve().parents[1]
_ODD = re.compile(r"\W")


# Before any test is read. Without bytecode a run takes twice the time: each worker reads 800 files of tests anew, and
# each of hundreds of processes compiles whatever it imports, the SDKs too.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_configure(config: pytest.Config) -> None:
    """Compile what has changed of ours, once: processes of tests must not compile it each for itself."""
    # A shell has its background jobs ignore interrupts, and so would all that the tests start and interrupt.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        for package in ("acp_adapter", "agent_core", "tools", "tests/support"):
            compileall.compile_dir(str(config.rootpath / package), quiet=2)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What thousands of collected tests are made of stays to the end: no garbage collection need look at it, and what
    tests leave is looked at more seldom than a program would that has to be small."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*_SELDOM)
        gc.enable()


def pytest_unconfigure() -> None:
    """pytest looks five times for what was never closed, through all that a session has loaded: once will do."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems() -> None:
    """Hypothesis draws from the project's constants no more: it reads 800 files for them in each worker.

    That takes seconds, in which its own check finds the data slow; and what it drew depended on what was imported.
    """
    providers = sys.modules.get("hypothesis.internal.conjecture.providers")
    if providers is not None:
        vars(providers)["is_local_module_file"] = lambda _: False


def _new_directory(root: Path, number: int, name: str) -> Path:
    """Few stand beside each other: a command's sandbox has a rule for each name beside a place that it hides."""
    path = root / str(number // _BESIDE_EACH_OTHER) / f"{name}{number}"
    try:
        path.mkdir(mode=0o700)
    except FileNotFoundError:
        path.mkdir(mode=0o700, parents=True)
    return path


@pytest.fixture
def refused_port() -> Iterator[int]:
    """A port of 127.0.0.1 where nobody listens. It is held: a free one may be another test's in the next moment."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture(scope="session")
def _homes_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(scope="session", autouse=True)
def _bare_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """`python3` is a Python without packages: what the machine's own loads at its start, or the script of a version
    manager in front of it, takes longer than most of what tests run."""
    folder = tmp_path_factory.mktemp("python")
    EnvBuilder(symlinks=True).create(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder / "bin"), prepend=os.pathsep)
        yield


@pytest.fixture(autouse=True)
def home(_homes_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HERMES_HOME. No test sees the home, keys, keyring, proxies or git settings of whoever runs it."""
    user = _new_directory(_homes_root, next(_homes), "")
    hermes = user / ".hermes"
    hermes.mkdir()
    for name in os.environ:
        if name.startswith(_VENDOR_KEYS) or name in _KEYS or name.lower() in _PROXIES or name.startswith("XDG_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("HERMES_HOME", str(hermes))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    # Programs of a test leave no __pycache__ in its workspace; what they import of ours is compiled.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    # Other tests of this process have had sessions in the checkout, where its programs lie.
    PROGRAMS.trust()
    return hermes


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty directory. For a number, pytest's own looks through all that were made: ten seconds in 3,000 tests."""
    name = _ODD.sub("_", request.node.name)[:30]
    return _new_directory(tmp_path_factory.getbasetemp(), next(_directories), name)


@pytest.fixture(scope="session")
def mcp_sdk() -> None:
    """The MCP SDK is loaded before the test, so that no patience with servers goes by meanwhile."""
    import mcp  # noqa: F401, PLC0415 - a second, which only who runs these tests should wait


@pytest.fixture(scope="session")
def _committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What each `workspace` is a copy of."""
    root = tmp_path_factory.mktemp("committed") / "workspace"
    files = {
        "README.md": "# Sums\n\nA small example.\n",
        "sums.py": "def add(a, b):\n    return a - b\n",
        "tests/test_sums.py": "from sums import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com", "-c", "init.defaultBranch=main")
    alone = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for command in (("init", "-q", "--template="), ("add", "."), ("commit", "-q", "-m", "Begin")):
        subprocess.run(("git", *identity, *command), cwd=root, env=alone, check=True, stdin=subprocess.DEVNULL)
    return root


@pytest.fixture
def workspace(tmp_path: Path, _committed: Path) -> Path:
    """A git repository with a module, its test and a note, all committed."""
    return Path(shutil.copytree(_committed, tmp_path / "workspace", symlinks=True))


@pytest.fixture
def no_ripgrep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is none, neither beside Python nor on PATH."""
    empty = tmp_path.with_name(f"{tmp_path.name}-empty")
    empty.mkdir()
    (empty / "python").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(empty))
    monkeypatch.setattr(sys, "executable", str(empty / "python"))


@pytest.fixture
def own_programs() -> Iterator[Callable[[Mapping[str, str]], None]]:
    """`own_programs({"git": path})` names programs as the setting `programs` does, until the test's end."""
    yield PROGRAMS.name
    PROGRAMS.name({})


@pytest.fixture
def program_folder() -> Iterator[Path]:
    """An empty directory for programs that count: in temporary ones anyone may have put them."""
    place = _CHECKOUT / "build" / f"programs-{os.getpid()}-{next(_directories)}"
    if place.is_relative_to("/tmp") or place.is_relative_to("/var/tmp"):
        pytest.skip("this checkout lies in a temporary directory, where no program counts: clone it elsewhere")
    place.mkdir(parents=True)
    yield place
    shutil.rmtree(place)


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A fake model server without a script: the test adds replies."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def guardian() -> Iterator[Guardian]:
    guardian = Guardian()
    yield guardian
    guardian.kill_all()
