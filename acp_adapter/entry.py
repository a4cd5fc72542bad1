"""The program's start: arguments, stdout protection, then the server or a subcommand.

Imports are few and late on purpose: the editor waits for the first answer, and nothing here is needed for it but
the standard library's basics.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable

from acp_adapter.cli import SUBCOMMANDS


def main(argv: list[str] | None = None) -> int:
    """Run `hermes-acp` with these arguments (the process's own when left out).

    Returns:
        the exit code of a subcommand or of an argument error; the server ends the process itself.
    """
    if argv is None:
        _start_in_utf8()
    _leave_working_directory()
    _keep_temporary_files_out_of_it()
    arguments = sys.argv[1:] if argv is None else argv
    if "setup" in arguments[1:]:
        from acp_adapter.launch import without_repeated_launch  # noqa: PLC0415 - clients append it to sign in

        arguments = without_repeated_launch(arguments)
    if arguments and arguments[0] in SUBCOMMANDS:
        if argv is None:  # else whoever calls us handles what we do not
            from acp_adapter.last_words import print_unhandled  # noqa: PLC0415 - the server has another way

            print_unhandled()
        return _subcommand(arguments[0], arguments[1:])
    return _serve(arguments)


def _start_in_utf8() -> None:
    """Start this process once more in Python's UTF-8 mode, where its locale has another encoding for paths.

    The protocol's paths, and so the names that we show and make, are UTF-8 in every locale. Python settles the
    encoding of paths as it starts; the process id, the streams and the variables that commands get stay as they are.
    """
    if sys.getfilesystemencoding() == "utf-8" or not sys.executable or sys.flags.utf8_mode:
        return
    with contextlib.suppress(OSError):  # then only names that the locale cannot spell do not work
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - itself


def _leave_working_directory() -> None:
    """Take the working directory off `sys.path`: a workspace's `tools/` or `yaml.py` must never run inside us."""
    try:
        here = os.path.realpath(os.getcwd())  # noqa: PTH109 - pathlib is not loaded yet
    except OSError:
        here = ""  # it has been deleted: nothing can be loaded from it
    own = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))  # noqa: PTH118, PTH120
    if here != own:
        sys.path[:] = [entry for entry in sys.path if entry and os.path.realpath(entry) != here]


def _keep_temporary_files_out_of_it() -> None:
    """Where no directory for temporary files can be written to, Python takes the working directory: the workspace.

    They go into the home then. What lies in a workspace, and above it, is read by programs that work there.
    """
    named = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")]
    usual = [*named, "/tmp", "/var/tmp", "/usr/tmp"]  # noqa: S108 - as Python looks for one
    if sys.platform == "win32" or any(place and os.access(place, os.W_OK | os.X_OK) for place in usual):
        return
    import tempfile  # noqa: PLC0415 - nearly everywhere there is one

    home = os.environ.get("HERMES_HOME") or os.path.expanduser("~/.hermes")  # noqa: PTH111 - as above
    tempfile.tempdir = os.path.join(home, "tmp")  # noqa: PTH118
    with contextlib.suppress(OSError):  # then nothing temporary can be made, and what needs it says so
        os.makedirs(tempfile.tempdir, mode=0o700, exist_ok=True)  # noqa: PTH103


def _subcommand(name: str, arguments: list[str]) -> int:
    """Each command is the `main` of the module with its name; no other is loaded."""
    from acp_adapter.cli.running import run_command  # noqa: PLC0415 - the server needs none of it

    run: Callable[[list[str]], int] = importlib.import_module(f"acp_adapter.cli.commands.{name}").main
    return run_command(name, run, arguments)


def _serve(arguments: list[str]) -> int:
    from acp_adapter.server_arguments import parse_arguments  # noqa: PLC0415
    from agent_core.errors import SettingsError  # noqa: PLC0415
    from agent_core.home import find_home  # noqa: PLC0415

    options = parse_arguments(arguments)
    try:
        home = find_home(os.environ, options.profile)
    except SettingsError as problem:
        sys.stderr.write(f"hermes-acp: {problem}\n")
        return 2
    from acp_adapter.process import run_server  # noqa: PLC0415

    return run_server(home, options)
