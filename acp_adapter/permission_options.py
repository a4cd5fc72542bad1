"""The answers that a permission question offers, with labels that say exactly what each does.

ACP v1, `PermissionOption`: ids are ours and stay the same, kinds tell the editor how to show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.cards.titles import unmasked
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
from tools.approval.questions import Answer, Question
from tools.approval.scopes import CommandsLike, FilesBelow, Grant, OfServer, PublicWeb, SameThing
from tools.light_dataclass import dataclass

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

    def option(self) -> dict[str, Any]:
        """As ACP `PermissionOption`."""
        return {"optionId": self.id, "kind": self.kind, "name": self.label}


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
        *(_kept(grant, question.action) for grant in question.keeps[:1]),
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


def _lasting(grant: Grant, action: Action) -> Offer:
    return Offer(
        f"allow_{grant.scope}",
        "allow_always",
        f"Always allow {_reach(grant, action)} {_SESSION}",
        Answer(allowed=True, scope=grant.scope),
    )


def _kept(grant: Grant, action: Action) -> Offer:
    label = f"Always allow {_reach(grant, action)} {_FOR_GOOD}"
    return Offer("allow_kept", "allow_always", label, Answer(allowed=True, scope=grant.scope, always=True))


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
