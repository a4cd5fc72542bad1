"""Finished items of a turn ⇄ rows: a kind, the version of its form, and a JSON body."""

from __future__ import annotations

import base64
import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

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
from tools.result import ShownDiff, ShownOutput, ShownText, ToolResult

# Values that models and tools make up, as strict JSON holds them.
# A row must never fail because of what it holds. So this replaces what JSON or UTF-8 does not have, in the same way
# as the wire does: what is replayed then looks like what was shown live.

_MAX_DEPTH = 100
_MAX_BITS = 10_000  # Python writes no longer numbers as decimals


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


# What is stored: a body has a key for each field, by its own name if not by another one.


@dataclass(slots=True)
class CallSoFar:
    """All that is known of a tool call, from its first sight to its end.

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

    def events(self) -> Iterator[SessionEvent]:
        """What shows it as it stands; `ToolRunning` only while it is open, since the end says it too."""
        arguments = self.arguments or {}
        if self.requested:
            yield ToolRequested(self.call_id, self.name, arguments, self.cwd, False, self.parent, self.by)
        else:
            yield ToolAnnounced(self.call_id, self.name, self.cwd, self.parent)
        if self.ran and self.result is None:
            yield ToolRunning(self.call_id, self.name, arguments, self.cwd, self.by)
        if self.output or self.tail:
            yield ToolOutput(self.call_id, self.output, self.tail, self.name, arguments)
        if self.result is not None:
            yield ToolFinished(self.call_id, self.name, arguments, self.cwd, self.result, self.ran, by=self.by)


Item = UserSaid | AgentText | AgentThought | Noticed | CallSoFar | PlanChanged | ContextUsed | ContextCompacted

KINDS: Mapping[str, type] = {
    "said": UserSaid,
    "text": AgentText,
    "thought": AgentThought,
    "notice": Noticed,
    "tool": CallSoFar,
    "plan": PlanChanged,
    "usage": ContextUsed,
    "compaction": ContextCompacted,
}
_NAMES = {made: kind for kind, made in KINDS.items()}
_VERSION = 1
"""Of every kind. One that changes gets a number of its own, and older bodies of it are lifted as they are read."""

_TAGS: Mapping[type, str] = {
    SaidText: "text",
    SaidImage: "image",
    SaidAudio: "audio",
    SaidLink: "link",
    SaidDocument: "document",
    ShownText: "text",
    ShownDiff: "diff",
    ShownOutput: "output",
}
"""What tells apart, as «kind», the classes that one place may hold."""

_KEYS = {"message_id": "id", "call_id": "id"}
_LEFT_OUT: Mapping[type, tuple[str, ...]] = {
    SaidImage: ("uri",),
    SaidLink: ("mime_type", "title", "description", "size"),
    SaidDocument: ("text", "data", "mime_type"),
    ShownText: ("language",),
    ShownDiff: ("before", "after"),
    ShownOutput: ("exit_code", "signal"),
    ToolResult: ("shown", "facts", "images"),
    CallSoFar: ("output", "tail", "result", "parent", "by"),
}
"""What is not in a body where it is the field's default, or None if the field has none."""
_NOT_STORED: Mapping[type, tuple[str, ...]] = {ToolResult: ("changed", "denied", "untrusted", "has_fenced", "value")}

# Objects ⇄ JSON objects, by their fields. What is read is looked at, since one bit may make another value of what was
# stored: readers raise KeyError, TypeError or ValueError for what is damaged.

_NEEDED: Any = object()


@dataclass(frozen=True, slots=True)
class _Stored:
    """How a field is stored: its key, the value that is left out, and what makes a value of its JSON."""

    name: str
    key: str
    default: Any
    read: Callable[[Any], Any]


@functools.cache
def _stored(made: Any) -> tuple[_Stored, ...]:
    hints, found = get_type_hints(made), []
    for each in fields(made):
        if each.name in _NOT_STORED.get(made, ()):
            continue
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        if each.name not in _LEFT_OUT.get(made, ()):
            default = _NEEDED
        elif default is MISSING:
            default = None
        found.append(_Stored(each.name, _KEYS.get(each.name, each.name), default, _reader(hints[each.name])))
    return tuple(found)


