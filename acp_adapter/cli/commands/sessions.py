"""`hermes-acp sessions`: stored sessions for people, to look at, search, export and delete."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from acp_adapter.cli.sessions.arguments import parse_sessions_arguments
from acp_adapter.cli.terminal.failing import drop_output, say_failed
from agent_core.errors import HermesError, UnknownSession

if TYPE_CHECKING:
    from agent_core.home import Home
    from agent_core.sessions.library import SessionLibrary

FAILED = 1
_INTERRUPTED = 130


def main(argv: list[str]) -> int:
    """Run `hermes-acp sessions` with the arguments `argv`; the result is the exit code."""
    from agent_core.home import find_home  # noqa: PLC0415 - loaded for what is asked only

    options = parse_sessions_arguments(argv)
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = _run(options, find_home(os.environ, options.profile))
        sys.stdout.flush()
    except UnknownSession as problem:
        return _fail(
            f"There is no session whose id is or begins with {problem.session_id!r}. "
            "Look at hermes-acp sessions list --all."
        )
    except HermesError as problem:
        return _fail(problem.public)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        drop_output()
        return FAILED
    except OSError as problem:
        return _fail(f"A file could not be read or written: {problem}. Nothing was changed there.")
    return code


def _run(options: argparse.Namespace, home: Home) -> int:
    if not home.database.exists():
        return _without_any(options, home)
    from agent_core.sessions.library import SessionLibrary  # noqa: PLC0415

    library = SessionLibrary(home)
    library.store.take_in()
    try:
        return _act(options, library)
    finally:
        library.close()


def _without_any(options: argparse.Namespace, home: Home) -> int:
    """What is said where nothing was ever stored; looking does not make a database."""
    if options.action == "list":
        print("[]" if options.json else f"There are no sessions in {home.root} yet.")
        return 0
    return _fail(f"There are no sessions in {home.root} yet; with --profile NAME another home is looked at.")


def _act(options: argparse.Namespace, library: SessionLibrary) -> int:
    match options.action:
        case "list":
            from acp_adapter.cli.sessions.listing import run_list as run  # noqa: PLC0415
        case "show":
            from acp_adapter.cli.sessions.show import run_show as run  # noqa: PLC0415
        case "search":
            from acp_adapter.cli.sessions.search import run_search as run  # noqa: PLC0415
        case "export":
            from acp_adapter.cli.sessions.export import run_export as run  # noqa: PLC0415
        case _:
            from acp_adapter.cli.sessions.change import run_change as run  # noqa: PLC0415
    return run(options, library)


def _fail(message: str) -> int:
    say_failed("sessions", message)
    return FAILED
