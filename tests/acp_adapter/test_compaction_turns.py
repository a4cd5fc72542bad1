"""A compressed conversation as an editor sees it: as it happens, when asked for, and when it is loaded again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_core.compaction.compactor import ENGINES
from agent_core.config import ConfigSource
from agent_core.home import Home
from agent_core.sessions.library import SessionLibrary
from tests.support.editor import PLAIN, Editor, RpcError
from tests.support.foreign_engine import ForeignEngine
from tests.support.in_memory import serving
from tests.support.merged_view import merged_view
from tests.support.model_server import Gate, ModelServer, Recorded, Reply, Status
from tests.support.settings_files import configure, use_model
from tools.agent_ports import RecallQuery

LONG = "lorem ipsum dolor sit amet " * 100
OFFERS = {**PLAIN, "session": {"compaction": {}}}
NOTICES = {**PLAIN, "session": {"notices": {}}}

TALKED = Reply("they talked")

Start = Callable[..., AbstractAsyncContextManager["Bench"]]


class Bench:
    """A session whose model answers each prompt; what is asked for a summary is answered with `summary`."""

    def __init__(self, editor: Editor, server: ModelServer, workspace: Path) -> None:
        self.editor, self.server, self.workspace = editor, server, workspace
        self.session = ""

    async def say(self, text: str, session: str = "") -> str:
        session = session or self.session
        before = len(self.editor.text(session))
        assert (await self.editor.prompt(session, text))["stopReason"] == "end_turn"
        return self.editor.text(session)[before:]

    async def talk(self, turns: int) -> None:
        for number in range(turns):
            await self.say(f"prompt {number}: {LONG}")

    def asked(self) -> list[str]:
        """What the session's model was sent, without what was asked for a summary."""
        return [request.raw.decode() for request in self.server.requests if not is_summary(request)]

    def summaries(self) -> list[str]:
        return [request.raw.decode() for request in self.server.requests if is_summary(request)]

    def seen(self, kind: str, session: str = "") -> list[dict[str, Any]]:
        return self.editor.updates(session or self.session, kind)

    def thoughts(self) -> str:
        return "".join(update["content"]["text"] for update in self.seen("agent_thought_chunk"))


def is_summary(request: Recorded) -> bool:
    return b'"tools"' not in request.raw


def answer(summary: Any) -> Callable[[Recorded], Any]:
    return lambda request: summary if is_summary(request) else Reply("fine")


