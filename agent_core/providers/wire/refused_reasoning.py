"""A request that a server refuses over earlier reasoning: it misses some, or it does not know the field.

Told by what the refusal says, in whatever words: which server insists on what cannot be known by names alone.
"""

from __future__ import annotations

import re

from agent_core.errors import ProviderStatusError
from agent_core.providers.choice import ModelChoice, ReasoningBack

# Gateways hand the refusals of the servers behind them on as errors of their own.
_STATUSES = frozenset({400, 422, 424, 500, 502})

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
    if choice.api_mode != "chat_completions" or problem.status not in _STATUSES:
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
