"""A session's copy: made as the settings want it, brought up to date around its turns, and rescued after a crash."""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path

from agent_core.background_tasks import News
from agent_core.callbacks import AgentCallbacks, CallFinished, CallOutput, CallRequested, CallRunning, Status
from agent_core.cancel import CancelToken
from agent_core.errors import RequestError
from agent_core.home import user_cache
from agent_core.remote.copy import Change, FarCopy, Limits, State, Store, states_in, tidy_states
from agent_core.remote.pull import (
    AgreedAlready,
    bring_back,
    keep_aside,
    kept_news,
    make_executable,
    news_of,
    not_executable,
    rules_for,
)
from agent_core.remote.remote_dir import Place, PlaceGone
from agent_core.remote.select import MEGABYTE, digest_of
from agent_core.settings.sections import TerminalPart
from tools.approval.actions import ReadPath
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Rules, denied_by
from tools.approval.questions import Approver
from tools.approval.sensitive import why_sensitive
from tools.environments.backends import Begin, Elsewhere
from tools.environments.gated_ports import GatedFileSystem
from tools.errors import ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import FileHistory, FileSystem
from tools.result import ShownText, ToolResult, error, ok

# At the seams of turns: brought there before the first request, and back before the answer.

log = logging.getLogger(__name__)

THERE, BACK = "copy_workspace", "bring_back"
"""How the cards are called."""

_MOST_ASKED, _MOST_LEFT = 500, 5_000
_LEAVE_SECONDS = 10.0
_MOST_NAMED = 20


@contextmanager
def _ending_after(seconds: float) -> Iterator[CancelToken]:
    """A token that is cancelled then."""
    token = CancelToken()
    timer = threading.Timer(seconds, token.cancel)
    timer.daemon = True
    timer.start()
    try:
        yield token
    finally:
        timer.cancel()


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
            changes, words = self.copy.changes(token, _MOST_ASKED)
            self._say(ears, words)
            if changes:
                self._bring(changes, approvals, disk, card, turn_id=turn_id, token=token)
        except ToolInterrupted:
            card.end(error("Cancelled. What was not brought back comes with the end of a later turn."))
            raise
        except (ToolError, OSError) as problem:
            card.end(error(str(problem)))
            lost = f"What was changed on {self.copy.where} was not brought back: {problem}"
            self._say(ears, [self.copy.lost() if isinstance(problem, PlaceGone) else lost])

    def leave(self) -> None:
        """The session ends, and nobody can be asked: what was not brought back is kept as patches. Never raises."""
        with self._lock:
            is_left, self._is_left = self._is_left, True
        if is_left:
            return
        if self.outlives or not self.copy.is_made:
            self.copy.let_go()
            return
        try:
            if self.both:
                with _ending_after(_LEAVE_SECONDS) as token:
                    self._keep_rest(token)
        except Exception as problem:
            log.exception("what was changed on %s is not kept", self.copy.where)
            why = str(problem) or "it took too long"
            title = f"What was changed on {self.copy.where} and not brought back is lost with it"
            self.tell_later(news_of(title, f"{title}: {why}"))
        finally:
            self.copy.forget()

    def _keep_rest(self, token: CancelToken) -> None:
        changes, words = self.copy.changes(token, _MOST_LEFT)
        if (news := kept_news(self.copy, changes, words, "the session ended before")) is not None:
            self.tell_later(news)

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

        def gate_of(rules: Rules, approver: Approver) -> Gate:
            return Gate(
                session.for_another(session.asker, rules=rules, approver=approver),
                card.call_id,
                token,
                lambda _: None,
                on_note=lambda text: card.say(f"[{text}]\n"),
                history=lambda: self.history(turn_id, card.call_id),
            )

        gate = gate_of(self.rules, AgreedAlready(session.approver, self._is_agreed))
        files = GatedFileSystem(disk, gate)
        done = bring_back(self.copy, changes, files)
        words = [f"{word}." for word in done.words[:_MOST_NAMED]]
        if len(done.words) > _MOST_NAMED:
            words.append(f"And {len(done.words) - _MOST_NAMED} more.")
        if done.kept:
            words.append(str(keep_aside(self.copy, done.kept)))
            self.copy.keep_apart(done.kept)
        if done.executable and not done.is_cut:
            try:
                words.append(
                    make_executable(self.copy, done.executable, gate_of(rules_for(self.rules), session.approver))
                )
            except ToolInterrupted:
                done.is_cut = True
                words.append(not_executable(done.executable))
        words = [word for word in words if word]
        self._say(card.callbacks, words)
        if done.is_cut:
            raise ToolInterrupted
        text = f"{done.number} of {len(changes)} changed files were brought back."
        shown = ShownText("\n".join((text, *words)))
        result = ok({"brought": sorted((*done.brought, *done.removed)), "words": words}, *done.diffs, shown)
        card.end(result if done.number or not done.kept else ToolResult(result.text, result.shown, failed=True))

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


# Copies of processes that were killed: before their places are removed, what was not brought back is saved.

