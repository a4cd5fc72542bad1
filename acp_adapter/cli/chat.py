"""`hermes-acp chat`: a conversation at the terminal, through the real server process or with another agent."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from acp_adapter.cli.acp_client import (
    AcpClient,
    AgentDied,
    AgentRefused,
    ClientError,
    Opened,
    open_session,
    send_prompt,
)
from acp_adapter.cli.console import style_for
from acp_adapter.cli.interrupts import Interrupts, Stopped, ended_in_order
from acp_adapter.cli.prompt import (
    CANCELLED,
    CAPABILITIES,
    PromptOptions,
    UsageWatch,
    canceller,
    exit_code_of,
    fail,
    parse_chat_arguments,
    recorded,
    refusal,
    seen_by_a_person,
    set_mode,
)
from acp_adapter.cli.questions import Approver, Asking, permission_question
from agent_core.errors import RequestError

# What a person types: lines that can be edited, those before, pasted ones as one prompt.

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


_LATE_SECONDS = 0.05


def main(argv: list[str]) -> int:
    """Run `hermes-acp chat` with the arguments `argv`; the result is the exit code."""
    options = parse_chat_arguments(argv)
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        with ended_in_order():
            return _Chat(options).run()
    except Stopped as stopped:
        return exit_code_of(stopped)
    except KeyboardInterrupt:
        return CANCELLED
    except AgentRefused as refused:
        return fail(refusal(refused, options), "chat")
    except RequestError as problem:
        return fail(problem.public, "chat")
    except ClientError as error:
        return fail(str(error), "chat")


class _Chat:
    """One conversation: a line, a turn, a line."""

    def __init__(self, options: PromptOptions) -> None:
        self._options = options
        self._asking = Asking(Interrupts(None), style_for(sys.stdout))
        self._approver = Approver(options.approve, options.cwd, permission_question(self._asking))
        self._view, self._hooks = seen_by_a_person(options, self._approver, self._asking)
        self._usage = UsageWatch(self._view)

    def run(self) -> int:
        """Talk until the person leaves."""
        options = self._options
        with recorded(options.record, options.profile, None) as trace:
            client = AcpClient(options.command, self._usage, trace=trace, **self._hooks)
            self._asking.withdrawn = client.is_withdrawn
            with client:
                self._view.awaits("Starting", client.now())
                opened = open_session(client, options.cwd, "hermes-acp chat", options.earlier, CAPABILITIES)
                set_mode(client, opened, options, self._approver, self._view)
                self._view.awaits("", client.now())
                self._view.note(
                    f"Session {opened.session_id} in {options.cwd}. Ctrl-D or /exit leaves, /help tells more."
                )
                with TypedLines(_history(options), lambda: self._view.commands) as lines:
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
            fail(refusal(refused, self._options), "chat")
            return
        finally:
            with suppress(OSError):  # the window is gone; why it ended counts
                self._view.awaits("", client.now())
        words = ", ".join(part for part in (reason, f"{client.now() - began:.2f} s", self._usage.words()) if part)
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
