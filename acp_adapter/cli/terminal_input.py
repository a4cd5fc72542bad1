"""What a person types at the terminal: lines, secrets, yes or no, keys, and menus to choose from."""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from acp_adapter.cli.acp_client import SECONDS_TO_SEE_A_SIGNAL
from acp_adapter.cli.console import Style, columns, wrapped
from acp_adapter.format import safe_text, visible_line

# Lines and keys, read so that Ctrl-C is seen at once, on every system.

if sys.platform == "win32":
    import msvcrt
else:
    import termios

_LONGEST_LINE = 4096
_END = "\x1a"  # Ctrl-Z, as Windows has it
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[@-~])")
_ARROWS = {b"\x1b[A": "up", b"\x1b[B": "down", b"\x1bOA": "up", b"\x1bOB": "down"}
_NAMES = {
    b"\r": "enter",
    b"\n": "enter",
    b"\x10": "up",
    b"\x0e": "down",
    b"\x04": "end",
    b"\x1b": "escape",
}
_SECONDS_OF_A_SEQUENCE = 0.05
_MOST_BYTES = 1024
_LOCAL_FLAGS = 3


def read_line(prompt: str) -> str:
    """The next line with its end; '' where there will be no more input."""
    print(prompt, end="", flush=True)
    # Not `input()`: a signal just before its read begins would be seen only after the next line. Nor `getpass`: it
    # reads from the controlling terminal, which need not be the one that was given to us.
    if sys.platform == "win32":
        return _typed_keys(echoes=True)
    while not select.select([sys.stdin], [], [], SECONDS_TO_SEE_A_SIGNAL)[0]:
        pass
    return os.read(sys.stdin.fileno(), _LONGEST_LINE).decode("utf-8", "replace")


def read_unseen(prompt: str) -> str:
    """The same, and what is typed is not shown."""
    if sys.platform == "win32":
        print(prompt, end="", flush=True)
        return _typed_keys(echoes=False)
    with _without_echo():
        return read_line(prompt)


def forget_typed() -> None:
    """Throw away what was typed and not read yet."""
    if sys.platform == "win32":
        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


if sys.platform == "win32":

    def _typed_keys(*, echoes: bool) -> str:
        line = ""
        while True:
            while not msvcrt.kbhit():  # `select` knows no consoles there
                time.sleep(SECONDS_TO_SEE_A_SIGNAL)
            key = msvcrt.getwch()
            if key == "\x03":
                raise KeyboardInterrupt
            if key in "\r\n":
                print(flush=True)
                return f"{line}\n"
            if key == _END and not line:
                return ""
            line = line[:-1] if key == "\b" else line + key
            if echoes:
                print("\b \b" if key == "\b" else key, end="", flush=True)


@contextlib.contextmanager
def _without_echo() -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    silent = [*before]
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSAFLUSH, silent)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


class TerminalGone(Exception):
    """There is nobody at the terminal any more."""


@contextlib.contextmanager
def single_keys(descriptor: int) -> Iterator[Keys]:
    """While the block runs, keys come one by one and are not shown; Ctrl-C and Ctrl-Z stay signals.

    What was typed before is dropped: it was no answer to what is asked now.

    Raises:
        TerminalGone: there is none any more.
    """
    try:
        before = termios.tcgetattr(descriptor)
        termios.tcflush(descriptor, termios.TCIFLUSH)
    except termios.error as error:
        raise TerminalGone from error
    keys = Keys(descriptor)
    try:
        try:
            keys.keep()
            yield keys
        finally:
            _restore(descriptor, before)
    except BaseException:  # a signal may have come in the middle of it
        _restore(descriptor, before)
        raise


def _restore(descriptor: int, modes: list[Any]) -> None:
    with contextlib.suppress(termios.error):  # the terminal is gone
        termios.tcsetattr(descriptor, termios.TCSADRAIN, modes)


