"""What a client can do: only what it plainly offers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from acp_adapter.capabilities import ClientCapabilities, ClientHabits, habits_of, read_capabilities
from tests.support.each import each
from tests.support.editor_profiles import PROFILES, ZED


def test_zed_offers_terminal_output_and_no_other_profile_does() -> None:
    offers = {name for name, profile in PROFILES.items() if read_capabilities(profile).terminal_output}
    assert offers == {"zed"}


@each(
    "raw",
    [None, [], "text", 7, {}, {"_meta": None}, {"_meta": []}, {"_meta": {"terminal_output": "true"}},
     {"_meta": {"terminal_output": 1}}, {"_meta": {"terminal_output": {}}}, {"terminal_output": True},
     {"terminal": "yes"}, {"fs": True}, {"fs": {"readTextFile": {}}}, {"elicitation": {}},
     {"elicitation": {"form": None}},
     {"session": {"configOptions": {}}}, {"session": {"configOptions": {"boolean": False}}}],
)  # fmt: skip
def test_what_is_malformed_or_not_there_counts_as_not_offered(raw: Any) -> None:
    assert read_capabilities(raw) == ClientCapabilities()


def test_they_do_not_change_with_what_they_were_read_from() -> None:
    raw = {"_meta": dict(ZED["_meta"])}
    capabilities = read_capabilities(raw)
    raw["_meta"]["terminal_output"] = False
    assert capabilities.terminal_output


@each(
    "name",
    ["zed", "Zed", "JetBrains.IntelliJ IDEA", "JetBrains.PyCharm", "toad", "agent-shell", "Agentic.nvim",
     "Jupyter AI", "vscode-acp-client", "hermes-acp chat"],
)  # fmt: skip
def test_habits_of_clients_that_show_the_names_of_options(name: str) -> None:
    assert not habits_of({"name": name, "version": "1"}).collapses_options
    assert habits_of(SimpleNamespace(name=name)) == habits_of({"name": name}), "the SDK's model says the same"


@each(
    "info",
    [None, {}, [], "zed", {"name": None}, {"name": 7}, {"name": ""}, {"name": "CodeCompanion.nvim"}, {"name": "zedx"},
     {"name": "vscode-acp"}, {"name": "JetBrains"}, {"name": " zed"}, {"title": "Zed"}],
)  # fmt: skip
def test_habits_of_a_client_that_is_not_known_to_show_names_are_the_cautious_ones(info: Any) -> None:
    assert habits_of(info) == ClientHabits(collapses_options=True, keeps_first_title=False)


@each(("said", "collapses"), [(True, False), ({}, False), (False, True), (None, True), ("true", True), (1, True)])
def test_any_client_can_say_that_it_shows_the_names_of_options(said: Any, collapses: bool) -> None:
    raw = {"_meta": {"hermes": {"optionNames": said}}}
    assert read_capabilities(raw).habits.collapses_options is collapses
    assert read_capabilities(raw, {"name": "CodeCompanion.nvim"}).habits.collapses_options is collapses
    assert not read_capabilities(raw, {"name": "zed"}).habits.collapses_options


def test_habits_that_a_client_says_leave_those_it_is_known_by() -> None:
    raw = {"_meta": {"hermes": {"optionNames": True}}}
    assert read_capabilities(raw, {"name": "Agentic.nvim"}).habits == ClientHabits(
        collapses_options=False, keeps_first_title=True
    )
