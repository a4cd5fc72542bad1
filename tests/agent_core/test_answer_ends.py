"""How answers end, in each wire protocol: finish reasons of many servers, an early end, and one without a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from agent_core.agent import AIAgent
from agent_core.errors import ModelFailed
from agent_core.messages import user_message
from agent_core.model_request.fallback_chain import make_provider
from agent_core.providers import http_provider
from agent_core.providers.base import Finished, ModelRequest
from agent_core.providers.http_provider import HttpProvider
from tests.support.agents import Ears, assert_well_formed, roles
from tests.support.bedrock_server import Stream
from tests.support.bedrock_server import reply as bedrock_reply
from tests.support.choices import choice_for
from tests.support.dripping import HEAD, Dripping
from tests.support.model_replies import Garbage, Reply, Status, ToolCall, event
from tests.support.raw_server import RawServer, event_stream
from tests.support.wire_agents import KEY, PROTOCOLS, wired

BEDROCK = "bedrock_converse"
TODO = ToolCall("c1", "todo", {"todos": []})


@dataclass(frozen=True)
class Asked:
    """An agent, what its server answers next (text, calls, the server's word for the end), and what it was asked."""

    agent: AIAgent
    add: Callable[..., None]
    bodies: Callable[[], Sequence[Any]]

    def run(self) -> tuple[dict[str, Any], Ears]:
        ears = Ears()
        outcome = self.agent.run_conversation("go", callbacks=ears.callbacks())
        assert_well_formed(outcome["messages"])
        return outcome, ears


@pytest.fixture(params=[*PROTOCOLS, BEDROCK])
def asked(request, over) -> Asked:
    if request.param == BEDROCK:
        bedrock = request.getfixturevalue("bedrock_server")
        choice = choice_for(bedrock.url, api_mode=BEDROCK, api_key=KEY, provider="bedrock", model="test-model")
        return Asked(
            over(choice),
            lambda text, *calls, end="": bedrock.add(Stream(bedrock_reply(text, calls, stop=end))),
            lambda: [one.body for one in bedrock.requests],
        )
    server = request.getfixturevalue("model_server")
    return Asked(
        over(wired(server.base_url, request.param)),
        lambda text, *calls, end=None: server.add(Reply(text, tool_calls=calls, finish_reason=end)),
        lambda: [one.body for one in server.requests],
    )


def server_says(server: str, word: str, done: str) -> Any:
    """A case whose row in the documentation says this."""
    return pytest.param(word, marks=pytest.mark.quirk(server, f"ends an answer with `{word}`", done))


GOES_ON = "the model goes on where it stopped, as at the output limit"
AGAIN = "the answer is asked for again, or continued where text had come"
REFUSAL = "the turn ends as refused"


@pytest.mark.parametrize(
    "word",
    [
        server_says("Mistral", "model_length", GOES_ON),
        server_says("Gemini behind a gateway", "MAX_TOKENS", GOES_ON),
        server_says("Anthropic, Bedrock", "model_context_window_exceeded", GOES_ON),
    ],
)
def test_a_finish_reason_that_is_a_limit_lets_the_answer_go_on(asked, word):
    asked.add("one two ", end=word)
    asked.add("three")
    outcome, _ = asked.run()
    assert (outcome["final_response"], outcome["stop_reason"]) == ("one two three", "end_turn")


@pytest.mark.parametrize(
    "word",
    [server_says("Gemini behind a gateway", "SAFETY", REFUSAL), server_says("z.ai", "sensitive", REFUSAL)],
)
def test_a_finish_reason_that_is_a_refusal_ends_the_turn_as_one(asked, word):
    asked.add("Sure, ", end=word)
    assert asked.agent.run_conversation("go")["stop_reason"] == "refusal"


@pytest.mark.parametrize(
    "word",
    [
        server_says("DeepSeek", "insufficient_system_resource", AGAIN),
        server_says("z.ai", "network_error", AGAIN),
        server_says("vLLM, SGLang", "abort", AGAIN),
        server_says("vLLM", "repetition", AGAIN),
        server_says("OpenRouter", "error", AGAIN),
        server_says("Gemini behind a gateway", "MALFORMED_FUNCTION_CALL", AGAIN),
    ],
)
@pytest.mark.parametrize("said", ["", "one two "], ids=["nothing", "text"])
def test_a_finish_reason_that_is_a_failure_has_the_answer_asked_for_again(asked, word, said):
    asked.add(said, end=word)
    asked.add("three")
    outcome, ears = asked.run()
    assert (outcome["final_response"], outcome["stop_reason"]) == (f"{said}three", "end_turn")
    (notice,) = ears.of("status")
    assert notice.kind == "retry"
    assert word in notice.text


def test_a_call_in_an_answer_that_ended_badly_does_not_run(asked, tmp_path):
    call = ToolCall("c1", "write_file", {"path": "out", "content": "x"})
    asked.add("", call, end="error")
    asked.add("Done.")
    outcome, _ = asked.run()
    assert outcome["final_response"] == "Done."
    assert not (tmp_path / "out").exists()


def test_an_answer_that_always_ends_badly_is_an_error_that_names_the_finish_reason(asked):
    for _ in range(4):
        asked.add("", end="network_error")
    with pytest.raises(ModelFailed, match=r"finish_reason: network_error.*choose another model.*tried 4 times"):
        asked.agent.chat("go")


def test_text_with_an_unknown_finish_reason_is_kept_and_not_called_complete(asked):
    asked.add("It is so.", end="something_new")
    outcome, ears = asked.run()
    assert (outcome["final_response"], outcome["stop_reason"]) == ("It is so.", "end_turn")
    (notice,) = ears.of("status")
    assert notice.kind == "unknown_end"
    assert "something_new" in notice.text
    assert len(asked.bodies()) == 1


def test_nothing_with_an_unknown_finish_reason_is_asked_for_again(asked):
    asked.add("", end="something_new")
    asked.add("It is so.")
    outcome, ears = asked.run()
    assert outcome["final_response"] == "It is so."
    assert ["something_new" in notice.text for notice in ears.of("status")] == [True]


def test_whole_calls_with_an_unknown_finish_reason_run(asked, tmp_path):
    whole = ToolCall("c1", "write_file", {"path": "whole", "content": "x"})
    half = ToolCall("c2", "write_file", '{"path": "half", "content": "x')
    asked.add("", whole, half, end="something_new")
    asked.add("Done.")
    outcome, ears = asked.run()
    assert outcome["final_response"] == "Done."
    assert ears.of("status") == []
    assert (tmp_path / "whole").exists()
    assert not (tmp_path / "half").exists()


def test_a_response_that_is_completed_and_failed_is_a_failure_with_its_words(over, model_server):
    """As of gateways to the Responses protocol."""
    failed = {"status": "failed", "error": {"code": "server_error", "message": "We broke."}}
    model_server.add(Garbage(event({"type": "response.completed", "response": failed})), Reply("Done."))
    ears = Ears()
    agent = over(wired(model_server.base_url, "codex_responses"))
    assert agent.run_conversation("go", callbacks=ears.callbacks())["final_response"] == "Done."
    assert ["We broke." in notice.text for notice in ears.of("status")] == [True]


def piece(content: str = "", finish: str | None = None, **more: Any) -> dict[str, Any]:
    delta = {"content": content} if content else {}
    return {"choices": [{"index": 0, "delta": delta | more, "finish_reason": finish}]}


USAGE = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}
CALL = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "todo", "arguments": '{"todos": []}'}}]}


