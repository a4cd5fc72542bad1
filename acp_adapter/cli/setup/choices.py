"""The choices of `hermes-acp setup`: who serves the model, where, with which key, which model; and their writing."""

from __future__ import annotations

import os
import re
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from acp_adapter.cli.setup.config_files import Store, alone, forget, planned_files, stored, write
from acp_adapter.cli.terminal_input import Terminal
from acp_adapter.format import safe_text
from agent_core.config import Configuration, read_env
from agent_core.errors import AuthRequired, HermesError, SettingsError
from agent_core.providers.catalog import CUSTOM, SERVICES, SIGN_INS, Service, canonical, check_address, host_of, shown
from agent_core.providers.choice import ModelChoice
from agent_core.providers.model_listing import FoundServer, list_models
from agent_core.providers.resolve import OFFLINE, Server, find_server, own_servers, resolve_named
from agent_core.providers.sign_out import SignedOut
from agent_core.settings import keyring
from agent_core.settings.keyring import KeptVariables
from agent_core.settings.model import ModelSettings, ServerSettings

# What is to be written, and what the settings would then say: nothing is changed here.

_ANY_MODEL = "any"
_OTHER_NAMES = {"api": "base_url", "url": "base_url", "api_key_env": "key_env"}
_OF_A_SERVER = frozenset({*ServerSettings.model_fields, *_OTHER_NAMES})
_KEYS = frozenset({"api_key", "api_keys"})
_CHOOSERS = ("HERMES_MODEL", "HERMES_PROVIDER", "HERMES_BASE_URL")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was chosen.

    Attributes:
        provider: its canonical name.
        base_url: '' where the provider's own counts.
        model: '' as long as none is chosen.
        key: a new key; '' where none is written.
        variable: the one that the new key is written to.
    """

    provider: str
    base_url: str = ""
    model: str = ""
    key: str = field(default="", repr=False)
    variable: str = ""

    def values(self, server: Server) -> dict[str, str]:
        """What `model` in config.yaml is to say."""
        values = {"provider": self.provider, "default": self.model}
        if self.base_url:
            values["base_url"] = self.base_url
        if self.key and self.variable != _own_variable(server, self.base_url):
            values["key_env"] = self.variable
        return values


def server_of(config: Configuration, provider: str) -> Server:
    """The server that a provider's name means.

    Raises:
        SettingsError: nobody knows it, or there is nothing to set up for it.
    """
    if provider == OFFLINE:
        raise SettingsError("The offline stand-in needs no setup: start hermes-acp with --offline.")
    own = own_servers(config.settings)
    return find_server(config, canonical(provider, {*own, *config.broken_servers}), own)


def configured_provider(config: Configuration) -> str:
    """The provider that config.yaml names, in its canonical form; '' if it names none."""
    model = config.settings.model
    named = canonical(model.provider or "", own_servers(config.settings))
    return ("custom" if model.base_url else "") if named in {"", "auto"} else named


def configured_address(config: Configuration, provider: str) -> str:
    """The address that config.yaml gives for this provider; '' if it gives none."""
    return (config.settings.model.base_url or "") if configured_provider(config) == provider else ""


def key_variable(config: Configuration, server: Server, base_url: str) -> str:
    """The variable that a new key for this server is written to: no other server's key stands there."""
    model = config.settings.model
    if model.key_env and _is_configured(config, Wanted(server.name, base_url)):
        return model.key_env
    if server.entry is not None and server.entry.key_env:
        return server.entry.key_env
    return _own_variable(server, base_url) or f"HERMES_KEY_{_as_variable(base_url or server.home(config.environ))}"


def dropped(config: Configuration, wanted: Wanted) -> frozenset[str]:
    """The keys of `model` that must not stay, because they are another server's or another model's."""
    model = config.settings.model
    if not _is_configured(config, wanted):
        return _OF_A_SERVER
    old = {"context_length"} if model.default != wanted.model else set()
    return frozenset({*old, *(_KEYS if wanted.key else ())})


def choice_for(config: Configuration, wanted: Wanted) -> ModelChoice:
    """The model as it would be asked once `wanted` is written; any model where none is chosen yet.

    Raises:
        AuthRequired: the key is missing. SettingsError: it cannot be used.
    """
    candidate = _candidate(config, wanted)
    return resolve_named(candidate, wanted.provider, wanted.model or _ANY_MODEL, source="hermes-acp setup")


def in_the_way(wanted: Wanted, process: Mapping[str, str]) -> list[str]:
    """What in this process's environment goes before what is written, a sentence each."""
    told = [
        f"{name} is set in the environment and goes before config.yaml." for name in _CHOOSERS if process.get(name)
    ]
    if wanted.key and process.get(wanted.variable, wanted.key) != wanted.key:
        told.append(f"{wanted.variable} is set in the environment to another key, which goes before .env.")
    return told


def _candidate(config: Configuration, wanted: Wanted) -> Configuration:
    """The settings as they would be read, but for what the environment says of the choice of a model."""
    server = server_of(config, wanted.provider)
    gone = {_OTHER_NAMES.get(name, name) for name in dropped(config, wanted)}
    before = {
        name: value
        for name, value in config.settings.model.model_dump(exclude_unset=True).items()
        if name not in gone
    }
    model = ModelSettings.model_validate({**before, **wanted.values(server)})
    # Not a copy: what the keyring has would not be in it.
    over = {**dict.fromkeys(_CHOOSERS, ""), **({wanted.variable: wanted.key} if wanted.key else {})}
    environ = ChainMap(over, cast("dict[str, str]", config.environ))
    return replace(config, settings=config.settings.model_copy(update={"model": model}), environ=environ)


