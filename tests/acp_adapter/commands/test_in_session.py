"""Commands in a session: what is shown, what reaches the model, and what is there after a reload."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.acp_adapter.commands.talk import Talk
from tests.support.editor import JETBRAINS, PLAIN, ZED, Editor
from tests.support.editor_policies import after, never
from tests.support.in_memory import serving


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/help", ["`/rewind <how many turns>`", "`/version`"]),
        ("/version", ["hermes-acp", "protocol 1", "Python"]),
        ("/tools", ["`read_file`", "`terminal`", "**files**"]),
        ("/mode", ["`default`", "`accept_edits`"]),
        ("/context", ["Tools", "█"]),
        ("/cost", ["no model was asked"]),
        ("/mcp", ["no MCP servers"]),
        ("/title", ["none yet"]),
        ("/undo", ["nothing to undo"]),
        ("/reset", ["nothing to forget"]),
        ("/hepl", ["`/help`", "Nothing was done"]),
        ("/undo now", ["takes nothing after it"]),
        ("/redo now", ["takes nothing after it"]),
        ("/queue", ["/queue Only"]),
        ("/mode whatever", ["no mode 'whatever'"]),
        ("/export pdf", ["/export html", "Nothing was written"]),
        ("/usage", ["no model was asked"]),
        ("/clear", ["nothing to forget"]),
        ("/agents", ["Nothing was begun"]),
        ("/stop", ["Nothing runs"]),
        ("/config", ["config.yaml", "hermes-acp setup"]),
        ("/plan", ["`plan`"]),
        ("/reasoning", ["no thinking to choose", "`/model`"]),
        ("/reasoning hide", ["is not shown"]),
        ("/yolo", ["Nothing was changed", "/mode dont_ask"]),
    ],
)
async def test_a_command_is_answered_in_words_and_the_model_sees_nothing(talk: Talk, command: str, words: list[str]):
    told = await talk.say(command)
    for word in words:
        assert word in told
    assert talk.history() == []


@pytest.mark.parametrize(
    "before",
    [
        [{"type": "resource_link", "name": "a.py", "uri": "file:///srv/app/a.py"}],
        [{"type": "resource", "resource": {"uri": "file:///srv/app/a.py", "text": "x = 1"}}],
        [{"type": "text", "text": " "}],
    ],
    ids=["link", "resource", "blank"],
)
async def test_a_command_behind_what_the_editor_attached_is_answered(talk: Talk, before: list[dict[str, Any]]):
    told = await talk.say([*before, {"type": "text", "text": "/version"}])
    assert "hermes-acp" in told
    assert "not used" not in told
    assert talk.history() == []


async def test_plan_with_words_is_a_prompt_in_that_mode(talk: Talk):
    assert await talk.say("/plan say A plan.") == "A plan.\n"
    assert talk.editor.updates(talk.session, "current_mode_update")[-1]["currentModeId"] == "plan"
    assert talk.history()[0].startswith("say A plan.\n")


async def test_the_window_of_a_session_that_was_only_loaded_is_shown_with_its_prompt(
    talk: Talk, home: Path, workspace: Path
):
    (workspace / "AGENTS.md").write_text("Mind the gap.\n" * 20)
    await talk.say("say Hello.")
    before = await talk.say("/context")
    assert "· AGENTS.md" in before
    await talk.editor.close()
    async with serving(home) as editor:
        await editor.initialize(ZED)
        await editor.load_session(talk.session, workspace)
        assert await Talk(editor, home, workspace, talk.session).say("/context") == before


async def test_what_was_typed_and_told_is_there_after_a_reload(talk: Talk):
    await talk.say("say Hello.")
    told = await talk.say("/version")
    await talk.say("say Bye.")
    view = await talk.reloaded()
    assert view.texts("user_message_chunk") == ["say Hello.", "/version", "say Bye."]
    assert view.texts() == ["Hello.\n", told, "Bye.\n"]


async def test_commands_alone_do_not_make_a_session_that_is_listed(talk: Talk, home: Path):
    await talk.say("/help")
    await talk.editor.request("session/close", {"sessionId": talk.session})
    assert (await talk.editor.request("session/list", {}))["sessions"] == []


async def test_an_undo_passes_over_commands_and_a_redo_too(talk: Talk):
    await talk.say("say One.")
    await talk.say("say Two.")
    await talk.say("/cost")
    assert "«say Two.»" in await talk.say("/undo")
    await talk.say("/help")
    assert "brought back" in await talk.say("/redo")
    assert [text for text in talk.history() if text.startswith("say")] == ["say One.", "say Two."]


async def test_what_an_undo_said_is_there_after_a_reload_with_its_card(talk: Talk, workspace: Path):
    await talk.editor.request("session/set_mode", {"sessionId": talk.session, "modeId": "dont_ask"})
    await talk.say("write data.txt agent")
    (workspace / "data.txt").write_text("mine")
    told = await talk.say("/undo")
    view = await talk.reloaded()
    assert view.texts("user_message_chunk") == ["/undo"]
    assert view.texts() == [told]
    (card,) = [entry for entry in view.entries if entry["kind"] == "card"]
    assert "data.txt" in str(card["title"])


async def test_a_mode_is_chosen_by_a_part_of_its_name_and_announced(talk: Talk):
    assert "`accept_edits`" in await talk.say("/mode accept")
    assert talk.editor.updates(talk.session, "current_mode_update")[-1]["currentModeId"] == "accept_edits"
    assert "`accept_edits`, as before" in await talk.say("/mode accept_edits")


async def test_a_title_is_the_persons_and_stays(talk: Talk):
    assert "**A \\*title\\***" in await talk.say("/title  A *title*\n")
    assert talk.editor.updates(talk.session, "session_info_update")[-1]["title"] == "A *title*"
    await talk.say("say A prompt that would name the session.")
    (session,) = (await talk.editor.request("session/list", {}))["sessions"]
    assert session["title"] == "A *title*"
    assert "A \\*title\\*" in await talk.say("/title")


async def test_a_fork_is_a_session_of_its_own(talk: Talk):
    await talk.say("say Shared.")
    told = await talk.say("/fork")
    (copy,) = {word.strip("`,.") for word in told.split() if word.strip("`").startswith("ses_")}
    await talk.say("say Only here.")
    await talk.editor.load_session(copy, talk.workspace)
    assert "Only here." not in talk.editor.text(copy)
    assert "Shared." in talk.editor.text(copy)


@pytest.mark.parametrize(
    ("words", "ending", "begins"), [("", "html", "<!doctype"), ("MD", "md", "---"), ("json", "jsonl", "{")]
)
async def test_an_export_is_a_new_file_for_the_person_alone(
    talk: Talk, home: Path, words: str, ending: str, begins: str
):
    await talk.say("say Written down.")
    for _ in range(2):
        assert str(home / "exports") in await talk.say(f"/export {words}")
    files = sorted((home / "exports").iterdir())
    assert len(files) == 2
    for file in files:
        assert file.suffix == f".{ending}"
        assert file.stat().st_mode & 0o077 == 0
        text = file.read_text()
        assert text.lower().startswith(begins)
        assert "Written down." in text


async def test_init_and_review_are_prompts_that_show_what_was_typed(talk: Talk):
    await talk.say("/init Keep it short.")
    await talk.say("/review main..HEAD")
    prompts = [text for text in talk.history() if "AGENTS.md" in text or "main..HEAD" in text]
    assert "AGENTS.md" in prompts[0]
    assert "Keep it short." in prompts[0]
    assert "Review this: main..HEAD" in next(text for text in prompts if "main..HEAD" in text)
    view = await talk.reloaded()
    assert view.texts("user_message_chunk") == ["/init Keep it short.", "/review main..HEAD"]


async def test_the_context_tells_what_fills_the_window(talk: Talk):
    await talk.say(f"say {'word ' * 4_000}")
    told = await talk.say("/context")
    for kind in ("System prompt", "Tools", "Your messages", "The model's messages"):
        assert kind in told
    assert "Tool results" not in told
    await talk.say("read README.md")
    assert "Tool results" in await talk.say("/context")


async def test_what_comes_with_a_command_goes_along_or_is_said_not_to_be_used(talk: Talk, workspace: Path):
    link = {"type": "resource_link", "uri": (workspace / "README.md").as_uri(), "name": "README.md"}
    told = await talk.say([{"type": "text", "text": "/version"}, link])
    assert "not used" in told
    await talk.say([{"type": "text", "text": "/review"}, link, {"type": "text", "text": "carefully"}])
    prompt = next(text for text in talk.history() if "Review this" in text)
    assert "README.md carefully" in prompt
    assert prompt.count("carefully") == 1
    assert (workspace / "README.md").as_uri() in prompt or "A small example." in prompt


class TestReset:
    async def test_the_model_begins_anew_and_the_conversation_stays_in_view(self, talk: Talk):
        await talk.say("todo read; edit")
        await talk.say("say Before.")
        told = await talk.say("/reset")
        assert "begins anew" in told
        assert talk.history() == []
        assert talk.editor.updates(talk.session, "plan")[-1]["entries"] == []
        await talk.say("say After.")
        assert talk.history() == ["say After.", "After.\n"]
        view = await talk.reloaded()
        assert view.texts("user_message_chunk") == ["todo read; edit", "say Before.", "/reset", "say After."]
        assert view.plan == []
        assert talk.history() == ["say After.", "After.\n"]

    async def test_the_next_request_holds_nothing_of_before(self, talk: Talk):
        await talk.say("say Before.")
        await talk.say("/reset")
        assert "Your messages" not in await talk.say("/context")

    async def test_an_undo_takes_it_back_and_a_redo_brings_it_again(self, talk: Talk):
        await talk.say("todo read; edit")
        before = talk.history()
        await talk.say("/reset")
        told = await talk.say("/undo")
        assert "«/reset»" in told
        assert "sees again" in told
        assert "does not see" not in told
        assert talk.history() == before
        assert [entry["content"] for entry in talk.editor.updates(talk.session, "plan")[-1]["entries"]] == [
            "read",
            "edit",
        ]
        await talk.say("/redo")
        assert talk.history() == []

    async def test_an_undo_behind_it_stays_behind_it(self, talk: Talk):
        await talk.say("say Before.")
        await talk.say("/reset")
        await talk.say("say After.")
        await talk.say("/undo")
        assert talk.history() == []
        await talk.say("/undo")
        assert talk.history() == ["say Before.", "Before.\n"]

    async def test_a_fork_begins_anew_where_it_did(self, talk: Talk):
        await talk.say("say Before.")
        await talk.say("/reset")
        await talk.say("say After.")
        told = await talk.say("/fork")
        (copy,) = {word.strip("`,.") for word in told.split() if word.strip("`").startswith("ses_")}
        assert talk.history(copy) == ["say After.", "After.\n"]

    async def test_it_outlasts_the_process(self, home: Path, workspace: Path):
        async with serving(home) as editor:
            await editor.initialize()
            talk = await Talk.begin(editor, home, workspace)
            await talk.say("say Before.")
            await talk.say("/reset")
        async with serving(home) as editor:
            await editor.initialize()
            await editor.load_session(talk.session, workspace)
            await Talk(editor, home, workspace, talk.session).say("say After.")
        assert talk.history() == ["say After.", "After.\n"]


class TestOwnCommands:
    @pytest.fixture
    def folder(self, workspace: Path) -> Path:
        folder = workspace / ".hermes" / "commands"
        folder.mkdir(parents=True)
        (folder / "echo.md").write_text("---\ndescription: Say it\n---\nsay $1!\nsay $ARGUMENTS?\n")
        return folder

    async def test_they_are_offered_with_their_origin_and_run_as_prompts(self, folder: Path, talk: Talk):
        commands = {command["name"]: command for command in talk.offered()}
        assert commands["echo"] == {"name": "echo", "description": "Say it (project)", "input": {"hint": "arguments"}}
        assert await talk.say('/echo "good day" sir') == 'good day!\n"good day" sir?\n'
        assert talk.history()[0] == 'say good day!\nsay "good day" sir?'
        assert (await talk.reloaded()).texts("user_message_chunk") == ['/echo "good day" sir']
        assert "echo" in {command["name"] for command in talk.offered()}
        assert "Your own:" in await talk.say("/help")

    async def test_a_new_file_works_at_once_and_is_offered(self, folder: Path, talk: Talk):
        (folder / "late.md").write_text("say Late.")
        assert await talk.say("/late") == "Late.\n"
        assert "late" in {command["name"] for command in talk.offered()}
        (folder / "late.md").unlink()
        await talk.say("say Gone.")
        assert "late" not in {command["name"] for command in talk.offered()}

    async def test_a_name_of_a_built_in_command_is_not_taken(self, folder: Path, talk: Talk):
        (folder / "undo.md").write_text("say Hijacked.")
        assert "nothing to undo" in await talk.say("/undo")
        assert len([command for command in talk.offered() if command["name"] == "undo"]) == 1

    async def test_nothing_in_a_file_is_run(self, folder: Path, talk: Talk, workspace: Path):
        (folder / "evil.md").write_text("say !`touch hacked` @/etc/passwd $(touch hacked) ${HOME}")
        assert await talk.say("/evil") == "!`touch hacked` @/etc/passwd $(touch hacked) ${HOME}\n"
        assert not (workspace / "hacked").exists()

    async def test_each_session_has_those_of_its_own_directory(
        self, folder: Path, talk: Talk, tmp_path: Path, home: Path
    ):
        other = await Talk.begin(talk.editor, home, tmp_path)
        assert "echo" in {command["name"] for command in talk.offered()}
        assert "echo" not in {command["name"] for command in other.offered()}
        assert "/echo" in await other.say("say /echo is not here")


class TestWhileATurnRuns:
    async def test_steering_reaches_the_running_turn(self, editor: Editor, talk: Talk):
        go_on = asyncio.Event()
        editor.on_permission = after(go_on)
        turn = editor.begin_prompt(talk.session, "write new.txt x\nsay Begun.")
        await editor.wait_for_call("session/request_permission")
        assert (await editor.prompt(talk.session, "/steer say Steered."))["stopReason"] == "end_turn"
        assert not turn.done()
        go_on.set()
        assert (await editor.answer(turn))["stopReason"] == "end_turn"
        assert "say Steered." in "\n".join(talk.history())
        assert "say Steered." in "\n".join((await talk.reloaded()).texts("user_message_chunk"))

    async def test_steering_an_idle_session_is_a_prompt(self, talk: Talk):
        assert await talk.say("/steer say Alone.") == "Alone.\n"
        assert talk.history() == ["say Alone.", "Alone.\n"]

    async def test_a_queued_prompt_and_other_commands_wait_their_turn(self, editor: Editor, talk: Talk):
        go_on = asyncio.Event()
        editor.on_permission = after(go_on)
        turn = editor.begin_prompt(talk.session, "write new.txt x\nsay First.")
        await editor.wait_for_call("session/request_permission")
        queued = editor.begin_prompt(talk.session, "/queue say Second.")
        version = editor.begin_prompt(talk.session, "/version")
        go_on.set()
        for answer in (turn, queued, version):
            assert (await editor.answer(answer))["stopReason"] == "end_turn"
        text = editor.text(talk.session)
        assert text.index("First.") < text.index("Second.") < text.index("hermes-acp")

    async def test_stop_ends_the_running_turn_and_what_was_queued(self, editor: Editor, talk: Talk):
        editor.on_permission = never
        turn = editor.begin_prompt(talk.session, "write new.txt x\nsay First.")
        await editor.wait_for_call("session/request_permission")
        queued = editor.begin_prompt(talk.session, "say Later.")
        stopping = editor.begin_prompt(talk.session, "/stop")
        reasons = [(await editor.answer(answer))["stopReason"] for answer in (turn, queued, stopping)]
        assert reasons == ["cancelled", "cancelled", "end_turn"]
        assert not (talk.workspace / "new.txt").exists()
        assert "Later." not in editor.text(talk.session)
        assert await talk.say("say Still here.") == "Still here.\n"

    async def test_a_cancel_ends_commands_that_wait(self, editor: Editor, talk: Talk):
        turn = editor.begin_prompt(talk.session, "say Begun.\nsleep 60")
        await editor.wait_for_update(talk.session, "agent_message_chunk")
        waiting = editor.begin_prompt(talk.session, "/title Never")
        editor.cancel(talk.session)
        for answer in (turn, waiting):
            assert (await editor.answer(answer))["stopReason"] == "cancelled"
        assert "Never" not in await talk.say("/title")

    async def test_another_session_is_not_held_up(self, editor: Editor, talk: Talk, home: Path, workspace: Path):
        turn = editor.begin_prompt(talk.session, "say Begun.\nsleep 60")
        await editor.wait_for_update(talk.session, "agent_message_chunk")
        other = await Talk.begin(editor, home, workspace)
        assert "hermes-acp" in await other.say("/version")
        assert "Hello." in await other.say("say Hello.")
        editor.cancel(talk.session)
        await editor.answer(turn)


@pytest.mark.parametrize("profile", [PLAIN, JETBRAINS], ids=["plain", "jetbrains"])
async def test_every_client_gets_the_same_answer(home: Path, workspace: Path, profile: dict[str, Any]):
    async with serving(home) as editor:
        await editor.initialize(profile)
        talk = await Talk.begin(editor, home, workspace)
        assert "protocol 1" in await talk.say("/version")
