"""The program: reads its options, lists files, finds in them, prints. Files over 64 MB are not searched.

It is started for each search: nothing here imports `dataclasses` or `pathlib`, which take longer than a search.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tools.environments.python_search import kinds, options, walking
from tools.environments.python_search.finding import Finder, events
from tools.environments.python_search.options import Options
from tools.environments.python_search.patterns import PatternError, compiled
from tools.text.globs import GlobError, NamePattern

_BLOCK = 1 << 18
_CPU_SECONDS = 300
# A write of no more than that comes out in one piece, whoever else writes.
_WHOLE_WRITE = 4096
_WORTH_SHARING = 200
_MAX_WORKERS = 8


def main() -> None:
    """Do what the arguments say; the exit code is 2 where they are wrong."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Nobody may be left to stop it.
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS if most < 0 else min(_CPU_SECONDS, most), most))
    try:
        _run(options.read(sys.argv[1:]))
    except LookupError as problem:
        sys.exit(f"rg: unrecognized file type: {problem.args[0]}")
    except (GlobError, PatternError, ValueError) as problem:
        sys.exit(f"rg: {problem}")


def _run(asked: Options) -> None:
    choice = walking.Choice(
        _complain,
        tuple(map(NamePattern, asked.globs)),
        tuple(NamePattern(glob) for kind in asked.kinds for glob in kinds.globs_of(kind)),
        ignored="--no-ignore" in asked.switches,
    )
    names = walking.files(choice) if asked.paths == ["./"] else iter(asked.paths)
    if asked.task == "--files":
        _print(name.encode(errors="surrogateescape") + b"\0" for name in names)
        return
    search = _search(asked)
    if asked.task == "--json":
        for name in names:
            _print(search.told(name, asked.context))
        return
    for mine in _shared(list(names)):
        _print(search.summed(mine, counted=asked.task != "--files-with-matches"))


def _search(asked: Options) -> _Search:
    has = asked.switches.__contains__
    pattern = compiled(
        asked.pattern,
        fixed=has("--fixed-strings"),
        ignore_case=has("--ignore-case"),
        dotall=has("--multiline-dotall"),
    )
    finder = Finder(pattern, spans=has("--multiline"))
    return _Search(finder, asked.max_bytes, binary=has("--text"), one_break=has("--crlf"))


class _Search(NamedTuple):
    finder: Finder
    max_bytes: int
    binary: bool
    one_break: bool

    def summed(self, names: Iterable[str], *, counted: bool) -> Iterator[bytes]:
        """For each file that matches its name and its count, or its name alone."""
        literal = self.finder.pattern.literal
        for name in names:
            data = self._data(name)
            if not data or (literal and literal not in data):
                continue
            text = self._text(data)
            if counted and (count := self.finder.count(text)):
                yield name.encode(errors="surrogateescape") + b"\0%d\n" % count
            elif not counted and any(True for _ in self.finder.matches(text)):
                yield name.encode(errors="surrogateescape") + b"\0"

    def told(self, name: str, context: int) -> Iterator[bytes]:
        """What `--json` prints of one file."""
        text = self._text(self._data(name))
        for event in events(name, text, self.finder.matches(text), context):
            yield event.encode()

    def _text(self, data: bytes) -> str:
        text = data.decode("utf-8", "surrogateescape")
        return text.replace("\r\n", "\n") if self.one_break and b"\r" in data else text

    def _data(self, name: str) -> bytes:
        """A file's bytes as UTF-8; nothing where it is not text, or cannot be read."""
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as problem:
            _complain(name, problem)
            return b""
        try:
            data = os.read(descriptor, _BLOCK)
            if len(data) == _BLOCK:
                data = self._rest(descriptor, data)
        except OSError as problem:
            _complain(name, problem)
            return b""
        finally:
            os.close(descriptor)
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return data.decode("utf-16", "replace").encode()
        if b"\0" in data and not self.binary:
            return b""
        return data.removeprefix(b"\xef\xbb\xbf")

    def _rest(self, descriptor: int, start: bytes) -> bytes:
        if (b"\0" in start and not self.binary) or os.fstat(descriptor).st_size > self.max_bytes:
            return b""
        with open(descriptor, "rb", closefd=False) as file:
            return start + file.read(self.max_bytes)


def _shared(names: list[str]) -> Iterator[list[str]]:
    """What this process has to look at; for much there are more of it, a part for each."""
    workers = min(_MAX_WORKERS, os.cpu_count() or 1, 1 + len(names) // _WORTH_SHARING)
    children = []
    for number in range(1, workers):
        if (child := os.fork()) == 0:
            yield names[number::workers]
            os._exit(0)
        children.append(child)
    yield names[::workers]
    for child in children:
        os.waitpid(child, 0)


def _print(pieces: Iterable[bytes]) -> None:
    waiting = bytearray()
    for piece in pieces:
        if len(waiting) + len(piece) > _WHOLE_WRITE:
            _write(waiting)
            waiting.clear()
        waiting += piece
    _write(waiting)


def _write(data: bytes | bytearray) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def _complain(name: str, problem: OSError) -> None:
    line = f"rg: {name}: {problem.strerror} (os error {problem.errno})\n"
    os.write(2, line.encode(errors="surrogateescape"))
