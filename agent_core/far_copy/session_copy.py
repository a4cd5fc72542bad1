"""A session's copy at the seams of its turns: brought there before the first request, and back before the answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from agent_core.background.news import News
from agent_core.callbacks import AgentCallbacks, CallFinished, CallOutput, CallRequested, CallRunning, Status
from agent_core.errors import RequestError
from agent_core.far_copy.copy import Change, FarCopy
from agent_core.far_copy.executables import make_executable, not_executable, rules_for
from agent_core.far_copy.facts import digest_of
from agent_core.far_copy.patches import keep_as_patches, kept_news, news_of
from agent_core.far_copy.place import PlaceGone
from agent_core.far_copy.returning import AgreedAlready, Returned, bring_back
from agent_core.interrupt import CancelToken
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Rules
from tools.environments.gated_ports import GatedFileSystem
from tools.errors import ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import FileHistory, FileSystem
from tools.result import ShownText, ToolResult, error, ok

log = logging.getLogger(__name__)

THERE, BACK = "copy_workspace", "bring_back"
"""How the cards are called."""

_MOST_ASKED, _MOST_LEFT = 500, 5_000
_LEAVE_SECONDS = 10.0
_MOST_NAMED = 20


@dataclass(slots=True)
class _Card:
    """A call of ours that the person sees, once it has something to say."""

    callbacks: AgentCallbacks
    call_id: str
    name: str
    arguments: dict[str, str]
    is_open: bool = False

    def say(self, text: str) -> None:
        if (tell := self.callbacks.tool_progress_callback) is None:
            return
        if not self.is_open:
            self.is_open = True
            tell(CallRequested(self.call_id, self.name, self.arguments))
            tell(CallRunning(self.call_id))
        tell(CallOutput(self.call_id, text))

    def end(self, result: ToolResult) -> None:
        if self.is_open and (tell := self.callbacks.tool_progress_callback) is not None:
            tell(CallFinished(self.call_id, self.name, self.arguments, result))


@dataclass(slots=True)
class SessionCopy:
    """The copy of one session.

    Attributes:
        rules: those of the session's directories here.
        history: keeps what a call's files here were.
        root: where the copy is.
        both: changes come back.
        outlives: its place is kept for when the session is opened again.
        tell_later: the next who loads the session shall know.
    """

    copy: FarCopy
    rules: Rules
    history: Callable[[str, str], FileHistory]
    root: Path
    both: bool
    outlives: bool
    tell_later: Callable[[News], None]
    _agreed: dict[str, str] = field(default_factory=dict)
    _words: list[str] = field(default_factory=list)
    _is_left: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note_agreed(self, path: Path, content: bytes | None) -> None:
        """It was allowed to write this there: that it comes back need not be asked about once more."""
        if self.both and content is not None and path.is_relative_to(self.root):
            with self._lock:
                self._agreed[path.relative_to(self.root).as_posix()] = digest_of(content)

    def described(self) -> str:
        """What the model is told of the copy at first."""
        back = (
            "what you change in it comes back at the end of each turn, as edits that the person may refuse"
            if self.both
            else "nothing that you change in it comes back"
        )
        return (
            f"It is a copy of the person's {self.copy.top}: {back}. Files that git ignores or that hold secrets are "
            "not in it, and commits stay where they are made."
        )

    def take_words(self) -> str:
        """What the model does not know yet of what was not brought back, or not copied; '' for nothing."""
        with self._lock:
            words, self._words = self._words, []
        return f"[Not from the user, about the copy of the workspace: {' '.join(words)}]" if words else ""

    def begin(self, turn_id: str, token: CancelToken, callbacks: AgentCallbacks) -> bool:
        """Make the copy, or bring it up to date; False where the turn was cancelled before that was done.

        Raises:
            RequestError: it could not be done.
        """
        card = _Card(callbacks, f"{turn_id}-copy", THERE, {"to": self.copy.where})
        try:
            words = self.copy.renew(card.say, token)
        except ToolInterrupted:
            card.end(error("Cancelled. What is not copied wholly is not used; the next prompt copies it anew."))
            return False
        except (ToolError, OSError) as problem:
            card.end(error(str(problem)))
            raise RequestError(f"{problem} The model was not asked.") from problem
        card.end(
            ok({"copied_to": self.copy.where}, ShownText(f"The workspace is on {self.copy.where} as it is here."))
        )
        self._say(callbacks, words)
        return True

    def end(
        self, approvals: Approvals, disk: FileSystem, turn_id: str, token: CancelToken, ears: AgentCallbacks
    ) -> None:
        """Bring back what was changed there, each change asked about as the mode says. Never raises, but:

        Args:
            approvals: the session's, `disk` the files here without a gate.

        Raises:
            ToolInterrupted: the turn was cancelled; what is not brought back yet comes with a later turn.
        """
        if not self.both or not self.copy.is_made or approvals.mode == "plan":
            return
        card = _Card(ears, f"{turn_id}-return", BACK, {"from": self.copy.where})
        try:
            with self._going_on(card):
                changes, words = self.copy.changes(token, _MOST_ASKED)
                self._say(ears, words)
                if changes:
                    self._bring(changes, approvals, disk, card, turn_id=turn_id, token=token)
        except PlaceGone:
            self._say(ears, [self.copy.lost()])
        except (ToolError, OSError) as problem:
            if isinstance(problem, ToolInterrupted):
                raise
            self._say(ears, [f"What was changed on {self.copy.where} was not brought back: {problem}"])

    def leave(self) -> None:
        """The session ends, and nobody can be asked: what was not brought back is kept as patches. Never raises."""
        with self._lock:
            is_left, self._is_left = self._is_left, True
        if is_left:
            return
        if self.outlives or not self.copy.is_made:
            self.copy.let_go()
            return
        token = CancelToken()
        timer = threading.Timer(_LEAVE_SECONDS, token.cancel)
        timer.daemon = True
        timer.start()
        try:
            if self.both:
                self._keep_rest(token)
        except Exception as problem:
            log.exception("what was changed on %s is not kept", self.copy.where)
            why = str(problem) or "it took too long"
            title = f"What was changed on {self.copy.where} and not brought back is lost with it"
            self.tell_later(news_of(title, f"{title}: {why}"))
        finally:
            timer.cancel()
            self.copy.forget()

    def _keep_rest(self, token: CancelToken) -> None:
        changes, words = self.copy.changes(token, _MOST_LEFT)
        if (news := kept_news(self.copy, changes, words, "the session ended before")) is not None:
            self.tell_later(news)

    @contextmanager
    def _going_on(self, card: _Card) -> Iterator[None]:
        """An error ends the card."""
        try:
            yield
        except ToolInterrupted:
            card.end(error("Cancelled. What was not brought back comes with the end of a later turn."))
            raise
        except (ToolError, OSError) as problem:
            card.end(error(str(problem)))
            raise

    def _bring(
        self,
        changes: Sequence[Change],
        session: Approvals,
        disk: FileSystem,
        card: _Card,
        *,
        turn_id: str,
        token: CancelToken,
    ) -> None:
        card.say(f"{len(changes)} changed files come back from {self.copy.where}.\n")
        approver = AgreedAlready(session.approver, self._is_agreed)
        approvals = session.for_another(session.asker, rules=self.rules, approver=approver)
        gate = Gate(approvals, card.call_id, token, lambda _: None, on_note=lambda text: card.say(f"[{text}]\n"))
        files = GatedFileSystem(disk, gate, self.history(turn_id, card.call_id))
        done = bring_back(self.copy, changes, files)
        words = [f"{word}." for word in done.words[:_MOST_NAMED]]
        if len(done.words) > _MOST_NAMED:
            words.append(f"And {len(done.words) - _MOST_NAMED} more.")
        kept = keep_as_patches(self.copy, done.kept)
        if kept is not None:
            self.copy.keep_apart(done.kept)
            words.append(f"What was not made here is kept for a week; this makes it: {kept[1]}")
        if done.executable and not done.is_cut:
            words += self._made_executable(done, session, card, token)
        self._say(card.callbacks, words)
        if done.is_cut:
            raise ToolInterrupted
        card.end(_result(done, changes, words))

    def _made_executable(self, done: Returned, session: Approvals, card: _Card, token: CancelToken) -> Sequence[str]:
        approvals = session.for_another(session.asker, rules=rules_for(self.rules))
        gate = Gate(approvals, card.call_id, token, lambda _: None, on_note=lambda text: card.say(f"[{text}]\n"))
        try:
            return make_executable(self.copy, done.executable, gate)
        except ToolInterrupted:
            done.is_cut = True
            return [not_executable([change.name for change in done.executable])]

    def _is_agreed(self, path: Path, content: bytes) -> bool:
        if not path.is_relative_to(self.copy.top):
            return False
        with self._lock:
            return self._agreed.get(path.relative_to(self.copy.top).as_posix()) == digest_of(content)

    def _say(self, callbacks: AgentCallbacks, words: Sequence[str]) -> None:
        if not words:
            return
        with self._lock:
            self._words.extend(words)
        if (tell := callbacks.status_callback) is not None:
            tell(Status("copy", "\n".join(words)))


def _result(done: Returned, changes: Sequence[Change], words: Sequence[str]) -> ToolResult:
    text = f"{done.number} of {len(changes)} changed files were brought back."
    shown = ShownText("\n".join((text, *words)))
    result = ok({"brought": sorted((*done.brought, *done.removed)), "words": list(words)}, *done.diffs, shown)
    return result if done.number or not done.kept else ToolResult(result.text, result.shown, failed=True)
