"""From settings to the model that is asked: sources, servers, keys, efforts."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, get_args

from agent_core.errors import AuthRequired, KeyMissing, SettingsError
from agent_core.providers.base import ApiMode, ModelRequest, ReasoningEffort
from agent_core.providers.catalog import (
    ALIASES,
    CUSTOM,
    SERVICES,
    Service,
    belongs_to,
    canonical,
    check_address,
    check_visible,
    dialect_for,
    is_known_to_hear,
    is_local,
    plain,
    resolve_mode,
    same_server,
    seems_to_reason,
    service_at,
    shown,
    split_model,
    unknown_provider,
)
from agent_core.providers.choice import DEFAULT_STALL, ModelChoice, ModelFacts, Transport, cloud_address
from agent_core.settings.keyring import KeptVariables
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.settings.model import NamedServer, ServerSettings, Settings


# What is asked for, and where: the places that may choose a model, the most specific first, and what they say.

OPENAI_ADDRESS = "OPENAI_BASE_URL"


@dataclass(frozen=True, slots=True)
class Wish:
    """What one place says; None where it says nothing.

    Attributes:
        source: the place, for messages.
        provider: in canonical form.
        values: keys, limits and the like that belong to this wish.
    """

    source: str
    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    values: ServerSettings | None = None

    @property
    def realm(self) -> str | None:
        """Whose names its model's name is one of; an address alone is a compatible server's."""
        return self.provider or ("custom" if self.base_url else None)


class Chosen(NamedTuple):  # the cheapest to define: this is loaded before the first session
    """What the places say together.

    Attributes:
        model: None where none is named, or only one that a less specific place meant for another provider's server.
        named_beside: the model was named no less specifically than the provider.
        requested: the model's name as it was written.
    """

    provider: str | None
    model: str | None
    base_url: str | None
    source: str
    requested: str
    named_beside: bool


def wishes_of(config: Configuration, servers: Container[str]) -> tuple[Wish, ...]:
    """The command line's, the environment's and the settings' wish."""
    over, environ, model = config.overrides, config.environ, config.settings.model
    return (
        wish("command line", servers, over.provider, over.model, over.base_url),
        wish(
            "HERMES_MODEL",
            servers,
            environ.get("HERMES_PROVIDER"),
            environ.get("HERMES_MODEL"),
            environ.get("HERMES_BASE_URL") or _openai_address(environ, servers),
        ),
        wish(str(config.home.config_file), servers, model.provider, model.default, model.base_url, values=model),
    )


def _openai_address(environ: Mapping[str, str], servers: Container[str]) -> str | None:
    """OpenAI's own variable for the address, where the environment also chooses OpenAI."""
    chosen = canonical(environ.get("HERMES_PROVIDER") or "", servers)
    return environ.get(OPENAI_ADDRESS) if chosen == "openai" else None


def wish(
    source: str,
    servers: Container[str],
    provider: str | None,
    model: str | None,
    base_url: str | None,
    *,
    values: ServerSettings | None = None,
) -> Wish:
    """A wish from what was written: blanks, and the provider `auto`, say nothing."""
    name = canonical(provider or "", servers)
    named = None if name in {"", "auto"} else name
    return Wish(source, named, (model or "").strip() or None, (base_url or "").strip().rstrip("/") or None, values)


def choose(wishes: Sequence[Wish], servers: Container[str]) -> Chosen:
    """Provider, model and address, each from the most specific place that names it.

    A provider in a model's name counts as named there. An address belongs to the provider that is named beside it, or
    further down, and to no other one.
    """
    position, provider = _first_provider(wishes, servers)
    at = next((index for index, found in enumerate(wishes) if found.model), None)
    model = None if at is None else _taken_apart(wishes, at, servers)[1]
    return Chosen(
        provider,
        model,
        _address(wishes, provider, position, servers),
        "" if at is None else wishes[at].source,
        "" if at is None else wishes[at].model or "",
        named_beside=at is not None and at <= position,
    )


def _first_provider(wishes: Sequence[Wish], servers: Container[str]) -> tuple[int, str | None]:
    for index, found in enumerate(wishes):
        if found.provider:
            return index, found.provider
        if found.model and (named := _taken_apart(wishes, index, servers)[0]):
            return index, named
    at = next((index for index, found in enumerate(wishes) if found.base_url), len(wishes))
    return at, "custom" if at < len(wishes) else None


