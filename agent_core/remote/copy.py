"""A session's workspace in a place that shares no files with this machine: what went there, and what differs."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
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
    PART,
    Chosen,
    Fact,
    Pair,
    Tell,
    choose,
    digest_of,
    fact_here,
    held_back,
    ignored,
    is_file_here,
    left_there,
    much,
    pack,
    progress,
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
_PART_SECONDS, _KEPT_SECONDS, _STATE_SECONDS = 86_400.0, 7 * 86_400.0, 90 * 86_400.0


@dataclass(slots=True)
class State:
    """A copy as it was when the two sides were last brought together.

    Attributes:
        id: the copy's, as its marker there has it; '' where there is none yet.
        where: what people call the machine that it was made on.
        files: by name.
        links: the links that were sent, and where they lead.
        streams: how many were sent.
        is_whole: it was made whole.
        top, root: the directories here and there.
        session: whose it is.
        both: changes come back.
        asked: when changes were last looked for, in seconds since the epoch.
    """

    id: str = ""
    where: str = ""
    files: dict[str, Pair] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    streams: int = 0
    asked: float = 0.0
    is_whole: bool = False
    top: str = ""
    root: str = ""
    session: str = ""
    both: bool = False


_PLAIN = tuple(each.name for each in fields(State) if each.name != "files")


class Store:
    """Where a session's state is, with the streams that were sent and what is kept. Blocking."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lock: int | None = None

    @property
    def streams(self) -> list[Path]:
        """What was sent, newest first."""
        return sorted(self.directory.glob("sent-*.tar.gz"), reverse=True)

    def load(self) -> State:
        """The state; an empty one where there is none, or none that can be read."""
        try:
            told = json.loads((self.directory / _FILE).read_text(encoding="utf-8", errors="surrogatepass"))
            files = {name: _pair(each) for name, each in told["files"].items()}
            return State(**{name: told[name] for name in _PLAIN}, files=files)
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return State()

    def save(self, state: State) -> None:
        """Store the state, whole or not at all.

        Raises:
            OSError: there is no room.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = {name: [_fact(pair.here), _fact(pair.there), pair.apart] for name, pair in state.files.items()}
        told = {"files": files, **{name: getattr(state, name) for name in _PLAIN}}
        new = self.directory / _NEW
        with new.open("w", encoding="utf-8", errors="surrogatepass") as stream:
            json.dump(told, stream)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(self.directory / _FILE)

    def next_stream(self, state: State) -> Path:
        """Where the next one goes; what a killed process has left half goes away."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for part in self.directory.glob(f"*{PART}"):
            part.unlink(missing_ok=True)
        state.streams += 1
        file = self.directory / f"sent-{state.streams:06}.tar.gz"
        file.unlink(missing_ok=True)
        return file

    def hold(self) -> bool:
        """Have it for this process alone, until it ends; False while another one has it."""
        if self._lock is not None:
            return True
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
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
        ours = (self.directory / name for name in (_FILE, _NEW, _LOCK))
        for path in (*self.streams, *self.directory.glob(f"*{PART}"), *ours):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.directory.rmdir()

    def new_rest(self) -> Path:
        """Where patches go; not made yet."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        rests = (self.directory / f"kept-{stamp}{f'-{number}' if number else ''}" for number in range(10_000))
        return next(rest for rest in rests if not rest.exists())


def states_in(directory: Path) -> list[Store]:
    """All that there are."""
    return [Store(each) for each in _directories(directory) if (each / _FILE).exists()]


def tidy_states(directory: Path) -> None:
    """Remove what was kept more than a week ago, and the states that nobody has touched for long. Never raises."""
    for session in _directories(directory):
        for rest in (each for each in _directories(session) if each.name.startswith("kept-")):
            if _is_old(rest, _KEPT_SECONDS):
                shutil.rmtree(rest, ignore_errors=True)
        for part in session.glob(f"*{PART}"):
            if _is_old(part, _PART_SECONDS):
                part.unlink(missing_ok=True)
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


def _pair(told: list[object]) -> Pair:
    here, there, apart = told
    return Pair(_read(here), _read(there), bool(apart))


def _fact(fact: Fact | None) -> list[object] | None:
    return None if fact is None else [fact.digest, fact.executable]


def _read(told: object) -> Fact | None:
    if not isinstance(told, list):
        return None
    return Fact(str(told[0]), bool(told[1]))


# What has changed here and is brought to a copy, and what cannot be, as it was changed there as well.


@dataclass(frozen=True, slots=True)
class Changed:
    """What is another here than when the two sides were last brought together.

    Attributes:
        files: what each is now; None where it is no file any more.
        links: where each leads now; None where it is no link any more.
    """

    files: Mapping[str, Fact | None]
    links: Mapping[str, str | None]

    def __bool__(self) -> bool:
        return bool(self.files or self.links)


@dataclass(slots=True)
class Going:
    """What of that is brought there.

    Attributes:
        files, links: as in `Changed`.
        same: files that are so there already.
        both: what was changed there as well.
    """

    files: dict[str, Fact | None] = field(default_factory=dict)
    links: dict[str, str | None] = field(default_factory=dict)
    same: dict[str, Fact | None] = field(default_factory=dict)
    both: list[tuple[str, Fact | str | None]] = field(default_factory=list)

    @property
    def written(self) -> Iterator[str]:
        """What is to be a file or a link there."""
        yield from (name for name, fact in self.files.items() if fact is not None)
        yield from (name for name, target in self.links.items() if target is not None)

    @property
    def removed(self) -> Iterator[str]:
        """What is to be gone there; also what becomes of another kind, which not every tar replaces."""
        yield from (name for name, fact in self.files.items() if fact is None)
        yield from self.links


def changed_here(top: Path, state: State, chosen: Chosen, now: Mapping[str, Fact]) -> Changed:
    """Compare the workspace `top`, whose files are `now`, with what it was."""
    files: dict[str, Fact | None] = {
        name: None
        for name, pair in state.files.items()
        if pair.here is not None and name not in now and not is_file_here(top / name)
    }
    files |= {name: fact for name, fact in now.items() if state.files.get(name, NOTHING).here != fact}
    links: dict[str, str | None] = {
        name: None for name in state.links if name not in chosen.links and not (top / name).is_symlink()
    }
    links |= {name: target for name, target in chosen.links.items() if state.links.get(name) != target}
    return Changed(files, links)


def going_there(changed: Changed, state: State, found: Looked) -> Going:
    """What of it is brought to a place that is as `found`: never over what was changed there."""
    going, free = Going(), set[str]()
    for name, fact in changed.files.items():
        pair, there = state.files.get(name, NOTHING), found.files.get(name)
        if there == fact and not (fact is None and found.has(name)):
            going.same[name] = fact
        elif not pair.apart and there == pair.there and (_is_free(name, found) or _is_our_link(name, state, found)):
            going.files[name] = fact
            free.add(name)
        else:
            going.both.append((name, fact))
    for name, target in changed.links.items():
        if name in free or _is_our_link(name, state, found) or (target is not None and not found.has(name)):
            going.links[name] = target
            free.add(name)
        elif target is not None:
            going.both.append((name, target))
    return _without_blocked(going, free, found)


def _is_free(name: str, found: Looked) -> bool:
    return name not in found.unknown and name not in found.odd


def _is_our_link(name: str, state: State, found: Looked) -> bool:
    return name in state.links and name in found.odd


def _without_blocked(going: Going, free: set[str], found: Looked) -> Going:
    """Without what has a directory in its place there, or a file in the place of one of its directories."""
    left = {name for name in (*found.files, *found.unknown, *found.odd) if name not in free}
    in_use = {above for name in left for above in _above(name)}
    for name in list(going.written):
        if name in in_use or any(above in left for above in _above(name)):
            going.both.append((name, going.files.pop(name, None) or going.links.pop(name, None)))
    return going


def _above(name: str) -> Iterable[str]:
    parts = name.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))


_LARGEST = 16 * MEGABYTE
_MOST_FETCHED = 128 * MEGABYTE
_ATTEMPTS = 3
_MOST_GONE = 20
_HELD_SECONDS = 1.0
_UNCHECKABLE = frozenset("\n\r\\")


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
        content: of `there`.
        here: what it is here.
        obstacle: why it cannot be brought back, in words that follow its name; '' where it can.
    """

    name: str
    pair: Pair
    there: Fact | None
    content: bytes | None
    here: Fact | None
    obstacle: str = ""


