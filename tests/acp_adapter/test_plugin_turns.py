"""Plugins and hooks in sessions of an editor."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp_adapter.commands.talk import Talk
from tests.support.editor import ZED, Editor
from tests.support.editor_host import RpcError
from tests.support.editor_policies import allow
from tests.support.in_memory import serving
from tests.support.own_tools import write
from tests.support.plugins import add_plugin, forget_plugins, tool
from tests.support.settings_files import configure


@pytest.fixture(autouse=True)
def _plugins_go_with_the_test() -> Iterator[None]:
    yield
    forget_plugins()


@pytest.fixture
async def editor(home: Path) -> AsyncIterator[Editor]:
    async with serving(home) as made:
        await made.initialize(ZED)
        made.on_permission = allow
        yield made


async def _talk(editor: Editor, home: Path, workspace: Path) -> Talk:
    return await Talk.begin(editor, home, workspace)


def _names(talk: Talk) -> list[str]:
    return [command["name"] for command in talk.offered()]


async def test_a_plugin_s_tool_and_command_are_there(editor: Editor, home: Path, workspace: Path) -> None:
    add_plugin(
        home / "plugins",
        "mine",
        f"{tool('mine_tool')}; ctx.register_command('greet', lambda args: 'Hello ' + args, 'Greets', 'whom')",
    )
    talk = await _talk(editor, home, workspace)

    assert await talk.say("/greet Ada") == "Hello Ada"
    await talk.say("call mine_tool {}")

    assert "greet" in _names(talk)
    assert [card["status"] for card in editor.cards(talk.session).values()] == ["completed"]
    assert "From plugins" in await talk.say("/help")


async def test_a_command_of_a_plugin_may_be_a_prompt_and_may_fail(
    editor: Editor, home: Path, workspace: Path
) -> None:
    source = """
        def register(ctx):
            ctx.register_command("go", lambda args: ctx.prompt("say " + args))
            ctx.register_command("oops", lambda: 1 / 0)
    """
    add_plugin(home / "plugins", "mine", source)
    talk = await _talk(editor, home, workspace)

    assert await talk.say("/go there") == "there\n"
    assert "its command failed: ZeroDivisionError" in await talk.say("/oops")


async def test_a_broken_plugin_is_told_and_the_session_goes_on(editor: Editor, home: Path, workspace: Path) -> None:
    add_plugin(home / "plugins", "bad", "1 / 0")
    talk = await _talk(editor, home, workspace)

    assert await talk.say("say still here") == "still here\n"

    assert "The plugin bad" in editor.text(talk.session, "agent_thought_chunk")
    assert "ZeroDivisionError" in await talk.say("/plugins")


async def test_a_project_s_plugin_runs_once_the_person_has_trusted_it(
    editor: Editor, home: Path, workspace: Path, tmp_path: Path
) -> None:
    add_plugin(
        workspace / ".hermes" / "plugins", "theirs", f"{tool('theirs_tool')}; ctx.register_command('x', print)"
    )
    talk = await _talk(editor, home, workspace)

    await talk.say("call theirs_tool {}")
    assert "untrusted" in await talk.say("/plugins")
    assert "would run with your rights" in await talk.say("/trust")
    assert "plugins/theirs" in await talk.say("/trust all")
    await talk.say("call theirs_tool {}")

    assert [card["status"] for card in editor.cards(talk.session).values()] == ["failed", "completed"]
    assert "x" in _names(talk)
    other = await editor.new_session(tmp_path)
    await editor.prompt(other, "call theirs_tool {}")
    assert [card["status"] for card in editor.cards(other).values()] == ["failed"], "another project has it not"


async def test_wrong_words_trust_nothing(editor: Editor, home: Path, workspace: Path) -> None:
    talk = await _talk(editor, home, workspace)
    assert "brings nothing that could be trusted" in await talk.say("/trust all")
    add_plugin(workspace / ".hermes" / "plugins", "theirs", tool("theirs_tool"))
    assert "brings no plugins/other" in await talk.say("/trust plugins/other")
    assert "nothing was trusted" in await talk.say("/trust none")


async def test_command_hooks_of_the_settings_guard_every_call(editor: Editor, home: Path, workspace: Path) -> None:
    hooks = {
        "PreToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "echo frozen >&2; exit 2"}]}]
    }
    configure(home, {"hooks": hooks})
    talk = await _talk(editor, home, workspace)

    await talk.say('call write_file {"path": "a.txt", "content": "x"}')

    [card] = editor.cards(talk.session).values()
    assert card["status"] == "failed"
    assert "frozen" in json.dumps(card)
    assert not (workspace / "a.txt").exists()


async def test_changed_settings_count_with_the_next_prompt(editor: Editor, home: Path, workspace: Path) -> None:
    talk = await _talk(editor, home, workspace)
    await talk.say("say first")
    configure(home, {"hooks": {"UserPromptSubmit": [{"command": "echo Be brief."}]}})

    await talk.say("say second")

    asked = [text for text in talk.history() if text.startswith("say")]
    assert asked == ["say first", "say second\n\n[Not from the user. Their hooks say:]\nBe brief."]


async def test_a_refused_prompt_is_an_error_that_says_why(editor: Editor, home: Path, workspace: Path) -> None:
    configure(home, {"hooks": {"UserPromptSubmit": [{"command": "echo no keys >&2; exit 2"}]}})
    talk = await _talk(editor, home, workspace)

    with pytest.raises(RpcError, match="refuses this prompt: no keys"):
        await talk.say("say x")

    assert talk.history() == []


async def test_a_prompt_that_was_cancelled_at_once_is_judged_before_the_model_hears_of_it(
    editor: Editor, home: Path, workspace: Path
) -> None:
    configure(
        home, {"hooks": {"UserPromptSubmit": [{"command": "if grep -q KEY; then echo no keys >&2; exit 2; fi"}]}}
    )
    talk = await _talk(editor, home, workspace)
    for text in ("say KEY", "say harmless"):
        turn = editor.begin_prompt(talk.session, text)
        editor.cancel(talk.session)
        assert (await editor.answer(turn))["stopReason"] == "cancelled"

    await talk.say("say on")

    assert [text for text in talk.history() if text.startswith("say")] == ["say harmless", "say on"]
    assert "left out: «say KEY»" in editor.text(talk.session)


async def test_a_project_s_hooks_run_as_they_were_trusted(editor: Editor, home: Path, workspace: Path) -> None:
    folder = workspace / ".hermes" / "hooks"
    write(
        folder / "hooks.yaml", 'pre_tool_call:\n- {matcher: write_file, command: sh "$HERMES_HOOKS_DIR/guard.sh"}\n'
    )
    write(folder / "guard.sh", "echo guarded >&2; exit 2\n")
    talk = await _talk(editor, home, workspace)
    call = 'call write_file {"path": "a.txt", "content": "x"}'

    await talk.say(call)
    assert (workspace / "a.txt").exists(), "it is not trusted yet"
    await talk.say("/trust hooks")
    write(folder / "guard.sh", "exit 0\n")
    await talk.say(call)

    first, second = editor.cards(talk.session).values()
    assert (first["status"], second["status"]) == ("completed", "failed")
    assert "guarded" in json.dumps(second)


async def test_the_end_of_a_session_is_told(editor: Editor, home: Path, workspace: Path) -> None:
    configure(home, {"hooks": {"SessionEnd": [{"command": "cat > ended.json"}]}})
    talk = await _talk(editor, home, workspace)
    await talk.say("say x")

    await editor.request("session/close", {"sessionId": talk.session})

    assert json.loads((workspace / "ended.json").read_text())["reason"] == "other"


async def test_the_end_of_the_program_is_told_too(home: Path, workspace: Path) -> None:
    configure(home, {"hooks": {"SessionEnd": [{"command": "cat > ended.json"}]}})
    async with serving(home) as editor:
        await editor.initialize(ZED)
        session = await editor.new_session(workspace)
        await editor.prompt(session, "say x")

    assert json.loads((workspace / "ended.json").read_text())["reason"] == "exit"


async def test_hooks_can_read_the_conversation_and_of_what_was_undone_nothing(
    editor: Editor, home: Path, workspace: Path
) -> None:
    (workspace / "a.txt").write_text("one")
    hook = [{"command": "cat > told.json"}]
    configure(home, {"hooks": {"Stop": hook}})
    talk = await _talk(editor, home, workspace)

    def transcript() -> list[dict[str, Any]]:
        path = Path(json.loads((workspace / "told.json").read_text())["transcript_path"])
        assert path.stat().st_mode & 0o777 == 0o600
        return [json.loads(line) for line in path.read_text().splitlines()]

    await talk.say("read a.txt\nsay first")
    lines = transcript()
    assert [line["type"] for line in lines] == ["user", "assistant", "user", "assistant"]
    assert {line["sessionId"] for line in lines} == {talk.session}
    call = lines[1]["message"]["content"][0]
    assert (call["type"], call["name"], call["input"]) == ("tool_use", "read_file", {"path": "a.txt"})
    result = lines[2]["message"]["content"][0]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", call["id"])
    assert "one" in result["content"]
    assert lines[3]["message"]["content"] == [{"type": "text", "text": "first\n"}], "the answer that is the last one"

    await talk.say("say second")
    second = [{"type": "text", "text": "second\n"}]
    assert [line["message"]["content"] for line in transcript()][4:] == ["say second", second]
    await talk.say("/undo")
    await talk.say("say third")
    third = [{"type": "text", "text": "third\n"}]
    assert [line["message"]["content"] for line in transcript()][4:] == ["say third", third]


async def test_without_a_place_for_it_hooks_have_no_transcript_and_the_turn_goes_on(
    editor: Editor, home: Path, workspace: Path
) -> None:
    configure(home, {"hooks": {"Stop": [{"command": "cat > told.json"}]}})
    (home / "outputs").write_text("in the way")
    talk = await _talk(editor, home, workspace)

    assert await talk.say("say x") == "x\n"

    assert json.loads((workspace / "told.json").read_text())["transcript_path"] == ""
