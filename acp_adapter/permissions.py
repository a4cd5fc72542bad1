"""Permission questions in the editor (`session/request_permission`): the card, the answers, the decision."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.client_io.calls import EditorCalls, EditorProblem, EditorSilent
from acp_adapter.client_io.elicitation import EditorQuestions
from acp_adapter.tools import diff_block, text_block, unmasked, unpadded, unseen_in
from tools.agent_ports import Field, PersonQuestion
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
from tools.approval.questions import Answer, Question
from tools.approval.scopes import CommandsLike, FilesBelow, Grant, OfServer, PublicWeb, SameThing
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.result import ShownDiff

# The answers, with labels that say exactly what each does (ACP v1, `PermissionOption`).
# Ids are ours and stay the same, kinds tell the editor how to show them.

Kind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]

_SESSION = "(this session)"
_FOR_GOOD = "(every session here)"
_LONGEST_NAME = 60
MORE = ". More…"
"""Ends the label of an answer behind which there are wider ones."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One answer that can be chosen.

    Attributes:
        tells_why: the person is asked for words afterwards.
        wider: what they may choose instead in a form afterwards, the narrowest first.
    """

    id: str
    kind: Kind
    label: str
    answer: Answer
    tells_why: bool = False
    wider: tuple[Offer, ...] = ()


def offers_of(question: Question, client: ClientCapabilities) -> tuple[Offer, ...]:
    """The answers to `question`: yes first and the safest last, but no first where that is the better guess. Of the
    yeses the narrowest is the first: a client may say yes by itself.

    A client that may show one button for each kind gets one answer of a kind at most, the narrowest.
    """
    offers = _every_offer(question, tells_why=client.form_questions and question.no_explains)
    return _one_of_each_kind(offers, has_forms=client.form_questions) if client.habits.collapses_options else offers


def _one_of_each_kind(offers: Sequence[Offer], *, has_forms: bool) -> tuple[Offer, ...]:
    """The narrowest of each kind. A button with a client's own label keeps nothing for later sessions, changes no
    mode, and asks for no words; wider answers are behind it where there are forms.
    """
    found: dict[Kind, Offer] = {}
    for offer in offers:
        if not (offer.answer.always or offer.tells_why or offer.answer.mode == "accept_edits"):
            found.setdefault(offer.kind, offer)
    yes = found.get("allow_always")
    wider = tuple(offer for offer in offers if offer.kind == "allow_always" and offer is not yes)
    if yes is not None and wider and has_forms:
        found["allow_always"] = replace(yes, label=f"{yes.label}{MORE}", wider=wider)
    return tuple(found.values())


def _every_offer(question: Question, *, tells_why: bool) -> tuple[Offer, ...]:
    if isinstance(question.action, LeavePlan):
        return tuple(_of_plan(tells_why=tells_why, shows_edits=question.shows_edits))
    allowing = (
        Offer("allow_once", "allow_once", "Allow once", Answer(allowed=True)),
        *(_lasting(grant, question.action) for grant in question.reaches),
        *(_lasting(grant, question.action, always=True) for grant in question.keeps[:1]),
    )
    if isinstance(question.action, ReadSecretFiles):
        return (*allowing, *_hiding(question, question.action))
    reject, *more = _rejecting(question, tells_why=tells_why)
    return (reject, *allowing, *more) if question.is_risky else (*allowing, reject, *more)


def _of_plan(*, tells_why: bool, shows_edits: bool) -> Iterator[Offer]:
    yield Offer("plan_default", "allow_once", "Yes, ask before each edit", Answer(allowed=True, mode="default"))
    if not shows_edits:
        yield Offer(
            "plan_accept_edits",
            "allow_always",
            "Yes, edit files without asking",
            Answer(allowed=True, mode="accept_edits"),
        )
    yield Offer("plan_reject", "reject_once", "No, keep planning", Answer(allowed=False))
    if tells_why:
        yield Offer(
            "plan_revise", "reject_once", "No, and tell what to change", Answer(allowed=False), tells_why=True
        )


def _hiding(question: Question, action: ReadSecretFiles) -> Iterator[Offer]:
    """A no about a project's secret files is remembered too."""
    no = "No, hide them from commands" if action.can_hide else "No, ask about each command"
    refused = Answer(allowed=False, scope="session")
    yield Offer("reject_once", "reject_once", f"{no} {_SESSION}", refused)
    if question.no_keeps:
        yield Offer("reject_always", "reject_always", f"{no} {_FOR_GOOD}", replace(refused, always=True))


