"""Frames in an order that is the same each time, where the protocol leaves it open."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from tests.support.editor_frames import Frame

_TOLD_OF = {
    "session/set_mode": frozenset({"current_mode_update", "config_option_update"}),
    "session/set_config_option": frozenset({"current_mode_update"}),
    "_session/steering": frozenset[str](),
}
"""What is answered while a turn goes on, and the updates that tell of it. An option's answer has the options."""


def ordered(frames: Iterable[Frame]) -> list[Frame]:
    """The frames in an order that does not depend on who was quicker.

    The updates that tell of a mode, and then the answer, stand right behind the request that sets it, whatever a turn
    says meanwhile; so does the answer to words for a turn. A question is withdrawn before the turn goes on.
    """
    told: list[Frame] = []
    answered: set[str] = set()
    news, choices = _News(), _Choices()
    for frame in frames:
        if frame.ours and frame.method is None:
            answered.add(json.dumps(frame.id))
        if withdrawn(frame) in answered or news.is_old(frame):
            continue
        anchor = choices.anchor(frame)
        if anchor is not None:
            told.insert(next(at for at, each in enumerate(told) if each is anchor) + 1, frame)
        elif withdrawn(frame) is not None:
            told.insert(_behind_the_editor(told, choices), frame)
        else:
            told.append(frame)
    return told


class _Choices:
    """The editor's choices, each with the frames that belong right behind it."""

    def __init__(self) -> None:
        self._behind: list[list[Frame]] = []

    def anchor(self, frame: Frame) -> Frame | None:
        """The frame that this one stands behind; None for one that stays where it is."""
        if frame.ours:
            if frame.method in _TOLD_OF:
                self._behind.append([frame])
            return None
        for group in self._behind:
            if frame.method is None and frame.id == group[0].id:
                group.append(frame)
                return group[-2]
            if self._tells(frame, group):
                at = next((at for at, each in enumerate(group) if at and each.method is None), len(group))
                group.insert(at, frame)
                return group[at - 1]
        return None

    def holds(self, frame: Frame) -> bool:
        """Whether a frame belongs to a choice."""
        return any(each is frame for group in self._behind for each in group)

    @staticmethod
    def _tells(frame: Frame, group: Sequence[Frame]) -> bool:
        """Each choice is told once by each kind of update."""
        kind = frame.update.get("sessionUpdate")
        kinds = {each.update.get("sessionUpdate") for each in group}
        return (
            kind in _TOLD_OF[str(group[0].method)] and kind not in kinds and frame.session_id == group[0].session_id
        )


def _behind_the_editor(ordered: Sequence[Frame], choices: _Choices) -> int:
    """The place behind the last frame that is the editor's, or belongs to its choice."""
    places = (at for at in range(len(ordered), 0, -1) if ordered[at - 1].ours or choices.holds(ordered[at - 1]))
    return next(places, 0)


class _News:
    """The options' values as they were told last, by session."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def is_old(self, frame: Frame) -> bool:
        """Whether this is nothing but options whose values are known."""
        told = frame.update or frame.message.get("result")
        options = told.get("configOptions") if not frame.ours and isinstance(told, dict) else None
        if not options:
            return False
        session = str(frame.session_id or told.get("sessionId"))
        values = {option["id"]: option["currentValue"] for option in options}
        before, self._values[session] = self._values.get(session), values
        return bool(frame.update) and values == before


def withdrawn(frame: Frame) -> str | None:
    """The request of the agent that this message takes back."""
    is_one = not frame.ours and frame.method == "$/cancel_request"
    return json.dumps(frame.params.get("requestId")) if is_one else None
