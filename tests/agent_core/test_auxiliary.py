"""Side tasks: answered in time by the first model that can, or not at all, and never at the cost of a turn."""

from __future__ import annotations

import logging
import select
import threading

import pytest

from agent_core.asking.route import Member
from agent_core.auxiliary.client import AuxiliaryClient, timer
from agent_core.config import ConfigSource
from agent_core.errors import TurnInterrupted
from agent_core.factory import AgentFactory
from agent_core.home import Home
from agent_core.interrupt import CancelToken
from agent_core.messages import user_message
from agent_core.providers.credentials.pool import CredentialPool
from agent_core.providers.credentials.state import MemoryPoolState
from agent_core.services import SessionServices
from tests.support.agents import in_background
from tests.support.model_dialects import dialect_for
from tests.support.model_server import (
    Disconnect,
    Garbage,
    Gate,
    Hang,
    ModelServer,
    Recorded,
    Reply,
    Status,
    ToolCall,
    Usage,
)
from tests.support.raw_server import RawServer, event_stream
from tests.support.settings_files import configure
from tests.support.wire_agents import KEY, PROTOCOLS, Connections, pooled

SECOND_KEY = "sk-second-0123456789"
QUESTION = [user_message("Name this conversation.")]
LIMIT_FIELD = {
    "chat_completions": "max_tokens",
    "anthropic_messages": "max_tokens",
    "codex_responses": "max_output_tokens",
}
PATHS = {"chat_completions": "chat/completions", "anthropic_messages": "messages", "codex_responses": "responses"}


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class ManualAlarm:
    """Rings when the test says so. Implements `Alarm`, and makes itself."""

    def __init__(self):
        self.seconds = []
        self.ring = None

    def __call__(self, seconds, ring):
        self.seconds.append(seconds)
        self.ring = ring
        return self

    def start(self):
        pass

    cancel = join = start


class DrippingServer(RawServer):
    """Sends a piece of an answer every few milliseconds until its client leaves."""

    def __init__(self, protocol):
        path = f"/v1/{PATHS[protocol]}"
        request = Recorded(1, 0, "POST", path, {}, b"", {"model": "m", "stream_options": {}})
        streamed = dialect_for(path).streamed(request, Reply("drip"))
        self._opening = event_stream(*streamed.opening, ended=False)
        self._piece = b"%x\r\n%b\r\n" % (len(streamed.deltas[0]), streamed.deltas[0])
        self.dripped = threading.Event()
        self.left = threading.Event()
        super().__init__(None)

    def _converse(self, connection):
        connection.recv(65536)
        connection.sendall(self._opening)
        while not (select.select([connection], [], [], 0.01)[0] and not connection.recv(65536)):
            connection.sendall(self._piece)
            self.dripped.set()
        self.left.set()


@pytest.fixture(params=PROTOCOLS)
def protocol(request):
    return request.param


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def alarm():
    return ManualAlarm()


@pytest.fixture
def auxiliary(home, clock, alarm):
    """A client for the given settings, whose time is not over before the test says so."""
    connections = Connections()

    def make(member=lambda config, choice: pooled(choice), alarm=alarm, **settings):
        configure(home, settings)
        return AuxiliaryClient(ConfigSource(Home(home)), member, connections, clock, alarm)

    yield make
    connections.close()


@pytest.fixture
def second():
    with ModelServer(default=Reply("from the second")) as server:
        yield server


def at(server, protocol="chat_completions", **more):
    """The settings of a model on this server."""
    url = server if isinstance(server, str) else server.base_url
    return {"provider": "custom", "base_url": url, "api_key": KEY, "api_mode": protocol, **more}


def key_of(request):
    return (request.headers.get("x-api-key") or request.headers["authorization"]).removeprefix("Bearer ")


def refusal(status, message="no", headers=None, **more):
    return Status(status, {"error": {"message": message, "type": "error"} | more}, headers or {})


