"""A request that a server refuses over a field: the same without it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from agent_core.errors import ProviderStatusError
from agent_core.providers.choice import ModelChoice, ReasoningBack
from agent_core.providers.error_facts import ErrorFacts, read_facts
from agent_core.providers.error_patterns import is_too_long
from agent_core.providers.lessons import adapted, answer_limit, reasoning_lesson

# A request that a server refuses over earlier reasoning: it misses some, or it does not know the field.
#
# Told by what the refusal says, in whatever words: which server insists on what cannot be known by names alone.

# Gateways hand the refusals of the servers behind them on as errors of their own.
_REASONING_STATUSES = frozenset({400, 422, 424, 500, 502})

_SIGNATURE = r"thought[_ -]?signatures?"
_REASONING = (
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
_NO_REASONING = _near(_REASONING, _DUE)


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


# A request that a server refuses for one field: which one it is, in whatever words the server says so.
#
# OpenAI's servers name it in `error.param`, others in words, in the place of a validator's complaint, or by what they
# want instead. What a model takes changes with every month and every account; a table alone would make working models
# unusable.

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
