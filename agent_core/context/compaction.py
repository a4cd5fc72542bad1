"""One compression of a session's history, as a value that can be stored. The history itself stays whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CompactionReason = Literal["preflight", "overflow", "asked"]


@dataclass(frozen=True, slots=True)
class Compaction:
    """What the model is shown in place of a part of the history, from this compression on until the next.

    Positions count the messages of the history as `SessionStore.messages` gives them.

    Attributes:
        head: messages before this position are shown as they are.
        up_to: messages from `head` to this position are replaced by `summary`; equal to `head` where only results
            and arguments were shortened.
        summary: what the model reads in their place; '' where nothing was replaced.
        results: ids of the tool calls behind `up_to` whose results are shown as one line.
        arguments: ids of the tool calls behind `up_to` whose arguments are shown shortened.
        images_before: messages before this position are shown without images, documents and recordings.
        tokens_before, tokens_after: the size of what is shown, estimated, with system prompt and tools.
        reason: why it was made: ahead of a request, after a server refused one as too large, or asked for.
        topic: what the person asked to be kept above all, '' for nothing.
        made_by: provider:model that wrote the summary's prose; '' where code alone made it.
        created_at: seconds since the epoch.
    """

    head: int
    up_to: int
    summary: str
    results: frozenset[str] = frozenset()
    arguments: frozenset[str] = frozenset()
    images_before: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    reason: CompactionReason = "preflight"
    topic: str = ""
    made_by: str = ""
    created_at: float = 0.0
