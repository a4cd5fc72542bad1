"""A file's whole content, for tools that change it."""

from __future__ import annotations

from pathlib import Path

from tools.context import ToolContext
from tools.errors import FileMissing, ToolError


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
