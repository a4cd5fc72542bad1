"""The points at which the agent is killed, by name: which scene leads there, and where exactly it is.

To find a point for something new: the function that it is in, and the call before or after which the kill comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.faults.fault import HALF, Fault


@dataclass(frozen=True, slots=True)
class Point:
    """A point, and the scene that reaches it."""

    scene: str
    fault: Fault


def _at(scene: str, seam: str, when: str = "before", nth: int = 1, **more: Any) -> Point:
    return Point(scene, Fault(seam, when=when, nth=nth, **more))


def _half(scene: str, seam: str, nth: int, **more: Any) -> Point:
    return Point(scene, Fault(seam, HALF, nth=nth, **more))


_SESSIONS = "agent_core.sessions"
_CHECKPOINTS = "agent_core.sessions.checkpoints"
_REPLACING = "tools.environments.atomic_writes"

STORE = {
    "store: the new database's file is made": _at("first start", f"{_SESSIONS}.schema:_make_file", "after"),
    "store: the new database is filled": _at("first start", f"{_SESSIONS}.schema:migrate", "after"),
    "store: before the new database gets its name": _at("first start", "os.replace", path="hermes-acp.db"),
    "store: after the new database got its name": _at("first start", "os.replace", "after", path="hermes-acp.db"),
    "store: before the copy of an older database": _at("an older database", f"{_SESSIONS}.schema:back_up"),
    "store: within the copy of an older database": _at("an older database", "sqlite.write", nth=20, path=".bak"),
    "store: before that copy gets its name": _at("an older database", "os.replace", path=".bak"),
    "store: after that copy got its name": _at("an older database", "os.replace", "after", path=".bak"),
    "store: within a step of the schema": _at("an older database", "sqlite.write", path="-journal", nth=2),
    "store: after the steps of the schema": _at("an older database", f"{_SESSIONS}.schema:migrate", "after"),
    "store: a session is written, not committed": _at("first start", f"{_SESSIONS}.operations:insert_new", "after"),
    "store: a turn has begun, not committed": _at("a turn", f"{_SESSIONS}.operations:insert_turn", "after"),
    "store: a prompt is written, not committed": _at("a turn", f"{_SESSIONS}.operations:insert_message", "after"),
    "store: a prompt is committed": _at("a turn", f"{_SESSIONS}.write_queue:WriteQueue._settle"),
    "store: an answer with a call, not committed": _at(
        "a turn", f"{_SESSIONS}.operations:insert_message", "after", 2
    ),
    "store: a tool's result, not committed": _at("a turn", f"{_SESSIONS}.operations:insert_message", "after", 3),
    "store: a tool's result is committed": _at("a turn", f"{_SESSIONS}.write_queue:WriteQueue._settle", nth=3),
    "store: the turn's events, not committed": _at(
        "a turn", f"{_SESSIONS}.operations:LiveTurn.write_events", "after", 4
    ),
    "store: the turn's end, not committed": _at("a turn", f"{_SESSIONS}.operations:close_turn", "after"),
    "store: the turn's end is committed": _at("a turn", f"{_SESSIONS}.write_queue:WriteQueue.save", "after", 2),
    "store: before a write to the log of changes": _at("a turn", "sqlite.write", nth=5, path="-wal"),
    "store: within a write to the log of changes": _half("a turn", "sqlite.write", 7, path="-wal"),
    "store: streamed text is written each second": _at(
        "a long answer", f"{_SESSIONS}.write_queue:WriteQueue._settle", nth=3
    ),
    "store: a checkpoint begins": _at("a turn, and quiet", "sqlite.write", path="hermes-acp.db|"),
    "store: within a checkpoint": _half("a turn, and quiet", "sqlite.write", 2, path="hermes-acp.db|"),
    "store: after a checkpoint": _at("a turn, and quiet", f"{_SESSIONS}.database:Database.checkpoint", "after"),
    "store: a plan is kept": _at("a plan", f"{_SESSIONS}.operations:write_state", "after"),
    "store: a mode is kept": _at("another mode", f"{_SESSIONS}.archive:SessionArchive.update"),
    "store: a lease is given up at the end": _at("the end", f"{_SESSIONS}.write_queue:leases.give_up", "after"),
    "store: before a compression": _at("a compression", f"{_SESSIONS}.operations:AddCompaction.apply"),
    "store: after a compression, not committed": _at(
        "a compression", f"{_SESSIONS}.operations:AddCompaction.apply", "after"
    ),
    "store: a fork is copied, not committed": _at("a fork", f"{_SESSIONS}.archive:copy_session", "after"),
    "store: a fork is committed": _at("a fork", f"{_SESSIONS}.archive:SessionArchive.fork", "after"),
    "store: a session is marked as deleted": _at("a delete", f"{_SESSIONS}.archive:finish_deletes"),
    "store: within the rows of a deleted session": _at("a delete", f"{_SESSIONS}.archive:_delete_some", "after", 3),
    "store: before a deleted session's last row": _at("a delete", f"{_SESSIONS}.archive:_delete_some", "after", 9),
    "background: a task is noted": _at("a task", f"{_SESSIONS}.operations:KeepTask.apply", "after"),
    "background: its news are noted": _at("a task that tells", f"{_SESSIONS}.operations:KeepNews.apply", "after"),
    "unsaved: within its file": _half("an end under a lock", "os.write", 1, caller=f"{_SESSIONS}.spool"),
    "unsaved: before its file gets its name": _at("an end under a lock", "os.replace", path="unsaved"),
    "unsaved: its file is there": _at("an end under a lock", "os.replace", "after", path="unsaved"),
    "unsaved: stored, and its file is there still": _at("an end after a lock", f"{_SESSIONS}.spool:Spooled.remove"),
    "protocol: within the turn's answer": _half("a turn", "os.write", 1, caller="acp_adapter", holds="stopReason"),
}

FILES = {
    "files: what was there is kept, without its name": _at("an edit", "os.replace", caller=f"{_CHECKPOINTS}.blobs"),
    "files: what was there is kept": _at("an edit", "os.replace", "after", caller=f"{_CHECKPOINTS}.blobs"),
    "files: the change is noted, not committed": _at("an edit", f"{_CHECKPOINTS}.versions:add_changes", "after"),
    "files: the temporary file is there": _at("an edit", f"{_REPLACING}:_write_temporary", "after"),
    "files: after the rename": _at("an edit", "os.replace", "after", caller=_REPLACING),
    "files: a new file's temporary file": _at("a new file", f"{_REPLACING}:_write_temporary", "after"),
    "files: a new file has two names": _at("a new file", "os.link", "after", caller=_REPLACING),
    "files: the first of several is done": _at("a patch", "os.replace", "after", caller=_REPLACING),
    "files: all but the last of several": _at("a patch", "os.unlink", path="README.md"),
    "files: after the last of several": _at("a patch", "os.unlink", "after", path="README.md"),
    "files: a long output is being saved": _half("a long output", "os.write", 2, path="outputs"),
    "files: a command has ended": _at("a command", f"{_CHECKPOINTS}.versions:CallHistory._finish"),
    "undo: it has begun": _at("an undo", f"{_CHECKPOINTS}.undo:_Run._begin", "after"),
    "undo: a change is noted, the file not yet back": _at("an undo", f"{_CHECKPOINTS}.undo:_Run._keep_now", "after"),
    "undo: before a file gets its name": _at("an undo", "os.replace", caller=_REPLACING),
    "undo: some files are back": _at("an undo", f"{_CHECKPOINTS}.undo:_Run._carry_out", "after", 2),
    "undo: all files are back": _at("an undo", f"{_CHECKPOINTS}.undo:_Run._finish"),
    "undo: it is done": _at("an undo", f"{_CHECKPOINTS}.undo:_Run._finish", "after"),
    "redo: some files are there again": _at("a redo", f"{_CHECKPOINTS}.undo:_Run._carry_out", "after", 2),
    "redo: before its end": _at("a redo", f"{_CHECKPOINTS}.undo:_Run._finish"),
    "copies: one is being made": _at("a copy", "agent_core.delegation.worktree:_fill"),
    "copies: one is made": _at("a copy", "agent_core.delegation.worktree:_fill", "after"),
    "copies: patches are beside it": _at("a copy", "agent_core.delegation.worktree:Copy.set_aside", "after"),
    "copies: the change is brought back": _at("a copy", "agent_core.delegation.worktree:Copy.settled"),
    "copies: before it goes": _at("a copy", "agent_core.delegation.worktree:Copy.drop"),
}

HOME = {
    "memory: before the file gets its name": _at("a memory", "os.replace", path="MEMORY.md"),
    "memory: after the file got its name": _at("a memory", "os.replace", "after", path="MEMORY.md"),
    "permissions: before the file gets its name": _at("a yes for good", "os.replace", path="permissions.yaml"),
    "permissions: after the file got its name": _at("a yes for good", "os.replace", "after", path="permissions.yaml"),
    "credentials: before the sign-out is noted": _at("a sign-out", "os.open", path="signed-out", writing=True),
    "credentials: after the sign-out is noted": _at("a sign-out", "os.open", "after", path="signed-out"),
    "recording: within a line": _half("a recording", "os.write", 3, path="recording.jsonl"),
    "first answer: before the file gets its name": _at("the first answer", "os.replace", path="first-answer.json"),
    "first answer: after it got its name": _at("the first answer", "os.replace", "after", path="first-answer.json"),
    "logs: the full one is moved aside": _at("a full log", "os.replace", caller="acp_adapter.logs"),
    "logs: the full one has moved": _at("a full log", "os.replace", "after", caller="acp_adapter.logs"),
    "report: before it gets its name": _at("a report of what runs", "os.replace", caller="agent_core.activity"),
}

_FAR = "agent_core.remote"
_STATE = "copy.json"

FAR = {
    "far copy: it is being packed": _at("a far copy", f"{_FAR}.select:pack", "after"),
    "far copy: nothing is sent yet": _at("a far copy", f"{_FAR}.remote_dir:Place.put_first"),
    "far copy: it is made, and not noted": _at("a far copy", f"{_FAR}.remote_dir:Place.put_first", "after"),
    "far copy: before what is known of it gets its name": _at("a far copy", "os.replace", path=_STATE, nth=2),
    "far copy: it is noted": _at("a far copy", "os.replace", "after", path=_STATE, nth=2),
    "far copy: before changes go there": _at("changes for a far copy", f"{_FAR}.remote_dir:Place.put_later"),
    "far copy: changes went there, not noted": _at(
        "changes for a far copy", f"{_FAR}.remote_dir:Place.put_later", "after"
    ),
    "far copy: changes come back": _at("changes of a far copy", f"{_FAR}.session_copy:bring_back"),
    "far copy: the first change is back": _at("changes of a far copy", f"{_FAR}.pull:_brought", "after"),
    "far copy: all are back, not noted": _at("changes of a far copy", f"{_FAR}.copy:FarCopy.save"),
    "far copy: all are back": _at("changes of a far copy", f"{_FAR}.copy:FarCopy.save", "after"),
    "far copy: before refused changes are kept": _at("a no to a far copy", f"{_FAR}.session_copy:keep_aside"),
    "far copy: within the patches": _at("a no to a far copy", "open", path=".patch", writing=True),
    "far copy: refused changes are kept": _at("a no to a far copy", f"{_FAR}.pull:write_rest", "after"),
    "far copy: at the session's end": _at("the end of a far copy", f"{_FAR}.session_copy:SessionCopy._keep_rest"),
    "far copy: the rest is kept, not told": _at("the end of a far copy", f"{_FAR}.pull:write_rest", "after"),
    "far copy: the rest is told": _at("the end of a far copy", f"{_FAR}.copy:FarCopy.forget"),
    "far copy: before a rescue": _at("a rescue of a far copy", f"{_FAR}.session_copy:RescueOfCopies._save_one"),
    "far copy: rescued, not told": _at("a rescue of a far copy", f"{_FAR}.pull:write_rest", "after"),
    "far copy: the rescue is told": _at("a rescue of a far copy", f"{_FAR}.copy:Store.forget"),
}

_SIGN_IN, _TRUST = "oauth_tokens.json", "plugins.json"
_COPY = "agent_core.plugins.discovery"
_TURNS = "agent_core.batch.trajectories"

TRUST = {
    "sign-in: it is renewed, not stored": _at("a renewed sign-in", "agent_core.mcp.oauth:_Kept.set_tokens"),
    "sign-in: before the file gets its name": _at("a renewed sign-in", "os.replace", path=_SIGN_IN),
    "sign-in: after the file got its name": _at("a renewed sign-in", "os.replace", "after", path=_SIGN_IN),
    "trust: the copy is written": _at("a trust", "os.rename", caller=_COPY),
    "trust: the copy is there": _at("a trust", "os.rename", "after", caller=_COPY),
    "trust: before the file gets its name": _at("a trust", "os.replace", path=_TRUST),
    "trust: after the file got its name": _at("a trust", "os.replace", "after", path=_TRUST),
    "trajectory: within a line": _half("a trajectory", "os.write", 1, caller=_TURNS),
    "trajectory: a line is written": _at("a trajectory", "os.write", "after", caller=_TURNS),
    "trajectory: before the full file moves": _at("full trajectories", "os.replace", caller=_TURNS),
    "trajectory: the full file has moved": _at("full trajectories", "os.replace", "after", caller=_TURNS),
}

POINTS = STORE | FILES | HOME | FAR | TRUST
