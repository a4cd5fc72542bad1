"""What `skill_manage` does with a skill: each change is checked, then written through the session's file system."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools import arguments
from tools.context import ToolContext
from tools.environments.together import ChangesTogether, FileChange, change_all
from tools.errors import FileChanged, ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.result import ShownDiff
from tools.skills.paths import inner_path
from tools.skills.port import SKILL_FILE, SkillFacts, Skills
from tools.text.matching import occurrences


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a change.

    Attributes:
        status: created, changed, unchanged or deleted.
        copy: where a deleted skill was copied to.
    """

    status: str
    name: str
    file: str
    shown: tuple[ShownDiff, ...] = ()
    copy: Path | None = None

    @property
    def paths(self) -> list[str]:
        """The files that it changed."""
        return [str(diff.path) for diff in self.shown]


@dataclass(frozen=True, slots=True)
class Changes:
    """The actions, by the names that models use. Each raises `ToolError` and leaves everything as it is."""

    skills: Skills
    ctx: ToolContext

    def create(self, name: str, args: Mapping[str, Any]) -> Done:
        """Make a skill of the user's with this SKILL.md."""
        data = _encoded(arguments.text(args, "content"))
        folder = self.skills.new_folder(name, arguments.text(args, "category", "").strip())
        self.skills.check(name, SKILL_FILE, data)
        return self._write(name, folder / SKILL_FILE, SKILL_FILE, None, data)

    def edit(self, name: str, args: Mapping[str, Any]) -> Done:
        """Replace all of its SKILL.md."""
        skill = self.skills.find(name)
        data = _encoded(arguments.text(args, "content"))
        return self._put(skill, SKILL_FILE, self.skills.content(skill, SKILL_FILE), data)

    def patch(self, name: str, args: Mapping[str, Any]) -> Done:
        """Replace a piece of a file."""
        skill = self.skills.find(name)
        file = inner_path(arguments.text(args, "file_path", "") or SKILL_FILE)
        old, new = arguments.text(args, "old_string"), arguments.text(args, "new_string")
        before = self.skills.content(skill, file)
        if before is None:
            raise ToolError(f"The skill {skill.name} has no file {file!r}. skill_view tells its files.")
        text = _text(before, file)
        if not old:
            raise ToolError("old_string is empty: give the piece of text to replace, or use edit or write_file.")
        found = len(occurrences(text, old))
        if not found:
            raise ToolError(f"old_string is not in {file}; nothing was changed. Read it with skill_view.")
        if found > 1 and not arguments.boolean(args, "replace_all"):
            raise ToolError(
                f"old_string is in {file} {found} times; nothing was changed. Give more of the text around it, or "
                "replace_all."
            )
        return self._put(skill, file, before, _encoded(text.replace(old, new)))

    def write_file(self, name: str, args: Mapping[str, Any]) -> Done:
        """Write a file beside its SKILL.md."""
        skill = self.skills.find(name)
        file = inner_path(arguments.text(args, "file_path"))
        before = self.skills.content(skill, file)
        return self._put(skill, file, before, _encoded(arguments.text(args, "file_content")))

    def remove_file(self, name: str, args: Mapping[str, Any]) -> Done:
        """Delete a file beside its SKILL.md."""
        skill = self.skills.find(name)
        file = inner_path(arguments.text(args, "file_path"))
        path = skill.folder / file
        before = self.skills.content(skill, file)
        if before is None:
            raise ToolError(f"The skill {skill.name} has no file {file!r}. skill_view tells its files.")
        if file == SKILL_FILE:
            raise ToolError(f"Without its {SKILL_FILE} it is no skill any more: use delete for all of it.")
        self.ctx.fs.remove(path, expected=before)
        self.skills.tidy(skill)
        return Done("deleted", skill.name, file, (ShownDiff(path, _shown(before), None),))

    def delete(self, name: str, _args: Mapping[str, Any]) -> Done:
        """Delete all of a skill; a copy is kept."""
        skill = self.skills.find(name)
        contents = self.skills.contents(skill)
        changes = [FileChange(skill.folder / file, data, None) for file, data in contents.items()]
        copy = self.skills.keep(skill, contents)
        try:
            self._make(changes)
        except (ToolError, ToolInterrupted):
            self.skills.drop(copy)
            raise
        self.skills.tidy(skill)
        shown = tuple(ShownDiff(change.path, _shown(change.before), None) for change in changes)
        return Done("deleted", skill.name, "", shown, copy)

    def _put(self, skill: SkillFacts, file: str, before: bytes | None, data: bytes) -> Done:
        self.skills.check(skill.name, file, data)
        if data == before:
            return Done("unchanged", skill.name, file)
        return self._write(skill.name, skill.folder / file, file, before, data)

    def _write(self, name: str, path: Path, file: str, before: bytes | None, data: bytes) -> Done:
        written = self.ctx.fs.write(path, data, expected=before)
        diff = ShownDiff(path, _shown(before), _shown(written))
        return Done("created" if before is None else "changed", name, file, (diff,))

    def _make(self, changes: list[FileChange]) -> None:
        if isinstance(self.ctx.fs, ChangesTogether):
            self.ctx.fs.change_all(changes)
        else:
            change_all(self.ctx.fs, changes)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as problem:
        raise ToolError(
            f"The text holds half a surrogate pair at character {problem.start}: nothing was written. Send it again "
            "without it."
        ) from problem


def _text(data: bytes, file: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        raise FileChanged(
            f"{file} is no UTF-8 text: nothing was changed. Write it anew with write_file."
        ) from problem


def _shown(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")
