"""What a client can do: only what it plainly offers."""

from __future__ import annotations

from typing import Any

from acp_adapter.capabilities import ClientCapabilities, read_capabilities
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
