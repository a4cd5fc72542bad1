"""A session's workspace in a place that shares no files with this machine: what went there, and what differs."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from pathlib import Path

from agent_core.remote import remote_dir
from agent_core.remote.remote_dir import FilesMoved, Looked, Place, PlaceGone
from agent_core.remote.select import (
    MEGABYTE,
    NOTHING,
    Chosen,
    Fact,
    Packed,
    Pair,
    Tell,
    Tree,
    choose,
    fact_here,
    held_back,
    ignored,
    is_gone,
    is_same,
    left_there,
    link_to,
    much,
    pack,
    read_here,
)
from tools.environments.git import branch_of, git_root
from tools.environments.remote.scripts import new_token
from tools.errors import CommandError, ToolError
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, lock
from tools.ports import Interrupt

# What is known of it, in a directory of this machine: it outlives the process.

_FILE, _NEW, _LOCK = "copy.json", "copy.json.new", "lock"
_KEPT_SECONDS, _STATE_SECONDS = 7 * 86_400.0, 90 * 86_400.0


@dataclass(slots=True)
class State:
    """A copy as it was when the two sides were last brought together.

    Attributes:
        id: the copy's, as its marker there has it; '' where there is none yet.
        where: what people call the machine that it was made on.
        files: files and links, by name.
        is_whole: it was made whole.
        top, root: the directories here and there.
        session: whose it is.
        both: changes come back.
        asked: when changes were last looked for, in seconds since the epoch.
    """

    id: str = ""
    where: str = ""
    files: dict[str, Pair] = field(default_factory=dict)
    asked: float = 0.0
    is_whole: bool = False
    top: str = ""
    root: str = ""
    session: str = ""
    both: bool = False


_PLAIN = tuple(each.name for each in fields(State) if each.name != "files")


class Store:
    """Where a session's state is, with what is kept. Blocking."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lock: int | None = None

    def load(self) -> State:
        """The state; an empty one where there is none, or none that can be read."""
        try:
            told = json.loads((self.directory / _FILE).read_text(encoding="utf-8", errors="surrogatepass"))
            files = {name: Pair(_read(each[0]), _read(each[1])) for name, each in told["files"].items()}
            return State(**{name: told[name] for name in _PLAIN}, files=files)
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return State()

    def save(self, state: State) -> None:
        """Store the state, whole or not at all.

        Raises:
            OSError: there is no room.
        """
        self._make()
        files = {name: [_told(pair.here), _told(pair.there)] for name, pair in state.files.items()}
        told = {"files": files, **{name: getattr(state, name) for name in _PLAIN}}
        new = self.directory / _NEW
        with new.open("w", encoding="utf-8", errors="surrogatepass") as stream:
            json.dump(told, stream)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(self.directory / _FILE)

    @contextlib.contextmanager
    def packed(
        self, top: Path, wanted: Mapping[str, Fact | None], notes: Mapping[str, bytes], turn: Interrupt
    ) -> Iterator[Packed]:
        """A stream as `pack` makes it; nothing is left of it, whoever is killed."""
        self._make()
        with tempfile.TemporaryFile(dir=self.directory) as stream:
            yield pack(top, wanted, stream, notes, turn)

    def hold(self) -> bool:
        """Have it for this process alone, until it ends; False while another one has it."""
        if self._lock is not None:
            return True
        self._make()
        descriptor = os.open(self.directory / _LOCK, os.O_RDWR | os.O_CREAT | O_CLOEXEC, 0o600)
        try:
            lock(descriptor)
            # Who had it may have removed the file meanwhile, and others lock the next one.
            is_ours = os.path.samestat(os.fstat(descriptor), (self.directory / _LOCK).stat())
        except OSError:
            is_ours = False
        if not is_ours:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True

    def let_go(self) -> None:
        """Let others have it."""
        held, self._lock = self._lock, None
        if held is not None:
            os.close(held)

    def forget(self) -> None:
        """The copy is gone: what was kept of it stays."""
        for name in (_FILE, _NEW, _LOCK):
            with contextlib.suppress(OSError):
                (self.directory / name).unlink()
        with contextlib.suppress(OSError):
            self.directory.rmdir()

    def new_rest(self) -> Path:
        """Where that goes which is not made here; not made yet."""
        self._make()
        stamp = time.strftime("%Y%m%d-%H%M%S")
        rests = (self.directory / f"kept-{stamp}{f'-{number}' if number else ''}" for number in range(10_000))
        return next(rest for rest in rests if not rest.exists())

    def _make(self) -> None:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def states_in(directory: Path) -> list[Store]:
    """All that there are."""
    return [Store(each) for each in _directories(directory) if (each / _FILE).exists()]


