"""Seccomp: which of the kernel's calls a confined command may not make, and which wait for an answer of ours.

What files a command may open is Landlock's affair. This closes what Landlock does not see: sockets that are no
stream, calls that only an attack on the kernel needs, and ways around the two.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import socket
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Literal

from tools.environments.sandbox.kernel import SECCOMP_CALL
from tools.environments.sandbox.port import Network
from tools.light_dataclass import dataclass

if sys.platform != "win32":
    import fcntl

# Filters as programs of the kernel's: calls that are refused or reported, by number and arguments.

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


# The numbers of the kernel's calls that a filter names, on the processors that it is made for.

MACHINES: Mapping[str, Machine] = {
    "x86_64": Machine(audit=0xC000003E, beyond=0x40000000),
    "aarch64": Machine(audit=0xC00000B7),
}

# Each call with its number on x86_64 and on aarch64, - where there is none.
_CALL_NUMBERS = """
    acct 163 89, add_key 248 217, adjtimex 159 171, bpf 321 280, chmod 90 -, chown 92 -, chroot 161 51,
    clock_settime 227 112, clone 56 220, clone3 435 435, connect 42 203, delete_module 176 106,
    fanotify_init 300 262, fanotify_mark 301 263, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, fchown 93 55,
    fchownat 260 54, file_setattr 469 469, finit_module 313 273, fremovexattr 199 16, fsconfig 431 431,
    fsetxattr 190 7, fsmount 432 432, fsopen 430 430, fspick 433 433, futimesat 261 -, init_module 175 105,
    io_uring_enter 426 426, io_uring_register 427 427, io_uring_setup 425 425, ioctl 16 29, ioperm 173 -,
    iopl 172 -, ioprio_set 251 30, kexec_file_load 320 294, kexec_load 246 104, keyctl 250 219, kill 62 129,
    lchown 94 -, listen 50 201, lremovexattr 198 15, lsetxattr 189 6, mount 165 40, mount_setattr 442 442,
    move_mount 429 429, mq_open 240 180, mq_unlink 241 181, msgctl 71 187, msgget 68 186, msgrcv 70 188,
    msgsnd 69 189, open 2 -, open_by_handle_at 304 265, open_tree 428 428, open_tree_attr 467 467, openat 257 56,
    openat2 437 437, perf_event_open 298 241, pidfd_open 434 434, pivot_root 155 41, prlimit64 302 261,
    quotactl 179 60, quotactl_fd 443 443, reboot 169 142, removexattr 197 14, removexattrat 466 466,
    request_key 249 218, sched_setaffinity 203 122, sched_setattr 314 274, sched_setparam 142 118,
    sched_setscheduler 144 119, semctl 66 191, semget 64 190, semop 65 193, semtimedop 220 192, sendmmsg 307 269,
    sendmsg 46 211, sendto 44 206, setdomainname 171 162, sethostname 170 161, setns 308 268,
    setpriority 141 140, settimeofday 164 170, setxattr 188 5, setxattrat 463 463, shmat 30 196, shmctl 31 195,
    shmget 29 194, socket 41 198, socketpair 53 199, swapoff 168 225, swapon 167 224, syslog 103 116,
    tgkill 234 131, truncate 76 45, umount2 166 39, unshare 272 97, userfaultfd 323 282, utime 132 -,
    utimensat 280 88, utimes 235 -, vhangup 153 58
"""
_NUMBERS: Mapping[str, Sequence[str]] = {name: numbers for name, *numbers in map(str.split, _CALL_NUMBERS.split(","))}
_COLUMNS = {"x86_64": 0, "aarch64": 1}


def number_of(call: str, machine: str) -> int | None:
    """The call's number on that processor; None where it has no such call."""
    number = _NUMBERS[call][_COLUMNS[machine]]
    return None if number == "-" else int(number)


@functools.cache
def names_of(calls: frozenset[str], machine: str) -> Mapping[int, str]:
    """Those of `calls` that the processor has, by their numbers."""
    numbers = {name: number_of(name, machine) for name in calls}
    return {number: name for name, number in numbers.items() if number is not None}


