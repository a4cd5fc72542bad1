"""A session's browser behind a real gate, for tests with pages on loopback servers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from agent_core.browser.gated_browser import GatedBrowser
from agent_core.browser.session_browser import SessionBrowser
from agent_core.cancel import CancelToken
from agent_core.service_loop import ServiceLoop
from tests.support.tool_context import ScriptedApprover, make_context
from tools.approval.actions import Action
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Mode, Rules
from tools.browser.port import can_browse, missing
from tools.context import LatePorts, ToolContext
from tools.environments.guardian import Guardian
from tools.settings import BrowserSettings
from tools.toolsets import load_builtin_tools

needs_browser = pytest.mark.skipif(not can_browse(), reason=missing())


@dataclass
class BrowserBench:
    """One browser; each `context` is another tool call. Close it at the end."""

    settings: BrowserSettings = field(default_factory=lambda: BrowserSettings.from_environment(os.environ))
    mode: Mode = "default"
    approver: ScriptedApprover = field(default_factory=ScriptedApprover)
    loop: ServiceLoop = field(default_factory=ServiceLoop)
    guardian: Guardian = field(default_factory=Guardian)
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def __post_init__(self) -> None:
        load_builtin_tools()
        self.browser = SessionBrowser(self.settings, self.loop, self.guardian, self.variables)

    def context(self, token: CancelToken | None = None) -> ToolContext:
        token = token or CancelToken()
        approvals = Approvals(Rules(roots=(Path("/srv/project"),)), self.mode, self.approver)
        gate = Gate(approvals, "call-1", token, on_allowed=lambda _action: None)
        ctx = make_context(Path("/srv/project"), interrupt=token)
        return replace(ctx, late=LatePorts(browser=lambda: GatedBrowser(self.browser, gate, self.settings)))

    def asked(self) -> list[Action]:
        """What was asked since the last time."""
        found, self.approver.asked = self.approver.asked, []
        return found

    def close(self) -> None:
        self.browser.close()
        self.loop.stop()
        self.guardian.kill_all()
