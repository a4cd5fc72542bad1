"""Look-ups and connects: what they find, and what ends them."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading

import httpcore2
import pytest

from agent_core.providers.transport import Abort, Resolver, connect, look_up
from tests.support.agents import in_background
from tests.support.full_listener import full_listener
from tests.support.waiting import wait_until

FOUND = look_up("127.0.0.1", 80)


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
    return [thread for thread in threading.enumerate() if thread.name == "name-look-up"]


def test_a_name_has_the_addresses_that_the_system_gives():
    names = Names()
    names.let.set()
    assert Resolver(names).addresses("model.example", 80, 5, Abort()) == FOUND
    wait_until(lambda: look_ups() == [])


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_addresses_and_this_machine_need_no_thread(host):
    names = Names()
    names.let.set()
    Resolver(names).addresses(host, 80, 5, Abort())
    assert names.threads == [threading.current_thread()]


def test_an_abort_ends_the_wait_for_a_look_up():
    names, abort = Names(), Abort()
    waiting = in_background(lambda: Resolver(names).addresses("model.example", 80, None, abort))
    assert names.begun.wait(5)
    abort.abort()
    with pytest.raises(httpcore2.ReadError, match="given up"):
        waiting.result(2)
    names.let.set()
    wait_until(lambda: look_ups() == [])


def test_who_asks_again_meanwhile_waits_for_the_same_look_up():
    names = Names()
    resolver = Resolver(names)
    for _ in range(3):
        abort = Abort()
        given_up = in_background(lambda abort=abort: resolver.addresses("model.example", 80, None, abort))
        assert names.begun.wait(5)
        abort.abort()
        with pytest.raises(httpcore2.ReadError):
            given_up.result(2)
    assert len(look_ups()) == 1
    last = in_background(lambda: resolver.addresses("model.example", 80, None, Abort()))
    names.let.set()
    assert last.result(5) == FOUND
    assert resolver.addresses("model.example", 80, None, Abort()) == FOUND


def test_a_look_up_that_takes_too_long_is_a_time_out():
    names = Names()
    with pytest.raises(TimeoutError, match="look-up"):
        Resolver(names).addresses("model.example", 80, 0.01, Abort())
    names.let.set()
    wait_until(lambda: look_ups() == [])


@pytest.mark.parametrize(
    "problem", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long")]
)
def test_a_name_that_is_none_is_an_error(problem):
    names = Names(problem)
    names.let.set()
    with pytest.raises(OSError, match=r"Name or service not known|label too long"):
        Resolver(names).addresses("model.example", 80, 5, Abort())


def test_a_request_that_was_given_up_looks_nothing_up():
    names, abort = Names(), Abort()
    names.let.set()
    abort.abort()
    with pytest.raises(httpcore2.ReadError):
        Resolver(names).addresses("model.example", 80, 5, abort)


@pytest.mark.parametrize("abort", [None, Abort()], ids=["alone", "for a request"])
def test_a_connection_sends_at_once_and_has_its_options(abort):
    with socket.create_server(("127.0.0.1", 0)) as server:
        [address] = look_up(*server.getsockname())
        options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
        with connect(address, 5, abort, ("127.0.0.1", 0), options) as made:
            assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert made.gettimeout() == 5
            accepted, _ = server.accept()
            with accepted:
                made.send(b"x")
                assert accepted.recv(1) == b"x"


def test_a_refused_connection_is_an_error(refused_port):
    [address] = look_up("127.0.0.1", refused_port)
    with pytest.raises(ConnectionRefusedError, match="refused"):
        connect(address, 5, Abort())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full queue refuses connections")
class TestNeverAnswered:
    def test_it_times_out(self):
        with full_listener() as port, pytest.raises(TimeoutError):
            connect(look_up("127.0.0.1", port)[0], 0.01, Abort())

    def test_an_abort_ends_it_and_the_socket_is_closed(self):
        class Heard(Abort):
            """Tells when something is waited for."""

            def __init__(self):
                super().__init__()
                self.waited = threading.Event()

            @contextlib.contextmanager
            def waking(self, wake):
                with super().waking(wake):
                    self.waited.set()
                    yield

        abort = Heard()
        with full_listener() as port:
            waiting = in_background(lambda: connect(look_up("127.0.0.1", port)[0], None, abort))
            assert abort.waited.wait(5)
            abort.abort()
            with pytest.raises(httpcore2.ReadError, match="given up"):
                waiting.result(2)
