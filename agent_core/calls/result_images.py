"""Tool results in the history: their text, their images and who is shown them, and what programs read of them.

Images lie in the tool's message as data URLs, as those of prompts do, so that each later request says the same; a
wire protocol that has no place for them in results moves them at its edge.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from typing import Any

from agent_core.asking.view import Omissions
from agent_core.messages import Content, ImagePart, Message, Part
from agent_core.providers.choice import ModelChoice
from tools.images import image_facts, refusal
from tools.result import ResultImage, ToolResult

_KEPT_FACTS = (
    "exit_code", "signal", "timed_out", "pipe_statuses", "running", "line", "last_line", "total_lines", "counts",
)  # fmt: skip
MAX_IMAGES = 8
"""Of one result."""


def sees_images(choice: ModelChoice, omissions: Omissions) -> bool:
    """Whether tools should give images: the model is known to see, or is not known to be blind.

    Where nothing is known, a server that refused images once is not given more.
    """
    known = choice.facts.vision
    return omissions.images_before == 0 if known is None else known


def result_content(result: ToolResult, note: str = "") -> Content:
    """What the model is told of a call: its text, its images, and in words why an image is not among them."""
    parts, problems = _checked(result.images)
    text = "\n\n".join(part for part in (result.text, note, *problems) if part)
    return [{"type": "text", "text": text}, *parts] if parts else text


def outcome_of(result: ToolResult) -> dict[str, Any]:
    """What the history keeps of a result for programs, which never read its text."""
    outcome: dict[str, Any] = {"failed": True} if result.failed else {}
    return outcome | {name: result.facts[name] for name in _KEPT_FACTS if result.facts.get(name) is not None}


def images_in(message: Message) -> tuple[ResultImage, ...]:
    """The images of a stored result, without their names; those that cannot be read are left out."""
    content = message["content"]
    return tuple(_read(content)) if isinstance(content, list) else ()


def _checked(images: Sequence[ResultImage]) -> tuple[list[Part], list[str]]:
    parts: list[Part] = []
    problems: list[str] = []
    for image in images:
        name = image.name or "An image"
        facts = image_facts(image.data)
        if facts is None:
            problems.append(f"[{name} is left out: it is no PNG, JPEG, GIF or WebP.]")
        elif problem := refusal(facts, len(image.data)):
            problems.append(f"[{name} is left out: it {problem}]")
        elif len(parts) == MAX_IMAGES:
            problems.append(f"[{name} is left out: a result holds {MAX_IMAGES} images at most. Ask for fewer.]")
        else:
            parts.append(image_part(image.data, facts.mime_type))
    return parts, problems


def image_part(data: bytes, mime_type: str) -> ImagePart:
    """An image as a part of a message."""
    url = f"data:{mime_type};base64,{base64.b64encode(data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def _read(content: Sequence[Part]) -> Iterator[ResultImage]:
    for part in content:
        if part["type"] != "image_url":
            continue
        head, _, data = part["image_url"]["url"].partition(",")
        if not head.startswith("data:"):
            continue
        try:
            decoded = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            continue
        yield ResultImage(decoded, head.removeprefix("data:").partition(";")[0])
