"""Which file systems other machines may use too, and which share no memory between their users."""

from __future__ import annotations

import os
import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_FUSE = frozenset({"glusterfs", "rclone", "s3fs", "sshfs", "vmhgfs-fuse"})
_NETWORKED = frozenset(
    {
        "9p",
        "afs",
        "ceph",
        "cifs",
        "gfs2",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "smb3",
        "smbfs",
        "vboxsf",
    }
    | {"virtiofs"}
    | {f"fuse.{name}" for name in _FUSE}
)
_ESCAPE = re.compile(r"\\([0-7]{3})")


def is_networked(path: Path, mounts: str | None = None) -> bool:
    """Whether `path` is on a network file system, or one shared with another machine: a write-ahead log would corrupt
    a database there.

    Args:
        mounts: text in the form of /proc/self/mountinfo; the system's own if left out. Where there is none, False.
    """
    return _kind_of(path, mounts) in _NETWORKED


def may_be_shared(path: Path, mounts: str | None = None) -> bool:
    """Whether other machines may use the files there: on network file systems, and on any that a program serves."""
    kind = _kind_of(path, mounts)
    return kind in _NETWORKED or kind == "fuse" or kind.startswith("fuse.")


def _kind_of(path: Path, mounts: str | None) -> str:
    """The type of the file system that `path` is on; '' where that is not known."""
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return ""
    target = os.path.realpath(path)
    best, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:  # noqa: PLR2004 - the mount point is the fifth
            continue
        point = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), fields[4])
        is_above = target == point or target.startswith(point.rstrip("/") + "/")
        if is_above and len(point) >= len(best):  # of two at one place the later hides the earlier
            best, kind = point, after.split(" ", 1)[0]
    return kind
