"""What a command does when it cannot do what it was asked to, or when nobody reads what it says."""

from __future__ import annotations

import contextlib
import os
import sys

from acp_adapter.cli.terminal.safe_text import safe_text


def say_failed(command: str, text: str) -> None:
    """`hermes-acp COMMAND: TEXT`, without secrets and without anything that steers a terminal."""
    from tools.redaction import redact  # noqa: PLC0415 - most commands do not fail

    with contextlib.suppress(OSError):  # the window is gone, and nobody is there to be told
        print(f"hermes-acp {command}: {safe_text(redact(text))}", file=sys.stderr, flush=True)


def drop_output() -> None:
    """Whoever read our output has gone: the interpreter must not fail at flushing it, too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
