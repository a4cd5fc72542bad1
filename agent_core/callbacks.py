"""What the agent tells whoever runs it, while it works.

Callbacks come on worker threads: those of the model's answer in order, on one thread; those of tool calls that run
side by side each from its own thread, in order for each call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from agent_core.compaction.engine import Compaction
from agent_core.messages import Message
from agent_core.providers.base import FinishReason, Usage
from tools.context import TodoItem
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.result import ToolResult

if TYPE_CHECKING:
    from tools.agent_ports import PersonAnswer, PersonPage, PersonQuestion


@dataclass(frozen=True, slots=True)
class CallRequested:
    """A tool call's arguments are complete.

    `parent` is the call that makes it, '' for the model itself; `by` is the sub-agent that makes it, for the person.
    `cwd` is where relative paths start from, '' for the session's directory.
    """

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    parent: str = ""
    by: str = ""
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class CallRunning:
    """A tool call has been allowed and runs."""

    call_id: str


@dataclass(frozen=True, slots=True)
class CallOutput:
    """A running tool prints."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A tool call is over. `ran` is False when it was refused or came to nothing before it could have an effect."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    result: ToolResult
    ran: bool = True


ToolProgress = CallRequested | CallRunning | CallOutput | CallFinished


@dataclass(frozen=True, slots=True)
class Step:
    """One model request is over.

    Attributes:
        iteration: counts from 1 in the turn.
        context_length: the model's window, in tokens; None where it is not known.
        estimated: tokens of its prompt, where the server does not count them.
        model: which model answered, as provider:model.
        cost: of this request, in US dollars; None where the price or a count is not known.
        session_cost: of the session so far, likewise.
        began: when it was asked, in seconds since the epoch; 0 where that is not known.
    """

    iteration: int
    finish: FinishReason
    usage: Usage
    context_length: int | None = None
    estimated: int = 0
    model: str = ""
    cost: float | None = None
    session_cost: float | None = None
    began: float = 0.0


@dataclass(frozen=True, slots=True)
class CompressionStep:
    """How far a compression of the conversation is.

    Attributes:
        state: «running» is told only of one that takes its time.
        made: what it is, once it is done; it is stored then.
        window: of the model that is asked next, in tokens; 0 where it is not known.
        session_cost: of the session so far, in US dollars; None where it is not known.
        error: why it failed, for the person.
    """

    state: Literal["running", "done", "failed", "cancelled"]
    made: Compaction | None = None
    window: int = 0
    session_cost: float | None = None
    error: str = ""


StatusKind = Literal[
    "background",
    "budget",
    "circle",
    "compression",
    "context",
    "copy",
    "empty",
    "ended",
    "fallback",
    "hook",
    "memory",
    "oversized",
    "refusal",
    "retry",
    "storage",
    "undelivered",
    "unknown_end",
    "unread",
    "unused",
]


@dataclass(frozen=True, slots=True)
class Status:
    """A notice about the turn itself: `kind` for programs, `text` for the person."""

    kind: StatusKind
    text: str


@dataclass(frozen=True, slots=True)
class AgentCallbacks:
    """The agent's listeners; any may be left out.

    Attributes:
        stream_delta_callback: text of the answer as it arrives.
        reasoning_callback: the model's reasoning as it arrives.
        thinking_callback: a note of the agent's own about what it does.
        tool_gen_callback: the model begins a tool call: (call id, tool name).
        tool_args_callback: the model has written more of the arguments of a call: (call id, JSON text).
        tool_progress_callback: a tool call's way from request to end.
        step_callback: after each model request.
        message_callback: after each message was stored.
        status_callback: notices about the turn.
        compression_callback: the conversation is being compressed, or was.
        ask_callback: put a question to the person and wait for the answer.
        plan_callback: the plan changed.
        mode_callback: the agent changed the session's permission mode.
    """

    stream_delta_callback: Callable[[str], None] | None = None
    reasoning_callback: Callable[[str], None] | None = None
    thinking_callback: Callable[[str], None] | None = None
    tool_gen_callback: Callable[[str, str], None] | None = None
    tool_args_callback: Callable[[str, str], None] | None = None
    tool_progress_callback: Callable[[ToolProgress], None] | None = None
    step_callback: Callable[[Step], None] | None = None
    message_callback: Callable[[Message], None] | None = None
    status_callback: Callable[[Status], None] | None = None
    compression_callback: Callable[[CompressionStep], None] | None = None
    ask_callback: Callable[[PersonQuestion | PersonPage, Interrupt], PersonAnswer] | None = None
    plan_callback: Callable[[tuple[TodoItem, ...]], None] | None = None
    mode_callback: Callable[[str], None] | None = None
