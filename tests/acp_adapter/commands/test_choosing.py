"""`/model` and `/mode` on lists of models, long ones too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from acp_adapter.commands.command import Told
from acp_adapter.commands.run import typed_command
from acp_adapter.commands.settings import matching
from agent_core.errors import RequestError
from agent_core.events import SaidDocument, SaidLink, SaidPart, SaidText
from agent_core.settings.options import Choice, ChoiceGroup, Option
from tests.support.each import each

_MODELS = (
    Choice("north:sonnet-5", "Sonnet 5", "200k tokens"),
    Choice("north:sonnet-5-mini", "Sonnet 5 mini"),
    Choice("north:opus-5", "Opus 5"),
    Choice("south:opus-5", "opus-5"),
    Choice("south:tiny|x*y", "tiny|x*y"),
)


@dataclass
class _Desk:
    """The part of a desk that choosing needs."""

    groups: tuple[ChoiceGroup, ...] = (
        ChoiceGroup("north", "North", _MODELS[:3]),
        ChoiceGroup("south", "South", _MODELS[3:]),
    )
    chosen: list[tuple[str, Any]] = field(default_factory=list)

    def options(self) -> tuple[Option, ...]:
        return (Option("model", "Model", "", "model", "north:opus-5", groups=self.groups),)

    def choose(self, option_id: str, value: str | bool) -> None:
        if str(value).startswith("nowhere:"):
            raise RequestError("There is no provider «nowhere».")
        self.chosen.append((option_id, value))


def _typed(text: str, desk: _Desk, *more: SaidPart) -> str:
    typed = typed_command((SaidText(text), *more))
    assert typed is not None
    outcome = typed.command.run(typed, desk)  # type: ignore[arg-type]
    assert isinstance(outcome, Told)
    return outcome.text


@each(
    ("words", "value"),
    [
        ("north:sonnet-5", "north:sonnet-5"),
        ("SONNET-5", "north:sonnet-5"),
        ("sonnet 5 mini", "north:sonnet-5-mini"),
        ("mini", "north:sonnet-5-mini"),
        ("south:o", "south:opus-5"),
        ("own:server/some-model", "own:server/some-model"),
    ],
)
def test_a_name_or_a_part_that_only_one_has_chooses(words: str, value: str):
    desk = _Desk()
    assert value in _typed(f"/model {words}", desk)
    assert desk.chosen == [("model", value)]


@pytest.mark.parametrize("words", ["opus-5", "sonnet", "o"])
def test_what_fits_several_changes_nothing_and_names_them(words: str):
    desk = _Desk()
    told = _typed(f"/model {words}", desk)
    assert "nothing was changed" in told
    assert desk.chosen == []
    assert told.count("\n- ") >= 2


@pytest.mark.parametrize("words", ["nothing-like-it", "nowhere:model", "two words: no"])
def test_what_fits_none_is_refused(words: str):
    desk = _Desk()
    with pytest.raises(RequestError):
        _typed(f"/model {words}", desk)
    assert desk.chosen == []


@pytest.mark.parametrize(
    "mention",
    [SaidLink("file:///srv/app/sonnet-5-mini", "sonnet-5-mini"), SaidDocument("file:///srv/app/sonnet-5-mini", "x")],
)
def test_a_mention_that_is_called_like_a_model_chooses_nothing(mention: SaidPart):
    desk = _Desk()
    assert "**Model:** `north:opus-5`" in _typed("/model ", desk, mention)
    assert desk.chosen == []
    _typed("/model sonnet-5 ", desk, SaidLink("file:///srv/app/mini", "mini"))
    assert desk.chosen == [("model", "north:sonnet-5")]


def test_the_present_model_is_not_chosen_again():
    desk = _Desk()
    assert "as before" in _typed("/model north:opus-5", desk)
    assert desk.chosen == []


def test_without_words_the_models_are_shown_by_provider():
    told = _typed("/model", _Desk())
    assert told.index("**Model:** `north:opus-5`") < told.index("**North** (3)") < told.index("**South** (2)")
    assert "- `north:sonnet-5`: Sonnet 5. 200k tokens" in told
    assert "- `south:opus-5`\n" in told


def test_a_long_list_is_cut_and_says_so():
    many = tuple(
        ChoiceGroup(f"p{number}", f"P{number}", tuple(Choice(f"p{number}:m{i}", f"m{i}") for i in range(100)))
        for number in range(20)
    )
    told = _typed("/model", _Desk(many))
    assert len(told.splitlines()) < 140
    assert "… and 88 more" in told
    assert "**P19** (100)" in told


def test_a_better_match_hides_a_worse_one():
    assert [choice.value for choice in matching("sonnet-5", _MODELS)] == ["north:sonnet-5"]
    assert [choice.value for choice in matching("north:s", _MODELS)] == ["north:sonnet-5", "north:sonnet-5-mini"]
    assert not matching("west", _MODELS)


def test_without_such_an_option_it_says_so():
    with pytest.raises(RequestError, match="no mode to choose"):
        _typed("/mode default", _Desk())
