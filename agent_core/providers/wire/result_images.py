"""Images in tool results, for servers that take only text there: they follow in a message of the user's.

Messages, and Converse for some models, take them within the result. So does OpenAI's own Responses API
(developers.openai.com/api/reference/resources/responses: the output of a function call is text, or a list of text,
images and files); servers that speak like it need not. Chat Completions has no place for them in a tool's message.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from agent_core.messages import ImagePart, Message, Part, TextPart, text_of
from agent_core.providers.choice import ModelChoice
from agent_core.providers.made_once import GroupedOnce

_OPENAI = frozenset({"openai", "azure", "codex"})
_OPENAI_HOSTS = ("openai.com", "chatgpt.com", "openai.azure.com", "services.ai.azure.com")
# docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultContentBlock.html
_CONVERSE_MODELS = ("anthropic.claude-", "amazon.nova-")


def takes_images_in_results(choice: ModelChoice) -> bool:
    """Whether this server takes images within a tool's result."""
    match choice.api_mode:
        case "anthropic_messages":
            return True
        case "codex_responses":
            host = urlsplit(choice.base_url).hostname or ""
            at_openai = any(host == known or host.endswith(f".{known}") for known in _OPENAI_HOSTS)
            return at_openai or choice.provider in _OPENAI
        case "bedrock_converse":
            return any(name in choice.model.lower() for name in _CONVERSE_MODELS)
        case _:
            return False


def behind_results(messages: Sequence[Message], once: GroupedOnce | None = None) -> list[Message]:
    """The messages with the images of results in a user's message right behind the results of the same answer.

    A user's message that is there already gets them at its beginning: servers want the two sides to alternate. The
    same messages always become the same ones.

    Args:
        once: remembers what was made of the messages.
    """
    return (once or GroupedOnce()).of(messages, _stand_apart, _placed)


def _stand_apart(before: Message, message: Message) -> bool:
    """Whether images of results cannot move from one side to the other."""
    return before["role"] != "tool" or message["role"] not in {"tool", "user"}


def _placed(_: Message | None, messages: Sequence[Message]) -> list[Message]:
    """Results, and the user's message that may follow; or any one message."""
    images: list[Part] = []
    placed = [_without_images(message, images) if message["role"] == "tool" else message for message in messages]
    if not images:
        return placed
    if (last := placed[-1])["role"] != "user":
        return [*placed, {"role": "user", "content": images}]
    return [*placed[:-1], {**last, "content": [*images, *_parts(last)]}]


def _without_images(message: Message, images: list[Part]) -> Message:
    """A result as text; its images go to the end of `images`, each with its number."""
    content = message["content"]
    if not isinstance(content, list) or not any(part["type"] == "image_url" for part in content):
        return message
    numbers: list[int] = []
    for part in content:
        if part["type"] == "image_url":
            numbers.append(sum(known["type"] == "image_url" for known in images) + 1)
            images += _labelled(part, numbers[-1], message.get("name", "a tool"))
    which = ", ".join(map(str, numbers))
    return {**message, "content": f"{text_of(content)}\n\n[See image {which} behind the results.]".lstrip()}


def _labelled(part: ImagePart, number: int, tool: str) -> tuple[TextPart, ImagePart]:
    return {"type": "text", "text": f"[Image {number}, from the result of {tool}:]"}, part


def _parts(message: Message) -> list[Part]:
    content = message["content"]
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []
