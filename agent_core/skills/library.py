"""A session's skills as they are now: found, read where they are new or have changed, checked, by name."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent_core.skills.finding import Found, Source, survey
from agent_core.skills.frontmatter import BadSkill, Head, read_skill
from agent_core.skills.reading import IsDenied, Unreadable, as_text, read_file
from tools.skills.port import SKILL_FILE, Origin, SkillFacts, SkillProblem
from tools.untrusted.scanner import scan

_ORDER: tuple[Origin, ...] = ("yours", "external", "plugin", "project")
_CATEGORY = re.compile(r"[A-Za-z0-9._-]{1,64}(?:/[A-Za-z0-9._-]{1,64}){0,3}")


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill that can be used, and what its head says."""

    facts: SkillFacts
    head: Head


@dataclass(frozen=True, slots=True)
class Shelf:
    """Everything that was found: `skills` by name, `problems` by place."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[SkillProblem, ...] = ()

    @property
    def used(self) -> tuple[Skill, ...]:
        """Those that no other of the same name hides."""
        return tuple(skill for skill in self.skills if not skill.facts.hidden_by)


class SkillLibrary:
    """The skills of one session. Thread-safe; nothing is read before the first `look`."""

    def __init__(
        self,
        sources: Callable[[], Sequence[Source]],
        disabled: frozenset[str] = frozenset(),
        is_denied: IsDenied = lambda _: False,
    ) -> None:
        """Make it.

        Args:
            sources: where skills may be now; of two sources of the same origin the earlier one wins.
            disabled: names of skills that are not used.
            is_denied: whether the user's rules deny reading a file.
        """
        self._sources = sources
        self._disabled = disabled
        self.is_denied = is_denied
        self._lock = threading.Lock()
        self._read: dict[Found, Head | str] = {}
        self._shelf = Shelf()

    @property
    def seen(self) -> Shelf:
        """The skills as they were last looked at. Never waits."""
        return self._shelf

    def look(self) -> Shelf:
        """Look at the folders, and read what is new or has changed. Blocks."""
        with self._lock:
            read: dict[Found, Head | str] = {}
            problems: list[SkillProblem] = []
            skills: list[Skill] = []
            for found in self._found(problems):
                outcome = self._read[found] if found in self._read else _read(found, self.is_denied)
                read[found] = outcome
                if isinstance(outcome, str):
                    problems.append(SkillProblem(_told(found.folder), found.origin, outcome))
                elif found.name not in self._disabled:
                    skills.append(Skill(_facts(found, outcome), outcome))
            self._read = read
            self._shelf = Shelf(_by_name(skills), tuple(sorted(problems, key=lambda problem: problem.place)))
            return self._shelf

    def _found(self, problems: list[SkillProblem]) -> Iterator[Found]:
        seen: set[Path] = set()
        for source in sorted(self._sources(), key=lambda source: _ORDER.index(source.origin)):
            root, result = survey(source)
            if root is None or root in seen:
                continue
            seen.add(root)
            if result.cut:
                problems.append(SkillProblem(_told(source.path), source.origin, result.cut))
            for found in result.found:
                if found.folder not in seen:
                    seen.add(found.folder)
                    yield found


def blocked(text: str) -> str:
    """Why a text must not be shown to a model, as the scanner says it; '' where it may be."""
    result = scan(text, "skill")
    return result.reason if result.is_blocked else ""


def _read(found: Found, is_denied: IsDenied) -> Head | str:
    """What a skill says of itself, or why it is none."""
    try:
        text = as_text(read_file(found.folder / SKILL_FILE, found.folder, is_denied))
        if text is None:
            return f"its {SKILL_FILE} is no UTF-8 text"
        head = read_skill(text, found.name)
    except FileNotFoundError:
        return f"its {SKILL_FILE} leads nowhere"
    except Unreadable as problem:
        return f"of its {SKILL_FILE}: {problem}"
    except BadSkill as problem:
        return str(problem)
    reason = blocked(text)
    return f"it is blocked, because its text looks like an attack: {reason}" if reason else head


def _facts(found: Found, head: Head) -> SkillFacts:
    # What folders are called may be anybody's words, and goes into lists.
    category = found.category if _CATEGORY.fullmatch(found.category) else ""
    return SkillFacts(head.name, head.description, category, found.origin, found.folder)


def _told(path: Path) -> str:
    """A path as it can be written down: names may be no UTF-8."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _by_name(skills: Sequence[Skill]) -> tuple[Skill, ...]:
    """The skills by name; those that an earlier one of the same name hides say so."""
    first: dict[str, Origin] = {}
    marked: list[Skill] = []
    for skill in skills:
        name, origin = skill.facts.name, skill.facts.origin
        if name in first:
            marked.append(replace(skill, facts=replace(skill.facts, hidden_by=first[name])))
        else:
            first[name] = origin
            marked.append(skill)
    return tuple(sorted(marked, key=lambda skill: (skill.facts.name, bool(skill.facts.hidden_by))))
