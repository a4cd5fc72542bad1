"""An `apptainer` that runs what it is told on this machine and keeps books: for arguments, lifetimes and cleanups."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

# As the real one: what is run is a child, which leads no group of its own.
_PROGRAM = """#!{python}
import json, os, signal, subprocess, sys
from pathlib import Path
BOOKS = Path({books!r})
words = sys.argv[1:]
with (BOOKS / "log").open("a") as log:
    log.write(json.dumps(words) + "\\n")
def held(name):
    return BOOKS / (name + ".instance")
def end(path):
    for pid in path.read_text().split():
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            pass
    path.unlink()
if words[:2] == ["instance", "start"]:
    image, name = words[-2:]
    if "missing" in image:
        sys.exit("FATAL: While pulling image: unable to fetch manifest: unauthorized")
    if "--cpus" in words and (BOOKS / "no-cgroups").exists():
        sys.exit("FATAL: rootless cgroups require a systemd session")
    held(name).touch()
elif words[:2] == ["instance", "list"]:
    print(json.dumps({{"instances": [{{"instance": path.stem}} for path in BOOKS.glob("*.instance")]}}))
elif words[:2] == ["instance", "stop"]:
    end(held(words[-1]))
elif words[0] == "exec":
    at = next(number for number, word in enumerate(words) if word.startswith("instance://"))
    name = words[at].removeprefix("instance://")
    if not held(name).exists():
        sys.exit("FATAL: no instance found with name " + name)
    kept = {{"PATH", "HOME", "LANG", "LC_ALL", "TERM", "USER", "SHLVL"}}
    env = {{key: value for key, value in os.environ.items() if key in kept}} | {{"TMPDIR": str(BOOKS)}}
    before = "APPTAINERENV_"
    env |= {{key.removeprefix(before): value for key, value in os.environ.items() if key.startswith(before)}}
    child = subprocess.Popen(words[at + 1:], env=env, cwd="/")
    with held(name).open("a") as pids:
        pids.write(str(child.pid) + " ")
    sys.exit(child.wait())
"""


class FakeApptainer:
    """Attributes:
    program: the path of its program.
    """

    def __init__(self, folder: Path) -> None:
        self._books = folder / "books"
        self._books.mkdir(parents=True)
        (self._books / "log").touch()
        self.program = folder / "apptainer"
        self.program.write_text(_PROGRAM.format(python=sys.executable, books=str(self._books)))
        self.program.chmod(0o755)

    def instances(self) -> set[str]:
        """Those that there are."""
        return {path.stem for path in self._books.glob("*.instance")}

    def add(self, name: str) -> None:
        """An instance that somebody else has started."""
        (self._books / f"{name}.instance").touch()

    def lose(self) -> None:
        """All instances are gone, and nobody has said so."""
        for name in self.instances():
            os.spawnl(os.P_WAIT, str(self.program), "apptainer", "instance", "stop", name)

    def refuse_limits(self) -> None:
        """From now on limits are not to be had."""
        (self._books / "no-cgroups").touch()

    def told(self, *verb: str) -> list[list[str]]:
        """What it was told, of one kind."""
        lines = (self._books / "log").read_text().splitlines()
        return [words for words in map(json.loads, lines) if tuple(words[: len(verb)]) == verb]