class Keys:
    """Reads keys."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: list[str] = []

    def keep(self) -> bool:
        """Switch to single keys; True if that was needed: a shell may have switched back while we were stopped."""
        with contextlib.suppress(termios.error):  # the terminal is gone; the next key says so
            modes = termios.tcgetattr(self._descriptor)
            wanted = modes[_LOCAL_FLAGS] & ~(termios.ICANON | termios.ECHO)
            if modes[_LOCAL_FLAGS] != wanted:
                modes[_LOCAL_FLAGS] = wanted
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, modes)
                return True
        return False

    def next(self, seconds: float) -> str:
        """The next key: its sign, or `up`, `down`, `enter`, `escape`, `end`; '' if there was none in time."""
        if not self._waiting and self._ready(seconds):
            self._waiting = self._read()
        return self._waiting.pop(0) if self._waiting else ""

    def _read(self) -> list[str]:
        try:
            data = os.read(self._descriptor, _MOST_BYTES)
        except OSError:
            data = b""
        if not data:  # the terminal is gone
            return ["end"]
        # What a key sends may come in two pieces; Escape itself is followed by nothing.
        while _ends_open(data) and self._ready(_SECONDS_OF_A_SEQUENCE):
            more = os.read(self._descriptor, _MOST_BYTES)
            if not more:
                break
            data += more
        return list(_keys(data))

    def _ready(self, seconds: float) -> bool:
        return bool(select.select([self._descriptor], [], [], seconds)[0])


def _ends_open(data: bytes) -> bool:
    tail = data[data.rfind(b"\x1b") :] if b"\x1b" in data else b""
    return bool(tail) and not _SEQUENCE.match(tail)


def _keys(data: bytes) -> Iterator[str]:
    at = 0
    while at < len(data):
        if found := _SEQUENCE.match(data, at):
            at = found.end()
            if name := _ARROWS.get(found[0]):
                yield name
            continue
        sign = data[at : at + 1]
        at += 1
        if name := _NAMES.get(sign):
            yield name
        elif sign.isascii() and sign.decode().isprintable():
            yield sign.decode()


# Lines at the end of the transcript that are drawn over again, and taken away in the end.

_UNKNOWN_WIDTH = 80


class Drawing:
    """The lines as they were drawn last."""

    def __init__(self, out: TextIO, style: Style) -> None:
        self._out = out
        self._style = style
        self._plain: Sequence[str] = ()

    def draw(self, lines: Sequence[str], plain: Sequence[str]) -> None:
        """Show `lines` in place of those before; `plain` are the same without colours."""
        self._out.write(self._back() + "\n".join(lines))
        self._out.flush()
        self._plain = plain

    def erase(self) -> None:
        """Take them away."""
        self._out.write(self._back())
        self._out.flush()
        self._plain = ()

    def forget(self) -> None:
        """Others have written below them: they stay, and what is drawn next begins on a line of its own."""
        if self._plain:
            self._out.write("\r\n")
        self._plain = ()

    def _back(self) -> str:
        """To where the first line began; in a window made narrower since, each may take several."""
        if not self._plain:
            return ""
        above = rows(self._plain, self._style) - 1
        up = f"\x1b[{above}A" if above else ""
        return f"\r{up}\x1b[J"


def rows(lines: Sequence[str], style: Style) -> int:
    """The rows of the window that `lines`, which have no colours, take."""
    width = style.width or _UNKNOWN_WIDTH
    return sum(max(1, -(-columns(line) // width)) for line in lines)


# A menu: what it shows, and what each key does.

_INDENT = "    "
_LEAST_WIDTH = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to choose; `letter` chooses it, too."""

    label: str
    letter: str = ""


