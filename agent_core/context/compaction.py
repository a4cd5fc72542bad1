"""One compression of a session's history, as a value that can be stored. The history itself stays whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from tools.light_dataclass import dataclass

CompactionReason = Literal["preflight", "overflow", "asked"]


@dataclass(frozen=True, slots=True)
class Compaction:
    """What the model is shown in place of a part of the history, from this compression on until the next.

    Positions count the messages of the history as `SessionStore.messages` gives them. What is shown instead of
    something is held as it is shown, so that a later version of the program shows the very same.

    Attributes:
        head: messages before this position are shown as they are.
        up_to: messages from `head` to this position are replaced by `summary`; equal to `head` where only results
            and arguments were shortened.
        summary: what the model reads in their place; '' where nothing was replaced.
        prose: the part of `summary` that a model wrote; the next compression goes on from it. '' for none.
        kept: positions from `head` to `up_to` that are shown all the same, right behind the summary: the user's last
            message, where the work on it alone fills the window.
        results: the line that is shown in place of a result, by the id of its tool call; all are behind `up_to`.
        arguments: the JSON text that is shown in place of a call's arguments, by its id; all are behind `up_to`.
        cuts: positions of messages of whose text only the two ends are shown, with how many characters of it.
        images_before: messages behind `up_to` and before this position are shown without images, documents and
            recordings.
        sealed_before: messages from `head` to this position are shown without sealed reasoning: it covers what came
            before it, which was another thing when it was sealed.
        tokens_before, tokens_after: the size of what is shown, estimated, with system prompt and tools.
        reason: why it was made: ahead of a request, after a server refused one as too large, or asked for.
        topic: what the person asked to be kept above all, '' for nothing.
        made_by: provider:model that wrote the summary's prose; '' where code alone made it.
        created_at: seconds since the epoch.
    """

    head: int
    up_to: int
    summary: str
    prose: str = ""
    kept: tuple[int, ...] = ()
    results: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    cuts: Mapping[int, int] = field(default_factory=dict)
    images_before: int = 0
    sealed_before: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    reason: CompactionReason = "preflight"
    topic: str = ""
    made_by: str = ""
    created_at: float = 0.0


def is_possible(made: Compaction, length: int) -> bool:
    """Whether a history of `length` messages can be shown so, and `made` be stored. Its maker may be anyone."""
    texts = (made.summary, made.prose, made.topic, made.made_by)
    lines = (made.results, made.arguments)
    numbers = (made.head, made.up_to, made.images_before, made.sealed_before, made.tokens_before, made.tokens_after)
    return (
        all(isinstance(text, str) for text in texts)
        and all(_maps(each, str, str) for each in lines)
        and _maps(made.cuts, int, int)
        and all(isinstance(number, int) for number in (*numbers, *made.kept))
        and 0 <= made.head <= made.up_to <= length
        and all(made.head <= position < made.up_to for position in made.kept)
        and list(made.kept) == sorted(set(made.kept))
    )


def _maps(value: Any, key: type, to: type) -> bool:
    return isinstance(value, Mapping) and all(isinstance(k, key) and isinstance(v, to) for k, v in value.items())
