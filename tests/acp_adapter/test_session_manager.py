"""Sessions that outlast the process: load, resume, fork, list, close, delete, unload."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.transport import Transport
from agent_core.errors import StoreError
from agent_core.sessions.database import Database
from tests.support.editor import PLAIN, ZED, Editor, RpcError
from tests.support.in_memory import serving
from tests.support.merged_view import merged_view
from tests.support.stored_sessions import held_elsewhere

_SAID = "user_message_chunk"
_WORK = """think Let me look.
say I will read it.
todo read; edit; test
read sums.py
parallel
run echo one
run echo two
end
run exit 3
say Done.
"""


@pytest.fixture(params=[PLAIN, ZED], ids=["plain", "zed"])
def profile(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)


@pytest.fixture
async def editor(home: Path) -> AsyncIterator[Editor]:
    async with serving(home) as made:
        await made.initialize()
        yield made


async def _lived(home: Path, workspace: Path, *prompts: str, profile: dict[str, Any] = PLAIN) -> tuple[str, Editor]:
    """A session with these prompts behind it, in a server that has ended since."""
    async with serving(home) as editor:
        await editor.initialize(profile)
        session = await editor.new_session(workspace)
        for prompt in prompts:
            assert (await editor.prompt(session, prompt))["stopReason"] == "end_turn"
    return session, editor


def _place(session: str, cwd: Path, **params: Any) -> dict[str, Any]:
    return {"sessionId": session, "cwd": str(cwd), "mcpServers": [], **params}


def _answers(editor: Editor, session: str) -> list[str]:
    return [text.strip() for text in merged_view(editor.updates(session)).texts()]


async def _listed(editor: Editor, **params: Any) -> list[str]:
    return [entry["sessionId"] for entry in (await editor.request("session/list", params))["sessions"]]


async def _error(editor: Editor, method: str, params: dict[str, Any]) -> RpcError:
    with pytest.raises(RpcError) as failed:
        await editor.request(method, params)
    return failed.value


async def _refused(editor: Editor, session: str, text: str) -> RpcError:
    with pytest.raises(RpcError) as failed:
        await editor.prompt(session, text)
    return failed.value


class TestLoad:
    async def test_what_is_replayed_is_what_was_shown(
        self, home: Path, workspace: Path, profile: dict[str, Any]
    ) -> None:
        session, before = await _lived(home, workspace, _WORK, "say Again.", profile=profile)
        async with serving(home) as editor:
            await editor.initialize(profile)
            await editor.load_session(session, workspace)
        lived, replayed = merged_view(before.updates(session)), merged_view(editor.updates(session))
        assert [entry for entry in replayed.entries if entry["kind"] != _SAID] == lived.entries
        assert (replayed.plan, replayed.usage) == (lived.plan, lived.usage)
        assert replayed.texts(_SAID) == [_WORK, "say Again."]

    async def test_everything_is_shown_before_the_answer(self, home: Path, workspace: Path) -> None:
        session, _ = await _lived(home, workspace, "say Hello.")
        async with serving(home) as editor:
            await editor.initialize()
            await editor.load_session(session, workspace)
            shown = editor.updates(session)
            await editor.prompt(session, "say More.")
            kinds = [update["sessionUpdate"] for update in shown]
            assert kinds[:2] == ["user_message_chunk", "agent_message_chunk"]
            assert kinds[-3:] == ["available_commands_update", "current_mode_update", "session_info_update"]
            assert editor.updates(session)[: len(shown)] == shown

    async def test_the_session_goes_on_where_it_was(self, home: Path, workspace: Path) -> None:
        session, _ = await _lived(home, workspace, "say One.")
        async with serving(home) as editor:
            await editor.initialize()
            await editor.load_session(session, workspace)
            await editor.prompt(session, "say Two.")
        async with serving(home) as third:
            await third.initialize()
            await third.load_session(session, workspace)
        assert _answers(third, session) == ["One.", "Two."]

    async def test_mode_and_title_come_back_as_they_were_left(self, home: Path, workspace: Path) -> None:
        async with serving(home) as editor:
            await editor.initialize()
            session = await editor.new_session(workspace)
            await editor.request("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
            await editor.prompt(session, "say Hello to everybody.")
        async with serving(home) as editor:
            await editor.initialize()
            answer = await editor.load_session(session, workspace)
            (named,) = editor.updates(session, "session_info_update")
        assert answer["modes"]["currentModeId"] == "accept_edits"
        assert answer["configOptions"][0]["currentValue"] == "accept_edits"
        assert named["title"] == "say Hello to everybody."

    @pytest.mark.parametrize("method", ["session/load", "session/resume", "session/fork"])
    async def test_an_unknown_session_is_an_error(self, editor: Editor, workspace: Path, method: str) -> None:
        assert (await _error(editor, method, _place("ses_none", workspace))).code == -32002

    @pytest.mark.parametrize("method", ["session/load", "session/resume", "session/fork"])
    async def test_a_directory_that_is_not_there_changes_nothing(
        self, home: Path, workspace: Path, method: str
    ) -> None:
        session, _ = await _lived(home, workspace, "say Hello.")
        async with serving(home) as editor:
            await editor.initialize()
            assert (await _error(editor, method, _place(session, workspace / "none"))).code == -32602
            assert (await editor.request("session/list", {}))["sessions"][0]["cwd"] == str(workspace)

    async def test_another_directory_moves_the_session_and_roots_that_are_not_named_are_gone(
        self, home: Path, workspace: Path, tmp_path: Path
    ) -> None:
        other, extra = tmp_path / "other", tmp_path / "extra"
        other.mkdir()
        extra.mkdir()
        async with serving(home) as editor:
            await editor.initialize()
            session = await editor.new_session(workspace, additionalDirectories=[str(extra)])
            await editor.prompt(session, "say Hello.")
            (entry,) = (await editor.request("session/list", {}))["sessions"]
            assert entry["additionalDirectories"] == [str(extra)]
        async with serving(home) as editor:
            await editor.initialize()
            await editor.load_session(session, other)
            await editor.prompt(session, "run pwd")
            (entry,) = (await editor.request("session/list", {}))["sessions"]
            assert (entry["cwd"], "additionalDirectories" in entry) == (str(other), False)
            assert str(other) in str(list(editor.cards(session).values())[-1])

    async def test_a_live_session_can_be_loaded_again(self, editor: Editor, workspace: Path) -> None:
        session = await editor.new_session(workspace)
        await editor.prompt(session, "say Hello.")
        await editor.load_session(session, workspace)
        assert (await editor.prompt(session, "say Again."))["stopReason"] == "end_turn"

    async def test_not_while_a_prompt_runs(self, editor: Editor, workspace: Path) -> None:
        session = await editor.new_session(workspace)
        turn = editor.begin_prompt(session, "say Begun.\nsleep 60")
        await editor.wait_for_update(session, "agent_message_chunk")
        assert "Cancel it" in (await _error(editor, "session/resume", _place(session, workspace))).message
        editor.cancel(session)
        assert (await editor.answer(turn))["stopReason"] == "cancelled"

    async def test_a_prompt_that_comes_while_a_session_is_shown_again_waits_for_it(
        self, home: Path, workspace: Path
    ) -> None:
        session, _ = await _lived(home, workspace, "say One.")
        goes_on = threading.Event()

        class Slow(Transport):
            def pour(self, method: str, all_params: Iterable[Mapping[str, Any]]) -> None:
                super().pour(method, all_params)
                assert goes_on.wait(10)

        async with serving(home, transport=Slow) as editor:
            await editor.initialize()
            another = await editor.new_session(workspace)
            loading = editor.begin("session/load", _place(session, workspace))
            await editor.wait_for_update(session, "user_message_chunk")
            turn = editor.begin_prompt(session, "say In between.")
            await editor.prompt(another, "say Meanwhile.")  # long enough for the other to be over, if it ran
            assert not turn.done()
            goes_on.set()
            await editor.answer(loading)
            assert (await editor.answer(turn))["stopReason"] == "end_turn"
            assert _answers(editor, session) == ["One.", "In between."]

    @pytest.mark.parametrize("method", ["session/load", "session/resume"])
    async def test_what_is_asked_of_a_session_right_behind_its_load_is_done_after_it(
        self, home: Path, workspace: Path, method: str
    ) -> None:
        session, _ = await _lived(home, workspace, "say One.")
        async with serving(home) as editor:
            await editor.initialize()
            await editor.request("session/list", {})
            loading = editor.begin(method, _place(session, workspace))
            mode = editor.begin("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
            turn = editor.begin_prompt(session, "say Two.")
            await editor.answer(loading)
            await editor.answer(mode)
            assert (await editor.answer(turn))["stopReason"] == "end_turn"

    @pytest.mark.parametrize("method", ["session/load", "session/resume"])
    async def test_a_cancel_right_behind_a_load_and_a_prompt_ends_the_prompt(
        self, home: Path, workspace: Path, method: str
    ) -> None:
        session, _ = await _lived(home, workspace, "say One.")
        async with serving(home) as editor:
            await editor.initialize()
            await editor.request("session/list", {})
            loading = editor.begin(method, _place(session, workspace))
            turn = editor.begin_prompt(session, "sleep 0.5\nsay Two.")
            editor.cancel(session)
            await editor.answer(loading)
            assert (await editor.answer(turn))["stopReason"] == "cancelled"

    async def test_of_a_session_whose_load_fails_nothing_more_is_told(self, home: Path, workspace: Path) -> None:
        session, _ = await _lived(home, workspace, "say One.")
        goes_on = threading.Event()

        class InPart(Transport):
            def pour(self, method: str, all_params: Iterable[Mapping[str, Any]]) -> None:
                super().pour(method, islice(all_params, 1))
                assert goes_on.wait(10)
                raise StoreError("The rest cannot be read.")

        async with serving(home, transport=InPart) as editor:
            await editor.initialize()
            await editor.request("session/list", {})
            loading = editor.begin("session/load", _place(session, workspace))
            await editor.request("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
            goes_on.set()
            with pytest.raises(RpcError, match="The rest cannot be read"):
                await editor.answer(loading)
            assert [update["sessionUpdate"] for update in editor.updates(session)] == [_SAID]

    async def test_each_of_several_cancels_behind_a_load_ends_what_came_before_it(
        self, home: Path, workspace: Path
    ) -> None:
        session, _ = await _lived(home, workspace, "say One.")
        words = {"sessionId": session, "prompt": [{"type": "text", "text": "say Words."}]}
        async with serving(home) as editor:
            await editor.initialize()
            await editor.request("session/list", {})
            loading = editor.begin("session/load", _place(session, workspace))
            first = editor.begin_prompt(session, "say Two.")
            editor.cancel(session)
            second = editor.begin_prompt(session, "say Three.")
            steering = editor.begin("_session/steering", words)
            editor.cancel(session)
            last = editor.begin_prompt(session, "say Four.")
            await editor.answer(loading)
            assert (await editor.answer(steering))["outcome"] == "startedNewTurn"
            ended = [(await editor.answer(turn))["stopReason"] for turn in (first, second, last)]
            assert ended == ["cancelled", "cancelled", "end_turn"]
            assert _answers(editor, session) == ["One.", "Four."]

    async def test_a_failed_turn_says_so_when_it_is_shown_again(self, home: Path, workspace: Path) -> None:
        async with serving(home) as editor:
            await editor.initialize()
            session = await editor.new_session(workspace)
            with pytest.raises(RpcError):
                await editor.prompt(session, "fail 401")
        async with serving(home) as editor:
            await editor.initialize()
            await editor.load_session(session, workspace)
        assert "401" in editor.text(session, "agent_thought_chunk") + editor.text(session)


class TestResume:
    async def test_nothing_is_shown_again_and_the_session_goes_on(self, home: Path, workspace: Path) -> None:
        session, _ = await _lived(home, workspace, "say One.")
        async with serving(home) as editor:
            await editor.initialize()
            answer = await editor.request("session/resume", _place(session, workspace))
            assert answer["modes"]["currentModeId"] == "default"
            await editor.wait_for_update(session, "available_commands_update")
            await editor.prompt(session, "say Two.")
            assert editor.text(session).strip() == "Two."
            await editor.load_session(session, workspace)
        assert _answers(editor, session)[-2:] == ["One.", "Two."]


class TestFork:
    async def test_a_fork_has_the_history_and_goes_its_own_way(
        self, home: Path, workspace: Path, tmp_path: Path
    ) -> None:
        session, _ = await _lived(home, workspace, "say One.", "say Two.")
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        async with serving(home) as editor:
            await editor.initialize()
            fork = (await editor.request("session/fork", _place(session, elsewhere)))["sessionId"]
            assert editor.updates(fork, "agent_message_chunk") == []
            await editor.prompt(fork, "say Three.")
            await editor.load_session(fork, elsewhere)
            await editor.load_session(session, workspace)
            texts = {name: _answers(editor, name) for name in (fork, session)}
        assert texts == {fork: ["Three.", "One.", "Two.", "Three."], session: ["One.", "Two."]}

    async def test_a_fork_from_an_answer_ends_with_it_and_one_from_a_prompt_before_it(
        self, home: Path, workspace: Path
    ) -> None:
        session, before = await _lived(home, workspace, "say One.", "say Two.")
        answer = before.updates(session, "agent_message_chunk")[0]["messageId"]
        async with serving(home) as editor:
            await editor.initialize()
            await editor.load_session(session, workspace)
            prompt = editor.updates(session, "user_message_chunk")[1]["messageId"]
            for message in (answer, prompt):
                meta = {"hermes": {"messageId": message}}
                fork = (await editor.request("session/fork", _place(session, workspace, _meta=meta)))["sessionId"]
                await editor.load_session(fork, workspace)
                assert _answers(editor, fork) == ["One."]

    async def test_a_message_that_there_is_not_is_an_error(self, home: Path, workspace: Path) -> None:
        session, _ = await _lived(home, workspace, "say One.")
        async with serving(home) as editor:
            await editor.initialize()
            for wrong in ("none", 3):
                meta = {"hermes": {"messageId": wrong}}
                assert (await _error(editor, "session/fork", _place(session, workspace, _meta=meta))).code == -32602
            assert await _listed(editor) == [session]


class TestList:
    async def test_newest_first_with_titles_and_pages(self, editor: Editor, workspace: Path) -> None:
        sessions = []
        for number in range(52):
            sessions.append(await editor.new_session(workspace))
            if number % 10 == 1:
                await editor.prompt(sessions[-1], f"say Number {number}.")
        first = await editor.request("session/list", {})
        second = await editor.request("session/list", {"cursor": first["nextCursor"]})
        ids = [entry["sessionId"] for page in (first, second) for entry in page["sessions"]]
        assert ids == sessions[::-1]
        assert "nextCursor" not in second
        assert first["sessions"][0]["title"] == "say Number 51."

    async def test_of_one_directory(self, editor: Editor, workspace: Path, tmp_path: Path) -> None:
        here, there = await editor.new_session(workspace), await editor.new_session(tmp_path)
        assert await _listed(editor, cwd=str(workspace)) == [here]
        assert await _listed(editor, cwd=str(tmp_path)) == [there]
        assert await _listed(editor, cwd="/srv/none") == []

    async def test_a_directory_is_the_same_however_it_is_written(self, editor: Editor, workspace: Path) -> None:
        session = await editor.new_session(f"{workspace}/")
        for way in (f"{workspace}/", f"{workspace}/.", f"{workspace}/../{workspace.name}"):
            assert await _listed(editor, cwd=way) == [session]
        assert (await _error(editor, "session/list", {"cwd": ""})).code == -32602

    async def test_a_session_that_was_never_prompted_is_told_while_it_is_open(
        self, home: Path, workspace: Path
    ) -> None:
        async with serving(home) as editor:
            await editor.initialize()
            session = await editor.new_session(workspace)
            assert await _listed(editor) == [session]
        async with serving(home) as editor:
            await editor.initialize()
            assert await _listed(editor) == []

    @pytest.mark.parametrize("cursor", ["", "nonsense", "eyJ2IjogMX0"])
    async def test_a_cursor_that_is_not_ours_is_an_error(self, editor: Editor, cursor: str) -> None:
        assert (await _error(editor, "session/list", {"cursor": cursor})).code == -32602


class TestDirectories:
    """How a client spells a session's directories, and which of them are there."""

    @pytest.fixture
    def link(self, workspace: Path, tmp_path: Path) -> Path:
        link = tmp_path / "link"
        link.symlink_to(workspace)
        return link

    async def test_two_spellings_of_a_directory_list_the_same_sessions_as_they_were_asked_for(
        self, editor: Editor, workspace: Path, link: Path
    ) -> None:
        spellings = (str(workspace), str(link), f"/{workspace}", f"{workspace}/", f"{link}/.")
        sessions = set()
        for cwd in spellings:
            session = await editor.new_session(cwd)
            await editor.prompt(session, "say Hello.")
            sessions.add(session)
        for cwd in spellings:
            listed = (await editor.request("session/list", {"cwd": cwd}))["sessions"]
            assert {entry["sessionId"] for entry in listed} == sessions
            assert {entry["cwd"] for entry in listed} <= {str(workspace), str(link)}
            assert len({entry["cwd"] for entry in listed}) == 1

    async def test_pages_go_through_all_spellings(self, editor: Editor, workspace: Path, link: Path) -> None:
        sessions = [await editor.new_session((workspace, link)[number % 2]) for number in range(60)]
        page = await editor.request("session/list", {"cwd": str(link)})
        listed = [entry["sessionId"] for entry in page["sessions"]]
        rest = await editor.request("session/list", {"cwd": str(link), "cursor": page["nextCursor"]})
        assert {*listed, *(entry["sessionId"] for entry in rest["sessions"])} == set(sessions)

    async def test_rules_and_settings_of_the_project_and_memory_count_under_either_spelling(
        self, editor: Editor, workspace: Path, link: Path
    ) -> None:
        (workspace / ".hermes").mkdir()
        (workspace / ".hermes/config.yaml").write_text("approvals: {deny: [{write: sums.py}]}\n")
        told = []
        for cwd in (str(workspace), str(link), f"/{workspace}"):
            session = await editor.new_session(cwd)
            await editor.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
            await editor.prompt(session, "edit sums.py a - b => a + b")
            assert "a - b" in (workspace / "sums.py").read_text()
            await editor.prompt(session, f"/memory add Seen in {len(told)}.")
            await editor.prompt(session, "/memory")
            told.append(_answers(editor, session)[-1])
        assert "Seen in 0." in told[1]
        assert "Seen in 1." in told[2]

    @pytest.mark.parametrize("front_door", [True, False])
    async def test_a_further_directory_that_is_missing_is_a_notice(
        self, home: Path, workspace: Path, tmp_path: Path, front_door: bool
    ) -> None:
        there, gone = tmp_path / "there", tmp_path / "gone"
        there.mkdir()
        async with serving(home, front_door=front_door) as editor:
            await editor.initialize()
            session = await editor.new_session(workspace, additionalDirectories=[str(gone), str(there)])
            await editor.prompt(session, "say Hello.")
            assert f"{gone} is not used: No such file or directory" in editor.text(session)
            await editor.prompt(session, "say Once.")
            assert editor.text(session).count("is not used") == 1
            (entry,) = (await editor.request("session/list", {}))["sessions"]
            assert sorted(entry["additionalDirectories"]) == [str(gone), str(there)]
            gone.mkdir()
            place = _place(session, workspace, additionalDirectories=entry["additionalDirectories"])
            await editor.request("session/load", place)
            known = len(editor.updates(session))
            await editor.prompt(session, "say Again.")
            assert "is not used" not in str(editor.updates(session)[known:])

    @pytest.mark.parametrize("method", ["session/load", "session/resume", "session/fork"])
    async def test_a_session_opens_again_without_a_directory_that_is_gone(
        self, editor: Editor, workspace: Path, tmp_path: Path, method: str
    ) -> None:
        gone = tmp_path / "file"
        session = await editor.new_session(workspace)
        await editor.prompt(session, "say Hello.")
        gone.touch()
        answer = await editor.request(method, _place(session, workspace, additionalDirectories=[str(gone)]))
        opened = answer.get("sessionId", session)
        assert (await editor.prompt(opened, "say Again."))["stopReason"] == "end_turn"
        assert f"{gone} is not used: it is not a directory" in editor.text(opened)

    @pytest.mark.parametrize("front_door", [True, False])
    async def test_a_relative_directory_is_taken_from_the_process_s_own(
        self,
        home: Path,
        workspace: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        front_door: bool,
    ) -> None:
        (workspace / "below").mkdir()
        monkeypatch.chdir(workspace)
        caplog.set_level("INFO", "acp_adapter.startup")
        async with serving(home, front_door=front_door) as editor:
            await editor.initialize()
            for cwd, place in ((".", workspace), ("./below", workspace / "below"), ("below/..", workspace)):
                session = await editor.new_session(cwd)
                await editor.prompt(session, "say Hello.")
                listed = (await editor.request("session/list", {"cwd": cwd}))["sessions"]
                assert (session, str(place)) in {(entry["sessionId"], entry["cwd"]) for entry in listed}
        assert f"cwd '.' is relative: it is taken as {workspace}" in caplog.text


