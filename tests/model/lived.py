"""What a session should hold, as a person who has followed it would say: pure, without a process or a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests.model.calls import Call, Files, Steps, named
from tests.model.ground import Ground

Mode = Literal["plan", "default", "accept_edits", "dont_ask"]
Edits = Literal["mode", "ask"]
End = Literal["whole", "cancelled", "killed", "command"]
Verdict = Literal["runs", "asks", "refused"]
FIRST_MODEL = "custom:test-model"
MODES: tuple[Mode, ...] = ("plan", "default", "accept_edits", "dont_ask")


@dataclass(slots=True)
class Turn:
    """A turn, or a command, of a session.

    Attributes:
        number: counts all turns of a run: what began later has a greater one.
        prompt: what the person said, word for word.
        end: how it came to its end.
        before, after: of the files that it may have changed, the content; None where there is none.
        updates: what the editor was shown of it.
        is_settled: of a killed turn, that what is shown of it was seen in a load.
    """

    number: int
    name: str
    prompt: str
    steps: Steps = ()
    end: End = "whole"
    before: dict[str, str | None] = field(default_factory=dict)
    after: dict[str, str | None] = field(default_factory=dict)
    updates: list[dict[str, Any]] = field(default_factory=list)
    is_settled: bool = False

    def calls(self) -> Iterator[tuple[str, Call]]:
        """Each call with its id, in order, those of sub-agents too."""
        return named(self.name, self.steps)

    @property
    def text(self) -> str:
        """All that the model says in it, if nothing comes between."""
        return "".join(f"Step {step + 1}. " for step in range(len(self.steps))) + f"All of {self.name} is done."


@dataclass(slots=True)
class Undone:
    """What one undo took.

    Attributes:
        turns: newest first.
        files: of each file that it changed, what was in it; None for no file.
        foreign: those of them that the person had written.
    """

    turns: list[Turn]
    files: dict[str, str | None] = field(default_factory=dict)
    foreign: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Lived:
    """A session.

    Attributes:
        cwd: its workspace, which no other session of these uses.
        turns: those in view and the commands, in the order in which they began.
        undone: what a redo would bring back, the next one last.
        terminals: commands run in the editor's own terminals.
        files: what is in the workspace now.
        unsaved: what the person has typed in the editor and not saved, by path.
        foreign: files that the person has changed since the agent did.
        granted, refused: what was answered for the rest of the session: a kind and what it is about.
        behind, may_be_behind: how many commands run in its background, and of how many more that is not known.
        is_open: the editor has it open.
    """

    id: str
    cwd: Path
    mode: Mode = "default"
    edits: Edits = "mode"
    model: str = FIRST_MODEL
    terminals: bool = False
    turns: list[Turn] = field(default_factory=list)
    undone: list[Undone] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    unsaved: dict[str, str] = field(default_factory=dict)
    foreign: set[str] = field(default_factory=set)
    granted: set[tuple[str, str]] = field(default_factory=set)
    refused: set[tuple[str, str]] = field(default_factory=set)
    behind: int = 0
    may_be_behind: int = 0
    is_open: bool = True

    @property
    def real_turns(self) -> list[Turn]:
        """Those that an undo takes back."""
        return [turn for turn in self.turns if turn.end != "command"]

    @property
    def ground(self) -> Ground:
        """The workspace as a call finds it now."""
        return Ground(self.files, self.unsaved)

    def begins(self, turn: Turn) -> None:
        """A turn is in view; what was taken back does not fit any more."""
        self.turns.append(turn)
        if turn.end != "command":
            self.undone.clear()

    def drop(self, turn: Turn) -> None:
        """It is not there after all."""
        self.turns.remove(turn)

    def undo(self, count: int) -> Undone:
        """Take the last turns out of view."""
        gone = Undone(self.real_turns[-count:][::-1])
        self.turns = [turn for turn in self.turns if turn not in gone.turns]
        self.undone.append(gone)
        return gone

    def redo(self) -> Undone:
        """Bring back what the last undo took."""
        back = self.undone.pop()
        self.turns = sorted([*self.turns, *back.turns], key=lambda turn: turn.number)
        return back

    def closed(self) -> None:
        """It was closed, or its process is gone, and with either what ran in its background."""
        self.is_open = False
        self.behind = self.may_be_behind = 0

    def reopened(self) -> None:
        """It was loaded or resumed: its background, and what was answered for the session, ended with what it was."""
        self.closed()
        self.is_open = True
        self.granted.clear()
        self.refused.clear()

    def verdict(self, call: Call, kept: set[tuple[str, str]]) -> Verdict:
        """What becomes of a call as things are now.

        Args:
            kept: what was answered for good in this workspace.
        """
        if not call.asked:
            return "runs"
        if (call.asked, _what(call)) in self.refused or self.mode == "plan":
            return "refused"
        if call.asked == "write" and self.edits == "ask":
            return "asks"
        if self.mode == "dont_ask" or (call.asked == "write" and self.mode == "accept_edits"):
            return "runs"
        known = self.granted | kept
        is_known = (call.asked, _what(call)) in known
        is_below = call.asked == "write" and any(
            kind == "below" and (where == "." or call.path.startswith(f"{where}/")) for kind, where in known
        )
        return "runs" if is_known or is_below else "asks"

    def answered(self, call: Call, option: str, kept: set[tuple[str, str]]) -> bool:
        """Take an answer to a question; whether it is a yes. What is no option is no yes."""
        same = (call.asked, _what(call))
        below = ("below", str(Path(call.path).parent))
        match option:
            case "allow_session":
                self.granted.add(same)
            case "allow_directory":
                self.granted.add(below)
            case "allow_kept":
                kept.add(below if call.asked == "write" else same)
            case "reject_always":
                self.refused.add(same)
        return option.startswith("allow_")


def changed(before: Files, after: Files) -> Mapping[str, str | None]:
    """Of the files that differ, what is in the second."""
    paths = {*before, *after}
    return {path: after.get(path) for path in sorted(paths) if before.get(path) != after.get(path)}


def _what(call: Call) -> str:
    return call.path
