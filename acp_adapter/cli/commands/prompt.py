"""`hermes-acp prompt`: one prompt through the real server process, shown to a person or as JSON.

`--agent "CMD"` drives another ACP agent in place of our server; the tests drive a scripted one by it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypedDict

from acp_adapter.cli.client.approve import Approver
from acp_adapter.cli.client.arguments import PromptOptions, parse_prompt_arguments
from acp_adapter.cli.client.asking import Asking
from acp_adapter.cli.client.client import AcpClient, Trace
from acp_adapter.cli.client.conversation import Opened, open_session, send_prompt
from acp_adapter.cli.client.errors import AUTH_REQUIRED, AgentRefused, ClientError
from acp_adapter.cli.client.forms import Forms
from acp_adapter.cli.client.frames import Frames
from acp_adapter.cli.client.interrupts import TERMINATED, Interrupts, Stopped, ended_in_order
from acp_adapter.cli.client.question import permission_question
from acp_adapter.cli.client.recorded import recorded
from acp_adapter.cli.client.transcript import Transcript
from acp_adapter.cli.client.usage_watch import UsageWatch
from acp_adapter.cli.client.waiting import CAPABILITIES, BackgroundWatch, wait_for_background
from acp_adapter.cli.terminal.failing import drop_output, say_failed
from acp_adapter.cli.terminal.style import style_for
from agent_core.errors import RequestError

FAILED = 1
OTHER_STOP_REASON = 3
CANCELLED = 130

_LOG_IN = "Next: log in with that agent's own command, then try again."


class ClientHooks(TypedDict, total=False):
    """What an `AcpClient` gets where somebody looks at a terminal."""

    on_quiet: Callable[[float], None]
    on_form: Callable[[dict[str, Any], float], dict[str, Any]]


class View(Protocol):
    """What shows the conversation besides handling it."""

    def note(self, text: str) -> None:
        """Add a remark of the client's own."""

    def end_line(self) -> None:
        """Bring the output to the beginning of a line."""

    def awaits(self, words: str, t: float) -> None:
        """The agent is waited for since `t`; with '' no more."""

    def mode_is(self, mode: str) -> None:
        """The client is about to set this mode."""


def main(argv: list[str]) -> int:
    """Run `hermes-acp prompt` with the arguments `argv`.

    Returns:
        the exit code: 0 end_turn, 1 failed, 3 another stop reason, 130 cancelled. Wrong usage exits with 2.
    """
    options = parse_prompt_arguments(argv)
    try:
        with ended_in_order(), Interrupts(options.timeout) as interrupts:
            return _run(options, interrupts)
    except Stopped as stopped:
        return _timed_out(options) if stopped.reason == "timeout" else exit_code_of(stopped)
    except AgentRefused as refused:
        return fail(refusal(refused, options))
    except RequestError as problem:
        return fail(problem.public)
    except ClientError as error:
        return fail(str(error))
    except BrokenPipeError:
        drop_output()
        return FAILED


def _run(options: PromptOptions, interrupts: Interrupts) -> int:
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    asking = Asking(interrupts, style_for(sys.stdout))
    approver = Approver(options.approve, options.cwd, None if options.json else permission_question(asking))
    view: Frames | Transcript
    trace: Trace | None = None
    hooks: ClientHooks = {}
    if options.json:
        view = frames = Frames(approver)
        trace = frames.trace
    else:
        view, hooks = seen_by_a_person(options, approver, asking)
    usage = UsageWatch(view)
    watch = BackgroundWatch(usage)
    with recorded(options.record, options.profile, trace) as kept:
        client = AcpClient(options.command, watch, trace=kept, **hooks)
        asking.withdrawn = client.is_withdrawn
        return _turn(client, options, interrupts, approver, view, watch, usage)


def seen_by_a_person(options: PromptOptions, approver: Approver, asking: Asking) -> tuple[Transcript, ClientHooks]:
    """The transcript on standard output, and what the client needs for it."""
    forms = Forms(asking) if Forms.possible(asking) else None
    view = Transcript(sys.stdout, asking.style, options.cwd, approver, forms)
    hooks: ClientHooks = {}
    if asking.style.live:
        hooks["on_quiet"] = view.on_quiet
    if forms is not None:
        hooks["on_form"] = view.on_form
    return view, hooks


