"""Which model is asked, where, in which protocol and with which key: one function decides it from the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_core.errors import AuthRequired, KeyMissing, SettingsError
from agent_core.kept_variables import KeptVariables
from agent_core.providers.choice import DEFAULT_STALL, ModelChoice, ModelFacts
from agent_core.providers.resolution.addresses import is_local, shown
from agent_core.providers.resolution.dialects import dialect_for
from agent_core.providers.resolution.keys import keys_for, variables_of
from agent_core.providers.resolution.modes import resolve_mode
from agent_core.providers.resolution.names import check_visible
from agent_core.providers.resolution.places import Place, headers_for, limits_of, places_for
from agent_core.providers.resolution.servers import Server, address_of, find_server, own_servers
from agent_core.providers.resolution.traits import is_known_to_hear, seems_to_reason
from agent_core.providers.resolution.wishes import Chosen, Wish, choose, wish, wishes_of

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.settings.model import NamedServer, ServerSettings

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
    from agent_core.providers.knowledge.facts import facts_of  # noqa: PLC0415 - reads its data: only for models that have facts

    facts = facts_of(filed_as, model)
    return replace(facts, audio=True) if facts.audio is None and is_known_to_hear(model) else facts


def _patience(model: str, facts: ModelFacts, *, local: bool) -> float:
    if local:
        return LOCAL_STALL
    reasons = seems_to_reason(model) if facts.reasoning is None else facts.reasoning
    return REASONING_STALL if reasons else DEFAULT_STALL
