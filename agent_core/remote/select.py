"""Which files of the workspace go to the other machine, and how they are packed."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import IO

from tools.approval.persistence_paths import is_git_name
from tools.environments.atomic_writes import open_resolved
from tools.environments.git import Git, borrowed, excluded, find_repository, git_root, write_repository
from tools.environments.persistence_scan import read_file
from tools.environments.temp_directories import own_directory
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import O_NOCTTY, O_NONBLOCK
from tools.ports import Interrupt

# What a file of the workspace is on one of the two sides, and which names may be those of one.

MARKER = ".hermes-acp-copy"
"""The file at the top of a copy that says whose it is, and whether it is whole."""

_LONGEST_NAME = 4_000
_LINK = "link:"


@dataclass(frozen=True, slots=True)
class Fact:
    """A regular file: a hash of its content, and whether its owner may run it; or a link: where it leads."""

    digest: str
    executable: bool = False

    @property
    def is_link(self) -> bool:
        """Whether it is a link."""
        return self.digest.startswith(_LINK)


Tree = Mapping[str, Fact]
"""Files by their path below the workspace's directory, with `/` between its parts."""


def link_to(target: str) -> Fact:
    """The fact of a link."""
    return Fact(_LINK + target)


@dataclass(frozen=True, slots=True)
class Pair:
    """A file as the two sides had it when they were last brought together; None where it was not there."""

    here: Fact | None
    there: Fact | None

    @property
    def apart(self) -> bool:
        """Whether the two differ on purpose, because a change was refused or both had changed it.

        Nothing is copied over either until they are the same again.
        """
        return not is_same(self.here, self.there)


NOTHING = Pair(None, None)


def is_same(one: Fact | None, other: Fact | None) -> bool:
    """Whether the contents are the same; the permissions may differ."""
    return (one and one.digest) == (other and other.digest)


def digest_of(content: bytes) -> str:
    """The hash that both sides tell."""
    return hashlib.sha256(content).hexdigest()


def is_name(name: str) -> bool:
    """Whether it may be the path of a file of the workspace: what another machine says need not be.

    What git keeps for itself never is, in whatever letters: on some disks `.GIT` is `.git`.
    """
    parts = name.split("/")
    if not name or len(name) > _LONGEST_NAME or "\0" in name or name == MARKER:
        return False
    return not any(part in {"", ".", ".."} or is_git_name(part) for part in parts)


# Which files of the workspace go to the other place: what git tracks or would, and no secrets.

