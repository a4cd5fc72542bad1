"""What a call of a tool costs in a program, beside the same call of the model's: one is made after the other."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_core.cancel import CancelToken
from agent_core.messages import tool_call
from benchmarks.in_turns import Pair
from tests.support.programs import program_bench
from tools.execute_code import module_text
from tools.ports import Interrupt, Program
from tools.result import ToolResult
from tools.settings import ProgramSettings

CALLS = 400
_WARM = 40
_CODE = f"""
from hermes_tools import read_file, terminal
import json, sys, time
took = []
for number in range({CALLS + _WARM}):
    began = time.perf_counter()
    read_file("lines.txt")
    took.append(time.perf_counter() - began)
    # The same call is made at the other end now, so that both see the same machine.
    terminal("direct")
print(json.dumps(took[{_WARM}:]))
"""


def a_call_of_a_program(folder: Path) -> Pair:
    """Seconds of `read_file` of 100 lines as a program sees it, and of the same call as the model makes it."""
    (folder / "lines.txt").write_text("a line of usual length, to be read\n" * 100)
    arguments = {"path": "lines.txt"}
    direct: list[float] = []
    with program_bench(folder) as bench:
        runner, nested = bench.runners()

        def call(name: str, given: Mapping[str, Any], over: Interrupt) -> ToolResult:
            if name == "read_file":
                return nested.call(name, given, "p1", over)
            bench.workspace.seen.forget_all()
            began = time.perf_counter()
            ((_, result),) = runner.run((tool_call(f"m{len(direct)}", "read_file", json.dumps(arguments)),))
            direct.append(time.perf_counter() - began)
            return replace(result, value=None)

        program = Program(
            _CODE, folder, module_text({"read_file", "terminal"}), ProgramSettings(max_calls=10_000), {}
        )
        outcome = bench.programs().run(program, call, lambda _: None, CancelToken())
        assert outcome.command.exit_code == 0, outcome.command.output
    return Pair(tuple(json.loads(outcome.command.output)), tuple(direct[_WARM:]))
