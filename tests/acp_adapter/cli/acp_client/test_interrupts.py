"""Ctrl-C, and signals that end us."""

from __future__ import annotations

import os
import signal

import pytest

from acp_adapter.cli.interrupts import Interrupts, Stopped, ended_in_order, nudged
from tests.support.waiting import wait_until


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_a_key_that_is_held_does_not_disturb_what_is_cleaned_up() -> None:
    cancelled = []
    with Interrupts(None) as interrupts:
        interrupts.cancel_by(lambda: cancelled.append(True))
        interrupt()
        with pytest.raises(Stopped):
            interrupt()
        for _ in range(5):
            interrupt()
    assert cancelled == [True]


def test_a_second_signal_that_ends_us_does_not_disturb_what_is_cleaned_up() -> None:
    with ended_in_order():
        with pytest.raises(Stopped):
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)


def test_a_signal_that_a_wait_did_not_see_is_sent_again() -> None:
    came = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: came.append(number))
    try:
        with nudged([signal.SIGTERM], lambda: len(came) > 1):
            os.kill(os.getpid(), signal.SIGTERM)
            wait_until(lambda: len(came) > 1)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signal.set_wakeup_fd(-1) == -1
