"""A file's whole content, for tools that change it."""

from __future__ import annotations

from pathlib import Path

from tools.arguments import display
from tools.context import ToolContext
from tools.errors import FileMissing, ToolError
from tools.text.encoding import TextFile, decode

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


def encoded(path: Path, file: TextFile, text: str, ctx: ToolContext) -> bytes:
    """The bytes of a text in the encoding of `file`, which is to be at `path`.

    Raises:
        ToolError: the encoding lacks a character.
    """
    try:
        return file.encode(text)
    except UnicodeEncodeError as problem:
        lacking, name = text[problem.start], display(path, ctx)
        if not file.is_guessed:
            raise ToolError(
                f"The content of {name} cannot be written as {file.encoding}: character {problem.start} is half a "
                "surrogate pair. Nothing was written; send it again without that."
            ) from problem
        known = file.encoding if not file.others else f"{file.encoding} or {' or '.join(file.others)}, as it seems"
        raise ToolError(
            f"The new text holds {lacking!r}, which {name} cannot hold: it is {known}. Nothing was changed. Use "
            "other characters. Or, if the user wants the file to be UTF-8, convert it first, in the terminal: "
            f"iconv -f {_iconv_name(file.encoding)} -t utf-8 FILE > NEW; then read it and try again."
        ) from problem


def _iconv_name(encoding: str) -> str:
    return "latin1" if encoding == "latin-1" else encoding.replace("_", "-")


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
