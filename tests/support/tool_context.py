"""A `ToolContext` over a temporary workspace: real files behind the real gate and policy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agent_core.cancel import CancelToken
from tools.approval.actions import Action
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Mode, Rules
from tools.approval.questions import Answer, Approver, NobodyToAsk, Question
from tools.context import AgentServices, TodoItem, ToolContext
from tools.dispatch import dispatch
from tools.environments.gated_commands import GatedEnvironment
from tools.environments.gated_ports import GatedFileSystem
from tools.environments.local_files import LocalFileSystem
from tools.errors import CommandError
from tools.ports import CommandOutcome, CommandSpec, Environment, Interrupt
from tools.result import ToolResult, reason_of
from tools.settings import ToolSettings
from tools.toolsets import load_builtin_tools

Choice = Literal["allow_once", "allow_session", "allow_prefix", "reject_once", "reject_always"]

ANSWERS: Mapping[Choice, Answer] = {
    "allow_once": Answer(allowed=True),
    "allow_session": Answer(allowed=True, scope="session"),
    "allow_prefix": Answer(allowed=True, scope="prefix"),
    "reject_once": Answer(allowed=False),
    "reject_always": Answer(allowed=False, scope="session"),
}


_FENCED = re.compile(r"\[untrusted (?P<number>\w{8}) [^\n]*\]\n(?P<text>.*)\n\[end (?P=number)\]", re.DOTALL)


def unfenced(text: str) -> str:
    """What is in the fence that the results of tools have which reach outside; other text as it is."""
    found = _FENCED.fullmatch(text)
    return found["text"] if found else text


@dataclass
class ScriptedApprover:
    """Answers every question with the same choice and remembers what was asked."""

    choice: Choice = "allow_once"
    asked: list[Action] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    before_answer: Callable[[], object] = lambda: None

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:
        self.asked.append(question.action)
        self.questions.append(question)
        self.before_answer()
        return ANSWERS[self.choice]


class NoTerminal:
    """The environment of a test that runs no commands."""

    def run(self, spec: CommandSpec, on_output: Callable[[str], None], interrupt: Interrupt) -> CommandOutcome:
        raise CommandError("This test has no terminal.")

    def close(self) -> None:
        return


@dataclass
class PlanInMemory:
    """The agent's services for tests of the plan."""

    items: tuple[TodoItem, ...] = ()

    def todos(self) -> Sequence[TodoItem]:
        return self.items

    def set_todos(self, items: Sequence[TodoItem]) -> None:
        self.items = tuple(items)


def make_context(
    cwd: Path,
    mode: Mode = "accept_edits",
    approver: Approver | None = None,
    *,
    terminal: Environment | None = None,
    agent: AgentServices | None = None,
    settings: ToolSettings | None = None,
    interrupt: CancelToken | None = None,
    progress: Callable[[str], None] = lambda _text: None,
) -> ToolContext:
    """A context whose only root is `cwd`. Without an approver, whatever has to be asked for is refused."""
    token = interrupt or CancelToken()
    limits = settings or ToolSettings()
    approvals = Approvals(Rules(roots=(cwd.resolve(),)), mode, approver or NobodyToAsk())
    gate = Gate(approvals, "call-1", token, on_allowed=lambda _action: None)
    return ToolContext(
        task_id="task-1",
        session_id="session-1",
        tool_call_id="call-1",
        cwd=cwd,
        roots=(cwd,),
        fs=GatedFileSystem(LocalFileSystem(limits.search, token), gate),
        terminal=GatedEnvironment(terminal or NoTerminal(), gate),
        interrupt=token,
        progress=progress,
        settings=limits,
        agent=agent,
    )


def call(ctx: ToolContext, name: str, /, **args: Any) -> ToolResult:
    """Run a tool of the program's own, or one that the test has registered, the way the agent does."""
    load_builtin_tools()
    return dispatch(name, args, ctx)


def payload(result: ToolResult) -> dict[str, Any]:
    """What a program gets of a call that worked."""
    assert not result.failed, result.text
    return value_of(result)


def value_of(result: ToolResult) -> dict[str, Any]:
    """What a program gets of a call, whether it worked or not."""
    value = json.loads(unfenced(result.text)) if result.value is None else dict(result.value())
    assert isinstance(value, dict)
    return value


def body_of(result: ToolResult) -> str:
    """The text that the model gets of a call that worked, without the last line in brackets."""
    assert not result.failed, result.text
    body, line = split_result(unfenced(result.text))
    assert line, result.text
    return body


def page_of(result: ToolResult) -> dict[str, Any]:
    """What a program gets of a file that was read, with the numbered lines that the model gets as `content`."""
    text = unfenced(result.text)
    body, line = split_result(text)
    return {**payload(result), "content": body if line else text}


def split_result(text: str) -> tuple[str, str]:
    """A result's text, and what its last line in brackets says; '' where it has none."""
    body, _, line = text.rpartition("\n")
    return (body, line[1:-1]) if line.startswith("[") and line.endswith("]") else (text, "")


def told_in(text: str) -> dict[str, Any]:
    """What a result's text says, as a value: of JSON the object, of a failure its `error`, else `body` and `line`."""
    if text.startswith("{"):
        value: dict[str, Any] = json.loads(text)
        return value
    if (said := reason_of(text)) != text:
        return {"error": said}
    body, line = split_result(text)
    return {"body": body, "line": line}


def error_of(result: ToolResult) -> str:
    """The message that the model gets of a call that failed."""
    assert result.failed, result.text
    return unfenced(reason_of(result.text))
