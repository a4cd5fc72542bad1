"""What a person can choose for a session, as any front end may show it.

Named tuples are the cheapest to define and to make: these are loaded before the first session, by the hundred.
"""

from __future__ import annotations

from typing import NamedTuple


class Choice(NamedTuple):
    """One value of an option."""

    value: str
    name: str
    description: str = ""


class ChoiceGroup(NamedTuple):
    """Choices that belong together, as the models of one provider do."""

    id: str
    name: str
    choices: tuple[Choice, ...]


class Option(NamedTuple):
    """Something to choose, with its present value.

    Attributes:
        category: what it is about, for front ends that show some options in a place of their own; '' for none.
        value: one of the choices; a bool makes it a switch, which has no choices.
        choices, groups: at most one of the two is there.
    """

    id: str
    name: str
    description: str
    category: str
    value: str | bool
    choices: tuple[Choice, ...] = ()
    groups: tuple[ChoiceGroup, ...] = ()
