"""What is wrong in the files of the settings, and where it stands."""

import os

import pytest

from agent_core.home import Home
from agent_core.settings.problems import problems_of


@pytest.fixture
def places(home):
    def places(text, file="config.yaml"):
        (home / file).write_bytes(text if isinstance(text, bytes) else text.encode())
        return [(found.line, found.column, found.stops) for found in problems_of(Home(home))]

    return places


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("agent:\n  max_turns: x\n", (2, 14, True)),
        ("agent: {max_turns: x}\n", (1, 20, True)),
        ("approvals:\n  deny:\n    - 'run: ls'\n    - 7\n", (4, 7, True)),
        ("agent: 7\n", (1, 8, True)),
        ("providers:\n  one:\n    base_url: 7\n", (3, 15, False)),
        ("fallback_model:\n  base_url: 7\n", (2, 13, False)),
        ("mcp_servers:\n  both: {}\n", (2, 9, False)),
        ("a: &x {max_turns: y}\nagent: *x\n", (1, 19, True)),
        ("- a\n- b\n", (1, 1, True)),
        ("model: [a\n", (2, 1, True)),
        ("model: 2001-99-99\n", (0, 0, True)),
        (b"# \xe9\nmodel: x\n", (1, 3, True)),
    ],
)
def test_a_wrong_value_has_its_place(places, text, place):
    assert place in places(text)


def test_unknown_and_repeated_keys_have_theirs(places):
    assert places("agent:\n  max_turn: 5\nagent:\n  max_turns: 5\n") == [(3, 1, False)]
    assert places("agent:\n  max_turns: 5\n  max_turn: 5\n") == [(3, 3, False)]


def test_of_a_part_that_stands_there_twice_the_last_one_is_looked_at(places):
    assert (4, 14, True) in places("agent:\n  max_turns: 5\nagent:\n  max_turns: x\n")


def test_hooks_that_nobody_knows_are_told_at_the_part(places):
    assert places("model: x\nhooks: {PreTollUse: []}\n") == [(2, 1, False)]


@pytest.mark.parametrize("text", ["", "# nothing\n", "model: x\n", "loop: &l\n- *l\n"])
def test_what_is_well_or_empty_has_none_that_stops(places, text):
    assert not [place for place in places(text) if place[2]]


def test_a_pipe_in_a_files_place_is_told_and_not_waited_for(home):
    os.mkfifo(home / "config.yaml")
    os.mkfifo(home / ".env")
    assert [(found.file.name, found.stops) for found in problems_of(Home(home))] == [
        ("config.yaml", True),
        (".env", False),
    ]


def test_the_mark_that_editors_of_windows_write_is_no_mistake(places):
    assert places("\ufeffA=b\n", ".env") == []
    assert places("\ufeffmodel: x\n") == []


def test_a_file_that_cannot_be_read_has_no_place(home):
    (home / "config.yaml").mkdir()
    (found,) = problems_of(Home(home))
    assert (found.line, found.stops, found.where) == (0, True, str(home / "config.yaml"))


def test_lines_of_env_that_are_none_have_theirs(places):
    assert places("A=1\n# x\n\nexport B='2'\nnothing\nC\n", ".env") == [(5, 1, False), (6, 1, False)]
