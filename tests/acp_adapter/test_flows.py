"""A reader who follows one flow from end to end finds few functions and files on the way.

One process of the real program is lived through, and for each flow it is counted which of its functions run each
time: others load what is loaded once, or belong to a timer. The bounds are a little above today's counts and are
meant to fall.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.client import Agent
from tests.support.model_replies import Recorded
from tests.support.model_server import ModelServer, Reply, ToolCall
from tests.support.settings_files import use_model

_ROOT = Path(__file__).parents[2]
_PROGRAM = _ROOT / "tests" / "support" / "tracing_program.py"
_DELTAS, _TIMES = 10, 4

_BOUNDS: Mapping[str, tuple[int, int]] = {
    "a prompt to the model request": (350, 66),
    "one delta to stdout": (69, 17),
    "the model's command to the permission question": (489, 82),
    "the model's edit to the permission question": (527, 85),
}
"""For each flow, the most functions and files."""


class _Trace:
    """The functions that the agent has called, from one `cut` to the next."""

    def __init__(self, listener: socket.socket) -> None:
        self._program = listener.accept()[0]
        self._lines = self._program.makefile("rw", encoding="utf-8")

    def cut(self) -> Sequence[str]:
        self._lines.write("cut\n")
        self._lines.flush()
        called: list[str] = json.loads(self._lines.readline())
        return called

    def close(self) -> None:
        self._lines.close()
        self._program.close()


def test_each_flow_takes_no_more_functions_and_files_than_its_bound(tmp_path: Path, home: Path) -> None:
    flows = _flows(tmp_path, home)
    counts = {name: (len(called), len({each.split(": ")[0] for each in called})) for name, called in flows.items()}
    assert counts.keys() == _BOUNDS.keys()
    assert all(functions > 10 for functions, _ in counts.values()), counts
    listing = tmp_path / "flows.txt"
    listing.write_text("".join("\n  ".join((name, *called)) + "\n" for name, called in flows.items()))
    too_long = {name: (found, _BOUNDS[name]) for name, found in counts.items() if _exceeds(found, _BOUNDS[name])}
    assert too_long == {}, f"which functions run is in {listing}"


def _exceeds(found: tuple[int, int], bound: tuple[int, int]) -> bool:
    return found[0] > bound[0] or found[1] > bound[1]


def _flows(folder: Path, home: Path) -> dict[str, Sequence[str]]:
    workspace = folder / "workspace"
    (workspace / "dist").mkdir(parents=True)
    (workspace / "a.py").write_text("x = 1\n")
    with (
        ModelServer(default=Reply("Done.")) as model,
        _agent(model, home, workspace, folder / "trace") as (agent, trace),
    ):
        session = agent.open()
        agent.hold_questions = True
        prompts = [_prompt(agent, trace, session, model) for _ in range(_TIMES)]
        commands, edits = [], []
        for number in range(1, _TIMES + 1):
            (workspace / "dist").mkdir(exist_ok=True)
            removal = ToolCall("c", "terminal", {"command": "rm -rf dist"})
            commands.append(_question(agent, trace, session, model, removal))
            change = {"path": "a.py", "old_string": f"x = {number}", "new_string": f"x = {number + 1}"}
            edits.append(_question(agent, trace, session, model, ToolCall("c", "patch", change)))
    found = ([prompted for prompted, _ in prompts], [said for _, said in prompts], commands, edits)
    return {name: _each_time(times) for name, times in zip(_BOUNDS, found, strict=True)}


def _each_time(times: Sequence[Sequence[str]]) -> Sequence[str]:
    """What ran each of these times, in the order of the last one."""
    return [each for each in times[-1] if all(each in called for called in times)]


def _prompt(agent: Agent, trace: _Trace, session: str, model: ModelServer) -> tuple[Sequence[str], Sequence[str]]:
    """The functions from a prompt to its request, and those of each delta."""
    pace, prompted = threading.Semaphore(0), []

    def reply(_: Recorded) -> Reply:
        prompted.append(trace.cut())
        return Reply("x " * _DELTAS, split=2, pace=pace)

    model.add(reply)
    agent.take_updates()
    trace.cut()
    request = agent.send_prompt(session, "Go on.")
    deltas = []
    for number in range(1, _DELTAS + 1):
        pace.release()
        agent.wait(lambda least=number: _texts(agent) >= least, "a delta")  # type: ignore[misc] # its default's type
        deltas.append(trace.cut())
    agent.answer(request)
    return prompted[0], _each_time(deltas[1:-1])


def _texts(agent: Agent) -> int:
    return sum(b"agent_message_chunk" in update.line for update in agent.updates)


def _question(agent: Agent, trace: _Trace, session: str, model: ModelServer, call: ToolCall) -> Sequence[str]:
    """The functions from the model's call to the question that the editor gets."""

    def reply(_: Recorded) -> Reply:
        trace.cut()
        return Reply(tool_calls=[call])

    model.add(reply)
    request = agent.send_prompt(session, "Go on.")
    agent.wait(lambda: bool(agent.questions), "a question")
    called = trace.cut()
    question = agent.questions.pop()
    allowed = next(each["optionId"] for each in question["params"]["options"] if each["kind"] == "allow_once")
    agent.reply(question, {"outcome": {"outcome": "selected", "optionId": allowed}})
    agent.answer(request)
    return called


@contextmanager
def _agent(model: ModelServer, home: Path, workspace: Path, address: Path) -> Iterator[tuple[Agent, _Trace]]:
    use_model(home, model)
    command = [sys.executable, "-P", str(_PROGRAM), str(address), str(_ROOT / "acp_adapter" / "__main__.py")]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen()
        with Agent(command, workspace, {**os.environ, "PYTHONPATH": str(_ROOT)}) as agent:
            trace = _Trace(listener)
            yield agent, trace
            agent.close()
            trace.close()
