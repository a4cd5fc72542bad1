"""Why a model request failed and what helps: one classifier; the loop reads flags and never a provider's words."""

from __future__ import annotations

import itertools
import math
import ssl
import time
from collections.abc import Callable
from dataclasses import replace

from agent_core.errors import ProviderConnectionError, ProviderError, ProviderStatusError, SignInFailed
from agent_core.providers import error_patterns as patterns
from agent_core.providers.choice import ModelChoice
from agent_core.providers.error_patterns import Flags, Reason, Rule, tools_named
from agent_core.providers.transport_errors import (
    ErrorFacts,
    asked_wait,
    body_wait,
    causes_of,
    compiled,
    read_facts,
    readable,
    stated_wait,
)
from tools.light_dataclass import dataclass
from tools.redaction import redact

# From this share of the window on, a failure without a cause may be one of size.
_LARGE = 0.8
_SILENT_FAILURES: frozenset[Reason] = frozenset({"server_error", "timeout"})
_TELLING_STAGES = (
    patterns.PROVIDER_RULES,
    patterns.STATUS_RULES,
    patterns.CODE_RULES,
    patterns.MEANINGS,
    patterns.MESSAGE_RULES,
)
_WAITING_HELPS: frozenset[Reason] = frozenset({"rate_limit", "overloaded", "server_error", "timeout"})
_FIRST_SERVER_STATUS = 500
# Keys that local servers want but do not check ("none", "ollama") are no secrets, and are parts of other words.
_SHORTEST_SECRET = 8
_HEADERS_TO_HIDE = r"auth|key|token|secret|cookie"


@dataclass(frozen=True, slots=True)
class _Words:
    cause: str
    step: str

    @property
    def whole(self) -> str:
        return f"{self.cause} {self.step}".rstrip()


@dataclass(frozen=True, slots=True)
class ClassifiedError:
    """What a failed request means for the turn.

    Attributes:
        retryable: the same request may succeed a little later.
        should_compress: it may succeed with less history.
        should_rotate_credential: another key of the same provider may be served.
        should_fallback: another model may answer.
        retry_after: seconds that the server asked us to wait; None where it did not say.
        public_message: one or two sentences that name provider, model, cause and next step.
        public_cause: the same without the next step.
        unexplained: the server refused the request, and nothing tells for what.
        tools: whose schema it refused, by their names or places in the request; empty where it does not say.
    """

    reason: Reason
    retryable: bool
    should_compress: bool
    should_rotate_credential: bool
    should_fallback: bool
    retry_after: float | None
    status_code: int | None
    public_message: str
    public_cause: str = ""
    unexplained: bool = False
    tools: tuple[int | str, ...] = ()


def classify(
    problem: ProviderError,
    choice: ModelChoice,
    *,
    context_tokens: int | None = None,
    now: Callable[[], float] = time.time,
) -> ClassifiedError:
    """Tell why the request to `choice` failed; nothing but the clock is looked at.

    Args:
        context_tokens: a rough size of the conversation, None once the answer had begun. A server that fails without
            a word near the end of a known window gets the same request once more, and then a smaller one: such a
            failure keeps its reason, and has both `retryable` and `should_compress`.
        now: seconds since 1970, for reset times.
    """
    large = _is_large(choice, context_tokens)
    match problem:
        case SignInFailed():
            return _without_answer("auth", patterns.FLAGS["auth"], _in_other_words(problem, choice), compress=False)
        case ProviderStatusError():
            return _of_answer(problem, choice, large, now())
        case ProviderConnectionError():
            return _of_connection(problem, choice, large)
    return _without_answer("unknown", patterns.FLAGS["unknown"], _in_other_words(problem, choice), compress=False)


def _of_answer(problem: ProviderStatusError, choice: ModelChoice, large: bool, now: float) -> ClassifiedError:
    facts = read_facts(problem)
    rule, is_told = _rule_for(facts, choice, now)
    flags = patterns.FLAGS[rule.reason]
    wait = _wait_for(rule.reason, facts, now)
    words = _words(rule.advice or rule.reason, choice, facts.said, facts.status, wait)
    return ClassifiedError(
        rule.reason,
        flags.retryable,
        flags.compress or (large and not is_told and rule.reason in _SILENT_FAILURES),
        flags.rotate,
        flags.fallback,
        wait,
        facts.status,
        words.whole,
        words.cause,
        unexplained=rule.reason == "format_error" and not rule.advice and not is_told,
        tools=_refused_tools(facts) if rule.reason == "tool_schema" else (),
    )


def _refused_tools(facts: ErrorFacts) -> tuple[int | str, ...]:
    return tools_named("\n".join((facts.text, *(str(found.get("param") or "") for found in facts.objects))))


