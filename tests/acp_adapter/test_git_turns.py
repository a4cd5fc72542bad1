"""Git commands over the wire: one card says what they would bring, before they run, and an undo brings back what they
took.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import PLAIN, ZED, Editor
from tests.support.editor_policies import allow, reject
from tests.support.in_memory import EditorFactory, permission_questions


def _git(workspace: Path, *arguments: str) -> None:
    words = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments)
    subprocess.run(words, cwd=workspace, check=True, capture_output=True)


@pytest.fixture
def repository(workspace: Path) -> Path:
    """`main` is checked out; `other` has settings of VS Code."""
    if not (workspace / ".git").exists():
        _git(workspace, "init", "-q")
    _git(workspace, "checkout", "-q", "-B", "main")
    _git(workspace, "add", "-A")
    _git(workspace, "commit", "-q", "--allow-empty", "-m", "first")
    _git(workspace, "checkout", "-q", "-b", "other")
    (workspace / ".vscode").mkdir()
    (workspace / ".vscode/settings.json").write_text('{"a": 1}\n')
    _git(workspace, "add", "-A")
    _git(workspace, "commit", "-q", "-m", "second")
    _git(workspace, "checkout", "-q", "main")
    return workspace


async def _session(start: EditorFactory, workspace: Path, profile: dict[str, Any]) -> tuple[Editor, str]:
    agent = await start()
    await agent.initialize(profile)
    return agent, await agent.new_session(workspace)


@pytest.mark.parametrize("profile", [PLAIN, ZED])
async def test_a_no_to_what_a_branch_brings_leaves_the_repository_alone(
    start: EditorFactory, repository: Path, profile: dict[str, Any]
) -> None:
    agent, session = await _session(start, repository, profile)
    agent.on_permission = reject
    await agent.prompt(session, "run git checkout -q other")
    [question] = permission_questions(agent)
    card = question.params["toolCall"]
    assert "changes .vscode/settings.json, which is run by VS Code" in card["title"]
    [diff] = [block for block in card["content"] if block["type"] == "diff"]
    assert (diff["path"], diff["newText"]) == (str(repository / ".vscode/settings.json"), '{"a": 1}\n')
    assert (repository / ".git/HEAD").read_text() == "ref: refs/heads/main\n"
    assert not (repository / ".vscode").exists()


@pytest.mark.parametrize("profile", [PLAIN, ZED])
async def test_a_yes_is_enough_and_the_card_shows_the_commands_output_again(
    start: EditorFactory, repository: Path, profile: dict[str, Any]
) -> None:
    agent, session = await _session(start, repository, profile)
    agent.on_permission = allow
    await agent.prompt(session, "run git checkout other")
    assert len(permission_questions(agent)) == 1
    assert (repository / ".vscode/settings.json").exists()
    [card] = agent.cards(session).values()
    kinds = [block["type"] for block in card["content"]]
    assert kinds == (["terminal"] if profile is ZED else ["content"])
    # The question has put its diffs in the terminal's place.
    sent = [update["content"] for update in agent.updates(session, "tool_call_update") if "content" in update]
    asked, after = ([block["type"] for block in content] for content in sent[:2])
    assert (asked, after) == (["content", "diff"], kinds)


async def test_an_undo_brings_back_what_a_command_took(start: EditorFactory, repository: Path) -> None:
    (repository / "mine.bin").write_bytes(b"\0mine" * 100_000)
    agent, session = await _session(start, repository, PLAIN)
    agent.on_permission = allow
    await agent.prompt(session, "run git stash -q -u && git clean -qfdx")
    assert not (repository / "mine.bin").exists()
    await agent.prompt(session, "/undo")
    assert (repository / "mine.bin").read_bytes() == b"\0mine" * 100_000