def _turn(  # noqa: PLR0917 - the parts of one conversation
    client: AcpClient,
    options: PromptOptions,
    interrupts: Interrupts,
    approver: Approver,
    view: View,
    watch: BackgroundWatch,
    usage: UsageWatch,
) -> int:
    waits = options.wait_background
    try:
        with client:
            view.awaits("Starting", client.now())
            meta = CAPABILITIES if waits else None
            opened = open_session(client, options.cwd, "hermes-acp prompt", options.earlier, meta)
            set_mode(client, opened, options, approver, view)
            interrupts.cancel_by(canceller(client, opened, approver, interrupts, view))
            view.awaits("Thinking", client.now())
            stop_reason = send_prompt(client, opened.session_id, options.text)
            if waits and stop_reason == "end_turn":
                view.note(f"[{stop_reason}, {client.now():.2f} s; waiting for what runs in the background]")
                view.awaits("Waiting", client.now())
                last = wait_for_background(client, opened.session_id, watch, lambda: interrupts.reason is not None)
                stop_reason = "cancelled" if interrupts.reason is not None else last or stop_reason
            interrupts.turn_over()
            view.note(f"[{', '.join(filter(None, (stop_reason, f'{client.now():.2f} s', usage.words())))}]")
    finally:
        with suppress(OSError):  # the window is gone, or nobody reads; why it ended counts
            view.awaits("", client.now())
            view.end_line()
    return _exit_code(stop_reason, options, interrupts)


def exit_code_of(stopped: Stopped) -> int:
    """The exit code after what was stopped from outside."""
    return TERMINATED if stopped.reason == "terminated" else CANCELLED


def canceller(
    client: AcpClient, opened: Opened, approver: Approver, interrupts: Interrupts, view: View
) -> Callable[[], None]:
    """What cancels the turn that runs; it may be called by a signal's handler."""

    def tell_agent() -> None:
        client.notify("session/cancel", {"sessionId": opened.session_id})
        why = "The time is over: cancelling the turn" if interrupts.reason == "timeout" else "Cancelling the turn"
        view.note(f"{why}; Ctrl-C {'again ' if interrupts.reason == 'interrupt' else ''}ends the agent at once.")

    def cancel() -> None:
        approver.cancelled = True
        client.call_soon(tell_agent)  # a signal handler must not write: it may have interrupted a write

    return cancel


def set_mode(client: AcpClient, opened: Opened, options: PromptOptions, approver: Approver, view: View) -> None:
    """Let the agent itself know what is allowed, where it has a mode for that; its questions are answered anyway."""
    mode = {"all": "dont_ask", "edits": "accept_edits"}.get(options.approve)
    if mode is None and options.earlier is not None:
        mode = "default"  # what an earlier prompt was allowed is not allowed to this one
    if mode not in opened.modes:
        return
    view.mode_is(mode)
    with suppress(AgentRefused):
        client.request("session/set_mode", {"sessionId": opened.session_id, "modeId": mode})
        approver.agent_allows_edits = mode == "accept_edits"


def _exit_code(stop_reason: str, options: PromptOptions, interrupts: Interrupts) -> int:
    match stop_reason:
        case "end_turn":
            return 0
        case "error":
            return fail("A turn about news of the background failed; what was shown says why.")
        case "cancelled":
            return _timed_out(options) if interrupts.reason == "timeout" else CANCELLED
        case _:
            return OTHER_STOP_REASON


def _timed_out(options: PromptOptions) -> int:
    return fail(f"The turn was stopped after {options.timeout:g} s. A longer --timeout gives it more.")


def refusal(refused: AgentRefused, options: PromptOptions) -> str:
    """Why the agent refused, and what to do."""
    # Our own server's errors are sentences that say what to do; of another agent's nobody knows.
    lines = [str(refused) if options.own_server else f"{refused.method} failed: {refused} (code {refused.code})"]
    if refused.details and refused.details != str(refused):
        lines.append(refused.details)
    if refused.code == AUTH_REQUIRED and not options.own_server:
        lines.append(_LOG_IN)
    return "\n".join(lines)


def fail(message: str, command: str = "prompt") -> int:
    """Tell it on stderr; the exit code."""
    say_failed(command, message)
    return FAILED
