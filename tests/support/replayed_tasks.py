"""Three tasks as a model works on them, from a script: a short one, one with a failing check, and a long one.

The script needs nothing of the form of results but the id of a background process, so it can be replayed against any
version: what differs is what the program sends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_core.compaction.tokens import message_tokens, tools_tokens
from tests.support.long_turn import bodies_of
from tests.support.model_replies import Recorded, Reply, ToolCall

Call = tuple[str, Mapping[str, Any]]

_MODULES = ("cart", "catalog", "checkout", "invoices", "ledger", "refunds", "shipping", "stock")
_PARTS = 24
"""Functions of each module; each has twelve lines."""

_FUNCTION = '''\
def {module}_{part}(rows: list[dict[str, object]], name: str = "{module} {part}") -> dict[str, object]:
    """Sum up the rows of "{module}" for part {part}, and say which were left out."""
    total, left_out = 0, []
    for row in rows:
        key = str(row.get("key", ""))
        if not re.match(r"^[a-z]+\\.{module}\\d*$", key):
            left_out.append(f"{{name}}: '{{key}}' is not a key of \\"{module}\\"")
            continue
        total += int(row["amount"]) * {part}
    return {{"name": name, "total": total, "left_out": left_out}}


'''
_CHECK = """\
import sys
sys.path.insert(0, "src")
wanted, failed = [name for name in sys.argv[1:] if name != "-v"], 0
for name in wanted:
    module = __import__(name)
    functions = [getattr(module, each) for each in sorted(dir(module)) if each.startswith(name + "_")]
    for function in functions:
        found = function([{"key": f"a.{name}1", "amount": 2}])
        good = isinstance(found["total"], int) and found["total"] < 1000
        if "-v" in sys.argv or not good:
            print(f'tests/test_{name}.py::test_{function.__name__}["a.{name}1"]', "PASSED" if good else "FAILED")
        failed += not good
print(f"{failed} failed" if failed else "all passed")
sys.exit(failed > 0)
"""
_SERVER = """\
import sys, time
print('listening on "http://127.0.0.1:8000"', flush=True)
sys.stdin.read()
time.sleep(600)
"""


@dataclass(frozen=True, slots=True)
class ReplayedTask:
    """A task: what the person asks, and what the model answers, call by call."""

    name: str
    prompt: str
    steps: Sequence[Sequence[Call]]


@dataclass(frozen=True, slots=True)
class TaskCost:
    """What a replay has cost.

    Attributes:
        sent: input tokens of all requests together, estimated.
        fixed: … of each request, whatever was said: the system prompt and the tools.
        growth: tokens that a request has more than the one before it, on average.
    """

    requests: int
    calls: int
    sent: int
    fixed: int
    growth: float


def prepare(workspace: Path) -> None:
    """A project of eight modules with a check, a server, and a log."""
    (workspace / "src").mkdir(parents=True)
    for module in _MODULES:
        parts = (_FUNCTION.format(module=module, part=part) for part in range(1, _PARTS + 1))
        (workspace / f"src/{module}.py").write_text("import re\n\n\n" + "".join(parts), encoding="utf-8")
    (workspace / "check.py").write_text(_CHECK, encoding="utf-8")
    (workspace / "server.py").write_text(_SERVER, encoding="utf-8")
    (workspace / "README.md").write_text("# Shop\n\nRun `python3 check.py MODULE …`.\n", encoding="utf-8")
    (workspace / "AGENTS.md").write_text("Four spaces. Check each module that you change.\n", encoding="utf-8")


def replayed(task: ReplayedTask, directory: Path, model: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The bodies of the task's requests."""
    script = (_reply(number, calls) for number, calls in enumerate(task.steps))
    return list(bodies_of(directory, prepare, (*script, Reply("It is done.")), task.prompt, model or {}))


def cost_of(task: ReplayedTask, bodies: Sequence[Mapping[str, Any]]) -> TaskCost:
    """What these requests (of Chat Completions) have cost."""
    sizes = [sum(map(message_tokens, body["messages"])) + tools_tokens(body.get("tools", ())) for body in bodies]
    fixed = message_tokens(bodies[0]["messages"][0]) + tools_tokens(bodies[0]["tools"])
    growth = (sizes[-1] - sizes[0]) / max(len(sizes) - 1, 1)
    return TaskCost(len(bodies), sum(map(len, task.steps)), round(sum(sizes)), round(fixed), growth)


def _reply(number: int, calls: Sequence[Call]) -> Callable[[Recorded], Reply]:
    def answer(request: Recorded) -> Reply:
        # The last one: a task has one process at a time.
        process = (re.findall(r"proc_[0-9a-f]+", json.dumps(request.body)) or ["none"])[-1]
        made = [
            ToolCall(f"call_{number}_{place}", name, {key: _named(value, process) for key, value in given.items()})
            for place, (name, given) in enumerate(calls)
        ]
        return Reply("", tool_calls=made)

    return answer


def _named(value: Any, process: str) -> Any:
    return process if value == "{process}" else value


def _replace(module: str, part: int, factor: str) -> Call:
    """An exact edit of one line, as models make them: with the lines around it."""
    old = f'            continue\n        total += int(row["amount"]) * {part}\n    return'
    return "patch", {
        "mode": "replace",
        "path": f"src/{module}.py",
        "old_string": old,
        "new_string": old.replace(f"* {part}\n", f"* {factor}\n"),
    }


