"""Taking turns back, and bringing them again: `/undo`, `/rewind N`, `/redo`, and `_hermes/session/rewind`."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from acp_adapter.client_io.files import hindrances
from acp_adapter.commands.command import CommandSession, plain
from agent_core.cancel import CancelToken
from agent_core.errors import HermesError, RequestError, TurnInterrupted
from agent_core.events import PlanChanged, ToolFinished, ToolRequested
from agent_core.memory.session_memory import MemoryEdit, MemoryRewound, edits_in, make_edits
from agent_core.memory.store import MemoryStore
from agent_core.remote.target import disk_of
from agent_core.sessions.checkpoints.file_states import shown_path
from agent_core.sessions.checkpoints.undo import FileOutcome, FileStep, Rewinder, RewindPlan, RewindReport
from agent_core.sessions.checkpoints.undo_plan import BY_CHANCE, RewindKind
from agent_core.sessions.library import SessionLibrary
from agent_core.sessions.records import COMPACTED, RESET, KeptState
from agent_core.sessions.replay import replayed
from agent_core.sessions.store import PATIENCE
from tools.approval.actions import WritePath
from tools.approval.questions import Answer, Question
from tools.context import TodoItem
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.result import ShownText, ToolResult

# A rewind in words for the user, and as data for programs.

_MOST_TOLD = 30
_DONE = {
    "restore": "changed back",
    "create": "brought back",
    "delete": "removed",
    "chmod": "permissions changed back",
}


def told_of(report: RewindReport, plan: RewindPlan, cwd: Path) -> str:
    """How a rewind went, as Markdown: the turns first, then what became of each file."""
    count = len(plan.turns)
    turns = "The last turn was" if count == 1 else f"The last {count} turns were"
    lines = [f"{turns} {'taken back' if plan.kind == 'undo' else 'brought back'}."]
    if report.trouble:
        lines = [f"The files below were handled, but the conversation is as it was: {report.trouble}"]
    lines += [f"- «{turn.prompt}»" for turn in plan.turns if turn.prompt]
    for title, outcomes in (
        ("Files:", report.done),
        ("Left as they are:", report.kept),
        ("Not brought back:", report.failed),
    ):
        lines += _listed(title, outcomes, cwd)
    if plan.kind == "undo" and not report.trouble:
        lines += ["", f"{_what_is_seen(plan)} `/redo` brings it back."]
    return "\n".join(lines)


def _what_is_seen(plan: RewindPlan) -> str:
    outcomes = [turn.record.outcome for turn in plan.turns]
    if all(outcome == COMPACTED for outcome in outcomes):
        return "The model sees again what `/compact` had replaced by a summary."
    resets = [outcome for outcome in outcomes if outcome == RESET]
    if not resets:
        return "The model does not see it any more, and the editor only until it loads the session again."
    again = "The model sees again what was said before `/reset`"
    return f"{again}." if len(resets) == len(plan.turns) else f"{again}, and nothing of the other turns."


def plan_result(plan: RewindPlan) -> dict[str, Any]:
    """What a rewind would change."""
    return {
        "kind": plan.kind,
        "turns": [{"number": turn.record.number, "prompt": turn.prompt} for turn in plan.turns],
        "files": [
            {
                "path": str(step.path),
                "action": step.action,
                "state": step.state,
                "detail": step.reason,
                "diff": step.preview,
                "sizeNow": step.size_now,
                "sizeThen": step.size_then,
            }
            for step in plan.steps
        ],
    }


def report_result(report: RewindReport) -> dict[str, Any]:
    """What a rewind has changed."""
    return {
        "done": _outcomes(report.done),
        "already": _outcomes(report.already),
        "kept": _outcomes(report.kept),
        "failed": _outcomes(report.failed),
        "trouble": report.trouble,
    }


def _outcomes(outcomes: Sequence[FileOutcome]) -> list[dict[str, Any]]:
    return [{"path": str(each.path), "action": each.action, "detail": each.reason} for each in outcomes]


def _listed(title: str, outcomes: Sequence[FileOutcome], cwd: Path) -> Iterator[str]:
    if not outcomes:
        return
    yield from ("", title)
    for each in outcomes[:_MOST_TOLD]:
        path = os.path.relpath(each.path, cwd)
        what = each.reason or _DONE.get(each.action, "")
        yield f"- {_as_code(each.path if path.startswith('..') else Path(path))}{f': {what}' if what else ''}"
    if len(outcomes) > _MOST_TOLD:
        yield f"- … and {len(outcomes) - _MOST_TOLD} more"


def _as_code(path: Path) -> str:
    """A path in one line of Markdown, whatever its name holds."""
    name = shown_path(path)
    return f"`` {name.replace('``', '`')} ``" if "`" in name else f"`{name}`"


# The rewind itself.

RunBlocking = Callable[[Callable[[], dict[str, Any]]], Awaitable[dict[str, Any]]]

_CARD = "rewind"
_ASKED = "is not as the session left it ({}); your yes replaces what is there now"
_FOUND = "changed while a command ran that does not name it: it may be someone else's work"
_BROKEN_OFF = (
    "Broken off: the conversation is as it was. Files that were changed back before the question stay so; "
    "the same command again finishes it."
)
_NOT_SEEN = "The editor did not answer: unsaved changes that it may have of these files were not looked for."
_AGAIN: Mapping[RewindKind, str] = {
    "undo": "save or discard that there, then `/redo` and `/undo` again",
    "redo": "save or discard that there, then `/undo` and `/redo` again",
}
_MOST_TURNS = 1_000_000


class Rewinding:
    """Takes turns of one session back. Blocks; the session's turn is held meanwhile.

    Attributes:
        editor_was_silent: nobody knows what the editor has not saved.
        memory: what became of what the turns had remembered, or forgotten.
    """

    def __init__(self, library: SessionLibrary, session: CommandSession, notes: MemoryStore) -> None:
        self._library = library
        self._session = session
        self._notes = notes
        self.editor_was_silent = False
        self.memory = MemoryRewound()

    def take_back(self, turns: int, token: CancelToken) -> str:
        """Take back the last `turns` turns; 0 brings back what was taken back last. How it went, as Markdown."""
        session = self._session
        try:
            plan = self.plan(turns)
            shown = self._shown_plan()
            found = tuple(step.path for step in plan.steps if step.state == "found")
            asked = _Asked(found, lambda step, others: self._ask(step, others, token))
            told = told_of(self.apply(plan, asked.agreed, token), plan, session.seed.cwd)
            if self.memory.told:
                told += "\n\n".join(["", "Memory:\n" + "\n".join(f"- {plain(line)}" for line in self.memory.told)])
            if self.editor_was_silent:
                told += f"\n\n{_NOT_SEEN}"
            if (now := self._shown_plan()) != shown:
                # It is not taken down: which plan is the last one follows from the turns that are in view.
                session.outbox.put(PlanChanged(now))
        except TurnInterrupted:
            return _BROKEN_OFF
        except HermesError as problem:
            return problem.public
        return told

    def plan(self, turns: int) -> RewindPlan:
        """What taking back the last `turns` turns would change; 0 brings back what was taken back last.

        Raises:
            RequestError: there is nothing to take back. StoreError: it cannot be seen, or is not stored yet.
        """
        rewinder = self._rewinder()
        # A turn that waits to be stored would count as none.
        self._library.store.settle(self._session.id)
        return rewinder.plan(self._session.id, turns) if turns else rewinder.plan_redo(self._session.id)

    def apply(self, plan: RewindPlan, overwrite: Callable[[FileStep], bool], token: CancelToken) -> RewindReport:
        """Do it, but for files of which the editor has text that is not saved: these are among those kept.

        Args:
            overwrite: decides about each file that someone else has changed since.

        Raises:
            SessionInUse: another process prompts the session. StoreError.
            TurnInterrupted: the person cancelled.
        """
        self._library.store.take_lease(self._session.id, PATIENCE)
        try:
            plan, kept = self._without_unsaved(plan, token)
            edits = self._memory_edits(plan)
            report = self._rewinder().apply(plan, overwrite)
            if not report.trouble:
                # A turn that comes back is in view only now.
                self.memory = make_edits(self._notes, edits if plan.kind == "undo" else self._memory_edits(plan))
            return replace(report, kept=(*kept, *report.kept))
        finally:
            self._go_on_from_here()

    def _memory_edits(self, plan: RewindPlan) -> list[MemoryEdit]:
        """What is to be made of what is remembered, as far as the plan's turns are in view."""
        story = self._library.archive.transcript(self._session.id)
        edits = edits_in(event for each in story.events if each.turn in plan.numbers for event in each.events)
        return [edit.reversed() for edit in reversed(edits)] if plan.kind == "undo" else edits

    def _rewinder(self) -> Rewinder:
        return self._library.rewinder.on(disk_of(self._session.workspace))

    def _without_unsaved(self, plan: RewindPlan, token: CancelToken) -> tuple[RewindPlan, tuple[FileOutcome, ...]]:
        """The plan without the steps that would change a file under the editor's unsaved text, and those steps."""
        changing = [step for step in plan.steps if step.action != "nothing"]
        looked = hindrances([step.path for step in changing], self._session.workspace.files(token))
        self.editor_was_silent = looked.is_silent
        again = _AGAIN[plan.kind]
        kept = tuple(
            FileOutcome(step.path, step.action, f"{looked.by_path[step.path]}; {again}")
            for step in changing
            if step.path in looked.by_path
        )
        return replace(plan, steps=tuple(step for step in plan.steps if step.path not in looked.by_path)), kept

    def _ask(self, step: FileStep, others: tuple[Path, ...], token: CancelToken) -> bool:
        """Put it to the person, on a card of its own; anything but a clear yes leaves the file as it is.

        Args:
            others: files that the same answer is for.

        Raises:
            TurnInterrupted: the person cancelled; no other file is touched, and the conversation stays.
        """
        session, call_id = self._session, f"rewind-{secrets.token_hex(6)}"
        cwd, arguments = str(session.seed.cwd), {"path": str(step.path)}
        self._session.show(ToolRequested(call_id, _CARD, arguments, cwd, announced=False))
        before, after = self._rewinder().contents(step)
        action = WritePath(step.path, before, after, shown=step.path)
        reason = _ASKED.format(step.reason)
        if step.state == "found":
            reason = _FOUND if step.reason == BY_CHANCE else step.reason.removeprefix("it ")
        question = Question(call_id, action, reason, others)
        answer = self._answer(question, token)
        agreed = answer.allowed and not token.is_set()
        text = "Replaced, as you said." if agreed else f"Left as it is: {answer.note or 'you said no'}."
        result = ToolResult(text, (ShownText(text),), failed=not agreed)
        self._session.show(ToolFinished(call_id, _CARD, arguments, cwd, result, ran=agreed))
        if token.is_set():
            raise TurnInterrupted
        return agreed

    def _answer(self, question: Question, token: CancelToken) -> Answer:
        try:
            return self._session.workspace.approvals.approver.ask(question, token)
        except ToolInterrupted:
            return Answer(allowed=False, note="you cancelled")

    def _go_on_from_here(self) -> None:
        """Bring what the session keeps in memory, and what the editor shows, in line with what is stored now."""
        store, session = self._library.store, self._session
        store.reload(session.id)
        length = len(store.messages(session.id))
        plan = self._stored_plan()
        services = session.services
        kept = services.kept() if services is not None else store.kept(session.id) or KeptState()
        kept = replace(
            kept,
            plan=plan,
            sealed_before=min(kept.sealed_before, length),
            images_before=min(kept.images_before, length),
        )
        if kept.system is not None and any(entry in kept.system for entry in self.memory.gone):
            kept = replace(kept, system=None)
            if services is not None and services.memory is not None:
                services.memory.renew()
        store.keep(session.id, kept)
        if services is not None:
            services.restore(kept, same_prompt=True)
            services.prefix.expect("rewound")

    def _shown_plan(self) -> tuple[TodoItem, ...]:
        services = self._session.services
        kept = services.kept() if services is not None else self._library.store.kept(self._session.id)
        return kept.plan if kept is not None else ()

    def _stored_plan(self) -> tuple[TodoItem, ...]:
        events = replayed(self._library.archive.transcript(self._session.id))
        plans = [event.items for event in events if isinstance(event, PlanChanged)]
        return plans[-1] if plans else ()


