"""Asking the person at the terminal whether something may be done."""

from __future__ import annotations

import os
import select
import sys
import termios
from collections.abc import Callable

from acp_adapter.cli.approve import Reply
from acp_adapter.cli.client import SECONDS_TO_SEE_A_SIGNAL
from acp_adapter.cli.interrupts import Interrupts, QuestionAborted

_LONGEST_LINE = 4096
_REPLIES: dict[str, Reply] = {
    "y": "once",
    "yes": "once",
    "a": "always",
    "always": "always",
    "n": "no",
    "no": "no",
}


def terminal_question(interrupts: Interrupts) -> Callable[[], Reply] | None:
    """The function that asks, or None where standard input or output is no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    return lambda: _ask(interrupts)


def _ask(interrupts: Interrupts) -> Reply:
    # What was typed before the question appeared is no answer to it.
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    while True:
        try:
            with interrupts.question():
                line = _read_line("    y once, a always, n no: ")
        except QuestionAborted:
            print()
            return "cancelled"
        if not line:  # end of input: Ctrl-D, or the terminal is gone
            print()
            return "no"
        reply = _REPLIES.get(line.strip().lower())
        if reply is not None:
            return reply


def _read_line(prompt: str) -> str:
    print(prompt, end="", flush=True)
    # Not `input()`: a signal just before its read begins would be seen only after the next line.
    while not select.select([sys.stdin], [], [], SECONDS_TO_SEE_A_SIGNAL)[0]:
        pass
    return os.read(sys.stdin.fileno(), _LONGEST_LINE).decode("utf-8", "replace")
