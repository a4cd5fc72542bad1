"""The complete list of options, with its present values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.capabilities import ClientCapabilities, read_capabilities
from acp_adapter.options import mode_state, offered_options, option_list
from agent_core.home import Home
from agent_core.providers.available_models import MOST_SHOWN, ModelLists, OfferedModel, OfferedProvider
from agent_core.settings.options import Option, SessionChoices
from tests.support.editor_profiles import PROFILES, ZED
from tests.support.sample_configuration import configuration
from tests.support.wire import check_outgoing

OPENAI = {"model": {"provider": "openai", "default": "gpt-5.1", "api_key": "k"}}
LOCAL = {"model": {"provider": "ollama", "default": "qwen3:8b"}}
EVERYTHING = ClientCapabilities(terminals=True, boolean_options=True)


def options(home: Path, settings: Any, choices: SessionChoices | None = None, **more: Any) -> dict[str, Option]:
    config = configuration(home, settings, more.pop("environ", None))
    known = more.pop("known", None)
    known = ModelLists(Home(home)).offered(config) if known is None else known
    found = offered_options(choices or SessionChoices(), config, known, more.pop("client", EVERYTHING), **more)
    return {option.id: option for option in found}


def values(option: Option) -> list[str]:
    return [each.value for each in (*option.choices, *(each for group in option.groups for each in group.choices))]


def test_the_weightiest_comes_first(home: Path) -> None:
    found = options(home, OPENAI)
    assert list(found) == ["mode", "model", "thought_level", "edits", "thoughts", "editor_terminals"]
    assert [found[each].category for each in found] == ["mode", "model", "thought_level", "", "", ""]


@pytest.mark.parametrize(
    "settings", [OPENAI, LOCAL, {"model": {"provider": "offline"}}], ids=["hosted", "local", "offline"]
)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "choices",
    [
        SessionChoices(),
        SessionChoices(mode="plan", edits="ask", model="openai:gpt-unheard-of", effort="high", thoughts=False),
        SessionChoices(model="gone:model", effort="xhigh", editor_terminals=True),
        SessionChoices(model="openai:gpt-4o", effort="high"),
    ],
    ids=["nothing chosen", "an unlisted model", "a model that is gone", "an effort that is gone"],
)
def test_every_present_value_is_one_of_the_choices_and_all_of_it_fits_the_schema(
    home: Path, settings: Any, profile: str, choices: SessionChoices
) -> None:
    client = read_capabilities(PROFILES[profile])
    found = options(home, settings, choices, client=client, environ={"OPENAI_API_KEY": "k"})
    for option in found.values():
        assert isinstance(option.value, bool) or values(option).count(option.value) == 1
    result = {
        "sessionId": "s",
        "modes": mode_state(choices.mode),
        "configOptions": option_list(tuple(found.values()), client),
    }
    check_outgoing({"jsonrpc": "2.0", "id": 1, "result": result}, "session/new")


def test_switches_are_sent_only_to_clients_that_know_them(home: Path) -> None:
    for profile, raw in PROFILES.items():
        client = read_capabilities(raw)
        sent = option_list(tuple(options(home, OPENAI, client=client).values()), client)
        switches = [each["id"] for each in sent if each["type"] == "boolean"]
        assert switches == (["thoughts", "editor_terminals"] if profile == "zed" else []), profile


def test_the_editors_terminals_are_for_editors_that_have_some(home: Path) -> None:
    client = read_capabilities({**ZED, "terminal": False})
    assert "editor_terminals" not in options(home, OPENAI, client=client)


def test_models_stand_in_the_groups_of_their_providers(home: Path) -> None:
    known = (
        OfferedProvider("openai", "OpenAI", (OfferedModel("gpt-5.1", 400_000, 1.25, 10.0), OfferedModel("b", 900))),
        OfferedProvider("ollama", "Ollama", (OfferedModel("qwen3:8b", 1_000_000, 0.0, 0.0), OfferedModel("c"))),
    )
    model = options(home, OPENAI, known=known)["model"]
    assert model.value == "openai:gpt-5.1"
    assert [(group.id, group.name) for group in model.groups] == [("openai", "OpenAI"), ("ollama", "Ollama")]
    assert [(each.value, each.name, each.description) for group in model.groups for each in group.choices] == [
        ("openai:gpt-5.1", "gpt-5.1", "400k tokens, $1.25 in, $10 out"),
        ("openai:b", "b", "900 tokens"),
        ("ollama:qwen3:8b", "qwen3:8b", "1M tokens, free"),
        ("ollama:c", "c", ""),
    ]


def test_many_models_are_shown_in_part_and_the_option_says_so(home: Path) -> None:
    known = tuple(
        OfferedProvider(name, name, tuple(OfferedModel(f"vendor/model-{number}") for number in range(300)))
        for name in ("openai", "b", "c", "d", "e", "f", "g", "h")
    )
    chosen = SessionChoices(model="openai:vendor/model-299")
    model = options(home, OPENAI, chosen, known=known)["model"]
    assert len(values(model)) == MOST_SHOWN + 1
    assert values(model).count("openai:vendor/model-299") == 1
    assert "Shown are 251 of 2,400 models; /model" in model.description
    assert len(json.dumps(option_list([model], EVERYTHING))) < 25_000
    everything = options(home, OPENAI, chosen, known=known, everything=True)["model"]
    assert len(values(everything)) == 2400
    assert "Shown" not in everything.description


def test_the_present_model_is_the_chosen_one_else_the_one_used_last_else_the_settings(home: Path) -> None:
    environ = {"ANTHROPIC_API_KEY": "k"}
    chosen = SessionChoices(model="anthropic:claude-a")
    assert options(home, OPENAI)["model"].value == "openai:gpt-5.1"
    assert options(home, OPENAI, used="anthropic:claude-b", environ=environ)["model"].value == "anthropic:claude-b"
    assert options(home, OPENAI, chosen, used="openai:o3", environ=environ)["model"].value == "anthropic:claude-a"


def test_a_model_that_cannot_be_used_any_more_is_shown_with_the_reason(home: Path) -> None:
    found = options(home, OPENAI, SessionChoices(model="anthropic:claude-a"))
    assert found["model"].value == "anthropic:claude-a"
    assert "ANTHROPIC_API_KEY" in found["model"].description
    assert "thought_level" not in found


def test_without_any_model_the_others_can_be_chosen_still(home: Path) -> None:
    assert list(options(home, {})) == ["mode", "edits", "thoughts", "editor_terminals"]


def test_how_much_it_thinks_can_be_chosen_where_the_model_has_it(home: Path) -> None:
    effort = options(home, OPENAI)["thought_level"]
    assert (effort.value, values(effort)) == ("settings", ["settings", "none", "low", "medium", "high"])
    assert "thought_level" not in options(home, LOCAL)
    assert "thought_level" not in options(home, OPENAI, SessionChoices(model="openai:gpt-4o"))
    assert "thought_level" not in options(home, OPENAI, SessionChoices(model="openai:gpt-5-pro"))


def test_the_settings_choice_says_what_it_is(home: Path) -> None:
    low = {**OPENAI, "agent": {"reasoning_effort": "low"}}
    assert options(home, low)["thought_level"].choices[0].description == "agent.reasoning_effort is low."
    assert "server" in options(home, OPENAI)["thought_level"].choices[0].description


def test_an_effort_that_the_model_does_not_have_is_the_settings_choice(home: Path) -> None:
    assert options(home, OPENAI, SessionChoices(effort="xhigh"))["thought_level"].value == "settings"
    assert options(home, OPENAI, SessionChoices(effort="high"))["thought_level"].value == "high"


def test_the_values_of_an_option_say_what_they_belong_to(home: Path) -> None:
    """Clients show the value alone."""
    found = options(home, OPENAI)
    names = {name: [choice.name for choice in found[name].choices] for name in ("edits", "thought_level")}
    assert names["edits"] == ["Edits: as the mode says", "Edits: show every one first"]
    assert all(name.startswith("Thinking: ") for name in names["thought_level"])
