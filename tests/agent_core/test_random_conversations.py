"""Random conversations with random faults: every request is one that strict servers take, no session is wedged."""

from __future__ import annotations

import json
import random
import threading

import pytest

from agent_core.errors import ModelFailed
from agent_core.model_request.caller import Patience
from agent_core.sessions.archive import SessionArchive
from tests.support.agents import Ears, MemoryStore, assert_well_formed
from tests.support.model_server import Disconnect, Garbage, ModelServer, Reply, Status, ToolCall
from tests.support.strict_protocols import PROBLEMS
from tests.support.wire_agents import PROTOCOLS, quick, wired

pytestmark = pytest.mark.long

TURNS = 10
ANNOUNCED = {"compression", "unseal", "images", "withdrawn", "fields", "attachments", "history", "undone", "window"}
ERRORS = [
    (401, "Incorrect API key provided"),
    (402, "Insufficient Balance"),
    (429, "Rate limit reached"),
    (500, "The server had an error"),
    (503, "The model is overloaded"),
    (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    (400, "image exceeds 5 MB maximum"),
    (400, "Invalid `signature` in `thinking` block"),
    (400, "The response was filtered due to the prompt triggering our content policy"),
]
ARGUMENTS = [{"path": "note.txt"}, {"todos": []}, '{"path": "note.txt",}', '{"path": "no', "no JSON", ""]


class Chance:
    """Chooses the model's next answer; with `calm` it is always a good one."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self._calls = 0
        self.calm = False
        self.problems: list[str] = []

    def answer(self, protocol, request):
        self.problems += PROBLEMS[protocol](request.body)
        dice = self._random.random()
        if self.calm or dice < 0.4:
            return Reply("A good answer.", reasoning=self._random.choice(["", "hm"]), split=5)
        if dice < 0.65:
            return self._with_calls()
        if dice < 0.75:
            return Disconnect(self._with_calls(), after=self._random.randint(0, 6))
        if dice < 0.85:
            status, message = self._random.choice(ERRORS)
            return Status(status, {"error": {"message": message}})
        return self._random.choice(
            [
                Disconnect(before_headers=True),
                Garbage(b"data: {broken\n\n"),
                Reply(""),
                Reply("so far ", finish_reason="length"),
                Reply("no.", finish_reason="content_filter"),
            ]
        )

    def _with_calls(self) -> Reply:
        calls = []
        for _ in range(self._random.randint(1, 3)):
            self._calls += 1
            call_id = self._random.choice([f"call_{self._calls}", "call_again", "x" * 50, "with space"])
            name = self._random.choice(["read_file", "todo", "functions.read file"])
            calls.append(ToolCall(call_id, name, self._random.choice(ARGUMENTS)))
        finish = self._random.choice([None, None, "length"])
        return Reply(self._random.choice(["", "Looking."]), tool_calls=calls, split=7, finish_reason=finish)

    def prompt(self, number):
        text = f"prompt {number}"
        if self._random.random() < 0.8:
            return text
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
        return [{"type": "text", "text": text}, picture]

    def options(self) -> dict[str, object]:
        return {
            "spare_keys": self._random.choice([(), ("sk-second-0123456789",)]),
            "model": self._random.choice(["test-model", "claude-sonnet-4-5", "gpt-5"]),
        }

    def cancels(self) -> bool:
        return self._random.random() < 0.1


@pytest.fixture
def servers():
    made = []

    def serve(chance, protocol):
        made.append(ModelServer(default=lambda request: chance.answer(protocol, request)))
        return made[-1]

    yield serve
    for server in made:
        server.close()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("first", PROTOCOLS)
@pytest.mark.parametrize("second", PROTOCOLS)
def test_whatever_servers_do_the_requests_are_valid_and_the_session_goes_on(
    over, servers, tmp_path, first, second, seed
):
    (tmp_path / "note.txt").write_text("remember\n" * 100)
    chance = Chance(f"{first} {second} {seed}")
    choices = [
        wired(servers(chance, protocol).base_url, protocol, provider=name, **chance.options())
        for name, protocol in (("one", first), ("two", second))
    ]
    agent = over(*choices, patience=Patience(3, quick().backoff), session_store=MemoryStore())
    for number in range(TURNS):
        _turn(agent, chance, number)
    chance.calm = True
    assert agent.run_conversation("the last one")["final_response"] == "A good answer."
    assert chance.problems == []
    assert set(agent.services.prefix.breaks) <= ANNOUNCED


def _turn(agent, chance, number):
    ears, before = Ears(), len(agent.messages)
    timer = threading.Timer(0.005, agent.interrupt) if chance.cancels() else None
    if timer is not None:
        timer.start()
    try:
        result = agent.run_conversation(chance.prompt(number), callbacks=ears.callbacks())
    except ModelFailed:
        result = None
    if timer is not None:
        timer.cancel()
        timer.join()
    messages = agent.messages
    assert_well_formed(messages)
    stored = SessionArchive(agent.session_store.database).transcript(agent.session_id).messages
    assert f"prompt {number}" in json.dumps([each.message for each in stored])
    if result is not None and result["stop_reason"] == "end_turn":
        heard = "".join(ears.of("text"))
        assert _bare(heard).endswith(_bare(result["final_response"]))
        said = [message["content"] or "" for message in messages[before:] if message["role"] == "assistant"]
        assert _bare("".join(said)).removesuffix("[Thereisnothingtoadd.]") == _bare(heard)


def _bare(text):
    return "".join(text.split())