@pytest.mark.quirk(
    "gateways to Chat Completions",
    "say why an answer ends before it has ended, or with each piece",
    "the rest is waited for and counts; the last reason that says more decides",
)
@pytest.mark.parametrize("done", [[], ["[DONE]"]], ids=["nothing", "done"])
@pytest.mark.parametrize(
    "pieces",
    [
        [piece("one ", "stop"), piece("two")],
        [piece("one ", "stop"), piece("two", "stop"), USAGE],
        [piece(finish="stop"), USAGE, piece("one "), piece("two", "stop")],
        [piece("one ", "null"), piece("two", "stop")],
    ],
    ids=["first", "each", "before usage", "null"],
)
def test_an_early_finish_reason_does_not_cut_the_answer(over, model_server, pieces, done):
    model_server.add(Garbage(b"".join(event(one) for one in [*pieces, *done])))
    assert over(wired(model_server.base_url)).chat("go") == "one two"


def test_a_call_behind_an_early_finish_reason_runs(over, model_server):
    model_server.add(Garbage(event(piece("Look: ", "stop")) + event(piece(finish="tool_calls", **CALL))))
    model_server.add(Reply("Done."))
    outcome = over(wired(model_server.base_url)).run_conversation("go")
    assert roles(outcome["messages"]) == ["user", "assistant", "tool", "assistant"]


def test_an_answer_that_goes_on_behind_its_early_finish_reason_and_is_cut_is_continued(over):
    stream = event_stream(piece("one ", "stop"), piece("two"), b"zzz", ended=False) + b"zzz\r\n"
    with RawServer(stream) as server:
        agent = over(wired(f"{server.origin}/v1"))
        with pytest.raises(ModelFailed, match="broke off"):
            agent.chat("go")
        assert "one two" in str(server.requests[1].body["messages"])


