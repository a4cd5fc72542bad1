"""`ContextCompressor`: the usual way to keep a conversation within the model's window.

What it does, in this order, as far as it takes: old results to a line each; the middle replaced by a record that code
puts together, with a model's prose in it; a shorter tail; large messages cut.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace

from agent_core.context.compaction import Compaction
from agent_core.context.cutting import group_starts
from agent_core.context.drafts import Drafting
from agent_core.context.engine import Compressed, CompressionRequest, Summarise, WindowUse
from agent_core.context.recording import Budget, Recorded, Recording
from agent_core.context.thrashing import Effort
from tools.light_dataclass import dataclass
from tools.redaction import Redact, redact
from tools.untrusted.fence import fenced

log = logging.getLogger(__name__)

_PRUNED_ENOUGH = 0.6
_ROOM_AFTER = 0.8
_REFUSED_SHARE = 0.6
_LEVELS = 7
_LEAST_TAIL = 200


@dataclass(frozen=True, slots=True)
class CompressionSettings:
    """How a conversation is compressed.

    Attributes:
        threshold: the share of the window, without what is reserved for the answer, from which on it is compressed.
        target_ratio: the share of that which the latest messages keep.
        protect_first_n: messages at the beginning that stay, with what belongs to them. The first compression of a
            session says which: they begin each request that the server has cached.
        protect_last_n: messages at the end that stay, unless they are too large.
    """

    threshold: float = 0.75
    target_ratio: float = 0.2
    protect_first_n: int = 1
    protect_last_n: int = 6


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
        settings: CompressionSettings | None = None,
        *,
        session_id: str = "",
        clean: Redact = redact,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings or CompressionSettings()
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
        if request.reason != "asked" and drafting.mild_size(tail) <= enough:
            mild = drafting.mild(tail)
            after = drafting.size_of_mild(mild, size)
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
