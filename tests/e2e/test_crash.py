"""kill -9 at any moment: what was said is there again, once; files are whole; the session goes on.

`CRASH_TURNS` sets how many turns are killed (`make crash` kills hundreds), `CRASH_SEED` repeats a run.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_core.messages import Message, repaired
from agent_core.sessions.database import unpack
from tests.e2e.conftest import EditorFactory
from tests.support.editor import PLAIN, ZED, Editor
from tests.support.editor_policies import never
from tests.support.merged_view import MergedView, merged_view

# Each looks elsewhere: a model that looks at the same again and again is stopped.
_LOOKS = [f'call read_file {{"path": "notes.txt", "offset": {line}, "limit": 1}}' for line in range(1, 21)]
TURNS = int(os.environ.get("CRASH_TURNS", "2"))
SEED = int(os.environ.get("CRASH_SEED", "4"))
_CONTENT = 40_000


@dataclass(slots=True)
class Lived:
    """What the person knows of the session.

    Attributes:
        finished: tokens of turns whose prompt was answered, in order.
        seen: tokens of killed turns of which something was shown.
        contents: every content that the file may have.
    """

    finished: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    contents: set[str] = field(default_factory=lambda: {""})


class Chaos:
    """Random turns, and random moments to kill in."""

    def __init__(self, seed: int, workspace: Path) -> None:
        self._random = random.Random(seed)
        self._workspace = workspace
        self.lived = Lived()

    def profile(self) -> dict[str, Any]:
        return self._random.choice([PLAIN, ZED])

    def prompt(self, token: str) -> tuple[str, str]:
        """A prompt that begins with its token, and the mode that it runs in."""
        kind = self._random.choice(("stream", "tool", "edit", "calls", "permission"))
        body = {
            "stream": "stream 30000",
            "tool": "run for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.02; done",
            "edit": "\n".join(self._write(f"{token}-{number}") for number in range(10)),
            "calls": "\n".join(["parallel", *(f"run echo {number}" for number in range(4)), "end", *_LOOKS]),
            "permission": self._write(f"{token}-asked"),
        }[kind]
        return f"say {token}\n{body}\nsay end-of-{token}", "default" if kind == "permission" else "dont_ask"

    async def moment(self, editor: Editor, session: str) -> None:
        """Wait for the moment to kill: so many frames, or so many milliseconds, after the prompt was sent."""
        if self._random.random() < 0.5:
            await asyncio.sleep(self._random.choice((0.0, 0.002, 0.01, 0.03, 0.1, 0.3)))
            return
        wanted = len(editor.frames) + self._random.choice((1, 1, 2, 3, 5, 8, 13, 21, 34))
        with contextlib.suppress(AssertionError):  # a turn that waits for an answer shows no more
            await editor.until(lambda: len(editor.frames) >= wanted, 1)

    def ends_well(self) -> bool:
        return self._random.random() < 0.25

    def _write(self, word: str) -> str:
        content = "-".join([word] * (_CONTENT // (len(word) + 1)))
        self.lived.contents.add(content)
        return f"write data.txt {content}"


@pytest.mark.long
@pytest.mark.timeout(60 + 10 * TURNS)
async def test_nothing_is_lost_and_nothing_is_there_twice(
    editor: EditorFactory, workspace: Path, home: Path, request: pytest.FixtureRequest
) -> None:
    (workspace / "notes.txt").write_text("note\n" * 50, encoding="utf-8")
    chaos, session = Chaos(SEED, workspace), ""
    for number in range(TURNS):
        profile = chaos.profile()
        agent = await editor("--offline")
        await agent.initialize(profile)
        if session:
            await agent.load_session(session, workspace)
            _check_replay(merged_view(agent.updates(session)), chaos.lived)
            _check_history(home, session)
        else:
            session = await agent.new_session(workspace)
        _check_file(workspace, chaos.lived)
        await _one_turn(agent, session, f"token{number}", chaos)
        await agent.kill()
    agent = await editor("--offline")
    await agent.initialize(PLAIN)
    await agent.load_session(session, workspace)
    _check_replay(merged_view(agent.updates(session)), chaos.lived)
    assert (await agent.prompt(session, "say Still here."))["stopReason"] == "end_turn"
    await agent.close(expect=0)


async def _one_turn(agent: Editor, session: str, token: str, chaos: Chaos) -> None:
    prompt, mode = chaos.prompt(token)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": mode})
    agent.on_permission = never
    known = len(agent.frames)
    chaos.lived.sent.append(token)
    turn = agent.begin_prompt(session, prompt)
    if chaos.ends_well() and mode == "dont_ask":
        assert (await agent.answer(turn))["stopReason"] == "end_turn"
        chaos.lived.finished.append(token)
    else:
        await chaos.moment(agent, session)
        turn.add_done_callback(lambda done: done.cancelled() or done.exception())
        kinds = {frame.update.get("sessionUpdate") for frame in agent.frames[known:] if not frame.ours}
        if kinds & {"agent_message_chunk", "tool_call"}:
            chaos.lived.seen.append(token)


def _check_replay(view: MergedView, lived: Lived) -> None:
    prompts = [text.split()[1] for text in view.texts("user_message_chunk")]
    assert len(set(prompts)) == len(prompts), f"a prompt is there twice: {prompts}"
    assert prompts == [token for token in lived.sent if token in prompts], "the order has changed"
    missing = {*lived.finished, *lived.seen} - set(prompts)
    assert not missing, f"prompts are lost: {missing}"
    answers = Counter(word for text in view.texts() for word in text.split())
    for token in lived.finished:
        assert (answers[token], answers[f"end-of-{token}"]) == (1, 1), f"the answer to {token} is not there once"
    for token in lived.sent:
        assert answers[token] <= 1
    open_cards = [entry for entry in view.entries if entry["kind"] == "card" and entry["status"] not in _FINAL]
    assert not open_cards


_FINAL = ("completed", "failed")


def _check_history(home: Path, session: str) -> None:
    """What the model will be shown: every call with one result, every prompt once."""
    with sqlite3.connect(f"file:{home / 'hermes-acp.db'}?mode=ro", uri=True) as database:
        rows = database.execute(
            "SELECT body FROM messages WHERE session_id = ? AND hidden = '' ORDER BY id", (session,)
        ).fetchall()
        assert database.execute("PRAGMA quick_check").fetchone() == ("ok",)
    database.close()
    messages: list[Message] = [unpack(body) for (body,) in rows]
    whole = repaired(messages)
    calls = Counter(call["id"] for message in whole for call in message.get("tool_calls", ()))
    results = Counter(message["tool_call_id"] for message in messages if message["role"] == "tool")
    assert set(calls.values()) | set(results.values()) <= {1}
    assert set(results) <= set(calls)
    prompts = Counter(str(message["content"]) for message in messages if message["role"] == "user")
    assert set(prompts.values()) <= {1}


def _check_file(workspace: Path, lived: Lived) -> None:
    path = workspace / "data.txt"
    content = path.read_text(encoding="utf-8") if path.exists() else ""
    assert content in lived.contents, f"data.txt is broken: {content[:60]!r}, {len(content)} characters"
