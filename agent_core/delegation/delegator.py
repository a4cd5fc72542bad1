"""Has sub-agents do work for one turn: side by side, in the background, or on copies of the work tree.

Implements `tools.context.Delegation`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.background_tasks import News, TaskBoard, TaskControl
from agent_core.cancel import CancelToken
from agent_core.delegation.settings import DelegationSettings
from agent_core.delegation.subagent import (
    Agent,
    Child,
    Ears,
    LiveText,
    Parent,
    Plan,
    Silence,
    bounded,
    child_services,
    child_workspace,
    make_agent,
    outcome_of,
    planned,
)
from agent_core.delegation.worktree import Change, Copy, how_to_apply, make_copy, remove_emptied
from agent_core.services import SessionServices
from agent_core.settings.sections import DelegationPart
from agent_core.workspace import CallIdentity, Workspace
from tools.approval.questions import Answer, Approver, Question
from tools.context import AgentBegun, AgentReport, AgentTask, DelegationLimits, ToolContext
from tools.environments.output import save_text
from tools.errors import Denied, FileAccessError, ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.result import ShownDiff

if TYPE_CHECKING:
    from agent_core.providers.base import Usage
    from agent_core.turn import Turn


# Several sub-agents side by side: so many at once, the others in line, each given up that gives no sign.

_GRACE = 0.2
"""Seconds that those who were interrupted get to end by themselves; the turn is answered soon after."""

_STALE_GRACE = 5.0
"""The same for one that was given up, while others go on."""

_LONGEST_LOOK = 60.0


@dataclass(frozen=True, slots=True)
class Crew:
    """Runs `children` until all are over.

    Attributes:
        part: how many work at the same time, and when one is given up.
        interrupt: ends all of it; each child's `on_end` notifies it.
        is_asking: whether a tool call of that id waits for the person, which is no silence.
    """

    children: Sequence[Child]
    part: DelegationPart
    interrupt: Interrupt
    is_asking: Callable[[str], bool]

    def run(self) -> None:
        """Blocks until every child has a report.

        Raises:
            ToolInterrupted: the turn is over; every child was told to end.
        """
        waiting, working = deque(self.children), list[Child]()
        while waiting or working:
            while waiting and len(working) < self.part.max_concurrent_children:
                child = waiting.popleft()
                if child.is_over:
                    continue
                working.append(child)
                child.start()
            self.interrupt.wait_for(_one_is_over(working), self._next_look(working))
            if self.interrupt.is_set():
                self._interrupt(working)
                raise ToolInterrupted
            for child in working:
                self._look_after(child)
            working = [child for child in working if not child.is_over]

    def _look_after(self, child: Child) -> None:
        if child.is_over:
            return
        if child.stopped_at is not None:
            if child.watch.seconds - child.stopped_at >= _STALE_GRACE:
                child.abandon()
            return
        part, silence = self.part, child.watch.silence()
        if part.timeout and child.watch.seconds >= part.timeout:
            child.stop("stale", f"It was ended after {part.timeout:g} seconds, as delegation.timeout says.")
        elif not self._may_be_silent(child) and silence.seconds >= self._longest(silence):
            where = f"in {silence.tool}" if silence.tool else "from its model"
            child.stop("stale", f"It was given up: no sign {where} for {silence.seconds:.0f} seconds.")

    def _may_be_silent(self, child: Child) -> bool:
        return child.watch.is_paused or any(map(self.is_asking, child.watch.open_calls()))

    def _next_look(self, working: Sequence[Child]) -> float:
        """Seconds until the first of them could be given up."""
        return max(0.01, min((self._patience_with(child) for child in working), default=_LONGEST_LOOK))

    def _patience_with(self, child: Child) -> float:
        if child.stopped_at is not None:
            return _STALE_GRACE - (child.watch.seconds - child.stopped_at)
        silence = child.watch.silence()
        left = self._longest(silence) - silence.seconds
        if self._may_be_silent(child):
            left = _LONGEST_LOOK
        if self.part.timeout:
            left = min(left, self.part.timeout - child.watch.seconds)
        return min(left, _LONGEST_LOOK)

    def _longest(self, silence: Silence) -> float:
        return self.part.tool_seconds if silence.tool else self.part.idle_seconds

    @staticmethod
    def _interrupt(working: Sequence[Child]) -> None:
        until = time.monotonic() + _GRACE
        for child in working:
            child.stop("interrupted", "It was interrupted.")
        for child in working:
            child.join(max(0.0, until - time.monotonic()))
            if not child.is_over:
                child.abandon()


def _one_is_over(working: Sequence[Child]) -> Callable[[], bool]:
    return lambda: any(child.is_over for child in working)


# The delegation of one turn.

_ID_BYTES = 6
_LONGEST_TITLE = 120


class TurnDelegation:
    """The sub-agents of one turn. They work in its session's workspace, and tell its listeners what they do."""

    def __init__(self, parent: Parent, settings: DelegationSettings, turn: Turn) -> None:
        self._parent = parent
        self.settings = settings
        self._turn = turn
        self._counting = threading.Lock()

    @property
    def limits(self) -> DelegationLimits:
        """How much may be delegated here."""
        return self.settings.limits

    @property
    def workspace(self) -> Workspace:
        """Where the agent works that delegates."""
        return self._parent.loop.workspace

    @property
    def services(self) -> SessionServices:
        """What that agent keeps."""
        return self._parent.loop.services

    def run(self, tasks: Sequence[AgentTask], call: ToolContext, *, isolated: bool = False) -> Sequence[AgentReport]:
        """Do all tasks and wait; a report for each, in their order.

        Raises:
            ToolError: a task cannot be begun as it is; none was.
            ToolInterrupted: the turn is over; every sub-agent was told to end.
        """
        plans = [planned(task, self._parent, self.settings) for task in tasks]
        if isolated:
            return run_isolated(self, plans, call)
        return [bounded(report, len(tasks), call, self.file_of) for report in self.work(plans, call)]

    def begin(self, tasks: Sequence[AgentTask], call: ToolContext) -> Sequence[AgentBegun]:
        """Begin all tasks in the background.

        Raises:
            ToolError: a task cannot be begun as it is, or nothing may go on in the background here.
        """
        return begin_in_background(self, [planned(task, self._parent, self.settings) for task in tasks], call)

    def copy(self, name: str, interrupt: Interrupt) -> Copy:
        """A copy of the session's work tree.

        Raises:
            ToolError: there can be none.
            ToolInterrupted: the turn is over.
        """
        if self.settings.copies is None or self.settings.workspace_at is None:
            raise ToolError("There are no copies to work on here: leave out isolated.")
        if self.workspace.elsewhere is not None:
            raise ToolError("On another machine there are no copies to work on: leave out isolated.")
        return make_copy(self.workspace.cwd, self.settings.copies, name, interrupt)

    def workspace_at(self, copy: Copy) -> Workspace:
        """The session's workspace with a copy in place of its directories; to be closed."""
        assert self.settings.workspace_at is not None  # noqa: S101 - there would be no copy
        places = (copy.place_of(Path(os.path.realpath(root))) for root in self.workspace.roots)
        return self.settings.workspace_at(self.workspace, tuple(places))

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
        return Crew(children, self.settings.part, call.interrupt, self.workspace.approvals.queue.is_asking)

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

        def make() -> Agent:
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

    def _spend(self, usage: Usage, cost: float | None) -> None:
        with self._counting:
            self._turn.count(usage, cost)
        self.services.spend(usage, cost)

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


