"""Speed does not rot: what a start, a delta and a tool turn cost, in counts that no clock takes part in.

One process of the real program is lived through, with counters around it (`tests/support/counting_program.py`). The
bounds are a little above what is needed today: whoever exceeds one has found where the program became slower, or
has a reason to raise it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.client import Agent
from tests.support.model_server import ModelServer, Reply, ToolCall
from tests.support.settings_files import use_model

_ROOT = Path(__file__).parents[2]
_PROGRAM = _ROOT / "tests" / "support" / "counting_program.py"
_CALLS, _SLOW, _DELTAS, _FLOODS = 20, 100, 1_000, 3
_HELLO, _FLOOD = Reply("Hello."), Reply("1234567 " * _DELTAS, split=8)
_ANSWERED = ["initialize", "session", "session", "request", *["prompt"] * (4 + _FLOODS)]
_SYSTEM_CALLS = ("write", "send", "receive", "wait")

_BUDGETS: Mapping[str, float] = {
    # Of Python source. What is loaded while the person types is not in them, if an answer does not need it.
    "bytes of our code that initialize needs": 186_000,
    "bytes of our code that session/new needs": 560_000,
    "bytes of our code that the first request needs": 3_490_000,
    # With room for other versions of Python and of the packages.
    "bytes of others' code that initialize needs": 900_000,
    "bytes of others' code that session/new needs": 4_000_000,
    "bytes of others' code that the first request needs": 6_600_000,
    "bytes of the first request, without the workspace's path": 16_384,
    "bytes of the tools' definitions": 13_600,
    # Two reads are among them: what earlier turns left, and which compression counts.
    "SQL statements of a prompt without tools": 44,
    "SQL statements of a turn with one read_file": 14,
    # It reads and writes at the model's server and writes to the editor; it wakes no other thread for that.
    "system calls of a turn with one read_file": 12,
    "SQL statements of a delta": 0.05,
    # It is read and written, on one thread.
    "writes of a delta that comes alone": 1.3,
    "system calls of a delta that comes alone": 4,
    "memory blocks that a delta leaves behind": 0.8,
    "memory blocks that a delta needs at most": 10,
}


@dataclass(frozen=True, slots=True)
class _Lived:
    """What was counted up to each answer and up to the first request, in order; and that request."""

    counts: Sequence[Mapping[str, Any]]
    request: bytes
    path: str


def test_a_start_a_delta_and_a_tool_turn_cost_no_more_than_their_budgets(tmp_path: Path, home: Path) -> None:
    spent = _spent(_live(tmp_path, home))
    assert spent.keys() == _BUDGETS.keys()
    assert spent["writes of a delta that comes alone"] >= 1, "nothing was counted"
    assert spent["SQL statements of a turn with one read_file"] >= 1, "nothing was counted"
    assert {name: (found, _BUDGETS[name]) for name, found in spent.items() if found > _BUDGETS[name]} == {}


def _live(folder: Path, home: Path) -> _Lived:
    workspace, counts = folder / "workspace", folder / "counts"
    workspace.mkdir()
    for number in range(_CALLS):
        (workspace / f"notes{number}.txt").write_text(f"Note {number}.\n" * 20)
    with ModelServer() as model, _agent(model, home, workspace, counts) as agent:
        session = agent.open()
        for replies in ([_HELLO], _reads(), [_HELLO]):
            model.add(*replies)
            agent.prompt(session, "Go on.")
        _one_by_one(agent, session, model)
        for _ in range(_FLOODS):
            model.add(_FLOOD)
            agent.prompt(session, "Go on.")
        request = model.requests[0].raw
    return _Lived([json.loads(line) for line in counts.read_text().splitlines()], request, str(workspace))


def _spent(lived: _Lived) -> dict[str, float]:
    initialized, opened, _, asked, _, read, said, slow, *_, flood, again = lived.counts
    kinds = [each["answer"] for each in lived.counts]
    assert kinds == _ANSWERED
    assert (again["own"], again["others"]) == (flood["own"], flood["others"]), "a flood loads code each time"
    prompt_sql = said["sql"] - read["sql"]
    before_read = lived.counts[4]
    return {
        "bytes of our code that initialize needs": initialized["own"],
        "bytes of our code that session/new needs": opened["own"],
        "bytes of our code that the first request needs": asked["own"],
        "bytes of others' code that initialize needs": initialized["others"],
        "bytes of others' code that session/new needs": opened["others"],
        "bytes of others' code that the first request needs": asked["others"],
        "bytes of the first request, without the workspace's path": len(
            lived.request.replace(lived.path.encode(), b"")
        ),
        "bytes of the tools' definitions": len(_as_sent(json.loads(lived.request)["tools"])),
        "SQL statements of a prompt without tools": prompt_sql,
        "SQL statements of a turn with one read_file": (read["sql"] - before_read["sql"] - prompt_sql) / _CALLS,
        "system calls of a turn with one read_file": _system_calls(read, before_read, _system_calls(said, read))
        / _CALLS,
        "SQL statements of a delta": (again["sql"] - flood["sql"] - prompt_sql) / _DELTAS,
        "writes of a delta that comes alone": (slow["write"] - said["write"]) / _SLOW,
        "system calls of a delta that comes alone": _system_calls(slow, said) / _SLOW,
        "memory blocks that a delta leaves behind": (again["blocks"] - flood["blocks"]) / _DELTAS,
        "memory blocks that a delta needs at most": (again["peak"] - flood["blocks"]) / _DELTAS,
    }


def _system_calls(after: Mapping[str, Any], before: Mapping[str, Any], others: float = 0) -> float:
    """Of sockets, pipes and waiting between two answers, without `others`."""
    return float(sum(after[kind] - before[kind] for kind in _SYSTEM_CALLS) - others)


def _as_sent(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _reads() -> Iterator[Reply]:
    for number in range(_CALLS):
        yield Reply(tool_calls=[ToolCall(f"call{number}", "read_file", {"path": f"notes{number}.txt"})])
    yield Reply("Read.")


def _one_by_one(agent: Agent, session: str, model: ModelServer) -> None:
    """Each delta is sent when the one before has reached the editor, as with models that are slower than we are."""
    pace = threading.Semaphore(0)
    model.add(Reply("x " * _SLOW, split=2, pace=pace))
    agent.take_updates()
    request = agent.send_prompt(session, "Go on.")
    for number in range(_SLOW):
        pace.release()
        agent.wait(lambda n=number: _texts(agent) > n, "a delta")
    agent.answer(request)


def _texts(agent: Agent) -> int:
    return sum(b"agent_message_chunk" in update.line for update in agent.updates)


@contextmanager
def _agent(model: ModelServer, home: Path, workspace: Path, counts: Path) -> Iterator[Agent]:
    use_model(home, model)
    command = [sys.executable, "-P", str(_PROGRAM), str(counts), str(_ROOT / "acp_adapter" / "__main__.py")]
    with Agent(command, workspace, {**os.environ, "PYTHONPATH": str(_ROOT)}) as agent:
        yield agent
        agent.close()
