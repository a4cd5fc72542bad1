"""The one policy: `decide` says of any action whether it may happen, must be asked for, or must not happen.

It is a pure function of the action, the session's mode, the user's rules and the answers given so far.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Literal

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
from tools.approval.commands import classify_command
from tools.approval.commands.classes import WORST_FIRST, CommandClass
from tools.approval.grants import Grants
from tools.approval.persistence_paths import run_later
from tools.approval.rule_patterns import covers_path, denies_host, denies_path, fits, may_fit
from tools.approval.rules import Hit, PermissionRule, RuleKind
from tools.approval.sensitive import why_sensitive, why_sensitive_to_write
from tools.light_dataclass import dataclass

# The user's rules that mean an action.

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
            from tools.approval.commands.command_rules import is_covered_by  # noqa: PLC0415 - as below

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
    from tools.approval.commands.command_rules import mcp_hit_of  # noqa: PLC0415 - as below

    return mcp_hit_of(action.arguments, rules, roots, only_reads=action.only_reads)


def _command_denied(command: str, cwd: Path, rules: Sequence[PermissionRule], roots: tuple[Path, ...]) -> Hit | None:
    from tools.approval.commands.command_rules import hit_of  # noqa: PLC0415 - loads what reads commands

    return hit_of(command, cwd, rules, roots)


# What is typed into a running program: an answer to its question, or something that has to be asked about.

_MAX_ANSWER_CHARS = 64
_TYPES = "types into a running program"
# Ctrl-C, Ctrl-D, Escape, Enter, backspace and the keys that move. Not Tab: to a shell it is a blank, with which a
# command line can be typed in pieces that each look like an answer.
_KEYS = re.compile(r"(?:[\x03\x04\x1b\r\n\x7f]|\x1b[\[O][A-Z0-9;~]{1,6})*")
# One word, as "y", "2", "my-project", "q": without blanks, slashes, quotes and whatever else makes it a command line.
_LETTER = re.compile(r"\w[\r\n]*")
_ANSWER = re.compile(r"[\w.,:@+-]*[\r\n]*")


# What a prompt for commands may get unasked: to stop it, to end it, an empty line. An arrow would bring back what
# was typed before.
_STOPS = re.compile(r"[\x03\x04\x1b\x7f\r\n]*")
_PROMPTS = re.compile(
    r"(?:ba|z|da|k|fi|c|tc)?sh|(?:i?python|pypy|irb|ruby|node|php|lua)[\d.]*|psql|mysql|sqlite3|pwsh"
)


def reads_commands(command: str, cwd: Path) -> bool:
    """Whether `command` gives whoever types a prompt for commands, or runs where no sandbox holds what they type."""
    if classify_command(command, cwd).outside:
        return True
    from tools.approval.commands.bash.interpreter import read_command  # noqa: PLC0415 - loaded with the first command

    calls = read_command(command).invocations
    return any(
        _PROMPTS.fullmatch(call.program) and all(each.text.startswith("-") for each in call.arguments)
        for call in calls
    )


def classify_input(data: str, *, at_prompt: bool = False) -> CommandClass:
    """Whether typing `data` is an answer («ordinary»), something to ask about, or what no mode allows.

    Args:
        at_prompt: the program is known to run what is typed.

    A program that reads commands (a shell, an interpreter) does with its input whatever it likes, and nobody can tell
    such a program from others: so all but short answers and keys are asked about.
    """
    words = data.strip()
    if at_prompt and not _STOPS.fullmatch(data) and not _LETTER.fullmatch(data):
        found = classify_command(words)
        return found if found.level == "forbidden" else replace(found, level="dangerous", why=found.why or _TYPES)
    if _LETTER.fullmatch(data):
        return CommandClass("ordinary")
    found = classify_command(words)
    if found.level == "forbidden" or _KEYS.fullmatch(data):
        return found
    if found.level in {"safe", "ordinary"} and len(words) <= _MAX_ANSWER_CHARS and _ANSWER.fullmatch(data):
        return found
    return replace(found, level="dangerous", why=found.why or _TYPES)


# The decision.

Mode = Literal["plan", "default", "accept_edits", "dont_ask"]
EditPolicy = Literal["mode", "ask"]
"""Edits are asked about as the mode says, or always: each one is shown before it is made."""

Verdict = Literal["allow", "ask", "deny"]
Cause = Literal[
    "",
    "place",
    "risk",
    "containment",
    "secrets",
    "outside",
    "floor",
    "plan",
    "person",
    "network",
    "rule",
    "rule-unclear",
    "others",
    "refused",
]
"""Where the path is; a sensitive path, dangerous command or private host; a command that nothing contains; one that
could read the project's secret files; one that is to run without the sandbox; what no mode allows; plan mode; an
earlier no; a private host where nobody is asked; a rule of the user's that denies it, or that may do so; what others
wrote may be behind what would be remembered; a call of the same answer was refused what it would change."""


@dataclass(frozen=True, slots=True)
class Confines:
    """Whether a sandbox contains what commands do; it is found out when the first command is judged.

    Attributes:
        find_out: why it does not, in words that follow "is not contained: "; '' where it does.
        is_wanted: the user's settings want one around ordinary commands; without that nobody is asked about those.
    """

    find_out: Callable[[], str] = lambda: "no sandbox is set up"
    is_wanted: bool = True

    @property
    def why_not(self) -> str:
        """What `find_out` says, where that matters."""
        return self.find_out() if self.is_wanted else ""


def _is_none(_path: Path) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Rules:
    """What the user's settings say, the same for every action of a session.

    Attributes:
        roots: the session's directories with symbolic links resolved.
        private: directories of ours (settings, keys, sessions) that are nobody's workspace.
        closed: files that no tool opens in any mode; resolved, like the roots.
        allowed_commands: commands that run unasked, as the user wrote them.
        readable: directories of ours that this session may read all the same (its own saved outputs); resolved.
        remembered: where what is remembered over sessions is kept; resolved.
        deny: what may not happen in any mode, whatever else allows it.
        allow: what need not be asked about.
        confines: whether commands run in a sandbox.
        runs_later: whether others run a file because settings of the workspace say so, whatever its name.
        is_elsewhere: the session's files are another machine's: what names there lead to is not seen here.
        asks_all: every command that is not proven harmless is asked about, and whatever else may have an effect.
    """

    roots: tuple[Path, ...]
    private: tuple[Path, ...] = ()
    closed: frozenset[Path] = frozenset()
    allowed_commands: frozenset[str] = frozenset()
    readable: tuple[Path, ...] = ()
    remembered: tuple[Path, ...] = ()
    deny: tuple[PermissionRule, ...] = ()
    allow: tuple[PermissionRule, ...] = ()
    confines: Confines = Confines()
    runs_later: Callable[[Path], bool] = _is_none
    asks_all: bool = False
    is_elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict, and the reason in words that follow «because it …»; none is needed to ask for an edit.

    Attributes:
        risks: what is dangerous in it, each reason by itself; an earlier yes counts only if it was given for all.
        outside: the command needs what a sandbox does not give: once it is allowed, it runs without one.
        undoable: all that it is asked about for comes back by itself, and is inside the roots.
        note: who has allowed it in the person's place, for them to read; '' where nobody had to.
        only_looks: the command was proved to change nothing.
    """

    verdict: Verdict
    reason: str = ""
    cause: Cause = ""
    risks: tuple[str, ...] = ()
    outside: bool = False
    undoable: bool = False
    note: str = ""
    only_looks: bool = False

    @property
    def is_risky(self) -> bool:
        """Whoever does not look should rather say no."""
        return self.cause in {"risk", "outside", "rule-unclear", "others", "refused"}


