"""`hermes-acp setup`: choose a provider, a key and a model, try them, write them down. Editors run it to sign in."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from acp_adapter.cli.setup.arguments import SetupOptions, parse_setup_arguments
from acp_adapter.cli.terminal.failing import say_failed
from acp_adapter.cli.terminal.safe_text import safe_text
from agent_core.errors import AuthRequired, HermesError, KeyMissing

if TYPE_CHECKING:
    from acp_adapter.cli.setup.choosing import Person
    from acp_adapter.cli.setup.plan import Wanted
    from agent_core.config import Configuration
    from agent_core.providers.model_discovery import FoundServer

FAILED = 1
_INTERRUPTED = 130


def main(argv: list[str]) -> int:
    """Run `hermes-acp setup` with the arguments `argv`; the result is the exit code."""
    options = parse_setup_arguments(argv)
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    from acp_adapter.cli.setup.terminal import InputEnded, Terminal  # noqa: PLC0415 - wrong usage needs none of it

    person = Terminal()
    try:
        decided = None if options.only_editors else _decided(options, person)
    except HermesError as problem:
        return _fail(problem.public)
    except (KeyboardInterrupt, InputEnded):
        print("\nNothing was changed.", flush=True)
        return _INTERRUPTED
    try:
        return _carried_out(options, decided, person)
    except HermesError as problem:
        return _fail(problem.public)
    except (KeyboardInterrupt, InputEnded):
        print("\nWhat is told above as written stays; nothing else was changed.", flush=True)
        return _INTERRUPTED


@dataclass(frozen=True, slots=True)
class _Decided:
    """What is to be written. `wanted` is None where no model was to be chosen."""

    config: Configuration
    wanted: Wanted | None
    tool_keys: Mapping[str, str] = field(repr=False)


def _decided(options: SetupOptions, person: Person) -> _Decided:
    """Ask, and try what was chosen; nothing is changed.

    Raises:
        HermesError: it cannot be used.
    """
    from acp_adapter.cli.setup.tool_keys import choose_tool_keys  # noqa: PLC0415 - wrong usage needs none of it
    from acp_adapter.cli.setup.writing import with_moved_key  # noqa: PLC0415
    from agent_core.config import load  # noqa: PLC0415
    from agent_core.home import find_home  # noqa: PLC0415

    config = load(find_home(os.environ, options.profile))
    asked = person if options.asks else None
    wanted = None if options.only_tools else _asked(config, options, person) if asked else _given(config, options)
    if wanted is not None and options.key_store is not None:
        wanted = with_moved_key(config, wanted)
    if wanted is not None and options.tests and not _works(config, wanted, asked):
        raise HermesError("Nothing was changed.")
    tool_keys = dict(options.tool_keys)
    if asked and (options.tools or not options.provider) and not tool_keys:
        tool_keys = choose_tool_keys(person, config.environ)
    return _Decided(config, wanted, tool_keys)


def _carried_out(options: SetupOptions, decided: _Decided | None, person: Person) -> int:
    """Write it, and offer the editors; the exit code.

    Raises:
        HermesError: it could not be written.
    """
    from acp_adapter.cli.editors.offering import offer_editors  # noqa: PLC0415 - wrong usage needs none of it
    from acp_adapter.cli.setup.writing import tell_choice, write_all  # noqa: PLC0415

    if decided is not None:
        asked = person if options.asks else None
        write_all(decided.config, decided.wanted, decided.tool_keys, options.key_store, asked)
        if decided.wanted is None:
            return 0
        tell_choice(decided.config, decided.wanted)
        if not options.asks and not options.editors:
            return 0
    return offer_editors(person, options.editors, options.profile, asks=options.asks)


def _asked(config: Configuration, options: SetupOptions, person: Person) -> Wanted:
    """What the person chooses; what the command line says is not asked."""
    from acp_adapter.cli.setup.choosing import (  # noqa: PLC0415 - loads what resolves models
        at_address,
        choose_key,
        choose_model,
        choose_server,
        offers,
        with_new_key,
    )
    from acp_adapter.cli.setup.plan import Wanted, choice_for, configured_provider, server_of  # noqa: PLC0415
    from agent_core.providers.catalog import check_address  # noqa: PLC0415

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


def _servers_here(person: Person) -> tuple[FoundServer, ...]:
    from agent_core.providers.catalog import SERVICES  # noqa: PLC0415
    from agent_core.providers.model_discovery import discover_local  # noqa: PLC0415 - only where it is asked

    person.say("Looking for model servers on this machine …\n")
    return discover_local({service.name: service.ports for service in SERVICES.values() if service.ports})


def _given(config: Configuration, options: SetupOptions) -> Wanted:
    """What the command line says.

    Raises:
        HermesError: it cannot be used.
    """
    from acp_adapter.cli.setup.choosing import with_new_key  # noqa: PLC0415 - loads what resolves models
    from acp_adapter.cli.setup.plan import Wanted, choice_for, configured_address, server_of  # noqa: PLC0415
    from agent_core.providers.catalog import check_address  # noqa: PLC0415

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


def _works(config: Configuration, wanted: Wanted, person: Person | None) -> bool:
    """Whether the model answers, or the person does not mind that it was not asked, or did not."""
    from acp_adapter.cli.setup.plan import choice_for  # noqa: PLC0415 - loads what resolves models
    from acp_adapter.cli.setup.trial import try_model  # noqa: PLC0415 - loads what asks models

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


def _fail(message: str) -> int:
    say_failed("setup", message)
    return FAILED