_MOST_SAVED = 5_000
_SECONDS, _LOOK_SECONDS = 30.0, 0.1
_WHY = "its agent's process died"


@dataclass(frozen=True, slots=True)
class RescueOfCopies:
    """Implements `tools.environments.backends.Rescue`.

    Attributes:
        directory: where the states of copies are.
        tell: stores news for a session.
        patience: seconds that a process which has a copy is waited for.
    """

    directory: Path
    tell: Callable[[str, News], None]
    patience: float = 20.0

    def is_wanted(self, where: str) -> bool:
        """Whether there may be something to save on a machine of that name."""
        return any(self._left(where))

    def save(self, where: str, begin: Begin) -> None:
        """Keep what was not brought back as patches. Blocks for half a minute at most; never raises."""
        try:
            with _ending_after(_SECONDS) as token:
                for store, state in self._left(where):
                    self._save_one(store, state, begin, token)
        except Exception:
            log.exception("what a killed process has left on %s is not saved", where)

    def _save_one(self, store: Store, state: State, begin: Begin, token: CancelToken) -> None:
        place = Place(Path(state.root), state.id, state.where, begin)
        try:
            place.check(token)
        except PlaceGone:
            return  # it is another one's
        if not self._held(store, token):
            return
        try:
            if not store.load().is_whole:
                return  # another process has saved it meanwhile
            copy = FarCopy(Path(state.top), place, store, lambda _: False)
            changes, words = copy.changes(token, _MOST_SAVED) if state.both else ((), ())
            if (news := kept_news(copy, changes, words, _WHY)) is not None:
                self.tell(state.session, news)
            store.forget()
        finally:
            store.let_go()

    def _held(self, store: Store, token: CancelToken) -> bool:
        """Whether it is ours to save: who has it may be saving it as well, and is waited for."""
        until = time.monotonic() + self.patience
        while not (is_held := store.hold()) and time.monotonic() < until:
            token.wait_for(lambda: False, _LOOK_SECONDS)
        return is_held

    def _left(self, where: str) -> Iterator[tuple[Store, State]]:
        for store in states_in(self.directory):
            state = store.load()
            if state.is_whole and state.where == where:
                yield store, state


# How it is made, as the user's settings want it.

NOTHING_THERE = (
    "Nothing of the project is on {where}, and nothing comes back from it: terminal.sync in your config.yaml changes "
    "that (in: the workspace is copied there; both: changes come back, too, as edits that you are asked about)."
)
NOT_COPIED = "terminal.sync has no effect with terminal.backend: {backend}, whose files are {where}'s own, or yours."


def session_copy(
    settings: TerminalPart,
    elsewhere: Elsewhere,
    session_id: str,
    roots: tuple[Path, ...],
    rules: Rules,
    *,
    history: Callable[[str, str], FileHistory],
    tell_later: Callable[[News], None],
    variables: Mapping[str, str] = os.environ,
) -> SessionCopy | None:
    """The copy, not made yet; None where there is to be none.

    Args:
        roots: the session's directories here, its working directory first.
        rules: those of the place.
        history: keeps what files here were, for a turn and a call.
        tell_later: the next who loads the session shall know.
    """
    begin = elsewhere.begin
    if begin is None or settings.sync == "off" or not session_id:
        return None
    here = replace(rules, roots=tuple(Path(os.path.realpath(root)) for root in roots), is_elsewhere=False)
    directory = copies_elsewhere(variables)
    tidy_states(directory)
    root = elsewhere.real_roots[0]

    def may_read(path: Path) -> bool:
        if path in here.closed or why_sensitive(path, here.private):
            return False
        return denied_by(ReadPath(path), here.deny, here.roots) is None

    copy = FarCopy(
        here.roots[0],
        Place(root, "", elsewhere.where, begin),
        Store(directory / _file_name(session_id)),
        may_read,
        Limits(settings.sync_files, settings.sync_megabytes * MEGABYTE),
        like=State(root=str(root), session=session_id, both=settings.sync == "both"),
    )
    return SessionCopy(copy, here, history, root, settings.sync == "both", elsewhere.outlives, tell_later)


def rescue_of_copies(tell: Callable[[str, News], None], variables: Mapping[str, str] = os.environ) -> RescueOfCopies:
    """Who saves what killed processes have left; `tell` stores news for a session."""
    return RescueOfCopies(copies_elsewhere(variables), tell)


def with_words(elsewhere: Elsewhere, settings: TerminalPart) -> Elsewhere:
    """The place, with what the person is told of its files at first."""
    if elsewhere.shared or elsewhere.begin is None:
        words = NOT_COPIED.format(backend=elsewhere.backend, where=elsewhere.where) if settings.sync != "off" else ""
    else:
        words = NOTHING_THERE.format(where=elsewhere.where) if settings.sync == "off" else ""
    return replace(elsewhere, note=" ".join(filter(None, (elsewhere.note, words)))) if words else elsewhere


def copies_elsewhere(variables: Mapping[str, str]) -> Path:
    """Where it is kept what was copied, and what was not brought back."""
    return user_cache(variables) / "elsewhere"


def _file_name(session_id: str) -> str:
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
