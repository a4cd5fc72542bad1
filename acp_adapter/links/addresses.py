"""What a link's address means: a path on this machine, perhaps with lines, or something that is not read."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools.light_dataclass import dataclass

_RANGE = re.compile(r"L(\d{1,9})(?:C\d{1,9})?(?:([-:])L?(\d{1,9})(?:C\d{1,9})?)?", re.IGNORECASE)
_RANGE_AT_END = re.compile(rf"#({_RANGE.pattern})\Z", re.IGNORECASE)
_DRIVE = re.compile(r"/?[A-Za-z]:(?:[/\\]|\Z)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_LOCAL_HOSTS = frozenset({"", "localhost"})

_WINDOWS = (
    "it is a path of Windows, and this agent runs on another system. "
    "Ask the user for the path as this system knows it."
)


class NotLocal(ValueError):
    """The address names nothing that is read here; the message, for the model, says why and what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file or directory of this machine: its path, absolute and without `..`, and the lines that are meant."""

    path: Path
    lines: tuple[int, int] | None = None


def place_of(uri: str) -> Place:
    """Where `uri` leads: a `file:` address, or an absolute path as some clients send them.

    Lines are understood as editors write them after `#`, from 1 and with both ends: `L10`, `L10-20`, `L10-L20`,
    `L10:20`; a second number after `:` that is smaller than the first is a column.

    Raises:
        NotLocal: it is the address of something else, or no address.
    """
    if uri.startswith("/") and not uri.startswith("//"):
        return _from_path(uri)
    if _DRIVE.match(uri) or uri.startswith("\\\\"):
        raise NotLocal(_WINDOWS)
    scheme = _SCHEME.match(uri)
    if scheme is None:
        raise NotLocal("its address is no absolute path. Find the file with search_files(target='files').")
    if scheme[0].lower() == "file:":
        return _from_file_address(uri)
    if scheme[0].lower() in {"http:", "https:"}:
        raise NotLocal(
            "pages of the web are not fetched with a prompt. Ask the user for what it says, if you need it."
        )
    raise NotLocal(
        f"addresses that begin with {scheme[0]} mean something only inside the editor. "
        "Ask the user for the content, if you need it."
    )


def is_elsewhere(uri: str, roots: tuple[Path, ...]) -> bool:
    """Whether `uri` names something that is not below `roots`, whose links are resolved."""
    try:
        path = Path(os.path.realpath(place_of(uri).path))
    except NotLocal:
        return True
    return not any(path == root or root in path.parents for root in roots)


def lines_of(uri: str) -> tuple[int, int] | None:
    """First and last line that `uri` means; None where it names none."""
    found = _RANGE_AT_END.search(uri)
    return None if found is None else _lines(found[1])


def _from_path(text: str) -> Place:
    # No address, so nothing is encoded in it; a `#` may well belong to the name.
    lines = lines_of(text)
    return Place(_path(text.rpartition("#")[0] if lines else text), lines)


def _from_file_address(uri: str) -> Place:
    try:
        parts = urlsplit(uri)
        host = (parts.hostname or "").lower()
    except ValueError as problem:
        raise NotLocal(f"its address is malformed ({problem}). Ask the user for the path.") from problem
    if _DRIVE.match(parts.netloc) or _DRIVE.match(unquote(parts.path)):
        raise NotLocal(_WINDOWS)
    if host not in _LOCAL_HOSTS:
        raise NotLocal(f"it is on another machine ({host}). Ask the user for a copy in the workspace.")
    return Place(_path(unquote(parts.path, errors="surrogateescape")), _lines(parts.fragment))


def _path(text: str) -> Path:
    if "\0" in text:
        raise NotLocal("its path holds a NUL character. Ask the user for the path.")
    if not text.startswith("/"):
        raise NotLocal("its address has no absolute path. Find the file with search_files(target='files').")
    return Path(os.path.normpath("/" + text.lstrip("/")))


def _lines(fragment: str) -> tuple[int, int] | None:
    found = _RANGE.fullmatch(fragment)
    if found is None:
        return None
    first, sign, second = found.groups()
    start = max(int(first), 1)
    if second is None or (sign == ":" and int(second) < start):
        return start, start
    end = max(int(second), 1)
    return min(start, end), max(start, end)
