"""The card of a tool call as a permission question shows it: only what the question adds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acp_adapter.cards.blocks import diff_block, text_block
from acp_adapter.cards.titles import unmasked, unpadded, unseen_in
from tools.approval.actions import (
    Action,
    CallMcpTool,
    CallOwnTool,
    ConnectHost,
    LeavePlan,
    ProcessInput,
    ReachHost,
    ReadPath,
    ReadSecretFiles,
    RunCommand,
    SearchWeb,
    UseBrowser,
    WriteMemory,
    WritePath,
)
from tools.approval.persistence_paths import run_later
from tools.approval.questions import Question
from tools.result import ShownDiff

_Plain = ProcessInput | CallMcpTool | CallOwnTool | UseBrowser | ConnectHost | ReachHost | SearchWeb
_MOST_OTHERS = 100
_MOST_SHOWN = 30
_MOST_SHOWN_BYTES = 256 * 1024
_MOST_SIGNS = 20
_MOST_NAMES = 5
_LONGEST_TITLE = 200


def asked_card(question: Question, cwd: Path) -> dict[str, Any]:
    """ACP v1 `ToolCallUpdate` on the id of the call that asks, pending. It stands alone: some clients show and judge
    it without the card that they have. A sub-agent's name is before the title.

    Args:
        cwd: the session's directory; titles name what is below it as it is seen from there, all else absolutely.
    """
    fields = _fields(question, cwd)
    title = fields.pop("title")
    return {
        "toolCallId": question.tool_call_id,
        "kind": _kind(question.action),
        "status": "pending",
        "title": f"{question.asker}: {title}" if question.asker else title,
        "locations": fields.pop("locations", []),
        "content": fields.pop("content", None) or [_why(question.reason) or text_block(title, "")],
        **fields,
    }


def _kind(action: Action) -> str:
    """What is asked about, as ACP's kinds of tool calls have it."""
    match action:
        case ReadPath():
            return "read"
        case WritePath(after=None):
            return "delete"
        case WritePath() | WriteMemory():
            return "edit"
        case RunCommand() | ProcessInput() | ReadSecretFiles() | ConnectHost() | UseBrowser():
            return "execute"
        case ReachHost() | SearchWeb():
            return "fetch"
        case LeavePlan():
            return "switch_mode"
        case CallMcpTool() | CallOwnTool():
            return "other"


def _fields(question: Question, cwd: Path) -> dict[str, Any]:
    """What the question has of its own: its title, and as far as there are some content, places and raw input."""
    reason = question.reason
    match question.action:
        case WritePath() as change:
            return _change(change, question, cwd)
        case RunCommand() as command:
            return _command(command, question, cwd)
        case ReadPath(path=path):
            title = f"Read {_on_one_line(_from(cwd, path))}: it {reason}"
            return {"title": title, "locations": [{"path": str(path)}]}
        case ReadSecretFiles(paths=paths, command=asking):
            title = f"Let commands read {_names(paths, cwd)}: {_on_one_line(asking)}"
            places = [{"path": str(path)} for path in paths[:_MOST_OTHERS]]
            names = text_block("\n".join(["These files hold secrets:", *_listed(paths)]), "")
            return {"title": title[:_LONGEST_TITLE], "locations": places, "content": [names, _code(asking)]}
        case WriteMemory(path=path, before=before, after=after):
            shown = diff_block(ShownDiff(path, unmasked(before) or None, unmasked(after)))
            title = f"Change what is remembered in {path.name}{f': it {reason}' if reason else ''}"
            return {"title": title, "locations": [{"path": str(path)}], "content": [shown]}
        case LeavePlan(plan=plan):
            return {"title": "Begin with this plan?", "content": [text_block(unmasked(plan))]}
        case other:
            return {"title": _title(other, reason), "content": _content(other, reason)}


def _why(reason: str) -> dict[str, Any] | None:
    return text_block(f"It {unmasked(reason)}.") if reason else None


def _code(command: str) -> dict[str, Any]:
    return text_block(unmasked(unpadded(command)), "sh")


def _command(action: RunCommand, question: Question, cwd: Path) -> dict[str, Any]:
    reason = question.reason
    why = f" (it {_on_one_line(reason)})" if reason else ""
    is_elsewhere = os.path.realpath(action.cwd) != os.path.realpath(cwd)
    conditions = (
        *(("without the sandbox",) if action.outside else ()),
        *((f"in {_on_one_line(_from(cwd, action.cwd))}",) if is_elsewhere else ()),
    )
    said = ", ".join(conditions)
    where = f"{said[0].upper()}{said[1:]}: " if said else ""
    told = [*filter(None, (_code(action.command), _why(reason)))]
    return {
        "title": f"{where}{unmasked(unpadded(action.command))}{why}",
        "rawInput": {"command": action.command, "cwd": str(action.cwd), "reason": reason},
        "content": _together(question.also, cwd) if question.also else told,
    }