def _taken_apart(wishes: Sequence[Wish], at: int, servers: Container[str]) -> tuple[str | None, str]:
    """The provider in the name of the model at `at`, and the name without it."""
    text, beside = wishes[at].model or "", wishes[at].realm
    if beside is None:
        below = next((found.realm for found in wishes[at + 1 :] if found.realm), None)
        return split_model(text, servers, below)
    named, rest = split_model(text, servers)
    return (None, rest) if named == beside else (None, text)


def _address(wishes: Sequence[Wish], provider: str | None, position: int, servers: Container[str]) -> str | None:
    for index, found in enumerate(wishes):
        meant_for = {found.realm, _first_provider(wishes[index:], servers)[1]}
        if found.base_url and (index <= position or provider in meant_for):
            return found.base_url
    return None


# The server that a provider's name stands for: the catalog's, the user's own, or one with the values of both.

_IN_CLOUDS = frozenset({"bedrock", "anthropic-bedrock", "anthropic-vertex", "anthropic-foundry"})


@dataclass(frozen=True, slots=True)
class Server:
    """Whom a provider's name means.

    Attributes:
        service: the catalog's entry; None for a server of the user's own.
        entry: the user's entry in `providers` or `custom_providers`.
    """

    name: str
    service: Service | None
    entry: NamedServer | None

    def home(self, environ: Mapping[str, str]) -> str:
        """Its address where nothing else is said; '' if only the user knows it."""
        if self.entry is not None and self.entry.base_url:
            return self.entry.base_url
        if self.name in _IN_CLOUDS:
            return cloud_address(self.name, environ)
        return self.service.base_url if self.service is not None else ""

    def like(self, base_url: str) -> Service:
        """The service whose ways it has at this address: its own, or that of the vendor whose address it is."""
        if self.service is not None and self.service is not CUSTOM:
            return self.service
        return service_at(base_url) or CUSTOM

    def is_at_home(self, base_url: str) -> bool:
        """Whether the address is one of the service's own."""
        return not base_url or belongs_to(self.like(base_url), base_url)


def own_servers(settings: Settings) -> dict[str, NamedServer]:
    """The user's entries by their plain names; `providers` goes before `custom_providers`.

    One under an alias that gives no address is about the service that the alias means.
    """
    listed = {_filed(entry.name, entry): entry for entry in reversed(settings.custom_providers) if entry.name}
    return {**listed, **{_filed(name, entry): entry for name, entry in settings.providers.items()}}


def _filed(name: str, entry: NamedServer) -> str:
    name = plain(name)
    return name if entry.base_url else ALIASES.get(name, name)


def find_server(config: Configuration, name: str, own: Mapping[str, NamedServer]) -> Server:
    """The server with this canonical name.

    Raises:
        SettingsError: nobody knows the name, or the user's entry of that name cannot be used.
    """
    if name not in own and name in config.broken_servers:
        raise SettingsError(
            f"The provider {name!r} cannot be used: {config.broken_servers[name]}. Correct it in "
            f"{config.home.config_file}."
        )
    server = Server(name, SERVICES.get(name), own.get(name))
    if server.service is None and server.entry is None:
        raise SettingsError(unknown_provider(name, own))
    return server


def address_of(server: Server, chosen: str | None, config: Configuration) -> str:
    """The address to ask; '' only where the protocol's own client finds it.

    Raises:
        SettingsError: there is none, or it cannot be used.
    """
    address = chosen or server.home(config.environ)
    if address:
        return check_address(address)
    match server.name:
        case "bedrock" | "anthropic-bedrock":
            return ""
        case "anthropic-foundry":
            how = (
                "your resource's address: set ANTHROPIC_FOUNDRY_RESOURCE, or model.base_url to "
                "https://RESOURCE.services.ai.azure.com/anthropic"
            )
        case "azure" | "azure-entra":
            how = "your resource's address: set model.base_url to https://RESOURCE.openai.azure.com/openai/v1"
        case "custom":
            how = "the server's address: set model.base_url (for example http://127.0.0.1:11434/v1 for Ollama)"
        case name:
            how = f"the server's address: set providers.{name}.base_url"
    raise SettingsError(f"Provider {server.name} needs {how} in {config.home.config_file}.")


