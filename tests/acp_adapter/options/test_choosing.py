"""Choosing for a session in a live server: models, efforts and switches, from one prompt to the next."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.config import ConfigSource, Configuration, Overrides
from agent_core.home import Home
from agent_core.providers.available_models import MOST_SHOWN, ModelLists, OfferedModel
from agent_core.sessions.library import SessionLibrary
from tests.support.editor import PLAIN, ZED, Editor, RpcError
from tests.support.in_memory import serving
from tests.support.list_server import ListServer, model_list
from tests.support.model_server import Gate, ModelServer, Reply
from tests.support.settings_files import configure
from tests.support.waiting import wait_until


@pytest.fixture
def one() -> Iterator[ModelServer]:
    with ModelServer(default=Reply("from one")) as server:
        yield server


@pytest.fixture
def other() -> Iterator[ModelServer]:
    with ModelServer(default=Reply("from other")) as server:
        yield server


@pytest.fixture(autouse=True)
def _no_vendors(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of whoever runs the tests makes them ask a vendor."""
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GITHUB_TOKEN", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def settings(home: Path, one: ModelServer, other: ModelServer, **more: Any) -> None:
    """Two servers of the user's own whose lists are known already, so that nothing is asked in the background."""
    providers = {
        "one": {"base_url": one.base_url, "model": "first"},
        "other": {"base_url": other.base_url, "model": "second"},
    }
    configure(home, {"model": {"provider": "one"}, "providers": providers, **more})
    lists = ModelLists(Home(home))
    lists.learned({f"{name} {entry['base_url']}": (OfferedModel("extra"),) for name, entry in providers.items()})


def live(home: Path, **overrides: Any) -> Any:
    return serving(home, config=ConfigSource(Home(home), Overrides(**overrides)), front_door=True)


async def begin(editor: Editor, workspace: Path, profile: dict[str, Any] = PLAIN) -> tuple[str, dict[str, Any]]:
    await editor.initialize(profile)
    answer = await editor.request("session/new", {"cwd": str(workspace), "mcpServers": []})
    return answer["sessionId"], current(answer)


def current(answer: dict[str, Any]) -> dict[str, Any]:
    return {option["id"]: option["currentValue"] for option in answer["configOptions"]}


async def choose(editor: Editor, session: str, config_id: str, value: Any) -> dict[str, Any]:
    params = {"sessionId": session, "configId": config_id, "value": value}
    if isinstance(value, bool):
        params["type"] = "boolean"
    return current(await editor.request("session/set_config_option", params))


def asked(server: ModelServer) -> list[str]:
    return [request.body["model"] for request in server.requests]


async def test_the_next_request_goes_to_the_model_that_was_chosen(
    home: Path, workspace: Path, one: ModelServer, other: ModelServer
) -> None:
    settings(home, one, other)
    async with live(home) as editor:
        session, options = await begin(editor, workspace)
        assert options == {"mode": "default", "model": "one:first", "edits": "mode"}
        await editor.prompt(session, "hi")
        assert (await choose(editor, session, "model", "other:extra"))["model"] == "other:extra"
        await editor.prompt(session, "and now")
        assert editor.text(session) == "from onefrom other"
    assert (asked(one)[0], asked(other)[0]) == ("first", "extra")


async def test_a_choice_right_after_the_session_counts_for_its_first_prompt(
    home: Path, workspace: Path, one: ModelServer, other: ModelServer
) -> None:
    settings(home, one, other)
    async with live(home) as editor:
        session, _ = await begin(editor, workspace)
        answers = await asyncio.gather(
            choose(editor, session, "mode", "accept_edits"),
            choose(editor, session, "model", "other:second"),
            choose(editor, session, "edits", "ask"),
        )
        assert answers[-1] == {"mode": "accept_edits", "model": "other:second", "edits": "ask"}
        await editor.prompt(session, "hi")
    assert asked(one) == []