# Sub-agents that work behind the conversation: begun in one turn, told of when they are done.

log = logging.getLogger(__name__)


class NobodyBehind:
    """The approver of those who work behind the conversation: nobody may be looking, so every question is a no."""

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:  # noqa: ARG002 - the port's signature
        """Refuse."""
        return Answer(
            allowed=False,
            note="a sub-agent in the background cannot ask; say in your report what has to be done with consent",
        )


def begin_in_background(delegation: TurnDelegation, plans: Sequence[Plan], call: ToolContext) -> list[AgentBegun]:
    """Begin what is planned; the session hears of each that is done.

    Raises:
        ToolError: nothing, or no more, may go on in the background here.
    """
    workspace, most = delegation.workspace, delegation.settings.part.max_background_children
    if not delegation.limits.background:
        raise ToolError("Nothing can be delegated in the background here: leave background out, and wait for it.")
    at_work = len(workspace.children.behind())
    if at_work + len(plans) > most:
        raise ToolError(
            f"At most {most} sub-agents work in the background, and {at_work} do already. "
            "Wait until you are told of one that is done, or leave background out."
        )
    # It outlives the turn: the session's end, or the person, ends it.
    token = CancelToken()
    children = [
        delegation.child(
            plan,
            number,
            ears=Ears(),
            call_id=call.tool_call_id,
            # It is the session's, and no turn's.
            spent=delegation.services.spend,
            approver=NobodyBehind(),
            tells=True,
        )
        for number, plan in enumerate(plans, 1)
    ]
    behind = replace(call, interrupt=token)
    for child in children:
        workspace.children.put_behind(child.id)
        child.on_end = _telling(delegation, child, behind, len(children))
    threading.Thread(target=_run, args=(delegation, children, behind), name="delegation", daemon=True).start()
    return [AgentBegun(child.id, child.task.goal) for child in children]


