"""Sets a variable in the text of an .env file and leaves every other line as it is."""

from __future__ import annotations

import io
import re

# Editors of Windows put it at the beginning.
_MARK = "\ufeff"
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+=-]+")


class EnvNotEditable(Exception):
    """The text cannot be changed so that it means what is wanted."""


def with_variable(text: str, name: str, value: str) -> str:
    """The file's text with `name` set to `value`: in the place where it was set before, else at the end.

    Raises:
        EnvNotEditable: the file would not say so afterwards, or would say something else of other variables.
    """
    from dotenv.parser import parse_stream  # noqa: PLC0415 - for those who have a key to store

    if text.startswith(_MARK):
        return _MARK + with_variable(text.removeprefix(_MARK), name, value)
    end = "\r\n" if "\r\n" in text else "\n"
    line = f"{name}={_quoted(value)}{end}"
    parts: list[str] = []
    is_set = False
    for binding in parse_stream(io.StringIO(text, newline="")):
        original = binding.original.string
        if binding.key != name:
            parts.append(original)
        elif not is_set:
            # What the parser counts to a binding may begin with blank lines.
            parts.append(original[: len(original) - len(original.lstrip())] + line)
            is_set = True
    changed = "".join(parts)
    if not is_set:
        changed += ("" if not changed or changed.endswith(("\n", "\r")) else end) + line
    if _values(changed) != {**_values(text), name: value}:
        raise EnvNotEditable
    return changed


def _values(text: str) -> dict[str, str | None]:
    from dotenv import dotenv_values  # noqa: PLC0415 - as above

    return dict(dotenv_values(stream=io.StringIO(text), interpolate=False))


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