def _is_configured(config: Configuration, wanted: Wanted) -> bool:
    """Whether config.yaml speaks of this server already."""
    old = configured_provider(config)
    return old == wanted.provider and configured_address(config, old) == wanted.base_url


def _own_variable(server: Server, base_url: str) -> str:
    """The variable in which the service's own key is looked for; '' at another's address."""
    keys = server.like(base_url).keys if server.entry is None and server.is_at_home(base_url) else ()
    return keys[0] if keys else ""


def _as_variable(base_url: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", host_of(base_url).upper()).strip("_") or "SERVER"


# The questions.

_MOST_SHOWN = 30
# Without an address Amazon's own settings say which region is asked.
_FOUND_BY_AMAZON = frozenset({"bedrock", "anthropic-bedrock"})


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
    offered = [_found_offer(server) for server in found]
    for name, entry in own_servers(config.settings).items():
        if entry.base_url:
            offered.append(Offer(name, f"{name} (your own, {shown(entry.base_url)})"))
    # A sign-in is not a key that could be typed; local ones are offered where they run.
    hosted = [service for service in SERVICES.values() if service.access != "sign-in" and not service.local]
    keys = {
        service.name: next((name for name in service.keys if config.environ.get(name, "").strip()), "")
        for service in hosted
    }
    hosted.sort(key=lambda service: not keys[service.name])
    for service in hosted:
        key = f" (there is a key: {keys[service.name]})" if keys[service.name] else ""
        offered.append(Offer(service.name, f"{service.title}{key}", is_ready=bool(key)))
    return offered


def choose_server(config: Configuration, person: Terminal, offered: Sequence[Offer]) -> Wanted:
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


def at_address(config: Configuration, person: Terminal, wanted: Wanted) -> Wanted:
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


def choose_key(config: Configuration, person: Terminal, wanted: Wanted) -> Wanted:
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


def choose_model(person: Terminal, choice: ModelChoice, current: str) -> str:
    """Ask for the model: from the server's list where it has one.

    Args:
        current: the model that Enter means; '' for none.
    """
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
        elif typed and (
            listing.source != "live"
            or person.agrees(f"{typed} is not in the list. Use it all the same?", default=False)
        ):
            return typed


def _with_key(config: Configuration, person: Terminal, wanted: Wanted, *, needed: bool) -> Wanted:
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
        try:
            choice_for(config, keyed)
        except HermesError as problem:  # it could not be used at all
            person.say(problem.public)
        else:
            return keyed


def _sign_in(person: Terminal, choice: ModelChoice, where: str) -> None:
    """Try the sign-in as often as the person wants; the settings may be written without it."""
    from agent_core.providers.sdk_provider import try_sign_in  # noqa: PLC0415 - only for providers with one

    while True:
        person.say(f"\nSigning in at {where} …")
        try:
            try_sign_in(choice)
        except HermesError as problem:
            person.say(problem.public)
            if not person.agrees("Try again?"):
                return
        else:
            person.say("Signed in.")
            return


def _show(person: Terminal, names: Sequence[str], of: int) -> None:
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


# Everything is put into its place, and the person told which that is.


def with_moved_key(config: Configuration, wanted: Wanted) -> Wanted:
    """The same with the key that .env has or names, so that it gets to another place."""
    variable = key_variable(config, server_of(config, wanted.provider), wanted.base_url)
    if wanted.key or variable not in read_env(config.home.env_file):
        return wanted
    key = choice_for(config, wanted).api_key
    return with_new_key(config, wanted, key) if key else wanted


def _chosen_store(config: Configuration, names: Mapping[str, str], person: Terminal | None) -> Store:
    """Where these keys go: as the person says, or else where they were before."""
    before = any(_is_kept(config, name) for name in names)
    if person is None or not names or not keyring.is_usable():
        return "keyring" if before else "file"
    kept = person.agrees(
        "Keep keys in the system's keyring? Otherwise they are in .env, readable by you alone.", default=before
    )
    return "keyring" if kept else "file"


def write_all(
    config: Configuration,
    wanted: Wanted | None,
    tool_keys: Mapping[str, str],
    asked: Store | None,
    person: Terminal | None,
) -> None:
    """Write the choice and the keys.

    Raises:
        SetupFailed, KeyringFailed: it could not be done; the message names what was written before.
    """
    keys = {**tool_keys, **({wanted.variable: wanted.key} if wanted is not None and wanted.key else {})}
    store = asked or _chosen_store(config, keys, person)
    values = {} if wanted is None else wanted.values(server_of(config, wanted.provider))
    gone = frozenset() if wanted is None else dropped(config, wanted)
    # What cannot be written is found out before the keyring is touched.
    planned_files(config.home, values, gone, keys)
    with stored(config.home, keys, store) as variables, alone(config.home):
        files = planned_files(config.home, values, gone, variables)
        write(config.home, files)
    for file in files:
        kept = f" (what it was: {file.backup})" if file.backup else ""
        print(f"Written: {safe_text(str(file.path))}{safe_text(kept)}")
    if store == "keyring" and keys:
        print(f"In the system's keyring, as {safe_text(keyring.service_of(config.home))}: {', '.join(keys)}")
        return
    for name in filter(lambda name: _is_kept(config, name), keys):
        if problem := forget(config.home, name):
            print(f"Note: {problem}")


def tell_choice(config: Configuration, wanted: Wanted) -> None:
    """Say what answers from now on, and what stands in its way."""
    SignedOut(config.home).clear()
    for sentence in in_the_way(wanted, os.environ):
        print(f"Note: {sentence}")
    print(f"{safe_text(wanted.provider)}:{safe_text(wanted.model)} answers in new sessions from now on.", flush=True)


def _is_kept(config: Configuration, name: str) -> bool:
    return isinstance(config.environ, KeptVariables) and config.environ.keeps(name)
