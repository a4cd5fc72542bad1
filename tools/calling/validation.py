"""Looks at a call's arguments before its tool gets them: what is clear is put right, the rest is one clear error."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from tools.calling.coercion import DoesNotFit, coerced, expectation, kinds_of, shown, takes_null
from tools.light_dataclass import dataclass
from tools.registry import MCP, ToolEntry

log = logging.getLogger(__name__)

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
        from tools.calling.aliases import ALSO_TAKEN  # noqa: PLC0415 - not before the first call
        from tools.calling.argument_names import Unclear, named_as_ours  # noqa: PLC0415

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
