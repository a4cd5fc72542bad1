"""Arguments as models send them: put right by the schema, or one clear error."""

from __future__ import annotations

import difflib
import json
import logging
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.context import ToolContext
from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.registry import MCP, ToolEntry

log = logging.getLogger(__name__)

# What a handler reads: a value that is obvious is coerced, the rest is a clear error.

Arguments = Mapping[str, Any]

_MAX_SHOWN_CHARS = 60
_ODD_BYTE = re.compile(r"\\u(dc[89a-f][0-9a-f])", re.IGNORECASE)


def text(args: Arguments, name: str, default: str | None = None) -> str:
    """A string. Null counts as not given.

    Raises:
        ToolError: it is missing and there is no default, or it is something else.
    """
    value = args.get(name)
    if value is None:
        if default is None:
            raise ToolError(f"The argument {name!r} is missing; it has to be a string.")
        return default
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise ToolError(f"The argument {name!r} has to be a string, not {_kind(value)}.")


def integer(args: Arguments, name: str, default: int, *, minimum: int = 0, maximum: int | None = None) -> int:
    """A whole number; what is over `maximum` becomes `maximum`.

    Raises:
        ToolError: it is no whole number, or below `minimum`.
    """
    number: int = _given(args, name, "integer", default)
    if number < minimum:
        raise ToolError(f"The argument {name!r} has to be at least {minimum}, not {number}.")
    return number if maximum is None else min(number, maximum)


def boolean(args: Arguments, name: str, default: bool = False) -> bool:
    """True or false.

    Raises:
        ToolError: it is neither.
    """
    given: bool = _given(args, name, "boolean", default)
    return given


def choice(args: Arguments, name: str, choices: Sequence[str], default: str) -> str:
    """One of `choices`.

    Raises:
        ToolError: it is none of them.
    """
    value = args.get(name)
    if value is None or value == "":
        return default
    word = str(value).strip().lower()
    if word not in choices:
        raise ToolError(f"The argument {name!r} has to be one of {', '.join(choices)}, not {shown(value)}.")
    return word


def path(args: Arguments, ctx: ToolContext, name: str = "path", default: str | None = None) -> Path:
    """The absolute path that the argument means.

    Raises:
        ToolError: it is missing, empty or cannot be a path.
    """
    value = with_odd_bytes(text(args, name, default))
    if not value.strip():
        raise ToolError(f"The argument {name!r} is empty; it has to be a path.")
    try:
        value.encode("utf-8", "surrogateescape")
        if "\0" in value:
            raise ToolError(f"The argument {name!r} holds a NUL character; it cannot be a path.")
        return ctx.resolve(value)
    except (RuntimeError, ValueError) as problem:
        raise ToolError(f"The argument {name!r} cannot be a path: {problem}.") from problem


def with_odd_bytes(path: str) -> str:
    r"""`path` with bytes that are not UTF-8 where it has their escapes: `\udcff`, as directories are listed."""
    return _ODD_BYTE.sub(lambda found: chr(int(found[1], 16)), path)


def display(path: Path, ctx: ToolContext) -> str:
    """`path` as short as it stays clear: relative to the working directory when it is inside."""
    return str(path.relative_to(ctx.cwd)) if path.is_relative_to(ctx.cwd) else str(path)


def _given(args: Arguments, name: str, kind: str, default: Any) -> Any:
    value = args.get(name)
    if value is None or value == "":
        return default
    try:
        return _typed(value, (kind,), {"type": kind}, "")
    except DoesNotFit as problem:
        raise ToolError(f"The argument {name!r} has to be {problem.expected}, not {shown(value)}.") from problem


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false"}
    return names.get(type(value), type(value).__name__)


# A value as the tool's schema asks for it, where it is clear what was meant. Where a schema says more than is read
# here (`$ref`, `allOf`, several alternatives), the value stays as it is.

Schema = Mapping[str, Any]

