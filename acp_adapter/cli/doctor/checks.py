"""How checks are run: what they look at, all at once, and how those that wait are ended."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from acp_adapter.cli.doctor.report import Finding, failing

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.home import Home
    from tools.redaction import Redact


# What the checks look at, and what ends those that wait.


class Endings:
    """What ends the checks that still wait, from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._calls: list[Callable[[], object]] = []
        self._over = False

    @contextlib.contextmanager
    def by(self, call: Callable[[], object]) -> Iterator[None]:
        """As long as this lasts, `call` ends it; at once where all is over already."""
        with self._changed:
            self._calls.append(call)
            over = self._over
        if over:
            call()
        try:
            yield
        finally:
            with self._changed:
                self._calls.remove(call)
                self._changed.notify_all()

    def end(self, seconds: float) -> None:
        """End whatever waits, and let it tidy up for at most so long."""
        with self._changed:
            self._over = True
            calls = list(self._calls)
        for call in calls:
            with contextlib.suppress(OSError):
                call()
        with self._changed:
            self._changed.wait_for(lambda: not self._calls, seconds)


@dataclass(frozen=True, slots=True)
class Case:
    """What is looked at.

    Attributes:
        user: the person's home directory, where editors keep their settings.
        environ: this process's environment.
        scratch: an empty directory, which is removed afterwards.
        plugins: held while plugins are loaded: two checks do that.
    """

    home: Home
    user: Path
    environ: Mapping[str, str]
    profile: str | None
    scratch: Path
    endings: Endings = field(default_factory=Endings)
    plugins: threading.Lock = field(default_factory=threading.Lock)

    def config(self) -> Configuration | None:
        """The settings; None where they cannot be used, which the check of the settings tells."""
        from agent_core.config import load  # noqa: PLC0415 - loads what settings are made of
        from agent_core.errors import SettingsError  # noqa: PLC0415 - the same

        try:
            return load(self.home, environ=self.environ)
        except SettingsError:
            return None

    def redactor(self) -> Redact:
        """What takes secrets out of what is told: those that look like some, and those of the settings by value."""
        from agent_core.config import teach  # noqa: PLC0415 - as above
        from tools.redaction import Redactor  # noqa: PLC0415 - the same

        redact = Redactor()
        config = self.config()
        if config is not None:
            teach(redact.learn, config)
        return redact


# Runs checks side by side, each with its own limit: a slow one holds up nobody but itself.

Look = Callable[[Case], Iterator[Finding]]
"""A check. It changes nothing that is stored."""

_SECONDS_TO_END = 3.0
_LATE_FIX = "Run it again when less is going on; --quick leaves out what waits for other programs."
_CLOSED_FIX = "Look whose it is, and whether you may read it."
_BROKEN_FIX = "This is a fault of the check itself. Please report it with this line."


@dataclass(frozen=True, slots=True)
class Check:
    """One of the checks.

    Attributes:
        name: as findings and `--json` have it.
        seconds: after so long it is given up.
        waits: for a server or a program; `--quick` leaves it out.
    """

    name: str
    look: Look
    seconds: float = 20.0
    waits: bool = False


@dataclass(slots=True)
class _Running:
    check: Check
    thread: threading.Thread
    done: threading.Event
    begun: float
    found: list[Finding] = field(default_factory=list)


def run_checks(checks: Sequence[Check], case: Case, redact: Redact) -> Iterator[tuple[Finding, ...]]:
    """What each check has found, in the order of the table, as soon as it and those before it are done.

    Ctrl-C while it waits ends them all. So does the caller's end.

    Args:
        redact: takes secrets out of what they have found.
    """
    # Daemons, and no pool: a process does not wait at its end for a check that hangs.
    running: list[_Running] = []
    try:
        running.extend(_started(check, case) for check in checks)
        for each in running:
            yield tuple(_redacted(finding, redact) for finding in _found(each))
    finally:
        case.endings.end(_SECONDS_TO_END)


def _started(check: Check, case: Case) -> _Running:
    done = threading.Event()
    each = _Running(check, threading.Thread(), done, time.monotonic())

    def work() -> None:
        try:
            for finding in check.look(case):
                each.found.append(finding)
        except Exception as problem:  # noqa: BLE001 - one broken check must not hide the others
            each.found.append(_broken(check, problem))
        finally:
            done.set()

    each.thread = threading.Thread(target=work, name=f"doctor-{check.name}", daemon=True)
    each.thread.start()
    return each


def _found(each: _Running) -> tuple[Finding, ...]:
    left = each.begun + each.check.seconds - time.monotonic()
    in_time = each.done.wait(max(0.0, left))
    found = tuple(each.found)
    if in_time:
        return found
    text = f"it was not done after {each.check.seconds:g} s, and was given up"
    return (*found, failing(each.check.name, text, _LATE_FIX))


def _broken(check: Check, problem: Exception) -> Finding:
    if isinstance(problem, OSError):
        what = f"{problem.filename}: " if problem.filename else ""
        return failing(check.name, f"it could not be looked at: {what}{problem.strerror or problem}", _CLOSED_FIX)
    said = str(problem) or "no text"
    return failing(check.name, f"the check failed: {type(problem).__name__}: {said}", _BROKEN_FIX)


def _redacted(finding: Finding, redact: Redact) -> Finding:
    facts = {name: _without_secrets(fact, redact) for name, fact in finding.facts.items()}
    return replace(finding, text=redact(finding.text), fix=redact(finding.fix), facts=facts)


def _without_secrets(fact: object, redact: Redact) -> object:
    if isinstance(fact, str):
        return redact(fact)
    return [_without_secrets(each, redact) for each in fact] if isinstance(fact, list) else fact
