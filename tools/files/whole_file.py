"""A file's whole content, for tools that change it."""

from __future__ import annotations

from pathlib import Path

from tools.context import ToolContext
from tools.errors import FileMissing, ToolError
from tools.text.encoding import decode

_SAVED_OTHERWISE = "The editor changed the text when it saved the file: read it again before the next change."


def read_whole(path: Path, ctx: ToolContext) -> bytes | None:
    """The bytes of a file, None when nothing is there.

    Raises:
        ToolError: it is bigger than the settings allow, or one of the port's errors.
    """
    limit = ctx.settings.read.max_bytes
    try:
        with ctx.fs.open(path) as stream:
            data = stream.read(limit + 1)
    except FileMissing:
        return None
    if len(data) > limit:
        raise ToolError(f"{path} has more than {limit:,} bytes: too big to edit as a whole. Use the terminal.")
    return data


def saved_text(written: bytes, sent: bytes, text: str) -> tuple[str, str]:
    """The text that a file holds after a write, and a note for the model where that is not the text that was sent.

    Args:
        written: what the port says is in the file.
        sent, text: what it was given, as bytes and as text.
    """
    if written == sent:
        return text, ""
    file = decode(written)
    return ("" if file is None else file.text), _SAVED_OTHERWISE
