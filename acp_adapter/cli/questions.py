"""How an agent's questions are answered: by a policy chosen on the command line, or by the person at the terminal."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from acp_adapter.cli.console import Style
from acp_adapter.cli.interrupts import Interrupts, QuestionAborted
from acp_adapter.cli.terminal_input import InputEnded, Withdrawn, forget_typed, plain_line
from acp_adapter.format import one_line, visible_line

# The policy.

Policy = Literal["ask", "edits", "all", "none"]
Reply = Literal["once", "always", "no", "cancelled", "withdrawn"]

POLICIES: tuple[Policy, ...] = get_args(Policy)

_KINDS: dict[Reply, tuple[str, ...]] = {
    "once": ("allow_once", "allow_always"),
    "always": ("allow_always", "allow_once"),
    "no": ("reject_once", "reject_always"),
    "cancelled": (),
    "withdrawn": (),
}
_NOBODY: dict[Policy, str] = {
    "ask": "denied: there is no terminal to ask on; --approve edits or --approve all allows more",
    "edits": "denied: there is no terminal to ask on; --approve all allows it",
}


_NOTHING_CHOSEN: dict[Reply, str] = {"cancelled": "cancelled", "withdrawn": "no answer is needed any more"}


@dataclass(frozen=True, slots=True)
class Option:
    """One answer that the agent offers; its name is safe to show, on one line."""

    id: str
    kind: str
    name: str


Ask = Callable[[Sequence[Option]], Option | Reply]
"""Puts a question with these answers to the person."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question: an option's id (None cancels), and words for the transcript."""

    option_id: str | None
    words: str


class Approver:
    """Answers the permission questions of one conversation.

    Attributes:
        cancelled: the turn is being cancelled; the protocol then wants every question answered so.
        agent_allows_edits: ordinary edits are not asked about, so that one which is deserves a look.
    """

    def __init__(self, policy: Policy, cwd: Path, ask: Ask | None = None, *, name: str = "--approve") -> None:
        """Set the policy.

        Args:
            policy: which questions are answered without the person.
            cwd: edits below it are what the policy `edits` allows.
            ask: puts the question to the person; None where nobody can be asked, which denies.
            name: what the transcript calls the one that answers by the policy.
        """
        self.cancelled = False
        self.agent_allows_edits = False
        self._policy = policy
        self._cwd = cwd
        self._ask = ask
        self._why = f"by {name} {policy}" if name == "--approve" else f"by {name}"
        self._tool_calls: dict[str, dict[str, Any]] = {}

    def see(self, update: dict[str, Any]) -> None:
        """Remember what a session update tells of a tool call: a question need not repeat it."""
        if update.get("toolCallId"):
            known = self._tool_calls.setdefault(str(update["toolCallId"]), {})
            known.update({key: value for key, value in update.items() if value is not None})

    def decide(self, params: dict[str, Any]) -> Answer:
        """The answer to the `session/request_permission` with `params`."""
        tool_call = params.get("toolCall")
        tool_call = tool_call if isinstance(tool_call, dict) else {}
        self.see(tool_call)
        if self.cancelled:
            return _answer(params, "cancelled")
        match self._policy:
            case "all":
                return _answer(params, "once", self._why)
            case "none":
                return _answer(params, "no", self._why)
            case "edits" if self._may_edit(str(tool_call.get("toolCallId"))):
                return _answer(params, "once", self._why)
        if self._ask is None:
            return Answer(_answer(params, "no").option_id, _NOBODY.get(self._policy, "denied"))
        chosen = self._ask(_options(params))
        return Answer(chosen.id, chosen.name) if isinstance(chosen, Option) else _answer(params, chosen)

    def _may_edit(self, call_id: str) -> bool:
        return not self.agent_allows_edits and _edits_below(self._cwd, self._tool_calls.get(call_id, {}))


def _options(params: dict[str, Any]) -> list[Option]:
    return [_option(option) for option in _list(params.get("options")) if isinstance(option, dict)]


def _option(option: dict[str, Any]) -> Option:
    kind = str(option.get("kind"))
    return Option(str(option.get("optionId")), kind, visible_line(str(option.get("name") or kind)))


def _answer(params: dict[str, Any], reply: Reply, why: str = "") -> Answer:
    for kind in _KINDS[reply]:
        for option in _options(params):
            if option.kind == kind:
                return Answer(option.id, f"{option.name} ({why})" if why else option.name)
    return Answer(None, _NOTHING_CHOSEN.get(reply, "cancelled: no such option was offered"))


def _edits_below(cwd: Path, tool_call: dict[str, Any]) -> bool:
    if tool_call.get("kind") not in ("edit", "delete"):
        return False
    paths = [cwd / path for path in _paths(tool_call)]
    try:
        # What a file really is counts: a link inside may lead outside.
        return bool(paths) and all(_real(path).is_relative_to(cwd.resolve()) for path in paths)
    except (OSError, ValueError):  # no path at all, or links that lead in a circle
        return False


