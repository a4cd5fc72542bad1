"""Which files of the workspace go to the other machine, and how they are packed."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import stat
import tarfile
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class Fact:
    """A regular file: a hash of its content, and whether its owner may run it."""

    digest: str
    executable: bool = False


Tree = Mapping[str, Fact]
"""Files by their path below the workspace's directory, with `/` between its parts."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A file as the two sides had it when they were last brought together; None where it was not there.

    Attributes:
        apart: the two differ on purpose, because a change was refused or both had changed it. Nothing is copied over
            either until they are the same again.
    """

    here: Fact | None
    there: Fact | None
    apart: bool = False


NOTHING = Pair(None, None)


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
_LISTED = ("ls-files", "-z", "--exclude-standard")
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is to be copied.

    Attributes:
        files: each with what tells that it has changed, without a look into it.
        sizes: their bytes.
        kept_back: names of what stays here: secrets, and what the user's rules keep from being read.
        links: links that lead to something in the workspace, and where they say that it is.
        odd: names of what is neither.
    """

    files: Mapping[str, tuple[int, ...]]
    sizes: int
    kept_back: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    odd: tuple[str, ...] = ()


def choose(top: Path, may_read: Callable[[Path], bool], interrupt: Interrupt | None = None) -> Chosen:
    """Look through the workspace.

    Args:
        top: its directory, resolved.
        may_read: whether a file (absolute, resolved) may be read without a question.

    Raises:
        ToolError: git cannot tell. ToolInterrupted: it was ended.
    """
    files: dict[str, tuple[int, ...]] = {}
    kept_back, odd, sizes = list[str](), list[str](), 0
    links: dict[str, str] = {}
    folders: dict[Path, bool] = {}
    closed = set[tuple[int, int]]()
    several: dict[str, tuple[int, int]] = {}
    for name in dict.fromkeys(_names(top, interrupt)):
        path = top / name
        if not is_name(name) or (facts := _facts(path)) is None:
            continue
        if not _is_plain(path.parent, folders):
            odd.append(name)
        elif stat.S_ISLNK(facts.st_mode) and (target := _leads_within(path, top)):
            links[name] = target
        elif not stat.S_ISREG(facts.st_mode):
            odd.append(name)
        elif not may_read(path):
            kept_back.append(name)
            closed.add((facts.st_dev, facts.st_ino))
        else:
            files[name] = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_mode)
            sizes += facts.st_size
            if facts.st_nlink > 1:
                several[name] = facts.st_dev, facts.st_ino
    # A file that has another name is what it is under that one, too.
    for name in [name for name, file in several.items() if file in closed]:
        kept_back.append(name)
        sizes -= files.pop(name)[1]
    return Chosen(files, sizes, tuple(kept_back), links, tuple(odd))


def ignored(top: Path, names: Sequence[str], rules: Mapping[str, bytes]) -> frozenset[str]:
    """Those of `names` that the ignore files name.

    Args:
        rules: contents of `.gitignore` files, by their names.

    Raises:
        ToolError: git cannot tell.
    """
    if not names:
        return frozenset()
    root = git_root(top) or top
    with own_directory("hermes-ignored-") as folder:
        own, tree = folder / "git", folder / "tree"
        _write_ignoring(own, top)
        # As deep in it as in the repository, whose upper directories have rules, too.
        place = tree / top.relative_to(root)
        place.mkdir(parents=True)
        above = {each / ".gitignore": _read(each / ".gitignore") for each in top.parents if each.is_relative_to(root)}
        wanted = {tree / path.relative_to(root): content for path, content in above.items()}
        for path, content in (wanted | {place / name: content for name, content in rules.items()}).items():
            # The folder is ours alone, and no name leads out of it.
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
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
    everything = (*_LISTED, "--others")
    with Git(interrupt=interrupt, advice=ADVICE) as git:
        if repository is not None:
            with borrowed(repository) as seen:
                found = git.run(*everything, "--cached", cwd=top, git_dir=seen, work_tree=repository.top)
        else:
            with own_directory("hermes-ignored-") as seen:
                _write_ignoring(seen, top)
                found = git.run(*everything, cwd=top, git_dir=seen, work_tree=top)
    return [os.fsdecode(name) for name in found.split(b"\0") if name]


def _write_ignoring(git_dir: Path, top: Path) -> None:
    """An empty repository that ignores what that of `top` does, and what the user ignores everywhere."""
    write_repository(git_dir)
    (git_dir / "info" / "exclude").write_bytes(excluded(find_repository(top)))


def _read(path: Path) -> bytes:
    return read_file(path) or b""


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


