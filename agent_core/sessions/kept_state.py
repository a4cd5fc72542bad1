"""What a session keeps between its turns, as one value that can be stored."""

from __future__ import annotations

from dataclasses import field

from agent_core.providers.pricing import Spent
from tools.context import TodoItem
from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class KeptState:
    """The value. What the model was told of itself and of its tools belongs to the program that told it.

    Attributes:
        system, tools: the system prompt and the tool definitions; None before the first request.
        prompt_layers: the parts of the system prompt: each one's name and its characters.
        prompt_notes: what was left out of it, for the person.
        program: the version of the program that made them.
        model: provider:model that the session uses; '' before the first request.
        omitted_results: ids of tool calls whose results the model is not shown any more.
        sealed_before, images_before: positions in the history, as in `asking.view.Omissions`.
    """

    plan: tuple[TodoItem, ...] = ()
    system: str | None = None
    tools: tuple[dict[str, object], ...] | None = None
    program: str = ""
    model: str = ""
    spent: Spent = field(default_factory=Spent)
    omitted_results: frozenset[str] = frozenset()
    sealed_before: int = 0
    images_before: int = 0
    prompt_layers: tuple[tuple[str, int], ...] = ()
    prompt_notes: tuple[str, ...] = ()
