"""What a person types where lines can be drawn over, on prompt_toolkit: lines that are edited, and menus.

Signals end what runs here, in order, and are raised again once the terminal is as it was: what handles them may then
raise what it wants. Ctrl-C is the key for one of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.processors import PasswordProcessor
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.shortcuts import CompleteStyle

from acp_adapter.cli.console import Style, columns, wrapped
from acp_adapter.cli.terminal_input import InputEnded, Withdrawn, forget_typed
from acp_adapter.format import visible_line

# Running.

_SIGNALS = () if sys.platform == "win32" else (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SECONDS_TO_LOOK_UP = 0.1  # that nobody waits for the answer any more
_SECONDS_OF_A_SEQUENCE = 0.05

Result = TypeVar("Result")


def _ends() -> tuple[Input, Output]:
    """The terminal, as it is standard input and output now."""
    if sys.platform == "win32":
        return create_input(sys.stdin), create_output(sys.stdout)
    from prompt_toolkit.output.vt100 import Vt100_Output  # noqa: PLC0415 - elsewhere it cannot be loaded

    out = Vt100_Output.from_pty(sys.stdout)
    out.enable_cpr = False  # where the cursor stands need not be known, and not every terminal says it
    return create_input(sys.stdin), out


def _never() -> bool:
    return False


class _Run:
    """One run of an application, which signals end, and `is_over`."""

    def __init__(self, application: Application[Any], is_over: Callable[[], bool]) -> None:
        self._application = application
        self._is_over = is_over
        self._came: list[int] = []
        application.ttimeoutlen, application.timeoutlen = _SECONDS_OF_A_SEQUENCE, 0.0

    def by(self, run: Callable[[Callable[[], None]], Result]) -> Result:
        """The application's result; `run` runs it, and is given what is to be called at its beginning.

        Raises:
            InputEnded: there is nobody at the terminal any more.
            Withdrawn: it is over.
            KeyboardInterrupt: Ctrl-C, and whatever handles it has not raised anything.
        """
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        try:
            return run(self._begin)
        except KeyboardInterrupt:
            self._came = self._came or [signal.SIGINT]
        except (EOFError, OSError) as gone:
            raise InputEnded from gone
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        for came in self._came:
            signal.raise_signal(came)
        raise KeyboardInterrupt

    def _begin(self) -> None:
        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._end, number)
        if self._is_over is not _never:
            self._application.create_background_task(self._watch())

    def _end(self, number: int) -> None:
        self._came.append(number)
        if not self._application.is_done:
            self._application.exit(exception=KeyboardInterrupt)

    async def _watch(self) -> None:
        while not self._is_over():  # noqa: ASYNC110 - it is asked about, and tells nobody
            await asyncio.sleep(_SECONDS_TO_LOOK_UP)
        if not self._application.is_done:
            self._application.exit(exception=Withdrawn)


# Lines.


def _line_keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    return keys


class Lines:
    """Asks for lines that can be edited.

    Args:
        history: the file of what was said before; None keeps nothing.
        commands: the words that Tab completes at the beginning.
    """

    def __init__(self, history: Path | None = None, commands: Callable[[], Iterable[str]] = tuple) -> None:
        source, out = _ends()
        self._session: PromptSession[str] = PromptSession(
            history=None if history is None else _Said(history),
            completer=_Commands(commands),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            enable_suspend=True,
            input=source,
            output=out,
        )

    def one(self, prompt: str, *, unseen: bool = False, is_over: Callable[[], bool] = _never) -> str:
        """A line. What `_Run` raises."""
        above, line_end, last = prompt.rpartition("\n")
        print(above, end=line_end, flush=True)
        return self._asked(last, is_over, input_processors=[PasswordProcessor("")] if unseen else [])

    def several(self, prompt: str, further: str) -> str:
        """A line, or more: one that ends with a backslash goes on, and what is pasted may have any number."""

        def lead(_width: int, _line: int, is_wrapped: int) -> str:
            return "" if is_wrapped else further

        return self._asked(prompt, _never, multiline=True, prompt_continuation=lead, key_bindings=_line_keys())

    def _asked(self, prompt: str, is_over: Callable[[], bool], **how: Any) -> str:
        running = _Run(self._session.app, is_over)
        return running.by(lambda begin: self._session.prompt(prompt, pre_run=begin, handle_sigint=False, **how))


class _Commands(Completer):
    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def get_completions(self, document: Any, complete_event: object) -> Iterator[Completion]:  # noqa: ARG002 - the library's
        begun = document.text_before_cursor
        for name in self._names() if begun.startswith("/") else ():
            if name.startswith(begun):
                yield Completion(f"{name} ", start_position=-len(begun))


class _Said(History):
    """A line of the file is a line that was said; one that goes on in the next ends with a backslash."""

    _MOST = 1000

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> Iterator[str]:
        said: list[str] = []
        goes_on = False
        with contextlib.suppress(OSError):
            for line in self._path.read_text(encoding="utf-8", errors="replace").splitlines():
                text = line.removesuffix("\\")
                said.append(f"{said.pop()}\n{text}" if goes_on else text)
                goes_on = text != line
        yield from reversed(said[-self._MOST :])

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):  # nothing depends on it
            self._path.touch(mode=0o600)
            with self._path.open("a", encoding="utf-8") as kept:
                kept.write(string.replace("\n", "\\\n") + "\n")


# A menu: what it shows, and what each key does.

_INDENT = "    "
_LEAST_WIDTH = 20
_UNKNOWN_WIDTH = 80


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to choose; `letter` chooses it, too."""

    label: str
    letter: str = ""


