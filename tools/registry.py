"""What tools exist and whether they can be used, and the tools of one session.

It knows nothing else of the project, so that any module may register.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal

from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

# A tool's own check of whether it can be used, asked no more often than is useful.

Check = Callable[[], bool]

_SECONDS = 30.0


class RememberedCheck:
    """A tool's own check, whose answer counts for 30 seconds; tools that share a check share its answer."""

    __slots__ = ("_answer", "_asked", "_check", "_lock")

    def __init__(self, check: Check) -> None:
        self._check = check
        self._lock = threading.Lock()
        self._answer = False
        self._asked: float | None = None

    def __call__(self) -> bool:
        """Ask, or give the answer that still counts. What the check raises is told once and counts as no."""
        with self._lock:
            now = time.monotonic()
            if self._asked is not None and now - self._asked < _SECONDS:
                return self._answer
            self._answer, self._asked = False, now
            self._answer = bool(self._check())
            return self._answer

    def forget(self) -> None:
        """Ask again next time."""
        with self._lock:
            self._asked = None


# The registry. A tool file calls `registry.register(...)` at its top level; `tools.toolsets` finds such files.

Schema = Mapping[str, Any]
Handler = Callable[..., Any | Awaitable[Any]]
Parallel = Literal["never", "safe", "paths"]
PathsFn = Callable[[Mapping[str, Any]], Sequence[str]]
HookKind = Literal["pre_tool_call", "post_tool_call"]
Hook = Callable[..., Any]
"""`tools.dispatch` says what is called how."""

MCP = "mcp-"
"""What the toolsets of MCP servers begin with."""

# Who registers: '' is this program; set while a file or plugin of the user's is loaded.
_source: ContextVar[str] = ContextVar("tool_source", default="")


class RegistrationError(ValueError):
    """A tool was registered in a way that cannot work."""


