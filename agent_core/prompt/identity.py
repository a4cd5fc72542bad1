"""The layer that says who the agent is: `SOUL.md` in the home directory, or what is written here."""

from __future__ import annotations

from pathlib import Path

from agent_core.prompt.context_files.cutting import cut
from agent_core.prompt.context_files.reading import FileText, Unreadable, read_text
from tools.untrusted.scanner import scan

FILE_NAME = "SOUL.md"
MOST_CHARS = 20_000

DEFAULT_IDENTITY = """\
You are Hermes, a coding agent that works inside the user's editor. You read, search and change the files of the \
session's directories and run commands there, with the tools you have."""


def read_soul(home: Path) -> tuple[str, str]:
    """What the home's `SOUL.md` says, and what is wrong with it, for the person; each '' for nothing.

    Blocks for one small file. A text that looks like an attack is not used; a long one is cut.
    """
    path = home / FILE_NAME
    read = read_text(path)
    if not isinstance(read, FileText):
        return "", f"{path} is not used: {read.why}." if isinstance(read, Unreadable) else ""
    found = scan(read.text, "context")
    if found.is_blocked:
        return "", f"{path} is not used, since {found.reason}. Change it, or remove it."
    short = cut(found.cleaned.strip(), MOST_CHARS, FILE_NAME)
    return short.text, f"{path} is too long: {short.left_out:,} characters are left out." if short.left_out else ""