class TestCloseAndDelete:
    async def test_a_closed_session_is_stored_and_can_be_loaded(self, editor: Editor, workspace: Path) -> None:
        session = await editor.new_session(workspace)
        await editor.prompt(session, "say Hello.")
        await editor.request("session/close", {"sessionId": session})
        refused = await _refused(editor, session, "say Closed.")
        assert (refused.code, "is closed" in refused.message) == (-32002, True)
        assert "Load or resume it" in refused.message
        await editor.load_session(session, workspace)
        assert (await editor.prompt(session, "say Again."))["stopReason"] == "end_turn"

    @pytest.mark.parametrize("prompted", [True, False])
    async def test_a_second_close_succeeds(self, editor: Editor, workspace: Path, prompted: bool) -> None:
        session = await editor.new_session(workspace)
        if prompted:
            await editor.prompt(session, "say Hello.")
        for _ in range(3):
            assert await editor.request("session/close", {"sessionId": session}) == {}

    async def test_a_stored_session_that_was_not_opened_says_that_it_is_closed(
        self, editor: Editor, home: Path, workspace: Path
    ) -> None:
        session = await editor.new_session(workspace)
        await editor.prompt(session, "say Hello.")
        async with serving(home) as restarted:
            await restarted.initialize()
            for method, params in (
                ("session/prompt", {"prompt": [{"type": "text", "text": "say x"}]}),
                ("session/set_mode", {"modeId": "default"}),
            ):
                refused = await _error(restarted, method, {"sessionId": session, **params})
                assert "is closed. Load or resume it" in refused.message
            assert await restarted.request("session/close", {"sessionId": session}) == {}

    async def test_a_deleted_session_is_not_called_closed(self, editor: Editor, workspace: Path) -> None:
        session = await editor.new_session(workspace)
        await editor.prompt(session, "say Hello.")
        await editor.request("session/close", {"sessionId": session})
        await editor.request("session/delete", {"sessionId": session})
        assert "There is no session" in (await _refused(editor, session, "say x")).message

    async def test_a_deleted_session_is_gone_and_deleting_it_again_is_no_error(
        self, editor: Editor, workspace: Path
    ) -> None:
        session = await editor.new_session(workspace)
        await editor.prompt(session, "say Hello.")
        for _ in range(2):
            assert await editor.request("session/delete", {"sessionId": session}) == {}
        assert await _listed(editor) == []
        assert (await _error(editor, "session/load", _place(session, workspace))).code == -32002

    async def test_nothing_of_a_deleted_sessions_files_is_kept_but_what_others_keep(
        self, editor: Editor, workspace: Path, home: Path
    ) -> None:
        sessions = [await editor.new_session(workspace) for _ in range(2)]
        for session in sessions:
            await editor.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
        await editor.prompt(sessions[0], "edit sums.py a - b => a + b\nedit README.md small => large")
        (workspace / "README.md").write_text("# Sums\n\nA small example.\n")
        await editor.prompt(sessions[1], "edit README.md small => tiny")
        contents = [len([path for path in (home / "blobs").rglob("*") if path.is_file()])]
        for session in sessions:
            await editor.request("session/delete", {"sessionId": session})
            contents.append(len([path for path in (home / "blobs").rglob("*") if path.is_file()]))
        assert contents == [2, 1, 0]

    async def test_deleting_a_session_ends_what_runs_in_it(self, editor: Editor, workspace: Path) -> None:
        session = await editor.new_session(workspace)
        turn = editor.begin_prompt(session, "say Begun.\nsleep 60")
        await editor.wait_for_update(session, "agent_message_chunk")
        await editor.request("session/delete", {"sessionId": session})
        assert (await editor.answer(turn))["stopReason"] == "cancelled"
        assert await _listed(editor) == []

    async def test_a_delete_right_behind_a_close_waits_for_the_end_of_the_turn(
        self, editor: Editor, workspace: Path
    ) -> None:
        for _ in range(10):  # which of the two comes to its end first is chance
            session = await editor.new_session(workspace)
            turn = editor.begin_prompt(session, "say Begun.\nsleep 60")
            await editor.wait_for_update(session, "agent_message_chunk")
            closing = editor.begin("session/close", {"sessionId": session})
            assert await editor.request("session/delete", {"sessionId": session}) == {}
            assert closing.done()
            assert turn.done()
            assert turn.result()["stopReason"] == "cancelled"

    async def test_a_session_that_cannot_be_deleted_stays_open(
        self, editor: Editor, home: Path, workspace: Path
    ) -> None:
        session = await editor.new_session(workspace)
        await editor.request("session/fork", _place(session, workspace))  # so that the session is stored
        database = Database(home / "hermes-acp.db")
        with held_elsewhere(database, session):
            refused = await _error(editor, "session/delete", {"sessionId": session})
            assert "cannot be deleted here: it is open in another program" in refused.message
            assert "prompted" not in refused.message
            assert "fork" not in refused.message
        database.close()
        assert (await editor.prompt(session, "say Still here."))["stopReason"] == "end_turn"

    async def test_a_delete_without_a_session_id_is_refused(self, editor: Editor) -> None:
        assert (await _error(editor, "session/delete", {})).code == -32602


