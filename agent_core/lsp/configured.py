"""The language servers that a user has named in the settings (`lsp.servers`)."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Mapping

from agent_core.lsp.languages import LANGUAGES, Command

log = logging.getLogger(__name__)


def configured_servers(written: Mapping[str, object]) -> Mapping[str, Command]:
    """The commands by language or suffix; what cannot be understood is left out and logged.

    An entry is a language («python») or a suffix («.vue») with a command: a list, or a text as in a shell; an empty
    one or `false` means none. Other programs write a name with `command` and `extensions` there, which is understood.
    """
    found: dict[str, Command] = {}
    for name, value in written.items():
        try:
            found |= _entry(str(name).strip().lower(), value)
        except ValueError as problem:
            log.warning("lsp.servers.%s is left out: %s", name, problem)
    return found


def _entry(name: str, value: object) -> Mapping[str, Command]:
    if isinstance(value, Mapping):
        suffixes = value.get("extensions")
        names = [str(suffix).lower() for suffix in suffixes] if isinstance(suffixes, list) else [name]
        command = () if value.get("disabled") is True else _command(value.get("command"))
        return {each: command for each in names if _check(each)}
    return {name: _command(value)} if _check(name) else {}


def _check(name: str) -> bool:
    if name in LANGUAGES or (name.startswith(".") and len(name) > 1):
        return True
    raise ValueError(f"{name!r} is no suffix like .vue, and none of {', '.join(LANGUAGES)}")


def _command(value: object) -> Command:
    if value is None or value is False:
        return ()
    if isinstance(value, str):
        return tuple(shlex.split(value))
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise ValueError("its command is neither a text nor a list of texts")
