"""What a refusal taught about a model's server: fields that it does not know, images and tools that it does not take.

A lesson is kept once the request without that thing has its answer, for each server and model, for seven days: what a
server takes changes with every release. All processes of a home share what was learned.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard, get_args

from agent_core.errors import ProviderStatusError
from agent_core.providers.choice import Dialect, ModelChoice, ReasoningBack
from agent_core.providers.error_patterns import is_too_long
from agent_core.providers.shared_file import SharedFile, SharedFileError
from agent_core.providers.transport_errors import ErrorFacts, read_facts
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

FILE_NAME = "model_lessons.json"
LASTING = 7 * 86_400.0
"""Seconds that a lesson is kept."""

IMAGES, DOCUMENTS, RECORDINGS = "images", "documents", "recordings"
PLAIN = "optional fields"
_ANSWER_LIMIT = "max_tokens <= "
_REASONING = "reasoning: "
_TOOL = "tool: "
_LOCK_TIMEOUT = 2.0
_LATEST = 1e12
_HASH_LENGTH = 12


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is not sent to a model's server.

    Attributes:
        name: of what is left out or done otherwise; a key of `WORDS`, or a limit of the answer.
        until: when it is forgotten, in seconds since 1970.
    """

    name: str
    until: float

    @property
    def words(self) -> str:
        """What was learned, for the person, as a part of a sentence about the server."""
        if self.name.startswith(_ANSWER_LIMIT):
            return f"it gives answers of at most {self.name.removeprefix(_ANSWER_LIMIT)} tokens"
        if self.name.startswith(_TOOL):
            return f"it refuses the schema of the tool {self.tool}, which is left out"
        return WORDS.get(self.name, f"it does not take {self.name}")

    @property
    def tool(self) -> str:
        """The tool that is left out; '' where it is something else."""
        return self.name.removeprefix(_TOOL).partition(" ")[0] if self.name.startswith(_TOOL) else ""


WORDS: Mapping[str, str] = {
    IMAGES: "it takes no images",
    DOCUMENTS: "it takes no documents",
    RECORDINGS: "it takes no recordings",
    PLAIN: "it takes no optional fields (usage counts, reasoning effort, cache keys)",
    f"{_REASONING}none": "it takes no earlier reasoning",
    f"{_REASONING}given": "it takes the reasoning that it gave, and no placeholder",
    f"{_REASONING}reasoning_content": "it wants reasoning with each tool call",
    f"{_REASONING}thought_signature": "it wants a thought signature with each tool call",
    "developer": "it takes the system prompt as `system` only",
    "max_tokens": "it wants `max_completion_tokens`",
    "max_completion_tokens": "it wants `max_tokens`",
}

_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "stream_options": {"stream_usage": False},
    "prompt_cache_key": {"cache_key": False},
    "cache_control": {"cache_markers": False},
    "reasoning_effort": {"effort": "none"},
    "reasoning.summary": {"reasoning_summary": False},
    "temperature": {"temperature": False},
    "developer": {"developer_role": False},
    **{f"{_REASONING}{back}": {"reasoning_back": back} for back in get_args(ReasoningBack)},
    "max_tokens": {"max_tokens_field": "max_completion_tokens"},
    "max_completion_tokens": {"max_tokens_field": "max_tokens"},
    DOCUMENTS: {"files": False},
    RECORDINGS: {"audio": False},
}
_OPTIONAL = (
    "stream_options",
    "prompt_cache_key",
    "cache_control",
    "reasoning_effort",
    "reasoning.summary",
    "temperature",
    "developer",
)


def answer_limit(tokens: int) -> str:
    """The name of the lesson that an answer has at most so many tokens."""
    return f"{_ANSWER_LIMIT}{tokens}"


def reasoning_lesson(back: ReasoningBack) -> str:
    """The name of the lesson how earlier reasoning is to be given back."""
    return f"{_REASONING}{back}"