class TestHeldByAnotherProcess:
    @pytest.fixture
    async def other(self, home: Path) -> AsyncIterator[Editor]:
        async with serving(home) as made:
            await made.initialize()
            yield made

    async def test_what_its_holder_did_is_kept_by_a_later_prompt_elsewhere(
        self, editor: Editor, other: Editor, home: Path, workspace: Path
    ) -> None:
        session = await editor.new_session(workspace)
        await editor.prompt(session, "say One.")
        await other.load_session(session, workspace)
        assert "open in another program" in (await _refused(other, session, "say Two.")).message
        await editor.prompt(session, "todo read; edit")
        await editor.request("session/close", {"sessionId": session})
        await other.prompt(session, "say Two.")
        await other.request("session/close", {"sessionId": session})
        with contextlib.closing(sqlite3.connect(home / "hermes-acp.db")) as connection:
            kept, requests = connection.execute("SELECT kept, requests FROM sessions").fetchone()
        assert "edit" in kept
        assert requests == 4

    async def test_loading_it_elsewhere_moves_it_only_when_it_is_prompted_there(
        self, editor: Editor, other: Editor, workspace: Path, tmp_path: Path
    ) -> None:
        session = await editor.new_session(workspace, additionalDirectories=[str(tmp_path)])
        await editor.prompt(session, "say One.")
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        await other.load_session(session, elsewhere)
        await _refused(other, session, "say Two.")
        (entry,) = (await editor.request("session/list", {}))["sessions"]
        assert (entry["cwd"], entry["additionalDirectories"]) == (str(workspace), [str(tmp_path)])
        await editor.request("session/close", {"sessionId": session})
        await other.prompt(session, "run pwd")
        (entry,) = (await editor.request("session/list", {}))["sessions"]
        assert (entry["cwd"], "additionalDirectories" in entry) == (str(elsewhere), False)

    async def test_a_delete_that_is_refused_closes_nothing(
        self, editor: Editor, other: Editor, workspace: Path
    ) -> None:
        session = await editor.new_session(workspace)
        await editor.prompt(session, "say One.")
        await other.load_session(session, workspace)
        refused = await _error(other, "session/delete", {"sessionId": session})
        assert "cannot be deleted here: it is open in another program" in refused.message
        await editor.request("session/close", {"sessionId": session})
        assert (await other.prompt(session, "say Two."))["stopReason"] == "end_turn"

    async def test_a_session_that_was_deleted_elsewhere_does_not_begin_anew(
        self, editor: Editor, other: Editor, workspace: Path
    ) -> None:
        session, opened = await editor.new_session(workspace), await editor.new_session(workspace)
        await editor.prompt(session, "say One.")
        await editor.load_session(session, workspace)
        for stored in (session, opened):
            await other.request("session/delete", {"sessionId": stored})
        assert (await _refused(editor, session, "say Two.")).code == -32002
        assert await _listed(other) == []
        # One that was never used may have been tidied away; it has nothing to lose.
        assert (await editor.prompt(opened, "say One."))["stopReason"] == "end_turn"