def test_a_pause_behind_a_finish_reason_is_waited_for_as_any_other(over, model_server, monkeypatch):
    monkeypatch.setattr(http_provider, "LAST_READ_TIMEOUT", 0.0)  # how long the end of the body is waited for
    pieces = [HEAD, b"\r\n", event(piece("one ", "stop")), event(piece("two")), event("[DONE]")]
    with Dripping(pieces, pause=0.05) as server:
        assert over(wired(f"{server.origin}/v1")).chat("go") == "one two"


def test_a_server_that_leaves_its_answers_open_is_waited_for_less_the_next_time():
    with RawServer(event_stream(piece("all", "stop"), ended=False)) as server:
        provider = make_provider(wired(f"{server.origin}/v1", stall_after=0.2))
        assert isinstance(provider, HttpProvider)
        assert not provider.leaves_open
        assert list(provider.stream(ModelRequest("m", [user_message("go")])))[-1] == Finished("stop")
        assert provider.leaves_open
        provider.close()


SILENT = "ended without a word"


@pytest.mark.quirk(
    "small models",
    "end their turn behind results of tools without a word",
    "they are asked for words once; then the turn ends with a line that says so",
)
def test_a_model_that_says_nothing_behind_results_is_asked_for_an_answer_once(asked):
    asked.add("", TODO)
    asked.add("")
    asked.add("All is done.")
    outcome, ears = asked.run()
    assert (outcome["final_response"], outcome["stop_reason"]) == ("All is done.", "end_turn")
    assert roles(outcome["messages"]) == ["user", "assistant", "tool", "user", "assistant"]
    nudge = outcome["messages"][3]
    assert nudge["injected"]
    assert "Your answer was empty" in str(asked.bodies()[2])
    assert ears.of("status") == []
    assert [SILENT in note for note in ears.of("thinking")] == [True]


def test_a_model_that_stays_silent_behind_results_ends_the_turn_with_a_line_to_the_person(asked):
    asked.add("", TODO)
    asked.add("")
    asked.add(" \n")
    outcome, ears = asked.run()
    assert outcome["stop_reason"] == "end_turn"
    assert SILENT in outcome["final_response"]
    assert [(notice.kind, SILENT in notice.text) for notice in ears.of("status")] == [("empty", True)]
    assert len(asked.bodies()) == 3
    asked.add("Here I am.")
    assert asked.agent.chat("and?") == "Here I am."


def test_a_model_that_goes_on_when_it_is_asked_for_an_answer_may_be_asked_again(asked):
    for text, *calls in (("", TODO), ("",), ("", ToolCall("c2", "todo", {"todos": []})), ("",), ("Done.",)):
        asked.add(text, *calls)
    outcome, _ = asked.run()
    assert outcome["final_response"] == "Done."


def test_a_model_that_is_out_of_requests_is_not_asked_for_an_answer_once_more(over, model_server):
    model_server.add(Reply("", tool_calls=[TODO]), Reply(""))
    outcome = over(wired(model_server.base_url), max_iterations=2).run_conversation("go")
    assert SILENT in outcome["final_response"]
    assert len(model_server.requests) == 2


@pytest.mark.quirk(
    "Groq", "refuses with `tool_use_failed` or `output_parse_failed` what its model wrote", "asked again"
)
def test_a_server_that_cannot_read_what_its_model_wrote_is_asked_again(over, model_server):
    failed = {"message": "Failed to call a function.", "code": "tool_use_failed", "failed_generation": "<function=x"}
    model_server.add(Status(400, {"error": failed | {"type": "invalid_request_error"}}), Reply("Done."))
    ears, agent = Ears(), over(wired(model_server.base_url))
    assert agent.run_conversation("go", callbacks=ears.callbacks())["final_response"] == "Done."
    assert [notice.kind for notice in ears.of("status")] == ["retry"]


@pytest.mark.quirk("vLLM", "breaks off an answer of gpt-oss that it cannot read", "asked again")
def test_a_server_that_cannot_read_its_model_in_the_middle_of_an_answer_is_asked_again(over, model_server):
    failure = {"message": 'unexpected tokens remaining in message header: Some("to=functions.x")', "code": 400}
    model_server.add(Garbage(event(piece("one ")) + event({"object": "error", **failure})), Reply("two"))
    assert over(wired(model_server.base_url)).chat("go") == "one two"


@pytest.mark.quirk("Ollama", "refuses a model whose template has no tools", "said as such, with what to do")
def test_a_model_without_tools_is_told_of_as_such(over, model_server):
    said = {"message": "registry.ollama.ai/library/gemma:2b does not support tools", "type": "api_error"}
    model_server.add(Status(400, {"error": said}), Reply("Fine."))
    agent = over(wired(model_server.base_url))
    with pytest.raises(ModelFailed, match=r"cannot call tools.*Choose a model that supports tools"):
        agent.chat("go")
    assert len(model_server.requests) == 1
