"""What happens in a session, in no protocol's words: the live turn shows these, a stored session replays them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Literal

from agent_core.messages import is_interrupted
from agent_core.settings.options import Option
from tools.context import TodoItem
from tools.light_dataclass import dataclass
from tools.result import ShownText, ToolResult, reason_of

# What a person sent in one prompt: a stored session shows it again as it was. Data is base64 text, as it came.

_WAV = frozenset({"wav", "wave", "vnd.wave"})
_MP3 = frozenset({"mp3", "mpeg", "mpeg3"})
_NOT_IN_FORMATS = re.compile(r"[^a-z0-9.+-]")
_LONGEST_FORMAT = 32


@dataclass(frozen=True, slots=True)
class SaidText:
    """Words."""

    text: str


@dataclass(frozen=True, slots=True)
class SaidImage:
    """A picture. `uri` tells where it is from, '' if that is not known."""

    mime_type: str
    data: str
    uri: str = ""


@dataclass(frozen=True, slots=True)
class SaidAudio:
    """A recording."""

    mime_type: str
    data: str


@dataclass(frozen=True, slots=True)
class SaidLink:
    """A mention of something by its address: a file, a symbol."""

    uri: str
    name: str
    mime_type: str = ""
    title: str = ""
    description: str = ""
    size: int | None = None


@dataclass(frozen=True, slots=True)
class SaidDocument:
    """Something with an address and its content: `text`, or `data` for what is not text; the other is None."""

    uri: str
    text: str | None
    data: str | None = None
    mime_type: str = ""


SaidPart = SaidText | SaidImage | SaidAudio | SaidLink | SaidDocument


def audio_format(mime_type: str) -> str:
    """The short name of a recording's format, as model servers know it: `wav`, `mp3`, else what the type says."""
    kind = mime_type.partition(";")[0].strip().lower().removeprefix("audio/").removeprefix("x-")
    if kind in _WAV:
        return "wav"
    return "mp3" if kind in _MP3 else _NOT_IN_FORMATS.sub("", kind)[:_LONGEST_FORMAT] or "unknown"


def audio_mime(name: str) -> str:
    """The media type of a recording's format."""
    return "audio/mpeg" if name == "mp3" else f"audio/{name}"


@dataclass(frozen=True, slots=True)
class UserSaid:
    """What the person sent. The live turn does not show it where the editor has it already."""

    message_id: str
    parts: tuple[SaidPart, ...]


