"""How a sub-agent is made: from what its parent has, never more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_core.compaction.compactor import with_engine
from agent_core.delegation.settings import DelegationSettings
from agent_core.errors import HermesError
from agent_core.services import SessionServices
from agent_core.sessions.store import SessionStore
from agent_core.workspace import CallIdentity, Workspace
from tools.approval.questions import Approver
from tools.context import AgentTask
from tools.errors import ToolError
from tools.files.seen import FilesSeen
from tools.light_dataclass import dataclass
from tools.registry import Toolbox
from tools.shell.session import ShellMemory
from tools.toolsets import select, wrong_names

if TYPE_CHECKING:
    from agent_core.agent import AIAgent
    from agent_core.guardrails import Thresholds
    from agent_core.prompt.layers import PromptSettings
    from agent_core.providers.base import Usage
    from agent_core.turn.loop import Target, TurnLoop

PLATFORM = "sub-agent"
_NEVER = ("clarify", "memory", "exit_plan_mode")
"""Tools of the session's own agent: it alone talks with the person, and remembers."""


@dataclass(frozen=True, slots=True)
class Parent:
    """An agent that has sub-agents.

    Attributes:
        loop: its loop, which knows what it has and what it was told of.
    """

    loop: TurnLoop
    store: SessionStore
    prompt: PromptSettings
    guardrails: Thresholds
    verify_on_stop: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """A task that can be begun: which tools and models it has.

    Attributes:
        workspace: where it works; None for its parent's.
    """

    task: AgentTask
    toolsets: tuple[str, ...]
    disabled: tuple[str, ...]
    target: Target
    settings: DelegationSettings
    workspace: Workspace | None = None


def planned(task: AgentTask, parent: Parent, settings: DelegationSettings) -> Plan:
    """What a task gets, looked at before any task begins.

    Raises:
        ToolError: it names toolsets or a model that it cannot have.
    """
    loop, limits = parent.loop, settings.limits
    below = settings.below()
    is_leaf = task.role == "leaf" or not limits.orchestrators
    toolbox = _own_tools(loop.services, loop.workspace)
    disabled = (*loop.disabled, *_NEVER, *(("delegate_task",) if is_leaf else below.missing_tools()))
    wanted = task.toolsets or settings.part.toolsets or None
    toolsets = loop.toolsets if wanted is None else _narrower(wanted, loop, toolbox)
    return Plan(task, toolsets, disabled, _target(task, parent, settings), below)


def _narrower(wanted: tuple[str, ...], loop: TurnLoop, toolbox: Toolbox) -> tuple[str, ...]:
    """The names of the tools of `wanted` that its parent has."""
    if wrong := wrong_names(wanted, toolbox):
        raise ToolError(f"{' '.join(wrong)} No sub-agent was begun.")
    chosen = {entry.name for entry in select(wanted, loop.disabled, toolbox)} & loop.tool_names()
    if not chosen:
        raise ToolError(
            f"You have no tools of {', '.join(wanted)}, so a sub-agent has none of them either. "
            "Name others, or leave toolsets out."
        )
    return tuple(sorted(chosen))


def _target(task: AgentTask, parent: Parent, settings: DelegationSettings) -> Target:
    part, own = settings.part, parent.loop.aim.target
    if task.model and task.model not in settings.limits.models:
        known = ", ".join(settings.limits.models) or "none: leave it out"
        raise ToolError(f"A task may not ask for the model {task.model!r}. Models to choose from: {known}.")
    name = task.model or part.model
    if not name or settings.target_of is None:
        return replace(own, reasoning=part.reasoning_effort or own.reasoning)
    try:
        return settings.target_of(name)
    except HermesError as problem:
        raise ToolError(
            f"The model of sub-agents, {name}, cannot be used: {problem.public} Do the work yourself."
        ) from problem


