"""Whether Python finds our packages where they are. Only the standard library: with a foreign `tools` nothing runs.

The check is made before anything else of ours is loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

from acp_adapter.cli.doctor.finding import Finding, failing, well

NAME = "imports"
_PACKAGES = ("acp_adapter", "agent_core", "tools")
_LIBRARIES = {"acp": "agent-client-protocol", "mcp": "mcp"}
_OWN = "hermes-editor-agent"
_ROOT = Path(__file__).resolve().parents[4]


def foreign_packages() -> Iterator[Finding]:
    """Packages of ours that Python would load from elsewhere: nothing works with them."""
    for name in _PACKAGES:
        place = _place(find_spec(name))
        if place is None:
            yield failing(NAME, f"{name} is not there: the installation is not whole", _INSTALL)
        elif place != _ROOT:
            text = f"«import {name}» finds {place / name}, which is not this program's ({_ROOT / name})"
            yield failing(NAME, text, _step(place), package=name, found=str(place / name))


def check_imports(_: object) -> Iterator[Finding]:
    """The same once it is known to be well, and whether other distributions brought files under these names."""
    yield from foreign_packages()
    from importlib.metadata import packages_distributions  # noqa: PLC0415 - reads every distribution

    by_name, shared = packages_distributions(), False
    for name in (*_PACKAGES, *_LIBRARIES):
        owner = _LIBRARIES.get(name, _OWN)
        others = sorted({other for other in by_name.get(name, ()) if other.lower() != owner})
        if others:
            shared = True
            text = f"{', '.join(others)} put files into {name}/, too, and one may have written over the other"
            yield failing(NAME, text, _INSTALL, package=name, distributions=others)
    if not shared:
        yield well(NAME, f"{', '.join(_PACKAGES)} are this program's own ({_ROOT})", place=str(_ROOT))


def _place(spec: ModuleSpec | None) -> Path | None:
    """The directory that holds the package."""
    if spec is None:
        return None
    if spec.origin:
        origin = Path(spec.origin).resolve()
        return origin.parent.parent if origin.name == "__init__.py" else origin.parent
    places = list(spec.submodule_search_locations or ())
    return Path(places[0]).resolve().parent if places else None


def _step(place: Path) -> str:
    listed = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if any(entry and Path(entry).resolve() == place for entry in listed):
        return f"Take {place} out of PYTHONPATH for hermes-acp."
    return _INSTALL


_INSTALL = (
    f"Install hermes-acp into an environment of its own, with «uv tool install» or «pipx install» ({sys.prefix} is "
    "the one that runs now)."
)