def _rejecting(question: Question, *, tells_why: bool) -> Iterator[Offer]:
    yield Offer("reject_once", "reject_once", "Reject", Answer(allowed=False))
    if tells_why:
        yield Offer("reject_why", "reject_once", "Reject and tell why", Answer(allowed=False), tells_why=True)
    if question.no_lasts:
        label = f"Always reject {_same(question.action)} {_SESSION}"
        yield Offer("reject_always", "reject_always", label, Answer(allowed=False, scope="session"))


def _lasting(grant: Grant, action: Action, *, always: bool = False) -> Offer:
    label = f"Always allow {_reach(grant, action)} {_FOR_GOOD if always else _SESSION}"
    answer = Answer(allowed=True, scope=grant.scope, always=always)
    return Offer("allow_kept" if always else f"allow_{grant.scope}", "allow_always", label, answer)


def _reach(grant: Grant, action: Action) -> str:
    match grant:
        case SameThing():
            return _same(action)
        case CommandsLike(prefix=prefix):
            shown = f"`{_clipped(prefix.shown)}`"
            return (
                f"{shown} inside this directory with the same options"
                if prefix.copies
                else f"{shown} in this directory"
            )
        case FilesBelow(kind="read", shown=shown):
            return f"reading in {_end_of(shown)}"
        case FilesBelow(shown=shown):
            return f"edits in {_end_of(shown)}"
        case OfServer(server=server):
            return f"every tool of {_clipped(server)}"
        case PublicWeb():
            return "every public web page"


def _same(action: Action) -> str:  # noqa: C901, PLR0911, PLR0912 - one for each kind
    match action:
        case ReadPath():
            return "reading this path"
        case ReadSecretFiles(project=project):
            return f"commands to read the secret files of {_end_of(project.name)}"
        case WritePath(after=None):
            return "deleting this file"
        case WritePath():
            return "edits of this file"
        case RunCommand(outside=True):
            return "this exact command without the sandbox in this directory"
        case RunCommand():
            return "this exact command in this directory"
        case ProcessInput(command=command):
            return f"typing into `{_clipped(command)}`"
        case CallMcpTool(server=server, tool=tool):
            return f"{_clipped(tool)} of {_clipped(server)}"
        case CallOwnTool(name=name):
            return f"your tool {_clipped(name)}"
        case UseBrowser(place=place):
            return f"using pages of {_end_of(place)}"
        case ReachHost(place=place):
            return f"pages of {_end_of(place)}"
        case ConnectHost():
            return f"commands to reach {_end_of(action.place)}"
        case SearchWeb(service=service):
            return f"searches with {_clipped(service)}"
        case WriteMemory():
            return "changes of what is remembered"
        case LeavePlan():
            return "leaving plan mode"


def _clipped(text: str) -> str:
    """On one line, its beginning where it is long: names may come from a server."""
    line = unmasked(" ".join(text.split()))
    return line if len(line) <= _LONGEST_NAME else f"{line[:_LONGEST_NAME]}…"


def _end_of(path: str) -> str:
    """On one line, its end where it is long."""
    line = unmasked(" ".join(path.split()))
    return line if len(line) <= _LONGEST_NAME else f"…{line[-_LONGEST_NAME:]}"


# The card: only what the question adds to that of the call.

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


# The question itself: asked on the card's own id, unsure means no.

log = logging.getLogger(__name__)

