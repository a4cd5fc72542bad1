"""Run one command on a fresh copy of the made-up machine, and say what came of it."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.throwaway import stubs, world

# Walking through /usr, as those do that delete everything, takes seconds on a slow machine.
SECONDS = 60
_TARGETS = {"home": "/home", **{name: f"/{name}" for name in world.FOLDERS}}
# The links that choose an awk or an editor: hundreds, and nothing that a command is about.
_ALTERNATIVES = ("--ro-bind-try", "/etc/alternatives", "/etc/alternatives")
# As process 1 it is not ended by what kills its children. It waits up to a second for what was left behind.
_RUNNER = """
ulimit -f 4096 -t 8 -c 0 -u 300
( exec sleep 98765 ) </dev/null >/dev/null 2>&1 & VICTIM=$!
disown; export VICTIM
until read -r name < /proc/$VICTIM/comm && [ "$name" = sleep ]; do :; done
[ -s /record/probe ] && bash /record/probe > /record/before 2>&1
bash /record/command
[ -s /record/probe ] && bash /record/probe > /record/after 2>&1
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    state=; read -r _ _ state _ < /proc/$VICTIM/stat
    left=0; for each in /proc/[0-9]*; do left=$((left + 1)); done
    case $state in ''|Z) echo gone > /record/victim; [ $left -le 2 ] && break ;; esac
    [ $left -le 2 ] && [ ! -s /record/wants-death ] && break
    sleep 0.05
done 2>/dev/null
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What a command did: its output, the stubs' log, and the folder in which its machine is, with the one before."""

    output: str
    calls: str
    before: Path
    after: Path
    probed: tuple[str, str]
    has_killed: bool


def why_not() -> str:
    """What is missing for the throw-away machine; '' when it works here."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed (apt-get install bubblewrap, or dnf install bubblewrap)"
    return _try()


@functools.cache
def _try() -> str:
    tried = subprocess.run(
        ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    return "" if tried.returncode == 0 else f"bubblewrap does not work here: {tried.stderr.strip()}"


@contextlib.contextmanager
def machines() -> Iterator[Machines]:
    """A place from which throw-away machines come; its folder goes with it."""
    folder = Path(tempfile.mkdtemp(prefix="throwaway-", dir=_in_memory()))
    try:
        world.build(folder / "template")
        stubs.write(folder / "stubs")
        yield Machines(folder)
    finally:
        _remove(folder)


class Machines:
    """Makes a machine for each command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def run(self, command: str, *, probe: str = "", kills: bool = False) -> Iterator[Run]:
        """Run `command` with bash in ~/project; `probe` runs before and after; `kills`: wait for $VICTIM to end."""
        template = self._folder / "template"
        stage = Path(tempfile.mkdtemp(prefix="stage-", dir=self._folder))
        machine, record = stage / "machine", stage / "record"
        shutil.copytree(template, machine, symlinks=True)
        record.mkdir()
        for name, text in (("command", command + "\n"), ("probe", probe), ("wants-death", "yes" if kills else "")):
            (record / name).write_text(text)
        try:
            output = self._bwrap(machine, record)
            probed = (_text(record / "before"), _text(record / "after"))
            killed = _text(record / "victim").strip() == "gone"
            yield Run(output, _text(record / "calls"), template, machine, probed, killed)
        finally:
            _remove(stage)

    def _bwrap(self, machine: Path, record: Path) -> str:
        mounts = [part for name, target in _TARGETS.items() for part in ("--bind", str(machine / name), target)]
        devices = [part for name in world.DEVICES
                   for part in ("--bind", str(machine / "devices" / name), f"/dev/{name}")]  # fmt: skip
        variables = {
            "HOME": "/home/dev", "USER": "dev", "LOGNAME": "dev", "LANG": "C.UTF-8", "TERM": "dumb",
            "PATH": f"{stubs.WHERE}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        }  # fmt: skip
        sets = [part for name, value in variables.items() for part in ("--setenv", name, value)]
        arguments = [
            "bwrap", "--unshare-user", "--unshare-all", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL",
            "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv", *sets,
            "--ro-bind", "/usr", "/usr", *_system_links(), "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
            *mounts, *_ALTERNATIVES, *devices, "--ro-bind", str(self._folder / "stubs"), stubs.WHERE,
            "--bind", str(record), "/record", "--chdir", "/home/dev/project", "bash", "-c", _RUNNER,
        ]  # fmt: skip
        try:
            done = subprocess.run(
                arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                timeout=SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as late:
            return (late.stdout or b"").decode(errors="replace")
        return done.stdout.decode(errors="replace")


def _in_memory() -> Path | None:
    """A folder that is no disk, for the hundreds of files of each machine; None: there is none to run from."""
    shared = Path("/dev/shm")
    if not (shared.is_dir() and os.access(shared, os.W_OK)):
        return None
    return None if os.statvfs(shared).f_flag & os.ST_NOEXEC else shared


def _system_links() -> list[str]:
    found = []
    for name in ("bin", "sbin", "lib", "lib64", "lib32"):
        path = Path("/", name)
        if path.is_symlink():
            found += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            found += ["--ro-bind", str(path), str(path)]
    return found


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""


def _remove(folder: Path) -> None:
    # Commands that take all permissions away are among those that run.
    subprocess.run(["chmod", "-R", "u+rwX", str(folder)], capture_output=True, check=False)
    shutil.rmtree(folder, ignore_errors=True)