@dataclass(slots=True)
class _Asked:
    """What the person has agreed to: file by file, but once for all that were only found changed after commands."""

    found: tuple[Path, ...]
    ask: Callable[[FileStep, tuple[Path, ...]], bool]
    for_found: bool | None = None

    def agreed(self, step: FileStep) -> bool:
        """Whether a file may be changed; asks where that is not known."""
        if step.state != "found":
            return self.ask(step, ())
        if self.for_found is None:
            self.for_found = self.ask(step, tuple(path for path in self.found if path != step.path))
        return self.for_found


async def rewind_session(
    library: SessionLibrary,
    session: CommandSession,
    params: Mapping[str, Any],
    run_blocking: RunBlocking,
    notes: Callable[[], MemoryStore],
    *,
    turn: asyncio.Lock,
    is_prompted: bool,
) -> dict[str, Any]:
    """`_hermes/session/rewind`: take turns back, or with `preview` only tell what that would change.

    Args:
        params: `turns` (1 if left out) or `redo`; `preview`; `overwrite`, the paths of files that may be replaced
            though someone else has changed them since; `found`, to take back as well what was only found changed
            after a command.
        notes: what is remembered over sessions; settings may be read for it.
        turn: held meanwhile, so that no prompt begins.
        is_prompted: a prompt runs, or waits.

    Raises:
        RequestError: a parameter is not valid, a prompt is running, or there is nothing to take back.
    """
    turns, overwrite = _wanted(params), _paths(params.get("overwrite", []))
    if is_prompted:
        raise RequestError("A prompt is running in this session. Cancel it or wait for its end, then try again.")
    found_as_well = params.get("found") is True

    def agrees(step: FileStep) -> bool:
        return (found_as_well and step.state == "found") or str(step.path) in overwrite

    def work() -> dict[str, Any]:
        rewinding = Rewinding(library, session, notes())
        plan = rewinding.plan(turns)
        if params.get("preview") is True:
            return plan_result(plan)
        report = rewinding.apply(plan, agrees, CancelToken())
        return {**plan_result(plan), **report_result(report), "memory": rewinding.memory.told}

    async with turn:
        return await run_blocking(work)


def _wanted(params: Mapping[str, Any]) -> int:
    if params.get("redo") is True:
        return 0
    turns = params.get("turns", 1)
    if not isinstance(turns, int) or isinstance(turns, bool) or not 0 < turns < _MOST_TURNS:
        raise RequestError("turns must be a number of turns above 0.")
    return turns


def _paths(value: object) -> Collection[str]:
    if not isinstance(value, list) or not all(isinstance(path, str) for path in value):
        raise RequestError("overwrite must be a list of paths.")
    return frozenset(value)
