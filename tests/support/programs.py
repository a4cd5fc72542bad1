"""Programs that call tools, in real turns of a real agent: a model plays one call of `execute_code`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent_core.agent import AIAgent
from agent_core.callbacks import AgentCallbacks, CallFinished, CallRequested
from agent_core.cancel import CancelToken
from agent_core.hooks.session_hooks import SessionHooks
from agent_core.loop import AgentSettings, runners_of
from agent_core.model_request.caller import Patience
from agent_core.providers.lessons import Lessons
from agent_core.services import SessionServices
from agent_core.settings.sections import SandboxPart
from agent_core.tool_calls import NestedCalls, ToolRunner
from agent_core.turn import IterationBudget, Turn
from agent_core.workspace import Workspace, local_workspace
from agent_core.workspace_factory import containment_of
from tests.support.agents import TEST_TOOLS, Ears
from tests.support.choices import choice_for
from tests.support.scripted_provider import ScriptedProvider, says, uses
from tests.support.tool_context import ScriptedApprover, value_of
from tools.approval.gate import Gate
from tools.approval.policy import Mode
from tools.environments.containment import Containment
from tools.environments.guardian import Guardian
from tools.environments.sandbox.probe import probe
from tools.ports import Programs
from tools.result import ToolResult
from tools.settings import ProgramSettings, ToolSettings

needs_sandbox = pytest.mark.skipif(not any(each.works for each in probe()), reason="no sandbox works on this machine")
ALL = "from hermes_tools import *\nimport hermes_tools\n"
"""What most programs of these tests begin with."""


@dataclass
class ProgramBench:
    """A session in `cwd` whose model runs programs.

    Attributes:
        ears: what the last turn told.
        results: of its calls, as the model gets them.
    """

    cwd: Path
    workspace: Workspace
    approver: ScriptedApprover
    options: dict[str, Any]
    ears: Ears = field(default_factory=Ears)

    def agent(self, *codes: str) -> AIAgent:
        """An agent whose model runs these programs, one an answer."""
        scripts = [uses((f"p{number}", "execute_code", {"code": code})) for number, code in enumerate(codes, 1)]
        provider = ScriptedProvider(*scripts, says("done"))
        return AIAgent(
            "test-model",
            provider,
            workspace=self.workspace,
            enabled_toolsets=("hermes-acp", TEST_TOOLS),
            settings=AgentSettings(patience=Patience(attempts=1)),
            **self.options,
        )

    def runners(self) -> tuple[ToolRunner, NestedCalls]:
        """What runs calls, and what these make, in a turn that asks no model."""
        route = SimpleNamespace(choice=choice_for("http://127.0.0.1:1/v1"), lessons=Lessons())
        turn = Turn(
            "turn-1",
            "task-1",
            "",
            CancelToken(),
            IterationBudget(10),
            cast("Any", None),
            cast("Any", None),
            cast("Any", route),
            AgentCallbacks(tool_progress_callback=lambda _: None),
            SessionHooks(),
            "acp",
        )
        offered = frozenset({"execute_code", "read_file", "terminal"})
        return runners_of(turn, "session-1", self.workspace, SessionServices(), offered)

    def programs(self) -> Programs:
        """Who runs programs, behind a gate of a call's."""
        assert self.workspace.programs is not None
        gate = Gate(self.workspace.approvals, "p1", CancelToken(), lambda _: None)
        return self.workspace.programs(gate)

    def run(self, *codes: str) -> dict[str, Any]:
        """Run programs in one turn; what is known of the last one."""
        self.ears = Ears()
        self.agent(*codes).run_conversation("go", callbacks=self.ears.callbacks())
        return value_of(self.result(f"p{len(codes)}"))

    def told(self, *codes: str) -> str:
        """Run programs in one turn; the text that the model gets of the last one."""
        self.ears = Ears()
        result = self.agent(*codes).run_conversation("go", callbacks=self.ears.callbacks())
        return [str(message["content"]) for message in result["messages"] if message["role"] == "tool"][-1]

    def output(self, *codes: str) -> str:
        """The same; what the last one printed. It has to have ended well."""
        payload = self.run(*codes)
        assert payload.get("exit_code") == 0, payload
        return str(payload["output"])

    def result(self, call: str = "p1") -> ToolResult:
        """A call's result before it became text for the model."""
        return self.ears.finished(call).result

    def nested(self) -> list[CallRequested]:
        """The calls that programs have made."""
        return [step for step in self.ears.of("tool") if isinstance(step, CallRequested) and step.parent]

    def finished(self) -> dict[str, CallFinished]:
        """All calls that have ended, by id."""
        return {step.call_id: step for step in self.ears.of("tool") if isinstance(step, CallFinished)}


@contextmanager
def program_bench(
    cwd: Path,
    *,
    sandboxed: bool = False,
    mode: Mode = "dont_ask",
    programs: ProgramSettings | None = None,
    private: Path | None = None,
    **options: Any,
) -> Iterator[ProgramBench]:
    """A session of which nothing is left in the end.

    Args:
        sandboxed: its commands are confined by what this machine has.
        private: the program's home; none when None.
        options: of the agent, or `history` of the workspace.
    """
    guardian, approver = Guardian(), ScriptedApprover()
    own = private or cwd.parent / "no-home"
    containment = containment_of(SandboxPart(caches=False), (cwd,), own) if sandboxed else Containment()
    given = {name: options.pop(name) for name in ("history", "output_file") if name in options}
    workspace = local_workspace(
        cwd,
        guardian=guardian,
        mode=mode,
        approver=approver,
        containment=containment,
        settings=replace(ToolSettings(), programs=programs or ProgramSettings()),
        **given,
    )
    try:
        yield ProgramBench(cwd, workspace, approver, options)
    finally:
        workspace.close()
        guardian.kill_all()
