"""A session's skills as they are now: found, read where they are new or have changed, checked, by name."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from agent_core.skills.finding import Found, Source, survey
from agent_core.skills.frontmatter import BadSkill, Head, read_skill
from agent_core.skills.reading import Refusal, Unreadable, as_text, read_file
from tools.agent_ports import SKILL_FILE, Origin, SkillFacts, SkillProblem
from tools.light_dataclass import dataclass
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
        refusal: Refusal = lambda _: "",
    ) -> None:
        """Make it.

        Args:
            sources: where skills may be now; of two sources of the same origin the earlier one wins.
            disabled: names of skills that are not used.
            refusal: why a file must not be read.
        """
        self._sources = sources
        self._disabled = disabled
        self.refusal = refusal
        self._lock = threading.Lock()
        self._seen: tuple[Sequence[Found], Sequence[SkillProblem]] = ((), ())
        self._read: dict[Found, Head | str] = {}
        self._shelf = Shelf()

    @property
    def seen(self) -> Shelf:
        """The skills as they were last looked at. Never waits."""
        return self._shelf

    def look(self) -> Shelf:
        """Look at the folders, and read what is new or has changed. Blocks."""
        with self._lock:
            cuts: list[SkillProblem] = []
            seen = list(self._found(cuts)), cuts
            if seen != self._seen:
                self._read = {
                    found: self._read[found] if found in self._read else _read(found, self.refusal)
                    for found in seen[0]
                }
                self._shelf, self._seen = self._arranged(cuts), seen
            return self._shelf

    def _arranged(self, cuts: Sequence[SkillProblem]) -> Shelf:
        problems, skills = [*cuts], []
        for found, outcome in self._read.items():
            if isinstance(outcome, str):
                problems.append(SkillProblem(_told(found.folder), found.origin, outcome))
            elif found.name not in self._disabled:
                skills.append(Skill(_facts(found, outcome), outcome))
        return Shelf(_by_name(skills), tuple(sorted(problems, key=lambda problem: problem.place)))

    def _found(self, cuts: list[SkillProblem]) -> Iterator[Found]:
        seen: set[str] = set()
        for source in sorted(self._sources(), key=lambda source: _ORDER.index(source.origin)):
            root, result = survey(source)
            if not root or root in seen:
                continue
            seen.add(root)
            if result.cut:
                cuts.append(SkillProblem(_told(str(source.path)), source.origin, result.cut))
            for found in result.found:
                if found.folder not in seen:
                    seen.add(found.folder)
                    yield found


def blocked(text: str) -> str:
    """Why a text must not be shown to a model, as the scanner says it; '' where it may be."""
    result = scan(text, "skill")
    return result.reason if result.is_blocked else ""


def _read(found: Found, refusal: Refusal) -> Head | str:
    """What a skill says of itself, or why it is none."""
    folder = Path(found.folder)
    try:
        text = as_text(read_file(folder / SKILL_FILE, folder, refusal))
        if text is None:
            return f"its {SKILL_FILE} is no UTF-8 text"
        head = read_skill(text, found.name)
    except FileNotFoundError:
        return f"its {SKILL_FILE} leads nowhere"
    except Unreadable as problem:
        return f"of its {SKILL_FILE}: {problem}"
    except BadSkill as problem:
        return str(problem)
    # In YAML a text may be written in pieces that look like nothing.
    reason = blocked(text) or blocked(f"{head.description}\n{head.hint}")
    return f"it is blocked, because its text looks like an attack: {reason}" if reason else head


def _facts(found: Found, head: Head) -> SkillFacts:
    # What folders are called may be anybody's words, and goes into lists.
    category = found.category if _CATEGORY.fullmatch(found.category) else ""
    return SkillFacts(head.name, head.description, category, found.origin, Path(found.folder))


def _told(path: str) -> str:
    """A path as it can be written down: names may be no UTF-8."""
    return path.encode("utf-8", "backslashreplace").decode()


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
