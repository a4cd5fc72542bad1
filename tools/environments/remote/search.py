"""Searches of another machine's files: with its ripgrep, or else with its find and grep."""

from __future__ import annotations

import errno
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from tools.approval.sensitive import why_sensitive
from tools.environments.file_types import globs_of
from tools.environments.remote.connection import FarFacts, Link, Streams
from tools.environments.remote.files import FileCalls
from tools.environments.remote.scripts import new_token, quoted
from tools.environments.ripgrep import SNIFFED_BYTES, Looks, Search, cut_around, spans_lines, wanted_files
from tools.environments.search_process import OutOfTime, Runner
from tools.errors import CommandError, ToolError
from tools.light_dataclass import dataclass
from tools.ports import Interrupt, SearchHit, SearchQuery, SearchResult
from tools.settings import SearchSettings
from tools.text.globs import Wanted

# With find and grep: no ignore files, no lines around a match, ERE at worst.

_LINE = re.compile(r"(.+?):(\d+):(.*)", re.DOTALL)
_FIND = "find {start} -name .git -prune -o -type f -print"
# With Perl's expressions where grep knows them: they are closest to those that the model writes.
_GREP = """m={mode}
[ $m = E ] && echo x | grep -qP x 2>/dev/null && m=P
echo x | grep -$m -e {pattern} >/dev/null || [ $? = 1 ] || exit 2
find {start} -name .git -prune -o -type f -exec grep -nH{case} -$m -e {pattern} {{}} + 2>/dev/null
"""
_MOST_LINES = 20_000


@dataclass(slots=True)
class GrepSearch:
    """One search, as `ripgrep.Search`."""

    query: SearchQuery
    limits: SearchSettings
    runner: Runner
    start: str
    private: tuple[Path, ...]
    one_file: bool
    looks: Looks
    partial: bool = False

    def run(self) -> SearchResult:
        """Search.

        Raises:
            ToolError, ToolInterrupted.
        """
        if self.query.target == "files":
            listed = self._listed()
            globs = [wanted_files(text, lambda: listed) for text in self._globs()]
            return self._names([name for name in listed if all(each.matches(name) for each in globs)])
        if spans_lines(self.query):
            raise ToolError("There is no ripgrep on that machine, so no match may be longer than a line.")
        wanted = [wanted_files(text, self._listed) for text in self._globs()]
        lines = [line for line in self._lines() if self._is_wanted(line[0], wanted)]
        if self.query.output == "content":
            page = lines[self.query.offset : self.query.offset + self.query.limit]
            hits = tuple(
                SearchHit(self._path(name), number, cut_around(text, 0, self.limits.max_line_chars))
                for name, number, text in page
            )
            return self._result(hits, len(lines))
        counts: dict[str, int] = {}
        for name, _, _ in lines:
            counts[name] = counts.get(name, 0) + 1
        names = sorted(counts)[self.query.offset : self.query.offset + self.query.limit]
        return self._result(tuple(SearchHit(self._path(name), count=counts[name]) for name in names), len(counts))

    def _globs(self) -> Iterator[str]:
        if self.query.target == "files":
            yield self.query.pattern
        if self.query.glob and not self.one_file:
            yield self.query.glob

    def _listed(self) -> list[str]:
        return [line.rstrip("\n") for line in self._output(_FIND.format(start=_word(self.start)))]

    def _lines(self) -> list[tuple[str, int, str]]:
        script = _GREP.format(
            mode="F" if self.query.fixed else "E",
            start=_word(self.start),
            case="i" if self.query.ignore_case else "",
            pattern=_word(self.query.pattern),
        )
        found: list[tuple[str, int, str]] = []
        for line in self._output(script):
            read = _LINE.fullmatch(line.rstrip("\n"))
            if read is not None:
                found.append((read[1], int(read[2]), read[3].rstrip("\r")))
            if len(found) >= _MOST_LINES:
                self.partial = True
                break
        return sorted(found, key=lambda line: (line[0], line[1]))

    def _output(self, script: str) -> Iterator[str]:
        self.runner.command = ["sh", "-c", 'shift $(($# - 1)); eval "$1"', "search"]
        try:
            for line in self.runner.run(script):
                yield line.decode(errors="surrogateescape")
        except OutOfTime:
            self.partial = True

    def _is_wanted(self, name: str, wanted: Sequence[Wanted]) -> bool:
        return self._is_kind(name) and all(pattern.matches(name) for pattern in wanted) and self._may_show(name)

    def _names(self, found: list[str]) -> SearchResult:
        found = [name for name in found if self._is_kind(name)]
        names = [name for name in found if self._may_show(name)]
        changed = dict(zip(names, self.looks.modified([self._path(name) for name in names]), strict=False))
        names.sort(key=lambda name: (-changed.get(name, 0), name))
        page = names[self.query.offset : self.query.offset + self.query.limit]
        return self._result(tuple(SearchHit(self._path(name)) for name in page), len(names), len(found) - len(names))

    def _is_kind(self, name: str) -> bool:
        if self.one_file or not self.query.type:
            return True
        try:
            kinds = globs_of(self.query.type)
        except LookupError as problem:
            raise ToolError(f"The file type {self.query.type} is not known; use file_glob, as *.py.") from problem
        return Wanted(kinds).matches(name)

    def _may_show(self, name: str) -> bool:
        if self.one_file:
            return True
        path = self._path(name)
        return not (any(folder in path.parents for folder in self.private) or why_sensitive(Path("/", name)))

    def _path(self, name: str) -> Path:
        return self.runner.folder / name

    def _result(self, hits: tuple[SearchHit, ...], total: int, skipped: int = 0) -> SearchResult:
        return SearchResult(
            hits,
            total,
            truncated=self.query.offset + len(hits) < total,
            skipped=skipped,
            shown=len(hits),
            partial=self.partial,
        )


