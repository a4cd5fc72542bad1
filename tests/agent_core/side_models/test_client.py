"""Side tasks are answered in time or not at all, and never at the cost of a turn."""

from __future__ import annotations

import select
import threading
from dataclasses import replace

import pytest

from agent_core.cancel import CancelToken
from agent_core.config import ConfigSource
from agent_core.errors import TurnInterrupted
from agent_core.factory import AgentFactory
from agent_core.home import Home
from agent_core.messages import user_message
from agent_core.model_request.side_models import timer
from agent_core.providers.model_windows import Windows
from agent_core.services import SessionServices
from agent_core.settings.options import SessionChoices
from tests.support.agents import in_background
from tests.support.model_dialects import dialect_for
from tests.support.model_server import Gate, Hang, ModelServer, Recorded, Reply, Status
from tests.support.raw_server import RawServer, event_stream
from tests.support.settings_files import configure
from tests.support.side_tasks import PATHS, QUESTION, SECOND_KEY, at, refusal
from tests.support.wire_agents import KEY


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


@pytest.mark.parametrize("settings", [{}, {"model": {"default": "offline"}}], ids=["no model", "a model"])
def test_a_turn_that_is_cancelled_already_asks_nobody(auxiliary, alarm, settings):
    token = CancelToken()
    token.cancel()
    with pytest.raises(TurnInterrupted):
        auxiliary(**settings).complete("title", QUESTION, token=token)
    assert alarm.seconds == []


class Heeded(CancelToken):
    """Knows how many listen to it."""

    listeners = 0

    def on_cancel(self, callback):
        forget = super().on_cancel(callback)
        self.listeners += 1

        def forgotten():
            self.listeners -= 1
            forget()

        return forgotten


def test_a_task_leaves_neither_a_thread_nor_a_listener_behind(model_server, auxiliary):
    model_server.add(Reply("yes"), refusal(500))
    client, token = auxiliary(alarm=timer, model=at(model_server, default="test-model")), Heeded()
    for _ in range(2):
        client.complete("title", QUESTION, token=token)
    assert token.listeners == 0
    assert "side-task-limit" not in {thread.name for thread in threading.enumerate()}


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


@pytest.mark.parametrize(
    ("text", "said"), [("model: [", "not valid YAML"), ("{}", "no model is configured"), ("model: 3", "model")]
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


def test_the_factorys_client_is_one_for_all_and_shares_the_sessions_connection(home, tmp_path, model_server):
    configure(home, {"model": at(model_server, default="test-model"), "auxiliary": {"title": {"max_tokens": 20}}})
    model_server.add(Reply("Hello."), Reply("A title."))
    factory = AgentFactory(ConfigSource(Home(home)))
    try:
        factory.sessions.store.create("s", str(tmp_path))
        workspace = factory.workspace(tmp_path, (), SessionChoices())
        factory.agent("s", workspace, SessionServices()).chat("hi")
        assert factory.auxiliary().complete("title", QUESTION).text == "A title."
        assert factory.auxiliary() is factory.auxiliary()
    finally:
        factory.close()
    assert len({request.connection for request in model_server.requests}) == 1


class Learnt(Windows):
    """Servers that have said how large their windows are."""

    def __init__(self):
        super().__init__(lambda choice: None)
        self.begun = []

    def begin(self, choice):
        self.begun.append(choice.model)

    def fitted(self, choice):
        return replace(choice, context_length=9_000)


def test_the_window_of_a_side_task_is_that_of_the_model_which_is_asked_first(model_server, second, auxiliary):
    own = {"compression": at(second, model="small")}
    settings = {"model": at(model_server, default="test-model", context_length=50_000), "auxiliary": own}
    assert auxiliary(**settings).window("compression") is None
    assert auxiliary(**settings).window("title") == 50_000
    windows = Learnt()
    assert auxiliary(windows=windows, **settings).window("compression") == 9_000
    assert windows.begun == ["small"]


def test_the_window_of_a_side_task_is_asked_for_when_its_model_is(model_server, auxiliary):
    model_server.add(Reply("A title"))
    windows = Learnt()
    client = auxiliary(windows=windows, model=at(model_server, default="test-model"))
    assert client.complete("title", QUESTION).text == "A title"
    assert windows.begun == ["test-model"]


def test_without_a_model_a_side_task_has_no_window(auxiliary):
    assert auxiliary(model={"provider": "nonesuch", "default": "m"}).window("compression") is None