ALLOW = Decision("allow")
_LOOKS = Decision("allow", only_looks=True)
_ASK = Decision("ask")
_MOST_VARIABLES, _LONGEST_VARIABLE = 12, 120
_MOST_REASONS, _LONGEST_REASON = 5, 200
_LONGEST_REFUSED = 120
_READ_ONLY = "is read-only"
_OUTSIDE = Decision("ask", "is outside the session's directories", "place")
_CLOSED = Decision(
    "deny", "is a file that this agent keeps its sessions in (session_search finds what was said)", "floor"
)
_REFUSED = Decision("deny", "was refused for the rest of the session", "person")
_BY_OTHERS = Decision(
    "ask",
    "becomes a part of later sessions' instructions, and this session has read text that others wrote: pages, MCP "
    "servers, files from elsewhere or the like",
    "others",
)
_PLANNING = Decision("deny", "would have an effect, or cannot be proved to have none", "plan")
_UNPROVED = "cannot be proved to have no effect, and"
# Only a rule that has the command word for word lets these through.
_BY_NAME_ALONE = frozenset({"credentials", "our configuration"})


def decide(
    action: Action,
    mode: Mode,
    rules: Rules,
    answers: Grants,
    edits: EditPolicy = "mode",
    *,
    has_read_others: bool = False,
    refused_before: str = "",
) -> Decision:
    """Whether `action` may happen now.

    Args:
        edits: with `ask`, neither the mode nor an earlier answer lets an edit through unseen.
        has_read_others: the session has read what others wrote. Then neither a mode nor an earlier answer nor a rule
            lets anything be remembered over sessions unseen.
        refused_before: what a call of the same answer was refused that `action` may change. The model has not read
            that no when it wrote this call, so neither a mode nor an earlier answer nor a rule lets it happen unseen.

    Returns:
        allow: go on; ask: the person decides, with the reason shown; deny: not now, whoever agrees.
    """
    if isinstance(action, LeavePlan):
        return _ASK
    found = _found(action, mode, rules, edits)
    if has_read_others and found.cause != "floor" and _is_remembered(action, rules):
        found = _BY_OTHERS
    if found.cause == "floor":
        return found
    hit = denied_by(action, rules.deny, rules.roots)
    if hit is not None and hit.is_sure:
        return Decision("deny", f"is denied by the user's rule `{hit.rule.shown}`", "rule")
    if answers.refuses(action):
        return _REFUSED
    if hit is not None:
        why = _unclear(action, hit)
        reason, risks = _joined((why, *filter(None, (found.reason,)))), (*found.risks, why)
        found = replace(found, verdict="ask", reason=reason, cause="rule-unclear", risks=risks, undoable=False)
    if mode == "plan" and not isinstance(action, ReadPath | ReachHost | SearchWeb | CallOwnTool):
        return _planned(action, found, rules)
    if refused_before and not found.only_looks:
        found = _after_refusal(found, refused_before)
        return replace(found, verdict="deny") if mode == "dont_ask" else found
    if edits == "ask" and isinstance(action, WritePath | WriteMemory):
        return found
    if found.verdict != "ask" or _needs_no_question(action, rules, answers, found):
        return _allowed(action, answers, found)
    if isinstance(action, CallMcpTool) and not found.reason:
        found = replace(found, reason=answers.why_outdated(action))
    return _unasked(action, rules, found) if mode == "dont_ask" else found


