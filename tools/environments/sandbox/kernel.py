"""The Linux kernel's calls that confine the calling thread, and processes started from a thread that is confined.

Nothing loads before the first call.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tools.environments.sandbox.port import Limits

if sys.platform != "win32":
    import resource

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
SECCOMP_CALL = {"x86_64": 317, "aarch64": 277}
"""The number of seccomp(2) by processor."""
_VERSION = 1
_PATH_BENEATH = 1
_SET_FILTER = 1
_NEW_LISTENER, _WAIT_KILLABLE = 1 << 3, 1 << 5
_PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 23, 24, 38, 47
_AMBIENT_CLEAR_ALL = 4
_CAPABILITIES_OF_64_BITS = 0x20080522
_INSTRUCTION_BYTES = 8
_AT_EMPTY_PATH = 0x1000
_NEW_IPC = 0x08000000

# What a command of root keeps: what installing packages and unpacking archives needs. None reaches past files.
_KEPT_CAPABILITIES = frozenset(
    {
        0,  # CHOWN
        1,  # DAC_OVERRIDE
        3,  # FOWNER
        4,  # FSETID
        5,  # KILL
        6,  # SETGID
        7,  # SETUID
        10,  # NET_BIND_SERVICE
        31,  # SETFCAP
    }
)


def machine() -> str:
    """The processor's name for the kernel: x86_64, aarch64."""
    return os.uname().machine


def landlock_version() -> int:
    """The version of Landlock that the kernel speaks; 0 where it has none, or none that is switched on."""
    try:
        return _call(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    except OSError:
        return 0


def create_ruleset(files: int, network: int, scopes: int, version: int) -> int:
    """A new Landlock ruleset; the descriptor is the caller's.

    Args:
        files, network, scopes: what is forbidden unless a rule allows it.

    Raises:
        OSError: the kernel does not know one of them.
    """
    fields = (files, network, scopes)[: 3 if version >= 6 else 2 if version >= 4 else 1]  # noqa: PLR2004 - its history
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    return _call(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))


def allow_beneath(ruleset: int, rights: int, place: int) -> None:
    """Allow `rights` on what the descriptor `place` names and all that is below it.

    Raises:
        OSError: the rights do not fit a file, or it is something that no rule can name.
    """
    rule = struct.pack("=Qi", rights, place)
    _call(_LANDLOCK_ADD, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))


def gain_no_privileges() -> None:
    """For this thread and all that it starts: no program gains rights by being started.

    Raises:
        OSError: the kernel refuses it.
    """
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def give_up_privileges() -> None:
    """For this thread and all that it starts: no program gains rights by being started, and root has few of its own.

    Raises:
        OSError: the kernel refuses it.
    """
    gain_no_privileges()
    if os.geteuid() == 0:
        for capability in range(_last_capability() + 1):
            # One that it has not got cannot be dropped, and need not be.
            if capability not in _KEPT_CAPABILITIES and _libc().prctl(_PR_CAPBSET_READ, capability, 0, 0, 0) == 1:
                _prctl(_PR_CAPBSET_DROP, capability)
    _prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    _inherit_no_capabilities()


def separate_ipc() -> bool:
    """Give this thread, and what it starts, System V's shared memory, semaphores and queues of their own.

    Returns:
        False where this is not allowed: it takes root's rights.
    """
    result: int = _libc().unshare(ctypes.c_int(_NEW_IPC))
    return result == 0


def restrict_thread(ruleset: int) -> None:
    """Put the calling thread, and what it starts, under a Landlock ruleset for good.

    Raises:
        OSError: the kernel refuses it.
    """
    _call(_LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))


