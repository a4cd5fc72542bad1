"""The commands on pages are really run, as a reader would type them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.doc_blocks import DOCS, ROOT, blocks, commands
from tests.support.doc_fates import ENDS_WITH, NOT_RUN, PARSED, PROVED_BY
from tests.support.doc_links import documents
from tests.support.settings_files import configure

pytestmark = pytest.mark.long
_OURS = re.compile(r"\bhermes-acp\b")


def _commands(page: str) -> list[str]:
    found = [
        command
        for block in blocks(page)
        if block.language in {"sh", "console"} and (page, block.first) not in PROVED_BY
        for command in commands(block)
    ]
    return [command for command in found if _OURS.search(command) and command not in {**NOT_RUN, **PARSED}]


_PAGES = [page for path in documents() if _commands(page := os.path.relpath(path, DOCS))]


class Desk:
    """A home with the offline model, a project, and what pages name: another agent, prompts, a session."""

    def __init__(self, home: Path) -> None:
        self.user = home.parent
        self.project = self.user / "project"
        programs = self.user / "bin"
        for folder in (self.project, programs):
            folder.mkdir()
        agent = f"exec {sys.executable} -P -m acp_adapter"
        for name, command in (("hermes-acp", f'{agent} "$@"'), ("other-agent", f"{agent} --offline")):
            (programs / name).write_text(f"#!/bin/sh\n{command}\n")
            (programs / name).chmod(0o755)
        (self.project / "prompts.jsonl").write_text('{"prompt": "say Hello."}\n')
        self._fill_project()
        configure(home, {"model": {"provider": "offline", "default": "offline"}})
        # As the program itself would make it: the doctor looks.
        home.chmod(0o700)
        (home / "config.yaml").chmod(0o600)
        self._environment = {
            "HOME": str(self.user),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "LANG": "C.UTF-8",
        }

    def _fill_project(self) -> None:
        """A repository with a change, and a plugin that nobody trusts yet."""
        plugin = self.project / ".hermes" / "plugins" / "greeting"
        plugin.mkdir(parents=True)
        (plugin / "plugin.yaml").write_text("name: greeting\nversion: '1'\ndescription: Greets\n")
        (plugin / "__init__.py").write_text("def register(ctx): ...\n")
        (self.project / "sums.py").write_text("print(1)\n")
        git = ["git", "-C", str(self.project), "-c", "user.name=A", "-c", "user.email=a@b"]
        for step in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
            subprocess.run([*git, *step], check=True)
        (self.project / "sums.py").write_text("print(2)\n")

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.project,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def new_session(self) -> str:
        assert self.run('hermes-acp prompt "say The database is locked."').returncode == 0
        return str(json.loads(self.run("hermes-acp sessions list --json").stdout)[0]["id"])


@pytest.mark.parametrize("page", _PAGES)
def test_the_commands_of_a_page_do_what_they_say(page: str, home: Path) -> None:
    desk = Desk(home)
    session = desk.new_session()
    assert desk.run("hermes-acp prompt --record wire.jsonl 'say Hello.'").returncode == 0
    failed = []
    for command in _commands(page):
        if " delete " in command:
            session, kept = desk.new_session(), session
        else:
            kept = session
        asked = _with_real_names(command, session)
        session = kept
        done = desk.run(asked)
        if done.returncode != ENDS_WITH.get(command, (0, ""))[0]:
            failed.append(f"{command}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-400:]}")
    assert failed == [], "\n".join(failed)


def _with_real_names(command: str, session: str) -> str:
    """The command with a session's id where the page has one of its own, or ID."""
    command = command.replace("/srv/", "")
    named = re.sub(r"\bses_3f9a\b|(?<= )ID\b", session, command)
    return re.sub(r"(?<=search )WORDS", "database", named)
