"""In plan mode a page is looked at and not used; no browser is even started for it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.browsing import BrowserBench
from tests.support.tool_context import call, error_of


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("browser_click", {"ref": "@e1"}),
        ("browser_type", {"ref": "@e1", "text": "x"}),
        ("browser_press", {"key": "Enter"}),
        ("browser_console", {"expression": "1 + 1"}),
    ],
)
def test_what_uses_a_page_is_refused(tool: str, arguments: dict[str, Any]) -> None:
    bench = BrowserBench(mode="plan")
    try:
        assert "plan mode" in error_of(call(bench.context(), tool, **arguments))
        assert not bench.browser.is_running
    finally:
        bench.close()
