"""How the fake editor's person answers a permission request: each is an `on_permission` for `Editor`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

Params = dict[str, Any]
# An option id, "cancelled", None (no answer, ever), or a dict that is sent as the result whatever it holds.
Decision = str | dict[str, Any] | None
OnPermission = Callable[[Params], Awaitable[Decision]]


def choose(kind: str) -> OnPermission:
    """Takes the first option of `kind`: allow_once, allow_always, reject_once, reject_always."""

    async def decide(params: Params) -> Decision:
        for option in params["options"]:
            if option["kind"] == kind:
                return str(option["optionId"])
        raise AssertionError(f"no {kind} among the options {params['options']}")

    return decide


allow = choose("allow_once")
reject = choose("reject_once")


def pick(*ids: str) -> OnPermission:
    """Takes the first of `ids` that is among the options."""

    async def decide(params: Params) -> Decision:
        offered = [option["optionId"] for option in params["options"]]
        for option_id in ids:
            if option_id in offered:
                return option_id
        raise AssertionError(f"none of {ids} among the options {offered}")

    return decide


def press(kind: str) -> OnPermission:
    """A person before one button for each kind, who cannot read the answers' names: the last of a kind is sent, as
    CodeCompanion and avante do."""

    async def decide(params: Params) -> Decision:
        buttons = {option["kind"]: str(option["optionId"]) for option in params["options"]}
        assert kind in buttons, f"no button {kind} among {buttons}"
        return buttons[kind]

    return decide


def in_turn(*policies: OnPermission) -> OnPermission:
    """Answers the first question by the first of `policies` and so on; the last one answers all that follow."""
    left = list(policies)

    async def decide(params: Params) -> Decision:
        return await (left.pop(0) if len(left) > 1 else left[0])(params)

    return decide


async def never(params: Params) -> Decision:
    return None


async def dismiss(params: Params) -> Decision:
    return "cancelled"


def after(event: asyncio.Event, then: OnPermission = allow) -> OnPermission:
    """Answers late: once `event` is set."""

    async def decide(params: Params) -> Decision:
        await event.wait()
        return await then(params)

    return decide


def rubbish(result: dict[str, Any] | None = None) -> OnPermission:
    async def decide(params: Params) -> Decision:
        return result if result is not None else {"outcome": {"outcome": "maybe", "optionId": 7}}

    return decide
