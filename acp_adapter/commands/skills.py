"""Skills as commands: `/NAME words` is a prompt with the skill's instructions and the words; `/skills` lists them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acp_adapter.commands.arguments import ALL, placed
from acp_adapter.commands.command import AsPrompt, Desk, SlashCommand, Told, Typed
from acp_adapter.commands.markdown import code, plain
from agent_core.errors import RequestError
from agent_core.events import Command
from tools.errors import ToolError
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.skills.library import Skill
    from tools.agent_ports import Origin, SkillFacts, SkillView

MOST_OFFERED = 100
_PREFIX = "skill:"
_HINT = "what to do"
_WIDTH = 140
_MOST_SHOWN = 100
_ORIGINS: dict[Origin, str] = {
    "yours": "Your own",
    "external": "From folders that your settings name",
    "plugin": "From plugins",
    "project": "From this project",
}


@dataclass(frozen=True, slots=True)
class SkillCommand:
    """A skill as a command.

    Attributes:
        name: as it is typed: the skill's, or `skill:NAME` where another command is called so.
        skill: the skill's name.
        hint: what may follow the name.
    """

    name: str
    skill: str
    description: str
    hint: str = _HINT

    @property
    def offer(self) -> Command:
        """The command as a client is told of it."""
        return Command(self.name, self.description, self.hint)


def skill_commands(skills: Sequence[Skill], taken: Collection[str]) -> tuple[SkillCommand, ...]:
    """The commands of skills that a person may type, at most a hundred. `taken` are names of the person's own."""
    typed = [skill for skill in skills if skill.head.for_person][:MOST_OFFERED]
    return tuple(
        SkillCommand(
            _PREFIX + skill.facts.name if skill.facts.name in taken else skill.facts.name,
            skill.facts.name,
            _described(skill.facts),
            skill.head.hint or _HINT,
        )
        for skill in typed
    )


def skills_beside(skills: Sequence[SkillCommand], built_in: Collection[str]) -> Iterator[SkillCommand]:
    """The commands, by other names where built-in ones are called so."""
    for skill in skills:
        yield replace(skill, name=_PREFIX + skill.name) if skill.name in built_in else skill


def as_slash(skill: SkillCommand) -> SlashCommand:
    """The command, ready to be run."""

    def run(typed: Typed, desk: Desk) -> AsPrompt:
        return _as_prompt(skill.skill, typed.rest, desk)

    return SlashCommand(skill.name, skill.description, run, skill.hint)


def show_skills(_typed: Typed, desk: Desk) -> Told:
    """The skills by where they come from, with what is wrong with broken ones."""
    skills = desk.session.workspace.skills
    if skills is None:
        return Told("Skills are turned off in your settings (`skills.enabled`).")
    listed, problems = skills.listed(), skills.problems()
    lines: list[str] = []
    left = _MOST_SHOWN
    for origin, title in _ORIGINS.items():
        found = [facts for facts in listed if facts.origin == origin]
        if found:
            lines += [f"**{title}** ({len(found)})", *map(_line, found[:left]), ""]
            lines += [f"- … and {len(found) - left} more", ""] if len(found) > left else []
            left = max(0, left - len(found))
    if problems:
        lines.append("**Not used**")
        lines += [f"- {code(problem.place)}: {plain(problem.reason)}" for problem in problems[:_MOST_SHOWN]]
        lines += [f"- … and {len(problems) - _MOST_SHOWN} more"] if len(problems) > _MOST_SHOWN else []
    if not lines:
        own = desk.factory.home.root / "skills" / "NAME" / "SKILL.md"
        return Told(f"There are no skills. One of your own is {code(str(own))}; a project's is in `.agents/skills`.")
    return Told("\n".join(lines).rstrip())


def _as_prompt(name: str, words: str, desk: Desk) -> AsPrompt:
    """The prompt of a skill that the person typed.

    Raises:
        RequestError: it cannot be read.
    """
    skills = desk.session.workspace.skills
    if skills is None:
        raise RequestError("Skills are turned off in your settings.")
    try:
        view = skills.view(name)
        body, has_taken = _instructions(view, words)
    except (ToolError, ValueError) as problem:  # it may have become no skill just now
        raise RequestError(f"{problem} Nothing was sent to the model.") from problem
    asked = (
        f"What I want:\n\n{words}"
        if words and not has_taken
        else "Begin with it; ask me if something that you need is missing."
    )
    return AsPrompt(f"{_introduced(view, body)}\n\n{asked}")


def _instructions(view: SkillView, words: str) -> tuple[str, bool]:
    """The text below the head, and whether it has taken the words in.

    It does where it has `$ARGUMENTS`, or its head says what may follow the name: in others `$1` may be code.
    """
    from agent_core.skills.frontmatter import read_skill, split  # noqa: PLC0415 - it loads more than the start needs

    text = view.text or ""
    _, body = split(text)
    if ALL not in body and not read_skill(text, view.skill.name).hint:
        return body, False
    filled, places = placed(body, words)
    return filled, places > 0


def _introduced(view: SkillView, body: str) -> str:
    skill = view.skill
    files = f" Its other files ({', '.join(view.files)}) are read with skill_view." if view.files else ""
    return (
        f"Follow the skill {skill.name} now. Its folder is {skill.folder}.{files}\n\n"
        f'<skill name="{skill.name}">\n{body.strip()}\n</skill>'
    )


def _described(facts: SkillFacts) -> str:
    mark = "project skill" if facts.origin == "project" else "skill"
    return f"{_short(facts.description)} ({mark})"


def _line(facts: SkillFacts) -> str:
    hidden = (
        f" *(hidden by the one that is {facts.hidden_by}; {code(facts.address)} finds it)*" if facts.hidden_by else ""
    )
    category = f" ({plain(facts.category)})" if facts.category else ""
    return f"- {code(facts.name)}{category}: {plain(_short(facts.description))}{hidden}"


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1].rstrip()}…"
