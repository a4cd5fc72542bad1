"""The system prompt: named layers, each a pure function of what was gathered; built once a session, stored with it.

What is the same in all sessions comes first and what differs most comes last, so that servers can keep the beginning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import field

from agent_core.prompt.context_files.loaded import ContextFiles
from agent_core.prompt.context_files.telling import HEADING, left_out_line, told
from agent_core.prompt.environment import environment_text
from agent_core.prompt.facts import PromptFacts
from agent_core.prompt.families import Family, family_text
from agent_core.prompt.guidance import MORE, MORE_OF_SUB_AGENT, SUB_AGENT, offered_text, working_text
from agent_core.prompt.identity import DEFAULT_IDENTITY
from agent_core.prompt.platforms import platform_text
from tools.light_dataclass import dataclass
from tools.toolsets import MORE_TOOLS


@dataclass(frozen=True, slots=True)
class Layer:
    """A part of the prompt; `name` is for people, as «identity» or «AGENTS.md». An empty text takes no place."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """The layers in order; those without text are left out."""

    layers: tuple[Layer, ...]

    @property
    def text(self) -> str:
        """The whole prompt."""
        return "\n\n".join(layer.text for layer in self.layers)

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """Each layer's name and its characters."""
        return tuple((layer.name, len(layer.text)) for layer in self.layers)


@dataclass(frozen=True, slots=True)
class PromptSources:
    """Everything that the prompt is made of.

    Attributes:
        platform: what shows the answers: «acp», «cli» or another.
        tools: the names of the tools that are offered.
        soul: who the agent is, in place of the default; '' for that.
        skills_index, memory_block: as their owners wrote them; '' for none.
    """

    facts: PromptFacts
    platform: str = "acp"
    family: Family = "default"
    tools: Collection[str] = ()
    soul: str = ""
    context_files: ContextFiles = field(default_factory=ContextFiles)
    skills_index: str = ""
    memory_block: str = ""


def build_system_prompt(sources: PromptSources) -> SystemPrompt:
    """The prompt, a pure function of its argument."""
    return SystemPrompt(tuple(layer for layer in _layers(sources) if layer.text))


def _offered(sources: PromptSources) -> str:
    """A sub-agent has no user whose wishes it could keep, and nobody to offer anything to."""
    return "" if sources.platform == SUB_AGENT else offered_text(sources.tools, skills=bool(sources.skills_index))


def _layers(sources: PromptSources) -> Iterator[Layer]:
    yield Layer("identity", sources.soul or DEFAULT_IDENTITY)
    yield Layer("platform", platform_text(sources.platform))
    yield Layer("guidance", working_text(sources.platform))
    yield Layer("model family", family_text(sources.family, sources.platform))
    more = MORE_OF_SUB_AGENT if sources.platform == SUB_AGENT else MORE
    yield Layer(MORE_TOOLS, more if MORE_TOOLS in sources.tools else "")
    yield Layer("memory, skills, search", _offered(sources))
    yield Layer("skills index", sources.skills_index)
    files = sources.context_files
    yield Layer("rules of the project", HEADING if files.files or files.left_out else "")
    for file in files.files:
        yield Layer(file.label, told(file))
    yield Layer("left out", "\n".join(map(left_out_line, files.left_out)))
    yield Layer("memory", sources.memory_block)
    yield Layer("environment", environment_text(sources.facts))