def _run(delegation: TurnDelegation, children: Sequence[Child], call: ToolContext) -> None:
    try:
        delegation.crew(children, call).run()
    except ToolInterrupted:
        log.info("sub-agents in the background were ended with their session")
    except Exception:
        # Nobody waits for this thread.
        log.exception("sub-agents in the background failed")


def _telling(delegation: TurnDelegation, child: Child, call: ToolContext, together: int) -> Callable[[Child], None]:
    leave = child.on_end

    def over(child: Child) -> None:
        try:
            if child.report is None or child.report.status == "interrupted":
                return
            report = bounded(child.report, together, call, delegation.file_of)
            # Stored before its task is over: were the process to die in between, nobody would hear of it.
            text, outcome = _text(report, call.session_id), outcome_of(report.status)
            news = News(child.id, "ended", _headline(report), text, outcome=outcome)
            delegation.services.news.put(news, lambda: leave(child))
        finally:
            leave(child)
            call.interrupt.notify()

    return over


def _headline(report: AgentReport) -> str:
    goal = " ".join(report.goal.split("\n", 1)[0].split())
    return f"A sub-agent is {'done' if report.status == 'done' else report.status.replace('_', ' ')}: {goal[:100]}"


def _text(report: AgentReport, session_id: str) -> str:
    facts = {
        "agent": report.agent,
        "status": report.status,
        "files_changed": [str(path) for path in report.files],
        "tools": dict(report.calls),
        "seconds": round(report.seconds, 1),
    }
    note = f"\n{report.note}" if report.note else ""
    told = report.told_summary(session_id)
    return f"Your sub-agent {report.agent} ended. {json.dumps(facts, ensure_ascii=False)}\n{told}{note}"


# What the person and the model are told of a copy that is kept, because not all of it was brought back.

_MOST_NAMED = 20
_GOAL_CHARS = 200


def kept(copy: Copy, report: AgentReport, changes: Sequence[Change]) -> News:
    """The news that these were not brought back, because the turn was over."""
    names = [str(change.path) for change in changes[:_MOST_NAMED]] or ["what it is, git could not tell"]
    more = f", and {len(changes) - _MOST_NAMED} more" if len(changes) > _MOST_NAMED else ""
    title = f"Work of a sub-agent was not all brought back, and is kept for a week: {copy.tree}"
    return _news(copy, report, title, f"the turn was cancelled. Not brought back: {', '.join(names)}{more}.")


