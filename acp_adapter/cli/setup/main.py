"""`hermes-acp setup`: choose a provider, a key and a model, try them, write them down. Editors run it to sign in."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from acp_adapter.cli.editors import EDITORS, offer_editors
from acp_adapter.cli.main import (
    INTERRUPTED,
    add_model_options,
    add_profile,
    command_parser,
    say_failed,
    standard_input,
)
from acp_adapter.cli.model_trial import try_model
from acp_adapter.cli.setup.choices import (
    Wanted,
    at_address,
    choice_for,
    choose_key,
    choose_model,
    choose_server,
    configured_address,
    configured_provider,
    offers,
    server_of,
    tell_choice,
    with_moved_key,
    with_new_key,
    write_all,
)
from acp_adapter.cli.terminal_input import InputEnded, Terminal
from acp_adapter.format import safe_text
from agent_core.config import Configuration, load
from agent_core.errors import AuthRequired, HermesError, KeyMissing
from agent_core.home import find_home
from agent_core.providers.catalog import SERVICES, check_address
from agent_core.providers.model_listing import FoundServer, discover_local
from tools.errors import install_line
from tools.web import can_read_html

# Keys that tools can use, and do without: what each is for, and where a person gets one.


@dataclass(frozen=True, slots=True)
class ToolKey:
    """A variable that a tool looks for.

    Attributes:
        others: names that the tool knows it by as well.
        page: where it is got.
        secret: whether it is typed unseen; an address is not.
    """

    variable: str
    title: str
    page: str
    others: tuple[str, ...] = ()
    secret: bool = True


TOOL_KEYS = (
    ToolKey(
        "BRAVE_API_KEY", "Brave Search", "https://api-dashboard.search.brave.com/app/keys", ("BRAVE_SEARCH_API_KEY",)
    ),
    ToolKey("TAVILY_API_KEY", "Tavily", "https://app.tavily.com/home"),
    ToolKey("EXA_API_KEY", "Exa", "https://dashboard.exa.ai/api-keys"),
    ToolKey("SEARXNG_URL", "SearXNG, a server of your own", "https://docs.searxng.org", secret=False),
)
"""What `web_search` can use, in the order in which it looks for them."""

_NONE = frozenset({"", "n", "no", "none"})


def choose_tool_keys(person: Terminal, environ: Mapping[str, str]) -> dict[str, str]:
    """Ask for the keys that the person wants to give; '' for none of them is the usual answer."""
    missing = [key for key in TOOL_KEYS if not any(environ.get(name) for name in (key.variable, *key.others))]
    there = [key.title for key in TOOL_KEYS if key not in missing]
    person.say("\nSearching the web works with one of these, if you have a key:" if not there else "")
    if there:
        person.say(f"Searching the web: there is a key for {', '.join(there)}.")
    elif can_read_html():
        person.say("(Without any, public search engines are asked.)")
    else:
        person.say(f"(Without any it needs an extra: {install_line('web')})")
    for number, key in enumerate(missing, 1):
        person.say(f"{number:>4}  {key.title}: {key.page}")
    given: dict[str, str] = {}
    while missing:
        typed = person.line(
            "Which do you have? A number, or Enter for none" if not given else "Another? Enter for none"
        )
        if typed.lower() in _NONE:
            break
        if not typed.isdecimal() or not 0 < int(typed) <= len(missing):
            person.say(f"{typed!r} is no number of this list.")
            continue
        key = missing[int(typed) - 1]
        if value := _value(person, key):
            given[key.variable] = value
    return given


def problem_of(key: ToolKey, value: str) -> str:
    """Why this cannot be the value; '' where it can."""
    if not value.isascii() or not value.isprintable() or " " in value:
        return f"{key.variable} cannot hold blanks or characters that no key has."
    if not key.secret and not value.startswith(("http://", "https://")):
        return f"{key.variable} is an address: it begins with http:// or https://."
    return ""


def _value(person: Terminal, key: ToolKey) -> str:
    while True:
        ask = person.secret if key.secret else person.line
        value = ask(f"{key.variable}; empty for none")
        problem = problem_of(key, value) if value else ""
        if not problem:
            return value
        person.say(problem)


# The command line.

_EPILOG = """\
Without options it asks who serves the model, for the key and for the model, and asks the model one short question.
Only then it writes: the key into .env, the rest into config.yaml, whose other lines stay as they are (a copy of what
it was is kept beside it). In the end it offers to enter the agent into the settings of the editors that are here;
their change is shown first, comments and layout stay, and the old file is kept beside.

exit codes:
  0    the settings are written
  1    something failed; stderr says what to do, and which file was written before, if one was
  2    the command line was wrong, or questions would be asked and there is no terminal
  130  interrupted; what was told as written stays

examples:
  hermes-acp setup
  hermes-acp setup --provider ollama
  hermes-acp setup --editor zed
  pass show openai | hermes-acp setup --non-interactive --provider openai --model gpt-5 --key-stdin
