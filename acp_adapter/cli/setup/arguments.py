"""The command line of `hermes-acp setup`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from acp_adapter.cli.command_line import add_model_options, add_profile, command_parser, standard_input
from acp_adapter.cli.editors.table import EDITORS
from acp_adapter.cli.setup.tool_keys import TOOL_KEYS, problem_of

if TYPE_CHECKING:
    from acp_adapter.cli.setup.key_store import Store

_EPILOG = """\
Without options it asks who serves the model, for the key and for the model, and asks the model one short question.
Only then it writes: the key into .env, the rest into config.yaml, whose other lines stay as they are (a copy of what
it was is kept beside it). In the end it offers to enter the agent into the settings of the editors that are here;
their change is shown first, comments and layout stay, and the old file is kept beside.

exit codes:
  0    the settings are written
  1    something failed; nothing was changed, and stderr says what to do
  2    the command line was wrong, or questions would be asked and there is no terminal
  130  interrupted; nothing was changed but what was told as written

examples:
  hermes-acp setup
  hermes-acp setup --provider ollama
  hermes-acp setup --editor zed
  pass show openai | hermes-acp setup --non-interactive --provider openai --model gpt-5 --key-stdin
"""


@dataclass(frozen=True, slots=True)
class SetupOptions:
    """What the command line says. `key` is the new key, where one was given; None where nothing was said of it."""

    provider: str = ""
    model: str = ""
    base_url: str = ""
    key: str | None = field(default=None, repr=False)
    profile: str | None = None
    asks: bool = True
    editors: tuple[str, ...] = ()
    tests: bool = True
    only_editors: bool = False
    key_store: Store | None = None
    tool_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    tools: bool = False
    only_tools: bool = False


def parse_setup_arguments(argv: Sequence[str]) -> SetupOptions:
    """Read the command line, and the key from where it says; wrong usage exits with 2."""
    parser = _parser()
    found = parser.parse_args(argv)
    names_model = bool(found.provider or found.model or found.base_url)
    only_tools = bool(found.tools or found.tool_key_env) and not names_model and not found.editor
    only_editors = bool(found.editor) and not names_model and not (found.tools or found.tool_key_env)
    partly = only_editors or (only_tools and bool(found.tool_key_env))
    if found.non_interactive and not partly and not (found.provider and found.model):
        parser.error("--non-interactive needs --provider and --model")
    if not found.non_interactive and not found.key_stdin and not _is_terminal():
        parser.error(
            "it asks questions, and there is no terminal. Start it in one, or give --non-interactive --provider NAME "
            "--model NAME and the key by --key-env NAME or --key-stdin"
        )
    if found.key_stdin and not found.non_interactive:
        parser.error("--key-stdin goes with --non-interactive")
    return SetupOptions(
        provider=found.provider or "",
        model=found.model or "",
        base_url=found.base_url or "",
        key=_key(parser, found),
        profile=found.profile,
        asks=not found.non_interactive,
        tests=not found.skip_test,
        editors=tuple(found.editor),
        only_editors=only_editors,
        key_store=found.key_store,
        tool_keys=_tool_keys(parser, found.tool_key_env),
        tools=found.tools,
        only_tools=only_tools,
    )


def _parser() -> argparse.ArgumentParser:
    parser = command_parser("setup", "Choose the model that answers, and store the key for it.", _EPILOG)
    add_model_options(parser)
    keys = parser.add_mutually_exclusive_group()
    keys.add_argument("--key-env", metavar="NAME", help="take the key from this variable, and store it in .env")
    keys.add_argument("--key-stdin", action="store_true", help="read the key from standard input")
    parser.add_argument(
        "--key-store",
        choices=("file", "keyring"),
        help="where new keys are kept: .env (readable by you alone; the default), or the system's keyring",
    )
    parser.add_argument(
        "--tool-key-env",
        action="append",
        choices=[key.variable for key in TOOL_KEYS],
        default=[],
        help="take this key of a tool from the variable of its name, and store it (may be repeated)",
    )
    parser.add_argument("--tools", action="store_true", help="ask for the keys of tools; alone, for nothing else")
    parser.add_argument("--skip-test", action="store_true", help="do not ask the model anything")
    parser.add_argument("--non-interactive", action="store_true", help="ask nothing")
    parser.add_argument(
        "--editor",
        action="append",
        choices=[editor.name for editor in EDITORS],
        default=[],
        help="enter the agent into this editor's settings (may be repeated); alone, nothing else is set up",
    )
    add_profile(parser, "whose settings are written")
    return parser


def _tool_keys(parser: argparse.ArgumentParser, names: Sequence[str]) -> Mapping[str, str]:
    given: dict[str, str] = {}
    for key in TOOL_KEYS:
        if key.variable not in names:
            continue
        value = os.environ.get(key.variable, "").strip()
        if not value:
            parser.error(f"--tool-key-env: the variable {key.variable} is not set. A key comes from {key.page}")
        if problem := problem_of(key, value):
            parser.error(f"--tool-key-env: {problem}")
        given[key.variable] = value
    return given


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _key(parser: argparse.ArgumentParser, found: argparse.Namespace) -> str | None:
    if found.key_stdin:
        key = standard_input().strip()
        return key or parser.error("--key-stdin: standard input holds no key")
    if found.key_env is None:
        return None
    key = os.environ.get(found.key_env, "").strip()
    return key or parser.error(f"--key-env: the variable {found.key_env} is not set")