_METHOD = "session/request_permission"
_LONGEST_REASON = 4_000


class EditorApprover:
    """Asks the person in the editor. Called on worker threads; implements `Approver`."""

    def __init__(self, calls: EditorCalls, client: ClientCapabilities, timeout: float, cwd: Path) -> None:
        """Make it.

        Args:
            timeout: seconds that a question waits for its answer.
            cwd: the session's directory.
        """
        self._calls = calls
        self._client = client
        self._timeout = timeout
        self._cwd = cwd

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:
        """Ask and wait; anything but a clear yes is a no.

        Raises:
            ToolInterrupted: the turn is over, or the question became needless; it was withdrawn.
        """
        offers = offers_of(question, self._client)
        options = [{"optionId": offer.id, "kind": offer.kind, "name": offer.label} for offer in offers]
        params = {"toolCall": asked_card(question, self._cwd), "options": options}
        try:
            result = self._calls.call(_METHOD, params, interrupt, self._timeout)
        except EditorSilent:
            return Answer(allowed=False, note=f"no answer within {self._timeout:g} seconds")
        except EditorProblem as problem:
            # Not the text: the editor may repeat what it was sent.
            log.warning("a permission question failed: %s", type(problem).__name__)
            return Answer(allowed=False, note="the editor could not be asked")
        return self._answer(question, offers, result, interrupt)

    def _answer(
        self, question: Question, offers: Sequence[Offer], result: Mapping[str, Any], interrupt: Interrupt
    ) -> Answer:
        outcome = result.get("outcome")
        if not isinstance(outcome, Mapping):
            return Answer(allowed=False, note="the editor's answer was not valid")
        if outcome.get("outcome") == "cancelled":
            return Answer(allowed=False, note="the question was dismissed")
        is_choice = outcome.get("outcome") == "selected"
        offer = next((offer for offer in offers if is_choice and offer.id == outcome.get("optionId")), None)
        if offer is None:
            return Answer(allowed=False, note="the editor's answer was not valid")
        if offer.wider:
            return self._chosen(question, (offer, *offer.wider), interrupt)
        if not offer.tells_why:
            return offer.answer
        return replace(offer.answer, words=self._words(question, interrupt))

    def _chosen(self, question: Question, offers: Sequence[Offer], interrupt: Interrupt) -> Answer:
        """How far the yes reaches, as the person chooses in a form; the first, which they gave, where they do not.

        Raises:
            ToolInterrupted: as `ask` does.
        """
        answers: dict[str, Answer] = {}
        for offer in offers:
            answers.setdefault(offer.label.removesuffix(MORE), offer.answer)
        labels = tuple(answers)
        text = "How far does this yes reach?"
        field = {"name": "reach", "title": "Reach", "kind": "choice", "choices": labels, "default": labels[0]}
        chosen = self._filled(question, text, {**field, "other": False}, interrupt)
        return answers.get(chosen, offers[0].answer)

    def _words(self, question: Question, interrupt: Interrupt) -> str:
        """Why not; '' where the person says nothing. Their no stands whatever becomes of this."""
        is_plan = isinstance(question.action, LeavePlan)
        text = "What should the plan change?" if is_plan else "Why not? The model is told what you write."
        field = {"name": "reason", "title": "What to change" if is_plan else "Reason"}
        try:
            return self._filled(question, text, field, interrupt)[:_LONGEST_REASON]
        except ToolInterrupted:
            return ""

    def _filled(self, question: Question, text: str, field: Mapping[str, Any], interrupt: Interrupt) -> str:
        """What the person fills into a form with this field; '' where they do not.

        Raises:
            ToolInterrupted: the turn is over, or the question became needless.
        """
        asked = PersonQuestion(text, (Field(**field, required=False),), question.tool_call_id)
        told = EditorQuestions(self._calls, self._client, timeout=self._timeout).ask(asked, interrupt)
        return str(told.values.get(str(field["name"]), "")).strip()
