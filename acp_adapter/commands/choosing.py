"""`/model`, `/mode`, `/plan` and `/reasoning`: what is chosen for the session, shown and changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from acp_adapter.commands.command import AsPrompt, Desk, Outcome, Told, Typed
from acp_adapter.commands.markdown import code, plain
from agent_core.errors import RequestError

if TYPE_CHECKING:
    from agent_core.options import Choice, Option

_MOST_SHOWN = 60
_MOST_OF_A_GROUP = 12
_MOST_ALIKE = 10
_DOCTOR = "Look at your settings (`hermes-acp doctor`)."
_HOW = {"thought_level": "The model has no levels of it; `/model` chooses another one."}
_SHOWS = {"show": True, "hide": False}


def choose_model(typed: Typed, desk: Desk) -> Told:
    """Without words show the models, with some choose one."""
    return _choose("model", "Model", typed, desk)


def choose_mode(typed: Typed, desk: Desk) -> Told:
    """Without words show the modes, with one choose it."""
    return _choose("mode", "Mode", typed, desk)


def choose_effort(typed: Typed, desk: Desk) -> Told:
    """How much the model thinks, shown or chosen; `show` and `hide` are about whether its thoughts are shown."""
    if (shown := _SHOWS.get(typed.words.lower())) is not None:
        desk.choose("thoughts", shown)
        return Told("The model's thinking is shown." if shown else "The model's thinking is not shown.")
    return _choose("thought_level", "Thinking", typed, desk)


def plan_first(typed: Typed, desk: Desk) -> Outcome:
    """Choose the mode in which nothing is changed; with words, these are the prompt."""
    desk.choose("mode", "plan")
    if typed.rest:
        return AsPrompt(typed.rest)
    return Told(f"Mode: {code('plan')}. Nothing is changed until you approve a plan; `/mode default` ends this.")


def matching(wanted: str, choices: Sequence[Choice]) -> Sequence[Choice]:
    """The choices that `wanted` may mean: the one of that name, else all that begin so, else all that hold it."""
    words = wanted.casefold()
    for fits in (_is, _begins, _holds):
        found = [choice for choice in choices if any(fits(name, words) for name in _names(choice))]
        if found:
            return found
    return ()


def _choose(option_id: str, title: str, typed: Typed, desk: Desk) -> Told:
    option = next((one for one in desk.options() if one.id == option_id), None)
    if option is None:
        raise RequestError(f"There is no {title.lower()} to choose here. {_HOW.get(option_id, _DOCTOR)}")
    if not typed.words:
        return Told(_shown(title, option, typed.command.name))
    choices = list(_choices(option))
    found = matching(typed.words, choices)
    if len(found) > 1:
        alike = [f"- {code(choice.value)}" for choice in found[:_MOST_ALIKE]]
        more = [f"- … and {len(found) - _MOST_ALIKE} more"] if len(found) > _MOST_ALIKE else []
        several = f"{code(typed.words)} fits several, so nothing was changed. Write more of one:"
        return Told("\n".join([several, "", *alike, *more]))
    value = found[0].value if found else _unlisted(title, typed, option)
    if value == option.value:
        return Told(f"{title}: {code(value)}, as before.")
    desk.choose(option.id, value)
    return Told(f"{title}: {code(value)}, from the next request on.")


def _unlisted(title: str, typed: Typed, option: Option) -> str:
    """A value that is not in the list: a model may be named that its server does not list.

    Raises:
        RequestError: it cannot be one.
    """
    if option.id == "model" and ":" in typed.words.strip(":") and not typed.words.split()[1:]:
        return typed.words
    raise RequestError(
        f"There is no {title.lower()} {typed.words[:80]!r}; nothing was changed. /{typed.command.name} lists them."
    )


def _shown(title: str, option: Option, name: str) -> str:
    lines = [f"**{title}:** {code(str(option.value))}", ""]
    if option.groups:
        left = _MOST_SHOWN
        for group in option.groups:
            shown = group.choices[: min(left, _MOST_OF_A_GROUP)]
            left -= len(shown)
            lines += [f"**{plain(group.name)}** ({len(group.choices)})", *map(_line, shown)]
            lines += [f"- … and {len(group.choices) - len(shown)} more"] if len(shown) < len(group.choices) else []
            lines.append("")
    else:
        lines += [*map(_line, option.choices[:_MOST_SHOWN]), ""]
    return "\n".join([*lines, f"`/{name} …` chooses: a part of the name is enough where only one has it."])


def _line(choice: Choice) -> str:
    named = f": {plain(choice.name)}" if choice.name not in {choice.value, choice.value.partition(":")[2]} else ""
    described = f". {plain(choice.description)}" if choice.description else ""
    return f"- {code(choice.value)}{named}{described}"


def _choices(option: Option) -> Iterator[Choice]:
    yield from option.choices
    for group in option.groups:
        yield from group.choices


def _names(choice: Choice) -> tuple[str, ...]:
    return tuple(name.casefold() for name in (choice.value, choice.value.partition(":")[2], choice.name) if name)


def _is(name: str, words: str) -> bool:
    return name == words


def _begins(name: str, words: str) -> bool:
    return name.startswith(words)


def _holds(name: str, words: str) -> bool:
    return words in name
