"""What the program learns from a refusal: what the server does not take is left out, tried one thing at a time."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest

from agent_core.errors import ModelFailed
from agent_core.providers.choice import Dialect, ModelFacts
from agent_core.providers.lessons import Lessons
from agent_core.services import SessionServices
from tests.agent_core.compaction.test_turn_compression import services_with, talk
from tests.support.agents import Ears
from tests.support.foreign_engine import ForeignEngine
from tests.support.model_server import Reply, Status, ToolCall
from tests.support.wire_agents import PROTOCOLS, wired

PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\n"
    b"IDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82"
).decode()
PICTURE = [
    {"type": "text", "text": "what is this?"},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
]


def refusal(message, status=400, **more):
    return Status(status, {"error": {"message": message, "type": "invalid_request_error"} | more})


def has_image(request):
    return PNG in request.raw.decode()


def quirk(server, does):
    return pytest.mark.quirk(server, does, "asked again without the images, which it gets in words for seven days")


NO_IMAGES = {
    "OpenRouter": (404, {"error": {"message": "No endpoints found that support image input", "code": 404}}),
    "llama.cpp": (500, {"error": {"code": 500, "type": "server_error", "message":
                  "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"}}),
    "Ollama": (500, {"error": {"message": "this model is missing data required for image input"}}),
    "vLLM": (400, {"object": "error", "message": "At most 0 image(s) may be provided in one request.", "code": 400}),
    "OpenAI": (400, {"error": {"message": "Invalid content type. image_url is only supported by certain models."}}),
    "Together": (422, {"error": {"message": "Input validation error: model does not support multimodal content"}}),
    "DeepSeek": (400, {"error": {"message": "Failed to deserialize the JSON body into the target type: messages[1]: "
                                            "unknown variant `image_url`, expected `text` at line 1 column 900"}}),
    "Groq": (400, {"error": {"message": "messages[1].content must be a string; this model has no vision"}}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body"),
    [
        pytest.param(*each, marks=quirk(name, "refuses images, in words of its own"))
        for name, each in NO_IMAGES.items()
    ],
    ids=NO_IMAGES,
)
def test_a_server_that_takes_no_images_gets_them_in_words_from_then_on(model_server, over, status, body):
    ears, agent = Ears(), over(wired(model_server.base_url))
    model_server.add(Status(status, body), Reply("a dot"), Reply("another"))
    assert agent.run_conversation(PICTURE, callbacks=ears.callbacks())["final_response"] == "a dot"
    assert agent.run_conversation(PICTURE, callbacks=ears.callbacks())["final_response"] == "another"
    assert [has_image(request) for request in model_server.requests] == [True, False, False]
    assert "test-model does not take images" in model_server.requests[1].raw.decode()
    told = [status.text for status in ears.of("status")]
    assert "Trying again without the images" in told[0]
    assert told[1] == "Learned of custom:test-model: it takes no images. /status shows it, and can forget it."
    # The next prompt's image: the person is told once that it is not sent, and nothing is refused again.
    assert len(told) == 3
    assert "does not take images" in told[2]


@pytest.mark.parametrize("mode", PROTOCOLS)
def test_an_image_of_an_earlier_turn_or_of_a_tool_does_not_make_the_session_unusable(
    model_server, over, tmp_path, mode
):
    (tmp_path / "dot.png").write_bytes(base64.b64decode(PNG))
    agent = over(wired(model_server.base_url, mode))
    look = ToolCall("call_1", "read_file", {"path": "dot.png"})
    model_server.add(Reply(tool_calls=[look]), refusal("this model does not support images"), Reply("I can't see it"))
    assert agent.chat("look at dot.png") == "I can't see it"
    model_server.add(Reply("yes"))
    assert agent.chat("are you sure?") == "yes"
    assert [has_image(request) for request in model_server.requests] == [False, True, False, False]


def test_a_refused_size_of_an_image_does_not_teach_that_the_server_takes_none(model_server, over):
    agent = over(wired(model_server.base_url))
    model_server.add(refusal("image exceeds 5 MB maximum: 9 > 5"), Reply("too large"), Reply("a dot"))
    agent.run_conversation(PICTURE)
    agent.run_conversation(PICTURE)
    assert [has_image(request) for request in model_server.requests] == [True, False, True]


def test_what_a_refusal_taught_is_known_to_later_sessions_and_to_other_models_not(model_server, over):
    model_server.add(refusal("images are not supported"), *[Reply("a dot")] * 3)
    for model in ("test-model", "test-model", "other-model"):
        over(wired(model_server.base_url, model=model)).run_conversation(PICTURE)
    assert [has_image(request) for request in model_server.requests] == [True, False, False, True]


UNEXPLAINED = refusal("Param Incorrect")


@pytest.mark.quirk(
    "any server",
    "refuses a request and does not say for what",
    "asked again with one thing changed at a time: fields, then images, then length",
)
@pytest.mark.parametrize("mode", ["chat_completions"])
def test_a_refusal_that_nobody_can_explain_is_tried_with_one_thing_changed_at_a_time(model_server, over, mode):
    dialect = Dialect(cache_key=True, effort="reasoning_effort")
    agent = over(wired(model_server.base_url, mode, dialect=dialect), services=services_with())
    model_server.add(UNEXPLAINED, UNEXPLAINED, Reply("a dot"), Reply("again"))
    assert agent.run_conversation(PICTURE)["final_response"] == "a dot"
    agent.chat("and now?")
    sent = [("stream_options" in request.body, has_image(request)) for request in model_server.requests]
    # A change that did not help is undone before the next.
    assert sent == [(True, True), (False, True), (True, False), (True, False)]


def test_a_model_that_is_known_to_see_is_not_taken_for_blind_because_of_one_refusal(model_server, over):
    agent = over(wired(model_server.base_url, facts=ModelFacts(vision=True)))
    model_server.add(UNEXPLAINED, UNEXPLAINED, Reply("a dot"), Reply("another"))
    agent.run_conversation(PICTURE)
    agent.run_conversation(PICTURE)
    assert [has_image(request) for request in model_server.requests] == [True, True, False, True]


def test_fields_that_a_server_does_not_know_are_left_out_where_that_helps(model_server, over):
    agent = over(wired(model_server.base_url))
    model_server.add(UNEXPLAINED, Reply("hello"), Reply("again"))
    assert agent.chat("hi") == "hello"
    assert agent.chat("hi") == "again"
    assert ["stream_options" in request.body for request in model_server.requests] == [True, False, False]


def test_a_refusal_that_stays_whatever_is_changed_ends_the_turn_with_the_servers_words(model_server, over):
    agent = over(wired(model_server.base_url))
    model_server.add(*[UNEXPLAINED] * 3)
    with pytest.raises(ModelFailed, match="Param Incorrect"):
        agent.run_conversation(PICTURE)
    assert len(model_server.requests) == 3  # as it is, without fields, without images: the conversation is short
    model_server.add(Reply("well"))
    agent.run_conversation(PICTURE)
    last = model_server.requests[-1]
    assert ("stream_options" in last.body, has_image(last)) == (True, True)


def long_talk(model_server, over, **options):
    """An agent whose conversation fills more than half of its window."""
    services = services_with(ForeignEngine(threshold=0.9))
    agent = over(wired(model_server.base_url, context_length=40_000, **options), services=services)
    talk(agent, model_server, 35)
    return agent, services


def test_a_conversation_over_half_the_window_is_shortened_last_and_stays_so_where_it_helps(model_server, over):
    ears = Ears()
    agent, services = long_talk(model_server, over)
    model_server.add(UNEXPLAINED, UNEXPLAINED, Reply("fine"), Reply("on"))
    assert agent.run_conversation("go on", callbacks=ears.callbacks())["final_response"] == "fine"
    assert [step.state for step in ears.of("compression")] == ["running", "done"]
    assert services.compaction is not None
    assert "they talked" in model_server.requests[-1].raw.decode()
    agent.chat("and on")
    assert "they talked" in model_server.requests[-1].raw.decode()


def test_a_shorter_conversation_that_does_not_help_is_whole_again(model_server, over):
    ears = Ears()
    agent, services = long_talk(model_server, over)
    model_server.add(UNEXPLAINED, UNEXPLAINED, UNEXPLAINED)
    with pytest.raises(ModelFailed):
        agent.run_conversation("go on", callbacks=ears.callbacks())
    assert [step.state for step in ears.of("compression")] == ["running", "done"]
    assert "sees all of it again" in " ".join(status.text for status in ears.of("status"))
    assert services.compaction is None
    model_server.add(Reply("well"))
    agent.chat("and now?")
    assert "they talked" not in model_server.requests[-1].raw.decode()


@pytest.mark.parametrize("status", [503, 529, 500, 429])
def test_an_overloaded_server_is_asked_the_same_again(model_server, over, status):
    agent = over(wired(model_server.base_url))
    model_server.add(refusal("Overloaded", status), Reply("a dot"))
    agent.run_conversation(PICTURE)
    assert [("stream_options" in each.body, has_image(each)) for each in model_server.requests] == [(True, True)] * 2


def test_at_most_three_changes_are_tried_in_a_turn(model_server, over, tmp_path):
    agent = over(wired(model_server.base_url, dialect=Dialect(files=True)))
    (tmp_path / "a.txt").write_text("x")
    read = Reply(tool_calls=[ToolCall("call_1", "read_file", {"path": "a.txt"})])
    model_server.add(UNEXPLAINED, UNEXPLAINED, read, UNEXPLAINED, UNEXPLAINED, Reply("never"))
    with pytest.raises(ModelFailed):
        agent.run_conversation(PICTURE)
    assert len(model_server.requests) == 5


def test_a_change_that_is_tried_when_the_person_cancels_is_undone(model_server, over):
    services = SessionServices()
    lessons = Lessons()
    agent = over(wired(model_server.base_url, facts=ModelFacts(vision=True)), services=services)
    model_server.add(refusal("images are not supported"))
    ears = Ears()

    def cancel(status):
        ears.heard.append(("status", status))
        agent.interrupt()

    agent.run_conversation(PICTURE, callbacks=replace(ears.callbacks(), status_callback=cancel))
    assert services.omissions.sealed_before == 0
    assert lessons.of(wired(model_server.base_url)) == []
    model_server.add(Reply("a dot"))
    agent.chat("and now?")
    assert has_image(model_server.requests[-1])


@pytest.mark.quirk(
    "vLLM, SGLang",
    "refuse any prompt where the set limit of answers (`max_tokens`) is the whole window",
    "a limit of more than half of the window is sent as that half",
)
@pytest.mark.parametrize("mode", PROTOCOLS)
def test_a_limit_of_answers_leaves_half_of_the_window_to_the_prompt(model_server, over, mode):
    agent = over(wired(model_server.base_url, mode, context_length=40_000, max_tokens=40_000))
    model_server.add(Reply("hello"))
    assert agent.chat("hi") == "hello"
    (request,) = model_server.requests
    limits = {name: request.body[name] for name in request.body if name.startswith("max_")}
    assert list(limits.values()) == [20_000]