def test_the_tasks_own_model_answers_as_the_settings_have_it(model_server, second, auxiliary, protocol):
    model_server.add(Reply(" A title.\n", reasoning="hm", usage=Usage(7, 3)))
    own = at(model_server, protocol, model="small-model", max_tokens=44)
    client = auxiliary(model=at(second, default="test-model"), auxiliary={"title": own})
    completion = client.complete("title", QUESTION, max_tokens=99, temperature=0.25)
    assert (completion.text, completion.model, completion.truncated) == ("A title.", "custom:small-model", False)
    assert (completion.usage.input_tokens, completion.usage.output_tokens, completion.cost) == (7, 3, None)
    (request,) = model_server.requests
    assert request.path.endswith(PATHS[protocol])
    assert (request.model, request.body[LIMIT_FIELD[protocol]], request.body["temperature"]) == (
        "small-model",
        44,
        0.25,
    )
    assert key_of(request) == KEY
    assert "tools" not in request.body
    assert second.requests == []


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"title": {"provider": "auto", "model": "", "base_url": "", "api_key": ""}},
        {"title": {"timeout": 5, "max_tokens": 33}},
        {"vision": {"model": "other-model"}},
    ],
)
def test_without_a_model_of_its_own_a_task_asks_the_sessions(model_server, auxiliary, protocol, written):
    model_server.add(Reply("A title."))
    client = auxiliary(model=at(model_server, protocol, default="test-model"), auxiliary=written)
    assert client.complete("title", QUESTION, max_tokens=33).model == "custom:test-model"
    assert model_server.requests[0].body[LIMIT_FIELD[protocol]] == 33


def test_a_model_alone_is_one_of_the_sessions_server(model_server, auxiliary):
    model_server.add(Reply("yes"))
    client = auxiliary(model=at(model_server, default="test-model"), auxiliary={"approval": {"model": "small-model"}})
    assert client.complete("approval", QUESTION).model == "custom:small-model"
    assert key_of(model_server.requests[0]) == KEY


@pytest.mark.parametrize(("task", "name"), [("title", "title_generation"), ("poem", "poem")])
def test_a_task_may_have_the_name_that_other_programs_know_or_any(model_server, auxiliary, task, name):
    model_server.add(Reply("yes"))
    client = auxiliary(model=at(model_server, default="test-model"), auxiliary={name: {"model": "small-model"}})
    assert client.complete(task, QUESTION).model == "custom:small-model"


def test_own_model_session_and_fallbacks_are_asked_in_turn_each_once(model_server, auxiliary, protocol):
    model_server.add(*[refusal(500)] * 3, Reply("at last"))
    named = {name: at(model_server, protocol) for name in ("a", "b", "c", "d")}
    client = auxiliary(
        providers=named,
        model={"provider": "b", "default": "two"},
        auxiliary={"title": {"provider": "a", "model": "one"}},
        fallback_providers=["c:three", "b:two", "a:one", "d:four"],
    )
    assert client.complete("title", QUESTION).model == "d:four"
    assert [request.model for request in model_server.requests] == ["one", "two", "three", "four"]


def test_the_tasks_own_entry_goes_before_the_same_model_of_the_session(model_server, auxiliary):
    model_server.add(refusal(500))
    same = at(model_server, model="test-model", headers={"X-Side": "yes"})
    client = auxiliary(model=at(model_server, default="test-model"), auxiliary={"title": same})
    assert client.complete("title", QUESTION) is None
    (request,) = model_server.requests
    assert request.headers["x-side"] == "yes"


