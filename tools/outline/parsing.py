"""Outlines of source files: definitions and references by tree-sitter, kept between calls."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tools.context import ToolContext
from tools.errors import Denied, FileAccessError, ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.outline.languages import TONGUES, Grammar, Tongue, grammar, is_installed, tongue_of, tree_of
from tools.ports import SearchQuery

if TYPE_CHECKING:
    from tree_sitter import Node

log = logging.getLogger(__name__)


# What is known of one source file, and its form in the cache.

Kind = Literal["class", "function", "method", "type", "value", "impl"]

KINDS: tuple[Kind, ...] = ("class", "function", "method", "type", "value", "impl")


class BadOutline(ValueError):
    """Stored bytes are no outline."""


@dataclass(frozen=True, slots=True)
class Definition:
    """Something that a file defines.

    Attributes:
        line: counts from 1.
        parent: the index, among the file's definitions, of the one that it stands in; -1 at the top level.
        signature: its first line as written, without the body.
    """

    name: str
    kind: Kind
    line: int
    parent: int
    signature: str


@dataclass(frozen=True, slots=True)
class Outline:
    """What one file is made of.

    Attributes:
        definitions: in the order of the text.
        references: how often it refers to a name as such; members: to a name of something, as in `thing.name`.
    """

    definitions: tuple[Definition, ...] = ()
    references: Mapping[str, int] = field(default_factory=dict)
    members: Mapping[str, int] = field(default_factory=dict)

    def is_member(self, definition: Definition) -> bool:
        """Whether others refer to it through what it belongs to."""
        if definition.kind == "method":
            return True
        return definition.parent >= 0 and definition.kind not in {"class", "type", "impl"}

    def packed(self) -> bytes:
        """The outline as bytes, for `unpacked`."""
        rows = [(d.name, KINDS.index(d.kind), d.line, d.parent, d.signature) for d in self.definitions]
        stored = [rows, dict(self.references), dict(self.members)]
        return zlib.compress(json.dumps(stored, separators=(",", ":")).encode(), 1)


def unpacked(data: bytes) -> Outline:
    """What `Outline.packed` made.

    Raises:
        BadOutline: it is something else.
    """
    try:
        rows, *counted = json.loads(zlib.decompress(data))
        definitions = tuple(
            Definition(str(name), KINDS[kind], int(line), int(parent), str(signature))
            for name, kind, line, parent, signature in rows
        )
        references, members = ({str(name): int(count) for name, count in counts.items()} for counts in counted)
    except (zlib.error, ValueError, TypeError, IndexError, AttributeError) as problem:
        raise BadOutline(f"not an outline: {problem}") from problem
    if any(not -1 <= definition.parent < index for index, definition in enumerate(definitions)):
        raise BadOutline("a definition stands in one that comes after it")
    return Outline(definitions, references, members)


# Makes the outline of one file's bytes.

_MAX_SIGNATURE = 110
_MAX_NAME = 100
_MAX_DEFINITIONS = 2000
_MAX_LINE = 300
_SNIFFED = 8192
_HOLDERS = ("value", "right", "type")
_BRACED = frozenset({"field_declaration_list", "method_elem", "object_type"})
_MAX_VALUE = 70
_KIND: Mapping[str, Kind] = {kind: kind for kind in KINDS}
_IMPORT = re.compile(rb"= *(?:await )?(?:require|import)\(")
_ANNOTATIONS = re.compile(r"^(?:@[\w.]+(?:\([^)]*\))? )+")
_AFTER_BRACKET = re.compile(r"(?<=[(\[])\s+|,?\s+(?=[)\]])")


class Stopped(Exception):
    """The parsing was given up."""


@dataclass(frozen=True, slots=True)
class _Found:
    node: Node
    name: Node
    kind: Kind | None  # None: a namespace, which is not shown

    def order(self) -> tuple[int, int, int]:
        """What is outside comes first; of two kinds of the same, the one that says more."""
        return self.node.start_byte, -self.node.end_byte, KINDS.index(self.kind) if self.kind else 0


def is_source(data: bytes) -> bool:
    """Whether somebody wrote it to be read: no binary, and not squeezed into a few lines."""
    return b"\0" not in data[:_SNIFFED] and len(data) / (data.count(b"\n") + 1) < _MAX_LINE


def outline_of(data: bytes, grammar: Grammar, stop: Callable[[], bool]) -> Outline:
    """The outline of a file.

    Args:
        data: its bytes; UTF-8, or something near it.
        stop: looked at between pieces of the text.

    Raises:
        Stopped: `stop` said so.
    """
    from tree_sitter import QueryCursor  # noqa: PLC0415 - most calls find everything in the cache

    tree = tree_of(grammar.language, data, stop)
    if tree is None:
        raise Stopped
    root = tree.root_node
    matches = QueryCursor(grammar.definitions).matches(root)
    definitions = _definitions(data, (_found(captures) for _, captures in matches))
    referred = QueryCursor(grammar.references).captures(root)
    references, members = (_counted(data, referred.get(kind, ())) for kind in ("reference", "member"))
    return Outline(definitions, references, members)


def _found(captures: dict[str, list[Node]]) -> _Found:
    name = captures.pop("name")[0]
    ((kind, nodes),) = captures.items()
    return _Found(nodes[0], name, _KIND.get(kind))


def _definitions(data: bytes, found: Iterable[_Found]) -> tuple[Definition, ...]:
    """In the order of the text, without those inside functions: nobody can refer to them from elsewhere."""
    definitions: list[Definition] = []
    around: list[tuple[int, int]] = []  # where each one that we are in ends, and its index
    begun = set[int]()
    for each in sorted(found, key=_Found.order):
        start, end = each.node.start_byte, each.node.end_byte
        while around and around[-1][0] <= start:
            around.pop()
        parent = around[-1][1] if around else -1
        is_local = parent >= 0 and definitions[parent].kind not in {"class", "impl"}
        if each.kind is None or is_local or each.name.start_byte in begun or len(definitions) >= _MAX_DEFINITIONS:
            continue
        if each.kind == "value" and _IMPORT.search(data, start, end):
            continue
        begun.add(each.name.start_byte)  # two patterns may find the same
        around.append((end, len(definitions)))
        name = _text(data[each.name.start_byte : each.name.end_byte])[:_MAX_NAME]
        line = each.name.start_point[0] + 1
        signature = _signature(data, each.node, name, each.kind)
        definitions.append(Definition(name, each.kind, line, parent, signature))
    return tuple(definitions)


def _counted(data: bytes, nodes: Iterable[Node]) -> dict[str, int]:
    # Asking a node for its text costs several times as much.
    counts = Counter(data[node.start_byte : node.end_byte] for node in nodes)
    return {_text(name): count for name, count in counts.items() if len(name) <= _MAX_NAME}


def _signature(data: bytes, node: Node, name: str, kind: Kind) -> str:
    """What stands before the body, on one line; of what has none its beginning."""
    start = node.start_byte
    text = _text(data[start : min(_head_end(node), start + 4 * _MAX_SIGNATURE)])
    line = _ANNOTATIONS.sub("", _AFTER_BRACKET.sub("", " ".join(text.split())))
    if kind == "function":
        line = line.partition(" {")[0]
    line = line.rstrip("{:;(, ")
    if not line.endswith("=>"):
        line = line.rstrip("= ")
    most = _MAX_VALUE if kind == "value" else _MAX_SIGNATURE
    if len(line) > most:
        line = f"{line[: most - 1]}…"
    return line if name in line else f"{line} … {name}"


def _head_end(node: Node) -> int:
    holder, body = node, node.child_by_field_name("body")
    for name in _HOLDERS:
        held = node.child_by_field_name(name)
        if body is None and held is not None:  # the body is that of the value: of a function, a structure
            holder, body = held, held.child_by_field_name("body") or _braced(held)
    if body is None:
        return node.end_byte
    # Comments between belong to the body.
    return max(
        (each.end_byte for each in holder.children if each.end_byte <= body.start_byte and each.type != "comment"),
        default=body.start_byte,
    )


def _braced(node: Node) -> Node | None:
    return next((child for child in node.named_children if child.type in _BRACED), None)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


# Remembers outlines between calls, sessions and processes: one SQLite file that may be thrown away at any time.

FILE_NAME = "outlines.db"

_VERSION = 4  # of the queries and of the packed form: with another one everything is made anew
LOCK_SECONDS = 2.0
_DAY = 86_400
_KEEP_DAYS = 30
MAX_ROWS = 50_000
_TABLE = (
    "CREATE TABLE IF NOT EXISTS outlines (path BLOB PRIMARY KEY, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL,"
    " used INTEGER NOT NULL, body BLOB NOT NULL) WITHOUT ROWID"
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """By which a file's content is taken for the same: its time of change and its size in bytes."""

    mtime_ns: int
    size: int


