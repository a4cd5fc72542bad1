"""Takes back what turns have changed of what is remembered, as far as it is still as they left it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from difflib import SequenceMatcher

from agent_core.events import SessionEvent, ToolFinished
from agent_core.memory.entries import entries_of
from agent_core.memory.files import MemoryUnusable
from agent_core.memory.store import NAMES, MemoryStore
from tools.light_dataclass import dataclass
from tools.memory_port import MemoryOperation, MemoryRefused, MemoryTarget
from tools.result import ShownDiff

_MAX_SHOWN = 80
_TARGETS = {name: target for target, name in NAMES.items()}
_DONE = {"add": "Remembered again", "remove": "Forgotten", "replace": "Changed back to"}


@dataclass(frozen=True, slots=True)
class MemoryEdit:
    """What one call made of the entries of a memory file."""

    target: MemoryTarget
    before: tuple[str, ...]
    after: tuple[str, ...]

    def reversed(self) -> MemoryEdit:
        """The edit that takes this one back."""
        return MemoryEdit(self.target, self.after, self.before)


@dataclass(slots=True)
class MemoryRewound:
    """What became of edits: lines for the person, and the entries that are not remembered any more."""

    told: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)


def edits_in(events: Iterable[SessionEvent]) -> list[MemoryEdit]:
    """The changes of memory that a session's events tell of, in order."""
    return [
        MemoryEdit(_TARGETS[shown.path.name], _entries(shown.before), _entries(shown.after))
        for event in events
        if isinstance(event, ToolFinished) and event.name == "memory" and not event.result.failed
        for shown in event.result.shown
        if isinstance(shown, ShownDiff) and shown.path.name in _TARGETS
    ]


def make_edits(store: MemoryStore, edits: Sequence[MemoryEdit]) -> MemoryRewound:
    """Make edits of the files as they are now, one after the other. What others have changed meanwhile stays."""
    rewound = MemoryRewound()
    for edit in edits:
        try:
            _make(store, edit, rewound)
        except (MemoryRefused, MemoryUnusable) as problem:
            rewound.told.append(f"{NAMES[edit.target]} was left as it is: {problem}")
    return rewound


def _make(store: MemoryStore, edit: MemoryEdit, rewound: MemoryRewound) -> None:
    there = set(store.read(edit.target))
    done: list[MemoryOperation] = []
    for operation in _operations(edit):
        if operation.action == "add" or operation.old_text in there:
            if operation.content not in there:
                done.append(operation)
        elif operation.content not in there:
            rewound.told.append(f"Not there any more as the turn left it: {_short(operation.old_text)}")
    if not done:
        return
    store.commit(store.plan(edit.target, done))
    for operation in done:
        rewound.told.append(f"{_DONE[operation.action]}: {_short(operation.content or operation.old_text)}")
        if operation.old_text:
            rewound.gone.append(operation.old_text)


def _operations(edit: MemoryEdit) -> Iterator[MemoryOperation]:
    steps = SequenceMatcher(None, edit.before, edit.after, autojunk=False).get_opcodes()
    for tag, start, end, new_start, new_end in steps:
        if tag == "equal":
            continue
        old, new = edit.before[start:end], edit.after[new_start:new_end]
        paired = min(len(old), len(new))
        for was, becomes in zip(old[:paired], new[:paired], strict=True):
            yield MemoryOperation("replace", becomes, was)
        yield from (MemoryOperation("remove", old_text=was) for was in old[paired:])
        yield from (MemoryOperation("add", becomes) for becomes in new[paired:])


def _entries(text: str | None) -> tuple[str, ...]:
    return tuple(entry.text for entry in entries_of(text or ""))


def _short(entry: str) -> str:
    line = " ".join(entry.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[: _MAX_SHOWN - 1]}…"