def _after_refusal(found: Decision, refused: str) -> Decision:
    shown = refused if len(refused) <= _LONGEST_REFUSED else f"{refused[:_LONGEST_REFUSED]}…"
    why = f"may change what was just refused (“{shown}”)"
    reason = _joined((why, *filter(None, (found.reason,))))
    return replace(found, verdict="ask", reason=reason, cause="refused", risks=(why, *found.risks), undoable=False)


def _planned(action: Action, found: Decision, rules: Rules) -> Decision:
    """The decision about an effect in plan mode: only commands have none, proved ones and those that are held to it.

    No rule and no answer of the user's proves that a command changes nothing.
    """
    if not isinstance(action, RunCommand):
        return _PLANNING
    if found.cause == "containment":
        return replace(_PLANNING, reason=f"{_UNPROVED} {found.reason}")
    if found.cause == "secrets":
        return replace(_PLANNING, reason=found.reason)
    if found.verdict != "allow" or found.only_looks:
        return found if found.only_looks else _PLANNING
    why_not = action.uncontained or rules.confines.find_out()
    return replace(_PLANNING, reason=f"{_UNPROVED} is not contained: {why_not}") if why_not else found


def _found(action: Action, mode: Mode, rules: Rules, edits: EditPolicy) -> Decision:
    """What holds of an action whatever the person has answered."""
    match action:
        case ReadPath(path=path):
            return _read(path, rules)
        case ReadSecretFiles():
            return Decision("ask", "could read files with credentials", "secrets")
        case WritePath():
            return _write(action, rules, unasked=mode == "accept_edits" and edits == "mode")
        case RunCommand():
            return _run(action, rules)
        case ProcessInput():
            return _type(action)
        case ReachHost(inside=inside) | ConnectHost(inside=inside) if inside:
            return _risky(f"leads to a host that is {inside}")
        case CallOwnTool():
            return _ASK if mode == "plan" or rules.asks_all else ALLOW
        case UseBrowser():
            return _ASK if rules.asks_all else ALLOW
        case WriteMemory():
            return _ASK if rules.asks_all or edits == "ask" else ALLOW
        case CallMcpTool() | ReachHost() | ConnectHost() | SearchWeb() | LeavePlan():
            return _ASK


def _read(path: Path, rules: Rules) -> Decision:
    if path in rules.closed:
        return _CLOSED
    if any(root in path.parents for root in rules.readable):
        return ALLOW
    if reason := why_sensitive(path, rules.private):
        return _risky(reason)
    return ALLOW if _inside(path, rules.roots) else _OUTSIDE


