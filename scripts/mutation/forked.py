"""A plugin of pytest that collects once, then forks for each mutant and runs the tests that reach it, to the first
that fails.

The file that MUTATION_PLAN names has a line for each mutant: name, tests, seconds that they may take. A line with
name, exit code and seconds goes to MUTATION_VERDICTS as each is tried.
"""

from __future__ import annotations

import functools
import gc
import json
import mmap
import os
import resource
import select
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import count, pairwise
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

SURVIVED, KILLED, TIMED_OUT = 0, 1, 36
"""As mutmut has them."""
_CACHED = type(functools.cache(len))
_LAST_TEST = mmap.mmap(-1, 4)
"""The number of the test that a child has come to, which its parent sees as well."""
_MEMORY = 8 << 30
_WARMING = 40
_CONTROL_SECONDS = 600.0


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try every mutant of the plan in a process of its own."""
    items = {item.nodeid: item for item in session.items}
    _warm_up(session.items)
    # Nothing changed, nothing noticed: else every verdict would be wrong.
    if _tried("", session.items, 0, _CONTROL_SECONDS) != SURVIVED:
        raise pytest.UsageError("tests fail without a mutant: run them, and mend them first")
    plan = Path(os.environ["MUTATION_PLAN"]).read_text(encoding="utf-8").splitlines()
    noticed: defaultdict[str, Counter[str]] = defaultdict(Counter)
    with Path(os.environ["MUTATION_VERDICTS"]).open("a", encoding="utf-8") as verdicts:
        for number, (mutant, tests, patience) in enumerate(map(json.loads, plan), 1):
            begun = time.monotonic()
            # What noticed other changes of the function comes first: it notices most of them.
            before = noticed[mutant.rpartition("__mutmut_")[0]]
            ordered = sorted(tests, key=before.__getitem__, reverse=True)
            code = _tried(mutant, [items[test] for test in ordered], number, patience)
            if code != SURVIVED:
                before[ordered[int.from_bytes(_LAST_TEST)]] += 1
            print(json.dumps((mutant, code, time.monotonic() - begun)), file=verdicts, flush=True)
    return True


def _warm_up(items: Sequence[pytest.Item]) -> None:
    """Load and compile before the first fork what each child would have to otherwise.

    Nothing that was computed stays: it would be taken for what a mutant computes.
    """
    warming = items[:: max(1, len(items) // _WARMING)]
    # Behind the last one only what all tests share is left standing.
    apart = min(items, key=lambda item: len(set(item.listchain()) & set(warming[-1].listchain())))
    for item, following in pairwise((*warming, apart)):
        runtestprotocol(item, log=False, nextitem=following)
    for found in gc.get_objects():
        if isinstance(found, _CACHED):
            found.cache_clear()
    gc.collect()
    gc.freeze()


def _tried(mutant: str, items: Sequence[pytest.Item], number: int, patience: float) -> int:
    _LAST_TEST[:] = bytes(len(_LAST_TEST))
    child = os.fork()
    if child == 0:
        _try(mutant, items, number)
    return _waited_for(child, patience)


def _try(mutant: str, items: Sequence[pytest.Item], number: int) -> None:
    """Runs in the child, and ends it."""
    code = KILLED
    try:
        os.setsid()
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silence, descriptor)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        os.environ["MUTANT_UNDER_TEST"] = mutant
        _own_directories(number)
        code = KILLED if _is_noticed(items) else SURVIVED
    finally:
        os._exit(code)


def _is_noticed(items: Sequence[pytest.Item]) -> bool:
    for number, (item, following) in enumerate(pairwise((*items, None))):
        _LAST_TEST[:] = number.to_bytes(len(_LAST_TEST))
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return True
    return False


def _own_directories(number: int) -> None:
    """Children count the directories of their tests on from where none of the others does."""
    for name in ("_homes", "_directories"):
        vars(sys.modules["tests.conftest"])[name] = count((number + 1) * 100_000)


def _waited_for(child: int, patience: float) -> int:
    handle = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        in_time = bool(poll.poll(patience * 1000))
        if not in_time:
            os.killpg(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code if in_time else TIMED_OUT
    finally:
        os.close(handle)
