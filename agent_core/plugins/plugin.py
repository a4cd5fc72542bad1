"""One plugin: its manifest, what it gets (`PluginContext`), what it offers, and how it is loaded."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml

from agent_core.compaction.compactor import ENGINES
from agent_core.hooks.hook import NOTHING, Hook, HookCall, HookFailed, Verdict, bounded, verdict_of
from agent_core.settings.hooks import OBSERVERS, event_of, near_names
from tools.home_tools import LoadFailed, home_package, load_module, run_bounded
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.registry import HookKind, ToolRegistry, Toolset

if TYPE_CHECKING:
    from agent_core.compaction.compactor import MakeEngine
    from agent_core.memory.provider import MakeProvider


# What a plugin's `plugin.yaml` says.

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


# What a plugin offers, and how it stands with it.

Origin = Literal["home", "package", "project", "shipped"]
State = Literal["loaded", "off", "failed", "untrusted", "not for this program"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a command of a plugin returns that is a prompt for the model, and no answer for the person."""

    text: str


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A command as it was typed: `args` is what followed its name."""

    args: str
    session_id: str
    cwd: Path


@dataclass(frozen=True, slots=True)
class PluginCommand:
    """A command that the person may type as `/name`.

    Attributes:
        hint: what may follow the name, '' if nothing may.
        run: does it; blocks no longer than a minute. Raises `HookFailed`.
    """

    name: str
    description: str
    hint: str
    source: str
    run: Callable[[CommandCall], str | Prompt]


@dataclass(slots=True)
class Offers:
    """What a plugin has registered."""

    tools: list[str] = field(default_factory=list)
    commands: list[PluginCommand] = field(default_factory=list)
    hooks: list[Hook] = field(default_factory=list)
    memories: dict[str, MakeProvider] = field(default_factory=dict)
    engines: dict[str, MakeEngine] = field(default_factory=dict)
    environments: list[str] = field(default_factory=list)
    skills: list[Path] = field(default_factory=list)

    @property
    def told(self) -> str:
        """All of it in a line, for people."""
        parts = (
            ("tools", self.tools),
            ("commands", [f"/{command.name}" for command in self.commands]),
            ("hooks", sorted({hook.event for hook in self.hooks})),
            ("memory", list(self.memories)),
            ("context engine", list(self.engines)),
            ("environments", self.environments),
            ("skills", [path.name for path in self.skills]),
        )
        return "; ".join(f"{name}: {', '.join(found)}" for name, found in parts if found)


@dataclass(frozen=True, slots=True)
class PluginStatus:
    """How it stands with a plugin.

    Attributes:
        place: its folder, or the package that brings it.
        detail: what is wrong, or worth knowing, to complete «it …»; '' for nothing.
    """

    name: str
    origin: Origin
    place: str
    state: State
    version: str = ""
    description: str = ""
    detail: str = ""
    offers: Offers = field(default_factory=Offers)

    @property
    def problem(self) -> str:
        """What the person should know of it; '' for nothing."""
        if not self.detail or self.state in {"off", "not for this program"}:
            return ""
        return f"The plugin {self.name} ({self.place}) {self.detail}."


# Functions of plugins as hooks and commands: called with the arguments that they take, for a bounded time.

Callback = Callable[..., Any]

_COMMAND_SECONDS = 60.0


def hook_of(
    written: str, callback: Callback, source: str, seconds: float, *, matcher: str = "", background: bool = False
) -> Hook | None:
    """The hook that a function is; None where this program has no such event.

    Raises:
        TypeError: it cannot be called, or is `async`: its refusal would never be heard.
    """
    event = event_of(written)
    if event is None:
        return None
    if not callable(callback) or inspect.iscoroutinefunction(callback):
        raise TypeError(f"register_hook({written!r}, …) takes a function, and no async one")
    takes = _taken_by(callback)

    def run(call: HookCall, interrupt: Interrupt | None) -> Verdict:
        given = takes(_given(written, call))
        answer = bounded(lambda: callback(**given), seconds, interrupt, f"hook {source}")
        return NOTHING if written in OBSERVERS else verdict_of(call.event, _awaited_not(answer))

    return Hook(
        event=event,
        source=source,
        run=run,
        matcher=matcher,
        in_background=background,
        refuses_when_failing=event == "pre_tool_call" and not background,
    )


def command_of(handler: Callback, source: str) -> Callable[[CommandCall], str | Prompt]:
    """What runs a command: `handler(args)`, which may also take `session_id` and `cwd` by name.

    Raises:
        TypeError: it cannot be called so.
    """
    if not callable(handler) or inspect.iscoroutinefunction(handler):
        raise TypeError("register_command takes a function, and no async one")
    first = next(iter(inspect.signature(handler).parameters.values()), None)
    takes_words = first is not None and first.kind not in {first.VAR_KEYWORD, first.KEYWORD_ONLY}
    takes = _taken_by(handler)

    def run(call: CommandCall) -> str | Prompt:
        given = takes({"session_id": call.session_id, "cwd": call.cwd})
        words = (call.args,) if takes_words else ()
        answer = bounded(lambda: handler(*words, **given), _COMMAND_SECONDS, None, f"command of {source}")
        if isinstance(answer, Prompt):
            return answer
        return "" if answer is None else str(_awaited_not(answer))

    return run


def unknown_event(written: str) -> str:
    """What is said of a hook for an event that there is not."""
    return f"the hook {written}" + (f" ({near})" if (near := near_names(written)) else "")


def _given(written: str, call: HookCall) -> dict[str, Any]:
    """The facts, with the names that upstream has for some of them."""
    facts: dict[str, Any] = {
        **call.facts,
        "hook_event_name": written,
        "session_id": call.session_id,
        "cwd": call.cwd,
        "mode": call.mode,
    }
    for theirs, ours in _THEIR_NAMES.items():
        if ours in facts:
            facts.setdefault(theirs, facts[ours])
    if "failed" in facts:
        facts["status"] = "error" if facts["failed"] else "ok"
    return facts


_THEIR_NAMES: Mapping[str, str] = {
    "params": "args",
    "tool_input": "args",
    "user_message": "prompt",
    "assistant_response": "answer",
    "api_call_count": "iteration",
}


def _taken_by(callback: Callback) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Keeps those of the named arguments that `callback` takes."""
    parameters = inspect.signature(callback).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return lambda facts: facts
    names = {parameter.name for parameter in parameters}
    return lambda facts: {name: value for name, value in facts.items() if name in names}


