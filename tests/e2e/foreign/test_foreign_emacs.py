"""Emacs, with acp.el, can talk to the agent."""

from __future__ import annotations

import json
import os
import pwd
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.foreign.programs import HERE, OFFLINE, run

pytestmark = [pytest.mark.long, pytest.mark.timeout(120)]

PLACES = (
    ".emacs.d/elpa/acp-*",
    ".config/emacs/elpa/acp-*",
    ".emacs.d/straight/build/acp",
    ".config/emacs/.local/straight/build-*/acp",
)
SHARED = Path("/usr/share/emacs/site-lisp")


def acp_el() -> Path | None:
    """The directory of acp.el: ACP_EL_DIR, or where Emacs' package managers put it."""
    if named := os.environ.get("ACP_EL_DIR"):
        return Path(named)
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)  # HOME is the test's own
    found = [*(place for pattern in PLACES for place in home.glob(pattern)), *SHARED.glob("elpa*/acp-[0-9]*")]
    return max((place for place in found if (place / "acp.el").is_file()), default=None)


@pytest.fixture(scope="module")
def emacs() -> tuple[str, ...]:
    """The command that runs Emacs with acp.el."""
    program, library = shutil.which("emacs"), acp_el()
    if program is None:
        pytest.skip("Emacs is not installed: apt-get install emacs-nox")
    if library is None:
        pytest.skip(
            "acp.el is not installed: M-x package-install RET acp (from MELPA), or set ACP_EL_DIR to the directory "
            "of a checkout of https://github.com/xenodium/acp.el"
        )
    return (program, "-Q", "--batch", "-L", str(library), "-l", str(HERE / "emacs_client.el"))


def test_acp_el_edits_asks_runs_and_cancels_with_its_unsaved_buffers_seen(
    emacs: tuple[str, ...], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = conversation(
        emacs, workspace, "read README.md\nedit sums.py a - b => a + b\nrun echo checked\nsay Done.", monkeypatch
    )
    assert seen["first"]["stopReason"] == "end_turn"
    assert seen["second"]["stopReason"] == "cancelled"
    assert seen["complaints"] == []
    assert [asked["title"] for asked in seen["permissions"]] == ["Edit sums.py"]
    assert {"fs/read_text_file", "session/request_permission", "fs/write_text_file"} == set(seen["calls"])
    read, edited, ran = cards(seen["updates"])
    assert "Not saved yet." in json.dumps(read["content"])
    assert edited["content"][0]["newText"] == (workspace / "sums.py").read_text(encoding="utf-8")
    assert "a + b" in edited["content"][0]["newText"]
    assert "checked" in json.dumps(ran["content"])
    assert [card["status"] for card in (read, edited, ran)] == ["completed"] * 3
    (listed,) = seen["listed"]["sessions"]
    assert listed["cwd"] == str(workspace)


def test_acp_el_hears_nothing_on_stderr_when_tools_fail(
    emacs: tuple[str, ...], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = conversation(emacs, workspace, "read nowhere.md\nrun false\nsay On.", monkeypatch)
    assert seen["complaints"] == []
    assert [card["status"] for card in cards(seen["updates"])] == ["failed", "failed"]
    assert seen["first"]["stopReason"] == "end_turn"


def conversation(
    emacs: tuple[str, ...], workspace: Path, prompt: str, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    monkeypatch.setenv("PROMPT", prompt)
    ran = run(*emacs, str(workspace), *OFFLINE, cwd=workspace)
    assert ran.returncode == 0, ran.stderr
    seen: dict[str, Any] = json.loads(ran.stdout)
    return seen


def cards(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tool calls as they ended, in order."""
    found: dict[str, dict[str, Any]] = {}
    for update in updates:
        if "toolCallId" in update:
            found.setdefault(update["toolCallId"], {}).update(update)
    return list(found.values())
