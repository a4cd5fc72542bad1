"""What a model takes of a message, decided once for all protocols."""

from __future__ import annotations

from agent_core.messages import assistant_message, user_message
from agent_core.providers.choice import Dialect, ModelFacts
from agent_core.providers.protocol import fitting
from tests.support.choices import choice_for
from tests.support.each import each

TEXT = {"type": "text", "text": "look"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
DOCUMENT = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}}
NO_IMAGE = {"type": "text", "text": "[An image was attached; the model test-model does not take images.]"}
NO_DOCUMENT = {"type": "text", "text": "[A document was attached, a.pdf; this server takes no documents.]"}
PROTOCOLS = ["chat_completions", "anthropic_messages", "codex_responses", "bedrock_converse"]


def choice(api_mode="chat_completions", vision=None, files=None):
    return choice_for(
        "http://models.example/v1", api_mode=api_mode, facts=ModelFacts(vision=vision), dialect=Dialect(files=files)
    )


def parts(chosen):
    (message,) = fitting([user_message([TEXT, PICTURE, DOCUMENT])], chosen)
    return message["content"]


@each("api_mode", PROTOCOLS)
@each(("vision", "sent"), [(None, PICTURE), (True, PICTURE), (False, NO_IMAGE)])
def test_only_a_model_that_is_known_to_be_blind_is_sent_no_images(api_mode, vision, sent):
    assert parts(choice(api_mode, vision))[:2] == [TEXT, sent]


@each(
    ("api_mode", "files", "sent"),
    [
        ("chat_completions", None, NO_DOCUMENT),
        *[(api_mode, None, DOCUMENT) for api_mode in PROTOCOLS[1:]],
        *[(api_mode, True, DOCUMENT) for api_mode in PROTOCOLS],
        *[(api_mode, False, NO_DOCUMENT) for api_mode in PROTOCOLS],
    ],
)
def test_documents_go_by_the_server_and_without_word_of_it_by_the_protocol(api_mode, files, sent):
    assert parts(choice(api_mode, files=files))[2] == sent


def test_the_history_and_the_other_fields_of_a_message_stay_as_they_are():
    history = [user_message([PICTURE]), {**assistant_message("yes"), "unfinished": True}, user_message("plain")]
    history[0]["injected"] = True
    first, second, third = fitting(history, choice(vision=False))
    assert first == {"role": "user", "content": [NO_IMAGE], "injected": True}
    assert history[0]["content"] == [PICTURE]
    assert [second, third] == history[1:]
