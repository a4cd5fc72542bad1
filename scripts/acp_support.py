"""The tables of docs/acp-support.md: what each kind of client was really sent, and could really ask.

`python -m scripts.acp_support docs/acp-support.md` renews them from the golden transcripts of the tests, so a line is
there only if a test has seen it.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent.parent / "tests" / "acp_adapter" / "golden"
PROFILES = ("plain", "zed", "jetbrains", "minimal")
BEGIN = "<!-- support: written by `make docs` from the golden transcripts -->"
END = "<!-- end of support -->"

_ABOUT = {
    "What such an editor offers": "Its `clientCapabilities` in `initialize`: all that makes the columns differ.",
    "What the agent says it can do": (
        "The answer to `initialize`: `agentCapabilities` and `authMethods`. Only what works is said."
    ),
    "Methods that editors call": (
        "*yes* where the method was answered with a result, or is a notification. Those that begin with `_` are "
        "outside the protocol: `_session/steering` is the community's, `_hermes/…` our own."
    ),
    "Updates that editors are sent": "Kinds of `session/update`.",
    "Methods that the agent calls": (
        "Requests and notifications to the editor. None is made that the editor has not offered; "
        "`session/request_permission` and `$/cancel_request` need no offer."
    ),
    "Options that can be chosen": (
        "Ids of `configOptions`. Switches (`thoughts`, `editor_terminals`) are for editors that show them. "
        "`thought_level` is there while the chosen model can think more or less."
    ),
    "Commands that can be typed": "Names in `available_commands_update`; the person's own come to these.",
    "`_meta` that the agent sends": "Keys, anywhere in a message.",
    "What is on tool calls": "`kind` of tool calls, and `type` of what they show.",
    "Answers that permission questions offer": "`optionId` and `kind`. Which of them a question has follows from it.",
    "Reasons to stop": "`stopReason` of a prompt's answer. A turn that failed is answered with an error instead.",
}

_UNREAD = frozenset({"rawInput", "rawOutput"})
_NOTICES = frozenset({"session/cancel", "$/cancel_request"})
_ANSWER = re.compile(r"(answer|error) to (\S+) #")
_MORE = "offering as well"
"""In a transcript's initialize: what its client offers beside what its profile does."""

_OPTION = re.compile(r"(\w+)=")
"""In a transcript: an option that has another value than at first."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a golden transcript.

    Attributes:
        head: its first line without the arrow; `body` is its JSON.
        mark: what its being there says: «yes», or «if offered» where the client offers more than its profile does.
    """

    profiles: tuple[str, ...]
    from_agent: bool
    head: str
    body: Any
    mark: str = "yes"

    @property
    def name(self) -> str:
        """The method."""
        return self.head.split(" ")[0]


def entries(golden: Path = GOLDEN) -> list[Entry]:
    """Everything in the golden transcripts."""
    return [entry for path in sorted(golden.glob("*.txt")) for entry in _read(path.read_text(encoding="utf-8"))]


def support_tables(found: Sequence[Entry]) -> str:
    """The tables, in Markdown."""
    tables = {
        "What such an editor offers": _rows("client capability", _offers(found), sort=False),
        "What the agent says it can do": _capabilities(found),
        "Methods that editors call": _rows("method", _answered(found)),
        "Updates that editors are sent": _rows("update", _seen(_updates(found))),
        "Methods that the agent calls": _rows("method", _seen(_calls(found))),
        "Options that can be chosen": _rows("option", _seen(_options(found)), sort=False),
        "Commands that can be typed": _rows("command", _seen(_commands(found)), sort=False),
        "`_meta` that the agent sends": _rows("key", _seen(_metas(found))),
        "What is on tool calls": _rows("kind, content", _seen(_cards(found))),
        "Answers that permission questions offer": _rows("answer", _seen(_answers(found))),
        "Reasons to stop": _rows("stop reason", _seen(_stops(found))),
    }
    parts = (f"## {title}\n\n{textwrap.fill(_ABOUT[title], 120)}\n\n{table}" for title, table in tables.items())
    return "\n\n".join(parts)


