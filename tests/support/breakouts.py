"""A program that a confined process runs: it tries everything that it must not be able to do.

Called with a JSON object that says where things are; prints a JSON object: each attempt, and "done" or an error.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import platform
import select
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LIBC = ctypes.CDLL(None, use_errno=True)
_X86 = platform.machine() == "x86_64"
_CALLS = {
    "open_by_handle_at": 304 if _X86 else 265,
    "name_to_handle_at": 303 if _X86 else 264,
    "process_vm_readv": 310 if _X86 else 270,
    "keyctl": 250 if _X86 else 219,
    "bpf": 321 if _X86 else 280,
    "perf_event_open": 298 if _X86 else 241,
    "userfaultfd": 323 if _X86 else 282,
    "io_uring_setup": 425,
    "pidfd_getfd": 438,
    "setxattr": 188 if _X86 else 5,
    "fchmodat2": 452,
    "sched_setattr": 314 if _X86 else 274,
    "ioprio_set": 251 if _X86 else 30,
    "migrate_pages": 256 if _X86 else 238,
    "move_pages": 279 if _X86 else 239,
    "process_madvise": 440,
    "kcmp": 312 if _X86 else 272,
}
_FAST_OPEN = 0x20000000
_SEIZE = 0x4206

PLACES: dict[str, Any] = {}
ATTEMPTS: dict[str, Callable[[], object]] = {}


def attempt(function: Callable[[], object]) -> Callable[[], object]:
    """It counts as done when it raises nothing and returns nothing false."""
    ATTEMPTS[function.__name__] = function
    return function


def main() -> None:
    """Try all of them."""
    PLACES.update(json.loads(sys.argv[1]))
    sys.stdin.readline()
    found = {}
    for name, function in ATTEMPTS.items():
        try:
            found[name] = "done" if function() is not False else "nothing happened"
        except (OSError, ValueError, AttributeError) as problem:
            found[name] = f"{type(problem).__name__}: {problem}"
    sys.stdout.write(json.dumps(found) + "\n")


def _call(name: str, *arguments: object) -> int:
    # As whole registers: the library would leave half of some as they were.
    whole = [ctypes.c_long(each) if isinstance(each, int) else each for each in (_CALLS[name], *arguments)]
    return _checked(_LIBC.syscall(*whole))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _outside(name: str = "target") -> Path:
    return Path(PLACES["outside"], name)


def _root(name: str) -> Path:
    return Path(PLACES["root"], name)


def _secret() -> Path:
    return Path(PLACES["hidden"], "secret")


# Files outside.


@attempt
def write_outside() -> None:
    _outside().write_text("changed")


@attempt
def append_outside() -> None:
    with _outside().open("a") as stream:
        stream.write("more")


@attempt
def truncate_outside() -> None:
    os.truncate(_outside(), 0)


@attempt
def empty_by_opening_for_reading() -> None:
    os.close(os.open(_outside(), os.O_RDONLY | os.O_TRUNC))


@attempt
def create_outside() -> None:
    _outside("created").write_text("new")


@attempt
def make_directory_outside() -> None:
    _outside("directory").mkdir()


@attempt
def make_link_outside() -> None:
    _outside("link").symlink_to("/etc")


@attempt
def make_pipe_outside() -> None:
    os.mkfifo(_outside("pipe"))


@attempt
def make_node_outside() -> None:
    os.mknod(_outside("node"), 0o600 | 0o100000)


@attempt
def remove_outside() -> None:
    _outside().unlink()


@attempt
def rename_outside() -> None:
    _outside().rename(_outside("renamed"))


@attempt
def rename_into_the_root() -> None:
    _outside().rename(_root("taken"))


@attempt
def rename_over() -> None:
    _root("mine").write_text("mine")
    _root("mine").rename(_outside())


@attempt
def hard_link_into_the_root() -> None:
    os.link(_outside(), _root("hard"))
    _root("hard").write_text("changed")


@attempt
def hard_link_outside() -> None:
    _root("given").write_text("mine")
    os.link(_root("given"), _outside("hard"))


@attempt
def through_a_symbolic_link() -> None:
    _root("soft").symlink_to(_outside())
    _root("soft").write_text("changed")


@attempt
def through_dots() -> None:
    Path(PLACES["root"], "..", "outside", "target").write_text("changed")


@attempt
def through_own_root() -> None:
    Path(f"/proc/self/root{_outside()}").write_text("changed")


@attempt
def through_the_parents_root() -> None:
    Path(f"/proc/{PLACES['parent']}/root{_outside()}").write_text("changed")


@attempt
def through_the_parents_directory() -> None:
    Path(f"/proc/{PLACES['parent']}/cwd").readlink()


@attempt
def through_the_parents_descriptor() -> None:
    Path(f"/proc/{PLACES['parent']}/fd/{PLACES['descriptor']}").write_text("changed")


@attempt
def by_a_nameless_file() -> None:
    descriptor = os.open(PLACES["root"], os.O_TMPFILE | os.O_RDWR, 0o600)
    os.link(f"/proc/self/fd/{descriptor}", _outside("nameless"), follow_symlinks=True)


@attempt
def by_swapping_a_link() -> bool:
    """One thread swaps a directory for a link while another writes through it."""
    (_root("safe")).mkdir()
    done, wrote = threading.Event(), 0

    def swap() -> None:
        at, spare = _root("swapped"), _root("swapping")
        for number in range(400):
            spare.symlink_to(PLACES["outside"] if number % 2 else _root("safe"))
            spare.rename(at)
        done.set()

    thread = threading.Thread(target=swap)
    thread.start()
    while not done.is_set():
        try:
            _root("swapped/target").write_text("changed")
        except OSError:
            continue
        wrote += 1
    thread.join()
    return _outside().read_text() == "changed"


@attempt
def change_mode_outside() -> None:
    _outside().chmod(0o777)


@attempt
def change_mode_by_descriptor() -> None:
    descriptor = os.open(_outside(), os.O_RDONLY)
    os.fchmod(descriptor, 0o777)


@attempt
def change_mode_through_a_link() -> None:
    link = _root("to-mode")
    link.symlink_to(_outside())
    link.chmod(0o777)


@attempt
def change_mode_by_the_newest_call() -> None:
    _call("fchmodat2", -100, str(_outside()).encode(), 0o777, 0)


@attempt
def change_owner_outside() -> None:
    os.chown(_outside(), os.getuid(), os.getgid())


@attempt
def set_attribute_outside() -> None:
    value = b"1"
    _call("setxattr", str(_outside()).encode(), b"user.mark", value, len(value), 0)


@attempt
def change_flags_outside() -> None:
    """Needs no right to write: not to be dumped, not to note when it was read."""
    descriptor = os.open(_outside(), os.O_RDONLY)
    flags = struct.unpack("l", fcntl.ioctl(descriptor, 0x80086601, bytes(8)))[0]
    fcntl.ioctl(descriptor, 0x40086602, struct.pack("l", flags | 0xC0))


@attempt
def make_a_program_that_runs_as_its_owner() -> None:
    _root("suid").write_text("")
    _root("suid").chmod(0o4755)


# What is hidden.


@attempt
def read_the_secret() -> bool:
    return bool(_secret().read_text())


@attempt
def read_the_secret_by_a_hard_link() -> bool:
    os.link(_secret(), _root("secret-link"))
    return bool(_root("secret-link").read_text())


@attempt
def read_the_secret_by_a_symbolic_link() -> bool:
    _root("secret-soft").symlink_to(_secret())
    return bool(_root("secret-soft").read_text())


@attempt
def read_the_secret_by_own_root() -> bool:
    return bool(Path(f"/proc/self/root{_secret()}").read_text())


@attempt
def read_the_secret_by_its_handle() -> bool:
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    _call("name_to_handle_at", -100, str(_secret()).encode(), handle, ctypes.byref(mount), 0)
    top = os.open("/", os.O_RDONLY)
    return bool(os.read(_call("open_by_handle_at", top, handle, os.O_RDONLY), 10))


@attempt
def move_the_hidden_directory() -> bool:
    Path(PLACES["hidden"]).rename(_root("moved"))
    return bool(_root("moved/secret").read_text())


@attempt
def overwrite_the_secret() -> None:
    _secret().write_text("changed")


@attempt
def put_something_beside_the_secret() -> None:
    Path(PLACES["hidden"], "config").write_text("mine")


# Other processes.


@attempt
def kill_a_neighbour() -> None:
    os.kill(PLACES["neighbour"], signal.SIGTERM)


@attempt
def kill_a_neighbours_group() -> None:
    os.killpg(os.getpgid(PLACES["neighbour"]), signal.SIGTERM)


@attempt
def kill_the_parent() -> None:
    os.kill(PLACES["parent"], 0)


@attempt
def signal_a_neighbour_by_handle() -> None:
    signal.pidfd_send_signal(os.pidfd_open(PLACES["neighbour"]), signal.SIGTERM)


@attempt
def signal_a_neighbour_by_a_pipe() -> bool:
    """The kernel sends SIGIO, or any other signal, to who a descriptor belongs to."""
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, PLACES["neighbour"])
    fcntl.fcntl(reader, getattr(fcntl, "F_SETSIG", 10), signal.SIGTERM)
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(writer, b"x")
    end = select.poll()
    end.register(os.pidfd_open(PLACES["neighbour"]), select.POLLIN)
    return bool(end.poll(200))


@attempt
def trace_a_neighbour() -> None:
    _checked(_LIBC.ptrace(_SEIZE, PLACES["neighbour"], None, None))


@attempt
def trace_a_thread_of_the_parent() -> bool:
    done = False
    for task in Path(f"/proc/{PLACES['parent']}/task").iterdir():
        done |= _LIBC.ptrace(_SEIZE, int(task.name), None, None) >= 0
    return done


@attempt
def read_a_neighbours_memory() -> None:
    buffer = ctypes.create_string_buffer(8)
    local = struct.pack("PN", ctypes.addressof(buffer), 8)
    remote = struct.pack("PN", 0x1000, 8)
    number = _LIBC.syscall(ctypes.c_long(_CALLS["process_vm_readv"]), PLACES["neighbour"], local, 1, remote, 1, 0)
    if number < 0 and ctypes.get_errno() != 14:  # EFAULT: it would have been read, had there been something
        _checked(number)


@attempt
def open_a_neighbours_memory() -> None:
    os.close(os.open(f"/proc/{PLACES['neighbour']}/mem", os.O_RDWR))


@attempt
def open_the_parents_memory() -> None:
    os.close(os.open(f"/proc/{PLACES['parent']}/mem", os.O_RDONLY))


@attempt
def read_the_parents_environment() -> bool:
    return bool(Path(f"/proc/{PLACES['parent']}/environ").read_bytes())


@attempt
def read_a_neighbours_environment() -> bool:
    return bool(Path(f"/proc/{PLACES['neighbour']}/environ").read_bytes())


@attempt
def take_the_parents_descriptor() -> None:
    _call("pidfd_getfd", os.pidfd_open(PLACES["parent"]), PLACES["descriptor"], 0)


@attempt
def limit_the_parent() -> None:
    import resource  # noqa: PLC0415 - Linux only

    resource.prlimit(PLACES["parent"], resource.RLIMIT_CORE)


@attempt
def limit_a_neighbour() -> None:
    import resource  # noqa: PLC0415 - Linux only

    resource.prlimit(PLACES["neighbour"], resource.RLIMIT_NOFILE, (64, 64))


# The scheduling of other processes: what is set is harmless, should it be set.


@attempt
def slow_a_neighbour() -> None:
    os.setpriority(os.PRIO_PROCESS, PLACES["neighbour"], 7)


@attempt
def slow_a_neighbour_from_a_thread() -> bool:
    done = []

    def slow() -> None:
        try:
            os.setpriority(os.PRIO_PROCESS, PLACES["neighbour"], 8)
            done.append(True)
        except OSError:
            return

    thread = threading.Thread(target=slow)
    thread.start()
    thread.join()
    return bool(done)


@attempt
def slow_a_neighbours_group() -> None:
    os.setpriority(os.PRIO_PGRP, os.getpgid(PLACES["neighbour"]), 9)


@attempt
def slow_the_parent() -> None:
    os.setpriority(os.PRIO_PROCESS, PLACES["parent"], os.getpriority(os.PRIO_PROCESS, PLACES["parent"]))


@attempt
def slow_a_thread_of_the_parent() -> None:
    for task in Path(f"/proc/{PLACES['parent']}/task").iterdir():
        os.setpriority(os.PRIO_PROCESS, int(task.name), os.getpriority(os.PRIO_PROCESS, int(task.name)))


@attempt
def slow_all_that_the_user_has() -> None:
    _only_alone()
    os.setpriority(os.PRIO_USER, 0, 10)


@attempt
def slow_all_that_the_user_has_by_name() -> None:
    _only_alone()
    os.setpriority(os.PRIO_USER, os.getuid(), 11)


@attempt
def starve_a_neighbours_disk() -> None:
    _call("ioprio_set", 1, PLACES["neighbour"], 3 << 13)


@attempt
def starve_a_neighbours_groups_disk() -> None:
    _call("ioprio_set", 2, os.getpgid(PLACES["neighbour"]), 3 << 13)


@attempt
def starve_the_users_disk() -> None:
    _only_alone()
    _call("ioprio_set", 3, os.getuid(), 3 << 13)


@attempt
def pin_a_neighbour() -> None:
    os.sched_setaffinity(PLACES["neighbour"], {min(os.sched_getaffinity(0))})


@attempt
def pin_the_parent() -> None:
    os.sched_setaffinity(PLACES["parent"], os.sched_getaffinity(PLACES["parent"]))


@attempt
def let_a_neighbour_run_when_idle_only() -> None:
    os.sched_setscheduler(PLACES["neighbour"], os.SCHED_IDLE, os.sched_param(0))


@attempt
def set_a_neighbours_parameters() -> None:
    os.sched_setparam(PLACES["neighbour"], os.sched_param(0))


@attempt
def set_a_neighbours_attributes() -> None:
    _call("sched_setattr", PLACES["neighbour"], struct.pack("=IIQiIQQQ", 48, 3, 0, 12, 0, 0, 0, 0), 0)


@attempt
def set_attributes_by_a_number_with_more_bits() -> None:
    """The kernel takes the lower half of the register."""
    _call("sched_setattr", PLACES["neighbour"] | 1 << 40, struct.pack("=IIQiIQQQ", 48, 3, 0, 13, 0, 0, 0, 0), 0)


@attempt
def write_a_neighbours_settings() -> None:
    for name in ("oom_score_adj", "autogroup", "timerslack_ns", "coredump_filter"):
        try:
            os.close(os.open(f"/proc/{PLACES['neighbour']}/{name}", os.O_WRONLY))
        except OSError:
            continue
        return
    raise PermissionError("none of them can be opened")


@attempt
def move_a_neighbours_pages() -> None:
    nodes = ctypes.c_ulong(1)
    _call("migrate_pages", PLACES["neighbour"], 2, ctypes.byref(nodes), ctypes.byref(nodes))


@attempt
def find_where_a_neighbours_pages_are() -> None:
    page, status = ctypes.c_void_p(0x400000), ctypes.c_int()
    _call("move_pages", PLACES["neighbour"], 1, ctypes.byref(page), None, ctypes.byref(status), 0)


@attempt
def push_out_a_neighbours_memory() -> None:
    part = struct.pack("PN", 0x400000, 4096)
    _call("process_madvise", os.pidfd_open(PLACES["neighbour"]), part, 1, 20, 0)


@attempt
def compare_with_a_neighbour() -> None:
    _call("kcmp", os.getpid(), PLACES["neighbour"], 1, 0, 0)


@attempt
def share_a_neighbours_core() -> None:
    _checked(_LIBC.prctl(62, 2, ctypes.c_ulong(PLACES["neighbour"]), ctypes.c_ulong(0), ctypes.c_ulong(0)))


def _only_alone() -> None:
    if not PLACES.get("alone"):
        raise ValueError("not tried: it would change what is not of this test")


@attempt
def enter_the_parents_mounts() -> None:
    _checked(_LIBC.setns(os.open(f"/proc/{PLACES['parent']}/ns/mnt", os.O_RDONLY), 0))


@attempt
def read_memory_that_others_share() -> bool:
    _LIBC.shmat.restype = ctypes.c_void_p
    place = _LIBC.shmat(PLACES["shared"], None, 0o10000)  # SHM_RDONLY
    return place not in {None, ctypes.c_void_p(-1).value} and ctypes.string_at(place, 7) == b"planted"


@attempt
def find_memory_that_others_share() -> None:
    _checked(_LIBC.shmget(PLACES["shared_key"], 0, 0))


# The kernel.


@attempt
def mount_something() -> None:
    _checked(_LIBC.mount(PLACES["hidden"].encode(), PLACES["root"].encode(), None, 4096, None))


@attempt
def change_the_root() -> None:
    _checked(_LIBC.chroot(PLACES["hidden"].encode()))


@attempt
def make_a_user_namespace() -> None:
    _checked(_LIBC.unshare(0x10000000))


@attempt
def change_where_the_kernel_sends_crashes() -> None:
    """A program of one's choice, run by the kernel as root. That the file opens is enough."""
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))


