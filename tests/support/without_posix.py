"""A Python that has of the system what Windows has: run as a program, it imports or starts what its arguments say.

What is missing there is taken away, what is only there is put in as nothing. It shows that nothing needs the one on
its way; it does not show that Windows does what is asked of it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.process
import ctypes
import importlib
import json
import multiprocessing.connection
import multiprocessing.spawn
import os
import platform
import select
import shutil
import signal
import ssl
import subprocess
import sys
import sysconfig
import types
from collections.abc import Sequence

import filelock
import httpx2

MODULES = ("curses", "fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
OF_OS = (
    "O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK O_PATH WNOHANG chown fchmod fchown fork forkpty "
    "fwalk getegid geteuid getgid getloadavg getpgid getuid killpg lchown mkfifo openpty pidfd_open posix_spawn "
    "pread pwrite "
    "register_at_fork set_blocking setpgid setsid statvfs sysconf uname waitid"
)
OF_SIGNAL = (
    "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH pthread_sigmask "
    "setitimer sigwait"
)
LOADED = (asyncio, concurrent.futures.process, ctypes, filelock, httpx2, multiprocessing.connection, ssl)
"""The standard library, and what has been at home on Windows for long, is loaded as it is here."""


class _Missing:
    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def take_away() -> None:
    """From now on this process is as poor as that."""
    sysconfig.get_config_vars()
    asyncio.new_event_loop().close()  # from Python 3.14 on it is found out then which kind this system has
    platform.uname()  # from Python 3.13 on it would start a program to find out
    importlib.import_module("mcp")
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Missing())  # type: ignore[arg-type]
    for module, names in ((os, OF_OS.split()), (signal, OF_SIGNAL.split()), (select, ["poll", "epoll"])):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    consoles = types.ModuleType("msvcrt")
    vars(consoles).update(LK_NBLCK=2, locking=lambda *_: None, setmode=lambda *_: 0, kbhit=lambda: False)
    sys.modules["msvcrt"] = consoles
    for module, name in ((os, "O_BINARY"), (os, "O_NOINHERIT")):
        setattr(module, name, 0)
    for name in ("CREATE_NO_WINDOW", "CREATE_NEW_PROCESS_GROUP"):
        setattr(subprocess, name, 0)
    # From Python 3.12 on it asks Windows whether programs are also looked for in the current directory.
    vars(shutil)["_winapi"] = types.SimpleNamespace(NeedCurrentDirectoryForExePath=lambda _: True)
    sys.platform = "win32"


def problems(names: Sequence[str]) -> dict[str, str]:
    """Of these modules those that cannot be imported, with why."""
    found: dict[str, str] = {}
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as problem:  # noqa: BLE001 - each is told
            found[name] = f"{type(problem).__name__}: {problem}"
    return found


if __name__ == "__main__":
    take_away()
    if sys.argv[1] == "import":
        sys.stdout.write(json.dumps(problems(sys.stdin.read().split())))
    else:
        from acp_adapter.entry import main

        sys.exit(main(sys.argv[2:]))