def tidy_states(directory: Path) -> None:
    """Remove what was kept more than a week ago, and the states that nobody has touched for long. Never raises."""
    for session in _directories(directory):
        for rest in _directories(session):
            if _is_old(rest, _KEPT_SECONDS):
                shutil.rmtree(rest, ignore_errors=True)
        if _is_old(session, _STATE_SECONDS) and _is_old(session / _FILE, _STATE_SECONDS):
            Store(session).forget()


def _directories(directory: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from [entry for entry in directory.iterdir() if entry.is_dir() and not entry.is_symlink()]


def _is_old(path: Path, seconds: float) -> bool:
    try:
        return time.time() - path.stat().st_mtime > seconds
    except OSError:
        return True


def _told(fact: Fact | None) -> list[object] | None:
    return None if fact is None else [fact.digest, fact.executable]


def _read(told: object) -> Fact | None:
    return Fact(str(told[0]), bool(told[1])) if isinstance(told, list) else None


# What has changed here and is brought to a copy, and what cannot be, as it was changed there as well.


@dataclass(slots=True)
class Going:
    """What has changed here.

    Attributes:
        files: what is brought there; None for what is removed.
        same: what is so there already.
        both: what was changed there as well.
    """

    files: dict[str, Fact | None] = field(default_factory=dict)
    same: dict[str, Fact | None] = field(default_factory=dict)
    both: dict[str, Fact | None] = field(default_factory=dict)


def changed_here(top: Path, state: State, now: Tree) -> Mapping[str, Fact | None]:
    """What is another in the workspace `top`, whose files are `now`, than it was; None for what is gone."""
    gone = {
        name: None
        for name, pair in state.files.items()
        if pair.here is not None and name not in now and is_gone(top / name, pair.here)
    }
    return {**gone, **{name: fact for name, fact in now.items() if state.files.get(name, NOTHING).here != fact}}


def going_there(changed: Mapping[str, Fact | None], state: State, found: Looked) -> Going:
    """What of it is brought to a place that is as `found`: never over what was changed there."""
    going = Going()
    for name, fact in changed.items():
        pair, there = state.files.get(name, NOTHING), found.files.get(name)
        is_known = name not in found.unknown and name not in found.odd
        if there == fact and is_known:
            going.same[name] = fact
        elif there == pair.there and is_known and not pair.apart:
            going.files[name] = fact
        else:
            going.both[name] = fact
    # What has a directory in its place there, or a file in the place of one of its directories, does not go.
    left = {name for name in (*found.files, *found.unknown, *found.odd) if name not in going.files}
    in_use = {above for name in left for above in _above(name)}
    for name, fact in list(going.files.items()):
        if fact is not None and (name in in_use or any(above in left for above in _above(name))):
            going.both[name] = going.files.pop(name)
    return going


def _above(name: str) -> Iterable[str]:
    parts = name.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))


