"""What the cards of web, browser, processes and the map say that they do."""

from __future__ import annotations

from typing import Any

from acp_adapter.cards.looks import card_details
from tests.support.each import each

CWD = "/srv/app"


@each(
    ("tool", "arguments", "title", "kind"),
    [
        ("process", {}, "List background processes", "execute"),
        ("process", {"action": "poll", "session_id": "p1"}, "Look at p1", "execute"),
        ("process", {"action": "submit", "session_id": "p1", "data": "yes\nno"}, "Type into p1: yes …", "execute"),
        ("process", {"action": "dance", "session_id": "p1"}, "dance p1", "execute"),
        ("web_search", {"query": "tide tables"}, "Search the web for 'tide tables'", "fetch"),
        ("web_extract", {"urls": ["https://a.example/x"]}, "Read https://a.example/x", "fetch"),
        ("web_extract", {"urls": ["https://a.example/x", "https://b.example"]}, "Read a.example, b.example", "fetch"),
        ("web_extract", {"urls": "https://a.example/x"}, "Read https://a.example/x", "fetch"),
        ("web_extract", {"urls": ["https://[broken", "x"]}, "Read https://[broken, x", "fetch"),
        ("repo_map", {}, "Map the code", "search"),
        ("repo_map", {"path": "src"}, "Map the code in src", "search"),
        ("vision_analyze", {"image_url": "/srv/app/shots/a.png"}, "Look at shots/a.png", "read"),
        ("vision_analyze", {"image_url": "https://a.example/a.png"}, "Look at https://a.example/a.png", "read"),
        ("vision_analyze", {"image_url": "data:image/png;base64,AAAA"}, "Look at data:image/png;base64", "read"),
        ("browser_navigate", {"url": "https://a.example"}, "Open https://a.example", "fetch"),
        ("browser_click", {"ref": "@e3"}, "Click @e3", "execute"),
        ("browser_type", {"ref": "@e3", "text": "hunter2"}, "Type into @e3", "execute"),
        ("browser_press", {"key": "Enter"}, "Press Enter", "execute"),
        ("browser_back", {}, "Go back", "execute"),
    ],
)
def test_the_card_says_what_is_done(tool: str, arguments: dict[str, Any], title: str, kind: str) -> None:
    details = card_details(tool, arguments, CWD)
    assert (details["title"], details["kind"]) == (title, kind)
