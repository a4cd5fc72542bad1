"""What git commands would do to the files of their work trees, found out by our own git before they run.

Two want to know it: the card of a command names the places that others run later which it would change, with what
would be in them, so that a no comes before anything has happened; and what it would take from the work tree is kept
first, so that an undo can bring it back.

A command's words are read by the shell's reader, and git is asked what follows from them: which files differ between
two commits, from the index, or from the work tree. What the words do not say is not foreseen: aliases, scripts that
call git, a pull, what a command before it in the same line changes by other means. It is bounded in time and in the
number of files; where git is too slow or missing, nothing is foreseen.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tools.approval.commands.bash.interpreter import read_command
from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation, git_words, sets_git_up
from tools.approval.persistence_paths import is_git_name, run_later
from tools.changes.command_targets import CommandLine, sorted_arguments
from tools.changes.facts import ObservationLimits
from tools.changes.scan import is_generated
from tools.environments.git import Git, Repository, borrowed, find_repository
from tools.environments.persistence_scan import MOST_BYTES, all_settings, read_file, runs_the_same
from tools.environments.temp_directories import own_directory
from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

log = logging.getLogger(__name__)

SECONDS = 3.0
_MOST_FILES = 20_000
_MOST_PLACES = 200
_MOST_COMMITS = 50
_MOST_BLOB_BYTES = 32 << 20
_LONGEST_PATCH = 16 << 20
_MOST_NAMED = 3
_MEGABYTE = 1_000_000
_LINK, _PROGRAM, _FILE, _SUBMODULE = 0o120000, 0o100755, 0o100644, 0o160000
_NO_NAMES = frozenset({"", ".", ".."})
_DIFF = ("--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=all")


@dataclass(frozen=True, slots=True)
class NewContent:
    """A file that others run later, as a command would leave it.

    Attributes:
        path: absolute, the work tree's links resolved.
        before, after: its bytes; of a symbolic link where it points to. `before` is None for a new file.
        mode: as git has it.
    """

    path: Path
    before: bytes | None
    after: bytes
    mode: int

    @property
    def is_link(self) -> bool:
        """Whether it would be a symbolic link."""
        return self.mode == _LINK

    @property
    def may_run(self) -> bool:
        """Whether it would be executable."""
        return self.mode == _PROGRAM


@dataclass(frozen=True, slots=True)
class GitEffects:
    """What the git commands of a command line would do.

    Attributes:
        places: what they would leave in places that others run later.
        taken: files whose content in the work tree they would replace or remove, whether or not git has it elsewhere.
        folders: directories that they would remove, whose files are not among `taken`.
        unkept: why not all of what they would take can be brought back, in words that follow "of what it takes,
            /undo cannot bring back"; '' if all can.
    """

    places: tuple[NewContent, ...] = ()
    taken: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    unkept: str = ""


NO_EFFECTS = GitEffects()


def git_effects(
    command: str,
    cwd: Path,
    roots: Sequence[Path],
    run_by_git: Callable[[], Callable[[Path], bool]] | None = None,
    interrupt: Interrupt | None = None,
) -> GitEffects:
    """What the git commands in `command` would do to files below `roots` (resolved).

    Blocks for three seconds at most, and not at all where no git command is written.

    Args:
        run_by_git: looks which files git runs because its settings say so, whatever their names; None: what it
            would leave in places that others run later is not looked for.
        interrupt: ends it.

    Raises:
        ToolInterrupted: it was ended.
    """
    if "git" not in command or sys.platform == "win32" or sets_git_up(command):
        return NO_EFFECTS
    calls = [call for call in read_command(command, cwd).invocations if _is_followed(call)]
    if not calls:
        return NO_EFFECTS
    deadline = time.monotonic() + SECONDS
    found, is_late = _Found(tuple(roots), None if run_by_git is None else run_by_git()), False
    with Git(interrupt=interrupt) as git:
        for call in calls:
            try:
                found.add(call, git, deadline)
            except (ToolError, OSError, ValueError) as problem:
                log.debug("What %s does is not foreseen: %s", call.arguments[:1], problem)
                is_late |= time.monotonic() >= deadline
    return found.effects("what git was too slow to name" if is_late else "")


def _is_followed(call: Invocation) -> bool:
    words = git_words(call) if call.program == "git" and not call.elsewhere else None
    return (
        words is not None and words.folder is not None and words.command is not None
        and words.command.is_known and words.command.text in _VERBS
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Step:
    """What becomes of one file.

    Attributes:
        name: below the work tree's top.
        theirs: the blob that is to be there; '' where none is.
        base: the blob that it is merged from, '' for none; None where whatever is there is replaced.
        is_taken: the work tree's content may be nowhere else.
        is_new: git has had none of that name. One that is there is replaced without a word where git ignores it.
        text: what is to be there, where no blob holds it.
    """

    name: str
    theirs: str
    mode: int = _FILE
    base: str | None = None
    is_taken: bool = False
    is_new: bool = False
    text: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Folder:
    """A directory of a work tree, in which many files may be.

    Attributes:
        is_inside: the session may change what is in it.
        is_odd: no work tree has a directory of that name.
        in_the_way: what git would remove to make it: a file, or a link.
        made: itself or the one above it that tools make anew.
    """

    is_inside: bool
    is_odd: bool = False
    in_the_way: Path | None = None
    made: Path | None = None


class _Found:
    """Gathers the effects of one command line."""

    def __init__(self, roots: tuple[Path, ...], is_place: Callable[[Path], bool] | None) -> None:
        self._roots = roots
        self._is_place = is_place
        self._places: dict[Path, tuple[bytes | None, int]] = {}
        self._taken: dict[Path, None] = {}
        self._folders: dict[tuple[str, Path], _Folder] = {}
        self.folders: dict[Path, None] = {}

    def add(self, call: Invocation, git: Git, deadline: float) -> None:
        """Find out what one command would do.

        Raises:
            ToolError, OSError, ValueError: that cannot be foreseen.
        """
        given = git_words(call)
        assert given.folder is not None  # noqa: S101 - as was found out before
        assert given.command is not None  # noqa: S101
        folder = Path(os.path.realpath(given.folder))
        repository = find_repository(folder)
        if repository is None or not folder.is_relative_to(repository.top):
            return
        words = tuple(map(_word, given.rest))
        with borrowed(repository, with_history=True) as git_dir:
            tree = _WorkTree(git, repository, git_dir, folder, deadline)
            found = _VERBS[given.command.text](tree, words, call)
            steps = [step for step, _ in zip(found, range(_MOST_FILES), strict=False)]
            self._take(repository.top, steps)
            for nested in tree.nested:
                self.folders[repository.top / nested] = None
            if self._is_place is not None:
                self._look_at_places(tree, steps, self._is_place, deadline)

    def effects(self, unlisted: str) -> GitEffects:
        """All of it.

        Args:
            unlisted: what could not be listed.
        """
        changed = (_change(path, *state) for path, state in self._places.items() if state[0] is not None)
        places = tuple(change for change in changed if change is not None)
        taken, folders = tuple(self._taken), tuple(path for path in self.folders if path.is_dir())
        return GitEffects(places, taken, folders, _unkept(taken, folders, unlisted))

    def _take(self, top: Path, steps: Iterable[_Step]) -> None:
        for step in steps:
            if not (step.is_taken or step.is_new) or not self._is_inside(top, step.name):
                continue
            folder = self._folder(step.name.rpartition("/")[0], top)
            path = folder.in_the_way or top / step.name
            if step.is_new and not os.path.lexists(path):
                continue
            if folder.made is not None:
                self.folders[folder.made] = None
            elif step.theirs and step.mode != _SUBMODULE and path.is_dir() and not path.is_symlink():
                self.folders[path] = None
            else:
                self._taken[path] = None

    def _is_inside(self, top: Path, name: str) -> bool:
        folder, _, last = name.rpartition("/")
        return self._folder(folder, top).is_inside and last not in _NO_NAMES and not is_git_name(last)

    def _folder(self, name: str, top: Path) -> _Folder:
        found = self._folders.get((name, top))
        if found is None:
            found = self._folders[name, top] = self._looked_at(name, top)
        return found

    def _looked_at(self, name: str, top: Path) -> _Folder:
        path = top / name
        is_inside = any(path.is_relative_to(root) for root in self._roots)
        if not name:
            return _Folder(is_inside)
        parent, _, last = name.rpartition("/")
        above, is_odd = self._folder(parent, top), last in _NO_NAMES or is_git_name(last)
        is_other = path.is_symlink() or (os.path.lexists(path) and not path.is_dir())
        return _Folder(
            is_inside and not is_odd and not above.is_odd,
            is_odd or above.is_odd,
            above.in_the_way or (path if is_other else None),
            above.made or (path if is_generated(last) else None),
        )

    def _look_at_places(
        self, tree: _WorkTree, steps: Sequence[_Step], is_place: Callable[[Path], bool], deadline: float
    ) -> None:
        wanted: list[tuple[Path, _Step]] = []
        for step in steps:
            if step.mode == _SUBMODULE or not (step.theirs or step.text is not None):
                continue
            if time.monotonic() > deadline:
                break  # it is looked at afterwards
            if not self._is_inside(tree.top, step.name):
                continue
            path = tree.top / step.name
            if run_later(path) is not None or is_place(path):
                wanted.append((path, step))
        wanted = wanted[:_MOST_PLACES]
        blobs = tree.blobs({name for _, step in wanted for name in (step.theirs, step.base) if name})
        for path, step in wanted:
            ours = self._places[path][0] if path in self._places else _on_disk(path)
            self._places[path] = tree.outcome(step, ours, blobs), step.mode


def _word(argument: Argument) -> str | None:
    """Its text; of a glob too, as git understands those in paths. None where nobody knows."""
    if argument.is_known or (argument.expands and not argument.splits and "{" not in argument.text):
        return None if UNKNOWN in argument.text else argument.text
    return None


def _on_disk(path: Path) -> bytes | None:
    try:
        return os.fsencode(path.readlink()) if path.is_symlink() else read_file(path)
    except OSError:
        return None


def _change(path: Path, after: bytes | None, mode: int) -> NewContent | None:
    """What would be another; None where nothing is."""
    before = _on_disk(path)
    if after is None:
        return None
    if before is not None and (
        before == after and (mode != _PROGRAM or os.access(path, os.X_OK)) and path.is_symlink() == (mode == _LINK)
    ):
        return None
    if mode != _LINK and runs_the_same(path, before, after, is_git=False, is_nested=False):
        return None
    return NewContent(path, before, after, mode)


def _unkept(taken: Sequence[Path], folders: Sequence[Path], unlisted: str) -> str:
    """What of it is beyond the bounds within which contents are kept."""
    limits, total = ObservationLimits(), 0
    large: list[str] = []
    for path in taken:
        try:
            facts = path.lstat()
        except OSError:
            continue
        if stat.S_ISREG(facts.st_mode) and facts.st_size > limits.max_file_bytes:
            large.append(f"{path.name} ({facts.st_size // _MEGABYTE} MB)")
        else:
            total += facts.st_size
    named = [*large, *(f"{folder.name}/" for folder in folders)]
    shown = named[:_MOST_NAMED] + ([f"{len(named) - _MOST_NAMED} more"] if named[_MOST_NAMED:] else [])
    if total > limits.max_foreseen_bytes:
        shown.append(f"all of its {total // _MEGABYTE} MB")
    if len(taken) >= _MOST_FILES:
        shown.append(f"all of its more than {_MOST_FILES:,} files")
    return ", ".join([*shown, *([unlisted] if unlisted else [])])


class _WorkTree:
    """Asks git about one work tree.

    Attributes:
        folder: where the command would run.
        head: the commit that would be checked out by now; the empty tree where there is none yet.
        nested: repositories within it that a command would remove.
    """

    def __init__(self, git: Git, repository: Repository, git_dir: Path, folder: Path, deadline: float) -> None:
        self._git = git
        self._repository = repository
        self._git_dir = git_dir
        self.folder = folder
        self._deadline = deadline
        self.top = repository.top
        self.nested: list[str] = []
        self.head = self.commit("HEAD") or self.empty()

    def ask(self, *arguments: str, given: bytes | None = None, fine: tuple[int, ...] = (0,)) -> bytes:
        """What git prints.

        Raises:
            ToolError: it failed, or there is no time left.
        """
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise ToolError("There is no time left to ask git.")
        return self._git.run(
            *arguments, cwd=self.folder, git_dir=self._git_dir, work_tree=self.top, given=given, fine=fine,
            seconds=left,
        )  # fmt: skip

    def _line(self, *arguments: str) -> str:
        return self.ask(*arguments, fine=(0, 1, 128)).decode("utf-8", "surrogateescape").strip()

    def commit(self, name: str) -> str:
        """The id of a commit; '' where there is none of that name."""
        name = "@{-1}" if name == "-" else name
        return self._line("rev-parse", "-q", "--verify", "--end-of-options", f"{name}^{{commit}}")

    def tree(self, name: str) -> str:
        """The id of a tree; '' where there is none of that name."""
        return self._line("rev-parse", "-q", "--verify", "--end-of-options", f"{name}^{{tree}}")

    def known(self, name: str | None) -> str:
        """As `commit`, but there has to be one.

        Raises:
            ToolError: there is none, or the name is not known.
        """
        found = self.commit(name) if name is not None else ""
        if not found:
            raise ToolError("It is not known which commit is meant.")
        return found

    def of_remote(self, name: str) -> str:
        """The commit of the only branch of that name that a remote has, as git makes one of it; '' for none."""
        found = self._line("for-each-ref", "--format=%(objectname)", f"refs/remotes/*/{name}").split()
        return found[0] if len(found) == 1 else ""

    def upstream(self) -> str:
        """The branch that the one which is checked out follows, as a name.

        Raises:
            ToolError: there is none.
        """
        branch = os.fsdecode(self._repository.head()).strip().removeprefix("ref: refs/heads/")
        config = dict(all_settings(read_file(self._repository.common_dir / "config") or b""))
        key = f"branch.{branch}".lower()
        remote, merge = config.get(f"{key}.remote", ""), config.get(f"{key}.merge", "")
        if not remote or not merge.startswith("refs/heads/"):
            raise ToolError("The branch follows none.")
        return merge if remote == "." else f"refs/remotes/{remote}/{merge.removeprefix('refs/heads/')}"

    def merge_base(self, ours: str, theirs: str) -> str:
        """Where two commits went apart; the empty tree where they have nothing in common."""
        return self._line("merge-base", ours, theirs).partition("\n")[0] or self.empty()

    def empty(self) -> str:
        """The id of the tree without files."""
        return self._line("hash-object", "-t", "tree", os.devnull)

    def commits(self, words: Iterable[str | None]) -> list[str]:
        """What names of commits and of ranges mean, in the order of the history for each."""
        found: list[str] = []
        for word in words:
            if word is not None and ".." in word:
                listed = self._line("rev-list", "--reverse", f"--max-count={_MOST_COMMITS}", "--end-of-options", word)
                found += listed.split()
            else:
                found.append(self.known(word))
        return found[:_MOST_COMMITS]

    def between(self, before: str, after: str) -> Iterator[_Step]:
        """Files that differ between two trees: those of the first become those of the second."""
        for old_mode, mode, old, new, name in _raw(self.ask("diff-tree", "-r", *_DIFF, before, after)):
            yield _Step(name, new, mode or old_mode, old, is_new=not old)

    def back_to(self, *source: str, paths: Sequence[str] = ()) -> Iterator[_Step]:
        """Files of the work tree that are not as in `source`, or without one as in the index: they become so."""
        told = self.ask("diff", "--no-ext-diff", "--no-textconv", *_DIFF, *source, "--", *paths)
        # What only the work tree has is kept first.
        rows = sorted(_raw(told), key=lambda row: bool(row[3]))
        for mode, now_mode, wanted, _, name in rows:
            yield _Step(name, wanted, mode or now_mode, is_taken=True)

    def untracked(self, *options: str, paths: Sequence[str] = ()) -> Iterator[_Step]:
        """Files that git does not know: they go."""
        for name in _names(self.ask("ls-files", "--full-name", "-o", "-z", *options, "--", *paths)):
            if name.endswith("/"):
                self.nested.append(name.rstrip("/"))
            else:
                yield _Step(name, "", is_taken=True)

    def tracked(self, paths: Sequence[str]) -> list[tuple[str, str, int]]:
        """Files that git knows: name, blob and mode."""
        rows = _names(self.ask("ls-files", "--full-name", "-s", "-z", "--", *paths))
        parts = (row.partition("\t") for row in rows)
        return [(name, facts.split()[1], int(facts.split()[0], 8)) for facts, _, name in parts]

    def name_of(self, path: str) -> str:
        """What a path that a command names is called below the top.

        Raises:
            ValueError: it is not there.
        """
        return Path(os.path.normpath(self.folder / path)).relative_to(self.top).as_posix()

    def is_folder(self, path: str) -> bool:
        """Whether a path that a command names is a directory."""
        return (self.folder / path).is_dir()

    def blobs(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """Contents, as far as they are no larger than places are."""
        wanted = sorted(names)
        if not wanted:
            return {}
        sizes = self.ask("cat-file", "--batch-check", given="".join(f"{name}\n" for name in wanted).encode())
        small, left = [], _MOST_BLOB_BYTES
        for row in sizes.decode("ascii", "replace").splitlines():
            name, kind, size = (*row.split(), "", "")[:3]
            if kind == "blob" and int(size) <= min(MOST_BYTES, left):
                small.append(name)
                left -= int(size)
        printed = self.ask("cat-file", "--batch", given="".join(f"{name}\n" for name in small).encode())
        return dict(_batch(printed))

    def outcome(self, step: _Step, ours: bytes | None, blobs: Mapping[str, bytes]) -> bytes | None:
        """What a step makes of a file; None where that is not known, or nothing is left."""
        if step.text is not None:
            return step.text
        theirs = blobs.get(step.theirs)
        if step.base is None or theirs is None:
            return theirs
        base = blobs.get(step.base) if step.base else None
        if ours in {base, theirs}:
            return theirs
        if base is None or ours is None or step.mode == _LINK:
            return None
        with own_directory("hermes-git-") as scratch:
            for name, content in (("ours", ours), ("base", base), ("theirs", theirs)):
                (scratch / name).write_bytes(content)
            files = [str(scratch / name) for name in ("ours", "base", "theirs")]
            return self.ask("merge-file", "-p", "-q", *files)

    def patched(self, patch: bytes, options: Sequence[str], wants: Callable[[str], bool]) -> Iterator[_Step]:
        """What a patch makes of the files that it names; the text of those that are wanted."""
        told = _names(self.ask("apply", "--numstat", "-z", *options, "-", given=patch))
        names = [row.split("\t", 2)[-1] for row in told]
        for name in names:
            yield self._patched(patch, options, name) if wants(name) else _Step(name, "")

    def _patched(self, patch: bytes, options: Sequence[str], name: str) -> _Step:
        source = self.top / name
        content = read_file(source)
        with own_directory("hermes-git-") as scratch, Git((scratch,)) as git:
            file = scratch / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if content is not None:
                file.write_bytes(content)
                file.chmod(0o700 if os.access(source, os.X_OK) else 0o600)
            words = ("apply", *options, f"--include={_literally(name)}", "-")
            left = max(self._deadline - time.monotonic(), 0.1)
            git.run(*words, cwd=scratch, git_dir=self._git_dir, work_tree=scratch, given=patch, seconds=left)
            mode = _PROGRAM if file.exists() and file.stat().st_mode & stat.S_IXUSR else _FILE
            return _Step(name, "", mode, text=read_file(file))


def _literally(name: str) -> str:
    return "".join(f"\\{sign}" if sign in "*?[\\" else sign for sign in name)


def _names(printed: bytes) -> list[str]:
    return os.fsdecode(printed).split("\0")[:-1]


def _raw(printed: bytes) -> Iterator[tuple[int, int, str, str, str]]:
    """The rows of `--raw -z`: both modes, both blobs ('' for none, or what only the work tree has), the name."""
    parts = iter(_names(printed))
    for head, name in zip(parts, parts, strict=False):
        old_mode, mode, old, new, _ = head.removeprefix(":").split(" ")
        yield int(old_mode, 8), int(mode, 8), old.strip("0") and old, new.strip("0") and new, name


def _batch(printed: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while at < len(printed):
        end = printed.index(b"\n", at)
        name, _, size = printed[at:end].decode("ascii").split()
        yield name, printed[end + 1 : end + 1 + int(size)]
        at = end + int(size) + 2


_Words = tuple[str | None, ...]
_Verb = Callable[[_WorkTree, _Words, Invocation], Iterator[_Step]]


def _halves(words: _Words) -> tuple[_Words, _Words | None]:
    """What is before `--` and after it; None where there is none."""
    return (words[: (at := words.index("--"))], words[at + 1 :]) if "--" in words else (words, None)


def _paths(words: Iterable[str | None], call: Invocation) -> list[str]:
    """Words as paths; all of the work tree where some are not known."""
    given = list(words)
    if call.adds_unknown or None in given:
        return [":/"]
    return [word for word in given if word is not None]


def _become(tree: _WorkTree, commit: str, *, force: bool = False) -> Iterator[_Step]:
    """All tracked files become those of a commit, or of a tree; local changes too with `force`."""
    if force:
        yield from tree.back_to(commit)
    else:
        yield from (replace(step, base=None) for step in tree.between(tree.head, commit))
    tree.head = commit


def _checkout(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:
    before, paths = _halves(words)
    line = sorted_arguments(before, "bB", ("--orphan", "--conflict", "--pathspec-from-file"))
    names, force = line.operands, line.has("-f", "--force")
    if line.has("--orphan"):
        return
    if line.has("--pathspec-from-file"):
        yield from tree.back_to(*names[:1] and [tree.known(names[0])], paths=[":/"])
    elif paths or call.adds_unknown:
        source = [tree.known(names[0])] if names else []
        yield from tree.back_to(*source, paths=_paths(paths or (), call))
    elif line.has("-b", "-B") or not names:
        yield from _become(tree, tree.known(names[0] if names else "HEAD"), force=force)
    elif commit := tree.commit(names[0] or "") or (len(names) == 1 and tree.of_remote(names[0] or "")):
        others = _paths(names[1:], call)
        yield from tree.back_to(commit, paths=others) if others else _become(tree, commit, force=force)
    else:
        yield from tree.back_to(paths=_paths(names, call))


def _switch(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:  # noqa: ARG001
    line = sorted_arguments(words, "cC", ("--create", "--force-create", "--orphan", "--conflict"))
    if line.has("--orphan"):
        return
    name = line.operands[0] if line.operands else "HEAD"
    commit = tree.commit(name or "") or tree.of_remote(name or "") or tree.known(name)
    yield from _become(tree, commit, force=line.has("-f", "--force", "--discard-changes"))


def _restore(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:
    before, paths = _halves(words)
    line = sorted_arguments(before, "s", ("--source", "--conflict", "--pathspec-from-file"))
    if line.has("--staged", "-S") and not line.has("--worktree", "-W"):
        return
    source = [tree.known(line.value("-s", "--source"))] if line.has("-s", "--source") else []
    named = [":/"] if line.has("--pathspec-from-file") else _paths((*line.operands, *(paths or ())), call)
    if named:
        yield from tree.back_to(*source, paths=named)


def _reset(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:  # noqa: ARG001
    line = sorted_arguments(_halves(words)[0])
    if line.has("--hard", "--merge", "--keep"):
        commit = tree.known(line.operands[0]) if line.operands else tree.head
        yield from _become(tree, commit, force=not line.has("--keep"))


def _stash(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:
    verb = words[0] if words and words[0] is not None and not words[0].startswith("-") else "push"
    rest = words[1:] if words[:1] == (verb,) else words
    if verb in {"pop", "apply", "branch"}:
        names = sorted_arguments(rest).operands[1 if verb == "branch" else 0 :]
        name = names[0] if names else "refs/stash"
        stash = tree.known(f"stash@{{{name}}}" if name and name.isdecimal() else name)
        if verb == "branch":
            yield from _become(tree, tree.known(f"{stash}^1"))
        yield from tree.between(f"{stash}^1", stash)
        if tree.commit(f"{stash}^3"):
            yield from tree.between(tree.empty(), f"{stash}^3")
    elif verb in {"push", "save"}:
        before, paths = _halves(rest)
        line = sorted_arguments(before, "m", ("--message", "--pathspec-from-file"))
        named = _paths((*(line.operands if verb == "push" else ()), *(paths or ())), call)
        yield from tree.back_to("HEAD", paths=named)
        if line.has("-a", "--all"):
            yield from tree.untracked(paths=named)
        elif line.has("-u", "--include-untracked"):
            yield from tree.untracked("--exclude-standard", paths=named)


def _clean(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:
    before, paths = _halves(words)
    line = sorted_arguments(before, "e", ("--exclude",))
    if line.has("-n", "--dry-run"):
        return
    options = ("-i", "--exclude-standard") if line.has("-X") else () if line.has("-x") else ("--exclude-standard",)
    yield from tree.untracked(*options, paths=_paths((*line.operands, *(paths or ())), call))


def _merge(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:  # noqa: ARG001
    line = sorted_arguments(words, "mFsX", ("--strategy", "--strategy-option", "--into-name", "--file", "--cleanup"))
    if line.has("--abort"):
        yield from tree.back_to(tree.head)
    elif not line.has("--continue", "--quit"):
        for name in line.operands or (tree.upstream(),):
            theirs = tree.known(name)
            yield from tree.between(tree.merge_base(tree.head, theirs), theirs)


_REBASE_VALUES = ("--onto", "--exec", "--strategy", "--strategy-option", "--whitespace", "--empty")


def _rebase(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:  # noqa: ARG001
    line = sorted_arguments(words, "xsXC", _REBASE_VALUES)
    if line.has("--abort", "--skip"):
        yield from tree.back_to(tree.head)
    if line.has("--abort", "--continue", "--skip", "--quit", "--edit-todo", "--show-current-patch", "--root"):
        return
    names = line.operands
    upstream = tree.known(names[0] if names else tree.upstream())
    if names[1:]:
        yield from _become(tree, tree.known(names[1]))
    base = tree.merge_base(upstream, tree.head)
    yield from tree.between(base, tree.known(line.value("--onto")) if line.has("--onto") else upstream)


def _pick(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:  # noqa: ARG001
    yield from _each_commit(tree, words, reverse=False)


def _revert(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:  # noqa: ARG001
    yield from _each_commit(tree, words, reverse=True)


def _each_commit(tree: _WorkTree, words: _Words, *, reverse: bool) -> Iterator[_Step]:
    line = sorted_arguments(words, "msX", ("--mainline", "--strategy", "--strategy-option", "--cleanup"))
    if line.has("--abort", "--skip"):
        yield from tree.back_to(tree.head)
    if line.has("--abort", "--continue", "--skip", "--quit"):
        return
    for commit in tree.commits(line.operands):
        parent = tree.commit(f"{commit}^{line.value('-m', '--mainline') or '1'}") or tree.empty()
        yield from tree.between(commit, parent) if reverse else tree.between(parent, commit)


def _read_tree(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:  # noqa: ARG001
    line = sorted_arguments(words)
    if line.has("-u") and not line.has("--prefix", "-n", "--dry-run") and line.operands:
        found = tree.tree(line.operands[-1] or "")
        if not found:
            raise ToolError("It is not known which tree is meant.")
        yield from _become(tree, found, force=line.has("--reset"))


def _checkout_index(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:
    before, paths = _halves(words)
    line = sorted_arguments(before, "", ("--prefix", "--stage"))
    if not line.has("--prefix", "--temp"):
        named = _paths((*line.operands, *(paths or ())), call)
        yield from tree.back_to(paths=[":/"] if line.has("-a", "--all", "--stdin") else named)


_NO_PATCH = (
    "--check", "--stat", "--numstat", "--summary", "--cached", "--abort", "--continue", "--skip", "--quit",
)  # fmt: skip
_PATCH_VALUES = ("--directory", "--exclude", "--include", "--whitespace", "--patch-format", "--build-fake-ancestor")


def _apply(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:
    line = sorted_arguments(words, "pC", _PATCH_VALUES)
    if line.has("--abort", "--skip"):
        yield from tree.back_to(tree.head)
    if line.has(*_NO_PATCH):
        return
    kept = ("-p", "--directory", "--exclude", "--include")
    options = [f"{name}{'=' if name[:2] == '--' else ''}{line.value(name)}" for name in kept if line.has(name)]
    if line.has("-R", "--reverse"):
        options.append("-R")
    for patch in _patches(tree, line, call):
        yield from tree.patched(patch, options, lambda name: run_later(tree.top / name) is not None)


def _patches(tree: _WorkTree, line: CommandLine, call: Invocation) -> Iterator[bytes]:
    """The patches that a command reads: files that it names, what is led or written into it."""
    files = [name for name in line.operands if name not in {None, "-"}]
    files = files or [each.target.text for each in call.redirections if each.operator == "<"]
    if not files and call.input.kind == "text":
        yield call.input.text.encode("utf-8", "surrogateescape")
    for name in files:
        content = read_file(tree.folder / (name or ""), _LONGEST_PATCH)
        if content is not None:
            yield content


def _rm(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:
    before, paths = _halves(words)
    line = sorted_arguments(before, "", ("--pathspec-from-file",))
    named = [] if call.adds_unknown else _paths((*line.operands, *(paths or ())), call)
    if named and not line.has("--cached", "-n", "--dry-run"):
        yield from (_Step(name, "", is_taken=True) for name, _, _ in tree.tracked(named))


def _mv(tree: _WorkTree, words: _Words, call: Invocation) -> Iterator[_Step]:
    before, paths = _halves(words)
    line = sorted_arguments(before)
    *sources, target = _paths((*line.operands, *(paths or ())), call) or [":/"]
    if line.has("-n", "--dry-run") or not sources:
        return
    into = tree.is_folder(target)
    for source in sources:
        top = tree.name_of(source)
        to = tree.name_of(f"{target}/{Path(top).name}" if into else target)
        for name, blob, mode in tree.tracked([source]):
            yield _Step(name, "", is_taken=True)
            yield _Step(to + name.removeprefix(top), blob, mode, is_taken=True)


_VERBS: Mapping[str, _Verb] = {
    "checkout": _checkout,
    "switch": _switch,
    "restore": _restore,
    "reset": _reset,
    "stash": _stash,
    "clean": _clean,
    "merge": _merge,
    "rebase": _rebase,
    "cherry-pick": _pick,
    "revert": _revert,
    "read-tree": _read_tree,
    "checkout-index": _checkout_index,
    "apply": _apply,
    "am": _apply,
    "rm": _rm,
    "mv": _mv,
}
REPLACES_FILES = (_VERBS.keys() - {"rm", "mv", "clean"}) | {"pull", "bisect"}
"""The commands of git that put other files in the place of those of the work tree."""
