"""`hermes-acp prompt`: one prompt through the real server process, shown to a person or as JSON.

`--agent "CMD"` drives another ACP agent in place of our server; the tests drive a scripted one by it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from acp_adapter.cli.acp_client import (
    AUTH_REQUIRED,
    SERVER,
    AcpClient,
    AgentRefused,
    ClientError,
    Earlier,
    Opened,
    Trace,
    open_session,
    send_prompt,
)
from acp_adapter.cli.console import style_for
from acp_adapter.cli.interrupts import TERMINATED, Interrupts, Stopped, ended_in_order
from acp_adapter.cli.main import (
    add_model_options,
    add_profile,
    command_parser,
    say_failed,
    seconds,
    standard_input,
    typed_text,
)
from acp_adapter.cli.questions import POLICIES, Approver, Asking, Forms, Policy, permission_question
from acp_adapter.cli.transcript import Transcript, View
from acp_adapter.format import one_line
from agent_core.errors import RequestError, SettingsError

if TYPE_CHECKING:
    from tools.redaction import Redactor


# The command line, and that of `hermes-acp chat`.

_EPILOG = """\
how questions are answered (--approve):
  ask    on the terminal, with the arrow keys or y, a, n; without one everything is denied (the default)
  edits  edits inside DIR are allowed, the rest is asked
  all    everything is allowed: session mode dont_ask
  none   everything is denied

exit codes:
  0    the turn ended by itself (end_turn)
  1    the turn failed, or --timeout was over
  2    the command line was wrong
  3    another stop reason: max_tokens, max_turn_requests, refusal
  130  cancelled: Ctrl-C once asks the agent to stop, twice kills it
  143  ended by SIGTERM or SIGHUP

examples:
  hermes-acp prompt "Why does test_login fail?"
  git diff | hermes-acp prompt --approve none -
  hermes-acp prompt --continue "Now fix it."
  hermes-acp prompt --resume ses_1a2b "And test it."
  hermes-acp prompt --offline "run ls"
  hermes-acp prompt --json --agent "other-agent --acp" "Hello"
"""

_CHAT_EPILOG = """\
A line is a prompt; one that ends with a backslash goes on in the next, and lines pasted together are one prompt.
Slash commands go to the agent (/help lists them); /exit or Ctrl-D leaves, and the session can be gone on with.
Ctrl-C asks the agent to stop, twice ends it.

examples:
  hermes-acp chat
  hermes-acp chat --continue
  hermes-acp chat --approve edits --model NAME
  hermes-acp chat --agent "other-agent --acp"
