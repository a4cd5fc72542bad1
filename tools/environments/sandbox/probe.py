"""Finds out which sandboxes work here, by having each of them try to break out of itself; makes the best one."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tools.environments.child_env import bare_environment
from tools.environments.sandbox import kernel
from tools.environments.sandbox.bubblewrap import BubblewrapSandbox
from tools.environments.sandbox.landlock_sandbox import LandlockSandbox
from tools.environments.sandbox.port import Confinement, Probed, Promise, Sandbox
from tools.environments.sandbox.seatbelt import SeatbeltSandbox
from tools.environments.sandbox.seccomp import why_not
from tools.environments.temp_directories import own_directory

if TYPE_CHECKING:
    from tools.environments.sandbox.network.session_network import SessionNetwork


_SECONDS = 10.0
_SIGNALS_SINCE = 6
# Waits for a word, as every confined program must; then tries to write and to read what it may not.
_ATTEMPTS = """
IFS= read -r go || exit 125
if (echo changed >"$1/target") 2>/dev/null; then echo wrote; fi
if (echo new >"$1/new") 2>/dev/null; then echo made; fi
cat "$1/hidden/secret" 2>/dev/null
echo tried
"""
_PLANTED = "planted"


def probe() -> Iterator[Probed]:
    """What trying each mechanism of this system shows, the best first: each when it is asked for, once a process."""
    for each in MECHANISMS:
        yield each()


@functools.cache
def _landlock() -> Probed:
    version = kernel.landlock_version()
    if version < 1:
        return Probed("landlock", works=False, why_not="the kernel has no Landlock (Linux 5.13), or it is off")
    promises: list[Promise] = ["writes", "secrets", "network", "memory"]
    if version >= _SIGNALS_SINCE:
        promises.append("signals")
    if not why_not():
        promises.append("metadata")
    return _tried("landlock", LandlockSandbox, tuple(promises))


@functools.cache
def _bubblewrap() -> Probed:
    promises: tuple[Promise, ...] = ("writes", "secrets", "network", "memory", "signals", "metadata")
    return _tried("bubblewrap", BubblewrapSandbox, promises)


@functools.cache
def _seatbelt() -> Probed:
    return _tried("seatbelt", SeatbeltSandbox, ("writes", "secrets", "network", "memory", "signals", "metadata"))


_OF_SYSTEMS: Mapping[str, Sequence[Callable[[], Probed]]] = {
    "darwin": (_seatbelt,),
    "linux": (_landlock, _bubblewrap),
}
MECHANISMS = _OF_SYSTEMS.get(sys.platform, ())
"""What is tried on this system, the best first."""


def _tried(name: str, make: Callable[[], Sandbox], promises: tuple[Promise, ...]) -> Probed:
    try:
        sandbox = make()
        try:
            why_not = _break_out(sandbox)
        finally:
            sandbox.close()
    except (OSError, subprocess.SubprocessError) as problem:
        why_not = f"trying it failed: {problem}"
    return Probed(name, works=not why_not, why_not=why_not, promises=() if why_not else promises)


def _break_out(sandbox: Sandbox) -> str:
    """Why the sandbox is none, '' if it holds."""
    with own_directory("hermes-probe-") as place:
        (place / "target").write_text("as it was")
        (place / "hidden").mkdir()
        (place / "hidden" / "secret").write_text(_PLANTED)
        printed = _run(sandbox, place)
        if "tried" not in printed:
            return f"it starts no program ({printed.strip() or 'no output'})"
        if "wrote" in printed or "made" in printed or (place / "target").read_text() != "as it was":
            return "a command in it can change files outside"
        return "a command in it can read what is hidden" if _PLANTED in printed else ""


def _run(sandbox: Sandbox, place: Path) -> str:
    process = sandbox.popen(
        ["/bin/sh", "-c", _ATTEMPTS, "sh", str(place)],
        Confinement("read-only", hidden=(place / "hidden",)),
        cwd="/",
        env=bare_environment(os.environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        return process.communicate(b"go\n", _SECONDS)[0].decode("utf-8", "replace")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


# The choice.


def make_sandbox(make_guard: Callable[[], SessionNetwork] | None = None) -> Sandbox | None:
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
    """Why no sandbox can be made here, in words that follow "it is not contained: "; '' if one can."""
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
    return not why_not()


def _make(name: str, make_guard: Callable[[], SessionNetwork] | None) -> Sandbox:
    if name == "bubblewrap":
        return BubblewrapSandbox()
    if name == "seatbelt":
        return SeatbeltSandbox(make_guard() if make_guard is not None else None)
    return LandlockSandbox(make_guard() if make_guard is not None and not why_not() else None)
