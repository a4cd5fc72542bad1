"""The plugins and hooks that a project brings: nothing of them runs before the user has trusted just that content.

What was trusted is kept in the home, and that copy is what runs. So whoever changes the project's files afterwards,
the agent itself for one, changes nothing until the user has trusted them again: neither adds something, nor takes a
hook away that guards.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from agent_core.plugins.bundle import Stamp, keep, kept, read_bundle, stamp_of
from agent_core.plugins.finding import PLUGINS, plugin_folders
from agent_core.plugins.loading import Candidate, Terms, load_plugin
from agent_core.plugins.manifest import Manifest, manifest_in, read_manifest
from agent_core.plugins.offers import PluginStatus, State
from agent_core.plugins.state import PluginState
from agent_core.providers.shared_file import SharedFileError
from tools.home_tools import LoadFailed
from tools.light_dataclass import dataclass
from tools.registry import ToolEntry, ToolRegistry

log = logging.getLogger(__name__)

FOLDER = Path(".hermes")
HOOKS = "hooks"
"""The project's folder of command hooks: `hooks.yaml` in it, and the files that its commands are."""


@dataclass(frozen=True, slots=True)
class Brought:
    """One thing of a project that can be trusted: a plugin, or its hooks.

    Attributes:
        name: `plugins/NAME` or `hooks`.
    """

    name: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Thing:
    """How it stands with something that a project brings.

    Attributes:
        trusted: the hash that the user has trusted; '' for none.
        copy: where the trusted content is; None where none is.
        is_off: it is loaded, and was switched off since: nothing of it is used.
    """

    brought: Brought
    stamp: Stamp
    status: PluginStatus
    trusted: str = ""
    copy: Path | None = None
    tools: tuple[ToolEntry, ...] = ()
    is_off: bool = False


