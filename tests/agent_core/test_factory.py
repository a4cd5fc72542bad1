"""The agents of one process: what they share and what each has for itself."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
from pathlib import Path

import pytest

from agent_core.config import ConfigSource, Overrides
from agent_core.errors import AuthRequired, ModelFailed
from agent_core.factory import AgentFactory
from agent_core.home import Home
from agent_core.providers.token_store import FILE_NAME, OAuthToken, TokenStore
from agent_core.services import SessionServices
from agent_core.settings.options import SessionChoices
from tests.support.agents import Ears, in_background
from tests.support.model_server import Gate, ModelServer, Reply, Status
from tests.support.settings_files import configure, use_model
from tools.approval.actions import ReadPath, RunCommand, WritePath
from tools.approval.grants import Grants
from tools.approval.policy import decide
from tools.browser.port import CDP_URL
from tools.environments.sandbox.port import Confinement


@pytest.fixture
def factory(home):
    factory = AgentFactory(ConfigSource(Home(home)))
    yield factory
    factory.close()


def make(factory, cwd, session_id="session-1"):
    workspace = factory.workspace(cwd, (), SessionChoices())
    factory.sessions.store.create(session_id, str(cwd))
    return factory.agent(session_id, workspace, SessionServices())


def test_an_agent_asks_the_model_of_the_settings(home, tmp_path, factory, model_server):
    use_model(home, model_server, model={"max_tokens": 55}, agent={"max_turns": 3})
    model_server.add(Reply("Hello."))
    assert make(factory, tmp_path).chat("hi") == "Hello."
    request = model_server.requests[0]
    assert (request.body["model"], request.body["max_tokens"]) == ("test-model", 55)
    assert request.headers["authorization"] == "Bearer test-key"


def test_agents_share_connections_and_the_store(home, tmp_path, factory, model_server):
    use_model(home, model_server)
    model_server.add(Reply("one"), Reply("two"))
    one, two = make(factory, tmp_path, "s1"), make(factory, tmp_path, "s2")
    one.chat("hi")
    two.chat("hi")
    assert one.provider is two.provider
    assert len({request.connection for request in model_server.requests}) == 1
    assert [message["content"] for message in factory.sessions.store.messages("s1")] == ["hi", "one"]
    assert [message["content"] for message in factory.sessions.store.messages("s2")] == ["hi", "two"]


def test_the_end_of_one_agent_does_not_touch_the_request_of_another(home, tmp_path, factory, model_server):
    use_model(home, model_server)
    gate = Gate()
    model_server.add(Reply("still here", gate=gate))
    one, two = make(factory, tmp_path, "s1"), make(factory, tmp_path, "s2")
    running = in_background(lambda: two.chat("hi"))
    assert gate.reached.wait(5)
    one.close()
    gate.set()
    assert running.result(5) == "still here"


def test_a_change_of_the_settings_reaches_the_next_agent(home, tmp_path, factory, model_server):
    use_model(home, model_server)
    first = make(factory, tmp_path)
    use_model(home, model_server, model={"default": "other-model"}, agent={"max_turns": 3})
    second = make(factory, tmp_path)
    assert (first.model, second.model) == ("test-model", "other-model")
    assert first.provider is not second.provider


def test_without_a_model_it_says_what_to_do(tmp_path, factory):
    with pytest.raises(AuthRequired, match="no model is configured"):
        factory.check_model()
    with pytest.raises(AuthRequired, match="no model is configured"):
        make(factory, tmp_path)


def test_the_command_line_can_ask_for_the_offline_model(home, tmp_path):
    factory = AgentFactory(ConfigSource(Home(home), Overrides(model="offline")))
    assert factory.check_model().provider == "offline"
    assert make(factory, tmp_path).chat("say hello").strip() == "hello"
    factory.close()


def test_what_loads_what_the_first_request_needs_asks_nobody(home, factory, model_server):
    use_model(home, model_server)
    factory.warm()
    assert model_server.requests == []


@pytest.mark.parametrize(
    ("settings", "proxy"),
    [({}, ""), ({"model": {"provider": "nonesuch", "default": "m"}}, ""), (None, "socks5://127.0.0.1:1")],
    ids=["no model", "an unknown provider", "a proxy that cannot be used"],
)
def test_a_model_that_cannot_be_used_is_no_error_before_it_is_asked(
    home, factory, model_server, monkeypatch, *, settings, proxy
):
    if settings is None:
        use_model(home, model_server)
    else:
        configure(home, settings)
    monkeypatch.setenv("all_proxy", proxy)
    factory.warm()


def test_the_models_window_is_told_with_each_step(home, tmp_path, factory, model_server):
    use_model(home, model_server, model={"context_length": 4096})
    model_server.add(Reply("hi"))
    ears = Ears()
    make(factory, tmp_path).run_conversation("hi", callbacks=ears.callbacks())
    assert [step.context_length for step in ears.of("step")] == [4096]


def test_a_workspace_has_the_users_rules(home, tmp_path, factory):
    configure(home, {"command_allowlist": [" rm -rf build "], "approvals": {"timeout": 12}})
    other = tmp_path / "other"
    approvals = factory.workspace(tmp_path / "w", [other], SessionChoices()).approvals
    assert approvals.mode == "default"
    assert factory.settings().approvals.timeout == 12

    def verdict(action):
        return decide(action, approvals.mode, approvals.rules, approvals.grants).verdict

    assert verdict(RunCommand("rm -rf build", tmp_path)) == "allow"
    assert verdict(RunCommand("rm -rf other", tmp_path)) == "ask"
    assert verdict(ReadPath(other.resolve() / "x")) == "allow"


@pytest.mark.parametrize("name", ["hermes-acp.db", "hermes-acp.db-wal", "hermes-acp.db-shm", "hermes-acp.db-journal"])
def test_no_tool_opens_the_sessions_database_in_any_mode(home, factory, name):
    rules, path = (
        factory.workspace(home, (), SessionChoices(mode="dont_ask")).approvals.rules,
        Path(os.path.realpath(home)) / name,
    )
    for action in (ReadPath(path), WritePath(path, b"a", b"b", shown=path)):
        assert decide(action, "dont_ask", rules, Grants()).verdict == "deny"


def test_the_home_is_private_even_where_it_lies_in_the_workspace(tmp_path):
    factory = AgentFactory(ConfigSource(Home(tmp_path / "settings")))
    approvals = factory.workspace(tmp_path, (), SessionChoices()).approvals
    verdicts = [
        decide(ReadPath(tmp_path.resolve() / name), approvals.mode, approvals.rules, approvals.grants).verdict
        for name in ("notes.txt", "settings/notes.txt")
    ]
    assert verdicts == ["allow", "ask"]
    factory.close()


LIMIT = Status(429, {"error": {"message": "Rate limit reached"}})
REFUSED = Status(401, {"error": {"message": "Incorrect API key provided"}})


def servers(second):
    return {"second": {"base_url": second.base_url, "api_key": "key-two"}}


def test_the_fallbacks_of_the_settings_answer_in_turn(home, tmp_path, factory, model_server):
    with ModelServer(Reply("from the second")) as second:
        model_server.add(LIMIT)
        use_model(home, model_server, providers=servers(second), fallback_providers=[{"model": "second:m2"}])
        agent = make(factory, tmp_path)
        result = agent.run_conversation("hi")
        assert (result["final_response"], result["model"]) == ("from the second", "m2")
        assert second.requests[0].headers["authorization"] == "Bearer key-two"


def test_a_fallback_that_cannot_be_used_is_left_out_and_logged(home, tmp_path, factory, model_server, caplog):
    model_server.add(Reply("hello"))
    use_model(
        home,
        model_server,
        fallback_providers=[{"provider": "nowhere", "model": "m"}, {"provider": "openrouter", "model": "x"}],
    )
    assert make(factory, tmp_path).chat("hi") == "hello"
    assert caplog.text.count("a fallback is left out") == 2


def test_the_keys_of_the_settings_are_used_in_turn_and_their_rest_is_shared_with_other_processes(
    home, tmp_path, factory, model_server
):
    model_server.add(REFUSED, Reply("one"), Reply("two"))
    use_model(home, model_server, model={"api_keys": ["second-key-0123"]})
    assert make(factory, tmp_path, "s1").chat("hi") == "one"
    other = AgentFactory(ConfigSource(Home(home)))
    try:
        assert make(other, tmp_path, "s2").chat("hi") == "two"
    finally:
        other.close()
    keys = [request.headers["authorization"] for request in model_server.requests]
    assert keys == ["Bearer test-key", "Bearer second-key-0123", "Bearer second-key-0123"]
    state = home / "credential_state.json"
    assert state.stat().st_mode & 0o777 == 0o600
    assert "second-key" not in state.read_text()
    assert "test-key" not in state.read_text()


def test_a_sign_in_that_the_server_refuses_is_renewed_and_the_turn_goes_on(
    home, tmp_path, factory, model_server, endpoint
):
    store = TokenStore(home / FILE_NAME)
    store.put("company", OAuthToken("old", "refresh-token", token_url=endpoint.url, client_id="c"))
    model_server.add(REFUSED, Reply("hello"))
    configure(home, {"model": "company:m", "providers": {"company": {"base_url": model_server.base_url}}})
    assert make(factory, tmp_path).chat("hi") == "hello"
    keys = [request.headers["authorization"] for request in model_server.requests]
    assert keys == ["Bearer old", "Bearer new"]
    assert store.get("company").access_token == "new"


def test_how_often_a_request_is_tried_comes_from_the_settings(home, tmp_path, factory, model_server):
    model_server.add(LIMIT)
    use_model(home, model_server, agent={"api_max_retries": 1})
    with pytest.raises(ModelFailed):
        make(factory, tmp_path).chat("hi")
    assert len(model_server.requests) == 1


def test_the_effort_of_the_settings_reaches_a_model_that_takes_one(home, tmp_path, factory, model_server):
    model_server.add(Reply("hello"))
    use_model(home, model_server, model={"api_mode": "codex_responses"}, agent={"reasoning_effort": "high"})
    make(factory, tmp_path).chat("hi")
    assert model_server.requests[0].body["reasoning"]["effort"] == "high"


def test_a_sign_in_that_cannot_be_renewed_says_to_sign_in_again(home, tmp_path, factory, model_server, endpoint):
    endpoint.answer = lambda form: (400, {"error": "invalid_grant"})
    TokenStore(home / FILE_NAME).put("company", OAuthToken("old", "refresh", token_url=endpoint.url, client_id="c"))
    model_server.add(REFUSED)
    configure(home, {"model": "company:m", "providers": {"company": {"base_url": model_server.base_url}}})
    with pytest.raises(ModelFailed, match=r"[Ss]ign in"):
        make(factory, tmp_path).chat("hi")


def test_a_session_goes_on_with_its_own_model_when_the_settings_name_another(home, tmp_path, model_server):
    use_model(home, model_server)
    model_server.add(Reply("one"), Reply("two"), Reply("three"))
    with opened(home) as factory:
        make(factory, tmp_path).chat("hi")
    use_model(home, model_server, model={"default": "other-model"})
    with opened(home) as factory:
        restored(factory, tmp_path).chat("and now?")
        make(factory, tmp_path, "session-2").chat("hi")
    asked = [request.body["model"] for request in model_server.requests]
    assert asked == ["test-model", "test-model", "other-model"]
    told = [message["content"] for message in model_server.requests[1].body["messages"]]
    assert told[1:] == ["hi", "one", "and now?"]


def test_the_command_line_wins_over_a_sessions_model_in_its_own_process(home, tmp_path, model_server):
    use_model(home, model_server)
    model_server.add(Reply("one"), Reply("two"), Reply("three"))
    with opened(home) as factory:
        make(factory, tmp_path).chat("hi")
    with opened(home, Overrides(model="third-model")) as factory:
        restored(factory, tmp_path).chat("and now?")
    with opened(home) as factory:
        restored(factory, tmp_path).chat("and then?")
    assert [request.body["model"] for request in model_server.requests] == ["test-model", "third-model", "test-model"]


def test_a_sessions_model_that_cannot_be_used_any_more_is_replaced_with_a_note(home, tmp_path, model_server):
    use_model(home, model_server, model={"provider": "mine"}, providers={"mine": {"base_url": model_server.base_url}})
    model_server.add(Reply("one"), Reply("two"))
    with opened(home) as factory:
        make(factory, tmp_path).chat("hi")
    use_model(home, model_server)
    notes = []
    with opened(home) as factory:
        restored(factory, tmp_path, notes.append).chat("and now?")
    assert len(notes) == 1
    assert "mine:test-model" in notes[0]
    assert "custom:test-model answers" in notes[0]


def test_a_restored_session_sends_the_same_beginning_and_keeps_plan_and_cost(home, tmp_path, model_server):
    use_model(home, model_server)
    model_server.add(Reply("one"), Reply("two"))
    with opened(home) as factory:
        factory.sessions.store.create("session-1", str(tmp_path))
        restored(factory, tmp_path).chat("hi")
        spent = factory.sessions.store.kept("session-1").spent
    with opened(home) as factory:
        restored(factory, tmp_path).chat("and now?")
        assert factory.sessions.store.kept("session-1").spent.requests == spent.requests + 1
    first, second = (request.body for request in model_server.requests)
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert second["tools"] == first["tools"]


def opened(home, overrides=None):
    return contextlib.closing(AgentFactory(ConfigSource(Home(home), overrides)))


def restored(factory, cwd, on_note=lambda _: None, session_id="session-1"):
    workspace = factory.workspace(cwd, (), SessionChoices())
    return factory.agent(session_id, workspace, factory.services(session_id, workspace), on_note=on_note)


def test_sessions_that_are_opened_one_after_the_other_look_for_a_browser_once(home, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: asked.append(name) or object())
    monkeypatch.setenv(CDP_URL, "http://127.0.0.1:1")
    factory = AgentFactory(ConfigSource(Home(home)))
    browsers = [factory.workspace(tmp_path, (), SessionChoices()).browser for _ in range(3)]
    factory.close()
    assert (asked.count("playwright"), None in browsers) == (1, False)


def test_the_sandboxes_own_directories_go_with_the_process(home, tmp_path, factory):
    containment = factory.workspace(tmp_path, (), SessionChoices()).containment
    if not containment.contains:
        pytest.skip("no sandbox works on this machine; on Linux: apt install bubblewrap")
    scratch = Path(containment.sandbox.variables(Confinement("read-only"))["TMPDIR"])
    assert scratch.is_dir()
    factory.close()
    assert not scratch.exists()


def test_turns_are_kept_as_trajectories_where_the_settings_say_so(home, tmp_path, factory, model_server):
    use_model(home, model_server, agent={"save_trajectories": True})
    model_server.add(Reply("The key is test-key."), Status(400, {"error": {"message": "no"}}))
    agent = make(factory, tmp_path)
    agent.chat("hi")
    with pytest.raises(ModelFailed):
        agent.chat("again")
    factory.close()
    lines = {}
    for name in ("completed", "failed"):
        text = (home / "trajectories" / f"{name}.jsonl").read_text()
        assert "test-key" not in text
        lines[name] = json.loads(text)
    assert (lines["completed"]["outcome"], lines["failed"]["outcome"]) == ("end_turn", "error")
    said = [turn["value"] for turn in lines["failed"]["conversations"] if turn["from"] == "human"]
    assert said == ["hi", "again"]


def test_without_that_setting_no_turn_is_kept(home, tmp_path, factory, model_server):
    use_model(home, model_server)
    model_server.add(Reply("Hello."))
    make(factory, tmp_path).chat("hi")
    factory.close()
    assert not (home / "trajectories").exists()
