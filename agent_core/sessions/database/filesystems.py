"""Which file systems do not share memory between their users, so that a write-ahead log would corrupt the file."""

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
    """True if `path` is known to be on a network file system, or one shared with another machine.

    Args:
        mounts: text in the form of /proc/self/mountinfo; the system's own if left out. Where there is none, False.
    """
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return False
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
    return kind in _NETWORKED
