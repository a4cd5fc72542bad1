"""What a plugin's `register(ctx)` gets: `PluginContext`, version 1. docs/plugins.md tells of it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_core.plugins.callbacks import Callback, command_of, hook_of, unknown_event
from agent_core.plugins.manifest import API_VERSION
from agent_core.plugins.offers import Offers, PluginCommand, Prompt
from tools.registry import HookKind, ToolRegistry, Toolset

if TYPE_CHECKING:
    from agent_core.compaction.compactor import MakeEngine
    from agent_core.memory.provider import MakeProvider

_COMMAND = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_LONGEST_HOOK = 600.0


class PluginError(Exception):
    """A plugin asked for something that cannot be as it wants it."""


class PluginContext:
    """What a plugin may register while its `register(ctx)` runs, and what it is told.

    What other programs offer to plugins beside that is passed over, and the user is told.

    Attributes:
        api_version: 1; higher when something of this class changes or goes.
        name: the plugin's.
        path: its folder; of a package's plugin, that of its module.
        settings: what the user has set for it: `plugins.entries.NAME` in config.yaml.
        log: goes into the program's log.
        passed_over: what it asked for in vain.
    """

    api_version = API_VERSION

    def __init__(
        self,
        name: str,
        path: Path,
        registry: ToolRegistry,
        settings: Mapping[str, Any],
        *,
        hook_seconds: float = 30.0,
        is_project: bool = False,
    ) -> None:
        """Make it.

        Args:
            registry: where its tools go.
            hook_seconds: how long one of its hooks has, where it says nothing else.
            is_project: a project brings it: it can offer only what a single session has.
        """
        self.name = name
        self.path = path
        self.settings = settings
        self.log = logging.getLogger(f"hermes.plugin.{name}")
        self.passed_over: set[str] = set()
        self.offers = Offers()
        self._registry = registry
        self._hook_seconds = hook_seconds
        self._is_project = is_project
        self._source = f"The plugin {name}"
        self._is_closed = False

    def register_tool(self, *args: Any, **kwargs: Any) -> None:
        """Add a tool; the arguments are those of `tools.registry.ToolRegistry.register`.

        Raises:
            RegistrationError: as that does. PluginError: `register(ctx)` is over.
        """
        self._check_open()
        self._registry.register(*args, **kwargs)

    register = register_tool

    def add_toolset(self, name: str, toolset: Toolset) -> None:
        """Add a group of tools, as `tools.registry.ToolRegistry.add_toolset`."""
        self._check_open()
        self._registry.add_toolset(name, toolset)

    def register_command(self, name: str, handler: Callback, description: str = "", args_hint: str = "") -> None:
        """Add a command that the person types as `/name`.

        Args:
            handler: called with what followed the name, and with `session_id` and `cwd` if it takes them. It returns
                Markdown for the person, or `ctx.prompt(text)`, with which the model goes on. It has a minute.
            args_hint: what may follow the name.

        Raises:
            PluginError: the name is none for a command. TypeError: `handler` cannot be called.
        """
        self._check_open()
        if not _COMMAND.fullmatch(name):
            raise PluginError(f"a command cannot be called {name!r}: use a-z, 0-9, - and _")
        run = command_of(handler, self._source)
        self.offers.commands.append(PluginCommand(name, description or self.name, args_hint, self._source, run))

    @staticmethod
    def prompt(text: str) -> Prompt:
        """What a command returns for the model in place of an answer for the person."""
        return Prompt(text)

    def register_hook(
        self,
        name: str,
        callback: Callback,
        *,
        matcher: str = "",
        timeout: float | None = None,
        background: bool = False,
    ) -> None:
        """Have `callback` called at an event; docs/hooks.md lists the events, what it is told and what it may return.

        Args:
            name: the event, by any of its names; one that this program has not is passed over, and told.
            callback: called with those of the event's facts that it takes by name.
            matcher: of events about a tool, which tools: an expression for the whole name.
            timeout: seconds that it has (600 at most); None: what the user has set, 30.
            background: nobody waits for it, and what it returns decides nothing.

        Raises:
            TypeError: `callback` is no function, or an async one. re.error: `matcher` is no expression.
        """
        self._check_open()
        if matcher not in {"", "*"}:
            re.compile(matcher)
        seconds = min(timeout or self._hook_seconds, _LONGEST_HOOK)
        hook = hook_of(name, callback, self._source, seconds, matcher=matcher, background=background)
        if hook is None:
            self.passed_over.add(unknown_event(name))
        else:
            self.offers.hooks.append(hook)

    def add_hook(self, kind: HookKind, hook: Callable[..., Any]) -> None:
        """As `tools.registry.ToolRegistry.add_hook`: typed, around every tool call of the process."""
        if self._is_of_home("add_hook"):
            self._registry.add_hook(kind, hook)

    def register_memory_provider(self, make: MakeProvider, name: str = "") -> None:
        """Offer a memory that the setting `memory.provider` can choose (`agent_core.memory.provider`).

        Args:
            make: makes the provider of one session: its class, for instance.
            name: what the setting calls it; the plugin's own name if left out.

        Raises:
            TypeError: `make` cannot be called.
        """
        if not callable(make):
            raise TypeError("register_memory_provider takes the provider's class, or a function that makes one")
        if self._is_of_home("register_memory_provider"):
            self.offers.memories[name or self.name] = make

    def register_context_engine(self, make: MakeEngine, name: str = "") -> None:
        """Offer who compresses, for the setting `compression.engine` (`agent_core.compaction.engine`).

        Args:
            make: makes the engine of one session, of the settings, the session's id, and what takes secrets out of
                text (`agent_core.compaction.compactor.MakeEngine`).
            name: what the setting calls it; the plugin's own name if left out.

        Raises:
            TypeError: `make` cannot be called.
        """
        if not callable(make):
            raise TypeError("register_context_engine takes a function that makes an engine")
        if self._is_of_home("register_context_engine"):
            self.offers.engines[name or self.name] = make

    def register_environment(self, name: str, factory: Callable[..., Any]) -> None:
        """Offer a place where commands and files live, for the setting `terminal.backend`.

        Args:
            factory: as `tools.environments.backends.register_backend` takes it.

        Raises:
            ValueError: the name is taken.
        """
        if self._is_of_home("register_environment"):
            from tools.environments.backends import register_backend  # noqa: PLC0415 - few plugins bring one

            register_backend(name, factory)
            self.offers.environments.append(name)

    def register_skills_folder(self, path: str | Path) -> None:
        """Offer the skills in a folder of the plugin's; a relative path is from its own folder.

        Raises:
            PluginError: there is no such folder.
        """
        self._check_open()
        folder = self.path / path
        if not folder.is_dir():
            raise PluginError(f"there is no folder {folder}")
        self.offers.skills.append(folder)

    def close(self) -> None:
        """`register(ctx)` is over: nothing is taken any more."""
        self._is_closed = True

    def _is_of_home(self, asked: str) -> bool:
        """Whether it may offer what the whole process has; else it is passed over."""
        self._check_open()
        if self._is_project:
            self.passed_over.add(f"{asked}, which only plugins of the home may")
        return not self._is_project

    def _check_open(self) -> None:
        if self._is_closed:
            raise PluginError(f"the plugin {self.name} can register something only while its register(ctx) runs")

    def __getattr__(self, name: str) -> Callable[..., None]:
        if not name.startswith("register_"):
            raise AttributeError(f"A plugin's context has no {name!r}.")
        self.passed_over.add(name)
        return lambda *_, **__: None