async def test_a_choice_in_a_running_turn_counts_from_its_next_request(
    home: Path, workspace: Path, one: ModelServer, other: ModelServer
) -> None:
    settings(home, one, other)
    gate = Gate()
    one.add(Reply("wait", gate=gate))
    async with live(home) as editor:
        session, _ = await begin(editor, workspace)
        running = editor.begin_prompt(session, "hi")
        assert await asyncio.to_thread(gate.reached.wait, 20)
        assert (await choose(editor, session, "model", "other:second"))["model"] == "other:second"
        gate.set()
        await running
        await editor.prompt(session, "more")
        assert editor.text(session) == "waitfrom other"


@pytest.mark.parametrize("way", ["session/load", "session/resume", "session/fork"])
async def test_choices_come_back_with_the_session_in_another_process(
    way: str, home: Path, workspace: Path, one: ModelServer, other: ModelServer
) -> None:
    settings(home, one, other)
    async with live(home) as editor:
        session, _ = await begin(editor, workspace, ZED)
        await choose(editor, session, "model", "other:extra")
        await choose(editor, session, "mode", "accept_edits")
        await choose(editor, session, "thoughts", False)
        await editor.prompt(session, "hi")
    async with live(home) as editor:
        await editor.initialize(ZED)
        answer = await editor.request(way, {"sessionId": session, "cwd": str(workspace), "mcpServers": []})
        options = current(answer)
        assert (options["model"], options["mode"], options["thoughts"]) == ("other:extra", "accept_edits", False)
        assert answer["modes"]["currentModeId"] == "accept_edits"
        await editor.prompt(answer.get("sessionId", session), "again")
    assert asked(one) == []


async def test_a_session_without_a_choice_shows_the_model_that_it_used(
    home: Path, workspace: Path, one: ModelServer, other: ModelServer
) -> None:
    settings(home, one, other)
    async with live(home) as editor:
        session, _ = await begin(editor, workspace)
        await editor.prompt(session, "hi")
    settings(home, one, other, fallback_providers=["one:first"])
    changed = json.loads((home / "config.yaml").read_text(encoding="utf-8"))
    configure(home, {**changed, "model": {"provider": "other"}})
    async with live(home) as editor:
        assert (await begin(editor, workspace))[1]["model"] == "other:second"
        assert current(await editor.load_session(session, workspace))["model"] == "one:first"


async def test_the_command_line_goes_before_what_is_stored_and_the_person_before_both(
    home: Path, workspace: Path, one: ModelServer, other: ModelServer
) -> None:
    settings(home, one, other)
    async with live(home) as editor:
        session, _ = await begin(editor, workspace)
        await choose(editor, session, "model", "other:extra")
        await editor.prompt(session, "hi")
    async with live(home, model="one:from-line") as editor:
        await editor.initialize()
        assert current(await editor.load_session(session, workspace))["model"] == "one:from-line"
        assert (await choose(editor, session, "model", "other:second"))["model"] == "other:second"
        await editor.prompt(session, "hi")
    assert asked(other)[-1] == "second"


async def test_a_model_that_was_chosen_before_the_first_prompt_is_the_one_that_it_used_last(
    home: Path, workspace: Path, one: ModelServer, other: ModelServer
) -> None:
    settings(home, one, other)
    async with live(home) as editor:
        session, _ = await begin(editor, workspace)
        await editor.prompt(session, "hi")
    async with live(home) as editor:
        await editor.initialize()
        await editor.load_session(session, workspace)
        await choose(editor, session, "model", "other:second")
        await editor.prompt(session, "hi")
    library = SessionLibrary(Home(home))
    try:
        assert library.archive.get(session).model == "other:second"
    finally:
        library.close()