def _rewrite(module: str, part: int) -> Call:
    """A patch in the V4A format that rewrites most of a function's body, and adds a helper below it."""
    body = [
        "*** Begin Patch",
        f"*** Update File: src/{module}.py",
        f'@@ def {module}_{part}(rows: list[dict[str, object]], name: str = "{module} {part}") -> dict[str, object]:',
        f'     """Sum up the rows of "{module}" for part {part}, and say which were left out."""',
        "-    total, left_out = 0, []",
        "-    for row in rows:",
        '-        key = str(row.get("key", ""))',
        f'-        if not re.match(r"^[a-z]+\\.{module}\\d*$", key):',
        f'-            left_out.append(f"{{name}}: \'{{key}}\' is not a key of \\"{module}\\"")',
        "-            continue",
        f'-        total += int(row["amount"]) * {part}',
        '-    return {"name": name, "total": total, "left_out": left_out}',
        f'+    known = [row for row in rows if re.match(r"^[a-z]+\\.{module}\\d*$", str(row.get("key", "")))]',
        "+    left_out = [f\"{name}: '{row.get('key')}' is unknown\" for row in rows if row not in known]",
        f'+    total = sum(int(row["amount"]) for row in known) * {part}',
        f"+    return summary_{part}(name, total, left_out)",
        "+",
        "+",
        f"+def summary_{part}(name: str, total: int, left_out: list[str]) -> dict[str, object]:",
        '+    """The summary of one part: its name, its total, and what was left out."""',
        '+    return {"name": name, "total": total, "left_out": left_out}',
        "*** End Patch",
    ]
    return "patch", {"mode": "patch", "patch": "\n".join(body)}


def _todos(done: int) -> Call:
    """The whole plan, as most models send it each time: what comes before item `done` is completed."""
    items = [
        {
            "id": str(number),
            "content": f"Move the summary of src/{module}.py into a helper, and check that its totals stay the same",
            "status": "completed" if number < done else "in_progress" if number == done else "pending",
        }
        for number, module in enumerate(_MODULES, 1)
    ]
    return "todo", {"todos": items}


def _mark(number: int, status: str) -> Call:
    return "todo", {"todos": [{"id": str(number), "status": status}], "merge": True}


def _read(module: str, offset: int = 1, limit: int = 60) -> Call:
    return "read_file", {"path": f"src/{module}.py", "offset": offset, "limit": limit}


def _run(command: str, **others: Any) -> Call:
    return "terminal", {"command": command, **others}


def _long() -> Iterator[Sequence[Call]]:
    yield (("read_file", {"path": "README.md"}), ("search_files", {"pattern": r"def \w+_1\(", "path": "src"}))
    yield (_todos(1),)
    yield (_run("python3 server.py", background=True),)
    half = len(_MODULES) // 2
    for number, module in enumerate(_MODULES, 1):
        yield (_read(module),)
        yield (_read(module, 61),)
        yield (_replace(module, 2, "2 + 0"),)
        yield (_rewrite(module, 3),)
        yield (_rewrite(module, 9),)
        yield (_run(f"python3 check.py {module}"),)
        # The end of the first half is a new plan; else items are marked one by one.
        marks = (_mark(number, "completed"), _mark(number + 1, "in_progress"))
        yield (_todos(number + 1),) if number == half else marks
        if number % half == 0:
            yield (("process", {"action": "poll", "session_id": "{process}"}),)
    yield (_run('for n in $(seq 400); do echo "step $n: compiled \'src/part_$n.c\' with \\"-O2\\""; done'),)
    code = (
        "from hermes_tools import read_file\n"
        "for name in ('cart', 'stock'):\n"
        "    text = read_file(path=f'src/{name}.py')['content']\n"
        "    print(name, len(text), '\"quoted\"')\n"
    )
    yield (("execute_code", {"code": code}),)
    notes = "".join(f'{number}. "{module}" has a helper now.\n' for number, module in enumerate(_MODULES, 1))
    yield (("write_file", {"path": "NOTES.md", "content": f"# Notes\n\n{notes}"}),)
    yield (_run(f"python3 check.py -v {' '.join(_MODULES[:2])}"),)
    yield (("process", {"action": "kill", "session_id": "{process}"}),)


TASKS = (
    ReplayedTask(
        "short",
        "Part 2 of the cart counts double. Fix it and check it.",
        ((_read("cart"),), (_replace("cart", 2, "1"),), (_run("python3 check.py cart"),)),
    ),
    ReplayedTask(
        "middle",
        "The totals of refunds are wrong, find out why and fix it. Shipping has the same mistake.",
        (
            (("search_files", {"pattern": "total \\+=", "path": "src/refunds.py"}),),
            (_read("refunds", 1, 120), _read("shipping", 1, 120)),
            (("todo", {"todos": [{"id": "1", "content": "refunds", "status": "in_progress"}]}),),
            (_read("ledger", 1, 120),),
            (_replace("refunds", 4, "4000"),),
            (_run("python3 check.py refunds"),),
            (_read("refunds", 36, 24),),
            (_replace("refunds", 4000, "4"), _rewrite("refunds", 5)),
            (_run("python3 check.py refunds"),),
            (_rewrite("shipping", 5),),
            (_run("python3 check.py shipping refunds"),),
            (_mark(1, "completed"),),
        ),
    ),
    ReplayedTask("long", "Move the summary of each module into a helper, and check each.", tuple(_long())),
)
