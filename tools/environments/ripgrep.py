"""Programs that search: held to what was asked about, without stdin, ended in time. And a search by ripgrep.

The first run of ripgrep only counts, in parallel over all files, so that totals are true and cost little memory. The
second reads no more than the files that the asked page lies in.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

from tools.approval.sensitive import why_sensitive
from tools.environments.atomic_writes import open_resolved
from tools.environments.child_env import bare_environment
from tools.environments.git import IGNORE_FILES, ignore_files
from tools.environments.guardian import UNSEEN, signal_group
from tools.environments.program_finder import PROGRAMS
from tools.environments.sandbox import kernel
from tools.environments.sandbox.landlock_rules import FileRules
from tools.environments.temp_directories import own_directory
from tools.errors import PatternRejected, ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, SIGKILL
from tools.ports import Interrupt, SearchHit, SearchQuery, SearchResult
from tools.settings import SearchSettings
from tools.text.globs import GlobError, Wanted, settled, spread

# The program and its run.

# The user's own rg settings must not change what a search means.
_ALWAYS = ("--no-config", "--no-ignore-messages", "--hidden", "--no-require-git", "--color=never")
GLOB_HINT = "Globs look like *.py, src/**/*.ts or *.{js,ts}."
_MAX_COMPLAINT_CHARS = 1000
_MAX_COMPLAINT_BYTES = 1 << 20
# A file or directory that could not be opened; what else stands on stderr is about the arguments.
_UNREADABLE = re.compile(r"^(?:rg: \./(?s:.*?)\(os error \d+\)|(?:find|grep): .*)\n?", re.MULTILINE)
_WHY = re.compile(r"^error: (.+)$|^PCRE2: .* at offset \d+: (.+)$", re.MULTILINE)
_GREPS = ("find", "grep", "sed", "tr", "head")


@dataclass(frozen=True, slots=True)
class Program:
    """What searches.

    Attributes:
        words: the command before its arguments.
        probe: arguments with which it tells nothing of an empty directory, and complains of nothing.
        files: programs that it starts itself.
    """

    words: tuple[str, ...]
    probe: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def rg_program() -> Program | None:
    """`rg` next to this interpreter, else on PATH."""
    # The one that came with us: an older one knows fewer types, and reads some expressions in another way.
    beside = Path(sys.executable).parent / "rg"
    found = str(beside) if beside.is_file() else PROGRAMS.find("rg")
    return Program((found,), ("--no-config", "--no-ignore", "--files", "--null", "--", "./")) if found else None


def grep_program() -> Program:
    """A shell, for a script of find and grep."""
    files = (PROGRAMS.find(name, _environment()["PATH"]) for name in _GREPS)
    return Program(("/bin/sh", "-c"), ("find . -type f -exec grep x {} +",), tuple(filter(None, files)))


def _environment() -> dict[str, str]:
    """With the system's own programs on PATH in any case."""
    variables = bare_environment(os.environ)
    return variables | {"PATH": f"{variables.get('PATH', '')}{os.pathsep}{os.defpath}"}


class OutOfTime(ToolError):
    """The deadline came before the search was through; what was found until then was handed out."""