@pytest.fixture
def start(home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.setitem(ENGINES, "foreign", lambda part, *_: ForeignEngine(part.threshold))

    @asynccontextmanager
    async def start(
        profile: dict[str, Any] = PLAIN,
        summary: Any = TALKED,
        threshold: float = 0.95,
        **compression: Any,
    ) -> AsyncIterator[Bench]:
        with ModelServer(default=answer(summary)) as server:
            use_model(
                home,
                server,
                model={"context_length": 40_000},
                compression={"engine": "foreign", "threshold": threshold, **compression},
                platform_toolsets={"acp": ["files"]},
            )
            async with serving(home, config=ConfigSource(Home(home))) as editor:
                await editor.initialize(profile)
                bench = Bench(editor, server, workspace)
                bench.session = await editor.new_session(workspace)
                yield bench

    return start


async def test_a_client_that_shows_compactions_is_told_of_each_at_its_place_live_and_when_it_loads(start: Start):
    async with start(OFFERS, threshold=0.1) as bench:
        await bench.talk(8)
        told = bench.seen("compaction_update")
        first = [update for update in told if update["compactionId"] == told[0]["compactionId"]]
        assert [update["status"] for update in first] == ["in_progress", "completed"]
        assert "they talked" in first[1]["summary"][0]["text"]
        updates = bench.editor.updates(bench.session)
        kinds = [update["sessionUpdate"] for update in updates[updates.index(first[1]) :]]
        assert kinds[:3] == ["compaction_update", "agent_thought_chunk", "usage_update"]
        used = bench.seen("usage_update")
        assert min(update["used"] for update in used[1:]) < used[0]["used"] * 2
        assert "≈" in bench.thoughts()
        known = len(bench.editor.updates(bench.session))
        await bench.editor.load_session(bench.session, bench.workspace)
        again = bench.editor.updates(bench.session)[known:]
        shown = [update for update in again if update["sessionUpdate"] == "compaction_update"]
        assert [update["compactionId"] for update in shown] == list(dict.fromkeys(u["compactionId"] for u in told))
        assert {update["status"] for update in shown} == {"completed"}
        assert "prompt 1" in json.dumps(again)  # the conversation itself is all there


async def test_an_attachment_too_large_for_the_window_fails_before_anything_is_compressed(start: Start):
    async with start(OFFERS, threshold=0.1) as bench:
        await bench.talk(2)
        before, asked = bench.seen("compaction_update"), len(bench.server.requests)
        log = {"uri": "file:///srv/build.log", "text": "error: no such module\n" * 40_000, "mimeType": "text/plain"}
        prompt = [{"type": "text", "text": "What broke?"}, {"type": "resource", "resource": log}]
        with pytest.raises(RpcError) as refused:
            await bench.editor.prompt(bench.session, prompt)
        assert refused.value.message.startswith("Send less text, or name the file")
        assert "was not compressed" in refused.value.message
        assert (bench.seen("compaction_update"), len(bench.server.requests)) == (before, asked)
        await bench.say("and now")
        assert "no such module" not in bench.asked()[-1]


async def test_other_clients_read_what_happens_among_the_thoughts(start: Start):
    async with start(threshold=0.1) as bench:
        await bench.talk(8)
        assert bench.seen("compaction_update") == []
        assert "Compressing the conversation…\n" in bench.thoughts()
        assert "custom:test-model wrote the summary" in bench.thoughts()
        known = len(bench.editor.updates(bench.session))
        await bench.editor.load_session(bench.session, bench.workspace)
        again = merged_view(bench.editor.updates(bench.session)[known:])
        live = merged_view(bench.editor.updates(bench.session)[:known])
        assert again.texts() == live.texts()
        assert any("was compressed from" in text for text in again.texts("agent_thought_chunk"))


async def test_a_summary_that_nobody_writes_is_warned_of(start: Start):
    async with start(NOTICES, Status(500, "down"), threshold=0.1) as bench:
        await bench.talk(8)
        notices = bench.seen("notice")
        assert {(update["severity"], update["title"]) for update in notices} == {
            ("warning", "No model wrote the summary; it was made by rule.")
        }
        assert "Nobody wrote a summary" in bench.asked()[-1]


async def test_compact_compresses_with_the_topic_and_the_next_request_has_the_summary(start: Start):
    async with start(OFFERS) as bench:
        await bench.talk(6)
        told = await bench.say("/compact the tests")
        assert "of 12 messages" in told
        assert "`/undo`" in told
        assert "above all the tests" in bench.summaries()[0]
        assert [update["status"] for update in bench.seen("compaction_update")] == ["in_progress", "completed"]
        await bench.say("and now")
        assert "they talked" in bench.asked()[-1]
        assert "prompt 1" not in bench.asked()[-1]
        known = len(bench.editor.updates(bench.session))
        await bench.editor.load_session(bench.session, bench.workspace)
        again = bench.editor.updates(bench.session)[known:]
        assert told in merged_view(again).texts()
        assert sum(update["sessionUpdate"] == "compaction_update" for update in again) == 1


async def test_an_undo_takes_what_was_asked_for_back_alone_and_a_redo_brings_it_again(start: Start):
    async with start() as bench:
        await bench.talk(6)
        await bench.say("/compact")
        assert "`/compact` had replaced" in await bench.say("/undo")
        await bench.say("first")
        assert "prompt 1" in bench.asked()[-1]
        await bench.say("/compact")
        await bench.say("/undo")
        await bench.say("/redo")
        await bench.say("second")
        assert "prompt 1" not in bench.asked()[-1]


async def test_upstreams_name_for_it_is_understood_and_not_offered(start: Start):
    async with start() as bench:
        assert "There is nothing to compress" in await bench.say("/compress")
        names = [command["name"] for command in bench.seen("available_commands_update")[-1]["availableCommands"]]
        assert "compact" in names
        assert "compress" not in names


async def test_what_would_not_become_smaller_is_left_alone(start: Start):
    async with start() as bench:
        await bench.talk(2)
        assert "would not become noticeably smaller" in await bench.say("/compact")
        assert bench.summaries() == []
        assert "nothing to undo" not in await bench.say("/undo")  # the turn before, not the command


async def test_a_cancel_while_it_is_asked_for_changes_nothing(start: Start):
    gate = Gate()
    async with start(OFFERS, Reply("late", gate=gate)) as bench:
        await bench.talk(6)
        running = asyncio.ensure_future(bench.editor.prompt(bench.session, "/compact"))
        await bench.editor.wait_for_update(bench.session, "compaction_update")
        bench.editor.notify("session/cancel", {"sessionId": bench.session})
        assert (await running)["stopReason"] == "cancelled"
        assert [update["status"] for update in bench.seen("compaction_update")] == ["in_progress", "cancelled"]
        gate.set()
        await bench.say("and now")
        assert "prompt 1" in bench.asked()[-1]


async def test_a_cancel_of_the_turn_ends_the_compression_that_it_waits_for(start: Start):
    gate = Gate()
    async with start(OFFERS, Reply("late", gate=gate), threshold=0.1) as bench:
        running = asyncio.ensure_future(_until_compressing(bench))
        await bench.editor.wait_for_update(bench.session, "compaction_update")
        bench.editor.notify("session/cancel", {"sessionId": bench.session})
        assert await running == "cancelled"
        assert [update["status"] for update in bench.seen("compaction_update")] == ["in_progress", "cancelled"]
        gate.set()


async def _until_compressing(bench: Bench) -> str:
    for number in range(9):
        stop = (await bench.editor.prompt(bench.session, f"prompt {number}: {LONG}"))["stopReason"]
        if stop != "end_turn":
            return str(stop)
    return "never"


async def test_context_tells_the_summary_and_counts_what_is_shown(start: Start):
    async with start() as bench:
        await bench.talk(6)
        before = await bench.say("/context")
        await bench.say("/compact")
        after = await bench.say("/context")
        assert "Summary of earlier work" in after
        assert "Summary of earlier work" not in before
        assert "its server counted" in before
        assert "its server counted" not in after
        assert _share(after) < _share(before)


def _share(text: str) -> int:
    return int(text.split(" %", maxsplit=1)[0].rpartition(" ")[2])


async def test_a_fork_goes_on_from_the_summary(start: Start):
    async with start() as bench:
        await bench.talk(6)
        await bench.say("/compact")
        made = await bench.editor.request("session/fork", {"sessionId": bench.session, "cwd": str(bench.workspace)})
        await bench.say("in the fork", made["sessionId"])
        assert "they talked" in bench.asked()[-1]
        assert "prompt 1" not in bench.asked()[-1]


async def test_what_was_exported_names_it(start: Start, home: Path):
    async with start() as bench:
        await bench.talk(6)
        await bench.say("/compact")
        for ending in ("md", "html", "jsonl"):
            await bench.say(f"/export {ending}")
        texts = {path.suffix: path.read_text() for path in (home / "exports").iterdir()}
    assert "The conversation was compressed from" in texts[".md"]
    assert "The conversation was compressed from" in texts[".html"]
    assert json.loads(texts[".jsonl"])["compressions"] == 1
    assert "prompt 1" in texts[".jsonl"]


async def test_another_program_goes_on_from_the_summary_with_the_same_beginning(
    start: Start, home: Path, workspace: Path
):
    async with start() as bench:
        await bench.talk(6)
        await bench.say("/compact")
        await bench.say("here")
        await bench.editor.request("session/close", {"sessionId": bench.session})
        async with serving(home, config=ConfigSource(Home(home))) as other:
            await other.initialize(PLAIN)
            await other.load_session(bench.session, workspace)
            await other.prompt(bench.session, "there")
            one, two = (json.loads(request)["messages"] for request in bench.asked()[-2:])
            assert two[: len(one)] == one
            await other.prompt(bench.session, "/undo")
            await other.prompt(bench.session, "/undo")
            await other.prompt(bench.session, "/undo")
            await other.prompt(bench.session, "whole")
            assert "prompt 1" in bench.asked()[-1]


async def test_what_was_said_before_is_still_found(start: Start, home: Path):
    async with start() as bench:
        await bench.talk(1)
        await bench.say(f"The gate opens with swordfish. {LONG}")
        await bench.talk(6)
        await bench.say("/compact")
        await bench.say("and now")
        assert "swordfish" not in bench.asked()[-1]
        library = SessionLibrary(Home(home))
        try:
            (found,) = await asyncio.to_thread(library.recall.search, RecallQuery("swordfish"))
        finally:
            await asyncio.to_thread(library.close)
        assert found.session_id == bench.session


async def test_an_engine_that_there_is_not_is_told_with_its_key(start: Start, home: Path):
    async with start(engine="none-such") as bench:
        with pytest.raises(Exception, match=r"compression\.engine = 'none-such'"):
            await bench.editor.prompt(bench.session, "hello")


async def test_a_hook_is_told_whether_the_person_has_compressed_and_with_which_topic(start: Start, home: Path):
    async with start() as bench:
        settings = json.loads((home / "config.yaml").read_text())
        configure(home, {**settings, "hooks": {"PreCompact": [{"command": "cat > told.json"}]}})
        await bench.talk(6)
        await bench.say("/compact the tests")
        told = json.loads((bench.workspace / "told.json").read_text())
        assert (told["trigger"], told["custom_instructions"]) == ("manual", "the tests")
