"""Asks the hooks of a session, and keeps what goes wrong with one from everything else."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agent_core.hooks.bounded import in_background
from agent_core.hooks.hook import NOTHING, Hook, HookCall, HookFailed, Verdict
from agent_core.settings.hooks import HookName
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

log = logging.getLogger(__name__)

CONTINUES = 3


@dataclass(frozen=True, slots=True)
class HookSet:
    """The hooks that count now.

    Attributes:
        hooks: in the order in which they are asked.
        may_allow: a yes of theirs stands for the person's.
        continues: how often in one turn they may send the model on that wants to end.
    """

    hooks: tuple[Hook, ...] = ()
    may_allow: bool = False
    continues: int = CONTINUES


@dataclass(frozen=True, slots=True)
class HookedSession:
    """Whose hooks they are.

    Attributes:
        mode: its permission mode.
        tell_later: is given what a hook in the background has to say to the model: whose it is, and the text.
        transcript: the path of a file with the conversation as it is now; '' where there is none.
    """

    id: str = ""
    cwd: Path = Path("/")
    mode: Callable[[], str] = str
    tell_later: Callable[[str, str], None] | None = None
    transcript: Callable[[], str] = str


class HookAsker:
    """Asks hooks. Where an event has none, that is known from a look into a dictionary.

    Attributes:
        tell: is told what the person should know.
        ends: why a hook wants the turn to end; None where none does.
    """

    def __init__(self, session: HookedSession) -> None:
        self.tell: Callable[[str], None] = log.warning
        self.ends: str | None = None
        self._session = session
        self._set = HookSet()
        self._by_event: dict[HookName, tuple[Hook, ...]] = {}

    def tell_log(self) -> None:
        """Nobody hears what the person should know: it goes to the log."""
        self.tell = log.warning

    @property
    def limits(self) -> HookSet:
        """What the hooks may do."""
        return self._set

    def use(self, found: HookSet) -> None:
        """Ask these from now on."""
        by_event: dict[HookName, tuple[Hook, ...]] = {}
        for hook in found.hooks:
            by_event[hook.event] = (*by_event.get(hook.event, ()), hook)
        self._set, self._by_event = found, by_event

    def has(self, event: HookName) -> bool:
        """Whether any hook hears of it."""
        return event in self._by_event

    def hooks(self, event: HookName) -> tuple[Hook, ...]:
        """Those that hear of it, in order."""
        return self._by_event.get(event, ())

    def asked(
        self, event: HookName, facts: Mapping[str, Any], interrupt: Interrupt | None, *, strictly: bool = False
    ) -> list[tuple[Hook, Verdict]]:
        """What each hook of the event wants; arguments as of `answer`.

        Raises:
            ToolInterrupted: the turn is over.
        """
        hooks = self.hooks(event)
        return [(hook, self.answer(hook, event, facts, interrupt, strictly=strictly)) for hook in hooks]

    def answer(
        self,
        hook: Hook,
        event: HookName,
        facts: Mapping[str, Any],
        interrupt: Interrupt | None,
        *,
        strictly: bool = False,
    ) -> Verdict:
        """What one hook wants; nothing, where it hears of other things only, or failed and need not be asked.

        Args:
            strictly: each has to be asked, whatever is set: one that fails refuses.

        Raises:
            ToolInterrupted: the turn is over.
        """
        session = self._session
        call = HookCall(event, session.id, session.cwd, session.mode(), facts, session.transcript)
        if not hook.matches(call):
            return NOTHING
        if hook.in_background:
            in_background(lambda: self._hear_later(hook, call), hook.source)
            return NOTHING
        began = time.monotonic()
        try:
            verdict = hook.run(call, interrupt)
        except HookFailed as problem:
            self.tell(f"{hook.source} {problem} (at {call.event}).")
            if not (strictly or hook.refuses_when_failing):
                return NOTHING
            return Verdict(refusal=f"It has to be asked first, and {problem}. Tell the person: it has to be mended.")
        log.debug("%s was asked at %s for %.3f s", hook.source, call.event, time.monotonic() - began)
        if verdict.note:
            self.tell(f"{hook.source}: {verdict.note}")
        if verdict.ends is not None:
            self.ends = verdict.ends or f"{hook.source} ended the turn."
        return verdict

    def may_allow(self, hook: Hook) -> bool:
        """Whether a yes of the hook's stands for the person's."""
        if not self._set.may_allow:
            log.info("%s says yes in the person's place, which hooks.may_allow does not let it", hook.source)
        return self._set.may_allow

    def _hear_later(self, hook: Hook, call: HookCall) -> None:
        try:
            verdict = hook.run(call, None)
        except (HookFailed, ToolInterrupted) as problem:
            log.warning("%s %s (in the background, at %s)", hook.source, problem, call.event)
            return
        if (said := verdict.refusal or verdict.context) and self._session.tell_later is not None:
            self._session.tell_later(hook.source, said)