def crashed(copy: Copy, report: AgentReport) -> News:
    """The same for the next process, where this one does not come to tell: what is open is what has a patch."""
    title = f"Work of a sub-agent may not be all brought back, and is kept for a week: {copy.tree}"
    return _news(copy, report, title, "the agent's process died. What has no patch any more is brought back.")


def _news(copy: Copy, report: AgentReport, title: str, why: str) -> News:
    goal = " ".join(report.goal.split())[:_GOAL_CHARS]
    text = (
        f"The sub-agent {report.agent} had done its work on a copy (`{goal}`), and its changes were being brought "
        f"back when {why}{_of_a_copy(copy)} All of its work is in {copy.tree}, for a week. {_rest(copy)}"
    )
    return News(report.agent, "told", title, text)


def _of_a_copy(copy: Copy) -> str:
    if copy.origin == copy.top:
        return ""
    return " That was to another copy, which is given up: of what was brought back to it nothing may be there."


def _rest(copy: Copy) -> str:
    if not copy.rest.exists():
        return "There are no patches of it. Take from it only what the person wants."
    return f"This brings the rest back: `{_command(copy)}`. Do it only if the person wants it."


def _command(copy: Copy) -> str:
    return how_to_apply(copy.origin, copy.rest, settled=copy.origin != copy.top)


# Sub-agents that work on copies: what they change is brought back as edits of the call that delegates.

_COPY_ID_BYTES = 4


def run_isolated(delegation: TurnDelegation, plans: Sequence[Plan], call: ToolContext) -> list[AgentReport]:
    """Do what is planned, each on a copy of the session's work tree; then bring back what was changed.

    Raises:
        ToolError: there can be no copies here.
        ToolInterrupted: the turn is over; the copies are gone, but those of which something was still to be brought
            back: the person and the model are told of these.
    """
    with contextlib.ExitStack() as stack:
        copies, there = [], []
        for plan in plans:
            copy = delegation.copy(f"copy-{secrets.token_hex(_COPY_ID_BYTES)}", call.interrupt)
            stack.callback(copy.drop)
            workspace = delegation.workspace_at(copy)
            stack.callback(workspace.close)
            copies.append(copy)
            # Its sub-agents are among the session's, which ends them.
            there.append(replace(plan, workspace=replace(workspace, children=delegation.workspace.children)))
        reports = delegation.work(there, call)
        returns = [_set_aside(copy, report, delegation) for copy, report in zip(copies, reports, strict=True)]
        told = list[AgentReport]()
        try:
            for each in returns:
                told.append(bounded(_brought_back(each, call), len(plans), call, delegation.file_of))
                each.forget()
        except BaseException:
            # Their work is done, and would be lost.
            for each in returns[len(told) :]:
                _keep(each, call, delegation)
            raise
        return told


@dataclass(slots=True)
class _Return:
    """A copy whose changes come back.

    Attributes:
        changes: by the number of their patch; those that are settled go.
        problem: why nothing can be brought back.
        forget: what the session was to know after a crash is not true any more.
    """

    copy: Copy
    report: AgentReport
    changes: dict[int, Change] = field(default_factory=dict)
    patch: Path | None = None
    problem: str = ""
    forget: Callable[[], None] = lambda: None


def _set_aside(copy: Copy, report: AgentReport, delegation: TurnDelegation) -> _Return:
    """Whatever happens from now on, the work in a copy is not lost."""
    try:
        changes = copy.changes()
        if not changes:
            return _Return(copy, report)
        patch = copy.set_aside(changes)
    except (ToolError, OSError) as problem:
        copy.keep()
        return _Return(copy, report, problem=f"{problem}")
    file = delegation.file_of(f"{report.agent}-patch")
    saved = None if file is None else save_text(patch.decode("utf-8", "replace"), file)
    forget = delegation.services.news.hold(crashed(copy, report))
    return _Return(copy, report, dict(enumerate(changes)), None if saved is None else saved.path, forget=forget)


