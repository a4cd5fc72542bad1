"""What a session has seen a server do with a model's answers."""

from __future__ import annotations

from collections.abc import Sequence

from agent_core.messages import Message
from agent_core.providers.catalog import seems_to_begin_in_thoughts, service_at
from agent_core.providers.choice import ModelChoice
from tools.light_dataclass import dataclass

WRITTEN = "text_call"
"""What the ids of tool calls begin with that were read from an answer's text."""

_OFTEN = 2


@dataclass(slots=True)
class Habits:
    """The ways of one server with one model.

    Attributes:
        marks_thoughts: it has sent reasoning apart from the text.
        begins_in_thoughts: its texts begin within thoughts, without a tag for it: they were seen to, or the model is
            known for it.
        calls_tools: it has sent tool calls as the protocol has them.
        writes_calls: it has left tool calls in the text.
        marks_calls: those had marks that nothing else has.
        parses: it takes thoughts and calls out of the text itself, as hosted services do.
        only_ended: how many of its texts had thoughts with nothing but the tag that ends them.
    """

    marks_thoughts: bool = False
    begins_in_thoughts: bool = False
    calls_tools: bool = False
    writes_calls: bool = False
    marks_calls: bool = False
    parses: bool = False
    only_ended: int = 0

    def learn_of_thoughts(self, *, only_ended: bool) -> None:
        """Take up that a text had thoughts without their beginning, or none although they were assumed."""
        self.only_ended = self.only_ended + 1 if only_ended else 0
        if not only_ended or self.only_ended >= _OFTEN:
            self.begins_in_thoughts = only_ended


class SeenHabits:
    """Those of all servers and models that a session has asked, by provider, address and model."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, str, str], Habits] = {}

    def of(self, choice: ModelChoice, messages: Sequence[Message]) -> Habits:
        """Those of one; what is seen of it is written into them.

        Args:
            messages: the conversation so far. Which model called its tools it does not tell: where an earlier process
                had it, the first model that is asked now is taken for the one.
        """
        place = (choice.provider, choice.endpoint.address, choice.model)
        if place not in self._of:
            marks = choice.api_mode != "chat_completions"  # the other protocols have a place for thoughts
            begins = not marks and seems_to_begin_in_thoughts(choice.model)
            calls = not self._of and has_called_tools(messages)
            parses = service_at(choice.base_url) is not None
            self._of[place] = Habits(
                marks_thoughts=marks, begins_in_thoughts=begins, calls_tools=calls, parses=parses
            )
        return self._of[place]

    def writing_calls(self) -> list[str]:
        """Who leaves tool calls in the text, as provider:model."""
        return [f"{provider}:{model}" for (provider, _, model), habits in self._of.items() if habits.writes_calls]


def has_called_tools(messages: Sequence[Message]) -> bool:
    """Whether a conversation has tool calls that came as the protocol has them."""
    calls = (call for message in messages for call in message.get("tool_calls", ()))
    return any(not call["id"].startswith(WRITTEN) for call in calls)
