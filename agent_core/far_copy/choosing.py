"""Which files of the workspace go to the other place: what git tracks or would, and no secrets."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from agent_core.far_copy.facts import is_name
from tools.environments.git import Git, borrowed, excluded, find_repository, git_root, write_repository
from tools.environments.persistence_paths import read_file
from tools.environments.temp_directories import own_directory
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

ADVICE = "terminal.sync needs git on this machine; with terminal.sync: off nothing is copied."
_LISTED = ("ls-files", "-z", "--exclude-standard")
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is to be copied.

    Attributes:
        files: each with what tells that it has changed, without a look into it.
        sizes: their bytes.
        kept_back: names of what stays here: secrets, and what the user's rules keep from being read.
        links: links that lead to something in the workspace, and where they say that it is.
        odd: names of what is neither.
    """

    files: Mapping[str, tuple[int, ...]]
    sizes: int
    kept_back: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    odd: tuple[str, ...] = ()


def choose(top: Path, may_read: Callable[[Path], bool], interrupt: Interrupt | None = None) -> Chosen:
    """Look through the workspace.

    Args:
        top: its directory, resolved.
        may_read: whether a file (absolute, resolved) may be read without a question.

    Raises:
        ToolError: git cannot tell. ToolInterrupted: it was ended.
    """
    files: dict[str, tuple[int, ...]] = {}
    kept_back, odd, sizes = list[str](), list[str](), 0
    links: dict[str, str] = {}
    folders: dict[Path, bool] = {}
    closed = set[tuple[int, int]]()
    several: dict[str, tuple[int, int]] = {}
    for name in dict.fromkeys(_names(top, interrupt)):
        path = top / name
        if not is_name(name) or (facts := _facts(path)) is None:
            continue
        if not _is_plain(path.parent, folders):
            odd.append(name)
        elif stat.S_ISLNK(facts.st_mode) and (target := _leads_within(path, top)):
            links[name] = target
        elif not stat.S_ISREG(facts.st_mode):
            odd.append(name)
        elif not may_read(path):
            kept_back.append(name)
            closed.add((facts.st_dev, facts.st_ino))
        else:
            files[name] = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_mode)
            sizes += facts.st_size
            if facts.st_nlink > 1:
                several[name] = facts.st_dev, facts.st_ino
    # A file that has another name is what it is under that one, too.
    for name in [name for name, file in several.items() if file in closed]:
        kept_back.append(name)
        sizes -= files.pop(name)[1]
    return Chosen(files, sizes, tuple(kept_back), links, tuple(odd))


def ignored(top: Path, names: Sequence[str], rules: Mapping[str, bytes]) -> frozenset[str]:
    """Those of `names` that the ignore files name.

    Args:
        rules: contents of `.gitignore` files, by their names.

    Raises:
        ToolError: git cannot tell.
    """
    if not names:
        return frozenset()
    root = git_root(top) or top
    with own_directory("hermes-ignored-") as folder:
        own, tree = folder / "git", folder / "tree"
        _write_ignoring(own, top)
        # As deep in it as in the repository, whose upper directories have rules, too.
        place = tree / top.relative_to(root)
        place.mkdir(parents=True)
        above = {each / ".gitignore": _read(each / ".gitignore") for each in top.parents if each.is_relative_to(root)}
        wanted = {tree / path.relative_to(root): content for path, content in above.items()}
        for path, content in (wanted | {place / name: content for name, content in rules.items()}).items():
            # The folder is ours alone, and no name leads out of it.
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        # A name may begin with a sign that means something to git.
        given = b"\0".join(os.fsencode(f"./{name}") for name in names)
        words = ("check-ignore", "-z", "--no-index", "--stdin")
        with Git(advice=ADVICE) as git:
            found = git.run(*words, cwd=place, git_dir=own, work_tree=tree, given=given, fine=(0, 1))
    return frozenset(os.fsdecode(name).removeprefix("./") for name in found.split(b"\0") if name)


def _names(top: Path, interrupt: Interrupt | None, depth: int = 0) -> Iterator[str]:
    """All names that git would have; those of repositories within belong to them."""
    for name in _listed(top, interrupt):
        plain = name.rstrip("/")
        inner = top / plain
        if not (inner.is_dir() and not inner.is_symlink()):
            yield plain
        elif depth < _DEEPEST and git_root(inner) == inner:
            yield from (f"{plain}/{each}" for each in _names(inner, interrupt, depth + 1))


def _listed(top: Path, interrupt: Interrupt | None) -> list[str]:
    repository = find_repository(top)
    everything = (*_LISTED, "--others")
    with Git(interrupt=interrupt, advice=ADVICE) as git:
        if repository is not None:
            with borrowed(repository) as seen:
                found = git.run(*everything, "--cached", cwd=top, git_dir=seen, work_tree=repository.top)
        else:
            with own_directory("hermes-ignored-") as seen:
                _write_ignoring(seen, top)
                found = git.run(*everything, cwd=top, git_dir=seen, work_tree=top)
    return [os.fsdecode(name) for name in found.split(b"\0") if name]


def _write_ignoring(git_dir: Path, top: Path) -> None:
    """An empty repository that ignores what that of `top` does, and what the user ignores everywhere."""
    write_repository(git_dir)
    (git_dir / "info" / "exclude").write_bytes(excluded(find_repository(top)))


def _read(path: Path) -> bytes:
    return read_file(path) or b""


def _facts(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _leads_within(link: Path, top: Path) -> str:
    """Where a link says that it leads, if that is in the workspace; else ''."""
    try:
        target = str(link.readlink())
        leads = Path(os.path.realpath(link, strict=True))
    except OSError:
        return ""
    inside = leads.is_relative_to(top) and is_name(leads.relative_to(top).as_posix())
    return target if inside and not target.startswith("/") else ""


def _is_plain(folder: Path, known: dict[Path, bool]) -> bool:
    """Whether no link leads to the folder."""
    if folder not in known:
        known[folder] = os.path.realpath(folder) == str(folder)
    return known[folder]