@dataclass(frozen=True, slots=True)
class Toolset:
    """A group of tools beside those that registered themselves under its name.

    Attributes:
        tools: names of tools; `includes`: names of toolsets.
        is_open: it also holds every toolset of the user's own, of plugins and of MCP servers.
    """

    description: str = ""
    tools: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """One registered tool.

    Attributes:
        schema: JSON Schema of the arguments (`{"type": "object", "properties": …}`).
        parallel: may run beside others never, always («safe»), or when their paths differ («paths»).
        overrides_with: as `dynamic_schema_overrides`, of the names of all tools that the model is told of.
        paths_fn: the paths that a call with these arguments works on, for a tool that has more than its `path`.
        untrusted: its results hold text that strangers wrote; the model gets them in a fence.
        source: whose it is: '' of this program, else the user's file or plugin.
    """

    name: str
    toolset: str
    schema: Schema
    handler: Handler
    description: str
    check_fn: Check | None = None
    requires_env: tuple[str, ...] = ()
    is_async: bool = False
    emoji: str | None = None
    max_result_size_chars: int | None = None
    dynamic_schema_overrides: Callable[[], Schema] | None = None
    overrides_with: Callable[[frozenset[str]], Schema] | None = None
    parallel: Parallel = "never"
    paths_fn: PathsFn | None = None
    untrusted: bool = False
    source: str = ""

    def available(self) -> bool:
        """True when the environment variables are set and `check_fn` says yes; an exception means no."""
        if any(not os.environ.get(name) for name in self.requires_env):
            return False
        if self.check_fn is None:
            return True
        try:
            return bool(self.check_fn())
        except Exception:
            # A tool's own check may fail in any way; the tool is then not offered.
            log.warning("the availability check of tool %s failed", self.name, exc_info=True)
            return False

    def definition(self, offered: frozenset[str] = frozenset()) -> dict[str, Any]:
        """The tool in the form that models are told of it (OpenAI function form), with its overrides as they are now.

        Overrides are parts of the parameters' schema, or `description` and `parameters` of the function.

        Args:
            offered: the names of all tools that the model is told of.
        """
        parameters, description = dict(self.schema), self.description
        if self.dynamic_schema_overrides is not None or self.overrides_with is not None:
            try:
                overrides = self._overrides(offered)
                told = str(overrides.pop("description", description))
                parameters.update({**overrides.pop("parameters", {}), **overrides})
                description = told
            except Exception:
                # One tool's broken override must not break every request; its plain schema still holds.
                log.warning("the schema overrides of tool %s failed", self.name, exc_info=True)
        function = {"name": self.name, "description": description, "parameters": parameters}
        return {"type": "function", "function": function}

    def _overrides(self, offered: frozenset[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.overrides_with is not None:
            found |= self.overrides_with(offered)
        if self.dynamic_schema_overrides is not None:
            found |= self.dynamic_schema_overrides()
        return found


class ToolRegistry:
    """Names to tools; safe to use from several threads."""

    def __init__(self) -> None:
        self._entries: dict[str, ToolEntry] = {}
        self._toolsets: dict[str, Toolset] = {}
        self._hooks: dict[HookKind, tuple[Hook, ...]] = {}
        self._hooked: list[tuple[str, HookKind, Hook]] = []
        self._replaced: dict[str, list[ToolEntry]] = {}
        self._checks: dict[Check, RememberedCheck] = {}
        self._loaders: list[Callable[[], object]] = []
        self._lock = threading.RLock()
        self._loading = threading.RLock()

    def register(  # noqa: PLR0917 - the signature that tool authors know
        self,
        name: str,
        toolset: str,
        schema: Schema,
        handler: Handler,
        check_fn: Check | None = None,
        requires_env: Sequence[str] | None = None,
        is_async: bool = False,
        description: str | None = None,
        emoji: str | None = None,
        max_result_size_chars: int | None = None,
        dynamic_schema_overrides: Callable[[], Schema] | None = None,
        override: bool = False,
        parallel: Parallel = "never",
        paths_fn: PathsFn | None = None,
        untrusted: bool = False,
        overrides_with: Callable[[frozenset[str]], Schema] | None = None,
    ) -> None:
        """Add a tool.

        `schema` is the JSON Schema of its arguments, or a function definition whose `parameters` hold it. What
        `check_fn` said counts for 30 seconds.

        Raises:
            RegistrationError: the name is taken by another toolset (MCP servers' apart) or somebody else's file and
                `override` is not set, or the schema is not that of an object.
        """
        parameters = schema.get("parameters", schema)
        if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
            raise RegistrationError(f"The schema of tool {name!r} is not that of an object.")
        with self._lock:
            entry = ToolEntry(
                name=name,
                toolset=toolset,
                schema=parameters,
                handler=handler,
                description=description or str(schema.get("description", "")),
                check_fn=self._remembered(check_fn),
                requires_env=tuple(requires_env or ()),
                is_async=is_async,
                emoji=emoji,
                max_result_size_chars=max_result_size_chars,
                dynamic_schema_overrides=dynamic_schema_overrides,
                overrides_with=overrides_with,
                parallel=parallel,
                paths_fn=paths_fn,
                untrusted=untrusted,
                source=_source.get(),
            )
            existing = self._entries.get(name)
            if existing is not None and not override and not _may_replace(existing, entry):
                raise RegistrationError(_taken(existing, entry))
            if existing is not None and existing.source != entry.source:
                self._replaced.setdefault(name, []).append(existing)
            self._entries[name] = entry

    def unregister(self, name: str) -> None:
        """Forget a tool; one that is not there is no error."""
        with self._lock:
            self._entries.pop(name, None)

    def withdraw(self, source: str) -> None:
        """Forget what `source` has registered, tools and hooks; what its tools had replaced is there again."""
        with self._lock:
            for entry in [entry for entry in self._entries.values() if entry.source == source]:
                del self._entries[entry.name]
                before = [each for each in self._replaced.pop(entry.name, []) if each.source != source]
                if before:
                    self._entries[entry.name] = before.pop()
                    self._replaced[entry.name] = before
            for whose, kind, hook in self._hooked:
                if whose == source:
                    self.remove_hook(kind, hook)
            self._hooked = [each for each in self._hooked if each[0] != source]

    def add_toolset(self, name: str, toolset: Toolset) -> None:
        """Add a group of tools. Tools that register themselves under a name of their own need none."""
        with self._lock:
            self._toolsets[name] = toolset

    def remove_toolset(self, name: str) -> None:
        """Forget a group; one that is not there is no error."""
        with self._lock:
            self._toolsets.pop(name, None)

    def add_hook(self, kind: HookKind, hook: Hook) -> None:
        """Call `hook` around each tool call; see `tools.dispatch`."""
        with self._lock:
            self._hooks[kind] = (*self._hooks.get(kind, ()), hook)
            self._hooked.append((_source.get(), kind, hook))

    def remove_hook(self, kind: HookKind, hook: Hook) -> None:
        """Forget a hook; one that is not there is no error."""
        with self._lock:
            self._hooks[kind] = tuple(known for known in self._hooks.get(kind, ()) if known is not hook)

    def hooks(self, kind: HookKind) -> tuple[Hook, ...]:
        """The hooks of that kind, in the order in which they were added."""
        return self._hooks.get(kind, ())

    def get(self, name: str) -> ToolEntry | None:
        """The tool of that name."""
        return self._entries.get(name)

    def entries(self) -> list[ToolEntry]:
        """All tools, by name."""
        with self._lock:
            return [self._entries[name] for name in sorted(self._entries)]

    def toolsets(self) -> dict[str, Toolset]:
        """The groups that were added."""
        with self._lock:
            return dict(self._toolsets)

    def add_loader(self, loader: Callable[[], object]) -> None:
        """Call `loader` once, when tools are wanted next: it registers more of them. It must not raise."""
        with self._lock:
            self._loaders.append(loader)

    def load(self) -> None:
        """Call the loaders that were not called yet; whoever comes meanwhile waits until they are done."""
        with self._loading:
            while self._loaders:
                self._loaders.pop(0)()

    def forget_checks(self) -> None:
        """Ask every `check_fn` again."""
        with self._lock:
            for check in self._checks.values():
                check.forget()

    def _remembered(self, check: Check | None) -> Check | None:
        if check is None or isinstance(check, RememberedCheck):
            return check
        try:
            return self._checks.setdefault(check, RememberedCheck(check))
        except TypeError:  # it cannot be hashed
            return RememberedCheck(check)


registry = ToolRegistry()


@contextlib.contextmanager
def registered_by(source: str) -> Iterator[None]:
    """What is registered inside the block, in this thread, is `source`'s: «tools/weather.py», «plugin weather»."""
    token = _source.set(source)
    try:
        yield
    finally:
        _source.reset(token)


def tool_result(data: object = None, /, **fields: Any) -> str:
    """A handler's answer as JSON text: `data`, or an object of `fields`."""
    return json.dumps(fields if data is None else data, ensure_ascii=False, default=str)


def tool_error(message: object, /, **fields: Any) -> str:
    """A handler's failure as JSON text: `{"error": message, …fields}`."""
    return json.dumps({"error": str(message), **fields}, ensure_ascii=False, default=str)


def _may_replace(existing: ToolEntry, entry: ToolEntry) -> bool:
    if existing.toolset.startswith(MCP) and entry.toolset.startswith(MCP):
        return True
    return existing.toolset == entry.toolset and existing.source == entry.source


def _taken(existing: ToolEntry, entry: ToolEntry) -> str:
    owner = f" of {existing.source}" if existing.source else ""
    return (
        f"Tool {entry.name!r} belongs to toolset {existing.toolset!r}{owner}; {entry.toolset!r} may not replace it. "
        "Choose another name, or register it with override=True."
    )


# The tools that one session has: those of the registry, and those that come with it (its MCP servers').

ExtraTools = Callable[[], Sequence[ToolEntry]]


class Toolbox:
    """Names to tools, as one session sees them. A tool of the registry is never replaced by an extra one."""

    def __init__(self, extra: ExtraTools = tuple) -> None:
        """Make it.

        Args:
            extra: the tools that the session has beside the registry's, as they are now.
        """
        self._extra = extra

    def get(self, name: str) -> ToolEntry | None:
        """The tool of that name."""
        return registry.get(name) or next((entry for entry in self._extra() if entry.name == name), None)

    def plus(self, entry: ToolEntry) -> Toolbox:
        """The same with one more."""
        return Toolbox(lambda: (*self._extra(), entry))

    def extra(self) -> Sequence[ToolEntry]:
        """The tools beside the registry's, by name."""
        extra = self._extra()
        return extra and sorted(
            (entry for entry in extra if registry.get(entry.name) is None), key=lambda entry: entry.name
        )
