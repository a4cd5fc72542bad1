"""What the user has decided about plugins, in the home's `plugins.json`: what is off, which projects are trusted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_core.providers.shared_file import SharedFile
from tools.os_compat import same_directory

FILE_NAME = "plugins.json"
_SECONDS = 5.0


class PluginState:
    """The file; safe for threads and processes. Every method may raise `SharedFileError`."""

    def __init__(self, home: Path) -> None:
        self._file = SharedFile(home / FILE_NAME, durable=True)

    def disabled(self) -> frozenset[str]:
        """Names of plugins that are off."""
        return frozenset(name for name in _listed(self._file.read().get("disabled")) if isinstance(name, str))

    def disable(self, name: str, *, off: bool) -> None:
        """Switch a plugin off, or on again."""
        with self._file.locked(_SECONDS) as draft:
            names = {each for each in _listed(draft.content.get("disabled")) if isinstance(each, str)}
            names = names | {name} if off else names - {name}
            draft.content["disabled"] = sorted(names)
            draft.save()

    def trusted(self, project: Path) -> Mapping[str, str]:
        """What of a project is trusted: the hash of each thing's content, by the thing's name."""
        trusted = _mapping(self._file.read().get("trusted"))
        return _hashes(trusted.get(_place(trusted, project)))

    def projects(self) -> Mapping[str, Mapping[str, str]]:
        """Every project of which something is trusted, by its real path."""
        trusted = _mapping(self._file.read().get("trusted"))
        return {str(path): _hashes(things) for path, things in sorted(trusted.items())}

    def trust(self, project: Path, things: Mapping[str, str]) -> None:
        """Trust these things of a project, as long as their content has that hash."""
        with self._file.locked(_SECONDS) as draft:
            trusted = dict(_mapping(draft.content.get("trusted")))
            path = _place(trusted, project)
            trusted[path] = {**_hashes(trusted.get(path)), **things}
            draft.content["trusted"] = trusted
            draft.save()

    def untrust(self, project: Path) -> bool:
        """Trust nothing of a project any more; False where nothing was."""
        with self._file.locked(_SECONDS) as draft:
            trusted = dict(_mapping(draft.content.get("trusted")))
            was = trusted.pop(_place(trusted, project), None)
            draft.content["trusted"] = trusted
            draft.save()
        return bool(was)


def _place(trusted: Mapping[str, Any], project: Path) -> str:
    """The project's directory as the file has it; its real path where it is not in there.

    What was trusted is a real path. If a link stands there now, it leads to something else.
    """
    real = os.path.realpath(project)
    if real in trusted:
        return real
    kept = (path for path in trusted if path == os.path.realpath(path))
    return next((path for path in kept if same_directory(path, real)), real)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _hashes(value: object) -> dict[str, str]:
    return {str(name): digest for name, digest in _mapping(value).items() if isinstance(digest, str)}
