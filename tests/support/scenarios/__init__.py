"""What an agent is asked to do while its messages are taken down: a short function for each thing to be seen."""

from __future__ import annotations

from tests.support.scenarios import (
    answers,
    asking,
    collapsing,
    commands,
    editors_own,
    first_titles,
    greeting,
    hands,
    interruptions,
    links,
    options,
    planning,
    questions,
    servers,
    sessions,
    steering,
    tools,
)
from tests.support.scenarios.scenario import Scenario

_BY_SUBJECT = (
    *(greeting, answers, tools, hands, questions, planning, asking, interruptions, steering),
    *(sessions, options, commands, links, editors_own, servers, collapsing, first_titles),
)
ALL: tuple[Scenario, ...] = tuple(scenario for module in _BY_SUBJECT for scenario in module.scenario.all)
"""Every scenario, by subject."""
