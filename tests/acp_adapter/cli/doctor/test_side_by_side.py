"""Checks run side by side: none holds up another, and nothing of what they found is lost."""

import os
import signal
import threading

import pytest

from acp_adapter.cli.doctor.checks import Check, run_checks
from acp_adapter.cli.doctor.report import well
from tests.support.waiting import wait_until
from tools.redaction import Redactor, redact


def check(name, look, seconds=30.0):
    return Check(name, look, seconds)


def test_what_is_found_comes_in_the_order_of_the_table_however_long_each_takes(case):
    second = threading.Event()

    def waits_for_the_second(_):
        assert second.wait(30)
        yield well("first", "1")

    def second_one(_):
        yield well("second", "2")
        second.set()

    found = run_checks([check("first", waits_for_the_second), check("second", second_one)], case(), redact)
    assert [finding.text for each in found for finding in each] == ["1", "2"]


def test_no_secret_is_in_what_programs_get(case):
    def look(_):
        yield well("editor", "x", command=["hermes-acp", "--key=ghp_0123456789abcdefghijABCDEFGHIJ012345"])

    ((finding,),) = run_checks([check("editor", look)], case(), redact)
    assert "ghp_0123" not in str(finding.facts)


def test_one_that_hangs_is_given_up_with_what_it_found_and_the_others_are_told(case):
    made = case()
    over = threading.Event()

    def hangs(case):
        yield well("slow", "so far")
        with case.endings.by(over.set):
            over.wait()

    checks = [check("slow", hangs, 0.05), check("quick", lambda _: iter([well("quick", "q")]))]
    found = list(run_checks(checks, made, redact))
    assert [[(finding.check, finding.state) for finding in each] for each in found] == [
        [("slow", "ok"), ("slow", "fail")],
        [("quick", "ok")],
    ]
    assert "given up" in found[0][1].text
    assert over.is_set()


def test_one_that_fails_is_told_and_the_others_too(case):
    def broken(_):
        yield well("broken", "before")
        raise RuntimeError("oh")

    checks = [check("broken", broken), check("well", lambda _: iter([well("well", "w")]))]
    before, after = run_checks(checks, case(), redact)
    assert [finding.state for finding in before] == ["ok", "fail"]
    assert "RuntimeError: oh" in before[1].text
    assert after[0].text == "w"


def test_what_may_not_be_read_is_told_as_that_and_not_as_a_fault_of_the_check(case):
    def closed(_):
        raise PermissionError(13, "Permission denied", "/root/x")
        yield

    ((finding,),) = run_checks([check("home", closed)], case(), redact)
    assert finding.text == "it could not be looked at: /root/x: Permission denied"
    assert "report" not in finding.fix


def test_what_looks_like_a_key_is_never_told(case):
    key = "sk-ant-api03-" + "a1B2" * 20
    look = check("key", lambda _: iter([well("key", f"it is {key}", value=key)]))
    ((finding,),) = run_checks([look], case(), redact)
    assert key not in repr(finding)


def test_a_check_that_fails_tells_no_secret_of_the_settings(case):
    def closed(_):
        raise PermissionError(13, "Permission denied", "/x/planted-key-without-a-shape")
        yield

    def broken(_):
        raise RuntimeError("died with planted-key-without-a-shape")
        yield

    redactor = Redactor(["planted-key-without-a-shape"])
    found = list(run_checks([check("closed", closed), check("broken", broken)], case(), redactor))
    assert [len(findings) for findings in found] == [1, 1]
    assert "planted" not in repr(found)


def test_an_interrupt_ends_what_waits(case):
    made, over = case(), threading.Event()
    waits = threading.Event()

    def hangs(case):
        with case.endings.by(over.set):
            waits.set()
            over.wait()
        yield well("slow", "ended")

    found = run_checks([check("slow", hangs)], made, redact)
    killer = threading.Thread(target=lambda: (waits.wait(), os.kill(os.getpid(), signal.SIGINT)))
    killer.start()
    with pytest.raises(KeyboardInterrupt):
        list(found)
    killer.join()
    wait_until(over.is_set)


def test_who_comes_after_the_end_ends_at_once(case):
    made, ended = case(), []
    made.endings.end(0)
    with made.endings.by(lambda: ended.append(1)):
        assert ended == [1]
