"""From a prompt to the command that it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from acp_adapter.commands.command import Desk, SlashCommand, Told, Typed
from acp_adapter.commands.custom import CustomCommand, as_command
from acp_adapter.commands.server_prompts import PromptCommand, prompts_beside
from acp_adapter.commands.server_prompts import as_slash as prompt_as_slash
from acp_adapter.commands.skills import SkillCommand, as_slash, skills_beside
from acp_adapter.commands.table import BUILT_IN, FOR_THE_MODEL, KNOWN_ELSEWHERE
from agent_core.events import CommandsOffered
from agent_core.prompt_parts import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidPart, SaidText

_TYPED = re.compile(r"\s*/(?P<name>[A-Za-z0-9][A-Za-z0-9_:-]*)(?:\s+(?P<rest>.*))?", re.DOTALL)
_SHORTEST_SLIP = 4


def offered(
    custom: Sequence[CustomCommand] = (),
    skills: Sequence[SkillCommand] = (),
    prompts: Sequence[PromptCommand] = (),
    added: Sequence[SlashCommand] = (),
) -> CommandsOffered:
    """The commands that there are: built-in ones, the person's own, plugins', skills, MCP servers' prompts."""
    return CommandsOffered(tuple(command.offer for command in _all(custom, skills, prompts, added).values()))


def is_slashed(parts: Sequence[SaidPart]) -> bool:
    """Whether a prompt may be a command: its first text that is not blank begins with a slash. Never blocks."""
    return _beginning(parts) is not None


def is_at_once(parts: Sequence[SaidPart]) -> bool:
    """Whether a prompt is a command for the running turn, which does not wait for its end."""
    command = BUILT_IN.get(_name(parts)) or _known_elsewhere(parts)
    return command is not None and command.at_once


def typed_command(
    parts: Sequence[SaidPart],
    custom: Sequence[CustomCommand] = (),
    skills: Sequence[SkillCommand] = (),
    prompts: Sequence[PromptCommand] = (),
    added: Sequence[SlashCommand] = (),
) -> Typed | None:
    """The command that a prompt is; None for what is for the model.

    A name that no command has is for the model: it may be a path, or a route of the person's own program. Only
    where it looks like a slip (one letter too many, missing or other, or two swapped, but not the first) the person
    is asked whether they meant the command: nothing is done, and nothing reaches the model.
    """
    commands = _all(custom, skills, prompts, added)
    at, name = _beginning(parts), _name(parts)
    command = commands.get(name) or _known_elsewhere(parts) or _slip(name, commands)
    if command is None or at is None:
        return None
    return Typed(command, _rest(parts), tuple(parts), _rest(_texts(parts)), at)


def _all(
    custom: Sequence[CustomCommand],
    skills: Sequence[SkillCommand],
    prompts: Sequence[PromptCommand],
    added: Sequence[SlashCommand],
) -> Mapping[str, SlashCommand]:
    """Commands by name. A built-in one is never replaced, nor is one of the person's own by one that others bring
    (`added`) or a skill, nor any by a server's prompt.
    """
    if not (custom or skills or prompts or added):
        return BUILT_IN
    own = {one.name: as_command(one) for one in custom if one.name not in BUILT_IN}
    brought = {one.name: one for one in added if one.name not in BUILT_IN and one.name not in own}
    beside = (one for one in skills_beside(skills, {**BUILT_IN, **brought}) if one.name not in own)
    known = {**BUILT_IN, **own, **brought, **{one.name: as_slash(one) for one in beside}}
    return {**known, **{one.name: prompt_as_slash(one) for one in prompts_beside(prompts, known)}}


def _known_elsewhere(parts: Sequence[SaidPart]) -> SlashCommand | None:
    """The command that answers to a name of another agent's, with no more words after it than such a command has.

    What is attached is no word of it: some clients attach the open file to every prompt.
    """
    known = KNOWN_ELSEWHERE.get(_name(parts))
    if known is None or (known.words is not None and len(_rest(_texts(parts)).split()) > known.words):
        return None
    return known.command


def _beginning(parts: Sequence[SaidPart]) -> int | None:
    """Which part begins with a slash: the first text that is not blank, or none.

    Clients put what the person attached, and what they add by themselves, before the words as well as behind them.
    """
    first = next((at for at, part in enumerate(parts) if _text(part).strip()), None)
    return first if first is not None and _text(parts[first]).lstrip().startswith("/") else None


def _name(parts: Sequence[SaidPart]) -> str:
    """What stands between the slash and the first space; '' where there is no such word."""
    at = _beginning(parts)
    found = None if at is None else _TYPED.fullmatch(_text(parts[at]))
    return found["name"].lower() if found is not None else ""


def _rest(parts: Sequence[SaidPart]) -> str:
    """Everything behind the name. A client sends a mention in the middle of a sentence as a part of its own."""
    at = _beginning(parts)
    if at is None:
        return ""
    found = _TYPED.fullmatch(_text(parts[at]))
    words = [found["rest"] or "" if found is not None else "", *map(_in_words, parts[at + 1 :])]
    return " ".join(word for word in map(str.strip, words) if word)


def _texts(parts: Sequence[SaidPart]) -> Sequence[SaidText]:
    return [part for part in parts if isinstance(part, SaidText)]


def _text(part: SaidPart) -> str:
    return part.text if isinstance(part, SaidText) else ""


def _in_words(part: SaidPart) -> str:
    match part:
        case SaidText(text=text):
            return text
        case SaidLink(name=name, uri=uri):
            return name or uri
        case SaidDocument(uri=uri):
            return uri.rstrip("/").rpartition("/")[2]
        case SaidImage() | SaidAudio():
            return ""


def _slip(name: str, commands: Iterable[str]) -> SlashCommand | None:
    meant = sorted(known for known in commands if name and known[0] == name[0] and is_slip(name, known))
    if not meant:
        return None
    names = " or ".join(f"`/{known}`" for known in meant)
    told = Told(
        f"There is no command `/{name}`. Did you mean {names}? Nothing was done, and nothing was sent to the model. "
        f"{FOR_THE_MODEL}"
    )

    def tell(_typed: Typed, _desk: Desk) -> Told:
        return told

    return SlashCommand(name, "", tell)


def is_slip(typed: str, known: str) -> bool:
    """Whether two words of some length differ by one letter, or by two neighbours that are swapped."""
    shorter = min(len(typed), len(known))
    if shorter < _SHORTEST_SLIP or typed == known:
        return False
    start = next((at for at in range(shorter) if typed[at] != known[at]), shorter)
    one, other = typed[start:], known[start:]
    return (
        one[1:] == other  # one too many
        or one == other[1:]  # one missing
        or one[1:] == other[1:]  # another one
        or (one[1::-1] == other[:2] and one[2:] == other[2:])  # two swapped
    )
