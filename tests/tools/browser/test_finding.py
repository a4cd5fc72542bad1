"""Whether there is a browser, and what the tools cost and say where there is none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.tool_context import make_context
from tools.browser.port import find_chromium
from tools.browser_tools import browser_navigate
from tools.errors import ToolError, install_line
from tools.registry import registry
from tools.settings import BrowserSettings
from tools.toolsets import load_builtin_tools


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_system_s_browser_is_found_and_not_one_that_anyone_may_have_put_there(program_folder, tmp_path):
    found = program(program_folder / "chromium-browser")
    program(tmp_path / "chromium")

    assert find_chromium({"PATH": f"{tmp_path}:{program_folder}"}) == str(found)


def test_the_one_that_is_named_goes_first(tmp_path):
    program(tmp_path / "chromium")
    named = program(tmp_path / "own" / "browser")

    assert find_chromium({"PATH": str(tmp_path), "BROWSER_EXECUTABLE": str(named)}) == str(named)
    assert find_chromium({"PATH": str(tmp_path), "BROWSER_EXECUTABLE": str(tmp_path / "none")}) is None


def test_so_is_one_that_the_driver_downloaded(tmp_path):
    found = program(tmp_path / ".cache/ms-playwright/chromium-1200/chrome-linux64/chrome")

    assert find_chromium({"PATH": "/nonexistent", "HOME": str(tmp_path)}) == str(found)


def test_settings_come_from_the_environment():
    settings = BrowserSettings.from_environment({"BROWSER_CDP_URL": " http://127.0.0.1:9222 "})

    assert (settings.cdp_url, settings.executable) == ("http://127.0.0.1:9222", "")


def test_without_a_browser_a_tool_says_what_is_needed(tmp_path):
    with pytest.raises(ToolError, match=re.escape(install_line("browser"))):
        browser_navigate({"url": "https://docs.example.org/"}, ctx=make_context(tmp_path))


def test_all_of_them_together_are_short():
    load_builtin_tools()
    tools = [entry for entry in registry.entries() if entry.toolset == "browser"]

    assert len(tools) == 10
    assert sum(len(json.dumps(entry.definition())) for entry in tools) <= 2_600