def with_tables(page: str, tables: str) -> str:
    """The page with fresh tables between its two markers.

    Raises:
        ValueError: a marker is missing.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"The page needs the lines {BEGIN!r} and {END!r} around its tables.")
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}"


def main(arguments: Sequence[str]) -> int:
    """Rewrite the page that the arguments name."""
    if len(arguments) != 1:
        sys.stderr.write("Usage: python -m scripts.acp_support docs/acp-support.md\n")
        return 2
    page = Path(arguments[0])
    page.write_text(with_tables(page.read_text(encoding="utf-8"), support_tables(entries())), encoding="utf-8")
    return 0


def _read(text: str) -> Iterator[Entry]:
    profiles: tuple[str, ...] = ()
    head, body, mark = "", list[str](), "yes"
    for line in [*text.splitlines(), "=== end ==="]:
        if line.startswith("    "):
            body.append(line)
            continue
        if head:
            entry = Entry(profiles, head[0] == "←", head[2:], json.loads("\n".join(body)) if body else None, mark)
            if entry.name == "initialize":
                mark = "if offered" if _MORE in (entry.body or {}) else "yes"
            yield entry
        head, body = (line if line[:2] in {"→ ", "← "} else ""), []
        if line.startswith("=== "):
            profiles = tuple(line.strip("= ").split(", "))


def _seen(pairs: Iterable[tuple[str, Entry]]) -> dict[str, dict[str, str]]:
    """By name and profile: the mark of the messages that have it; «yes» counts most."""
    table: dict[str, dict[str, str]] = {}
    for name, entry in pairs:
        row = table.setdefault(name, {})
        for profile in entry.profiles:
            row[profile] = "yes" if row.get(profile) == "yes" else entry.mark
    return table


def _answered(found: Sequence[Entry]) -> dict[str, dict[str, str]]:
    """By method and profile: whether it was ever answered with a result."""
    table: dict[str, dict[str, str]] = {}
    for entry in found:
        answer = _ANSWER.match(entry.head) if entry.from_agent else None
        if answer is None and (entry.from_agent or entry.head not in _NOTICES):
            continue
        name = entry.name if answer is None else answer[2]
        row = table.setdefault(name, {})
        for profile in entry.profiles:
            done = answer is None or answer[1] == "answer"
            row[profile] = "yes" if done or row.get(profile) == "yes" else "no"
    return {name: row for name, row in table.items() if "yes" in row.values()}


def _updates(found: Sequence[Entry]) -> Iterator[tuple[str, Entry]]:
    return ((entry.head.split(" ")[1], entry) for entry in found if entry.from_agent and entry.name == "update")


def _calls(found: Sequence[Entry]) -> Iterator[tuple[str, Entry]]:
    told = {"update", "answer", "error"}
    return ((entry.name, entry) for entry in found if entry.from_agent and entry.name not in told)


def _options(found: Sequence[Entry]) -> Iterator[tuple[str, Entry]]:
    for entry in found:
        options = entry.body.get("configOptions") if entry.from_agent and isinstance(entry.body, dict) else None
        names = _OPTION.findall(options) if isinstance(options, str) else [each["id"] for each in options or ()]
        for name in names:
            yield name, entry


def _commands(found: Sequence[Entry]) -> Iterator[tuple[str, Entry]]:
    for entry in found:
        offered = entry.body.get("availableCommands") if entry.from_agent and isinstance(entry.body, dict) else None
        for command in offered or ():
            if not command["description"].endswith(" (project)"):
                yield f"/{command['name']}", entry


def _answers(found: Sequence[Entry]) -> Iterator[tuple[str, Entry]]:
    for entry in found:
        if entry.name == "session/request_permission" and entry.from_agent:
            for option in entry.body["options"]:
                yield f"`{option['optionId']}` ({option['kind']})", entry


def _metas(found: Sequence[Entry]) -> Iterator[tuple[str, Entry]]:
    return ((key, entry) for entry in found if entry.from_agent for key in _meta_keys(entry.body))


def _cards(found: Sequence[Entry]) -> Iterator[tuple[str, Entry]]:
    for entry in found:
        if not entry.from_agent or not isinstance(entry.body, dict) or "toolCallId" not in entry.body:
            continue
        if "kind" in entry.body:
            yield f"kind `{entry.body['kind']}`", entry
        for item in entry.body.get("content") or ():
            yield f"content `{item['type']}`", entry


def _stops(found: Sequence[Entry]) -> Iterator[tuple[str, Entry]]:
    for entry in found:
        if entry.from_agent and isinstance(entry.body, dict) and "stopReason" in entry.body:
            yield str(entry.body["stopReason"]), entry


def _meta_keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value.get("_meta") or ()
        for name, part in value.items():
            if name not in _UNREAD:
                yield from _meta_keys(part)
    elif isinstance(value, list):
        for part in value:
            yield from _meta_keys(part)


def _offers(found: Sequence[Entry]) -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = {}
    for entry in found:
        greeted = not entry.from_agent and entry.name == "initialize" and entry.body is not None
        for name, value in _flat(entry.body.get("clientCapabilities") or {} if greeted else {}):
            table.setdefault(name, {}).update(dict.fromkeys(entry.profiles, value))
    return table


def _capabilities(found: Sequence[Entry]) -> str:
    table: dict[str, dict[str, str]] = {}
    for entry in found:
        greeting = entry.body if entry.from_agent and isinstance(entry.body, dict) else {}
        for name, value in _flat(greeting.get("agentCapabilities") or {}):
            table.setdefault(name, {}).update(dict.fromkeys(entry.profiles, value))
        for method in greeting.get("authMethods") or ():
            name = f"sign-in: {method['name']} (`{method.get('type', 'agent')}`)"
            table.setdefault(name, {}).update(dict.fromkeys(entry.profiles, "yes"))
    return _rows("capability", table, sort=False)


def _flat(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for name, part in value.items():
        where = f"{path}{name}"
        if isinstance(part, dict) and part:
            yield from _flat(part, f"{where}.")
        elif isinstance(part, str):
            yield f"`{where}`", f"`{part}`"
        else:
            yield f"`{where}`", "no" if part is False else "yes"


def _rows(title: str, table: Mapping[str, Mapping[str, str]], *, sort: bool = True) -> str:
    head = (f"| {title} | {' | '.join(PROFILES)} |", f"|---{'|:---:' * len(PROFILES)}|")
    names = sorted(table) if sort else list(table)
    lines = (
        f"| {name if '`' in name else f'`{name}`'} | {' | '.join(table[name].get(each, '–') for each in PROFILES)} |"
        for name in names
    )
    return "\n".join((*head, *lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