"""


def parse_setup_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line, and the key from where it says; wrong usage exits with 2.

    What it adds: `key`, None where nothing was said of it; `tool_keys`; and `only_tools` and `only_editors`, which
    leave the model alone.
    """
    parser = _parser()
    found = parser.parse_args(argv)
    names_model = bool(found.provider or found.model or found.base_url)
    tools = bool(found.tools or found.tool_key_env)
    found.only_tools = tools and not names_model and not found.editor
    found.only_editors = bool(found.editor) and not names_model and not tools
    partly = found.only_editors or (found.only_tools and found.tool_key_env)
    if found.non_interactive and not partly and not (found.provider and found.model):
        parser.error("--non-interactive needs --provider and --model")
    if not found.non_interactive and not found.key_stdin and not (sys.stdin.isatty() and sys.stdout.isatty()):
        parser.error(
            "it asks questions, and there is no terminal. Start it in one, or give --non-interactive --provider NAME "
            "--model NAME and the key by --key-env NAME or --key-stdin"
        )
    if found.key_stdin and not found.non_interactive:
        parser.error("--key-stdin goes with --non-interactive")
    found.key = _key(parser, found)
    found.tool_keys = _tool_keys(parser, found.tool_key_env)
    return found


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


def _key(parser: argparse.ArgumentParser, found: argparse.Namespace) -> str | None:
    if found.key_stdin:
        key = standard_input().strip()
        return key or parser.error("--key-stdin: standard input holds no key")
    if found.key_env is None:
        return None
    key = os.environ.get(found.key_env, "").strip()
    return key or parser.error(f"--key-env: the variable {found.key_env} is not set")


# The command.


def main(argv: list[str]) -> int:
    """Run `hermes-acp setup` with the arguments `argv`; the result is the exit code."""
    options = parse_setup_arguments(argv)
    person = _person(asks=not options.non_interactive)
    left = "Nothing was changed."
    try:
        if not options.only_editors:
            config = load(find_home(os.environ, options.profile))
            asked = None if options.non_interactive else person
            wanted, tool_keys = _decided(config, options, asked)
            left = "What is told above as written stays. Run `hermes-acp setup` again to finish."
            write_all(config, wanted, tool_keys, options.key_store, asked)
            if wanted is None:
                return 0
            tell_choice(config, wanted)
            if options.non_interactive and not options.editor:
                return 0
        return offer_editors(person, options.editor, options.profile, asks=not options.non_interactive)
    except (KeyboardInterrupt, InputEnded):
        print(f"\n{left}", flush=True)
        return INTERRUPTED


def _person(*, asks: bool) -> Terminal:
    if not asks or os.environ.get("TERM") == "dumb":
        return Terminal()
    from acp_adapter.cli.editing import Lines  # noqa: PLC0415 - loads prompt_toolkit

    return Terminal(Lines().one)


def _decided(
    config: Configuration, options: argparse.Namespace, person: Terminal | None
) -> tuple[Wanted | None, Mapping[str, str]]:
    """Ask, and try what was chosen; nothing is changed.

    Returns:
        the model, None where none was to be chosen; and the keys of tools.

    Raises:
        HermesError: it cannot be used.
    """
    wanted = None
    if not options.only_tools:
        wanted = _asked(config, options, person) if person else _given(config, options)
        wanted = with_moved_key(config, wanted) if options.key_store is not None else wanted
        if not options.skip_test and not _works(config, wanted, person):
            raise HermesError("Nothing was changed.")
    if person and (options.tools or not options.provider) and not options.tool_keys:
        return wanted, choose_tool_keys(person, config.environ)
    return wanted, options.tool_keys


def _asked(config: Configuration, options: argparse.Namespace, person: Terminal) -> Wanted:
    """What the person chooses; what the command line says is not asked."""
    if options.provider:
        address = check_address(options.base_url) if options.base_url else ""
        wanted = at_address(config, person, Wanted(server_of(config, options.provider).name, address))
    else:
        wanted = choose_server(config, person, offers(config, _servers_here(person)))
    wanted = choose_key(config, person, wanted) if options.key is None else with_new_key(config, wanted, options.key)
    if options.model:
        return replace(wanted, model=options.model)
    current = config.settings.model.default or "" if configured_provider(config) == wanted.provider else ""
    return replace(wanted, model=choose_model(person, choice_for(config, wanted), current))


def _servers_here(person: Terminal) -> tuple[FoundServer, ...]:
    person.say("Looking for model servers on this machine …\n")
    return discover_local({service.name: service.ports for service in SERVICES.values() if service.ports})


def _given(config: Configuration, options: argparse.Namespace) -> Wanted:
    """What the command line says.

    Raises:
        HermesError: it cannot be used.
    """
    provider = server_of(config, options.provider).name
    address = check_address(options.base_url) if options.base_url else configured_address(config, provider)
    wanted = Wanted(provider, address, options.model)
    if options.key:
        wanted = with_new_key(config, wanted, options.key)
    try:
        choice_for(config, wanted)
    except KeyMissing as problem:
        raise AuthRequired(f"Give it with --key-env NAME or --key-stdin. {problem.public}") from problem
    return wanted


def _works(config: Configuration, wanted: Wanted, person: Terminal | None) -> bool:
    """Whether the model answers, or the person does not mind that it was not asked, or did not."""
    choice = choice_for(config, wanted)
    if person is not None and not person.agrees(f"\nAsk {wanted.model} one short question, to see whether it works?"):
        return True
    problem = try_model(choice)
    if not problem:
        print(f"{safe_text(choice.name)} answers.", flush=True)
        return True
    say_failed("setup", problem)
    if person is None:
        print("To write the settings all the same, add --skip-test.", file=sys.stderr, flush=True)
        return False
    return person.agrees("Write the settings all the same?", default=False)
