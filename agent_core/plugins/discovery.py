"""Where plugins are: in the home, in packages, and in projects, of which nothing runs before it is trusted."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.metadata import distribution, distributions
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from agent_core.plugins.plugin import (
    Candidate,
    Manifest,
    PluginStatus,
    State,
    Terms,
    load_plugin,
    manifest_in,
    read_manifest,
)
from agent_core.providers.shared_file import SharedFile, SharedFileError
from tools.home_tools import LoadFailed, export, trusted_text, why_not_trusted
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK, alone_in, same_directory
from tools.registry import ToolEntry, ToolRegistry

if TYPE_CHECKING:
    from importlib.metadata import Distribution


# In the home's folder `plugins`, and in installed packages that name one.

log = logging.getLogger(__name__)

PLUGINS = "plugins"
SHIPPED = "shipped"
GROUP = "hermes_acp.plugins"
"""The entry points of packages that bring a plugin: a module with `register`, or such a function."""

_MOST = 200

Found = tuple[Candidate, str]
"""A plugin, and why it cannot be loaded ('' where it can)."""


def plugin_folders(place: Path) -> list[Path]:
    """The folders in `place` that may be plugins, by name."""
    try:
        names = sorted(os.listdir(place))[:_MOST]  # noqa: PTH208 - names alone
    except OSError:
        return []
    return [place / name for name in names if not name.startswith((".", "_")) and (place / name).is_dir()]


def in_home(home: Path) -> Iterator[Found]:
    """The plugins in the home; what has no manifest is none."""
    for folder in plugin_folders(home / PLUGINS):
        if reason := why_not_trusted(folder, home):
            yield _home_candidate(Manifest(folder.name), folder, home), f"was not loaded: it {reason}"
        elif (file := manifest_in(folder)) is not None:
            try:
                yield _home_candidate(read_manifest(file), folder, home), ""
            except LoadFailed as problem:
                yield _home_candidate(Manifest(folder.name), folder, home), str(problem)


def in_packages() -> Iterator[Found]:
    """The plugins of installed packages. Looks through all of these, which takes some milliseconds."""
    packages = _packages_at(tuple((place, _changed(place)) for place in sys.path))
    points = [(point, package) for package in packages for point in package.entry_points.select(group=GROUP)]
    for point, package in sorted(points, key=lambda found: found[0].name):
        manifest = Manifest(point.name, package.version)
        yield Candidate(manifest, "package", package.name, entry=point.load), ""


def _changed(place: str) -> int:
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:
        return 0


@functools.lru_cache(maxsize=2)
def _packages_at(_: tuple[tuple[str, int], ...]) -> tuple[Distribution, ...]:
    """Those whose entry points name our group; `entry_points` would read and order everybody's.

    Args:
        _: where packages are now, and when what is there has changed; looked at once for each such state.
    """
    found: dict[str, Distribution] = {}
    for package in distributions():
        text = package.read_text("entry_points.txt") or ""
        # One of the same name that is found before it is the one that is imported.
        if GROUP in text and distribution(package.name).read_text("entry_points.txt") == text:
            found.setdefault(package.name, package)
    return tuple(found.values())


def shipped(name: str) -> Candidate | None:
    """The plugin that comes with this program and brings the backend `name`; None for none."""
    folder = Path(__file__).parent / SHIPPED / name
    if not name.isidentifier() or (file := manifest_in(folder)) is None:
        return None

    def entry() -> object:
        return import_module(f"{__package__}.{SHIPPED}.{name}")

    return Candidate(read_manifest(file), "shipped", "comes with this program", entry=entry)


def make_ready(candidate: Candidate, home: Path, variables: Mapping[str, str]) -> None:
    """Look at a home's plugin before it is imported: all its files, since one may import another.

    Raises:
        LoadFailed: it must not be loaded, or is of no use.
    """
    candidate.manifest.check(variables)
    if candidate.folder is None:
        export(" ".join(candidate.manifest.reads), variables)
        return
    for file in sorted(candidate.folder.rglob("*.py")):
        export(trusted_text(file, home), variables)


def _home_candidate(manifest: Manifest, folder: Path, home: Path) -> Candidate:
    return Candidate(manifest, "home", str(folder), folder, home)


# What the user has decided about plugins, in the home's `plugins.json`: what is off, which projects are trusted.

FILE_NAME = "plugins.json"
_SECONDS = 5.0


class PluginState:
    """The file; safe for threads and processes. Every method may raise `SharedFileError`."""

    def __init__(self, home: Path) -> None:
        self._file = SharedFile(home / FILE_NAME, durable=True)

    def disabled(self) -> frozenset[str]:
        """Names of plugins that are off."""
        return frozenset(name for name in _listed(self._file.read().get("disabled")) if isinstance(name, str))

    def disable(self, name: str, *, off: bool) -> None:
        """Switch a plugin off, or on again."""
        with self._file.locked(_SECONDS) as draft:
            names = {each for each in _listed(draft.content.get("disabled")) if isinstance(each, str)}
            names = names | {name} if off else names - {name}
            draft.content["disabled"] = sorted(names)
            draft.save()

    def trusted(self, project: Path) -> Mapping[str, str]:
        """What of a project is trusted: the hash of each thing's content, by the thing's name."""
        trusted = _mapping(self._file.read().get("trusted"))
        return _hashes(trusted.get(_place(trusted, project)))

    def projects(self) -> Mapping[str, Mapping[str, str]]:
        """Every project of which something is trusted, by its real path."""
        trusted = _mapping(self._file.read().get("trusted"))
        return {str(path): _hashes(things) for path, things in sorted(trusted.items())}

    def trust(self, project: Path, things: Mapping[str, str]) -> None:
        """Trust these things of a project, as long as their content has that hash."""
        with self._file.locked(_SECONDS) as draft:
            trusted = dict(_mapping(draft.content.get("trusted")))
            path = _place(trusted, project)
            trusted[path] = {**_hashes(trusted.get(path)), **things}
            draft.content["trusted"] = trusted
            draft.save()

    def untrust(self, project: Path) -> bool:
        """Trust nothing of a project any more; False where nothing was."""
        with self._file.locked(_SECONDS) as draft:
            trusted = dict(_mapping(draft.content.get("trusted")))
            was = trusted.pop(_place(trusted, project), None)
            draft.content["trusted"] = trusted
            draft.save()
        return bool(was)


def _place(trusted: Mapping[str, Any], project: Path) -> str:
    """The project's directory as the file has it; its real path where it is not in there.

    What was trusted is a real path. If a link stands there now, it leads to something else.
    """
    real = os.path.realpath(project)
    if real in trusted:
        return real
    kept = (path for path in trusted if path == os.path.realpath(path))
    return next((path for path in kept if same_directory(path, real)), real)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _hashes(value: object) -> dict[str, str]:
    return {str(name): digest for name, digest in _mapping(value).items() if isinstance(digest, str)}


# What a project brings that would run with the user's rights, as bytes: so that what runs is what was looked at.

_MOST_FILES = 500
_MOST_BYTES = 16 * 1024 * 1024
_PASSED_OVER = frozenset({"__pycache__", ".git", ".DS_Store"})

Stamp = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Bundle:
    """Files by their path within it, and the hash of all that."""

    files: Mapping[str, bytes]
    digest: str


def read_bundle(folder: Path) -> Bundle:
    """Everything in `folder`.

    Raises:
        LoadFailed: it holds links or too much, or cannot be read; the text completes «it …».
    """
    return _bundle({name: _content(path) for name, path in _walked(folder)})


def stamp_of(folder: Path) -> Stamp:
    """What changes when something in `folder` does; cheap, and proves nothing.

    Raises:
        LoadFailed: as `read_bundle` does.
    """
    found = []
    for name, path in _walked(folder):
        facts = path.lstat()
        found.append((name, facts.st_mtime_ns, facts.st_size, facts.st_ino))
    return tuple(found)


def keep(bundle: Bundle, place: Path) -> None:
    """Have the bundle's files in the folder `place`, which only the user may change.

    Raises:
        LoadFailed: they could not be written.
    """
    if kept(place) == bundle.digest:
        return
    # One fixed name, for who is alone here: what a killed process has left goes with the next.
    temporary = place.with_name(f".{place.name}.new")
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with alone_in(place.parent):
            shutil.rmtree(temporary, ignore_errors=True)
            _write(bundle, temporary)
            shutil.rmtree(place, ignore_errors=True)
            temporary.rename(place)
    except OSError as problem:
        raise LoadFailed(f"could not be kept in {place}: {problem.strerror}") from problem


def _write(bundle: Bundle, folder: Path) -> None:
    for name, data in bundle.files.items():
        file = folder.joinpath(*PurePosixPath(name).parts)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(0o700 if data.startswith(b"#!") else 0o600)


def kept(place: Path) -> str:
    """The hash of what is kept in `place`; '' where that is nothing."""
    try:
        return read_bundle(place).digest if place.is_dir() else ""
    except LoadFailed:
        return ""


def _bundle(files: Mapping[str, bytes]) -> Bundle:
    digest = hashlib.sha256()
    for name, data in sorted(files.items()):
        for part in (name.encode("utf-8", "surrogateescape"), data):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return Bundle(files, digest.hexdigest())


def _walked(folder: Path) -> Iterator[tuple[str, Path]]:
    """Each file with its path within `folder`, in order."""
    count = size = 0
    try:
        for directory, names, files in os.walk(folder, onerror=_raise):
            names[:] = sorted(set(names) - _PASSED_OVER)
            here = Path(directory)
            for path in [here / name for name in (*names, *sorted(files)) if name not in _PASSED_OVER]:
                facts = path.lstat()
                if stat.S_ISDIR(facts.st_mode):
                    continue
                if not stat.S_ISREG(facts.st_mode):
                    raise LoadFailed(f"holds {path.name}, which is a link or no file: it must hold plain files only")
                count, size = count + 1, size + facts.st_size
                if count > _MOST_FILES or size > _MOST_BYTES:
                    raise LoadFailed(f"has more than {_MOST_FILES} files or {_MOST_BYTES >> 20} MiB")
                yield path.relative_to(folder).as_posix(), path
    except OSError as problem:
        raise LoadFailed(f"cannot be read: {problem.strerror}") from problem


def _raise(problem: OSError) -> None:
    raise problem


def _content(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except OSError as problem:
        raise LoadFailed(f"has {path.name}, which cannot be read: {problem.strerror}") from problem
    if len(data) > _MOST_BYTES:
        raise LoadFailed(f"has more than {_MOST_BYTES >> 20} MiB")
    return data


# The plugins and hooks that a project brings: nothing of them runs before the user has trusted just that content.
# What was trusted is kept in the home, and that copy is what runs. So whoever changes the project's files afterwards,
# the agent itself for one, changes nothing until the user has trusted them again: neither adds something, nor takes a
# hook away that guards.

FOLDER = Path(".hermes")
HOOKS = "hooks"
"""The project's folder of command hooks: `hooks.yaml` in it, and the files that its commands are."""