def _real(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path, strict=True))
    except FileNotFoundError:
        # From Python 3.13 on this takes a circle of links for a place, so it is not the first to look.
        return Path(os.path.realpath(path))


def _paths(tool_call: dict[str, Any]) -> Iterator[str]:
    for item in [*_list(tool_call.get("locations")), *_list(tool_call.get("content"))]:
        if isinstance(item, dict) and item.get("path"):
            yield str(item["path"])


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


# Asking the person: to choose with the arrow keys, or to write a line.


class Asking:
    """Puts questions to the person, one after the other. A cancelled turn raises `QuestionAborted` out of them.

    Attributes:
        interrupts: what Ctrl-C does now.
        withdrawn: whether the question that is being asked is no longer one.
    """

    def __init__(self, interrupts: Interrupts, style: Style) -> None:
        self.interrupts = interrupts
        self.withdrawn: Callable[[], bool] = lambda: False
        self.style = style

    @staticmethod
    def possible() -> bool:
        """Whether there is a terminal to ask on."""
        return sys.stdin.isatty() and sys.stdout.isatty()

    def choose(
        self, labels: Sequence[tuple[str, str]], hint: str, *, at: int = 0, marked: Iterable[int] | None = None
    ) -> tuple[int, set[int]]:
        """Let the person choose one of these labels, each with the letter that chooses it or ''.

        Args:
            at: the one that is chosen at first.
            marked: where several may be, those that are at first.

        Returns:
            which one is chosen, and which are marked.

        Raises:
            InputEnded, Withdrawn: they did not.
        """
        with self.interrupts.question():
            if not self.style.live:
                return _chosen_in_a_line(labels, at, marked)
            from acp_adapter.cli.editing import choose  # noqa: PLC0415 - loads prompt_toolkit, where somebody is asked

            return choose(labels, self.style, hint, at=at, marked=marked, is_over=self.withdrawn)

    def line(self, prompt: str) -> str:
        """What the person writes.

        Raises:
            InputEnded, Withdrawn: they wrote nothing.
        """
        with self.interrupts.question():
            if not self.style.live:
                return plain_line(prompt)
            from acp_adapter.cli.editing import Lines  # noqa: PLC0415 - as above

            return Lines().one(prompt, is_over=self.withdrawn)


def _chosen_in_a_line(
    labels: Sequence[tuple[str, str]], at: int, marked: Iterable[int] | None
) -> tuple[int, set[int]]:
    """The same where a terminal only goes forward: numbers are typed, or letters."""
    forget_typed()
    keys: dict[str, int] = {}
    for number, (label, letter) in enumerate(labels):
        print(f"    {number + 1} {f'{letter} ' if letter else ''}{label}")
        keys |= {str(number + 1): number, **({letter: number} if letter else {})}
    while True:
        said = plain_line("    a number or a letter: " if marked is None else "    numbers: ").lower().split()
        numbers = [keys[word] for word in said if word in keys]
        if len(numbers) == len(said) and (marked is not None or len(said) == 1 or not said):
            return numbers[0] if numbers else at, {*numbers} if said else {*(marked or ())}


# Whether something may be done.

_LETTERS: dict[str, str] = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "n"}


def permission_question(asking: Asking) -> Ask | None:
    """The function that asks, or None where standard input or output is no terminal."""
    if not asking.possible():
        return None

    def ask(options: Sequence[Option]) -> Option | Reply:
        letters: list[str] = []
        for option in options:
            letter = _LETTERS.get(option.kind, "")
            letters.append("" if letter in letters else letter)
        arrows = "↑ ↓" if asking.style.signs else "Up, Down,"
        labels = list(zip((option.name for option in options), letters, strict=True))
        try:
            hint = f"{arrows} Enter, or a letter; Esc denies, Ctrl-C cancels the turn"
            return options[asking.choose(labels, hint)[0]] if options else "no"
        except QuestionAborted:
            return "cancelled"
        except Withdrawn:
            return "withdrawn"
        except InputEnded:
            return "no"

    return ask


# A form (ACP v1, `elicitation/create`), field by field.

Json = dict[str, Any]

_OTHER = "_other"
_HINT = "Enter chooses, Esc declines, Ctrl-C cancels the turn"
_HINT_SEVERAL = f"Space marks, {_HINT}"
_ELSE = "Something else"
_LEAVE_OUT = "No answer"


class WrongValue(Exception):
    """What was written is no value for the field; the text says what would be."""


