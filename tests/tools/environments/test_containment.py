"""Whether somebody confines a session's commands: it is asked when the first one is judged, and any doubt is a no."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tools.approval.policy import ALLOW, Decision
from tools.environments.containment import Containment
from tools.environments.sandbox.places import WorkspaceSecrets


class _Named:
    name = "landlock"


_SANDBOX: Any = _Named()


def test_a_sandbox_that_works_here_confines() -> None:
    containment = Containment(_SANDBOX, lambda: "")
    assert containment.contains
    assert containment.confines.why_not == ""
    confinement = containment.of(ALLOW, is_planning=False)
    assert confinement is not None
    assert confinement.level == "workspace-write"


@pytest.mark.parametrize(
    ("containment", "why"),
    [
        (Containment(), "no sandbox is set up"),
        (Containment(None, lambda: ""), "no sandbox is set up"),
        (Containment(None, lambda: "it runs elsewhere"), "it runs elsewhere"),
        (Containment(_SANDBOX, lambda: "the kernel is too old"), "the kernel is too old"),
        (Containment(_SANDBOX), "no sandbox is set up"),
    ],
)
def test_nothing_else_does(containment: Containment, why: str) -> None:
    assert not containment.contains
    assert containment.confines.why_not == why
    assert containment.of(ALLOW, is_planning=False) is None
    assert containment.variables({"A": "1"}, ()) == ()
    assert not containment.is_led_astray({"PATH": "bin"})


def test_who_wants_no_sandbox_has_decided_so_whether_there_is_one_or_not() -> None:
    asked = list[int]()
    containment = Containment(_SANDBOX, lambda: asked.append(1) or "none works", level="full")  # type: ignore[func-returns-value]
    assert containment.confines.why_not == ""
    assert asked == []
    assert containment.of(ALLOW, is_planning=False) is None


def test_opening_a_session_asks_nothing() -> None:
    def ask() -> str:
        pytest.fail("nobody was to ask")

    containment = Containment(_SANDBOX, ask, grounds=lambda: pytest.fail("nor to look"))
    assert containment.confines is not None
    assert containment.of(Decision("allow", outside=True), is_planning=False) is None


def test_what_is_secret_is_told_where_no_sandbox_hides_it(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1")
    secrets = WorkspaceSecrets((tmp_path,))
    hidden = Containment(_SANDBOX, lambda: "", secrets=secrets)
    assert hidden.reveals("grep -r KEY .", tmp_path) == ""
    assert replace(hidden, elsewhere=lambda: "in a container").reveals("grep -r KEY .", tmp_path) == ".env"
    assert replace(hidden, why_not=lambda: "none works").reveals("grep -r KEY .", tmp_path) == ".env"