# The values that the settings give for a server, each with the address that it is for.


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the settings that may have something to say of a server.

    Attributes:
        home: the address that its keys and headers are for.
        counts: it is about this provider, so that its protocol and its limits hold.
        model: the model whose window it tells; None is any.
    """

    values: ServerSettings
    home: str
    counts: bool = True
    model: str | None = None

    def is_for(self, base_url: str) -> bool:
        """Whether what is secret here may go to this address."""
        if self.counts and self.home == base_url:
            return True
        return bool(self.home and base_url) and same_server(self.home, base_url)


class Limits(NamedTuple):
    """What the places say beside keys and headers, the first that says anything."""

    api_mode: ApiMode | None = None
    context_length: int | None = None
    max_tokens: int | None = None
    stall_timeout: float | None = None
    transport: Transport | None = None


def places_for(
    config: Configuration, wishes: Sequence[Wish], server: Server, base_url: str, own: Mapping[str, NamedServer]
) -> tuple[Place, ...]:
    """The places that have to do with `server` when it is asked at `base_url`, the most specific first.

    `model` of the settings goes before the server's own entry where it is about this provider; else it comes last,
    for a key that was given for this very address.
    """
    given = [Place(found.values, found.base_url or base_url) for found in wishes[:-1] if found.values is not None]
    model = _settings_model(config, wishes, server, own)
    entry = list(_entry(server, config))
    return (*given, model, *entry) if model.counts else (*given, *entry, model)


def limits_of(places: Sequence[Place], model: str) -> Limits:
    """What holds for this model."""
    counting = [place for place in places if place.counts]
    windows = (place.values.context_length for place in counting if place.model in (None, model))
    return Limits(
        api_mode=next((mode for place in counting if (mode := place.values.api_mode)), None),
        context_length=next((window for window in windows if window), None),
        max_tokens=next((limit for place in counting if (limit := place.values.max_tokens)), None),
        stall_timeout=next((seconds for place in counting if (seconds := place.values.stall_timeout)), None),
        transport=next((kind for place in counting if (kind := place.values.transport)), None),
    )


def headers_for(server: Server, base_url: str, places: Sequence[Place]) -> tuple[tuple[str, str], ...]:
    """The service's headers and the user's; of one that several give, the most specific one's."""
    found: dict[str, tuple[str, str]] = {}
    if server.is_at_home(base_url):
        found.update({name.lower(): (name, value) for name, value in server.like(base_url).headers})
    for place in reversed(places):
        if place.is_for(base_url):
            found.update({name.lower(): (name, value) for name, value in place.values.headers.items()})
    return tuple(found.values())


def _settings_model(
    config: Configuration, wishes: Sequence[Wish], server: Server, own: Mapping[str, NamedServer]
) -> Place:
    settled = choose(wishes[-1:], {*own, *config.broken_servers})
    name = settled.provider or ""
    its = Server(name, SERVICES.get(name), own.get(name))
    home = settled.base_url or its.home(config.environ)
    return Place(config.settings.model, home, name == server.name, settled.model)


def _entry(server: Server, config: Configuration) -> Iterator[Place]:
    if server.entry is not None:
        yield Place(server.entry, server.home(config.environ), model=server.entry.model)


# Which keys may go to a server: a key belongs to the host that it was given for, and goes to no other one.

_SENDABLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Keys(NamedTuple):
    """The keys for a server.

    Attributes:
        unset: the variables that the settings name for a key and that are not set.
    """

    found: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()


def keys_for(server: Server, base_url: str, places: Iterable[Place], environ: Mapping[str, str]) -> Keys:
    """The keys of the first place that has any for this address, else the one of the service's own variables.

    Raises:
        SettingsError: a key cannot be sent as it is.
    """
    unset: list[str] = []
    for place in places:
        if place.is_for(base_url):
            keys = _written(place.values, environ)
            unset.extend(keys.unset)
            if keys.found:
                _check(keys.found, f"for {server.name} in the settings")
                return keys
    for name in variables_of(server, base_url, environ):
        if value := environ.get(name, "").strip():
            _check((value,), f"in {name}")
            return Keys((value,), tuple(unset))
    return Keys((), tuple(unset))


def variables_named(settings: Settings) -> frozenset[str]:
    """The variables that the settings take keys and headers from: nobody else should see their values."""
    servers: list[ServerSettings] = [settings.model, *settings.providers.values(), *settings.custom_providers]
    servers += [*settings.fallback_providers, *settings.auxiliary.values()]
    texts = (text for server in servers for text in (*server.keys, *server.headers.values()))
    written = {name for text in texts for name in _VARIABLE.findall(text)}
    return frozenset(written | {server.key_env for server in servers if server.key_env})


