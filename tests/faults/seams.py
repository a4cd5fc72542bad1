"""In the agent's process: the calls that faults strike at, wrapped before anything of the agent is loaded."""

from __future__ import annotations

import builtins
import functools
import importlib
import io
import os
from collections.abc import Callable, Sequence
from typing import Any

from tests.faults.fault import HALF, PART
from tests.faults.striking import Strike, die

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_FEW_BYTES = 7


def wrap_seams(strikes: Sequence[Strike]) -> None:
    """Wrap what the strikes name, each once."""
    by_seam: dict[str, list[Strike]] = {}
    for strike in strikes:
        by_seam.setdefault(strike.fault.seam, []).append(strike)
    for seam, those in by_seam.items():
        if seam.startswith("os."):
            name = seam.removeprefix("os.")
            setattr(os, name, _call(name, getattr(os, name), those))
        elif seam == "open":
            builtins.open = io.open = _call("open", builtins.open, those)
        elif not seam.startswith("sqlite."):
            _wrap_ours(seam, those)


def _wrap_ours(seam: str, strikes: Sequence[Strike]) -> None:
    module, _, name = seam.partition(":")
    *owners, last = name.split(".")
    owner: Any = importlib.import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    setattr(owner, last, _call("", getattr(owner, last), strikes))


def _call(name: str, real: Callable[..., Any], strikes: Sequence[Strike]) -> Callable[..., Any]:
    @functools.wraps(real)
    def call(*args: Any, **named: Any) -> Any:
        path, writing = _path(name, args), _is_writing(name, args, named)
        content = bytes(args[1]) if name == "write" else b""
        for strike in strikes:
            if strike.meets("before", path, writing=writing, content=content):
                if name == "write" and strike.fault.act == HALF:
                    real(args[0], bytes(args[1])[: len(args[1]) // 2])
                    strike.tell()
                    die()
                if strike.fault.act == PART:
                    args = _part_of(name, args)
                strike.do(path)
        result = real(*args, **named)
        for strike in strikes:
            if strike.meets("after", path, writing=writing, content=content):
                strike.do(path)
        return result

    return call


def _part_of(name: str, args: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments of a call that reads or writes a part of what it was asked for."""
    descriptor, what = args
    if name == "read":
        return descriptor, min(what, _FEW_BYTES)
    data = bytes(what)
    return descriptor, data[: len(data) // 2 or 1]


def _path(name: str, args: Sequence[Any]) -> str:
    """What a call is about: of two paths, both."""
    if not name:
        return ""
    found = []
    for each in args[:2]:
        if (
            isinstance(each, int)
            and not isinstance(each, bool)
            and name in {"read", "write", "fsync", "ftruncate", "open"}
        ):
            if each is args[0]:
                found.append(_of_descriptor(each))
        elif isinstance(each, str | bytes | os.PathLike) and name != "write":
            found.append(os.fsdecode(os.fspath(each)))
    return " ".join(found)


def _of_descriptor(number: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115 - pathlib would come back here
    except OSError:
        return ""


def _is_writing(name: str, args: Sequence[Any], named: dict[str, Any]) -> bool:
    if name != "open":
        return True
    how = args[1] if len(args) > 1 else named.get("flags", named.get("mode", "r"))
    return bool(how & _WRITING) if isinstance(how, int) else bool(set(str(how)) & set("wax+"))
