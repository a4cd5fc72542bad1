"""One question for each command, host and port, however many connections wait for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import field

from tools.environments.sandbox_network.gone import NobodyWaits
from tools.environments.sandbox_network.port import HostGate
from tools.errors import ToolError, ToolInterrupted
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """A host and port that a command wants to reach. `inside` as in `HostGate.may_connect`."""

    command: int
    host: str
    port: int
    inside: str = ""

    @property
    def shown(self) -> str:
        """As «example.org:443»."""
        return shown_place(self.host, self.port)


@dataclass(slots=True)
class _Question:
    answer: Future[bool] = field(default_factory=Future)
    gone: NobodyWaits = field(default_factory=NobodyWaits)
    waiting: int = 0


class Desk:
    """Has the answers of a session's commands; safe to use from several threads."""

    def __init__(self, gate: HostGate) -> None:
        self._gate = gate
        self._lock = threading.Lock()
        self._questions: dict[Place, _Question] = {}
        self._is_closed = False

    @contextmanager
    def asked(self, place: Place) -> Iterator[Future[bool]]:
        """The answer for `place`, to be waited for in here; when the last one has left, the question is withdrawn."""
        with self._lock:
            question = self._questions.get(place)
            is_new = question is None
            if question is None:
                question = self._questions[place] = _Question()
                question.answer.set_running_or_notify_cancel()  # from here on no waiter can cancel it for the others
            question.waiting += 1
            if self._is_closed and is_new:
                question.answer.set_result(False)
                is_new = False
        if is_new:
            threading.Thread(target=self._ask, args=(place, question), name="host-question", daemon=True).start()
        try:
            yield question.answer
        finally:
            self._leave(place, question)

    def reached(self) -> None:
        """A host was reached that nobody is asked about."""
        self._gate.reached()

    def forget(self, command: int, *, refused_only: bool = False) -> None:
        """The command has ended: another one asks anew. With `refused_only` only where the answer was no."""
        with self._lock:
            for place, question in list(self._questions.items()):
                if place.command != command or not question.answer.done():
                    continue
                if not refused_only or not question.answer.result():
                    del self._questions[place]

    def close(self) -> None:
        """Every question is withdrawn, and every later one answered with no."""
        with self._lock:
            self._is_closed = True
            questions = list(self._questions.values())
        for question in questions:
            question.gone.set()

    def _leave(self, place: Place, question: _Question) -> None:
        with self._lock:
            question.waiting -= 1
            is_last = question.waiting == 0 and not question.answer.done()
            if is_last and self._questions.get(place) is question:
                del self._questions[place]
        if is_last:
            question.gone.set()

    def _ask(self, place: Place, question: _Question) -> None:
        is_allowed = False
        try:
            is_allowed = self._gate.may_connect(place.host, place.port, question.gone, place.inside) is True
        except (ToolError, ToolInterrupted):
            pass  # no is an answer, and so is the end of the turn
        except Exception:  # whatever is wrong with the question, the program must not wait for ever
            log.exception("asking whether %s may be reached", place.shown)
        finally:
            question.answer.set_result(is_allowed and not question.gone.is_set())


def shown_place(host: str, port: int) -> str:
    """As «example.org:443», «[::1]:80»."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