ADVICE = "terminal.sync needs git on this machine; with terminal.sync: off nothing is copied."
_LISTED = ("ls-files", "-z", "--exclude-standard", "--others")
_DEEPEST = 20
# `sha256sum` tells names with these in other words, each in its own.
_UNSPEAKABLE = frozenset("\n\r\\")


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is to be copied.

    Attributes:
        files: their sizes.
        links: links that lead to something in the workspace, and where they say that it is.
        kept_back: names of what stays here: secrets, and what the user's rules keep from being read.
        odd: names of what is neither.
    """

    files: Mapping[str, int]
    links: Mapping[str, str] = field(default_factory=dict)
    kept_back: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(self.files.values())


def choose(top: Path, may_read: Callable[[Path], bool], interrupt: Interrupt | None = None) -> Chosen:
    """Look through the workspace.

    Args:
        top: its directory, resolved.
        may_read: whether a file (absolute, resolved) may be read without a question.

    Raises:
        ToolError: git cannot tell. ToolInterrupted: it was ended.
    """
    found: dict[str, os.stat_result] = {}
    links, odd = dict[str, str](), list[str]()
    is_real = cache(lambda folder: os.path.realpath(folder) == str(folder))
    for name in dict.fromkeys(_names(top, interrupt)):
        path = top / name
        if not is_name(name) or (facts := _facts(path)) is None:
            continue
        if not is_real(path.parent) or not _UNSPEAKABLE.isdisjoint(name):
            odd.append(name)
        elif stat.S_ISREG(facts.st_mode):
            found[name] = facts
        elif stat.S_ISLNK(facts.st_mode) and (target := _leads_within(path, top)):
            links[name] = target
        else:
            odd.append(name)
    # A file that has another name is what it is under that one, too.
    closed = {(facts.st_dev, facts.st_ino) for name, facts in found.items() if not may_read(top / name)}
    files = {name: facts.st_size for name, facts in found.items() if (facts.st_dev, facts.st_ino) not in closed}
    return Chosen(files, links, tuple(name for name in found if name not in files), tuple(odd))


def ignored(top: Path, names: Sequence[str], rules: Mapping[str, bytes]) -> frozenset[str]:
    """Those of `names` that the ignore files name.

    Args:
        rules: contents of `.gitignore` files, by their names.

    Raises:
        ToolError: git cannot tell.
    """
    root = git_root(top) or top
    with own_directory("hermes-ignored-") as folder:
        own, tree = folder / "git", folder / "tree"
        _write_ignoring(own, top)
        # As deep in it as in the repository, whose upper directories have rules, too.
        place = tree / top.relative_to(root)
        above = [each / ".gitignore" for each in top.parents if each.is_relative_to(root)]
        wanted = {tree / path.relative_to(root): read_file(path) or b"" for path in above}
        for path, content in (wanted | {place / name: content for name, content in rules.items()}).items():
            # The folder is ours alone, and no name leads out of it.
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        place.mkdir(parents=True, exist_ok=True)
        # A name may begin with a sign that means something to git.
        given = b"\0".join(os.fsencode(f"./{name}") for name in names)
        words = ("check-ignore", "-z", "--no-index", "--stdin")
        with Git(advice=ADVICE) as git:
            found = git.run(*words, cwd=place, git_dir=own, work_tree=tree, given=given, fine=(0, 1))
    return frozenset(os.fsdecode(name).removeprefix("./") for name in found.split(b"\0") if name)


def _names(top: Path, interrupt: Interrupt | None, depth: int = 0) -> Iterator[str]:
    """All names that git would have; those of repositories within belong to them."""
    for name in _listed(top, interrupt):
        plain = name.rstrip("/")
        inner = top / plain
        if not (inner.is_dir() and not inner.is_symlink()):
            yield plain
        elif depth < _DEEPEST and git_root(inner) == inner:
            yield from (f"{plain}/{each}" for each in _names(inner, interrupt, depth + 1))


def _listed(top: Path, interrupt: Interrupt | None) -> list[str]:
    repository = find_repository(top)
    with Git(interrupt=interrupt, advice=ADVICE) as git:
        if repository is not None:
            with borrowed(repository) as seen:
                found = git.run(*_LISTED, "--cached", cwd=top, git_dir=seen, work_tree=repository.top)
        else:
            with own_directory("hermes-ignored-") as seen:
                _write_ignoring(seen, top)
                found = git.run(*_LISTED, cwd=top, git_dir=seen, work_tree=top)
    return [os.fsdecode(name) for name in found.split(b"\0") if name]


def _write_ignoring(git_dir: Path, top: Path) -> None:
    """An empty repository that ignores what that of `top` does, and what the user ignores everywhere."""
    write_repository(git_dir)
    (git_dir / "info" / "exclude").write_bytes(excluded(find_repository(top)))


def _facts(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _leads_within(link: Path, top: Path) -> str:
    """Where a link says that it leads, if that is in the workspace; else ''."""
    try:
        target = str(link.readlink())
        leads = Path(os.path.realpath(link, strict=True))
    except OSError:
        return ""
    inside = leads.is_relative_to(top) and is_name(leads.relative_to(top).as_posix())
    return target if inside and not target.startswith("/") else ""


# What the person is told of a copy while it is made, and of what is left out.

MEGABYTE = 1024 * 1024

Tell = Callable[[str], None]

_MOST_NAMED, _FEW = 20, 5


def left_there(names: Sequence[str], odd: Collection[str], where: str) -> Sequence[str]:
    """What does not come back, a sentence for each reason.

    Args:
        odd: those of `names` that are no files, and more.
    """
    kinds = (
        ([name for name in names if name in odd], "links, or no files"),
        ([name for name in names if name not in odd], "too large, have odd names, or cannot be read there"),
    )
    return [
        f"Not brought back from {where}, as they are {why}: {', '.join(sorted(some)[:_MOST_NAMED])}."
        for some, why in kinds
        if some
    ]


def much(files: int, size: int) -> str:
    """A number of files and their bytes."""
    amount = f"{size / MEGABYTE:,.0f} MB" if size >= MEGABYTE else f"{-(-size // 1024):,} kB"
    return f"{files:,} {'file' if files == 1 else 'files'} of {amount}"


def held_back(chosen: Chosen) -> str:
    """What of the workspace was not copied; '' for nothing."""
    parts = [
        f"{len(names)} {what} ({', '.join(names[:_FEW])}{', …' if len(names) > _FEW else ''})"
        for names, what in (
            (chosen.kept_back, "of what holds secrets or may not be read"),
            (chosen.odd, "links that lead out of it, oddly named, or no files"),
        )
        if names
    ]
    return f"Of the workspace these were not copied: {'; '.join(parts)}." if parts else ""


# The workspace as one compressed stream.

_READ = os.O_RDONLY | O_NONBLOCK | O_NOCTTY
_EXECUTABLE, _PLAIN = 0o755, 0o644
_PIECE = 65_536


@dataclass(frozen=True, slots=True)
class Packed:
    """A stream that was made.

    Attributes:
        stream: all of it; it is gone when it is closed.
        digest: its hash.
        size: in bytes.
        tree: the files in it, as they were when they were read.
    """

    stream: IO[bytes]
    digest: str
    size: int
    tree: Tree

    def send(self, write: Callable[[bytes], object], tell: Tell) -> None:
        """Write it, and tell how far it is each tenth of one that is not small."""
        sent = told = 0
        while data := self.stream.read(_PIECE):
            write(data)
            sent += len(data)
            if self.size > 2 * MEGABYTE and (tenth := 10 * sent // self.size) > told:
                told = tenth
                tell(f"{sent / MEGABYTE:.1f} of {self.size / MEGABYTE:.1f} MB were sent.\n")


def read_here(path: Path) -> tuple[bytes, bool] | None:
    """A regular file's content and whether its owner may run it; None where there is none. No link is followed."""
    try:
        descriptor = open_resolved(path, _READ)
    except OSError:
        return None
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(), bool(facts.st_mode & stat.S_IXUSR)


