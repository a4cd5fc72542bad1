"""What servers want while a call runs: granted on the call's thread, and over with the call."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any

import pytest

from agent_core.cancel import CancelToken
from agent_core.mcp.server_requests import Events, Inbound, RunningCall
from agent_core.mcp.session_servers import SessionServers
from agent_core.mcp.specs import McpLimits, ServerPolicy
from agent_core.model_request.side_models import Completion
from agent_core.providers.base import Usage
from agent_core.service_loop import ServiceLoop
from tests.agent_core.mcp.conftest import Open
from tests.support.mcp_servers import rich
from tools.agent_ports import PersonAnswer, PersonPage, PersonQuestion
from tools.environments.guardian import Guardian
from tools.errors import Denied, ToolInterrupted
from tools.ports import Interrupt

FORM = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}
SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 9_999}


@dataclass
class Person:
    """Answers after `delay` seconds; with None never, until nobody waits any more."""

    delay: float | None = 0.0
    refuses: bool = False
    asked: list[Any] = field(default_factory=list)

    def ask(self, question: PersonQuestion | PersonPage, interrupt: Interrupt) -> PersonAnswer:
        self.asked.append(question)
        over = threading.Event()
        interrupt.on_cancel(over.set)
        if over.wait(20 if self.delay is None else self.delay):
            raise ToolInterrupted
        return PersonAnswer("answered", {"name": "me"})

    def allow_model(self, server: str, prompt: str, interrupt: Interrupt) -> None:
        self.asked.append(prompt)
        if self.refuses:
            raise Denied("The person said no.")


def want(
    servers: SessionServers, method: str, person: Person, token: CancelToken | None = None, **params: Any
) -> str:
    arguments = {"method": method, **params}
    return servers.call("rich", "want", arguments, token or CancelToken(), lambda _: None, behalf=person).text


def test_the_calls_time_stands_still_while_the_person_thinks(open_servers: Open) -> None:
    servers = open_servers(rich(), limits=McpLimits(call_seconds=0.5))
    told = want(servers, "elicitation/create", Person(delay=1.0), **FORM)
    assert json.loads(told) == {"action": "accept", "content": {"name": "me"}}


def test_a_question_is_withdrawn_when_its_call_is_over(open_servers: Open) -> None:
    servers, person = open_servers(rich()), Person(delay=None)
    result = servers.call("rich", "hasty", dict(FORM), CancelToken(), lambda _: None, behalf=person)
    assert result.text == "did not wait"


def test_a_cancel_of_the_turn_ends_the_question(open_servers: Open) -> None:
    servers, token = open_servers(rich()), CancelToken()
    threading.Timer(0.2, token.cancel).start()
    with pytest.raises(ToolInterrupted):
        want(servers, "elicitation/create", Person(delay=None), token, **FORM)


def test_a_server_whose_questions_are_turned_off_cannot_ask(open_servers: Open) -> None:
    servers, person = open_servers(rich(policy=ServerPolicy(asks=False))), Person()
    assert "not supported" in want(servers, "elicitation/create", person, **FORM)
    assert not person.asked


@dataclass
class Model:
    """Answers with the limit that it was given."""

    def __call__(self, messages: Any, tokens: int, temperature: float | None, end: CancelToken) -> Completion:
        return Completion(f"{messages[-1]['content']}, {tokens} tokens", "p:m", Usage(), None)


def with_model(tmp_path: Any, guardian: Guardian, policy: ServerPolicy) -> tuple[SessionServers, ServiceLoop]:
    loop = ServiceLoop()
    servers = SessionServers([rich(policy=policy)], tmp_path, loop=loop, guardian=guardian, sampler=Model())
    servers.start()
    servers.wait(30, CancelToken())
    return servers, loop


def test_a_models_answer_has_limits_and_needs_a_yes(tmp_path: Any, guardian: Guardian) -> None:
    policy = ServerPolicy(sampling_tokens=50, sampling_per_minute=2)
    servers, loop = with_model(tmp_path, guardian, policy)
    person, no = Person(), Person(refuses=True)
    try:
        told = json.loads(want(servers, "sampling/createMessage", person, **SAMPLE))
        assert (told["content"]["text"], told["model"], told["stopReason"]) == ("hi, 50 tokens", "p:m", "endTurn")
        assert person.asked == ["user: hi"]
        assert "The person said no" in want(servers, "sampling/createMessage", no, **SAMPLE)
        assert "Too many requests in a minute" in want(servers, "sampling/createMessage", person, **SAMPLE)
    finally:
        servers.close()
        loop.stop()


def test_where_it_is_allowed_nobody_is_asked(tmp_path: Any, guardian: Guardian) -> None:
    servers, loop = with_model(tmp_path, guardian, replace(ServerPolicy(), sampling="allow"))
    person = Person()
    try:
        assert "hi, 4096 tokens" in want(servers, "sampling/createMessage", person, **SAMPLE)
        assert not person.asked
    finally:
        servers.close()
        loop.stop()


async def test_a_calls_time_goes_on_only_when_nothing_more_is_asked() -> None:
    limit = asyncio.timeout(100)
    async with limit:
        await asyncio.sleep(0)
        call = RunningCall(SimpleQueue(), limit)
        second = call.paused()
        with call.paused():
            second.__enter__()
        assert limit.when() is None
        second.__exit__(None, None, None)
        assert limit.when() is not None


async def test_a_flood_of_wishes_and_words_is_kept_small() -> None:
    events: Events = SimpleQueue()
    inbound = Inbound(rich(), (), samples=False, changed=lambda _: None)
    with inbound.serving(RunningCall(events)) as call:
        for number in range(2_000):
            call.tell(f"{number}\n")
        wishes = [asyncio.create_task(inbound.wish("ask", FORM)) for _ in range(100)]
        await asyncio.sleep(0)
        assert events.qsize() <= 1_020
        refused = {task.result() for task in wishes if task.done()}
        assert len(refused) == 1
        assert "Too many" in str(refused)
    await asyncio.gather(*wishes)
    assert not call.wishes
