"""What a person can type as `/name` at the beginning of a prompt."""

from __future__ import annotations

from acp_adapter.commands.command import AsPrompt, Desk, Outcome, SlashCommand, Told, Typed
from acp_adapter.commands.custom import CustomCommand
from acp_adapter.commands.registry import CommandShelf
from acp_adapter.commands.run import (
    is_at_once,
    is_slashed,
    offered,
    perform,
    refresh_offer,
    run,
    store_late,
    typed_command,
)

__all__ = [
    "AsPrompt",
    "CommandShelf",
    "CustomCommand",
    "Desk",
    "Outcome",
    "SlashCommand",
    "Told",
    "Typed",
    "is_at_once",
    "is_slashed",
    "offered",
    "perform",
    "refresh_offer",
    "run",
    "store_late",
    "typed_command",
]
