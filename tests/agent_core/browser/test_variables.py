"""What variables the programs of a real browser get: the driver that runs it, and the browser with all its parts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from agent_core.remote.target import OwnVariables
from tests.support.browsing import BrowserBench, needs_browser
from tests.support.tool_context import call, payload
from tests.support.web_server import WebServer

pytestmark = [
    needs_browser,
    pytest.mark.long,
    pytest.mark.skipif(
        not Path("/proc/self/environ").exists(), reason="variables of processes are seen in /proc only"
    ),
]

SECRETS = {
    "OPENAI_API_KEY": "planted-key",
    "CORP_LLM": "planted-key-that-the-settings-name",
    "DATABASE_URL": "postgres://me:planted-password@db.example.com/x",
    "HERMES_HOME": "/planted-home",
}


def _started() -> Iterator[tuple[str, Mapping[str, str]]]:
    """Each process that is below this one: how it was started, and its variables."""
    children: dict[int, list[Path]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "stat").read_text("utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        children.setdefault(int(status[1]), []).append(folder)
    below = children.get(os.getpid(), [])
    for folder in below:
        below += children.get(int(folder.name), [])
        try:
            words, variables = ((folder / name).read_bytes().decode("utf-8", "replace") for name in _READ)
        except OSError:
            continue
        yield words.replace("\0", " "), dict(part.partition("=")[::2] for part in variables.split("\0") if part)


_READ = ("cmdline", "environ")


def test_the_browser_and_its_driver_get_no_secret_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SECRETS, "XDG_CONFIG_HOME": "/of-the-person"}.items():
        monkeypatch.setenv(name, value)
    bench = BrowserBench(variables=OwnVariables(frozenset({"CORP_LLM"})))
    try:
        with WebServer({"/": b"<title>Here</title>"}) as server:
            assert payload(call(bench.context(), "browser_navigate", url=server.url()))["title"] == "Here"
            found = list(_started())
    finally:
        bench.close()

    (driver,) = [variables for words, variables in found if "run-driver" in words]
    browsers = [variables for words, variables in found if "--type=" in words or "--user-data-dir" in words]
    assert browsers
    for variables in (driver, *browsers):
        assert [name for name, value in variables.items() if "planted" in value] == []
    assert driver["XDG_CONFIG_HOME"] == "/of-the-person"
    assert driver["PW_LANG_NAME"] == "python"
