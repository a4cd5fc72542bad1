"""The questions of `hermes-acp setup`: who serves the model, where, with which key, and which model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from acp_adapter.cli.setup.plan import (
    Wanted,
    choice_for,
    configured_address,
    configured_provider,
    key_variable,
    server_of,
)
from agent_core.errors import AuthRequired, HermesError, SettingsError
from agent_core.providers.catalog import CUSTOM, SERVICES, SIGN_INS, Service, check_address, shown
from agent_core.providers.resolve import OFFLINE, own_servers

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.providers.choice import ModelChoice
    from agent_core.providers.model_discovery import FoundServer

_MOST_SHOWN = 30
# Without an address Amazon's own settings say which region is asked.
_FOUND_BY_AMAZON = frozenset({"bedrock", "anthropic-bedrock"})


class Person(Protocol):
    """Whom it asks; `setup_terminal.Terminal` is one."""

    def say(self, text: str = "") -> None:
        """Show a line or several."""
        ...

    def line(self, prompt: str, default: str = "") -> str:
        """What the person types; `default` for nothing."""
        ...

    def secret(self, prompt: str) -> str:
        """The same, unseen."""
        ...

    def agrees(self, prompt: str, *, default: bool = True) -> bool:
        """Whether the person says yes."""
        ...


@dataclass(frozen=True, slots=True)
class Offer:
    """A server that can be chosen.

    Attributes:
        base_url: '' where the provider's own counts.
        is_ready: nothing has to be typed for it: it runs here, or its key is there.
    """

    provider: str
    text: str
    base_url: str = ""
    is_ready: bool = False


def offers(config: Configuration, found: Sequence[FoundServer]) -> list[Offer]:
    """What can be chosen: servers that run on this machine, the user's own, then the catalog's."""
    here = [_found_offer(server) for server in found]
    own = [
        Offer(name, f"{name} (your own, {shown(entry.base_url)})")
        for name, entry in own_servers(config.settings).items()
        if entry.base_url
    ]
    # A sign-in is not a key that could be typed; local ones are offered where they run.
    hosted = [service for service in SERVICES.values() if service.access != "sign-in" and not service.local]
    keyed = {service.name: name for service in hosted if (name := _key_there(config, service))}
    return [
        *here,
        *own,
        *(
            Offer(s.name, f"{s.title} (there is a key: {keyed[s.name]})", is_ready=True)
            for s in hosted
            if s.name in keyed
        ),
        *(Offer(service.name, service.title) for service in hosted if service.name not in keyed),
    ]


def choose_server(config: Configuration, person: Person, offered: Sequence[Offer]) -> Wanted:
    """Ask who serves the model, and where, if only the person knows."""
    for number, offer in enumerate(offered, 1):
        person.say(f"{number:>4}  {offer.text}")
    current = configured_provider(config)
    current = "" if current == OFFLINE else current
    if not current and offered and offered[0].is_ready:
        current = "1"
    while True:
        typed = person.line("\nWho serves the model? A number or a name", current)
        if typed.isdecimal() and 0 < int(typed) <= len(offered):
            offer = offered[int(typed) - 1]
            return at_address(config, person, Wanted(offer.provider, offer.base_url))
        try:
            server = server_of(config, typed)
            if server.service is not None and server.service.access == "sign-in":
                person.say(f"{server.service.title} needs a sign-in, which cannot be done here yet.")
                continue
            return at_address(config, person, Wanted(server.name))
        except SettingsError as problem:
            person.say(problem.public if typed else "Please choose one.")


def at_address(config: Configuration, person: Person, wanted: Wanted) -> Wanted:
    """The same with an address: the one that is configured, or that the person types where none is known."""
    server = server_of(config, wanted.provider)
    known = configured_address(config, wanted.provider)
    if wanted.base_url or (server.home(config.environ) and not known) or server.name in _FOUND_BY_AMAZON:
        return wanted
    if known and server.service not in {None, CUSTOM}:
        return replace(wanted, base_url=known)
    while True:
        if server.service is not None and server.service is not CUSTOM and server.service.note:
            person.say(server.service.note.replace("`", ""))
        now = f" [{shown(known)}]" if known else ""
        typed = person.line(f"The server's address, as in http://127.0.0.1:8000/v1{now}")
        try:
            return replace(wanted, base_url=check_address(typed or known))
        except SettingsError as problem:
            person.say(problem.public)


def choose_key(config: Configuration, person: Person, wanted: Wanted) -> Wanted:
    """Ask for the key where one is needed, or might be."""
    server = server_of(config, wanted.provider)
    sign_in = server.service.sign_in if server.service is not None else None
    try:
        there = choice_for(config, wanted).api_key
    except AuthRequired:
        return _with_key(config, person, wanted, needed=True)
    if there:
        keeps = person.agrees("There is a key for it already. Use that one?")
        return wanted if keeps else _with_key(config, person, wanted, needed=True)
    if server.service is not None and server.service.local:
        return wanted
    if sign_in is None or (server.service is not None and server.service.keys):
        wanted = _with_key(config, person, wanted, needed=False)
    if sign_in is not None and not wanted.key:
        _sign_in(person, choice_for(config, wanted), SIGN_INS[sign_in])
    return wanted


def with_new_key(config: Configuration, wanted: Wanted, key: str) -> Wanted:
    """The same with a new key, and the variable that it is written to."""
    return replace(
        wanted, key=key, variable=key_variable(config, server_of(config, wanted.provider), wanted.base_url)
    )


def choose_model(person: Person, choice: ModelChoice, current: str) -> str:
    """Ask for the model: from the server's list where it has one.

    Args:
        current: the model that Enter means; '' for none.
    """
    from agent_core.providers.model_listing import list_models  # noqa: PLC0415 - loads what asks servers

    person.say(f"\nAsking {choice.endpoint} for its models …")
    listing = list_models(choice)
    if listing.problem:
        person.say(listing.problem)
    names = [model.id for model in listing.models]
    matches = names
    while True:
        _show(person, matches, len(names))
        typed = person.line("Which model? A number, a name or a part of one" if names else "Which model?", current)
        if typed in names:
            return typed
        if typed.isdecimal() and 0 < int(typed) <= min(len(matches), _MOST_SHOWN):
            return matches[int(typed) - 1]
        matching = [name for name in names if typed and typed.lower() in name.lower()]
        if len(matching) == 1:
            return matching[0]
        if matching:
            matches = matching
        elif typed and (listing.source != "live" or _insists(person, typed)):
            return typed


def problem_of(config: Configuration, wanted: Wanted) -> str:
    """Why this could not be used at all; '' if it could."""
    try:
        choice_for(config, wanted)
    except HermesError as problem:
        return problem.public
    return ""


def _with_key(config: Configuration, person: Person, wanted: Wanted, *, needed: bool) -> Wanted:
    server = server_of(config, wanted.provider)
    known = server.service is not None and server.service is not CUSTOM
    title = server.service.title if known and server.service else shown(wanted.base_url) or server.name
    if known and server.service and server.service.key_page and server.is_at_home(wanted.base_url):
        person.say(f"A key is made at {server.service.key_page}")
    while True:
        sign_in = server.service.sign_in if server.service is not None else None
        without = f"empty to sign in at {SIGN_INS[sign_in]}" if sign_in is not None else "empty if it needs none"
        key = person.secret(f"The key for {title}" if needed else f"The key for {title}; {without}")
        if not key and not needed:
            return wanted
        if not key:
            continue
        keyed = with_new_key(config, wanted, key)
        if not (problem := problem_of(config, keyed)):
            return keyed
        person.say(problem)


def _sign_in(person: Person, choice: ModelChoice, where: str) -> None:
    """Try the sign-in as often as the person wants; the settings may be written without it."""
    from agent_core.providers.sdk.sign_ins import try_sign_in  # noqa: PLC0415 - only for providers with one

    while True:
        person.say(f"\nSigning in at {where} …")
        try:
            try_sign_in(choice)
        except HermesError as problem:
            person.say(problem.public)
        else:
            person.say("Signed in.")
            return
        if not person.agrees("Try again?"):
            return


def _key_there(config: Configuration, service: Service) -> str:
    """The variable with a key for this service, in the environment or in .env; '' where none is."""
    return next((name for name in service.keys if config.environ.get(name, "").strip()), "")


def _insists(person: Person, model: str) -> bool:
    return person.agrees(f"{model} is not in the list. Use it all the same?", default=False)


def _show(person: Person, names: Sequence[str], of: int) -> None:
    for number, name in enumerate(names[:_MOST_SHOWN], 1):
        person.say(f"{number:>4}  {name}")
    if len(names) > _MOST_SHOWN:
        person.say(f"      … and {len(names) - _MOST_SHOWN} more of {of}: type a part of the name")


def _found_offer(server: FoundServer) -> Offer:
    service: Service = SERVICES[server.service]
    name = "A model server" if service is CUSTOM else service.title
    count = f"{len(server.models)} model{'' if len(server.models) == 1 else 's'}"
    own = service.base_url == server.base_url
    return Offer(
        server.service,
        f"{name} on this machine ({server.base_url}, {count})",
        "" if own else server.base_url,
        is_ready=True,
    )
