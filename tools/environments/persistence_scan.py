"""Files that others run later: found on disk around each confined command, and what a change in one is about.

`tools.approval.persistence_paths` lists them. A look must cost next to nothing. So a directory is listed once, and
again only when it has changed; all others are one call of the system's each. Nearest first, and within bounds: what
tools have made (`node_modules`, `build` excepted) is entered only where the table leads into it, and after
`MOST_DIRECTORIES` the rest is not looked into.

git's own directory is wherever git finds it: `.git` may be a file that says where, and the repository of a work tree
shares its settings and hooks with others. A directory with HEAD, objects and refs is one too, whatever its name.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path

from tools.approval.persistence_paths import Step, anywhere, exceptions
from tools.changes.facts import CLOCK_STEP_NS
from tools.changes.scan import is_generated
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NOCTTY, O_NONBLOCK

# The settings in a repository's `.git/config` that make git run programs, or send data elsewhere.
# An address of a remote is one of them: its host is reached without a question from the next session on.

# As git reads its files: only these are spaces, only a line feed ends a line, and a comment is never continued.
_SPACES = " \t\r"
_SECTION = re.compile(r'\[([A-Za-z0-9.-]*)(?:[ \t\r]+"((?:\\[^\n]|[^"\\\n])*)")?[ \t\r]*\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t\r]*")
_BYTE_ORDER_MARK = "\ufeff"
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n"}
_RUNS = re.compile(
    r"""
    core\.(?:hookspath|fsmonitor|sshcommand|editor|pager|askpass|gitproxy|attributesfile|worktree|alternaterefscommand)
  | (?:alias|pager|includeif|guitool|browser|man|mergetool|difftool|instaweb|trailer|hook|sendemail)\..*
  | include\.path
  | filter\..*\.(?:clean|smudge|process)
  | diff\.(?:external|.*\.(?:command|textconv))
  | merge\..*\.driver
  | credential\.(?:.*\.)?helper
  | url\..*\.(?:insteadof|pushinsteadof)
  | gpg\.(?:.*\.)?program | gpg\.ssh\.defaultkeycommand
  | sequence\.editor | interactive\.difffilter
  | uploadpack\.packobjectshook | remote\..*\.(?:url|pushurl|uploadpack|receivepack|vcs|proxy)
  | submodule\..*\.update | protocol\..* | http\.(?:.*\.)?(?:proxy|sslverify|cookiefile) | receive\.procreceiverefs
  | tar\..*\.command | imap\.tunnel | init\.templatedir
  | lfs\.(?:url|pushurl|standalonetransferagent|.*\.(?:path|args|clean|smudge|url|lfsurl))
    """,
    re.VERBOSE | re.DOTALL,
)
# They name a remote, or say by themselves where data goes.
_WHERE_TO = re.compile(r"branch\..*\.(?:remote|pushremote)|remote\.pushdefault", re.DOTALL)


def running_settings(config: bytes) -> frozenset[tuple[str, str]]:
    """Those settings in the text of a config file: (section.subsection.key, value), the names in lower case."""
    return frozenset((name, value) for name, value in all_settings(config) if _counts(name, value))


def all_settings(config: bytes) -> Iterator[tuple[str, str]]:
    """Each setting in the text of a config file, in order: (section.subsection.key, value), the names in lower case.

    A file that git refuses is read on behind the line that it refuses: other readers may be less strict.
    """
    text = config.decode("utf-8", "replace").removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n")
    at, section = 0, ""
    while at < len(text):
        if text[at] in "\n" + _SPACES:
            at += 1
        elif found := _SECTION.match(text, at):
            section = ".".join(part for part in (found[1], _unescaped(found[2])) if part).lower()
            at = found.end()
        elif found := _KEY.match(text, at):
            value, at = _value(text, found.end())
            yield ".".join(part for part in (section, found[1].lower()) if part), value
        else:
            at = _line_end(text, at)


def hooks_directories(config: bytes) -> tuple[str, ...]:
    """What `core.hooksPath` says: each value, where it says several."""
    return tuple(value for name, value in sorted(running_settings(config)) if name == "core.hookspath")


def included_files(config: bytes) -> tuple[str, ...]:
    """The files that git reads with this one, whatever the condition, as they are named."""
    found = (
        value for name, value in all_settings(config) if re.fullmatch(r"include(?:if\..*)?\.path", name, re.DOTALL)
    )
    return tuple(dict.fromkeys(found))


def _counts(name: str, value: str) -> bool:
    # The name of a remote is nothing to ask about, an address in its place is.
    return bool(_RUNS.fullmatch(name)) or (
        bool(_WHERE_TO.fullmatch(name)) and (":" in value or value.startswith("/"))
    )


def _unescaped(subsection: str | None) -> str:
    return re.sub(r"\\(.)", r"\1", subsection or "")


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value(text: str, at: int) -> tuple[str, int]:
    """What stands behind a key, and where the rest of the file begins. A key alone has the value ''."""
    if at >= len(text) or text[at] != "=":
        return "", _line_end(text, at)
    at += 1
    value: list[str] = []
    is_quoted = False
    kept = 0  # what comes behind the last character that counts is cut off: spaces, outside quotes
    while at < len(text) and text[at] != "\n":
        char = text[at]
        if char in "#;" and not is_quoted:
            at = _line_end(text, at)
            break
        at += 1
        if char == '"':
            is_quoted = not is_quoted
            kept = len(value)
        elif char == "\\":
            following = text[at : at + 1]
            at += 1
            if following != "\n":
                value.append(_ESCAPED.get(following, following))
                kept = len(value)
        elif char in _SPACES and not is_quoted:
            value += char if value else ""
        else:
            value.append(char)
            kept = len(value)
    return "".join(value[:kept]), at


# What a change is about: some of these files programs write all day.
# git keeps its settings in the file that also names programs; an editor notes its windows beside what it runs. Only
# what makes somebody run something else counts. What cannot be read to its end counts always.

_CONFIGS = frozenset({"config", "config.worktree"})
_TODO = re.compile(
    rb"\s*(?:#.*|(?:p|pick|r|reword|e|edit|s|squash|f|fixup|d|drop|l|label|t|reset|m|merge|u|update-ref|revert|noop"
    rb"|b|break)(?:\s.*)?)?"
)
_TODOS = frozenset({"sequencer/todo", "rebase-merge/git-rebase-todo"})
_OWN_COMMON = b"../.."
_ADDRESS = re.compile(r"remote\..*\.(?:url|pushurl)", re.DOTALL)
_PLAIN_ADDRESS = re.compile(r"(?:https?|ssh|git|file)://[^\s]+|[\w.-]+@[\w.-]+:[^\s:]+|\.{0,2}/[^\s:]*")
# What JetBrains' editors note in `.idea/workspace.xml` whenever a window is moved.
_WINDOWS = re.compile(
    rb'<component name="(?:AutoImportSettings|BookmarksManager|ChangeListManager|ClangdSettings|CMakeSettings'
    rb"|EditorHistoryManager|FileEditorManager|FileTemplateManagerImpl|FindInProjectRecents|Git\.Settings"
    rb"|GitSEFilterConfiguration|IdeDocumentHistory|KubernetesApiPersistence|MarkdownSettingsMigration"
    rb"|ProblemsViewState|ProjectColorInfo|ProjectErrors|ProjectFrameBounds|ProjectId|ProjectLevelVcsManager"
    rb"|ProjectView|ProjectViewState|RecentsManager|SharedIndexes|SpellCheckerSettings|TaskManager"
    rb"|TypeScriptGeneratedFilesManager|ToolWindowManager|UnknownFeatures|Vcs\.Log\.Tabs\.Properties"
    rb"|VcsManagerConfiguration|com\.intellij\.coverage\.CoverageDataManagerImpl)\"(?:\s[^>]*)?"
    rb"(?:/>|>(?:(?!<component\b).)*?</component>)\s*",
    re.DOTALL,
)


def runs_the_same(path: Path, before: bytes | None, after: bytes, *, is_git: bool, is_nested: bool) -> bool:
    """Whether a file makes others run nothing else than before.

    Args:
        before: its content; None where it was not there.
        is_git: it is a repository's own.
        is_nested: it belongs to a repository within the workspace, not to the workspace's own.
    """
    if path.name == "workspace.xml" and before is not None:
        return _WINDOWS.sub(b"", before) == _WINDOWS.sub(b"", after)
    if not is_git:
        return False
    if is_settings(path):
        return _new_settings(before or b"", after, is_nested=is_nested) == frozenset()
    if path.name == "commondir":
        return before is None and pointed(after) == _OWN_COMMON
    return "/".join(path.parts[-2:]) in _TODOS and all(_TODO.fullmatch(line) for line in after.split(b"\n"))


def is_settings(path: Path) -> bool:
    """Whether a file of a repository holds its settings."""
    return path.name in _CONFIGS


def pointed(text: bytes) -> bytes:
    """The path in a `.git` file behind its first word, or in `commondir`, as git reads it: blanks belong to it."""
    return text.split(b"\0", 1)[0].rstrip(b"\r\n")


def led_to(pointer: Path, text: bytes) -> Path:
    """Where such a path leads from the directory that it is in."""
    return pointer.parent / os.fsdecode(pointed(text))


def _new_settings(before: bytes, after: bytes, *, is_nested: bool) -> frozenset[tuple[str, str]]:
    found = running_settings(after) - running_settings(before)
    if not is_nested:
        return found
    # The host of the workspace's own remote is reached without a question; that of a clone within it is not.
    return frozenset(
        (name, value)
        for name, value in found
        if not (_ADDRESS.fullmatch(name) and _PLAIN_ADDRESS.fullmatch(value) and "::" not in value)
    )


# What is there.

# Looked for by name, so that they are not lost among very many others.
_HOOKS = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
    "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update",
    "proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc",
    "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "p4-changelist", "p4-prepare-changelist",
    "p4-post-changelist", "p4-pre-submit", "post-index-change",
)  # fmt: skip
_IN_GIT = ("config.worktree", "sequencer/todo", "rebase-merge/git-rebase-todo")
_SHARED_IN_GIT = (
    "config",
    "info/attributes",
    "info/grafts",
    "objects/info/alternates",
    "objects/info/http-alternates",
)
_FOLDERS_IN_GIT = ("remotes", "branches")
_REPOSITORY = frozenset({"HEAD", "objects", "refs"})
MOST_DIRECTORIES = 4_000
_MOST_BELOW = 2_000
MOST_NAMES = 20_000
_MODULES_DEPTH = 6
_INCLUDES_DEPTH = 10
MOST_BYTES = 4 * 1024 * 1024
"""Longer files are not read whole."""
GIT_FILE = b"gitdir: "
"""How a `.git` begins that is a file."""


def read_file(path: Path | str, most_bytes: int = MOST_BYTES) -> bytes | None:
    """A regular file's content, as much as is read; None where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:  # noqa: PTH123 - by descriptor
        return file.read(most_bytes)


