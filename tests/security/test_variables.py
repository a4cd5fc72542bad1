"""Every program that is started is given its variables: by default it would get all of ours, with our keys."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import acp_adapter
import agent_core
import tools

_STARTS = {"Popen", "run", "call", "check_call", "check_output"}
# Ourselves again, which needs the keys; and programs of Windows that only end others.
_WITH_ALL = {
    "acp_adapter/cli/acp_client.py",
    "tools/environments/guardian.py",
}


def _starts_without(path: Path) -> Iterator[int]:
    source = path.read_text(encoding="utf-8")
    if "subprocess." not in source and ".popen(" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        is_start = isinstance(node.func.value, ast.Name) and node.func.value.id == "subprocess"
        given = {keyword.arg for keyword in node.keywords}
        # In a sandbox a program is started with `popen`. `**popen`: who calls that function says it. The streams of a
        # remote program take its variables second.
        is_start = node.func.attr in _STARTS if is_start else node.func.attr == "popen" and len(node.args) < 2
        if is_start and not given & {"env", None}:
            yield node.lineno


def test_no_program_is_started_with_all_our_variables() -> None:
    found = []
    for package in (acp_adapter, agent_core, tools):
        top = Path(str(package.__file__)).parent
        for path in top.rglob("*.py"):
            name = f"{top.name}/{path.relative_to(top).as_posix()}"
            if name not in _WITH_ALL:
                found += [f"{name}:{line}" for line in _starts_without(path)]
    assert found == []
