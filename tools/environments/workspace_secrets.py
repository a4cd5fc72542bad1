"""Files of a workspace that hold credentials, as their names tell: what only looks need not see them, and the user
says whether other commands may.

Looked for in the session's directories and two levels below, which is where they are kept, where a command runs, and
among its words. Each directory is read again when it has changed.
"""

from __future__ import annotations

import os
import re
import shlex
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.approval.sensitive import why_sensitive

_LEVELS = 2
_MOST_DIRECTORIES = 60
_MOST_LOOKED_AT = 400
_MOST_ENTRIES = 2_000
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build"})
_MOST_WORDS, _LONGEST_WORD = 20, 300

_REPOSITORY = ".git"
"""The file that a work tree or a submodule has in place of the directory: it names a path."""

# Settings that everyday tools have in every project: they count only while there is a secret in them.
_PLAIN_SETTINGS = frozenset({".npmrc", ".yarnrc.yml"})
_SECRET_IN_SETTINGS = re.compile(rb"_auth|token|passw|secret|api_?key|://[^/\s:@]+:[^/\s@]+@", re.IGNORECASE)
_BEGIN, _PRIVATE = b"-----BEGIN ", b"PRIVATE KEY"
_MOST_BYTES = 200_000


class WorkspaceSecrets:
    """Of one session; safe to use from several threads.

    Args:
        roots: the session's directories, resolved.
    """

    def __init__(self, roots: tuple[Path, ...] = ()) -> None:
        self._roots = roots
        self._lock = threading.Lock()
        # By directory: when it changed last, its secret files, the directories in it.
        self._known: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {}

    def __call__(self) -> tuple[Path, ...]:
        """Where they are now; resolved."""
        with self._lock:
            found = dict.fromkeys(os.path.realpath(path) for root in self._roots for path in self._below(root))
            return tuple(map(Path, found))

    def reachable(self, command: str, cwd: Path) -> Mapping[Path, tuple[Path, ...]]:
        """Those that a command could read: also where it runs or goes to, and what it names.

        Returns:
            by the directory of the session that they are in; resolved, each once and in order.
        """
        with self._lock:
            near = list(self._near(words_in(command), Path(os.path.realpath(cwd))))
            found = [(root, path) for root in self._roots for path in self._below(root)]
        places: dict[Path, Path] = {}
        for root, path in (*found, *near):
            places.setdefault(Path(os.path.realpath(path)), root)
        return {root: tuple(path for path, at in places.items() if at == root) for root in self._roots}

    def behind(self, command: str, cwd: Path) -> tuple[Path, ...]:
        """Secret files that links among a command's words lead to, and those of directories that it compares."""
        # Much to load, and where a sandbox hides secrets none of it is needed.
        from tools.approval.rules.named import paths_named  # noqa: PLC0415
        from tools.bash.read import read_command  # noqa: PLC0415

        found = dict.fromkeys(self._led_to(cwd, cwd))
        for invocation in read_command(command, cwd).invocations:
            place = Path(invocation.cwd) if invocation.cwd is not None else cwd
            named = [place, *(path for path, _ in paths_named(invocation, cwd))]
            found.update(dict.fromkeys(led for path in named for led in self._led_to(path, cwd)))
            compares = invocation.program == "diff" or "--no-index" in {one.text for one in invocation.arguments}
            if compares and any(map(os.path.isdir, named[1:])):
                found.update(dict.fromkeys(self()))
        return tuple(found)

    def _led_to(self, path: Path, cwd: Path) -> Iterator[Path]:
        """Where a path leads, if that is another place than it says and one for secrets."""
        from tools.approval.harmless.secrets import is_open_path  # noqa: PLC0415 - as above

        real = Path(os.path.realpath(path))
        said = (
            Path(os.path.realpath(cwd), path.relative_to(cwd)) if path.is_relative_to(cwd) and path != cwd else path
        )
        is_inside = any(real.is_relative_to(root) for root in self._roots)
        if real != said and (why_sensitive(real) or not (is_inside or is_open_path(str(real)))):
            yield real

    def _below(self, root: Path) -> Iterator[str]:
        if why_sensitive(root / "x"):
            return  # the whole of it is: whoever works there has to see it
        level, looked_at = [str(root)], 0
        for _ in range(_LEVELS + 1):
            following: list[str] = []
            for directory in level[: max(0, _MOST_LOOKED_AT - looked_at)]:
                secrets, directories = self._look(directory)
                yield from secrets
                following += directories
            looked_at += len(level)
            level = following

    def _near(self, words: list[str], cwd: Path) -> Iterator[tuple[Path, str]]:
        """What is in the directories that a command's words lead to, and what they name there; each with its root."""
        for directory in dict.fromkeys((cwd, *(cwd / word for word in words))):
            if (root := self._root_of(directory)) is None or not os.path.isdir(directory):  # noqa: PTH112
                continue
            yield from ((root, path) for path in self._look(str(directory))[0])
            # Who goes to a directory first means the other words from there.
            for path in (directory / word for word in words):
                if (its_root := self._root_of(path)) is not None and _is_secret(str(path)):
                    yield its_root, str(path)

    def _root_of(self, path: Path) -> Path | None:
        real = Path(os.path.realpath(path))
        root = next((root for root in self._roots if real.is_relative_to(root)), None)
        return None if root is None or why_sensitive(root / "x") else root

    def _look(self, directory: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        try:
            changed = Path(directory).stat().st_mtime_ns
            known = self._known.get(directory)
            if known is None or known[0] != changed:
                known = self._known[directory] = (changed, *_read(directory))
        except OSError:
            return (), ()
        return tuple(filter(_is_secret, known[1])), known[2]


def words_in(command: str) -> list[str]:
    """What of a command may be a name of a file."""
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        words = list(lexer)
    except ValueError:
        words = command.split()
    names = (word.rpartition("=")[2] for word in words if len(word) < _LONGEST_WORD and "\0" not in word)
    return [name for name in dict.fromkeys(names) if name.strip("();<>|&") and not name.startswith("-")][:_MOST_WORDS]


def holds_secret(settings: str) -> bool:
    """Whether there seems to be a secret in a file of settings; what cannot be read needs no hiding."""
    return _SECRET_IN_SETTINGS.search(_content(settings)) is not None


def _is_secret(path: str) -> bool:
    """Whether a file is there that holds credentials: by its name, and where that says little by its content."""
    if not os.path.isfile(path) or not why_sensitive(Path(path)):  # noqa: PTH113 - no name is an error
        return False
    name = path.rpartition("/")[2].casefold()
    if _REPOSITORY in path.casefold().split("/"):  # git's own, but for addresses with passwords
        return name == "config" and holds_secret(path)
    if name in _PLAIN_SETTINGS:
        return holds_secret(path)
    if name.endswith(".pem"):  # most are certificates, which everybody may have
        content = _content(path)
        return _PRIVATE in content or _BEGIN not in content
    return True


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - of the most there are none, and a path object costs more
            return stream.read(_MOST_BYTES)
    except OSError:
        return b""


def _read(directory: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    secrets, directories = [], []
    with os.scandir(directory) as found:
        for entry, _ in zip(found, range(_MOST_ENTRIES), strict=False):
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _PASSED_OVER:
                    directories.append(entry.path)
            elif why_sensitive(Path(entry.path)):
                secrets.append(entry.path)
    return tuple(secrets), tuple(sorted(directories)[:_MOST_DIRECTORIES])
