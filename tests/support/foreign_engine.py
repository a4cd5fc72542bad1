"""A context engine by the port, as a plugin might bring one: it keeps the beginning and the end, and no more."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from agent_core.compaction.engine import Compaction, Compressed, CompressionRequest, Summarise, WindowUse
from agent_core.messages import user_message


@dataclass
class ForeignEngine:
    """Compresses beyond a share of the window; an auxiliary model writes all of the summary where it answers.

    Attributes:
        least: messages that a compression replaces.
        tail: messages at the end that stay, at least; they begin with one that is no tool result.
    """

    threshold: float = 0.5
    tail: int = 6
    least: int = 3
    windows: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "foreign"

    def is_due(self, use: WindowUse) -> bool:
        return use.tokens > use.window * self.threshold

    def compress(self, request: CompressionRequest, summarise: Summarise) -> Compressed | None:
        messages, before = request.messages, request.before
        head = 1
        up_to = max(len(messages) - self.tail, head)
        while up_to > head and messages[up_to]["role"] != "user":
            up_to -= 1
        if up_to - max(head, before.up_to if before is not None else 0) < self.least:
            return None
        asked = "\n".join(str(message["content"]) for message in messages[head:up_to])
        prose = summarise([user_message(f"Summarise, above all {request.topic or 'all'}:\n{asked}")])
        text = prose.text if prose is not None else "Nobody wrote a summary."
        made = Compaction(
            head,
            up_to,
            f"[Summary of {up_to - head} earlier messages: {text}]",
            prose.text if prose is not None else "",
            sealed_before=len(messages),
            tokens_before=request.use.tokens,
            tokens_after=request.use.fixed + request.measure([*messages[:head], *messages[up_to:]]) + len(text) // 4,
            reason=request.reason,
            topic=request.topic,
            made_by=prose.made_by if prose is not None else "",
            created_at=time.time(),
        )
        return Compressed(made, "" if prose is not None else "No model wrote the summary; it was made by rule.")

    def switched(self, window: int) -> None:
        self.windows.append(window)