@dataclass(frozen=True, slots=True)
class AgentText:
    """More of the agent's message `message_id`."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class AgentThought:
    """More of the agent's reasoning, or a note about what it does."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Noticed:
    """A notice about the turn, which is no part of the answer."""

    message_id: str
    text: str
    severity: Literal["info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True)
class ToolAnnounced:
    """The model began to write a tool call; its name is known, and the first of its arguments perhaps.

    `cwd` is the session's directory; `parent` is the call under whose card this one stands, '' for none.
    """

    call_id: str
    name: str
    cwd: str
    parent: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolRequested:
    """A tool call is complete and waits to run. `announced` tells whether it was seen before.

    `cwd` is the directory that relative paths in `arguments` start from; `parent` is as in `ToolAnnounced`.
    `by` is the sub-agent that makes the call, '' for the session's own agent.
    """

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    cwd: str
    announced: bool
    parent: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class ToolRunning:
    """A tool call was allowed and runs. `by` is as in `ToolRequested`."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    cwd: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """More of what the running tool `name` prints. `tail` is the end of everything printed so far, bounded."""

    call_id: str
    text: str
    tail: str
    name: str = "terminal"
    arguments: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class TerminalShown:
    """A running command's output is in a terminal of the front end's own. It is not there any more later on."""

    call_id: str
    terminal_id: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call is over. `ran` is False when it was refused or came to nothing before it could have an effect.

    `in_terminal` tells that the front end shows its output already, in a terminal of its own; `by` is as in
    `ToolRequested`.
    """

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    cwd: str
    result: ToolResult
    ran: bool = True
    in_terminal: bool = False
    by: str = ""


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The plan, complete."""

    items: tuple[TodoItem, ...]


@dataclass(frozen=True, slots=True)
class ContextUsed:
    """How much of the model's window the conversation fills, in tokens, and what the session has cost.

    `cost` is in US dollars, None where it is not known.
    """

    used: int
    size: int
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ContextCompacted:
    """The conversation was compressed: from here on the model is shown less of what was said before.

    Attributes:
        id: of this compression; the same when it goes on, and again when it is shown later.
        state: «running» comes first where it takes its time.
        before, after: what the model is shown, in tokens, estimated.
        summary: what it reads in place of a part of the conversation; '' where nothing was replaced.
        made_by: provider:model that wrote in the summary; '' where it was made by rule.
        error: why it failed, for the person.
    """

    id: str
    state: Literal["running", "done", "failed", "cancelled"]
    before: int = 0
    after: int = 0
    summary: str = ""
    made_by: str = ""
    error: str = ""

    @property
    def told(self) -> str:
        """What happens, in words for the person."""
        match self.state:
            case "running":
                return "Compressing the conversation…"
            case "failed":
                return f"The conversation was not compressed. {self.error}".rstrip()
            case "cancelled":
                return "Compressing the conversation was broken off; nothing was changed."
        how = f"{self.made_by} wrote the summary" if self.made_by else "by rule, no model wrote in it"
        if not self.summary:
            how = "old tool results are shown as one line each"
        return f"The conversation was compressed from ≈ {self.before:,} to ≈ {self.after:,} tokens ({how})."


@dataclass(frozen=True, slots=True)
class ModeChanged:
    """The session's permission mode is another."""

    mode: str


@dataclass(frozen=True, slots=True)
class OptionsOffered:
    """Everything that can be chosen for the session, complete."""

    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class SessionNamed:
    """The session has another title, or was used. `updated_at` is in seconds since the epoch."""

    title: str | None
    updated_at: float


@dataclass(frozen=True, slots=True)
class Command:
    """What a person can type as `/name`. `hint` says what may follow it, '' if nothing may."""

    name: str
    description: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class CommandsOffered:
    """The commands that there are, complete."""

    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class OwnTurn:
    """A turn that no prompt asked for begins, or is over.

    Attributes:
        stop: why it ended, as a prompt's answer says; «error» if it failed; '' while it runs.
    """

    state: Literal["running", "over"]
    stop: str = ""


SessionEvent = (
    UserSaid
    | AgentText
    | AgentThought
    | Noticed
    | ToolAnnounced
    | ToolRequested
    | ToolRunning
    | ToolOutput
    | TerminalShown
    | ToolFinished
    | PlanChanged
    | ContextUsed
    | ContextCompacted
    | ModeChanged
    | OptionsOffered
    | SessionNamed
    | CommandsOffered
    | OwnTurn
)


# What a call printed while it ran, as far as it is shown live, and what is left of it where the call broke off.

_TAIL_CHARS = 2_000


def tail_of(text: str) -> str:
    """The end of `text`, from the beginning of a line."""
    if len(text) <= _TAIL_CHARS:
        return text
    cut = text[-_TAIL_CHARS:]
    return cut[cut.find("\n") + 1 :]


def with_tail(result: ToolResult, tail: str) -> ToolResult:
    """A failure that has nothing to show but its reason keeps what the call printed before it broke off."""
    if not result.failed or not tail or (result.shown and not result.denied):
        return result
    return replace(result, shown=(ShownText(tail, ""), *(result.shown or (ShownText(readable_error(result.text)),))))


def readable_error(text: str) -> str:
    """The sentence in an error result, as the person reads it; other text as it is."""
    if is_interrupted(text):
        return "Stopped."
    return reason_of(text)