def filter_thread(program: bytes, *, listen: bool) -> int:
    """Put the calling thread, and what it starts, under a seccomp filter for good.

    Returns:
        where the filter's notifications come, when `listen`; -1 otherwise. The descriptor is the caller's.

    Raises:
        OSError: the kernel refuses it.
    """
    kept = ctypes.create_string_buffer(program, len(program))
    filled = struct.pack("@HP", len(program) // _INSTRUCTION_BYTES, ctypes.addressof(kept))
    if not listen:
        _call(_seccomp(), ctypes.c_uint(_SET_FILTER), ctypes.c_uint(0), filled)
        return -1
    try:
        return _call(_seccomp(), ctypes.c_uint(_SET_FILTER), ctypes.c_uint(_NEW_LISTENER | _WAIT_KILLABLE), filled)
    except OSError:  # a kernel before 5.19
        return _call(_seccomp(), ctypes.c_uint(_SET_FILTER), ctypes.c_uint(_NEW_LISTENER), filled)


def change_owner(handle: int, user: int, group: int) -> None:
    """Change the owner of what a descriptor names, a symbolic link too; as unsigned numbers, all ones for none.

    Raises:
        OSError: as chown(2).
    """
    numbers = (ctypes.c_uint32(user & 0xFFFFFFFF), ctypes.c_uint32(group & 0xFFFFFFFF))
    if _libc().fchownat(ctypes.c_int(handle), b"", *numbers, ctypes.c_int(_AT_EMPTY_PATH)) != 0:
        raise _error()


def _seccomp() -> int:
    number = SECCOMP_CALL.get(machine())
    if number is None:
        raise OSError(f"No seccomp filter is known for {machine()} processors.")
    return number


@functools.cache
def _last_capability() -> int:
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as stream:  # noqa: PTH123 - plain and quick
        return int(stream.read())


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _inherit_no_capabilities() -> None:
    """What a program would get by being started that has a right to inherit them (capabilities(7))."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITIES_OF_64_BITS, 0))
    words = ctypes.create_string_buffer(24)
    library = _libc()
    if library.capget(header, words) != 0:
        raise _error()
    had = struct.unpack("=6I", words.raw)
    without = (*had[:2], 0, *had[3:5], 0)
    if without != had and library.capset(header, ctypes.create_string_buffer(struct.pack("=6I", *without), 24)) != 0:
        raise _error()


def _call(number: int, *arguments: object) -> int:
    result: int = _libc().syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise _error()
    return result


def _prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    if _libc().prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero) != 0:
        raise _error()


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


# A process is started from a thread that has given up its rights: what confines the thread confines the process.
# On Linux these restrictions belong to a thread and go to what it starts. So a thread is made for one start, confines
# itself, starts the process and is gone: no helper program, nothing that runs between fork and exec, and the process
# is a child of ours like any other.

GONE_SECONDS = 2.0


class _Start:
    """What the thread was asked, and what came of it."""

    def __init__(self, confine: Callable[[], int], start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self._confine = confine
        self._start = start
        self.thread_id = 0
        self.listener = -1
        self.process: subprocess.Popen[bytes] | None = None
        self.problem: BaseException | None = None

    def run(self) -> None:
        """Confine this thread, and start."""
        self.thread_id = threading.get_native_id()
        try:
            self.listener = self._confine()
            self.process = self._start()
        except BaseException as problem:  # noqa: BLE001 - it is raised where the start was asked for
            self.problem = problem


def start_confined(
    confine: Callable[[], int],
    start: Callable[[], subprocess.Popen[bytes]],
    begin: Callable[[Callable[[], None]], None] = lambda begin: begin(),
) -> tuple[subprocess.Popen[bytes], int]:
    """Call `confine`, then `start`, on a thread of their own, and return when that thread is no more.

    A program that the process runs could look into a thread that is under the very same rules; so what is started has
    to wait for a word that comes after this call.

    Args:
        confine: confines its thread; returns the descriptor of a filter's notifications, or -1.
        start: starts the process.
        begin: calls what starts that thread, which inherits from the thread that this is called on.

    Returns:
        the process, and that descriptor, which is the caller's.

    Raises:
        OSError: the thread could not be confined, or the process not be started.
    """
    asked = _Start(confine, start)
    thread = threading.Thread(target=asked.run, name="confined start", daemon=True)
    begin(thread.start)
    thread.join()
    if asked.problem is None and asked.process is not None and _is_gone(asked.thread_id):
        return asked.process, asked.listener
    if asked.listener >= 0:
        os.close(asked.listener)
    if asked.process is not None:
        asked.process.kill()
        asked.process.wait()
    raise asked.problem or OSError("The thread that started a confined command did not end. The command was killed.")


def _is_gone(thread_id: int) -> bool:
    """Wait for the kernel's end of a thread, which comes some microseconds after Python's."""
    entry = Path(f"/proc/self/task/{thread_id}")
    deadline = time.monotonic() + GONE_SECONDS
    while entry.exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0)
    return True


# Limits of what a process may use, set from outside before it begins.


def limit_process(pid: int, limits: Limits) -> None:
    """Limit a process of ours and all that it will start; never beyond what it is limited to already.

    Raises:
        OSError: a limit could not be set, or the system cannot set limits from outside.
    """
    wanted = _wanted(limits)
    if not wanted:
        return
    if not hasattr(resource, "prlimit"):
        raise OSError("This system cannot limit a command that is started. Remove sandbox.limits from the settings.")
    for kind, value in wanted.items():
        _, most = resource.prlimit(pid, kind)
        bounded = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.prlimit(pid, kind, (bounded, bounded))


def _wanted(limits: Limits) -> dict[int, int]:
    found = {
        resource.RLIMIT_CPU: limits.cpu_seconds,
        # What it writes to, not what it reserves: some runtimes reserve more than any machine has.
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_FSIZE: limits.file_size,
        # The kernel counts all processes of a user.
        resource.RLIMIT_NPROC: None if limits.processes is None else limits.processes + _tasks_of_user(),
    }
    return {kind: value for kind, value in found.items() if value is not None}


def _tasks_of_user() -> int:
    """How many processes and threads the user has."""
    count = 0
    for entry in Path("/proc").iterdir() if Path("/proc/self").exists() else ():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # gone meanwhile
                count += len(os.listdir(entry / "task")) if entry.stat().st_uid == os.geteuid() else 0  # noqa: PTH208
    return count
