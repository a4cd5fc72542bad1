"""Which providers can be asked as things are: those that are chosen, set up, or have a key in the environment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from agent_core.errors import SettingsError
from agent_core.providers.resolution.addresses import shown
from agent_core.providers.resolution.catalog import CUSTOM, SERVICES, Service
from agent_core.providers.resolution.keys import keys_for
from agent_core.providers.resolution.places import places_for
from agent_core.providers.resolution.resolve import OFFLINE
from agent_core.providers.resolution.servers import Server, address_of, find_server, own_servers
from agent_core.providers.resolution.wishes import Wish, choose, wish, wishes_of

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.settings.model import NamedServer

_ANY = "any"


class ConfiguredProvider(NamedTuple):  # the cheapest to define: this is loaded before the first session
    """A provider that can be asked.

    Attributes:
        name: what stands before the colon in `provider:model`.
        title: what people call it.
        base_url: its address; '' where its own client finds it.
        service: the one whose ways it has.
        named: the models that the settings name for it, the chosen one first.
    """

    name: str
    title: str
    base_url: str
    service: Service
    named: tuple[str, ...] = ()

    @property
    def list_key(self) -> str:
        """What its list of models is kept under."""
        return list_key(self.name, self.base_url)


def list_key(provider: str, base_url: str) -> str:
    """What a provider's list of models is kept under: another address has another list."""
    return f"{provider} {shown(base_url)}".rstrip()


def configured_providers(config: Configuration, accounts: Collection[str] = ()) -> tuple[ConfiguredProvider, ...]:
    """Every provider that can be asked, the chosen one first; nothing is asked for this. Offline is none of them.

    Args:
        accounts: the services that the person has signed in to.
    """
    own = own_servers(config.settings)
    servers = {*own, *config.broken_servers}
    wishes = wishes_of(config, servers)
    named = _named_models(config, wishes, servers)
    candidates = dict.fromkeys(_candidates(config, wishes, own, named, accounts))
    found = (_reached(config, name, wishes, own, named.get(name, ())) for name in candidates)
    return tuple(provider for provider in found if provider is not None)


def offline_is_chosen(config: Configuration) -> bool:
    """Whether the offline model is the one that sessions begin with."""
    servers = {*own_servers(config.settings), *config.broken_servers}
    chosen = choose(wishes_of(config, servers), servers)
    return OFFLINE in (chosen.provider, chosen.model)


def _candidates(
    config: Configuration,
    wishes: Sequence[Wish],
    own: Mapping[str, NamedServer],
    named: Mapping[str, Sequence[str]],
    accounts: Collection[str],
) -> Iterator[str]:
    servers = {*own, *config.broken_servers}
    for position in range(len(wishes)):
        if provider := choose(wishes[position:], servers).provider:
            yield provider
    yield from own
    yield from named
    for service in SERVICES.values():
        # Another service's key may be one of a cloud's, too; what is signed in for is offered once it is chosen.
        keys = () if service.sign_in is not None else service.keys
        has_key = any(config.environ.get(name, "").strip() for name in keys)
        if has_key or service.name in accounts:
            yield service.name


def _named_models(config: Configuration, wishes: Sequence[Wish], servers: set[str]) -> Mapping[str, tuple[str, ...]]:
    """By provider, the models that the places of the settings name."""
    # A fallback with an address of its own is a server that has no name here.
    fallbacks = (entry for entry in config.settings.fallback_providers if not entry.base_url)
    others = (wish("", servers, entry.provider, entry.model, None) for entry in fallbacks)
    chosen = (
        *(choose(wishes[position:], servers) for position in range(len(wishes))),
        *(choose((other, *wishes), servers) for other in others),
    )
    found: dict[str, dict[str, None]] = {}
    for each in chosen:
        if each.provider and each.model:
            found.setdefault(each.provider, {})[each.model] = None
    return {provider: tuple(models) for provider, models in found.items()}


def _reached(
    config: Configuration, name: str, wishes: Sequence[Wish], own: Mapping[str, NamedServer], named: Sequence[str]
) -> ConfiguredProvider | None:
    """The provider of that name, if it has an address and, where it wants one, a key."""
    if name == OFFLINE:
        return None
    servers = {*own, *config.broken_servers}
    everything = (wish("offer", servers, name, _ANY, None), *wishes)
    try:
        server = find_server(config, name, own)
        base_url = address_of(server, choose(everything, servers).base_url, config)
        keys = keys_for(server, base_url, places_for(config, everything, server, base_url, own), config.environ)
    except SettingsError:
        return None
    needed = server.service is not None and server.service.access == "key"
    if not keys.found and (needed or keys.unset):
        return None
    entry_model = (server.entry.model,) if server.entry is not None and server.entry.model else ()
    models = tuple(dict.fromkeys((*named, *entry_model)))
    return ConfiguredProvider(name, _title(server, base_url), base_url, server.like(base_url), models)


def _title(server: Server, base_url: str) -> str:
    if server.service is CUSTOM:
        return f"Server at {urlsplit(base_url).netloc.rpartition('@')[2]}"
    if server.service is not None:
        return server.service.title
    return (server.entry.name if server.entry is not None else "") or server.name