def _check(keys: Iterable[str], where: str) -> None:
    """No request can be made with a key that holds a line break or «…»; the library would show it in its error."""
    if not all(_SENDABLE.fullmatch(key) for key in keys):
        raise SettingsError(
            f"The key {where} (not shown) cannot be sent: it holds a line break or a character that no key has. "
            "Copy it again, in one line."
        )


def variables_of(server: Server, base_url: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The environment's variables whose value may go to this address."""
    if server.is_at_home(base_url):
        return server.like(base_url).keys
    # What people who have one compatible server expect, and only there: no service has this address.
    # Nobody on the way may read it.
    safe = base_url.startswith("https://") or is_local(base_url)
    # OpenAI's own variables belong together.
    beside = environ.get(OPENAI_ADDRESS, "").strip().rstrip("/")
    expected = server.name == "custom" or (server.name == "openai" and base_url == beside)
    return ("OPENAI_API_KEY",) if expected and safe else ()


def _written(values: ServerSettings, environ: Mapping[str, str]) -> Keys:
    found: list[str] = []
    unset: list[str] = []
    for text in values.keys:
        missing = [name for name in _VARIABLE.findall(text) if not environ.get(name, "").strip()]
        if missing:
            unset.extend(missing)
        else:
            found.append(_VARIABLE.sub(lambda match: environ[match[1]].strip(), text))
    if values.key_env and (key := environ.get(values.key_env, "").strip()):
        found.append(key)
    elif values.key_env:
        unset.append(values.key_env)
    return Keys(tuple(dict.fromkeys(found)), tuple(unset))


# How much a model can be told to think: the efforts that make a difference to what its server is sent.

_SCALE: tuple[ReasoningEffort, ...] = get_args(ReasoningEffort)
_USUAL: tuple[ReasoningEffort, ...] = ("low", "medium", "high")
# https://ai.google.dev/gemini-api/docs/openai: 2.5 Flash can be told not to think; those before 2.5 do not think.
_GEMINI = r"gemini-(?P<major>\d+)(?:\.(?P<minor>\d+))?(?P<variant>-flash)?"
_FIRST_THINKING_GEMINI = (2, 5)
_FIRST_THINKING_CLAUDE = (3, 7)


def available_efforts(choice: ModelChoice) -> tuple[ReasoningEffort, ...]:
    """What this model takes at this server, least first; nothing if it does not think or cannot be told how much."""
    if choice.facts.reasoning is False:
        return ()
    match choice.api_mode:
        case "anthropic_messages" | "bedrock_converse":
            return _of_messages(choice)
        case "codex_responses":
            return _of_openai(choice.model)
        case "chat_completions":
            return _of_chat(choice)
    return ()


def effort_in_use(
    chosen: ReasoningEffort | None, configured: ReasoningEffort | None, choice: ModelChoice
) -> ReasoningEffort | None:
    """The effort that requests ask for.

    Args:
        chosen: by the person, for the session; it counts only where the model has it.
        configured: what the settings say; requests say the nearest that there is.
    """
    return chosen if chosen is not None and chosen in available_efforts(choice) else configured


def _of_openai(model: str) -> tuple[ReasoningEffort, ...]:
    from agent_core.providers.protocol import efforts_of  # noqa: PLC0415 - for these protocols only

    known = efforts_of(model)
    return _USUAL if known is None else known


def _of_chat(choice: ModelChoice) -> tuple[ReasoningEffort, ...]:
    if choice.dialect.effort == "none":
        return ()
    gemini = re.search(_GEMINI, choice.model)
    if gemini is not None:
        return _of_gemini(gemini)
    return _of_openrouter(choice) if choice.dialect.effort == "openrouter" else _of_openai(choice.model)


def _of_openrouter(choice: ModelChoice) -> tuple[ReasoningEffort, ...]:
    # It says each effort in the model's own words: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens
    from agent_core.providers.anthropic_messages import claude  # noqa: PLC0415 - for its users only
    from agent_core.providers.protocol import efforts_of  # noqa: PLC0415

    known = efforts_of(choice.model)
    if known is not None:
        return known
    one = claude(choice.model)
    thinks = choice.facts.reasoning or seems_to_reason(choice.model)
    return _SCALE if thinks or (one is not None and one.version >= _FIRST_THINKING_CLAUDE) else ()


def _of_gemini(name: re.Match[str]) -> tuple[ReasoningEffort, ...]:
    version = (int(name["major"]), int(name["minor"] or 0))
    if version < _FIRST_THINKING_GEMINI:
        return ()
    off: tuple[ReasoningEffort, ...] = ("none",) if version < (3, 0) and name["variant"] else ()
    return (*off, "minimal", *_USUAL)


def _of_messages(choice: ModelChoice) -> tuple[ReasoningEffort, ...]:
    """Those whose requests differ: of several that say the same, the highest gives its name to it."""
    from agent_core.providers.anthropic_messages import thinking  # noqa: PLC0415 - for this protocol only

    def asked(effort: ReasoningEffort) -> str:
        found = thinking(ModelRequest(choice.model, (), reasoning=effort), choice)
        return f"{found.max_tokens} {found.fields}"

    by_request = {asked(effort): effort for effort in _SCALE}
    return tuple(by_request.values()) if len(by_request) > 1 else ()


# Which model is asked, where, in which protocol and with which key: one function decides it from the settings.

OFFLINE = "offline"
LOCAL_STALL = 900.0
REASONING_STALL = 600.0

_SET_UP = (
    "Run `hermes-acp setup` in a terminal: {cause}. Or set model.provider in {file} (for example anthropic, openai, "
    "openrouter or ollama; custom with model.base_url for any other compatible server) and model.default, and put "
    "the key in model.api_key or in .env beside it; docs/models.md lists every provider. To try the editor without a "
    "model, start with --offline."
)


def resolve_model(config: Configuration) -> ModelChoice:
    """The model that the command line, the environment and the settings choose, in this order.

    Raises:
        AuthRequired: nothing is chosen, or the key is missing; the text says what to do.
        SettingsError: the choice contradicts itself, or names what is not there.
    """
    own = own_servers(config.settings)
    return _resolve(config, wishes_of(config, {*own, *config.broken_servers}), own)


def resolve_named(
    config: Configuration,
    provider: str | None,
    model: str | None,
    base_url: str | None = None,
    *,
    source: str = "session",
    values: ServerSettings | None = None,
) -> ModelChoice:
    """A model that a session, a fallback or a side task names; what it leaves open is as `resolve_model` finds it.

    Args:
        provider: a service, an alias or a server of the user's own; None if `model` says it, or nobody does.
        model: a name, also `provider:model`; None is the server's own model, or the configured one.
        source: who names it, for messages.
        values: keys and limits that were given with the name.

    Raises:
        AuthRequired, SettingsError: as `resolve_model` does.
    """
    own = own_servers(config.settings)
    servers = {*own, *config.broken_servers}
    # An address that is given with a name is a server of its own, not one for the configured provider.
    named = wish(source, servers, provider or ("custom" if base_url else None), model, base_url, values=values)
    return _resolve(config, (named, *wishes_of(config, servers)), own)


def resolve_fallbacks(config: Configuration, primary: ModelChoice) -> tuple[tuple[ModelChoice, ...], tuple[str, ...]]:
    """The models of `fallback_providers` that can be asked when `primary` cannot answer, and why others cannot.

    The primary itself and repetitions are left out.
    """
    found: dict[tuple[str, str, str], ModelChoice] = {}
    problems: list[str] = []
    for position, entry in enumerate(config.settings.fallback_providers):
        source = f"fallback_providers.{position}"
        try:
            choice = resolve_named(config, entry.provider, entry.model, entry.base_url, source=source, values=entry)
        except (AuthRequired, SettingsError) as problem:
            problems.append(f"{source} ({entry.provider or ''}:{entry.model or ''}) is not used. {problem.public}")
        else:
            found.setdefault((choice.provider, choice.model, choice.base_url), choice)
    found.pop((primary.provider, primary.model, primary.base_url), None)
    return tuple(found.values()), tuple(problems)


def _resolve(config: Configuration, wishes: Sequence[Wish], own: Mapping[str, NamedServer]) -> ModelChoice:
    chosen = choose(wishes, {*own, *config.broken_servers})
    if OFFLINE in (chosen.model, chosen.provider):
        return _offline(config, chosen)
    if chosen.provider is None:
        named = f"the model {chosen.model!r} is chosen, but not who serves it" if chosen.model else ""
        raise _no_model(config, named or "no model is configured")
    server = find_server(config, chosen.provider, own)
    model, source, requested = _model_of(config, chosen, server)
    check_visible(model, source)
    base_url = address_of(server, chosen.base_url, config)
    places = places_for(config, wishes, server, base_url, own)
    keys = _keys(config, server, base_url, places)
    like, limits = server.like(base_url), limits_of(places, model)
    mode = resolve_mode(limits.api_mode, server.service.api_mode if server.service else None, base_url, model)
    facts = _facts(like.facts_as, model)
    sign_in = server.service.sign_in if server.service is not None else None
    if sign_in is not None and limits.transport == "http":
        raise SettingsError(
            f"Provider {server.name} is asked through its vendor's SDK alone: take «transport: http» out of "
            f"{config.home.config_file}."
        )
    return ModelChoice(
        provider=server.name,
        model=model,
        api_mode=mode,
        base_url=base_url,
        source=source,
        requested=requested,
        api_key=keys[0] if keys else None,
        spare_keys=keys[1:],
        headers=headers_for(server, base_url, places),
        dialect=dialect_for(like, model, base_url, mode),
        facts=facts,
        max_tokens=limits.max_tokens,
        context_length=limits.context_length or facts.context_length,
        transport="sdk" if sign_in is not None or limits.transport == "sdk" else "http",
        sign_in=sign_in,
        stall_after=limits.stall_timeout or _patience(model, facts, local=like.local or is_local(base_url)),
    )


def _offline(config: Configuration, chosen: Chosen) -> ModelChoice:
    # A model that a less specific place names is for another provider than the offline one that was asked for.
    if chosen.model in (None, OFFLINE, config.settings.model.default) or not chosen.named_beside:
        return ModelChoice(OFFLINE, OFFLINE, "offline", "", chosen.source or str(config.home.config_file))
    raise SettingsError(
        f"The provider offline has no model {chosen.model!r} ({chosen.source}): choose another provider, or no model."
    )


def _model_of(config: Configuration, chosen: Chosen, server: Server) -> tuple[str, str, str]:
    """The model, where it was chosen, and how it was written there."""
    if server.entry is not None and server.entry.model and not (chosen.model and chosen.named_beside):
        return server.entry.model, str(config.home.config_file), server.entry.model
    if chosen.model:
        return chosen.model, chosen.source, chosen.requested
    raise _no_model(config, f"the provider {server.name!r} is chosen, but no model (model.default or --model)")


def _no_model(config: Configuration, cause: str) -> AuthRequired:
    return AuthRequired(_SET_UP.format(cause=cause, file=config.home.config_file), cause)


def _keys(config: Configuration, server: Server, base_url: str, places: Sequence[Place]) -> tuple[str, ...]:
    keys = keys_for(server, base_url, places, config.environ)
    needed = server.service is not None and server.service.access == "key"
    if keys.found or not (needed or keys.unset):
        return keys.found
    settings, env = config.home.config_file, config.home.env_file
    variables = keys.unset or variables_of(server, base_url, config.environ)
    if isinstance(config.environ, KeptVariables):
        for problem in filter(None, map(config.environ.problem_of, variables)):
            raise SettingsError(problem)
    cause = f"there is no key for {server.name} at {shown(base_url)}"
    if keys.unset:
        names = " or ".join(keys.unset)
        cause = f"{cause}; {settings} takes it from {names}, which is not set"
        advice = f"Set {names} in {env}"
    else:
        advice = f"Set {f'{variables[0]} in {env} or ' if variables else ''}model.api_key in {settings}"
    at_home = server.service is not None and server.is_at_home(base_url)
    raise KeyMissing(
        f"{advice}, or run `hermes-acp setup`: {cause}.",
        cause=cause,
        title=server.service.title if server.service else server.name,
        variable=variables[0] if variables else "",
        file=str(env),
        page=server.like(base_url).key_page if at_home else "",
    )


def _facts(filed_as: str, model: str) -> ModelFacts:
    if not filed_as:
        return ModelFacts()
    from agent_core.providers.pricing import facts_of  # noqa: PLC0415 - reads its data: only for models that have facts

    facts = facts_of(filed_as, model)
    return replace(facts, audio=True) if facts.audio is None and is_known_to_hear(model) else facts


def _patience(model: str, facts: ModelFacts, *, local: bool) -> float:
    if local:
        return LOCAL_STALL
    reasons = seems_to_reason(model) if facts.reasoning is None else facts.reasoning
    return REASONING_STALL if reasons else DEFAULT_STALL