# The filter of a command.

OF_ONE_PROCESS = frozenset(
    {"prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"}
)
"""The calls of scheduling whose first argument is the number of a process or thread, 0 for the caller."""
OF_SOME_PROCESSES: Mapping[str, tuple[int, int, int]] = {"setpriority": (0, 1, 2), "ioprio_set": (1, 2, 3)}
"""Those whose second argument is a number, and what the first is where that is a process's, a group's, a user's."""
SCHEDULING_CALLS = frozenset({*OF_ONE_PROCESS, *OF_SOME_PROCESSES})
"""All of them: calls that a judge of ours lets go on, or not."""

_NEVER = (
    # What changes the whole machine. Without root they fail anyway; with root they must fail too.
    *("acct", "adjtimex", "chroot", "clock_settime", "delete_module", "finit_module", "init_module", "ioperm"),
    *("iopl", "kexec_file_load", "kexec_load", "quotactl", "quotactl_fd", "reboot", "setdomainname", "sethostname"),
    *("settimeofday", "swapoff", "swapon", "syslog", "vhangup"),
    # Other views of the files: what they mount would be judged by other rules.
    *("fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount", "open_tree"),
    *("open_tree_attr", "pivot_root", "setns", "umount2"),
    # Keys that the kernel keeps for the user; files by number; what others open and write.
    *("add_key", "keyctl", "request_key", "open_by_handle_at", "fanotify_init", "fanotify_mark"),
    # Big doors into the kernel that everyday programs do not use.
    *("bpf", "perf_event_open", "userfaultfd"),
)
# Programs that find them missing use plain calls instead, which are filtered.
_MISSING = ("io_uring_enter", "io_uring_register", "io_uring_setup", "clone3")
# Extended attributes of files outside could be changed; who copies files takes this for a file system without them.
_ATTRIBUTES = (
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat", "file_setattr"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
)
# Shared memory, semaphores and queues of System V, and queues of POSIX: not files, and the user's, not a command's.
_SHARED = (
    *("shmget", "shmat", "shmctl", "semget", "semop", "semctl", "semtimedop"),
    *("msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink"),
)
# chmod and its argument that is the new mode.
_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2}
_SET_ID_BITS = 0o6000
_NEW_NAMESPACES = 0x7E020000
_NEW_TIME_NAMESPACE = 0x80
_TYPING_FOR_OTHERS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
# Flags, protection and subvolumes: changed through what is only open for reading, so also outside.
_FILE_FLAGS = (
    *(0x40086602, 0x40046602, 0x401C5820, 0x40087602, 0x40047602),  # FS_IOC_SETFLAGS, FSSETXATTR, SETVERSION
    *(0x40806685, 0x800C6613, 0xC0506617, 0xC0406618),  # FS_IOC_ENABLE_VERITY, encryption
    *(0x50009401, 0x5000940E, 0x5000940F, 0x50009417, 0x50009418, 0x5000943F, 0x4008941A),  # btrfs: subvolumes
)
_FAST_OPEN = 0x20000000
_SEND_FLAGS = {"sendto": 3, "sendmsg": 2, "sendmmsg": 3}
_KIND = 0xF
_NETLINK, _ROUTE, _SOCKET_FACTS = 16, 0, 4
_TCP, _MULTIPATH_TCP = 6, 262
_ACCESS_MODE, _TRUNCATES = 0o3, 0o1000
_OPEN_FLAGS = {"open": 1, "openat": 2}
_EVERYBODY = 0xFFFFFFFF


