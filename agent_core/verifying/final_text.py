"""What the text says that a turn would end with: does it ask, does it announce a step, does it explain a failure?

English only: what is written in other languages is left alone. Unsure means that there is nothing to say about it.
"""

from __future__ import annotations

import re

_TAIL = 1_200
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_INLINE = re.compile(r"`[^`\n]*`")
_MARKS = re.compile(r"^[\s>*#_\-–—•\d.)]*|[\s*_]+$")
_SENTENCE = re.compile(r"(?<=[.!?…:])[\"')\]*_]*\s+(?=[\"'(*_]*[A-Z])|\n+")

_ASKS = re.compile(
    r"[?？]|\blet me know\b|\btell me\b|\b(?:want|like) me to\b|\bshall I\b|\bshould I\b|\bup to you\b"
    r"|\b(?:please|kindly) (?:confirm|approve|choose|provide|specify|clarify|say|tell|let|decide|review)\b"
    r"|\b(?:awaiting|waiting for|wait for|need|once I have|pending) your\b|\byou(?:'d| would) (?:like|prefer)\b"
    r"|\bif you(?:'d| would)? (?:like|want|prefer|wish|need|agree|approve|confirm)\b"
    r"|\bsay (?:so|the word|\"?(?:yes|go|continue))\b",
    re.IGNORECASE,
)
_VERBS = (
    r"(?:run|re-?run|check|verify|test|fix|update|edit|modify|change|add|create|write|implement|look|read|open|examine|"
    r"inspect|search|find|apply|start|begin|continue|proceed|make|refactor|remove|delete|install|build|try|explore|"
    r"analy[sz]e|investigate|review|move|rename|replace|execute|see|view|list|grep|debug|adjust|correct|patch|commit|"
    r"compile)"
)
_ADVERBS = r"(?:(?:now|next|then|also|first|just|quickly|go ahead and|start by|begin by|try to|proceed to) )*"
_PROMISE = re.compile(
    rf"^(?:(?:ok(?:ay)?|good|great|perfect|alright|all right|right|so|now|next|then|first|finally|after that|and|but"
    rf"|here|with that(?: done)?|to (?:do|fix|verify|check) (?:this|that|it))[,.!:]? )*"
    rf"(?:let me|let's|I(?:'ll| will|'m going to| am going to)(?: now| next)?) {_ADVERBS}{_VERBS}\b",
    re.IGNORECASE,
)
_DOING = re.compile(
    r"^(?:now|next)[,:]? (?:running|checking|verifying|testing|fixing|updating|editing|adding|creating|writing"
    r"|implementing|applying|reading|looking)\b|^(?:running|checking|verifying|fixing|updating|applying|reading)\b"
    r".*\bnow\W*$",
    re.IGNORECASE,
)
# It says how something is, and not what is done.
_STATES = re.compile(
    r"\b(?:is|are|was|were|no longer|works?|passes|returns?|raises?|throws?|gives?|invalidates?|uses?|instead"
    r"|left)\b",
    re.IGNORECASE,
)
# What makes a step one for later, for somebody else, or none.
_NOT_NOW = re.compile(
    r"\b(?:when|whenever|once|after|if|unless|until|as soon as|later|tomorrow|in (?:the )?future|from now on"
    r"|look forward|see how|start with"
    r"|going forward|another (?:turn|session)|you|your|not|never|\w+n't|stop|wait|leave|would|could|might)\b",
    re.IGNORECASE,
)
_LONGEST_PROMISE = 300

_FAILURE = (
    r"(?:fail(?:s|ed|ing|ures?)?|errors?|broken|crash(?:es|ed)?|exit(?:s|ed)? (?:code|with)|red"
    r"|(?:do(?:es)?|did)(?: not|n't) (?:pass|compile|build|run)|could(?: not|n't) (?:run|be run|build|be built))"
)
_REASON = (
    r"(?:because|since|due to|unrelated|not related|pre-?existing|already (?:fail|broken|there|red)\w*|"
    r"(?:failed|fails|failing|broken|red) (?:already |even |also )?(?:before|on main|on master|without)|"
    r"before (?:my|this|the|these) (?:change|edit|fix|work)\w*|as (?:you )?(?:asked|requested|intended)|expected|"
    r"on purpose|intentional\w*|by design|not installed|missing (?:dependenc\w+|module|package|tool|service)"
    r"|no network|needs? (?:network|docker|a (?:running )?(?:database|server|service))|the sandbox|out of scope|"
    r"flaky|cause is|caused by|comes from|root cause)"
)
_EXPLAINED = re.compile(rf"\b{_FAILURE}\b.*\b{_REASON}|\b{_REASON}\b.*\b{_FAILURE}", re.IGNORECASE | re.DOTALL)


def asks_person(text: str) -> bool:
    """Whether the text ends by asking the person something, or hands the next step to them."""
    return any(_ASKS.search(sentence) for sentence in _sentences(text)[-2:])


def announced_step(text: str) -> str:
    """The final sentence, where it says that the model will do something now; '' otherwise."""
    if _CODE.search(text.rstrip()[-_TAIL:]) and text.rstrip().endswith("```"):
        return ""
    last = (_sentences(text) or [""])[-1]
    if len(last) > _LONGEST_PROMISE or _NOT_NOW.search(last):
        return ""
    is_doing = _DOING.match(last) is not None and _STATES.search(last) is None
    return last if _PROMISE.match(last) or is_doing else ""


def explains_failure(text: str) -> bool:
    """Whether the text says of a failure why it stays."""
    return _EXPLAINED.search(_plain(text)) is not None


def _plain(text: str) -> str:
    return _INLINE.sub("`…`", _CODE.sub("\n", text)).replace("’", "'")


def _sentences(text: str) -> list[str]:
    """Those of the text's end, without code and marks of Markdown."""
    tail = _plain(text[-_TAIL:]).strip()
    cleaned = (_MARKS.sub("", part) for part in _SENTENCE.split(tail))
    return [part for part in cleaned if part]
