"""Documents as Converse takes them: as bytes, under a name of few kinds of characters that no other document has.

Source: docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html. That no two documents of a
request may have one name is what the service says when it refuses them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from agent_core.messages import FileData

Block = dict[str, Any]

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9 ()\[\]-]+")
_LONGEST_NAME = 200
_ROOM_FOR_NUMBER = 6
_NAMELESS = "Document"


def document_block(file: FileData) -> Block:
    """The document, or words in its place if it cannot be read."""
    try:
        content = base64.b64decode(file["file_data"].partition(",")[2], validate=True)
    except binascii.Error:
        return {"text": f"[A document that cannot be read: {file['filename']}]"}
    return {"document": {"format": "pdf", "name": _name(file["filename"]), "source": {"bytes": content}}}


def name_apart(messages: Sequence[Block]) -> None:
    """Number the later ones of documents with one name; more messages never change the names of earlier ones."""
    taken: set[str] = set()
    for message in messages:
        for document in _documents(message["content"]):
            document["name"] = _free(document["name"], taken)
            taken.add(document["name"].lower())


def _documents(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        if "document" in block:
            yield block["document"]
        yield from _documents(block.get("toolResult", {}).get("content", ()))


def _free(name: str, taken: set[str]) -> str:
    if name.lower() not in taken:
        return name
    stem = name[: _LONGEST_NAME - _ROOM_FOR_NUMBER].rstrip()
    return next(free for number in count(2) if (free := f"{stem} {number}").lower() not in taken)


def _name(filename: str) -> str:
    stem = re.sub(r"\.pdf$", "", filename, flags=re.IGNORECASE)
    legal = _NOT_IN_NAMES.sub("-", " ".join(stem.split()))
    return legal[:_LONGEST_NAME].strip(" -") or _NAMELESS
