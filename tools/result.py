"""What a tool call yields, split by audience: text for the model, content for the person, facts for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from tools.light_dataclass import dataclass

ERROR = "Error: "
"""What the text of a failed call begins with."""

MAX_SHOWN_CHARS = 20_000
"""Characters of one text that a front end shows; of a longer one it shows a part, and leads to a file with all."""


@dataclass(frozen=True, slots=True)
class ShownText:
    """Text for the person. `language` (a fence's info string) asks for a code block, '' for plain text."""

    text: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class ShownDiff:
    """A file's text before and after; None stands for an absent file."""

    path: Path
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ShownOutput:
    """What a command printed, as the person should see it, and how it ended."""

    output: str
    exit_code: int | None = None
    signal: str | None = None


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a command has made, changed or removed: whether it was there before, and is there now."""

    path: Path
    was_there: bool
    is_there: bool


@dataclass(frozen=True, slots=True)
class ResultImage:
    """An image for a model that sees, and for the person. `mime_type` as image/png; `name` says what it is of."""

    data: bytes
    mime_type: str
    name: str = ""


Shown = ShownText | ShownDiff | ShownOutput


@dataclass(frozen=True, slots=True)
class SavedOutput:
    """A file of ours with all of an output that is too long to show. `size` is in bytes."""

    path: Path
    size: int

    def facts(self) -> dict[str, Any]:
        """The file as a result's fact `saved`, by which front ends find it."""
        return {"path": str(self.path), "size": self.size}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The outcome of one tool call.

    Attributes:
        text: what the model reads: text as text, with what is to be known of it on one last line in brackets.
        shown: what the person sees, in order; empty lets the front end show `text`.
        facts: JSON values for programs: paths, line numbers, exit codes.
        failed: True when the call did not do what was asked.
        images: what a model that sees gets beside the text.
        changed: files that a command was seen to change; what tools change themselves is among `shown`.
        denied: the person, a rule or a hook said no.
        untrusted: the text holds what strangers wrote, also of a tool whose text does not always: it gets a fence.
        has_fenced: what strangers wrote in the text stands in a fence.
        value: makes what a program that called the tool gets in place of the text; None: the text, which may be JSON.
    """

    text: str
    shown: tuple[Shown, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    failed: bool = False
    images: tuple[ResultImage, ...] = ()
    changed: tuple[ChangedFile, ...] = ()
    denied: bool = field(default=False, compare=False)
    untrusted: bool = False
    has_fenced: bool = field(default=False, compare=False)
    value: Callable[[], Mapping[str, Any]] | None = field(default=None, compare=False)


def ok(payload: Mapping[str, Any], *shown: Shown, **facts: Any) -> ToolResult:
    """A success whose JSON `payload` goes to the model."""
    return ToolResult(json.dumps(payload, ensure_ascii=False), shown, facts)


def plain(body: str, ending: Iterable[str], payload: Mapping[str, Any], *shown: Shown, **facts: Any) -> ToolResult:
    """A success: `body` goes to the model as it is, then a line with what is to be known of it.

    Args:
        ending: the parts of that line; the empty ones are left out.
        payload: what a program that called the tool gets.
    """
    return ToolResult(ended_with(body, ending), shown, facts, value=lambda: payload)


def ended_with(body: str, ending: Iterable[str]) -> str:
    """The text with a last line in brackets: `[exit 1 · cwd src]`.

    It is there whatever the body ends with, so a body that ends with such a line of its own is not taken for it.
    """
    line = " · ".join(one_line for part in ending if (one_line := " ".join(part.split())))
    gap = "\n" if body and not body.endswith("\n") else ""
    return f"{body}{gap}[{line}]" if line else body


def error(message: str, **details: Any) -> ToolResult:
    """A failure as `Error: message`, written for the model to act on; programs get `details` beside it."""
    payload = {"error": message, **details}
    return ToolResult(f"{ERROR}{message}", (), details, failed=True, value=lambda: payload)


def reason_of(text: str) -> str:
    """The sentence in a failure's text; other text as it is.

    Plugins, and sessions stored by earlier versions, have it as the `error` of a JSON object.
    """
    if text.startswith(ERROR):
        return text.removeprefix(ERROR)
    said = _object(text).get("error")
    return said if isinstance(said, str) else text


def from_text(text: str) -> ToolResult:
    """A plain handler's string; a JSON object with a truthy `error` (or `success: false`) marks a failure."""
    value = _object(text)
    return ToolResult(text, failed=bool(value.get("error")) or value.get("success") is False)


def _object(text: str) -> Mapping[str, Any]:
    """The JSON object that `text` is; an empty one where it is none."""
    if not text.lstrip().startswith("{"):
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


# What a port has to say about how a call's effects came about, put into its result for the model and the person.


def remarked(result: ToolResult, remarks: Sequence[str]) -> ToolResult:
    """`result` with `remarks` as its `note`, or at the end of its error; whole sentences each."""
    if not remarks:
        return result
    said = " ".join(remarks)
    # A result that shows nothing of its own is shown as its text.
    shown = (*result.shown, ShownText(said)) if result.shown else ()
    return with_value(replace(result, text=_with(result.text, said), shown=shown), said)


def with_value(result: ToolResult, said: str, key: str = "note") -> ToolResult:
    """The result with `said` in what a program gets of it: as `key`, or at the end of its error."""
    value = result.value
    return result if value is None else replace(result, value=lambda: _joined(value(), said, key))


def _with(text: str, said: str) -> str:
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        payload = None
    if not isinstance(payload, dict):
        return f"{text}\n\n{said}"
    return json.dumps(_joined(payload, said, "note"), ensure_ascii=False)


def _joined(payload: Mapping[str, Any], said: str, key: str) -> dict[str, Any]:
    key = "error" if isinstance(payload.get("error"), str) else key
    before = f"{payload[key]} " if isinstance(payload.get(key), str) else ""
    return {**payload, key: f"{before}{said}"}