def _rule_for(facts: ErrorFacts, choice: ModelChoice, now: float) -> tuple[Rule, bool]:
    """The rule that decides, and whether the server told the cause in any other way than by blaming itself."""
    at = f"{choice.provider} {choice.endpoint.host}"
    for rule in itertools.chain.from_iterable(_TELLING_STAGES):
        if _fits(rule, facts, at, now):
            return rule, True
    if facts.is_html and facts.status in patterns.BY_PAGE:
        return patterns.BY_PAGE[facts.status], False
    general = (rule for rule in patterns.GENERAL_RULES if _fits(rule, facts, at, now))
    return next(general, None) or _by_status(facts), False


def _by_status(facts: ErrorFacts) -> Rule:
    status = facts.status
    if status is None:
        return patterns.REFUSED if facts.codes & patterns.REFUSED.codes else Rule("unknown")
    return patterns.BY_STATUS.get(status) or Rule(
        "server_error" if status >= _FIRST_SERVER_STATUS else "format_error"
    )


def _fits(rule: Rule, facts: ErrorFacts, at: str, now: float) -> bool:
    if rule.statuses and facts.status not in rule.statuses:
        return False
    if rule.codes and not rule.codes & facts.codes:
        return False
    if rule.at and not compiled(rule.at).search(at):
        return False
    if rule.words and not compiled(rule.words).search(facts.text):
        return False
    if rule.means is not None and not rule.means(facts):
        return False
    return not rule.names_wait or stated_wait(facts, now) is not None


def _wait_for(reason: Reason, facts: ErrorFacts, now: float) -> float | None:
    if reason in _WAITING_HELPS:
        return asked_wait(facts, now)
    # A limit in the headers resets soon, a spent budget only when the body says so.
    return body_wait(facts, now) if reason == "billing" else None


def _of_connection(problem: ProviderConnectionError, choice: ModelChoice, large: bool) -> ClassifiedError:
    if problem.fault == "tls":
        return _of_tls(problem, choice, large)
    reason: Reason = "timeout" if problem.fault in {"timeout", "stall"} else "connection"
    compress = large and problem.fault in {"cut", "timeout"}
    return _without_answer(reason, patterns.FLAGS[reason], _in_other_words(problem, choice), compress)


def _of_tls(problem: ProviderConnectionError, choice: ModelChoice, large: bool) -> ClassifiedError:
    flags = patterns.FLAGS["tls"]
    errors = [cause for cause in causes_of(problem) if isinstance(cause, ssl.SSLError)]
    untrusted = any(isinstance(error, ssl.SSLCertVerificationError) for error in errors)
    broken = any(compiled(patterns.TLS_BROKEN).search(words) for words in map(str, (problem, *errors)))
    # What is not known to pass by itself (no trust, no TLS at that port) is not tried again.
    if untrusted or not broken:
        return _without_answer("tls", flags, _in_other_words(problem, choice), compress=False)
    told = _words("tls_broken", choice, str(errors[0]) if errors else "")
    return _without_answer("tls", replace(flags, retryable=True), told, large)


def _without_answer(reason: Reason, flags: Flags, words: _Words, compress: bool) -> ClassifiedError:
    compress = compress or flags.compress
    return ClassifiedError(
        reason, flags.retryable, compress, flags.rotate, flags.fallback, None, None, words.whole, words.cause
    )


def _is_large(choice: ModelChoice, context_tokens: int | None) -> bool:
    window = choice.context_length
    return context_tokens is not None and window is not None and context_tokens > window * _LARGE


def _words(
    advice: str, choice: ModelChoice, said: str, status: int | None = None, wait: float | None = None
) -> _Words:
    told = patterns.ADVICE[advice]
    quoted = readable(_without_secrets(said, choice), None)
    details = ", ".join(part for part in (str(status or ""), f"«{quoted}»" if quoted else "") if part)
    because = f"{told.cause} ({details})" if details else told.cause
    step = told.step.replace("{wait}", _duration(wait))
    return _Words(f"{choice.endpoint} failed for model {choice.model}: {because}.", step)


def _in_other_words(problem: ProviderError, choice: ModelChoice) -> _Words:
    """The error's own text, which names the endpoint and a next step, with the model."""
    step = problem.public.removeprefix(problem.cause)
    # The endpoint stays whole, also where a key is a part of its name.
    named = str(choice.endpoint) or choice.model
    text = named.join(_without_secrets(part, choice) for part in problem.cause.split(named))
    return _Words(f"Model {choice.model}: {' '.join(text.split())}", " ".join(_without_secrets(step, choice).split()))


def _without_secrets(text: str, choice: ModelChoice) -> str:
    headers = (value for name, value in choice.headers if compiled(_HEADERS_TO_HIDE).search(name))
    secrets = {secret for secret in (choice.api_key, *choice.spare_keys, *headers) if secret}
    # The longest first: one key may begin with another.
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "[key]")
    # A server, or one behind it, may repeat keys that are not ours.
    return redact(text)


def _duration(seconds: float | None) -> str:
    if not seconds:
        return "a moment"
    for size, name in ((3600, "h"), (60, "min")):
        if seconds > 2 * size:
            return f"{math.ceil(seconds / size)} {name}"
    return f"{math.ceil(seconds)} s"
