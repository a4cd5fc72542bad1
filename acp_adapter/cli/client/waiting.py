"""`--wait-background`: after the turn, wait for what it has begun in the background and for the turns that follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acp_adapter.cli.client.client import AcpClient, Handler

TASKS = "_hermes/session/tasks"
CAPABILITIES = {"hermes": {"backgroundTurns": True}}
"""What a client says in `_meta` of its capabilities that shows such turns."""

_LOOK_EVERY = 0.5
_UNTIL_A_TURN_BEGINS = 3.0
_SECONDS_TO_ANSWER = 60.0
_LIVE = frozenset({"running", "paused"})


class BackgroundWatch:
    """Hears of turns that no prompt asked for, and passes everything on to `inner`. Implements `Handler`.

    Attributes:
        runs: one runs now.
        stop: why the last one ended; '' if there was none.
    """

    def __init__(self, inner: Handler) -> None:
        self._inner = inner
        self.runs = False
        self.stop = ""

    def on_update(self, update: dict[str, Any], t: float) -> None:
        """Take note of a turn's begin or end."""
        meta = update.get("_meta")
        own = meta.get("hermes") if isinstance(meta, dict) else None
        turn = own.get("backgroundTurn") if isinstance(own, dict) else None
        if isinstance(turn, dict):
            self.runs = turn.get("state") == "running"
            self.stop = self.stop if self.runs else str(turn.get("stopReason", ""))
        self._inner.on_update(update, t)

    def on_permission(self, params: dict[str, Any], t: float) -> str | None:
        """Pass it on."""
        return self._inner.on_permission(params, t)

    def on_stray_line(self, line: str) -> None:
        """Pass it on."""
        self._inner.on_stray_line(line)


def wait_for_background(
    client: AcpClient, session_id: str, watch: BackgroundWatch, is_cancelled: Callable[[], bool]
) -> str:
    """Wait until nothing runs whose end is news, and no turn about such news.

    Args:
        is_cancelled: the person wants to wait no more; a turn that runs is waited for all the same.

    Returns:
        why the last of those turns ended; '' if there was none.

    Raises:
        AgentRefused, AgentDied, AgentSilent: as `AcpClient.request`.
    """
    while True:
        client.listen(lambda: not watch.runs)
        if is_cancelled():
            return watch.stop
        told = client.request(TASKS, {"sessionId": session_id}, _SECONDS_TO_ANSWER)
        if watch.runs:
            continue
        if any(task.get("tells") and task.get("state") in _LIVE for task in told.get("tasks", ())):
            client.listen(lambda: watch.runs or is_cancelled(), _LOOK_EVERY)
        elif told.get("waiting") and client.listen(lambda: watch.runs or is_cancelled(), _UNTIL_A_TURN_BEGINS):
            continue
        else:
            return watch.stop
