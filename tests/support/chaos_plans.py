"""Turns in which everything happens at once, made by chance: what is planned, and what of it may be left."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.chaos_model import Call, planned
from tests.support.mcp_flapping_server import WAYS
from tests.support.processes import has_ended

_LINES = 400
_PROGRAM = """
import os
from hermes_tools import *
open({pid!r}, "w").write(str(os.getpid()))
for number in range(3):
    for call in (
        lambda: read_file("sums.py")["content"],
        lambda: write_file({path!r} % number, {content!r}),
        lambda: terminal("echo $$ > {pid}-" + str(number) + "; echo from the program"),
    ):
        try:
            call()
        except ToolError as error:
            print(type(error).__name__)
print("over")
"""


@dataclass(slots=True)
class Ground:
    """Where all of a run happens.

    Attributes:
        workspace: the sessions' directory.
        gates: named pipes: a command that reads one waits until the test writes.
        contents: what each file is to hold, by its path.
    """

    workspace: Path
    gates: Path
    contents: dict[str, str] = field(default_factory=dict)
    _open: dict[str, int] = field(default_factory=dict)
    _opened: list[int] = field(default_factory=list)
    _seen: dict[str, tuple[int, str]] = field(default_factory=dict)

    def gate(self, name: str) -> Path:
        """A named pipe that is held open at this end."""
        path = self.gates / name
        os.mkfifo(path)
        self._open[name] = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        return path

    def waiting(self) -> list[str]:
        """The names of the background commands whose gate is closed, if they were begun at all."""
        return [name for name in self._open if "-b" in name]

    def open_gates(self, *names: str) -> None:
        """Let the commands behind these gates go on."""
        for name in names:
            os.write(self._open[name], b"go\n")
            self._opened.append(self._open.pop(name))

    def close(self) -> None:
        for descriptor in (*self._opened, *self._open.values()):
            os.close(descriptor)
        self._opened.clear()
        self._open.clear()

    def look(self) -> None:
        """See which processes have told of themselves; the files may be undone."""
        for path in (self.workspace / ".pids").glob("*"):
            if path.name not in self._seen:
                with suppress(ValueError, FileNotFoundError):  # it was not written to its end, or is undone just now
                    pid = int(path.read_text(encoding="utf-8"))
                    self._seen[path.name] = pid, _begun(pid)
        if unseen := [name for name in self.waiting() if name not in self._seen]:
            self._look_at_commands(unseen)

    def _look_at_commands(self, names: Sequence[str]) -> None:
        """See those that run in plan mode, where they can write no file: their shells have the command as a word."""
        for process in Path("/proc").iterdir():
            with suppress(OSError):
                words = (process / "cmdline").read_bytes() if process.name.isdecimal() else b""
                for name in names:
                    if f"> .pids/{name};".encode() in words:
                        self._seen[name] = int(process.name), _begun(int(process.name))

    def alive(self, prefix: str) -> dict[str, int]:
        """Those that told of themselves in files of that name, and run; another may have the number of one."""
        self.look()
        return {
            name: pid
            for name, (pid, begun) in self._seen.items()
            if name.startswith(prefix) and begun and not has_ended(pid) and _begun(pid) == begun
        }

    def write(self, name: str) -> Call:
        """A call that makes a file."""
        path = f"{name}.txt"
        self.contents[path] = content = f"{name}\n" * _LINES
        return "write_file", {"path": path, "content": content}

    def run(self, name: str, rest: str, **more: Any) -> Call:
        """A command that tells its process first."""
        return "terminal", {"command": f"echo $$ > .pids/{name}; {rest}", **more}


def _begun(pid: int) -> str:
    """When a process began, in the kernel's count; '' where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()[19].decode()
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class Round:
    """One turn.

    Attributes:
        name: begins the names of all that it makes. What it runs in the foreground begins with `NAME-f`, what it runs
            in the background with `NAME-b`.
        told: the plan in short.
    """

    name: str
    prompt: str
    told: str = ""

    def files(self, ground: Ground) -> list[str]:
        """What its foreground was to write, but on a copy."""
        mine = [path for path in ground.contents if path.startswith(f"{self.name}-")]
        return [path for path in mine if not path.startswith((f"{self.name}-i", f"{self.name}-b"))]


