"""What `hermes-acp setup` is to write, and what the settings would then say: nothing is changed here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agent_core.errors import SettingsError
from agent_core.providers.catalog import canonical, host_of
from agent_core.providers.resolve import OFFLINE, Server, find_server, own_servers, resolve_named
from agent_core.settings.model import ModelSettings, ServerSettings

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.providers.choice import ModelChoice

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
    environ = _Over(over, config.environ)
    return replace(config, settings=config.settings.model_copy(update={"model": model}), environ=environ)


class _Over(Mapping[str, str]):
    """Variables over others."""

    def __init__(self, over: Mapping[str, str], under: Mapping[str, str]) -> None:
        self._over, self._under = over, under

    def __getitem__(self, name: str) -> str:
        return self._over[name] if name in self._over else self._under[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(self._under), **self._over})

    def __len__(self) -> int:
        return len({*self._under, *self._over})


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
