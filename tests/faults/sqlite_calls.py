"""In the agent's process: SQLite's own system calls, which its VFS lets a program replace."""

from __future__ import annotations

import _sqlite3
import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any

from tests.faults.fault import HALF, PART
from tests.faults.striking import Strike, die

_kept: list[Any] = []
"""What SQLite calls must not be collected."""


class _Vfs(ctypes.Structure):
    _fields_ = [
        ("iVersion", ctypes.c_int),
        ("szOsFile", ctypes.c_int),
        ("mxPathname", ctypes.c_int),
        ("pNext", ctypes.c_void_p),
        ("zName", ctypes.c_char_p),
        ("pAppData", ctypes.c_void_p),
        *((f"call{number}", ctypes.c_void_p) for number in range(13)),
        ("xSetSystemCall", ctypes.c_void_p),
        ("xGetSystemCall", ctypes.c_void_p),
    ]


_INT, _LONG, _TEXT, _AT = ctypes.c_int, ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p
_TYPES: dict[str, tuple[Any, ...]] = {
    "pwrite": (ctypes.c_ssize_t, _INT, _AT, ctypes.c_size_t, _LONG),
    "pwrite64": (ctypes.c_ssize_t, _INT, _AT, ctypes.c_size_t, _LONG),
    "pread": (ctypes.c_ssize_t, _INT, _AT, ctypes.c_size_t, _LONG),
    "pread64": (ctypes.c_ssize_t, _INT, _AT, ctypes.c_size_t, _LONG),
    "fsync": (_INT, _INT),
    "fdatasync": (_INT, _INT),
    "ftruncate": (_INT, _INT, _LONG),
    "unlink": (_INT, _TEXT),
    "open": (_INT, _TEXT, _INT, _INT),
    "mmap": (_AT, _AT, ctypes.c_size_t, _INT, _INT, _INT, _LONG),
}
_MEANT = {"write": ("pwrite", "pwrite64"), "read": ("pread", "pread64"), "fsync": ("fsync",)}


def wrap_sqlite(strikes: Sequence[Strike]) -> None:
    """Wrap the system calls that the strikes name as `sqlite.write`, `.read`, `.fsync`, `.open`, `.ftruncate`, …."""
    those = [strike for strike in strikes if strike.fault.seam.startswith("sqlite.")]
    if not those:
        return
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
    vfs = library.sqlite3_vfs_find(None)
    replace = ctypes.CFUNCTYPE(_INT, _AT, _TEXT, _AT)(vfs.contents.xSetSystemCall)
    find = ctypes.CFUNCTYPE(_AT, _AT, _TEXT)(vfs.contents.xGetSystemCall)
    for kind in {strike.fault.seam.removeprefix("sqlite.") for strike in those}:
        meant = [strike for strike in those if strike.fault.seam == f"sqlite.{kind}"]
        for name in _MEANT.get(kind, (kind,)):
            address = find(vfs, name.encode())
            if not address:
                continue
            of_type = ctypes.CFUNCTYPE(*_TYPES[name], use_errno=True)
            ours = of_type(_system_call(kind, of_type(address), meant))
            _kept.append(ours)
            replace(vfs, name.encode(), ctypes.cast(ours, _AT))


def _system_call(kind: str, real: Callable[..., Any], strikes: Sequence[Strike]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        path = _path(args[0])
        for strike in strikes:
            if not strike.meets("before", path):
                continue
            if strike.code:
                strike.tell()
                ctypes.set_errno(strike.code)
                return -1
            if strike.fault.act == HALF and kind == "write":
                real(args[0], args[1], args[2] // 2, args[3])
                strike.tell()
                die()
            if strike.fault.act == PART and kind in {"read", "write"}:
                args = (args[0], args[1], args[2] // 2 or 1, args[3])
            strike.do(path)
        result = real(*args)
        code = ctypes.get_errno()
        for strike in strikes:
            if strike.meets("after", path):
                strike.do(path)
        ctypes.set_errno(code)
        return result

    return call


def _path(of: Any) -> str:
    if isinstance(of, bytes):
        return os.fsdecode(of)
    try:
        return os.readlink(f"/proc/self/fd/{of}") if isinstance(of, int) else ""  # noqa: PTH115 - the cheapest
    except OSError:
        return ""
