"""A side task as a question: how long it may take, and how it is put to whichever model is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_core.messages import Message
from agent_core.providers.base import ModelRequest, ReasoningEffort
from agent_core.providers.catalog import seems_to_reason
from agent_core.providers.choice import ModelChoice
from agent_core.providers.protocol import efforts_of, nearest_effort
from agent_core.settings.model import AuxiliaryTask, Settings
from tools.light_dataclass import dataclass

AuxiliaryTaskName = str
TASKS: Mapping[AuxiliaryTaskName, float] = {"title": 30.0, "compression": 120.0, "vision": 30.0, "approval": 30.0}
"""The side tasks of this program, with the seconds that each may take; there may be others."""

_USUAL_SECONDS = 30.0
_UPSTREAM_NAMES = {"title": "title_generation"}
# Servers count a model's thoughts against the limit of its answer: without room for them there would be no answer.
_ROOM_TO_THINK = 2048


def settings_of(settings: Settings, task: AuxiliaryTaskName) -> AuxiliaryTask:
    """What the user has set for a task."""
    written = settings.auxiliary
    return written.get(task) or written.get(_UPSTREAM_NAMES.get(task, task)) or AuxiliaryTask()


@dataclass(frozen=True, slots=True)
class Question:
    """What one side task asks.

    Attributes:
        max_tokens: the answer's limit, as the task itself has it; the user's in `settings` wins.
    """

    task: AuxiliaryTaskName
    messages: Sequence[Message]
    settings: AuxiliaryTask
    max_tokens: int | None = None
    temperature: float | None = None

    @property
    def seconds(self) -> float:
        """How long the task may take, with all the models that are asked."""
        return self.settings.timeout or TASKS.get(self.task, _USUAL_SECONDS)

    def request(self, choice: ModelChoice) -> ModelRequest:
        """The question to one model, which should not think long about it."""
        return ModelRequest(
            model=choice.model,
            messages=self.messages,
            max_tokens=self._limit(choice),
            reasoning=_least_effort(choice),
            temperature=self.temperature,
            cache_ttl=None,
        )

    def _limit(self, choice: ModelChoice) -> int | None:
        if self.settings.max_tokens is not None or self.max_tokens is None:
            return self.settings.max_tokens or choice.max_tokens
        wanted = self.max_tokens + (_ROOM_TO_THINK if _thinks(choice) else 0)
        return min(limit for limit in (wanted, choice.max_tokens, choice.facts.max_output) if limit)


def _thinks(choice: ModelChoice) -> bool:
    return seems_to_reason(choice.model) if choice.facts.reasoning is None else choice.facts.reasoning


def _least_effort(choice: ModelChoice) -> ReasoningEffort | None:
    """As little as the model can be asked for; None where a word about it might be refused, or make it think."""
    if choice.api_mode == "anthropic_messages":
        return "none"
    known = efforts_of(choice.model)
    if known is not None:
        return nearest_effort(choice.model, "minimal") if known else None
    return "low" if choice.facts.reasoning else None
