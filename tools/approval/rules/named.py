"""What a command names: the paths and the hosts among its words, however they are written.

A word may name a path in many ways: as it is, behind an option's letter or `=`, behind `HEAD:` or `@`, as a pattern
that the shell expands, through a link. So the disk is looked at: a name that leads to what is denied means that.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from tools.bash.reading import UNKNOWN, Invocation

INTERPRETER = re.compile(
    r"(?:ba|z|da|k|fi|c|tc)?sh|(?:python|pypy|perl|ruby|node|nodejs|php|lua|deno|bun|tclsh|osascript|pwsh)[\d.]*"
    r"|[gmn]?awk|source|\."
)
_HOST = re.compile(r"(?:\A|//|@|:)(?:[^\s/@]*@)?(\[[0-9a-f:.]+\]|[a-z0-9-]+(?:\.[a-z0-9-]+)*)(:\d+)?", re.IGNORECASE)
_NETWORK_FILE = re.compile(r"/dev/(?:tcp|udp)/([^/]+)")
_QUOTED = re.compile(r"""'([^'\n]{1,300})'|"([^"\n]{1,300})\"""")
_FILE_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^/]*(/.*)", re.IGNORECASE)
_WILD = re.compile(r"[*?\[{]")
_MARKS = re.compile(r"[=:@]")
_MOST_EXPANDED = 2_000


def paths_named(invocation: Invocation, cwd: Path) -> Iterator[tuple[Path, bool]]:
    """The paths that a program is given, each with whether it is written to by a redirection. Looks at the disk.

    Each comes as it is written and, where links lead elsewhere, as it is.
    """
    base = Path(invocation.cwd) if invocation.cwd is not None else cwd
    for redirection in invocation.redirections:
        if not redirection.operator.endswith("&"):
            for path in _paths((redirection.target.text,), base, expands=redirection.target.expands):
                yield path, redirection.operator != "<"
    for argument in invocation.arguments:
        for path in _paths(_pieces(argument.text), base, expands=argument.expands):
            yield path, False
    for script in scripts_of(invocation):
        for found in _QUOTED.finditer(script):
            for path in _paths((found[1] or found[2],), base, expands=False):
                yield path, False


def places_read(invocation: Invocation, cwd: Path) -> Iterator[Path]:
    """What a program may be given to read, links resolved; of a pattern the directory that is looked through."""
    base = Path(invocation.cwd) if invocation.cwd is not None else cwd
    texts = [piece for argument in invocation.arguments for piece in _pieces(argument.text)]
    texts += [each.target.text for each in invocation.redirections if each.operator == "<"]
    texts += [found[1] or found[2] for script in scripts_of(invocation) for found in _QUOTED.finditer(script)]
    for text in dict.fromkeys(texts):
        known = text.partition(UNKNOWN)[0]
        fixed = _WILD.split(known, maxsplit=1)[0]
        place = fixed if fixed == text else fixed[: fixed.rfind("/") + 1]
        if place and "\0" not in place:
            yield Path(os.path.realpath(base / place))


def hosts_named(invocation: Invocation) -> Iterator[str]:
    """The hosts among a program's words, its variables and what is redirected, with a port where one is written."""
    for redirection in invocation.redirections:
        if found := _NETWORK_FILE.match(redirection.target.text):
            yield found[1]
    words = [argument.text for argument in invocation.arguments]
    words += [value.text for _, value in invocation.assignments]
    for piece in (piece for word in words for piece in _pieces(word)):
        # As the programs read an address: `%2e` is a dot, and a backslash ends a host for some.
        for text in {piece, unquote(piece).replace("\\", "/")}:
            yield from (found[1] + (found[2] or "") for found in _HOST.finditer(text))


def names_in(text: str, base: Path) -> Iterator[Path]:
    """The paths that a text may mean which no shell has read: as it is, as a pattern, in the home, as an address."""
    texts = [*_pieces(text)]
    if found := _FILE_ADDRESS.match(text):
        texts.append(found[1])
    yield from _paths(map(os.path.expanduser, texts), base, expands=True)


def scripts_of(invocation: Invocation) -> Iterator[str]:
    """The texts that a program may run as a script."""
    if INTERPRETER.fullmatch(invocation.program):
        yield from (argument.text for argument in invocation.arguments)
        yield invocation.input.text


def _pieces(text: str) -> Iterator[str]:
    """What of a word may be a name: itself, and what stands behind an option's letter, `=`, `:` or `@`."""
    yield text
    if re.match(r"-[A-Za-z]", text):
        yield text[2:]
    yield from (text[mark.end() :] for mark in islice(_MARKS.finditer(text), 20))


def _paths(texts: Iterable[str], base: Path, *, expands: bool) -> Iterator[Path]:
    for text in dict.fromkeys(map(_as_far_as_known, texts)):
        if not text or "\0" in text:
            continue
        # `..` behind a link leads to where the link leads.
        yield from dict.fromkeys((Path(os.path.normpath(base / text)), Path(os.path.realpath(base / text))))
        if expands:
            for name in islice(_expanded(text, base), _MOST_EXPANDED):
                yield Path(os.path.normpath(base / name))
                yield Path(os.path.realpath(base / name))


def _expanded(text: str, base: Path) -> Iterator[str]:
    """The names that a pattern stands for."""
    place, unknown, _ = text.partition(UNKNOWN)
    # `Path.glob` takes no absolute patterns.
    names = glob.iglob(place, root_dir=base, recursive=True)  # noqa: PTH207
    return (f"{name}{UNKNOWN}" for name in names) if unknown else names


def _as_far_as_known(text: str) -> str:
    """A name with what nobody knows in it: some name in the directory that is known. `a/$X.txt` is in `a`."""
    known, unknown, _ = text.partition(UNKNOWN)
    return f"{known[: known.rfind('/') + 1]}{UNKNOWN}" if unknown else text
