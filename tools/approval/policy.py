"""The one policy: `decide` says of any action whether it may happen, must be asked for, or must not happen.

It is a pure function of the action, the session's mode, the user's rules and the grants given so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tools.approval.actions import Action, ReadPath, RunCommand, WritePath
from tools.approval.commands import classify_command
from tools.approval.grants import Grants
from tools.approval.sensitive import why_sensitive, why_sensitive_to_write

Mode = Literal["default", "accept_edits", "dont_ask"]
Verdict = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class Rules:
    """What the user's settings say, the same for every action of a session.

    Attributes:
        roots: the session's directories with symbolic links resolved.
        private: directories of ours (settings, keys, sessions) that are nobody's workspace.
        closed: files that no tool opens in any mode; resolved, like the roots.
        allowed_commands: commands that run unasked, as the user wrote them.
    """

    roots: tuple[Path, ...]
    private: tuple[Path, ...] = ()
    closed: frozenset[Path] = frozenset()
    allowed_commands: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict, and the reason in words that follow «because it …»; none is needed to ask for an edit."""

    verdict: Verdict
    reason: str = ""


_ALLOW = Decision("allow")
_CLOSED = Decision("deny", "is a file that this agent keeps its sessions in (session_search finds what was said)")


def decide(action: Action, mode: Mode, rules: Rules, grants: Grants) -> Decision:
    """Whether `action` may happen now.

    Returns:
        allow: go on; ask: the person decides, with the reason shown; deny: not in any mode.
    """
    match action:
        case ReadPath(path=path):
            return _with(mode, grants, action, _read(path, rules))
        case WritePath(path=path):
            return _with(mode, grants, action, _write(path, mode, rules))
        case RunCommand(command=command):
            return _with(mode, grants, action, _run(command, rules))


def _with(mode: Mode, grants: Grants, action: Action, decision: Decision) -> Decision:
    if decision.verdict == "ask" and (mode == "dont_ask" or grants.covers(action)):
        return _ALLOW
    return decision


def _read(path: Path, rules: Rules) -> Decision:
    if path in rules.closed:
        return _CLOSED
    if reason := why_sensitive(path, rules.private):
        return Decision("ask", reason)
    if not _inside(path, rules.roots):
        return Decision("ask", "is outside the session's directories")
    return _ALLOW


def _write(path: Path, mode: Mode, rules: Rules) -> Decision:
    if path in rules.closed:
        return _CLOSED
    if reason := why_sensitive_to_write(path, rules.private):
        return Decision("ask", reason)
    if not _inside(path, rules.roots):
        return Decision("ask", "is outside the session's directories")
    return _ALLOW if mode == "accept_edits" else Decision("ask")


def _run(command: str, rules: Rules) -> Decision:
    found = classify_command(command)
    if found.level == "forbidden":
        return Decision("deny", found.why)
    if found.level == "ordinary" or command.strip() in rules.allowed_commands:
        return _ALLOW
    return Decision("ask", found.why)


def _inside(path: Path, roots: tuple[Path, ...]) -> bool:
    return any(path == root or root in path.parents for root in roots)