@dataclass(slots=True)
class Menu:
    """One of several, or with `several` any of them.

    Attributes:
        at: which one is chosen so far.
        marked: which ones are, of several.
    """

    entries: Sequence[Entry]
    style: Style
    hint: str
    at: int = 0
    several: bool = False
    marked: set[int] = field(default_factory=set)

    def choose(self, is_over: Callable[[], bool] = _never) -> None:
        """Let the person choose; the menu is taken away then. What `_Run` raises, and InputEnded for Escape."""
        source, out = _ends()
        # What was typed before is no answer to what is asked now.
        forget_typed()
        clear_typeahead(source)
        control = FormattedTextControl(
            self._shown,
            focusable=True,
            show_cursor=False,
            get_cursor_position=self._cursor,
        )
        hint = Window(FormattedTextControl(self._hint), dont_extend_height=True)
        layout = Layout(HSplit([Window(control, dont_extend_height=True), hint]))
        application: Application[None] = Application(
            layout=layout, key_bindings=self._keys(), erase_when_done=True, input=source, output=out
        )
        _Run(application, is_over).by(lambda begin: application.run(pre_run=begin, handle_sigint=False))

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("up")
        @keys.add("c-p")
        def _(_event: KeyPressEvent) -> None:
            self.at = (self.at - 1) % len(self.entries)

        @keys.add("down")
        @keys.add("c-n")
        def _(_event: KeyPressEvent) -> None:
            self.at = (self.at + 1) % len(self.entries)

        @keys.add("enter")
        @keys.add("c-j")
        def _(event: KeyPressEvent) -> None:
            event.app.exit()

        @keys.add("escape")
        @keys.add("c-d")
        def _(event: KeyPressEvent) -> None:
            event.app.exit(exception=EOFError)

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            event.app.exit(exception=KeyboardInterrupt)

        @keys.add("c-z")
        def _(event: KeyPressEvent) -> None:
            event.app.suspend_to_background()

        @keys.add("<any>")
        def _(event: KeyPressEvent) -> None:
            if self._press(event.data):
                event.app.exit()

        return keys

    def _press(self, sign: str) -> bool:
        """Do what the key says; True once the choice is made."""
        if sign == " " and self.several:
            self.marked ^= {self.at}
        for number, entry in enumerate(self.entries):
            if sign.lower() in {entry.letter, str(number + 1)} - {""}:
                self.at = number
                if not self.several:
                    return True
                self.marked ^= {number}
        return False

    def _shown(self) -> StyleAndTextTuples:
        lines = [(number, line) for number in range(len(self.entries)) for line in self._entry(number)]
        look = "bold fg:ansicyan" if self.style.colour else ""
        shown = [(look if number == self.at else "", f"{line}\n") for number, line in lines]
        return [*shown[:-1], (shown[-1][0], lines[-1][1])]

    def _hint(self) -> StyleAndTextTuples:
        lines = wrapped(self.hint, self._width(), _INDENT, _INDENT)
        return [("dim" if self.style.colour else "", "\n".join(lines))]

    def _cursor(self) -> Point:
        return Point(0, sum(len(self._entry(above)) for above in range(self.at)))

    def _width(self) -> int:
        return max(_LEAST_WIDTH, self.style.width or _UNKNOWN_WIDTH) - 1

    def _entry(self, number: int) -> list[str]:
        entry = self.entries[number]
        sign = self.style.sign("chosen") if number == self.at else " "
        box = f"[{'x' if number in self.marked else ' '}] " if self.several else ""
        letter = f"{entry.letter} " if entry.letter else ("  " if any(each.letter for each in self.entries) else "")
        lead = f"{_INDENT}{sign} {letter}{box}"
        room = max(_LEAST_WIDTH, self._width() - columns(lead)) + columns(lead)
        # What is allowed is never cut off: a long name goes on in the next line.
        return wrapped(visible_line(entry.label), room, lead, " " * columns(lead), breaks_words=True) or [lead]
