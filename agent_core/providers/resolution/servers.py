"""The server that a provider's name stands for: the catalog's, the user's own, or one with the values of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent_core.errors import SettingsError
from agent_core.providers.resolution.addresses import belongs_to, check_address, service_at
from agent_core.providers.resolution.catalog import CUSTOM, SERVICES, Service
from agent_core.providers.resolution.names import ALIASES, plain, unknown_provider
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.settings.model import NamedServer, Settings


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
            from agent_core.providers.resolution.clouds import cloud_address  # noqa: PLC0415 - few people need it

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
