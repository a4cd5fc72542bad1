"""Searches a tree with ripgrep: which files match, in an order that stays, then the lines of one page.

The first run only counts, in parallel over all files, so that totals are true and cost little memory. The second
reads no more than the files that the asked page lies in.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TypeVar

from tools.approval.sensitive import why_sensitive
from tools.environments import rg_arguments as rg
from tools.environments.file_errors import told_as_file_error
from tools.environments.resolved_open import open_resolved
from tools.environments.rg_events import Page, lines_of_page
from tools.environments.rg_near import near_miss
from tools.environments.rg_process import GLOB_HINT, OutOfTime, Runner
from tools.environments.search_ground import held_for_search
from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.os_compat import O_NONBLOCK
from tools.ports import Interrupt, SearchHit, SearchQuery, SearchResult
from tools.settings import SearchSettings
from tools.text.globs import GlobError, Wanted, settled

_T = TypeVar("_T")
_COUNTED = re.compile(rb"([^\0]+)\0(\d+)\r?\n")
# Of the time, so much is kept for reading the page when counting had to be stopped.
_COUNTING_SHARE = 0.8
SNIFFED_BYTES = 1 << 16
_WIDE_TEXT = (b"\xff\xfe", b"\xfe\xff")


def search(
    query: SearchQuery, limits: SearchSettings, interrupt: Interrupt | None = None, private: tuple[Path, ...] = ()
) -> SearchResult:
    """One page of what `query` finds. Content is ordered by path, file names by age, the newest first.

    Files that ask before they are read (keys, credentials) are left out, unless the query names the file itself.

    Args:
        private: directories whose files are never shown.

    Raises:
        ToolError: the pattern is wrong, or nothing was found until the time was over; the path leads elsewhere by
            now. ToolInterrupted.
    """
    # Globs are about the path below the folder that rg runs in.
    one_file = not query.path.is_dir()
    folder, start = (query.path.parent, f"./{query.path.name}") if one_file else (query.path, "./")
    # The path of the query itself was approved: only what lies below it is judged.
    below = tuple(path for path in private if query.path in path.parents)
    with ExitStack() as held:
        with told_as_file_error("search", query.path):
            ground = held.enter_context(held_for_search(query.path, is_file=one_file))
        runner = Runner(folder, ground, time.monotonic() + limits.timeout, interrupt)
        return Search(query, limits, runner, start, below, one_file).run()


def _modified_here(paths: Sequence[Path]) -> Sequence[int]:
    return [_modified(path) for path in paths]


def _start_here(path: Path) -> bytes:
    with os.fdopen(open_resolved(path, os.O_RDONLY | O_NONBLOCK), "rb") as file:
        return file.read(SNIFFED_BYTES)


@dataclass(frozen=True, slots=True)
class Looks:
    """How else the disk is looked at that is searched.

    Attributes:
        modified: when each of several paths has changed, in nanoseconds; 0 for one that is gone.
        start_of: the first `SNIFFED_BYTES` of a file, or a little more; raises OSError.
    """

    modified: Callable[[Sequence[Path]], Sequence[int]] = _modified_here
    start_of: Callable[[Path], bytes] = _start_here


@dataclass(slots=True)
class Search:
    """One search. `start` is what of the runner's folder is searched, `./` or `./NAME`."""

    query: SearchQuery
    limits: SearchSettings
    runner: Runner
    start: str
    private: tuple[Path, ...]
    one_file: bool
    partial: bool = False
    looks: Looks = field(default_factory=Looks)

    def run(self) -> SearchResult:
        """Search.

        Raises:
            ToolError, ToolInterrupted: as in `search`.
        """
        if self.query.target == "files":
            return self._names()
        if self.one_file:
            self._refuse_binary()
        counts = self._counts()
        if self.query.output == "content":
            result = self._lines(counts)
        else:
            page = self._page(list(counts))
            hits = tuple(SearchHit(self._path(name), count=counts[name]) for name in page)
            result = self._result(hits, len(hits), len(counts))
        if result.total:
            return result
        if self.partial:
            raise OutOfTime(
                "The search took too long and was stopped before anything was found. "
                "Name a deeper path or a narrower file_glob."
            )
        near = near_miss(
            self.query, self._globs(), self.start, self.runner, may_show=self._may_show, start_of=self.looks.start_of
        )
        return replace(result, near=near)

    def _names(self) -> SearchResult:
        listed = self._list_files(self._kind() if not self.one_file else ())
        wanted = [wanted_files(text, lambda: listed) for text in (self.query.pattern, self.query.glob) if text]
        found = [name for name in listed if all(pattern.matches(name) for pattern in wanted)]
        names = [name for name in found if self._may_show(name)]
        changed = dict(zip(names, self.looks.modified([self._path(name) for name in names]), strict=False))
        newest_first = sorted(names, key=lambda name: (-changed.get(name, 0), name))
        hits = tuple(SearchHit(self._path(name)) for name in self._page(newest_first))
        return self._result(hits, len(hits), len(names), skipped=len(found) - len(names))

    def _lines(self, counts: Mapping[str, int]) -> SearchResult:
        names, skip = _files_of_page(counts, self.query.offset, self.query.limit)
        total = sum(counts.values())
        if not names:
            return self._result((), 0, total)
        each = rg.spans_lines(self.query)
        page = Page(skip, self.query.limit, max(0, self.query.context), self.limits.max_line_chars, each)
        # Files named one by one are searched in that order when there is one thread.
        arguments = ("--json", "--threads=1", f"--context={page.context}", *rg.pattern(self.query), "--", *names)
        with closing(self.runner.run(*arguments)) as output:
            lines = list(self._in_time(lines_of_page(output, page)))
        hits = tuple(
            SearchHit(self._path(line.name), line.number, line.text, is_match=line.is_match) for line in lines
        )
        return self._result(hits, sum(line.begins for line in lines), total)

    def _counts(self) -> dict[str, int]:
        """Files to the number of their matches, by path.

        How many files were left out is not told: it would answer guesses about what stands in them.
        """
        count = "--count-matches" if rg.spans_lines(self.query) else "--count"
        globs = self._globs()
        narrowed = rg.narrowing(self.query, globs) if not self.one_file else ()
        arguments = (count, "--null", "--with-filename", *narrowed, *rg.everywhere(self.query))
        counting = replace(self.runner, deadline=self._counting_ends())
        output = b"".join(self._in_time(counting.run(*arguments, *rg.pattern(self.query), "--", self.start)))
        self.runner.unreadable = counting.unreadable
        counts = {name.decode(errors="surrogateescape"): int(count) for name, count in _COUNTED.findall(output)}
        names = sorted(self._not_ignored(counts, globs))
        return {name: counts[name] for name in names if self._may_show(name)}

    def _globs(self) -> tuple[str, ...]:
        """What the query's globs mean; a file that it names itself is searched whatever they are."""
        if self.one_file or not self.query.glob:
            return ()
        with glob_errors():
            return tuple(form for glob in settled(self.query.glob, self._list_files) for form in rg.plain(glob))

    def _not_ignored(self, names: Iterable[str], globs: Sequence[str]) -> list[str]:
        # What --glob asks for is found even where .gitignore says no, so it is held against the plain listing.
        if self.one_file or self.query.include_ignored or not rg.overrides(globs):
            return list(names)
        plain = set(self._list_files())
        return [name for name in names if name in plain]

    def _list_files(self, narrowed: Sequence[str] = ()) -> list[str]:
        arguments = ("--files", "--null", *narrowed, *rg.everywhere(self.query), "--", self.start)
        output = b"".join(self._in_time(self.runner.run(*arguments)))
        # Behind the last NUL stands what was cut off.
        return [name.decode(errors="surrogateescape") for name in output.split(b"\0")[:-1]]

    def _kind(self) -> tuple[str, ...]:
        return ("--type", self.query.type) if self.query.type else ()

    def _in_time(self, found: Iterable[_T]) -> Iterator[_T]:
        try:
            yield from found
        except OutOfTime:
            self.partial = True

    def _counting_ends(self) -> float:
        now = time.monotonic()
        return now + (self.runner.deadline - now) * _COUNTING_SHARE

    def _path(self, name: str) -> Path:
        return self.runner.folder / name

    def _refuse_binary(self) -> None:
        path = self.query.path
        try:
            start = self.looks.start_of(path)
        except OSError as problem:
            raise ToolError(f"{path} could not be searched: {problem.strerror}.") from problem
        if b"\0" in start and not start.startswith(_WIDE_TEXT):
            raise ToolError(
                f"{path} is a binary file; only text is searched. Commands may look inside, as strings or xxd."
            )

    def _may_show(self, name: str) -> bool:
        if self.one_file:
            return True  # the query names the file
        if self.private and any(folder in self._path(name).parents for folder in self.private):
            return False
        return not why_sensitive(Path("/", name))

    def _page(self, names: Sequence[str]) -> Sequence[str]:
        return names[self.query.offset : self.query.offset + self.query.limit]

    def _result(self, hits: tuple[SearchHit, ...], shown: int, total: int, skipped: int = 0) -> SearchResult:
        return SearchResult(
            hits,
            total,
            truncated=self.query.offset + shown < total,
            skipped=skipped,
            shown=shown,
            partial=self.partial,
            unreadable=self.runner.unreadable,
        )


def wanted_files(text: str, listed: Callable[[], Iterable[str]]) -> Wanted:
    """Which files some globs mean, where `listed` are there.

    Raises:
        ToolError: one is not well formed.
    """
    with glob_errors():
        return Wanted(settled(text, listed))


@contextmanager
def glob_errors() -> Iterator[None]:
    """Say what is wrong with a glob.

    Raises:
        ToolError: in place of `GlobError`.
    """
    try:
        yield
    except GlobError as problem:
        raise ToolError(f"The search was not understood: {problem}\n{GLOB_HINT}") from problem


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