"""


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """What the command line of `hermes-acp prompt`, or `chat`, asks for."""

    text: str
    cwd: Path
    approve: Policy
    json: bool
    timeout: float | None
    command: tuple[str, ...]
    own_server: bool
    earlier: Earlier | None = None
    wait_background: bool = False
    record: Path | None = None
    profile: str | None = None


def parse_prompt_arguments(argv: Sequence[str]) -> PromptOptions:
    """Read the command line, and standard input where it is to hold the prompt; wrong usage exits with 2."""
    parser = _parser()
    found = parser.parse_args(argv)
    return _options(parser, found, _text(parser, found.text))


def parse_chat_arguments(argv: Sequence[str]) -> PromptOptions:
    """Read the command line of `hermes-acp chat`; wrong usage exits with 2."""
    parser = command_parser("chat", "Talk with the agent, turn after turn, as an editor's panel does.", _CHAT_EPILOG)
    _add_place(parser)
    _add_model(parser)
    found = parser.parse_args(argv)
    return _options(parser, found, "")


def _parser() -> argparse.ArgumentParser:
    description = "Run one prompt and show the turn: through the server that editors start, as they do."
    parser = command_parser("prompt", description, _EPILOG)
    parser.add_argument(
        "text", nargs="?", metavar="TEXT", type=typed_text, help="the prompt; - or nothing reads standard input"
    )
    _add_place(parser)
    parser.add_argument("--json", action="store_true", help="print every frame as a line of JSON, and nothing else")
    parser.add_argument("--timeout", type=seconds, metavar="S", help="cancel the turn after S seconds")
    parser.add_argument(
        "--wait-background",
        action="store_true",
        help="wait for background work whose end is told, and for the turns about it",
    )
    _add_model(parser)
    return parser


def _add_place(parser: argparse.ArgumentParser) -> None:
    """Where it works, which session, and who answers questions."""
    parser.add_argument(
        "--cwd", type=Path, default=Path(), metavar="DIR", help="the working directory (default: here)"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--continue", dest="resumes", action="store_true", help="go on with the last session of the directory"
    )
    which.add_argument(
        "--resume",
        "--session",
        dest="session",
        metavar="ID",
        help="go on with this session: its id, or the beginning (see hermes-acp sessions list)",
    )
    parser.add_argument(
        "--approve", choices=POLICIES, default="ask", help="how questions are answered (default: ask)"
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="keep every frame in FILE, without secrets; see hermes-acp inspect",
    )


def _add_model(parser: argparse.ArgumentParser) -> None:
    """Which agent, which model."""
    parser.add_argument("--agent", metavar="CMD", help="drive another ACP agent: the command that starts it")
    model = parser.add_argument_group("model", "passed on to the server; without them your configuration decides")
    model.add_argument("--offline", action="store_true", help="the scripted stand-in, without key and network")
    add_model_options(model)
    add_profile(model, "whose settings count")


def _options(parser: argparse.ArgumentParser, found: argparse.Namespace, text: str) -> PromptOptions:
    if found.session is not None and not found.session.strip():
        parser.error("--resume: the id is empty")
    if not found.cwd.is_dir():
        parser.error(f"--cwd: there is no directory {str(found.cwd)!r}")
    return PromptOptions(
        text=text,
        cwd=found.cwd.absolute(),
        approve=found.approve,
        json=getattr(found, "json", False),
        timeout=getattr(found, "timeout", None),
        command=_command(parser, found),
        own_server=found.agent is None,
        earlier=Earlier(found.session) if found.resumes or found.session else None,
        wait_background=getattr(found, "wait_background", False),
        record=found.record,
        profile=found.profile,
    )


def _command(parser: argparse.ArgumentParser, found: argparse.Namespace) -> tuple[str, ...]:
    flags = ["--offline"] if found.offline else []
    named = {"--model": found.model, "--provider": found.provider, "--base-url": found.base_url}
    flags += [f"{flag}={value}" for flag, value in named.items() if value is not None]
    if found.offline and len(flags) > 1:
        parser.error("--offline goes without --model, --provider and --base-url")
    if found.profile is not None:
        flags.append(f"--profile={found.profile}")
    if found.agent is None:
        return (*SERVER, *flags)
    if getattr(found, "wait_background", False):
        flags.append("--wait-background")
    if flags:
        parser.error(f"{flags[0].partition('=')[0]} is for our own server; give another agent its options in --agent")
    try:
        command = shlex.split(found.agent)
    except ValueError as error:
        parser.error(f"--agent: {error}: {found.agent!r}")
    if not command:
        parser.error("--agent: the command is empty")
    return tuple(command)


def _text(parser: argparse.ArgumentParser, argument: str | None) -> str:
    if argument is None and sys.stdin.isatty():
        parser.error("no prompt: give TEXT, or write it to standard input")
    text = standard_input() if argument is None or argument == "-" else argument
    if not text.strip():
        parser.error("the prompt is empty")
    return text


# `--json`: every frame as a line on stdout, and nothing else there.

_MOST_TOLD = 200


class Frames(View):
    """Prints frames as the client's trace, and answers questions."""

    def trace(self, direction: Literal["in", "out"], t: float, frame: dict[str, Any]) -> None:
        """Print one frame, with the seconds since the agent's start."""
        print(json.dumps({"dir": direction, "t": round(t, 6), "frame": frame}), flush=True)

    def on_permission(self, params: dict[str, Any], t: float) -> str | None:  # noqa: ARG002 - the Handler's signature
        """Have the question answered; the trace has shown it."""
        return self._approver.decide(params).option_id

    def on_stray_line(self, line: str) -> None:
        """Tell stderr that the agent wrote something that is no message."""
        told = one_line(line)[:_MOST_TOLD]
        print(f"hermes-acp prompt: the agent wrote a line that is no message: {told}", file=sys.stderr)


# `--record FILE`: the conversation is kept in a file, whichever agent it is with.

_CLOSE_SECONDS = 5.0


