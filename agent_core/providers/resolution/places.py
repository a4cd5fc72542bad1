"""The values that the settings give for a server, each with the address that it is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent_core.providers.base import ApiMode
from agent_core.providers.choice import Transport
from agent_core.providers.resolution.addresses import same_server
from agent_core.providers.resolution.catalog import SERVICES
from agent_core.providers.resolution.servers import Server
from agent_core.providers.resolution.wishes import Wish, choose
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.settings.model import NamedServer, ServerSettings


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
