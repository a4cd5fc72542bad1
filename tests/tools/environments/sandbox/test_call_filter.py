"""The filter's program, interpreted as the kernel does, for both processors."""

import errno
import os
import socket
import struct

import pytest

from tests.support.each import each
from tools.environments.sandbox.seccomp import (
    ALLOW,
    MACHINES,
    NOTIFY,
    CallRule,
    assemble,
    call_filter,
    number_of,
    refuse,
)

_PID = 4242
_MACHINES = ("x86_64", "aarch64")


def _verdict(program, machine, number, arguments=(), audit=None):
    arguments = [value % 2**64 for value in arguments]
    data = struct.pack("=IIQ6Q", number, audit or MACHINES[machine].audit, 0, *arguments, *[0] * (6 - len(arguments)))
    code = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    accumulator, at = 0, 0
    while True:
        operation, when, otherwise, value = code[at]
        at += 1
        if operation == 0x06:
            return value
        if operation == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif operation == 0x54:
            accumulator &= value
        elif operation == 0x05:
            at += value
        else:
            holds = accumulator == value if operation == 0x15 else accumulator >= value
            at += when if holds else otherwise


def _filter(machine, network="off", notify=frozenset(), landlock=7, *, strict=True):
    return call_filter(machine, network, notify=notify, landlock=landlock, own_pid=_PID, strict=strict)


def _outcomes(network="off", notify=frozenset(), landlock=7, *, strict=True):
    def outcome(name, *arguments):
        found = set()
        for machine in _MACHINES:
            number = number_of(name, machine)
            if number is not None:
                program = _filter(machine, network, notify, landlock, strict=strict)
                found.add(_verdict(program, machine, number, arguments))
        assert len(found) == 1, name
        return found.pop()

    return outcome


@pytest.mark.parametrize("machine", _MACHINES)
def test_calls_that_no_rule_names_are_allowed_and_others_only_as_listed(machine):
    program = _filter(machine)
    named = {number_of(name, machine) for name in ("mount", "socket", "connect", "chmod", "clone3", "io_uring_setup")}
    allowed = [number for number in range(460) if _verdict(program, machine, number) == ALLOW]
    assert not (named - {number_of("chmod", machine), number_of("socket", machine)}) & set(allowed)
    assert len(allowed) > 380


@pytest.mark.parametrize("machine", _MACHINES)
def test_calls_of_another_convention_are_refused(machine):
    program = _filter(machine)
    assert _verdict(program, machine, 1, audit=0x40000003) == refuse(errno.EPERM)
    if machine == "x86_64":
        assert _verdict(program, machine, 0x40000000 + 41) == refuse(errno.ENOSYS)


@each("kind", [socket.SOCK_STREAM, socket.SOCK_STREAM | socket.SOCK_CLOEXEC])
@each("family", [socket.AF_UNIX, socket.AF_INET, socket.AF_INET6])
def test_streams_may_be_opened(family, kind):
    assert _outcomes()("socket", family, kind, 0) == ALLOW


@each(
    ("family", "kind", "protocol"),
    [
        (socket.AF_INET, socket.SOCK_DGRAM, 0),
        (socket.AF_INET6, socket.SOCK_DGRAM, 17),
        (socket.AF_INET, socket.SOCK_RAW, 1),
        (socket.AF_INET, socket.SOCK_STREAM, 132),
        (socket.AF_INET, socket.SOCK_STREAM, 262),
        (socket.AF_UNIX, socket.SOCK_DGRAM, 0),
        (17, socket.SOCK_RAW, 0),
        (40, socket.SOCK_STREAM, 0),
        (38, socket.SOCK_SEQPACKET, 0),
        (16, socket.SOCK_RAW, 15),
    ],
)
def test_other_sockets_may_not(family, kind, protocol):
    assert _outcomes()("socket", family, kind, protocol) != ALLOW


def test_the_machines_own_addresses_may_be_asked_for():
    assert _outcomes()("socket", 16, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0) == ALLOW
    assert _outcomes()("socket", 16, socket.SOCK_DGRAM, 4) == ALLOW


def test_datagrams_are_open_only_where_the_network_is():
    assert _outcomes("on")("socket", socket.AF_INET, socket.SOCK_DGRAM, 17) == ALLOW
    assert _outcomes("on")("socket", socket.AF_INET, socket.SOCK_RAW, 1) != ALLOW
    assert _outcomes("on")("socket", socket.AF_UNIX, socket.SOCK_DGRAM, 0) != ALLOW


def test_connections_are_decided_by_somebody_or_refused():
    assert _outcomes()("connect") == refuse(errno.EACCES)
    assert _outcomes()("listen") == refuse(errno.EACCES)
    assert _outcomes("on")("listen") == ALLOW
    watched = _outcomes("proxy", frozenset({"connect", "listen"}))
    assert watched("connect") == watched("listen") == NOTIFY


