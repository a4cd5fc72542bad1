"""Documents for Bedrock: legal names, no two alike, and the bytes as they were."""

from __future__ import annotations

import base64
import re

import pytest

from agent_core.messages import user_message
from agent_core.providers.base import ModelRequest
from agent_core.providers.bedrock import document_block, name_apart
from tests.agent_core.providers.wire.conftest import MODEL
from tests.support.bedrock_server import Stream, reply
from tests.support.each import each

PDF = b"%PDF-1.7\n\x00\xff"
DATA = f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}"


def block(filename, data=DATA):
    return document_block({"filename": filename, "file_data": data})


@each(
    ("filename", "name"),
    [
        ("report.pdf", "report"),
        ("Report.PDF", "Report"),
        ("my_report.v2 (final) [1].pdf", "my-report-v2 (final) [1]"),
        ("two  \t spaces.pdf", "two spaces"),
        ("für Mai.pdf", "f-r Mai"),
        ("отчёт за май.pdf", "Document"),
        (".pdf", "Document"),
        ("x" * 300 + ".pdf", "x" * 200),
        ("no extension", "no extension"),
    ],
)
def test_a_name_has_only_the_characters_and_the_length_that_are_allowed(filename, name):
    assert block(filename) == {"document": {"format": "pdf", "name": name, "source": {"bytes": PDF}}}


@pytest.mark.parametrize("data", ["data:application/pdf;base64,AAA", "data:application/pdf;base64,@@@@"])
def test_a_document_that_cannot_be_read_is_told_of_in_words(data):
    assert block("a.pdf", data) == {"text": "[A document that cannot be read: a.pdf]"}


def named(*filenames):
    messages = [{"role": "user", "content": [{"text": "see"}, block(filename)]} for filename in filenames]
    name_apart(messages)
    return [message["content"][1]["document"]["name"] for message in messages]


def test_documents_of_one_name_are_numbered():
    assert named("a.pdf", "A.pdf", "b.pdf", "a.pdf", "a 2.pdf") == ["a", "A 2", "b", "a 3", "a 2 2"]


def test_a_number_leaves_a_long_name_within_its_length():
    first, second = named("x" * 300, "x" * 300)
    assert len(first) == 200
    assert re.fullmatch(r"x{190,} 2", second)
    assert len(second) <= 200


def test_documents_in_a_tools_result_are_named_apart_too():
    result = {"toolResult": {"toolUseId": "t", "content": [block("a.pdf")]}}
    messages = [{"role": "user", "content": [block("a.pdf")]}, {"role": "user", "content": [result]}]
    name_apart(messages)
    assert result["toolResult"]["content"][0]["document"]["name"] == "a 2"


def test_the_bytes_of_a_document_arrive(bedrock_server, connect_bedrock):
    bedrock_server.add(Stream(reply("read")))
    part = {"type": "file", "file": {"filename": "a.pdf", "file_data": DATA}}
    question = user_message([{"type": "text", "text": "read it"}, part])
    list(connect_bedrock().stream(ModelRequest(MODEL, [question])))
    (message,) = bedrock_server.requests[0].body["messages"]
    document = message["content"][1]["document"]
    assert (document["format"], document["name"]) == ("pdf", "a")
    assert base64.b64decode(document["source"]["bytes"]) == PDF
