"""What a compression could look like, before there is a summary: pure proposals, from mild to severe."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace

from agent_core.asking.view import Omissions
from agent_core.context.compaction import Compaction
from agent_core.context.cutting import head_end, last_words, tail_start
from agent_core.context.pruned import pruned
from agent_core.context.view import shown
from agent_core.messages import Message, text_of
from tools.light_dataclass import dataclass

_CHARS_A_TOKEN = 3
_LEAST_CUT = 400
_LATEST_GROUPS = 2
_NO_SUMMARY = "-"
_USUAL_CHARS, _LINE_TOKENS, _CALL_TOKENS = 4, 40, 60


@dataclass(frozen=True, slots=True)
class Drafting:
    """Makes proposals for one history.

    Attributes:
        before: the compression in effect.
        measure: tokens of messages as the model is shown them.
        starts: where `messages` may be cut.
        head: messages that are protected at the beginning.
        least: messages that are protected at the end, if they are not too large.
    """

    messages: Sequence[Message]
    before: Compaction | None
    measure: Callable[[Sequence[Message]], int]
    starts: Sequence[int]
    head: int
    least: int

    def size(self, compaction: Compaction | None) -> int:
        """The tokens of what the model would be shown."""
        return self.measure(shown(self.messages, Omissions(), compaction))

    def mild_size(self, tail: int) -> int:
        """About the tokens that `mild` would come to, at a glance: most conversations that need more show it."""
        base, start = self._mild_ends(tail)
        return sum(map(_glance, self.messages[base.up_to : start])) + self.measure(self.messages[start:])

    def size_of_mild(self, mild: Compaction, size: int) -> int:
        """The tokens of what `mild` would show, where `size` is what is shown now: only what differs is measured."""
        views = (shown(self.messages, Omissions(), compaction) for compaction in (self.before, mild))
        changed = [(old, new) for old, new in zip(*views, strict=True) if old is not new]
        return size - self.measure([old for old, _ in changed]) + self.measure([new for _, new in changed])

    def mild(self, tail: int) -> Compaction:
        """Old results and arguments shortened and old attachments left out; nothing more is replaced than before.

        Args:
            tail: tokens of the end that stays as it is.
        """
        base, start = self._mild_ends(tail)
        less = pruned(self.messages, base.up_to, start)
        words = last_words(self.messages)
        return replace(
            base,
            results={**less.results, **base.results},
            arguments={**less.arguments, **base.arguments},
            images_before=max(base.images_before, start if words is None else min(start, words)),
            sealed_before=len(self.messages),
        )

    def severe(self, tail: int, level: int) -> Compaction:
        """All but head and tail replaced, without a summary yet.

        Args:
            tail: tokens of the end that stays.
            level: 0: the tail stays as it is but for repeated results; from 1 on its older results are shortened and
                large messages cut, from 2 on also those of the head, and no number of messages is protected.
        """
        base = self.before or self._without_summary()
        head = base.head
        start = max(self._tail(head, tail, self.least if level <= 1 else 1), base.up_to if base.summary else head)
        words = last_words(self.messages)
        kept = () if words is None or not head <= words < start else (words,)
        less = pruned(self.messages, start, start if not level else self._latest(start))
        ids = {message.get("tool_call_id", "") for message in self.messages[start:]}
        draft = Compaction(
            head=head,
            up_to=start,
            summary=_NO_SUMMARY if start > head else "",
            kept=kept,
            results={**less.results, **{id_: line for id_, line in base.results.items() if id_ in ids}},
            arguments={**less.arguments, **{id_: line for id_, line in base.arguments.items() if id_ in ids}},
            images_before=max(start, base.images_before),
            sealed_before=len(self.messages),
        )
        visible = [*range(head), *draft.kept, *range(start, len(self.messages))]
        cuts = {position: limit for position, limit in base.cuts.items() if position in set(visible)}
        if level:
            protected = set(range(head)) - {words} if level == 1 else set()
            cuts |= self._cuts([position for position in visible if position not in protected], tail, cuts)
        return replace(draft, cuts=cuts)

    def _mild_ends(self, tail: int) -> tuple[Compaction, int]:
        """What is gone on from, and where the end begins that stays as it is."""
        base = self.before or self._without_summary()
        return base, self._tail(max(base.up_to, base.head), tail, self.least)

    def _without_summary(self) -> Compaction:
        head = head_end(self.messages, self.starts, self.head)
        return Compaction(head, head, "")

    def _tail(self, first: int, budget: int, least: int) -> int:
        starts = self.starts[bisect_left(self.starts, first) :]
        return tail_start(self.messages, starts, self.measure, budget, least)

    def _latest(self, start: int) -> int:
        """Where the latest groups begin, whose results are cut rather than left out: the model works with them."""
        starts = self.starts[bisect_left(self.starts, start) :]
        return next(iter(starts[-_LATEST_GROUPS:]), start)

    def _cuts(self, positions: Sequence[int], tail: int, known: dict[int, int]) -> dict[int, int]:
        limit = max(tail * _CHARS_A_TOKEN // 2, _LEAST_CUT)
        return {
            position: min(limit, known.get(position, limit))
            for position in positions
            if len(text_of(self.messages[position]["content"])) > limit
        }


def _glance(message: Message) -> int:
    size = len(text_of(message["content"])) // _USUAL_CHARS
    calls = message.get("tool_calls", ())
    if message["role"] == "tool":
        return min(size, _LINE_TOKENS)
    return size + sum(min(len(call["function"]["arguments"]) // _USUAL_CHARS, _CALL_TOKENS) for call in calls)