@functools.cache
def call_filter(
    machine: str,
    network: Network,
    *,
    notify: frozenset[str],
    landlock: int,
    own_pid: int,
    strict: bool = True,
    own_ipc: bool = False,
    own_processes: bool = False,
) -> bytes:
    """The program that the kernel runs before each call.

    Args:
        notify: the calls that somebody else decides. Where connect is not among them, none is made.
        landlock: the version of Landlock beside it; what an old one does not cover is closed here.
        own_pid: this process, which no command may signal.
        strict: all of it; False: the network alone.
        own_ipc: what the command shares with others by System V's means is seen by the session's commands alone.
        own_processes: there are numbers for the command's own processes alone.

    Raises:
        OSError: the processor is one that nobody has made a filter for.
    """
    if machine not in MACHINES:
        raise OSError(errno.ENOSYS, f"No filter of calls is known for {machine} processors.")
    found: dict[str, CallRule] = {}

    def add(name: str, *cases: Case, otherwise: int = ALLOW) -> None:
        number = number_of(name, machine)
        if number is not None and name not in found:
            found[name] = CallRule(number, cases, otherwise)

    for name in notify - _MODES.keys() - SCHEDULING_CALLS:
        add(name, otherwise=NOTIFY)
    for name, cases, otherwise in (
        *_network(network),
        *(_strict(landlock, own_pid, notify) if strict else ()),
        *(_scheduling(notify, open_to_others=not own_processes) if strict else ()),
        *_shared(open_to_others=strict and not own_ipc),
    ):
        add(name, *cases, otherwise=otherwise)
    denied, missing = refuse(errno.EPERM), refuse(errno.ENOSYS)
    return assemble(MACHINES[machine], tuple(found.values()), other_machine=denied, beyond=missing)


_Named = tuple[str, tuple[Case, ...], int]


def _strict(landlock: int, own_pid: int, notify: frozenset[str]) -> Iterator[_Named]:
    denied = refuse(errno.EPERM)
    for name in _NEVER:
        yield name, (), denied
    for name in _MISSING:
        yield name, (), refuse(errno.ENOSYS)
    for name in _ATTRIBUTES:
        yield name, (), refuse(errno.ENOTSUP)
    for name, mode in _MODES.items():
        privileged = Case(denied, (Test(mode, (0,), mask=_SET_ID_BITS, among=False),))
        yield name, (privileged,), NOTIFY if name in notify else ALLOW
    namespaces = (Case(denied, (Test(0, (0,), mask=_NEW_NAMESPACES, among=False),)),)
    yield "clone", namespaces, ALLOW
    mask = _NEW_NAMESPACES | _NEW_TIME_NAMESPACE
    yield "unshare", (Case(denied, (Test(0, (0,), mask=mask, among=False),)),), ALLOW
    typing = Case(denied, (Test(1, _TYPING_FOR_OTHERS),))
    # As on a file system without them.
    marking = Case(refuse(errno.ENOTTY), (Test(1, _FILE_FLAGS),))
    yield "ioctl", (typing, marking), ALLOW
    if landlock < 6:  # noqa: PLR2004 - it does not know signals yet
        yield "kill", (Case(denied, (Test(0, (own_pid, -own_pid & _EVERYBODY, _EVERYBODY)),)),), ALLOW
        yield "tgkill", (Case(denied, (Test(0, (own_pid,)),)),), ALLOW
        yield "pidfd_open", (Case(denied, (Test(0, (own_pid,)),)),), ALLOW
    if landlock < 3:  # noqa: PLR2004 - it does not know truncation yet
        yield "truncate", (), refuse(errno.EACCES)
        for name, flags in _OPEN_FLAGS.items():
            # Opened for reading only, and emptied all the same.
            tests = (Test(flags, (_TRUNCATES,), mask=_TRUNCATES), Test(flags, (0,), mask=_ACCESS_MODE))
            yield name, (Case(refuse(errno.EACCES), tests),), ALLOW
        yield "openat2", (), refuse(errno.ENOSYS)  # its flags are in memory, where no filter sees them


def _scheduling(notify: frozenset[str], *, open_to_others: bool) -> Iterator[_Named]:
    """What changes the scheduling or the limits of processes, which may be others of the user's, ours among them."""
    denied = refuse(errno.EPERM)

    def by_number(name: str) -> int:
        if not open_to_others:
            return ALLOW
        return NOTIFY if name in notify else denied

    for name, (process, _, user) in OF_SOME_PROCESSES.items():
        of_a_user = Case(denied, (Test(0, (user,)),))
        of_itself = Case(ALLOW, (Test(0, (process,)), Test(1, (0,))))
        yield name, (of_a_user, of_itself), by_number(name)
    for name in OF_ONE_PROCESS:
        yield name, (Case(ALLOW, (Test(0, (0,)),)),), by_number(name)


