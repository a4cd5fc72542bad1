"""`/memory`: what is remembered over sessions, and forgetting or adding an entry by hand."""

from __future__ import annotations

from collections.abc import Iterator

from acp_adapter.commands.command import Desk, Told, Typed
from acp_adapter.commands.markdown import code, plain
from agent_core.errors import RequestError
from agent_core.memory.block import sorted_out
from agent_core.memory.entries import used
from agent_core.memory.files import MemoryUnusable
from agent_core.memory.store import NAMES, MemoryStore
from tools.memory_port import MemoryOperation, MemoryRefused, MemoryTarget

_HINT = (
    "`/memory forget N` forgets one, `/memory add TEXT` adds a note, `/memory add-about-me TEXT` what is about you. "
    "Sessions that are open keep what they began with; new ones begin with this."
)


def manage_memory(typed: Typed, desk: Desk) -> Told:
    """Without words show all entries; with some forget or add one.

    Raises:
        RequestError: the words are none of the command's, or it cannot be done.
    """
    settings = desk.factory.settings().memory
    store = desk.factory.memory_files()
    word, _, rest = typed.words.strip().partition(" ")
    match word, rest.strip():
        case "", _:
            return Told("\n\n".join(_shown(store, settings.provider)))
        case "forget", number if number:
            return Told(_forgotten(store, number))
        case "add" | "add-about-me", text if text:
            return Told(_added(store, "memory" if word == "add" else "user", text))
    raise RequestError(
        f"/memory does not know {typed.words[:80]!r}; nothing was changed. "
        "Use /memory, /memory forget N, /memory add TEXT or /memory add-about-me TEXT."
    )


def _shown(store: MemoryStore, provider: str) -> Iterator[str]:
    if not store.targets():
        yield "Nothing is remembered in files (`memory.memory_enabled`, `memory.user_profile_enabled`)."
    number = 0
    for target in store.targets():
        try:
            entries = store.read(target)
        except MemoryUnusable as problem:
            yield f"**{NAMES[target]}:** {plain(str(problem))}"
            continue
        size = f"{used(entries):,} of {store.limits.of(target) or 0:,} characters"
        _, reasons = sorted_out(entries)
        lines = [f"**{_title(target)}** ({code(str(store.path(target)))}, {size})", ""]
        for at, entry in enumerate(entries):
            number += 1
            kept_back = f" **(kept from the model: {plain(reasons[at])})**" if at in reasons else ""
            lines.append(f"{number}. {plain(' '.join(entry.split()))}{kept_back}")
        yield "\n".join(lines if entries else [*lines, "Nothing yet."])
    if provider:
        yield f"Beside them there is the memory provider {code(provider)}."
    yield _HINT


def _forgotten(store: MemoryStore, number: str) -> str:
    place = int(number) if number.isascii() and number.isdigit() else 0
    entries = list(_all(store))
    if not 1 <= place <= len(entries):
        raise RequestError(f"There is no entry number {number[:20]!r}; nothing was changed. /memory lists them.")
    target, entry = entries[place - 1]
    return _done(store, target, MemoryOperation("remove", old_text=entry), f"Forgotten: {plain(entry)}")


def _added(store: MemoryStore, target: MemoryTarget, text: str) -> str:
    return _done(store, target, MemoryOperation("add", text), f"Remembered: {plain(text)}")


def _done(store: MemoryStore, target: MemoryTarget, operation: MemoryOperation, told: str) -> str:
    try:
        done = store.commit(store.plan(target, (operation,)))
    except MemoryRefused as problem:
        raise RequestError(str(problem)) from problem
    return " ".join([f"{told} ({NAMES[target]}: {done.usage}).", *map(plain, done.notes)])


def _all(store: MemoryStore) -> Iterator[tuple[MemoryTarget, str]]:
    for target in store.targets():
        try:
            yield from ((target, entry) for entry in store.read(target))
        except MemoryUnusable:  # it is shown where the entries are
            continue


def _title(target: MemoryTarget) -> str:
    return "Notes" if target == "memory" else "About you"
