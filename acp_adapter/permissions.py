"""Approval questions as `session/request_permission`: asked on the card's own id, unsure means no."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Literal

from acp_adapter.outbox import Outbox
from acp_adapter.tools import diff_block, text_block
from tools.approval.actions import ReadPath, RunCommand, WritePath
from tools.approval.gate import Answer, Choice, Question
from tools.context import Interrupt
from tools.result import ShownDiff

log = logging.getLogger(__name__)

Ask = Callable[[dict[str, Any]], Awaitable[str | None]]
"""Sends the parameters of `session/request_permission`; returns the chosen option's id, None for no choice."""

_MOST_OTHERS = 100

_OPTION_KINDS: dict[Choice, Literal["allow_once", "allow_always", "reject_once"]] = {
    "allow_once": "allow_once",
    "allow_session": "allow_always",
    "reject_once": "reject_once",
}


class EditorApprover:
    """Asks the person in the editor. Called on worker threads; implements `Approver`."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, session_id: str, outbox: Outbox, ask: Ask, timeout: float
    ) -> None:
        self._loop = loop
        self._session_id = session_id
        self._outbox = outbox
        self._ask = ask
        self._timeout = timeout

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:
        """Ask and wait for the answer, the cancel or the time-out; anything but a clear yes is a no."""
        future = asyncio.run_coroutine_threadsafe(self._request(question), self._loop)
        future.add_done_callback(lambda _: interrupt.notify())
        answered = interrupt.wait_for(future.done, self._timeout)
        if not answered:
            future.cancel()
            return Answer("reject_once", f"no answer within {self._timeout:g} seconds")
        return _answer(future)

    async def _request(self, question: Question) -> str | None:
        # The card, and all that came before it, must be there when the question appears.
        await self._outbox.drain()
        return await self._ask(
            {
                "sessionId": self._session_id,
                "toolCall": _tool_call(question),
                "options": [
                    {"optionId": choice, "name": name, "kind": _OPTION_KINDS[choice]}
                    for choice, name in _options(question).items()
                ],
            }
        )


def _answer(future: Future[str | None]) -> Answer:
    try:
        chosen = future.result()
    except Exception as problem:  # noqa: BLE001 - whatever fails between the editor and us is a no
        # Not the text: a validation error repeats what the client sent.
        log.warning("a permission question failed: %s", type(problem).__name__)
        return Answer("reject_once", "the editor could not be asked")
    for choice in _OPTION_KINDS:
        if chosen == choice:
            return Answer(choice)
    note = "the question was dismissed" if chosen is None else "the editor's answer was not valid"
    return Answer("reject_once", note)


def _options(question: Question) -> dict[Choice, str]:
    """The choices with labels that say what each allows, the safest last."""
    match question.action:
        case RunCommand():
            always = "Always allow this exact command in this directory (this session)"
        case WritePath(after=None):
            always = "Always allow deleting this file (this session)"
        case WritePath():
            always = "Always allow edits of this file (this session)"
        case ReadPath():
            always = "Always allow reading this path (this session)"
    return {"allow_once": "Allow once", "allow_session": always, "reject_once": "Reject"}


def _tool_call(question: Question) -> dict[str, Any]:
    """The card as the question shows it: only what the question adds."""
    call: dict[str, Any] = {"toolCallId": question.tool_call_id, "status": "pending"}
    match question.action:
        case WritePath(before=before, after=after, shown=path):
            diff = ShownDiff(path, _text(before), _text(after))
            call["locations"] = [{"path": str(path)}]
            real = question.action.path
            # A symbolic link must not hide where the change goes. (The workspace itself may be reached by one.)
            led_away = real.name != path.name or (bool(question.reason) and real != path)
            name = f"{path.name} → {real}" if led_away else path.name
            why = f": it {question.reason}" if question.reason else ""
            call["title"] = f"{question.action.verb.capitalize()} {name}{why}"
            if led_away:
                call["locations"].append({"path": str(real)})
            if question.others:
                call["title"] = f"{question.action.verb.capitalize()} {name} and {len(question.others)} more{why}"
                call["locations"] += [{"path": str(other)} for other in question.others[:_MOST_OTHERS]]
            is_text = not any(b"\0" in part for part in (before, after) if part is not None)
            call["content"] = [diff_block(diff) if is_text else text_block(f"{path} is not a text file.")]
            if question.others:
                call["content"].append(text_block("\n".join(["The same for:", *_listed(question.others)])))
        case ReadPath(path=path):
            call["title"] = f"Read {path}: it {question.reason}"
            call["locations"] = [{"path": str(path)}]
        case RunCommand(command=command, cwd=cwd):
            call["title"] = f"{command} (it {question.reason})"
            call["rawInput"] = {"command": command, "cwd": str(cwd), "reason": question.reason}
    return call


def _listed(paths: Sequence[Path]) -> list[str]:
    names = [str(path) for path in paths[:_MOST_OTHERS]]
    return [*names, f"… and {len(paths) - _MOST_OTHERS} more"] if len(paths) > _MOST_OTHERS else names


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace").replace("\r\n", "\n")