async def test_an_effort_reaches_the_request_and_goes_with_a_model_that_has_none(
    home: Path, workspace: Path, one: ModelServer, other: ModelServer
) -> None:
    own = {"base_url": other.base_url, "model": "second"}
    openai = {"base_url": one.base_url, "api_key": "k", "api_mode": "chat_completions"}
    configure(
        home,
        {
            "model": {"provider": "openai", "default": "gpt-5.2"},
            "providers": {"openai": openai, "other": own},
            "agent": {"reasoning_effort": "low"},
        },
    )
    ModelLists(Home(home)).learned({f"openai {one.base_url}": (), f"other {other.base_url}": ()})
    async with live(home) as editor:
        session, options = await begin(editor, workspace)
        assert options["thought_level"] == "settings"
        await editor.prompt(session, "one")
        await choose(editor, session, "thought_level", "xhigh")
        await editor.prompt(session, "two")
        assert (await choose(editor, session, "model", "openai:gpt-5.1"))["thought_level"] == "settings"
        assert "thought_level" not in await choose(editor, session, "model", "other:second")
        await editor.prompt(session, "three")
    talks = [request for request in one.requests if "reasoning_effort" in request.body]
    efforts = [request.body["reasoning_effort"] for request in talks if request.body.get("tools")]
    assert efforts == ["low", "xhigh"]
    assert all("reasoning_effort" not in request.body for request in other.requests)


async def test_a_refused_choice_changes_nothing_and_the_session_goes_on(
    home: Path, workspace: Path, one: ModelServer, other: ModelServer
) -> None:
    settings(home, one, other)
    async with live(home) as editor:
        session, before = await begin(editor, workspace)
        for config_id, value in (("model", "anthropic:claude-x"), ("model", "nonsense"), ("nonsense", "x")):
            with pytest.raises(RpcError) as refused:
                await choose(editor, session, config_id, value)
            assert refused.value.code == -32602
        assert await choose(editor, session, "mode", "default") == before
        await editor.prompt(session, "hi")


async def test_a_mode_set_by_the_old_method_is_shown_among_the_options(home: Path, workspace: Path) -> None:
    async with serving(home, front_door=True) as editor:
        session, _ = await begin(editor, workspace)
        await editor.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
        await editor.wait_for_update(session, "current_mode_update", currentModeId="plan")
        update = await editor.wait_for_update(session, "config_option_update")
    assert current(update)["mode"] == "plan"


async def test_what_a_server_newly_lists_is_shown_to_open_sessions(home: Path, workspace: Path) -> None:
    with ListServer({"/v1/models": model_list("fresh", "text-embedding-x")}) as server:
        own = {"base_url": f"{server.origin}/v1", "model": "house", "context_length": 32_000}
        configure(home, {"model": {"provider": "work"}, "providers": {"work": own}})
        async with live(home) as editor:
            session, options = await begin(editor, workspace)
            assert options["model"] == "work:house"
            await editor.prompt(session, "/version")
            update = await editor.wait_for_update(session, "config_option_update")
            (group,) = next(option for option in update["configOptions"] if option["id"] == "model")["options"]
            assert [each["value"] for each in group["options"]] == ["work:house", "work:fresh"]
            answer = await editor.request("session/new", {"cwd": str(workspace), "mcpServers": []})
            (again,) = next(option for option in answer["configOptions"] if option["id"] == "model")["options"]
            assert again == group
        assert len(server.asked) == 1


async def test_no_server_is_asked_for_its_models_before_a_prompt_was_answered(home: Path, workspace: Path) -> None:
    with ListServer({"/v1/models": model_list("fresh")}) as server:
        own = {"base_url": f"{server.origin}/v1", "model": "house", "context_length": 32_000}
        configure(home, {"model": {"provider": "work"}, "providers": {"work": own}})
        async with live(home) as editor:
            session, _ = await begin(editor, workspace)
            assert await choose(editor, session, "mode", "plan")
            assert server.asked == []
            await editor.prompt(session, "/version")
            await asyncio.to_thread(wait_until, lambda: len(server.asked) == 1)


