"""The record that stands in place of messages: put together by code, with prose where a model writes some of use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agent_core.context.compaction import Compaction
from agent_core.context.engine import CompressionRequest, Prose, Summarise
from agent_core.context.facts import collect
from agent_core.context.prose import checked, question
from agent_core.context.summary import Fence, assembled
from agent_core.messages import text_of
from tools.light_dataclass import dataclass
from tools.redaction import Redact

CHARS_A_TOKEN = 3
_FACTS_SHARE, _LEAST_FACTS, _MOST_FACTS = 0.06, 700, 6_000
_PROSE_SHARE, _LEAST_PROSE, _MOST_PROSE = 0.03, 250, 2_500
_QUESTION_SHARE, _MOST_QUESTION = 0.4, 24_000
_RECORDED_SHARE, _LITTLE = 3, 600
_WORDS_A_TOKEN = 0.6
_NOT_WRITTEN = (
    "No model could sum up the earlier conversation ({why}). What was asked, decided, changed and run in it is kept "
    "by rule; how it was thought about is not."
)
_NO_ANSWER = "none answered"


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens of a record, by the tokens of the largest request that the model takes."""

    limit: int

    @property
    def facts(self) -> int:
        """For what code puts together."""
        return _between(_FACTS_SHARE * self.limit, _LEAST_FACTS, _MOST_FACTS)

    @property
    def prose(self) -> int:
        """For what a model writes."""
        return _between(_PROSE_SHARE * self.limit, _LEAST_PROSE, _MOST_PROSE)

    def question(self, window: int | None) -> int:
        """For what a model is given to write it from; `window`: that model's, None where it is not known."""
        return int(min(_QUESTION_SHARE * (window or self.limit), _MOST_QUESTION))


@dataclass(frozen=True, slots=True)
class Recorded:
    """A draft with its record.

    Attributes:
        warning: for the person, where no prose could be had.
    """

    compaction: Compaction
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """Makes records for one compression."""

    request: CompressionRequest
    budget: Budget
    fence: Fence
    clean: Redact

    def records(self, draft: Compaction, summarise: Summarise) -> Iterator[Recorded]:
        """The draft with a record, the best one first.

        Raises:
            TurnInterrupted: from `summarise`.
        """
        before = self.request.before
        if before is not None and before.summary and before.up_to == draft.up_to:
            # Nothing more is replaced: the record is the one that there is.
            same = replace(draft, summary=before.summary, kept=before.kept)
            yield Recorded(replace(same, prose=before.prose, made_by=before.made_by))
            yield Recorded(self._with(draft, None, self._facts_chars(draft)))
            return
        prose, why = self._prose(draft, summarise)
        warning = _NOT_WRITTEN.format(why=why) if why else ""
        chars = self._facts_chars(draft)
        yield Recorded(self._with(draft, prose, chars), warning)
        yield Recorded(self._with(draft, None, chars), warning)
        yield Recorded(self._with(draft, None, chars // 4), warning)

    def _facts_chars(self, draft: Compaction) -> int:
        # The record of little is little itself.
        chars = self.budget.facts * CHARS_A_TOKEN
        replaced = 0
        for message in self.request.messages[draft.head : draft.up_to]:
            replaced += len(text_of(message["content"]))
            if replaced > _RECORDED_SHARE * chars:
                return chars
        return max(replaced // _RECORDED_SHARE, _LITTLE)

    def _with(self, draft: Compaction, prose: Prose | None, chars: int) -> Compaction:
        request = self.request
        facts = collect(request.messages, draft.head, draft.up_to, shown=draft.kept, plan=request.plan)
        text = "" if prose is None else prose.text
        summary = assembled(facts, text, self.fence, budget=chars, topic=request.topic)
        return replace(draft, summary=summary, prose=text, made_by="" if prose is None else prose.made_by)

    def _prose(self, draft: Compaction, summarise: Summarise) -> tuple[Prose | None, str]:
        """What a model writes of what is newly replaced; the earlier prose, and why, where that is of no use."""
        request, before = self.request, self.request.before
        earlier = Prose(before.prose, before.made_by) if before is not None and before.prose else None
        done = before.up_to if before is not None and before.summary else draft.head
        asked = question(
            request.messages[done : draft.up_to],
            "" if earlier is None else earlier.text,
            self.clean,
            limit=self.budget.question(request.summary_window) * CHARS_A_TOKEN,
            words=int(self.budget.prose * _WORDS_A_TOKEN),
            topic=request.topic,
        )
        answer = summarise(asked)
        if answer is None:
            return earlier, _NO_ANSWER
        text, why = checked(answer.text, asked, self.budget.prose * 2 * CHARS_A_TOKEN)
        return (earlier, why) if why else (Prose(text, answer.made_by), "")


def _between(value: float, least: int, most: int) -> int:
    return int(min(max(value, least), most))