@dataclass(frozen=True, slots=True)
class Brought:
    """One thing of a project that can be trusted: a plugin, or its hooks.

    Attributes:
        name: `plugins/NAME` or `hooks`.
    """

    name: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Thing:
    """How it stands with something that a project brings.

    Attributes:
        trusted: the hash that the user has trusted; '' for none.
        copy: where the trusted content is; None where none is.
        is_off: it is loaded, and was switched off since: nothing of it is used.
    """

    brought: Brought
    stamp: Stamp
    status: PluginStatus
    trusted: str = ""
    copy: Path | None = None
    tools: tuple[ToolEntry, ...] = ()
    is_off: bool = False


class ProjectPlugins:
    """What the project in one directory brings; safe to use from several threads."""

    def __init__(
        self,
        cwd: Path,
        home: Path,
        state: PluginState,
        terms: Callable[[ToolRegistry], Terms],
        is_off: Callable[[str], bool],
    ) -> None:
        """Make it; nothing is looked at before `look`.

        Args:
            terms: on which a plugin is loaded whose tools go into that registry.
            is_off: whether the plugin of that name is switched off.
        """
        self.root = cwd
        self._home = home
        self._state = state
        self._terms = terms
        self._is_off = is_off
        self._lock = threading.Lock()
        self._things: tuple[Thing, ...] = ()
        self._shown: dict[str, str] | None = None

    def look(self) -> None:
        """Look at the project's files and at what is switched off, and load what is trusted and new. Blocks; raises
        nothing.
        """
        if not self._things and not (self.root / FOLDER).is_dir():
            return
        with self._lock:
            before, now = {thing.brought.name: thing for thing in self._things}, self.brought()
            names = {brought.name for brought in now}
            gone = [_gone(thing) for name, thing in before.items() if name not in names and thing.copy is not None]
            things = (*(self._looked_at(brought, before.get(brought.name)) for brought in now), *gone)
            self._things = tuple(replace(thing, is_off=self._is_off(thing.status.name)) for thing in things)

    def brought(self) -> Sequence[Brought]:
        """What can be trusted of the project now."""
        folder = self.root / FOLDER
        if os.path.realpath(folder) != os.path.join(os.path.realpath(self.root), FOLDER):  # noqa: PTH118
            return ()  # a link leads elsewhere
        if os.path.realpath(folder) == os.path.realpath(self._home):
            return ()  # the home is no project's
        found = [
            Brought(f"{PLUGINS}/{place.name}", place)
            for place in plugin_folders(folder / PLUGINS)
            if not place.is_symlink() and manifest_in(place) is not None
        ]
        hooks = folder / HOOKS
        has_hooks = (hooks / "hooks.yaml").is_file() and not hooks.is_symlink()
        return (*found, Brought(HOOKS, hooks)) if has_hooks else found

    def show(self) -> dict[str, str]:
        """The hashes of what the project brings now, by name; '' of what cannot be read. Only this content can be
        trusted then, until it is shown again.
        """
        shown = {brought.name: _digest(brought.folder) for brought in self.brought()}
        self._shown = shown
        return dict(shown)

    def trust(self, names: Sequence[str] | None = None) -> dict[str, str]:
        """Trust what the project brings, as it is now.

        Args:
            names: of what; None: of everything.

        Returns:
            the hashes of what is trusted now, by name.

        Raises:
            LoadFailed: something cannot be read, or is not what was shown. SharedFileError: it could not be stored.
        """
        things: dict[str, str] = {}
        for brought in self.brought():
            if names is not None and brought.name not in names:
                continue
            bundle = read_bundle(brought.folder)
            if self._shown is not None and self._shown.get(brought.name) != bundle.digest:
                raise LoadFailed(
                    f"has changed since it was shown ({brought.name}): type /trust, and look at it again"
                )
            keep(bundle, self._copy(brought, bundle.digest))
            things[brought.name] = bundle.digest
        if things:
            self._state.trust(self.root, things)
            self.look()
        return things

    @property
    def statuses(self) -> tuple[PluginStatus, ...]:
        """How it stands with what the project brings, as it was last looked at."""
        return tuple(_off(thing.status) if thing.is_off else thing.status for thing in self._things)

    @property
    def loaded(self) -> tuple[PluginStatus, ...]:
        """The plugins that are loaded and on."""
        return tuple(status for status in self.statuses if status.state == "loaded")

    @property
    def brings_something(self) -> bool:
        """Whether there was anything when it was last looked at."""
        return bool(self._things)

    def tools(self) -> Sequence[ToolEntry]:
        """The tools of those that are loaded and on."""
        return [entry for thing in self._things if not thing.is_off for entry in thing.tools] if self._things else ()

    def hooks_copy(self) -> Path | None:
        """Where the project's trusted command hooks are; None where it has none."""
        return next(
            (thing.copy for thing in self._things if thing.brought.name == HOOKS and not self._is_off(HOOKS)), None
        )

    def problems(self) -> tuple[str, ...]:
        """What the person should know of it."""
        return tuple(status.problem for status in self.statuses if status.problem)

    def _looked_at(self, brought: Brought, known: Thing | None) -> Thing:
        try:
            trusted, stamp = self._state.trusted(self.root).get(brought.name, ""), _stamp(brought.folder)
            is_on_again = known is not None and known.status.state == "off" and not self._is_off(known.status.name)
            if known is not None and (known.stamp, known.trusted) == (stamp, trusted) and not is_on_again:
                return known
            return self._new(brought, stamp, trusted, known)
        except (LoadFailed, SharedFileError) as problem:
            log.warning("%s of %s %s", brought.name, self.root, problem)
            return known or Thing(brought, (), _status(brought, state="failed", detail=str(problem)))

    def _new(self, brought: Brought, stamp: Stamp, trusted: str, known: Thing | None) -> Thing:
        copy = self._copy(brought, trusted) if trusted else None
        digest, why = "", ""
        try:
            bundle = read_bundle(brought.folder)
            digest = bundle.digest
            if copy is not None and digest == trusted:
                keep(bundle, copy)
        except LoadFailed as problem:
            why = str(problem)
        if copy is None or kept(copy) != trusted:
            detail = why or _UNTRUSTED
            return Thing(
                brought, stamp, _status(brought, state="failed" if why else "untrusted", detail=detail), trusted
            )
        changed = "" if digest == trusted else _CHANGED
        if known is not None and known.trusted == trusted and known.copy is not None:
            return replace(known, stamp=stamp, status=replace(known.status, detail=changed))
        return self._loaded(brought, stamp, trusted, copy, changed)

    def _loaded(self, brought: Brought, stamp: Stamp, trusted: str, copy: Path, changed: str) -> Thing:
        candidate = _project_candidate(brought, copy)
        manifest = candidate.manifest
        if self._is_off(manifest.name):
            return Thing(brought, stamp, _off(candidate.status(state="off")), trusted)
        if not manifest.is_ours:
            detail = "is of a kind that other programs use"
            return Thing(brought, stamp, candidate.status(state="not for this program", detail=detail), trusted)
        if brought.name == HOOKS:
            return Thing(brought, stamp, candidate.status(state="loaded", detail=changed), trusted, copy)
        manifest.check(os.environ)
        registry = ToolRegistry()
        status = load_plugin(candidate, self._terms(registry))
        if status.state != "loaded":
            return Thing(brought, stamp, status, trusted)
        status = replace(status, detail=", and ".join(text for text in (status.detail, changed) if text))
        return Thing(brought, stamp, status, trusted, copy, tuple(registry.entries()))

    def _copy(self, brought: Brought, digest: str) -> Path:
        return self._home / "cache" / "trusted" / digest[:32] / brought.folder.name


