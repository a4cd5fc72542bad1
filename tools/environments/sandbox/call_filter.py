"""Which of the kernel's calls a confined command may not make, and of which the session's network is told.

What files a command may open is Landlock's affair. This closes what Landlock does not see: sockets that are no
stream, calls that only an attack on the kernel needs, and ways around the two.
"""

from __future__ import annotations

import errno
import functools
import socket
from collections.abc import Iterator, Mapping

from tools.environments.sandbox.bpf import ALLOW, NOTIFY, CallRule, Case, Test, assemble, refuse
from tools.environments.sandbox.call_numbers import MACHINES, number_of
from tools.environments.sandbox.port import Network

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
