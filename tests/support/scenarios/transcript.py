"""Frames as text for a golden file: what changes from run to run has names, what comes in pieces is put together."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.editor_frames import Frame
from tests.support.editor_profiles import EVERY_PROFILE
from tests.support.scenarios.merging import merged
from tests.support.scenarios.ordering import ordered, withdrawn
from tests.support.scenarios.stage import Stage

_ROOT = Path(__file__).parent.parent.parent.parent
_WIDTH = 110
_MOST_TEXT = 400
_NUMBERED = {
    "session": re.compile(r"ses_[0-9a-f]{24}"),
    "turn": re.compile(r"\b[0-9a-f]{16}(?=-)"),
    "process": re.compile(r"\bproc_[0-9a-f]{4,}"),
    "rewind": re.compile(r"\brewind-[0-9a-f]{12}"),
}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)")
_STAMP = re.compile(r"(?<=-)\d{8}-\d{6}(?=\.)")
_ESTIMATE = re.compile(r"≈ [*]*[\d.,]+k?[*]*")
_VERSIONS = re.compile(r"hermes-acp \S+(?=, ACP)|agent-client-protocol \S+, Python \S+ on \w+")
_PORT = re.compile(r"(127\.0\.0\.1|localhost):\d+")
_CHANGING = (
    (_TIME, "<time>"),
    (_STAMP, "<time>"),
    (_PORT, r"\1:<port>"),
    (_VERSIONS, "<version>"),
    (_ESTIMATE, "≈ <number>"),
)
_SECONDS = frozenset({"duration"})


Json = dict[str, Any]


def transcript(stage: Stage, *, whole: bool) -> str:
    """Everything that was said on this stage.

    Args:
        whole: write out the greeting, the options and the commands too.
    """
    names = _Names(
        {
            str(stage.workspace): "/ws",
            str(stage.home): "/home/hermes",
            str(stage.outside): "/outside",
            os.environ["HERMES_HOME"]: "/home/hermes",
            sys.executable: "<python>",
            shutil.which("bash") or "/bin/sh": "<shell>",
            str(_ROOT): "/hermes",
        }
    )
    parts = []
    options: dict[str, Any] = {}
    for frames in stage.connections:
        lines = _Lines(names, options, stage.profile, whole=whole)
        parts.append("\n".join(lines.of(frames)))
    return "\n--- the editor begins again ---\n".join(parts) + "\n"


class _Names:
    """Names for what is different each time: the first session is `session-1`, and so on."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = list(paths.items())
        self._seen: dict[str, dict[str, str]] = {kind: {} for kind in _NUMBERED}

    def of(self, value: Any, key: str = "") -> Any:
        """`value` with names in it, however deep."""
        match value:
            case str():
                return self._text(value)
            case dict():
                return {self._text(name): self.of(part, name) for name, part in value.items()}
            case list():
                return [self.of(part) for part in value]
            case float() if key in _SECONDS:
                return "<seconds>"
        return value

    def _text(self, text: str) -> str:
        for path, name in self._paths:
            text = text.replace(path, name)
        for kind, pattern in _NUMBERED.items():
            seen = self._seen[kind]
            text = pattern.sub(lambda found, seen=seen, kind=kind: _numbered(seen, found[0], kind), text)
        for pattern, name in _CHANGING:
            text = pattern.sub(name, text)
        return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}… <{len(text)} characters>"


def _numbered(seen: dict[str, str], found: str, kind: str) -> str:
    return seen.setdefault(found, f"{kind}-{len(seen) + 1}")


