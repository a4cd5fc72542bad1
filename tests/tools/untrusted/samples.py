"""The texts of tests/data/untrusted: attacks, and harmless ones that look a little like them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.untrusted.scanner import FAMILY_WORDS, Kind

DATA = Path(__file__).parents[2] / "data" / "untrusted"
_FAMILIES = "|".join(FAMILY_WORDS)
_HEAD = re.compile(rf"(?P<kind>context|skill|memory|tool_result|web)(?P<families>(?: (?:{_FAMILIES}))+)$")
_ESCAPE = re.compile(r"\\U([0-9a-f]{8})|\\u([0-9a-f]{4})|\\n|\\t")


@dataclass(frozen=True, slots=True)
class Sample:
    """A text, where it comes from, and by which families it may be found."""

    kind: Kind
    text: str
    families: frozenset[str] = frozenset()


def attacks(name: str = "attacks.txt") -> Iterator[Sample]:
    head: re.Match[str] | None = None
    lines: list[str] = []
    for line in [*(DATA / name).read_text("utf-8").split("\n"), None]:
        found = _HEAD.match(line) if line is not None else None
        if found is None and line is not None:
            lines.append(line)
            continue
        if head is not None:
            yield Sample(head["kind"], _unescaped("\n".join(lines)), frozenset(head["families"].split()))
        head, lines = found, []


def harmless() -> Iterator[Sample]:
    for part in (DATA / "harmless.txt").read_text("utf-8").split("%% ")[1:]:
        kind, _, text = part.partition("\n")
        yield Sample(kind, _unescaped(text))


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_sign, text.rstrip("\n"))


def _sign(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else {"\\n": "\n", "\\t": "\t"}[found[0]]