def make_agent(plan: Plan, parent: Parent, agent_id: str, services: SessionServices, workspace: Workspace) -> AIAgent:
    """The agent of a sub-agent; its session is begun in the store."""
    from agent_core.agent import AIAgent  # noqa: PLC0415 - it has this package

    loop, route = parent.loop, plan.target.route
    choice = route.members[0].choice
    parent.store.create_child(agent_id, loop.session_id, str(workspace.cwd))
    services.system = _system_prompt(plan, parent, services, workspace)
    return AIAgent(
        choice.model,
        route.connect(choice),
        PLATFORM,
        plan.toolsets,
        max_iterations=plan.settings.part.max_iterations,
        session_store=parent.store,
        session_id=agent_id,
        workspace=workspace,
        services=services,
        disabled_toolsets=plan.disabled,
        route=route,
        reasoning=plan.target.reasoning,
        cache_ttl=loop.cache_ttl,
        patience=loop.patience,
        guardrails=parent.guardrails,
        prompt=parent.prompt,
        verify_on_stop=parent.verify_on_stop,
        delegation=plan.settings,
    )


def child_services(
    parent: SessionServices, agent_id: str, spent: Callable[[Usage, float | None], None]
) -> SessionServices:
    """What a sub-agent keeps: of its parent's the memory as it was frozen, its skills, and who reads for it.

    Args:
        spent: is told what its requests use.
    """
    services = with_engine(SessionServices(parent.recall, parent.look), agent_id)
    services.memory = None if parent.memory is None else parent.memory.snapshot_only()
    services.skills = parent.skills
    services.by_itself, services.summarise = parent.by_itself, parent.summarise
    services.summary_window = parent.summary_window
    # An editor knows the cards of both.
    services.call_ids = parent.call_ids
    services.tasks = parent.tasks
    services.news = parent.news.below()
    services.on_spent = spent
    services.tracing = None if parent.tracing is None else parent.tracing.of_sub_agent()
    return services


def child_workspace(
    parent: Workspace,
    services: SessionServices,
    name: str,
    *,
    session_id: str,
    turn_id: str,
    approver: Approver | None = None,
) -> Workspace:
    """Where a sub-agent works: with its parent's files, commands and permissions, and a shell state of its own.

    Args:
        services: the parent's.
        name: who asks for permission, for the person.
        session_id, turn_id: the parent's: undo takes back what its sub-agents have changed.
        approver: who is asked in place of the person.
    """

    def of_parent(call: CallIdentity) -> CallIdentity:
        return CallIdentity(session_id, turn_id, call.task_id, call.call_id)

    return replace(
        parent,
        approvals=parent.approvals.for_another(name, approver=approver),
        history=lambda call: parent.history(of_parent(call)),
        output_file=lambda call: parent.output_file(of_parent(call)),
        tools=_own_tools(services, parent),
        hooks=parent.hooks.for_subagent(parent.client_cwd),
        seen=FilesSeen(),
        shell=ShellMemory(parent.cwd),
        # What they change comes back with the session's own turn.
        copied=None,
    )


def _own_tools(services: SessionServices, workspace: Workspace) -> Toolbox:
    """The session's tools without those of its memory provider: a sub-agent remembers nothing."""
    if services.memory is None or services.memory.is_read_only:
        return workspace.tools
    remembering = {entry.name for entry in services.memory.tools()}
    extra = workspace.tools.extra
    return Toolbox(lambda: [entry for entry in extra() if entry.name not in remembering])


def _system_prompt(plan: Plan, parent: Parent, services: SessionServices, workspace: Workspace) -> str:
    from agent_core.prompt.layers import session_prompt  # noqa: PLC0415 - not before the first sub-agent

    choice = plan.target.route.members[0].choice
    entries = select(plan.toolsets, plan.disabled, workspace.tools)
    tools = frozenset(entry.name for entry in entries)
    offered = tools | {entry.toolset for entry in entries}

    def make() -> str:
        prompt, _ = session_prompt(
            workspace,
            parent.prompt,
            choice,
            platform=PLATFORM,
            tools=tools,
            memory_block="" if services.memory is None else services.memory.block(),
            skills_index=services.skills.index(offered) if services.skills and "skill_view" in tools else "",
        )
        return prompt.text

    return workspace.children.prompts.get((workspace.cwd, choice.name, tools), make)
