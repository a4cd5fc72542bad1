"""Which of the user's rules mean an action."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    ReadSecretFiles,
    RunCommand,
    SearchWeb,
    UseBrowser,
    WriteMemory,
    WritePath,
)
from tools.approval.rules.hosts import denies_host
from tools.approval.rules.paths import covers_path, denies_path
from tools.approval.rules.patterns import fits, may_fit
from tools.approval.rules.rule import Hit, PermissionRule, RuleKind

_MEMORY = "memory"  # the tool, as a rule names it


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
        case CallMcpTool():
            return _mcp_denied(action, rules, roots)
        case CallOwnTool(name=name):
            found = _first(rule for rule in _of("tool", rules) if may_fit(rule.pattern, name))
        case UseBrowser() | ReachHost() | ConnectHost():
            found = _first(rule for rule in _of("host", rules) if denies_host(rule.pattern, action.place))
        case SearchWeb(service=service):
            found = _first(rule for rule in _of("search", rules) if may_fit(rule.pattern, service))
        case WriteMemory(path=path):
            by_tool = (rule for rule in _of("tool", rules) if may_fit(rule.pattern, _MEMORY))
            found = _first(by_tool) or _first(rule for rule in _of("write", rules) if denies_path(rule, path, roots))
        case LeavePlan() | ReadSecretFiles():
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
            if not usable:
                return False
            from tools.approval.rules.command_hits import is_covered_by  # noqa: PLC0415 - as below

            return is_covered_by(usable, action.command, action.cwd, roots)
        case CallMcpTool(server=server, tool=tool):
            return not action.each and any(_is_mcp(rule.pattern, server, tool) for rule in _of("mcp", rules))
        case CallOwnTool() | WriteMemory():
            return any(fits(rule.pattern, _tool_of(action)) for rule in _of("tool", rules))
        case UseBrowser() | ReachHost() | ConnectHost():
            usable = [rule for rule in _of("host", rules) if not (is_risky and rule.has_globs)]
            return any(fits(rule.pattern, action.place.lower()) for rule in usable)
        case SearchWeb(service=service):
            return any(fits(rule.pattern, service) for rule in _of("search", rules))
        case RunCommand() | ProcessInput() | LeavePlan() | ReadSecretFiles():
            return False


def _of(kind: RuleKind, rules: Iterable[PermissionRule]) -> list[PermissionRule]:
    return [rule for rule in rules if rule.kind == kind]


def _tool_of(action: CallOwnTool | WriteMemory) -> str:
    return action.name if isinstance(action, CallOwnTool) else _MEMORY


def _first(rules: Iterable[PermissionRule]) -> PermissionRule | None:
    return next(iter(rules), None)


def _is_mcp(pattern: str, server: str, tool: str) -> bool:
    if "/" not in pattern:
        return fits(pattern, server)
    wanted_server, _, wanted_tool = pattern.partition("/")
    return fits(wanted_server, server) and fits(wanted_tool, tool)


def _mcp_denied(action: CallMcpTool, rules: Sequence[PermissionRule], roots: tuple[Path, ...]) -> Hit | None:
    named = _first(rule for rule in _of("mcp", rules) if _is_mcp(rule.pattern, action.server, action.tool))
    if named is not None or action.each:
        return None if named is None else Hit(named)
    from tools.approval.rules.mcp_hits import hit_of  # noqa: PLC0415 - as below

    return hit_of(action.arguments, rules, roots, only_reads=action.only_reads)


def _command_denied(command: str, cwd: Path, rules: Sequence[PermissionRule], roots: tuple[Path, ...]) -> Hit | None:
    from tools.approval.rules.command_hits import hit_of  # noqa: PLC0415 - loads what reads commands

    return hit_of(command, cwd, rules, roots)
