"""The `--json` view of a conversation: every frame as a line on stdout, and nothing else there."""

from __future__ import annotations

import json
import sys
from typing import Any, Literal

from acp_adapter.cli.client.approve import Approver
from acp_adapter.cli.terminal.safe_text import one_line

_MOST_TOLD = 200


class Frames:
    """Prints frames as the client's trace, and answers questions as its `Handler`."""

    def __init__(self, approver: Approver) -> None:
        self._approver = approver

    def trace(self, direction: Literal["in", "out"], t: float, frame: dict[str, Any]) -> None:
        """Print one frame, with the seconds since the agent's start."""
        print(json.dumps({"dir": direction, "t": round(t, 6), "frame": frame}), flush=True)

    def on_update(self, update: dict[str, Any], t: float) -> None:  # noqa: ARG002 - the Handler's signature
        """Only remember it; the trace has shown it."""
        self._approver.see(update)

    def on_permission(self, params: dict[str, Any], t: float) -> str | None:  # noqa: ARG002 - as above
        """Have the question answered."""
        return self._approver.decide(params).option_id

    def on_stray_line(self, line: str) -> None:
        """Tell stderr that the agent wrote something that is no message."""
        told = one_line(line)[:_MOST_TOLD]
        print(f"hermes-acp prompt: the agent wrote a line that is no message: {told}", file=sys.stderr)

    def note(self, text: str) -> None:
        """Nothing: the frames say it all."""

    def mode_is(self, mode: str) -> None:
        """Nothing: the frames say it all."""

    def awaits(self, words: str, t: float) -> None:
        """Nothing: the frames say it all."""

    def end_line(self) -> None:
        """Nothing: each frame is a line."""