class Ground(Protocol):
    """Where a search runs; `SearchGround` is that of this machine."""

    def popen(self, program: Program, arguments: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
        """Start what searches, as the leader of a process group; raises OSError or ValueError."""
        ...


@dataclass(slots=True)
class Runner:
    """Runs searches in `folder`; none goes on after `deadline`, a `time.monotonic()`.

    Attributes:
        unreadable: files and directories that could not be opened, the most that one run has met.
        program: what searches.
        ground: `folder`, held open, and what may be read in it.
    """

    folder: Path
    ground: Ground
    deadline: float
    program: Program
    interrupt: Interrupt | None = None
    unreadable: int = 0

    def rg(self, *arguments: str) -> Generator[bytes]:
        """As `run`, with the options that every search by ripgrep has."""
        return self.run(*_ALWAYS, *_without_pipes(self.folder), *arguments)

    def run(self, *arguments: str) -> Generator[bytes]:
        """What the program prints, line by line. Closing the iterator early ends the process.

        Raises:
            OutOfTime: the deadline came. ToolInterrupted: the turn is over.
            ToolError: it could not be started, or rejected its pattern.
        """
        if time.monotonic() >= self.deadline:
            raise OutOfTime("There was no time left to search.")
        with tempfile.TemporaryFile() as complaints:
            process = self._start(arguments, complaints)
            late = threading.Event()
            timer = _kill_at(self.deadline, process, late)
            forget = self.interrupt.on_cancel(functools.partial(_kill, process)) if self.interrupt else _nothing
            try:
                if process.stdout is not None:
                    yield from process.stdout
                process.wait()
            finally:
                forget()
                timer.cancel()
                _end(process)
            if self.interrupt is not None and self.interrupt.is_set():
                raise ToolInterrupted
            complaints.seek(0)
            self._heed(complaints.read(_MAX_COMPLAINT_BYTES).decode(errors="replace"))
            if late.is_set():
                raise OutOfTime("The search was stopped when its time was over.")

    def _start(self, arguments: Sequence[str], complaints: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            return self.ground.popen(
                self.program,
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                close_fds=True,
                process_group=0,
                **UNSEEN,
                env=_environment(),
            )
        except (OSError, ValueError) as problem:
            raise ToolError(f"The search in {self.folder} could not be started: {problem}.") from problem

    def _heed(self, complaints: str) -> None:
        rest, count = _UNREADABLE.subn("", complaints)
        self.unreadable = max(self.unreadable, count)
        _raise_if_rejected(rest.strip())


def _without_pipes(folder: Path) -> tuple[str, ...]:
    """The option to pass over ignore files, where one of them is a pipe that nobody writes to."""
    for path in (*(folder / name for name in IGNORE_FILES), *ignore_files(folder)):
        try:
            if not stat.S_ISREG(mode := path.stat().st_mode) and not stat.S_ISDIR(mode):
                return ("--no-ignore",)
        except OSError:
            continue
    return ()


def _kill_at(deadline: float, process: subprocess.Popen[bytes], late: threading.Event) -> threading.Timer:
    def give_up() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), give_up)
    timer.daemon = True
    timer.start()
    return timer


