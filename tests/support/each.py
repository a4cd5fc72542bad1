"""Many cases in one test. Thousands of tests of their own would cost more in collecting than in running."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

_SHOWN = 300
_WITH_ID = type(pytest.param())


class CasesFailed(AssertionError):
    """Which cases failed, and why."""

    def __init__(self, failures: list[tuple[str, BaseException]], of: int) -> None:
        lines = [f"{case}\n    {type(why).__name__}: {_cut(str(why))}" for case, why in failures]
        head = f"{len(failures)} of {of} cases failed (the first one's traceback is above):"
        super().__init__("\n".join([head, *lines]))
        self.failures = failures
        self.of = of


def each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like `pytest.mark.parametrize`, but one test: all cases are looked at, and a failure names each that failed.

    For plain functions whose cases leave nothing behind: they share the test's fixtures.

    Args:
        names: one argument's name, or several; several may be written in one string with commas.
        cases: the argument's values, or a sequence of values for each case.
    """
    arguments = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else names
    values = [_values(case, is_one=isinstance(names, str) and len(arguments) == 1) for case in cases]
    assert values, f"no case for {arguments}: the test would prove nothing"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        assert not inspect.iscoroutinefunction(test), "each is for plain functions"

        @functools.wraps(test)
        def all_of_them(*first: Any, **others: Any) -> None:
            _look_at(functools.partial(test, *first, **others), arguments, values)

        rest = [parameter for name, parameter in signature.parameters.items() if name not in arguments]
        assert len(rest) + len(arguments) == len(signature.parameters), f"{test} takes not all of {arguments}"
        all_of_them.__signature__ = signature.replace(parameters=rest)
        return all_of_them

    return decorate


def _values(case: Any, *, is_one: bool) -> tuple[Any, ...]:
    if isinstance(case, _WITH_ID):
        assert not case.marks, f"{case} has marks: they are for tests of their own"
        return tuple(case.values)
    return (case,) if is_one else tuple(case)


def _look_at(test: Callable[..., None], arguments: tuple[str, ...], cases: list[tuple[Any, ...]]) -> None:
    failures: list[tuple[str, BaseException]] = []
    skipped: list[str] = []
    within = 1
    for case in cases:
        given = dict(zip(arguments, case, strict=True))
        try:
            test(**given)
        except pytest.skip.Exception as reason:
            skipped.append(str(reason))
        except CasesFailed as crossed:
            within = crossed.of
            failures.extend((f"{_told(given)}, {case}", why) for case, why in crossed.failures)
        except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 - whatever it is, the others are looked at
            failures.append((_told(given), failure))
    if failures:
        raise CasesFailed(failures, len(cases) * within) from failures[0][1]
    if len(skipped) == len(cases):
        pytest.skip(skipped[0])


def _told(given: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_cut(repr(value))}" for name, value in given.items())


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
