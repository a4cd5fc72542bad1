"""The tools that reach further: several files at once, images, background processes, the web."""

from __future__ import annotations

import json
from typing import Any

from tests.support.editor_frames import Frame
from tests.support.editor_policies import reject
from tests.support.editor_profiles import PROFILES
from tests.support.images import png
from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()

_PATCH = """*** Begin Patch
*** Update File: sums.py
@@ def add(a, b):
-    return a - b
+    return a + b
*** Add File: tests/test_more.py
+from sums import add
*** Delete File: README.md
*** End Patch"""

_PROGRAM = """\
from hermes_tools import ToolError, patch, read_file, terminal

lines = read_file("sums.py")["total_lines"]
try:
    read_file("none.py")
except ToolError:
    patch(path="sums.py", old_string="a - b", new_string="a + b")
print(lines, terminal("echo from a command")["output"].strip())
"""


_WAITS = "while ! test -e gate; do sleep 0.02; done; echo built; exit 3"


def _is_over(frame: Frame) -> bool:
    told = (frame.update.get("_meta") or {}).get("hermes") or {}
    return bool(told.get("backgroundTurn", {}).get("state") == "over")


def _call(tool: str, **arguments: Any) -> str:
    return f"call {tool} {json.dumps(arguments)}"


@scenario
async def patch_of_several_files(stage: Stage) -> None:
    """A patch of three files: each is asked for, then all are changed; their diffs and places are on the card."""
    await stage.begin()
    await stage.prompt(_call("patch", mode="patch", patch=_PATCH), "say Patched.")


@scenario
async def patch_that_does_not_fit(stage: Stage) -> None:
    """One part of a patch fits nowhere: nobody is asked, nothing is changed."""
    await stage.begin()
    await stage.prompt(_call("patch", mode="patch", patch=_PATCH.replace("a - b", "a * b")), "say No.")


@scenario
async def unread_file_is_kept(stage: Stage) -> None:
    """A file that the model has not read is not replaced."""
    await stage.begin()
    await stage.prompt("write sums.py nothing", "say It has to be read first.")


@scenario
async def broken_by_an_edit(stage: Stage) -> None:
    """An edit that breaks the syntax is made, and the model is told what it broke."""
    await stage.begin()
    await stage.choose("session/set_mode", modeId="accept_edits")
    await stage.prompt("edit sums.py (a, b): => (a, b:", "say Oh.")


@scenario
async def image_of_a_tool(stage: Stage) -> None:
    """An image that is read is shown on the card."""
    (stage.workspace / "dot.png").write_bytes(png(2, 2))
    await stage.begin()
    await stage.prompt("read dot.png", "say A dot.")


@scenario
async def background_command(stage: Stage) -> None:
    """A command in the background has a card of its own; a look at it and its end have theirs."""
    await stage.begin()
    await stage.prompt(_call("terminal", command="echo ready; sleep 600", background=True), "say Started.")
    (card,) = stage.agent.cards(stage.session).values()
    process = card["rawOutput"]["process"]
    await stage.prompt(_call("process", action="kill", session_id=process), "say Ended.")


@scenario
async def turn_of_its_own(stage: Stage) -> None:
    """A command in the background ends while nothing runs: a turn begins by itself, whose begin and end are told."""
    profile = PROFILES[stage.profile]
    told = {**profile.get("_meta", {}), "hermes": {"backgroundTurns": True}}
    await stage.greet(session={**profile.get("session", {}), "notices": {}}, _meta=told)
    await stage.open()
    await stage.choose("session/set_mode", modeId="dont_ask")
    await stage.prompt(
        _call("terminal", command=_WAITS, background=True, notify_on_complete=True),
        "say Building.",
        "on news",
        "run echo looked",
        "say It failed.",
    )
    stage.write("gate", "")
    await stage.agent.wait_for(_is_over, 15, what="the end of a turn of its own")


@scenario
async def program_that_calls_tools(stage: Stage) -> None:
    """A program reads, fails to read, edits and runs: each call has a card that names the program's as its parent."""
    await stage.begin()
    await stage.choose("session/set_mode", modeId="dont_ask")
    await stage.prompt(_call("execute_code", code=_PROGRAM), "say Edited.")


@scenario
async def going_in_circles(stage: Stage) -> None:
    """A call that fails again and again is not run any more, and in the end the turn is stopped with a word."""
    await stage.begin()
    await stage.prompt(*["read nowhere.py"] * 8, "say Never said.")


@scenario
async def private_page(stage: Stage) -> None:
    """A page of this machine is asked about, with the risk."""
    await stage.begin()
    stage.agent.on_permission = reject
    await stage.prompt(_call("web_extract", urls=["http://127.0.0.1:9/a"]), "say Not read.")
