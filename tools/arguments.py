"""Reads a tool's arguments as models send them: what is obvious is coerced, the rest is a clear error."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.context import ToolContext
from tools.errors import ToolError

Arguments = Mapping[str, Any]

_MAX_SHOWN_CHARS = 60
_ODD_BYTE = re.compile(r"\\u(dc[89a-f][0-9a-f])", re.IGNORECASE)
_TRUE = frozenset({"true", "yes", "1"})
_FALSE = frozenset({"false", "no", "0", ""})


def text(args: Arguments, name: str, default: str | None = None) -> str:
    """A string. Null counts as not given.

    Raises:
        ToolError: it is missing and there is no default, or it is something else.
    """
    value = args.get(name)
    if value is None:
        if default is None:
            raise ToolError(f"The argument {name!r} is missing; it has to be a string.")
        return default
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise ToolError(f"The argument {name!r} has to be a string, not {_kind(value)}.")


def integer(args: Arguments, name: str, default: int, *, minimum: int = 0, maximum: int | None = None) -> int:
    """A whole number; what is over `maximum` becomes `maximum`.

    Raises:
        ToolError: it is no whole number, or below `minimum`.
    """
    value = args.get(name)
    if value is None or value == "":
        return default
    number = _whole(value)
    if number is None:
        raise ToolError(f"The argument {name!r} has to be a whole number, not {_shown(value)}.")
    if number < minimum:
        raise ToolError(f"The argument {name!r} has to be at least {minimum}, not {number}.")
    return number if maximum is None else min(number, maximum)


def boolean(args: Arguments, name: str, default: bool = False) -> bool:
    """True or false.

    Raises:
        ToolError: it is neither.
    """
    value = args.get(name)
    if value is None:
        return default
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ToolError(f"The argument {name!r} has to be true or false, not {_shown(value)}.")


def choice(args: Arguments, name: str, choices: Sequence[str], default: str) -> str:
    """One of `choices`.

    Raises:
        ToolError: it is none of them.
    """
    value = args.get(name)
    if value is None or value == "":
        return default
    word = str(value).strip().lower()
    if word not in choices:
        raise ToolError(f"The argument {name!r} has to be one of {', '.join(choices)}, not {_shown(value)}.")
    return word


def path(args: Arguments, ctx: ToolContext, name: str = "path", default: str | None = None) -> Path:
    """The absolute path that the argument means.

    Raises:
        ToolError: it is missing, empty or cannot be a path.
    """
    value = with_odd_bytes(text(args, name, default))
    if not value.strip():
        raise ToolError(f"The argument {name!r} is empty; it has to be a path.")
    try:
        value.encode("utf-8", "surrogateescape")
        if "\0" in value:
            raise ToolError(f"The argument {name!r} holds a NUL character; it cannot be a path.")
        return ctx.resolve(value)
    except (RuntimeError, ValueError) as problem:
        raise ToolError(f"The argument {name!r} cannot be a path: {problem}.") from problem


def with_odd_bytes(path: str) -> str:
    r"""`path` with bytes that are not UTF-8 where it has their escapes: `\udcff`, as directories are listed."""
    return _ODD_BYTE.sub(lambda found: chr(int(found[1], 16)), path)


def display(path: Path, ctx: ToolContext) -> str:
    """`path` as short as it stays clear: relative to the working directory when it is inside."""
    return str(path.relative_to(ctx.cwd)) if path.is_relative_to(ctx.cwd) else str(path)


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        try:
            return int(value.strip())
        except ValueError:
            return None
    return None


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false"}
    return names.get(type(value), type(value).__name__)


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _MAX_SHOWN_CHARS else f"{shown[:_MAX_SHOWN_CHARS]}…"
