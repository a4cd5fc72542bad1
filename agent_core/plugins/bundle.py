"""What a project brings that would run with the user's rights, as bytes: so that what runs is what was looked at."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from tools.home_tools import LoadFailed
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK, alone_in

_MOST_FILES = 500
_MOST_BYTES = 16 * 1024 * 1024
_PASSED_OVER = frozenset({"__pycache__", ".git", ".DS_Store"})

Stamp = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Bundle:
    """Files by their path within it, and the hash of all that."""

    files: Mapping[str, bytes]
    digest: str


def read_bundle(folder: Path) -> Bundle:
    """Everything in `folder`.

    Raises:
        LoadFailed: it holds links or too much, or cannot be read; the text completes «it …».
    """
    return _bundle({name: _content(path) for name, path in _walked(folder)})


def stamp_of(folder: Path) -> Stamp:
    """What changes when something in `folder` does; cheap, and proves nothing.

    Raises:
        LoadFailed: as `read_bundle` does.
    """
    found = []
    for name, path in _walked(folder):
        facts = path.lstat()
        found.append((name, facts.st_mtime_ns, facts.st_size, facts.st_ino))
    return tuple(found)


def keep(bundle: Bundle, place: Path) -> None:
    """Have the bundle's files in the folder `place`, which only the user may change.

    Raises:
        LoadFailed: they could not be written.
    """
    if kept(place) == bundle.digest:
        return
    # One fixed name, for who is alone here: what a killed process has left goes with the next.
    temporary = place.with_name(f".{place.name}.new")
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with alone_in(place.parent):
            shutil.rmtree(temporary, ignore_errors=True)
            _write(bundle, temporary)
            shutil.rmtree(place, ignore_errors=True)
            temporary.rename(place)
    except OSError as problem:
        raise LoadFailed(f"could not be kept in {place}: {problem.strerror}") from problem


def _write(bundle: Bundle, folder: Path) -> None:
    for name, data in bundle.files.items():
        file = folder.joinpath(*PurePosixPath(name).parts)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(0o700 if data.startswith(b"#!") else 0o600)


def kept(place: Path) -> str:
    """The hash of what is kept in `place`; '' where that is nothing."""
    try:
        return read_bundle(place).digest if place.is_dir() else ""
    except LoadFailed:
        return ""


def _bundle(files: Mapping[str, bytes]) -> Bundle:
    digest = hashlib.sha256()
    for name, data in sorted(files.items()):
        for part in (name.encode("utf-8", "surrogateescape"), data):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return Bundle(files, digest.hexdigest())


def _walked(folder: Path) -> Iterator[tuple[str, Path]]:
    """Each file with its path within `folder`, in order."""
    count = size = 0
    try:
        for directory, names, files in os.walk(folder, onerror=_raise):
            names[:] = sorted(set(names) - _PASSED_OVER)
            here = Path(directory)
            for path in [here / name for name in (*names, *sorted(files)) if name not in _PASSED_OVER]:
                facts = path.lstat()
                if stat.S_ISDIR(facts.st_mode):
                    continue
                if not stat.S_ISREG(facts.st_mode):
                    raise LoadFailed(f"holds {path.name}, which is a link or no file: it must hold plain files only")
                count, size = count + 1, size + facts.st_size
                if count > _MOST_FILES or size > _MOST_BYTES:
                    raise LoadFailed(f"has more than {_MOST_FILES} files or {_MOST_BYTES >> 20} MiB")
                yield path.relative_to(folder).as_posix(), path
    except OSError as problem:
        raise LoadFailed(f"cannot be read: {problem.strerror}") from problem


def _raise(problem: OSError) -> None:
    raise problem


def _content(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except OSError as problem:
        raise LoadFailed(f"has {path.name}, which cannot be read: {problem.strerror}") from problem
    if len(data) > _MOST_BYTES:
        raise LoadFailed(f"has more than {_MOST_BYTES >> 20} MiB")
    return data
