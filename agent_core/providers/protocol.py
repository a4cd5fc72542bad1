"""What makes up a wire protocol: its two functions, and what all protocols do to messages and answers."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

from agent_core.messages import Content, ImagePart, Message, Part, TextPart, text_of
from agent_core.providers.base import Finished, FinishReason, ModelRequest, ReasoningEffort, StreamEvent
from agent_core.providers.choice import ModelChoice
from agent_core.providers.lessons import DOCUMENTS, IMAGES, RECORDINGS
from agent_core.providers.transport_errors import answer_broken, broken_off
from tools.light_dataclass import dataclass

# Ids and names of tool calls as strict servers take them, whichever server made them.
# A conversation goes from model to model; each has rules of its own for what another one has put into it.

_USUAL_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,40}")
_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64
_KEPT, _DIGEST = 24, 12


def usual_id(call_id: str) -> str:
    """`call_id`, or, where it is longer than the 40 characters that OpenAI takes or odd, one that stands for it."""
    if _USUAL_ID.fullmatch(call_id):
        return call_id
    return f"{_NOT_IN_NAMES.sub('_', call_id)[:_KEPT]}_{_digest(call_id)}"


def fitting_id(name: str) -> str:
    """`name` in at most 64 of the characters that strict servers take; different names stay different."""
    if name and len(name) <= _LONGEST_NAME and not _NOT_IN_NAMES.search(name):
        return name
    return f"{_NOT_IN_NAMES.sub('_', name)[: _LONGEST_NAME - _DIGEST - 1]}_{_digest(name)}"


def id_of_nine(call_id: str) -> str:
    """`call_id` as Mistral wants it: nine letters and digits (its error 3280 says so)."""
    return call_id if _NINE.fullmatch(call_id) else _digest(call_id)[:9]


def fitting_name(name: str) -> str:
    """A tool's name in the characters that every server takes; a model may have made up another."""
    return name if _NAME.fullmatch(name) else _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "_"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]


# Images in tool results, for servers that take only text there: they follow in a message of the user's.
# Messages, and Converse for some models, take them within the result. So does OpenAI's own Responses API
# (developers.openai.com/api/reference/resources/responses: the output of a function call is text, or a list of text,
# images and files); servers that speak like it need not. Chat Completions has no place for them in a tool's message.

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


def behind_results(messages: Sequence[Message]) -> list[Message]:
    """The messages with the images of results in a user's message right behind the results of the same answer.

    A user's message that is there already gets them at its beginning: servers want the two sides to alternate. The
    same messages always become the same ones.
    """
    placed: list[Message] = []
    images: list[Part] = []
    for message in messages:
        if message["role"] == "tool":
            placed.append(_without_images(message, images))
            continue
        if images and message["role"] == "user":
            placed.append({**message, "content": [*images, *_parts(message)]})
        elif images:
            placed += ({"role": "user", "content": images}, message)
        else:
            placed.append(message)
        images = []
    return [*placed, {"role": "user", "content": images}] if images else placed


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


# What a model takes of a message: in place of what it cannot be sent stands a note.
# The one place where that is decided, for every protocol. Images and documents are sent where nothing is known,
# recordings only where it is known that the model hears: most do not.

# What OpenAI takes (https://developers.openai.com/api/docs/guides/audio-chat-completions); others take more.
_AUDIO_FORMATS = frozenset({"wav", "mp3"})
_ATTACHMENTS = {"image_url": IMAGES, "file": DOCUMENTS, "input_audio": RECORDINGS}


def fitting(messages: Sequence[Message], choice: ModelChoice) -> list[Message]:
    """The messages as `choice` takes them; the same messages always become the same ones."""
    fit: list[Message] = []
    for message in messages:
        content = message["content"]
        if isinstance(content, list):
            fit.append({**message, "content": [_part(part, choice) for part in content]})
        else:
            fit.append(message)
    return fit if takes_images_in_results(choice) else behind_results(fit)


def left_out(content: Content, choice: ModelChoice) -> tuple[str, ...]:
    """What of a prompt this model cannot be given, a sentence each, for the person."""
    parts = content if isinstance(content, list) else []
    changed = [told for part in parts if (told := _part(part, choice)) is not part and told["type"] == "text"]
    return tuple(f"{told['text'].strip('[]').partition('. ')[0].rstrip('.')}." for told in changed)


def sent_attachments(messages: Sequence[Message], choice: ModelChoice) -> tuple[str, ...]:
    """What is sent of messages beside text, as the names of the lessons that leave it out."""
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    sent = {_ATTACHMENTS[part["type"]] for part in parts if part["type"] != "text" and _part(part, choice) is part}
    return tuple(sorted(sent))


