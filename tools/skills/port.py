"""The port to a session's skills: what there is, what is in it, and where a new one goes.

Reading goes through this port and never leaves a skill's own folder: the home that most skills lie in is private.
What changes a skill is written by the tools through the session's file system, so that it is asked about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from tools.light_dataclass import dataclass

Origin = Literal["yours", "external", "plugin", "project"]
"""Where a skill comes from: the home, a folder that the settings name, a plugin, or the project, which may be
anybody's."""

SKILL_FILE = "SKILL.md"
SUBFOLDERS = ("references", "templates", "scripts", "assets")
"""Where the tools write what a skill has beside its SKILL.md."""


@dataclass(frozen=True, slots=True)
class SkillFacts:
    """A skill as lists show it.

    Attributes:
        name: the folder's name: small letters, digits and single hyphens, 64 at most.
        description: one line.
        category: the folders between the skills' folder and this one, joined by `/`; '' for none.
        folder: absolute, symbolic links resolved.
        hidden_by: the origin of the skill of the same name that is used in its place; '' where it is used itself.
    """

    name: str
    description: str
    category: str
    origin: Origin
    folder: Path
    hidden_by: str = ""

    @property
    def address(self) -> str:
        """The name that finds it: of a hidden one with its origin before it."""
        return f"{self.origin}:{self.name}" if self.hidden_by else self.name


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """A folder that would be a skill, and why it is none; or why a place was not looked at to its end."""

    place: str
    origin: Origin
    reason: str


@dataclass(frozen=True, slots=True)
class SkillView:
    """A file of a skill.

    Attributes:
        file: relative to the skill's folder.
        text: None where it is no text.
        size: in bytes.
        files: the others of the skill, relative, by name.
        left_out: how many more there are.
    """

    skill: SkillFacts
    file: str
    text: str | None
    size: int
    files: tuple[str, ...] = ()
    left_out: int = 0


class Skills(Protocol):
    """A session's skills. Every method may block for files, and looks at them as they are now."""

    def listed(self) -> Sequence[SkillFacts]:
        """All of them by name, those that are hidden by another of the same name too."""
        ...

    def problems(self) -> Sequence[SkillProblem]:
        """What is no skill, and why."""
        ...

    def view(self, name: str, file_path: str = "") -> SkillView:
        """A file of a skill, SKILL.md without a path.

        Raises:
            ToolError: there is no such skill or file, or it cannot be shown; what there is instead.
        """
        ...

    def find(self, name: str) -> SkillFacts:
        """A skill to be changed, also one that is broken.

        Raises:
            ToolError: there is none, or it is not to be changed by tools.
        """
        ...

    def new_folder(self, name: str, category: str) -> Path:
        """Where a new skill of the user's goes.

        Raises:
            ToolError: the name or the category cannot be one, or the name is taken.
        """
        ...

    def content(self, skill: SkillFacts, file_path: str) -> bytes | None:
        """The bytes of a file; None where there is none.

        Raises:
            ToolError: it cannot be read.
        """
        ...

    def contents(self, skill: SkillFacts) -> Mapping[str, bytes]:
        """Every file of a skill, by its relative path.

        Raises:
            ToolError: there are too many for a tool, or one cannot be read.
        """
        ...

    def check(self, name: str, file_path: str, data: bytes) -> None:
        """Whether a file of a skill may be so.

        Raises:
            ToolError: why not.
        """
        ...

    def keep(self, skill: SkillFacts, contents: Mapping[str, bytes]) -> Path:
        """Copy a skill that is about to be deleted; where to.

        Raises:
            ToolError: it cannot be written.
        """
        ...

    def drop(self, copy: Path) -> None:
        """Remove a copy again: the skill stays."""
        ...

    def tidy(self, skill: SkillFacts) -> None:
        """Remove the folders of a skill that are empty now."""
        ...