@pytest.mark.parametrize(("call", "place"), [("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)])
def test_sending_makes_no_connection(call, place):
    arguments = [0] * 6
    assert _outcomes("on")(call, *arguments) == ALLOW
    arguments[place] = 0x20000000 | socket.MSG_NOSIGNAL
    assert _outcomes("on")(call, *arguments) == refuse(errno.EPERM)


def test_namespaces_are_not_made_and_processes_are():
    outcome = _outcomes()
    assert outcome("clone", 0x01200011) == outcome("unshare", 0x400) == ALLOW
    for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000):
        assert outcome("clone", flag | 17) == outcome("unshare", flag) == refuse(errno.EPERM)
    assert outcome("clone3") == refuse(errno.ENOSYS)  # its flags are in memory: programs use clone then


def test_modes_with_set_id_bits_are_refused_before_anybody_is_asked():
    plain, watched = _outcomes(), _outcomes(notify=frozenset({"chmod", "fchmod", "fchmodat"}))
    assert plain("fchmod", 3, 0o644) == ALLOW
    assert watched("fchmod", 3, 0o644) == NOTIFY
    assert plain("fchmod", 3, 0o4755) == watched("fchmod", 3, 0o2755) == refuse(errno.EPERM)
    assert plain("fchmodat", 3, 0, 0o6755) == refuse(errno.EPERM)


def test_nobody_types_for_others():
    outcome = _outcomes()
    assert outcome("ioctl", 0, 0x5412) == outcome("ioctl", 0, 0xFFFFFFFF00005412) == refuse(errno.EPERM)
    assert outcome("ioctl", 0, 0x5413) == ALLOW


_SCHEDULING = frozenset({"prlimit64", "setpriority", "ioprio_set", "sched_setscheduler", "sched_setaffinity"})
_OWN_PROCESSES = {"notify": frozenset(), "landlock": 7, "own_pid": _PID, "own_processes": True}


@each("call", ["prlimit64", "sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"])
def test_a_sandboxed_command_schedules_itself_and_somebody_decides_about_numbers(call):
    assert _outcomes()(call, 0) == _outcomes(notify=_SCHEDULING)(call, 1 << 32) == ALLOW
    assert _outcomes()(call, _PID) == _outcomes()(call, -1) == refuse(errno.EPERM)
    assert _outcomes(notify=frozenset({call}))(call, _PID) == NOTIFY
    assert _outcomes(notify=frozenset({call}))(call, 1 << 40 | _PID) == NOTIFY
    for machine in _MACHINES:
        program = call_filter(machine, "off", **_OWN_PROCESSES)
        assert _verdict(program, machine, number_of(call, machine), (_PID,)) == ALLOW


@each(("call", "process", "group", "user"), [("setpriority", 0, 1, 2), ("ioprio_set", 1, 2, 3)])
def test_a_sandboxed_command_never_schedules_all_of_a_user(call, process, group, user):
    plain, watched = _outcomes(), _outcomes(notify=_SCHEDULING)
    for outcome in (plain, watched):
        assert outcome(call, process, 0) == ALLOW
        assert outcome(call, user, 0) == outcome(call, user, 1000) == refuse(errno.EPERM)
        assert outcome(call, 1 << 32 | user, 1000) == refuse(errno.EPERM)
    for arguments in ((process, _PID), (group, 0), (group, _PID), (9, 0)):
        assert plain(call, *arguments) == refuse(errno.EPERM)
        assert watched(call, *arguments) == NOTIFY
    for machine in _MACHINES:
        program = call_filter(machine, "off", **_OWN_PROCESSES)
        assert _verdict(program, machine, number_of(call, machine), (user, 0)) == refuse(errno.EPERM)
        assert _verdict(program, machine, number_of(call, machine), (group, 7)) == ALLOW


def test_what_an_old_landlock_lacks_is_made_up_for():
    new, old = _outcomes(), _outcomes(landlock=1)
    assert new("truncate") == new("kill", _PID) == new("openat2") == ALLOW
    assert old("truncate") == refuse(errno.EACCES)
    assert old("openat", -100, 0, os.O_RDONLY | os.O_TRUNC) == refuse(errno.EACCES)
    assert old("openat", -100, 0, os.O_WRONLY | os.O_TRUNC) == old("kill", _PID + 1) == ALLOW
    assert old("kill", _PID) == old("kill", 2**32 - _PID) == old("kill", 2**32 - 1) == refuse(errno.EPERM)


def test_the_full_level_has_the_networks_rules_alone():
    outcome = _outcomes("off", strict=False)
    assert outcome("mount") == outcome("chmod", 0, 0o4755) == ALLOW
    assert outcome("connect") == refuse(errno.EACCES)
    assert outcome("io_uring_setup") == refuse(errno.ENOSYS)


@each("call", ["shmget", "shmat", "semop", "msgrcv", "mq_open"])
def test_what_the_users_other_programs_share_is_closed_unless_it_is_the_sessions_own(call):
    assert _outcomes()(call) == refuse(errno.EACCES)
    assert _outcomes("off", strict=False)(call) == ALLOW
    for machine in _MACHINES:
        program = call_filter(machine, "off", notify=frozenset(), landlock=7, own_pid=_PID, own_ipc=True)
        assert _verdict(program, machine, number_of(call, machine)) == ALLOW


def test_an_unknown_processor_has_no_filter():
    with pytest.raises(OSError, match="riscv64"):
        call_filter("riscv64", "off", notify=frozenset(), landlock=7, own_pid=1)


def test_two_rules_for_one_call_are_a_mistake():
    with pytest.raises(ValueError, match="same call"):
        assemble(MACHINES["x86_64"], (CallRule(1), CallRule(1)), ALLOW, ALLOW)
