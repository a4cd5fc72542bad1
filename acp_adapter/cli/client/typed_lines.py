"""What a person types into `hermes-acp chat`: lines that can be edited, those before, pasted ones as one prompt."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

_LEAVE = frozenset({"/exit", "/quit"})
_PROMPT, _MORE = "> ", ". "
_MOST_LINES_KEPT = 1000


class TypedLines:
    """Reads prompts from standard input; a context manager that keeps what was said for the next time.

    Args:
        history: the file of the lines before; None keeps none.
        commands: the names of the agent's slash commands, as far as they are known now; Tab completes them.
    """

    def __init__(self, history: Path | None, commands: Callable[[], Sequence[str]]) -> None:
        self._is_terminal = sys.stdin.isatty()
        self._history = history
        self._commands = commands
        self._kept = 0
        self._joins_pasted = self._is_terminal

    def __enter__(self) -> Self:
        if self._is_terminal:
            # Some Pythons are built without; then the terminal itself edits a line.
            with contextlib.suppress(ImportError):
                self._set_up()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._history is None or "readline" not in sys.modules or not self._is_terminal:
            return
        import readline  # noqa: PLC0415 - it is there, and only here

        said = readline.get_current_history_length() - self._kept
        if said <= 0:
            return
        with contextlib.suppress(OSError):  # nothing depends on it
            os.close(os.open(self._history, os.O_WRONLY | os.O_CREAT, 0o600))
            if hasattr(readline, "append_history_file"):
                readline.append_history_file(said, str(self._history))
            else:
                readline.write_history_file(str(self._history))

    def prompts(self, before_each: Callable[[], None]) -> Iterator[str]:
        """What the person says, until they leave; a line that ends with a backslash goes on in the next."""
        while True:
            before_each()
            said = self._said()
            if said is None or said.strip() in _LEAVE:
                return
            if said.strip():
                yield said

    def _set_up(self) -> None:
        import readline  # noqa: PLC0415 - `input` then knows how to edit a line, and the lines before

        is_gnu = "libedit" not in (readline.__doc__ or "")
        readline.parse_and_bind("tab: complete" if is_gnu else "bind ^I rl_complete")
        # What is pasted then comes in one piece, line breaks and all; other libraries give it line by line.
        if is_gnu and os.environ.get("TERM") != "dumb":
            readline.parse_and_bind("set enable-bracketed-paste on")
            self._joins_pasted = False
        readline.set_completer_delims(" \t\n")
        readline.set_completer(self._complete)
        readline.set_history_length(_MOST_LINES_KEPT)
        if self._history is not None:
            with contextlib.suppress(OSError):
                readline.read_history_file(str(self._history))
        self._kept = readline.get_current_history_length()

    def _complete(self, begun: str, number: int) -> str | None:
        names = [*self._commands(), *sorted(_LEAVE)] if begun.startswith("/") else []
        found = [name for name in names if name.startswith(begun)]
        return f"{found[number]} " if number < len(found) else None

    def _said(self) -> str | None:
        lines: list[str] = []
        while True:
            try:
                line = input((_MORE if lines else _PROMPT) if self._is_terminal else "")
            except EOFError:
                if self._is_terminal:
                    print()
                return "\n".join(lines) or None
            except KeyboardInterrupt:  # what was typed is dropped; on an empty line the next Ctrl-D leaves
                print()
                lines = []
                continue
            # Bytes that are no UTF-8 come as lone surrogates, which JSON readers may refuse.
            line = line.encode("utf-8", "replace").decode()
            goes_on = line.endswith("\\")
            lines.append(line[:-1] if goes_on else line)
            if not goes_on and not (self._joins_pasted and self._more_is_there()):
                return "\n".join(lines)

    @staticmethod
    def _more_is_there() -> bool:
        """Lines that came at once were pasted together."""
        return bool(select.select([sys.stdin], [], [], 0)[0])