class _Lines:
    """The lines of one connection. `options` are those of the first session, by id, once it is there."""

    def __init__(self, names: _Names, options: dict[str, Any], profile: str, *, whole: bool) -> None:
        self._names = names
        self._whole = whole
        self._methods: dict[tuple[bool, str], str] = {}
        self._questions: dict[str, str] = {}
        self._options = options
        self._profile = profile
        self._sessions: list[str] = []

    def of(self, frames: Iterable[Frame]) -> Iterator[str]:
        for frame in merged(ordered(frames)):
            head, body = self._frame(frame)
            yield f"{'→' if frame.ours else '←'} {head}"
            if body not in ({}, None):
                yield from _folded(self._names.of(body))

    def _frame(self, frame: Frame) -> tuple[str, Any]:
        message, method = frame.message, frame.method
        if method is None:
            return self._answer(frame)
        number = self._number(frame) if "id" in message else ""
        if number:
            self._methods[frame.ours, json.dumps(frame.id)] = method
        params = dict(frame.params)
        if (question := withdrawn(frame)) is not None:
            params["requestId"] = self._questions.get(question, question)
        if method == "initialize" and not self._whole:
            more = _more(params["clientCapabilities"], EVERY_PROFILE[self._profile])
            return f"{method} {number}", {"offering as well": more} if more else {}
        place = self._place(params.pop("sessionId", None))
        if method == "session/update":
            return self._update(dict(frame.update), place)
        return " ".join(filter(None, (method, number, place))), params

    def _answer(self, frame: Frame) -> tuple[str, Any]:
        key = json.dumps(frame.id)
        method = self._methods.get((not frame.ours, key), "nothing")
        number = key if not frame.ours else self._questions.get(key, key)
        if "error" in frame.message:
            return f"error to {method} #{number}", frame.message["error"]
        result = frame.message.get("result")
        if method == "initialize" and not self._whole:
            return f"answer to {method} #{number}", {}
        return f"answer to {method} #{number}", self._shortened(result)

    def _update(self, update: Json, place: str) -> tuple[str, Any]:
        kind = update.pop("sessionUpdate")
        head = f"update {kind} {place}".rstrip()
        if "availableCommands" in update and not self._whole:
            return head, {}
        if kind == "tool_call_update" and update.get("content") == "<live>":
            return f"{head} {update['toolCallId']}: its last lines, while it runs", {}
        return head, self._shortened(update)

    def _number(self, frame: Frame) -> str:
        """The editor's ids count by themselves; the agent's are counted here, wherever they begin."""
        key = json.dumps(frame.id)
        if frame.ours:
            return f"#{key}"
        self._questions[key] = f"a{len(self._questions) + 1}"
        return f"#{self._questions[key]}"

    def _place(self, session_id: Any) -> str:
        """A session that is not the first is named in each line."""
        if session_id is None:
            return ""
        if session_id not in self._sessions:
            self._sessions.append(session_id)
        return "" if self._sessions[0] == session_id else f"[{self._names.of(session_id)}]"

    def _shortened(self, body: Any) -> Any:
        """Of options only those that are not as they first were."""
        if self._whole or not isinstance(body, dict):
            return body
        body = dict(body)
        if "modes" in body:
            body["modes"] = f"<at {body['modes']['currentModeId']}>"
        if options := body.get("configOptions"):
            now = {option["id"]: option["currentValue"] for option in options}
            first = self._options
            first.update({} if first else now)
            changed = {name: value for name, value in now.items() if first.get(name) != value}
            told = [f"{name}={json.dumps(value)}" for name, value in changed.items()]
            told += [f"no {name}" for name in first if name not in now]
            body["configOptions"] = f"<with {', '.join(told)}>" if told else "<as at first>"
        return body


def _more(offered: Json, known: Json) -> Json:
    """What is in `offered` and not in `known`, however deep."""
    found = {}
    for name, value in offered.items():
        if name not in known:
            found[name] = value
        elif isinstance(value, dict) and (more := _more(value, known[name])):
            found[name] = more
    return found


def _folded(value: Any, depth: int = 1) -> Iterator[str]:
    """JSON, a line where it fits."""
    space = "    " * depth
    whole = _json(value)
    if len(space) + len(whole) <= _WIDTH or not isinstance(value, dict | list) or not value:
        yield f"{space}{whole}"
        return
    is_map = isinstance(value, dict)
    pairs: Sequence[tuple[str, Any]] = (
        [(f"{_json(key)}: ", part) for key, part in value.items()] if is_map else [("", part) for part in value]
    )
    yield f"{space}{'{' if is_map else '['}"
    for number, (name, part) in enumerate(pairs, 1):
        first, *rest = _folded(part, depth + 1)
        *lines, last = [f"{space}    {name}{first.lstrip()}", *rest]
        yield from lines
        yield last if number == len(pairs) else f"{last},"
    yield f"{space}{'}' if is_map else ']'}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
