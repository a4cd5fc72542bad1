"""What a server's words mean, whichever server it is: the conversation is too long, or images are not taken.

Servers word the same cause in a hundred ways and change the words with each release. So what is looked for is what
any wording has to name: the thing that is too much, and that it is too much.
"""

from __future__ import annotations

import re
from functools import cache

from agent_core.providers.error_facts import ErrorFacts

# A limit on requests or on an account is said in the same words, but never without one of these.
_LIMIT_OF_AN_ACCOUNT = (
    r"per[- ](?:second|min|minute|hour|day|week|month)|\b[tr]p[mds]\b|rate[- ]?limit|given time|quota"
    r"|throttl|please wait|\b(?:daily|weekly|monthly)\b"
    r"|\b(?:billing|credits?|subscription|plan|tier|concurren\w+|rate of)\b"
)
_TOO_MUCH = (
    r"exceed|exceeds|too (?:long|large|many|big|much)|(?:long|larg|great|bigg|high)er than|more (?:\w+ ){0,3}than"
    r"|over (?:the )?(?:\w+ ){0,3}(?:limit|maximum)|beyond|overflow|out of range|not fit|n.t fit|insufficient"
    r"|(?:must|should) (?:be|have|not)\b[^.]{0,40}(?:\b(?:less|fewer|at most|below|under|within|more)\b|<=?|\[)"
    r"|\d ?>=? ?(?:\w+ )?\d"
    r"|reduce (?:the |your )?(?:\w+ ){0,3}(?:length|size|number|prompt|input|context|messages|tokens)"
    r"|short(?:er|en) (?:the |your )?(?:prompt|input|messages|conversation)"
    r"|(?:no|not enough) (?:room|space) (?:for|left)|limit (?:is|of|was)\b"
    r"|(?:maximum|max|context|input) (?:\w+ ){0,3}(?:is|of|was)\b .{0,80}(?:but|however|has)"
    r"|surpass|\bfull\b|> ?model|超|过长|長すぎ|너무"
)
_SPACE = (
    r"\bprompts?\b|\binputs?\b|\bcontext\b|\bconversation\b|\bchat history\b|\bmessages?\b|\bsequence length\b"
    r"|\bn_(?:ctx|keep)\b|\bmax_(?:seq_len|model_len|position\w*|num_tokens)\b|\bkv[- ]?cache\b|\btokens?\b"
    r"|上下文|输入|輸入|提示|长度"
)
# What is said of the answer's length, and of single fields, is not said of the conversation.
_OF_THE_ANSWER = (
    r"max_(?:completion_|output_|new_)?tokens"
    r"|(?:completion|output|response|generated) tokens?|tokens you requested|\bmax[_ ]tokens"
)
_MORE_THAN_THE_ANSWER = (
    r"\bprompts?\b|\binputs?\b|\bcontext\b|\bmessages\b|\bconversation\b|input_tokens|max_(?:seq|model)_len"
)
_PATHS = re.compile(
    r"\b(?:messages|input|contents|tools|body)(?:\[\d+\]|\.\[?\d+\]?|\.\w+)[\w.\[\]]*|'[^' ]*\[\d+\][^' ]*'"
)
_CODE_SPACE = r"context|prompt|input|token|length"
_CODE_TOO_MUCH = r"exceed|too_?long|too_?large|overflow|_limit_reached|max_length"
_READ = r"\bprompts?\b|\binputs?\b|\bcontext\b"
_SIZE = re.compile(r"(?<![\w.])\d{4,}(?![\w.]*\w)")
_PLAINLY = r"max(?:imum)? (?:input|prompt) (?:characters|length|size|tokens)|max_tokens must be at least 1, got -"
_ANOTHER_THING = (
    r"tokens remaining (?:in|after)|maximum number of items|string too long|string_above|array_above"
    r"|valid range of max_"
)

_IMAGES = (
    r"\bimages?\b|image_url|input_image|image/\w+|\bvision\b|multi-?modal|mmproj|\bpictures?\b|\bphotos?\b|视觉|图片|图像"
    r"|\bvisual\b"
)
_NOT_TAKEN = (
    r"not? (?:\w+ ){0,3}(?:support|accept|allow|enabl|permit|available|capab|able|implement|recogni|valid|handle|tak|"
    r"process)|n.t (?:\w+ ){0,2}(?:support|accept|allow|have|take|handle|process|understand)|unsupported|unknown"
    r"|unrecogni|unexpected|unable|invalid|cannot|can ?not|could not|only (?:\w+ ){0,4}(?:support|accept|text|allow)"
    r"|text[- ]only|only text|missing|required|no endpoints|at most|too (?:many|large|big|small)|exceed|maximum"
    r"|restriction|fail|expected|must|should be|disabled|without|error|不支持|无法|input should"
)
_OF_ONE_IMAGE = (
    r"exceed|too (?:many|large|big|small)|dimension|resolution|pixel|\b(?:mb|kb|mib|bytes)\b"
    r"|at most [1-9]|maximum of [1-9]|width|height|corrupt|decod"
    r"|could not process|unable to process|cannot process|cannot identify|truncated"
    r"|empty|(?:unsupported|invalid|unknown|supported) (?:image|media)"
    r"[ _]?(?:type|format|media|mime|data|url|file)?\b(?! input)"
    r"|download|fetch|base64|format|pars(?:e|ing)"
)


def is_too_long(facts: ErrorFacts) -> bool:
    """Whether the server says that the conversation is longer than its model can read."""
    text = _whole(facts)
    if _found("context shift is disabled", text):  # llama.cpp's way to say so
        return True
    if any(map(_code_says_too_long, facts.codes)):
        return True
    if _found(_LIMIT_OF_AN_ACCOUNT, text) or _found(_ANOTHER_THING, text):
        return False
    return any(map(_says_too_long, text.split("\n")))


def _says_too_long(line: str) -> bool:
    if _found(_PLAINLY, line):
        return True
    if _found(_READ, line) and len(_SIZE.findall(line)) > 1:  # so many tokens, and so many can be read
        return True
    if not (_found(_SPACE, line) and _found(_TOO_MUCH, line)):
        return False
    return not _found(_OF_THE_ANSWER, line) or _found(_MORE_THAN_THE_ANSWER, line)


def _code_says_too_long(code: str) -> bool:
    return (
        _found(_CODE_SPACE, code)
        and _found(_CODE_TOO_MUCH, code)
        and not _found("max_tokens|quota|rate|string", code)
    )


def is_about_images(facts: ErrorFacts) -> bool:
    """Whether the server says that it did not take the images of the request."""
    return any(map(_says_not_taken, _lines(facts)))


def is_about_one_image(facts: ErrorFacts) -> bool:
    """The same, and that it is about these images: their size, number or format. Others may be taken."""
    return any(_says_not_taken(line) and _found(_OF_ONE_IMAGE, line) for line in _lines(facts))


def _says_not_taken(line: str) -> bool:
    return _found(_IMAGES, line) and _found(_NOT_TAKEN, line)


def _lines(facts: ErrorFacts) -> list[str]:
    return [*facts.text.split("\n"), *(code.replace("_", " ") for code in sorted(facts.codes))]


def _whole(facts: ErrorFacts) -> str:
    """Words and codes, a line each, without the paths of fields, which are made of the same words."""
    return "\n".join((_PATHS.sub(" ", facts.text), *sorted(facts.codes)))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _found(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None
