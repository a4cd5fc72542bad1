"""`hermes-acp chat`: a conversation at the terminal, through the real server process or with another agent."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from acp_adapter.cli.client.approve import Approver
from acp_adapter.cli.client.arguments import PromptOptions, parse_chat_arguments
from acp_adapter.cli.client.asking import Asking
from acp_adapter.cli.client.client import AcpClient
from acp_adapter.cli.client.conversation import Opened, open_session, send_prompt
from acp_adapter.cli.client.errors import AgentDied, AgentRefused, ClientError
from acp_adapter.cli.client.interrupts import Interrupts, Stopped, ended_in_order
from acp_adapter.cli.client.question import permission_question
from acp_adapter.cli.client.recorded import recorded
from acp_adapter.cli.client.typed_lines import TypedLines
from acp_adapter.cli.client.usage_watch import UsageWatch
from acp_adapter.cli.client.waiting import CAPABILITIES
from acp_adapter.cli.commands.prompt import (
    CANCELLED,
    canceller,
    exit_code_of,
    fail,
    refusal,
    seen_by_a_person,
    set_mode,
)
from acp_adapter.cli.terminal.style import style_for
from agent_core.errors import RequestError

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