def test_an_entry_that_cannot_be_used_is_left_out_and_logged_once(model_server, auxiliary, caplog):
    model_server.add(Reply("one"), Reply("two"))
    client = auxiliary(
        model=at(model_server, default="test-model"), auxiliary={"title": {"provider": "nonesuch", "model": "m"}}
    )
    assert [client.complete("title", QUESTION).text for _ in range(2)] == ["one", "two"]
    (told,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "title" in told
    assert "nonesuch" in told


def test_the_tasks_model_answers_where_the_session_has_none(model_server, auxiliary):
    model_server.add(refusal(500), Reply("A title."))
    client = auxiliary(
        auxiliary={"title": at(model_server, model="small-model")},
        fallback_providers=[at(model_server, model="third-model")],
    )
    assert client.complete("title", QUESTION).model == "custom:third-model"


def test_without_an_answer_the_log_names_task_models_and_causes_but_no_key(model_server, second, auxiliary, caplog):
    model_server.add(refusal(402, f"Insufficient Balance for {KEY}"))
    client = auxiliary(
        model=at(model_server, default="test-model"),
        fallback_providers=[at("http://127.0.0.1:9/v1", model="far"), {"provider": "nonesuch", "model": "m"}],
    )
    assert client.complete("approval", QUESTION) is None
    told = caplog.records[-1].getMessage()
    for part in ("approval", "custom:test-model: billing", "custom:far: connection", "nonesuch"):
        assert part in told
    assert len(told.splitlines()) == 1
    assert not any(key in record.getMessage() for record in caplog.records for key in (KEY, SECOND_KEY))


@pytest.mark.parametrize(
    "silence", [Hang(before_headers=True), Hang(Reply("one two", split=3), after=1)], ids=["at once", "halfway"]
)
def test_a_server_that_falls_silent_is_left_when_the_time_is_over(
    model_server, second, auxiliary, alarm, protocol, caplog, silence
):
    model_server.add(silence)
    client = auxiliary(
        model=at(model_server, protocol, default="test-model"), fallback_providers=[at(second, model="other-model")]
    )
    running = in_background(lambda: client.complete("title", QUESTION))
    model_server.wait_for_request()
    alarm.ring()
    assert running.result(20) is None
    assert model_server.disconnected.wait(10)
    assert second.requests == []
    told = caplog.records[-1].getMessage()
    for part in ("custom:test-model: no answer yet", "auxiliary.title.timeout", "30 s"):
        assert part in told


def test_a_server_that_drips_is_left_when_the_time_is_over(auxiliary, alarm, protocol):
    with DrippingServer(protocol) as server:
        client = auxiliary(model=at(f"{server.origin}/v1", protocol, default="test-model"))
        running = in_background(lambda: client.complete("title", QUESTION))
        assert server.dripped.wait(10)
        alarm.ring()
        assert running.result(20) is None
        assert server.left.wait(10)


def test_the_time_is_one_for_all_models(model_server, auxiliary, alarm):
    model_server.add(refusal(500), Hang(before_headers=True))
    client = auxiliary(
        model=at(model_server, default="test-model"),
        fallback_providers=[at(model_server, model=name) for name in ("two", "three")],
    )
    running = in_background(lambda: client.complete("title", QUESTION))
    model_server.wait_for_request(2)
    alarm.ring()
    assert running.result(20) is None
    assert [request.model for request in model_server.requests] == ["test-model", "two"]
    assert len(alarm.seconds) == 1


def test_the_real_time_ends_a_task_as_well(model_server, auxiliary):
    model_server.add(Hang(before_headers=True))
    client = auxiliary(
        alarm=timer, model=at(model_server, default="test-model"), auxiliary={"title": {"timeout": 0.05}}
    )
    assert client.complete("title", QUESTION) is None


@pytest.mark.parametrize(
    ("task", "written", "seconds"),
    [("title", {}, 30), ("compression", {}, 120), ("poem", {}, 30), ("compression", {"timeout": 7.5}, 7.5)],
)
def test_each_task_has_its_time(model_server, auxiliary, alarm, task, written, seconds):
    model_server.add(Reply("yes"))
    auxiliary(model=at(model_server, default="test-model"), auxiliary={task: written}).complete(task, QUESTION)
    assert alarm.seconds == [seconds]


@pytest.mark.parametrize(
    "fault",
    [Hang(before_headers=True), Hang(Reply("one two", split=3), after=1), Status(500, gate=Gate())],
    ids=["silence", "silence in the text", "before an error"],
)
def test_a_cancel_ends_the_task_and_asks_nobody_else(model_server, second, auxiliary, protocol, fault):
    model_server.add(fault)
    client = auxiliary(
        model=at(model_server, protocol, default="test-model"), fallback_providers=[at(second, model="other-model")]
    )
    token = CancelToken()
    running = in_background(lambda: client.complete("title", QUESTION, token=token))
    model_server.wait_for_request()
    token.cancel()
    with pytest.raises(TurnInterrupted):
        running.result(timeout=20)
    assert model_server.disconnected.wait(10)
    assert second.requests == []


def test_a_turn_that_is_cancelled_already_asks_nobody(model_server, auxiliary):
    token = CancelToken()
    token.cancel()
    client = auxiliary(model=at(model_server, default="test-model"))
    with pytest.raises(TurnInterrupted):
        client.complete("title", QUESTION, token=token)
    assert model_server.requests == []


def test_a_task_leaves_neither_a_thread_nor_a_listener_behind(model_server, auxiliary):
    model_server.add(Reply("yes"), refusal(500))
    client, token = auxiliary(alarm=timer, model=at(model_server, default="test-model")), CancelToken()
    for _ in range(2):
        client.complete("title", QUESTION, token=token)
    assert not token._callbacks
    assert "side-task-limit" not in {thread.name for thread in threading.enumerate()}


def test_the_next_key_is_used_when_one_is_refused(model_server, auxiliary, protocol):
    model_server.add(refusal(401, "Incorrect API key provided"), Reply("A title."))
    client = auxiliary(model=at(model_server, protocol, default="test-model", api_keys=[SECOND_KEY]))
    assert client.complete("title", QUESTION).text == "A title."
    assert [key_of(request) for request in model_server.requests] == [KEY, SECOND_KEY]


def test_no_key_is_tried_twice(model_server, second, auxiliary):
    again = refusal(429, "Rate limit reached", {"Retry-After": "0"})
    model_server.add(*[again] * 9)
    client = auxiliary(
        model=at(model_server, default="test-model", api_keys=[SECOND_KEY]),
        fallback_providers=[at(second, model="other-model")],
    )
    assert client.complete("title", QUESTION).text == "from the second"
    keys = [key_of(request) for request in model_server.requests]
    assert len(keys) == len(set(keys))


def test_a_model_whose_keys_rest_is_passed_over(model_server, second, auxiliary, caplog):
    state = MemoryPoolState()

    def member(_config, choice):
        return Member(choice, CredentialPool(choice.base_url, [choice.api_key], "fill_first", state))

    client = auxiliary(
        member,
        model=at(model_server, default="test-model"),
        fallback_providers=[at(second, model="other-model")],
    )
    pool = CredentialPool(model_server.base_url, [KEY], "fill_first", state)
    pool.failed(pool.take(), "rate_limit", 300)
    assert client.complete("title", QUESTION).text == "from the second"
    assert model_server.requests == []


@pytest.mark.parametrize("status", [401, 402, 403, 429])
def test_a_model_that_failed_for_good_is_left_alone_for_a_minute(model_server, second, auxiliary, clock, status):
    model_server.add(refusal(status), Reply("from the first"))
    client = auxiliary(
        model=at(model_server, default="test-model"), fallback_providers=[at(second, model="other-model")]
    )
    for seconds in (0, 59):
        clock.now = 1000 + seconds
        assert client.complete("title", QUESTION).text == "from the second"
    assert len(model_server.requests) == 1
    clock.now = 1060
    assert client.complete("title", QUESTION).text == "from the first"


def test_a_failure_that_passes_is_no_reason_to_leave_a_model_alone(model_server, auxiliary):
    model_server.add(refusal(500), Reply("A title."))
    client = auxiliary(model=at(model_server, default="test-model"))
    assert client.complete("title", QUESTION) is None
    assert client.complete("title", QUESTION).text == "A title."


def test_a_new_key_in_the_settings_is_tried_at_once(home, model_server, auxiliary):
    model_server.add(refusal(401), Reply("A title."))
    client = auxiliary(model=at(model_server, default="test-model"))
    assert client.complete("title", QUESTION) is None
    configure(home, {"model": at(model_server, default="test-model") | {"api_key": SECOND_KEY}})
    assert client.complete("title", QUESTION).text == "A title."


class SignIn:
    """Implements `BearerSource`."""

    def __init__(self, *tokens):
        self.problem = "There is no sign-in at example.com. Sign in."
        self._tokens = list(tokens)

    def current(self, cancelled=None):
        return self._tokens[0] if self._tokens else None

    def refreshed(self, after, cancelled=None):
        return self._tokens.pop() if self._tokens[-1] != after else None


def test_a_sign_in_that_is_refused_is_renewed_once(model_server, auxiliary):
    model_server.add(refusal(401), Reply("A title."))
    signed_in = SignIn("token-1", "token-2")
    client = auxiliary(lambda _, choice: Member(choice, bearer=signed_in), model=at(model_server, default="m"))
    assert client.complete("title", QUESTION).text == "A title."
    assert [key_of(request) for request in model_server.requests] == ["token-1", "token-2"]


@pytest.mark.parametrize(("tokens", "requests", "said"), [((), 0, "no sign-in"), (("token-1",), 1, "custom:m: auth")])
def test_a_sign_in_that_has_ended_is_no_error_of_the_turn(model_server, auxiliary, caplog, tokens, requests, said):
    model_server.add(*[refusal(401)] * 3)
    client = auxiliary(lambda _, choice: Member(choice, bearer=SignIn(*tokens)), model=at(model_server, default="m"))
    assert client.complete("title", QUESTION) is None
    assert len(model_server.requests) == requests
    assert said in caplog.records[-1].getMessage()
    assert "token-1" not in caplog.text


WITHOUT_TEMPERATURE = [
    ("openai", "o3", "chat_completions"),
    ("openai", "gpt-5-nano", "codex_responses"),
    ("moonshot", "kimi-k2.5", "chat_completions"),
    ("anthropic", "claude-opus-4-7", "anthropic_messages"),
]


@pytest.mark.parametrize(("provider", "model", "mode"), WITHOUT_TEMPERATURE)
def test_a_model_with_a_fixed_temperature_is_sent_none(model_server, auxiliary, provider, model, mode):
    model_server.add(Reply("A title."))
    client = auxiliary(model=at(model_server, mode, default=model) | {"provider": provider})
    assert client.complete("title", QUESTION, temperature=0.0).model == f"{provider}:{model}"
    assert "temperature" not in model_server.requests[0].body


@pytest.mark.parametrize("mode", ["chat_completions", "codex_responses"])
def test_a_model_that_refuses_a_temperature_answers_without_it_and_is_not_sent_one_again(
    model_server, auxiliary, mode
):
    model_server.add(refusal(400, code="unsupported_value", param="temperature"), Reply("one"), Reply("two"))
    client = auxiliary(model=at(model_server, mode, default="test-model"))
    assert [client.complete("title", QUESTION, temperature=0.0).text for _ in range(2)] == ["one", "two"]
    assert ["temperature" in request.body for request in model_server.requests] == [True, False, False]


EFFORTS = [
    ("openai", "o3", "chat_completions", {"reasoning_effort": "low"}),
    ("openai", "gpt-5-nano", "chat_completions", {"reasoning_effort": "minimal"}),
    ("openai", "gpt-4o", "chat_completions", {}),
    ("openai", "gpt-5-nano", "codex_responses", {"reasoning": {"effort": "minimal", "summary": "auto"}}),
    ("openai", "gpt-4o", "codex_responses", {}),
    ("custom", "unheard-of", "chat_completions", {}),
    ("custom", "unheard-of", "codex_responses", {}),
    ("custom", "unheard-of", "anthropic_messages", {}),
    ("openrouter", "anthropic/claude-sonnet-4.5", "chat_completions", {}),
    ("anthropic", "claude-haiku-4-5", "anthropic_messages", {}),
    ("anthropic", "claude-sonnet-5", "anthropic_messages", {"thinking": {"type": "disabled"}}),
]


@pytest.mark.parametrize(("provider", "model", "mode", "asked"), EFFORTS)
def test_a_model_is_asked_to_think_little_where_it_can_be_asked(
    model_server, auxiliary, provider, model, mode, asked
):
    model_server.add(Reply("A title."))
    client = auxiliary(
        model=at(model_server, mode, default=model) | {"provider": provider}, agent={"reasoning_effort": "high"}
    )
    assert client.complete("title", QUESTION).text == "A title."
    words = ("reasoning", "reasoning_effort", "thinking", "output_config")
    body = model_server.requests[0].body
    assert {word: body[word] for word in words if word in body} == asked


@pytest.mark.parametrize(
    ("model", "own", "users", "sent"),
    [
        ("test-model", {}, {}, 50),
        ("test-model", {}, {"max_tokens": 30}, 30),
        ("test-model", {"max_tokens": 70}, {"max_tokens": 30}, 70),
        ("qwq-32b", {}, {}, 50 + 2048),
        ("qwq-32b", {}, {"max_tokens": 900}, 900),
        ("qwq-32b", {"max_tokens": 20}, {}, 20),
    ],
)
def test_the_limit_of_an_answer_leaves_room_to_think_but_never_exceeds_the_users(
    model_server, auxiliary, model, own, users, sent
):
    model_server.add(Reply("A title."))
    client = auxiliary(model=at(model_server, default=model, **users), auxiliary={"title": own})
    assert client.complete("title", QUESTION, max_tokens=50).text == "A title."
    assert model_server.requests[0].body["max_tokens"] == sent


def test_models_that_see_no_images_are_not_shown_any(model_server, second, auxiliary):
    blind = at(model_server, default="gpt-audio") | {"provider": "openai"}
    client = auxiliary(model=blind, fallback_providers=[at(second, model="other-model")])
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    assert client.complete("vision", [user_message([picture])]).text == "from the second"
    assert model_server.requests == []
    model_server.add(Reply("A title."))
    assert client.complete("title", QUESTION).text == "A title."


USELESS = {
    "garbage": Garbage(),
    "no events": Garbage(b"<html>", "text/html"),
    "an empty body": Garbage(b""),
    "JSON of another kind": Garbage(b"data: 42\n\n"),
    "fields of another kind": Garbage(b'data: {"choices": 7, "type": [], "delta": 3}\n\n'),
    "JSON without a bottom": Garbage(b"data: " + b"[" * 100_000 + b"\n\n"),
    "no connection": Disconnect(before_headers=True),
    "half an answer": Disconnect(Reply("one two", split=3), after=1),
    "no text": Reply(""),
    "blanks": Reply(" \n"),
    "thoughts alone": Reply("", reasoning="hm"),
    "thoughts that were cut": Reply("<think>hm", finish_reason="length"),
    "a tool call": Reply("", tool_calls=[ToolCall("c", "read_file", "{]")]),
    "a refusal": Reply("I cannot help with that.", finish_reason="content_filter"),
    "a page": Status(404, "<html>not found</html>"),
    "an error of no kind": Status(418, "\x00"),
}


@pytest.mark.parametrize("answer", USELESS.values(), ids=USELESS)
def test_an_answer_of_no_use_is_a_failure_and_the_next_model_is_asked(
    model_server, second, auxiliary, protocol, answer
):
    model_server.add(answer)
    client = auxiliary(
        model=at(model_server, protocol, default="test-model"), fallback_providers=[at(second, model="other-model")]
    )
    assert client.complete("title", QUESTION).text == "from the second"
    assert len(model_server.requests) == 1


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("<think>\nA title?\n</think>\n\nA title.", "A title."),
        ("<thinking>x</thinking>A title.", "A title."),
        ("How <think> works", "How <think> works"),
    ],
)
def test_thoughts_within_the_answer_are_no_part_of_it(model_server, auxiliary, said, text):
    model_server.add(Reply(said, split=2))
    client = auxiliary(model=at(model_server, default="test-model"))
    assert client.complete("title", QUESTION).text == text


