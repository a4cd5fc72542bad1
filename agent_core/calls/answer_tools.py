"""What runs the tool calls of one answer, and the calls that those make in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from agent_core.asking.reply import CallIds
from agent_core.calls.nested import NestedCalls, Refuse
from agent_core.calls.result_images import sees_images
from agent_core.calls.runner import ToolRunner
from agent_core.interrupt import CancelToken
from agent_core.services import SessionServices, TurnServices
from agent_core.turn.turn import Turn
from agent_core.workspace import Workspace
from tools.context import Delegation
from tools.files.seen import FilesSeen


def runners_of(
    turn: Turn,
    session_id: str,
    workspace: Workspace,
    session: SessionServices,
    offered: frozenset[str],
    *,
    delegation: Callable[[Turn], Delegation | None] = lambda _: None,
) -> tuple[ToolRunner, NestedCalls]:
    """Who runs the calls of an answer of the turn, and who runs what these call.

    Args:
        offered: the names of the tools that the model was told of.
        delegation: who has sub-agents work for a turn.
    """
    make = partial(
        ToolRunner,
        offered=offered,
        session_id=session_id,
        turn_id=turn.id,
        task_id=turn.task_id,
        listener=turn.callbacks.tool_progress_callback,
    )

    def services(nested: NestedCalls) -> TurnServices:
        return TurnServices(session, workspace.approvals, turn.callbacks, nested, lambda: delegation(turn))

    # It is given what it belongs to: if it kept that, the turn's history would wait for the collector.
    def nested_runner(
        nested: NestedCalls, parent: str, token: CancelToken, seen: FilesSeen, refuse: Refuse
    ) -> ToolRunner:
        here = replace(workspace, seen=seen, settings=workspace.settings.for_programs())
        return make(here, services(nested), token=token, refuse=refuse, parent=parent, for_program=True)

    nested = NestedCalls(
        turn, CallIds(session.call_ids), offered, workspace.seen, nested_runner, tools=workspace.tools
    )
    runner = make(
        workspace,
        services(nested),
        token=turn.token,
        images=sees_images(turn.route.lessons.adapted(turn.route.choice), session.omissions),
        window=turn.route.choice.context_length,
        refuse=turn.repeats.refusal,
    )
    return runner, nested
