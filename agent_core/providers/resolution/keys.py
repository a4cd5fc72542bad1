"""Which keys may go to a server: a key belongs to the host that it was given for, and goes to no other one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from agent_core.errors import SettingsError
from agent_core.providers.resolution.addresses import is_local
from agent_core.providers.resolution.places import Place
from agent_core.providers.resolution.servers import Server
from agent_core.providers.resolution.wishes import OPENAI_ADDRESS

if TYPE_CHECKING:
    from agent_core.settings.model import ServerSettings, Settings

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
