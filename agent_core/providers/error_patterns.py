"""What servers' words mean: patterns as data, for every server."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal

from agent_core.providers.transport_errors import ErrorFacts
from tools.light_dataclass import dataclass

# What a server's words mean, whichever server it is: the conversation is too long, or images are not taken.
# Servers word the same cause in a hundred ways and change the words with each release. So what is looked for is what
# any wording has to name: the thing that is too much, and that it is too much.

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


# Patterns for three things that every server says in words of its own, recognized by what they mean.
# `NO_TOOLS`: the model, or the server, takes no tools. `BAD_SCHEMA`: it does not take the schema of one;
# `tools_named` tells which. `NOT_READ`: the model wrote something that the server could not read, as a call that is
# no JSON; a request that could not be read is another matter.

_QUOTE = r"[`'\"“”]?"
_TOOLS = (
    rf"{_QUOTE}\b(?:tools|tool[ _-]?(?:use|usage|calls?|calling)|functions|functions?[ _-]?call(?:s|ing)?)\b{_QUOTE}"
)
# Not followed by a word that makes it part of something else: a choice of tools, their results, tools of a type.
_ALONE = (
    r"(?![\w\[]|\.\w"
    r"| ?(?:choice|with|and|when|while|together|of type|named|ids?|results?|messages?|outputs?)\b)"
)
# Nor preceded by one: servers without parallel calls have calls.
_PLAIN = r"(?<!empty )(?<!parallel )(?<!custom )(?<!hosted )(?<!built-in )(?<![\w.])"

_DOES = r"(?:support|handle|allow|accept|advertise|use|capable of|do)(?:ing)?"
_ON = r"(?:supported|available|enabled|allowed|implemented|possible)"
_REFUSED = r"(?:unsupported|unrecognized|unknown|unexpected|extra|not support\w*)"

NO_TOOLS = (
    # (this model) does not support tools, cannot use tool calls, is not capable of function calling
    rf"(?:not|n[’'`]t|cannot|unable to|not able to) (?:\w+ )?{_DOES} (?:the )?(?:use of )?"
    rf"(?:any |native )?{_TOOLS}{_ALONE}"
    # has no tool support, lacks function calling support
    r"|(?:no|lacks?|without|not have|n[’'`]t have) (?:native |any )?(?:tools?|functions?)[ -]"
    r"(?:use |call(?:s|ing)? )?support"
    # tools are not supported, function calling is not enabled for this model
    rf"|{_PLAIN}{_TOOLS} (?:(?:is|are|was) )?(?:currently |yet )?"
    rf"(?:unsupported|(?:not|isn[’'`]t|aren[’'`]t) (?:currently |yet )?{_ON})"
    # no endpoints found that support tool use
    rf"|no (?:endpoints?|models?|providers?) .{{0,40}}support.{{0,20}}{_TOOLS}{_ALONE}"
    # the field itself is refused
    rf"|{_REFUSED}.{{0,40}}(?:param|argument|field|key|propert|input).{{0,40}}[\s'\"`(\[{{]tools\b(?![\w\[.])"
    r"|param\w* (?:is|are) not supported .{0,60}: .{0,60}\btools\b(?![\w\[.])|^tools: extra"
    r"|不支持.{0,12}(?:工具|tool|function)"
)
TOOLS_SWITCHED_OFF = r"--(?:enable-auto-tool-choice|tool-call-parser|jinja)\b"
"""The server says which option it has to be started with."""

# The place of a tool in the request, as OpenAI, Anthropic, Bedrock and Google write it.
_PLACE = r"(?:\btools|function_?declarations)[\[.](\d+)\]?"
_SCHEMA = r"\b(?:input_?schema|parameters|json[ _-]?schema)\b"
BAD_SCHEMA = (
    # llama.cpp, also within LM Studio: it makes a grammar of all schemas, and does not say which one was wrong
    r"failed to parse grammar|unsupported pattern|json schema conversion failed|pattern must start with '\^'"
    r"|invalid (?:json )?schema (?:for|of|in) (?:the )?(?:function|tool)"
    rf"|{_PLACE}\.(?:[\w\[\]]+\.)*?(?:input_?schema|parameters)\b"
    r"|functiondeclaration\b.{0,120}\bschema\b|json schema definition at toolconfig"
    rf"|(?:tool|function)s?\b.{{0,60}}{_SCHEMA}.{{0,80}}"
    r"\b(?:invalid|not (?:a )?valid|not supported|unsupported|must (?:be|have|match))"
    rf"|(?:invalid|unsupported|malformed) .{{0,40}}{_SCHEMA}.{{0,40}}\b(?:tool|function)\b"
)
_NAME = r"[\w.:-]{1,128}"
_NAMED = re.compile(
    rf"(?:function|tool)s?(?: named| with name| called)?:? [`'\"“]({_NAME})[`'\"”]"
    rf"|[`'\"“]({_NAME})[`'\"”] (?:function|tool)|because `?({_NAME})`? functiondeclaration"
    rf"|(?:function|tool) (mcp__{_NAME})",
    re.IGNORECASE,
)


def tools_named(said: str) -> tuple[int | str, ...]:
    """The tools that a refusal names: by their names, and by their places in the request."""
    names = ["".join(found) for found in _NAMED.findall(said)]
    # Google has all functions in the first tool.
    places = re.findall(r"function_?declarations\[(\d+)\]", said, re.IGNORECASE) or re.findall(
        _PLACE, said, re.IGNORECASE
    )
    return (*dict.fromkeys(names), *dict.fromkeys(map(int, places)))


_CALL = r"(?:tool|function)[ _-]calls?"
_OUTPUT = (
    rf"\b(?:{_CALL}|(?:the )?(?:model|llm|assistant)(?:'s)? (?:output|response|answer|reply)"
    r"|generated (?:output|text|json)|output|generation|completion|fc related|input at pos)\b"
)
_SENT = (
    r"message\[|messages\b|request body|body of (?:your|the) request|json body|in (?:your|the) request|schema|grammar"
    r"|template|image"
)
_TOOL_WRONG = r"\b(?:invalid|malformed|incomplete|not match|not be parsed|not valid|not a valid|unparse?able)\b"
_FAILED = r"(?:fail|error|could ?n[o']t|cannot|can't|unable|invalid)"
_READING_FAILED = (
    # failed to parse the tool call; the model's output could not be parsed
    rf"{_FAILED}[^.\n]{{0,40}}\bpars(?:e|ed|ing)\b[^.\n]{{0,60}}{_OUTPUT}"
    rf"|{_OUTPUT}[^.\n]{{0,60}}(?:not be |cannot be |not |un)pars(?:e|ed|eable|able)\b"
    rf"|{_OUTPUT}[ _-](?:pars\w+|validation)[ _-](?:error|fail)"
    # the model generated an invalid call
    r"|\b(?:model|llm|assistant)\b[^.:\n]{0,20}\b(?:generated|produced|returned|made|wrote|emitted|sent|gave)\b"
    rf"[^.:\n]{{0,80}}{_TOOL_WRONG}"
    rf"|(?:malformed|unparse?able|incomplete|invalid|broken) {_CALL}\b(?! ?ids?\b)"
    r"|failed to (?:call a function|generate (?:a |valid )*(?:json|tool|function))|failed_generation"
    rf"|attempted to call tool|{_CALL} arguments (?:is|are|was|were) not"
    # gpt-oss has a format of its own, others write calls as XML; then Amazon's models
    r"|harmonyerror|tokens remaining (?:in|after)|unexpected token .{0,40}expecting (?:a )?start token"
    r"|element <\w+> closed by|invalid sequence as part of tooluse"
)
NOT_READ = rf"\A(?![\s\S]*(?:{_SENT}))[\s\S]*?(?:{_READING_FAILED})"


# What providers say when a request fails, as data: rules by stage, what each reason allows, what the user is told.
# A rule fits when all that it names is there. The first rule that fits decides, stage by stage:
# 1. `PROVIDER_RULES`: words and codes of one provider. They hold whoever passes them on: gateways quote others.
# 2. `STATUS_RULES`: a status together with words.
# 3. `CODE_RULES`: the body's own code or type, where it tells the cause.
# 4. `MEANINGS`: what any server's words mean.
# 5. `MESSAGE_RULES`: words that many servers use.
# 6. `GENERAL_RULES`: codes that only tell whose fault it was.
# 7. `BY_STATUS`: the status alone.

Reason = Literal[
    "auth",
    "auth_permanent",
    "billing",
    "rate_limit",
    "overloaded",
    "server_error",
    "timeout",
    "tls",
    "connection",
    "context_overflow",
    "payload_too_large",
    "image_too_large",
    "images_not_taken",
    "model_not_found",
    "tools_unsupported",
    "provider_policy_blocked",
    "content_policy",
    "format_error",
    "thinking_signature",
    "long_context_tier",
    "tool_schema",
    "broken_answer",
    "unknown",
]

_ZAI = r"\bz\.?ai\b|zhipu|bigmodel"
_MINIMAX = r"minimax"


@dataclass(frozen=True, slots=True)
class Rule:
    """Tells a reason.

    Attributes:
        words: a pattern for what was said, without regard to case.
        codes: one of them is in the body; small letters.
        statuses: the status is one of them.
        at: a pattern for the provider's name and host.
        names_wait: the server says how long to wait.
        means: what was said has this meaning.
        advice: the key in `ADVICE`, where that of the reason does not fit.
    """

    reason: Reason
    words: str = ""
    codes: frozenset[str] = frozenset()
    statuses: frozenset[int | None] = frozenset()
    at: str = ""
    names_wait: bool = False
    advice: str = ""
    means: Callable[[ErrorFacts], bool] | None = None


@dataclass(frozen=True, slots=True)
class Flags:
    """What a reason allows; see `ClassifiedError`."""

    retryable: bool = False
    compress: bool = False
    rotate: bool = False
    fallback: bool = False


@dataclass(frozen=True, slots=True)
class Advice:
    """What the user is told: what happened, and what to do."""

    cause: str
    step: str


def _by_codes(reason: Reason, codes: str, at: str = "") -> Rule:
    return Rule(reason, codes=frozenset(codes.split()), at=at)


FLAGS: Mapping[Reason, Flags] = {
    "auth": Flags(rotate=True, fallback=True),
    "auth_permanent": Flags(rotate=True, fallback=True),
    "billing": Flags(rotate=True, fallback=True),
    "rate_limit": Flags(retryable=True, rotate=True, fallback=True),
    # Another key meets the same full server.
    "overloaded": Flags(retryable=True, fallback=True),
    "server_error": Flags(retryable=True, fallback=True),
    "timeout": Flags(retryable=True, fallback=True),
    # A certificate that is not trusted stays so; a connection that broke within TLS is marked retryable by itself.
    "tls": Flags(fallback=True),
    "connection": Flags(retryable=True, fallback=True),
    # No fallback: the other model's window is as likely smaller, and less history helps with every model.
    "context_overflow": Flags(compress=True),
    "payload_too_large": Flags(compress=True),
    # The loop leaves the images out; the same request with them fails everywhere.
    "image_too_large": Flags(),
    "images_not_taken": Flags(fallback=True),
    "model_not_found": Flags(fallback=True),
    "tools_unsupported": Flags(fallback=True),
    "provider_policy_blocked": Flags(fallback=True),
    # What one filter refused is not shown to the next provider.
    "content_policy": Flags(),
    "format_error": Flags(fallback=True),
    # Once the sealed reasoning is left out the request is another one; another model is never sent it.
    "thinking_signature": Flags(retryable=True, fallback=True),
    "long_context_tier": Flags(compress=True, fallback=True),
    "tool_schema": Flags(fallback=True),
    # A model does not write the same again.
    "broken_answer": Flags(retryable=True, fallback=True),
    "unknown": Flags(retryable=True, fallback=True),
}

ADVICE: Mapping[str, Advice] = {
    "auth": Advice("the key was not accepted", "Check model.api_key in config.yaml, or the provider's key variable."),
    "auth_permanent": Advice(
        "the key, or the account behind it, is switched off",
        "Set another key (model.api_key in config.yaml, or the provider's key variable) or ask the provider.",
    ),
    "billing": Advice("the account has no credit left", "Top it up at the provider, or choose another model."),
    "rate_limit": Advice("a limit is reached", "Wait {wait} and send the prompt again, or choose another model."),
    "overloaded": Advice("the server is overloaded", "Wait {wait} and send the prompt again."),
    "server_error": Advice("the server failed", "Wait {wait} and send the prompt again, or choose another model."),
    "timeout": Advice("no answer came in time", "Wait {wait} and send the prompt again."),
    "tls": Advice(
        "the connection could not be secured",
        "Check model.base_url; for a certificate of your own set SSL_CERT_FILE to its CA.",
    ),
    "tls_broken": Advice("the secured connection broke", "Send the prompt again."),
    "connection": Advice("the connection failed", "Check that the server runs and that model.base_url is right."),
    "context_overflow": Advice(
        "the conversation is larger than the model's window",
        "Begin a new session, or choose a model with a larger window.",
    ),
    "payload_too_large": Advice(
        "the request is larger than the server takes at once", "Begin a new session, or attach less."
    ),
    "image_too_large": Advice(
        "an image was not accepted", "Leave it out, or send it smaller and as PNG, JPEG, GIF or WebP."
    ),
    "images_not_taken": Advice("the model takes no images", "Leave them out, or choose a model that takes images."),
    "model_not_found": Advice(
        "the server does not offer this model",
        "Check model.default in config.yaml; «hermes-acp models» lists what there is.",
    ),
    "tools_unsupported": Advice(
        "the model cannot call tools at this server, and without tools it can do no work",
        "Choose a model that supports tools (function calling); run hermes-acp models for a list.",
    ),
    "tools_switched_off": Advice(
        "the server was started without tool calls",
        "Start vLLM with --enable-auto-tool-choice and --tool-call-parser NAME, SGLang with --tool-call-parser NAME "
        "(the model's page names the parser), llama-server with --jinja; or choose another model.",
    ),
    "provider_policy_blocked": Advice(
        "the provider's rules do not allow this request",
        "Check the account's settings at the provider (data policy, region), or choose another model.",
    ),
    "content_policy": Advice(
        "the provider's content filter refused the request", "Put it in other words, or begin a new session."
    ),
    "chat_template": Advice(
        "the model's chat template cannot put this conversation into words",
        "Start the server with a template that knows system prompts and tools (llama-server: --jinja and "
        "--chat-template-file FILE, vLLM: --chat-template FILE), or choose another model.",
    ),
    "format_error": Advice(
        "the server did not accept the request", "Check the model's settings in config.yaml, or choose another model."
    ),
    "wrong_address": Advice(
        "there is no such API at this address",
        "Check model.base_url in config.yaml (it often ends in /v1), then model.default.",
    ),
    "thinking_signature": Advice(
        "the server did not take its own earlier reasoning back",
        "Send the prompt again; if that fails too, begin a new session.",
    ),
    "long_context_tier": Advice(
        "the account's plan does not cover so long a conversation",
        "Begin a new session, or choose another plan or model.",
    ),
    "tool_schema": Advice(
        "the server cannot work with the schema of a tool",
        "Update the server, or leave the tool out (tools.exclude of its MCP server in the settings).",
    ),
    "broken_answer": Advice(
        "the model's answer broke off, or the server could not read what the model wrote",
        "Send the prompt again; if that fails too, choose another model.",
    ),
    "unknown": Advice("the request failed", "Send the prompt again; if that fails too, choose another model."),
}

_UNREAD = frozenset({None, 400, 404, 413, 415, 422, 500, 501})
"""Statuses of a request that was looked at and not taken; None: told in the middle of an answer."""

_REQUEST_FAILED = frozenset({None, 500, 502, 503, 504, 520, 529})

MEANINGS: tuple[Rule, ...] = (
    Rule(
        "content_policy",
        r"content (?:management|filtering) policy|considered high risk|may contain (?:inappropriate|unsafe|content)"
        r"|safety system|inappropriate content",
        statuses=_UNREAD,
    ),
    Rule("context_overflow", statuses=_UNREAD, means=is_too_long),
    Rule("images_not_taken", statuses=_UNREAD, means=takes_no_images),
    Rule("image_too_large", statuses=_UNREAD, means=is_about_one_image),
    Rule(
        "format_error",
        r"\bjinja\b|chat[ _]template|conversation roles must alternate"
        r"|only user(?:,| and) (?:\w+ and )?assistant roles|system role (?:is )?not supported"
        r"|(?:parser|pars\w+|render\w*) (?:\w+ ){0,3}template",
        statuses=_UNREAD,
        advice="chat_template",
    ),
)

PROVIDER_RULES: tuple[Rule, ...] = (
    # Anthropic
    Rule("long_context_tier", r"extra usage is required for|long context beta is not yet available"),
    Rule(
        "thinking_signature",
        r"invalid `?signature`? in `?thinking`? block|expected `?thinking`? or `?redacted_thinking`?"
        r"|`?redacted_thinking`? blocks .{0,80}cannot be modified"
        r"|final position cannot contain `?thinking|missing (?:a )?`?thought_signature",
    ),
    Rule("billing", r"credit balance is too low|reached your specified api usage limits"),
    # OpenAI's Responses
    Rule(
        "thinking_signature",
        r"encrypted content .{0,400}could not be verified"
        r"|of type '(?:reasoning|function_call|message)' was provided without its required",
    ),
    Rule("content_policy", r"prompt was flagged as potentially violating"),
    # vLLM, SGLang, llama.cpp, and any server whose model takes no tools
    Rule("tools_unsupported", TOOLS_SWITCHED_OFF, advice="tools_switched_off"),
    Rule("tools_unsupported", NO_TOOLS),
    # OpenRouter
    Rule("provider_policy_blocked", r"no endpoints (?:found|available) matching your (?:data policy|guardrail)"),
    Rule("images_not_taken", r"no endpoints found .{0,60}\bimage"),
    Rule("model_not_found", r"no endpoints found|is not a valid model id"),
    # Google: its 429 asks for a look at the billing even where waiting helps; a limit of 0 never resets.
    Rule("billing", r"quota exceeded for metric: .{0,200}limit: 0(?![\d.])|prepa\w+ credits? (?:are|is) depleted"),
    _by_codes("rate_limit", "resource_exhausted"),
    Rule("tool_schema", BAD_SCHEMA, statuses=_UNREAD),
    _by_codes("tool_schema", "invalid_function_parameters"),
    # The numbers of z.ai, from docs.z.ai/api-reference/api-code
    _by_codes("billing", "1113 1309", _ZAI),
    _by_codes("auth_permanent", "1110 1111 1112 1121", _ZAI),
    _by_codes("rate_limit", "1302 1303 1304 1305 1308 1310 1313", _ZAI),
    _by_codes("overloaded", "1312", _ZAI),
    _by_codes("context_overflow", "1261", _ZAI),
    _by_codes("model_not_found", "1211 1311", _ZAI),
    _by_codes("content_policy", "1301", _ZAI),
    # Those of MiniMax, from platform.minimax.io/docs/api-reference/errorcode
    _by_codes("rate_limit", "1002 1041 2045 2056", _MINIMAX),
    _by_codes("auth", "1004 2049", _MINIMAX),
    _by_codes("billing", "1008", _MINIMAX),
    _by_codes("content_policy", "1026 1027", _MINIMAX),
    _by_codes("timeout", "1001", _MINIMAX),
    _by_codes("server_error", "1000 1013 1024 1033", _MINIMAX),
    # MiniMax
    Rule("context_overflow", r"^token limit$"),
    # Moonshot's coding plan
    Rule("provider_policy_blocked", r"only available for coding agents"),
)

STATUS_RULES: tuple[Rule, ...] = (
    Rule("rate_limit", statuses=frozenset({402}), names_wait=True),
    Rule("rate_limit", r"\bresets? (?:at|in|on)\b|/ ?\d+ ?h\b|per (?:hour|day)\b", statuses=frozenset({402})),
    Rule("context_overflow", codes=frozenset({"tokens_limit_reached"}), statuses=frozenset({413})),
    Rule("payload_too_large", r"request too large|tokens per min", statuses=frozenset({413})),
    Rule("payload_too_large", r"request too large for", statuses=frozenset({429})),
    Rule("billing", r"\bcredits?\b|insufficient balance|no licenses", statuses=frozenset({403})),
    Rule("content_policy", r"moderation|flagged", statuses=frozenset({403})),
    Rule(
        "format_error",
        r"^not found\.?$|page not found|invalid url|unknown (?:endpoint|path|route)|cannot post|no route",
        statuses=frozenset({404, 405}),
        advice="wrong_address",
    ),
    Rule("model_not_found", r"\bmodels?\b|\bdeployment\b", statuses=frozenset({404, 410})),
)

CODE_RULES: tuple[Rule, ...] = (
    _by_codes("thinking_signature", "invalid_encrypted_content"),
    _by_codes(
        "broken_answer",
        "tool_use_failed output_parse_failed json_validate_failed malformed_function_call malformed_tool_use "
        "malformed_model_output unexpected_tool_call",
    ),
    _by_codes(
        "content_policy",
        "content_filter content_policy_violation responsibleaipolicyviolation data_inspection_failed",
    ),
    _by_codes("provider_policy_blocked", "unsupported_country_region_territory unsupported_country"),
    _by_codes("auth_permanent", "account_deactivated organization_restricted api_key_revoked"),
    _by_codes(
        "billing",
        "insufficient_quota billing_error billing_hard_limit_reached insufficient_balance_error arrearage "
        "exceeded_current_quota_error usage_not_included insufficient_user_quota allocationquota.freetieronly "
        "budget_exceeded",
    ),
    _by_codes("auth", "invalid_api_key api_key_invalid incorrect_api_key_error invalid_authentication_error"),
    _by_codes("model_not_found", "model_not_found deploymentnotfound model_decommissioned unknown_model"),
    _by_codes("payload_too_large", "request_too_large payload_too_large"),
    _by_codes(
        "overloaded",
        "overloaded_error server_is_overloaded slow_down engine_overloaded_error service_unavailable_error "
        "unavailable_error unavailable serviceunavailableexception modelnotreadyexception "
        "insufficient_system_resource",
    ),
    _by_codes(
        "rate_limit",
        "rate_limit_exceeded rate_limit_error rate_limit_reached_error rate_limited ratelimitreached "
        "usage_limit_reached throttlingexception throttling throttling.ratequota toomanyrequestsexception",
    ),
)

MESSAGE_RULES: tuple[Rule, ...] = (
    Rule("broken_answer", NOT_READ),
    Rule(
        "payload_too_large",
        r"(?:request|payload|body)\b.{0,60}(?:too large|exceeds? the)"
        r"|(?:length less than or equal to|maximum length) \d{6,}",
    ),
    Rule(
        "billing",
        r"budget has been exceeded|exceeded ?budget|over budget"
        r"|insufficient (?:account )?(?:balance|credits?|funds|quota)|requires more credits|out of credits"
        r"|used all available credits|n't have any credits|exceeded your current quota|monthly included credits"
        r"|余额不足|no resource package|past invoices|account is in good standing|key limit exceeded",
    ),
    Rule(
        "auth_permanent", r"(?:key|account|organi[sz]ation|user) .{0,80}(?:deactivated|disabled|revoked|restricted)"
    ),
    Rule("auth_permanent", r"reported as leaked|not allowed for this organi[sz]ation|access terminated"),
    Rule(
        "auth",
        r"(?:invalid|incorrect|missing|no) (?:x-)?api[- ]?key|api key (?:is )?not valid|no auth credentials"
        r"|invalid (?:authentication|oauth token)|token has expired|api key .{0,40}(?:invalid|expired)",
    ),
    Rule(
        "provider_policy_blocked",
        r"country, region|user location is not supported|not available in your (?:country|region)",
    ),
    Rule(
        "content_policy",
        r"content (?:management|filtering) policy|considered high risk|may contain (?:inappropriate|unsafe)",
    ),
    Rule("overloaded", r"overloaded|over capacity|high demand|loading model|server is busy|temporarily unavailable"),
    Rule(
        "rate_limit",
        r"rate[- ]?limit|too many (?:requests|tokens)|quota exceeded|(?:requests|tokens) per (?:min|day)"
        r"|resource (?:has been )?exhausted|usage limit|concurrency limit|capacity exceeded|code: 1015|throttl",
    ),
    Rule(
        "model_not_found",
        r"model `?['\"]?[^\s`'\"]+[`'\"]? (?:was |is )?(?:not found|does not exist|not available|not supported)"
        r"|model (?:identifier is invalid|not found|not exist|does not exist|has been (?:decommissioned|deprecated))"
        r"|no such model|unknown model|no models? loaded|is not found for api version"
        r"|with on-demand throughput isn.t supported",
    ),
    Rule("timeout", r"timed? ?out\b|deadline exceeded", statuses=frozenset({500, 502, 503})),
)

GENERAL_RULES: tuple[Rule, ...] = (
    Rule("model_not_found", codes=frozenset({"not_found_error", "not_found"}), statuses=frozenset({404})),
    _by_codes("auth", "authentication_error permission_error unauthenticated permission_denied unauthorized"),
    _by_codes("auth", "unrecognizedclientexception accessdeniedexception expiredtokenexception"),
    _by_codes("timeout", "timeout_error deadline_exceeded modeltimeoutexception"),
    # A gateway's `api_error` may be anything: with a status that blames the request, the status is believed.
    Rule("server_error", codes=frozenset({"api_error"}), statuses=_REQUEST_FAILED),
    _by_codes("server_error", "server_error internal_error internal internal_server_error"),
    _by_codes("broken_answer", "finish_reason"),  # of ours, for an answer that ended badly
    _by_codes("server_error", "internalserverexception modelerrorexception modelstreamerrorexception"),
)

# A status within the body counts like that of the answer.
BY_STATUS: Mapping[int, Rule] = {
    401: Rule("auth"),
    402: Rule("billing"),
    403: Rule("auth"),
    **{status: Rule("format_error", advice="wrong_address") for status in (301, 302, 303, 307, 308)},
    404: Rule("format_error", advice="wrong_address"),
    405: Rule("format_error", advice="wrong_address"),
    407: Rule("connection"),
    408: Rule("timeout"),
    409: Rule("server_error"),
    413: Rule("payload_too_large"),
    425: Rule("server_error"),
    429: Rule("rate_limit"),
    451: Rule("provider_policy_blocked"),
    498: Rule("overloaded"),  # Groq: console.groq.com/docs/errors
    503: Rule("overloaded"),
    504: Rule("timeout"),
    522: Rule("timeout"),  # Cloudflare's 52x
    524: Rule("timeout"),
    529: Rule("overloaded"),
}

# A web page instead of an API's answer.
BY_PAGE: Mapping[int | None, Rule] = {
    400: Rule("format_error", advice="wrong_address"),
    403: Rule("provider_policy_blocked"),  # a firewall's: nobody has looked at the key
}

# Without a status: the request was read and refused, so that repeating it does not help.
REFUSED = _by_codes("format_error", "invalid_request_error invalid_argument validationexception badrequesterror")

TLS_BROKEN = (
    r"record.layer.failure|bad.record.mac|eof occurred in violation|unexpected.eof|decryption.failed|bad.length"
    r"|connection reset|alert.internal.error|handshake operation timed out|ssl connection has been closed"
)
