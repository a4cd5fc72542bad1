"""What a plugin's `plugin.yaml` says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.home_tools import LoadFailed
from tools.light_dataclass import dataclass

MANIFESTS = ("plugin.yaml", "plugin.yml")
API_VERSION = 1
"""Of `PluginContext`: higher when something of it changes or goes, and not when something is added."""

_OUR_KINDS = frozenset({"", "standalone", "backend"})


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is said of a plugin.

    Attributes:
        is_ours: False for kinds of plugins that only other programs know.
        needs: environment variables without which it is of no use; `reads`: those that it may have.
        api: the version of the context that it was written for.
    """

    name: str
    version: str = ""
    description: str = ""
    is_ours: bool = True
    needs: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    api: int = API_VERSION

    def check(self, variables: Mapping[str, str]) -> None:
        """Whether it can be loaded.

        Raises:
            LoadFailed: it cannot; the text completes «it …».
        """
        if self.api > API_VERSION:
            raise LoadFailed(f"was written for plugin API {self.api}, and this program has {API_VERSION}: update it")
        if missing := [name for name in self.needs if not variables.get(name)]:
            raise LoadFailed(f"needs {' and '.join(missing)}: put a line NAME=value into the home's .env")


def manifest_in(folder: Path) -> Path | None:
    """The manifest's file; None where there is none."""
    return next((folder / name for name in MANIFESTS if (folder / name).is_file()), None)


def read_manifest(file: Path) -> Manifest:
    """The manifest in `file`, of a plugin whose folder that is in.

    Raises:
        LoadFailed: it cannot be read.
    """
    import yaml  # noqa: PLC0415 - only for those who have plugins

    try:
        value = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        raise LoadFailed(f"has a {file.name} that cannot be read: {' '.join(str(problem).split())}") from problem
    facts: Mapping[Any, Any] = value if isinstance(value, Mapping) else {}
    api = facts.get("api", API_VERSION)
    return Manifest(
        name=_text(facts, "name") or file.parent.name,
        version=_text(facts, "version"),
        description=_text(facts, "description"),
        is_ours=_text(facts, "kind") in _OUR_KINDS,
        needs=tuple(_names(facts.get("requires_env"))),
        reads=tuple(_names(facts.get("reads_env"))),
        api=api if isinstance(api, int) else API_VERSION,
    )


def _text(facts: Mapping[Any, Any], key: str) -> str:
    value = facts.get(key)
    return "" if value is None else " ".join(str(value).split())


def _names(written: object) -> list[str]:
    """Names of variables: a list of them, or of objects that have a name."""
    entries = written if isinstance(written, list) else []
    names = [entry.get("name") if isinstance(entry, Mapping) else entry for entry in entries]
    return [name for name in names if isinstance(name, str) and name]