def test_an_answer_that_was_cut_says_so(model_server, auxiliary, protocol):
    model_server.add(Reply("half a summ", finish_reason="length"))
    completion = auxiliary(model=at(model_server, protocol, default="test-model")).complete("compression", QUESTION)
    assert (completion.text, completion.truncated) == ("half a summ", True)


def test_what_an_answer_costs_is_told_where_it_is_known(model_server, auxiliary):
    model_server.add(Reply("A title.", usage=Usage(1_000_000, 0)))
    client = auxiliary(model=at(model_server, default="gpt-4o") | {"provider": "openai"})
    assert client.complete("title", QUESTION).cost == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("text", "said"), [("model: [", "not valid YAML"), ("{}", "No model is configured"), ("model: 3", "model")]
)
def test_settings_that_are_no_use_are_no_error_of_the_turn(home, auxiliary, caplog, text, said):
    client = auxiliary()
    (home / "config.yaml").write_text(text)
    assert client.complete("title", QUESTION) is None
    assert said in caplog.records[-1].getMessage()


def test_side_tasks_of_several_threads_do_not_disturb_each_other(auxiliary):
    with ModelServer(default=lambda request: Reply(request.body["messages"][0]["content"])) as server:
        client = auxiliary(model=at(server, default="test-model"))
        running = [
            in_background(lambda text=f"text {number}": client.complete("title", [user_message(text)]).text)
            for number in range(8)
        ]
        assert [task.result(20) for task in running] == [f"text {number}" for number in range(8)]


def test_the_factorys_client_shares_the_sessions_connection_and_its_marks(home, tmp_path, model_server):
    configure(home, {"model": at(model_server, default="test-model"), "auxiliary": {"title": {"timeout": 20}}})
    model_server.add(Reply("Hello."), Reply("A title."))
    factory = AgentFactory(ConfigSource(Home(home)))
    try:
        factory.store.create("s", str(tmp_path))
        factory.agent("s", factory.workspace(tmp_path, (), "default"), SessionServices()).chat("hi")
        assert factory.auxiliary().complete("title", QUESTION).text == "A title."
        assert factory.auxiliary() is factory.auxiliary()
    finally:
        factory.close()
    assert len({request.connection for request in model_server.requests}) == 1
