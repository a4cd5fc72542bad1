"""A prompt's links read in a temporary workspace: real files behind the real gate, the calls taken down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from acp_adapter.content import Draft, Limits
from acp_adapter.linked_files import LinkCalls, filled
from agent_core.callbacks import CallFinished, CallRequested, CallRunning, ToolProgress
from agent_core.cancel import CancelToken
from agent_core.events import SaidLink
from tests.support.tool_context import ScriptedApprover, make_context
from tools.approval.actions import Action
from tools.approval.gate import Approvals, Gate
from tools.approval.policy import Rules
from tools.context import ToolContext
from tools.environments.gated_ports import GatedFileSystem
from tools.environments.local_files import LocalFileSystem


@dataclass
class LinkBench:
    """Reads links in `cwd`. `approver` answers what has to be asked; `told` is how the calls went."""

    cwd: Path
    approver: ScriptedApprover = field(default_factory=ScriptedApprover)
    token: CancelToken = field(default_factory=CancelToken)
    told: list[ToolProgress] = field(default_factory=list)

    def read(self, *uris: str, limits: Limits | None = None, name: str = "") -> Any:
        """The content of a prompt that is nothing but links."""
        return self.fill(Draft(tuple(SaidLink(uri, name or uri.rpartition("/")[2]) for uri in uris)), limits)

    def fill(self, draft: Draft, limits: Limits | None = None) -> Any:
        base = make_context(self.cwd, "default", self.approver, interrupt=self.token)
        approvals = Approvals(Rules(roots=(self.cwd.resolve(),)), "default", self.approver)

        def context(call_id: str, on_allowed: Callable[[Action], None]) -> ToolContext:
            gate = Gate(approvals, call_id, self.token, on_allowed)
            files = GatedFileSystem(LocalFileSystem(interrupt=self.token), gate)
            return replace(base, tool_call_id=call_id, fs=files)

        return filled(draft, LinkCalls(context, self.told.append, "turn"), limits)

    @property
    def asked(self) -> list[Path]:
        return [action.path for action in self.approver.asked if hasattr(action, "path")]

    @property
    def story(self) -> list[tuple[str, str]]:
        """Each call's steps: (`call id`, `requested` | `running` | `completed` | `failed`)."""
        return [(event.call_id, _step(event)) for event in self.told]


def _step(event: ToolProgress) -> str:
    match event:
        case CallRequested():
            return "requested"
        case CallRunning():
            return "running"
        case CallFinished(result=result):
            return "failed" if result.failed else "completed"
    raise AssertionError(event)