def _word(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# When this end lets go, its input ends there: then it is killed, for it may search on for long without a word.
_HELD = """cd -P {folder} && [ "$(pwd -P)" = {folder} ] || {{ echo 'the directory is gone' >&2; exit 2; }}
exec 3<&0
{command} </dev/null &
p=$!
{{ cat <&3; kill -KILL $p; }} >/dev/null 2>&1 &
c=$!
wait $p; s=$?
kill $c 2>/dev/null; exit $s
"""


@dataclass(frozen=True, slots=True)
class FarGround:
    """Implements `search_process.Ground` in a directory of another machine."""

    link: Link
    folder: Path

    def popen(self, command: Sequence[str], arguments: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
        """Start it there; of `popen` only `stderr` holds here."""
        words = " ".join(quoted(word) for word in (*command, *arguments))
        complaints: IO[bytes] = popen["stderr"]
        script = _HELD.format(folder=quoted(str(self.folder)), command=words)
        try:
            self.link.footing()
            mark = f"{new_token()}\n"
            process = self.link.machine.start(
                f"printf '%s\\n' {mark}{script}", Streams(subprocess.PIPE, subprocess.PIPE, complaints)
            )
        except CommandError as problem:
            raise OSError(errno.EHOSTUNREACH, str(problem)) from problem
        # What the shell there prints of its own comes first.
        for line in process.stdout or ():
            if line == mark.encode():
                break
        return process


@dataclass(frozen=True, slots=True)
class FarSearch:
    """Searches on the machine of `link`.

    Attributes:
        facts: what the machine is.
        private: directories whose files are never shown.
    """

    link: Link
    calls: FileCalls
    facts: Callable[[], FarFacts]
    limits: SearchSettings
    private: tuple[Path, ...] = ()

    def __call__(self, query: SearchQuery, interrupt: Interrupt | None) -> SearchResult:
        """One page of what `query` finds.

        Raises:
            ToolError: as `ripgrep.search`. ToolInterrupted.
        """
        one_file = self.calls.ask("stat", str(query.path))[0].get("kind") != "directory"
        folder, start = (query.path.parent, f"./{query.path.name}") if one_file else (query.path, "./")
        below = tuple(path for path in self.private if query.path in path.parents)
        runner = Runner(folder, FarGround(self.link, folder), time.monotonic() + self.limits.timeout, interrupt)
        looks = Looks(self._modified, self._start_of)
        if "rg" in self.facts().programs:
            runner.command = ["rg"]
            return Search(query, self.limits, runner, start, below, one_file, looks=looks).run()

        return GrepSearch(query, self.limits, runner, start, below, one_file=one_file, looks=looks).run()

    def _modified(self, paths: Sequence[Path]) -> Sequence[int]:
        if not paths:
            return ()
        told, _ = self.calls.ask(
            "times", "/", b"\0".join(str(path).encode(errors="surrogateescape") for path in paths)
        )
        times: list[int] = told.get("times", [])
        return times

    def _start_of(self, path: Path) -> bytes:
        told, data = self.calls.ask("read", str(path), most=1 << 62, begin=SNIFFED_BYTES)
        if "errno" in told or "refused" in told:
            raise OSError(errno.EIO, told.get("text") or "it cannot be read", str(path))
        return data
