"""Commands that are prompts: Markdown files of the user or the project, skills, and prompts of MCP servers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from acp_adapter.commands.command import AsPrompt, Desk, SlashCommand, Told, Typed, code, plain
from agent_core.errors import RequestError
from agent_core.sessions.titles import clean_title
from agent_core.skill_files import read_skill, split
from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.result import reason_of

if TYPE_CHECKING:
    from agent_core.mcp.offers import OfferedPrompt, PromptArgument
    from agent_core.skills import Skill
    from tools.agent_ports import Origin, SkillFacts, SkillView


# `$ARGUMENTS` and `$1` to `$9` in a command's text: what was typed behind its name.

_PLACE = re.compile(r"\$(?:(ARGUMENTS)\b|([1-9])(?![0-9]))")
ALL = "$ARGUMENTS"


def placed(body: str, arguments: str) -> tuple[str, int]:
    """`body` with the arguments in their places, and how many places there are.

    `$ARGUMENTS` is all of them as they were typed, `$1` to `$9` are single words, or what stands in quotes. A word
    that was not typed is empty. What the arguments themselves hold is not looked at.
    """
    words = _words(arguments)

    def value(found: re.Match[str]) -> str:
        if found[1] is not None:
            return arguments
        place = int(found[2]) - 1
        return words[place] if place < len(words) else ""

    return _PLACE.subn(value, body)


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # an apostrophe is no open quote
        return arguments.split()


# Commands of the user's own: Markdown files whose text is a prompt.
#     ---
#     description: Explain a file
#     argument-hint: path
#     ---
#     Explain $1 to someone who is new here. Mind this: $ARGUMENTS
# The text is only ever a prompt, and only where the person types the command's name: nothing in it is run or read in.

CommandOrigin = Literal["project", "yours"]

_FENCE = "---"
_FIELD = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_-]*)[ \t]*:[ \t]*(?P<value>.*)")
_MARKS = re.compile(r"(?:#{1,6}|>|[-*+])\s+")
_ROOM = 60  # of the 200 characters that a line may have
_QUOTES = "\"'"


@dataclass(frozen=True, slots=True)
class CustomCommand:
    """A command from a file.

    Attributes:
        name: `name`, or `folder:name`.
        description, hint: one line each, without control characters.
        body: the prompt, with `$ARGUMENTS` and `$1` to `$9` in it.
        origin: whose file it is: the project's, which may be anybody's words, or the person's own.
    """

    name: str
    description: str
    hint: str
    body: str
    origin: CommandOrigin


def read_command(name: str, text: str, origin: CommandOrigin) -> CustomCommand | None:
    """The command in a file's text; None where it holds no prompt."""
    head, body = _parts(text.replace("\r\n", "\n"))
    if not body:
        return None
    fields = _fields(head)
    first_line = _MARKS.sub("", body.partition("\n")[0], count=1)
    described = clean_title(fields.get("description", ""), room=_ROOM) or clean_title(first_line, room=_ROOM)
    hint = clean_title(fields.get("argument-hint", ""), room=_ROOM) or ("arguments" if _PLACE.search(body) else "")
    return CustomCommand(name, f"{described} ({origin})".lstrip(), hint, body, origin)


def as_command(custom: CustomCommand) -> SlashCommand:
    """The command, ready to be run."""

    def run(typed: Typed, _desk: Desk) -> AsPrompt:
        return AsPrompt(filled(custom.body, typed.rest))

    return SlashCommand(custom.name, custom.description, run, custom.hint)


def renamed(commands: Iterable[SlashCommand], prefix: str, taken: Collection[str]) -> Iterator[SlashCommand]:
    """The commands, with a prefix to their names where others are called so."""
    return (replace(one, name=prefix + one.name) if one.name in taken else one for one in commands)


def filled(body: str, arguments: str) -> str:
    """`body` with the arguments in their places; where it has none, they follow it."""
    text, places = placed(body, arguments)
    return f"{text}\n\n{arguments}" if arguments and not places else text


def _parts(text: str) -> tuple[list[str], str]:
    """The lines between two lines of three dashes at the beginning, and the text behind them."""
    lines = text.split("\n")
    if lines[0].rstrip() == _FENCE:
        for number, line in enumerate(lines[1:], 1):
            if line.rstrip() == _FENCE:
                return lines[1:number], "\n".join(lines[number + 1 :]).strip()
    return [], text.strip()


def _fields(head: list[str]) -> dict[str, str]:
    """Lines `name: value`. No more of YAML is read: the file may be anybody's."""
    found = (_FIELD.fullmatch(line) for line in head)
    return {field["name"].lower(): _unquoted(field["value"].strip()) for field in found if field is not None}


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] in _QUOTES and value[0] == value[-1]
    return value[1:-1] if is_quoted else value


