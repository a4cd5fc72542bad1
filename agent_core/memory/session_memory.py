"""What one session has of memory: the block of its prompt, the files for the tool, and the provider."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import field

from agent_core.interrupt import CancelToken
from agent_core.memory.block import Snapshot, snapshot_of
from agent_core.memory.fencing import RecallBlocked, fenced
from agent_core.memory.hosting import ProviderHost
from agent_core.memory.store import MemoryStore
from agent_core.messages import Message
from tools.light_dataclass import dataclass
from tools.memory_port import Memory
from tools.registry import ToolEntry

_TOOLS_SECONDS = 5.0
_FLUSH_SECONDS = 2.0
_END_SECONDS = 3.0


@dataclass(slots=True)
class Recall:
    """A prompt's recall, under way. `is_late`: the prompt has gone on without it."""

    future: Future[str]
    is_late: bool = False

    def wait(self, token: CancelToken, seconds: float) -> str | None:
        """What was recalled; None where it is not there after `seconds`, or the turn was cancelled."""
        self.future.add_done_callback(lambda _: token.notify())
        token.wait_for(self.future.done, seconds)
        self.is_late = not self.future.done() and not token.is_set()
        return self.future.result() if self.future.done() else None


class SessionMemory:
    """The memory of one session. The snapshot is taken once and stays as it was, unless an undo takes some of it."""

    def __init__(
        self,
        store: MemoryStore,
        host: Callable[[Callable[[str], None]], ProviderHost | None] = lambda _: None,
        *,
        recall_seconds: float = 1.0,
        read_only: bool = False,
    ) -> None:
        """Make it; nothing is read or started yet.

        Args:
            host: starts the provider, which tells its troubles to whom it is given; None where there is none.
            recall_seconds: how long a prompt waits for what the provider recalls.
            read_only: for who works for a session (sub-agents): sees the block, and changes nothing.
        """
        self.store = store
        self.is_read_only = read_only
        self._start = host
        self._recall_seconds = recall_seconds
        self._snapshot: Snapshot | None = None
        self._is_warned = False
        self._provider = _Provider()
        self._lock = threading.RLock()

    def block(self) -> str:
        """What the system prompt says of what is remembered; the same bytes until `renew`."""
        return self._frozen().text

    def renew(self) -> None:
        """Look at the files again for the next block: what it said was taken back."""
        with self._lock:
            self._snapshot = None

    def notes(self) -> Memory | None:
        """The files, for the tool; None where they must not be changed."""
        return None if self.is_read_only or not self.store.targets() else self.store

    def snapshot_only(self) -> SessionMemory:
        """The same block for somebody who works for this session; it changes nothing and reaches no provider."""
        made = SessionMemory(self.store, read_only=True)
        made._snapshot = self._frozen()
        return made

    def tools(self) -> Sequence[ToolEntry]:
        """The tools that the provider adds, the same all session long. Blocks for seconds at the first call."""
        with self._lock:
            if self._provider.tools is None:
                host = self._host()
                self._provider.tools = () if host is None else tuple(host.tools(_TOOLS_SECONDS))
            return self._provider.tools

    def begin_turn(self, prompt: str) -> None:
        """Let the provider recall what belongs to the prompt, in the background."""
        host = self._host()
        if host is None or not prompt.strip():
            return
        with self._lock:
            before = self._provider.recall
            if before is not None and before.future.done():
                self._provider.late = before.future.result()
            elif before is not None and before.is_late:
                host.note_late()
            self._provider.recall = Recall(host.prefetch(prompt))

    def recalled(self, token: CancelToken) -> str:
        """What the model is told beside the prompt; what came too late for the last prompt comes with this one."""
        with self._lock:
            recall, late = self._provider.recall, self._provider.late
            self._provider.late = ""
        if recall is None:
            return ""
        found = recall.wait(token, self._recall_seconds)
        if found is not None:
            with self._lock:
                self._provider.recall = None
        texts = dict.fromkeys(text.strip() for text in (late, found or "") if text.strip())
        try:
            return fenced("\n\n".join(texts))
        except RecallBlocked as problem:
            self._tell(f"What the memory provider recalled is kept from the model, because {problem}.")
            return ""

    def end_turn(self, user: str, assistant: str) -> None:
        """Tell the provider of a turn, in the background."""
        host = self._provider.host
        if host is not None and user.strip() and assistant.strip():
            host.sync_turn(user, assistant)

    def flush(self, messages: Sequence[Message] = ()) -> None:  # noqa: ARG002 - for whoever reviews them one day
        """Before a compression: nothing that was to be remembered is pending afterwards, or not for want of time.

        The files are: each batch is written when it is made.
        """
        host = self._provider.host
        if host is not None:
            host.flush(_FLUSH_SECONDS)

    def end(self, seconds: float = _END_SECONDS) -> None:
        """The session is closed or unloaded: the provider commits. Blocks for `seconds` at most."""
        with self._lock:
            host, self._provider = self._provider.host, _Provider(is_over=True)
        if host is not None:
            host.end(seconds)

    def warnings(self) -> tuple[str, ...]:
        """What the person should know, each told once."""
        with self._lock:
            first = () if self._is_warned else self._frozen().warnings
            self._is_warned = True
            told, self._provider.troubles = tuple(self._provider.troubles), []
        return (*first, *told)

    def _frozen(self) -> Snapshot:
        with self._lock:
            if self._snapshot is None:
                self._snapshot = snapshot_of(self.store)
            return self._snapshot

    def _host(self) -> ProviderHost | None:
        with self._lock:
            if not self._provider.is_started and not self._provider.is_over:
                self._provider.is_started = True
                self._provider.host = self._start(self._tell)
            return self._provider.host

    def _tell(self, trouble: str) -> None:
        self._provider.troubles.append(trouble)


@dataclass(slots=True)
class _Provider:
    host: ProviderHost | None = None
    is_started: bool = False
    is_over: bool = False
    tools: tuple[ToolEntry, ...] | None = None
    recall: Recall | None = None
    late: str = ""
    troubles: list[str] = field(default_factory=list)