def _shared(*, open_to_others: bool) -> Iterator[_Named]:
    if open_to_others:
        for name in _SHARED:
            yield name, (), refuse(errno.EACCES)


def _network(network: Network) -> Iterator[_Named]:
    streams = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)
    unix = Test(0, (socket.AF_UNIX,))
    internet = Test(0, (socket.AF_INET, socket.AF_INET6))
    stream = Test(1, (socket.SOCK_STREAM,), mask=_KIND)
    tcp = Test(2, (0, _TCP))
    # Nothing keeps other machines from one that listens. Programs take this for a kernel without it, and TCP instead.
    multipath = Case(refuse(errno.EPROTONOSUPPORT), (internet, stream, Test(2, (_MULTIPATH_TCP,))))
    # Names of this machine's network cards are found by a netlink socket, and listening ones by another.
    facts = (Test(0, (_NETLINK,)), Test(2, (_ROUTE, _SOCKET_FACTS)))
    allowed = [Case(ALLOW, (unix, Test(1, streams, mask=_KIND))), Case(ALLOW, (internet, stream, tcp))]
    if network == "on":
        allowed.append(Case(ALLOW, (internet, Test(1, (socket.SOCK_DGRAM,), mask=_KIND))))
    allowed.append(Case(ALLOW, facts))
    known = Case(refuse(errno.EACCES), (Test(0, (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)),))
    yield "socket", (*allowed, multipath, known), refuse(errno.EAFNOSUPPORT)
    yield "socketpair", (Case(ALLOW, (unix, Test(1, streams, mask=_KIND))),), refuse(errno.EACCES)
    # Without an answer by somebody who sees the address there is no address to trust.
    yield "connect", (), refuse(errno.EACCES)
    # Nor one that listens that somebody could keep other machines from.
    yield "listen", (), refuse(errno.EACCES) if network != "on" else ALLOW
    for name, flags in _SEND_FLAGS.items():
        # A connection that is made by sending.
        yield name, (Case(refuse(errno.EPERM), (Test(flags, (_FAST_OPEN,), mask=_FAST_OPEN),)),), ALLOW
    for name in ("io_uring_enter", "io_uring_register", "io_uring_setup"):
        yield name, (), refuse(errno.ENOSYS)


# Calls that wait: seccomp user notification, and another process's memory and sockets.
# seccomp_unotify(2), pidfd_getfd(2), proc_pid_mem(5). The calls are made with `fcntl` where Python has them.

Call = Literal["connect", "listen", "other"]

_RECV, _SEND, _ID_VALID = 0xC0502100, 0xC0182101, 0x40082102
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_GO_ON = 1
_PIDFD_GETFD = 438
_GET_NOTIF_SIZES = 3
# By audit architecture: numbers mean something else in each.
_CALLS: dict[int, dict[int, Call]] = {
    0xC000003E: {42: "connect", 50: "listen"},
    0xC00000B7: {203: "connect", 201: "listen"},
}
_MOST_ADDRESS = 128


class Gone(ProcessLookupError):
    """Whoever made the call is gone, or does not wait for it any more."""


