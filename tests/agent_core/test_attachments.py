"""Images and documents of a prompt on their way to the model, in each wire protocol."""

from __future__ import annotations

import base64

import pytest

from agent_core.providers.choice import Dialect, ModelFacts
from tests.support.agents import Ears, assert_well_formed
from tests.support.model_server import Reply, Status
from tests.support.wire_agents import wired

PDF = base64.b64encode(b"%PDF-1.7\n\x00\xff").decode()
PNG = base64.b64encode(b"\x89PNG\r\n").decode()
PROMPT = [
    {"type": "text", "text": "compare"},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}},
]
PDF_SOURCE = {"type": "base64", "media_type": "application/pdf", "data": PDF}
SENT = {
    "chat_completions": PROMPT[1:],
    "anthropic_messages": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "document", "source": PDF_SOURCE, "title": "a.pdf"},
    ],
    "codex_responses": [
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
        {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
    ],
}
REFUSALS = {
    "an image too large": Status(400, {"error": {"message": "image exceeds 5 MB maximum: 6 > 5", "type": "error"}}),
    "a request too large": Status(413, {"error": {"message": "Request entity too large", "type": "error"}}),
}


@pytest.fixture
def agent(model_server, over, protocol):
    auth = "x-api-key" if protocol == "anthropic_messages" else "bearer"
    return over(wired(model_server.base_url, protocol, dialect=Dialect(auth=auth, files=True)))


def attached(request, protocol):
    """The parts after the text of the person's first message, without cache markers."""
    body = request.body
    messages = body["input"] if protocol == "codex_responses" else body["messages"]
    content = next(message["content"] for message in messages if message["role"] == "user")
    return [{key: value for key, value in part.items() if key != "cache_control"} for part in content[1:]]


def test_the_bytes_arrive_and_are_the_same_in_each_request(model_server, agent, protocol):
    model_server.add(Reply("alike"), Reply("indeed"))
    agent.run_conversation(PROMPT)
    agent.chat("are you sure?")
    assert [attached(request, protocol) for request in model_server.requests] == [SENT[protocol]] * 2
    assert agent.services.prefix.breaks == []


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_what_a_server_refuses_is_left_out_of_the_next_try_and_of_later_turns(model_server, agent, protocol, refusal):
    model_server.add(refusal, Reply("from the text alone"), Reply("again"))
    ears = Ears()
    result = agent.run_conversation(PROMPT, callbacks=ears.callbacks())
    assert result["final_response"] == "from the text alone"
    agent.chat("and now?")
    refused, *later = model_server.requests
    assert attached(refused, protocol) == SENT[protocol]
    assert [notice.kind for notice in ears.of("status")] == ["retry"]
    for request in later:
        raw = request.raw.decode()
        assert PDF not in raw
        assert PNG not in raw
        assert "A document was here, a.pdf." in raw
        assert "An image was here." in raw
    assert result["messages"][0]["content"] == PROMPT
    assert_well_formed(result["messages"])
    assert agent.services.prefix.breaks == ["images"]


def test_a_blind_model_is_told_of_the_image_and_the_history_keeps_it(model_server, over, protocol):
    model_server.add(Reply("a pity"))
    agent = over(wired(model_server.base_url, protocol, facts=ModelFacts(vision=False), dialect=Dialect(files=False)))
    result = agent.run_conversation(PROMPT)
    raw = model_server.requests[0].raw.decode()
    assert PNG not in raw
    assert PDF not in raw
    assert "[An image was attached; the model test-model does not take images.]" in raw
    assert "[A document was attached, a.pdf; this server takes no documents.]" in raw
    assert result["messages"][0]["content"] == PROMPT