@attempt
def change_a_setting_of_the_kernel() -> None:
    _opens("/proc/sys/kernel", "/proc/sys/vm", "/proc/sys/fs", "/proc/sys/net")


@attempt
def change_what_the_kernel_does_with_devices() -> None:
    _opens("/proc/irq", "/proc/bus", "/proc/acpi", "/proc/scsi", "/proc/fs", "/proc/driver", "/proc/tty")


@attempt
def change_a_file_at_the_top_of_proc() -> None:
    _opens("/proc")


@attempt
def change_a_file_of_the_devices() -> None:
    _opens("/sys/kernel", "/sys/module", "/sys/power", "/sys/fs/cgroup")


@attempt
def name_the_machine() -> None:
    name = socket.gethostname().encode()
    _checked(_LIBC.sethostname(name, len(name)))


def _opens(*directories: str) -> None:
    """Whether one of the files there can be opened for writing; nothing is written."""
    for directory in directories:
        for where, below, names in os.walk(directory):
            if directory == "/proc":
                below.clear()
            for name in names:
                try:
                    os.close(os.open(f"{where}/{name}", os.O_WRONLY | os.O_NONBLOCK))
                except OSError:
                    continue
                return
    raise PermissionError("none of them can be opened")


@attempt
def use_the_kernels_keys() -> None:
    _call("keyctl", 0, -5, 0)


