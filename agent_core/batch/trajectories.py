"""Finished turns as data to train with: conversations in ShareGPT form, a line each, in two files of the home."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent_core.home import find_home
from agent_core.messages import Content, Message, Part, ToolCall, parse_arguments, repaired, said_in
from agent_core.turn import TurnUsage
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NOFOLLOW, alone_in
from tools.redaction import Redact, redact

if TYPE_CHECKING:
    from agent_core.services import SessionServices
    from agent_core.turn import Turn


# A conversation in ShareGPT form, to train with: as the model saw it, but for what was only for one run.
# The form is that of the Hermes agents: reasoning as `<think>`, tool calls as `<tool_call>`, all results that follow
# an answer as `<tool_response>`s in one `tool` turn; every `gpt` turn begins with a `<think>` block, if an empty one.

_CALLING = """\
The functions below can be called. Their signatures are within <tools> </tools>:
<tools>
{tools}
</tools>
A call is one JSON object with the function's name and arguments, within <tool_call> </tool_call>:
<tool_call>
{{"name": <function-name>, "arguments": <arguments-object>}}
</tool_call>
What a call came to is told within <tool_response> </tool_response>."""


def conversations(
    messages: Sequence[Message],
    system: str | None,
    tools: Sequence[Mapping[str, Any]] | None,
    redacting: Redact,
) -> list[dict[str, str]]:
    """The turns of a conversation, as objects with `from` and `value`.

    Args:
        system: the system prompt, without what is never stored; None if it is not known.
        tools: the tool definitions, as they were sent.
        redacting: takes the secrets out of each text.
    """
    turns = [*_system(system, tools), *_conversation(repaired(messages))]
    return [{**each, "value": redacting(each["value"])} for each in turns]


def _system(system: str | None, tools: Sequence[Mapping[str, Any]] | None) -> Iterator[dict[str, str]]:
    parts = [system] if system else []
    if tools:
        functions = [tool.get("function", tool) for tool in tools]
        parts.append(_CALLING.format(tools=json.dumps(functions, ensure_ascii=False)))
    if parts:
        yield {"from": "system", "value": "\n\n".join(parts)}


def _conversation(messages: Sequence[Message]) -> Iterator[dict[str, str]]:
    answers: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            answers.append(_response(message))
            continue
        if answers:
            yield {"from": "tool", "value": "\n".join(answers)}
            answers = []
        match message["role"]:
            case "assistant":
                yield {"from": "gpt", "value": _answer(message)}
            case "user":
                yield {"from": "human", "value": _text(said_in(message))}
            case "system":
                yield {"from": "system", "value": _text(message["content"])}
    if answers:
        yield {"from": "tool", "value": "\n".join(answers)}


def _answer(message: Message) -> str:
    reasoning = message.get("reasoning", "").strip()
    thought = f"<think>\n{reasoning}\n</think>" if reasoning else "<think>\n</think>"
    calls = (f"<tool_call>\n{_call(call)}\n</tool_call>" for call in message.get("tool_calls", ()))
    return "\n".join(part for part in (thought, _text(message["content"]), *calls) if part)


def _call(call: ToolCall) -> str:
    written = call["function"]["arguments"]
    try:
        return _json({"name": call["function"]["name"], "arguments": parse_arguments(written)})
    except ValueError:
        return _json({"name": call["function"]["name"], "arguments": written})


def _response(message: Message) -> str:
    body = {"tool_call_id": message.get("tool_call_id", ""), "name": message.get("name", "")}
    text = _text(message["content"])
    try:
        told = _json({**body, "content": json.loads(text) if text[:1] in {"{", "["} else text})
    except (ValueError, RecursionError):
        told = _json({**body, "content": text})
    return f"<tool_response>\n{told}\n</tool_response>"


def _json(value: Mapping[str, object]) -> str:
    """`value` as JSON.

    Raises:
        ValueError: it holds a number that JSON has not.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _text(content: Content | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_part(part) for part in content)


def _part(part: Part) -> str:
    match part["type"]:
        case "text":
            return part["text"]
        case "image_url":
            return "<image>"
        case "file":
            return f"<file {part['file']['filename']}>"
        case "input_audio":
            return f"<audio {part['input_audio']['format']}>"


log = logging.getLogger(__name__)

COMPLETED, FAILED = "completed", "failed"
_MAX_BYTES = 64 * 1024 * 1024
_OLDER = 3
_MOST_WAITING = 50


@dataclass(frozen=True, slots=True)
class Run:
    """One turn that is over.

    Attributes:
        messages: the whole conversation up to its end, also what the model was not shown any more.
        system: the system prompt, without the text that is never stored; None where there was none.
        tools: the tool definitions, as they were sent.
        outcome: the stop reason, or `error`.
        note: for an error, what the person was told.
        began, ended: seconds since the epoch.
        cost: US dollars; None where it is not known.
    """

    session_id: str
    turn_id: str
    cwd: str
    model: str
    messages: Sequence[Message]
    system: str | None
    tools: Sequence[Mapping[str, Any]] | None
    outcome: str
    note: str
    began: float
    ended: float
    api_calls: int
    usage: TurnUsage
    cost: float | None

    @property
    def completed(self) -> bool:
        """Whether the model came to an end by itself."""
        return self.outcome == "end_turn"


