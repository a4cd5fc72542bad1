"""What a question shows of an action that reaches further than files: the web, and running programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_adapter.permission_cards import asked_card
from tools.approval.actions import Action, CallOwnTool, ConnectHost, ProcessInput, ReachHost, SearchWeb, UseBrowser
from tools.approval.questions import Question

_ROOT = Path("/srv")
_URL = "https://example.com/a"


def _card(action: Action, reason: str = "") -> dict[str, object]:
    return asked_card(Question("call-7", action, reason), _ROOT)


@pytest.mark.parametrize(
    ("action", "reason", "title"),
    [
        (ReachHost(_URL, "example.com"), "", f"Fetch {_URL}"),
        (ReachHost(_URL, "example.com", "a private host"), "leads inside", f"Fetch {_URL} (it leads inside)"),
        (ReachHost("https://example.com/\u202etxt\n", "example.com"), "", r"Fetch https://example.com/\u202etxt\n"),
        (SearchWeb("Brave", "acp agents"), "", "Search Brave for acp agents"),
        (SearchWeb("Brave", "acp\nagents"), "", r"Search Brave for acp\nagents"),
        (
            ConnectHost("example.com", 443, command="curl https://example.com/\n-v"),
            "",
            r"Let a command reach example.com: curl https://example.com/\n-v",
        ),
        (
            ConnectHost("localhost", 5432, "this machine", "psql"),
            "",
            "Let a command reach localhost:5432 (it is this machine): psql",
        ),
        (UseBrowser("example.com", "click @e12"), "", "Click @e12 on example.com"),
        (CallOwnTool("weather"), "", "Call your own tool weather"),
        (ProcessInput("python3 -i", "print(1)\n", _ROOT), "types", "Type into python3 -i: print(1)"),
    ],
)
def test_the_title_says_what_would_happen_on_one_line(action: Action, reason: str, title: str) -> None:
    assert _card(action, reason)["title"] == title


def test_what_is_typed_is_shown_as_a_whole_with_nothing_hidden() -> None:
    text = str(_card(ProcessInput("sh", "echo a\necho \u200bb\n", _ROOT))["content"])
    assert "echo a" in text
    assert "\u200b" not in text
