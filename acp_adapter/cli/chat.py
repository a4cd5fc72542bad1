"""`hermes-acp chat`: a conversation at the terminal, through the real server process or with another agent."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from acp_adapter.cli.approve import Approver, Reply
from acp_adapter.cli.arguments import PromptOptions, parse_chat_arguments
from acp_adapter.cli.client import AcpClient
from acp_adapter.cli.client_errors import AgentDied, AgentRefused, ClientError
from acp_adapter.cli.conversation import Opened, open_session, send_prompt
from acp_adapter.cli.interrupts import Interrupts, Stopped
from acp_adapter.cli.prompt import CANCELLED, canceller, fail, refusal, set_mode
from acp_adapter.cli.question import terminal_question
from acp_adapter.cli.recorded import recorded
from acp_adapter.cli.style import style_for
from acp_adapter.cli.transcript import Transcript
from acp_adapter.cli.usage_watch import UsageWatch
from acp_adapter.cli.waiting import CAPABILITIES
from agent_core.errors import RequestError

_LEAVE = frozenset({"/exit", "/quit"})
_PROMPT, _MORE = "> ", ". "
_LATE_SECONDS = 0.05


def main(argv: list[str]) -> int:
    """Run `hermes-acp chat` with the arguments `argv`; the result is the exit code."""
    options = parse_chat_arguments(argv)
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        return _Chat(options).run()
    except Stopped:
        return CANCELLED
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
        self._interrupts = Interrupts(None)
        asks = terminal_question(self._interrupts) is not None
        self._approver = Approver(options.approve, options.cwd, self._ask if asks else None)
        self._view = Transcript(sys.stdout, style_for(sys.stdout), options.cwd, self._approver)
        self._usage = UsageWatch(self._view)

    def run(self) -> int:
        """Talk until the person leaves."""
        options = self._options
        with recorded(options.record, options.profile, None) as trace:
            client = AcpClient(options.command, self._usage, trace=trace)
            with client:
                opened = open_session(client, options.cwd, "hermes-acp chat", options.earlier, CAPABILITIES)
                set_mode(client, opened, options, self._approver)
                self._view.note(
                    f"Session {opened.session_id} in {options.cwd}. Ctrl-D or /exit leaves, /help tells more."
                )
                for said in _lines(lambda: self._show_late(client)):
                    self._turn(client, opened, said)
        return 0

    def _turn(self, client: AcpClient, opened: Opened, said: str) -> None:
        self._interrupts = Interrupts(None)
        self._approver.cancelled = False
        began = client.now()
        try:
            with self._interrupts as interrupts:
                interrupts.cancel_by(canceller(client, opened, self._approver, interrupts, self._view))
                reason = send_prompt(client, opened.session_id, said)
                interrupts.turn_over()
        except AgentDied:
            raise
        except AgentRefused as refused:
            self._view.end_line()
            fail(refusal(refused, self._options), "chat")
            return
        words = ", ".join(part for part in (reason, f"{client.now() - began:.2f} s", self._usage.words()) if part)
        self._view.note(f"[{words}]")
        self._view.end_line()

    def _ask(self) -> Reply:
        ask = terminal_question(self._interrupts)
        return "no" if ask is None else ask()

    def _show_late(self, client: AcpClient) -> None:
        """Show what came since the last turn, of work in the background say."""
        client.listen(lambda: False, _LATE_SECONDS)
        self._view.end_line()


def _lines(before_each: Callable[[], None]) -> Iterator[str]:
    """What the person says, until they leave; a line that ends with a backslash goes on in the next."""
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        import readline  # noqa: F401, PLC0415 - `input` then knows how to edit a line, and the lines before
    while True:
        before_each()
        said = _said(is_terminal=is_terminal)
        if said is None or said.strip() in _LEAVE:
            return
        if said.strip():
            yield said


def _said(*, is_terminal: bool) -> str | None:
    lines: list[str] = []
    while True:
        try:
            line = input((_MORE if lines else _PROMPT) if is_terminal else "")
        except EOFError:
            if is_terminal:
                print()
            return "\n".join(lines) or None
        except KeyboardInterrupt:  # what was typed is dropped; on an empty line the next Ctrl-D leaves
            print()
            lines = []
            continue
        # Bytes that are no UTF-8 come as lone surrogates, which JSON readers may refuse.
        line = line.encode("utf-8", "replace").decode()
        if not line.endswith("\\"):
            return "\n".join([*lines, line])
        lines.append(line[:-1])
