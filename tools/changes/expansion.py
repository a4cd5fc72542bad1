"""What the words of a command stand for, as far as that can be known without running anything."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from fnmatch import translate

from tools.changes.disk_view import DiskView
from tools.changes.shell_syntax import Word
from tools.light_dataclass import dataclass

_SPECIAL = "*?[]{},~"
# Quoted special characters are carried as private ones, so that each step leaves them alone.
_HIDE = {ord(char): 0xF0000 + ord(char) for char in _SPECIAL}
_SHOW = {hidden: plain for plain, hidden in _HIDE.items()}
_GLOB = re.compile(r"[*?\[]")
_INNERMOST_BRACES = re.compile(r"\{([^{}]*)\}")
_NUMBER_RANGE = re.compile(r"(-?\d{1,6})\.\.(-?\d{1,6})", re.ASCII)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=", re.ASCII)
_MAX_FIELDS = 1_000
_MAX_BRACED = 200
_MAX_PATTERN = 500
_MAX_VALUES = 200
_MAX_CHARS = 4096


@dataclass(slots=True)
class Surroundings:
    """What a shell knows when it comes to a command.

    Attributes:
        cwd: its directory, None where that cannot be known.
        variables: what each known variable may hold; one that is missing holds nobody knows what.
        disk: where globs are looked up.
    """

    cwd: str | None
    disk: DiskView
    variables: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def copy(self) -> Surroundings:
        """The same for a subshell: what it changes is not seen outside."""
        return Surroundings(self.cwd, self.disk, dict(self.variables))

    def absolute(self, path: str) -> str | None:
        """`path` from the root of the disk, None where that cannot be known."""
        if path.startswith("/"):
            return path
        return None if self.cwd is None or not path else f"{self.cwd.rstrip('/')}/{path}"


def starting(cwd: str, environment: Mapping[str, str], disk: DiskView) -> Surroundings:
    """What a new shell knows."""
    known: dict[str, tuple[str, ...]] = {"PWD": (cwd,)}
    if home := environment.get("HOME"):
        known["HOME"] = (home,)
    return Surroundings(cwd, disk, known)


def expanded(word: Word, around: Surroundings) -> tuple[str | None, ...]:
    """The arguments that a word becomes; None for one that cannot be known."""
    values = None if around.disk.is_spent() else _values(word, around)
    if values is None:
        return (None,)
    if any(len(value) > _MAX_CHARS for value in values):
        return tuple(value.translate(_SHOW) for value in values)
    braced = itertools.chain.from_iterable(_braced(value) for value in values)
    fields = itertools.chain.from_iterable(_globbed(_with_home(text, around), around) for text in braced)
    return tuple(text.translate(_SHOW) for text in itertools.islice(fields, _MAX_FIELDS))


def all_expanded(words: Iterable[Word], around: Surroundings) -> tuple[str | None, ...]:
    """The arguments that many words become, at most a thousand."""
    fields = itertools.chain.from_iterable(expanded(word, around) for word in words)
    return tuple(itertools.islice(fields, _MAX_FIELDS))


def assigned(word: Word, around: Surroundings) -> tuple[str, tuple[str, ...] | None] | None:
    """The name and value of `name=value`; the value is None where it cannot be known. None for other words."""
    first = word.parts[0] if word.parts else None
    if first is None or first.quoted or first.kind != "text":
        return None
    name = _ASSIGNMENT.match(first.text)
    if name is None:
        return None
    if name[0].endswith("+="):
        return name[1], None
    values = _values(word, around)
    if values is None:
        return name[1], None
    return name[1], tuple(_with_home(value[name.end() :], around).translate(_SHOW) for value in values)


def _values(word: Word, around: Surroundings) -> list[str] | None:
    """The word with its variables filled in, once for each value that they may have."""
    found = [""]
    for part in word.parts:
        if part.kind == "unknown":
            return None
        if part.kind == "text":
            pieces: tuple[str, ...] = (part.text.translate(_HIDE) if part.quoted else part.text,)
        else:
            values = around.variables.get(part.text)
            if values is None:
                return None
            pieces = tuple(_split(values)) if len(word.parts) == 1 and not part.quoted else values
            pieces = tuple(piece.translate(_HIDE) if part.quoted else _hide_braces(piece) for piece in pieces)
        found = [text + piece for text, piece in itertools.islice(itertools.product(found, pieces), _MAX_VALUES)]
        if part.kind == "variable" and any(len(text) > _MAX_CHARS for text in found):
            return None
    return found


def _split(values: tuple[str, ...]) -> Iterator[str]:
    for value in values:
        yield from value.split()


def _hide_braces(text: str) -> str:
    return text.translate({ord(char): _HIDE[ord(char)] for char in "{},~"})


def _with_home(text: str, around: Surroundings) -> str:
    if text != "~" and not text.startswith("~/"):
        return text
    home = around.variables.get("HOME")
    return home[0].translate(_HIDE) + text[1:] if home else text


def _braced(text: str) -> list[str]:
    """`a{b,c}` as `ab`, `ac`; innermost first, which gives the same words in another order."""
    done: list[str] = []
    waiting = [text]
    steps = 0
    while waiting and steps < _MAX_BRACED:
        steps += 1
        current = waiting.pop()
        found = _INNERMOST_BRACES.search(current)
        if found is None:
            done.append(current)
            continue
        head, tail = current[: found.start()], current[found.end() :]
        waiting.extend(f"{head}{choice}{tail}" for choice in _choices(found[1])[:_MAX_BRACED])
    return [*done, *waiting][:_MAX_BRACED]


def _choices(inside: str) -> list[str]:
    if numbers := _NUMBER_RANGE.fullmatch(inside):
        first, last = int(numbers[1]), int(numbers[2])
        step = 1 if first <= last else -1
        return [str(number) for number in itertools.islice(range(first, last + step, step), _MAX_BRACED)]
    if "," in inside:
        return inside.split(",")
    return [f"{{{inside}}}".translate({ord(char): _HIDE[ord(char)] for char in "{}"})]


def _globbed(text: str, around: Surroundings) -> Iterator[str]:
    """The paths that match, or the text itself where it is no pattern or nothing matches."""
    if not _GLOB.search(text) or len(text) > _MAX_PATTERN:
        yield text
        return
    start = "/" if text.startswith("/") else ""
    paths = [start]
    for component in re.split(r"/+", text.strip("/")):
        paths = list(itertools.islice(_matching(paths, component, around), _MAX_FIELDS))
    yield from sorted(path.translate(_HIDE) for path in paths) or [text]


def _matching(folders: list[str], component: str, around: Surroundings) -> Iterator[str]:
    if not _GLOB.search(component):
        for folder in folders:
            path = folder + component.translate(_SHOW)
            if (where := around.absolute(path)) and around.disk.exists(where):
                yield f"{path}/" if around.disk.is_directory(where) else path
        return
    pattern = re.compile(translate(component.replace("[^", "[!").translate(_SHOW_FOR_PATTERN)))
    for folder in folders:
        where = around.absolute(folder or ".")
        for entry in around.disk.entries(where) if where else ():
            if pattern.match(entry.name) and (component[0] == "." or not entry.name.startswith(".")):
                yield f"{folder}{entry.name}/" if around.disk.is_directory(entry.path) else folder + entry.name


_SHOW_FOR_PATTERN = {
    hidden: f"[{chr(plain)}]" if chr(plain) in "*?[" else chr(plain) for plain, hidden in _HIDE.items()
}
