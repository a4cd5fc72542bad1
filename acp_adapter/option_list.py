"""Options as ACP config options (ACP v1, session config options)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acp_adapter.capabilities import ClientCapabilities
from agent_core.options import Choice, Option

Json = dict[str, Any]


def option_list(options: Sequence[Option], client: ClientCapabilities) -> list[Json]:
    """The complete list, in its order; switches only for a client that shows them."""
    shown = (option for option in options if client.boolean_options or not isinstance(option.value, bool))
    return [_option(option) for option in shown]


def _option(option: Option) -> Json:
    named: Json = {"id": option.id, "name": option.name}
    if option.description:
        named["description"] = option.description
    if option.category:
        named["category"] = option.category
    if isinstance(option.value, bool):
        return {**named, "type": "boolean", "currentValue": option.value}
    grouped = [
        {"group": group.id, "name": group.name, "options": [_choice(choice) for choice in group.choices]}
        for group in option.groups
    ]
    flat = [_choice(choice) for choice in option.choices]
    return {**named, "type": "select", "currentValue": option.value, "options": grouped or flat}


def _choice(choice: Choice) -> Json:
    more = {"description": choice.description} if choice.description else {}
    return {"value": choice.value, "name": choice.name, **more}
