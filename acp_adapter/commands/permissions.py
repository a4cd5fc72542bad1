"""`/permissions`: what the person has allowed and refused, taking an answer back, and letting a yes reach further."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acp_adapter.commands.command import Desk, Told, Typed
from acp_adapter.commands.markdown import code, plain
from agent_core.errors import RequestError
from tools.approval.approvals import Approvals
from tools.approval.grants import PastAnswer, WiderAnswer
from tools.approval.permissions_file import KeptGrantsError
from tools.approval.policy import Rules

_HINT = "`/permissions revoke N` takes one back, `/permissions forget-refusals` every no of this session."
_WIDER_HINT = "`/permissions widen N a` lets a yes reach as far as the line with that letter says."
_NOTHING = "You have allowed and refused nothing for longer than once."
_LETTERS = "abcdefgh"


def manage_permissions(typed: Typed, desk: Desk) -> Told:
    """Without words show every answer that counts; with some take one back, or let it reach further.

    Raises:
        RequestError: the words are none of the command's, or there is no such answer.
    """
    approvals = desk.session.workspace.approvals
    match typed.words.split():
        case []:
            return Told(_shown(approvals))
        case ["revoke", number]:
            return Told(_revoked(approvals, number))
        case ["widen", number, letter]:
            return Told(_widened(approvals, number, letter))
        case ["forget-refusals"]:
            return Told(_forgotten(approvals.forget_refusals()))
    raise RequestError(
        f"/permissions does not know {typed.words[:80]!r}; nothing was changed. "
        "Use /permissions, /permissions revoke N, /permissions widen N a or /permissions forget-refusals."
    )


def _forgotten(number: int) -> str:
    if not number:
        return "Nothing was refused for this session; nothing was changed."
    return f"{number} refusal{' is' if number == 1 else 's are'} forgotten: you are asked again."


def _revoked(approvals: Approvals, number: str) -> str:
    answer = _answer(approvals, number)
    try:
        approvals.revoke(answer)
    except KeptGrantsError as problem:
        raise RequestError(f"It could not be taken back. {problem}") from problem
    kind = "allowed" if answer.allowed else "refused"
    return f"No longer {kind}: {code(answer.words)}. You are asked again."


def _widened(approvals: Approvals, number: str, letter: str) -> str:
    answer = _answer(approvals, number)
    wider = dict(zip(_LETTERS, approvals.wider(answer), strict=False))
    if letter not in wider:
        raise RequestError(
            f"Answer {number} has no wider one {letter[:20]!r}; nothing was changed. /permissions lists them."
        )
    approvals.widen(answer, wider[letter])
    return f"Allowed: {_wider_line(wider[letter])}."


def _answer(approvals: Approvals, number: str) -> PastAnswer:
    """The answer of that number in the list.

    Raises:
        RequestError: there is none.
    """
    answers = approvals.grants.listed()
    place = int(number) if number.isascii() and number.isdigit() else 0
    if not 1 <= place <= len(answers):
        raise RequestError(
            f"There is no answer number {number[:20]!r}; nothing was changed. /permissions lists them."
        )
    return answers[place - 1]


def _shown(approvals: Approvals) -> str:
    answers = approvals.grants.listed()
    parts = ["\n".join(_lines(approvals, answers))] if answers else [_NOTHING]
    if answers:
        widens = any(map(approvals.wider, answers))
        parts.append(f"{_HINT} {_WIDER_HINT}" if widens else _HINT)
    parts += _rules(approvals.rules)
    if approvals.grants.problem:
        parts.append(f"**Look at this:** {plain(approvals.grants.problem)}")
    return "\n\n".join(parts)


def _lines(approvals: Approvals, answers: Sequence[PastAnswer]) -> Iterator[str]:
    for number, answer in enumerate(answers, 1):
        yield f"{number}. {_line(answer)}"
        for letter, wider in zip(_LETTERS, approvals.wider(answer), strict=False):
            yield f"   - {letter}: {_wider_line(wider)}"


def _line(answer: PastAnswer) -> str:
    kind = "allowed" if answer.allowed else "**refused**"
    lasts = "this session" if answer.record is None else "for good"
    note = f", {plain(answer.note)}" if answer.note else ""
    return f"{kind}: {code(answer.words)} ({lasts}{note})"


def _wider_line(wider: WiderAnswer) -> str:
    return f"{code(wider.words)} ({'every session here' if wider.always else 'this session'})"


def _rules(rules: Rules) -> Iterator[str]:
    for title, written in (("Denied by rules, in every mode", rules.deny), ("Allowed by rules", rules.allow)):
        if written:
            yield "\n".join((f"**{title}:**", *(f"- {code(rule.shown)}{_source(rule.source)}" for rule in written)))
    if rules.asks_all:
        yield "You are asked about everything that is not proven harmless (`approvals.mode: all`)."
    if why_not := rules.confines.why_not:
        yield f"No sandbox contains commands: {plain(why_not)}."


def _source(source: str) -> str:
    return f" ({plain(source)})" if source else ""
