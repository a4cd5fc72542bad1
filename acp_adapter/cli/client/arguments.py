"""The command line of `hermes-acp prompt`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acp_adapter.cli.client.agent_process import SERVER
from acp_adapter.cli.client.approve import POLICIES, Policy
from acp_adapter.cli.client.conversation import Earlier
from acp_adapter.cli.command_line import (
    add_model_options,
    add_profile,
    command_parser,
    seconds,
    standard_input,
    typed_text,
)

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
