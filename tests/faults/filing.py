"""Scenes of the workspace: files are written, edited, moved; changes are taken back; sub-agents work in copies."""

from __future__ import annotations

import json

from tests.faults.scene import Scene, says
from tests.faults.stage import Stage
from tests.support.delegating import delegates
from tests.support.editor import Editor

_CONTENT = "-".join(["word"] * 20_000)
_MANY = """\
*** Begin Patch
*** Update File: sums.py
@@
-    return a - b
+    return a + b
*** Add File: more/new.py
+value = 1
*** Delete File: README.md
*** End Patch"""
_EDITS = f"edit sums.py a - b => a + b\nwrite README.md {_CONTENT}\nwrite deep/er/new.txt {_CONTENT}\nsay Edited."


async def _look_first(stage: Stage, agent: Editor) -> None:
    await stage.say(agent, "read README.md\nread sums.py\nsay First.")
    stage.facts["states"] = [stage.files()]


async def _write_new(stage: Stage, agent: Editor) -> None:
    await stage.say(agent, f"write deep/new.txt {_CONTENT}\nsay Written.")


async def _edit(stage: Stage, agent: Editor) -> None:
    await stage.say(agent, "edit sums.py a - b => a + b\nsay Edited.")


async def _patch(stage: Stage, agent: Editor) -> None:
    await stage.say(agent, f"call patch {json.dumps({'mode': 'patch', 'patch': _MANY})}\nsay Patched.")


async def _is_as_before_after_undo(stage: Stage, agent: Editor) -> None:
    """Each file is whole, and one undo of the broken turn brings back all that it had changed."""
    before = stage.facts["states"][0]
    for name, content in stage.files(half_written=False).items():
        whole = {before.get(name), _CONTENT.encode(), b"value = 1\n", before["sums.py"].replace(b"a - b", b"a + b")}
        assert content in whole, f"{name} is broken"
    if stage.files(half_written=False) != before:
        await agent.prompt(stage.session, "/undo")
    assert stage.files(half_written=False) == before


async def _edit_first(stage: Stage, agent: Editor) -> None:
    await _look_first(stage, agent)
    await stage.say(agent, _EDITS)
    stage.facts["states"].append(stage.files())


async def _edit_and_undo(stage: Stage, agent: Editor) -> None:
    await _edit_first(stage, agent)
    await agent.prompt(stage.session, "/undo")
    stage.answered.pop()


async def _undo(stage: Stage, agent: Editor) -> None:
    stage.answered.pop()
    await agent.prompt(stage.session, "/undo")


async def _redo(stage: Stage, agent: Editor) -> None:
    await agent.prompt(stage.session, "/redo")


async def _undo_ends(stage: Stage, agent: Editor) -> None:
    before, _ = stage.facts["states"]
    if stage.files(half_written=False) != before or agent.text(stage.session).count("Edited."):
        await agent.prompt(stage.session, "/undo")
    assert stage.files(half_written=False) == before


async def _redo_ends(stage: Stage, agent: Editor) -> None:
    _, after = stage.facts["states"]
    if stage.files(half_written=False) != after or not agent.text(stage.session).count("Edited."):
        await agent.prompt(stage.session, "/redo")
    assert stage.files(half_written=False) == after


async def _delegate(stage: Stage, agent: Editor) -> None:
    await stage.say(agent, f"{delegates('edit sums.py a - b => a + b', isolated=True)}\nsay Delegated.")


async def _copy_is_told_of(stage: Stage, agent: Editor) -> None:
    """The file is old or new; where the edit was not brought back, it is in a copy or nobody was told of it."""
    before = stage.facts["states"][0]
    assert stage.files()["sums.py"] in {before["sums.py"], before["sums.py"].replace(b"a - b", b"a + b")}
    assert set(stage.files()) == set(before)


async def _write_much(stage: Stage, agent: Editor) -> None:
    await stage.say(agent, "run seq 1 60000\nsay Counted.")


FILING = {
    "a new file": Scene(_write_new, before=_look_first, holds=_is_as_before_after_undo),
    "an edit": Scene(_edit, before=_look_first, holds=_is_as_before_after_undo),
    "a patch": Scene(_patch, before=_look_first, holds=_is_as_before_after_undo),
    "an undo": Scene(_undo, before=_edit_first, holds=_undo_ends),
    "a redo": Scene(_redo, before=_edit_and_undo, holds=_redo_ends),
    "a copy": Scene(_delegate, before=_look_first, holds=_copy_is_told_of),
    "a long output": Scene(_write_much),
    "a command": Scene(says("run echo one > one.txt; echo two > README.md\nsay Ran."), before=_look_first),
}