def make_round(number: int, chance: random.Random, ground: Ground) -> Round:
    """A turn with three sub-agents, one more in the background that has one of its own, four background commands, a
    program and calls of two MCP servers, in any order."""
    name = f"r{number}"
    gated = (f"{name}-b1", f"{name}-b2")
    steps: list[list[Call]] = [
        [_background(ground, gated[0], gate=True), _background(ground, f"{name}-b3")],
        [_background(ground, gated[1], gate=True), _background(ground, f"{name}-b4")],
        [("delegate_task", {"tasks": [{"goal": goal} for goal in _goals(name, chance, ground)]})],
        [_behind(name, ground)],
        [_program(name, ground)],
        [ground.write(f"{name}-own"), _server(chance), _server(chance)],
    ]
    chance.shuffle(steps)
    if chance.random() < 0.3:
        steps.insert(chance.randrange(len(steps)), [_isolated(name, ground)])
    if chance.random() < 0.2:
        gate = ground.gate(f"{name}-f9")
        steps.append([ground.run(f"{name}-f9", f"read word < {gate}")])
    return Round(name, planned(steps, f"All of {name} is done."), _in_short(steps))


def _in_short(steps: list[list[Call]]) -> str:
    """A plan for people: the tools of each answer, with what tells them apart."""

    def told(name: str, arguments: Mapping[str, Any]) -> str:
        for key in ("how", "path", "command"):
            if key in arguments:
                return f"{name} {str(arguments[key])[:60]!r}"
        flags = [key for key in ("isolated", "background", "tasks") if arguments.get(key)]
        return " ".join((name, *flags))

    return " | ".join(", ".join(told(*call) for call in step) for step in steps)


def _background(ground: Ground, name: str, *, gate: bool = False) -> Call:
    rest = f"echo mark {name}; read word < {ground.gate(name)}; exit 3" if gate else f"echo mark {name}; echo more"
    return ground.run(name, rest, background=True, notify_on_complete=True, watch_patterns=[f"mark {name}"])


def _goals(name: str, chance: random.Random, ground: Ground) -> Iterator[str]:
    for child in "xyz":
        own = f"{name}-f{child}"
        steps = [
            [ground.run(f"{own}1", "for i in 1 2 3 4; do echo $i; done")],
            [ground.write(f"{own}-a"), ground.write(f"{own}-b")],
            [_server(chance)],
            [ground.run(f"{own}2", f"sleep 600 & echo $! > .pids/{own}3; sleep 0.05; kill $!")],
        ]
        chance.shuffle(steps)
        yield planned(steps, f"{own} is done.")


def _behind(name: str, ground: Ground) -> Call:
    leaf = planned([[ground.run(f"{name}-bn1", "echo nested")], [ground.write(f"{name}-bn")]], "The leaf is done.")
    goal = planned([[("delegate_task", {"goal": leaf})], [ground.run(f"{name}-bn2", "echo behind")]], "Done behind.")
    return "delegate_task", {"goal": goal, "background": True, "role": "orchestrator"}


def _isolated(name: str, ground: Ground) -> Call:
    goal = planned([[ground.write(f"{name}-i")], [ground.run(f"{name}-fi", "true")]], "Done on the copy.")
    return "delegate_task", {"goal": goal, "isolated": True}


def _program(name: str, ground: Ground) -> Call:
    content = f"{name} of the program\n" * _LINES
    path = f"{name}-p%d.txt"
    ground.contents |= {path % number: content for number in range(3)}
    code = _PROGRAM.format(pid=f".pids/{name}-fp", path=path, content=content)
    return "execute_code", {"code": code}


def _server(chance: random.Random) -> Call:
    if chance.random() < 0.4:
        return "mcp__steady__echo", {"text": "said again"}
    how = chance.choices(WAYS, weights=(5, 3, 2, 1, 1))[0]
    return "mcp__flapping__do", {"how": how}