_UNTRUSTED = "is not used: look at it, and type /trust if it may run with your rights"
_CHANGED = "has changed since you trusted it: the version that you trusted is used. Look at it, and type /trust"


def _digest(folder: Path) -> str:
    try:
        return read_bundle(folder).digest
    except LoadFailed:
        return ""


def _gone(thing: Thing) -> Thing:
    detail = "is not in the project any more; it is used until this program ends"
    return replace(thing, status=replace(thing.status, detail=detail))


def _stamp(folder: Path) -> Stamp:
    try:
        return stamp_of(folder)
    except LoadFailed:
        return ()


def _project_candidate(brought: Brought, folder: Path) -> Candidate:
    """The plugin whose files are in `folder`; the project's hooks go as one, by their own name."""
    file = None if brought.name == HOOKS else manifest_in(folder)
    manifest = Manifest(brought.folder.name) if file is None else read_manifest(file)
    return Candidate(manifest, "project", str(brought.folder), folder, folder.parent)


def _off(status: PluginStatus) -> PluginStatus:
    if status.state not in {"loaded", "off"}:
        return status
    return replace(status, state="off", detail="is switched off")


def _status(brought: Brought, *, state: State, detail: str) -> PluginStatus:
    """How it stands with what is not used: nothing in it is believed, not even its name."""
    return PluginStatus(brought.folder.name, "project", str(brought.folder), state, detail=detail)
