"""`session/set_config_option`: from the ids and values that a client sends to other choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.options.model_option import MODEL
from acp_adapter.options.modes import parse_mode
from acp_adapter.options.offering import (
    AS_CONFIGURED,
    EDIT_POLICIES,
    EDITOR_TERMINALS,
    EDITS,
    EFFORT,
    MODE,
    THOUGHTS,
)
from agent_core.errors import AuthRequired, RequestError, SettingsError
from agent_core.providers.available_models import (
    OFFLINE_MODEL,
    OfferedModels,
    only_offline,
    present_model,
    resolve_chosen,
    split_name,
)
from agent_core.providers.resolve import available_efforts

if TYPE_CHECKING:
    from agent_core.choices import SessionChoices
    from agent_core.config import Configuration
    from agent_core.providers.choice import ModelChoice

_OLD_EDITS = "edit_approval_policy"
"""Upstream's name for `edits`, with other values: its sessions of automatic edits are a mode here."""
_OLD_EDIT_VALUES = ("ask", "workspace_session", "session")
_MOST_NAMED = 12
_LONGEST_SHOWN = 60


def chosen(
    choices: SessionChoices,
    config_id: str,
    value: object,
    config: Configuration,
    *,
    known: OfferedModels = (),
    client: ClientCapabilities | None = None,
    used: str = "",
) -> SessionChoices:
    """The choices with one of them changed; nothing is asked of any server.

    A model may be one that no list has, as long as its provider can be asked. A model that does not have the chosen
    effort leaves it to the settings.

    Args:
        known, used: as `offered_options` has them.
        client: None is one that can do nothing.

    Raises:
        RequestError: there is no such option or value; the text says what there is, and what to do.
    """
    client = client or ClientCapabilities()
    match config_id:
        case "mode":
            return replace(choices, mode=parse_mode(value))
        case "model":
            return _with_model(choices, value, config, known)
        case "thought_level":
            return _with_effort(choices, value, config, used)
        case "edits":
            return _with_edits(choices, value)
        case "thoughts":
            return replace(choices, thoughts=_switch(config_id, value))
        case "editor_terminals" if client.terminals:
            return replace(choices, editor_terminals=_switch(config_id, value))
        case "edit_approval_policy":
            return _with_old_edits(choices, value)
    ids = [MODE, MODEL, EFFORT, EDITS, THOUGHTS]
    if client.terminals:
        ids.append(EDITOR_TERMINALS)
    raise RequestError(f"There is no option {_shown(config_id)}. Choose one of: {', '.join(ids)}.")


def _with_model(
    choices: SessionChoices, value: object, config: Configuration, known: OfferedModels
) -> SessionChoices:
    choice = _model(value, config, known)
    effort = choices.effort if choices.effort in available_efforts(choice) else None
    return replace(choices, model=choice.name, effort=effort)


def _model(value: object, config: Configuration, known: OfferedModels) -> ModelChoice:
    name = _full_name(value, config, known)
    if only_offline(config) and name != OFFLINE_MODEL:
        raise RequestError("This agent was started offline. Start it without --offline to choose another model.")
    try:
        return resolve_chosen(config, name)
    except (AuthRequired, SettingsError) as problem:
        raise RequestError(
            f"The model {_shown(name)} cannot be used, so nothing is changed. {problem.public}"
        ) from problem


def _full_name(value: object, config: Configuration, known: OfferedModels) -> str:
    """The value as `provider:model`; a bare name is that of the first listed model which is called so."""
    names = [(provider.value(model), model.name) for provider in known for model in provider.models]
    if not isinstance(value, str):
        raise _no_value(MODEL, value, [name for name, _ in names])
    if any(name == value for name, _ in names):
        return value
    if bare := next((name for name, model in names if model == value), ""):
        return bare
    provider, model = split_name(config, value)
    if provider.strip() and model.strip():
        return value
    raise _no_value(MODEL, value, [name for name, _ in names])


def _with_effort(choices: SessionChoices, value: object, config: Configuration, used: str) -> SessionChoices:
    if value == AS_CONFIGURED:
        return replace(choices, effort=None)
    choice = present_model(config, choices.model, used).choice
    efforts = () if choice is None else available_efforts(choice)
    for effort in efforts:
        if effort == value:
            return replace(choices, effort=effort)
    if not efforts:
        whose = choice.name if choice is not None else "this session's model"
        raise RequestError(f"How much {whose} thinks cannot be chosen. Choose another model first.")
    raise _no_value(EFFORT, value, [AS_CONFIGURED, *efforts])


def _with_edits(choices: SessionChoices, value: object) -> SessionChoices:
    match value:
        case "mode":
            return replace(choices, edits="mode")
        case "ask":
            return replace(choices, edits="ask")
    raise _no_value(EDITS, value, [each.value for each in EDIT_POLICIES])


def _with_old_edits(choices: SessionChoices, value: object) -> SessionChoices:
    if value == "ask":
        return replace(choices, edits="ask")
    if value not in _OLD_EDIT_VALUES:
        raise _no_value(_OLD_EDITS, value, _OLD_EDIT_VALUES)
    # Both of its others let the session's own files be edited; here nothing lets edits outside them pass unseen.
    mode = choices.mode if choices.mode == "dont_ask" else "accept_edits"
    return replace(choices, edits="mode", mode=mode)


def _switch(config_id: str, value: object) -> bool:
    match value:
        case bool():
            return value
        case "true":
            return True
        case "false":
            return False
    raise _no_value(config_id, value, ["true", "false"])


def _no_value(config_id: str, value: object, known: Sequence[str]) -> RequestError:
    named = ", ".join(known[:_MOST_NAMED])
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return RequestError(f"The option {config_id} has no value {_shown(value)}. Choose one of: {named}{more}.")


def _shown(value: object) -> str:
    text = str(value)
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")
