"""Seccomp filters as programs of the kernel's: calls that are refused or reported, by number and arguments."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from tools.light_dataclass import dataclass

ALLOW = 0x7FFF0000
NOTIFY = 0x7FC00000
_REFUSE = 0x00050000
_MOST_JUMP = 255

_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN, _JUMP = 0x20, 0x15, 0x35, 0x54, 0x06, 0x05
_IN_A_ROW = 3
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT, _ARGUMENT_BYTES = 0, 4, 16, 8


def refuse(errno: int) -> int:
    """The action that lets a call fail with this error."""
    return _REFUSE | errno


@dataclass(frozen=True, slots=True)
class Test:
    """Whether the low 32 bits of an argument, masked, are (or with `among` False are not) one of `values`."""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    among: bool = True


@dataclass(frozen=True, slots=True)
class Case:
    """What happens to a call of which all tests hold."""

    action: int
    tests: tuple[Test, ...] = ()


@dataclass(frozen=True, slots=True)
class CallRule:
    """What happens to one call: the first case that fits, else `otherwise`."""

    number: int
    cases: tuple[Case, ...] = ()
    otherwise: int = ALLOW


@dataclass(frozen=True, slots=True)
class Machine:
    """Which calls a filter is for: the kernel's name of the calling convention, and the first number past it."""

    audit: int
    beyond: int | None = None


def assemble(machine: Machine, rules: Sequence[CallRule], other_machine: int, beyond: int) -> bytes:
    """The program: calls that no rule names are allowed.

    Args:
        other_machine: what happens to calls of another convention (32 bits), whose numbers mean something else.
        beyond: what happens to numbers from `machine.beyond`.

    Raises:
        ValueError: two rules name one call, or a rule is too long for a jump.
    """
    numbers = [rule.number for rule in rules]
    if len(set(numbers)) != len(numbers):
        raise ValueError("Two rules name the same call.")
    code = [_op(_LOAD, _MACHINE_AT), _op(_EQUAL, machine.audit, 1, 0), _op(_RETURN, other_machine)]
    code.append(_op(_LOAD, _NUMBER_AT))
    if machine.beyond is not None:
        code += [_op(_AT_LEAST, machine.beyond, 0, 1), _op(_RETURN, beyond)]
    return b"".join([*code, *_search(sorted(rules, key=lambda rule: rule.number))])


def _search(rules: Sequence[CallRule]) -> list[bytes]:
    """Finds the call's rule by halves: the kernel runs a filter once for every call there is, when it is loaded."""
    if len(rules) <= _IN_A_ROW:
        return [*_joined(_rule(rule) for rule in rules), _op(_RETURN, ALLOW)]
    middle = len(rules) // 2
    below, rest = _search(rules[:middle]), _search(rules[middle:])
    return [_op(_AT_LEAST, rules[middle].number, 0, 1), _op(_JUMP, len(below)), *below, *rest]


def _rule(rule: CallRule) -> list[bytes]:
    body = [*_joined(_case(case) for case in rule.cases), _op(_RETURN, rule.otherwise)]
    if len(body) > _MOST_JUMP:
        raise ValueError(f"The rule for call {rule.number} is too long.")
    return [_op(_EQUAL, rule.number, 0, len(body)), *body]


def _case(case: Case) -> list[bytes]:
    """The tests, each of which jumps past the action when it fails."""
    code = [_op(_RETURN, case.action)]
    for test in reversed(case.tests):
        code = [*_test(test, len(code)), *code]
    return code


def _test(test: Test, rest: int) -> list[bytes]:
    code = [_op(_LOAD, _ARGUMENTS_AT + test.argument * _ARGUMENT_BYTES), _op(_AND, test.mask)]
    last = len(test.values) - 1
    for place, value in enumerate(test.values):
        to_action = last - place  # over the other values
        if test.among:
            code.append(_op(_EQUAL, value, to_action, rest if place == last else 0))
        else:
            code.append(_op(_EQUAL, value, to_action + rest, 0))
    return code


def _op(code: int, value: int, when: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, when, otherwise, value & 0xFFFFFFFF)


def _joined(parts: Iterable[list[bytes]]) -> list[bytes]:
    return [each for part in parts for each in part]
