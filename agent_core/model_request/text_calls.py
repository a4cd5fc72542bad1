"""Tool calls that a model has written into its text, because its server does not know their form."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from agent_core.messages import Message, text_of
from agent_core.model_request.answer_text import KEYS, has_mark, is_marked
from agent_core.model_request.call_arguments import settled_arguments
from tools.arguments import checked, kinds_of
from tools.call_meaning import instead, meant_call
from tools.light_dataclass import dataclass
from tools.registry import ToolEntry

# Quotations: what looks like a call, and was read before, in words of others or in earlier ones. The author of a page
# or a file may have a model repeat what it holds, in another form or escaped: a call whose name and arguments stand
# together in one message is a quotation.

_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\"'\\/`<>&{}\[\]_]))")
_ROUNDS = 6
_INVISIBLE = re.compile(r"\\[nrt]|[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_NO_LETTERS = re.compile(r"[\W\d_]")
_NEAR = 300
_SHORT = 4


class Quotations:
    """All that was said before."""

    def __init__(self, messages: Sequence[Message]) -> None:
        """Take the messages of a conversation: whole, with the system prompt, without the answer itself."""
        self._said = [(message["role"], _plain(text_of(message["content"]))) for message in messages]

    def has(self, name: str, arguments: Mapping[str, Any], source: str) -> bool:
        """Whether a call was said before: as it is written (`source`), as JSON, or by its name and its values."""
        forms = [_plain(form) for form in (source, *_forms(name, arguments))]
        letters = [_letters(form) for form in forms]
        values = list(dict.fromkeys(filter(None, map(_plain, _texts(arguments)))))
        for role, text in self._said:
            if any(form in text for form in forms):
                return True
            # Of what a model wrote itself only the very same counts: it may have been asked to write it again.
            if role == "assistant":
                continue
            bare = _letters(text)
            if any(form in bare for form in letters) or _stand_together(name, values, text):
                return True
        return False


def _plain(text: str) -> str:
    """A text without its escapes and its blanks."""
    for _ in range(_ROUNDS):
        before, text = text, _ESCAPED.sub(_unescaped, html.unescape(text))
        if text == before:
            break
    return _INVISIBLE.sub("", text)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else found[3]


def _letters(text: str) -> str:
    """What of a text is left in a result that numbers its lines, or quotes them."""
    return _NO_LETTERS.sub("", text)


def _forms(name: str, arguments: Mapping[str, Any]) -> Iterator[str]:
    """The call as JSON, in the ways that are usual."""
    for key in ("arguments", "parameters"):
        for inner in (arguments, json.dumps(arguments, ensure_ascii=False)):
            yield json.dumps({"name": name, key: inner}, ensure_ascii=False)
            yield json.dumps({key: inner, "name": name}, ensure_ascii=False)


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for each in value.values():
                yield from _texts(each)
        case [*values]:
            for each in values:
                yield from _texts(each)


def _stand_together(name: str, values: Sequence[str], text: str) -> bool:
    """Whether a text has the name, as calls have it, and all the values close to it."""
    if not values or not all(value in text for value in values):
        return False
    reach = _NEAR + 2 * sum(map(len, values))
    for found in re.finditer(rf"""(?<![A-Za-z_]){re.escape(_plain(name))}(?=["'>\[{{<`|]|,["'])""", text):
        near = text[max(found.start() - reach, 0) : found.end() + reach]
        if all(_has(near, value) for value in values):
            return True
    return False


def _has(text: str, value: str) -> bool:
    if len(value) >= _SHORT:
        return value in text
    return any(f"{before}{value}{behind}" in text for before, behind in ('""', "''", "><"))


# The calls. A text is read as calls only where it is nothing else from its first mark to its end, and where each is a
# call of a tool that was offered, with arguments that fit. What was said before is a quotation and no call: otherwise
# the author of any page or file that the model reads could have one made.

Tools = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call as it was written; `arguments` is the text of a JSON object, `source` what it was read from."""

    name: str
    arguments: str
    source: str


class NoCall(Exception):
    """The text is something else than calls."""


class UnreadableCall(Exception):
    """The text means to be a call and cannot be one; says why, for the model."""


# What stands around calls and between them, in all the forms: it says nothing that is needed.
_AROUND = re.compile(
    r"(?:\s|[;,]"
    r"|</?(?:tool_calls?|tools|TOOLCALL|function_calls?|minimax:tool_call)>|</?\|tool_call\|?>|<\|/tool_call\|>"
    r"|\[/?TOOL_CALLS\]|\[(?:END_)?TOOL_REQUEST\]|<\|python_tag\|>|functools(?=\[)"
    r"|<\|tool_calls?(?:_section)?_(?:begin|end)\|>|<\|/?START_ACTION\|>|<\|END_ACTION\|>|<\|tools_(?:prefix|suffix)\|>"
    r"|<｜tool▁calls?▁(?:begin|end)｜>|</?｜DSML｜(?:function|tool)_calls>"
    r"|<\|(?:eom_id|eot_id|im_end|call|end|return)\|>|</s>|<｜end▁of▁sentence｜>"
    r"|```[\w-]*[ \t]*(?=\n|<|\Z))+"
)
_NAME = r"(?:functions[.:]|default_api[.:])?([A-Za-z_][\w.:-]*?)"
# A name, and what stands between it and its arguments: Mistral, DeepSeek, Kimi, gpt-oss.
_NAMED = re.compile(
    rf"(?:function<｜tool▁sep｜>)?(?:(?:<\|start\|>assistant)?<\|channel\|>commentary to=)?{_NAME}(?::\d+)?"
    r"(?:<｜tool▁sep｜>|<\|tool_call_argument_begin\|>|\[CALL_ID\]\w+(?=\[ARGS\])|\[ARGS\]|<\|constrain\|>json"
    r"|<\|message\|>|```json|\s)*(?=\{)"
)
_FUNCTION = re.compile(rf"""<(?:｜DSML｜)?(?:function|invoke)(?:=|\s+name=)["']?{_NAME}["']?>\s*""")
_FUNCTION_END = re.compile(r"\s*</(?:｜DSML｜)?(?:function|invoke)>")
_PARAMETER = re.compile(
    r"""\s*<(?:｜DSML｜)?parameter(?:=|\s+name=)["']?([\w.-]+)["']?(?:\s+string="(true|false)")?>(.*?)"""
    r"</(?:｜DSML｜)?parameter>(?=\s*(?:<(?:｜DSML｜)?parameter\b|</(?:｜DSML｜)?(?:function|invoke)>|\Z))",
    re.DOTALL,
)
# GLM.
_PLAIN_NAME = re.compile(rf"{_NAME}\s*(?=<arg_key>|</tool_call>)")
_ARGUMENT = re.compile(
    r"\s*<arg_key>([\w.-]+)</arg_key>\s*<arg_value>(.*?)</arg_value>(?=\s*(?:<arg_key>|</tool_call>|\Z))", re.DOTALL
)
_CLOSINGS = re.compile(
    r"</tool_call>|</TOOLCALL>|\[/TOOL_CALLS\]|\[END_TOOL_REQUEST\]|<\|tool_call_end\|>|</function>|```"
)
_NAMES = ("name", "tool_name", "tool", "function_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input")
# What a broken call goes on with, behind where it can be read: else it is spoken of.
_OBJECT_BEGUN = re.compile(r"""[\s\[]*(?:\{\s*(?:["'}]|\Z)|\Z)""")
_PARAMETER_BEGUN = re.compile(r"\s*(?:<(?:｜DSML｜)?parameter\b|\Z)")
_ENDS = re.compile(
    r"</(?:tool_calls?|tools|TOOLCALL|function_calls?|minimax:tool_call|function|invoke)>|\[/TOOL_CALLS\]"
    r"|\[END_TOOL_REQUEST\]|<\|tool_call_end\|>|<\|END_ACTION\|>|<｜tool▁calls?▁end｜>"
)
_JSON = json.JSONDecoder(strict=False)


def read_calls(text: str, tools: Tools, messages: Sequence[Message]) -> list[WrittenCall]:
    """The calls that the text consists of.

    Args:
        text: from the first mark of a call to the answer's end.
        tools: those that were offered, as they were sent.
        messages: the whole conversation with the system prompt, which may hold what looks like a call.

    Raises:
        NoCall: it is something else.
        UnreadableCall: it is marked as calls, or names an offered tool, but they cannot be made.
    """
    reader = _Reader(text, {tool["function"]["name"]: tool["function"].get("parameters") or {} for tool in tools})
    try:
        calls = list(reader.calls())
    except UnreadableCall:
        if reader.has_words_behind():
            raise NoCall from None
        raise
    said = Quotations(messages)
    if not calls or any(said.has(call.name, json.loads(call.arguments), call.source) for call in calls):
        raise NoCall
    return calls


class _Reader:
    def __init__(self, text: str, tools: Mapping[str, Mapping[str, Any]]) -> None:
        self._text = text
        self._tools = tools
        self._at = 0
        self._marked = is_marked(text)
        self._is_open = False  # reading failed within a call

    def calls(self) -> Iterator[WrittenCall]:
        """The calls, one after the other, to the end of the text."""
        while True:
            self._skip(_AROUND)
            if self._at == len(self._text):
                return
            start = self._at
            for name, arguments in self._call():
                yield self._fitting(name, arguments, self._text[start : self._at])

    def has_words_behind(self) -> bool:
        """Whether words stand behind the call that could not be read, or behind the end of one that follows."""
        places = [] if self._is_open else [self._at]
        return not all(map(self._goes_on, (*places, *(end.end() for end in _ENDS.finditer(self._text, self._at)))))

    def _goes_on(self, place: int) -> bool:
        around = _AROUND.match(self._text, place)
        end = place if around is None else around.end()
        is_call = self._text[end : end + 1] in {"", "{", "[", "<"}
        return is_call or (around is not None and has_mark(around[0]))

    def _call(self) -> Iterator[tuple[str, Any]]:
        """What begins here: one call, or a list of some."""
        if self._text[self._at] in "{[":
            yield from self._named(self._json())
        elif (found := self._skip(_FUNCTION)) is not None:
            is_json = self._text.startswith("{", self._at)
            arguments = self._json() if is_json else self._pairs(found[1], _PARAMETER)
            if self._skip(_FUNCTION_END) is None:
                self._broken("it does not end", _PARAMETER_BEGUN)
            yield found[1], arguments
        elif self._marked and (found := self._skip(_NAMED)) is not None:
            yield found[1], self._json()
        elif self._marked and (found := self._skip(_PLAIN_NAME)) is not None:
            yield found[1], self._pairs(found[1], _ARGUMENT)
        else:
            raise NoCall

    def _json(self) -> Any:
        try:
            value, self._at = _JSON.raw_decode(self._text, self._at)
        except (ValueError, RecursionError):
            return self._mended()
        return value

    def _mended(self) -> Any:
        """What is nearly JSON, up to the mark of its end."""
        closing = _CLOSINGS.search(self._text, self._at)
        end = len(self._text) if closing is None else closing.start()
        arguments, problem = settled_arguments(self._text[self._at : end])
        if problem:
            self._broken(
                problem.removesuffix(" Send one JSON object.").removesuffix(" Nothing was run."), _OBJECT_BEGUN
            )
        self._at = end
        return json.loads(arguments)

    def _pairs(self, tool: str, form: re.Pattern[str]) -> dict[str, Any]:
        """Arguments that are written one by one, as text; their schema tells what they are."""
        properties = self._tools.get(tool, {}).get("properties") or {}
        found: dict[str, Any] = {}
        while (pair := self._skip(form)) is not None:
            key, *is_text, value = pair.groups()
            if is_text != ["true"]:
                value = value.removeprefix("\n").removesuffix("\n")
            kinds = kinds_of(properties.get(key) or {})
            found[key] = value if not kinds or "string" in kinds or is_text == ["true"] else _value(value)
        return found

    def _named(self, value: Any) -> Iterator[tuple[str, Any]]:
        """The calls in a JSON value."""
        match value:
            case [*values]:
                for each in values:
                    yield from self._named(each)
            case {"tool_calls": [*values]}:
                yield from self._named(values)
            case {"function": {"name": str()} as inner}:
                yield from self._named(inner)
            case {} if value.keys() <= KEYS or self._marked:
                name = next((value[key] for key in (*_NAMES, "function") if isinstance(value.get(key), str)), None)
                given = [value[key] for key in _ARGUMENTS if key in value]
                if name is None or not (given or self._marked):
                    self._broken("it has no name")
                yield name.rpartition("functions.")[2], next(iter(given), None) or {}
            case _:
                raise NoCall

    def _fitting(self, name: str, arguments: Any, source: str) -> WrittenCall:
        if isinstance(arguments, str):
            text, problem = settled_arguments(arguments)
            arguments = json.loads(text)
        else:
            problem = None if isinstance(arguments, dict) else "The arguments must be one JSON object."
        meant = meant_call(name, {} if problem else arguments, self._tools, self._entry)
        entry = self._entry(meant.name)
        # Without a mark, what looks like a call is one only if it names a tool as it was offered.
        if entry is None or (meant.name != name and not self._marked):
            self._broken(instead(name, self._tools, self._entry).rstrip(".?"))
        problem = problem or checked(entry, meant.arguments).problem
        if problem:
            raise UnreadableCall(problem)
        return WrittenCall(name, json.dumps(arguments, ensure_ascii=False), source)

    def _entry(self, name: str) -> ToolEntry | None:
        schema = self._tools.get(name)
        return None if schema is None else ToolEntry(name, "", schema, _never, "")

    def _skip(self, form: re.Pattern[str]) -> re.Match[str] | None:
        if (found := form.match(self._text, self._at)) is not None:
            self._at = found.end()
        return found

    def _broken(self, why: str, begun: re.Pattern[str] | None = None) -> NoReturn:
        """Raise what it means that this is no call: what is not marked as one is taken for something else.

        Args:
            begun: what the rest of a call that cannot be read to its end must begin with.
        """
        self._is_open = begun is not None
        if not self._marked or (begun is not None and not begun.match(self._text, self._at)):
            raise NoCall
        raise UnreadableCall(why)


def _never(*_: object, **__: object) -> NoReturn:
    raise NotImplementedError


def _value(text: str) -> Any:
    try:
        return _JSON.decode(text.strip())
    except (ValueError, RecursionError):
        return text
