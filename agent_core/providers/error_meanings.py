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
    r"exceed|exceeds|too (?:long|large|many|big|much)|(?:long|larg|great|bigg|high)er than"
    r"|more (?:\w+ ){0,3}than (?:\w+ ){0,3}(?:\d{3,}|the )"
    r"|over (?:the )?(?:\w+ ){0,3}(?:limit|maximum)|beyond|overflow|out of range|not fit|n.t fit|insufficient"
    r"|(?:must|should) (?:be|have|not)\b[^.]{0,40}(?:\b(?:less|fewer|at most|below|under|within|more)\b|<=?|\[)"
    r"[^.]{0,30}\d{3,}"
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
_FIRST_SERVER_STATUS = 500
_CODE_SPACE = r"context|prompt|input|token|length"
_CODE_TOO_MUCH = r"exceed|too_?long|too_?large|overflow|_limit_reached|max_length"
_READ = r"\bprompts?\b|\binputs?\b|\bcontext\b"
_UNIT = r"tokens?\b|n_ctx|characters|\bcontext\b|maximum|\blimit|\blength|\bwindow"
_SIZE = re.compile(r"(?<![\w.])\d{4,}(?![\w.]*\w)")
_PLAINLY = r"max(?:imum)? (?:input|prompt) (?:characters|length|size|tokens)|max_tokens must be at least 1, got -"
_ANOTHER_THING = (
    r"tokens remaining (?:in|after)|maximum number of items|(?:string|array) too long|string_above|array_above"
    r"|valid range of max_|\bmemory\b|failed to load|header size|template"
)

_IMAGES = (
    r"\bimages?\b|image_url|input_image|image/\w+|\bvision\b|multi-?modal|mmproj|\bpictures?\b|\bphotos?\b|视觉|图片|图像"
    r"|\bvisual\b"
)
# That images are not taken at all.
_NO_SUPPORT = (
    r"(?:not?|n.t|cannot|unable to) (?:\w+ ){0,3}(?:support|accept|allow|enabl|capab|able|handle|understand)"
    r"|unsupported|only (?:\w+ ){0,4}(?:support|text)|text[- ]only|only text|unknown variant|no endpoints|at most 0"
    r"|unexpected (?:type|part|content)|missing|mmproj|not (?:an? )?(?:multi-?modal|vision)|(?:no|without) vision"
    r"|expected (?:\w+ ){0,2}[`'\"]?text|must be a string|valid string|requires? (?:an? )?(?:vision|multi-?modal)"
    r"|disabled"
    r"|不支持|无法"
)
_WRONG = (
    r"not? (?:\w+ ){0,3}(?:valid|meet|permit|available|tak|process|allow)|unsupported|unknown|unrecogni|unexpected"
    r"|unable|invalid|cannot|can ?not|could not|required|at most|too (?:many|large|big|small)|exceed|maximum"
    r"|restriction|fail"
    r"|expected|must|should be|error|only allowed|错误"
)
# Models and tools are called so, and schemas have such fields.
_NAMES = re.compile(
    r"[\w./:-]*[-:/.\d](?:vision|image(?!_url|/))[\w./:-]*|\b(?:vision|image)-[\w./:-]+", re.IGNORECASE
)
_NOT_OF_IMAGES = r"\bschema\b|model name|\bfunction '"
_OF_ONE_IMAGE = (
    r"exceed|too (?:many|large|big|small)|dimension|resolution|pixel|\b(?:mb|kb|mib|bytes)\b"
    r"|at most [1-9]|maximum of [1-9]|width|height|corrupt|decod"
    r"|could not process|unable to process|cannot process|cannot identify|truncated"
    r"|empty|(?:unsupported|invalid|unknown|supported) (?:image|media)"
    r"[ _]?(?:type|format|media|mime|data|url|file)?\b(?! input)"
    r"|download|fetch|base64|format|\bmime\b|pars(?:e|ing)"
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
    if (
        _found(_READ, line) and _found(_UNIT, line) and len(_SIZE.findall(line)) > 1
    ):  # so many tokens, and so many can be read
        return True
    if not (_found(_SPACE, line) and _found(_TOO_MUCH, line)):
        return False
    return not _found(_OF_THE_ANSWER, line) or _found(_MORE_THAN_THE_ANSWER, line)


def _code_says_too_long(code: str) -> bool:
    return (
        _found(_CODE_SPACE, code)
        and _found(_CODE_TOO_MUCH, code)
        and not _found("max_tokens|quota|rate|string|array", code)
    )


def takes_no_images(facts: ErrorFacts) -> bool:
    """Whether the server says that it, or the model, takes no images."""
    return any(_found(_NO_SUPPORT, line) and not _found(_OF_ONE_IMAGE, line) for line in _of_images(facts))


def is_about_one_image(facts: ErrorFacts) -> bool:
    """Whether the server says that it did not take these images: their size, their format. It may take others."""
    wrong = f"{_OF_ONE_IMAGE}|{_WRONG}" if (facts.status or 0) < _FIRST_SERVER_STATUS else _OF_ONE_IMAGE
    return any(_found(_WRONG, line) and _found(wrong, line) for line in _of_images(facts))


def _of_images(facts: ErrorFacts) -> list[str]:
    """The lines that speak of images; a code is one."""
    lines = [*facts.text.split("\n"), *(f"{code.replace('_', ' ')} error" for code in sorted(facts.codes))]
    plain = (_NAMES.sub(" ", line) for line in lines)
    return [line for line in plain if _found(_IMAGES, line) and not _found(_NOT_OF_IMAGES, line)]


def _whole(facts: ErrorFacts) -> str:
    """Words and codes, a line each, without the paths of fields, which are made of the same words."""
    return "\n".join((_PATHS.sub(" ", facts.text), *sorted(facts.codes)))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _found(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None