@contextlib.contextmanager
def recorded(path: Path | None, profile: str | None, trace: Trace | None) -> Iterator[Trace | None]:
    """`trace`, which also records to `path` until the block is left; itself where `path` is None.

    Args:
        profile: whose keys the recording must not show, beside everything that looks like a secret.

    Raises:
        RequestError: the file cannot be written to.
    """
    if path is None:
        yield trace
        return
    from acp_adapter.export.recording import Recorder  # noqa: PLC0415 - few record

    try:
        recorder = Recorder(path, lambda: _redactor(profile), "hermes-acp prompt")
    except OSError as problem:
        why = problem.strerror or problem
        raise RequestError(f"--record: {path} cannot be written to: {why}. Name another file.") from problem

    def both(direction: Literal["in", "out"], t: float, frame: dict[str, Any]) -> None:
        recorder.put(direction, json.dumps(frame).encode())
        if trace is not None:
            trace(direction, t, frame)

    try:
        yield both
    finally:
        recorder.close(_CLOSE_SECONDS)


def _redactor(profile: str | None) -> Redactor:
    from agent_core.config import load, secrets_of  # noqa: PLC0415 - few record
    from agent_core.home import find_home  # noqa: PLC0415 - the same
    from tools.redaction import Redactor  # noqa: PLC0415 - the same

    try:
        return Redactor(secrets_of(load(find_home(os.environ, profile))))
    except SettingsError:  # shapes are known without them
        return Redactor()


# `--wait-background`: after the turn, wait for what it has begun in the background and for the turns that follow.

TASKS = "_hermes/session/tasks"
CAPABILITIES = {"hermes": {"backgroundTurns": True}}
"""What a client says in `_meta` of its capabilities that shows such turns."""

_LOOK_EVERY = 0.5
_UNTIL_A_TURN_BEGINS = 3.0
_SECONDS_TO_ANSWER = 60.0
_LIVE = frozenset({"running", "paused"})


def wait_for_background(talk: Talk, is_cancelled: Callable[[], bool]) -> str:
    """Wait until nothing runs whose end is news, and no turn about such news.

    Args:
        is_cancelled: the person wants to wait no more; a turn that runs is waited for all the same.

    Returns:
        why the last of those turns ended; '' if there was none.

    Raises:
        ClientError: as `AcpClient.request`.
    """
    client, view = talk.client, talk.view
    while True:
        client.listen(lambda: not view.runs)
        if is_cancelled():
            return view.stop
        told = client.request(TASKS, {"sessionId": talk.session.session_id}, _SECONDS_TO_ANSWER)
        if view.runs:
            continue
        if any(task.get("tells") and task.get("state") in _LIVE for task in told.get("tasks", ())):
            client.listen(lambda: view.runs or is_cancelled(), _LOOK_EVERY)
        elif told.get("waiting") and client.listen(lambda: view.runs or is_cancelled(), _UNTIL_A_TURN_BEGINS):
            continue
        else:
            return view.stop


# The conversation.

OTHER_STOP_REASON = 3
CANCELLED = 130

_LOG_IN = "Next: log in with that agent's own command, then try again."


def main(argv: list[str]) -> int:
    """Run `hermes-acp prompt` with the arguments `argv`.

    Returns:
        the exit code: 0 end_turn, 1 failed, 3 another stop reason, 130 cancelled. Wrong usage exits with 2.
    """
    options = parse_prompt_arguments(argv)
    return conversed("prompt", options, lambda: _prompted(Talk("prompt", options)))


