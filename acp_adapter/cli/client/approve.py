"""How permission questions are answered: by a policy chosen on the command line, or by the person."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from acp_adapter.cli.terminal.safe_text import visible_line

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
