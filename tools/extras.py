"""The line that installs an extra, for the way in which this program came here."""

from __future__ import annotations

import functools
import importlib.util
import shlex
import sys

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
