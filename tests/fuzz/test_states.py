"""The transport in any state: lines in pieces, answers held back, ids in use. Hypothesis chooses."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.fuzz.exchange import Exchange
from tests.fuzz.messages import Messages
from tests.support.agent_end import AgentEnd, RawClient

_PATIENCE = 10.0


class TransportStates(RuleBasedStateMachine):
    """A transport whose every request is answered, sooner or later, with an empty result."""

    def __init__(self) -> None:
        super().__init__()
        self.exchange = Exchange(lambda *_: None)
        self.client = RawClient(AgentEnd())
        self._held = threading.Event()
        self._held.set()
        self._rest = b""
        self._threads = [threading.Thread(target=work) for work in (self._answer, self._read)]
        for thread in self._threads:
            thread.start()

    @rule(seed=st.integers(0, 2**32), count=st.integers(1, 12), cut=st.floats(0, 1))
    def some_lines(self, seed: int, count: int, cut: float) -> None:
        """The last of them may come only in part."""
        sessions = ["ses_" + "0" * 24]
        data = self._rest + b"".join(Messages(random.Random(seed), Path("/srv"), sessions).lines(count))
        at = int(len(data) * cut)
        self._send(data[:at])
        self._rest = data[at:]

    @rule()
    def answers_wait(self) -> None:
        self._held.clear()

    @rule()
    def answers_go(self) -> None:
        self._held.set()

    @invariant()
    def nothing_is_wrong(self) -> None:
        assert self.exchange.problem is None

    def teardown(self) -> None:
        self._send(self._rest + b"\n")
        self._held.set()
        try:
            self.exchange.wait_answered(_PATIENCE, lambda: True)
        finally:
            self.client.close_input()
            for thread in self._threads:
                thread.join(_PATIENCE)
            self.client.close()

    def _send(self, data: bytes) -> None:
        self.exchange.took(data)
        self.client.write(data)

    def _answer(self) -> None:
        transport = self.client.transport
        while (message := transport.inbox.take()) is not None:
            if "method" in message and "id" in message:
                self._held.wait()
                transport.answer(message["id"], error={"code": -32601, "message": "No.", "data": {}})
        transport.end(_PATIENCE)

    def _read(self) -> None:
        end = self.client.end
        while not end.over.is_set() or self._waiting():
            try:
                self.exchange.received(self.client.read_line(0.05))
            except AssertionError:
                continue

    def _waiting(self) -> bool:
        return not self.exchange.is_answered(0.0, lambda: True)


TestTransportStates = TransportStates.TestCase
TestTransportStates.settings = settings(
    max_examples=8,
    stateful_step_count=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
