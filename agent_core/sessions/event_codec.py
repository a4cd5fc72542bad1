"""Finished items of a turn ⇄ rows: a kind, the version of its form, and a JSON body."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agent_core.errors import StoreError
from agent_core.events import (
    AgentText,
    AgentThought,
    ContextCompacted,
    ContextUsed,
    Noticed,
    PlanChanged,
    SaidAudio,
    SaidDocument,
    SaidImage,
    SaidLink,
    SaidText,
    SessionEvent,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
    UserSaid,
)
from tools.context import TodoItem
from tools.light_dataclass import dataclass
from tools.quick_json import whole_text
from tools.result import ResultImage, ShownDiff, ShownOutput, ShownText, ToolResult

# Values that models and tools make up, as strict JSON holds them; and reading them back with care.
# A row must never fail because of what it holds. So this replaces what JSON or UTF-8 does not have, in the same way
# as the wire does: what is replayed then looks like what was shown live.

_MAX_DEPTH = 100
_MAX_BITS = 10_000  # Python writes no longer numbers as decimals

Body = Mapping[str, Any]


def plain_text(text: str) -> str:
    """`text` as a row holds it: `whole_text`, which every row's text passes."""
    return whole_text(text)


def plain(value: Any, depth: int = 0) -> Any:
    """`value` as JSON: numbers finite, keys text, bytes read as UTF-8, objects of other kinds as their text."""
    if depth > _MAX_DEPTH:
        return "… (nested too deeply)"
    match value:
        case str():
            return plain_text(value)
        case None | bool():
            return value
        case int():
            return value if value.bit_length() <= _MAX_BITS else hex(value)
        case float():
            return value if math.isfinite(value) else None
        case bytes() | bytearray():
            return value.decode("utf-8", "replace")
        case Mapping():
            return {plain_text(str(key)): plain(part, depth + 1) for key, part in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(part, depth + 1) for part in value]
    return plain_text(str(value))


# Objects ⇄ JSON objects, by tables. What is read is looked at, since one bit may make another value of what was
# stored: readers raise KeyError, TypeError or ValueError for what is damaged.

_NEEDED: Any = object()


@dataclass(frozen=True, slots=True)
class Field:
    """How an attribute is stored.

    Attributes:
        read: the value of its JSON; `write` is the other way.
        key: what it is called in a body, where that is not the attribute's name.
        default: what it is where a body has nothing; it is left out of bodies then.
    """

    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = plain
    key: str = ""
    default: Any = _NEEDED


class Shape:
    """How objects of a class are stored."""

    def __init__(self, made: Callable[..., Any], **fields: Field) -> None:
        self._made = made
        self._fields = [(name, each.key or name, each) for name, each in fields.items()]

    def body(self, value: object) -> dict[str, Any]:
        """An object as JSON."""
        held = ((key, each, getattr(value, name)) for name, key, each in self._fields)
        return {key: each.write(one) for key, each, one in held if each.default is _NEEDED or one != each.default}

    def read(self, body: Any) -> Any:
        """The object of a body."""
        if not isinstance(body, dict):
            raise TypeError(f"{body!r:.40} is not an object")
        return self._made(
            **{
                name: each.read(body[key]) if each.default is _NEEDED or key in body else each.default
                for name, key, each in self._fields
            }
        )


def _of(kind: type | tuple[type, ...]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"{value!r:.40} is of another kind")
        return value

    return read


