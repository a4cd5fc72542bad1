"""One line in place of an old result: what was called, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from agent_core.context.calls import MadeCall, payload_of
from agent_core.context.shortening import one_line

_TARGET, _SAID = 120, 160
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_TITLE = re.compile(r'"title": "((?:[^"\\]|\\.){1,200})"')
_MOST_TITLES = 3
_TELLING = ("path", "command", "url", "query", "pattern", "question", "action", "session_id", "name")
_QUOTED = frozenset({"command", "pattern", "query"})


def result_line(call: MadeCall, *, duplicate: bool = False) -> str:
    """What is shown in place of a call's result.

    Args:
        duplicate: a later call gave the very same.
    """
    text = call.text
    size = f"{len(text):,} characters{_attached(call)}"
    if duplicate:
        return f"[The same as a later result, left out here: {told(call)} ({size})]"
    line = f"[Earlier result, left out to make room: {told(call)} ({size})]"
    return f"{line}{_titles(call, text)}"


def told(call: MadeCall) -> str:
    """What was called and what came of it, in a few words; nothing of what strangers wrote."""
    text = call.text
    target = target_of(call)
    named = f"{call.name} {target}".rstrip()
    if problem := call.problem:
        return f"{named}: failed" if call.fence else f"{named}: failed: {one_line(problem, _SAID)}"
    outcome = "" if call.fence else _OUTCOMES.get(call.name, _first_line)(call, text)
    return f"{named}: {outcome}" if outcome else named


def target_of(call: MadeCall) -> str:
    """What a call was about: a path, a command, an address, a pattern; else its arguments, short."""
    if call.name == "patch" and (paths := patched_paths(call)):
        return ", ".join(paths[:_MOST_TITLES])
    arguments = call.arguments
    for name in _TELLING:
        said = arguments.get(name)
        if said and isinstance(said, str):
            line = one_line(said, _TARGET)
            return f"`{line}`" if name in _QUOTED else line
    urls = arguments.get("urls")
    if isinstance(urls, list):
        return one_line(", ".join(map(str, urls)), _TARGET)
    return one_line(call.raw_arguments, _TARGET) if arguments else ""


def patched_paths(call: MadeCall) -> list[str]:
    """The files that a call of `patch` is about."""
    if path := call.argument("path"):
        return [path]
    return list(dict.fromkeys(found.strip() for found in _PATCHED.findall(call.argument("patch"))))


def last_line(text: object) -> str:
    """The last line of an output that is not empty, short."""
    lines = str(text or "")[-2_000:].strip().splitlines()
    return one_line(lines[-1], _SAID) if lines else ""


def _attached(call: MadeCall) -> str:
    content = call.result["content"]
    return " and images" if isinstance(content, list) and any(part["type"] != "text" for part in content) else ""


def _titles(call: MadeCall, text: str) -> str:
    """The titles of pages, which strangers wrote: in the fence that they came in."""
    fence = call.fence
    titles = _TITLE.findall(text)[:_MOST_TITLES] if fence is not None and call.name.startswith("web_") else []
    if fence is None or not titles:
        return ""
    return f"\n{fence[0]}\n{one_line('; '.join(titles), _SAID)}\n[end {fence[1]}]"


def _read(call: MadeCall, text: str) -> str:
    if call.outcome is not None:
        return call.ending
    payload = payload_of(text)
    content, total = payload.get("content"), payload.get("total_lines")
    first = content.partition("|")[0] if isinstance(content, str) else ""
    if not isinstance(content, str) or not first.isdecimal():
        return one_line(str(payload.get("note") or ""), _SAID)
    last = int(first) + content.count("\n")
    return f"lines {first}–{last}" + (f" of {total}" if isinstance(total, int) else "")


def _ran(call: MadeCall, text: str) -> str:
    known = payload_of(text) if call.outcome is None else call.outcome
    code, line = call.exit_code, last_line(call.output)
    state = "running" if known.get("running") else f"exit code {code}" if code is not None else ""
    if code is None and isinstance(known.get("signal"), str):
        state = f"ended by {known['signal']}"
    if known.get("timed_out"):
        state = "timed out"
    return ", ".join(part for part in (state, f"last line «{line}»" if line else "") if part)


def _written(call: MadeCall, text: str) -> str:
    if not text.startswith("{"):
        return call.ending
    payload = payload_of(text)
    lines = payload.get("lines")
    return str(payload.get("status") or "written") + (f", {lines} lines" if isinstance(lines, int) else "")


def _patched(call: MadeCall, text: str) -> str:
    if not text.startswith("{"):
        return call.ending.removeprefix(f"{target_of(call)}: ")
    payload = payload_of(text)
    files = payload.get("files")
    diffs = [payload, *(files if isinstance(files, list) else [])]
    # Each begins on a line of its own.
    whole = "\n".join(["", *(str(part.get("diff") or "") for part in diffs if isinstance(part, dict))])
    added = whole.count("\n+") - whole.count("\n+++")
    removed = whole.count("\n-") - whole.count("\n---")
    return f"changed, +{added} −{removed} lines" if added or removed else "changed"


def _counted(_call: MadeCall, text: str) -> str:
    results = payload_of(text).get("results")
    return f"{len(results)} results" if isinstance(results, list) else _first_line(_call, text)


def _planned(call: MadeCall, text: str) -> str:
    counts = (payload_of(text) if call.outcome is None else call.outcome).get("counts")
    return ", ".join(f"{count} {name}" for name, count in counts.items()) if isinstance(counts, dict) else ""


def _first_line(_call: MadeCall, text: str) -> str:
    return f"begins «{one_line(text, _TARGET)}»" if text.strip() else "nothing"


def _found(_call: MadeCall, text: str) -> str:
    return one_line(text.lstrip().partition("\n")[0].rstrip(":"), _SAID)


_OUTCOMES: Mapping[str, Callable[[MadeCall, str], str]] = {
    "read_file": _read,
    "search_files": _found,
    "terminal": _ran,
    "execute_code": _ran,
    "process": _ran,
    "write_file": _written,
    "patch": _patched,
    "web_search": _counted,
    "session_search": _counted,
    "todo": _planned,
}
