"""Thoughts that a server leaves within the text: shown as thoughts, kept as thoughts, not sent back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.agents import Ears
from tests.support.model_server import Gate, Reply, ToolCall
from tests.support.wire_agents import PROTOCOLS, wired


def heard(agent, on_text=lambda: None):
    ears = Ears()
    callbacks = ears.callbacks()
    text = callbacks.stream_delta_callback

    def hear(piece):
        text(piece)
        on_text()

    result = agent.run_conversation("go", callbacks=replace(callbacks, stream_delta_callback=hear))
    return "".join(ears.of("reasoning")), "".join(ears.of("text")), result


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("split", [1, 4, 0])
@pytest.mark.quirk(
    "llama.cpp, vLLM, LM Studio and Ollama, as they are started",
    "leave thoughts within the text: `<think>…</think>` and a dozen of such pairs",
    "what an answer begins with between such tags is thoughts, and is not sent back",
)
def test_thinking_tags_at_the_beginning_of_an_answer_hold_thoughts(model_server, over, protocol, split):
    call = ToolCall("c1", "todo", {"todos": []})
    model_server.add(Reply("<think>\nI look.\n</think>\n\nLooking.", tool_calls=[call], split=split))
    model_server.add(Reply("<think>So.</think>Done: `</think>`.", split=split), Reply("again"))
    agent = over(wired(model_server.base_url, protocol))
    thoughts, words, result = heard(agent)
    assert (thoughts, words) == ("I look.So.", "Looking.Done: `</think>`.")
    assert result["final_response"] == "Done: `</think>`."
    assert [message.get("reasoning") for message in result["messages"][1::2]] == ["I look.", "So."]
    agent.chat("next")
    assert "I look." not in model_server.requests[-1].raw.decode()


def test_thinking_tags_that_are_never_closed_hold_thoughts(model_server, over):
    model_server.add(Reply("<think>I look.", tool_calls=[ToolCall("c1", "todo", {"todos": []})]), Reply("Done."))
    thoughts, words, result = heard(over(wired(model_server.base_url)))
    assert (thoughts, words) == ("I look.", "Done.")
    assert result["messages"][1]["content"] is None


@pytest.mark.quirk(
    "any whose chat template writes `<think>` itself (DeepSeek R1, QwQ, Qwen3 Thinking)",
    "sends thoughts that only their closing tag tells from the answer",
    "the answer is kept without them; once that was so twice, the next ones are shown as thoughts from the start",
)
def test_thinking_that_only_ends_is_kept_as_thoughts_and_shown_as_such_from_then_on(model_server, over):
    gate = Gate()  # the rest comes when the beginning was shown
    model_server.add(Reply("Hm 1.\n</think>\n\nYes 1.", split=3, gate=gate, gate_after=1))
    model_server.add(Reply("Hm.\n</think>\n\nYes."), Reply("Hm 2.\n</think>\n\nYes 2.", split=3), Reply("No."))
    agent = over(wired(model_server.base_url))
    thoughts, words, result = heard(agent, on_text=gate.set)
    # What was shown cannot be taken back.
    assert (thoughts, [part.strip() for part in words.split("---")]) == ("", ["Hm 1.", "Yes 1."])
    assert result["final_response"] == "Yes 1."
    assert result["messages"][-1] == {"role": "assistant", "content": "Yes 1.", "reasoning": "Hm 1."}
    heard(agent)
    assert heard(agent)[:2] == ("Hm 2.", "Yes 2.")
    # One that does not think after all.
    thoughts, words, result = heard(agent)
    assert (words, result["messages"][-1]) == ("No.", {"role": "assistant", "content": "No."})
    assert "Hm" not in model_server.requests[-1].raw.decode()


def test_thinking_that_only_ends_is_expected_of_models_that_are_known_for_it(model_server, over):
    model_server.add(Reply("Hm.</think>Yes.", split=2))
    assert heard(over(wired(model_server.base_url, model="unsloth/DeepSeek-R1-GGUF")))[:2] == ("Hm.", "Yes.")


def test_thinking_that_only_ends_once_is_not_expected_of_the_next_answer(model_server, over):
    model_server.add(Reply("Hm.\n</think>\n\nYes."), Reply("Yes, at once.", split=3))
    agent = over(wired(model_server.base_url))
    heard(agent)
    assert heard(agent)[:2] == ("", "Yes, at once.")


def test_an_answer_that_is_one_element_is_shown_as_the_answer(model_server, over):
    text = "<reasoning>\nIt is so.\n</reasoning>"
    model_server.add(Reply(text, split=5))
    result = heard(over(wired(model_server.base_url)))[2]
    assert (result["final_response"], len(model_server.requests)) == (text, 1)


def test_thinking_that_only_ends_and_comes_at_once_is_shown_as_thoughts_at_once(model_server, over):
    model_server.add(Reply("Hm.\n</think>\n\nYes."))
    assert heard(over(wired(model_server.base_url)))[:2] == ("Hm.", "Yes.")


@pytest.mark.parametrize("protocol", ["anthropic_messages", "codex_responses"])
def test_thinking_is_not_looked_for_further_on_in_protocols_that_have_a_place_for_it(model_server, over, protocol):
    model_server.add(Reply("The end\n</think>\nis a tag."))
    assert heard(over(wired(model_server.base_url, protocol)))[:2] == ("", "The end\n</think>\nis a tag.")


def test_thinking_is_not_looked_for_in_the_text_where_the_server_has_marked_it(model_server, over):
    model_server.add(Reply("The end\n</think>\nis a tag.", reasoning="hm", split=2))
    thoughts, words, _ = heard(over(wired(model_server.base_url, model="deepseek-r1")))
    assert (thoughts, words) == ("hm", "The end\n</think>\nis a tag.")