def _body(value: Any) -> dict[str, Any]:
    made: Any = type(value)
    held = ((each, getattr(value, each.name)) for each in _stored(made))
    return {each.key: _json(one) for each, one in held if each.default is _NEEDED or one != each.default}


def _json(value: Any) -> Any:
    match value:
        case tuple():
            return [_json(one) for one in value]
        case bytes():
            return base64.b64encode(value).decode()
    if not is_dataclass(value):
        return plain(value)
    tag = _TAGS.get(type(value))
    return _body(value) if tag is None else {"kind": tag, **_body(value)}


def _object(made: Any, body: Any) -> Any:
    if not isinstance(body, dict):
        raise TypeError(f"{body!r:.40} is not an object")
    values = {}
    for each in _stored(made):
        is_there = each.default is _NEEDED or each.key in body
        values[each.name] = each.read(body[each.key]) if is_there else each.default
    return made(**values)


def _reader(hint: Any) -> Callable[[Any], Any]:
    """What makes a value of an annotated type of its JSON."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return _reader_of_one(args)
    if origin is Literal:
        return lambda value: _among(args, value)
    if origin is tuple:
        item = _reader(args[0])
        return lambda value: tuple(map(item, _of(list, value)))
    if origin is not None:
        return lambda value: _of(dict, value)
    if hint is Path:
        return lambda value: Path(_of(str, value))
    if hint is bytes:
        return lambda value: base64.b64decode(_of(str, value), validate=True)
    if is_dataclass(hint):
        return functools.partial(_object, hint)
    kinds = (int, float) if hint is float else hint
    return lambda value: _of(kinds, value)


def _reader_of_one(args: tuple[Any, ...]) -> Callable[[Any], Any]:
    """For a value that may be None, or of one of several classes."""
    if NoneType in args:
        read = _reader(next(each for each in args if each is not NoneType))
        return lambda value: None if value is None else read(value)
    classes = {_TAGS[made]: made for made in args}
    return lambda value: _object(classes[_of(dict, value)["kind"]], value)


def _of(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{value!r:.40} is of another kind")
    return value


def _among(choices: tuple[Any, ...], value: Any) -> Any:
    if value not in choices:
        raise ValueError(f"{value!r:.40} is none of {choices}")
    return value


@dataclass(frozen=True, slots=True)
class Encoded:
    """An item as a row holds it; `body` is strict JSON whose text UTF-8 can hold."""

    kind: str
    version: int
    body: dict[str, Any]


def encode(item: Item) -> Encoded:
    """The row of an item; whatever the item holds, this does not fail."""
    return Encoded(_NAMES[type(item)], _VERSION, _body(item))


def decode(kind: str, version: int, body: Mapping[str, Any]) -> tuple[SessionEvent, ...]:
    """The events that show a stored item, in order.

    A tool call that had not ended has no `ToolFinished`, and a `ToolRunning` if it ran. What a later program stored
    comes as a note that says so.

    Raises:
        StoreError: the body cannot be read (kind «corrupt»).
    """
    if kind not in KINDS or version > _VERSION:
        return (note(f"{kind}-{version}", _LATER),)
    try:
        item = _object(KINDS[kind], body)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise StoreError(
            f"An item of the session's history ({kind}, version {version}) could not be read: its content is damaged "
            f"({problem}). Run «hermes-acp doctor» to look at the database.",
            "corrupt",
        ) from problem
    return tuple(item.events()) if isinstance(item, CallSoFar) else (item,)


def read_step(body: Any) -> TodoItem:
    """A step of a plan, as it is stored. Raises KeyError, TypeError, ValueError where it is damaged."""
    step: TodoItem = _object(TodoItem, body)
    return step


def unreadable() -> tuple[AgentThought]:
    """What stands in for an item that is damaged, so that the rest of its session can be shown."""
    return (note("damaged", _DAMAGED),)


def note(name: str, text: str) -> AgentThought:
    """A line of our own among the events."""
    return AgentThought(f"note-{name}", f"{text}\n")


_LATER = "Something stands here that only a later version of hermes-acp can show. Update hermes-acp to see it."
_DAMAGED = "Something stood here that cannot be read any more: the database is damaged. Run «hermes-acp doctor»."