_UNREAD = frozenset({"$ref", "allOf", "not", "if", "$dynamicRef"})
_CHOICES = frozenset({"anyOf", "oneOf"})
# Most values are what they should be, and there is nothing in them to look at.
_EXACT = {"string": str, "integer": int, "number": float, "boolean": bool}
_MOST_CHOICES = 20
_LONGEST_NUMBER = 400
_TRUE = frozenset({"true", "yes", "1", "on"})
_FALSE = frozenset({"false", "no", "0", "off"})
_WORDS = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class DoesNotFit(ValueError):
    """The value is not what the schema asks for. `expected` completes «it has to be …»."""

    def __init__(self, expected: str, value: object, where: str = "") -> None:
        super().__init__(expected)
        self.expected = expected
        self.value = value
        self.where = where


def coerced(value: Any, schema: Schema, where: str = "") -> Any:
    """The value in the type that `schema` asks for.

    Args:
        where: the path of the value inside its argument, as «[0].text»; '' is the argument itself.

    Raises:
        DoesNotFit: it has another type, and it is not clear what was meant.
    """
    kind = schema.get("type")
    if isinstance(kind, str) and type(value) is _EXACT.get(kind) and "enum" not in schema:
        return value
    if not _UNREAD.isdisjoint(schema):
        return value
    if not _CHOICES.isdisjoint(schema):
        return _alternative(value, schema, where)
    kinds = kinds_of(schema)
    if kinds:
        value = _typed(value, kinds, schema, where)
    choices = schema.get("enum")
    if isinstance(choices, Sequence) and not isinstance(choices, str):
        return _chosen(value, choices, where)
    if isinstance(value, list):
        return _list(value, schema, where)
    return _object(value, schema, where) if isinstance(value, dict) else value


def kinds_of(schema: Schema) -> tuple[str, ...]:
    """The JSON types that a schema names; none where it names none."""
    kinds = schema.get("type")
    if isinstance(kinds, str):
        return (kinds,)
    return tuple(kind for kind in kinds if isinstance(kind, str)) if isinstance(kinds, Sequence) else ()


def takes_null(schema: Schema) -> bool:
    """Whether null may be a value; True where the schema does not tell."""
    if not _UNREAD.isdisjoint(schema) or schema.get("nullable") is True:
        return True
    alternatives = _alternatives(schema)
    if alternatives:
        return any(not isinstance(part, Mapping) or takes_null(part) for part in alternatives)
    if "enum" in schema:
        return None in schema["enum"]
    kinds = kinds_of(schema)
    return not kinds or "null" in kinds


def expectation(schema: Schema) -> str:
    """What a schema asks for, to complete «it has to be …»; '' where it does not tell."""
    choices = schema.get("enum")
    if isinstance(choices, Sequence) and not isinstance(choices, str) and choices:
        shown = ", ".join(str(choice) for choice in choices[:_MOST_CHOICES])
        return f"one of {shown}{', …' if len(choices) > _MOST_CHOICES else ''}"
    words = [_WORDS.get(kind, kind) for kind in kinds_of(schema) if kind != "null"]
    return " or ".join(words)


def shown(value: object) -> str:
    """A value for a message, shortened."""
    if isinstance(value, dict):
        return "an object"
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"


def _alternative(value: Any, schema: Schema, where: str) -> Any:
    """The value as the only alternative beside null would have it; as it is where there are several."""
    parts = [part for part in _alternatives(schema) if isinstance(part, Mapping)]
    real = [part for part in parts if kinds_of(part) != ("null",)]
    if value is None or len(real) != 1:
        return value
    return coerced(value, real[0], where)


def _alternatives(schema: Schema) -> list[Any]:
    return [*schema.get("anyOf", ()), *schema.get("oneOf", ())]


def _typed(value: Any, kinds: tuple[str, ...], schema: Schema, where: str) -> Any:
    if any(_is(value, kind) for kind in kinds):
        return value
    for kind in kinds:
        convert = _CONVERSIONS.get(kind)
        if convert is None:
            continue
        try:
            return convert(value, schema)
        except ValueError:
            continue
    raise DoesNotFit(expectation(schema), value, where)


