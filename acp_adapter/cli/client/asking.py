"""Asking the person at the terminal: to choose with the arrow keys, or to write a line."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Callable
from dataclasses import replace

from acp_adapter.cli.client.interrupts import Interrupts
from acp_adapter.cli.terminal.drawing import Drawing
from acp_adapter.cli.terminal.menu import Menu
from acp_adapter.cli.terminal.style import Style
from acp_adapter.cli.terminal.typed import Keys, TerminalGone, read_line, single_keys

_SECONDS_TO_LOOK_UP = 0.2  # for a signal, or that nobody waits for the answer any more
_LONGEST_LINE = 65536


class Left(Exception):
    """The person chose nothing: Escape, Ctrl-D, or the terminal is gone."""


class Withdrawn(Exception):
    """Whoever asked wants no answer any more."""


class Asking:
    """Puts questions to the person, one after the other. A cancelled turn raises `QuestionAborted` out of them.

    Attributes:
        interrupts: what Ctrl-C does now.
        withdrawn: whether the question that is being asked is no longer one.
    """

    def __init__(self, interrupts: Interrupts, style: Style) -> None:
        self.interrupts = interrupts
        self.withdrawn: Callable[[], bool] = _never
        self.style = style

    def choose(self, menu: Menu, hint: str) -> None:
        """Let the person choose from `menu`.

        Raises:
            Left, Withdrawn: they did not.
        """
        drawing = Drawing(sys.stdout, self.style)
        try:
            with single_keys(sys.stdin.fileno()) as keys, self.interrupts.question():
                try:
                    self._choose(menu, hint, keys, drawing)
                finally:
                    with contextlib.suppress(OSError):  # the window is gone, and the menu with it
                        drawing.erase()
        except TerminalGone as gone:
            raise Left from gone

    def line(self, prompt: str) -> str:
        """What the person writes, as it is edited by the terminal.

        Raises:
            Left, Withdrawn: they wrote nothing.
        """
        print(prompt, end="", flush=True)
        with self.interrupts.question():
            try:
                text = self._line()
            except BaseException:
                print()
                raise
        if not text:  # end of input: Ctrl-D, or the terminal is gone
            print()
            raise Left
        return text

    def _choose(self, menu: Menu, hint: str, keys: Keys, drawing: Drawing) -> None:
        shown: list[str] | None = None
        while True:
            plain = menu.lines(replace(self.style, colour=False), hint)
            if plain != shown:
                drawing.draw(menu.lines(self.style, hint), plain)
                shown = plain
            key = keys.next(_SECONDS_TO_LOOK_UP)
            if key in {"escape", "end"}:
                raise Left
            if self.withdrawn():
                raise Withdrawn
            if not key:
                if keys.keep():  # a shell was here meanwhile, and has written below
                    drawing.forget()
                    shown = None
            elif menu.press(key):
                return

    def _line(self) -> str:
        if sys.platform == "win32":  # `select` knows no consoles there
            return read_line("")
        # Not `input()`: a signal just before its read begins would be seen only after the next line.
        while not select.select([sys.stdin], [], [], _SECONDS_TO_LOOK_UP)[0]:
            if self.withdrawn():
                raise Withdrawn
        try:
            return os.read(sys.stdin.fileno(), _LONGEST_LINE).decode("utf-8", "replace")
        except OSError:  # the terminal is gone
            return ""


def _never() -> bool:
    return False
