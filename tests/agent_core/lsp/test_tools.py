"""What the tools that edit tell the model of a language server's errors."""

from __future__ import annotations

from dataclasses import replace

from tests.agent_core.lsp.conftest import OpenBench
from tests.support.tool_context import call, make_context, payload
from tools.toolsets import load_builtin_tools


def test_an_edit_tells_what_it_broke(bench: OpenBench) -> None:
    load_builtin_tools()
    session = bench()
    ctx = replace(make_context(session.root), diagnostics=session.servers)
    first = payload(call(ctx, "write_file", path="a.txt", content="fine\nBAD\n"))
    assert first["problems"] == "line 2: BAD is wrong (fake)"
    again = payload(call(ctx, "patch", mode="replace", path="a.txt", old_string="fine", new_string="good"))
    assert "problems" not in again


def test_mending_the_syntax_tells_nothing_old(bench: OpenBench) -> None:
    load_builtin_tools()
    session = bench(ending=".py")
    ctx = replace(make_context(session.root), diagnostics=session.servers)
    old = "x = 1  # BAD\n"
    path = session.root / "a.py"
    path.write_text(old)

    def edit(old_string: str, new_string: str) -> str:
        told = payload(call(ctx, "patch", mode="replace", path="a.py", old_string=old_string, new_string=new_string))
        return str(told.get("problems", ""))

    assert "python" in edit("x = 1  # BAD", "x = (")
    assert edit("x = (", "x = 1  # BAD") == ""
    assert session.heard("didChange") == 0
