"""Sub-agents that work behind the conversation: begun in one turn, told of when they are done."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_core.background.news import News
from agent_core.delegation.child import Child, Ears, outcome_of
from agent_core.delegation.making import Plan
from agent_core.delegation.reports import bounded
from agent_core.interrupt import CancelToken
from tools.approval.questions import Answer, Question
from tools.context import AgentBegun, AgentReport, ToolContext
from tools.errors import ToolError, ToolInterrupted
from tools.ports import Interrupt

if TYPE_CHECKING:
    from agent_core.delegation.delegator import TurnDelegation

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
    limits, workspace = delegation.limits, delegation.workspace
    if not limits.background:
        raise ToolError("Nothing can be delegated in the background here: leave background out, and wait for it.")
    most, at_work = delegation.most_behind, len(workspace.children.behind())
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
            spent=delegation.spend_behind,
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
            delegation.tell(News(child.id, "ended", _headline(report), text, outcome=outcome), lambda: leave(child))
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
