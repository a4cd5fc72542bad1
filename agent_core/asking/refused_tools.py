"""Tools whose schema the model's server refuses: found, left out of the requests, and remembered.

Servers refuse the whole request for one tool, and some do not say for which: then small questions with some of the
tools each tell.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

from agent_core.asking.attempt import ask_once
from agent_core.asking.reply import CallIds, Collector
from agent_core.callbacks import AgentCallbacks
from agent_core.errors import ProviderError
from agent_core.interrupt import CancelToken
from agent_core.mcp.names import PREFIX
from agent_core.providers.base import ModelRequest, Provider, Usage
from agent_core.providers.choice import ModelChoice
from agent_core.providers.errors import ClassifiedError, classify
from agent_core.providers.json_fragments import RequestParts
from agent_core.providers.lessons import Lessons, tool_lesson
from tools.light_dataclass import dataclass

_MOST = 30
_MOST_QUESTIONS = 40
_QUESTION = "Answer with the word ok, and call no tool."
_ANSWER_TOKENS = 16

Tool = dict[str, Any]


class _CannotTell(Exception):
    """A question was refused for another reason."""


@dataclass(slots=True)
class RefusedTools:
    """What is left out of one turn's requests.

    Attributes:
        count: is told what each question used.
    """

    lessons: Lessons
    token: CancelToken
    count: Callable[[Usage, ModelChoice], None]
    _left_out: dict[str, str] = field(default_factory=dict)
    _rounds: int = 0
    _searched: bool = False

    def applied(self, request: ModelRequest, choice: ModelChoice) -> ModelRequest:
        """The request without the tools that the server is known to refuse."""
        known = {lesson.name for lesson in self.lessons.of(choice) if lesson.tool} | self._left_out.keys()
        if not known:
            return request
        return replace(request, tools=tuple(tool for tool in request.tools if tool_lesson(tool) not in known))

    def is_open(self, failure: ClassifiedError, request: ModelRequest) -> bool:
        """Whether a tool may be what the server refuses, and there is a way left to find it."""
        if self._rounds >= _MOST or not request.tools:
            return False
        if failure.reason == "tool_schema":
            return bool(_named(failure, request)) or not self._searched
        return failure.unexplained and not self._searched and any(map(_is_foreign, request.tools))

    def leave_out(
        self, failure: ClassifiedError, request: ModelRequest, provider: Provider, choice: ModelChoice
    ) -> tuple[str, ...]:
        """Leave out the tools that the server refuses; their names, none where they cannot be found.

        Args:
            request: that was refused.

        Raises:
            TurnInterrupted: the turn was cancelled.
        """
        self._rounds += 1
        found: Sequence[Tool] = _named(failure, request)
        if not found:
            self._searched = True
            found = self._find(failure, request, provider, choice)
        self._left_out |= {tool_lesson(tool): tool["function"]["name"] for tool in found}
        return tuple(tool["function"]["name"] for tool in found)

    def worked(self, choice: ModelChoice) -> tuple[str, ...]:
        """The request has its answer: what was left out stays so. The names of the tools that are new among them."""
        found, self._left_out, self._searched, self._rounds = self._left_out, {}, False, 0
        self.lessons.keep(choice, found.keys())
        return tuple(found.values())

    def begin_anew(self) -> None:
        """Another model is asked."""
        self._left_out, self._searched, self._rounds = {}, False, 0

    def _find(
        self, failure: ClassifiedError, request: ModelRequest, provider: Provider, choice: ModelChoice
    ) -> Sequence[Tool]:
        """The refused ones among the tools of MCP servers, else among all others.

        Where too many are refused to ask about each, all that are not known to be taken count as refused.
        """
        asked = itertools.count()

        def takes(tools: Sequence[Tool]) -> bool:
            return next(asked) < _MOST_QUESTIONS and self._takes(tools, failure, request, provider, choice)

        foreign = [tool for tool in request.tools if _is_foreign(tool)]
        own = [tool for tool in request.tools if not _is_foreign(tool)]
        try:
            # Where nobody says that it is a tool, and those of our own alone are refused, it is none of a server's.
            if not takes(()) or (failure.unexplained and own and not takes(own)):
                return ()
            return _refused_among(foreign, takes) or _refused_among(own, takes)
        except _CannotTell:
            return ()

    def _takes(
        self,
        tools: Sequence[Tool],
        failure: ClassifiedError,
        request: ModelRequest,
        provider: Provider,
        choice: ModelChoice,
    ) -> bool:
        question = ModelRequest(
            model=request.model,
            messages=({"role": "user", "content": _QUESTION},),
            tools=tuple(tools),
            max_tokens=_ANSWER_TOKENS,
            cache_ttl=None,
            words_only=True,
            parts=RequestParts(),
        )
        collector = Collector(AgentCallbacks(), CallIds(set()))
        try:
            ask_once(provider, question, self.token, collector)
        except ProviderError as problem:
            if collector.begun:
                return True
            found = classify(problem, choice)
            if found.reason == failure.reason:
                return False
            raise _CannotTell from problem
        finally:
            self.count(collector.usage, choice)
        return True


def _refused_among(
    tools: Sequence[Tool], takes: Callable[[Sequence[Tool]], bool], *, is_refused: bool = False
) -> list[Tool]:
    """Those that are refused by themselves.

    Args:
        is_refused: one of them is, as is known already.
    """
    if not tools or (not is_refused and takes(tools)):
        return []
    if len(tools) == 1:
        return list(tools)
    half = len(tools) // 2
    found = _refused_among(tools[:half], takes)
    return [*found, *_refused_among(tools[half:], takes, is_refused=not found)]


def _named(failure: ClassifiedError, request: ModelRequest) -> list[Tool]:
    """The tools of the request that the server names, by their names if it tells these."""
    by_name = [tool for tool in request.tools if tool["function"]["name"] in failure.tools]
    return by_name or [tool for place, tool in enumerate(request.tools) if place in failure.tools]


def _is_foreign(tool: Tool) -> bool:
    return str(tool["function"]["name"]).startswith(PREFIX)
