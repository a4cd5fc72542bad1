"""What an agent is asked to do while its messages are taken down: a short function for each thing to be seen."""

from __future__ import annotations

from tests.support.scenarios import answers, greeting, interruptions, questions, sessions, tools
from tests.support.scenarios.scenario import Scenario

ALL: tuple[Scenario, ...] = tuple(
    scenario
    for module in (greeting, answers, tools, questions, interruptions, sessions)
    for scenario in module.scenario.all
)
"""Every scenario, by subject."""
