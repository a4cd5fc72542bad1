"""The plugins of a process: those of the home and of packages, loaded once; those of projects, when they are used."""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_core.config import ConfigSource
from agent_core.errors import SettingsError
from agent_core.plugins.discovery import (
    HOOKS,
    PLUGINS,
    Found,
    PluginState,
    ProjectPlugins,
    in_home,
    in_packages,
    make_ready,
    shipped,
)
from agent_core.plugins.plugin import Candidate, PluginCommand, PluginStatus, Terms, load_plugin
from agent_core.providers.shared_file import SharedFileError
from agent_core.settings.model import PluginSettings
from tools.home_tools import HomeTools, LoadFailed
from tools.registry import ToolRegistry
from tools.registry import registry as process_registry

if TYPE_CHECKING:
    from agent_core.hooks.hook import Hook
    from agent_core.memory.provider import MakeProvider

log = logging.getLogger(__name__)

_LONGEST_HOOK = 600.0


class Plugins:
    """Finds and loads plugins; safe to use from several threads. Nothing of it is on the way to a session's start."""

    def __init__(
        self,
        config: ConfigSource,
        *,
        into: ToolRegistry | None = None,
        seconds: float = 10.0,
        packages: Callable[[], Iterator[Found]] = in_packages,
    ) -> None:
        """Make it; nothing is looked for before `load`.

        Args:
            into: where tools go, in place of the process's registry.
            seconds: how long one plugin may take to load.
            packages: finds the plugins of installed packages.
        """
        self._config = config
        self._home = config.home.root
        self._registry = into or process_registry
        self._seconds = seconds
        self._packages = packages
        self._tools = HomeTools(self._home, variables=self._variables, seconds=seconds)
        self._statuses: tuple[PluginStatus, ...] = ()
        self._shipped: tuple[PluginStatus, ...] = ()
        self._projects: dict[Path, ProjectPlugins] = {}
        self._lock = threading.Lock()
        self.state = PluginState(self._home)

    def load(self) -> None:
        """Load the user's tool files, and the plugins of the home and of packages. Blocks, at most some seconds for
        each; raises nothing. `tools.registry` calls it once, when tools are first wanted.
        """
        self._tools.load()
        importlib.invalidate_caches()
        statuses: list[PluginStatus] = []
        for found in self._found():
            status = self._loaded(*found, taken={each.name for each in statuses if each.state == "loaded"})
            if status.problem:
                log.warning("%s", status.problem)
            statuses.append(status)
            self._statuses = tuple(statuses)

    def load_for_backend(self, name: str) -> None:
        """Load what brings the environment of that name: the plugin of this program's own, or else all that the user
        has, if only one of them can. Blocks then, for seconds at most; raises nothing.
        """
        if name == "local":
            return
        from tools.environments.backends import backend_names  # noqa: PLC0415 - most sessions work here

        with self._lock:
            if name in backend_names():
                return
            if (own := shipped(name)) is not None:
                status = self._loaded(own, "", taken=set())
                if status.problem:
                    log.warning("%s", status.problem)
                self._shipped = (*(each for each in self._shipped if each.name != status.name), status)
                return
        self._registry.load()

    def project(self, cwd: Path) -> ProjectPlugins:
        """The plugins that the project in `cwd` brings, not looked at yet."""
        with self._lock:
            found = self._projects.get(cwd)
            if found is None:
                found = ProjectPlugins(cwd, self._home, self.state, self._terms, self._is_off_there)
                self._projects[cwd] = found
            return found

    @property
    def statuses(self) -> tuple[PluginStatus, ...]:
        """How it stands with those of the home and of packages, as far as they were looked at, and with those of this
        program's own that were wanted.
        """
        return (*self._statuses, *self._shipped)

    def problems(self) -> tuple[str, ...]:
        """What the person should know of their tool files and plugins."""
        files = (problem.text for problem in self._tools.problems)
        return (*files, *(status.problem for status in self.statuses if status.problem))

    def problems_in(self, cwd: Path) -> tuple[str, ...]:
        """The same, with what the project in `cwd` brings. Loads them first, so it may block for seconds."""
        self._registry.load()
        project = self.project(cwd)
        project.look()
        return (*self.problems(), *project.problems())

    def hooks(self) -> tuple[Hook, ...]:
        """The hooks of those that are loaded."""
        return tuple([hook for status in self._statuses for hook in status.offers.hooks]) if self._statuses else ()

    @property
    def memories(self) -> Mapping[str, MakeProvider]:
        """The memory providers that plugins offer, by name."""
        return {name: make for status in self._statuses for name, make in status.offers.memories.items()}

    def commands(self, cwd: Path) -> tuple[PluginCommand, ...]:
        """The commands that plugins bring to a session in `cwd`. Loads them first, so it may block for seconds."""
        if (self._home / PLUGINS).is_dir():
            self._registry.load()
        project = self.project(cwd)
        project.look()
        return tuple(command for status in (*self._statuses, *project.loaded) for command in status.offers.commands)

    def seen(self, cwd: Path) -> tuple[PluginStatus, ...]:
        """How it stands with every plugin that a session in `cwd` may have. Loads them first, so it may block."""
        self._registry.load()
        project = self.project(cwd)
        project.look()
        return (*self.statuses, *project.statuses)

    def skill_folders(self, cwd: Path) -> tuple[Path, ...]:
        """The folders of skills that plugins offer to a session in `cwd`."""
        loaded = (*self._statuses, *self.project(cwd).loaded)
        return tuple(folder for status in loaded for folder in status.offers.skills)

    def _found(self) -> Iterator[Found]:
        if (self._home / PLUGINS).is_dir():
            yield from in_home(self._home)
        try:
            yield from self._packages()
        except Exception:
            # Whatever a broken package does to the search, the session goes on without.
            log.warning("the plugins of installed packages cannot be found", exc_info=True)

    def _loaded(self, candidate: Candidate, why: str, *, taken: set[str]) -> PluginStatus:
        name = candidate.manifest.name
        if not candidate.manifest.is_ours:
            return candidate.status(state="not for this program", detail="is of a kind that other programs use")
        if self._is_off(name) or not (candidate.origin == "shipped" or self.settings().allows(name)):
            return candidate.status(state="off", detail="is switched off")
        if why or name in taken:
            why = why or "has the name of another plugin, which is loaded: rename it"
            return candidate.status(state="failed", detail=why)
        try:
            if candidate.origin in {"home", "shipped"}:
                make_ready(candidate, self._home, self._variables())
        except LoadFailed as problem:
            return candidate.status(state="failed", detail=str(problem))
        return load_plugin(candidate, self._terms(self._registry))

    def _terms(self, registry: ToolRegistry) -> Terms:
        settings = self.settings()
        wanted = settings.hook_callback_timeout or _LONGEST_HOOK
        return Terms(registry, self._entry, self._seconds, min(wanted, _LONGEST_HOOK))

    def _entry(self, name: str) -> Mapping[str, Any]:
        entry = self.settings().entries.get(name)
        return entry if isinstance(entry, Mapping) else {}

    def _is_off(self, name: str) -> bool:
        try:
            return name in self.state.disabled() or name in self.settings().disabled
        except SharedFileError as problem:
            # Nobody can say what is off: then everything is.
            log.warning("%s", problem)
            return True

    def _is_off_there(self, name: str) -> bool:
        """Whether something that a project brings is off; `plugins.enabled` lists plugins, and hooks are none."""
        return self._is_off(name) or not (name == HOOKS or self.settings().allows(name))

    def settings(self) -> PluginSettings:
        """What is set about plugins; nothing is on while the settings cannot be read."""
        try:
            return self._config.load().settings.plugins
        except SettingsError:  # it is told where the settings are needed
            return PluginSettings(enabled=())

    def _variables(self) -> Mapping[str, str]:
        try:
            return self._config.load().environ
        except SettingsError:
            return {}
