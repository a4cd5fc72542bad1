"""What a model may want in a turn, and what each call does to the files of a workspace: pure."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Files = Mapping[str, str]
"""The text of each file of a workspace, by its path from there."""
Asked = Literal["write", "run", "server", ""]
"""What a call is asked about: an edit, a command that deletes, a server's tool, or nothing."""

PATHS = ("a.txt", "b.txt", "d/c.txt", "d/e/ünï.txt", "two words.txt")
Steps = tuple[tuple["Call", ...], ...]
"""The calls of each answer."""
MARK = "PLAN "
"""Begins the words that ask for something."""
SERVED = "mcp__steady__echo"
"""The server's tool."""
BEHIND = "sleep 7200"
"""The command in the background: longer than any run."""
_OTHERS = "lorem ipsum\n" * 40


class Call(Protocol):
    """A tool call."""

    @property
    def path(self) -> str:
        """The file that it is about."""
        ...

    @property
    def asked(self) -> Asked:
        """What the person is asked about it."""
        ...

    def wire(self) -> tuple[str, dict[str, Any]]:
        """The tool's name and its arguments."""
        ...

    def after(self, files: Files) -> Files | None:
        """The files once it was done; None where it cannot be done."""
        ...


@dataclass(frozen=True, slots=True)
class Write:
    """Makes or replaces a file."""

    path: str
    content: str
    asked: Asked = "write"

    def wire(self) -> tuple[str, dict[str, Any]]:
        return "write_file", {"path": self.path, "content": self.content}

    def after(self, files: Files) -> Files | None:
        return {**files, self.path: self.content}


@dataclass(frozen=True, slots=True)
class Patch:
    """Replaces a file's first line."""

    path: str
    old: str
    new: str
    asked: Asked = "write"

    def wire(self) -> tuple[str, dict[str, Any]]:
        return "patch", {"mode": "replace", "path": self.path, "old_string": self.old, "new_string": self.new}

    def after(self, files: Files) -> Files | None:
        content = files.get(self.path)
        if content is None or self.old not in content:
            return None
        return {**files, self.path: content.replace(self.old, self.new)}


@dataclass(frozen=True, slots=True)
class Remove:
    """A command that deletes a file."""

    path: str
    asked: Asked = "run"

    def wire(self) -> tuple[str, dict[str, Any]]:
        return "terminal", {"command": f"rm -f '{self.path}'"}

    def after(self, files: Files) -> Files | None:
        return {path: content for path, content in files.items() if path != self.path}


@dataclass(frozen=True, slots=True)
class Look:
    """Reads a file."""

    path: str
    asked: Asked = ""

    def wire(self) -> tuple[str, dict[str, Any]]:
        return "read_file", {"path": self.path}

    def after(self, files: Files) -> Files | None:
        return files if self.path in files else None


@dataclass(frozen=True, slots=True)
class Sleep:
    """A command that does not come to its end by itself while anybody waits."""

    path: str = ""
    asked: Asked = ""

    def wire(self) -> tuple[str, dict[str, Any]]:
        return "terminal", {"command": "sleep 300", "timeout": 280}

    def after(self, files: Files) -> Files | None:
        return files


@dataclass(frozen=True, slots=True)
class Behind:
    """A command in the background, which ends with its session and not before."""

    path: str = ""
    asked: Asked = ""

    def wire(self) -> tuple[str, dict[str, Any]]:
        return "terminal", {"command": BEHIND, "background": True}

    def after(self, files: Files) -> Files | None:
        return files


@dataclass(frozen=True, slots=True)
class Serve:
    """A tool of an MCP server; its `path` is its name, which is in no workspace."""

    path: str = SERVED
    asked: Asked = "server"

    def wire(self) -> tuple[str, dict[str, Any]]:
        return self.path, {"text": "said again"}

    def after(self, files: Files) -> Files | None:
        return files


@dataclass(frozen=True, slots=True)
class Delegate:
    """A sub-agent that does `steps`; what it changes are its own calls."""

    name: str
    steps: Steps
    path: str = ""
    asked: Asked = ""

    def wire(self) -> tuple[str, dict[str, Any]]:
        return "delegate_task", {"goal": prompt_of(self.name, self.steps)}

    def after(self, files: Files) -> Files | None:
        return files


def prompt_of(name: str, steps: Steps) -> str:
    """The words that ask for it."""
    return MARK + json.dumps({"name": name, "steps": [[call.wire() for call in calls] for calls in steps]})


def named(name: str, steps: Steps) -> Iterator[tuple[str, Call]]:
    """Each call with its id, in order; a sub-agent's come before the call that wanted it."""
    for step, calls in enumerate(steps):
        for place, call in enumerate(calls):
            if isinstance(call, Delegate):
                yield from named(call.name, call.steps)
            yield f"{name}-{step}-{place}", call


def told(steps: Steps) -> str:
    """In a few words, for whoever has to find out why a run failed."""
    return "; ".join(", ".join(f"{type(call).__name__.lower()} {call.path}" for call in calls) for calls in steps)


def some_steps(name: str, files: Files, chance: random.Random) -> Steps:
    """What a turn called `name` does: up to five answers with calls, of which some come two at a time.

    A file that may be there is read before it is replaced: what it has not read, a model may not replace.
    """
    return tuple(_steps(name, dict(files), chance))


def _steps(name: str, files: dict[str, str], chance: random.Random) -> Iterator[tuple[Call, ...]]:
    for number in range(chance.choice((0, 1, 1, 2, 2, 3))):
        path, other = chance.sample(PATHS, 2)
        line = f"{name} {number} of {path}\n"
        kinds = {"write": 5, "patch": 3, "remove": 2, "look": 1, "two": 2, "serve": 2, "behind": 1, "delegate": 2}
        match chance.choices(list(kinds), list(kinds.values()))[0]:
            case "patch" if path in files:
                old = files[path].partition("\n")[0]
                yield (Look(path),)
                yield (Patch(path, old, line.strip()),)
            case "remove":
                yield (Remove(path),)
            case "look":
                yield (Look(path),)
            case "serve":
                yield (Serve(),)
            case "delegate":
                yield (Delegate(f"{name}s{number}", ((Look(path), Look(other)), (Write(path, line),))),)
            case "behind":
                yield (Behind(),)
            case "two":
                yield Look(path), Look(other)
                yield Write(path, line), Write(other, line + _OTHERS)
            case _:
                yield (Look(path),)
                yield (Write(path, line + chance.choice(("", _OTHERS))),)
