r"""Patterns for three things that every server says in words of its own, recognized by what they mean.

`NO_TOOLS`: the model, or the server, takes no tools. `BAD_SCHEMA`: it does not take the schema of one; `tools_named`
tells which. `NOT_READ`: the model wrote something that the server could not
read, as a call that is no JSON; a request that could not be read is another matter.
"""

from __future__ import annotations

import re

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
_WRONG = r"\b(?:invalid|malformed|incomplete|not match|not be parsed|not valid|not a valid|unparse?able)\b"
_FAILED = r"(?:fail|error|could ?n[o']t|cannot|can't|unable|invalid)"
_READING_FAILED = (
    # failed to parse the tool call; the model's output could not be parsed
    rf"{_FAILED}[^.\n]{{0,40}}\bpars(?:e|ed|ing)\b[^.\n]{{0,60}}{_OUTPUT}"
    rf"|{_OUTPUT}[^.\n]{{0,60}}(?:not be |cannot be |not |un)pars(?:e|ed|eable|able)\b"
    rf"|{_OUTPUT}[ _-](?:pars\w+|validation)[ _-](?:error|fail)"
    # the model generated an invalid call
    r"|\b(?:model|llm|assistant)\b[^.:\n]{0,20}\b(?:generated|produced|returned|made|wrote|emitted|sent|gave)\b"
    rf"[^.:\n]{{0,80}}{_WRONG}"
    rf"|(?:malformed|unparse?able|incomplete|invalid|broken) {_CALL}\b(?! ?ids?\b)"
    r"|failed to (?:call a function|generate (?:a |valid )*(?:json|tool|function))|failed_generation"
    rf"|attempted to call tool|{_CALL} arguments (?:is|are|was|were) not"
    # gpt-oss has a format of its own, others write calls as XML; then Amazon's models
    r"|harmonyerror|tokens remaining (?:in|after)|unexpected token .{0,40}expecting (?:a )?start token"
    r"|element <\w+> closed by|invalid sequence as part of tooluse"
)
NOT_READ = rf"\A(?![\s\S]*(?:{_SENT}))[\s\S]*?(?:{_READING_FAILED})"