def _is(value: Any, kind: str) -> bool:
    match kind:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
        case _:  # not a type of JSON Schema: it cannot be judged
            return True


def _integer(value: Any, _schema: Schema) -> int:
    number = _number(value, _schema)
    if isinstance(number, float) and not number.is_integer():
        raise ValueError
    return int(number)


def _number(value: Any, _schema: Schema) -> int | float:
    if isinstance(value, float):
        return value
    if not isinstance(value, str) or len(value) > _LONGEST_NUMBER:
        raise ValueError
    try:
        return int(value.strip())
    except ValueError:
        number = float(value.strip())
    if not math.isfinite(number):
        raise ValueError
    return number


def _boolean(value: Any, _schema: Schema) -> bool:
    word = str(value).strip().lower() if isinstance(value, (str, int)) else ""
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError


def _string(value: Any, _schema: Schema) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise ValueError


def _array(value: Any, schema: Schema) -> list[Any]:
    """A list from its JSON text, or of the one item that was sent instead."""
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return []
        if text.startswith("["):  # it cannot but be a list; one that is broken is no item
            return _list_from(text)
    items = schema.get("items")
    kinds = kinds_of(items) if isinstance(items, Mapping) else ()
    if isinstance(value, str) and "object" in kinds and "string" not in kinds:
        return [_object_from(value, schema)]
    if value is None or (kinds and not isinstance(value, str) and not any(_is(value, kind) for kind in kinds)):
        raise ValueError
    return [value]


def _list_from(text: str) -> list[Any]:
    parsed = json.loads(text)
    if isinstance(parsed, list):
        return parsed
    raise ValueError


def _object_from(value: Any, _schema: Schema) -> dict[str, Any]:
    parsed = json.loads(value) if isinstance(value, str) else None
    if isinstance(parsed, dict):
        return parsed
    raise ValueError