class FarCopy:
    """Safe to use from several threads; every call blocks.

    Args:
        top: the directory here, resolved.
        place_of: the copy's directory there, for the id of a copy.
        may_read: whether a file here may be read without a question: what may not is not sent.
        like: what is told of whose a new copy is.

    Attributes:
        where: what people call the machine.
    """

    def __init__(
        self,
        top: Path,
        place_of: Callable[[str], Place],
        store: Store,
        may_read: Callable[[Path], bool],
        limits: Limits | None = None,
        *,
        like: State | None = None,
    ) -> None:
        self.top = top
        self.where = place_of("").where
        self._place_of = place_of
        self.store = store
        self._may_read = may_read
        self._limits = limits or Limits()
        self._like = like or State()
        self._lock = threading.RLock()
        self._loaded: State | None = None
        self._seen: dict[str, tuple[tuple[int, ...], Fact]] = {}
        self._told_odd: set[str] = set()
        self._told_both: set[tuple[str, Fact | str | None]] = set()

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
                self._place(state).check(turn)
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
            found = self._look(state, turn)
            state.asked = time.time()
            differing = {
                name: fact for name, fact in found.files.items() if state.files.get(name, NOTHING).there != fact
            }
            gone = [name for name, pair in state.files.items() if pair.there is not None and not found.has(name)]
            new = [name for name in differing if name not in state.files]
            strange = sorted(name for name in found.odd | found.unknown if name not in state.links)
            unwanted = self._ignored([*new, *strange], differing, turn)
            wanted = {name: fact for name, fact in differing.items() if name not in unwanted}
            if len(wanted) + len(gone) > most:
                raise ToolError(
                    f"{len(wanted) + len(gone):,} files were changed on {self.where}, and {most:,} at most are "
                    "brought back at once. They stay there; remove what need not come back, or name it in .gitignore."
                )
            notes = self._odd([name for name in strange if name not in unwanted], found)
            self.store.save(state)
            return [
                _unless_many(change, len(gone), len(state.files)) for change in self._fetched(wanted, gone, turn)
            ], notes

    def settle(self, name: str, there: Fact | None, *, apart: bool = False) -> None:
        """What differed is dealt with: it was brought back, or the two sides are to stay apart."""
        with self._lock:
            old = self._state.files.get(name, NOTHING)
            pair = Pair(old.here if apart else fact_here(self.top / name), there, apart)
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

    def save(self, brought: Mapping[str, bytes]) -> None:
        """Store how the two sides are; `brought` are contents that are the same on both now."""
        with self._lock:
            if brought:
                pack(self.top, (), self.store.next_stream(self._state), links={}, notes=brought)
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

    def _place(self, state: State) -> Place:
        return self._place_of(state.id)

    def _look(self, state: State, turn: Interrupt) -> Looked:
        held = {part for name in state.files for part in name.split("/")[:-1]}
        return self._place(state).look([name for name in remote_dir.PASSED_OVER if name not in held], turn)

    def _first(self, tell: Tell, turn: Interrupt) -> Sequence[str]:
        chosen = self._chosen(turn)
        tell(f"Copying the workspace to {self.where}: {much(len(chosen.files), chosen.sizes)}.\n")
        # An attempt that broke off is begun anew where it was.
        state = replace(
            self._like, id=self._state.id or new_token(), where=self.where, top=str(self.top), files={}, links={}
        )
        self._loaded = state
        self.store.save(state)
        packed = pack(
            self.top, chosen.files, self.store.next_stream(state), links=chosen.links, notes={}, interrupt=turn
        )
        self._place(state).put_first(packed, self._branch(), progress(tell, packed.file), turn)
        state.files = {name: Pair(fact, fact) for name, fact in packed.tree.items()}
        state.links, state.asked = dict(chosen.links), time.time()
        self._seen = {name: (chosen.files[name], fact) for name, fact in packed.tree.items()}
        state.is_whole = True
        self.store.save(state)
        return [note] if (note := held_back(chosen)) else []

    def _branch(self) -> str | None:
        return None if git_root(self.top) is None else branch_of(self.top)

    def _later(self, tell: Tell, turn: Interrupt) -> Sequence[str]:
        """Bring there what has changed here, where the other side has not changed it."""
        for _ in range(_ATTEMPTS):
            chosen = self._chosen(turn)
            if not (changed := changed_here(self.top, self._state, chosen, self._facts(chosen))):
                return []
            try:
                return self._send(changed, tell, turn)
            except FilesMoved:
                continue
        return [f"The files on {self.where} change all the time: what has changed here was not copied there."]

    def _send(self, changed: Changed, tell: Tell, turn: Interrupt) -> Sequence[str]:
        state = self._state
        going = going_there(changed, state, self._look(state, turn))
        state.files.update({name: Pair(fact, fact) for name, fact in going.same.items()})
        if going.files or going.links:
            number = len(going.files.keys() | going.links.keys())
            tell(f"{number} files that have changed here are copied to {self.where}.\n")
            self._put(state, going, tell, turn)
        state.files = {name: pair for name, pair in state.files.items() if pair != NOTHING}
        state.links = {name: target for name, target in state.links.items() if changed.links.get(name, target)}
        self.store.save(state)
        new = [each for each in going.both if each not in self._told_both]
        self._told_both.update(new)
        if not new:
            return []
        names = ", ".join(sorted({name for name, _ in new})[:20])
        return [f"Changed on both sides, and so not copied to {self.where}: {names}."]

    def _put(self, state: State, going: Going, tell: Tell, turn: Interrupt) -> None:
        known = {name: there for name in going.files if (there := state.files.get(name, NOTHING).there) is not None}
        lines = [f"{fact.digest}  ./{name}\n" for name, fact in known.items() if _UNCHECKABLE.isdisjoint(name)]
        notes = {
            remote_dir.CHECKED: "".join(lines).encode("utf-8", "surrogateescape"),
            remote_dir.GONE: _listed(going.removed),
            remote_dir.WRITTEN: _listed(going.written),
        }
        names = [name for name, fact in going.files.items() if fact is not None]
        links = {name: target for name, target in going.links.items() if target is not None}
        stream = self.store.next_stream(state)
        packed = pack(self.top, names, stream, links=links, notes=notes, interrupt=turn)
        self._place(state).put_later(packed, progress(tell, packed.file), turn)
        state.links.update(links)
        for name, fact in going.files.items():
            sent = packed.tree.get(name)
            if fact is None or sent is not None:
                state.files[name] = Pair(sent, sent)

    def _chosen(self, turn: Interrupt) -> Chosen:
        chosen, limits = choose(self.top, self._may_read, turn), self._limits
        if len(chosen.files) <= limits.files and chosen.sizes <= limits.bytes:
            return chosen
        raise CommandError(
            f"The workspace was not copied to {self.where}: it has {much(len(chosen.files), chosen.sizes)}, and "
            f"{much(limits.files, limits.bytes)} at most are copied. Name what is not needed in .gitignore, or "
            "raise terminal.sync_files and terminal.sync_megabytes; with terminal.sync: off nothing is copied."
        )

    def _facts(self, chosen: Chosen) -> Mapping[str, Fact]:
        """What the files are now; only those are read that look changed."""
        seen = self._seen
        self._seen = {}
        for name, look in chosen.files.items():
            known = seen.get(name)
            fact = known[1] if known is not None and known[0] == look else fact_here(self.top / name)
            if fact is not None:
                self._seen[name] = (look, fact)
        return {name: fact for name, (_, fact) in self._seen.items()}

    def _ignored(self, names: Sequence[str], differing: Mapping[str, Fact], turn: Interrupt) -> frozenset[str]:
        """Those that the ignore files name, as they are here and there."""
        if not names:
            return frozenset()
        files = {name for name in (*self._state.files, *differing) if name.rpartition("/")[2] == ".gitignore"}
        theirs = {name: differing[name].digest for name in files if name in differing}
        rules = {name: found[0] for name in files if (found := read_here(self.top / name)) is not None}
        if theirs:
            rules |= self._place(self._state).fetch(theirs, MEGABYTE, MEGABYTE, turn)
        return ignored(self.top, names, rules)

    def _odd(self, names: Sequence[str], found: Looked) -> Sequence[str]:
        new = [name for name in names if name not in self._told_odd]
        self._told_odd.update(new)
        return left_there(new, found.odd, self.where)

    def _fetched(self, wanted: Mapping[str, Fact], gone: Sequence[str], turn: Interrupt) -> list[Change]:
        files, found = self._state.files, list[Change]()
        here = {name: fact_here(self.top / name) for name in (*wanted, *gone)}
        same = [name for name in wanted if _digest(here[name]) == wanted[name].digest]
        asked = {name: fact.digest for name, fact in wanted.items() if name not in same}
        contents = self._place(self._state).fetch(asked, _MOST_FETCHED, _LARGEST, turn) if asked else {}
        for name in sorted((*wanted, *gone)):
            there, content = wanted.get(name), contents.get(name)
            if name in same:
                taken = read_here(self.top / name)
                content = None if taken is None or digest_of(taken[0]) != wanted[name].digest else taken[0]
            obstacle = "" if there is None or content is not None else "is too large, or changes all the time"
            found.append(Change(name, files.get(name, NOTHING), there, content, here[name], obstacle))
        return found


def _listed(names: Iterable[str]) -> bytes:
    """Names as `xargs -0` reads them, none of which it can take for an option."""
    return "".join(f"./{name}\0" for name in names).encode("utf-8", "surrogateescape")


def _unless_many(change: Change, gone: int, of: int) -> Change:
    """The change, which does not come back if hardly a file is left there: that is rather an accident."""
    if change.there is not None or gone <= _MOST_GONE or 2 * gone <= of:
        return change
    return replace(change, obstacle=f"is one of {gone:,} files that were removed there; remove them here if you want")


def _digest(fact: Fact | None) -> str:
    return "" if fact is None else fact.digest
