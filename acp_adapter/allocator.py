"""Fewer memory arenas: threads that come and go otherwise leave memory behind that nobody uses."""

from __future__ import annotations

_M_ARENA_MAX = -8  # malloc.h of glibc
_ARENAS = 2


def share_arenas() -> bool:
    """Let threads share a few arenas of the C library; whether it knows how (only glibc does).

    By itself it makes up to eight for each core, and what one thread's turn has freed is of use to no other. It is
    to be called while there are few threads: with more than eight arenas it has decided how many there may be.
    """
    import ctypes  # noqa: PLC0415 - after the first answer

    try:
        return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS))
    except (AttributeError, OSError, TypeError):
        return False
