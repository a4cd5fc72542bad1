"""The copy that a session has where its place shares no files, as the user's settings want it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from agent_core.background.news import News
from agent_core.far_copy.copy import FarCopy, Limits
from agent_core.far_copy.place import Place
from agent_core.far_copy.rescuing import RescueOfCopies
from agent_core.far_copy.session_copy import SessionCopy
from agent_core.far_copy.state import State, Store, tidy_states
from agent_core.far_copy.telling import MEGABYTE
from agent_core.home import user_cache
from agent_core.settings.sections import TerminalPart
from tools.approval.actions import ReadPath
from tools.approval.policy import Rules, denied_by
from tools.approval.sensitive import why_sensitive
from tools.environments.backends import Elsewhere
from tools.ports import FileHistory

NOTHING_THERE = (
    "Nothing of the project is on {where}, and nothing comes back from it: terminal.sync in your config.yaml changes "
    "that (in: the workspace is copied there; both: changes come back, too, as edits that you are asked about)."
)
NOT_COPIED = "terminal.sync has no effect with terminal.backend: {backend}, whose files are {where}'s own, or yours."


def session_copy(
    settings: TerminalPart,
    elsewhere: Elsewhere,
    session_id: str,
    roots: tuple[Path, ...],
    rules: Rules,
    *,
    history: Callable[[str, str], FileHistory],
    tell_later: Callable[[News], None],
    variables: Mapping[str, str] = os.environ,
) -> SessionCopy | None:
    """The copy, not made yet; None where there is to be none.

    Args:
        roots: the session's directories here, its working directory first.
        rules: those of the place.
        history: keeps what files here were, for a turn and a call.
        tell_later: the next who loads the session shall know.
    """
    begin = elsewhere.begin
    if begin is None or settings.sync == "off" or not session_id:
        return None
    here = replace(rules, roots=tuple(Path(os.path.realpath(root)) for root in roots), is_elsewhere=False)
    directory = copies_elsewhere(variables)
    tidy_states(directory)
    root = elsewhere.real_roots[0]

    def may_read(path: Path) -> bool:
        if path in here.closed or why_sensitive(path, here.private):
            return False
        return denied_by(ReadPath(path), here.deny, here.roots) is None

    copy = FarCopy(
        here.roots[0],
        lambda each: Place(root, each, elsewhere.where, begin),
        Store(directory / _file_name(session_id)),
        may_read,
        Limits(settings.sync_files, settings.sync_megabytes * MEGABYTE),
        like=State(root=str(root), session=session_id, both=settings.sync == "both"),
    )
    return SessionCopy(copy, here, history, root, settings.sync == "both", elsewhere.outlives, tell_later)


def rescue_of_copies(tell: Callable[[str, News], None], variables: Mapping[str, str] = os.environ) -> RescueOfCopies:
    """Who saves what killed processes have left; `tell` stores news for a session."""
    return RescueOfCopies(copies_elsewhere(variables), tell)


def with_words(elsewhere: Elsewhere, settings: TerminalPart) -> Elsewhere:
    """The place, with what the person is told of its files at first."""
    if elsewhere.shared or elsewhere.begin is None:
        words = NOT_COPIED.format(backend=elsewhere.backend, where=elsewhere.where) if settings.sync != "off" else ""
    else:
        words = NOTHING_THERE.format(where=elsewhere.where) if settings.sync == "off" else ""
    return replace(elsewhere, note=" ".join(filter(None, (elsewhere.note, words)))) if words else elsewhere


def copies_elsewhere(variables: Mapping[str, str]) -> Path:
    """Where it is kept what was copied, and what was not brought back."""
    return user_cache(variables) / "elsewhere"


def _file_name(session_id: str) -> str:
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
