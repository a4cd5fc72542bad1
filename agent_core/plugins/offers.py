"""What a plugin offers, and how it stands with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.compaction.compactor import MakeEngine
    from agent_core.hooks.hook import Hook
    from agent_core.memory.provider import MakeProvider

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
