"""What a turn does with the window that the model's server really has."""

import pytest

from agent_core.providers.choice import USUAL_WINDOW
from agent_core.providers.model_windows import Windows
from tests.support.agents import Ears
from tests.support.choices import choice_for
from tests.support.model_server import Reply, ToolCall, Usage
from tests.support.wire_agents import wired

SEARCH = ToolCall("call-1", "search_files", {"pattern": "nothing", "path": "."})


def wait(seconds=30.0):
    """Windows whose answers are waited for, however loaded the machine is."""
    return Windows(wait=seconds)


def ollama(server, loaded=lambda: True, window=4_096):
    """Answers as Ollama does, which knows the window of a loaded model only."""
    server.pages["/api/ps"] = lambda: {"models": [{"name": "test-model:latest", "context_length": window}] * loaded()}
    server.pages["/api/show"] = {"model_info": {"llama.context_length": 131_072}}
    return choice_for(server.base_url, provider="ollama")


@pytest.mark.quirk(
    "Ollama", "loads a model with the first request", "asked for the window again behind the first answer"
)
def test_served_window_is_learned_once_ollama_has_loaded_the_model(over, model_server):
    choice = ollama(model_server, loaded=lambda: bool(model_server.requests))
    model_server.add(Reply(tool_calls=[SEARCH], usage=Usage(1_000)), Reply("Done.", usage=Usage(1_100)))
    ears = Ears()
    over(choice, windows=wait(), callbacks=ears.callbacks()).chat("Look.")
    assert [step.context_length for step in ears.of("step")] == [4_096, 4_096]


def test_served_window_goes_behind_the_one_that_is_set(over, model_server):
    ollama(model_server)
    model_server.add(Reply("Done."))
    ears = Ears()
    choice = choice_for(model_server.base_url, provider="ollama", context_length=50_000)
    over(choice, windows=wait(), callbacks=ears.callbacks()).chat("Look.")
    assert ears.of("step")[0].context_length == 50_000
    assert model_server.asked_pages == []


def test_cut_prompt_is_told_once_a_session_with_the_command_that_helps(over, model_server):
    choice = ollama(model_server, loaded=lambda: bool(model_server.requests))
    model_server.add(*[Reply("Done.", usage=Usage(4_096))] * 3)
    ears = Ears()
    agent = over(choice, windows=wait(), callbacks=ears.callbacks())
    for words in (2_000, 200, 200):  # once the window is known, a prompt larger than that is not sent at all
        agent.chat("Look at this. " + "Some words of it. " * words)
    told = [status.text for status in ears.of("status") if "OLLAMA_CONTEXT_LENGTH" in status.text]
    assert len(told) == 1
    assert "has read only 4,096 of about" in told[0]
    assert "`OLLAMA_CONTEXT_LENGTH=32768 ollama serve`" in told[0]


def test_cut_prompt_is_noticed_where_no_server_tells_its_window(over, model_server):
    model_server.add(Reply("Done.", usage=Usage(2_048)))
    ears = Ears()
    over(wired(model_server.base_url), windows=wait(), callbacks=ears.callbacks()).chat("Some words of it. " * 4_000)
    (told,) = [status.text for status in ears.of("status")]
    assert "has read only 2,048 of about" in told
    assert "llama-server -c" in told


def test_meter_is_told_what_is_used_also_where_the_server_counts_nothing(over, model_server):
    model_server.add(Reply("Done.", usage=None), Reply("Done.", usage=Usage(700, 20)))
    ears = Ears()
    agent = over(wired(model_server.base_url), callbacks=ears.callbacks())
    agent.chat("Look.")
    agent.chat("Look.")
    first, second = ears.of("step")
    assert 1_000 < first.estimated < USUAL_WINDOW
    assert (second.estimated, second.usage.input_tokens, second.context_length) == (0, 700, None)
