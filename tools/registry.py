"""The tool registry: what tools exist. It imports nothing of the project, so that any module may register.

A tool file calls `registry.register(...)` at its top level. `discover` finds such files by reading their syntax
tree, so that only they are imported, and one tool's failing import never stops the others.
"""

from __future__ import annotations

import ast
import importlib
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

log = logging.getLogger(__name__)

Schema = Mapping[str, Any]
Handler = Callable[..., Any | Awaitable[Any]]
Parallel = Literal["never", "safe", "paths"]


class RegistrationError(ValueError):
    """A tool was registered in a way that cannot work."""


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """One registered tool.

    Attributes:
        schema: JSON Schema of the arguments (`{"type": "object", "properties": …}`).
        parallel: may run beside others never, always («safe»), or when their paths differ («paths»).
    """

    name: str
    toolset: str
    schema: Schema
    handler: Handler
    description: str
    check_fn: Callable[[], bool] | None = None
    requires_env: tuple[str, ...] = ()
    is_async: bool = False
    emoji: str | None = None
    max_result_size_chars: int | None = None
    dynamic_schema_overrides: Callable[[], Schema] | None = None
    parallel: Parallel = "never"

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

    def definition(self) -> dict[str, Any]:
        """The tool in the form that models are told of it (OpenAI function form)."""
        parameters = dict(self.schema)
        if self.dynamic_schema_overrides is not None:
            try:
                parameters.update(self.dynamic_schema_overrides())
            except Exception:
                # One tool's broken override must not break every request; its plain schema still holds.
                log.warning("the schema overrides of tool %s failed", self.name, exc_info=True)
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}


class ToolRegistry:
    """Names to tools; safe to use from several threads. `generation` changes with each registration."""

    def __init__(self) -> None:
        self._entries: dict[str, ToolEntry] = {}
        self._lock = threading.RLock()
        self.generation = 0

    def register(  # noqa: PLR0917 - the signature that tool authors know
        self,
        name: str,
        toolset: str,
        schema: Schema,
        handler: Handler,
        check_fn: Callable[[], bool] | None = None,
        requires_env: Sequence[str] | None = None,
        is_async: bool = False,
        description: str | None = None,
        emoji: str | None = None,
        max_result_size_chars: int | None = None,
        dynamic_schema_overrides: Callable[[], Schema] | None = None,
        override: bool = False,
        parallel: Parallel = "never",
    ) -> None:
        """Add a tool.

        `schema` is the JSON Schema of its arguments, or a function definition whose `parameters` hold it.

        Raises:
            RegistrationError: the name is taken by another toolset and `override` is not set, or the schema is
                not that of an object.
        """
        parameters = schema.get("parameters", schema)
        if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
            raise RegistrationError(f"The schema of tool {name!r} is not that of an object.")
        entry = ToolEntry(
            name=name,
            toolset=toolset,
            schema=parameters,
            handler=handler,
            description=description or str(schema.get("description", "")),
            check_fn=check_fn,
            requires_env=tuple(requires_env or ()),
            is_async=is_async,
            emoji=emoji,
            max_result_size_chars=max_result_size_chars,
            dynamic_schema_overrides=dynamic_schema_overrides,
            parallel=parallel,
        )
        with self._lock:
            existing = self._entries.get(name)
            if existing is not None and existing.toolset != toolset and not override:
                raise RegistrationError(
                    f"Tool {name!r} belongs to toolset {existing.toolset!r}; {toolset!r} may not replace it."
                )
            self._entries[name] = entry
            self.generation += 1

    def get(self, name: str) -> ToolEntry | None:
        """The tool of that name."""
        return self._entries.get(name)

    def entries(self) -> list[ToolEntry]:
        """All tools, by name."""
        with self._lock:
            return [self._entries[name] for name in sorted(self._entries)]

    def in_toolset(self, toolset: str) -> list[ToolEntry]:
        """The tools that registered themselves under `toolset`, by name."""
        return [entry for entry in self.entries() if entry.toolset == toolset]


registry = ToolRegistry()


def discover(package: str, folder: Path) -> dict[str, BaseException]:
    """Import every module of `folder` that registers a tool at its top level.

    Returns:
        module name → what its import raised, for those that failed.
    """
    failures: dict[str, BaseException] = {}
    for path in _registering_files(folder):
        module = f"{package}.{path.stem}"
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as problem:
            log.exception("tool module %s could not be imported", module)
            failures[module] = problem
    return failures


def _registering_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("*.py")):
        try:
            source = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            log.warning("tool file %s could not be read", path, exc_info=True)
            continue
        # The text test spares parsing the many files that register nothing.
        if "registry.register(" in source and _registers(source):
            yield path


def _registers(source: str) -> bool:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return True  # importing it reports the error with its line
    return any(
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "register"
        and isinstance(node.value.func.value, ast.Name)
        and node.value.func.value.id == "registry"
        for node in tree.body
    )
