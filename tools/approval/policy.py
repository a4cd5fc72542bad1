"""The one policy: `decide` says of any action whether it may happen, must be asked for, or must not happen.

It is a pure function of the action, the session's mode, the user's rules and the answers given so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tools.approval.actions import (
    Action,
    CallMcpTool,
    LeavePlan,
    ProcessInput,
    ReachHost,
    ReadPath,
    RunCommand,
    SearchWeb,
    WritePath,
)
from tools.approval.commands import classify_command
from tools.approval.grants import PastAnswers
from tools.approval.process_input import classify_input
from tools.approval.sensitive import why_sensitive, why_sensitive_to_write
from tools.changes.read_only import is_read_only
from tools.changes.shell_reader import read_script

Mode = Literal["plan", "default", "accept_edits", "dont_ask"]
EditPolicy = Literal["mode", "ask"]
"""Edits are asked about as the mode says, or always: each one is shown before it is made."""

Verdict = Literal["allow", "ask", "deny"]
Cause = Literal["", "place", "risk", "floor", "plan", "person", "network"]
"""Where the path is; a sensitive path, dangerous command or private host; what no mode allows; plan mode; an earlier
no; a private host where nobody is asked."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the user's settings say, the same for every action of a session.

    Attributes:
        roots: the session's directories with symbolic links resolved.
        private: directories of ours (settings, keys, sessions) that are nobody's workspace.
        closed: files that no tool opens in any mode; resolved, like the roots.
        allowed_commands: commands that run unasked, as the user wrote them.
        readable: directories of ours that this session may read all the same (its own saved outputs); resolved.
    """

    roots: tuple[Path, ...]
    private: tuple[Path, ...] = ()
    closed: frozenset[Path] = frozenset()
    allowed_commands: frozenset[str] = frozenset()
    readable: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict, and the reason in words that follow «because it …»; none is needed to ask for an edit."""

    verdict: Verdict
    reason: str = ""
    cause: Cause = ""

    @property
    def is_risky(self) -> bool:
        """Whoever does not look should rather say no."""
        return self.cause == "risk"


ALLOW = Decision("allow")
_ASK = Decision("ask")
_OUTSIDE = Decision("ask", "is outside the session's directories", "place")
_CLOSED = Decision(
    "deny", "is a file that this agent keeps its sessions in (session_search finds what was said)", "floor"
)
_REFUSED = Decision("deny", "was refused for the rest of the session", "person")
_PLANNING = Decision("deny", "would have an effect, or cannot be proved to have none", "plan")


def decide(action: Action, mode: Mode, rules: Rules, answers: PastAnswers, edits: EditPolicy = "mode") -> Decision:
    """Whether `action` may happen now.

    Args:
        edits: with `ask`, neither the mode nor an earlier answer lets an edit through unseen.

    Returns:
        allow: go on; ask: the person decides, with the reason shown; deny: not now, whoever agrees.
    """
    if isinstance(action, LeavePlan):
        return _ASK
    found = _found(action, mode, rules, edits)
    if found.cause == "floor":
        return found
    if answers.refuses(action):
        return _REFUSED
    if mode == "plan" and not isinstance(action, ReadPath | ReachHost | SearchWeb):
        return ALLOW if isinstance(action, RunCommand) and _only_looks(action.command) else _PLANNING
    if found.verdict != "ask" or (edits == "ask" and isinstance(action, WritePath)):
        return found
    if answers.allows(action, is_risky=found.is_risky):
        return ALLOW
    if mode == "dont_ask":
        # A page may lead inside by itself: not to be asked is no yes to that host.
        return Decision("deny", found.reason, "network") if isinstance(action, ReachHost) and action.inside else ALLOW
    return found


def _found(
    action: ReadPath | WritePath | RunCommand | ProcessInput | CallMcpTool | ReachHost | SearchWeb,
    mode: Mode,
    rules: Rules,
    edits: EditPolicy,
) -> Decision:
    """What holds of an action whatever the person has answered."""
    match action:
        case ReadPath(path=path):
            return _read(path, rules)
        case WritePath(path=path):
            return _write(path, rules, unasked=mode == "accept_edits" and edits == "mode")
        case RunCommand(command=command, cwd=cwd):
            return _run(command, cwd, rules)
        case ProcessInput(data=data):
            return _type(data)
        case ReachHost(inside=inside) if inside:
            return Decision("ask", f"leads to a host that is {inside}", "risk")
        case CallMcpTool() | ReachHost() | SearchWeb():
            return _ASK


def _read(path: Path, rules: Rules) -> Decision:
    if path in rules.closed:
        return _CLOSED
    if any(root in path.parents for root in rules.readable):
        return ALLOW
    if reason := why_sensitive(path, rules.private):
        return Decision("ask", reason, "risk")
    return ALLOW if _inside(path, rules.roots) else _OUTSIDE


def _write(path: Path, rules: Rules, *, unasked: bool) -> Decision:
    if path in rules.closed:
        return _CLOSED
    if reason := why_sensitive_to_write(path, rules.private):
        return Decision("ask", reason, "risk")
    if not _inside(path, rules.roots):
        return _OUTSIDE
    return ALLOW if unasked else _ASK


def _run(command: str, cwd: Path, rules: Rules) -> Decision:
    found = classify_command(command, cwd)
    if found.level == "forbidden":
        return Decision("deny", found.why, "floor")
    if found.level == "ordinary" or command.strip() in rules.allowed_commands:
        return ALLOW
    return Decision("ask", found.why, "risk")


def _type(data: str) -> Decision:
    found = classify_input(data)
    if found.level == "forbidden":
        return Decision("deny", found.why, "floor")
    return ALLOW if found.level == "ordinary" else Decision("ask", found.why, "risk")


def _only_looks(command: str) -> bool:
    """True when the command is sure to change nothing: a rule of the user's is no proof of that."""
    return classify_command(command).level == "ordinary" and is_read_only(read_script(command))


def _inside(path: Path, roots: tuple[Path, ...]) -> bool:
    return any(path == root or root in path.parents for root in roots)
