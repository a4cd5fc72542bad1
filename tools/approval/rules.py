"""A permission rule, and how the settings write it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from tools.light_dataclass import dataclass

# One rule of the user's settings, as `run: git push*` or `read: secrets/**`.

RuleKind = Literal["run", "read", "write", "delete", "host", "mcp", "search", "tool"]

GLOB_SIGNS = frozenset("*?")


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """What a rule is about; whether it allows or denies is where it stands.

    Attributes:
        pattern: `*` is any text (in a path: within a name, `**` over several), `?` one character.
        source: the setting and the file that it is from, for the person.
        is_exact: of a command: only this very text.
    """

    kind: RuleKind
    pattern: str
    source: str = ""
    is_exact: bool = False

    @property
    def shown(self) -> str:
        """As a person writes it: `run: git push*`."""
        return f"{self.kind}: {self.pattern}"

    @property
    def has_globs(self) -> bool:
        """Whether it may mean things that it does not name."""
        return not self.is_exact and not GLOB_SIGNS.isdisjoint(self.pattern)


@dataclass(frozen=True, slots=True)
class Hit:
    """A denying rule that an action comes under.

    Attributes:
        is_sure: False where the command cannot be read so far that one could know, or what a server does is not seen.
    """

    rule: PermissionRule
    is_sure: bool = True


# From what is written in the settings to rules: `- run: git push*`, or a bare text, which is a command.

_KINDS: Mapping[str, RuleKind] = {kind: kind for kind in get_args(RuleKind)}
_OTHER_NAMES: Mapping[str, RuleKind] = {"command": "run", "edit": "write", "domain": "host"}
_NAMED = re.compile(r"\s*([A-Za-z_-]+):(?:\s+(.*))?\Z", re.DOTALL)
_LONGEST = 1_000
_HOST = re.compile(r"[\w.*?:\[\]-]+")


class RuleError(ValueError):
    """What was written is no rule; the text says why and what one looks like."""


def parse_rule(written: object, source: str = "") -> PermissionRule:
    """The rule that `written` is: a text, or a mapping with one key.

    Args:
        source: the setting and the file that it is from.

    Raises:
        RuleError: it is none.
    """
    kind, pattern = _split(written)
    if not pattern or len(pattern) > _LONGEST or "\0" in pattern:
        raise RuleError(f"a rule needs a pattern of 1 to {_LONGEST} characters, as in `run: git push*`")
    if kind == "host":
        pattern = _host(pattern)
    if kind in {"read", "write", "delete"} and ".." in pattern.split("/"):
        raise RuleError(f"`{pattern}` holds `..`: write the path that is meant")
    return PermissionRule(kind, pattern, source)


def rule_text(written: object) -> str:
    """What `written` is, in the form `kind: pattern`; for settings that keep rules as texts.

    Raises:
        RuleError: it is no rule.
    """
    return parse_rule(written).shown


def allowlist_rules(commands: Iterable[str], source: str = "command_allowlist") -> tuple[PermissionRule, ...]:
    """An older list of commands as rules: each is one command, word for word, or a pattern where it holds `*`."""
    texts = (command.strip() for command in commands)
    return tuple(PermissionRule("run", text, source, is_exact="*" not in text) for text in texts if text)


def _split(written: object) -> tuple[RuleKind, str]:
    if isinstance(written, Mapping):
        if len(written) != 1:
            raise RuleError("a rule is one `kind: pattern`; begin another line with `-` for each")
        [(key, value)] = written.items()
        return _kind(str(key)), _text(value)
    if not isinstance(written, str):
        raise RuleError(f"a rule is a text, not a {type(written).__name__}: put it in quotes")
    named = _NAMED.match(written)
    if named is None:
        return "run", written.strip()
    return _kind(named[1]), (named[2] or "").strip()


def _kind(name: str) -> RuleKind:
    lowered = name.strip().lower()
    kind = _KINDS.get(lowered) or _OTHER_NAMES.get(lowered)
    if kind is None:
        raise RuleError(f"`{name[:40]}` is no kind of rule; there are {', '.join(_KINDS)}")
    return kind


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise RuleError("a rule's pattern is a text: put it in quotes")
    return value.strip()


def _host(pattern: str) -> str:
    bare = re.sub(r"\A[a-z]+://", "", pattern.lower()).rstrip("/").rstrip(".")
    if not _HOST.fullmatch(bare):
        raise RuleError(
            f"`{pattern[:80]}` is no host; write it as `example.com`, `*.example.com` or `localhost:3000`"
        )
    return bare
