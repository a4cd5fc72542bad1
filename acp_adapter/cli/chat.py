"""`hermes-acp chat`: a conversation at the terminal, through the real server process or with another agent."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from acp_adapter.cli.acp_client import (
    AcpClient,
    AgentDied,
    AgentRefused,
    Opened,
    open_session,
    send_prompt,
)
from acp_adapter.cli.console import style_for
from acp_adapter.cli.interrupts import Interrupts
from acp_adapter.cli.main import say_failed
from acp_adapter.cli.prompt import (
    CAPABILITIES,
    PromptOptions,
    Watch,
    canceller,
    conversed,
    parse_chat_arguments,
    recorded,
    refusal,
    seen_by_a_person,
    set_mode,
)
from acp_adapter.cli.questions import Approver, Asking, permission_question
from acp_adapter.cli.terminal_input import InputEnded, plain_line
from agent_core.errors import RequestError

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
            if not line.endswith("\\"):
                return "\n".join(lines)


_LATE_SECONDS = 0.05


def main(argv: list[str]) -> int:
    """Run `hermes-acp chat` with the arguments `argv`; the result is the exit code."""
    options = parse_chat_arguments(argv)
    return conversed("chat", options, lambda: _Chat(options).run())


class _Chat:
    """One conversation: a line, a turn, a line."""

    def __init__(self, options: PromptOptions) -> None:
        self._options = options
        self._asking = Asking(Interrupts(None), style_for(sys.stdout))
        self._approver = Approver(options.approve, options.cwd, permission_question(self._asking))
        self._view, self._hooks = seen_by_a_person(options, self._approver, self._asking)
        self._watch = Watch(self._view)

    def run(self) -> int:
        """Talk until the person leaves."""
        options = self._options
        with recorded(options.record, options.profile, None) as trace:
            client = AcpClient(options.command, self._watch, trace=trace, **self._hooks)
            self._asking.withdrawn = client.is_withdrawn
            with client:
                self._view.awaits("Starting", client.now())
                # While the agent starts.
                lines = TypedLines(_history(options), lambda: self._view.commands, edits=self._asking.style.live)
                opened = open_session(client, options.cwd, "hermes-acp chat", options.earlier, CAPABILITIES)
                set_mode(client, opened, options, self._approver, self._view)
                self._view.awaits("", client.now())
                self._view.note(
                    f"Session {opened.session_id} in {options.cwd}. Ctrl-D or /exit leaves, /help tells more."
                )
                for said in lines.prompts(lambda: self._show_late(client)):
                    self._turn(client, opened, said)
        return 0

    def _turn(self, client: AcpClient, opened: Opened, said: str) -> None:
        self._asking.interrupts = Interrupts(None)
        self._approver.cancelled = False
        began = client.now()
        self._view.awaits("Thinking", began)
        try:
            with self._asking.interrupts as interrupts:
                interrupts.cancel_by(canceller(client, opened, self._approver, interrupts, self._view))
                reason = send_prompt(client, opened.session_id, said)
                interrupts.turn_over()
        except AgentDied:
            raise
        except AgentRefused as refused:
            self._view.end_line()
            say_failed("chat", refusal(refused, self._options))
            return
        finally:
            with suppress(OSError):  # the window is gone; why it ended counts
                self._view.awaits("", client.now())
        words = ", ".join(part for part in (reason, f"{client.now() - began:.2f} s", self._watch.words()) if part)
        self._view.note(f"[{words}]")
        self._view.end_line()

    def _show_late(self, client: AcpClient) -> None:
        """Show what came since the last turn, of work in the background say."""
        client.listen(lambda: False, _LATE_SECONDS)
        self._view.end_line()


def _history(options: PromptOptions) -> Path | None:
    from agent_core.home import find_home  # noqa: PLC0415 - while the agent starts

    with suppress(RequestError):
        home = find_home(os.environ, options.profile)
        return home.root / "chat_history" if home.root.is_dir() else None
    return None