_CONVERSIONS: Mapping[str, Callable[[Any, Schema], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "string": _string,
    "array": _array,
    "object": _object_from,
}


def _chosen(value: Any, choices: Sequence[Any], where: str) -> Any:
    if any(value == choice and type(value) is type(choice) for choice in choices):
        return value
    wanted = str(value).strip().lower()
    same = [choice for choice in choices if str(choice).lower() == wanted]
    if len(same) == 1:
        return same[0]
    raise DoesNotFit(expectation({"enum": choices}), value, where)


def _list(value: list[Any], schema: Schema, where: str) -> list[Any]:
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return value
    return [coerced(item, items, f"{where}[{position}]") for position, item in enumerate(value)]


def _object(value: dict[str, Any], schema: Schema, where: str) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return value
    required = schema.get("required", ())
    fitted: dict[str, Any] = {}
    for name, part in value.items():
        known = properties.get(name)
        if not isinstance(known, Mapping):
            fitted[name] = part
        elif part is not None or takes_null(known):
            fitted[name] = coerced(part, known, f"{where}.{name}")
    for name in required:
        if name not in fitted:
            raise DoesNotFit(f"an object with {name!r}", value, where)
    return fitted


# A call's arguments as a whole, before its tool gets them.

_MOST_TOLD = 5
_MAX_DESCRIPTION = 200


@dataclass(frozen=True, slots=True)
class Checked:
    """A call's arguments as its tool gets them.

    Attributes:
        problem: why the call cannot be made, for the model; '' where it can.
        note: what was ignored, for the model; '' where nothing was. Only a tool that changes nothing ignores any.
    """

    arguments: dict[str, Any]
    problem: str = ""
    note: str = ""


def checked(entry: ToolEntry, arguments: Mapping[str, Any]) -> Checked:
    """The arguments, named as in the schema of the tool and coerced to it.

    Null for what need not be given counts as not given, so does '' where no text is due. Of a server's tool only what
    is certain is changed, and what does not fit is left for the server to judge.
    """
    try:
        return _checked(entry, arguments)
    except (TypeError, AttributeError, ValueError, ArithmeticError, RecursionError):
        # Nobody has looked at the schemas of servers and plugins.
        log.warning("the schema of tool %s cannot be read; its arguments are passed on as they are", entry.name)
        return Checked(dict(arguments))


def _checked(entry: ToolEntry, arguments: Mapping[str, Any]) -> Checked:
    is_foreign = entry.toolset.startswith(MCP)
    schema = entry.schema
    properties = schema.get("properties") or {}
    also: frozenset[str] = frozenset()
    if not is_foreign and not entry.source:
        from tools.tool_aliases import ALSO_TAKEN, Unclear, named_as_ours  # noqa: PLC0415 - not before the first call

        also = ALSO_TAKEN.get(entry.name, also)
        try:
            arguments = named_as_ours(entry.name, arguments, properties)
        except Unclear as problem:
            return Checked(dict(arguments), str(problem))
    required: Sequence[str] = schema.get("required") or ()
    fitted: dict[str, Any] = {}
    unknown: list[str] = []
    problems: list[str] = []
    for name, value in arguments.items():
        part = properties.get(name)
        if not isinstance(part, Mapping):
            fitted[name] = value
            if part is None and name not in also:
                unknown.append(name)
        elif (value is not None and value != "") or not _is_left_out(value, part, name in required, is_foreign):
            try:
                fitted[name] = coerced(value, part)
            except DoesNotFit as found:
                fitted[name] = value
                problems.append(_misfit(name, found))
    missing = [name for name in required if name not in fitted]
    if missing:
        return Checked(fitted, _missing(entry.name, missing, unknown, properties))
    if problems and not is_foreign:
        return Checked(fitted, " ".join(problems[:_MOST_TOLD]))
    if not unknown or entry.source or is_foreign or schema.get("additionalProperties"):
        return Checked(fitted)
    told = _unknown(entry.name, unknown, properties)
    if entry.parallel == "safe":
        return Checked(fitted, note=told)
    return Checked(fitted, f"{told}. It takes: {', '.join(properties) or 'nothing'}. Nothing was done.")


def _is_left_out(value: str | None, part: Mapping[str, Any], is_required: bool, is_foreign: bool) -> bool:
    """Whether null or '' stands for nothing."""
    if value is None:
        return not takes_null(part) and not (is_required and is_foreign)
    if is_required or is_foreign:
        return False
    kinds = kinds_of(part)
    choices = part.get("enum")
    return (bool(kinds) and "string" not in kinds) or (choices is not None and "" not in choices)


def _misfit(name: str, found: DoesNotFit) -> str:
    return f"The argument {name + found.where!r} has to be {found.expected}, not {shown(found.value)}."


def _missing(tool: str, missing: Sequence[str], unknown: Sequence[str], properties: Mapping[str, Any]) -> str:
    told = [_wanted(name, properties.get(name)) for name in missing[:_MOST_TOLD]]
    if not unknown:
        return f"{tool}: {' '.join(told)}"
    near = _nearest(unknown[0], missing)
    sent = ", ".join(repr(name) for name in unknown[:_MOST_TOLD])
    hint = f" Is {unknown[0]!r} meant to be {near!r}?" if near else ""
    return f"{tool}: {' '.join(told)} It got {sent}, which it does not know.{hint}"


def _wanted(name: str, part: object) -> str:
    if not isinstance(part, Mapping):
        return f"The argument {name!r} is missing."
    description = str(part.get("description", "")).strip().rstrip(".")[:_MAX_DESCRIPTION]
    due = " - ".join(filter(None, (expectation(part), description)))
    return f"The argument {name!r} is missing; it has to be {due}." if due else f"The argument {name!r} is missing."


def _unknown(tool: str, unknown: Sequence[str], properties: Mapping[str, Any]) -> str:
    told = []
    for name in unknown[:_MOST_TOLD]:
        near = _nearest(name, list(properties))
        told.append(f"{name!r}{f' (did you mean {near!r}?)' if near else ''}")
    return f"{tool} has no argument {', '.join(told)}"


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    if near:
        return near[0]
    words = set(name.lower().replace("-", "_").split("_"))
    return next((other for other in known if words & set(other.split("_"))), "")
