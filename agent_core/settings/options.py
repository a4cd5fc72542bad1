"""What a person can choose for a session, as any front end may show it, and what was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args

from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.providers.base import ReasoningEffort
    from tools.approval.policy import EditPolicy, Mode


# Named tuples are the cheapest to define and to make: these are loaded before the first session, by the hundred.


class Choice(NamedTuple):
    """One value of an option."""

    value: str
    name: str
    description: str = ""


class ChoiceGroup(NamedTuple):
    """Choices that belong together, as the models of one provider do."""

    id: str
    name: str
    choices: tuple[Choice, ...]


class Option(NamedTuple):
    """Something to choose, with its present value.

    Attributes:
        category: what it is about, for front ends that show some options in a place of their own; '' for none.
        value: one of the choices; a bool makes it a switch, which has no choices.
        choices, groups: at most one of the two is there.
    """

    id: str
    name: str
    description: str
    category: str
    value: str | bool
    choices: tuple[Choice, ...] = ()
    groups: tuple[ChoiceGroup, ...] = ()


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SessionChoices:
    """The choices; each default is what the settings say, or the careful value.

    Attributes:
        edits: whether edits are asked about as the mode says, or always.
        model: provider:model; '' is the settings' choice.
        effort: how much the model thinks; None is the settings' choice.
        thoughts: show the model's reasoning.
        editor_terminals: run commands in the editor's terminals, where it offers them.
    """

    mode: Mode = "default"
    edits: EditPolicy = "mode"
    model: str = ""
    effort: ReasoningEffort | None = None
    thoughts: bool = True
    editor_terminals: bool = False

    def stored(self) -> dict[str, Any]:
        """What was chosen, without the mode, which a stored session has in a place of its own."""
        values = {"edits": self.edits, "model": self.model, "effort": self.effort}
        switches = {"thoughts": self.thoughts, "editor_terminals": self.editor_terminals}
        defaults = SessionChoices()
        return {name: value for name, value in {**values, **switches}.items() if value != getattr(defaults, name)}

    @classmethod
    def from_stored(cls, mode: str, options: Mapping[str, Any]) -> SessionChoices:
        """The choices of a stored session; values that this version does not know become the careful ones."""
        from agent_core.providers.base import ReasoningEffort  # noqa: PLC0415
        from tools.approval.policy import EditPolicy, Mode  # noqa: PLC0415

        careful = cls()
        model = options.get("model")
        return cls(
            mode=_one_of(mode, get_args(Mode), careful.mode),
            edits=_one_of(options.get("edits"), get_args(EditPolicy), careful.edits),
            model=model if isinstance(model, str) else "",
            effort=_one_of(options.get("effort"), get_args(ReasoningEffort), None),
            thoughts=_switch(options, "thoughts", careful.thoughts),
            editor_terminals=_switch(options, "editor_terminals", careful.editor_terminals),
        )


def _one_of(value: object, known: tuple[_T, ...], otherwise: _T) -> _T:
    return next((name for name in known if name == value), otherwise)


def _switch(options: Mapping[str, Any], name: str, otherwise: bool) -> bool:
    value = options.get(name)
    return value if isinstance(value, bool) else otherwise