@dataclass(frozen=True, slots=True)
class Way:
    """How a place was found.

    Attributes:
        via: the link, or the file that names it, which leads there; '' where it lies there by itself.
        is_git: it is a file of a repository's own directory.
        is_nested: of a repository within the workspace, not the workspace's own.
    """

    via: str = ""
    is_git: bool = False
    is_nested: bool = False


@dataclass(slots=True)
class Look:
    """What one look found.

    Attributes:
        places: each path that was looked for, whether or not something is there.
        listed: the names in each directory that was looked into; none for a missing one.
        repositories: git's directories, as they really are; `bare` are those of an ordinary name.
        lasting: what is there and may be kept from commands that do not install packages: directories of git's hooks,
            and places of the table itself.
        at: when it began, in nanoseconds since the epoch.
    """

    places: dict[str, Way] = field(default_factory=dict)
    listed: dict[str, frozenset[str]] = field(default_factory=dict)
    repositories: set[str] = field(default_factory=set)
    bare: set[str] = field(default_factory=set)
    lasting: list[str] = field(default_factory=list)
    at: int = field(default_factory=time.time_ns)

    def add(self, path: str, way: Way) -> None:
        """Note a place; git's own is known for it, and what lies there by itself counts before what is led to."""
        known = self.places.get(path)
        if known is None or (known.via and not way.via) or (way.is_git and not known.is_git and not way.via):
            self.places[path] = way

    def showed_absence(self, path: str) -> bool:
        """Whether nothing was at `path` for sure."""
        if path in self.places:
            return True  # looked for: whoever asks has not found it
        while True:
            folder, _, name = path.rpartition("/")
            if (names := self.listed.get(folder)) is not None:
                return name not in names
            if not folder:
                return False
            path = folder


