"""`ContextCompressor`, the usual context engine, and the engines by the names that the settings have for them."""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace

from agent_core.compaction.engine import (
    Compaction,
    Compressed,
    CompressionRequest,
    ContextEngine,
    Summarise,
    WindowUse,
)
from agent_core.compaction.pruning import pruned
from agent_core.compaction.summary import Budget, Recorded, Recording
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
_NO_SUMMARY = "-"


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
        base = self.before or self._without_summary()
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


# Keeps a session from being compressed again and again for nothing.

_LEAST_GAIN = 0.10
_GROWTH = 1.10
_PASSES = 2
_HALTED = (
    "Compressing gains almost nothing any more ({before:,} → {after:,} tokens), so it is not done by itself from now "
    "on. Start a new session, or choose a model with a larger window; /compact still works."
)


class Effort:
    """How much the last compressions have gained.

    A pass that gained little is not repeated before the history has grown; after two in a row it is over, until one
    gains more or another model is asked.
    """

    def __init__(self) -> None:
        self._idle = 0
        self._size = 0
        self.halted = ""

    def is_worth(self, tokens: int) -> bool:
        """Whether a request of so many tokens should be compressed ahead."""
        return not self.halted and (not self._idle or tokens >= _GROWTH * self._size)

    def see(self, request: CompressionRequest, after: int) -> bool:
        """What a pass came to, in tokens of the whole request; whether it should be used."""
        before = request.use.tokens
        if before and (before - after) / before >= _LEAST_GAIN:
            self._idle, self.halted = 0, ""
            return True
        if request.reason != "preflight":
            return after < before
        self._idle, self._size = self._idle + 1, before
        if self._idle < _PASSES:
            return False
        self.halted = _HALTED.format(before=before, after=after)
        # Used although it gains little: with it goes the word to the person.
        return after < before


# What the compressor does, in this order, as far as it takes: old results to a line each; the middle replaced by a
# record that code puts together, with a model's prose in it; a shorter tail; large messages cut.

log = logging.getLogger(__name__)

_PRUNED_ENOUGH = 0.6
_ROOM_AFTER = 0.8
_REFUSED_SHARE = 0.6
_LEVELS = 7
_LEAST_TAIL = 200


@dataclass(frozen=True, slots=True)
class _Aim:
    """How large the request may be: `limit` what the model takes, `due` where a compression begins, `most` after."""

    limit: int
    due: int
    most: int


class ContextCompressor:
    """Implements `ContextEngine`. One for each session; used on one thread.

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
        self._effort = Effort()
        self._window = 0
        # Tokens of the smallest request that a server has refused as too large; None for none.
        self._refused: int | None = None

    @property
    def name(self) -> str:
        """What the settings call it."""
        return "compressor"

    @property
    def halted(self) -> str:
        """Why nothing is compressed ahead any more, for the person; '' while it is."""
        return self._effort.halted

    def is_due(self, use: WindowUse) -> bool:
        """Whether the request is past the threshold, and trying could gain something."""
        limit = self._limit(use)
        if not limit or use.tokens < self._due(limit):
            return False
        return self._effort.is_worth(use.tokens)

    def switched(self, window: int) -> None:
        """Another model is asked from now on; `is_due` measures by its window.

        What the last model refused counts no more; nor, in another window, that compressing gained nothing for it.
        """
        log.debug("the window is %d tokens now", window)
        self._refused = None
        if window != self._window:
            self._window, self._effort = window, Effort()

    def compress(self, request: CompressionRequest, summarise: Summarise) -> Compressed | None:
        """Compress; None where nothing can be made smaller, or trying again would gain nothing.

        Raises:
            TurnInterrupted: from `summarise`; nothing was changed.
        """
        if request.reason == "preflight" and not self._effort.is_worth(request.use.tokens):
            return None
        if request.reason == "overflow":
            self._refused = min(request.use.tokens, self._refused or request.use.tokens)
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
        after = request.use.tokens if found is None else max(request.use.tokens - size + found[1], 0)
        if not self._effort.see(request, after) or found is None:
            return None
        made = replace(
            found[0].compaction,
            tokens_before=request.use.tokens,
            tokens_after=after,
            reason=request.reason,
            topic=request.topic,
            created_at=self._clock(),
        )
        return Compressed(made, " ".join(part for part in (found[0].warning, self._effort.halted) if part))

    def _found(
        self, request: CompressionRequest, drafting: Drafting, size: int, summarise: Summarise
    ) -> tuple[Recorded, int] | None:
        """The compression and the tokens of what it shows; None where nothing gets smaller."""
        aim = self._aim(request)
        fixed = max(request.use.tokens - size, 0)
        budget = Budget(aim.limit)
        most = aim.most - fixed
        tail = max(min(int(self._settings.target_ratio * aim.due), most - budget.facts - budget.prose), _LEAST_TAIL)
        enough = min(most, int(_PRUNED_ENOUGH * aim.due) - fixed)
        if request.reason != "asked":
            mild = drafting.mild(tail)
            after = drafting.size(mild)
            if after < size and after <= enough:
                return Recorded(mild), after
        draft = _fitting(drafting, most - budget.facts - budget.prose, tail)
        records = iter((Recorded(draft),))
        if draft.summary:
            records = Recording(request, budget, self._fence, self._clean).records(draft, summarise)
        best: tuple[Recorded, int] | None = None
        for made in records:
            after = drafting.size(made.compaction)
            if best is None or after < best[1]:
                best = made, after
            if after <= most:
                break
        return best if best is not None and best[1] < size else None

    def _fence(self, text: str) -> str:
        return fenced(text, "record", self._session_id)

    def _limit(self, use: WindowUse) -> int:
        """The tokens of the largest request that the model takes, as far as it is known; 0 where it is not."""
        limit = max(use.window - use.reserved, use.window // 2)
        if self._refused is not None:
            limit = min(limit or self._refused, self._refused)
        return limit

    def _due(self, limit: int) -> int:
        return int(self._settings.threshold * limit)

    def _aim(self, request: CompressionRequest) -> _Aim:
        known = self._limit(request.use)
        limit = known or request.use.tokens
        due = self._due(limit)
        match request.reason:
            case "overflow":
                most = min(due, int(_REFUSED_SHARE * request.use.tokens))
            case "preflight":
                most = int(_ROOM_AFTER * due)
            case _:
                # Of a window that nobody knows no share is to be kept free: any gain is one.
                most = min(int(_ROOM_AFTER * due) if known else limit, request.use.tokens - 1)
        return _Aim(limit, due, most)


def _fitting(drafting: Drafting, most: int, tail: int) -> Compaction:
    """The mildest draft that fits into `most` tokens; else the smallest."""
    smallest: tuple[int, Compaction] | None = None
    for level in range(_LEVELS):
        draft = drafting.severe(max(tail >> level, _LEAST_TAIL), level)
        after = drafting.size(draft)
        if after <= most:
            return draft
        if smallest is None or after < smallest[0]:
            smallest = after, draft
    return drafting.mild(tail) if smallest is None else smallest[1]


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
