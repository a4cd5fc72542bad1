"""The line under the transcript that says what goes on, and for how long."""

from __future__ import annotations

from typing import Any

from acp_adapter.cli.terminal.columns import clipped
from acp_adapter.cli.terminal.safe_text import one_line
from acp_adapter.cli.terminal.style import Style

_TURNS = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")
_TURNS_A_SECOND = 8
_OVER = frozenset({"completed", "failed"})
_LEAST_WORDS = 6
_UNKNOWN_WIDTH = 80
_MINUTE = 60


class Progress:
    """Follows what the agent tells, and puts it into a few words. It prints nothing."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._words = ""
        self._since = 0.0
        self._running: dict[str, tuple[str, float]] = {}
        self._titles: dict[str, str] = {}
        self._plan = ""

    def begin(self, words: str, t: float) -> None:
        """From `t` on the agent is awaited: `words` say it while nothing else is known; '' ends it."""
        self._words, self._since = words, t
        self._running.clear()
        self._titles.clear()

    def see(self, update: dict[str, Any], t: float) -> None:
        """Take note of what the agent told at `t`."""
        match update.get("sessionUpdate"):
            case "tool_call" | "tool_call_update":
                self._see_call(update, t)
            case "plan":
                entries = update.get("entries")
                steps = [step for step in entries if isinstance(step, dict)] if isinstance(entries, list) else []
                done = sum(step.get("status") == "completed" for step in steps)
                self._plan = f"plan {done}/{len(steps)}" if done < len(steps) else ""
            case "usage_update" | "session_info_update":
                return
        self._since = t

    def line(self, t: float) -> str:
        """What goes on at `t`, in one line of the window; '' where nothing is awaited."""
        if not self._words:
            return ""
        words, since = self._words, self._since
        if self._running:
            words, since = list(self._running.values())[-1]
            words = words if len(self._running) == 1 else f"{words} and {len(self._running) - 1} more"
        turns = _TURNS[0 if self._style.signs else 1]
        facts = "  ".join(part for part in (_length(t - since), self._plan) if part)
        # A line that takes two rows could not be taken away again: a window too narrow for it has none.
        room = (self._style.width or _UNKNOWN_WIDTH) - 1 - len("  x ") - len("  ") - len(facts)
        if room < _LEAST_WORDS:
            return ""
        sign = turns[int(t * _TURNS_A_SECOND) % len(turns)]
        paint = self._style.paint
        return f"  {paint(sign, 'cyan')} {clipped(words, room, self._style.sign('more'))}  {paint(facts, 'dim')}"

    def _see_call(self, update: dict[str, Any], t: float) -> None:
        call_id, status = str(update.get("toolCallId")), str(update.get("status"))
        title = one_line(str(update.get("title") or "")) or self._titles.get(call_id, "")
        self._titles[call_id] = title
        if status in _OVER:
            self._running.pop(call_id, None)
        elif call_id in self._running:
            self._running[call_id] = (title, self._running[call_id][1])
        elif status == "in_progress":
            self._running[call_id] = (title, t)


def _length(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole} s" if whole < _MINUTE else f"{whole // _MINUTE} min {whole % _MINUTE} s"