class Menu:
    """One of several, or with `several` any of them.

    Attributes:
        at: which one is chosen so far.
        marked: which ones are, of several.
    """

    def __init__(
        self, entries: Sequence[Entry], *, at: int = 0, several: bool = False, marked: Sequence[int] = ()
    ) -> None:
        self._entries = entries
        self._several = several
        self.at = at
        self.marked = set(marked)

    def press(self, key: str) -> bool:
        """Do what `key` says; True once the choice is made."""
        match key:
            case "up":
                self.at = (self.at - 1) % len(self._entries)
            case "down":
                self.at = (self.at + 1) % len(self._entries)
            case "enter":
                return True
            case " " if self._several:
                self.marked ^= {self.at}
            case _:
                return self._press_sign(key)
        return False

    def lines(self, style: Style, hint: str) -> list[str]:
        """What is shown of it now, as wide as the window, and no higher: then what is chosen and what is near it."""
        width = max(_LEAST_WIDTH, style.width or _UNKNOWN_WIDTH) - 1
        hints = wrapped(hint, width, _INDENT, _INDENT)
        room = style.height - rows(hints, style) - 1  # the last row is the cursor's
        shown = self._near(style, width, room) if style.height else range(len(self._entries))
        lines = [line for number in shown for line in self._entry(number, style, width)]
        above, below = shown.start, len(self._entries) - shown.stop
        lines[:0] = [style.paint(f"{_INDENT}({above} more above)", "dim")] if above else []
        lines += [style.paint(f"{_INDENT}({below} more below)", "dim")] if below else []
        return lines + [style.paint(line, "dim") for line in hints]

    def _near(self, style: Style, width: int, room: int) -> range:
        """The entries around the chosen one for which there is room, in rows of the window; that one at least."""
        plain = Style(signs=style.signs, columns=style.columns)
        if sum(rows(self._entry(number, plain, width), plain) for number in range(len(self._entries))) <= room:
            return range(len(self._entries))
        first = last = self.at
        room -= rows(self._entry(self.at, plain, width), plain) + 2  # two lines say how many others there are
        is_open = True
        while is_open:
            is_open = False
            for number in (last + 1, first - 1):
                if not 0 <= number < len(self._entries):
                    continue
                taken = rows(self._entry(number, plain, width), plain)
                if taken <= room:
                    room, is_open = room - taken, True
                    first, last = min(first, number), max(last, number)
        return range(first, last + 1)

    def _press_sign(self, key: str) -> bool:
        for number, entry in enumerate(self._entries):
            if key and key.lower() in {entry.letter, str(number + 1)}:
                self.at = number
                if not self._several:
                    return True
                self.marked ^= {number}
        return False

    def _entry(self, number: int, style: Style, width: int) -> list[str]:
        entry, is_at = self._entries[number], number == self.at
        sign = style.sign("chosen") if is_at else " "
        box = f"[{'x' if number in self.marked else ' '}] " if self._several else ""
        letter = f"{entry.letter} " if entry.letter else ("  " if any(each.letter for each in self._entries) else "")
        lead = f"{_INDENT}{sign} {letter}{box}"
        # What is allowed is never cut off: a long name goes on in the next line.
        room = max(_LEAST_WIDTH, width - columns(lead)) + columns(lead)
        lines = wrapped(visible_line(entry.label), room, lead, " " * columns(lead), breaks_words=True) or [lead]
        return [style.paint(line, "bold", "cyan") for line in lines] if is_at else lines


# A person who is asked for a line, a secret or a yes.


class InputEnded(Exception):
    """There will be no more input: Ctrl-D, or the terminal is gone."""


class Terminal:
    """The person at standard input and output. Its questions raise InputEnded and KeyboardInterrupt."""

    def say(self, text: str = "") -> None:
        """Show a line or several."""
        print(safe_text(text), flush=True)

    def line(self, prompt: str, default: str = "") -> str:
        """What the person types, without spaces around it; `default` for nothing."""
        shown = f"{prompt} [{default}]" if default else prompt
        return _line(read_line(f"{safe_text(shown)}: ")) or default

    def secret(self, prompt: str) -> str:
        """The same, and what is typed is not shown."""
        typed = _line(read_unseen(f"{safe_text(prompt)} (not shown): "))
        print(flush=True)  # the line break was not shown either
        return typed

    def agrees(self, prompt: str, *, default: bool = True) -> bool:
        """Whether the person says yes."""
        while True:
            typed = self.line(f"{prompt} {'[Y/n]' if default else '[y/N]'}").lower()
            if typed in {"", "y", "yes", "n", "no"}:
                return typed.startswith("y") if typed else default


def _line(typed: str) -> str:
    if not typed:
        raise InputEnded
    return typed.strip()
