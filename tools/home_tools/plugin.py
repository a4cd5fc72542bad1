"""A plugin: a folder with `plugin.yaml`, and what its `register(ctx)` may use."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.context import ToolContext
from tools.home_tools.modules import LoadFailed
from tools.registry import HookKind, ToolRegistry, Toolset
from tools.result import ToolResult

log = logging.getLogger(__name__)

MANIFESTS = ("plugin.yaml", "plugin.yml")
MakeMemory = Callable[[], Any]
_OUR_KINDS = frozenset({"", "standalone", "backend"})


@dataclass(frozen=True, slots=True)
class Manifest:
    """What `plugin.yaml` says. `is_ours` is False for kinds of plugins that only other programs know."""

    name: str
    is_ours: bool = True


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of the plugin in `folder`; None where there is none.

    Raises:
        LoadFailed: it cannot be read.
    """
    file = next((folder / name for name in MANIFESTS if (folder / name).is_file()), None)
    if file is None:
        return None
    import yaml  # noqa: PLC0415 - only for those who have plugins

    try:
        value = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        raise LoadFailed(f"has a {file.name} that cannot be read: {' '.join(str(problem).split())}") from problem
    facts = value if isinstance(value, Mapping) else {}
    return Manifest(str(facts.get("name") or folder.name), str(facts.get("kind") or "") in _OUR_KINDS)


class PluginContext:
    """What a plugin's `register(ctx)` gets. What other programs offer beside that is passed over, and told.

    Attributes:
        name: the plugin's.
        path: its folder.
        passed_over: names of what it asked for in vain.
    """

    def __init__(
        self, name: str, path: Path, registry: ToolRegistry, memories: dict[str, MakeMemory] | None = None
    ) -> None:
        self.name = name
        self.path = path
        self.passed_over: set[str] = set()
        self._registry = registry
        self._memories = {} if memories is None else memories

    def register_memory_provider(self, make: MakeMemory, name: str = "") -> None:
        """Offer a memory that the setting `memory.provider` can choose (`agent_core.memory.provider`).

        Args:
            make: makes the provider of one session: its class, for instance.
            name: what the setting calls it; the plugin's own name if left out.

        Raises:
            TypeError: `make` cannot be called.
        """
        if not callable(make):
            raise TypeError("register_memory_provider takes the provider's class, or a function that makes one")
        self._memories[name or self.name] = make

    def register_tool(self, *args: Any, **kwargs: Any) -> None:
        """As `registry.register`.

        Raises:
            RegistrationError: as that does.
        """
        self._registry.register(*args, **kwargs)

    register = register_tool

    def add_toolset(self, name: str, toolset: Toolset) -> None:
        """As `registry.add_toolset`."""
        self._registry.add_toolset(name, toolset)

    def add_hook(self, kind: HookKind, hook: Callable[..., Any]) -> None:
        """As `registry.add_hook`; see `tools.calling.hooks`."""
        self._registry.add_hook(kind, hook)

    def register_hook(self, name: str, callback: Callable[..., Any]) -> None:
        """Call `callback(tool_name=…, args=…, task_id=…, …)` around tool calls, with those arguments that it takes.

        Args:
            name: pre_tool_call, which may return `{"action": "block", "message": why}`, or post_tool_call, which also
                gets `result`, the text for the model.
        """
        match name:
            case "pre_tool_call":
                self._registry.add_hook("pre_tool_call", _before(callback))
            case "post_tool_call":
                self._registry.add_hook("post_tool_call", _after(callback))
            case _:
                self.passed_over.add(f"the hook {name}")

    def __getattr__(self, name: str) -> Callable[..., None]:
        if not name.startswith("register_"):
            raise AttributeError(f"A plugin's context has no {name!r}.")
        self.passed_over.add(name)
        return lambda *_, **__: None


def _before(callback: Callable[..., Any]) -> Callable[..., str | None]:
    takes = _taken_by(callback)

    def hook(name: str, arguments: Mapping[str, Any], ctx: ToolContext) -> str | None:
        answer = callback(**takes(_facts(name, arguments, ctx)))
        if inspect.iscoroutine(answer):
            answer.close()
            raise TypeError("register_hook takes no async function")  # its refusal would never be heard
        if isinstance(answer, Mapping) and answer.get("action") == "block":
            return str(answer.get("message") or f"A plugin refuses this call of {name}.")
        return None

    return hook


def _after(callback: Callable[..., Any]) -> Callable[..., None]:
    takes = _taken_by(callback)

    def hook(name: str, arguments: Mapping[str, Any], result: ToolResult, ctx: ToolContext) -> None:
        callback(**takes({**_facts(name, arguments, ctx), "result": result.text}))

    return hook


def _facts(name: str, arguments: Mapping[str, Any], ctx: ToolContext) -> dict[str, Any]:
    return {
        "tool_name": name,
        "args": arguments,
        "params": arguments,
        "task_id": ctx.task_id,
        "session_id": ctx.session_id,
        "tool_call_id": ctx.tool_call_id,
    }


def _taken_by(callback: Callable[..., Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Keeps those of the named arguments that `callback` takes."""
    parameters = inspect.signature(callback).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return lambda facts: facts
    names = {parameter.name for parameter in parameters}
    return lambda facts: {name: value for name, value in facts.items() if name in names}
