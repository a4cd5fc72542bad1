"""Reads one rules file, bounded and with care: its text, the files it mentions, and the head of Cursor's rules."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

from tools.environments.atomic_writes import open_resolved
from tools.light_dataclass import dataclass
from tools.os_compat import O_NOCTTY, O_NONBLOCK
from tools.text.encoding import decode, with_escapes
from tools.text.globs import GlobError, split, translate

# Reading is bounded, follows no link that could be put there meanwhile, and never waits for a pipe.

MOST_BYTES = 1024 * 1024
_FLAGS = os.O_RDONLY | O_NONBLOCK | O_NOCTTY


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's text with line feeds at line ends, and where it really is; never blank."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """There is a file, and it is not used. `why` completes «is not used: »."""

    why: str


@dataclass(frozen=True, slots=True)
class Region:
    """What may be read.

    Attributes:
        roots: resolved directories, in which a file must really be.
        refusal: why a resolved path must not be read all the same; '' if it may.
    """

    roots: tuple[Path, ...]
    refusal: Callable[[Path], str] = lambda _: ""

    def holds(self, path: Path) -> bool:
        """Whether a resolved path is in it."""
        return any(path.is_relative_to(root) for root in self.roots)


def read_text(path: Path, region: Region | None = None) -> FileText | Unreadable | None:
    """The text of a file; None where there is no file, or nothing in it. Blocks for one small file.

    Args:
        region: where the file must really be; None: anywhere.
    """
    try:
        real = Path(os.path.realpath(path, strict=True))
    except (OSError, ValueError):
        return None
    if region is not None:
        if not region.holds(real):
            return Unreadable(f"it is outside of the session's directories, at {real}")
        if why := region.refusal(real):
            return Unreadable(f"it {why}")
    try:
        data = _bytes(real)
    except OSError as problem:
        return Unreadable(f"it cannot be read ({problem.strerror})")
    if data is None:
        return None
    if len(data) > MOST_BYTES:
        return Unreadable(f"it has more than {MOST_BYTES // 1024:,} KiB")
    file = decode(data)
    if file is None:
        return Unreadable("it is no text")
    text = with_escapes(file.text).replace("\r\n", "\n")
    return FileText(real, text) if text.strip() else None


def _bytes(real: Path) -> bytes | None:
    """The beginning of a regular file; None for a directory.

    Raises:
        OSError: it cannot be read, or is something else.
    """
    descriptor = open_resolved(real, _FLAGS)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            return None
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is a device, pipe or socket", str(real))
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(MOST_BYTES + 1)
    finally:
        os.close(descriptor)


# Finds `@path` in a rules file: other files that it wants read along. The time grows with the text's length only.

# A part of a path may be in brackets, as the frameworks have it: app/[slug], app/(shop), app/[[...all]].
_BRACKETED = r"(?<=/)(?:\[{1,2}[\w.-]{1,60}\]{1,2}|\([\w.-]{1,60}\)|\{[\w.-]{1,60}\})"
_MENTION = re.compile(rf"(?<![\w@/.`\\+-])@((?:~/|\.{{1,2}}/|/)?~?[\w.-](?:[\w./~+-]|{_BRACKETED}){{0,250}})")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKS = re.compile(r"`+")
_COMMENT = ("<!--", "-->")


def mentions_in(text: str) -> Iterator[str]:
    """The paths, as they are written, in order and each once. What stands in code, or in a comment, is none."""
    seen: set[str] = set()
    for line in _prose("".join(_uncommented(text))):
        for found in _MENTION.finditer(" ".join(_uncoded(line))):
            path = found[1].rstrip(".")
            # A name without a dot or a slash is a person's, as @someone.
            if path not in seen and ("." in path or "/" in path):
                seen.add(path)
                yield path


def _uncommented(text: str) -> Iterator[str]:
    """The pieces outside of comments; one that has no end is none."""
    begin, end = _COMMENT
    place = 0
    while (opened := text.find(begin, place)) >= 0 and (closed := text.find(end, opened + len(begin))) >= 0:
        yield text[place:opened]
        place = closed + len(end)
    yield text[place:]


def _uncoded(line: str) -> Iterator[str]:
    """The pieces of a line outside of code, which ends with as many backticks as it begins with."""
    runs = [found.span() for found in _TICKS.finditer(line)]
    ends: list[int | None] = []
    nearest: dict[int, int] = {}
    for number in reversed(range(len(runs))):
        ticks = runs[number][1] - runs[number][0]
        ends.append(nearest.get(ticks))
        nearest[ticks] = number
    ends.reverse()
    place = number = 0
    while number < len(runs):
        last = ends[number]
        if last is not None:
            yield line[place : runs[number][0]]
            place, number = runs[last][1], last
        number += 1
    yield line[place:]


def _prose(text: str) -> Iterator[str]:
    """The lines outside of code blocks."""
    fence = ""
    for line in text.split("\n"):
        opened = _FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if opened:
            fence = opened[1]
        elif not line.startswith(("    ", "\t")) or line.lstrip().startswith(("-", "*", "@")):
            yield line


# `.cursor/rules/*.mdc`: rules with a head that says when they hold.

FOLDER = ".cursor/rules"
_ENDING = ".mdc"
_MOST_FILES = 200
_MOST_DEPTH = 3
_LONGEST_GLOB = 200
_KEY = re.compile(r"([A-Za-z]\w*)\s*:\s*(.*)")


@dataclass(frozen=True, slots=True)
class CursorRule:
    """A rule's head, and its text below.

    Attributes:
        always: it holds for all work.
        globs: it holds for work on files like these.
        description: what it is about, for who decides whether to read it.
    """

    text: str
    always: bool = False
    globs: tuple[str, ...] = ()
    description: str = ""

    def is_for(self, path: PurePosixPath) -> bool:
        """Whether it holds for work on a file; `path` is relative to the directory that `.cursor` is in."""
        return any(_fits(glob, path) for glob in self.globs)


def parse_rule(text: str) -> CursorRule:
    """A rule as it is written. One without a head always holds. The head need not be valid YAML: few are."""
    lines = text.lstrip("\n").split("\n")
    ends = [number for number, line in enumerate(lines) if line.strip() == "---"][:2]
    if len(ends) < 2 or ends[0] != 0:  # noqa: PLR2004 - one above, one below
        return CursorRule(text.strip(), always=True)
    values = _head(lines[1 : ends[1]])
    return CursorRule(
        "\n".join(lines[ends[1] + 1 :]).strip(),
        always=_plain(values.get("alwaysapply", "")).lower() == "true",
        globs=tuple(_listed(values.get("globs", ""))),
        description=" ".join(_plain(values.get("description", "")).split())[:300],
    )


def has_rules(directory: Path) -> bool:
    """Whether there may be any."""
    return os.path.isdir(f"{directory}/{FOLDER}")  # noqa: PTH112 - never raises


def rule_files(directory: Path) -> list[Path]:
    """The rules' files below `directory`, by name; no links are followed."""
    top = directory / FOLDER
    found: list[Path] = []
    for place, folders, names in os.walk(top):
        folders.sort()
        if len(Path(place).relative_to(top).parts) >= _MOST_DEPTH:
            folders.clear()
        found += (Path(place, name) for name in sorted(names) if name.endswith(_ENDING))
        if len(found) >= _MOST_FILES:
            break
    return found[:_MOST_FILES]


