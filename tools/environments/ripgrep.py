"""Searches a tree with ripgrep: which files match, in an order that stays, then the lines of one page.

The first run only counts, in parallel over all files, so that totals are true and cost little memory. The second
reads no more than the files that the asked page lies in.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tools.approval.sensitive import why_sensitive
from tools.context import Interrupt, SearchHit, SearchQuery, SearchResult
from tools.environments.rg_events import matching_lines
from tools.environments.rg_process import run_rg
from tools.errors import ToolError
from tools.settings import SearchSettings

_COUNTED = re.compile(rb"([^\0]+)\0(\d+)\n")
# A line break, or an escape for one: it would match nothing, without a word.
_LINE_BREAK = re.compile(r"\n|(?<!\\)(?:\\\\)*\\n")
_NO_GIT = ("--glob", "!.git")


def search(
    query: SearchQuery, limits: SearchSettings, interrupt: Interrupt | None = None, private: tuple[Path, ...] = ()
) -> SearchResult:
    """One page of what `query` finds. Content is ordered by path, file names by age, the newest first.

    Files that ask before they are read (keys, credentials) are left out, unless the query names the file itself.

    Args:
        private: directories whose files are never shown.

    Raises:
        ToolError: the pattern is wrong, `rg` is missing or took too long. ToolInterrupted.
    """
    # Globs are about the path below the folder that rg runs in.
    folder, start = (query.path, "./") if query.path.is_dir() else (query.path.parent, f"./{query.path.name}")
    # The path of the query itself was approved: only what lies below it is judged.
    below = tuple(path for path in private if query.path in path.parents)
    return _Search(query, limits, time.monotonic() + limits.timeout, interrupt, folder, start, below).run()


@dataclass(frozen=True, slots=True)
class _Search:
    query: SearchQuery
    limits: SearchSettings
    deadline: float
    interrupt: Interrupt | None
    folder: Path
    start: str
    private: tuple[Path, ...]

    def run(self) -> SearchResult:
        if self.query.target == "files":
            return self._names()
        if _LINE_BREAK.search(self.query.pattern):
            raise ToolError("A search looks at one line at a time: search for one line of the text, without \\n.")
        counts = self._counts()
        if self.query.output != "content":
            page = self._page(list(counts))
            hits = tuple(SearchHit(self._path(name), count=counts[name]) for name in page)
            return self._result(hits, len(hits), len(counts))
        return self._lines(counts)

    def _names(self) -> SearchResult:
        found = self._listed("--glob", self.query.pattern, *_glob_arguments(self.query.glob))
        names = [name for name in found if self._may_show(name)]
        newest_first = sorted(names, key=lambda name: (-_modified(self._path(name)), name))
        hits = tuple(SearchHit(self._path(name)) for name in self._page(newest_first))
        return self._result(hits, len(hits), len(names), skipped=len(found) - len(names))

    def _lines(self, counts: Mapping[str, int]) -> SearchResult:
        names, skip = _files_of_page(counts, self.query.offset, self.query.limit)
        total = sum(counts.values())
        if not names:
            return self._result((), 0, total)
        context = max(0, self.query.context)
        # Files named one by one are searched in that order when there is one thread.
        arguments = ("--json", "--threads=1", f"--context={context}", *self._pattern(), "--", *names)
        with closing(self._rg(*arguments)) as output:
            lines = list(matching_lines(output, skip, self.query.limit, context, self.limits.max_line_chars))
        hits = tuple(
            SearchHit(self._path(line.name), line.number, line.text, is_match=line.is_match) for line in lines
        )
        return self._result(hits, sum(hit.is_match for hit in hits), total)

    def _counts(self) -> dict[str, int]:
        """Files to the number of their matching lines, by path.

        How many files were left out is not told: it would answer guesses about what stands in them.
        """
        arguments = ("--count", "--null", "--with-filename", *_glob_arguments(self.query.glob), *_NO_GIT)
        output = b"".join(self._rg(*arguments, *self._pattern(), "--", self.start))
        counts = {name.decode(errors="surrogateescape"): int(count) for name, count in _COUNTED.findall(output)}
        names = sorted(self._not_ignored(counts) if self.query.glob else counts)
        return {name: counts[name] for name in names if self._may_show(name)}

    def _listed(self, *arguments: str) -> list[str]:
        return self._not_ignored(self._list_files(*arguments))

    def _not_ignored(self, names: Mapping[str, int] | Sequence[str]) -> list[str]:
        # What --glob asks for is found even where .gitignore says no, so it is held against the plain listing.
        plain = set(self._list_files())
        return [name for name in names if name in plain]

    def _list_files(self, *arguments: str) -> list[str]:
        output = b"".join(self._rg("--files", "--null", *arguments, *_NO_GIT, "--", self.start))
        return [name.decode(errors="surrogateescape") for name in output.split(b"\0") if name]

    def _rg(self, *arguments: str) -> Generator[bytes]:
        return run_rg(arguments, self.folder, self.deadline, self.interrupt)

    def _pattern(self) -> tuple[str, ...]:
        return ("--engine=auto", "--regexp", self.query.pattern)

    def _path(self, name: str) -> Path:
        return self.folder / name

    def _may_show(self, name: str) -> bool:
        if self.folder != self.query.path:
            return True  # the query names the file
        if self.private and any(folder in self._path(name).parents for folder in self.private):
            return False
        return not why_sensitive(Path("/", name))

    def _page(self, names: Sequence[str]) -> Sequence[str]:
        return names[self.query.offset : self.query.offset + self.query.limit]

    def _result(self, hits: tuple[SearchHit, ...], shown: int, total: int, skipped: int = 0) -> SearchResult:
        return SearchResult(hits, total, truncated=self.query.offset + shown < total, skipped=skipped)


def _glob_arguments(glob: str | None) -> tuple[str, ...]:
    return ("--glob", glob) if glob else ()


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0  # gone since it was listed


def _files_of_page(counts: Mapping[str, int], offset: int, limit: int) -> tuple[list[str], int]:
    """The files that matches `offset` … `offset + limit` lie in, and how many matches of the first to skip."""
    names: list[str] = []
    before = skip = 0
    for name, count in counts.items():
        if before >= offset + limit:
            break
        if before + count > offset:
            if not names:
                skip = offset - before
            names.append(name)
        before += count
    return names, skip
