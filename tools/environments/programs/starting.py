"""How a program is started: the shell command, and what the new interpreter is told over its socket."""

from __future__ import annotations

import functools
import shlex
import struct
from pathlib import Path

SIZE = struct.Struct(">I")
"""Stands before each message: how many bytes it has."""

# What it imports comes from the interpreter's own library, whatever files of these names the workspace has. Any
# Python understands it, so that an old one can say that it is too old.
_START = """
import sys
path = list(sys.path)
sys.path[:] = [place for place in path if place]
if sys.version_info < (3, 8): sys.exit("This program needs Python 3.8 or newer; %s is %s." % (sys.executable, sys.version.split()[0]))
import socket, types
connection = socket.socket(fileno={descriptor})
connection.set_inheritable(False)
def take(count):
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part: sys.exit("The session has ended.")
        data += part
    return data
module = types.ModuleType("hermes_tools")
sys.modules["hermes_tools"] = module
exec(compile(take(int.from_bytes(take(4), "big")).decode(), "hermes_tools.py", "exec"), module.__dict__)
module._run(connection, path)
"""  # noqa: E501 - one line each, so that an old Python gets as far as the third


def start_command(interpreter: str, descriptor: int, *, isolated: bool) -> str:
    """The shell command that starts `interpreter` with a program that it gets by the inherited `descriptor`.

    Args:
        isolated: neither the directory nor the user's own packages are looked into for modules.
    """
    options = "-I -c" if isolated else "-c"
    return f"exec {shlex.quote(interpreter)} {options} {shlex.quote(_START.format(descriptor=descriptor))}"


def asked_command(interpreter: str, code: str) -> str:
    """The same program as a command that says all that it does: for the person to read, and for rules to judge."""
    end = "PROGRAM"
    while end in code:
        end += "_"
    return f"{shlex.quote(interpreter)} - <<'{end}'\n{code.rstrip(chr(10))}\n{end}"


def framed(data: bytes) -> bytes:
    """A message as it goes over the socket."""
    return SIZE.pack(len(data)) + data


@functools.cache
def client_text() -> str:
    """The text of the module `hermes_tools`, without the functions that the session offers."""
    return Path(__file__).with_name("client.py").read_text("utf-8")
