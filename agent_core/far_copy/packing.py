"""The workspace as one compressed stream, kept here as it was sent."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import stat
import tarfile
import time
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from agent_core.far_copy.facts import Fact, Tree, digest_of
from tools.environments.atomic_writes import open_resolved
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import O_NOCTTY, O_NONBLOCK
from tools.ports import Interrupt

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
