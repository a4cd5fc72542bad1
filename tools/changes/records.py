"""What an observation of a command tells, and its bounds."""

from __future__ import annotations

from pathlib import Path

from tools.light_dataclass import dataclass

# Stands for the content of what is there and was not read: too large, unreadable, a directory.
UNKNOWN_HASH = "?"


@dataclass(frozen=True, slots=True)
class ObservationLimits:
    """Bounds of one observation; bytes and seconds.

    Attributes:
        max_file_bytes: of one foreseen file, `max_foreseen_bytes` of them all; `max_foreseen` is how many of them the
            command's text may name, `max_copy_seconds` how long they may be copied.
        max_files: how many files of the roots are looked at; `max_seconds`: how long the look before may take.
        max_held_file: the largest file that is held though nothing foresees its change; `max_held_bytes` for all.
        max_after_bytes: how much is read after the command to tell what changed.
    """

    max_file_bytes: int = 50_000_000
    max_foreseen_bytes: int = 200_000_000
    max_foreseen: int = 1_000
    max_copy_seconds: float = 3.0
    max_files: int = 10_000
    max_seconds: float = 0.15
    max_held_file: int = 256 << 10
    max_held_bytes: int = 16 << 20
    max_after_bytes: int = 256 << 20

    @property
    def too_slow(self) -> str:
        """Why a content was not kept for which there was no time left."""
        return f"copying what the command would take needed more than {self.max_copy_seconds:g} seconds"


@dataclass(frozen=True, slots=True)
class FileBefore:
    """A file as it was before the command.

    Attributes:
        path: absolute; the directory's symbolic links are resolved, the last name is what was looked at itself.
        content: None where nothing was there (then `mode` is None and `lost` empty), or where it was not kept. A
            symbolic link's content is where it points to.
        mode: the permission bits; with `stat.S_IFLNK` for a symbolic link. None: nothing was there, or not known.
        lost: why the content was not kept.
    """

    path: Path
    content: bytes | None
    mode: int | None
    lost: str = ""


@dataclass(frozen=True, slots=True)
class FileDifference:
    """A file that is not any more what it was.

    Attributes:
        after_hash: SHA-256 of the content now, in hex; None where nothing is there now; `UNKNOWN_HASH` for what is
            there and was not read.
        after_mode: as `FileBefore.mode`.
    """

    path: Path
    before: FileBefore
    after_hash: str | None
    after_mode: int | None


@dataclass(frozen=True, slots=True)
class FolderDifference:
    """A directory that has come, gone, or has other permissions.

    Attributes:
        before, after: its permission bits; None where it was not there, or is not there or not looked into any more.
    """

    path: Path
    before: int | None
    after: int | None