def is_gone(path: Path, fact: Fact) -> bool:
    """Whether what was `fact` is none of its kind any more; one that cannot be read is there."""
    facts = _facts(path)
    return facts is None or not (stat.S_ISLNK if fact.is_link else stat.S_ISREG)(facts.st_mode)


def fact_here(path: Path) -> Fact | None:
    """What a file is here; None where there is none."""
    found = read_here(path)
    return None if found is None else Fact(digest_of(found[0]), found[1])


def pack(
    top: Path,
    wanted: Mapping[str, Fact | None],
    into: IO[bytes],
    notes: Mapping[str, bytes],
    interrupt: Interrupt | None = None,
) -> Packed:
    """Make the stream of these files and links of `top`; what has gone meanwhile is not in it.

    Args:
        wanted: what is a link there goes as one, everything else is looked at.
        notes: files of ours that go first, by name.

    Raises:
        OSError: it cannot be written. ToolInterrupted: it was ended.
    """
    tree: dict[str, Fact] = {}
    with tarfile.open(fileobj=into, mode="w:gz", compresslevel=6, format=tarfile.GNU_FORMAT) as archive:
        for name, content in notes.items():
            _add(archive, name, content, executable=False)
        for name, fact in wanted.items():
            if interrupt is not None and interrupt.is_set():
                raise ToolInterrupted
            if fact is not None and fact.is_link:
                entry = tarfile.TarInfo(f"./{name}")
                entry.type, entry.linkname = tarfile.SYMTYPE, fact.digest.removeprefix(_LINK)
                archive.addfile(entry)
                tree[name] = fact
            elif (found := read_here(top / name)) is not None:
                _add(archive, name, *found)
                tree[name] = Fact(digest_of(found[0]), found[1])
    size = into.tell()
    into.seek(0)
    digest = hashlib.sha256()
    while data := into.read(_PIECE):
        digest.update(data)
    into.seek(0)
    return Packed(into, digest.hexdigest(), size, tree)


def _add(archive: tarfile.TarFile, name: str, content: bytes, executable: bool) -> None:
    entry = tarfile.TarInfo(f"./{name}")
    entry.size, entry.mode, entry.mtime = len(content), _EXECUTABLE if executable else _PLAIN, int(time.time())
    archive.addfile(entry, io.BytesIO(content))