async def test_a_session_is_not_given_up_by_a_load_when_the_settings_cannot_be_read(
    editor: Editor, home: Path, workspace: Path
) -> None:
    session = await editor.new_session(workspace)
    settings = home / "config.yaml"
    before = settings.read_bytes() if settings.exists() else b""
    settings.write_text("model: [\n")
    for method in ("session/load", "session/resume"):
        assert "not valid YAML" in (await _error(editor, method, _place(session, workspace))).message
    settings.write_bytes(before)
    assert await editor.prompt(session, "say still here") == {"stopReason": "end_turn"}


async def test_a_session_that_cannot_be_read_now_is_not_given_up_by_a_load(
    editor: Editor, home: Path, workspace: Path
) -> None:
    session = await editor.new_session(workspace)
    await editor.prompt(session, "say One.")
    database = home / "hermes-acp.db"
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE sessions SET archived = 2")  # as if it were being deleted
        connection.commit()
    assert (await _error(editor, "session/load", _place(session, workspace))).code == -32002
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE sessions SET archived = 0")
        connection.commit()
    assert (await editor.prompt(session, "say Two."))["stopReason"] == "end_turn"


@pytest.mark.parametrize("method", ["session/load", "session/resume", "session/fork"])
async def test_a_session_that_began_while_nothing_could_be_stored_is_found_all_the_same(
    editor: Editor, home: Path, workspace: Path, method: str
) -> None:
    await editor.new_session(workspace)  # the database is there now
    with contextlib.closing(sqlite3.connect(home / "hermes-acp.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        session = await editor.new_session(workspace)
        assert "Try again" in str(await _error(editor, method, _place(session, workspace)))
        other.execute("ROLLBACK")
    opened = await editor.request(method, _place(session, workspace))
    session = opened.get("sessionId", session)
    assert (await editor.prompt(session, "say Hello."))["stopReason"] == "end_turn"


async def test_an_idle_session_is_unloaded_and_comes_back_untouched(home: Path, workspace: Path) -> None:
    (home / "config.yaml").write_text("sessions: {idle_minutes: 0.001}\n", encoding="utf-8")
    async with serving(home) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        await editor.prompt(session, "todo read; edit")
        async with serving(home) as other:
            await other.initialize()
            await other.load_session(session, workspace)
            await _until_it_may_prompt(other, session)
            await other.request("session/close", {"sessionId": session})
        await editor.prompt(session, "say Back again.")
        assert editor.text(session).endswith("Back again.\n")
        await editor.load_session(session, workspace)
        shown = merged_view(editor.updates(session))
    assert [text.strip() for text in shown.texts()][-2:] == ["Mine now.", "Back again."]
    assert [entry["content"] for entry in shown.plan] == ["read", "edit"]


async def _until_it_may_prompt(editor: Editor, session: str) -> None:
    """Prompt as soon as the other process has let go of the session."""
    for _ in range(500):
        turn = editor.begin_prompt(session, "say Mine now.")
        await asyncio.wait([turn])
        if turn.exception() is None:
            return
        assert "hermes-acp" in str(turn.exception()), "it names who has the session"
    raise AssertionError("the other process never let go of the session")