class OutlineCache:
    """Outlines by path and stamp. Whatever goes wrong with the file costs time, and no call.

    Args:
        folder: where its file is; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._file = None if folder is None else folder / FILE_NAME

    def load(self, root: Path, stamps: Mapping[Path, Stamp]) -> dict[Path, Outline]:
        """What is known of those files below `root`, or of `root` itself, that are as they were."""
        if not stamps or self._file is None:
            return {}
        first, last = os.fsencode(root), os.fsencode(root) + b"/\xff"
        query = "SELECT path, mtime_ns, size, body FROM outlines WHERE path BETWEEN ? AND ?"
        found: dict[Path, Outline] = {}
        with self._tolerant(), _connected(self._file) as connection:
            for name, mtime_ns, size, body in connection.execute(query, (first, last)):
                path = Path(os.fsdecode(name))
                if stamps.get(path) == Stamp(mtime_ns, size):
                    with contextlib.suppress(BadOutline):
                        found[path] = unpacked(body)
        return found

    def store(self, fresh: Mapping[Path, tuple[Stamp, Outline]], used: Iterable[Path]) -> None:
        """Keep the `fresh` ones, and longer those that were `used`."""
        if self._file is None:
            return
        today = int(time.time()) // _DAY
        rows = [
            (os.fsencode(path), stamp.mtime_ns, stamp.size, today, outline.packed())
            for path, (stamp, outline) in fresh.items()
        ]
        with self._tolerant(), _connected(self._file) as connection:
            connection.executemany("INSERT OR REPLACE INTO outlines VALUES (?, ?, ?, ?, ?)", rows)
            connection.executemany(
                "UPDATE outlines SET used = ? WHERE path = ? AND used < ?",
                [(today, os.fsencode(path), today) for path in used],
            )
            if rows:
                _prune(connection, today)

    @contextlib.contextmanager
    def _tolerant(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as problem:
            log.info("the cache of outlines is not used: %s", problem)  # another process has it, the disk is full
        except (sqlite3.Error, OSError, ValueError, TypeError) as problem:
            log.warning("the cache of outlines is damaged and made anew: %s", problem)
            if self._file is not None:
                with contextlib.suppress(OSError):
                    self._file.unlink()


@contextlib.contextmanager
def _connected(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection whose work is one transaction."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.touch(mode=0o600)  # it tells what is in the user's files
    with contextlib.closing(sqlite3.connect(file, timeout=LOCK_SECONDS)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            connection.execute("DROP TABLE IF EXISTS outlines")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute(_TABLE)
        yield connection


def _prune(connection: sqlite3.Connection, today: int) -> None:
    connection.execute("DELETE FROM outlines WHERE used < ?", (today - _KEEP_DAYS,))
    count = connection.execute("SELECT count(*) FROM outlines").fetchone()[0]
    if count > MAX_ROWS:
        connection.execute(
            "DELETE FROM outlines WHERE path IN (SELECT path FROM outlines ORDER BY used LIMIT ?)",
            (count - MAX_ROWS,),
        )


# Finds the source files below a path and gathers their outlines, cached or parsed, as far as time allows.

MAX_FILES = 5000
MAX_BYTES = 512 * 1024

_GLOB = "*.{" + ",".join(TONGUES) + "}"
_FILE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """`files`: most files; `size`: bytes of one; `seconds`: for reading and parsing them."""

    files: int = MAX_FILES
    size: int = MAX_BYTES
    seconds: float = 10.0


USUAL = Limits()


@dataclass(slots=True)
class Collected:
    """What was gathered.

    Attributes:
        outlines: by path; files without any definition or reference are among them.
        found: how many source files there are.
        unread: files that time did not allow for.
        skipped: files that are too big, no text, generated, or not to be read.
        missing: languages whose grammar is not installed, with their number of files.
        parsed: how many had to be read anew.
    """

    outlines: dict[Path, Outline] = field(default_factory=dict)
    found: int = 0
    unread: int = 0
    skipped: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    parsed: int = 0


def collect(root: Path, ctx: ToolContext, limits: Limits | None = None) -> Collected:
    """The outlines of the source files below `root`, or of the file `root`; the newest where there are too many.

    Raises:
        ToolError: the path is not there, not readable, not allowed. ToolInterrupted.
    """
    limits = limits or USUAL
    result = ctx.fs.search(SearchQuery(_GLOB, root, target="files", limit=limits.files))
    collected = Collected(found=result.total, unread=max(0, result.total - len(result.hits)))
    stamps = _stamps([hit.path for hit in result.hits], ctx, limits, collected)
    cache = OutlineCache(ctx.cache)
    collected.outlines = cache.load(root, stamps)
    known = list(collected.outlines)
    new = {path: stamp for path, stamp in stamps.items() if path not in collected.outlines}
    try:
        # However long the listing took, each call gets on.
        _parse(new, ctx, time.monotonic() + limits.seconds, collected)
    finally:  # what was done is not done again after a cancel
        fresh = {path: (stamps[path], collected.outlines[path]) for path in new if path in collected.outlines}
        cache.store(fresh, known)
    return collected


def _stamps(paths: Sequence[Path], ctx: ToolContext, limits: Limits, collected: Collected) -> dict[Path, Stamp]:
    """The files to look into. A file that is gone, or not to be looked at, is passed over."""
    stamps: dict[Path, Stamp] = {}
    for path in paths:
        tongue = tongue_of(path.name)
        if tongue is None or not is_installed(tongue):
            collected.missing[tongue.name if tongue else path.suffix] += 1
            continue
        try:
            facts = ctx.fs.stat(path)
        except (FileAccessError, Denied):
            facts = None
        if facts is None or facts.kind != "file" or facts.size > limits.size:
            collected.skipped += 1
            continue
        stamps[path] = Stamp(facts.mtime_ns, facts.size)
    return stamps


def _parse(stamps: Mapping[Path, Stamp], ctx: ToolContext, deadline: float, collected: Collected) -> None:
    for path, stamp in stamps.items():
        now = time.monotonic()
        if now >= deadline:
            collected.unread += len(stamps) - collected.parsed
            return
        collected.parsed += 1
        try:
            with ctx.fs.open_saved(path) as stream:
                data = stream.read(stamp.size + 1)
        except (FileAccessError, Denied, OSError):
            collected.skipped += 1
            continue
        tongue = tongue_of(path.name)
        outline = _outline(data, tongue, ctx, min(deadline, now + _FILE_SECONDS)) if tongue else None
        if outline is None:
            collected.skipped += 1
        else:
            collected.outlines[path] = outline


def _outline(data: bytes, tongue: Tongue, ctx: ToolContext, deadline: float) -> Outline | None:
    if not is_source(data):
        return Outline()
    try:
        loaded = grammar(tongue)
    except ToolError as problem:
        log.warning("%s", problem)
        return None
    try:
        return outline_of(data, loaded, lambda: ctx.interrupt.is_set() or time.monotonic() >= deadline)
    except Stopped:
        if ctx.interrupt.is_set():
            raise ToolInterrupted from None
        return None