@dataclass(frozen=True, slots=True)
class _Listing:
    """A directory's names. `hits` begin a pattern of the table, with what follows; `ordinary` are those directories
    that are looked into whatever the table says.
    """

    mark: tuple[int, int, int, int]
    is_settled: bool
    names: frozenset[str]
    folders: tuple[str, ...]
    links: frozenset[str]
    hits: tuple[tuple[str, tuple[Step, ...]], ...]
    ordinary: tuple[str, ...]
    led: dict[tuple[int, ...], tuple[tuple[str, tuple[Step, ...]], ...]] = field(default_factory=dict)

    def leading(self, steps: Sequence[Step]) -> tuple[tuple[str, tuple[Step, ...]], ...]:
        """The names that go on along `steps`, with what follows; found once for each."""
        key = tuple(map(id, steps))  # they are parts of the table, which stays
        if (known := self.led.get(key)) is None:
            after = (
                (name, tuple(each for step in steps for each in step.after(name.casefold()))) for name in self.names
            )
            known = self.led[key] = tuple((name, found) for name, found in after if found)
        return known


_NONE: frozenset[str] = frozenset()
_OWN = Way()


class PlaceFinder:
    """The places of some directories. Safe to use from several threads.

    Args:
        roots: resolved.
    """

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self._roots = tuple(str(root).rstrip("/") for root in roots)  # the root of all is ''
        self._listings: dict[str, _Listing] = {}
        self._known: dict[str, _Listing] = {}
        self._pointers: dict[str, tuple[tuple[int, ...], tuple[str, ...], tuple[str, ...]]] = {}
        self._look = Look()
        self._lock = threading.Lock()

    def look(self) -> Look:
        """All of them as they are now."""
        with self._lock:
            return self._look_at_all()

    def look_at_repositories(self) -> Look:
        """What git runs and reads of the directories themselves: cheaper than all of it."""
        with self._lock:
            self._look = Look()
            self._known = self._listings
            for root in self._roots:
                self._work_tree(root, Way(is_git=True))
            return self._look

    def _look_at_all(self) -> Look:
        self._known, self._listings = self._listings, {}
        self._look = Look()
        queue: deque[tuple[str, tuple[Step, ...], int]] = deque()
        for root in self._roots:
            try:
                queue.append((root, (), os.lstat(root or "/").st_dev))
            except OSError:
                self._look.listed[root] = _NONE
        entered: set[str] = set()
        while queue and len(entered) < MOST_DIRECTORIES:
            folder, steps, device = queue.popleft()
            if folder not in entered:
                entered.add(folder)
                self._ordinary(folder, steps, device, queue)
        self._known = {}
        return self._look

    # Directories.

    def _ordinary(
        self, folder: str, steps: tuple[Step, ...], device: int, queue: deque[tuple[str, tuple[Step, ...], int]]
    ) -> None:
        listing = self._listed(folder)
        if listing is None or (listing.mark[3] != device and folder not in self._roots):
            return
        is_root = folder in self._roots
        led = dict(listing.hits)
        for name, after in listing.leading(steps) if steps else ():
            led[name] = (*led.get(name, ()), *after)
        for name, after in led.items():
            self._place(f"{folder}/{name}", name, after, listing, _OWN)
        if is_root or ".git" in listing.names:
            self._work_tree(folder, Way(is_git=True, is_nested=not is_root))
        if listing.names >= _REPOSITORY:
            self._look.bare.add(folder)
            self._repository(folder, folder, Way(is_git=True, is_nested=True))
        for name in listing.ordinary:
            queue.append((f"{folder}/{name}", led.get(name, ()), device))

    def _place(self, path: str, name: str, steps: Sequence[Step], listing: _Listing, way: Way) -> None:
        """What the table says of one name in a directory."""
        self._look.add(path, way)
        if name not in listing.links and any(step.place and not step.place.comes_with for step in steps):
            self._look.lasting.append(path)
        if name in listing.links:
            real = os.path.realpath(path)
            self._look.add(real, Way(path))
            if os.path.isdir(real):  # noqa: PTH112 - several for each look
                self._inside(real, steps, Way(path))
        elif name in listing.folders:
            self._inside(path, steps, way)

    def _inside(self, folder: str, steps: Sequence[Step], way: Way) -> None:
        """What is below a directory that the table leads to: all of it, or what the patterns say."""
        if any(step.place is not None for step in steps):
            name = folder.rpartition("/")[2].casefold()
            self._whole(folder, tuple(exceptions().after(name)), way)
            return
        listing = self._listed(folder)
        if listing is None:
            return
        for name, after in listing.leading(steps):
            self._place(f"{folder}/{name}", name, after, listing, way)

    def _whole(self, top: str, excepted: tuple[Step, ...], way: Way) -> None:
        queue, left = deque([(top, excepted)]), _MOST_BELOW
        while queue and left > 0:
            folder, exceptions_here = queue.popleft()
            listing = self._listed(folder)
            if listing is None:
                continue
            folders = frozenset(listing.folders)
            for name in sorted(listing.names)[:left]:
                after = tuple(each for step in exceptions_here for each in step.after(name.casefold()))
                if any(step.place is not None for step in after):
                    continue
                left -= 1
                self._look.add(f"{folder}/{name}", way)
                if name in folders:
                    queue.append((f"{folder}/{name}", after))

    # Repositories.

    def _work_tree(self, folder: str, way: Way) -> None:
        """Settings and hooks of the repository at `folder`, of what it shares with others, and of its submodules."""
        dot_git = f"{folder}/.git"
        self._look.add(dot_git, way)  # counts where it is a file or a link that leads elsewhere
        if os.path.isdir(dot_git):  # noqa: PTH112 - for each look
            real = os.path.realpath(dot_git)
            self._repository(real, folder, way if real == dot_git else replace(way, via=dot_git))
            return
        text = read_file(dot_git)
        if text is not None and text.startswith(GIT_FILE):
            named = os.fsdecode(pointed(text.removeprefix(GIT_FILE)))
            self._repository(os.path.realpath(f"{folder}/{named}" if named[:1] != "/" else named), folder,
                             replace(way, via=dot_git))  # fmt: skip

    def _repository(self, git: str, tree: str, way: Way) -> None:
        shared = git
        self._look.repositories.add(git)
        self._look.add(f"{git}/commondir", way)
        text = read_file(f"{git}/commondir")
        if text is not None:
            named = os.fsdecode(pointed(text))
            shared = os.path.realpath(f"{git}/{named}" if named[:1] != "/" else named)
            self._look.repositories.add(shared)
        beyond = way if shared == git else replace(way, via=f"{git}/commondir")
        for name in _IN_GIT:
            self._look.add(f"{git}/{name}", way)
        for work_tree in self._names(f"{shared}/worktrees"):
            for name in ("commondir", *_IN_GIT):
                self._look.add(f"{shared}/worktrees/{work_tree}/{name}", beyond)
        self._shared(shared, tree, beyond)
        for module in self._modules(f"{shared}/modules"):
            self._shared(module, tree, beyond)

    def _shared(self, git: str, tree: str, way: Way) -> None:
        for name in (*_SHARED_IN_GIT, "config.worktree"):
            self._look.add(f"{git}/{name}", way)
        for folder in _FOLDERS_IN_GIT:
            for name in self._names(f"{git}/{folder}"):
                self._look.add(f"{git}/{folder}/{name}", way)
        self._hooks(f"{git}/hooks", way)
        for config in (f"{git}/config", f"{git}/config.worktree"):
            self._named_by(config, tree, way, _INCLUDES_DEPTH)

    def _named_by(self, config: str, tree: str, way: Way, depth: int) -> None:
        """The files that git reads with this one, and the hooks that they name."""
        if depth == 0:
            return
        hooks, included = self._pointed_by(config)
        beyond = replace(way, via=config)
        for named in hooks:
            self._hooks(os.path.realpath(_joined(tree, named)), beyond)
        for named in included:
            file = os.path.realpath(_joined(config.rpartition("/")[0], named))
            self._look.add(file, beyond)
            self._named_by(file, tree, way, depth - 1)

    def _pointed_by(self, config: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        try:
            facts = os.stat(config)  # noqa: PTH116 - for each look
        except OSError:
            return (), ()
        mark = (facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, facts.st_size)
        known = self._pointers.get(config)
        if known is not None and known[0] == mark and time.time_ns() - facts.st_ctime_ns > CLOCK_STEP_NS:
            return known[1], known[2]
        text = read_file(config) or b""
        hooks, included = hooks_directories(text), included_files(text)
        self._pointers[config] = (mark, hooks, included)
        return hooks, included

    def _hooks(self, folder: str, way: Way) -> None:
        # Those are looked for by name, so that a directory without files is known for what it is: a link or none.
        # Of a whole workspace not every file is a hook.
        is_workspace = any(root == folder or root.startswith(f"{folder}/") for root in self._roots)
        if not is_workspace:
            self._look.add(folder, way)
        if os.path.islink(folder):  # noqa: PTH114 - for each look
            way, folder = replace(way, via=folder), os.path.realpath(folder)
        names = _NONE if is_workspace else self._names(folder)
        if names and not way.via:
            self._look.lasting.append(folder)
        for name in (*_HOOKS, *(name for name in sorted(names)[:_MOST_BELOW] if not name.endswith(".sample"))):
            self._look.add(f"{folder}/{name}", way)

    def _modules(self, folder: str, depth: int = _MODULES_DEPTH) -> Iterator[str]:
        """Repositories of submodules, whose names may have slashes in them, and of theirs."""
        listing = self._listed(folder) if depth else None
        for name in () if listing is None else listing.folders:
            here = f"{folder}/{name}"
            inside = self._names(here)
            if not inside.isdisjoint({"HEAD", "config", "hooks"}):
                yield here
                yield from self._modules(f"{here}/modules", depth - 1)
            else:
                yield from self._modules(here, depth - 1)

    # Listings.

    def _names(self, folder: str) -> frozenset[str]:
        listing = self._listed(folder)
        return _NONE if listing is None else listing.names

    def _listed(self, folder: str) -> _Listing | None:
        """A directory's names, once for each look; None where there is none, or it is a link."""
        if (now := self._listings.get(folder)) is not None and folder in self._look.listed:
            return now
        try:
            facts = os.lstat(folder or "/")
        except OSError:
            self._look.listed[folder] = _NONE
            return None
        if not stat.S_ISDIR(facts.st_mode):
            self._look.listed[folder] = _NONE
            return None
        mark = (facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, facts.st_dev)
        listing = self._known.get(folder)
        if listing is None or listing.mark != mark or not listing.is_settled:
            listing = _list(folder, mark)
        self._listings[folder] = listing
        self._look.listed[folder] = listing.names
        return listing


def _joined(folder: str, named: str) -> str:
    return os.path.join(folder, os.path.expanduser(named))  # noqa: PTH111, PTH118 - git's own `~`


def _list(folder: str, mark: tuple[int, int, int, int]) -> _Listing:
    is_settled = time.time_ns() - mark[1] > CLOCK_STEP_NS
    names: set[str] = set()
    folders: list[str] = []
    links: set[str] = set()
    try:
        with os.scandir(folder or "/") as found:
            for entry in found:
                if len(names) >= MOST_NAMES:
                    _by_name(folder, names, folders, links)
                    break
                names.add(entry.name)
                if entry.is_symlink():
                    links.add(entry.name)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
    except OSError:
        is_settled = False
    first = anywhere()
    hits = tuple(
        (name, tuple(first.after(name.casefold())))
        for name in names
        if first.leads(name.casefold()) and name.casefold() != ".git"  # which `_work_tree` knows better
    )
    folders.sort()
    ordinary = tuple(name for name in folders if not is_generated(name))
    return _Listing(mark, is_settled, frozenset(names), tuple(folders), frozenset(links), hits, ordinary)


def _by_name(folder: str, names: set[str], folders: list[str], links: set[str]) -> None:
    """Of a directory with very many files: what matters most is looked for by its name."""
    for name in (*anywhere().names, "HEAD", "AGENTS.md", "CLAUDE.md", "Justfile", "Jenkinsfile"):
        try:
            mode = os.lstat(f"{folder}/{name}").st_mode
        except OSError:
            continue
        if name not in names:
            names.add(name)
            if stat.S_ISLNK(mode):
                links.add(name)
            elif stat.S_ISDIR(mode):
                folders.append(name)
