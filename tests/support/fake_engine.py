"""A `docker` that runs what it is told on this machine and keeps books: for arguments, lifetimes and cleanups."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

_PROGRAM = """#!{python}
import fcntl, json, os, signal, subprocess, sys, termios
from pathlib import Path
BOOKS = Path({books!r})
words = sys.argv[1:]
with (BOOKS / "log").open("a") as log:
    log.write(json.dumps(words) + "\\n")
def fail(text):
    sys.exit(text)
if (BOOKS / "down").exists():
    fail("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?")
def book(name):
    path = BOOKS / (name + ".box")
    if not path.exists():
        fail("Error response from daemon: No such container: " + name)
    return path, json.loads(path.read_text())
def up(name, labels):
    idle = subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=-3, stdout=-3, stderr=-3)
    (BOOKS / (name + ".box")).write_text(json.dumps({{"running": True, "pids": [idle.pid], "labels": labels}}))
def down(box):
    for pid in box["pids"]:
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
verb = words[0]
if verb == "run":
    if "missing:1" in words:
        fail("Unable to find image: pull access denied for missing, repository does not exist")
    up(words[words.index("--name") + 1], [word[8:] for word in words if word.startswith("--label=")])
elif verb == "container":
    print("true" if book(words[-1])[1]["running"] else "false")
elif verb == "start":
    up(words[-1], book(words[-1])[1]["labels"])
elif verb == "stop":
    path, box = book(words[-1])
    down(box)
    path.write_text(json.dumps({{**box, "running": False, "pids": []}}))
elif verb == "rm":
    for name in (word for word in words[1:] if not word.startswith("-")):
        path, box = book(name)
        down(box)
        path.unlink()
elif verb == "ps":
    wanted = next(word for word in words if word.startswith("--filter")).partition("label=")[2]
    for path in BOOKS.glob("*.box"):
        if any(label.startswith(wanted) for label in json.loads(path.read_text())["labels"]):
            print(path.stem)
elif verb == "exec":
    at = next(number for number, word in enumerate(words[1:], 1) if not word.startswith("-"))
    path, box = book(words[at])
    if not box["running"]:
        fail("Error response from daemon: container is not running")
    if os.getpgid(0) != os.getpid():
        os.setsid()
    if "-t" in words[1:at]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        subprocess.run(["stty", "sane"])
    path.write_text(json.dumps({{**box, "pids": [*box["pids"], os.getpid()]}}))
    # Containers have a disk of their own, which goes with them.
    os.environ["TMPDIR"] = str(BOOKS)
    os.execvp(words[at + 1], words[at + 1 :])
else:
    print("[]")
"""


class FakeEngine:
    """Attributes:
    program: the path of its program.
    """

    def __init__(self, folder: Path) -> None:
        self._books = folder / "books"
        self._books.mkdir(parents=True)
        self.program = folder / "docker"
        self.program.write_text(_PROGRAM.format(python=sys.executable, books=str(self._books)))
        self.program.chmod(0o755)

    def boxes(self) -> dict[str, bool]:
        """The containers there are, and whether each runs."""
        return {path.stem: json.loads(path.read_text())["running"] for path in self._books.glob("*.box")}

    def add(self, name: str, labels: tuple[str, ...]) -> None:
        """A container that somebody else has made."""
        (self._books / f"{name}.box").write_text(json.dumps({"running": True, "pids": [], "labels": labels}))

    def told(self, verb: str) -> list[list[str]]:
        """What it was told, of one kind."""
        lines = (self._books / "log").read_text().splitlines()
        return [words for words in map(json.loads, lines) if words[0] == verb]

    def go_down(self) -> None:
        """From now on nobody answers."""
        (self._books / "down").touch()

    def end(self) -> None:
        """Remove all that is left."""
        (self._books / "down").unlink(missing_ok=True)
        for name in self.boxes():
            os.spawnl(os.P_WAIT, str(self.program), "docker", "rm", "-f", name)