def _maybe(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _choice(*choices: str) -> Field:
    def read(value: Any) -> Any:
        if value not in choices:
            raise ValueError(f"{value!r:.40} is none of {choices}")
        return value

    return Field(read)


def _several(read: Callable[[Any], Any], write: Callable[[Any], Any], default: Any = _NEEDED) -> Field:
    items = _of(list)
    return Field(
        lambda value: tuple(map(read, items(value))), lambda held: [write(each) for each in held], "", default
    )


def _one_of(**shapes: tuple[type, Shape]) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """How to read and write one of several classes, told apart by «kind»."""
    kinds = {made: kind for kind, (made, _) in shapes.items()}

    def read(value: Any) -> Any:
        return shapes[_of(dict)(value)["kind"]][1].read(value)

    def write(value: object) -> Any:
        kind = kinds[type(value)]
        return {"kind": kind, **shapes[kind][1].body(value)}

    return read, write


def _shape(made: type, **fields: Field) -> tuple[type, Shape]:
    return made, Shape(made, **fields)


_text, _number = _of(str), _of(int)
_TEXT, _NUMBER, _FLAG = Field(_text), Field(_number), Field(bool)
_ID = Field(_text, key="id")
_OR_EMPTY = Field(_text, default="")
_TEXT_OR_NONE, _NUMBER_OR_NONE = Field(_maybe(_text), default=None), Field(_maybe(_number), default=None)

_PART = _one_of(
    text=_shape(SaidText, text=_TEXT),
    image=_shape(SaidImage, mime_type=_TEXT, data=_TEXT, uri=_OR_EMPTY),
    audio=_shape(SaidAudio, mime_type=_TEXT, data=_TEXT),
    link=_shape(
        SaidLink,
        uri=_TEXT,
        name=_TEXT,
        mime_type=_OR_EMPTY,
        title=_OR_EMPTY,
        description=_OR_EMPTY,
        size=_NUMBER_OR_NONE,
    ),
    document=_shape(SaidDocument, uri=_TEXT, text=_TEXT_OR_NONE, data=_TEXT_OR_NONE, mime_type=_OR_EMPTY),
)
_SHOWN = _one_of(
    text=_shape(ShownText, text=_TEXT, language=_TEXT_OR_NONE),
    diff=_shape(ShownDiff, path=Field(lambda value: Path(_text(value))), before=_TEXT_OR_NONE, after=_TEXT_OR_NONE),
    output=_shape(ShownOutput, output=_TEXT, exit_code=_NUMBER_OR_NONE, signal=_TEXT_OR_NONE),
)
_IMAGE = Shape(
    ResultImage,
    data=Field(
        lambda value: base64.b64decode(_text(value), validate=True), lambda data: base64.b64encode(data).decode()
    ),
    mime_type=_TEXT,
    name=_TEXT,
)
_RESULT = Shape(
    ToolResult,
    text=_TEXT,
    failed=_FLAG,
    shown=_several(*_SHOWN, default=()),
    facts=Field(_of(dict), default={}),
    images=_several(_IMAGE.read, _IMAGE.body, default=()),
)
_STEP = Shape(
    TodoItem,
    id=_TEXT,
    content=_TEXT,
    status=_choice("pending", "in_progress", "completed", "cancelled"),
    priority=_choice("high", "medium", "low"),
)
read_step = _STEP.read
"""A step of a plan, as it is stored."""


# A tool call, from its first sight to its end, ⇄ JSON ⇄ the events that show it.


@dataclass(frozen=True, slots=True)
class CallSoFar:
    """All that is known of a tool call.

    Attributes:
        arguments: None while only the name is known.
        requested: the arguments were shown before the end.
        ran: it was allowed.
        output: what it printed while it ran.
        tail: the end of `output`, as `ToolOutput` has it.
        result: None while it is open.
        parent: the call under whose card it stands, '' for none.
        by: the sub-agent that makes it, '' for the session's own agent.
    """

    call_id: str
    name: str
    cwd: str
    arguments: Mapping[str, Any] | None = None
    requested: bool = False
    ran: bool = False
    output: str = ""
    tail: str = ""
    result: ToolResult | None = None
    parent: str = ""
    by: str = ""


_CALL = Shape(
    CallSoFar,
    call_id=_ID,
    name=_TEXT,
    cwd=_TEXT,
    arguments=Field(_maybe(_of(dict))),
    requested=_FLAG,
    ran=_FLAG,
    output=_OR_EMPTY,
    tail=_OR_EMPTY,
    parent=_OR_EMPTY,
    by=_OR_EMPTY,
    result=Field(_maybe(_RESULT.read), _RESULT.body, default=None),
)


def events_of(call: CallSoFar) -> Iterator[SessionEvent]:
    """What shows the call as it stands; `ToolRunning` only while it is open, since the end says it too."""
    arguments = call.arguments or {}
    if call.requested:
        yield ToolRequested(call.call_id, call.name, arguments, call.cwd, False, call.parent, call.by)
    else:
        yield ToolAnnounced(call.call_id, call.name, call.cwd, call.parent)
    if call.ran and call.result is None:
        yield ToolRunning(call.call_id, call.name, arguments, call.cwd, call.by)
    if call.output or call.tail:
        yield ToolOutput(call.call_id, call.output, call.tail, call.name, arguments)
    if call.result is not None:
        yield ToolFinished(call.call_id, call.name, arguments, call.cwd, call.result, call.ran, by=call.by)


# A new version of a kind is a new function in its `upgrades`: from the last version's body to its own. What earlier
# programs wrote is lifted step by step to the newest form, and read as that.

Item = UserSaid | AgentText | AgentThought | Noticed | CallSoFar | PlanChanged | ContextUsed | ContextCompacted


@dataclass(frozen=True, slots=True)
class Encoded:
    """An item as a row holds it; `body` is strict JSON whose text UTF-8 can hold."""

    kind: str
    version: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Form:
    """How a kind of item is stored: reads the newest version, and lifts older bodies to it.

    Attributes:
        read: from the newest body to events; KeyError, TypeError and ValueError tell that it is damaged.
        upgrades: the first makes version 2 of version 1, and so on.
    """

    read: Callable[[Body], Iterable[SessionEvent]]
    upgrades: tuple[Callable[[Body], Body], ...] = ()

    @property
    def version(self) -> int:
        """The newest version."""
        return len(self.upgrades) + 1

    def events(self, version: int, body: Body) -> tuple[SessionEvent, ...]:
        """The events of a body of that version, which is not newer than ours."""
        if version < 1:
            raise ValueError(f"there is no version {version}")
        for upgrade in self.upgrades[version - 1 :]:
            body = upgrade(body)
        return tuple(self.read(body))


def encode(item: Item) -> Encoded:
    """The row of an item, in its kind's newest version; whatever the item holds, this does not fail."""
    kind, shape = _KINDS[type(item)]
    return Encoded(kind, FORMS[kind].version, shape.body(item))


def decode(kind: str, version: int, body: Mapping[str, Any], *, open: bool) -> tuple[SessionEvent, ...]:  # noqa: A002, ARG001
    """The events that show a stored item, in order.

    A tool call that had not ended has no `ToolFinished`, and a `ToolRunning` if it ran. What a later program stored
    comes as a note that says so.

    Args:
        open: as the row has it; a call's body tells the same.

    Raises:
        StoreError: the body cannot be read (kind «corrupt»).
    """
    form = FORMS.get(kind)
    if form is None or version > form.version:
        return (note(f"{kind}-{version}", _LATER),)
    try:
        return form.events(version, body)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise StoreError(
            f"An item of the session's history ({kind}, version {version}) could not be read: its content is damaged "
            f"({problem}). Run «hermes-acp doctor» to look at the database.",
            "corrupt",
        ) from problem


def unreadable() -> tuple[AgentThought]:
    """What stands in for an item that is damaged, so that the rest of its session can be shown."""
    return (note("damaged", _DAMAGED),)


def note(name: str, text: str) -> AgentThought:
    """A line of our own among the events."""
    return AgentThought(f"note-{name}", f"{text}\n")


_LATER = "Something stands here that only a later version of hermes-acp can show. Update hermes-acp to see it."
_DAMAGED = "Something stood here that cannot be read any more: the database is damaged. Run «hermes-acp doctor»."

_SAID = Shape(UserSaid, message_id=_ID, parts=_several(*_PART))
_KINDS: Mapping[type, tuple[str, Shape]] = {
    UserSaid: ("said", _SAID),
    AgentText: ("text", Shape(AgentText, message_id=_ID, text=_TEXT)),
    AgentThought: ("thought", Shape(AgentThought, message_id=_ID, text=_TEXT)),
    Noticed: ("notice", Shape(Noticed, message_id=_ID, text=_TEXT, severity=_choice("info", "warning", "error"))),
    CallSoFar: ("tool", _CALL),
    PlanChanged: ("plan", Shape(PlanChanged, items=_several(_STEP.read, _STEP.body))),
    ContextUsed: ("usage", Shape(ContextUsed, used=_NUMBER, size=_NUMBER, cost=Field(_maybe(_of((int, float)))))),
    ContextCompacted: (
        "compaction",
        Shape(
            ContextCompacted,
            id=_TEXT,
            state=_choice("running", "done", "failed", "cancelled"),
            before=_NUMBER,
            after=_NUMBER,
            summary=_TEXT,
            made_by=_TEXT,
            error=_TEXT,
        ),
    ),
}


def _form(made: type, shape: Shape) -> Form:
    if made is CallSoFar:
        return Form(lambda body: events_of(shape.read(body)))
    return Form(lambda body: (shape.read(body),))


FORMS: Mapping[str, Form] = {kind: _form(made, shape) for made, (kind, shape) in _KINDS.items()}