def _awaited_not(answer: object) -> object:
    if inspect.iscoroutine(answer):
        answer.close()
        raise HookFailed("is async, which is of no use here: nobody would wait for it")
    return answer


# What a plugin's `register(ctx)` gets: `PluginContext`, version 1. docs/plugins.md tells of it.

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


# Loads one plugin: bounded in time, and all or nothing of it.

TOOLS = "tools"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plugin that may be loaded.

    Attributes:
        folder: its own; of a package's plugin, None.
        root: the folder below which its modules are imported.
        entry: gets what a package offers: a function `register`, or a module that has one.
    """

    manifest: Manifest
    origin: Origin
    place: str
    folder: Path | None = None
    root: Path | None = None
    entry: Callable[[], object] | None = None

    def status(self, **facts: Any) -> PluginStatus:
        """How it stands with it."""
        manifest = self.manifest
        told = {"version": manifest.version, "description": manifest.description, **facts}
        return PluginStatus(manifest.name, self.origin, self.place, **told)


@dataclass(frozen=True, slots=True)
class Terms:
    """On which plugins are loaded.

    Attributes:
        registry: where tools go.
        settings: of the plugin's own, by its name.
        seconds: how long loading it may take; `hook_seconds`: how long a hook of it has.
    """

    registry: ToolRegistry
    settings: Callable[[str], Mapping[str, Any]]
    seconds: float = 10.0
    hook_seconds: float = 30.0


def load_plugin(candidate: Candidate, terms: Terms) -> PluginStatus:
    """Load a plugin; raises nothing of what it raises, and has nothing of one that failed."""
    name = candidate.manifest.name
    source = f"plugin {name}"
    context = PluginContext(
        name,
        candidate.folder or Path(candidate.place),
        terms.registry,
        terms.settings(name),
        hook_seconds=terms.hook_seconds,
        is_project=candidate.origin == "project",
    )
    try:
        run_bounded(source, lambda: _register(candidate, context), terms.seconds)
        _take_engines(context.offers)
    except LoadFailed as problem:
        _withdraw(terms.registry, source, context.offers)
        return candidate.status(state="failed", detail=str(problem))
    finally:
        context.close()
    offers = context.offers
    offers.tools = [entry.name for entry in terms.registry.entries() if entry.source == source]
    asked = ", ".join(sorted(context.passed_over))
    detail = f"also asks for {asked}, which this program does not offer" if asked else ""
    return candidate.status(state="loaded", offers=offers, detail=detail)


def _register(candidate: Candidate, context: PluginContext) -> None:
    register: object
    if candidate.entry is not None:
        found = candidate.entry()
        register = found if callable(found) else getattr(found, "register", None)
    else:
        register = _imported(candidate)
    if callable(register):
        register(context)


def _imported(candidate: Candidate) -> object:
    """Import the plugin's files; its `register`, or None."""
    folder, root = candidate.folder, candidate.root
    if folder is None or root is None:
        return None
    package, register = home_package(root), None
    init, tools = folder / "__init__.py", folder / TOOLS
    if init.is_file():
        register = getattr(load_module(package, root, init), "register", None)
    files = [file for file in sorted(tools.glob("*.py")) if not file.name.startswith(("_", "."))]
    for file in files:
        load_module(package, root, file)
    if not files and not init.is_file():
        raise LoadFailed(f"has neither __init__.py nor a file in {TOOLS}/")
    return register


def _take_engines(offers: Offers) -> None:
    if not offers.engines:
        return

    for name, make in offers.engines.items():
        if name in ENGINES:
            raise LoadFailed(f"offers a context engine {name!r}, which there is already: it needs another name")
        ENGINES[name] = make


def _withdraw(registry: ToolRegistry, source: str, offers: Offers) -> None:
    if offers.environments:
        from tools.environments.backends import forget_backend  # noqa: PLC0415 - few plugins bring one

        for name in offers.environments:
            forget_backend(name)
    registry.withdraw(source)