def _is_plain(folder: Path, known: dict[Path, bool]) -> bool:
    """Whether no link leads to the folder."""
    if folder not in known:
        known[folder] = os.path.realpath(folder) == str(folder)
    return known[folder]


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
        ([name for name in names if name not in odd], "too large, or cannot be read there"),
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
            (chosen.odd, "links that lead out of it, or no files"),
        )
        if names
    ]
    return f"Of the workspace these were not copied: {'; '.join(parts)}." if parts else ""


def progress(tell: Tell, file: Path) -> Callable[[int], None]:
    """Tells how far a stream is, each tenth of one that is not small."""
    size, told = file.stat().st_size, 0

    def on_sent(sent: int) -> None:
        nonlocal told
        tenth = 10 * sent // max(size, 1)
        if size > 2 * MEGABYTE and tenth > told:
            told = tenth
            tell(f"{sent / MEGABYTE:.1f} of {size / MEGABYTE:.1f} MB were sent.\n")

    return on_sent


# The workspace as one compressed stream, kept here as it was sent.

log = logging.getLogger(__name__)

_READ = os.O_RDONLY | O_NONBLOCK | O_NOCTTY
_EXECUTABLE, _PLAIN = 0o755, 0o644
PART = ".part"
"""How the name of a stream ends that is not whole yet."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A stream that was made.

    Attributes:
        file: where it is.
        digest: the hash of all of it.
        tree: the files in it, as they were when they were read.
    """

    file: Path
    digest: str
    tree: Tree


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


def is_file_here(path: Path) -> bool:
    """Whether a regular file is there, also one that cannot be read."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def fact_here(path: Path) -> Fact | None:
    """What a file is here; None where there is none."""
    found = read_here(path)
    return None if found is None else Fact(digest_of(found[0]), found[1])


def pack(
    top: Path,
    names: Iterable[str],
    file: Path,
    *,
    links: Mapping[str, str],
    notes: Mapping[str, bytes],
    interrupt: Interrupt | None = None,
) -> Packed:
    """Make the stream of these files of `top`; what has gone meanwhile is not in it.

    Args:
        notes: files of ours that go first, by name.

    Raises:
        OSError: it cannot be written. ToolInterrupted: it was ended.
    """
    part = file.with_suffix(PART)
    try:
        with (
            part.open("wb") as raw,
            tarfile.open(fileobj=raw, mode="w:gz", compresslevel=6, format=tarfile.GNU_FORMAT) as archive,
        ):
            for name, content in notes.items():
                _add(archive, name, content, executable=False)
            tree = _add_files(archive, top, names, interrupt)
            for name, target in links.items():
                _add_link(archive, name, target)
        part.rename(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    with file.open("rb") as stream:
        return Packed(file, hashlib.file_digest(stream, "sha256").hexdigest(), tree)


def sent_before(files: Iterable[Path], names: Mapping[str, str]) -> dict[str, bytes]:
    """What files were when they were sent.

    Args:
        files: the streams in which they may be.
        names: the hash of each content that is looked for.
    """
    found: dict[str, bytes] = {}
    for file in files:
        try:
            with tarfile.open(file, "r:gz") as archive:
                _take(archive, names, found)
        except (OSError, EOFError, zlib.error, tarfile.TarError):
            log.warning("what was sent is not whole any more in %s", file, exc_info=True)
    return found


def _take(archive: tarfile.TarFile, names: Mapping[str, str], found: dict[str, bytes]) -> None:
    for entry in archive:
        name = entry.name.removeprefix("./")
        if name in names and name not in found and (stream := archive.extractfile(entry)) is not None:
            content = stream.read()
            if digest_of(content) == names[name]:
                found[name] = content


def _add_files(archive: tarfile.TarFile, top: Path, names: Iterable[str], interrupt: Interrupt | None) -> Tree:
    tree: dict[str, Fact] = {}
    for name in names:
        if interrupt is not None and interrupt.is_set():
            raise ToolInterrupted
        if (found := read_here(top / name)) is not None:
            _add(archive, name, *found)
            tree[name] = Fact(digest_of(found[0]), found[1])
    return tree


def _add_link(archive: tarfile.TarFile, name: str, target: str) -> None:
    entry = tarfile.TarInfo(f"./{name}")
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    archive.addfile(entry)


def _add(archive: tarfile.TarFile, name: str, content: bytes, executable: bool) -> None:
    entry = tarfile.TarInfo(f"./{name}")
    entry.size, entry.mode, entry.mtime = len(content), _EXECUTABLE if executable else _PLAIN, int(time.time())
    archive.addfile(entry, io.BytesIO(content))
