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

from acp_adapter import __version__
from acp_adapter.cli import SUBCOMMANDS, module_of

TYPE_CHECKING = False  # as in `typing`, which is not loaded yet
if TYPE_CHECKING:
    from typing import Any

    from acp_adapter.startup import ServerOptions


_DESCRIPTION = """\
A coding agent. Without a command it is the server, which an editor starts: it speaks the Agent Client Protocol over
stdin and stdout. Begin with `hermes-acp setup`."""


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
        from acp_adapter.auth import without_repeated_launch  # noqa: PLC0415 - clients append it to sign in

        arguments = without_repeated_launch(arguments)
    if arguments and arguments[0] in SUBCOMMANDS:
        if argv is None:  # else whoever calls us handles what we do not
            from acp_adapter.logs import print_unhandled  # noqa: PLC0415 - the server has another way

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
    """Each command is the `main` of a module of its own; no other is loaded."""
    from acp_adapter.cli.main import run_command  # noqa: PLC0415 - the server needs none of it

    run: Callable[[list[str]], int] = importlib.import_module(module_of(name)).main
    return run_command(name, run, arguments)


def _serve(arguments: list[str]) -> int:
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


def parse_arguments(arguments: list[str]) -> ServerOptions:
    """The options in `arguments`; wrong ones end the process with a usage message on stderr."""
    from acp_adapter.auth import SERVE  # noqa: PLC0415 - after `_leave_working_directory`

    # Without arguments, the usual case, nothing is parsed and nothing is loaded for it.
    chosen = () if arguments in ([], [SERVE]) else _parsed(arguments, SERVE)
    from acp_adapter.startup import ServerOptions  # noqa: PLC0415 - `--version` needs none of it

    return ServerOptions(*chosen)


def _parsed(arguments: list[str], serve: str) -> tuple[Any, ...]:
    """The values of `ServerOptions`, in its order."""
    import argparse  # noqa: PLC0415

    parser = argparse.ArgumentParser(
        "hermes-acp",
        usage="hermes-acp [options]\n       hermes-acp COMMAND [options]",
        description=_DESCRIPTION,
        epilog=_commands(serve),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"hermes-acp {__version__}")
    parser.add_argument("--model", metavar="NAME", help="the model to ask, as its server knows it")
    parser.add_argument("--provider", metavar="NAME", help="who serves it; see docs/models.md")
    parser.add_argument("--base-url", metavar="URL", help="the model server's address, where it is not known")
    parser.add_argument("--offline", action="store_true", help="use the embedded stand-in for a model")
    parser.add_argument("--profile", metavar="NAME", help="use ~/.hermes/profiles/NAME as the home directory")
    parser.add_argument("--verbose", action="store_true", help="log to stderr too")
    parser.add_argument("--record", metavar="FILE", help="keep what goes over the wire in this file, without secrets")
    parser.add_argument(serve, nargs="?", choices=[serve], help=argparse.SUPPRESS)
    if not arguments[0].startswith("-") and arguments[0] != serve:
        parser.error(f"there is no command {arguments[0]!r}; the commands are: {', '.join(SUBCOMMANDS)}")
    found = parser.parse_args(arguments)
    if found.offline:
        if found.model or found.provider or found.base_url:
            parser.error("--offline goes without --model, --provider and --base-url")
        found.model = found.provider = "offline"
    return (found.model, found.provider, found.base_url, found.profile, found.verbose, found.record)


def _commands(serve: str) -> str:
    lines = [f"  {name:<12} {purpose}" for name, purpose in SUBCOMMANDS.items()]
    lines.append(f"  {serve:<12} the server, as without a command: what many clients call")
    return "\n".join(["commands:", *lines, "", "`hermes-acp COMMAND --help` has the options of each."])
