"""Builds a session's system prompt from what is on this machine. It reads files and asks git: for a worker thread."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from agent_core.prompt.context_files.loaded import ContextFiles
from agent_core.prompt.context_files.loading import load_context_files
from agent_core.prompt.context_files.region import region_of
from agent_core.prompt.context_files.settings import chars_of_a_file
from agent_core.prompt.facts import PromptFacts, confinement_told, gather_facts
from agent_core.prompt.families import family_of
from agent_core.prompt.identity import read_soul
from agent_core.prompt.layers import PromptSources, SystemPrompt, build_system_prompt
from agent_core.prompt.settings import PromptSettings
from agent_core.providers.choice import ModelChoice
from agent_core.workspace import Workspace


def session_prompt(
    workspace: Workspace,
    settings: PromptSettings,
    choice: ModelChoice,
    *,
    platform: str,
    tools: Collection[str],
    skills_index: str = "",
    memory_block: str = "",
) -> tuple[SystemPrompt, tuple[str, ...]]:
    """The prompt, and what the person should know of it: a sentence for each file that is left out or cut.

    Args:
        choice: the model that is asked first: its family and its window count.
        tools: names of those that are offered.
    """
    with ThreadPoolExecutor(2, thread_name_prefix="facts") as beside:
        facts = beside.submit(_facts, workspace)
        confined = beside.submit(_confinement, workspace)
        soul, wrong = ("", "") if settings.home is None else read_soul(settings.home)
        max_chars = chars_of_a_file(choice.context_length, settings.context_files.max_chars)
        files = _context_files(workspace, settings, max_chars)
        sources = PromptSources(
            replace(facts.result(), commands=confined.result()),
            platform=platform,
            family=family_of(choice.model),
            tools=tools,
            soul=soul,
            context_files=files,
            skills_index=skills_index,
            memory_block=memory_block,
        )
    return build_system_prompt(sources), (*((wrong,) if wrong else ()), *files.notes)


def _facts(workspace: Workspace) -> PromptFacts:
    if workspace.elsewhere is None:
        return gather_facts(workspace.cwd, workspace.roots)
    from agent_core.prompt.far_facts import far_facts  # noqa: PLC0415 - most sessions work here

    copied = workspace.copied
    return replace(far_facts(workspace.elsewhere), copy="" if copied is None else copied.described())


def _confinement(workspace: Workspace) -> str:
    return confinement_told(workspace.containment) if workspace.elsewhere is None else ""


def _context_files(workspace: Workspace, settings: PromptSettings, max_chars: int) -> ContextFiles:
    region, elsewhere = region_of(workspace), workspace.elsewhere
    if elsewhere is None or elsewhere.shared:
        return load_context_files(workspace.cwd, workspace.roots, region, settings.context_files, max_chars)
    from agent_core.prompt.context_files.far import far_context_files  # noqa: PLC0415 - most sessions work here

    return far_context_files(elsewhere, region, settings.context_files, max_chars)
