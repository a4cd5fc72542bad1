"""The sandbox of a session: the best that works on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tools.environments.sandbox.port import Sandbox
from tools.environments.sandbox.probe import probe

if TYPE_CHECKING:
    from tools.environments.sandbox_network.port import NetworkGuard


def make_sandbox(make_guard: Callable[[], NetworkGuard] | None = None) -> Sandbox | None:
    """A sandbox for one session; None where `why_none` says why. The first call of a process takes some milliseconds.

    Args:
        make_guard: makes the session's network, where the sandbox can use one; without it commands have no network.
            It is closed by its maker, after the session's commands are gone and before the sandbox.
    """
    for each in probe():
        if each.works:
            return _make(each.name, make_guard)
    return None


def why_none() -> str:
    """Why no sandbox can be made here, in words that follow «it is not contained: »; '' if one can."""
    tried = []
    for each in probe():
        if each.works:
            return ""
        tried.append(each)
    reasons = "; ".join(f"{each.name}: {each.why_not}" for each in tried)
    return reasons or "there is no sandbox for this system"


def reaches_hosts() -> bool:
    """Whether commands in the best sandbox here can reach hosts one by one; else they reach none, or all."""
    name = next((each.name for each in probe() if each.works), "")
    if name != "landlock":
        return name == "seatbelt"
    from tools.environments.sandbox_network.kernel import why_not  # noqa: PLC0415 - Linux only

    return not why_not()


def _make(name: str, make_guard: Callable[[], NetworkGuard] | None) -> Sandbox:
    if name == "bubblewrap":
        from tools.environments.sandbox.bubblewrap import BubblewrapSandbox  # noqa: PLC0415 - rarely needed

        return BubblewrapSandbox()
    if name == "seatbelt":
        from tools.environments.sandbox.seatbelt import SeatbeltSandbox  # noqa: PLC0415 - macOS only

        return SeatbeltSandbox(make_guard() if make_guard is not None else None)
    from tools.environments.sandbox.landlock_sandbox import LandlockSandbox  # noqa: PLC0415 - Linux only
    from tools.environments.sandbox_network.kernel import why_not  # noqa: PLC0415 - Linux only

    return LandlockSandbox(make_guard() if make_guard is not None and not why_not() else None)