def _title(action: _Plain, reason: str) -> str:
    """On one line, and short where a program or a server has written it."""
    match action:
        case ProcessInput(command=command, data=data):
            return unmasked(f"Type into {' '.join(command.split())}: {data.strip()}")[:_LONGEST_TITLE]
        case CallMcpTool(server=server, each=True):
            return unmasked(" ".join(f"Let the MCP server {server} ask a model".split()))[:_LONGEST_TITLE]
        case CallMcpTool(server=server, tool=tool):
            why = f" (it {reason})" if reason else ""
            return unmasked(" ".join(f"Call {tool} of the MCP server {server}{why}".split()))[:_LONGEST_TITLE]
        case CallOwnTool(name=name):
            return f"Call your own tool {_on_one_line(name)}"[:_LONGEST_TITLE]
        case UseBrowser(place=place, act=act):
            return unmasked(" ".join(f"{act.capitalize()} on {place}".split()))[:_LONGEST_TITLE]
        case ConnectHost(command=command, inside=inside) as wish:
            why = f" (it is {inside})" if inside else ""
            return f"Let a command reach {_on_one_line(wish.place)}{why}: {_on_one_line(command)}"[:_LONGEST_TITLE]
        case ReachHost(url=url):
            return f"Fetch {_on_one_line(url)} (it {reason})" if reason else f"Fetch {_on_one_line(url)}"
        case SearchWeb(service=service, query=query):
            return f"Search {service} for {_on_one_line(query)}"


def _content(action: _Plain, reason: str) -> list[dict[str, Any]]:
    match action:
        case ProcessInput(data=data):
            return [text_block(unmasked(data), "")]
        case CallMcpTool(arguments=arguments):
            # A server's names may be so long that the title has no room for the reason.
            return [*filter(None, (_why(reason), text_block(unmasked(arguments), "json")))]
        case ConnectHost(command=command):
            return [_code(command)]
    return []


def _change(change: WritePath, question: Question, cwd: Path) -> dict[str, Any]:
    path, real = change.shown, change.path
    led_away = _is_led_away(change, question, cwd)
    seen = _on_one_line(_from(cwd, path))
    name = f"{seen} → {_on_one_line(real)}" if led_away else seen
    others = (*(each.shown for each in question.also), *question.others)
    more = f" and {len(others)} more" if others else ""
    why = f": it {question.reason}" if question.reason else ""
    places = (path, *((real,) if led_away else ()), *others[:_MOST_OTHERS])
    content = _together((change, *question.also), cwd) if question.also else _shown(change)
    if question.others:
        content.append(text_block("\n".join(["The same for:", *_listed(question.others)])))
    return {
        "title": unmasked(f"{change.verb.capitalize()} {name}{more}{why}"),
        "locations": [{"path": str(place)} for place in places],
        "content": content,
    }


def _together(changes: Sequence[WritePath], cwd: Path) -> list[dict[str, Any]]:
    """Changes that one answer is for: who runs each, the diffs as far as there is room, the names of the rest."""
    lines = (_with_reason(each, cwd) for each in changes[: _MOST_OTHERS + 1])
    shown = [changes[0], *_fitting(changes[1:])]
    content = [text_block("\n".join(lines)), *(block for each in shown for block in _shown(each))]
    if unshown := [each.shown for each in changes if each not in shown]:
        content.append(text_block("\n".join(["The same for:", *_listed(unshown)])))
    return content


def _names(paths: Sequence[Path], cwd: Path) -> str:
    """The first of some files as a person whose session works in `cwd` calls them, and how many more there are."""
    real = Path(os.path.realpath(cwd))
    names = [_on_one_line(path.relative_to(real) if path.is_relative_to(real) else path) for path in paths]
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _is_led_away(change: WritePath, question: Question, cwd: Path) -> bool:
    """Whether a symbolic link would hide where the change goes. (The workspace itself may be reached by one.)"""
    path, real = change.shown, change.path
    if path.is_relative_to(cwd):
        return real != Path(os.path.realpath(cwd)) / path.relative_to(cwd)
    return real.name != path.name or (bool(question.reason) and real != path)


def _from(cwd: Path, path: Path) -> Path:
    """What a person calls a path whose session works in `cwd`."""
    return path.relative_to(cwd) if path != cwd and path.is_relative_to(cwd) else path


def _on_one_line(path: Path | str) -> str:
    return unmasked(str(path)).replace("\n", "\\n").replace("\t", "\\t")


def _with_reason(change: WritePath, cwd: Path) -> str:
    place = run_later(change.path)
    why = place.why if place is not None else change.runs_later
    return f"{_on_one_line(_from(cwd, change.shown))} {why}".rstrip()


def _fitting(changes: Sequence[WritePath]) -> list[WritePath]:
    """Those whose differences a card has room for, the first of them first."""
    found: list[WritePath] = []
    left = _MOST_SHOWN_BYTES
    for change in changes[:_MOST_SHOWN]:
        size = len(change.before or b"") + len(change.after or b"")
        if size <= left:
            found.append(change)
            left -= size
    return found


def _shown(change: WritePath) -> list[dict[str, Any]]:
    return [_difference(change), *_unseen(change)]


def _difference(change: WritePath) -> dict[str, Any]:
    if any(b"\0" in part for part in (change.before, change.after) if part is not None):
        return text_block(f"{change.shown} is not a text file.")
    return diff_block(ShownDiff(change.shown, _text(change.before), _text(change.after)))


def _unseen(change: WritePath) -> list[dict[str, Any]]:
    """What the diff does not show: signs that are new in the file and that nobody sees."""
    signs = unseen_in(_text(change.after) or "") - unseen_in(_text(change.before) or "")
    if not signs or b"\0" in (change.after or b""):
        return []
    names = ", ".join(ascii(sign)[1:-1] for sign in sorted(signs)[:_MOST_SIGNS])
    return [text_block(f"The new text holds characters that cannot be seen, and may read as something else: {names}")]


def _listed(paths: Sequence[Path]) -> list[str]:
    names = [_on_one_line(path) for path in paths[:_MOST_OTHERS]]
    return [*names, f"… and {len(paths) - _MOST_OTHERS} more"] if len(paths) > _MOST_OTHERS else names


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace").replace("\r\n", "\n")
