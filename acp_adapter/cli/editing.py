"""What a person types where lines can be drawn over, on prompt_toolkit: lines that are edited, and menus.

Signals end what runs here, in order, and are raised again once the terminal is as it was: what handles them may then
raise what it wants. Ctrl-C is the key for one of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.filters import Always
from prompt_toolkit.history import History
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.processors import PasswordProcessor
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.widgets import CheckboxList, RadioList

from acp_adapter.cli.console import Style, wrapped
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


def _run(
    application: Application[Any], run: Callable[[Callable[[], None]], Result], is_over: Callable[[], bool]
) -> Result:
    """The application's result; `run` runs it, and is given what is to be called at its beginning.

    Raises:
        InputEnded: there is nobody at the terminal any more.
        Withdrawn: `is_over` said so.
        KeyboardInterrupt: Ctrl-C, and whatever handles it has not raised anything.
    """
    came: list[int] = []
    application.ttimeoutlen, application.timeoutlen = _SECONDS_OF_A_SEQUENCE, 0.0

    def end(number: int) -> None:
        came.append(number)
        _leave(application, KeyboardInterrupt)

    def begin() -> None:
        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, end, number)
        if is_over is not _never:
            application.create_background_task(_leave_when(application, is_over))

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        return run(begin)
    except KeyboardInterrupt:
        came = came or [signal.SIGINT]
    except (EOFError, OSError) as gone:
        raise InputEnded from gone
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for each in came:
        signal.raise_signal(each)
    raise KeyboardInterrupt


async def _leave_when(application: Application[Any], is_over: Callable[[], bool]) -> None:
    while not is_over():  # noqa: ASYNC110 - it is asked about, and tells nobody
        await asyncio.sleep(_SECONDS_TO_LOOK_UP)
    _leave(application, Withdrawn)


def _leave(application: Application[Any], why: type[BaseException]) -> None:
    if not application.is_done:
        application.exit(exception=why)


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
        """A line. What `_run` raises."""
        above, line_end, last = prompt.rpartition("\n")
        print(above, end=line_end, flush=True)
        return self._asked(last, is_over, input_processors=[PasswordProcessor("")] if unseen else [])

    def several(self, prompt: str, further: str) -> str:
        """A line, or more: one that ends with a backslash goes on, and what is pasted may have any number."""

        def lead(_width: int, _line: int, is_wrapped: int) -> str:
            return "" if is_wrapped else further

        return self._asked(prompt, _never, multiline=True, prompt_continuation=lead, key_bindings=_line_keys())

    def _asked(self, prompt: str, is_over: Callable[[], bool], **how: Any) -> str:
        session = self._session
        return _run(
            session.app, lambda begin: session.prompt(prompt, pre_run=begin, handle_sigint=False, **how), is_over
        )


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
        with contextlib.suppress(OSError):
            text = self._path.read_text(encoding="utf-8", errors="replace").replace("\\\n", "\0")
            for said in reversed(text.rstrip("\n").split("\n")[-self._MOST :]):
                yield said.replace("\0", "\n")

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):  # nothing depends on it
            self._path.touch(mode=0o600)
            with self._path.open("a", encoding="utf-8") as kept:
                kept.write(string.replace("\n", "\\\n") + "\n")


# A menu.

_INDENT = "    "
_LEAST_WIDTH = 20
_UNKNOWN_WIDTH = 80


def choose(
    labels: Sequence[tuple[str, str]],
    style: Style,
    hint: str,
    *,
    at: int = 0,
    marked: Iterable[int] | None = None,
    is_over: Callable[[], bool] = _never,
) -> tuple[int, set[int]]:
    """Let the person choose one of the labels, or mark several; the menu is taken away then.

    Args:
        labels: each with the letter that chooses it or ''; so does its number.
        at: the one that is chosen at first.
        marked: those that are marked at first; None where one is to be chosen.

    Returns:
        which one is chosen, and which are marked.

    Raises:
        as `_run`, and InputEnded for Escape.
    """
    lettered = any(letter for _, letter in labels)
    names = [f"{f'{letter:1} ' if lettered else ''}{visible_line(label)}" for label, letter in labels]
    # What is allowed is never cut off: a long name goes on in the next line.
    room = max(_LEAST_WIDTH, (style.width or _UNKNOWN_WIDTH) - len(f"{_INDENT}[x] "))
    values = [(number, f"\n{_INDENT}    ".join(wrapped(name, room))) for number, name in enumerate(names)]
    chooser: CheckboxList[int] | RadioList[int]
    if marked is not None:
        chooser = CheckboxList(values, [*marked], f"{_INDENT}[", "x")
    else:
        chooser = RadioList(values, at, select_on_focus=True, show_cursor=False, open_character=_INDENT)
        chooser.select_character, chooser.close_character = style.sign("chosen"), ""
    chooser.selected_style = "bold fg:ansicyan" if style.colour else ""
    chooser.checked_style = ""
    chooser.show_scrollbar = False
    chooser.window.wrap_lines = Always()
    source, out = _ends()
    forget_typed()
    clear_typeahead(source)
    below = FormattedTextControl([("dim" if style.colour else "", f"{_INDENT}{hint}")])
    layout = Layout(HSplit([chooser, Window(below, dont_extend_height=True, wrap_lines=True)]))
    application: Application[None] = Application(
        layout=layout, key_bindings=_menu_keys(labels, chooser), erase_when_done=True, input=source, output=out
    )
    _run(application, lambda begin: application.run(pre_run=begin, handle_sigint=False), is_over)
    return chooser.current_value, set() if marked is None else {*chooser.current_values}


def _menu_keys(labels: Sequence[tuple[str, str]], chooser: CheckboxList[int] | RadioList[int]) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter", eager=True)
    @keys.add("c-j", eager=True)
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

    def press(number: int, event: KeyPressEvent) -> None:
        if isinstance(chooser, RadioList):
            chooser.current_value = number
            event.app.exit()
        else:
            chooser.current_values = sorted({*chooser.current_values} ^ {number})

    for number, (_label, letter) in enumerate(labels):
        for sign in {letter, letter.upper(), str(number + 1) if number < 9 else ""} - {""}:  # noqa: PLR2004 - a digit
            keys.add(sign, eager=True)(functools.partial(press, number))
    return keys