def _keep(each: _Return, call: ToolContext, delegation: TurnDelegation) -> None:
    """Keep a copy in which something is left, and tell the person and the model where."""
    copy = each.copy
    if each.changes or each.problem:
        copy.keep()
        # The command is for later, when any other copy that this one was made of is gone.
        how = f"To have it: {_command(copy)}" if copy.rest.exists() else ""
        call.progress(f"Not brought back, and kept for a week: {copy.tree}\n{how}\n")
        delegation.services.news.put(kept(copy, each.report, list(each.changes.values())), each.forget)
    else:
        each.forget()


def _brought_back(each: _Return, call: ToolContext) -> AgentReport:
    """The report with what became of the changes. Each is an edit that the person is asked about as about any other.

    What cannot be brought back stays in the copy, which is kept then.
    """
    copy, report, changes = each.copy, each.report, dict(each.changes)
    if each.problem:
        return replace(report, files=(), kept=f"{each.problem} The copy is kept: {copy.tree}")
    if not changes:
        return replace(report, files=())
    call.progress(f"{len(changes)} changed files come back. Until then they are in {copy.tree}\n")
    brought, open_ones, refused = list[Path](), list[str](), list[str]()
    # A file may have taken the place of a directory.
    for number, change in sorted(changes.items(), key=lambda each: each[1].after is not None):
        path = copy.top / change.path
        if change.before is None and any(path in gone.parents for gone in brought):
            remove_emptied(path)
        why, is_refused = _bring(change, path, call)
        if not why:
            brought.append(path)
            if change.is_made_executable:
                refused.append(f"{change.path} is brought back, but may not be executed yet: chmod +x it")
        else:
            (refused if is_refused else open_ones).append(f"{change.path} {why}")
        if not why or is_refused:
            copy.settled(number)
            del each.changes[number]
    if open_ones:
        copy.keep()
    return replace(
        report,
        files=tuple(copy.top / change.path for change in changes.values()),
        brought=tuple(brought),
        patch=each.patch,
        kept=_told_open(open_ones, refused, copy),
        diffs=tuple(diff for change in changes.values() if (diff := _diff(change, copy)) is not None),
    )


def _bring(change: Change, path: Path, call: ToolContext) -> tuple[str, bool]:
    """Make a change in the session's directory; why not, if it cannot be made, and whether the person said no."""
    if change.obstacle:
        return change.obstacle, False
    try:
        if change.after is None:
            call.fs.remove(path, expected=change.before or b"")
        else:
            call.fs.write(path, change.after, expected=change.before)
    except Denied as no:
        return f"was refused: {no}", True
    except FileAccessError as problem:
        return f"is another now than when the copy was made: {problem}", False
    return "", False


def _told_open(open_ones: Sequence[str], refused: Sequence[str], copy: Copy) -> str:
    parts = [*refused, *open_ones]
    if not parts:
        return ""
    more = f"; and {len(parts) - _MOST_NAMED} more" if len(parts) > _MOST_NAMED else ""
    how = f"To have it: {how_to_apply(copy.top, copy.rest)}" if copy.rest.exists() else ""
    where = f" The copy is kept for a week: {copy.tree} {how}" if open_ones else ""
    return f"{'; '.join(parts[:_MOST_NAMED])}{more}.{where}"


def _diff(change: Change, copy: Copy) -> ShownDiff | None:
    contents = (change.before, change.after)
    if change.obstacle or any(b"\0" in content for content in contents if content is not None):
        return None
    before, after = (None if content is None else content.decode("utf-8", "replace") for content in contents)
    return ShownDiff(copy.top / change.path, before, after)