# Skills as commands: `/NAME words` is a prompt with the skill's instructions and the words; `/skills` lists them.

MOST_OFFERED = 100
SKILL_PREFIX = "skill:"
_HINT = "what to do"
_WIDTH = 140
_MOST_SHOWN = 100
_ORIGINS: dict[Origin, str] = {
    "yours": "Your own",
    "external": "From folders that your settings name",
    "plugin": "From plugins",
    "project": "From this project",
}


def skill_commands(skills: Sequence[Skill], taken: Collection[str]) -> tuple[SlashCommand, ...]:
    """The commands of skills that a person may type, at most a hundred. `taken` are names of the person's own."""
    typed = [skill for skill in skills if skill.head.for_person][:MOST_OFFERED]
    return tuple(renamed(map(_skill_command, typed), SKILL_PREFIX, taken))


def _skill_command(skill: Skill) -> SlashCommand:
    def run(typed: Typed, desk: Desk) -> AsPrompt:
        return _as_prompt(skill.facts.name, typed.rest, desk)

    return SlashCommand(skill.facts.name, _described(skill.facts), run, skill.head.hint or _HINT)


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


# Prompts of MCP servers as commands: `/server:prompt words` is a prompt with what the server makes of the words.

MCP_PREFIX = "mcp:"
_UNUSABLE = re.compile(r"[^a-z0-9_-]+")
_NAMED = re.compile(r"([A-Za-z0-9_.-]+)=(.*)", re.DOTALL)


def prompt_commands(prompts: Iterable[tuple[str, str, OfferedPrompt]]) -> tuple[SlashCommand, ...]:
    """The commands of servers' prompts, at most a hundred. `prompts` are server, its name for tools, prompt."""
    found: dict[str, SlashCommand] = {}
    for server, label, prompt in prompts:
        name = f"{_cleaned(label)}:{_cleaned(prompt.name)}"
        found.setdefault(name, _prompt_command(name, server, prompt))
    return tuple(list(found.values())[:MOST_OFFERED])


def _prompt_command(name: str, server: str, prompt: OfferedPrompt) -> SlashCommand:
    def run(typed: Typed, desk: Desk) -> AsPrompt:
        return AsPrompt(_made_by_server(server, prompt, typed, desk))

    about = prompt.description if len(prompt.description) <= _WIDTH else f"{prompt.description[: _WIDTH - 1]}…"
    hint = " ".join(f"<{one.name}>" if one.required else f"[{one.name}]" for one in prompt.arguments)
    return SlashCommand(name, f"{about} (MCP server)".lstrip(), run, hint)


def _made_by_server(server: str, prompt: OfferedPrompt, typed: Typed, desk: Desk) -> str:
    """What the server makes of it; blocks.

    Raises:
        RequestError: an argument is missing, or the server does not answer. TurnInterrupted: it was cancelled.
    """
    servers = desk.session.servers
    arguments = _arguments(typed, prompt.arguments)
    if servers is None:
        raise RequestError(f"The MCP server {server} is not in this session any more.")
    result = servers.prompt(server, prompt.name, arguments, desk.token)
    if result.failed:
        raise RequestError(
            f"/{typed.command.name} could not be used: {reason_of(result.text)} Nothing was sent to the model."
        )
    desk.session.workspace.approvals.note_others()
    return f"Do what this prompt says, which the MCP server {server} has made for me.\n\n{result.text}"


def _arguments(typed: Typed, arguments: Sequence[PromptArgument]) -> Mapping[str, str]:
    """The arguments of a prompt from what was typed: in their order, the last one whole, or as `name=value`.

    Raises:
        RequestError: one that is required is missing, or there are more than the prompt has.
    """
    command = typed.command
    found, left = _read(typed.rest.strip(), [one.name for one in arguments])
    missing = [one.name for one in arguments if one.required and one.name not in found]
    if missing or left:
        why = f"needs {', '.join(missing)}" if missing else f"has no place for {left!r}"
        raise RequestError(f"/{command.name} {why}. Type it as: /{command.name} {command.hint}".rstrip())
    return found


def _read(text: str, names: Sequence[str]) -> tuple[dict[str, str], str]:
    """The arguments, and what is left over."""
    words = _words(text)
    named = [(_NAMED.fullmatch(word), word) for word in words]
    if words and all(found is not None and found[1] in names for found, _ in named):
        return {found[1]: found[2] for found, _ in named if found is not None}, ""
    if not names:
        return {}, text
    if len(words) > len(names):
        words = [*words[: len(names) - 1], " ".join(words[len(names) - 1 :])]
    if len(names) == 1 and text:
        words = [text]
    return dict(zip(names, words, strict=False)), ""


def _cleaned(name: str) -> str:
    return _UNUSABLE.sub("_", name.lower()).strip("_-") or "prompt"
