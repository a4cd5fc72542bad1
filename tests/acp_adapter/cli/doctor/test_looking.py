"""Checks are made one after the other, each with its limit: none keeps the others from being told."""

import threading

from acp_adapter.cli.doctor.report import well
from acp_adapter.cli.doctor.run import Check, look


def test_one_that_hangs_is_given_up_and_told(case):
    over = threading.Event()

    def hangs(_):
        over.wait()
        yield well("slow", "never")

    (finding,) = look(Check("slow", hangs, 0.05), case())
    over.set()
    assert (finding.check, finding.state) == ("slow", "fail")
    assert "given up" in finding.text


def test_one_that_fails_is_told_with_what_it_found_before(case):
    def broken(_):
        yield well("broken", "before")
        raise RuntimeError("oh")

    before, failed = look(Check("broken", broken), case())
    assert (before.text, failed.state) == ("before", "fail")
    assert "RuntimeError: oh" in failed.text


def test_what_may_not_be_read_is_told_as_that_and_not_as_a_fault_of_the_check(case):
    def closed(_):
        raise PermissionError(13, "Permission denied", "/root/x")
        yield

    (finding,) = look(Check("home", closed), case())
    assert finding.text == "it could not be looked at: /root/x: Permission denied"
    assert "report" not in finding.fix
