"""What a language server complains about, as `Problem`s: its errors, with columns that people count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools.ports import Problem

_ERROR = 1
_MOST = 500
_MAX_SOURCE = 40


def problems_of(items: object, text: str, server: str) -> Sequence[Problem]:
    """The errors among a server's diagnostics of `text`; warnings and what is malformed are left out.

    Args:
        items: `Diagnostic[]` of the protocol.
        server: stands for a source where none is named.
    """
    if not isinstance(items, list):
        return ()
    lines = text.split("\n")
    found = (_problem(item, lines, server) for item in items[:_MOST] if isinstance(item, dict))
    return tuple(problem for problem in found if problem is not None)


def _problem(item: Mapping[str, Any], lines: Sequence[str], server: str) -> Problem | None:
    if item.get("severity", _ERROR) != _ERROR:
        return None
    message = item.get("message")
    if isinstance(message, dict):  # marked up, from 3.18 on
        message = message.get("value")
    match item.get("range"):
        case {"start": {"line": int(line), "character": int(character)}} if line >= 0 and character >= 0:
            pass
        case _:
            return None
    if not isinstance(message, str) or not message.strip():
        return None
    source = item.get("source")
    named = source.strip()[:_MAX_SOURCE] if isinstance(source, str) else ""
    column = _characters(lines[line], character) if line < len(lines) else 0
    return Problem(line + 1, column + 1, "error", message.strip(), named or server)


def _characters(line: str, units: int) -> int:
    """How many characters the first `units` UTF-16 units of a line are."""
    if line.isascii():
        return min(units, len(line))
    start = line.encode("utf-16-le", "surrogatepass")[: 2 * units]
    return len(start.decode("utf-16-le", "ignore"))
