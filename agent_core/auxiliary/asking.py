"""One model's answer to a side task: it is asked once with each key, and nothing is waited for."""

from __future__ import annotations

from agent_core.asking.attempt import ask_once
from agent_core.asking.policy import Refresh, Rotate, Situation, decide
from agent_core.asking.reply import CallIds, Collector, Reply
from agent_core.asking.route import Connect, Member, Route, TurnRoute
from agent_core.auxiliary.question import Question
from agent_core.callbacks import AgentCallbacks
from agent_core.errors import HermesError, ProviderError
from agent_core.interrupt import CancelToken
from agent_core.providers.base import Usage
from agent_core.providers.choice import ModelChoice, WindowSource
from agent_core.providers.error_patterns import Reason
from agent_core.providers.errors import ClassifiedError, classify
from agent_core.providers.pricing import cost_of
from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered, without its reasoning.

    Attributes:
        model: which one, as provider:model.
        cost: US dollars; None where a price or a count is not known.
        truncated: the answer was cut off at its limit, or nobody can say whether it is complete.
    """

    text: str
    model: str
    usage: Usage
    cost: float | None
    truncated: bool = False


class Unanswered(Exception):
    """There is no answer that can be used; `reason` is given where the server says that it failed."""

    def __init__(self, cause: str, reason: Reason | None = None) -> None:
        super().__init__(cause)
        self.reason = reason


def ask_member(
    member: Member, connect: Connect, question: Question, limit: CancelToken, windows: WindowSource
) -> Completion:
    """The model's answer.

    Args:
        windows: who knows how large its window is.

    Raises:
        Unanswered: there is none.
        TurnInterrupted: `limit` was cancelled.
    """
    if member.pool is not None and member.pool.soonest() is not None:
        raise Unanswered("its keys rest after a limit")
    route = Route((member,), connect, windows=windows).begin(limit)
    try:
        route.make_ready()
        reply = _asked_with_each_key(route, question, limit)
    except HermesError as problem:
        raise Unanswered(problem.public) from problem
    return _completion(reply, member.choice)


def _asked_with_each_key(route: TurnRoute, question: Question, limit: CancelToken) -> Reply:
    asked: set[str | None] = set()
    while True:
        asked.add(route.choice.api_key)
        collector = Collector(AgentCallbacks(), CallIds(set()))
        try:
            reply = ask_once(route.provider, question.request(route.choice), limit, collector)
        except ProviderError as problem:
            failure = classify(problem, route.choice)
            route.failed(failure)
            if not _other_key(route, failure, asked):
                raise Unanswered(f"{failure.reason}, {failure.public_message}", failure.reason) from problem
        else:
            route.worked()
            return reply


def _other_key(route: TurnRoute, failure: ClassifiedError, asked: set[str | None]) -> bool:
    """Take another key, or a renewed sign-in, where that may help and was not tried."""
    now = Situation(1, 1, can_refresh=route.can_refresh(), can_rotate=route.can_rotate())
    match decide(failure, now):
        case Refresh():
            return route.refresh()
        case Rotate():
            route.rotate()
            # A key whose limit has passed already may come again.
            return route.choice.api_key not in asked
    return False


def _completion(reply: Reply, choice: ModelChoice) -> Completion:
    if reply.finish == "refusal":
        raise Unanswered("it refused")
    truncated = reply.finish in {"length", "oversized", "unknown"}
    text = reply.text.strip()
    if not text:
        full = reply.finish in {"length", "oversized"}
        raise Unanswered("the limit (max_tokens) left no room for text" if full else "its answer has no text")
    return Completion(text, choice.name, reply.usage, cost_of(reply.usage, choice.facts), truncated)
