"""The MCP servers that a client gives a session, from the wire's form."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

from agent_core.errors import RequestError
from agent_core.mcp.specs import ServerSpec

log = logging.getLogger(__name__)

Entry = Mapping[str, Any]


def read_servers(raw: Sequence[object]) -> tuple[ServerSpec, ...]:
    """The `mcpServers` of session/new, load, resume and fork: JSON objects or the SDK's models.

    A second server of the same name gets a number.

    Raises:
        RequestError: an entry is malformed, or of a kind that is not supported; it names the entry, never its values.
    """
    specs: list[ServerSpec] = []
    taken: set[str] = set()
    for position, given in enumerate(raw):
        entry = _entry(given, position)
        name = _unused(_text(entry, "name", f"mcpServers[{position}]"), taken)
        taken.add(name)
        specs.append(_spec(entry, name))
    return tuple(specs)


def _entry(given: object, position: int) -> Entry:
    dump = getattr(given, "model_dump", None)
    value = dump(mode="json", by_alias=True) if callable(dump) else given
    if not isinstance(value, Mapping):
        raise RequestError(f"mcpServers[{position}] must be an object with a name and a command or url.")
    return value


def _spec(entry: Entry, name: str) -> ServerSpec:
    what = f"The MCP server {name!r}"
    match entry.get("type"):
        case None | "stdio":
            return _stdio(entry, name, what)
        case "http" | "sse" as kind:
            return _network(entry, name, what, kind)
        case "acp":
            raise RequestError(
                f"{what} is to be reached through the client's own connection (type acp), which is not supported. "
                "Give it as a stdio, http or sse server."
            )
        case other:
            raise RequestError(f"{what} has the unknown type {str(other)[:40]!r}. Use stdio (no type), http or sse.")


def _stdio(entry: Entry, name: str, what: str) -> ServerSpec:
    command = _text(entry, "command", what)
    args = _optional(entry, "args", [])
    if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
        raise RequestError(f"{what}: args must be a list of strings.")
    if not os.path.isabs(command):  # noqa: PTH117
        log.info("MCP server %s: its command is not an absolute path; it is looked for on the PATH", name)
    return ServerSpec(name, "stdio", command=command, args=tuple(args), env=_pairs(entry, "env", what))


def _network(entry: Entry, name: str, what: str, kind: Literal["http", "sse"]) -> ServerSpec:
    url = _text(entry, "url", what)
    if not url.lower().startswith(("http://", "https://")):
        raise RequestError(f"{what}: url must begin with http:// or https://.")
    if not _names_a_host(url):
        raise RequestError(f"{what}: url must have a host, as in https://mcp.example.com/mcp; a port is a number.")
    return ServerSpec(name, kind, url=url, headers=_pairs(entry, "headers", what))


def _names_a_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port  # not a number, or too big
    except ValueError:
        return False
    return bool(parts.hostname)


def _text(entry: Entry, key: str, what: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        raise RequestError(f"{what}: {key} must be a text that is not empty.")
    return value


def _pairs(entry: Entry, key: str, what: str) -> tuple[tuple[str, str], ...]:
    """A list of {name, value}; an object of names and values is understood as well."""
    value = _optional(entry, key, [])
    if isinstance(value, Mapping):
        value = [{"name": name, "value": text} for name, text in value.items()]
    if not isinstance(value, list) or not all(_is_pair(pair) for pair in value):
        raise RequestError(f"{what}: {key} must be a list of objects with name and value, both of them text.")
    return tuple((pair["name"], pair["value"]) for pair in value)


def _is_pair(pair: object) -> bool:
    if not isinstance(pair, Mapping):
        return False
    return isinstance(pair.get("name"), str) and bool(pair["name"]) and isinstance(pair.get("value"), str)


def _optional(entry: Entry, key: str, default: object) -> Any:
    value = entry.get(key)
    return default if value is None else value


def _unused(name: str, taken: set[str]) -> str:
    number, found = 2, name
    while found in taken:
        found = f"{name}-{number}"
        number += 1
    return found