def _write(action: WritePath, rules: Rules, *, unasked: bool) -> Decision:
    path = action.path
    if path in rules.closed:
        return _CLOSED
    if reason := why_sensitive_to_write(path, rules.private) or action.runs_later:
        return _risky(reason)
    if rules.runs_later(path):
        return _risky("is run or read by git, as its settings say")
    is_inside = _inside(path, rules.roots)
    if action.is_read_only:
        return _risky(_READ_ONLY if is_inside else f"{_OUTSIDE.reason}, and {_READ_ONLY}")
    if not is_inside:
        return _OUTSIDE
    return ALLOW if unasked else _ASK


def _run(action: RunCommand, rules: Rules) -> Decision:
    found = classify_command(action.command, action.cwd, rules.roots)
    if found.level == "forbidden":
        return Decision("deny", found.why, "floor")
    reasons = _reasons(found, action)
    if action.outside:
        was = f"was kept from {action.refused} by the sandbox, and " if action.refused else ""
        reason = f"{was}would run without it, with all of your rights{_led_by(action)}"
        return Decision("ask", _joined((reason, *reasons)), "outside", reasons, outside=True)
    if found.level == "safe":
        return _look(action)
    exposed = (_exposed_by(action, first=True),) if action.exposes else ()
    if reasons:
        # What else the command does is not looked at then, so a sandbox has to contain it.
        is_contained = not rules.confines.why_not and not (action.uncontained or found.outside)
        undoable = is_contained and bool(found.findings) and all(each.undoable for each in found.findings)
        reason = _joined(reasons) + (_led_by(action) if found.outside else _exposed_by(action))
        undoable = undoable and not (action.exposes or action.changes or action.unkept)
        risks = reasons if found.outside else (*reasons, *exposed)
        return Decision("ask", reason, "risk", risks, outside=found.outside, undoable=undoable)
    if rules.asks_all:
        return Decision("ask", f"{found.why or 'may have an effect'}{_exposed_by(action)}", "containment", exposed)
    # Who wants no sandbox need not be told that there is none.
    why_not = rules.confines.why_not or (action.uncontained if rules.confines.is_wanted else "")
    if why_not:
        return Decision("ask", f"is not contained: {why_not}{_exposed_by(action)}", "containment", exposed)
    return Decision("ask", exposed[0], "secrets", exposed) if exposed else ALLOW


def _reasons(found: CommandClass, action: RunCommand) -> tuple[str, ...]:
    """Why a command is asked about by its text and by what git says that it would do, the worst first."""
    told = [(WORST_FIRST.index(each.family), each.why) for each in found.findings]
    told += [(WORST_FIRST.index("persistence"), _changing(each, action.cwd)) for each in action.changes]
    if action.unkept and found.findings:
        told.append((WORST_FIRST.index("deletion"), f"takes what /undo cannot bring back: {action.unkept}"))
    return tuple(dict.fromkeys(why for _, why in sorted(told, key=itemgetter(0))))


def _changing(change: WritePath, cwd: Path) -> str:
    place = run_later(change.path)
    shown = change.shown.relative_to(cwd) if change.shown.is_relative_to(cwd) else change.shown
    return f"changes {shown}, which {place.why if place is not None else change.runs_later}"


def _look(action: RunCommand) -> Decision:
    risks: list[str] = []
    if action.runs_along:
        risks.append(f"may run {action.runs_along}")
    if action.reveals:
        risks.append(f"may print {action.reveals}, which no sandbox hides from it")
    if action.exposes:
        risks.append(f"may print {action.exposes}, which git keeps and no sandbox hides from it")
    cause: Cause = "secrets" if action.exposes and len(risks) == 1 else "containment"
    return Decision("ask", _joined(risks), cause, tuple(risks)) if risks else _LOOKS


def _risky(reason: str) -> Decision:
    return Decision("ask", reason, "risk", (reason,))


def _joined(reasons: Sequence[str]) -> str:
    """Several reasons as one text, bounded: `deletes files; sends data out; and 3 more`."""
    if len(reasons) == 1:
        return reasons[0]
    more = len(reasons) - _MOST_REASONS
    shown = [f"{each[:_LONGEST_REASON]}…" if each[_LONGEST_REASON:] else each for each in reasons[:_MOST_REASONS]]
    return "; ".join([*shown, f"and {more} more"] if more > 0 else shown)


def _exposed_by(action: RunCommand, *, first: bool = False) -> str:
    """That it could read what the user has said no to; continues a reason, or begins one."""
    told = f"could read {action.exposes}, which the sandbox cannot hide from it"
    return "" if not action.exposes else told if first else f", and {told}"


