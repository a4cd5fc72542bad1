"""One run of `hermes-acp doctor`: it fixes what it shall, makes the checks, and tells what they found."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from acp_adapter import __version__
from acp_adapter.cli.console import style_for
from acp_adapter.cli.doctor import configuration, installation
from acp_adapter.cli.doctor.configuration import Case
from acp_adapter.cli.doctor.report import (
    Finding,
    Mended,
    as_json,
    check_imports,
    failing,
    finding_lines,
    summary_lines,
)
from acp_adapter.cli.main import FAILED
from acp_adapter.format import safe_text
from agent_core.home import Home
from tools.environments.git import git_root
from tools.environments.program_finder import PROGRAMS

_LATE_FIX = "Run it again when less is going on; --quick leaves out what waits for other programs."
_CLOSED_FIX = "Look whose it is, and whether you may read it."
_BROKEN_FIX = "This is a fault of the check itself. Please report it with this line."


@dataclass(frozen=True, slots=True)
class Check:
    """One of the checks.

    Attributes:
        name: as findings and `--json` have it.
        look: it changes nothing that is stored.
        seconds: after so long it is given up.
        waits: for a server or a program; `--quick` leaves it out.
    """

    name: str
    look: Callable[[Case], Iterator[Finding]]
    seconds: float = 20.0
    waits: bool = False


CHECKS = (
    Check("python", installation.check_python),
    Check("imports", check_imports),
    Check("home", configuration.check_home),
    Check("permissions", configuration.check_permissions),
    Check("disk", configuration.check_space),
    Check("settings", configuration.check_settings),
    Check("key", configuration.check_key),
    Check("sign-in", configuration.check_sign_in, 90.0, waits=True),
    Check("model", configuration.check_model, 90.0, waits=True),
    # It reads every page: a second for a few hundred MB.
    Check("database", configuration.check_database, 300.0),
    Check("sandbox", installation.check_sandbox, 60.0),
    Check("ripgrep", installation.check_search),
    Check("git", installation.check_git),
    Check("mcp server", configuration.check_servers),
    Check("terminal", installation.check_elsewhere, 120.0, waits=True),
    Check("plugins", configuration.check_plugins, 60.0),
    Check("editor", installation.check_editors),
    Check("running", configuration.check_running),
)
"""All of them, in the order in which they are made. The names are part of what `--json` promises."""

CONNECTED = Check("mcp server", configuration.try_servers, 300.0)
"""With `--mcp`, in the place of the check of that name."""

MENDERS: Mapping[str, Callable[[Case], Iterator[Mended]]] = {
    "permissions": configuration.mend_permissions,
    "database": configuration.mend_database,
}
"""What `--fix` does: nothing to what a person wrote, and nothing that is a decision of theirs."""


def visit(home: Home, options: Namespace) -> int:
    """Do what the command line asks for; the exit code."""
    user = Path(os.path.expanduser("~"))  # noqa: PTH111 - a home that is not known is no error
    if not user.is_relative_to(here := Path.cwd()):  # what a session there would not use
        PROGRAMS.distrust([git_root(here) or here])
    case = Case(home, user, dict(os.environ), options.profile)
    if (config := case.config()) is not None:
        PROGRAMS.name(config.settings.programs)
    with _undisturbed(sys.stdout) as out:
        return _visit(case, options, out)


def _visit(case: Case, options: Namespace, out: TextIO) -> int:
    # Standard output is for the JSON object alone.
    screen, style = sys.stderr if options.json else out, style_for(out)
    if not options.json:
        print(f"hermes-acp {__version__}, home {safe_text(str(case.home.root))}\n", file=out, flush=True)
    mended: list[Mended] = []
    for each in _mended(case) if options.fix else ():
        print(f"{'Mended' if each.done else 'Not mended'}: {safe_text(each.text)}", file=screen, flush=True)
        mended.append(each)
    if options.fix and not options.json:
        print("" if mended else "There was nothing to mend.\n", file=out, flush=True)
    left_out = [
        check.name
        for check in CHECKS
        if (options.quick and check.waits) or (check.name == "model" and (options.fix or options.no_model))
    ]
    findings: list[Finding] = []
    redact = case.redactor()
    for check in CHECKS:
        if check.name in left_out:
            continue
        for found in look(CONNECTED if options.mcp and check.name == CONNECTED.name else check, case):
            finding = replace(found, text=redact(found.text), fix=redact(found.fix))
            findings.append(finding)
            if not options.json:
                print("\n".join(finding_lines(finding, style)), file=out, flush=True)
    if options.json:
        print(as_json(str(case.home.root), findings, left_out, mended), file=out, flush=True)
    else:
        print("\n" + "\n".join(summary_lines(findings, left_out, style)), file=out, flush=True)
    is_well = all(each.done for each in mended) and all(finding.state != "fail" for finding in findings)
    return 0 if is_well else FAILED


def look(check: Check, case: Case) -> list[Finding]:
    """What a check has found until its time was over."""
    found: list[Finding] = []

    def work() -> None:
        try:
            found.extend(check.look(case))
        except Exception as problem:  # noqa: BLE001 - one broken check must not hide the others
            found.append(_broken(check, problem))

    # A daemon: a process does not wait at its end for a check that hangs.
    thread = threading.Thread(target=work, name=f"doctor-{check.name}", daemon=True)
    thread.start()
    thread.join(check.seconds)
    if not thread.is_alive():
        return found
    text = f"it was not done after {check.seconds:g} s, and was given up"
    return [*found, failing(check.name, text, _LATE_FIX)]


def _broken(check: Check, problem: Exception) -> Finding:
    if isinstance(problem, OSError):
        return failing(check.name, f"it could not be looked at: {_told(problem)}", _CLOSED_FIX)
    return failing(check.name, f"the check failed: {_told(problem)}", _BROKEN_FIX)


def _told(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)
    return f"{type(problem).__name__}: {problem}"


def _mended(case: Case) -> Iterator[Mended]:
    redact = case.redactor()
    for name, mend in MENDERS.items():
        try:
            for each in mend(case):
                yield replace(each, text=redact(each.text))
        except Exception as problem:  # noqa: BLE001 - what cannot be mended must not hide the rest
            yield Mended(name, done=False, text=redact(f"{name}: {_told(problem)}"))


@contextlib.contextmanager
def _undisturbed(out: TextIO) -> Iterator[TextIO]:
    """What a plugin prints while it is looked at goes to stderr, and not between the findings.

    What is logged meanwhile is in the findings, too.
    """
    quiet = logging.NullHandler()
    logging.getLogger().addHandler(quiet)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield out
    finally:
        logging.getLogger().removeHandler(quiet)
