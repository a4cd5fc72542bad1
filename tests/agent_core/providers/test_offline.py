"""The offline model: it plays the prompt's lines, wherever in them the conversation stands."""

from __future__ import annotations

import json

import pytest

from agent_core.callbacks import CallFinished
from agent_core.errors import ProviderStatusError, TurnInterrupted
from agent_core.messages import assistant_message, tool_call, tool_message, user_message
from agent_core.providers.base import (
    Finished,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
)
from agent_core.providers.offline import HELP, OfflineProvider
from tests.support.agents import Ears, in_background, make_agent
from tools.environments.guardian import Guardian

CALL = tool_call("offline_1", "read_file", '{"path": "a"}')


def play(*messages):
    return list(OfflineProvider().stream(ModelRequest("offline", messages)))


def text_of(events):
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def calls_of(events):
    names = {event.index: (event.id, event.name) for event in events if isinstance(event, ToolCallStarted)}
    arguments = {event.index: json.loads(event.text) for event in events if isinstance(event, ToolCallArguments)}
    return [(*names[index], arguments[index]) for index in sorted(names)]


def test_text_and_thoughts_and_the_end():
    events = play(user_message("think Hm.\nsay Hello.\nsay Bye."))
    assert events[0] == ReasoningDelta("Hm.\n")
    assert text_of(events) == "Hello.\nBye.\n"
    assert events[-1] == Finished("stop")


@pytest.mark.parametrize("prompt", ["What can you do?", "", "parallel\nend"])
def test_a_prompt_without_steps_is_answered_with_an_explanation(prompt):
    events = play(user_message(prompt))
    assert (text_of(events), events[-1]) == (HELP, Finished("stop"))


def test_it_explains_itself_when_there_is_no_prompt_at_all():
    assert text_of(play()) == HELP


def test_a_call_ends_the_answer_and_what_was_said_before_comes_with_it():
    events = play(user_message("say First.\nread a\nsay Never yet."))
    assert text_of(events) == "First.\n"
    assert calls_of(events) == [("offline_1", "read_file", {"path": "a"})]
    assert events[-1] == Finished("tool_calls")


def test_it_goes_on_after_the_results():
    history = [user_message("say First.\nread a\nsay Then."), assistant_message("First.\n", [CALL])]
    events = play(*history, tool_message(CALL, "{}"))
    assert text_of(events) == "Then.\n"
    assert events[-1] == Finished("stop")


def test_a_batch_is_called_at_once_and_gone_on_after_as_a_whole():
    prompt = user_message("parallel\nread a\nread b\nend\nread c")
    first = play(prompt)
    assert [(call_id, arguments["path"]) for call_id, _, arguments in calls_of(first)] == [
        ("offline_1", "a"),
        ("offline_2", "b"),
    ]
    calls = [tool_call(call_id, name, "{}") for call_id, name, _ in calls_of(first)]
    results = [tool_message(call, "{}") for call in calls]
    second = play(prompt, assistant_message("", calls), *results)
    assert calls_of(second) == [("offline_3", "read_file", {"path": "c"})]


def test_a_script_that_ends_with_a_call_says_that_it_is_done():
    events = play(user_message("read a"), assistant_message("", [CALL]), tool_message(CALL, "{}"))
    assert text_of(events) == "Done."


def test_only_the_last_prompt_counts():
    history = [user_message("read a"), assistant_message("", [CALL]), tool_message(CALL, "{}")]
    events = play(*history, assistant_message("Done."), user_message("read b"))
    assert calls_of(events)[0][2] == {"path": "b"}


def test_content_in_parts_is_read():
    content = [{"type": "text", "text": "say one"}, {"type": "text", "text": "say two"}]
    assert text_of(play(user_message(content))) == "one\ntwo\n"


def test_it_fails_as_a_server_does():
    with pytest.raises(ProviderStatusError, match="status 429") as caught:
        play(user_message("fail 429"))
    assert caught.value.status == 429


def test_close_ends_a_pause_at_once():
    stream = OfflineProvider().stream(ModelRequest("offline", [user_message("say before\nsleep 60\nsay after")]))
    events = iter(stream)
    assert next(events) == TextDelta("before\n")
    waiting = in_background(lambda: next(events))
    stream.close()
    with pytest.raises(TurnInterrupted):
        waiting.result(5)


def test_close_ends_a_flood():
    stream = OfflineProvider().stream(ModelRequest("offline", [user_message("stream 1000000")]))
    events = iter(stream)
    next(events)
    stream.close()
    with pytest.raises(TurnInterrupted):
        next(events)


def test_every_kind_of_step_works_with_the_real_tools(tmp_path):
    script = """\
think I begin.
todo Write; Edit; Look
write note.txt one\\ntwo\\n
edit note.txt two => three
parallel
read note.txt
search three
end
run cat note.txt
call todo {"merge": true, "todos": [{"id": "1", "content": "Write", "status": "completed"}]}
stream 2
sleep 0
say Finished.
"""
    guardian, ears = Guardian(), Ears()
    try:
        agent = make_agent(tmp_path, provider=OfflineProvider(), guardian=guardian)
        result = agent.run_conversation(script, callbacks=ears.callbacks())
    finally:
        guardian.kill_all()
    finished = [step for step in ears.of("tool") if isinstance(step, CallFinished)]
    assert [step.name for step in finished if step.result.failed] == []
    assert len(finished) == 7
    assert (tmp_path / "note.txt").read_text() == "one\nthree\n"
    assert result["final_response"] == "0000000 0000001 Finished.\n"
    assert result["iterations"] == 7
