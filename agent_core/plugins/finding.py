"""Where plugins are: in the home's folder `plugins`, and in installed packages that name one."""

from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.plugins.loading import Candidate
from agent_core.plugins.manifest import Manifest, manifest_in, read_manifest
from tools.home_tools import LoadFailed, export, trusted_text, why_not_trusted

if TYPE_CHECKING:
    from importlib.metadata import Distribution

log = logging.getLogger(__name__)

PLUGINS = "plugins"
SHIPPED = "shipped"
GROUP = "hermes_acp.plugins"
"""The entry points of packages that bring a plugin: a module with `register`, or such a function."""

_MOST = 200

Found = tuple[Candidate, str]
"""A plugin, and why it cannot be loaded ('' where it can)."""


def plugin_folders(place: Path) -> list[Path]:
    """The folders in `place` that may be plugins, by name."""
    try:
        names = sorted(os.listdir(place))[:_MOST]  # noqa: PTH208 - names alone
    except OSError:
        return []
    return [place / name for name in names if not name.startswith((".", "_")) and (place / name).is_dir()]


def in_home(home: Path) -> Iterator[Found]:
    """The plugins in the home; what has no manifest is none."""
    for folder in plugin_folders(home / PLUGINS):
        if reason := why_not_trusted(folder, home):
            yield _candidate(Manifest(folder.name), folder, home), f"was not loaded: it {reason}"
        elif (file := manifest_in(folder)) is not None:
            try:
                yield _candidate(read_manifest(file), folder, home), ""
            except LoadFailed as problem:
                yield _candidate(Manifest(folder.name), folder, home), str(problem)


def in_packages() -> Iterator[Found]:
    """The plugins of installed packages. Looks through all of these, which takes some milliseconds."""
    packages = _packages_with_plugins()
    points = [(point, package) for package in packages for point in package.entry_points.select(group=GROUP)]
    for point, package in sorted(points, key=lambda found: found[0].name):
        manifest = Manifest(point.name, package.version)
        yield Candidate(manifest, "package", package.name, entry=_loader(point.load)), ""


def _packages_with_plugins() -> tuple[Distribution, ...]:
    return _packages_at(tuple((place, _changed(place)) for place in sys.path))


def _changed(place: str) -> int:
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:
        return 0


@functools.lru_cache(maxsize=2)
def _packages_at(_: tuple[tuple[str, int], ...]) -> tuple[Distribution, ...]:
    """Those whose entry points name our group; `entry_points` would read and order everybody's.

    Args:
        _: where packages are now, and when what is there has changed; looked at once for each such state.
    """
    from importlib.metadata import distribution, distributions  # noqa: PLC0415 - for this look only

    found: dict[str, Distribution] = {}
    for package in distributions():
        text = package.read_text("entry_points.txt") or ""
        # One of the same name that is found before it is the one that is imported.
        if GROUP in text and distribution(package.name).read_text("entry_points.txt") == text:
            found.setdefault(package.name, package)
    return tuple(found.values())


def shipped(name: str) -> Candidate | None:
    """The plugin that comes with this program and brings the backend `name`; None for none."""
    folder = Path(__file__).parent / SHIPPED / name
    if not name.isidentifier() or (file := manifest_in(folder)) is None:
        return None

    def entry() -> object:
        from importlib import import_module  # noqa: PLC0415 - with it

        return import_module(f"{__package__}.{SHIPPED}.{name}")

    return Candidate(read_manifest(file), "shipped", "comes with this program", entry=entry)


def make_ready(candidate: Candidate, home: Path, variables: Mapping[str, str]) -> None:
    """Look at a home's plugin before it is imported: all its files, since one may import another.

    Raises:
        LoadFailed: it must not be loaded, or is of no use.
    """
    candidate.manifest.check(variables)
    if candidate.folder is None:
        export(" ".join(candidate.manifest.reads), variables)
        return
    for file in sorted(candidate.folder.rglob("*.py")):
        export(trusted_text(file, home), variables)


def _candidate(manifest: Manifest, folder: Path, home: Path) -> Candidate:
    return Candidate(manifest, "home", str(folder), folder, home)


def _loader(load: Callable[[], object]) -> Callable[[], object]:
    return lambda: load()  # noqa: PLW0108 - an entry point's method, bound when it is called
