"""Loads rules files: those of directories by their names, and what they mention, all within one budget."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path, PurePosixPath

from agent_core.prompt.context_files.cursor_rules import FOLDER, CursorRule, has_rules, parse_rule, rule_files
from agent_core.prompt.context_files.cutting import cut
from agent_core.prompt.context_files.loaded import ContextFile, ContextFiles, LeftOut
from agent_core.prompt.context_files.mentions import mentions_in
from agent_core.prompt.context_files.names import CURSOR, HERMES, chain, present
from agent_core.prompt.context_files.reading import FileText, Region, Unreadable, read_text
from agent_core.prompt.context_files.settings import ContextFileSettings
from tools.environments.git import git_root
from tools.light_dataclass import dataclass
from tools.os_compat import absolute
from tools.untrusted.scanner import scan

_MOST_FILES = 20
_MOST_LEFT_OUT = 20
_DEPTH = 3
_LEAST = 1_000


def load_context_files(
    cwd: Path, roots: tuple[Path, ...], region: Region, settings: ContextFileSettings, max_chars: int
) -> ContextFiles:
    """The rules files of a session. Blocks for some small files.

    Those of `cwd` and of the directories above it, up to the top of its git repository; of further `roots` their own.
    Of one directory the first of `settings.names` counts. A `.hermes.md` takes the place of all others.

    Args:
        region: the session's directories; the git repository comes to it.
        max_chars: of one file; all of them have twice as many.
    """
    if not settings.enabled:
        return ContextFiles()
    top = git_root(cwd) or cwd
    wider = Region((*region.roots, Path(os.path.realpath(top))), region.refusal)
    loader = RulesLoader(cwd, wider, settings.names, max_chars, 2 * max_chars)
    groups = loader.nearest_hermes(top, cwd) if HERMES in settings.names else []
    # The closest first, for they are the last to be short of room.
    groups = groups or [loader.of_directory(directory) for directory in reversed(chain(top, cwd))]
    further = [loader.of_directory(root) for root in roots if root != cwd]
    files = [file for group in (*reversed(groups), *further) for file in group]
    return ContextFiles(tuple(files), tuple(loader.left_out))


@dataclass(slots=True)
class RulesLoader:
    """Reads rules files for one purpose, each at most once.

    Attributes:
        base: what labels are relative to.
        max_chars: of one file.
        room: characters that are left for further files.
        is_known: whether the model has the file of that label before it already: then it is not read again.
        left_out: what could not be used, as it was met.
    """

    base: Path
    region: Region
    names: tuple[str, ...]
    max_chars: int
    room: int
    is_known: Callable[[str], bool] = lambda _: False
    left_out: list[LeftOut] = field(default_factory=list)
    _seen: set[Path] = field(default_factory=set)
    _met: int = 0

    def nearest_hermes(self, top: Path, directory: Path) -> list[list[ContextFile]]:
        """The `.hermes.md` that is nearest above `directory`, as the only group; none where there is none."""
        for place in reversed(chain(top, directory)):
            if found := self.of_name(place, HERMES):
                return [found]
        return []

    def of_directory(self, directory: Path) -> list[ContextFile]:
        """The files of the first name that `directory` has, with what they mention."""
        for name in self.names:
            before = self._met
            found = self.of_name(directory, name)
            if name == CURSOR:
                found += self._cursor_rules(directory)
            if self._met > before:
                return found
        return []

    def for_file(self, directory: Path, path: Path) -> list[ContextFile]:
        """The rules in `directory` that are for files like `path`, where its rules are Cursor's."""
        if CURSOR not in self.names or not has_rules(directory):  # looked at after each call on a file
            return []
        before = self.names[: self.names.index(CURSOR)]
        if any(present(directory, name) is not None for name in before):
            return []
        there = PurePosixPath(path.relative_to(directory))
        fitting = ((place, rule) for place, rule in self._rules(directory) if not rule.always and rule.is_for(there))
        return [file for place, rule in fitting for file in self._rule(place, rule)]

    def of_name(self, directory: Path, name: str) -> list[ContextFile]:
        """The file of that name, with what it mentions; none where it is not there, is empty or cannot be used."""
        path = present(directory, name)
        return [] if path is None else self._read(path)

    def label(self, path: Path) -> str:
        """How a file is called."""
        name = str(path.relative_to(self.base) if path.is_relative_to(self.base) else path)
        return "".join(sign if sign.isprintable() else "?" for sign in name)

    def _read(self, path: Path, imported_by: str = "", depth: int = 0) -> list[ContextFile]:
        label = self.label(path)
        if self.is_known(label):
            self._met += 1
            return []
        read = read_text(path, self.region)
        if read is None:
            return []
        self._met += 1
        if isinstance(read, Unreadable):
            self._leave_out(label, read.why)
            return []
        if read.path in self._seen:
            return []
        self._seen.add(read.path)
        file = self._fitted(label, read, imported_by)
        return [] if file is None else [file, *self._imports(file, path.parent, depth)]

    def _imports(self, file: ContextFile, folder: Path, depth: int) -> list[ContextFile]:
        found: list[ContextFile] = []
        for written in mentions_in(file.text):
            if self._is_full:
                break
            path = Path(absolute(written, folder))
            if not os.path.isfile(path):  # noqa: PTH113 - never raises
                continue
            if depth == _DEPTH:
                self._leave_out(self.label(path), f"files that mention each other are followed {_DEPTH} deep at most")
            else:
                found += self._read(path, file.label, depth + 1)
        return found

    def _fitted(self, label: str, read: FileText, imported_by: str) -> ContextFile | None:
        if len(self._seen) > _MOST_FILES:
            self._leave_out(label, f"there are more than {_MOST_FILES} rules files")
            return None
        if self.room < min(len(read.text), _LEAST):
            self._leave_out(label, "the other rules files have taken all the room there is")
            return None
        short = cut(read.text.strip(), min(self.max_chars, self.room), str(read.path))
        found = scan(short.text, "context")
        if found.is_blocked:
            self._leave_out(label, found.reason, "it looks like an attack on agents")
            return None
        self.room -= len(short.text)
        return ContextFile(label, read.path, found.cleaned.strip(), short.left_out, imported_by)

    def _cursor_rules(self, directory: Path) -> list[ContextFile]:
        found: list[ContextFile] = []
        to_ask: list[str] = []
        for path, rule in self._rules(directory, self._leave_out_rule):
            if rule.always:
                found += self._rule(path, rule)
            elif rule.description and not rule.globs:
                to_ask.append(f"- {self.label(path)}: {rule.description}")
        if to_ask and (index := self._index(directory, to_ask)):
            found.append(index)
        return found

    def _rules(
        self, directory: Path, unreadable: Callable[[Path, Unreadable], None] = lambda _path, _why: None
    ) -> Iterator[tuple[Path, CursorRule]]:
        for path in rule_files(directory):
            read = read_text(path, self.region)
            if isinstance(read, Unreadable):
                unreadable(path, read)
            elif read is not None and (rule := parse_rule(read.text)).text:
                yield path, rule

    def _leave_out_rule(self, path: Path, found: Unreadable) -> None:
        self._met += 1
        self._leave_out(self.label(path), found.why)

    def _rule(self, place: Path, rule: CursorRule) -> list[ContextFile]:
        label = self.label(place)
        self._met += 1
        if place in self._seen or self.is_known(label):
            return []
        self._seen.add(place)
        file = self._fitted(label, FileText(place, rule.text), "")
        return [] if file is None else [file]

    def _index(self, directory: Path, lines: list[str]) -> ContextFile | None:
        """Rules that the model reads for itself, where its work is about what they are about."""
        text = "\n".join(["Read one of these with read_file when your work is about what it is about:", *lines])
        folder = directory / FOLDER
        self._met += 1
        if self.is_known(self.label(folder)):
            return None
        return self._fitted(self.label(folder), FileText(folder, text), "")

    @property
    def _is_full(self) -> bool:
        """Whether nothing more can come of further mentions."""
        return len(self._seen) > _MOST_FILES or len(self.left_out) > _MOST_LEFT_OUT

    def _leave_out(self, label: str, why: str, to_model: str = "") -> None:
        if len(self.left_out) < _MOST_LEFT_OUT:
            self.left_out.append(LeftOut(label, why, to_model or why))
        elif len(self.left_out) == _MOST_LEFT_OUT:
            more = f"{_MOST_LEFT_OUT} files that cannot be used are named, and no more"
            self.left_out.append(LeftOut("What else was found", more, more))
