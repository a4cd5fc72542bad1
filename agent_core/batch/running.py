"""One prompt of a batch, run in a worker: everything it needs comes with the call, everything it gives is returned.

So any executor of `concurrent.futures`' kind can run it: processes here, or a cluster's.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import signal
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import field
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.batch.batch import Item, Outcome, Status
from agent_core.cancel import CancelToken
from agent_core.config import ConfigSource, Overrides
from agent_core.errors import HermesError
from agent_core.home import Home
from tools.light_dataclass import dataclass

# What an agent is made of is loaded where one runs: whoever hands the items out needs none of it.
if TYPE_CHECKING:
    from agent_core.batch.trajectories import Run
    from agent_core.factory import AgentFactory
    from agent_core.turn import ConversationResult
    from tools.approval.policy import Mode

log = logging.getLogger(__name__)

_UNEXPECTED = "Something went wrong inside the agent; its log has the details."


@dataclass(frozen=True, slots=True)
class Plan:
    """How all items of a batch are run.

    Attributes:
        home: the user's, with settings and sessions.
        directory: where items without a directory get one of their own, below.
        mode: the permission mode. There is nobody to ask: what it would ask about is refused.
        timeout: seconds for one item; None is no limit.
    """

    home: Path
    directory: Path
    overrides: Overrides = field(default_factory=Overrides)
    mode: Mode = "default"
    timeout: float | None = None


class _Kept:
    """Takes the run of the item's only turn."""

    def __init__(self) -> None:
        self.run: Run | None = None

    def add(self, run: Run) -> None:
        """Keep it."""
        self.run = run


def run_item(item: Item, plan: Plan) -> Outcome:
    """Run one item to its end; it does not raise, whatever goes wrong."""
    from agent_core.batch.trajectories import line_of  # noqa: PLC0415

    began, kept = time.time(), _Kept()
    session_id, cwd = uuid.uuid4().hex, item.cwd or plan.directory / "work" / item.id
    answer, stop, error, result = "", "", "", None
    token, limit = CancelToken(), _TimeLimit(plan.timeout)
    try:
        cwd.mkdir(parents=True, exist_ok=True)
        with limit.on(token), _interrupts(token):
            result = _converse(item, plan, cwd, session_id=session_id, token=token, kept=kept)
        answer, stop = result["final_response"], result["stop_reason"]
    except HermesError as problem:
        error = problem.public
    except OSError as problem:
        error = f"{cwd} could not be made: {problem}."
    except Exception:  # one item must never end the others
        log.exception("item %s failed", item.id)
        error = _UNEXPECTED
    run, redact = kept.run, _factories().of(plan)[1].redactor()
    return Outcome(
        id=item.id,
        digest=item.digest,
        status=_status(stop, limit.is_over),
        answer=redact(answer),
        stop_reason=stop,
        error=redact(error),
        session_id=session_id if run else "",
        cwd=str(cwd),
        model=run.model if run else item.model,
        seconds=round(time.time() - began, 3),
        api_calls=run.api_calls if run else 0,
        input_tokens=run.usage["input_tokens"] if run else 0,
        output_tokens=run.usage["output_tokens"] if run else 0,
        cost=run.cost if run else None,
        finished_at=time.time(),
        more=item.more,
        trajectory=line_of(run, redact).decode() if run else "",
    )


def _status(stop: str, timed_out: bool) -> Status:
    match stop:
        case "end_turn":
            return "completed"
        case "":
            return "failed"
        case "cancelled":
            return "timed_out" if timed_out else "cancelled"
    return "stopped"


def _converse(
    item: Item, plan: Plan, cwd: Path, *, session_id: str, token: CancelToken, kept: _Kept
) -> ConversationResult:
    from agent_core.providers.available_models import resolve_chosen  # noqa: PLC0415
    from agent_core.settings.options import SessionChoices  # noqa: PLC0415

    config, factory = _factories().of(plan)
    if item.model:
        resolve_chosen(config.load(), item.model)  # one that cannot be used must not become another
    choices = SessionChoices(mode=plan.mode, model=item.model)
    workspace = factory.workspace(cwd, (), choices, session_id)
    services = factory.services(session_id, workspace)
    services.memory = None  # runs that know of each other by what they remember could not be compared
    agent = factory.agent(session_id, workspace, services, choices, trajectories=kept)
    try:
        factory.sessions.archive.archive(session_id, archived=True)
        return agent.run_conversation(item.prompt, token=token)
    finally:
        agent.close()
        factory.sessions.unload(session_id)


class _TimeLimit:
    """Cancels a token when its seconds are over."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self.is_over = False

    @contextlib.contextmanager
    def on(self, token: CancelToken) -> Iterator[None]:
        if self._seconds is None:
            yield
            return
        timer = threading.Timer(self._seconds, self._end, (token,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self, token: CancelToken) -> None:
        self.is_over = not token.is_set()
        token.cancel()


@contextlib.contextmanager
def _interrupts(token: CancelToken) -> Iterator[None]:
    """Ctrl-C cancels the item, where the worker has a thread that hears of it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def cancel(_number: int, _frame: object) -> None:
        # Not here: the thread that was interrupted may hold the token's lock.
        threading.Thread(target=token.cancel).start()

    before = signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Factories:
    """A process's agents share what they can: connections, settings, the database."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[tuple[Path, Overrides], tuple[ConfigSource, AgentFactory]] = {}
        Finalize(None, self.close, exitpriority=10)  # a worker process runs no other exit handlers

    def of(self, plan: Plan) -> tuple[ConfigSource, AgentFactory]:
        """The settings and the factory of a plan's home."""
        from agent_core.factory import AgentFactory  # noqa: PLC0415

        key = (plan.home, plan.overrides)
        with self._lock:
            if key not in self._made:
                config = ConfigSource(Home(plan.home), plan.overrides)
                self._made[key] = (config, AgentFactory(config))
            return self._made[key]

    def close(self) -> None:
        """End all of them; the next item makes its own."""
        with self._lock:
            made, self._made = self._made, {}
        for _, factory in made.values():
            factory.close()


@functools.cache
def _factories() -> _Factories:
    return _Factories()


def let_go() -> None:
    """End what the items that this process has run have shared. At the process's end it happens by itself."""
    _factories().close()