def _kill(process: subprocess.Popen[bytes]) -> None:
    # A shell's programs are in its group.
    if process.poll() is None:
        signal_group(process.pid, SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    _kill(process)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    process.wait()


def _raise_if_rejected(complaint: str) -> None:
    if not complaint:
        return
    hint = (
        "The pattern is a regular expression: set fixed=true to find it as it stands, "
        "or escape ( ) [ ] { } . * + ? ^ $ | \\."
    )
    if "unrecognized file type" in complaint:
        hint = "Known are py, js, ts, rust, go, java, c, cpp, md, json, yaml and more; or use file_glob, as *.py."
    elif "glob" in complaint:
        hint = GLOB_HINT
    elif "not supported" in complaint or "not available" in complaint:
        hint = "Look-around and back-references are not known here: search for less, and choose from what is found."
    told = f"The search was not understood: {complaint[:_MAX_COMPLAINT_CHARS]}\n{hint}"
    if (why := _no_regex(complaint)) is not None:
        raise PatternRejected(told, why)
    raise ToolError(told)


def _no_regex(complaint: str) -> str | None:
    """Why a pattern is no regular expression; None where it may be one that only this engine does not know."""
    if "regex parse error" not in complaint or "not available" in complaint:
        return None
    return next((found[1] or found[2] for found in _WHY.finditer(complaint) if "supported" not in found[0]), "")


def _nothing() -> None:
    """Forget nothing: there was no interrupt to listen to."""


# Where it runs: in a directory that is held open, and nothing outside can be read.
# A name that becomes a link after the look at it would lead the program elsewhere. So its start does not go by names,
# and where the kernel has Landlock, the program's reading ends at that directory (and at system files, for itself).

_NAME_ONLY = getattr(os, "O_PATH", os.O_RDONLY | O_NONBLOCK)
_SYSTEM = (
    "/usr",
    "/bin",
    "/lib",
    "/lib64",
    "/lib32",
    "/etc/ld.so.cache",
    "/dev/null",
    "/sys/fs/cgroup",
    "/nix/store",
)
_ELF = b"\x7fELF"
_READ_FILE, _READ_DIR, _TCP = 1 << 2, 1 << 3, (1 << 0) | (1 << 1)
_NETWORK_SINCE = 4
_PROBE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class SearchGround:
    """Where a search runs.

    Attributes:
        path: of the directory that it starts in.
        folder: descriptor of the directory that it starts in.
        target: descriptor of what it may read: that directory, or one file in it.
    """

    path: Path
    folder: int
    target: int

    def popen(self, program: Program, arguments: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
        """Start it with these arguments in the held directory, as `subprocess.Popen` would.

        Raises:
            OSError, ValueError: it could not be started.
        """
        if not _can_confine(program):
            return subprocess.Popen([*program.words, *arguments], cwd=_start_of(self), **popen)
        return _confined(self, program, arguments, **popen)


@contextmanager
def held_for_search(path: Path, *, is_file: bool) -> Iterator[SearchGround]:
    """Hold what is searched open, so that no link that comes later can take its place.

    Args:
        path: absolute, with no symbolic link in it.

    Raises:
        OSError: as in `open_resolved`.
    """
    kind = 0 if is_file else O_DIRECTORY
    target = open_resolved(path, _NAME_ONLY | O_NOFOLLOW | kind)
    try:
        if not is_file:
            yield SearchGround(path, target, target)
            return
        folder = open_resolved(path.parent, _NAME_ONLY | O_DIRECTORY)
        try:
            yield SearchGround(path.parent, folder, target)
        finally:
            os.close(folder)
    finally:
        os.close(target)


def _start_of(ground: SearchGround) -> str:
    """On Linux a name that leads to the open directory: the new process has the descriptor when it goes there."""
    return f"/proc/self/fd/{ground.folder}" if sys.platform == "linux" else str(ground.path)


def _confined(
    ground: SearchGround, program: Program, arguments: Sequence[str], **popen: Any
) -> subprocess.Popen[bytes]:
    ruleset = _ruleset(ground, program)

    def confine() -> int:
        kernel.give_up_privileges()
        kernel.restrict_thread(ruleset)
        return -1

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen([*program.words, *arguments], cwd=_start_of(ground), **popen)

    try:
        return kernel.start_confined(confine, start)[0]
    finally:
        os.close(ruleset)


def _ruleset(ground: SearchGround, program: Program) -> int:
    version, handled = kernel.landlock_version(), _READ_FILE | _READ_DIR
    ruleset = kernel.create_ruleset(handled, _TCP if version >= _NETWORK_SINCE else 0, 0, version)
    try:
        rules = FileRules(ruleset, handled)
        # The names in the one directory on the way to a file are not read, so they need no rule.
        rules.allow_opened(ground.target, handled)
        own = (os.path.realpath(place) for place in (*_SYSTEM, program.words[0], *program.files))
        # A link in a workspace must not make anything readable: none is followed.
        for place in (*map(Path, own), *ignore_files(ground.path)):
            rules.allow(place, handled)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


@functools.lru_cache(maxsize=8)
def _can_confine(program: Program) -> bool:
    """Whether the program works so, found out by use. A script may read whatever it likes, and is only held."""
    if sys.platform != "linux":
        return False
    try:
        with open(program.words[0], "rb") as start:  # noqa: PTH123 - plain and quick
            if start.read(len(_ELF)) != _ELF or not kernel.landlock_version():
                return False
        with (
            own_directory("hermes-search-") as empty,
            held_for_search(empty, is_file=False) as ground,
            _confined(
                ground,
                program,
                program.probe,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=_environment(),
            ) as tried,
        ):
            complaint = tried.communicate(timeout=_PROBE_SECONDS)[1]
    except (OSError, subprocess.SubprocessError):
        return False
    # 1: it went well, and there was nothing.
    return tried.returncode in {0, 1} and not complaint


# What a query means in options of `rg`.

_NO_GIT = ("--glob", "!.git")
# A line break, or an escape for one.
_LINE_BREAK = re.compile(r"\n|(?<!\\)(?:\\\\)*\\n")
_CARRIAGE_RETURN = re.compile(r"\r|(?<!\\)(?:\\\\)*\\r")
# A search across lines needs the whole file in memory.
_WHOLE_FILES = ("--multiline", "--max-filesize=64M")
# `\n` outside of [ ] stands for the break of either kind of line.
_PIECES = re.compile(r"\\n|\n|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|.", re.DOTALL)
_EITHER_BREAK = r"(?:\r?\n)"


def spans_lines(query: SearchQuery) -> bool:
    """Whether a match may be longer than a line: asked for, or the pattern holds a line break."""
    text = "\n" in query.pattern if query.fixed else _LINE_BREAK.search(query.pattern) is not None
    return query.multiline or text


def pattern(query: SearchQuery) -> tuple[str, ...]:
    """The pattern, and how it is meant."""
    spans = spans_lines(query)
    names_return = "\r" in query.pattern if query.fixed else _CARRIAGE_RETURN.search(query.pattern) is not None
    text, fixed = query.pattern, query.fixed
    if spans and not names_return:
        text, fixed = (_regex_of(text) if fixed else _breaks_of_either_kind(text)), False
    options = ["--engine=auto", "--regexp", text]
    if not names_return:
        options.append("--crlf")
    if fixed:
        options.append("--fixed-strings")
    if query.ignore_case:
        options.append("--ignore-case")
    if spans:
        options.extend(_WHOLE_FILES)
    if query.multiline:
        options.append("--multiline-dotall")
    return tuple(options)


def everywhere(query: SearchQuery) -> tuple[str, ...]:
    """Which files are looked at, whatever the pattern."""
    return ("--no-ignore", *_NO_GIT) if query.include_ignored else _NO_GIT


def narrowing(query: SearchQuery, globs: Sequence[str]) -> tuple[str, ...]:
    """Only files of a type, or with one of the globs."""
    kind = ("--type", query.type) if query.type else ()
    return (*kind, *(word for glob in globs for word in ("--glob", glob)))


def plain(glob: str) -> list[str]:
    """The same for `rg` without braces, of which it passes over empty choices, and without a `#` that begins a note.

    Raises:
        GlobError
    """
    excludes, bare = glob.startswith("!"), glob.removeprefix("!")
    # Of `{a/b,c}` neither is meant at any depth.
    root = "/" if "/" in bare.removesuffix("/") else ""
    forms = [root * ("/" not in form.removesuffix("/")) + form for form in spread(bare) if form]
    return [f"!{form}" if excludes else re.sub(r"\A#", r"\#", form) for form in forms]


def overrides(globs: Sequence[str]) -> bool:
    """Whether the globs bring back what is ignored: those that exclude do not."""
    return not all(glob.startswith("!") for glob in globs)


def _breaks_of_either_kind(regex: str) -> str:
    return _PIECES.sub(lambda piece: _EITHER_BREAK if piece[0] in {"\n", r"\n"} else piece[0], regex)


def _regex_of(text: str) -> str:
    return _EITHER_BREAK.join(re.sub(r"[\\.+*?()|\[\]{}^$#&~-]", r"\\\g<0>", line) for line in text.split("\n"))


# What `rg --json` prints: the matches of one page, as lines, with the lines around them.

# A match that spans more lines than this is cut short.
_MAX_LINES_OF_MATCH = 40


@dataclass(frozen=True, slots=True)
class Line:
    """A line (1-based) of the file `name`.

    `is_match` False marks a line that only stands beside a match. `begins`: how many matches begin in it.
    """

    name: str
    number: int
    text: str
    is_match: bool = False
    begins: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """Which matches are wanted: `limit` after the first `skip`, with up to `context` lines on both sides.

    `each`: every place that matches counts, and not the line that it is in. Longer lines are cut to `max_chars`.
    """

    skip: int
    limit: int
    context: int
    max_chars: int
    each: bool = False


def lines_of_page(output: Iterable[bytes], page: Page) -> Iterator[Line]:
    """The lines of the page, in the order of the output; ends as soon as nothing more can belong to it."""
    passed = 0
    end = page.skip + page.limit
    before: list[Line] = []
    last = 0
    for event in map(json.loads, output):
        if event["type"] not in {"match", "context"}:
            if passed >= end and event["type"] == "end":
                return
            before, last = [], 0
            continue
        lines, passed = _lines(event, page, passed)
        to_come = max((line.number for line in lines if line.is_match), default=0)
        for line in lines:
            if line.is_match:
                yield from (near for near in before if near.number >= line.number - page.context)
                yield line
                before, last = [], line.number
            elif last and line.number <= last + page.context:
                yield line
            elif passed >= end and line.number > to_come:
                return
            else:
                before.append(line)
                del before[: -page.context or None]


def _lines(event: dict[str, Any], page: Page, passed: int) -> tuple[list[Line], int]:
    """The lines of an event, and how many matches have passed after it."""
    data = event["data"]
    raw = _bytes(data["lines"])
    name = _bytes(data["path"]).decode(errors="surrogateescape")
    pieces = raw.removesuffix(b"\n").split(b"\n")
    spans = [(match["start"], match["end"]) for match in data["submatches"]] if event["type"] == "match" else []
    if not page.each:
        spans = spans[:1] or ([(0, 0)] if event["type"] == "match" else [])
    first = max(0, page.skip - passed)
    wanted = spans[first : max(first, page.skip + page.limit - passed)]
    lines: list[Line] = []
    at = 0
    since = 0
    for number, piece in enumerate(pieces, data["line_number"]):
        end = at + len(piece)
        here = [span for span in wanted if span[0] <= end and (span[1] > at or span[0] >= at)]
        begins = sum(span[0] >= at for span in here)
        since = 0 if begins else since + 1
        if here and since >= _MAX_LINES_OF_MATCH:
            at = end + 1
            continue
        start = max(0, here[0][0] - at) if here else 0
        text = piece.decode(errors="replace").rstrip("\r")
        column = len(piece[:start].decode(errors="replace"))
        lines.append(Line(name, number, cut_around(text, column, page.max_chars), bool(here), begins))
        at = end + 1
    return lines, passed + len(spans)


def _bytes(value: dict[str, str]) -> bytes:
    # Text that is not UTF-8 comes in base64.
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])


