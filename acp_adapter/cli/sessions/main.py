"""`hermes-acp sessions`: stored sessions for people, to look at, search, export and delete."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from acp_adapter.cli.main import add_profile, command_parser, home_of, say_failed, typed_text, whole_number
from acp_adapter.cli.sessions.export import run_export
from acp_adapter.cli.sessions.listing import run_change, run_list, run_search
from acp_adapter.cli.sessions.show import run_show
from agent_core.errors import UnknownSession
from agent_core.sessions.library import SessionLibrary

# The command line.

_UNITS = {"h": 3_600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
_AGE = re.compile(r"(\d{1,6})([hdwy])")
_EPILOG = """\
ID is a session's id or a beginning of it that no other session has; `list` shows them.

exit codes:
  0    it was done; list: also where there are no sessions
  1    nothing was found, it could not be done, or you said no; stderr says why
  2    the command line was wrong, or --yes is missing where nobody can be asked

examples:
  hermes-acp sessions list --here
  hermes-acp sessions show ses_3f9a --full
  hermes-acp sessions search "database is locked"
  hermes-acp sessions export ses_3f9a --format html --output why.html
  hermes-acp sessions export --all --format jsonl --output trajectories
  hermes-acp sessions prune --older-than 90d --dry-run
"""
_EXPORT_EPILOG = """\
formats:
  md     Markdown: prompts, answers, what was done and changed
  html   one page that needs no network, for a browser or a printer
  jsonl  a trajectory in ShareGPT form, as the model saw the session

--all --format jsonl writes every session, archived ones too: into a directory, sessions that came to their end to
trajectories.jsonl and the others to failed.jsonl; into a file NAME.jsonl or to - all of them, told apart by
"completed".
"""


def parse_sessions_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line; `action` says which subcommand it is. Wrong usage exits with 2."""
    parser = command_parser("sessions", "Look at your stored sessions, search, export and delete them.", _EPILOG)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _add_reading(actions)
    export = _add_export(actions)
    _add_changing(actions)
    options = parser.parse_args(argv)
    if options.action == "export":
        _check_export(export, options)
    return options


def _add(
    actions: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    words: str,
    epilog: str | None = None,
) -> argparse.ArgumentParser:
    parser = actions.add_parser(
        name,
        help=words,
        description=f"{words[0].upper()}{words[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_profile(parser, "whose sessions are meant")
    return parser


def _add_reading(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    listing = _add(actions, "list", "list the sessions, the last used first")
    where = listing.add_mutually_exclusive_group()
    where.add_argument("--cwd", type=Path, metavar="DIR", help="only those that work in DIR")
    where.add_argument("--here", action="store_true", help="only those that work in this directory")
    listing.add_argument("--all", action="store_true", help="archived ones too")
    listing.add_argument(
        "--limit", type=whole_number, default=20, metavar="N", help="at most N sessions (default: 20)"
    )
    listing.add_argument("--json", action="store_true", help="print a JSON array, with everything that is known")
    show = _add(actions, "show", "show a session's conversation")
    show.add_argument("id", metavar="ID")
    show.add_argument("--full", action="store_true", help="with thoughts, outputs and diffs")
    search = _add(actions, "search", "find sessions by words that were said in them")
    search.add_argument(
        "words", nargs="+", metavar="WORDS", type=typed_text, help='"two words" is a phrase, word* a beginning'
    )
    search.add_argument(
        "--limit", type=whole_number, default=10, metavar="N", help="at most N sessions (default: 10)"
    )


def _add_export(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    export = _add(actions, "export", "write a session to a file", _EXPORT_EPILOG)
    export.add_argument("id", nargs="?", metavar="ID")
    export.add_argument("--all", action="store_true", help="every session; needs --format jsonl and --output")
    export.add_argument("--format", choices=("md", "jsonl", "html"), default="md", help="default: md")
    export.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where to; - is standard output (default: session-ID.FORMAT in this directory)",
    )
    export.add_argument("--force", action="store_true", help="replace a file that exists")
    return export


def _add_changing(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    delete = _add(actions, "delete", "delete sessions for good")
    delete.add_argument("ids", nargs="+", metavar="ID")
    prune = _add(actions, "prune", "delete the sessions that were not used for long; archived ones are kept")
    prune.add_argument(
        "--older-than", type=_age, required=True, metavar="AGE", help="not used since then: 12h, 90d, 8w, 1y"
    )
    prune.add_argument("--dry-run", action="store_true", help="only say which they are")
    for parser in (delete, prune):
        parser.add_argument("--yes", action="store_true", help="do not ask")
    for name, words in (("archive", "put sessions aside"), ("unarchive", "take sessions back from the archive")):
        _add(actions, name, words).add_argument("ids", nargs="+", metavar="ID")


def _check_export(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.all == (options.id is not None):
        parser.error("name one session by its ID, or all of them by --all")
    if options.all and options.format != "jsonl":
        parser.error("--all goes with --format jsonl only")
    if options.all and options.output is None:
        parser.error("--all needs --output: a directory, a file NAME.jsonl, or -")


def _age(value: str) -> int:
    found = _AGE.fullmatch(value)
    if found is None or not int(found[1]):
        raise argparse.ArgumentTypeError(f"not an age like 12h, 90d, 8w or 1y: {value!r}")
    return int(found[1]) * _UNITS[found[2]]


def main(argv: list[str]) -> int:
    """Run `hermes-acp sessions` with the arguments `argv`; the result is the exit code."""
    options = parse_sessions_arguments(argv)
    home = home_of(options)
    if not home.database.exists():  # looking does not make a database
        if options.action == "list":
            print("[]" if options.json else f"There are no sessions in {home.root} yet.")
            return 0
        return say_failed(
            "sessions", f"There are no sessions in {home.root} yet; with --profile NAME another home is looked at."
        )
    library = SessionLibrary(home)
    try:
        library.store.take_in()
        return _ACTIONS.get(options.action, run_change)(options, library)
    except UnknownSession as problem:
        return say_failed(
            "sessions",
            f"There is no session whose id is or begins with {problem.session_id!r}. "
            "Look at hermes-acp sessions list --all.",
        )
    except OSError as problem:
        if problem.filename is None:
            raise
        return say_failed("sessions", f"A file could not be read or written: {problem}. Nothing was changed there.")
    finally:
        library.close()


_ACTIONS = {"list": run_list, "show": run_show, "search": run_search, "export": run_export}
