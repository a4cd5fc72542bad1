"""Whether a sandbox contains commands, shown by having each try to break out of itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.finding import Finding, warning, well

if TYPE_CHECKING:
    from tools.environments.sandbox.port import Probed

_PROMISES = {
    "writes": "changing files elsewhere",
    "secrets": "reading hidden files",
    "network": "reaching other hosts",
    "signals": "signalling other processes",
    "memory": "looking into other processes",
    "metadata": "changing modes and owners elsewhere",
}
"""What a sandbox may promise, in words."""


def check_sandbox(case: Case) -> Iterator[Finding]:
    """What trying has shown, and whether the settings use it."""
    from tools.environments.sandbox.probe import probe  # noqa: PLC0415 - starts processes

    tried = tuple(probe())
    active = next((each for each in tried if each.works), None)
    if active is None:
        reasons = "; ".join(f"{each.name}: {each.why_not}" for each in tried) or "there is none for this system"
        text = f"commands are not contained, so that ordinary ones are asked about ({reasons})"
        step = "On Linux, use a kernel with Landlock (5.13 or newer), or install bubblewrap."
        yield warning("sandbox", text, step, active="")
        return
    config = case.config()
    if config is not None and config.settings.sandbox.level == "full":
        text = f"the setting sandbox.level is full: commands are not contained, though {active.name} would do it"
        step = f"Take sandbox.level out of {case.home.config_file}, unless you mean it."
        yield warning("sandbox", text, step, active="", could=active.name)
        return
    text = f"{active.name} contains commands, and holds when they try to get out{_limits(active)}"
    yield well("sandbox", text, active=active.name, keeps=sorted(active.promises))


def _limits(active: Probed) -> str:
    missing = [words for promise, words in _PROMISES.items() if promise not in active.promises]
    return f"; it does not keep them from {', '.join(missing)}" if missing else ""
