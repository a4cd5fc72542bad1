"""Which model is asked, where and with which key: one function decides it from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent_core.errors import AuthRequired, SettingsError
from agent_core.providers.choice import Dialect, ModelChoice

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.settings import ModelSettings

OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class HostedProvider:
    """A service: where its API is, and the variable that holds a key for it (and for nothing else)."""

    base_url: str
    key_variable: str


PROVIDERS: Mapping[str, HostedProvider] = {
    "openai": HostedProvider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": HostedProvider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
}

_SET_UP = (
    "In {file} set model.provider (custom with model.base_url for a local or compatible server; openai, openrouter) "
    "and model.default, and put the key in model.api_key or in .env beside it; or start with --offline to try the "
    "editor without a model."
)


def resolve_model(config: Configuration) -> ModelChoice:
    """The model that the command line, the environment and the settings choose, in this order.

    Raises:
        AuthRequired: nothing is chosen, or the key is missing; the text says what to do.
        SettingsError: the choice contradicts itself.
    """
    settings, over, environ = config.settings.model, config.overrides, config.environ
    model, source = _first(
        (over.model, "command line"),
        (environ.get("HERMES_MODEL"), "HERMES_MODEL"),
        (settings.default, str(config.home.config_file)),
    )
    provider = over.provider or environ.get("HERMES_PROVIDER") or settings.provider
    base_url = over.base_url or environ.get("HERMES_BASE_URL") or settings.base_url
    if OFFLINE in (model, provider):
        return _offline(config, model, source)
    provider = (provider or ("custom" if base_url else None) or "").strip().lower()
    _check_address(base_url)
    if not provider:
        known = f"The model {model!r} is chosen, but not who serves it" if model else "No model is configured"
        raise AuthRequired(f"{known}. {_SET_UP.format(file=config.home.config_file)}")
    if not model:
        chosen = f"The provider {provider!r} is chosen, but no model: set model.default or give --model."
        raise AuthRequired(f"{chosen} {_SET_UP.format(file=config.home.config_file)}")
    if provider == "custom":
        return _custom(config, model, base_url, source)
    return _hosted(config, provider, model, base_url, source)


def _first(*candidates: tuple[str | None, str]) -> tuple[str | None, str]:
    return next(((value.strip(), source) for value, source in candidates if value and value.strip()), (None, ""))


def _offline(config: Configuration, model: str | None, source: str) -> ModelChoice:
    # A model that the settings name is for another provider than the offline one that was asked for above them.
    if model in (None, OFFLINE, config.settings.model.default):
        return ModelChoice(OFFLINE, OFFLINE, "offline", "", source or str(config.home.config_file))
    raise SettingsError(
        f"The provider offline has no model {model!r} ({source}): choose another provider, or no model."
    )


def _check_address(base_url: str | None) -> None:
    try:
        parts = urlsplit(base_url or "http://none")
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise SettingsError(
            f"The server's address {base_url!r} cannot be used: give it as http://HOST:PORT/v1 or https://HOST/v1."
        )


def _custom(config: Configuration, model: str, base_url: str | None, source: str) -> ModelChoice:
    if not base_url:
        raise SettingsError(
            "Provider custom needs the server's address: set model.base_url "
            "(for example http://127.0.0.1:11434/v1 for Ollama)."
        )
    settings = config.settings.model
    key = _configured_key(settings, base_url) or config.environ.get("OPENAI_API_KEY") or None
    return _choice(settings, "custom", model, base_url, source=source, api_key=key)


def _hosted(config: Configuration, provider: str, model: str, base_url: str | None, source: str) -> ModelChoice:
    known = PROVIDERS.get(provider)
    if known is None:
        names = ", ".join((*PROVIDERS, "custom", OFFLINE))
        raise SettingsError(
            f"Provider {provider!r} is not known. Use one of: {names}; any compatible server is custom."
        )
    settings = config.settings.model
    # model.base_url belongs to the provider in the settings, not to one that was chosen elsewhere.
    own = settings.provider == provider or config.overrides.base_url or config.environ.get("HERMES_BASE_URL")
    address = (base_url if own else None) or known.base_url
    key = _configured_key(settings, address, known.base_url if settings.provider == provider else None)
    if key is None and _same_server(address, known.base_url):
        key = config.environ.get(known.key_variable) or None
    if key is None:
        raise AuthRequired(
            f"There is no key for {provider} at {address}: set {known.key_variable} in {config.home.env_file} or "
            f"model.api_key in {config.home.config_file}."
        )
    return _choice(settings, provider, model, address, source=source, api_key=key)


def _configured_key(settings: ModelSettings, address: str, default_address: str | None = None) -> str | None:
    """`model.api_key`, if `address` is on the server that the settings gave it for."""
    meant_for = settings.base_url or default_address
    return settings.api_key if settings.api_key and meant_for and _same_server(address, meant_for) else None


def _same_server(one: str, other: str) -> bool:
    # The scheme counts too: a key for https is not sent over http.
    a, b = urlsplit(one), urlsplit(other)
    return (a.scheme, a.hostname, a.port) == (b.scheme, b.hostname, b.port)


def _choice(
    settings: ModelSettings, provider: str, model: str, base_url: str, *, source: str, api_key: str | None
) -> ModelChoice:
    return ModelChoice(
        provider=provider,
        model=model,
        api_mode=settings.api_mode or "chat_completions",
        base_url=base_url.rstrip("/"),
        source=source,
        api_key=api_key,
        max_tokens=settings.max_tokens,
        context_length=settings.context_length,
        requested=model,
        dialect=Dialect(max_tokens_field="max_completion_tokens") if provider == "openai" else Dialect(),
    )
