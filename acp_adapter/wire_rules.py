"""The rules that every message to the client keeps, held at the one place where all of them pass: the transport.

A broken rule is a mistake of ours, never the client's. In production it is logged and the message goes out all the
same; in tests it ends the test. Each message is judged before it is taken down in the ledger.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.wire_checks import (
    ANSWER,
    CALL,
    GREETING,
    PAST_RULES,
    QUESTION,
    UNPLACED_CALL,
    UPDATE_RULES,
    Rule,
    Sent,
    known_update,
)
from acp_adapter.wire_state import Ledger, SessionView

log = logging.getLogger(__name__)

ENVIRONMENT = "HERMES_WIRE_RULES"
"""`raise` in this variable ends the process at the first violation."""

BROKEN_RULE_EXIT = 86
_MOST_REPORTED = 1000

_UNKNOWN_KIND = (known_update,)

OnViolation = Callable[[str], None]
RulesOfUpdates = Mapping[str, tuple[Rule, ...]]


class WireRules:
    """Follows one connection; safe for threads. Each rule reports once for a session."""

    def __init__(self, on_violation: OnViolation) -> None:
        """Make it. `on_violation` gets a line of text: the rule, the session, and what is wrong."""
        self._on_violation = on_violation
        self._ledger = Ledger()
        self._lock = threading.Lock()
        self._reported: set[tuple[str, str]] = set()

    def check_received(self, message: Mapping[str, Any]) -> None:
        """Note a message of the client: one that is let in, as it came, before anybody can answer it."""
        with self._lock:
            self._ledger.received(message)

    def check_sent(self, message: Mapping[str, Any], updates: RulesOfUpdates = UPDATE_RULES) -> None:
        """Hold a message of ours against the rules, and note it. Never raises for what the message holds."""
        with self._lock:
            try:
                sent, rules = self._placed(message, updates)
                broken = _UNKNOWN_KIND if rules is None else [rule for rule in rules if rule(sent) is not None]
                told = [(rule.__name__, str(rule(sent))) for rule in broken] if broken else ()
                self._ledger.sent(message)
            except Exception as problem:  # noqa: BLE001 - a message of no known form is itself the violation
                told = [("known_form", f"the message could not be read ({problem!r})")]
            lines = self._lines(message, told) if told else ()
        for line in lines:
            self._on_violation(line)

    def check_past(self, message: Mapping[str, Any]) -> None:
        """The same for an update that tells of what was, because of a load."""
        with self._lock:
            self._ledger.shows_again(_session_of(message))
        self.check_sent(message, PAST_RULES)

    def past_over(self, session_id: str, *, whole: bool) -> None:
        """All of what was is told, or no more of it will be."""
        with self._lock:
            self._ledger.has_shown(session_id, whole=whole)

    def unasked_over(self, session_id: str) -> None:
        """A turn that steering began is over, which nothing on the wire tells."""
        with self._lock:
            view = self._ledger.unasked_over(session_id)
            idle = view is not None and not (view.prompts or view.unasked or view.own_turn)
            running = [*view.cards] if view is not None and idle else []
            fresh = bool(running) and self._is_new("ended_cards", session_id)
        if fresh:
            told = f"a turn that steering began is over while {', '.join(running)} still run"
            self._on_violation(f"ended-cards: {told} (session {session_id})")

    def _lines(self, message: Mapping[str, Any], told: Sequence[tuple[str, str]]) -> list[str]:
        """What is to be reported: each rule once for a session."""
        session_id = _session_of(message)
        where = f" (session {session_id})" if session_id else ""
        fresh = [(rule, text) for rule, text in told if self._is_new(rule, session_id)]
        return [f"{rule.replace('_', '-')}: {text}{where}" for rule, text in fresh]

    def _placed(self, message: Mapping[str, Any], updates: RulesOfUpdates) -> tuple[Sent, tuple[Rule, ...] | None]:
        """The message with the rules for its kind; without rules it is of no kind."""
        ledger, method = self._ledger, message.get("method")
        if method is None:
            return self._answer(message)
        params = message.get("params") or {}
        session_id = params.get("sessionId") or ""
        session = ledger.sessions.get(session_id)
        client = ledger.client if session is None else session.client
        if method == "session/update":
            update = params.get("update") or {}
            kind = update.get("sessionUpdate", "")
            return Sent(message, method, kind, update, session_id, session, client, None), updates.get(kind)
        if method == "session/request_permission":
            call = params.get("toolCall") or {}
            return Sent(message, method, method, call, session_id, session, client, None), QUESTION
        sent = Sent(message, method, method, params, session_id, session, client, None)
        return sent, CALL if session_id else UNPLACED_CALL

    def _answer(self, message: Mapping[str, Any]) -> tuple[Sent, tuple[Rule, ...]]:
        ledger = self._ledger
        asked = ledger.asked.get(message.get("id"))
        result = message.get("result")
        part = result if isinstance(result, dict) else {}
        session_id = part.get("sessionId") or (asked.session_id if asked is not None else "")
        session, method = ledger.sessions.get(session_id), asked.method if asked is not None else ""
        greets = method == "initialize" and "error" not in message
        client = asked.client if asked is not None and greets else self._client(session)
        sent = Sent(message, method, method, part, session_id, session, client, asked)
        return sent, GREETING if greets else ANSWER

    def _client(self, session: SessionView | None) -> ClientCapabilities:
        return self._ledger.client if session is None else session.client

    def _is_new(self, rule: str, session_id: str) -> bool:
        if (rule, session_id) in self._reported or len(self._reported) >= _MOST_REPORTED:
            return False
        self._reported.add((rule, session_id))
        return True


def _session_of(message: Mapping[str, Any]) -> str:
    return str((message.get("params") or {}).get("sessionId") or "")


def wire_rules() -> WireRules:
    """The rules as this process holds them: a violation is logged, or with HERMES_WIRE_RULES=raise the end."""
    return WireRules(_end_process if os.environ.get(ENVIRONMENT) == "raise" else _log)


def _log(violation: str) -> None:
    log.error("a rule of the wire is broken: %s", violation)


def _end_process(violation: str) -> None:
    """For tests over a process: whoever reads must not be able to miss it."""
    sys.stderr.write(f"hermes-acp: a rule of the wire is broken: {violation}\n")
    sys.stderr.flush()
    os._exit(BROKEN_RULE_EXIT)
