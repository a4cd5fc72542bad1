"""A program whose streams are those of a script that only an SDK reaches."""

import queue
import subprocess
import threading

import pytest

from tests.support.local_machine import LocalMachine
from tests.support.waiting import wait_until
from tools.environments.guardian import Guardian
from tools.environments.remote.cloud import relay
from tools.environments.remote.connection import Link, Streams
from tools.errors import CommandError

PIPES = Streams(subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)


class Wire:
    """Prints what is put into `prints`; b"" ends it, and an exception is the SDK's."""

    def __init__(self):
        self.prints = queue.SimpleQueue()
        self.given = b""
        self.ended, self.killed = threading.Event(), threading.Event()

    def chunks(self):
        while data := self.prints.get():
            if isinstance(data, Exception):
                raise data
            yield data

    def send(self, data):
        self.given += data

    def end_input(self):
        self.ended.set()

    def kill(self):
        self.killed.set()
        self.prints.put(b"")


def test_bytes_go_both_ways_and_each_end_is_told():
    wire = Wire()
    with relay(wire, PIPES) as process:
        process.stdin.write(b"in\0")
        process.stdin.close()
        assert wire.ended.wait(10)
        assert wire.given == b"in\0"
        wire.prints.put(b"out\xff")
        wire.prints.put(b"")
        assert process.stdout.read() == b"out\xff"
        assert process.wait(10) == 0


def test_the_script_ends_with_its_program():
    wire = Wire()
    with relay(wire, PIPES) as process:
        process.kill()
        assert wire.killed.wait(10)


def test_a_connection_that_breaks_off_is_no_end():
    wire = Wire()
    with relay(wire, PIPES) as process:
        wire.prints.put(b"part")
        assert process.stdout.read(4) == b"part"
        wire.prints.put(RuntimeError("the stream was reset"))
        assert process.wait(10) == -9
    wait_until(wire.killed.is_set)


def test_an_answer_of_which_a_part_is_lost_is_none():
    guardian = Guardian()
    link = Link(LocalMachine(), guardian)
    try:
        with pytest.raises(CommandError, match="broke off before it had answered"):
            link.output_of("printf part; kill -KILL $$")
        with pytest.raises(CommandError, match="broke off before it had answered"):
            link.output_of("printf part; exit 255")
        assert link.output_of("printf whole; exit 3") == b"whole"
    finally:
        link.close()
        guardian.kill_all()
