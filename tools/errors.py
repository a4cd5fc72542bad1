"""The errors that tools raise, and the line that installs an extra.

ToolError                   the model is told; it can act on the message
├── FileAccessError         a path could not be read or changed
│   ├── FileMissing
│   ├── FileChanged         the content is not what the caller saw
│   └── FileRefused         a device, a pipe, a directory where a file is due
├── PatternRejected         what was to be searched for is no regular expression
├── CommandError            a command could not be started
└── Denied                  the policy or the person said no
ToolInterrupted             the turn is over; nothing may happen any more
"""

from __future__ import annotations

import functools
import importlib.util
import shlex
import sys


class ToolError(Exception):
    """A failure described for the model: what was tried, what happened, what to do.

    Attributes:
        shown: what the person reads in its place, where the advice to the model is none for them; '' for the text.
    """

    def __init__(self, text: str = "", shown: str = "") -> None:
        super().__init__(text)
        self.shown = shown


class FileAccessError(ToolError):
    """A path could not be read or changed."""


class FileMissing(FileAccessError):
    """There is nothing at the path."""


class FileChanged(FileAccessError):
    """The file's content is not what the caller based its change on."""


class FileRefused(FileAccessError):
    """The path names something that is not a regular file."""


class PatternRejected(ToolError):
    """What was to be searched for is no regular expression.

    Attributes:
        why: what is wrong with it, '' where that is not known.
    """

    def __init__(self, text: str, why: str) -> None:
        super().__init__(text)
        self.why = why


class CommandError(ToolError):
    """A command could not be started."""


class Denied(ToolError):
    """The policy or the person refused the action.

    Attributes:
        because: why, in short, with what the person has said; '' where the text alone says it.
    """

    def __init__(self, text: str = "", shown: str = "", because: str = "") -> None:
        super().__init__(text, shown)
        self.because = because


class ToolInterrupted(Exception):
    """The turn that the tool call belongs to was cancelled or is over."""


# The line that installs an extra, for the way in which this program came here.

DISTRIBUTION = "hermes-editor-agent"


@functools.cache
def install_line(extra: str) -> str:
    """What somebody types to get what the extra `extra` brings, beside what is installed already.

    It names the interpreter: an editor's agent lives in an environment that the person's shell does not use. It needs
    no published package, as what is installed already counts for its name.
    """
    wanted = _quoted(f"{DISTRIBUTION}[{extra}]")
    python = _quoted(sys.executable)
    # Environments that uv makes have no pip of their own.
    if importlib.util.find_spec("pip") is None:
        return f"uv pip install --python {python} {wanted}"
    return f"{python} -m pip install {wanted}"


def _quoted(word: str) -> str:
    if sys.platform == "win32":
        return f'"{word}"' if set(word) & set(" []&()") else word
    return shlex.quote(word)
