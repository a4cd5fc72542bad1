"""The text of a SKILL.md: its head in YAML, checked, and the instructions below it (the open Agent Skills format)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from tools.light_dataclass import dataclass

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1_024
_LONGEST_HEAD = 16_384
_LONGEST_HINT = 60
_DEEPEST = 12
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FENCE = "---"
_HINT = "argument-hint"
_FLAT = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9_-]*)[ \t]*:[ \t]+(?P<value>\S.*)")
_QUOTES = "\"'"
_MARK = "\ufeff"
_JOINERS = "\u200c\u200d"
_NAMING = "small letters, digits and single hyphens, at most 64"


class BadSkill(ValueError):
    """Why a text is no skill, in a sentence for people."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Where a skill is of use; an empty set says nothing. Names of tools and toolsets are in the same sets.

    Attributes:
        platforms: names of operating systems: linux, macos, windows.
        requires: not shown to a model that lacks one of these tools.
        instead_of: not shown to a model that has one of these tools.
    """

    platforms: frozenset[str] = frozenset()
    requires: frozenset[str] = frozenset()
    instead_of: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Head:
    """What the head of a SKILL.md says.

    Attributes:
        description: one line, without signs that hide something.
        hint: what may be typed behind its name; '' where it does not say.
        for_model, for_person: whether it is shown to the model, and offered as a command.
    """

    name: str
    description: str
    conditions: Conditions = Conditions()
    for_model: bool = True
    for_person: bool = True
    hint: str = ""


def check_name(name: str, folder: str) -> None:
    """Whether a skill in `folder` may be called so.

    Raises:
        BadSkill: it may not.
    """
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise BadSkill(f"its name {name[:80]!r} is not made of {_NAMING}")
    if name != folder:
        raise BadSkill(f"its name {name!r} is not its folder's name {folder[:80]!r}")


def is_name(name: str) -> bool:
    """Whether a skill or a category may be called so."""
    return len(name) <= LONGEST_NAME and _NAME.fullmatch(name) is not None


def read_skill(text: str, folder: str) -> Head:
    """What the text of the SKILL.md in `folder` (its name) says of itself.

    Raises:
        BadSkill: it is none, and why.
    """
    head, body = split(text)
    fields = _fields(head)
    name = fields.get("name")
    if not isinstance(name, str) or not name.strip():
        raise BadSkill("its head has no name")
    check_name(name.strip(), folder)
    description = fields.get("description")
    if not isinstance(description, str) or not (line := _one_line(description)):
        raise BadSkill("its head has no description")
    if len(description) > LONGEST_DESCRIPTION:
        raise BadSkill(f"its description has {len(description):,} characters; {LONGEST_DESCRIPTION:,} are allowed")
    if not body.strip():
        raise BadSkill("there are no instructions below its head")
    return Head(
        name.strip(),
        line,
        _conditions(fields),
        for_model=fields.get("disable-model-invocation") is not True,
        for_person=fields.get("user-invocable") is not False,
        hint=_hint(fields.get(_HINT)),
    )


def split(text: str) -> tuple[str, str]:
    """The head and the text below it, with plain line ends.

    Raises:
        BadSkill: there is no head between two lines of three dashes.
    """
    lines = text.removeprefix(_MARK).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        raise BadSkill(f"{_FENCE} is not its first line: it begins with a head between two lines of three dashes")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), 0)
    if not end:
        raise BadSkill("its head has no end: a second line of three dashes is missing")
    return "\n".join(lines[1:end]), "\n".join(lines[end + 1 :])


def _fields(head: str) -> Mapping[Any, Any]:
    if len(head) > _LONGEST_HEAD:
        raise BadSkill(f"its head has {len(head):,} characters; {_LONGEST_HEAD:,} are allowed")
    import yaml  # noqa: PLC0415 - not before the first skill

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_shape(yaml, loader, head)
        value = yaml.load(head, Loader=loader)  # noqa: S506 - it is a safe one
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        if isinstance(problem, BadSkill):
            raise
        flat = _flat(head)
        if flat is None:
            raise BadSkill(f"its head is no YAML: {' '.join(str(problem).split())[:160]}") from problem
        return flat
    if not isinstance(value, Mapping):
        raise BadSkill("its head does not hold `key: value` lines")
    return value


def _check_shape(yaml: Any, loader: Any, head: str) -> None:
    """Refuse what a small text can grow huge by: aliases, and nesting without end."""
    depth = 0
    for event in yaml.parse(head, Loader=loader):
        if isinstance(event, yaml.AliasEvent):
            raise BadSkill("its head has YAML aliases, which are not read")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise BadSkill("its head is nested too deeply")


def _flat(head: str) -> Mapping[str, str] | None:
    """Lines `key: value`, for heads with a colon in an unquoted value; None where there is anything else."""
    fields: dict[str, str] = {}
    for line in head.split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        found = _FLAT.fullmatch(line.rstrip())
        # `argument-hint: [issue] [branch]` is how people write it.
        if found is None or (found["value"][0] in "|>&*[{!" and found["key"] != _HINT):
            return None
        value = found["value"].strip()
        is_quoted = len(value) > 1 and value[0] in _QUOTES and value[0] == value[-1]
        fields[found["key"]] = value[1:-1] if is_quoted else value
    return fields


def _conditions(fields: Mapping[Any, Any]) -> Conditions:
    metadata = fields.get("metadata")
    more = metadata.get("hermes") if isinstance(metadata, Mapping) else None
    own = more if isinstance(more, Mapping) else {}
    return Conditions(
        platforms=_words(fields.get("platforms")),
        requires=_words(own.get("requires_tools")) | _words(own.get("requires_toolsets")),
        instead_of=_words(own.get("fallback_for_tools")) | _words(own.get("fallback_for_toolsets")),
    )


def _words(value: object) -> frozenset[str]:
    listed = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return frozenset(str(word).strip().lower() for word in listed if isinstance(word, str) and word.strip())


def _hint(value: object) -> str:
    """One line of what a head says; `[issue]` is a list in YAML."""
    text = f"[{', '.join(map(str, value))}]" if isinstance(value, list) else value
    return _one_line(text)[:_LONGEST_HINT] if isinstance(text, str) else ""


def _one_line(text: str) -> str:
    """All of `text` on one line, without signs that nobody sees."""
    return " ".join("".join(map(_seen, text)).split())


def _seen(sign: str) -> str:
    category = unicodedata.category(sign)
    if category in {"Cc", "Zl", "Zp"}:
        return " "
    return "" if category in {"Cf", "Cs"} and sign not in _JOINERS else sign
