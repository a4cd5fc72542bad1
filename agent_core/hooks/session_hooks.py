"""A session's hooks at the seams of its turns. Where there are none, a seam costs a look into an empty dictionary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_core.errors import HookRefused
from agent_core.hooks.asking import HookAsker, HookedSession, HookSet
from agent_core.hooks.call_hooks import CallHooks, CallsUnderWay
from agent_core.settings.hooks import HookName
from tools.ports import Interrupt


class SessionHooks:
    """The hooks of one session, or of one sub-agent in it.

    Attributes:
        calls: those around tool calls.
    """

    def __init__(self, session: HookedSession | None = None, find: Callable[[], HookSet] = HookSet) -> None:
        """Make it; nothing is looked for before `renew`.

        Args:
            find: the hooks as they are now; may block.
        """
        self._session = session or HookedSession()
        self._find = find
        self._asker = HookAsker(self._session)
        self._under_way = CallsUnderWay()
        self.calls = CallHooks(self._asker, self._under_way)
        self._is_subagent = False
        self._begun = False
        self._continued = 0

    def for_subagent(self, cwd: Path | None = None) -> SessionHooks:
        """The same hooks for an agent that works for the session's: its end is a `subagent_stop`, and it has no
        prompts and no session of its own.

        Args:
            cwd: where it works; None: where the session does.
        """
        other = SessionHooks(replace(self._session, cwd=cwd or self._session.cwd), self._find)
        other._asker.use(self._asker.limits)
        other._asker.tell = self._asker.tell
        other._under_way, other._is_subagent = self._under_way, True
        other.calls = CallHooks(other._asker, self._under_way)
        return other

    def has(self, event: HookName) -> bool:
        """Whether any hook hears of it."""
        return self._asker.has(event)

    def begin_turn(self, tell: Callable[[str], None] | None = None) -> None:
        """Look for the hooks that count in the turn that begins. May block.

        Args:
            tell: is told, in this turn, what the person should know.
        """
        self._asker.tell = tell or self._asker.tell
        self._asker.ends, self._continued = None, 0
        if not self._is_subagent:
            self._asker.use(self._find())

    def end_turn(self) -> None:
        """The turn is over: what comes now goes to the log. Its listener would keep the turn."""
        self._asker.tell_log()

    def begin_session(self, facts: Mapping[str, Any], interrupt: Interrupt) -> str:
        """The session's first turn in this process: what the model is told beside its prompt.

        Raises:
            ToolInterrupted: the turn is over.
        """
        if self._begun or self._is_subagent:
            return ""
        self._begun = True
        found = self._asker.asked("session_start", facts, interrupt)
        for hook, verdict in found:
            if verdict.refusal:
                self._asker.tell(f"{hook.source}: {verdict.refusal}")
        return "\n\n".join(verdict.context for _, verdict in found if verdict.context)

    def end_session(self, reason: str) -> None:
        """The session is closed or let go of, if it has begun. Blocks as long as its hooks do."""
        if self._begun:
            self._begun = False
            self._asker.asked("session_end", {"reason": reason}, None)

    def prompt(self, text: str, facts: Mapping[str, Any], interrupt: Interrupt, *, strictly: bool = False) -> str:
        """What the model is told beside a prompt.

        Args:
            strictly: a hook that fails refuses it.

        Raises:
            HookRefused: it must not reach the model. ToolInterrupted: the turn is over.
        """
        if self._is_subagent or not self.has("prompt"):
            return ""
        refused = "{source} refuses this prompt: {why}. Nothing was sent to the model."
        return self._allowed("prompt", {"prompt": text, **facts}, interrupt, refused, strictly=strictly)

    def before_model(self, facts: Mapping[str, Any], interrupt: Interrupt) -> None:
        """A model is about to be asked.

        Raises:
            HookRefused: it must not be. ToolInterrupted: the turn is over.
        """
        if self.has("pre_model_call"):
            refused = "{source} does not let the model be asked: {why}. The turn ended there."
            self._allowed("pre_model_call", facts, interrupt, refused)

    def after_model(self, facts: Mapping[str, Any], interrupt: Interrupt) -> None:
        """A model has answered.

        Raises:
            ToolInterrupted: the turn is over.
        """
        self._asker.asked("post_model_call", facts, interrupt)

    def before_compression(self, *, by_person: bool = False, topic: str = "") -> None:
        """The conversation is about to be compressed.

        Args:
            by_person: because the person said so, which may be before the session's first turn.
            topic: what is kept above all; '' for nothing.
        """
        if by_person and not self._is_subagent:
            self._asker.use(self._find())
        self._asker.asked("pre_compact", {"trigger": "manual" if by_person else "auto", "topic": topic}, None)

    def must_go_on(self, answer: str, interrupt: Interrupt) -> str:
        """What the model, which wants to end with `answer`, is to do first; '' for nothing.

        Raises:
            ToolInterrupted: the turn is over.
        """
        event: HookName = "subagent_stop" if self._is_subagent else "stop"
        if not self.has(event) or self._asker.ends is not None:
            return ""
        facts = {"answer": answer, "stop_hook_active": self._continued > 0}
        asked = self._asker.asked(event, facts, interrupt)
        found = [(hook, verdict.refusal) for hook, verdict in asked if verdict.refusal]
        if not found or self._asker.ends is not None:
            return ""
        if self._continued >= self._asker.limits.continues:
            self._asker.tell(
                f"{found[0][0].source} wants the model to go on once more. It has done so {self._continued} times in "
                "this turn, which is as often as hooks.max_continues lets it."
            )
            return ""
        self._continued += 1
        return "\n\n".join(f"[Not from the user. {hook.source} says:]\n{words}" for hook, words in found)

    @property
    def ended(self) -> str | None:
        """Why a hook wants the running turn to end; None where none does."""
        return self._asker.ends

    def _allowed(
        self,
        event: HookName,
        facts: Mapping[str, Any],
        interrupt: Interrupt,
        refused: str,
        *,
        strictly: bool = False,
    ) -> str:
        said: list[str] = []
        for hook, verdict in self._asker.asked(event, facts, interrupt, strictly=strictly):
            if verdict.refusal or verdict.ends is not None:
                why = verdict.refusal or verdict.ends or "it does not say why"
                self._asker.ends = None  # it is said with this
                raise HookRefused(refused.format(source=hook.source, why=why.rstrip(".")))
            if verdict.context:
                said.append(verdict.context)
        return "\n\n".join(said)