async def test_where_the_settings_say_so_no_server_is_asked_for_its_models(home: Path, workspace: Path) -> None:
    with (
        ListServer({"/v1/models": model_list("fresh")}) as asked,
        ListServer({"/v1/models": model_list("x")}) as also,
    ):
        own = {"base_url": f"{asked.origin}/v1", "model": "house", "context_length": 32_000}
        settings = {"model": {"provider": "work"}, "providers": {"work": own}, "model_lists": {"renew": False}}
        configure(home, settings)
        async with live(home) as editor:
            session, _ = await begin(editor, workspace)
            await editor.prompt(session, "/version")
            # The next look would be another one: it is seen to be over by what it asks.
            own["base_url"] = f"{also.origin}/v1"
            configure(home, {**settings, "model_lists": {"renew": True}})
            another, _ = await begin(editor, workspace)
            await editor.prompt(another, "/version")
            await asyncio.to_thread(wait_until, lambda: len(also.asked) == 1)
            assert asked.asked == []


@pytest.mark.parametrize("name", ["other:two\nlines", "other:hid\u200bden", "other:\x1b[31mred"])
async def test_a_model_name_that_cannot_be_seen_is_refused_by_the_option_and_the_command(
    home: Path, workspace: Path, one: ModelServer, other: ModelServer, name: str
) -> None:
    settings(home, one, other)
    async with live(home) as editor:
        session, before = await begin(editor, workspace)
        with pytest.raises(RpcError, match="cannot be seen"):
            await choose(editor, session, "model", name)
        await editor.prompt(session, f"/model {name}")
        assert await choose(editor, session, "mode", "default") == before


async def test_a_model_that_the_list_has_no_room_for_is_chosen_by_a_part_of_its_name(
    home: Path, workspace: Path, one: ModelServer, other: ModelServer
) -> None:
    settings(home, one, other)
    many = tuple(OfferedModel(f"model-{number}") for number in range(300))
    ModelLists(Home(home)).learned({f"one {one.base_url}": many, f"other {other.base_url}": many})
    async with live(home) as editor:
        session, _ = await begin(editor, workspace)
        await editor.prompt(session, "/model other:model-298")
        update = await editor.wait_for_update(session, "config_option_update")
        assert current(update)["model"] == "other:model-298"
        model = next(option for option in update["configOptions"] if option["id"] == "model")
        listed = [each["value"] for group in model["options"] for each in group["options"]]
        assert len(listed) <= MOST_SHOWN + 1
        assert "other:model-298" in listed
        assert "other:model-299" not in listed
        assert (await choose(editor, session, "model", "other:model-299"))["model"] == "other:model-299"


class _Held(ConfigSource):
    """Settings that take long to be read, once, when somebody looks at them after a server has been asked."""

    def __init__(self, home: Path, server: ListServer) -> None:
        super().__init__(Home(home))
        self.looked, self.goes_on = threading.Event(), threading.Event()
        self._server = server

    def load(self) -> Configuration:
        if self._server.asked and not self.looked.is_set():
            self.looked.set()
            self.goes_on.wait(10)
        return super().load()


async def test_a_session_that_is_closed_meanwhile_is_not_shown_new_models(home: Path, workspace: Path) -> None:
    with ListServer({"/v1/models": model_list("fresh")}) as server:
        own = {"base_url": f"{server.origin}/v1", "model": "house"}
        configure(home, {"model": {"provider": "work"}, "providers": {"work": own}})
        held = _Held(home, server)
        async with serving(home, config=held, front_door=True) as editor:
            session, _ = await begin(editor, workspace)
            await editor.prompt(session, "/version")
            assert await asyncio.to_thread(held.looked.wait, 10)
            await editor.request("session/close", {"sessionId": session})
            held.goes_on.set()
            await begin(editor, workspace)
            assert not editor.updates(session, "config_option_update")


async def test_offline_there_is_one_model_and_nobody_is_asked(
    home: Path, workspace: Path, one: ModelServer, other: ModelServer
) -> None:
    settings(home, one, other)
    async with live(home, model="offline", provider="offline") as editor:
        session, options = await begin(editor, workspace)
        assert options == {"mode": "default", "model": "offline:offline", "edits": "mode"}
        with pytest.raises(RpcError, match="started offline"):
            await choose(editor, session, "model", "other:second")
