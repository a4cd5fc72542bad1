"""A program that is confined tries everything, on this kernel; and the same program free, to see that it could."""

import os
import sys

import pytest

from tests.support.breakouts import ATTEMPTS
from tests.tools.environments.sandbox.conftest import break_out
from tools.environments.sandbox.bubblewrap import BubblewrapSandbox
from tools.environments.sandbox.landlock_sandbox import LandlockSandbox
from tools.environments.sandbox.network.session_network import SessionNetwork
from tools.environments.sandbox.probe import probe

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform != "linux", reason="mechanisms of Linux")]

_METADATA = {
    "change_mode_outside",
    "change_mode_by_descriptor",
    "change_mode_through_a_link",
    "change_mode_by_the_newest_call",
    "change_owner_outside",
}
_SIGNALS = {
    "kill_a_neighbour",
    "kill_a_neighbours_group",
    "kill_the_parent",
    "signal_a_neighbour_by_handle",
    "signal_a_neighbour_by_a_pipe",
}


class NoHost:
    """A person who lets nobody reach anything."""

    def may_connect(self, host, port, interrupt, inside=""):
        return False

    def reached(self):
        return


def _works(name):
    return any(each.name == name and each.works for each in probe())


needs_landlock = pytest.mark.skipif(not _works("landlock"), reason="no Landlock here")
needs_bubblewrap = pytest.mark.skipif(not _works("bubblewrap"), reason="no bubblewrap here")


@pytest.fixture
def guard():
    guard = SessionNetwork(NoHost())
    yield guard
    guard.close()


def _assert_nothing_happened(world, found, but=frozenset()):
    done = {name for name, outcome in found.items() if outcome == "done"}
    assert done - but == set()
    assert found.keys() == ATTEMPTS.keys()
    assert world.heard() == []
    assert world.neighbour.poll() is None
    if not but & _METADATA:
        assert world.look() == world.before


@needs_landlock
@pytest.mark.parametrize("network", ["off", "proxy", "on"])
@pytest.mark.parametrize("level", ["read-only", "workspace-write"])
def test_nothing_gets_out_of_landlock(world, guard, level, network):
    sandbox = LandlockSandbox(guard)
    found = break_out(sandbox, world.confinement(level, network=network), world)
    sandbox.close()
    if network == "on":  # then these are what was asked for
        reached = {"connect_to_a_local_service", "connect_over_version_six", "send_a_datagram"}
        assert {name for name, outcome in found.items() if outcome == "done"} == reached
        assert len(world.heard()) == 2
        return
    _assert_nothing_happened(world, found)


@needs_landlock
def test_without_a_network_guard_nothing_but_modes_and_owners_gets_out(world):
    sandbox = LandlockSandbox()
    found = break_out(sandbox, world.confinement(), world)
    sandbox.close()
    _assert_nothing_happened(world, found, but=_METADATA)


@needs_landlock
@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_an_old_landlock_lets_nothing_out_but_signals(world, guard, version):
    sandbox = LandlockSandbox(guard, version)
    found = break_out(sandbox, world.confinement(), world)
    sandbox.close()
    done = {name for name, outcome in found.items() if outcome == "done"}
    assert done - _SIGNALS == set()
    assert "kill_the_parent" not in done
    assert world.look() == world.before


@needs_bubblewrap
@pytest.mark.parametrize("level", ["read-only", "workspace-write"])
def test_nothing_gets_out_of_bubblewrap(world, level):
    sandbox = BubblewrapSandbox()
    found = break_out(sandbox, world.confinement(level), world)
    sandbox.close()
    _assert_nothing_happened(world, found)


@needs_landlock
def test_the_full_level_hides_what_is_hidden(world, guard):
    sandbox = LandlockSandbox(guard)
    found = break_out(sandbox, world.confinement("full", network="on"), world)
    sandbox.close()
    assert found["write_outside"] == found["create_outside"] == found["remove_outside"] == "done"
    reading = {name: outcome for name, outcome in found.items() if name.startswith("read_the_secret")}
    assert "done" not in reading.values()
    assert found["move_the_hidden_directory"] != "done"


@needs_landlock
def test_the_attempts_work_where_nothing_is_confined(world):
    """So that a refusal means something."""

    class Free(LandlockSandbox):
        def popen(self, arguments, confinement, **popen):
            import subprocess  # noqa: PLC0415

            return subprocess.Popen(arguments, **popen)

    sandbox = Free()
    found = break_out(sandbox, world.confinement(), world)
    sandbox.close()
    for name in ("write_outside", "create_outside", "read_the_secret", "kill_the_parent", "open_the_parents_memory"):
        assert found[name] == "done", found[name]
    for name in ("connect_to_a_local_service", "send_a_datagram", "connect_to_a_unix_socket", "by_swapping_a_link"):
        assert found[name] == "done", found[name]
    assert found["read_the_parents_environment"] == found["change_mode_by_descriptor"] == "done"
    for name in ("slow_a_neighbour", "slow_a_neighbours_group", "starve_a_neighbours_disk", "pin_a_neighbour"):
        assert found[name] == "done", found[name]
    for name in ("set_a_neighbours_attributes", "limit_a_neighbour", "write_a_neighbours_settings", "pin_the_parent"):
        assert found[name] == "done", found[name]
    if os.geteuid() == 0:
        assert found["change_where_the_kernel_sends_crashes"] == found["change_a_setting_of_the_kernel"] == "done"
