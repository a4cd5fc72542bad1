"""Which of the user's rules mean an action."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.approval.actions import (
    Action,
    CallMcpTool,
    CallOwnTool,
    ConnectHost,
    LeavePlan,
    ProcessInput,
    ReachHost,
    ReadPath,
    RunCommand,
    SearchWeb,
    UseBrowser,
    WriteMemory,
    WritePath,
)
from tools.approval.harmless.proof import is_harmless
from tools.approval.rules.commands import covers_command, denies_command, may_rename
from tools.approval.rules.named import hosts_named, paths_named
from tools.approval.rules.paths import covers_path, denies_path
from tools.approval.rules.patterns import fits, may_fit
from tools.approval.rules.rule import PermissionRule, RuleKind
from tools.bash.read import read_command
from tools.bash.reading import Invocation, Reading

_MEMORY = "memory"  # the tool, as a rule names it
_FILES: frozenset[RuleKind] = frozenset({"read", "write", "delete"})


@dataclass(frozen=True, slots=True)
class Hit:
    """A denying rule that an action comes under.

    Attributes:
        is_sure: False where the command cannot be read so far that one could know.
    """

    rule: PermissionRule
    is_sure: bool = True


def denied_by(action: Action, rules: Sequence[PermissionRule], roots: tuple[Path, ...]) -> Hit | None:
    """The first denying rule that means `action`, a sure one first; None where there is none.

    Args:
        roots: the session's directories with symbolic links resolved.
    """
    if not rules:
        return None
    match action:
        case ReadPath(path=path, shown=named):
            names = {path, named or path}
            found = _first(
                rule for rule in _of("read", rules) if any(denies_path(rule, each, roots) for each in names)
            )
        case WritePath(path=path, shown=shown):
            kinds: tuple[RuleKind, ...] = ("write", "delete") if action.after is None else ("write",)
            found = _first(
                rule
                for kind in kinds
                for rule in _of(kind, rules)
                if denies_path(rule, path, roots) or denies_path(rule, shown, roots)
            )
        case RunCommand(command=command, cwd=cwd):
            return _command_denied(command, cwd, rules, roots)
        case ProcessInput(data=data, cwd=cwd):
            return _command_denied(data, cwd, rules, roots)
        case CallMcpTool(server=server, tool=tool):
            found = _first(rule for rule in _of("mcp", rules) if _is_mcp(rule.pattern, server, tool))
        case CallOwnTool(name=name):
            found = _first(rule for rule in _of("tool", rules) if may_fit(rule.pattern, name))
        case UseBrowser() | ReachHost() | ConnectHost():
            found = _first(rule for rule in _of("host", rules) if _denies_host(rule.pattern, action.place))
        case SearchWeb(service=service):
            found = _first(rule for rule in _of("search", rules) if may_fit(rule.pattern, service))
        case WriteMemory(path=path):
            by_tool = (rule for rule in _of("tool", rules) if may_fit(rule.pattern, _MEMORY))
            found = _first(by_tool) or _first(rule for rule in _of("write", rules) if denies_path(rule, path, roots))
        case LeavePlan():
            return None
    return None if found is None else Hit(found)


def is_allowed_by(
    action: Action, rules: Sequence[PermissionRule], roots: tuple[Path, ...], *, is_risky: bool
) -> bool:
    """Whether an allowing rule means `action`.

    Args:
        roots: the session's directories with symbolic links resolved.
        is_risky: the path is sensitive, the host private, the command reads credentials: only what a rule names as
            it is is meant then.
    """
    if not rules:
        return False
    match action:
        case ReadPath(path=path):
            return any(covers_path(rule, path, roots, is_risky=is_risky) for rule in _of("read", rules))
        case WritePath(path=path):
            kind: RuleKind = "delete" if action.after is None else "write"
            return any(covers_path(rule, path, roots, is_risky=is_risky) for rule in _of(kind, rules))
        case RunCommand(outside=False):
            usable = [rule for rule in _of("run", rules) if not (is_risky and rule.has_globs)]
            return bool(usable) and covers_command(usable, action.command, _read(action.command, action.cwd), roots)
        case CallMcpTool(server=server, tool=tool):
            return any(_is_mcp(rule.pattern, server, tool) for rule in _of("mcp", rules))
        case CallOwnTool(name=name):
            return any(fits(rule.pattern, name) for rule in _of("tool", rules))
        case UseBrowser() | ReachHost() | ConnectHost():
            usable = [rule for rule in _of("host", rules) if not (is_risky and rule.has_globs)]
            return any(_covers_host(rule.pattern, action.place.lower()) for rule in usable)
        case SearchWeb(service=service):
            return any(fits(rule.pattern, service) for rule in _of("search", rules))
        case WriteMemory():
            return any(fits(rule.pattern, _MEMORY) for rule in _of("tool", rules))
        case RunCommand() | ProcessInput() | LeavePlan():
            return False


def _of(kind: RuleKind, rules: Iterable[PermissionRule]) -> list[PermissionRule]:
    return [rule for rule in rules if rule.kind == kind]


def _first(rules: Iterable[PermissionRule]) -> PermissionRule | None:
    return next(iter(rules), None)


@functools.lru_cache(maxsize=256)
def _read(command: str, cwd: Path) -> Reading:
    return read_command(command, cwd)


def _command_denied(command: str, cwd: Path, rules: Sequence[PermissionRule], roots: tuple[Path, ...]) -> Hit | None:
    about = [rule for rule in rules if rule.kind in {"run", "host"} | _FILES]
    if not about:
        return None
    reading = _read(command, cwd)
    for rule in about:
        if _is_command_denied(rule, command, reading, cwd, roots):
            return Hit(rule)
    runs = _of("run", about)
    # What runs unseen may be what is denied.
    if runs and reading.doubts:
        return Hit(runs[0], is_sure=False)
    renamed = _first(rule for rule in runs if any(may_rename(rule, each) for each in reading.invocations))
    return None if renamed is None else Hit(renamed, is_sure=False)


def _is_command_denied(
    rule: PermissionRule, command: str, reading: Reading, cwd: Path, roots: tuple[Path, ...]
) -> bool:
    if rule.kind == "run":
        return denies_command(rule, command, reading)
    if rule.kind == "host":
        return any(_denies_host(rule.pattern, host) for each in reading.invocations for host in hosts_named(each))
    return any(_touches(rule, each, cwd, roots) for each in reading.invocations)


def _touches(rule: PermissionRule, invocation: Invocation, cwd: Path, roots: tuple[Path, ...]) -> bool:
    """Whether a program is given a path that it must not read, or not change."""
    only_reads = rule.kind != "read" and is_harmless(invocation)
    return any(
        (is_written or not only_reads) and denies_path(rule, path, roots)
        for path, is_written in paths_named(invocation, cwd)
    )


def _is_mcp(pattern: str, server: str, tool: str) -> bool:
    if "/" not in pattern:
        return fits(pattern, server)
    wanted_server, _, wanted_tool = pattern.partition("/")
    return fits(wanted_server, server) and fits(wanted_tool, tool)


def _denies_host(pattern: str, place: str) -> bool:
    """As written, with any port where none is written, and every host below."""
    wanted = place.lower()
    host = _without_port(wanted).rstrip(".")
    return any(fits(each, text) for each in (pattern, f"*.{pattern}") for text in (wanted, host))


def _covers_host(pattern: str, place: str) -> bool:
    return fits(pattern, place)


def _without_port(place: str) -> str:
    host, colon, port = place.rpartition(":")
    return host if colon and port.isdigit() and not host.endswith(":") else place
