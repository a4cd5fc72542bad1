"""Has sub-agents do work for one turn. Implements `tools.context.Delegation`."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.background.news import News
from agent_core.background.tasks import TaskBoard, TaskControl
from agent_core.delegation.child import Child, Ears, outcome_of
from agent_core.delegation.crew import Crew, Thresholds
from agent_core.delegation.live_text import LiveText
from agent_core.delegation.making import Parent, Plan, child_services, child_workspace, make_agent, planned
from agent_core.delegation.reports import bounded
from agent_core.delegation.settings import DelegationSettings
from agent_core.interrupt import CancelToken
from agent_core.services import SessionServices
from agent_core.workspace import CallIdentity, Workspace
from tools.approval.questions import Approver
from tools.context import AgentBegun, AgentReport, AgentTask, DelegationLimits, ToolContext
from tools.errors import ToolError
from tools.ports import Interrupt

if TYPE_CHECKING:
    from agent_core.agent import AIAgent
    from agent_core.delegation.copies import Copy
    from agent_core.providers.base import Usage
    from agent_core.turn.turn import Turn

_ID_BYTES = 6
_LONGEST_TITLE = 120


class TurnDelegation:
    """The sub-agents of one turn. They work in its session's workspace, and tell its listeners what they do."""

    def __init__(self, parent: Parent, settings: DelegationSettings, turn: Turn) -> None:
        self._parent = parent
        self._settings = settings
        self._turn = turn
        self._counting = threading.Lock()

    @property
    def limits(self) -> DelegationLimits:
        """How much may be delegated here."""
        return self._settings.limits

    @property
    def workspace(self) -> Workspace:
        """Where the agent works that delegates."""
        return self._parent.loop.workspace

    @property
    def most_behind(self) -> int:
        """How many sub-agents may work in the background."""
        return self._settings.part.max_background_children

    def tell(self, news: News, first: Callable[[], None]) -> None:
        """The session shall know; `first` is done in between, as `NewsBox.put` has it."""
        self._parent.loop.services.news.put(news, first)

    def hold(self, news: News) -> Callable[[], None]:
        """The session shall know, should this process die first; returns a function that forgets it."""
        return self._parent.loop.services.news.hold(news)

    def run(self, tasks: Sequence[AgentTask], call: ToolContext, *, isolated: bool = False) -> Sequence[AgentReport]:
        """Do all tasks and wait; a report for each, in their order.

        Raises:
            ToolError: a task cannot be begun as it is; none was.
            ToolInterrupted: the turn is over; every sub-agent was told to end.
        """
        plans = [planned(task, self._parent, self._settings) for task in tasks]
        if isolated:
            from agent_core.delegation.isolated import run_isolated  # noqa: PLC0415 - most work needs no copies

            return run_isolated(self, plans, call)
        return [bounded(report, len(tasks), call, self.file_of) for report in self.work(plans, call)]

    def begin(self, tasks: Sequence[AgentTask], call: ToolContext) -> Sequence[AgentBegun]:
        """Begin all tasks in the background.

        Raises:
            ToolError: a task cannot be begun as it is, or nothing may go on in the background here.
        """
        from agent_core.delegation.background import begin_in_background  # noqa: PLC0415 - most work is waited for

        return begin_in_background(self, [planned(task, self._parent, self._settings) for task in tasks], call)

    def copy(self, name: str, interrupt: Interrupt) -> Copy:
        """A copy of the session's work tree.

        Raises:
            ToolError: there can be none.
            ToolInterrupted: the turn is over.
        """
        from agent_core.delegation.copies import make_copy  # noqa: PLC0415 - most work needs no copies

        if self._settings.copies is None or self._settings.workspace_at is None:
            raise ToolError("There are no copies to work on here: leave out isolated.")
        if self.workspace.elsewhere is not None:
            raise ToolError("On another machine there are no copies to work on: leave out isolated.")
        return make_copy(self.workspace.cwd, self._settings.copies, name, interrupt)

    def workspace_at(self, copy: Copy) -> Workspace:
        """The session's workspace with a copy in place of its directories; to be closed."""
        assert self._settings.workspace_at is not None  # noqa: S101 - there would be no copy
        places = (copy.place_of(Path(os.path.realpath(root))) for root in self.workspace.roots)
        return self._settings.workspace_at(self.workspace, tuple(places))

    def work(self, plans: Sequence[Plan], call: ToolContext) -> list[AgentReport]:
        """Do what is planned and wait; the reports are not bounded.

        Raises:
            ToolInterrupted: as `run`.
        """
        live = LiveText(call.progress)
        ears = Ears(self._turn.callbacks.tool_progress_callback, live.say, live.end)
        children = [
            self.child(plan, number, ears=ears, call_id=call.tool_call_id, spent=self._spend)
            for number, plan in enumerate(plans, 1)
        ]
        call.progress(f"{_many(len(children), 'sub-agent')} at work.\n")
        forgets = [call.interrupt.on_cancel(child.token.cancel) for child in children]
        for child in children:
            child.on_end = _then(child.on_end, call.interrupt.notify)
        try:
            self.crew(children, call).run()
        finally:
            for forget in forgets:
                forget()
            for child in children:
                # Those that were still in line.
                child.on_end(child)
            live.close()
        return [child.report for child in children if child.report is not None]

    def crew(self, children: Sequence[Child], call: ToolContext) -> Crew:
        """Who runs the children."""
        part = self._settings.part
        return Crew(
            children,
            part.max_concurrent_children,
            call.interrupt,
            Thresholds(part.idle_seconds, part.tool_seconds, part.timeout),
            self._parent.loop.workspace.approvals.is_asking,
        )

    def child(
        self,
        plan: Plan,
        number: int,
        *,
        ears: Ears,
        call_id: str,
        spent: Callable[[Usage, float | None], None],
        approver: Approver | None = None,
        tells: bool = False,
    ) -> Child:
        """A sub-agent that has not begun; it is among the session's tasks.

        Args:
            number: counts the tasks of a call from 1.
            spent: is told what its requests use.
            approver: who is asked in place of the person.
            tells: its end is news, since nobody waits for its report.
        """
        loop, agent_id = self._parent.loop, f"agent-{secrets.token_hex(_ID_BYTES)}"
        above = loop.workspace.approvals.asker
        name = f"{above}.{number}" if above else f"Agent {number}"
        token = CancelToken()
        workspace = child_workspace(
            plan.workspace or loop.workspace,
            loop.services,
            name,
            session_id=loop.session_id,
            turn_id=self._turn.id,
            approver=approver,
        )
        services = child_services(loop.services, agent_id, spent)

        def make() -> AIAgent:
            return make_agent(plan, self._parent, agent_id, services, workspace)

        child = Child(agent_id, name, plan.task, token, make, call_id, ears)
        child.directory = "" if plan.workspace is None else str(plan.workspace.cwd)
        child.doing = lambda what: loop.services.tasks.update(agent_id, detail=what)
        child.on_end = lambda child: self._leave(child, services)
        loop.workspace.children.add(agent_id, token)
        tasks = loop.services.tasks
        tasks.begin("delegation", agent_id, _title(plan.task), _control(child, tasks), tells=tells)
        return child

    def file_of(self, name: str) -> Path | None:
        """Where something that is too long to show may be saved, by its name."""
        turn, loop = self._turn, self._parent.loop
        return loop.workspace.output_file(CallIdentity(loop.session_id, turn.id, turn.task_id, name))

    def spend_behind(self, usage: Usage, cost: float | None) -> None:
        """A request of one that works behind the conversation: it is the session's, and no turn's."""
        self._parent.loop.services.spend(usage, cost)

    def _spend(self, usage: Usage, cost: float | None) -> None:
        with self._counting:
            self._turn.count(usage, cost)
        self._parent.loop.services.spend(usage, cost)

    def _leave(self, child: Child, services: SessionServices) -> None:
        """A sub-agent is over: nothing of it is left but its session. Happens once."""
        loop = self._parent.loop
        if not loop.workspace.children.remove(child.id):
            return
        status = child.report.status if child.report is not None else "interrupted"
        loop.services.tasks.end(child.id, outcome_of(status), status.replace("_", " "))
        services.news.pass_to(loop.services.news)
        self._parent.store.release(child.id)


def _control(child: Child, tasks: TaskBoard) -> TaskControl:
    def pause(task_id: str) -> None:
        child.watch.pause()
        tasks.update(task_id, state="paused")

    def resume(task_id: str) -> None:
        tasks.update(task_id, state="running")
        child.watch.resume()

    return TaskControl(lambda _: child.stop("stopped", "The person stopped it."), pause, resume)


def _then(first: Callable[[Child], None], second: Callable[[], None]) -> Callable[[Child], None]:
    def both(child: Child) -> None:
        try:
            first(child)
        finally:
            second()

    return both


def _title(task: AgentTask) -> str:
    line = " ".join(task.goal.split("\n", 1)[0].split())
    return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1]}…"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