def tool_lesson(tool: Mapping[str, Any]) -> str:
    """The name of the lesson that a tool is left out; one whose schema has changed is another.

    Args:
        tool: its OpenAI function definition.
    """
    function = tool["function"]
    schema = json.dumps(function.get("parameters"), sort_keys=True, default=str)
    return f"{_TOOL}{function['name']} {hashlib.sha256(schema.encode('utf-8', 'replace')).hexdigest()[:_HASH_LENGTH]}"


def adapted(choice: ModelChoice, lessons: Iterable[str]) -> ModelChoice:
    """The model as it is asked after these lessons, by their names; names that are not known change nothing."""
    for name in lessons:
        if name.startswith(_ANSWER_LIMIT):
            tokens = name.removeprefix(_ANSWER_LIMIT)
            choice = _limited(choice, int(tokens)) if tokens.isascii() and tokens.isdecimal() else choice
        elif name == IMAGES:
            choice = replace(choice, facts=replace(choice.facts, vision=False))
        else:
            choice = replace(choice, dialect=_without(choice.dialect, _OPTIONAL if name == PLAIN else (name,)))
    return choice


class Lessons:
    """What was learned of all servers; safe for threads and processes. No failure of its file raises.

    Args:
        path: the file; None: for this process alone.
        clock: seconds since 1970.
    """

    def __init__(self, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._file = None if path is None else SharedFile(path, durable=False)
        self._clock = clock
        self._lock = threading.Lock()
        # What could not be written to the file, too.
        self._own: dict[str, dict[str, float]] = {}

    def of(self, choice: ModelChoice) -> Sequence[Lesson]:
        """What was learned of a model's server and is not forgotten."""
        stored = self._stored()
        if not stored and not self._own:
            return []
        key, now = _key(choice), self._clock()
        found = {**_times(stored, key), **self._own.get(key, {})}
        return [Lesson(name, until) for name, until in sorted(found.items()) if now < until <= now + LASTING]

    def adapted(self, choice: ModelChoice, others: Sequence[str] = ()) -> ModelChoice:
        """The model as it is asked after all that was learned of it, and after `others`."""
        learned = self.of(choice)
        return adapted(choice, (*[each.name for each in learned], *others)) if learned or others else choice

    def keep(self, choice: ModelChoice, names: Collection[str]) -> None:
        """An answer came because of these lessons."""
        if names:
            until = self._clock() + LASTING
            self._change(_key(choice), dict.fromkeys(names, until))

    def forget(self, choice: ModelChoice) -> Sequence[Lesson]:
        """Forget all that was learned of a model's server; what that was."""
        forgotten = self.of(choice)
        if forgotten:
            self._change(_key(choice), None)
        return forgotten

    def _stored(self) -> Mapping[str, Any]:
        if self._file is None:
            return {}
        try:
            return self._file.read()
        except SharedFileError as problem:
            log.warning("what was learned of model servers cannot be read: %s", problem)
            return {}

    def _change(self, key: str, times: Mapping[str, float] | None) -> None:
        """Add to what is known under `key`; None: forget it."""
        with self._lock:
            self._own.pop(key, None) if times is None else self._own.setdefault(key, {}).update(times)
            if self._file is None:
                return
            try:
                with self._file.locked(_LOCK_TIMEOUT) as draft:
                    servers = self._fresh(draft.content)
                    if times is None:
                        servers.pop(key, None)
                    else:
                        servers[key] = {**servers.get(key, {}), **times}
                    draft.content["servers"] = servers
                    draft.save()
            except SharedFileError as problem:
                log.warning("what was learned of a model's server is known to this process alone: %s", problem)

    def _fresh(self, content: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        now, servers = self._clock(), content.get("servers")
        kept = {key: _times(content, key) for key in servers} if isinstance(servers, dict) else {}
        return {key: times for key, times in kept.items() if any(until > now for until in times.values())}


def _key(choice: ModelChoice) -> str:
    return f"{choice.endpoint} {choice.api_mode} {choice.model}"


def _times(content: Mapping[str, Any], key: str) -> dict[str, float]:
    servers = content.get("servers")
    times = servers.get(key) if isinstance(servers, dict) else None
    if not isinstance(times, dict):
        return {}
    return {str(name): float(until) for name, until in times.items() if _is_time(until)}


def _is_time(until: object) -> TypeGuard[float]:
    return isinstance(until, int | float) and 0 <= until < _LATEST


def _without(dialect: Dialect, names: Iterable[str]) -> Dialect:
    changes: dict[str, Any] = {}
    for name in names:
        changes.update(_FIELDS.get(name, {}))
    return replace(dialect, **changes) if changes else dialect


def _limited(choice: ModelChoice, most: int) -> ModelChoice:
    asked = [each for each in (choice.max_tokens, most) if each is not None]
    output = [each for each in (choice.facts.max_output, most) if each is not None]
    return replace(choice, max_tokens=min(asked), facts=replace(choice.facts, max_output=min(output)))


# Reading a refusal: the request again, without the field that it is about.

# Gateways hand the refusals of the servers behind them on as errors of their own.
_REASONING_STATUSES = frozenset({400, 422, 424, 500, 502})

_SIGNATURE = r"thought[_ -]?signatures?"
_REASONING_FIELDS = (
    r"(?:reasoning[_ -]?(?:content|details|text)|thinking[_ -]?(?:blocks?|content)"
    r"|\breasoning\b(?![_. ]+(?:effort|summary|tokens)))"
)
_FIELD = (
    r"(?:reasoning_(?:content|details|text|opaque)|thinking_blocks|extra_content|provider_specific_fields"
    r"|messages?\W{1,4}\d+\W{1,4}(?:\w+\W{1,4}){0,3}reasoning)\b"
)
_DUE = (
    r"(?:missing|absent|lack(?:s|ing)?\b|required|mandatory|without\b"
    r"|not (?:be )?(?:found|provided|included|set|passed|present)"
    r"|cannot be (?:empty|null|omitted)|(?:must|should|has to|have to|needs? to|ought to)(?: also)? be "
    r"(?:non-?empty|passed|sent|returned|provided|included|supplied|kept|preserved|present|set|echoed|replayed))"
)
_UNWANTED = (
    r"(?:unsupported|unknown|unrecogni[sz]ed|unexpected|unpermitted|forbidden|additional propert"
    r"|extra (?:inputs?|fields?)|extra_forbidden"
    r"|not (?:supported|permitted|allowed|recogni[sz]ed|accepted|defined|a valid|expected)"
    r"|no such|does not (?:support|accept|allow)|invalid (?:field|key|propert|param)"
    r"|(?:should|must|can|may) ?not be (?:passed|sent|included|present|set|provided)|please remove|remove )"
)
_GAP = r".{0,120}?"


def _near(one: str, other: str) -> re.Pattern[str]:
    return re.compile(f"{one}{_GAP}{other}|{other}{_GAP}{one}", re.IGNORECASE | re.DOTALL)


_UNKNOWN_FIELD = _near(_FIELD, _UNWANTED)
_NO_SIGNATURE = _near(_SIGNATURE, _DUE)
_NO_REASONING = _near(_REASONING_FIELDS, _DUE)


def fitting_reasoning(choice: ModelChoice, problem: ProviderStatusError) -> ReasoningBack | None:
    """Another way of giving reasoning back, which the refusal asks for; None if it is about something else."""
    if choice.api_mode != "chat_completions" or problem.status not in _REASONING_STATUSES:
        return None
    said = problem.body
    now = choice.dialect.reasoning_back
    # What forbids a field may also say which ones are required.
    if _UNKNOWN_FIELD.search(said):
        # The placeholder is what it has never sent itself.
        better: ReasoningBack = "none" if now == "given" else "given"
    elif _NO_SIGNATURE.search(said):
        better = "thought_signature"
    elif _NO_REASONING.search(said) and "signature" not in said:
        better = "reasoning_content"
    else:
        return None
    return None if now in {better, "none"} else better


_STATUSES = frozenset({400, 422})
_NOT_KNOWN = re.compile(
    r"un(?:recogni[sz]ed|known|supported|expected)"
    r"|not (?:\w+ ){0,2}(?:support|permit|allow|recogni|implement|valid|known)"
    r"|n.t (?:\w+ ){0,2}(?:support|allow|recogni|accept|take)|extra_?(?: inputs?| fields?)?|forbidden|instead|invalid"
    r"|additional propert|no such|only (?:the )?(?:default|supported)|deprecated|not one of|cannot be"
    r"|must be|should be|(?:valid|supported|allowed) range|too (?:large|high|big)"
    r"|less than or equal|at most|maximum allowed",
    re.IGNORECASE,
)
# What a field is called in complaints, by the lesson that helps.
_NAMES: Mapping[str, re.Pattern[str]] = {
    name: re.compile(rf"(?<![\w./-])(?:{pattern})(?![\w./-]*\w)", re.IGNORECASE)
    for name, pattern in {
        "stream_options": r"(?:stream_options[.\[])?(?:stream_options|include_usage)",
        "prompt_cache_key": r"prompt_cache_key",
        "cache_control": r"(?:[\w.\[\]]+[.\]])?cache_control",
        "reasoning.summary": r"reasoning\.summary|reasoning summar(?:y|ies)",
        "reasoning_effort": r"reasoning[_.]?effort|reasoning|thinking",
        "temperature": r"temperature",
        "developer": r"developer|messages[.\[ ]*0\]?[. ]role",
        "max_completion_tokens": r"max_completion_tokens",
        "max_tokens": r"max_(?:output_)?tokens|maxOutputTokens",
    }.items()
}
# A figure in the same sentence, or one that is called a figure of the answer's tokens.
_BOUND = r"(?:at most|less than or equal to|<=|up to|maximum(?: value)?(?: is| of|:)?) *`?(\d+)"
_MOST = re.compile(
    rf"(?:max_(?:output_|completion_)?tokens|maxOutputTokens)\b"
    rf"(?:[^.;\n]{{0,120}}?(?:\[\s*\d+\s*,\s*(\d+)\s*\]|{_BOUND}| to (?P<below>\d+) \(exclusive\))"
    rf"|: \d+ > (\d+)|[^\n]{{0,160}}?{_BOUND} (?:completion|output) tokens)",
    re.IGNORECASE,
)
_LEAST_LIMIT = 256
"""A model that gives less than this is hardly one: then the figure is of something else."""
_WANTS = re.compile(
    r"(?:use|try|replaced by|in favou?r of)\W+(?:the )?\W*max_completion_tokens|max_completion_tokens\W+instead"
)


def refused_field(choice: ModelChoice, problem: ProviderStatusError) -> str | None:
    """The lesson of a refusal that is about a field of the request; None if it is about anything else.

    It is one that changes what is sent: a field that is left out already is no reason to ask again.
    """
    if (back := fitting_reasoning(choice, problem)) is not None:
        return reasoning_lesson(back)
    facts = read_facts(problem)
    if problem.status not in _STATUSES or is_too_long(facts):
        return None
    said = "\n".join((facts.text, *facts.codes, *_places(facts))).replace("body.", "")
    if not _NOT_KNOWN.search(said):
        return None
    if (limit := _limit(choice, said)) is not None:
        return limit
    # The first that is named is what it is about: behind it some list what they do take.
    found = {name: match.start() for name, pattern in _NAMES.items() if (match := pattern.search(said))}
    named = sorted(found, key=lambda name: found[name])
    return next((name for name in named if adapted(choice, [name]) != choice), None)


def _places(facts: ErrorFacts) -> Iterator[str]:
    """The fields that the body itself calls wrong. What it repeats of the request is not looked at."""
    for found in facts.objects:
        place = found.get("loc")
        yield " ".join(map(str, place)) if isinstance(place, list) else ""
        yield str(found.get("param") or "")


def _limit(choice: ModelChoice, said: str) -> str | None:
    """The lesson of a limit of the answer that is larger than this model's."""
    if _WANTS.search(said) or (found := _MOST.search(said)) is None:
        return None
    most = int(next(filter(None, found.groups()))) - bool(found["below"])
    name = answer_limit(most)
    return name if most >= _LEAST_LIMIT and adapted(choice, [name]) != choice else None