@attempt
def load_a_program_into_the_kernel() -> None:
    _call("bpf", 5, None, 0)


@attempt
def make_a_ring() -> None:
    _call("io_uring_setup", 1, bytes(120))


@attempt
def handle_page_faults() -> None:
    os.close(_call("userfaultfd", 1))


@attempt
def type_into_the_terminal() -> None:
    fcntl.ioctl(PLACES["typing"], 0x5412, b"x")


@attempt
def open_a_terminal_of_others() -> None:
    os.close(os.open(PLACES["terminal"], os.O_RDWR | os.O_NOCTTY))


# The network.


@attempt
def connect_to_a_local_service() -> None:
    socket.create_connection(("127.0.0.1", PLACES["port"]), timeout=5).close()


@attempt
def connect_over_version_six() -> None:
    socket.create_connection(("::ffff:127.0.0.1", PLACES["port"]), timeout=5).close()


@attempt
def connect_by_sending() -> None:
    with socket.socket() as opened:
        opened.sendto(b"x", _FAST_OPEN, ("127.0.0.1", PLACES["port"]))


@attempt
def connect_by_sending_a_message() -> None:
    with socket.socket() as opened:
        opened.sendmsg([b"x"], [], _FAST_OPEN, ("127.0.0.1", PLACES["port"]))


@attempt
def send_a_datagram() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.sendto(b"x", ("127.0.0.1", PLACES["port"]))


@attempt
def open_a_raw_socket() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


@attempt
def open_a_packet_socket() -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()


@attempt
def open_a_socket_to_the_host() -> None:
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()


@attempt
def open_a_socket_for_ciphers() -> None:
    socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET).close()


@attempt
def connect_to_a_unix_socket() -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        opened.connect(PLACES["socket"])


@attempt
def connect_to_an_abstract_socket() -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        opened.connect("\0" + PLACES["abstract"])


@attempt
def send_to_a_unix_socket() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as opened:
        opened.sendto(b"x", PLACES["datagrams"])


@attempt
def send_from_a_pair() -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        one.sendto(b"x", PLACES["datagrams"])


if __name__ == "__main__":
    main()
