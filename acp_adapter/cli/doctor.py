"""`hermes-acp doctor`: looks at settings and stored sessions, says what is wrong and what to do, and mends it."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from typing import TYPE_CHECKING

from acp_adapter.cli.doctor_checks import CHECKS, Check
from acp_adapter.cli.doctor_mcp import check_servers, try_servers
from acp_adapter.cli.safe_text import safe_text
from agent_core.errors import HermesError
from tools.redaction.redactor import redact

if TYPE_CHECKING:
    from agent_core.home import Home
    from agent_core.sessions.repair.repair import RepairReport

FAILED = 1
_INTERRUPTED = 130
_WIDTH = 110
_NAMES = 14
_EPILOG = """\
Nothing is ever deleted: a database that cannot be mended in place is kept under another name, beside the new one
with everything that could be read of it.

exit codes:
  0    all is well, or was mended
  1    something is wrong; it is told what to do
  2    the command line was wrong

examples:
  hermes-acp doctor
  hermes-acp doctor --fix
  hermes-acp doctor --mcp
"""


def main(argv: list[str]) -> int:
    """Run `hermes-acp doctor` with the arguments `argv`; the result is the exit code."""
    options = _parser().parse_args(argv)
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    from agent_core.home import find_home  # noqa: PLC0415 - loaded for what is asked only

    try:
        home = find_home(os.environ, options.profile)
        tries = options.mcp
        code = _mended(home, tries=tries) if options.fix else _looked_at(home, tries=tries)
        sys.stdout.flush()
    except HermesError as problem:
        print(f"hermes-acp doctor: {safe_text(problem.public)}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not fail at flushing it, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hermes-acp doctor",
        description="Look at the settings, the stored sessions and the room for more; say what is wrong and what to "
        "do about it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--fix", action="store_true", help="mend what can be mended")
    parser.add_argument("--mcp", action="store_true", help="connect to the MCP servers of the settings")
    parser.add_argument("--profile", metavar="NAME", help="the profile to look at")
    return parser


def _looked_at(home: Home, *, tries: bool) -> int:
    print(f"Home: {safe_text(str(home.root))}\n")
    looks = (*CHECKS, try_servers if tries else check_servers)
    checks = [check for look in looks for check in look(home)]
    for check in checks:
        print(_shown(check))
    wrong = sum(1 for check in checks if not check.ok)
    print(f"\n{'All is well.' if not wrong else f'{wrong} of {len(checks)} checks found something wrong.'}")
    return FAILED if wrong else 0


def _mended(home: Home, *, tries: bool) -> int:
    from agent_core.sessions.repair.repair import repair  # noqa: PLC0415 - loads SQLite

    report = repair(home.database, home.blobs)
    for line in _told(report):
        print(safe_text(line))
    print()
    code = _looked_at(home, tries=tries)
    return FAILED if report.refused else code


def _told(report: RepairReport) -> list[str]:
    lines = [f"Mended: {text}" for text in report.done]
    if report.salvaged is not None:
        saved = report.salvaged
        rows = ", ".join(
            f"{saved.rows.get(table, 0)} {table}" for table in ("sessions", "turns", "messages", "events")
        )
        lines.append(f"Saved: {rows}.")
        if saved.unreadable:
            lost = ", ".join(f"{count} of {table}" for table, count in sorted(saved.unreadable.items()))
            lines.append(f"Not readable, and in the broken file only: {lost}.")
        if saved.recreated:
            lines.append(f"{saved.recreated} sessions had lost their title and directory: «Recovered session».")
    if report.refused:
        lines.append(f"Not mended: {report.refused}")
    return lines or ["There was nothing to mend in the stored sessions."]


def _shown(check: Check) -> str:
    """A check as one paragraph, or two with what to do, indented below its name."""
    label = f"{'ok' if check.ok else 'WRONG':<7}{check.name:<{_NAMES}}"
    indent = " " * len(label)
    wrapped = textwrap.fill(
        safe_text(redact(check.text)), _WIDTH, initial_indent=label, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    if not check.next_step:
        return wrapped
    step = textwrap.fill(
        f"Next: {safe_text(check.next_step)}", _WIDTH, initial_indent=indent, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return f"{wrapped}\n{step}"