_LARGEST = 16 * MEGABYTE
_MOST_FETCHED = 128 * MEGABYTE
_ATTEMPTS = 3
_MOST_GONE = 20
_HELD_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is copied there at most: a number of files, and their bytes."""

    files: int = 20_000
    bytes: int = 200 * MEGABYTE


@dataclass(frozen=True, slots=True)
class Change:
    """A file that is another there than when the sides were last brought together.

    Attributes:
        there: what it is; None where it was removed.
        content: of `there`, where it is not the same here.
        here: what it is here.
        obstacle: why it cannot be brought back, in words that follow its name; '' where it can.
    """

    name: str
    pair: Pair
    there: Fact | None
    content: bytes | None
    here: Fact | None
    obstacle: str = ""

    @property
    def is_conflict(self) -> bool:
        """Whether it was changed here as well, to something else."""
        return self.here != self.pair.here and not is_same(self.here, self.there)


class FarCopy:
    """Safe to use from several threads; every call blocks.

    Args:
        top: the directory here, resolved.
        place: the copy's directory there, whatever the id of the copy is.
        may_read: whether a file here may be read without a question: what may not is not sent.
        like: what is told of whose a new copy is.

    Attributes:
        where: what people call the machine.
    """

    def __init__(
        self,
        top: Path,
        place: Place,
        store: Store,
        may_read: Callable[[Path], bool],
        limits: Limits | None = None,
        *,
        like: State | None = None,
    ) -> None:
        self.top = top
        self.where = place.where
        self.store = store
        self._somewhere = place
        self._may_read = may_read
        self._limits = limits or Limits()
        self._like = like or State()
        self._lock = threading.RLock()
        self._loaded: State | None = None
        self._told: set[object] = set()

    @property
    def is_made(self) -> bool:
        """Whether there is a copy, as far as is known here."""
        return self._state.is_whole

    def renew(self, tell: Tell, turn: Interrupt) -> Sequence[str]:
        """Make the copy, or bring to it what has changed here since.

        Args:
            tell: is told how far it is.

        Returns:
            what the person and the model should know.

        Raises:
            ToolError: it could not be done, and nothing was changed. ToolInterrupted: it was ended.
        """
        with self._lock:
            turn.wait_for(self.store.hold, _HELD_SECONDS)
            if not self.store.hold():
                raise CommandError(f"Another process works with the copy on {self.where}. End it first.")
            state = self._state
            if not state.is_whole:
                return self._first(tell, turn)
            try:
                self._place.check(turn)
                return self._later(tell, turn)
            except PlaceGone:
                return [self.lost(), *self._first(tell, turn)]

    def changes(self, turn: Interrupt, most: int) -> tuple[Sequence[Change], Sequence[str]]:
        """What differs there, and what the person should know of the rest.

        Args:
            most: so many at most.

        Raises:
            PlaceGone: the copy is. ToolError: it cannot be told, or is too much. ToolInterrupted: it was ended.
        """
        with self._lock:
            state = self._state
            found = self._look(turn)
            state.asked = time.time()
            differing = {
                name: fact for name, fact in found.files.items() if state.files.get(name, NOTHING).there != fact
            }
            links = {name for name, fact in differing.items() if fact.is_link}
            gone = [
                name
                for name, pair in state.files.items()
                if pair.there is not None and not pair.there.is_link and not found.has(name)
            ]
            strange = found.odd | found.unknown | links
            new = strange.union(differing.keys() - state.files.keys())
            unwanted = self._ignored(sorted(new), differing, turn)
            wanted = {name: fact for name, fact in differing.items() if name not in unwanted | links}
            if len(wanted) + len(gone) > most:
                raise ToolError(
                    f"{len(wanted) + len(gone):,} files were changed on {self.where}, and {most:,} at most are "
                    "brought back at once. They stay there; remove what need not come back, or name it in .gitignore."
                )
            odd = [name for name in sorted(strange - unwanted) if self._is_new(name)]
            self.store.save(state)
            fetched = self._fetched(wanted, gone, turn)
            changes = [_unless_many(change, len(gone), len(state.files)) for change in fetched]
            return changes, left_there(odd, found.odd | links, self.where)

    def settle(self, name: str, there: Fact | None, *, apart: bool = False) -> None:
        """What differed is dealt with: it was brought back, or the two sides are to stay apart."""
        with self._lock:
            old = self._state.files.get(name, NOTHING)
            pair = Pair(old.here if apart else fact_here(self.top / name), there)
            if pair.here is None and pair.there is None:
                self._state.files.pop(name, None)
            else:
                self._state.files[name] = pair

    def keep_apart(self, changes: Sequence[Change]) -> None:
        """These are kept, and the two sides are to stay apart: only now do they not come again, whoever is killed.

        Raises:
            OSError: that could not be stored; they come again.
        """
        with self._lock:
            for change in changes:
                self.settle(change.name, change.there, apart=True)
            try:
                self.store.save(self._state)
            except OSError:
                self._state.files.update({change.name: change.pair for change in changes})
                raise

    def save(self) -> None:
        """Store how the two sides are."""
        with self._lock:
            self.store.save(self._state)

    def lost(self) -> str:
        """The copy is gone: forget it, and say what that means."""
        with self._lock:
            state = self._state
            since = time.strftime("%H:%M", time.localtime(state.asked)) if state.asked else "it was made"
            self.forget()
            return (
                f"The copy of the workspace on {state.where or self.where} is gone. What was changed there since "
                f"{since} and not brought back is lost; your files here are as they were."
            )

    def let_go(self) -> None:
        """Whoever opens the session next may have the copy."""
        with self._lock:
            self.store.let_go()

    def forget(self) -> None:
        """The place is no more; what was kept of it stays."""
        with self._lock:
            self.store.forget()
            self.store.let_go()
            self._loaded = State()

    @property
    def _state(self) -> State:
        if self._loaded is None:
            self._loaded = self.store.load()
        return self._loaded

    @property
    def _place(self) -> Place:
        return replace(self._somewhere, id=self._state.id)

    def _look(self, turn: Interrupt) -> Looked:
        held = {part for name in self._state.files for part in name.split("/")[:-1]}
        return self._place.look([name for name in remote_dir.PASSED_OVER if name not in held], turn)

    def _first(self, tell: Tell, turn: Interrupt) -> Sequence[str]:
        chosen = self._chosen(turn)
        tell(f"Copying the workspace to {self.where}: {much(len(chosen.files), chosen.size)}.\n")
        # An attempt that broke off is begun anew where it was.
        state = replace(self._like, id=self._state.id or new_token(), where=self.where, top=str(self.top), files={})
        self._loaded = state
        self.store.save(state)
        wanted = {**dict.fromkeys(chosen.files), **{name: link_to(target) for name, target in chosen.links.items()}}
        with self.store.packed(self.top, wanted, {}, turn) as packed:
            self._place.put_first(packed, self._branch(), tell, turn)
        state.files = {name: Pair(fact, fact) for name, fact in packed.tree.items()}
        state.asked, state.is_whole = time.time(), True
        self.store.save(state)
        return [note] if (note := held_back(chosen)) else []

    def _branch(self) -> str | None:
        return None if git_root(self.top) is None else branch_of(self.top)

    def _later(self, tell: Tell, turn: Interrupt) -> Sequence[str]:
        """Bring there what has changed here, where the other side has not changed it."""
        for _ in range(_ATTEMPTS):
            if not (changed := changed_here(self.top, self._state, self._now(turn))):
                return []
            with contextlib.suppress(FilesMoved):
                return self._send(changed, tell, turn)
        return [f"The files on {self.where} change all the time: what has changed here was not copied there."]

    def _send(self, changed: Mapping[str, Fact | None], tell: Tell, turn: Interrupt) -> Sequence[str]:
        state = self._state
        going = going_there(changed, state, self._look(turn))
        state.files.update({name: Pair(fact, fact) for name, fact in going.same.items()})
        if going.files:
            tell(f"{len(going.files)} files that have changed here are copied to {self.where}.\n")
            self._put(state, going.files, tell, turn)
        state.files = {name: pair for name, pair in state.files.items() if pair != NOTHING}
        self.store.save(state)
        new = sorted(name for name, fact in going.both.items() if self._is_new((name, fact)))
        return [f"Changed on both sides, and so not copied to {self.where}: {', '.join(new[:20])}."] if new else []

    def _put(self, state: State, going: Mapping[str, Fact | None], tell: Tell, turn: Interrupt) -> None:
        known = {name: there for name in going if (there := state.files.get(name, NOTHING).there) is not None}
        lines = [f"{there.digest}  ./{name}\n" for name, there in known.items() if not there.is_link]
        notes = {
            remote_dir.CHECKED: "".join(lines).encode("utf-8", "surrogateescape"),
            # As `xargs -0` reads them, none of which it can take for an option.
            remote_dir.REPLACED: "".join(f"./{name}\0" for name in going).encode("utf-8", "surrogateescape"),
        }
        wanted = {name: fact for name, fact in going.items() if fact is not None}
        with self.store.packed(self.top, wanted, notes, turn) as packed:
            self._place.put_later(packed, tell, turn)
        # What has gone meanwhile is gone there as well.
        state.files.update({name: Pair(packed.tree.get(name), packed.tree.get(name)) for name in going})

    def _now(self, turn: Interrupt) -> Tree:
        chosen = self._chosen(turn)
        files = {name: fact for name in chosen.files if (fact := fact_here(self.top / name)) is not None}
        return files | {name: link_to(target) for name, target in chosen.links.items()}

    def _is_new(self, told: object) -> bool:
        """Whether the person was not told of it yet."""
        is_new = told not in self._told
        self._told.add(told)
        return is_new

    def _chosen(self, turn: Interrupt) -> Chosen:
        chosen, limits = choose(self.top, self._may_read, turn), self._limits
        if len(chosen.files) <= limits.files and chosen.size <= limits.bytes:
            return chosen
        raise CommandError(
            f"The workspace was not copied to {self.where}: it has {much(len(chosen.files), chosen.size)}, and "
            f"{much(limits.files, limits.bytes)} at most are copied. Name what is not needed in .gitignore, or "
            "raise terminal.sync_files and terminal.sync_megabytes; with terminal.sync: off nothing is copied."
        )

    def _ignored(self, names: Sequence[str], differing: Mapping[str, Fact], turn: Interrupt) -> frozenset[str]:
        """Those that the ignore files name, as they are here and there."""
        if not names:
            return frozenset()
        files = {name for name in (*self._state.files, *differing) if name.rpartition("/")[2] == ".gitignore"}
        theirs = {name: differing[name].digest for name in files if name in differing}
        rules = {name: found[0] for name in files if (found := read_here(self.top / name)) is not None}
        if theirs:
            rules |= self._place.fetch(theirs, MEGABYTE, MEGABYTE, turn)
        return ignored(self.top, names, rules)

    def _fetched(self, wanted: Tree, gone: Sequence[str], turn: Interrupt) -> list[Change]:
        files, found = self._state.files, list[Change]()
        here = {name: fact_here(self.top / name) for name in (*wanted, *gone)}
        asked = {name: fact.digest for name, fact in wanted.items() if not is_same(here[name], fact)}
        contents = self._place.fetch(asked, _MOST_FETCHED, _LARGEST, turn) if asked else {}
        for name in sorted((*wanted, *gone)):
            content = contents.get(name)
            obstacle = "is too large, or changes all the time" if name in asked and content is None else ""
            found.append(Change(name, files.get(name, NOTHING), wanted.get(name), content, here[name], obstacle))
        return found


def _unless_many(change: Change, gone: int, of: int) -> Change:
    """The change, which does not come back if hardly a file is left there: that is rather an accident."""
    if change.there is not None or gone <= _MOST_GONE or 2 * gone <= of:
        return change
    return replace(change, obstacle=f"is one of {gone:,} files that were removed there; remove them here if you want")