def _head(lines: list[str]) -> dict[str, str]:
    """Keys in lower case; the entries of a list that stand on lines of their own are joined by commas."""
    values: dict[str, str] = {}
    key = ""
    for line in lines:
        if found := _KEY.fullmatch(line.strip()):
            key = found[1].lower()
            values[key] = found[2].strip()
        elif key and line.strip().startswith("-"):
            values[key] = f"{values[key]},{line.strip()[1:].strip()}".lstrip(",")
    return values


def _listed(value: str) -> Iterator[str]:
    """Globs as they are written: with commas, in brackets, quoted or not; a comma in braces is the glob's own."""
    for written in split(value[1:-1] if value.startswith("[") and value.endswith("]") else value):
        if glob := _plain(written):
            yield glob.removeprefix("./")


def _fits(glob: str, path: PurePosixPath) -> bool:
    """Whether a glob means a path; one without a slash is for the name alone. None that is too long does."""
    if len(glob) > _LONGEST_GLOB:
        return False
    text = str(path) if "/" in glob else path.name
    return _compiled(f"{glob}**" if glob.endswith("/") else glob).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _compiled(glob: str) -> re.Pattern[str]:
    """The glob as an expression; what is none as the text that it is."""
    try:
        return re.compile(translate(glob), re.DOTALL)
    except GlobError:
        return re.compile(re.escape(glob))


def _plain(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
