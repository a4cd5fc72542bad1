"""How much of tool results a model gets: of one, and of all results of one answer, by the size of its window."""

from __future__ import annotations

from dataclasses import replace

from tools.light_dataclass import dataclass
from tools.settings import ToolSettings

_CHARS_A_TOKEN = 4
_RESULT_PART, _ANSWER_PART = 0.15, 0.30
_MIN_RESULT, _MIN_ANSWER, _MIN_SHARE = 8_000, 16_000, 1_000
_PROMPT_TOKENS = 2_000
"""Of a small window, what the system prompt and the tools take."""
_FREE_RESULT_PART, _FREE_ANSWER_PART = 0.4, 0.67
_PAGE_PART = 0.9
"""Of a result's limit, what a page of a file may have: the rest is for what stands around it."""


def fitted(settings: ToolSettings, window: int | None) -> ToolSettings:
    """The settings with limits of results that fit a window of so many tokens; None: it is not known, all stays.

    One result gets 15 % of a window at most, the results of an answer 30 %; never less than 8,000 and 16,000
    characters, where a window has that much room beside the prompt, and never more than is set.
    """
    if window is None:
        return settings
    chars = window * _CHARS_A_TOKEN
    free = max(window - _PROMPT_TOKENS, _PROMPT_TOKENS) * _CHARS_A_TOKEN
    least_result, least_answer = (
        min(_MIN_RESULT, int(free * _FREE_RESULT_PART)),
        min(_MIN_ANSWER, int(free * _FREE_ANSWER_PART)),
    )
    result = min(settings.max_result_chars, max(least_result, int(chars * _RESULT_PART)))
    answer = min(settings.max_answer_chars, max(least_answer, int(chars * _ANSWER_PART)))
    if (result, answer) == (settings.max_result_chars, settings.max_answer_chars):
        return settings
    page = min(settings.read.max_chars, int(result * _PAGE_PART))
    line = min(settings.read.max_line_chars, page)
    return replace(
        settings,
        max_result_chars=result,
        max_answer_chars=answer,
        read=replace(settings.read, max_chars=page, max_line_chars=line),
    )


@dataclass(slots=True)
class AnswerShare:
    """What the results of one answer may still take; asked in call order.

    Each may have an equal share of what is left, so one that is no larger than that is never cut, and what a short
    one leaves goes to those behind it.

    Attributes:
        left: characters.
        calls: results that are still to come.
    """

    left: int
    calls: int

    def next_limit(self) -> int:
        """Characters that the next result may have."""
        return max(_MIN_SHARE, self.left // max(self.calls, 1))

    def took(self, chars: int) -> None:
        """The next result has so many."""
        self.left = max(0, self.left - chars)
        self.calls -= 1