def _led_by(action: RunCommand) -> str:
    """Which variables that nobody was asked about it would run with, where no sandbox holds what they lead to."""
    shown = ", ".join(each[:_LONGEST_VARIABLE] for each in action.variables[:_MOST_VARIABLES])
    more = len(action.variables) - _MOST_VARIABLES
    return f", with what earlier commands have set: {shown}{f' and {more} more' if more > 0 else ''}" if shown else ""


def _type(action: ProcessInput) -> Decision:
    found = classify_input(action.data, at_prompt=reads_commands(action.command, action.cwd))
    if found.level == "forbidden":
        return Decision("deny", found.why, "floor")
    if found.level in {"safe", "ordinary"}:
        return ALLOW
    reasons = found.reasons or (found.why,)
    return Decision("ask", _joined(reasons), "risk", reasons)


def _needs_no_question(action: Action, rules: Rules, answers: Grants, found: Decision) -> bool:
    """Whether a rule of the user's or an earlier answer is a yes to this."""
    if found.cause == "others" or (isinstance(action, RunCommand) and action.changes):
        return False  # such a yes was given without the text
    if found.cause == "rule-unclear" and isinstance(action, CallMcpTool):
        return False  # such a yes is to a tool, with whatever it is given
    if answers.allows(action, found.risks):
        return True
    if found.cause == "rule-unclear":
        return False
    if not isinstance(action, RunCommand):
        return is_allowed_by(action, rules.allow, rules.roots, is_risky=found.is_risky)
    if not action.outside and action.command.strip() in rules.allowed_commands:
        return True
    families = {each.family for each in classify_command(action.command, action.cwd, rules.roots).findings}
    is_secret = bool(action.exposes) or not families.isdisjoint(_BY_NAME_ALONE)
    return is_allowed_by(action, rules.allow, rules.roots, is_risky=is_secret)


def _allowed(action: Action, answers: Grants, found: Decision) -> Decision:
    """The yes; also whether it is one to running the command without the sandbox."""
    if not isinstance(action, RunCommand):
        return ALLOW
    outside = found.outside or answers.allows(replace(action, outside=True), found.risks)
    return Decision("allow", outside=outside, only_looks=found.only_looks)


def _unasked(action: Action, rules: Rules, found: Decision) -> Decision:
    """What becomes of a question in the mode in which nobody is asked."""
    is_exposing = isinstance(action, RunCommand) and bool(action.exposes) and not found.outside
    if found.cause in {"rule-unclear", "others"} or is_exposing:
        return replace(found, verdict="deny")
    # A page may lead inside by itself: not to be asked is no yes to that host.
    if isinstance(action, ReachHost | ConnectHost) and action.inside:
        return Decision("deny", found.reason, "network")
    if isinstance(action, RunCommand) and action.outside:
        is_needed = classify_command(action.command, action.cwd, rules.roots).outside
        return Decision("allow", outside=True) if is_needed else replace(found, verdict="deny")
    return Decision("allow", outside=found.outside)


def _unclear(action: Action, hit: Hit) -> str:
    if isinstance(action, CallMcpTool):
        return f"is given a name that the rule `{hit.rule.shown}` is about, and may do what it denies"
    return f"cannot be read completely, and may be what the rule `{hit.rule.shown}` denies"


def brings_others_words(action: Action, rules: Rules) -> bool:
    """Whether the session may read what others wrote by an action that is allowed: of the web, of MCP servers, of
    files that are not the session's. What a command reads by itself nobody sees; what it names is looked at.
    """
    match action:
        case ReadPath(path=path):
            return not _inside(path, rules.roots)
        case CallMcpTool(each=each):
            return not each
        case ReachHost() | ConnectHost() | SearchWeb() | UseBrowser():
            return True
        case RunCommand(command=command, cwd=cwd, outside=outside):
            from tools.approval.commands.command_rules import looks_elsewhere  # noqa: PLC0415 - loads what reads commands

            return outside or (not rules.is_elsewhere and looks_elsewhere(command, cwd, rules.roots))
    return False


def _is_remembered(action: Action, rules: Rules) -> bool:
    """Whether an action changes what later sessions remember."""
    return isinstance(action, WriteMemory) or (
        isinstance(action, WritePath) and action.after is not None and _inside(action.path, rules.remembered)
    )


def _inside(path: Path, roots: tuple[Path, ...]) -> bool:
    return any(path == root or root in path.parents for root in roots)
