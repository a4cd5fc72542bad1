"""One run of `hermes-acp doctor`: it mends if it shall, makes the checks, and tells what they found."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from acp_adapter import __version__
from acp_adapter.cli.console import style_for
from acp_adapter.cli.doctor.checks import Case, Check, run_checks
from acp_adapter.cli.doctor.configuration import (
    check_database,
    check_home,
    check_key,
    check_model,
    check_permissions,
    check_plugins,
    check_running,
    check_servers,
    check_settings,
    check_sign_in,
    check_space,
    close,
    open_places,
    try_servers,
)
from acp_adapter.cli.doctor.installation import (
    check_editors,
    check_elsewhere,
    check_git,
    check_packages,
    check_python,
    check_sandbox,
    check_search,
    check_server,
)
from acp_adapter.cli.doctor.report import Finding, Mended, as_json, check_imports, finding_lines, summary_lines
from acp_adapter.format import safe_text
from agent_core.errors import HermesError
from tools.environments.git import git_root
from tools.environments.program_finder import PROGRAMS
from tools.environments.temp_directories import OwnDirectory

if TYPE_CHECKING:
    from agent_core.home import Home
    from agent_core.sessions.salvage import Salvaged


# Every check, in the order in which they are told.

_MODEL = "model"

CHECKS = (
    Check("python", check_python),
    Check("packages", check_packages),
    Check("imports", check_imports),
    Check("server", check_server, 40.0, waits=True),
    Check("home", check_home),
    Check("permissions", check_permissions),
    Check("disk", check_space),
    Check("settings", check_settings),
    Check("key", check_key),
    Check("sign-in", check_sign_in, 90.0, waits=True),
    Check(_MODEL, check_model, 90.0, waits=True),
    # It reads every page: a second for a few hundred MB.
    Check("database", check_database, 300.0),
    Check("sandbox", check_sandbox, 60.0),
    Check("ripgrep", check_search),
    Check("git", check_git),
    Check("mcp server", check_servers),
    Check("terminal", check_elsewhere, 120.0, waits=True),
    Check("plugins", check_plugins, 60.0),
    Check("editor", check_editors),
    Check("running", check_running),
)
"""All of them. The names are part of what `--json` promises."""

_CONNECTED = Check("mcp server", try_servers, 300.0)


@dataclass(frozen=True, slots=True)
class Wish:
    """Which checks are wanted.

    Attributes:
        quick: none that waits for a server or a program of others.
        asks_model: the model is asked.
        connects: MCP servers are connected to.
    """

    quick: bool = False
    asks_model: bool = True
    connects: bool = False

    def checks(self) -> tuple[Check, ...]:
        """The checks."""
        chosen = (check for check in CHECKS if not self._leaves_out(check))
        return tuple(_CONNECTED if self.connects and check.look is check_servers else check for check in chosen)

    def left_out(self) -> tuple[str, ...]:
        """The names of those that are not made."""
        return tuple(check.name for check in CHECKS if self._leaves_out(check))

    def _leaves_out(self, check: Check) -> bool:
        return (self.quick and check.waits) or (not self.asks_model and check.name == _MODEL)


# What `--fix` mends: nothing that a person wrote, and nothing of it is a decision of theirs.

_TABLES = ("sessions", "turns", "messages", "events")


def mend_permissions(case: Case) -> Iterator[Mended]:
    """Take other users' permissions from the home and from what is private in it.

    The home comes first: with that alone nobody else gets in.
    """
    if os.name == "nt":
        return
    for path in tuple(open_places(case.home)):
        try:
            done = close(path)
        except OSError as problem:
            yield Mended("permissions", done=False, text=f"{path}: {problem.strerror}", harm=True)
            continue
        if done:
            yield Mended("permissions", done=True, text=f"{path} is for you alone now")
        else:
            yield Mended("permissions", done=False, text=f"{path} is a link, or another user's: it was left as it is")


def mend_database(case: Case) -> Iterator[Mended]:
    """Mend the database, or set it aside and save what can be read of it. Nothing is ever deleted."""
    from agent_core.errors import StoreError  # noqa: PLC0415 - with SQLite
    from agent_core.sessions.repair import repair  # noqa: PLC0415 - loads SQLite

    try:
        report = repair(case.home.database, case.home.blobs)
    except StoreError as problem:
        yield Mended("database", done=False, text=problem.public, harm=True)
        return
    for text in (*report.done, *_saved(report.salvaged)):
        yield Mended("database", done=True, text=text)
    if report.refused:
        yield Mended("database", done=False, text=report.refused, harm=True)


def _saved(saved: Salvaged | None) -> Iterator[str]:
    if saved is None:
        return
    yield f"Saved: {', '.join(f'{saved.rows.get(table, 0)} {table}' for table in _TABLES)}."
    if saved.unreadable:
        lost = ", ".join(f"{count} of {table}" for table, count in sorted(saved.unreadable.items()))
        yield f"Not readable, and in the broken file only: {lost}."
    if saved.recreated:
        yield f"{saved.recreated} sessions had lost their title and directory: «Recovered session»."


MENDERS: Mapping[str, Callable[[Case], Iterator[Mended]]] = {
    "permissions": mend_permissions,
    "database": mend_database,
}


def mend(case: Case) -> Iterator[Mended]:
    """Each thing that is done or left, as it happens."""
    for name, each in MENDERS.items():
        try:
            yield from each(case)
        except Exception as problem:  # noqa: BLE001 - what cannot be mended must not hide the rest
            yield Mended(name, done=False, text=f"{name}: {_told(problem)}", harm=True)


def _told(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)
    return f"this failed, which is a fault of the program: {type(problem).__name__}: {problem}"


# The run itself.

FAILED = 1


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asks for."""

    wish: Wish
    profile: str | None = None
    json: bool = False
    fix: bool = False


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
        mended = list(_mended(case, out))
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
    mended = list(_mended(case, sys.stderr)) if order.fix else []
    findings = [finding for found in _checked(case, order.wish) for finding in found]
    print(as_json(str(case.home.root), findings, order.wish.left_out(), mended), file=out, flush=True)
    return _code(findings, harm=any(each.harm for each in mended))


def _mended(case: Case, out: TextIO) -> Iterator[Mended]:
    redact = case.redactor()
    for each in mend(case):
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
    import agent_core.sessions.repair  # noqa: PLC0415
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
