"""The model: chosen, with a key, reachable, and one that calls tools."""

import sys

import pytest

from acp_adapter.cli.doctor import configuration as checks
from acp_adapter.cli.doctor.configuration import check_key, check_model, check_sign_in
from agent_core.home import Home
from agent_core.providers.sign_out import SignedOut
from tests.support.fake_sign_ins import TOKEN, FakeSignIns
from tests.support.model_server import Garbage, Hang, Reply, Status, ToolCall
from tests.support.settings_files import configure, use_model
from tools.errors import install_line

CALL = Reply("", tool_calls=[ToolCall("c1", "report", {"state": "ready"})])


def only(findings):
    (finding,) = findings
    return finding


def test_no_model_is_a_problem_and_setup_the_answer(case):
    finding = only(check_key(case()))
    assert (finding.state, finding.text) == ("fail", "No model is configured")
    assert finding.fix == "Run `hermes-acp setup`. docs/models.md lists every provider."
    assert list(check_model(case())) == []


def test_a_missing_key_is_told_with_its_variable_and_where_keys_are_made(case, home):
    configure(home, {"model": {"provider": "anthropic", "default": "claude-x"}})
    finding = only(check_key(case()))
    assert finding.state == "fail"
    assert "ANTHROPIC_API_KEY" in finding.text
    assert "https://" in finding.fix


def test_a_key_is_counted_and_never_shown(case, home):
    configure(home, {"model": {"provider": "anthropic", "default": "claude-x"}})
    (home / ".env").write_text("ANTHROPIC_API_KEY=sk-ant-0123456789abcdef\n")
    finding = only(check_key(case()))
    assert (finding.state, "a key is there" in finding.text) == ("ok", True)
    assert "sk-ant" not in repr(finding)


def test_who_has_signed_out_is_told(case, home, model_server):
    use_model(home, model_server)
    SignedOut(Home(home)).mark()
    assert "signed out" in only(check_key(case())).text
    assert list(check_model(case())) == []


def test_a_stand_in_without_a_key_is_a_warning(case, home, model_server):
    use_model(home, model_server, fallback_providers=[{"provider": "anthropic", "model": "claude-x"}])
    well, warned = check_key(case())
    assert (well.state, warned.state) == ("ok", "warn")
    assert "fallback_providers.0" in warned.text


def test_the_offline_stand_in_needs_no_request(case, home):
    configure(home, {"model": {"provider": "offline"}})
    assert [only(look(case())).state for look in (check_key, check_model)] == ["ok", "ok"]


def test_a_model_that_calls_the_tool_is_well_after_one_small_request(case, home, model_server):
    use_model(home, model_server)
    model_server.add(CALL)
    finding = only(check_model(case()))
    assert (finding.state, "answers and calls tools" in finding.text) == ("ok", True)
    (request,) = model_server.requests
    assert [tool["function"]["name"] for tool in request.body["tools"]] == ["report"]
    assert len(request.raw) < 1000


@pytest.mark.parametrize(
    "reply",
    [
        Reply("I am ready."),
        Reply("", tool_calls=[ToolCall("c1", "other", {})]),
        Reply("", tool_calls=[ToolCall("c1", "report", "{ready")]),
    ],
)
def test_a_model_that_does_not_call_it_is_a_warning(case, home, model_server, reply):
    use_model(home, model_server)
    model_server.add(reply)
    finding = only(check_model(case()))
    assert (finding.state, "was told to call a tool" in finding.text) == ("warn", True)
    assert "hermes-acp models" in finding.fix


@pytest.mark.parametrize("reply", [Status(401, "No such key."), Garbage()])
def test_a_server_that_fails_is_a_problem(case, home, model_server, reply):
    use_model(home, model_server)
    model_server.add(reply)
    assert only(check_model(case())).state == "fail"


def test_a_server_that_refuses_tools_is_told_apart(case, home, model_server):
    use_model(home, model_server)
    model_server.add(Status(400, "test-model does not support tools"))
    finding = only(check_model(case()))
    assert finding.state == "fail"
    assert "made for tools" in finding.fix


def test_a_server_that_is_not_there_is_a_problem(case, home, model_server):
    use_model(home, model_server, model={"base_url": "http://127.0.0.1:9/v1"})
    assert only(check_model(case())).state == "fail"


def test_a_silent_server_is_given_up(case, home, model_server, monkeypatch):
    monkeypatch.setattr(checks, "MODEL_SECONDS", 0.2)
    use_model(home, model_server)
    model_server.add(Hang(Reply("never")))
    assert "did not answer within 0.2 s" in only(check_model(case())).text


@pytest.fixture
def foundry(home, model_server, monkeypatch):
    """Claude on Foundry, signed in as a machine of Azure."""
    origin = f"http://127.0.0.1:{model_server.port}"
    configure(home, {"model": {"provider": "foundry", "default": "claude-x", "base_url": f"{origin}/anthropic"}})
    with FakeSignIns() as fake:
        fake.entra(monkeypatch)
        yield fake


def test_a_sign_in_that_works_is_told_without_asking_the_model(case, foundry, model_server):
    assert "a sign-in counts" in only(check_key(case())).text
    finding = only(check_sign_in(case()))
    assert (finding.state, finding.check) == ("ok", "sign-in")
    assert finding.text == "signed in at Microsoft Entra ID for anthropic-foundry"
    assert TOKEN not in repr(finding)
    assert len(foundry.asked) == 1
    assert model_server.requests == []


def test_a_sign_in_that_does_not_work_says_what_to_do(case, foundry):
    foundry.refusal = (400, {"error": "invalid_request", "error_description": "no such identity"})
    finding = only(check_sign_in(case()))
    assert finding.state == "fail"
    assert "az login" in finding.text


def test_a_sign_in_whose_library_is_missing_has_the_line_that_installs_it(case, foundry, monkeypatch):
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    finding = only(check_sign_in(case()))
    assert (finding.state, install_line("azure") in finding.fix) == ("fail", True)


def test_a_model_with_a_key_has_no_sign_in_to_be_tested(case, home, model_server):
    use_model(home, model_server)
    assert list(check_sign_in(case())) == []
