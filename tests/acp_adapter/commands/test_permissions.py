"""`/permissions`: what was answered is shown, and taken back."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.acp_adapter.commands.talk import Talk
from tests.support.delegating import delegates
from tests.support.editor_policies import pick
from tools.environments.sandbox.probe import probe


def _asked(talk: Talk) -> list[object]:
    return [frame for frame in talk.editor.frames if frame.method == "session/request_permission"]


async def test_without_answers_there_is_nothing_to_show_or_take_back(talk: Talk):
    assert "nothing for longer than once" in await talk.say("/permissions")
    assert "no answer number '1'" in await talk.say("/permissions revoke 1")
    assert "Nothing was refused" in await talk.say("/permissions forget-refusals")
    assert "does not know 'clear'" in await talk.say("/permissions clear")


async def test_a_yes_for_the_session_is_listed_and_taken_back(talk: Talk, workspace: Path):
    talk.editor.on_permission = pick("allow_session")
    await talk.say("write a.txt one")
    assert f"1. allowed: `edit {workspace}/a.txt` (this session)" in await talk.say("/permissions")
    assert "No longer allowed: `edit" in await talk.say("/permissions revoke 1")
    await talk.say("write a.txt two")
    assert len(_asked(talk)) == 2


async def test_a_yes_for_the_session_is_widened_as_far_as_its_question_could_have_reached(
    talk: Talk, workspace: Path
) -> None:
    talk.editor.on_permission = pick("allow_session")
    await talk.say("write a.txt one")
    listed = await talk.say("/permissions")
    place = f"edit files below {workspace.resolve()}"
    assert f"   - a: `{place}` (this session)\n   - b: `{place}` (every session here)" in listed
    assert "`/permissions widen N a`" in listed
    assert f"Allowed: `{place}` (this session)" in await talk.say("/permissions widen 1 a")
    await talk.say("write b.txt two")
    assert len(_asked(talk)) == 1
    listed = await talk.say("/permissions")
    assert f"2. allowed: `{place}` (this session)" in listed
    assert f"   - a: `{place}` (every session here)" in listed
    assert f"Allowed: `{place}` (every session here)" in await talk.say("/permissions widen 1 a")
    other = await talk.editor.new_session(workspace)
    await talk.editor.prompt(other, "write c.txt three")
    assert len(_asked(talk)) == 1


@pytest.mark.parametrize("words", ["widen 2 a", "widen 0 a", "widen x a", "widen 1 c", "widen 1 A", "widen 1 aa"])
async def test_what_cannot_be_widened_changes_nothing(talk: Talk, words: str) -> None:
    talk.editor.on_permission = pick("allow_session")
    await talk.say("write a.txt one")
    before = await talk.say("/permissions")
    assert "nothing was changed" in await talk.say(f"/permissions {words}")
    assert await talk.say("/permissions") == before


async def test_a_yes_that_is_taken_back_is_not_widened(talk: Talk) -> None:
    talk.editor.on_permission = pick("allow_session")
    await talk.say("write a.txt one")
    await talk.say("/permissions revoke 1")
    assert "no answer number '1'" in await talk.say("/permissions widen 1 a")


async def test_a_no_is_not_widened(talk: Talk) -> None:
    talk.editor.on_permission = pick("reject_always")
    await talk.say("write a.txt one")
    assert "`/permissions widen" not in await talk.say("/permissions")
    assert "nothing was changed" in await talk.say("/permissions widen 1 a")


async def test_refusals_are_listed_and_forgotten(talk: Talk, workspace: Path):
    talk.editor.on_permission = pick("reject_always")
    await talk.say("write a.txt one")
    assert "**refused**: `edit" in await talk.say("/permissions")
    assert "1 refusal" in await talk.say("/permissions forget-refusals")
    assert "nothing for longer than once" in await talk.say("/permissions")


@pytest.mark.skipif(not any(each.works for each in probe()), reason="no sandbox works on this machine")
async def test_the_answer_about_a_projects_secret_files_is_listed_and_holds_in_copies_and_later_sessions(
    talk: Talk, workspace: Path
) -> None:
    (workspace / ".env").write_text("KEY=planted\n")
    (workspace / "show.sh").write_text("cat .env\n")
    _commit_all(workspace)
    talk.editor.on_permission = pick("allow_kept")
    await talk.say("run sh show.sh")
    await talk.say(delegates("run sh show.sh\nrun sh ./show.sh", isolated=True))
    [asked] = _titles(talk)
    assert asked == "Let commands read .env: sh show.sh"
    listed = await talk.say("/permissions")
    assert f"1. allowed: `let commands read the secret files of {workspace.resolve()}` (for good" in listed
    session = await talk.editor.new_session(workspace)
    await talk.editor.prompt(session, "run sh show.sh")
    assert len(_titles(talk)) == 1
    assert "No longer allowed: `let commands read" in await talk.say("/permissions revoke 1")
    await talk.editor.prompt(session, "run sh show.sh")
    assert _titles(talk) == [asked] * 2


def _commit_all(workspace: Path) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for arguments in (("init", "-q"), ("add", "-f", "."), (*who, "commit", "-qm", "1")):
        subprocess.run(["git", *arguments], cwd=workspace, check=True)


def _titles(talk: Talk) -> list[str]:
    frames = [frame.message for frame in talk.editor.frames if frame.method == "session/request_permission"]
    return [str(frame["params"]["toolCall"]["title"]) for frame in frames]
