"""`ContextCompressor`, the usual context engine, and the engines by the names that the settings have for them."""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import itemgetter

from agent_core.compaction.engine import (
    Compaction,
    Compressed,
    CompressionRequest,
    ContextEngine,
    Summarise,
    WindowUse,
)
from agent_core.compaction.pruning import pruned
from agent_core.compaction.summary import Budget, records
from agent_core.compaction.view import group_starts, head_end, last_words, shown, tail_start
from agent_core.errors import SettingsError
from agent_core.messages import Message, text_of
from agent_core.model_request.history_filter import Omissions
from agent_core.services import SessionServices
from agent_core.settings.sections import DEFAULT_ENGINE, CompressionPart
from tools.light_dataclass import dataclass
from tools.redaction import Redact, redact
from tools.untrusted.fence import fenced

# What a compression could look like, before there is a summary: pure proposals, from mild to severe.

_CHARS_A_TOKEN = 3
_LEAST_CUT = 400
_LATEST_GROUPS = 2
_LEVELS = 7
_LEAST_TAIL = 200


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

    def mild(self, tail: int) -> Compaction:
        """Old results and arguments shortened and old attachments left out; nothing more is replaced than before.

        Args:
            tail: tokens of the end that stays as it is.
        """
        base = self._base()
        start = self._tail(max(base.up_to, base.head), tail, self.least)
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
            level: 0: the tail stays as it is but for repeated results; above, its older results are shortened, large
                messages are cut, and no number of messages is protected.
        """
        base = self._base()
        head = base.head
        start = max(self._tail(head, tail, 1 if level else self.least), base.up_to if base.summary else head)
        words = last_words(self.messages)
        kept = () if words is None or not head <= words < start else (words,)
        # The latest results are cut rather than left out: the model works with them.
        behind = self.starts[bisect_left(self.starts, start) :]
        less = pruned(self.messages, start, next(iter(behind[-_LATEST_GROUPS:]), start) if level else start)
        ids = {message.get("tool_call_id", "") for message in self.messages[start:]}
        limit = max(tail * _CHARS_A_TOKEN // 2, _LEAST_CUT)
        cuts = {}
        for position in (*range(head), *kept, *range(start, len(self.messages))):
            if level and len(text_of(self.messages[position]["content"])) > limit:
                cuts[position] = min(limit, base.cuts.get(position, limit))
            elif position in base.cuts:
                cuts[position] = base.cuts[position]
        return Compaction(
            head=head,
            up_to=start,
            summary="-" if start > head else "",
            kept=kept,
            results={**less.results, **{id_: line for id_, line in base.results.items() if id_ in ids}},
            arguments={**less.arguments, **{id_: line for id_, line in base.arguments.items() if id_ in ids}},
            cuts=cuts,
            images_before=max(start, base.images_before),
            sealed_before=len(self.messages),
        )

    def fitting(self, most: int, tail: int) -> Compaction:
        """The mildest severe draft that fits into `most` tokens; else the smallest."""
        drafts = (self.severe(max(tail >> level, _LEAST_TAIL), level) for level in range(_LEVELS))
        tried: list[tuple[int, Compaction]] = []
        for draft in drafts:
            tried.append((self.size(draft), draft))
            if tried[-1][0] <= most:
                return draft
        return min(tried, key=itemgetter(0))[1]

    def _base(self) -> Compaction:
        if self.before is not None:
            return self.before
        head = head_end(self.messages, self.starts, self.head)
        return Compaction(head, head, "")

    def _tail(self, first: int, budget: int, least: int) -> int:
        starts = self.starts[bisect_left(self.starts, first) :]
        return tail_start(self.messages, starts, self.measure, budget, least)


# What the compressor does, in this order, as far as it takes: old results to a line each; the middle replaced by a
# record that code puts together, with a model's prose in it; a shorter tail; large messages cut.

log = logging.getLogger(__name__)

_PRUNED_ENOUGH = 0.6
_ROOM_AFTER = 0.8
_REFUSED_SHARE = 0.6
# Keeps a session from being compressed again and again for nothing.
_LEAST_GAIN = 0.10
_GROWTH = 1.10
_IDLE_PASSES = 2
_HALTED = (
    "Compressing gains almost nothing any more ({before:,} → {after:,} tokens), so it is not done by itself from now "
    "on. Start a new session, or choose a model with a larger window; /compact still works."
)


class ContextCompressor:
    """Implements `ContextEngine`. One for each session; used on one thread.

    A pass that gained little is not repeated before the history has grown; after two in a row it is over, until one
    gains more or another window is asked for.

    Args:
        session_id: makes the numbers of fences that nobody outside can know.
        clean: takes secrets out of what an auxiliary model is given.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        settings: CompressionPart | None = None,
        *,
        session_id: str = "",
        clean: Redact = redact,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings or CompressionPart()
        self._session_id = session_id
        self._clean = clean
        self._clock = clock
        self._window = 0
        # Passes in a row that gained little, and the tokens of the request that the last of them was for.
        self._idle, self._idle_size = 0, 0
        # Tokens of the smallest request that a server has refused as too large; None for none.
        self._refused: int | None = None

    @property
    def name(self) -> str:
        """What the settings call it."""
        return "compressor"

    def is_due(self, use: WindowUse) -> bool:
        """Whether the request is past the threshold, and trying could gain something."""
        limit = self._limit(use)
        return bool(limit) and use.tokens >= self._due(limit) and self._is_worth(use.tokens)

    def switched(self, window: int) -> None:
        """Another model is asked from now on; `is_due` measures by its window.

        What the last model refused counts no more; nor, in another window, that compressing gained nothing for it.
        """
        log.debug("the window is %d tokens now", window)
        self._refused = None
        if window != self._window:
            self._window, self._idle = window, 0

    def compress(self, request: CompressionRequest, summarise: Summarise) -> Compressed | None:
        """Compress; None where nothing can be made smaller, or trying again would gain nothing.

        Raises:
            TurnInterrupted: from `summarise`; nothing was changed.
        """
        tokens = request.use.tokens
        if request.reason == "preflight" and not self._is_worth(tokens):
            return None
        if request.reason == "overflow":
            self._refused = min(tokens, self._refused or tokens)
        drafting = Drafting(
            request.messages,
            request.before,
            request.measure,
            group_starts(request.messages),
            self._settings.protect_first_n,
            self._settings.protect_last_n,
        )
        size = drafting.size(request.before)
        found = self._found(request, drafting, size, summarise)
        # What counts is the whole request, which the model's server may know better than the estimate.
        after = tokens if found is None else max(tokens - size + found[1], 0)
        halted = ""
        if tokens - after >= _LEAST_GAIN * tokens > 0:
            self._idle = 0
        elif request.reason == "preflight":
            self._idle, self._idle_size = self._idle + 1, tokens
            if self._idle < _IDLE_PASSES:
                return None
            # Used although it gains little: with it goes the word to the person.
            halted = _HALTED.format(before=tokens, after=after)
        if found is None or after >= tokens:
            return None
        made = replace(
            found[0].compaction,
            tokens_before=tokens,
            tokens_after=after,
            reason=request.reason,
            topic=request.topic,
            created_at=self._clock(),
        )
        return Compressed(made, f"{found[0].warning} {halted}".strip())

    def _found(
        self, request: CompressionRequest, drafting: Drafting, size: int, summarise: Summarise
    ) -> tuple[Compressed, int] | None:
        """The compression and the tokens of what it shows; None where nothing gets smaller."""
        limit, most = self._aim(request)
        due, fixed = self._due(limit), max(request.use.tokens - size, 0)
        budget = Budget(limit)
        most -= fixed
        room = most - budget.facts - budget.prose
        tail = max(min(int(self._settings.target_ratio * due), room), _LEAST_TAIL)
        if request.reason != "asked":
            mild = drafting.mild(tail)
            after = drafting.size(mild)
            if after < size and after <= min(most, int(_PRUNED_ENOUGH * due) - fixed):
                return Compressed(mild), after
        draft = drafting.fitting(room, tail)
        made: Iterable[Compressed] = (Compressed(draft),)
        if draft.summary:
            made = records(draft, request, summarise, budget=budget, fence=self._fence, clean=self._clean)
        best: tuple[Compressed, int] | None = None
        for each in made:
            after = drafting.size(each.compaction)
            if after < (size if best is None else best[1]):
                best = each, after
            if after <= most:
                break
        return best

    def _fence(self, text: str) -> str:
        return fenced(text, "record", self._session_id)

    def _is_worth(self, tokens: int) -> bool:
        """Whether a request of so many tokens should be compressed ahead."""
        return not self._idle or (self._idle < _IDLE_PASSES and tokens >= _GROWTH * self._idle_size)

    def _limit(self, use: WindowUse) -> int:
        """The tokens of the largest request that the model takes, as far as it is known; 0 where it is not."""
        limit = max(use.window - use.reserved, use.window // 2)
        return limit if self._refused is None else min(limit or self._refused, self._refused)

    def _due(self, limit: int) -> int:
        return int(self._settings.threshold * limit)

    def _aim(self, request: CompressionRequest) -> tuple[int, int]:
        """How large a request the model takes, and how large this one may be after."""
        tokens, known = request.use.tokens, self._limit(request.use)
        limit = known or tokens
        room = int(_ROOM_AFTER * self._due(limit))
        if request.reason == "overflow":
            return limit, min(self._due(limit), int(_REFUSED_SHARE * tokens))
        if request.reason == "preflight":
            return limit, room
        # Of a window that nobody knows no share is to be kept free: any gain is one.
        return limit, min(room if known else limit, tokens - 1)


# The context engines by the names that the settings have for them.

MakeEngine = Callable[[CompressionPart, str, Redact], ContextEngine]
"""Makes the engine of a session: of the settings, the session's id, and what takes secrets out of text."""


ENGINES: dict[str, MakeEngine] = {
    DEFAULT_ENGINE: lambda settings, session_id, clean: ContextCompressor(
        settings, session_id=session_id, clean=clean
    )
}
"""Who makes an engine, by name. Plugins that bring one put themselves here."""


def engine_of(settings: CompressionPart, session_id: str, clean: Redact) -> ContextEngine:
    """A new engine, for one session.

    Args:
        clean: takes secrets out of a text.

    Raises:
        SettingsError: there is none of that name.
    """
    make = ENGINES.get(settings.engine)
    if make is None:
        raise SettingsError(
            f"compression.engine = {settings.engine!r}: there is no such engine, only {', '.join(sorted(ENGINES))}. "
            "Correct it or remove the line."
        )
    return make(settings, session_id, clean)


def with_engine(services: SessionServices, session_id: str) -> SessionServices:
    """The services of an agent that is used as a library, with the usual engine."""
    services.engine = engine_of(CompressionPart(), session_id, redact)
    return services