@dataclass(frozen=True, slots=True)
class Notification:
    """A call that waits for an answer.

    Attributes:
        listener: where the answer goes.
        pid: the thread that made it, as this process counts threads.
        nr: the call's number in the thread's own architecture; `call` is which of those that matter.
        args: its six arguments as they stand in the registers.
    """

    listener: int
    number: int
    pid: int
    call: Call
    nr: int
    args: tuple[int, ...]

    def answer(self, error: int | None) -> None:
        """Let the call return 0, fail with the errno `error`, or be made where that is None.

        Nothing happens where nobody waits for it.
        """
        response = _ANSWER.pack(self.number, 0, -(error or 0), _GO_ON if error is None else 0)
        with suppress(OSError):  # ENOENT: nobody waits
            fcntl.ioctl(self.listener, _SEND, response)

    def valid(self) -> bool:
        """Whether the call still waits; so what was found by its thread's number was its own."""
        try:
            fcntl.ioctl(self.listener, _ID_VALID, self.number.to_bytes(8, sys.byteorder))
        except OSError:
            return False
        return True

    def process(self) -> int:
        """The process of the thread that made the call.

        Raises:
            OSError: Gone.
        """
        with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as status:  # noqa: PTH123
            found = next((line for line in status if line.startswith("Tgid:")), "")
        self._check()
        return int(found.split()[1])

    def its_socket(self) -> socket.socket:
        """A duplicate of the socket that is the call's first argument; the caller closes it.

        Raises:
            OSError: it is no socket, or the process may not be looked into; Gone.
        """
        duplicate = _duplicate(self.process(), as_int(self.args[0]))
        try:
            self._check()
            return socket.socket(fileno=duplicate)
        except OSError:
            os.close(duplicate)
            raise

    def address(self) -> bytes:
        """A copy of the address that is the call's second argument, with the length that is its third.

        Raises:
            OSError: EINVAL as the kernel has it, and as `memory`.
        """
        length = as_int(self.args[2])
        if not 0 < length <= _MOST_ADDRESS:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        copied = self.memory(self.args[1], length)
        if len(copied) != length:
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
        return copied

    def memory(self, address: int, size: int) -> bytes:
        """At most `size` bytes of the thread's memory; less where it ends.

        Raises:
            OSError: EFAULT where there is none; EACCES, EPERM where the process may not be looked into; Gone.
        """
        memory = os.open(f"/proc/{self.pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._check()
            return os.pread(memory, size, address)
        except Gone:
            raise
        except (OverflowError, OSError) as problem:
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT)) from problem
        finally:
            os.close(memory)

    def _check(self) -> None:
        if not self.valid():
            raise Gone(errno.ESRCH, os.strerror(errno.ESRCH))


@functools.cache
def why_not() -> str:
    """Why the supervisor cannot work on this machine, '' if it can."""
    number = SECCOMP_CALL.get(platform.machine())
    if sys.platform != "linux" or number is None:
        return f"seccomp notifications are not used on {sys.platform} with {platform.machine()}"
    sizes = ctypes.create_string_buffer(6)
    if _library().syscall(number, _GET_NOTIF_SIZES, 0, sizes) != 0:
        return f"the kernel has no seccomp notifications ({os.strerror(ctypes.get_errno())}; Linux 5.6 has them)"
    if struct.unpack("=HH", sizes.raw[:4]) != (_NOTIFICATION.size, _ANSWER.size):
        return "the kernel's seccomp notifications have another form than those known here"
    ours, other = os.pipe()
    try:
        os.close(_duplicate(os.getpid(), ours))
    except OSError as problem:
        return f"pidfd_getfd does not work ({problem.strerror}; Linux 5.6 has it)"
    finally:
        os.close(ours)
        os.close(other)
    return ""


def receive(listener: int) -> Notification:
    """The next call that waits; blocks until there is one.

    Raises:
        Gone: it was taken back. OSError.
    """
    buffer = bytearray(_NOTIFICATION.size)
    try:
        fcntl.ioctl(listener, _RECV, buffer)
    except OSError as problem:
        if problem.errno in {errno.ENOENT, errno.EINTR}:
            raise Gone(errno.ESRCH, os.strerror(errno.ESRCH)) from problem
        raise
    number, thread, _, code, architecture, _, *arguments = _NOTIFICATION.unpack(buffer)
    call = _CALLS.get(architecture, {}).get(code, "other")
    return Notification(listener, number, thread, call, code, tuple(arguments))


def as_int(argument: int) -> int:
    """A register as the C int that the kernel takes it for, if the call takes one."""
    low = argument & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def _duplicate(process: int, descriptor: int) -> int:
    held = os.pidfd_open(process)
    try:
        duplicate: int = _library().syscall(_PIDFD_GETFD, held, descriptor, 0)
    finally:
        os.close(held)
    if duplicate < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return duplicate


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
