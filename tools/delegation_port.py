"""Sub-agents, as the tool `delegate_task` reaches them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from tools.light_dataclass import dataclass
from tools.result import ShownDiff
from tools.untrusted.fence import fenced

if TYPE_CHECKING:
    from tools.context import ToolContext

AgentRole = Literal["leaf", "orchestrator"]
"""A leaf does the work itself; an orchestrator may have sub-agents of its own."""

AgentStatus = Literal["done", "failed", "out_of_budget", "stopped", "stale", "interrupted"]
"""`stopped`: the person ended it; `stale`: it gave no sign for too long; `interrupted`: with what it worked for."""


@dataclass(frozen=True, slots=True)
class DelegationLimits:
    """How much may be delegated, as the model is told.

    Attributes:
        at_once: sub-agents that work at the same time; more wait in line.
        orchestrators: sub-agents may have sub-agents.
        background: work may go on behind the conversation.
        models: other models that a task may ask for.
    """

    at_once: int = 3
    orchestrators: bool = False
    background: bool = True
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentTask:
    """What one sub-agent shall do.

    Attributes:
        context: what it has to know beside the goal; it sees nothing else of the conversation.
        toolsets: names of toolsets or tools, of those that its parent has; None for all of them.
        model: as provider:model; '' for what the settings say.
    """

    goal: str
    context: str = ""
    toolsets: tuple[str, ...] | None = None
    role: AgentRole = "leaf"
    model: str = ""


@dataclass(frozen=True, slots=True)
class AgentReport:
    """What came of one sub-agent.

    Attributes:
        agent: its id, which is its session's.
        summary: its last words, or why there are none; bounded.
        full: a file with all of its last words, where they were too long.
        files: what it has changed with its file tools; absolute.
        calls: how often it called which tool.
        tokens: input and output together.
        cost: US dollars; None where it is not known.
        patch: for work on a copy: a file with its changes, if it made any.
        brought: files of these that are changed in the session's directory now.
        kept: why what it changed is not (all) there, and the copy that was kept for that; '' where nothing is open.
        diffs: what it changed in a copy, as text.
        untrusted: it has seen what strangers wrote, and what it says may be theirs.
    """

    agent: str
    goal: str
    status: AgentStatus
    summary: str
    full: Path | None = None
    files: tuple[Path, ...] = ()
    calls: Mapping[str, int] = field(default_factory=dict)
    requests: int = 0
    tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    note: str = ""
    patch: Path | None = None
    brought: tuple[Path, ...] = ()
    kept: str = ""
    diffs: tuple[ShownDiff, ...] = ()
    untrusted: bool = False

    def told_summary(self, session_id: str) -> str:
        """The summary as the model gets it: in a fence where it is not to be trusted.

        Args:
            session_id: of the session whose model it is.
        """
        return fenced(self.summary, self.agent, session_id) if self.untrusted else self.summary


@dataclass(frozen=True, slots=True)
class AgentBegun:
    """A sub-agent that works in the background."""

    agent: str
    goal: str


class Delegation(Protocol):
    """Who has sub-agents do work."""

    @property
    def limits(self) -> DelegationLimits:
        """How much may be delegated here."""
        ...

    def run(self, tasks: Sequence[AgentTask], call: ToolContext, *, isolated: bool = False) -> Sequence[AgentReport]:
        """Do all tasks and wait; a report for each, in their order. What a sub-agent fails at is in its report.

        Args:
            call: of the tool call that delegates; its card shows what goes on.
            isolated: each works on a copy of its own; what it changes is brought back as edits of `call`.

        Raises:
            ToolError: a task cannot be begun as it is; none was.
            ToolInterrupted: the turn is over; every sub-agent was told to end.
        """
        ...

    def begin(self, tasks: Sequence[AgentTask], call: ToolContext) -> Sequence[AgentBegun]:
        """Begin all tasks in the background. The session is told of each that is done.

        Raises:
            ToolError: a task cannot be begun as it is, or nothing may go on in the background here.
        """
        ...


_USUAL = DelegationLimits()
_TOLD: ContextVar[DelegationLimits] = ContextVar("delegation_limits", default=_USUAL)


def told_limits() -> DelegationLimits:
    """The limits of the session whose tools are being described."""
    return _TOLD.get()


@contextmanager
def describing(limits: DelegationLimits) -> Iterator[None]:
    """What is told of tools inside the block is of a session with these limits."""
    before = _TOLD.set(limits)
    try:
        yield
    finally:
        _TOLD.reset(before)
