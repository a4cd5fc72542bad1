"""Questions to the person: on the card's own id, after everything that came before, and unsure means no."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.outbox import Outbox
from acp_adapter.permissions import EditorApprover
from acp_adapter.transport import ClientGone
from agent_core.events import AgentText, SessionEvent
from agent_core.interrupt import CancelToken
from tests.support.wire import check_outgoing
from tools.approval.actions import Action, ReadPath, RunCommand, WritePath
from tools.approval.gate import Answer, Question

_FILE = Path("/srv/a.py")
_RUN = RunCommand("rm -r build", Path("/srv"))


def _write(before: bytes | None, after: bytes | None, real: Path = _FILE) -> WritePath:
    return WritePath(real, before, after, shown=_FILE)


class Person:
    """An approver with whoever answers: `reply` is returned or raised, `asked` is what was put."""

    def __init__(self, reply: Any = "allow_once", timeout: float = 10) -> None:
        self.reply = reply
        self.shown: list[SessionEvent] = []
        self.asked: list[dict[str, Any]] = []
        self.shown_before: list[int] = []
        self.here = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.token = CancelToken()
        self.outbox = Outbox(asyncio.get_running_loop(), self._show)
        self._approver = EditorApprover(asyncio.get_running_loop(), "s", self.outbox, self._ask, timeout)

    async def ask(self, action: Action = _RUN) -> Answer:
        question = Question("call-7", action, "deletes files")
        return await asyncio.wait_for(asyncio.to_thread(self._approver.ask, question, self.token), 10)

    async def _show(self, event: SessionEvent) -> None:
        await asyncio.sleep(0)
        self.shown.append(event)

    async def _ask(self, params: dict[str, Any]) -> str | None:
        self.asked.append(params)
        self.shown_before.append(len(self.shown))
        self.here.set()
        if self.reply == "never":
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        if isinstance(self.reply, BaseException):
            raise self.reply
        return None if self.reply is None else str(self.reply)


@pytest.mark.parametrize(
    ("action", "title", "always"),
    [
        (_RUN, "rm -r build (it deletes files)", "Always allow this exact command in this directory (this session)"),
        (_write(None, b"x"), "Create a.py: it deletes files", "Always allow edits of this file (this session)"),
        (_write(b"x", b"y"), "Edit a.py: it deletes files", "Always allow edits of this file (this session)"),
        (_write(b"x", None), "Delete a.py: it deletes files", "Always allow deleting this file (this session)"),
        (
            ReadPath(Path("/etc/x")),
            "Read /etc/x: it deletes files",
            "Always allow reading this path (this session)",
        ),
    ],
    ids=["run", "create", "edit", "delete", "read"],
)
async def test_the_question_is_put_on_the_calls_own_card(action: Action, title: str, always: str) -> None:
    person = Person()
    await person.ask(action)
    (params,) = person.asked
    assert params["sessionId"] == "s"
    card = params["toolCall"]
    assert (card["toolCallId"], card["status"], card["title"]) == ("call-7", "pending", title)
    assert [(option["optionId"], option["kind"], option["name"]) for option in params["options"]] == [
        ("allow_once", "allow_once", "Allow once"),
        ("allow_session", "allow_always", always),
        ("reject_once", "reject_once", "Reject"),
    ]
    check_outgoing({"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": params})


async def test_an_edit_shows_its_diff_and_its_place() -> None:
    person = Person()
    await person.ask(_write(b"a\r\nb\r\n", b"a\nc\n"))
    card = person.asked[0]["toolCall"]
    assert card["locations"] == [{"path": str(_FILE)}]
    assert card["content"] == [{"type": "diff", "path": str(_FILE), "oldText": "a\nb\n", "newText": "a\nc\n"}]


async def test_a_link_does_not_hide_where_the_change_goes() -> None:
    person = Person()
    await person.ask(_write(b"a", b"b", real=Path("/etc/victim.conf")))
    card = person.asked[0]["toolCall"]
    assert card["title"] == "Edit a.py → /etc/victim.conf: it deletes files"
    assert card["locations"] == [{"path": str(_FILE)}, {"path": "/etc/victim.conf"}]


@pytest.mark.parametrize(("before", "after"), [(b"\0", b"x"), (None, b"x\0"), (b"\0\xff", None)])
async def test_an_edit_of_a_file_that_is_no_text_says_so(before: bytes | None, after: bytes | None) -> None:
    person = Person()
    await person.ask(_write(before, after))
    (block,) = person.asked[0]["toolCall"]["content"]
    assert block["content"]["text"] == f"{_FILE} is not a text file."


async def test_a_command_is_shown_whole_with_its_directory_and_the_reason() -> None:
    person = Person()
    command = "echo " + "x" * 5000 + "; rm -r /"
    await person.ask(RunCommand(command, Path("/srv")))
    card = person.asked[0]["toolCall"]
    assert command in card["title"]
    assert card["rawInput"] == {"command": command, "cwd": "/srv", "reason": "deletes files"}
    assert "content" not in card, "it would replace the card's terminal"


async def test_everything_that_came_before_is_shown_before_the_question() -> None:
    person = Person()
    for number in range(50):
        person.outbox.put(AgentText(str(number), "x"))
    await person.ask()
    assert person.shown_before == [50]


@pytest.mark.parametrize("choice", ["allow_once", "allow_session", "reject_once"])
async def test_the_choice_is_the_answer(choice: str) -> None:
    assert await Person(choice).ask() == Answer(choice)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        (None, "the question was dismissed"),
        ("allow", "the editor's answer was not valid"),
        ("", "the editor's answer was not valid"),
        ("ALLOW_ONCE", "the editor's answer was not valid"),
        (ClientGone("gone"), "the editor could not be asked"),
        (ConnectionError("Connection closed"), "the editor could not be asked"),
        (ValueError("not what was asked"), "the editor could not be asked"),
        (asyncio.CancelledError(), "the editor could not be asked"),
    ],
)
async def test_whatever_is_not_a_clear_yes_is_a_no(reply: Any, note: str) -> None:
    assert await Person(reply).ask() == Answer("reject_once", note)


async def test_a_question_that_nobody_answers_in_time_is_a_no_and_is_given_up() -> None:
    person = Person("never", timeout=0.05)
    assert await person.ask() == Answer("reject_once", "no answer within 0.05 seconds")
    await asyncio.wait_for(person.cancelled.wait(), 5)


async def test_a_cancel_ends_the_wait_at_once() -> None:
    person = Person("never", timeout=1000)
    asking = asyncio.create_task(person.ask())
    await asyncio.wait_for(person.here.wait(), 5)
    person.token.cancel()
    assert (await asyncio.wait_for(asking, 5)).choice == "reject_once"
    await asyncio.wait_for(person.cancelled.wait(), 5)


async def test_after_a_cancel_the_answer_is_no_whatever_the_person_says() -> None:
    person = Person("allow_once")
    person.token.cancel()
    assert (await person.ask()).choice == "reject_once"
