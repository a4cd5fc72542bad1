"""A sandbox that is made with the first command: once, for whoever comes first, and never after the session's end."""

from __future__ import annotations

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tools.environments.sandbox.port import Confinement, Late, LateSandbox

_READS = Confinement("read-only")


class Made:
    """A sandbox that notes what is asked of it."""

    name = "made"

    def __init__(self) -> None:
        self.asked = list[str]()

    def popen(self, arguments: Any, confinement: Confinement, *, apart: bool = False, **popen: Any) -> Any:
        self.asked.append(f"popen {arguments} {confinement.level} {apart} {popen}")
        return "process"

    def variables(self, confinement: Confinement) -> dict[str, str]:
        return {"LEVEL": confinement.level}

    def end_left(self, process: object) -> bool:
        self.asked.append(f"end {process}")
        return True

    def refusals(self, process: object) -> tuple[str, ...]:
        return (f"of {process}",)

    def any_left(self) -> bool:
        return True

    def close(self) -> None:
        self.asked.append("close")


def test_nothing_is_made_before_something_is_started() -> None:
    made = list[Made]()
    sandbox = LateSandbox(lambda: made.append(Made()) or made[-1])  # type: ignore[func-returns-value]
    process: Any = "process"
    assert not sandbox.any_left()
    assert not sandbox.end_left(process)
    assert sandbox.refusals(process) == ()
    assert made == []
    assert sandbox.variables(_READS) == {"LEVEL": "read-only"}
    assert sandbox.popen(["ls"], _READS, apart=True, cwd="/srv") == "process"
    assert sandbox.end_left(process)
    assert (sandbox.name, sandbox.any_left(), sandbox.refusals(process)) == ("made", True, ("of process",))
    sandbox.close()
    assert [each.asked for each in made] == [
        ["popen ['ls'] read-only True {'cwd': '/srv'}", "end process", "close"],
    ]


def test_after_the_end_none_is_made_and_nothing_is_started() -> None:
    sandbox = LateSandbox(lambda: pytest.fail("made"))
    sandbox.close()
    sandbox.close()
    for start in (lambda: sandbox.popen(["ls"], _READS), lambda: sandbox.variables(_READS), lambda: sandbox.name):
        with pytest.raises(OSError, match="session has ended"):
            start()


def test_where_none_works_nothing_is_started() -> None:
    sandbox = LateSandbox(lambda: None)
    with pytest.raises(OSError, match="No sandbox works"):
        sandbox.popen(["ls"], _READS)
    assert not sandbox.any_left()
    sandbox.close()


def test_what_failed_to_be_made_is_tried_again() -> None:
    answers: list[Any] = [subprocess.SubprocessError("busy"), "made"]

    def make() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    late = Late(make)
    with pytest.raises(subprocess.SubprocessError):
        late()
    assert late.if_made() is None
    assert (late(), late.if_made(), late.end(), late()) == ("made", "made", "made", "made")


def test_of_many_that_come_at_once_one_makes_it_and_the_end_waits_for_it() -> None:
    began, go_on, made = threading.Event(), threading.Event(), list[object]()

    def make() -> object:
        began.set()
        assert go_on.wait(10)
        made.append(object())
        return made[-1]

    late = Late(make)
    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(late)
        assert began.wait(10)
        others = [pool.submit(late) for _ in range(3)]
        ending = pool.submit(late.end)
        go_on.set()
        found = {id(each.result(10)) for each in (first, *others, ending)}
    assert found == {id(made[0])}
    assert len(made) == 1
