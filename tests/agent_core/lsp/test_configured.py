"""What the settings say of language servers."""

from __future__ import annotations

import pytest

from agent_core.lsp.server import configured_servers
from tests.support.each import each


@each(
    ("written", "command"),
    [
        (["pylsp", "-v"], ("pylsp", "-v")),
        ("pylsp --log 'a b'", ("pylsp", "--log", "a b")),
        ([], ()),
        ("", ()),
        (False, ()),
        (None, ()),
        ({"command": ["pylsp"]}, ("pylsp",)),
        ({"command": ["pylsp"], "disabled": True}, ()),
    ],
)
def test_a_command_may_be_written_in_several_ways(written: object, command: tuple[str, ...]) -> None:
    assert configured_servers({"Python": written}) == {"python": command}


def test_a_suffix_names_a_language_of_its_own() -> None:
    assert configured_servers({".Vue": "vls"}) == {".vue": ("vls",)}


def test_entries_of_other_programs_name_their_suffixes() -> None:
    entry = {"command": ["vls"], "extensions": [".vue", ".VUEX"], "root_markers": []}
    assert configured_servers({"my-vue": entry}) == {".vue": ("vls",), ".vuex": ("vls",)}


@pytest.mark.parametrize("written", [{"vue": "vls"}, {"python": 5}, {"python": [5]}, {"python": "a 'b"}, {".": "x"}])
def test_what_cannot_be_understood_is_left_out_and_logged(
    written: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    assert configured_servers({**written, "go": "gopls"}) == {"go": ("gopls",)}
    assert "is left out" in caplog.text