class ProjectPlugins:
    """What the project in one directory brings; safe to use from several threads."""

    def __init__(
        self,
        cwd: Path,
        home: Path,
        state: PluginState,
        terms: Callable[[ToolRegistry], Terms],
        is_off: Callable[[str], bool],
    ) -> None:
        """Make it; nothing is looked at before `look`.

        Args:
            terms: on which a plugin is loaded whose tools go into that registry.
            is_off: whether the plugin of that name is switched off.
        """
        self.root = cwd
        self._home = home
        self._state = state
        self._terms = terms
        self._is_off = is_off
        self._lock = threading.Lock()
        self._things: tuple[Thing, ...] = ()
        self._shown: dict[str, str] | None = None

    def look(self) -> None:
        """Look at the project's files and at what is switched off, and load what is trusted and new. Blocks; raises
        nothing.
        """
        if not self._things and not (self.root / FOLDER).is_dir():
            return
        with self._lock:
            before, now = {thing.brought.name: thing for thing in self._things}, self.brought()
            names = {brought.name for brought in now}
            gone = [_gone(thing) for name, thing in before.items() if name not in names and thing.copy is not None]
            things = (*(self._looked_at(brought, before.get(brought.name)) for brought in now), *gone)
            self._things = tuple(replace(thing, is_off=self._is_off(thing.status.name)) for thing in things)

    def brought(self) -> Sequence[Brought]:
        """What can be trusted of the project now."""
        folder = self.root / FOLDER
        if os.path.realpath(folder) != os.path.join(os.path.realpath(self.root), FOLDER):  # noqa: PTH118
            return ()  # a link leads elsewhere
        if os.path.realpath(folder) == os.path.realpath(self._home):
            return ()  # the home is no project's
        found = [
            Brought(f"{PLUGINS}/{place.name}", place)
            for place in plugin_folders(folder / PLUGINS)
            if not place.is_symlink() and manifest_in(place) is not None
        ]
        hooks = folder / HOOKS
        has_hooks = (hooks / "hooks.yaml").is_file() and not hooks.is_symlink()
        return (*found, Brought(HOOKS, hooks)) if has_hooks else found

    def show(self) -> dict[str, str]:
        """The hashes of what the project brings now, by name; '' of what cannot be read. Only this content can be
        trusted then, until it is shown again.
        """
        shown = {brought.name: _digest(brought.folder) for brought in self.brought()}
        self._shown = shown
        return dict(shown)

    def trust(self, names: Sequence[str] | None = None) -> dict[str, str]:
        """Trust what the project brings, as it is now.

        Args:
            names: of what; None: of everything.

        Returns:
            the hashes of what is trusted now, by name.

        Raises:
            LoadFailed: something cannot be read, or is not what was shown. SharedFileError: it could not be stored.
        """
        things: dict[str, str] = {}
        for brought in self.brought():
            if names is not None and brought.name not in names:
                continue
            bundle = read_bundle(brought.folder)
            if self._shown is not None and self._shown.get(brought.name) != bundle.digest:
                raise LoadFailed(
                    f"has changed since it was shown ({brought.name}): type /trust, and look at it again"
                )
            keep(bundle, self._copy(brought, bundle.digest))
            things[brought.name] = bundle.digest
        if things:
            self._state.trust(self.root, things)
            self.look()
        return things

    @property
    def statuses(self) -> tuple[PluginStatus, ...]:
        """How it stands with what the project brings, as it was last looked at."""
        return tuple(_off(thing.status) if thing.is_off else thing.status for thing in self._things)

    @property
    def loaded(self) -> tuple[PluginStatus, ...]:
        """The plugins that are loaded and on."""
        return tuple(status for status in self.statuses if status.state == "loaded")

    def tools(self) -> tuple[ToolEntry, ...]:
        """The tools of those that are loaded and on."""
        return tuple(entry for thing in self._things if not thing.is_off for entry in thing.tools)

    def hooks_copy(self) -> Path | None:
        """Where the project's trusted command hooks are; None where it has none."""
        return next(
            (thing.copy for thing in self._things if thing.brought.name == HOOKS and not self._is_off(HOOKS)), None
        )

    def problems(self) -> tuple[str, ...]:
        """What the person should know of it."""
        return tuple(status.problem for status in self.statuses if status.problem)

    def _looked_at(self, brought: Brought, known: Thing | None) -> Thing:
        try:
            trusted, stamp = self._state.trusted(self.root).get(brought.name, ""), _stamp(brought.folder)
            is_on_again = known is not None and known.status.state == "off" and not self._is_off(known.status.name)
            if known is not None and (known.stamp, known.trusted) == (stamp, trusted) and not is_on_again:
                return known
            return self._new(brought, stamp, trusted, known)
        except (LoadFailed, SharedFileError) as problem:
            log.warning("%s of %s %s", brought.name, self.root, problem)
            return known or Thing(brought, (), _status(brought, state="failed", detail=str(problem)))

    def _new(self, brought: Brought, stamp: Stamp, trusted: str, known: Thing | None) -> Thing:
        copy = self._copy(brought, trusted) if trusted else None
        digest, why = "", ""
        try:
            bundle = read_bundle(brought.folder)
            digest = bundle.digest
            if copy is not None and digest == trusted:
                keep(bundle, copy)
        except LoadFailed as problem:
            why = str(problem)
        if copy is None or kept(copy) != trusted:
            detail = why or _UNTRUSTED
            return Thing(
                brought, stamp, _status(brought, state="failed" if why else "untrusted", detail=detail), trusted
            )
        changed = "" if digest == trusted else _CHANGED
        if known is not None and known.trusted == trusted and known.copy is not None:
            return replace(known, stamp=stamp, status=replace(known.status, detail=changed))
        return self._loaded(brought, stamp, trusted, copy, changed)

    def _loaded(self, brought: Brought, stamp: Stamp, trusted: str, copy: Path, changed: str) -> Thing:
        candidate = _candidate(brought, copy)
        manifest = candidate.manifest
        if self._is_off(manifest.name):
            return Thing(brought, stamp, _off(candidate.status(state="off")), trusted)
        if not manifest.is_ours:
            detail = "is of a kind that other programs use"
            return Thing(brought, stamp, candidate.status(state="not for this program", detail=detail), trusted)
        if brought.name == HOOKS:
            return Thing(brought, stamp, candidate.status(state="loaded", detail=changed), trusted, copy)
        manifest.check(os.environ)
        registry = ToolRegistry()
        status = load_plugin(candidate, self._terms(registry))
        if status.state != "loaded":
            return Thing(brought, stamp, status, trusted)
        status = replace(status, detail=", and ".join(text for text in (status.detail, changed) if text))
        return Thing(brought, stamp, status, trusted, copy, tuple(registry.entries()))

    def _copy(self, brought: Brought, digest: str) -> Path:
        return self._home / "cache" / "trusted" / digest[:32] / brought.folder.name


_UNTRUSTED = "is not used: look at it, and type /trust if it may run with your rights"
_CHANGED = "has changed since you trusted it: the version that you trusted is used. Look at it, and type /trust"


def _digest(folder: Path) -> str:
    try:
        return read_bundle(folder).digest
    except LoadFailed:
        return ""


def _gone(thing: Thing) -> Thing:
    detail = "is not in the project any more; it is used until this program ends"
    return replace(thing, status=replace(thing.status, detail=detail))


def _stamp(folder: Path) -> Stamp:
    try:
        return stamp_of(folder)
    except LoadFailed:
        return ()


def _candidate(brought: Brought, folder: Path) -> Candidate:
    """The plugin whose files are in `folder`; the project's hooks go as one, by their own name."""
    file = None if brought.name == HOOKS else manifest_in(folder)
    manifest = Manifest(brought.folder.name) if file is None else read_manifest(file)
    return Candidate(manifest, "project", str(brought.folder), folder, folder.parent)


def _off(status: PluginStatus) -> PluginStatus:
    if status.state not in {"loaded", "off"}:
        return status
    return replace(status, state="off", detail="is switched off")


def _status(brought: Brought, *, state: State, detail: str) -> PluginStatus:
    """How it stands with what is not used: nothing in it is believed, not even its name."""
    return PluginStatus(brought.folder.name, "project", str(brought.folder), state, detail=detail)
