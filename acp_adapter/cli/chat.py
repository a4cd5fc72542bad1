"""`hermes-acp chat`: a conversation at the terminal, through the real server process or with another agent."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from acp_adapter.cli.acp_client import AgentRefused
from acp_adapter.cli.interrupts import Interrupts
from acp_adapter.cli.main import say_failed
from acp_adapter.cli.prompt import CAPABILITIES, PromptOptions, Talk, conversed, parse_chat_arguments, refusal
from acp_adapter.cli.terminal_input import InputEnded, is_more_there, plain_line
from agent_core.errors import RequestError
from agent_core.home import find_home

if TYPE_CHECKING:
    from acp_adapter.cli.editing import Lines

# What a person types: lines that can be edited, those before, pasted ones as one prompt.

_LEAVE = frozenset({"/exit", "/quit"})
_PROMPT, _MORE = "> ", ". "


class TypedLines:
    """Reads prompts from standard input.

    Args:
        history: the file of the lines before; None keeps none.
        commands: the names of the agent's slash commands, as far as they are known now; Tab completes them.
        edits: lines can be edited.
    """

    def __init__(self, history: Path | None, commands: Callable[[], Sequence[str]], *, edits: bool) -> None:
        self._is_terminal = sys.stdin.isatty()
        self._edited: Lines | None = None
        if self._is_terminal and edits:
            from acp_adapter.cli.editing import Lines  # noqa: PLC0415 - loads prompt_toolkit

            self._edited = Lines(history, lambda: (*commands(), *sorted(_LEAVE)))

    def prompts(self, before_each: Callable[[], None]) -> Iterator[str]:
        """What the person says, until they leave; a line that ends with a backslash goes on in the next."""
        while True:
            before_each()
            try:
                said = self._edited.several(_PROMPT, _MORE) if self._edited else self._said()
            except InputEnded:
                return
            except KeyboardInterrupt:  # what was typed is dropped; on an empty line the next Ctrl-D leaves
                print()
                continue
            # Bytes that are no UTF-8 come as lone surrogates, which JSON readers may refuse.
            said = said.encode("utf-8", "replace").decode()
            if said.strip() in _LEAVE:
                return
            if said.strip():
                yield said

    def _said(self) -> str:
        lines: list[str] = []
        while True:
            line = plain_line((_MORE if lines else _PROMPT) if self._is_terminal else "")
            lines.append(line.removesuffix("\\"))
            # Lines that came at once were pasted together.
            if not line.endswith("\\") and not (self._is_terminal and is_more_there()):
                return "\n".join(lines)


_LATE_SECONDS = 0.05


def main(argv: list[str]) -> int:
    """Run `hermes-acp chat` with the arguments `argv`; the result is the exit code."""
    options = parse_chat_arguments(argv)
    return conversed("chat", options, lambda: _chat(Talk("chat", options)))


def _chat(talk: Talk) -> int:
    """A line, a turn, a line, until the person leaves."""
    options, view, typed = talk.options, talk.transcript, list[TypedLines]()

    def meanwhile() -> None:
        typed.append(TypedLines(_history(options), lambda: view.commands, edits=talk.asking.style.live))

    with talk.opened(CAPABILITIES, meanwhile):
        view.awaits("", talk.client.now())
        view.note(f"Session {talk.session.session_id} in {options.cwd}. Ctrl-D or /exit leaves, /help tells more.")
        for said in typed[0].prompts(lambda: _show_late(talk)):
            _turn(talk, said)
    return 0


def _turn(talk: Talk, said: str) -> None:
    talk.asking.interrupts = Interrupts(None)
    began = talk.client.now()
    try:
        with talk.asking.interrupts as interrupts:
            reason = talk.turn(said)
            interrupts.turn_over()
    except AgentRefused as refused:
        talk.view.end_line()
        say_failed("chat", refusal(refused, talk.options))
        return
    finally:
        with suppress(OSError):  # the window is gone; why it ended counts
            talk.view.awaits("", talk.client.now())
    talk.tell_end(reason, talk.client.now() - began)
    talk.view.end_line()


def _show_late(talk: Talk) -> None:
    """Show what came since the last turn, of work in the background say."""
    talk.client.listen(lambda: False, _LATE_SECONDS)
    talk.view.end_line()


def _history(options: PromptOptions) -> Path | None:
    with suppress(RequestError):
        home = find_home(os.environ, options.profile)
        return home.root / "chat_history" if home.root.is_dir() else None
    return None