def _part(part: Part, choice: ModelChoice) -> Part:
    if part["type"] == "image_url" and choice.facts.vision is False:
        return _note(f"[An image was attached; the model {choice.model} does not take images.]")
    if part["type"] == "file" and not _takes_documents(choice):
        name = part["file"]["filename"]
        return _note(f"[A document was attached, {name}; this server takes no documents.]")
    if part["type"] == "input_audio" and (missing := _missing_for_audio(part["input_audio"]["format"], choice)):
        return _note(f"[Audio ({part['input_audio']['format']}) was attached; {missing}]")
    return part


def _missing_for_audio(kind: str, choice: ModelChoice) -> str:
    """What keeps a recording from the model, and what to do; '' if nothing does."""
    sent = choice.api_mode == "chat_completions" and choice.dialect.audio
    if not sent or not choice.facts.audio:
        return f"{choice.model} cannot listen to it here. Ask the user to write what it says."
    if kind not in _AUDIO_FORMATS:
        return "only wav and mp3 can be sent. Ask the user for one of these, or to write what it says."
    return ""


def _takes_documents(choice: ModelChoice) -> bool:
    known = choice.dialect.files
    return choice.api_mode != "chat_completions" if known is None else known


def _note(text: str) -> TextPart:
    return {"type": "text", "text": text}


# How much OpenAI's reasoning models can be told to think, by the model's name.
# Source: the description of `reasoning.effort` in OpenAI's API reference and the models' pages
# (developers.openai.com).

_SCALE: tuple[ReasoningEffort, ...] = ("none", "minimal", "low", "medium", "high", "xhigh")
_USUAL: tuple[ReasoningEffort, ...] = ("low", "medium", "high")
_EFFORT_MODEL = re.compile(r"(?P<series>o\d|gpt-(?P<major>[3-9])(?:\.(?P<minor>\d+))?)(?P<variant>$|o?(?=[-:]|$).*)")


def efforts_of(model: str) -> tuple[ReasoningEffort, ...] | None:
    """What the model takes, least first: nothing if it does not reason; None if the name is none of OpenAI's."""
    name = _EFFORT_MODEL.match(model.rpartition("/")[2])
    if name is None:
        return None
    if name["major"] is None:
        return _USUAL
    version, variant = (int(name["major"]), int(name["minor"] or 0)), name["variant"]
    if version < (5, 0):
        return ()
    if version == (5, 0):
        return _of_the_first_gpt_5(variant)
    if variant.startswith("-chat"):
        return ("medium",)
    least: tuple[ReasoningEffort, ...] = () if "codex" in variant else ("none",)
    most: tuple[ReasoningEffort, ...] = ("xhigh",) if version > (5, 1) or "codex-max" in variant else ()
    return (*least, *_USUAL, *most)


def nearest_effort(model: str, wanted: ReasoningEffort) -> ReasoningEffort:
    """`wanted`, or what this model has instead: the next higher effort, else its highest."""
    known = efforts_of(model)
    if not known or wanted in known:
        return wanted
    rank = _SCALE.index(wanted)
    return next((effort for effort in known if _SCALE.index(effort) > rank), known[-1])


def _of_the_first_gpt_5(variant: str) -> tuple[ReasoningEffort, ...]:
    if variant.startswith("-chat"):
        return ()
    if variant.startswith("-pro"):
        return ("high",)
    return _USUAL if "codex" in variant else ("minimal", *_USUAL)


# Why an answer ended: one table of the words that servers have for it, for every wire protocol.
# Words are recognized by what they mean, since each server has some of its own. One that means nothing is `unknown`:
# such an answer is kept, and is not taken for a complete one.

Ending = FinishReason | Literal["broken"]
"""`broken`: the server or the model failed in the middle of the answer, so it is asked for again."""

# The first that fits decides: `content_filter_error` is a refusal, `unexpected_tool_call` no call.
_MEANINGS: Mapping[Ending, str] = {
    "stop": r"^(?:stop(?:ped)?|eos|eot|end(?:ed)?|completed?|finish(?:ed)?|done|success|pause|normal|natural)"
    r"(?:_(?:turn|sequence|token|word|str(?:ing)?|found|stop|criteria(?:_met)?"
    r"|of_(?:turn|text|sequence|stream|message)))?(?:_id)?$|^<(?:\W?(?:im_end|eot_id|endoftext|end_of_\w+|end|s)\W?)>$",
    "refusal": r"filter|safety|unsafe|sensitiv|refus|prohibit|block_?list|blocked|guardrail|moderat|toxic|harmful"
    r"|recitation|spii|policy|violat|censor|flagged|inappropriate",
    "length": r"length|max_(?:output|\w*tokens?)|tokens?_(?:limit|exceed)|too_many_tokens"
    r"|context_(?:limit|size|full)|window|output_limit|error_limit|^limit$",
    "broken": r"err(?:or)?(?:_|$)|fail|abort|cancel|interrupt|disconnect|malform|invalid|unexpected|unpars|repet"
    r"|repeat|loop|resource|overload|capacity|time_?(?:d_)?(?:out|limit)|deadline|network|connection|unavailable|exception"
    r"|kill|preempt|evict|crash|rate_limit|missing|too_many|corrupt|broken|incomplete|degenerat",
    "tool_calls": r"^(?:tool|function)",
}
_NOT_SAID = frozenset({"", "null", "none"})