def cut_around(text: str, at: int, max_chars: int) -> str:
    """`text`, or where it is longer than `max_chars` the part around position `at`, with `…` at the cuts."""
    if len(text) <= max_chars:
        return text
    start = max(0, min(at - max_chars // 3, len(text) - max_chars))
    end = start + max_chars
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


# The search.

_T = TypeVar("_T")
_COUNTED = re.compile(rb"([^\0]+)\0(\d+)\r?\n")
# Of the time, so much is kept for reading the page when counting had to be stopped.
_COUNTING_SHARE = 0.8
SNIFFED_BYTES = 1 << 16
_WIDE_TEXT = (b"\xff\xfe", b"\xfe\xff")


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
            ToolError: the pattern is wrong, or nothing was found until the time was over. ToolInterrupted.
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
        if not result.total:
            self._heed_time()
        return result

    def _heed_time(self) -> None:
        """Nothing was found: that says something only where there was time for all of it."""
        if self.partial:
            raise OutOfTime(
                "The search took too long and was stopped before anything was found. "
                "Name a deeper path or a narrower file_glob."
            )

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
        each = spans_lines(self.query)
        page = Page(skip, self.query.limit, max(0, self.query.context), self.limits.max_line_chars, each)
        # Files named one by one are searched in that order when there is one thread.
        arguments = ("--json", "--threads=1", f"--context={page.context}", *pattern(self.query), "--", *names)
        with closing(self.runner.rg(*arguments)) as output:
            lines = list(self._in_time(lines_of_page(output, page)))
        hits = tuple(
            SearchHit(self._path(line.name), line.number, line.text, is_match=line.is_match) for line in lines
        )
        return self._result(hits, sum(line.begins for line in lines), total)

    def _counts(self) -> dict[str, int]:
        """Files to the number of their matches, by path.

        How many files were left out is not told: it would answer guesses about what stands in them.
        """
        count = "--count-matches" if spans_lines(self.query) else "--count"
        globs = self._globs()
        narrowed = narrowing(self.query, globs) if not self.one_file else ()
        arguments = (count, "--null", "--with-filename", *narrowed, *everywhere(self.query))
        counting = replace(self.runner, deadline=self._counting_ends())
        output = b"".join(self._in_time(counting.rg(*arguments, *pattern(self.query), "--", self.start)))
        self.runner.unreadable = counting.unreadable
        counts = {name.decode(errors="surrogateescape"): int(count) for name, count in _COUNTED.findall(output)}
        names = sorted(self._not_ignored(counts, globs))
        return {name: counts[name] for name in names if self._may_show(name)}

    def _globs(self) -> tuple[str, ...]:
        """What the query's globs mean; a file that it names itself is searched whatever they are."""
        if self.one_file or not self.query.glob:
            return ()
        with glob_errors():
            return tuple(form for glob in settled(self.query.glob, self._list_files) for form in plain(glob))

    def _not_ignored(self, names: Iterable[str], globs: Sequence[str]) -> list[str]:
        # What --glob asks for is found even where .gitignore says no, so it is held against the plain listing.
        if self.one_file or self.query.include_ignored or not overrides(globs):
            return list(names)
        plain = set(self._list_files())
        return [name for name in names if name in plain]

    def _list_files(self, narrowed: Sequence[str] = ()) -> list[str]:
        arguments = ("--files", "--null", *narrowed, *everywhere(self.query), "--", self.start)
        output = b"".join(self._in_time(self.runner.rg(*arguments)))
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