def conversed(command: str, options: PromptOptions, talk: Callable[[], int]) -> int:
    """Run `talk`, the conversation of `hermes-acp COMMAND`; the exit code, however it ends."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        with ended_in_order():
            return talk()
    except Stopped as stopped:
        if stopped.reason == "timeout":
            return _timed_out(options)
        return TERMINATED if stopped.reason == "terminated" else CANCELLED
    except AgentRefused as refused:
        return say_failed(command, refusal(refused, options))
    except RequestError as problem:
        return say_failed(command, problem.public)
    except ClientError as error:
        return say_failed(command, str(error))


class Talk:
    """One conversation of `hermes-acp COMMAND` with its agent.

    Attributes:
        asking: puts the agent's questions to the person.
        view: what is shown of it.
        client, session: the agent's process and its session, once `opened` was entered.
    """

    client: AcpClient
    session: Opened

    def __init__(self, command: str, options: PromptOptions) -> None:
        self.options = options
        self.asking = Asking(Interrupts(options.timeout), style_for(sys.stdout))
        ask = None if options.json else permission_question(self.asking)
        self.approver = Approver(options.approve, options.cwd, ask)
        forms = Forms(self.asking) if self.asking.possible() else None
        self.transcript = Transcript(sys.stdout, self.asking.style, options.cwd, self.approver, forms)
        self._frames = Frames(self.approver)
        self.view: View = self._frames if options.json else self.transcript
        self._name = f"hermes-acp {command}"

    @contextlib.contextmanager
    def opened(self, meta: Mapping[str, Any] | None, meanwhile: Callable[[], None] = lambda: None) -> Iterator[None]:
        """While the block runs the agent does, with its session open; `meanwhile` is called while it starts."""
        options, view = self.options, self.view
        trace = self._frames.trace if options.json else None
        with recorded(options.record, options.profile, trace) as kept:
            self.client = client = AcpClient(options.command, view, trace=kept)
            self.asking.withdrawn = client.is_withdrawn
            try:
                with client:
                    view.awaits("Starting", client.now())
                    meanwhile()
                    self.session = open_session(client, options.cwd, self._name, options.earlier, meta)
                    self._set_mode()
                    yield
            finally:
                with suppress(OSError):  # the window is gone, or nobody reads; why it ended counts
                    view.awaits("", client.now())
                    view.end_line()

    def turn(self, text: str) -> str:
        """Send a prompt, which Ctrl-C cancels; why its turn ended."""
        self.approver.cancelled = False
        self.asking.interrupts.cancel_by(self._cancel)
        self.view.awaits("Thinking", self.client.now())
        return send_prompt(self.client, self.session.session_id, text)

    def tell_end(self, reason: str, seconds: float) -> None:
        """Say why a turn ended, how long it took and what it used."""
        self.view.note(f"[{', '.join(filter(None, (reason, f'{seconds:.2f} s', self.view.usage())))}]")

    def _set_mode(self) -> None:
        """Tell the agent itself what is allowed, where it has a mode for that; its questions are answered anyway."""
        mode = {"all": "dont_ask", "edits": "accept_edits"}.get(self.options.approve)
        if mode is None and self.options.earlier is not None:
            mode = "default"  # what an earlier prompt was allowed is not allowed to this one
        if mode not in self.session.modes:
            return
        self.view.mode_is(mode)
        with suppress(AgentRefused):
            self.client.request("session/set_mode", {"sessionId": self.session.session_id, "modeId": mode})
            self.approver.agent_allows_edits = mode == "accept_edits"

    def _cancel(self) -> None:
        self.approver.cancelled = True
        self.client.call_soon(self._tell_agent)  # a signal handler must not write: it may have interrupted a write

    def _tell_agent(self) -> None:
        self.client.notify("session/cancel", {"sessionId": self.session.session_id})
        reason = self.asking.interrupts.reason
        why = "The time is over: cancelling the turn" if reason == "timeout" else "Cancelling the turn"
        self.view.note(f"{why}; Ctrl-C {'again ' if reason == 'interrupt' else ''}ends the agent at once.")


def _prompted(talk: Talk) -> int:
    options, view, waits = talk.options, talk.view, talk.options.wait_background
    with talk.asking.interrupts as interrupts, talk.opened(CAPABILITIES if waits else None):
        client = talk.client
        stop_reason = talk.turn(options.text)
        if waits and stop_reason == "end_turn":
            view.note(f"[{stop_reason}, {client.now():.2f} s; waiting for what runs in the background]")
            view.awaits("Waiting", client.now())
            last = wait_for_background(talk, lambda: interrupts.reason is not None)
            stop_reason = "cancelled" if interrupts.reason is not None else last or stop_reason
        interrupts.turn_over()
        talk.tell_end(stop_reason, client.now())
    match stop_reason:
        case "end_turn":
            return 0
        case "error":
            return say_failed("prompt", "A turn about news of the background failed; what was shown says why.")
        case "cancelled":
            return _timed_out(options) if interrupts.reason == "timeout" else CANCELLED
        case _:
            return OTHER_STOP_REASON


def _timed_out(options: PromptOptions) -> int:
    return say_failed(
        "prompt", f"The turn was stopped after {options.timeout:g} s. A longer --timeout gives it more."
    )


def refusal(refused: AgentRefused, options: PromptOptions) -> str:
    """Why the agent refused, and what to do."""
    # Our own server's errors are sentences that say what to do; of another agent's nobody knows.
    lines = [str(refused) if options.own_server else f"{refused.method} failed: {refused} (code {refused.code})"]
    if refused.details and refused.details != str(refused):
        lines.append(refused.details)
    if refused.code == AUTH_REQUIRED and not options.own_server:
        lines.append(_LOG_IN)
    return "\n".join(lines)
