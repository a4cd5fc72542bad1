"""`hermes-acp doctor`: looks at everything a session needs, says what is wrong and what to do, and mends it."""

from __future__ import annotations

import argparse
import os
import sys

from acp_adapter.cli.console import style_for
from acp_adapter.cli.doctor.report import Finding, as_json, failing, finding_lines, foreign_packages
from acp_adapter.cli.main import FAILED, add_profile, command_parser, say_failed

_EPILOG = """\
The model gets one tiny request (about 200 tokens), to see whether it calls tools; --no-model leaves that out, and
--fix does. MCP servers are started with --mcp only. Nothing is ever deleted: a database that cannot be mended in
place is kept under another name, beside the new one with everything that could be read of it. What you wrote
yourself, settings and editors' entries, is never changed.

exit codes:
  0    nothing is wrong; there may be warnings
  1    something does not work; it is told what to do
  2    the command line was wrong
  130  interrupted by Ctrl-C

examples:
  hermes-acp doctor
  hermes-acp doctor --fix
  hermes-acp doctor --quick --json
"""


def main(argv: list[str]) -> int:
    """Run `hermes-acp doctor` with the arguments `argv`; the result is the exit code."""
    options = _parser().parse_args(argv)
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    foreign = list(foreign_packages())
    if foreign:  # nothing else of us could be loaded
        _show(foreign, json=options.json)
        return FAILED
    from acp_adapter.cli.doctor.run import visit  # noqa: PLC0415 - wrong usage needs none of it
    from agent_core.errors import HermesError  # noqa: PLC0415 - not before it is known whose it is
    from agent_core.home import find_home  # noqa: PLC0415 - the same

    try:
        return visit(find_home(os.environ, options.profile), options)
    except HermesError as problem:
        if options.json:
            _show([failing("home", problem.public)], json=True)
        return say_failed("doctor", problem.public)


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(
        "doctor",
        "Look at the installation, the settings, the model, the stored sessions, the sandbox and the editors; say "
        "what is wrong and what to do about it.",
        _EPILOG,
    )
    parser.add_argument("--fix", action="store_true", help="mend what can be mended; the model is not asked")
    parser.add_argument("--yes", action="store_true", help=argparse.SUPPRESS)  # of scripts from when --fix asked
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, see docs/doctor.md")
    parser.add_argument("--quick", action="store_true", help="leave out what waits: the model, other machines")
    parser.add_argument("--no-model", action="store_true", help="do not ask the model")
    parser.add_argument("--mcp", action="store_true", help="connect to the MCP servers of the settings")
    add_profile(parser, "to look at")
    return parser


def _show(findings: list[Finding], *, json: bool) -> None:
    if json:
        print(as_json(os.environ.get("HERMES_HOME", ""), findings))
        return
    for finding in findings:
        print("\n".join(finding_lines(finding, style_for(sys.stdout))))