class Forms:
    """Asks what a form asks."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    def fill(self, params: Mapping[str, Any]) -> tuple[Json, str]:
        """The answer to an `elicitation/create` with `params`, and words for the transcript."""
        try:
            if params.get("mode") == "url":
                return self._page()
            content = self._fields(params.get("requestedSchema"))
        except (QuestionAborted, Withdrawn):
            return {"action": "cancel"}, "cancelled"
        except InputEnded:
            return {"action": "decline"}, "declined"
        return {"action": "accept", "content": content}, "; ".join(map(_told, content.values())) or "nothing"

    def _page(self) -> tuple[Json, str]:
        if self._asking.choose([("I have opened it", "y"), ("No", "n")], _HINT)[0]:
            raise InputEnded
        return {"action": "accept"}, "opened"

    def _fields(self, schema: object) -> Json:
        fields = schema.get("properties") if isinstance(schema, Mapping) else None
        required = schema.get("required") if isinstance(schema, Mapping) else None
        fields = fields if isinstance(fields, Mapping) else {}
        fields = {str(name): field for name, field in fields.items() if isinstance(field, Mapping)}
        content: Json = {}
        for name, field in fields.items():
            base = name.removesuffix(_OTHER)
            if base != name and base in fields:
                continue  # asked about with the choices that it stands beside
            has_other = f"{name}{_OTHER}" in fields
            is_needed = name in _list(required)
            content.update(self._field(name, field, has_other=has_other, is_needed=is_needed, alone=len(fields) == 1))
        return content

    def _field(self, name: str, field: Mapping[str, Any], *, has_other: bool, is_needed: bool, alone: bool) -> Json:
        choices = list(_choices(field))
        title = one_line(str(field.get("title") or name))
        if not (alone or (has_other and choices)) or field.get("description"):
            description = one_line(str(field.get("description") or ""))
            print(f"    {title}{f': {description}' if description else ''}", flush=True)
        if field.get("type") == "array":
            return self._several(name, field, choices, has_other=has_other)
        if choices:
            return self._one(name, field, choices, has_other=has_other, is_needed=is_needed)
        return self._written(name, field, is_needed=is_needed)

    def _one(
        self, name: str, field: Mapping[str, Any], choices: list[tuple[Any, str]], *, has_other: bool, is_needed: bool
    ) -> Json:
        more = [_ELSE] if has_other else [] if is_needed else [_LEAVE_OUT]
        labels = [*(label for _, label in choices), *more]
        values = [value for value, _ in choices]
        default = field.get("default")
        first = values.index(default) if default in values else 0
        at, _ = self._asking.choose([(label, "") for label in labels], _HINT, at=first)
        if at < len(choices):
            return {name: values[at]}
        return self._own_words(name) if has_other else {}

    def _several(
        self, name: str, field: Mapping[str, Any], choices: list[tuple[Any, str]], *, has_other: bool
    ) -> Json:
        default = _list(field.get("default"))
        marked = [number for number, (value, _) in enumerate(choices) if value in default]
        labels = [*(label for _, label in choices), *([_ELSE] if has_other else [])]
        if not labels:
            return {}
        _, kept = self._asking.choose([(label, "") for label in labels], _HINT_SEVERAL, marked=marked)
        chosen = [value for number, (value, _) in enumerate(choices) if number in kept]
        content: Json = {name: chosen} if chosen else {}
        return {**content, **(self._own_words(name) if len(choices) in kept else {})}

    def _own_words(self, name: str) -> Json:
        words = self._asking.line(f"    {_ELSE}: ").strip()
        return {f"{name}{_OTHER}": words} if words else {}

    def _written(self, name: str, field: Mapping[str, Any], *, is_needed: bool) -> Json:
        default = field.get("default")
        hint = f" [{one_line(str(default))}]" if default is not None else ""
        while True:
            text = self._asking.line(f"    >{hint} ").strip()
            if not text and (default is not None or not is_needed):
                return {} if default is None else {name: default}
            try:
                return {name: _value(text, str(field.get("type")))}
            except WrongValue as problem:
                print(f"    {problem}", flush=True)


def _choices(field: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """The values to choose from, and what to call them."""
    if field.get("type") == "boolean":
        yield from ((True, "Yes"), (False, "No"))
        return
    items = field.get("items") if field.get("type") == "array" else field
    items = items if isinstance(items, Mapping) else {}
    for value in _list(items.get("enum")):
        yield value, one_line(str(value))
    for named in (*_list(items.get("oneOf")), *_list(items.get("anyOf"))):
        if isinstance(named, Mapping) and "const" in named:
            yield named["const"], one_line(str(named.get("title") or named["const"]))


def _value(text: str, kind: str) -> str | int | float:
    if not text:
        raise WrongValue("It has to be answered; Ctrl-D declines.")
    try:
        match kind:
            case "integer":
                return int(text)
            case "number":
                return _finite(float(text))
    except ValueError as problem:
        raise WrongValue("It has to be a number; Ctrl-D declines.") from problem
    return text


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(number)
    return number


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
