"""Ctrl-C, and signals that end us."""

from __future__ import annotations

import os
import signal

import pytest

from acp_adapter.cli.interrupts import Interrupts, Stopped, ended_in_order


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
