"""Why an answer ended: one table of the words that servers have for it, for every wire protocol.

Words are recognized by what they mean, since each server has some of its own. One that means nothing is `unknown`:
such an answer is kept, and is not taken for a complete one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from agent_core.providers.base import Finished, FinishReason
from agent_core.providers.choice import ModelChoice
from agent_core.providers.wire.failures import answer_broken, broken_off

Ending = FinishReason | Literal["broken"]
"""`broken`: the server or the model failed in the middle of the answer, so it is asked for again."""

# The first that fits decides: `content_filter_error` is a refusal, `unexpected_tool_call` no call.
_MEANINGS: Mapping[Ending, str] = {
    "stop": r"^(?:stop(?:ped)?|eos|eot|end(?:ed)?|completed?|finish(?:ed)?|done|success|pause|normal|natural)"
    r"(?:_(?:turn|sequence|token|word|str(?:ing)?|found|stop|criteria(?:_met)?"
    r"|of_(?:turn|text|sequence|stream|message)))?(?:_id)?$|^<(?:\W?(?:im_end|eot_id|endoftext|end_of_\w+|end|s)\W?)>$",
    "refusal": r"filter|safety|unsafe|sensitiv|refus|prohibit|block_?list|blocked|guardrail|moderat|toxic|harmful"
    r"|recitation|spii|policy|violat|censor|flagged|inappropriate",
    "length": r"length|max_(?:output|\w*tokens?)|tokens?_(?:limit|exceed)|too_many_tokens"
    r"|context_(?:limit|size|full)|window|output_limit|error_limit|^limit$",
    "broken": r"err(?:or)?(?:_|$)|fail|abort|cancel|interrupt|disconnect|malform|invalid|unexpected|unpars|repet"
    r"|repeat|loop|resource|overload|capacity|time_?(?:d_)?(?:out|limit)|deadline|network|connection|unavailable|exception"
    r"|kill|preempt|evict|crash|rate_limit|missing|too_many|corrupt|broken|incomplete|degenerat",
    "tool_calls": r"^(?:tool|function)",
}
_NOT_SAID = frozenset({"", "null", "none"})


class AnswerEnd:
    """What a decoder knows of the end of its answer.

    Attributes:
        finished: why it ended, once the server has said so.
        word: the server's own word for that, where it is `broken` or `unknown`.
        goes_on: more of the answer came after that, and no other end yet.
        done: nothing more will come; the rest of the body is only waited for shortly.
    """

    finished: Ending | None = None
    word: str = ""
    goes_on: bool = False
    done: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether an end of the connection takes nothing of the answer away."""
        return self.done or (self.finished is not None and not self.goes_on)

    def ends(self, word: object) -> None:
        """Take in a server's word for the end. Some say it early, or twice: the last one that says more counts."""
        said = ending_of(word)
        if said is None:
            return
        if self.finished is None or self.goes_on or said[0] != "stop":
            self.finished, self.word = said
        self.goes_on = False

    def last_event(self, choice: ModelChoice) -> Finished:
        """The event that ends the answer, once its stream has ended.

        Raises:
            ProviderConnectionError: it broke off.
            ProviderStatusError: the server says that something failed.
        """
        if self.finished is None:
            raise broken_off(choice)
        if self.finished == "broken":
            raise answer_broken(choice, self.word)
        return Finished(self.finished, self.word)


def ending_of(word: object) -> tuple[Ending, str] | None:
    """What a server's word means, with the word itself where it names no usual end; None where it says nothing."""
    said = " ".join(str(word or "").split())
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s.-]+", "_", said).lower()
    plain = re.sub(r"^(?:finish_?reason|stop_?reason)_", "", plain)
    if plain in _NOT_SAID:
        return None
    known = (ending for ending, words in _MEANINGS.items() if re.search(words, plain))
    ending: Ending = next(known, "unknown")
    return ending, said if ending in {"broken", "unknown"} else ""
