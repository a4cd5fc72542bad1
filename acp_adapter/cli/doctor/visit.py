"""One visit: mends if it shall, looks at everything, and tells it on the screen or as JSON."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from acp_adapter import __version__
from acp_adapter.cli.doctor.as_json import as_json
from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.finding import Finding
from acp_adapter.cli.doctor.mending.mended import Mended
from acp_adapter.cli.doctor.person import AtTerminal
from acp_adapter.cli.doctor.screen import finding_lines, summary_lines
from acp_adapter.cli.doctor.side_by_side import run_checks
from acp_adapter.cli.doctor.table import Wish
from acp_adapter.cli.terminal.safe_text import safe_text
from acp_adapter.cli.terminal.style import style_for
from agent_core.errors import HermesError
from tools.environments.git import git_root
from tools.environments.program_finder import PROGRAMS
from tools.environments.temp_directories import OwnDirectory

if TYPE_CHECKING:
    from agent_core.home import Home

FAILED = 1


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asks for."""

    wish: Wish
    profile: str | None = None
    json: bool = False
    fix: bool = False
    yes: bool = False


def visit(home: Home, order: Order) -> int:
    """Do it; the exit code.

    Raises:
        HermesError: it cannot begin.
    """
    with _undisturbed(sys.stdout) as out, _case(home, order.profile) as case:
        return _as_json(case, order, out) if order.json else _on_screen(case, order, out)


def _on_screen(case: Case, order: Order, out: TextIO) -> int:
    style = style_for(out)
    print(f"hermes-acp {__version__}, home {safe_text(str(case.home.root))}\n", file=out, flush=True)
    harm = False
    if order.fix:
        mended = list(_mended(case, order, out))
        harm = any(each.harm for each in mended)
        print("There was nothing to mend.\n" if not mended else "", file=out, flush=True)
    findings: list[Finding] = []
    for found in _checked(case, order.wish):
        findings += found
        for finding in found:
            print("\n".join(finding_lines(finding, style)), file=out, flush=True)
    print("\n" + "\n".join(summary_lines(findings, order.wish.left_out(), style)), file=out, flush=True)
    return _code(findings, harm=harm)


def _as_json(case: Case, order: Order, out: TextIO) -> int:
    # Standard output is for the object alone.
    mended = list(_mended(case, order, sys.stderr)) if order.fix else []
    findings = [finding for found in _checked(case, order.wish) for finding in found]
    print(as_json(str(case.home.root), findings, order.wish.left_out(), mended), file=out, flush=True)
    return _code(findings, harm=any(each.harm for each in mended))


def _mended(case: Case, order: Order, out: TextIO) -> Iterator[Mended]:
    from acp_adapter.cli.doctor.mending.table import mend  # noqa: PLC0415 - only where it is wanted

    redact = case.redactor()
    for each in mend(case, AtTerminal(out, redact, says_yes=order.yes)):
        told = replace(each, text=redact(each.text))
        print(f"{'Mended' if told.done else 'Not mended'}: {safe_text(told.text)}", file=out, flush=True)
        yield told


def _checked(case: Case, wish: Wish) -> Iterator[tuple[Finding, ...]]:
    _load()
    with contextlib.closing(run_checks(wish.checks(), case, case.redactor())) as found:  # type: ignore[type-var]
        yield from found


def _load() -> None:
    """What most checks need, on this thread: threads that load modules of one circle at once may meet half of one."""
    import agent_core.plugins.plugins  # noqa: PLC0415
    import agent_core.providers.resolve  # noqa: PLC0415
    import agent_core.sessions.repair.examining  # noqa: PLC0415
    import agent_core.settings.problems  # noqa: F401, PLC0415


@contextlib.contextmanager
def _case(home: Home, profile: str | None) -> Iterator[Case]:
    try:
        scratch = OwnDirectory("hermes-doctor-")
    except OSError as problem:
        raise HermesError(
            f"No temporary directory could be made: {problem.strerror}. Set TMPDIR to one that can be written."
        ) from problem
    user = Path(os.path.expanduser("~"))  # noqa: PTH111 - a home that is not known is no error
    if not user.is_relative_to(here := Path.cwd()):  # what a session there would not use
        PROGRAMS.distrust([git_root(here) or here])
    with contextlib.closing(scratch):
        case = Case(home, user, dict(os.environ), profile, scratch.path)
        if (config := case.config()) is not None:
            PROGRAMS.name(config.settings.programs)
        yield case


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


def _code(findings: list[Finding], *, harm: bool) -> int:
    return FAILED if harm or any(finding.state == "fail" for finding in findings) else 0
