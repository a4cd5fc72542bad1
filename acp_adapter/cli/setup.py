"""`hermes-acp setup`: choose a provider, a key and a model, try them, write them down. Editors run it to sign in."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from acp_adapter.cli.safe_text import safe_text
from acp_adapter.cli.setup_arguments import SetupOptions, parse_setup_arguments
from agent_core.errors import HermesError

if TYPE_CHECKING:
    from acp_adapter.cli.setup_choosing import Person
    from acp_adapter.cli.setup_plan import Wanted
    from agent_core.config import Configuration
    from agent_core.providers.knowledge.discovery import FoundServer

FAILED = 1
_INTERRUPTED = 130


def main(argv: list[str]) -> int:
    """Run `hermes-acp setup` with the arguments `argv`; the result is the exit code."""
    options = parse_setup_arguments(argv)
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    from acp_adapter.cli.setup_terminal import InputEnded, Terminal  # noqa: PLC0415 - wrong usage needs none of it

    try:
        return _run(options, Terminal())
    except HermesError as problem:
        return _fail(problem.public)
    except (KeyboardInterrupt, InputEnded):
        print("\nNothing was changed.", flush=True)
        return _INTERRUPTED


def _run(options: SetupOptions, person: Person) -> int:
    from acp_adapter.cli.editors.offering import offer_editors  # noqa: PLC0415 - wrong usage needs none of it
    from agent_core.config import load  # noqa: PLC0415
    from agent_core.home import find_home  # noqa: PLC0415

    if options.only_editors:
        return offer_editors(person, options.editors, options.profile, asks=options.asks)
    config = load(find_home(os.environ, options.profile))
    wanted = _asked(config, options, person) if options.asks else _given(config, options)
    if options.tests and not _works(config, wanted, person if options.asks else None):
        return _fail("Nothing was changed.")
    _write(config, wanted)
    if options.asks or options.editors:
        return offer_editors(person, options.editors, options.profile, asks=options.asks)
    return 0


def _asked(config: Configuration, options: SetupOptions, person: Person) -> Wanted:
    """What the person chooses; what the command line says is not asked."""
    from acp_adapter.cli import setup_choosing as choosing  # noqa: PLC0415 - loads what resolves models
    from acp_adapter.cli.setup_plan import Wanted, choice_for, configured_provider, server_of  # noqa: PLC0415
    from agent_core.providers.resolution.addresses import check_address  # noqa: PLC0415

    if options.provider:
        address = check_address(options.base_url) if options.base_url else ""
        wanted = choosing.at_address(config, person, Wanted(server_of(config, options.provider).name, address))
    else:
        wanted = choosing.choose_server(config, person, choosing.offers(config, _servers_here(person)))
    if options.key is None:
        wanted = choosing.choose_key(config, person, wanted)
    else:
        wanted = choosing.with_new_key(config, wanted, options.key)
    if options.model:
        return replace(wanted, model=options.model)
    current = config.settings.model.default or "" if configured_provider(config) == wanted.provider else ""
    return replace(wanted, model=choosing.choose_model(person, choice_for(config, wanted), current))


def _servers_here(person: Person) -> tuple[FoundServer, ...]:
    from agent_core.providers.knowledge.discovery import discover_local  # noqa: PLC0415 - only where it is asked
    from agent_core.providers.resolution.catalog import SERVICES  # noqa: PLC0415

    person.say("Looking for model servers on this machine …\n")
    return discover_local({service.name: service.ports for service in SERVICES.values() if service.ports})


def _given(config: Configuration, options: SetupOptions) -> Wanted:
    """What the command line says.

    Raises:
        HermesError: it cannot be used.
    """
    from acp_adapter.cli.setup_choosing import with_new_key  # noqa: PLC0415 - loads what resolves models
    from acp_adapter.cli.setup_plan import Wanted, choice_for, configured_address, server_of  # noqa: PLC0415
    from agent_core.providers.resolution.addresses import check_address  # noqa: PLC0415

    provider = server_of(config, options.provider).name
    address = check_address(options.base_url) if options.base_url else configured_address(config, provider)
    wanted = Wanted(provider, address, options.model)
    if options.key:
        wanted = with_new_key(config, wanted, options.key)
    choice_for(config, wanted)
    return wanted


def _works(config: Configuration, wanted: Wanted, person: Person | None) -> bool:
    """Whether the model answers, or the person does not mind that it was not asked, or did not."""
    from acp_adapter.cli.setup_plan import choice_for  # noqa: PLC0415 - loads what resolves models
    from acp_adapter.cli.setup_trial import try_model  # noqa: PLC0415 - loads what asks models

    choice = choice_for(config, wanted)
    if person is not None and not person.agrees(f"\nAsk {wanted.model} one short question, to see whether it works?"):
        return True
    problem = try_model(choice)
    if not problem:
        print(f"{safe_text(choice.name)} answers.", flush=True)
        return True
    print(f"hermes-acp setup: {safe_text(problem)}", file=sys.stderr, flush=True)
    if person is None:
        print("To write the settings all the same, add --skip-test.", file=sys.stderr, flush=True)
        return False
    return person.agrees("Write the settings all the same?", default=False)


def _write(config: Configuration, wanted: Wanted) -> None:
    from acp_adapter.cli.setup_files import planned_files, write  # noqa: PLC0415 - only once all is chosen
    from acp_adapter.cli.setup_plan import dropped, in_the_way, server_of  # noqa: PLC0415
    from agent_core.signed_out import SignedOut  # noqa: PLC0415

    values = wanted.values(server_of(config, wanted.provider))
    files = planned_files(config.home, values, dropped(config, wanted), wanted.variable, wanted.key)
    write(config.home, files)
    SignedOut(config.home).clear()
    for file in files:
        kept = f" (what it was: {file.backup})" if file.backup else ""
        print(f"Written: {safe_text(str(file.path))}{safe_text(kept)}")
    for sentence in in_the_way(wanted, os.environ):
        print(f"Note: {sentence}")
    print(f"{safe_text(wanted.provider)}:{safe_text(wanted.model)} answers in new sessions from now on.", flush=True)


def _fail(message: str) -> int:
    print(f"hermes-acp setup: {safe_text(message)}", file=sys.stderr, flush=True)
    return FAILED