class Decoder:
    """Reads one answer, and knows how it ends.

    Attributes:
        finished: why it ended, once the server has said so.
        word: the server's own word for that, where it is `broken` or `unknown`.
        goes_on: more of the answer came after that, and no other end yet.
        done: nothing more will come; the rest of the body is only waited for shortly.
    """

    finished: Ending | None = None
    word: str = ""
    goes_on: bool = False
    done: bool = False

    def feed(self, data: bytes) -> Iterable[StreamEvent]:
        """The events in the payload of one `data:` line; never `Finished`.

        Raises:
            ProviderStatusError: the server reports a failure.
            ProviderProtocolError: it cannot be understood.
        """
        raise NotImplementedError

    @property
    def is_whole(self) -> bool:
        """Whether an end of the connection takes nothing of the answer away."""
        return self.done or (self.finished is not None and not self.goes_on)

    def ends(self, word: object) -> None:
        """Take in a server's word for the end. Some say it early, or twice: the last one that says more counts."""
        said = ending_of(word)
        if said is None:
            return
        if self.finished is None or self.goes_on or said[0] != "stop":
            self.finished, self.word = said
        self.goes_on = False

    def last_event(self, choice: ModelChoice) -> Finished:
        """The event that ends the answer, once its stream has ended.

        Raises:
            ProviderConnectionError: it broke off.
            ProviderStatusError: the server says that something failed.
        """
        if self.finished is None:
            raise broken_off(choice)
        if self.finished == "broken":
            raise answer_broken(choice, self.word)
        return Finished(self.finished, self.word)


def ending_of(word: object) -> tuple[Ending, str] | None:
    """What a server's word means, with the word itself where it names no usual end; None where it says nothing."""
    said = " ".join(str(word or "").split())
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s.-]+", "_", said).lower()
    plain = re.sub(r"^(?:finish_?reason|stop_?reason)_", "", plain)
    if plain in _NOT_SAID:
        return None
    known = (ending for ending, words in _MEANINGS.items() if re.search(words, plain))
    ending: Ending = next(known, "unknown")
    return ending, said if ending in {"broken", "unknown"} else ""


# What makes up a wire protocol over HTTP: how a request is written, how an answer is read.

log = logging.getLogger(__name__)

# Sums of such counts stay far below what the database can store.
_MOST_TOKENS = 2**40


def counts_of(value: object) -> Mapping[str, Any]:
    """Counts of tokens as a server sends them, by name; nothing where it sends something else."""
    if isinstance(value, Mapping):
        return value
    if value is not None:
        _log_ignored(value)
    return {}


def token_count(value: object) -> int | None:
    """A number of tokens; whatever else a server sends counts as unknown, also more than there can be."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS:
        return value
    if value is not None:
        _log_ignored(value)
    return None


def _log_ignored(value: object) -> None:
    log.warning("the model's server sent a count of tokens that is none: %.80r", value)


@dataclass(frozen=True, slots=True)
class WireProtocol:
    """A protocol, as functions.

    Attributes:
        path: appended to the base URL.
        headers: what goes with each request of this protocol, the key too.
        encode: the request's JSON body. The same messages always give the same bytes (cache markers apart).
        decoder: a new reader.
        root: where on the server the path begins; a base URL may end in it already.
    """

    name: str
    path: str
    headers: Callable[[ModelChoice], Mapping[str, str]]
    encode: Callable[[ModelRequest, ModelChoice], Mapping[str, Any]]
    decoder: Callable[[ModelChoice], Decoder]
    root: str = ""

    def address(self, base_url: str) -> str:
        """Where requests are sent."""
        return f"{base_url.rstrip('/').removesuffix(self.root)}{self.root}{self.path}"


def key_header(choice: ModelChoice) -> dict[str, str]:
    """The key in the header where the server looks for it; nothing without one."""
    if not choice.api_key:
        return {}
    if choice.dialect.auth == "bearer":
        return {"Authorization": f"Bearer {choice.api_key}"}
    return {choice.dialect.auth: choice.api_key}