class Runs(Protocol):
    """Whoever takes runs that are over."""

    def add(self, run: Run) -> None:
        """Take one; must be short, and not raise."""
        ...


class TrajectoryLog:
    """Appends runs to `completed.jsonl` and `failed.jsonl`. Safe to use from several threads and processes.

    Args:
        directory: is made with the first run, for the user alone.
        redactor: what takes secrets out of texts; asked for once for each run.
        max_bytes: of one file; a fuller one becomes `NAME.1.jsonl`, and the oldest of four goes.
    """

    def __init__(
        self, directory: Path, redactor: Callable[[], Redact] = lambda: redact, max_bytes: int = _MAX_BYTES
    ) -> None:
        self._directory = directory
        self._redactor = redactor
        self._max_bytes = max_bytes
        self._waiting: queue.Queue[Run | None] = queue.Queue(_MOST_WAITING)
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None

    def add(self, run: Run) -> None:
        """Have a run written soon; takes no time. What cannot be written is in the log, and fails nobody's turn."""
        with self._lock:
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="trajectories", daemon=True)
                self._worker.start()
            try:
                self._waiting.put_nowait(run)
            except queue.Full:
                log.warning("the disk is too slow: the trajectory of turn %s is not kept", run.turn_id)

    def close(self, timeout: float = 5.0) -> None:
        """Wait until what was added is written, so many seconds at most; the next run begins anew."""
        with self._lock:
            worker, self._worker = self._worker, None
            if worker is None:
                return
            with contextlib.suppress(queue.Full):
                self._waiting.put(None, timeout=timeout)
            worker.join(timeout)

    def _work(self) -> None:
        while (run := self._waiting.get()) is not None:
            try:
                self._write(COMPLETED if run.completed else FAILED, line_of(run, self._redactor()))
            except Exception:  # a run that cannot be told must not end the telling of those after it
                log.exception("the trajectory of turn %s could not be written to %s", run.turn_id, self._directory)

    def _write(self, name: str, line: bytes) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with alone_in(self._directory):
            path = self._directory / f"{name}.jsonl"
            if path.exists() and path.stat().st_size + len(line) > self._max_bytes:
                self._rotate(name)
            file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
            try:
                _append(file, line)
            finally:
                os.close(file)

    def _rotate(self, name: str) -> None:
        for number in range(_OLDER, 0, -1):
            newer = self._directory / (f"{name}.{number - 1}.jsonl" if number > 1 else f"{name}.jsonl")
            with contextlib.suppress(FileNotFoundError):
                newer.replace(self._directory / f"{name}.{number}.jsonl")


def line_of(run: Run, redacting: Redact) -> bytes:
    """The run as a line of JSON, with its line feed."""
    line = {
        "conversations": conversations(run.messages, run.system, run.tools, redacting),
        "timestamp": datetime.fromtimestamp(run.ended, UTC).isoformat(),
        "model": run.model,
        "completed": run.completed,
        "outcome": run.outcome,
        "note": redacting(run.note),
        "session_id": run.session_id,
        "turn_id": run.turn_id,
        "cwd": run.cwd,
        "seconds": round(run.ended - run.began, 3),
        "api_calls": run.api_calls,
        "input_tokens": run.usage["input_tokens"],
        "output_tokens": run.usage["output_tokens"],
        "cost_usd": run.cost,
    }
    return f"{json.dumps(line, ensure_ascii=False)}\n".encode("utf-8", "replace")


def _append(file: int, line: bytes) -> None:
    """Write a line behind the last whole one: half a line, of who was killed while it wrote, would spoil this one.

    Raises:
        OSError: there is no room; the file is as it was.
    """
    end = _end_of_lines(file)
    os.ftruncate(file, end)
    left = memoryview(line)
    try:
        while left:
            left = left[os.write(file, left) :]
    except OSError:
        os.ftruncate(file, end)
        raise


def _end_of_lines(file: int) -> int:
    with open(file, "rb", closefd=False) as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - 1, 0))
        if stream.read() in {b"", b"\n"}:
            return size
        stream.seek(0)
        return stream.read().rfind(b"\n") + 1


# The turns of an agent as runs to keep.


def log_for(wanted: Runs | bool) -> Runs | None:
    """The log that is wanted: True is the one in the user's home, False none."""
    if not isinstance(wanted, bool):
        return wanted
    if not wanted:
        return None

    return TrajectoryLog(find_home(os.environ).trajectories)


def keep(
    log: Runs | None,
    turn: Turn,
    services: SessionServices,
    *,
    session_id: str,
    cwd: Path,
    system: str | None,
    outcome: str,
    note: str,
) -> None:
    """Have a turn that is over written to `log`, if there is one and the turn has come to anything.

    Args:
        system: what stood in place of the session's own system prompt.
        outcome: the stop reason, or `error` with the `note` that the person was told.
    """
    # What the model is not shown again has happened all the same.
    messages = (*turn.history.messages, *turn.history.withdrawn)
    if log is None or len(messages) <= turn.history.start:
        return

    log.add(
        Run(
            session_id=session_id,
            turn_id=turn.id,
            cwd=str(cwd),
            model=turn.route.choice.name,
            messages=messages,
            system=system or services.system,
            tools=services.tools,
            outcome=outcome or "error",
            note=note,
            began=turn.began,
            ended=time.time(),
            api_calls=turn.budget.used,
            usage=turn.usage,
            cost=turn.cost,
        )
    )
