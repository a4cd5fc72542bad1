"""Tool calls that a model or its server did not send whole, in each wire protocol: none of them runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from agent_core.agent import AIAgent
from tests.support.agents import Ears, assert_well_formed
from tests.support.bedrock_server import Stream, delta, frame
from tests.support.bedrock_server import reply as bedrock_reply
from tests.support.choices import choice_for
from tests.support.model_anthropic import sse
from tests.support.model_replies import Garbage, Reply, ToolCall, event
from tests.support.tool_context import told_in
from tests.support.wire_agents import KEY, PROTOCOLS, wired

BEDROCK = "bedrock_converse"
BEDROCK_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
FINISHES = ("stop", "tool_calls", "length")


@dataclass(frozen=True)
class Asked:
    """An agent, and what its server answers next: calls, with why the answer ended, or words."""

    agent: AIAgent
    calls: Callable[[Sequence[ToolCall], str], None]
    says: Callable[[str], None]

    def results(self) -> list[dict[str, Any]]:
        """What the calls of a turn came to, in order."""
        outcome = self.agent.run_conversation("go")
        assert outcome["final_response"] == "Done."
        assert_well_formed(outcome["messages"])
        for message in outcome["messages"]:
            for call in message.get("tool_calls", ()):
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
        return [told_in(message["content"]) for message in outcome["messages"] if message["role"] == "tool"]


@pytest.fixture(params=[*PROTOCOLS, BEDROCK])
def asked(request, over) -> Asked:
    if request.param == BEDROCK:
        bedrock = request.getfixturevalue("bedrock_server")
        choice = choice_for(bedrock.url, api_mode=BEDROCK, api_key=KEY, provider="bedrock", model="test-model")
        return Asked(
            over(choice),
            lambda calls, why: bedrock.add(Stream(bedrock_reply("", calls, stop=BEDROCK_STOPS[why]))),
            lambda text: bedrock.add(Stream(bedrock_reply(text))),
        )
    server = request.getfixturevalue("model_server")
    return Asked(
        over(wired(server.base_url, request.param)),
        lambda calls, why: server.add(Reply("", tool_calls=calls, finish_reason=why)),
        lambda text: server.add(Reply(text)),
    )


WHOLE_FILE = "function a() {\n  return 1;\n}\n"
CUTS = {
    "a file, with raw line breaks": '{"path": "a.js", "content": "function b() {\n  if (x) {\n  }',
    "a file, written as JSON": '{"path": "a.js", "content": "function b() {\\n  if (x) {\\n  }',
    "a file, in single quotes": "{'path': 'a.js', 'content': 'function b() {}",
    "a list that is not closed": '{"path": "a.js", "content": "x", "more": [{"a": 1}',
    "another object behind it": '{"path": "a.js", "content": "x"}{"path": "b.js", "content": "y"}',
}


@pytest.mark.parametrize("finish", FINISHES)
@pytest.mark.parametrize("text", CUTS.values(), ids=CUTS)
def test_half_a_file_never_replaces_a_whole_one(asked, tmp_path, text, finish):
    (tmp_path / "a.js").write_text(WHOLE_FILE)
    asked.calls([ToolCall("r", "read_file", {"path": "a.js"})], "tool_calls")
    asked.calls([ToolCall("c", "write_file", text)], finish)
    asked.says("Done.")
    read, written = asked.results()
    assert "error" not in read
    assert "Nothing was run" in written["error"]
    assert (tmp_path / "a.js").read_text() == WHOLE_FILE
    assert not (tmp_path / "b.js").exists()


@pytest.mark.parametrize("finish", FINISHES)
def test_half_a_command_does_not_run_and_the_whole_call_beside_it_does(asked, tmp_path, finish):
    calls = [
        ToolCall("c", "terminal", '{"command": "touch ran; for d in a b; do { rm -rf \\"$d\\"; }'),
        ToolCall("w", "write_file", '{"path": "whole", "content": "all\n",}'),
    ]
    asked.calls(calls if finish != "length" else calls[::-1], finish)
    asked.says("Done.")
    cut, whole = asked.results() if finish != "length" else asked.results()[::-1]
    assert "“command”" in cut["error"]
    assert "Send the call again" in cut["error"]
    assert "error" not in whole
    assert sorted(path.name for path in tmp_path.iterdir() if path.name in {"ran", "whole"}) == ["whole"]


def test_a_patch_that_was_cut_between_two_files_changes_neither(asked, tmp_path):
    (tmp_path / "a").write_text("a\n")
    patch = "*** Begin Patch\n*** Update File: a\n@@\n-a\n+b\n*** Add File: n\n+first\n"
    asked.calls([ToolCall("c", "patch", {"mode": "patch", "patch": patch})], "stop")
    asked.says("Done.")
    (refused,) = asked.results()
    assert "*** End Patch" in refused["error"]
    assert (tmp_path / "a").read_text() == "a\n"
    assert not (tmp_path / "n").exists()


def chat_call(index: int, arguments: str, name: str | None = "write_file") -> Any:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    call = {"index": index, "id": "call_1", "type": "function", "function": function}
    return event({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})


def anthropic_call(index: int, arguments: str) -> bytes:
    block = {"type": "tool_use", "id": "call_1", "name": "write_file", "input": {}}
    piece = {"type": "input_json_delta", "partial_json": arguments}
    return (
        sse("content_block_start", index=index, content_block=block)
        + sse("content_block_delta", index=index, delta=piece)
        + sse("content_block_stop", index=index)
    )


def responses_call(index: int, arguments: str) -> bytes:
    item = {"type": "function_call", "id": f"fc_{index}", "call_id": "call_1", "name": "write_file", "arguments": ""}
    at = {"item_id": f"fc_{index}", "output_index": index}
    return (
        event({"type": "response.output_item.added", "output_index": index, "item": item})
        + event({"type": "response.function_call_arguments.delta", "delta": arguments, **at})
        + event({"type": "response.output_item.done", "output_index": index, "item": item | {"arguments": arguments}})
    )


STREAMS: dict[str, tuple[Callable[[int, str], bytes], bytes]] = {
    "chat_completions": (chat_call, event({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})),
    "anthropic_messages": (
        anthropic_call,
        sse("message_delta", delta={"stop_reason": "tool_use"}) + sse("message_stop"),
    ),
    "codex_responses": (responses_call, event({"type": "response.completed", "response": {"output": []}})),
}
PIECES = {
    "in two pieces": (('{"path": "out", ', '"content": "once"}'), True),
    "twice": (('{"path": "out", "content": "once"}',) * 2, True),
    "with other arguments": (('{"path": "out", "content": "once"}', '{"path": "out", "content": "twice"}'), False),
    "cut": (('{"path": "out", ', '"content": "on}'), False),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("pieces", "runs"), PIECES.values(), ids=PIECES)
def test_one_id_under_two_indexes_is_one_call(over, model_server, tmp_path, protocol, pieces, runs):
    call, end = STREAMS[protocol]
    body = b"".join(call(index, piece) for index, piece in enumerate(pieces)) + end
    model_server.add(Garbage(body), Reply("Done."))
    ears, agent = Ears(), over(wired(model_server.base_url, protocol))
    outcome = agent.run_conversation("go", callbacks=ears.callbacks())
    assert outcome["final_response"] == "Done."
    assert_well_formed(outcome["messages"])
    assert [name for _, name in ears.of("tool_gen")] == ["write_file"]
    assert len(outcome["messages"][1]["tool_calls"]) == 1
    assert (tmp_path / "out").exists() == runs


def test_one_id_under_two_indexes_is_one_call_at_bedrock_too(over, bedrock_server, tmp_path):
    frames = [
        one
        for index, piece in enumerate(PIECES["in two pieces"][0])
        for one in (
            frame(
                "contentBlockStart",
                {"contentBlockIndex": index, "start": {"toolUse": {"toolUseId": "call_1", "name": "write_file"}}},
            ),
            delta(index, {"toolUse": {"input": piece}}),
            frame("contentBlockStop", {"contentBlockIndex": index}),
        )
    ]
    bedrock_server.add(
        Stream([*frames, frame("messageStop", {"stopReason": "tool_use"})]), Stream(bedrock_reply("Done."))
    )
    choice = choice_for(bedrock_server.url, api_mode=BEDROCK, api_key=KEY, provider="bedrock", model="test-model")
    assert over(choice).chat("go") == "Done."
    assert (tmp_path / "out").read_text() == "once"


def test_calls_of_two_tools_with_one_id_are_two_calls(over, model_server, tmp_path):
    body = chat_call(0, '{"path": "out", "content": "x"}') + chat_call(1, '{"path": "out"}', "read_file")
    model_server.add(Garbage(body + STREAMS["chat_completions"][1]), Reply("Done."))
    outcome = over(wired(model_server.base_url)).run_conversation("go")
    assert len({call["id"] for call in outcome["messages"][1]["tool_calls"]}) == 2
    assert (tmp_path / "out").read_text() == "x"


UNSAID = {"chat_completions": event("[DONE]"), "anthropic_messages": sse("message_stop"), "codex_responses": b""}


@pytest.mark.parametrize("says_end", [False, True], ids=["nothing more", "an end without its reason"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("text", ['{"path": "out", "content": "f() {\\n}', '{"path": "out", "content": "f() {\n}'])
def test_a_call_in_a_stream_that_just_ends_does_not_run(over, model_server, tmp_path, protocol, says_end, text):
    call, _ = STREAMS[protocol]
    model_server.add(Garbage(call(0, text) + (UNSAID[protocol] if says_end else b"")), Reply("Done."))
    ears, agent = Ears(), over(wired(model_server.base_url, protocol))
    outcome = agent.run_conversation("go", callbacks=ears.callbacks())
    assert outcome["final_response"] == "Done."
    assert_well_formed(outcome["messages"])
    ((call_id, _),) = ears.of("tool_gen")
    assert "nothing was run" in ears.finished(call_id).result.text.lower()
    assert not (tmp_path / "out").exists()
