"""Look-ups and connects: what they find, and what ends them."""

from __future__ import annotations

import socket
import sys
import threading

import httpcore2
import pytest

from agent_core.providers.transport import Abort, addresses
from tests.support.agents import in_background
from tests.support.full_listener import full_listener
from tests.support.waiting import wait_until
from tools.environments.http_connect import connected
from tools.errors import ToolInterrupted

FOUND = ["127.0.0.1"]


class Names:
    """A system's look-up that answers when it is let."""

    def __init__(self, answer=FOUND):
        self.answer = answer
        self.asked = []
        self.threads = []
        self.begun = threading.Event()
        self.let = threading.Event()

    def __call__(self, host, port):
        self.asked.append(host)
        self.threads.append(threading.current_thread())
        self.begun.set()
        assert self.let.wait(10)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def look_ups():
    return [thread for thread in threading.enumerate() if thread.name == "name look-up"]


def test_a_name_has_the_addresses_that_the_system_gives():
    names = Names()
    names.let.set()
    assert addresses("model.example", 80, 5, Abort(), names) == FOUND
    wait_until(lambda: look_ups() == [])


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_addresses_and_this_machine_need_no_thread(host):
    names = Names()
    names.let.set()
    addresses(host, 80, 5, Abort(), names)
    assert names.threads == [threading.current_thread()]


def test_an_abort_ends_the_wait_for_a_look_up():
    names, abort = Names(), Abort()
    waiting = in_background(lambda: addresses("model.example", 80, None, abort, names))
    assert names.begun.wait(5)
    abort.abort()
    with pytest.raises(ToolInterrupted):
        waiting.result(2)
    names.let.set()
    wait_until(lambda: look_ups() == [])


def test_a_look_up_that_takes_too_long_is_a_time_out():
    names = Names()
    with pytest.raises(TimeoutError, match="look-up"):
        addresses("model.example", 80, 0.01, Abort(), names)
    names.let.set()
    wait_until(lambda: look_ups() == [])


@pytest.mark.parametrize(
    "problem", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long")]
)
def test_a_name_that_is_none_is_an_error(problem):
    names = Names(problem)
    names.let.set()
    with pytest.raises(OSError, match=r"Name or service not known|label too long"):
        addresses("model.example", 80, 5, Abort(), names)


def test_a_request_that_was_given_up_looks_nothing_up():
    names, abort = Names(), Abort()
    names.let.set()
    abort.abort()
    with pytest.raises(httpcore2.ReadError):
        addresses("model.example", 80, 5, abort, names)


@pytest.mark.parametrize("abort", [None, Abort()], ids=["alone", "for a request"])
def test_a_connection_sends_at_once_and_has_its_options(abort):
    with socket.create_server(("127.0.0.1", 0)) as server:
        options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
        with connected(*server.getsockname(), 5, abort, source=("127.0.0.1", 0), options=options) as made:
            assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert made.gettimeout() == 5
            accepted, _ = server.accept()
            with accepted:
                made.send(b"x")
                assert accepted.recv(1) == b"x"


def test_a_refused_connection_is_an_error(refused_port):
    with pytest.raises(ConnectionRefusedError, match="refused"):
        connected("127.0.0.1", refused_port, 5, Abort())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full queue refuses connections")
class TestNeverAnswered:
    def test_it_times_out(self):
        with full_listener() as port, pytest.raises(TimeoutError):
            connected("127.0.0.1", port, 0.01, Abort())

    def test_an_abort_ends_it_and_the_socket_is_closed(self):
        class Heard(Abort):
            """Tells when something is waited for."""

            def __init__(self):
                super().__init__()
                self.waited = threading.Event()

            def on_cancel(self, callback):
                forget = super().on_cancel(callback)
                self.waited.set()
                return forget

        abort = Heard()
        with full_listener() as port:
            waiting = in_background(lambda: connected("127.0.0.1", port, None, abort))
            assert abort.waited.wait(5)
            abort.abort()
            with pytest.raises(ToolInterrupted):
                waiting.result(2)
