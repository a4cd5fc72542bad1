"""What can be chosen for a session: the complete list, with the present values, the weightiest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_adapter.options.model_option import model_option
from acp_adapter.options.modes import MODES
from agent_core.providers.available_models import PresentModel, present_model
from agent_core.providers.resolve import available_efforts
from agent_core.settings.options import Choice, Option, SessionChoices

if TYPE_CHECKING:
    from acp_adapter.capabilities import ClientCapabilities
    from agent_core.config import Configuration
    from agent_core.providers.available_models import OfferedModels
    from agent_core.providers.base import ReasoningEffort

MODE, EFFORT, EDITS, THOUGHTS, EDITOR_TERMINALS = "mode", "thought_level", "edits", "thoughts", "editor_terminals"
AS_CONFIGURED = "settings"
"""The value of `thought_level` that leaves it to the settings."""

EDIT_POLICIES = (
    Choice("mode", "Edits: as the mode says", "The permission mode decides whether an edit is asked about."),
    Choice("ask", "Edits: show every one first", "Each edit waits for your answer, in every mode."),
)
_EFFORT_NAMES: dict[ReasoningEffort, tuple[str, str]] = {
    "none": ("Thinking: off", "Answers at once."),
    "minimal": ("Thinking: minimal", "Hardly thinks."),
    "low": ("Thinking: low", "Thinks little: quick and cheap."),
    "medium": ("Thinking: medium", "Thinks for a while."),
    "high": ("Thinking: high", "Thinks long."),
    "xhigh": ("Thinking: highest", "Thinks as long as it can: slow and dear."),
}


def offered_options(
    choices: SessionChoices,
    config: Configuration,
    known: OfferedModels,
    client: ClientCapabilities,
    used: str = "",
    *,
    everything: bool = False,
) -> tuple[Option, ...]:
    """Every option of a session. No value is ever one that is not among its choices.

    Args:
        choices: what was chosen for the session.
        known: the models that can be chosen; the present one is added.
        client: what can have no effect with this client is left out.
        used: provider:model that the session used last; '' before its first turn.
        everything: all models, however many; else as many as are shown in a list.
    """
    present = present_model(config, choices.model, used)
    options = (
        Option(
            MODE, "Permissions", "When the agent asks before it acts.", "mode", choices.mode, tuple(MODES.values())
        ),
        model_option(present, known, everything=everything),
        _effort_option(choices, config, present),
        Option(EDITS, "Edits", "Whether edits are shown before they are made.", "", choices.edits, EDIT_POLICIES),
        Option(THOUGHTS, "Show thinking", "Show the model's reasoning.", "", choices.thoughts),
        _terminals_option(choices, client),
    )
    return tuple(option for option in options if option is not None)


def _effort_option(choices: SessionChoices, config: Configuration, present: PresentModel) -> Option | None:
    efforts = () if present.choice is None else available_efforts(present.choice)
    if len(efforts) < 2:  # noqa: PLR2004 - of one there is nothing to choose
        return None
    configured = config.settings.agent.reasoning_effort
    own = f"agent.reasoning_effort is {configured}." if configured else "It is left to the model's server."
    levels = (
        Choice(AS_CONFIGURED, "Thinking: as in the settings", own),
        *(Choice(each, *_EFFORT_NAMES[each]) for each in efforts),
    )
    value = choices.effort if choices.effort in efforts else AS_CONFIGURED
    return Option(EFFORT, "Thinking", "How much the model thinks.", "thought_level", value or AS_CONFIGURED, levels)


def _terminals_option(choices: SessionChoices, client: ClientCapabilities) -> Option | None:
    if not client.terminals:
        return None
    text = "Run commands in the editor's own terminals."
    return Option(EDITOR_TERMINALS, "Editor terminals", text, "", choices.editor_terminals)
