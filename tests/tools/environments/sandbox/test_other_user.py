"""The sandbox for a user who has no rights: where these tests run as root, as somebody else."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support import breakouts
from tests.tools.environments.sandbox.conftest import made_world
from tests.tools.environments.sandbox.test_breakouts import needs_bubblewrap, needs_landlock

_SOMEBODY = 64999
_REPOSITORY = Path(breakouts.__file__).parents[2]
_PROGRAM = """
import json, subprocess, sys
from pathlib import Path
from tools.environments.sandbox.bubblewrap import BubblewrapSandbox
from tools.environments.sandbox.landlock_sandbox import LandlockSandbox
from tools.environments.sandbox.port import Confinement
from tools.environments.sandbox.network.session_network import SessionNetwork

class NoHost:
    def may_connect(self, host, port, interrupt, inside=""):
        return False

    def reached(self):
        return

places = json.loads(sys.argv[1])
guard = SessionNetwork(NoHost())
sandbox = LandlockSandbox(guard) if sys.argv[3] == "landlock" else BubblewrapSandbox()
confinement = Confinement("workspace-write", (Path(places["root"]),), (Path(places["hidden"]),))
process = sandbox.popen(
    [sys.executable, "-I", sys.argv[2], sys.argv[1]], confinement, stdin=subprocess.PIPE, pass_fds=(places["typing"],)
)
process.communicate(b"go\\n", 60)
guard.close()
sandbox.close()
"""


def _python():
    """A Python that anybody may run: not one in root's home."""
    for name in (sys.executable, "/usr/bin/python3"):
        asked = [name, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        try:
            if subprocess.run(asked, user=_SOMEBODY, check=False, capture_output=True).returncode == 0:
                return name
        except OSError:
            continue
    return pytest.skip("no Python that another user may run")


@pytest.mark.skipif(os.geteuid() != 0, reason="these tests do not run as root: the others say it")
@pytest.mark.parametrize(
    "sandbox",
    [pytest.param("landlock", marks=needs_landlock), pytest.param("bubblewrap", marks=needs_bubblewrap)],
)
def test_nothing_gets_out_for_a_plain_user_either(sandbox):
    python = _python()
    # Not in pytest's own directory: that is closed to others, and closed again by whoever runs pytest beside us.
    with tempfile.TemporaryDirectory(prefix="hermes-other-user-") as place:
        Path(place).chmod(0o755)
        with made_world(Path(place).resolve()) as world:
            _try_as_somebody(python, sandbox, world)


def _try_as_somebody(python, sandbox, world):
    copied = world.base / "program"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(_REPOSITORY / "tools", copied / "tools", ignore=ignored)
    shutil.copy(breakouts.__file__, copied / "breakouts.py")
    for path in (world.base, *world.base.rglob("*")):
        os.chown(path, _SOMEBODY, _SOMEBODY, follow_symlinks=False)
    with subprocess.Popen(["sleep", "60"], user=_SOMEBODY, start_new_session=True) as neighbour:
        world.places |= {"neighbour": neighbour.pid, "alone": True}
        world.before = world.look()
        ran = subprocess.run(
            [python, "-c", _PROGRAM, json.dumps(world.places), str(copied / "breakouts.py"), sandbox],
            user=_SOMEBODY,
            group=_SOMEBODY,
            extra_groups=[],
            capture_output=True,
            cwd=copied,
            env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
            pass_fds=(world.places["typing"],),
            check=False,
            timeout=90,
        )
        assert neighbour.poll() is None
        assert world.look() == world.before
        neighbour.kill()
    assert ran.stdout, ran.stderr.decode()
    found = json.loads(ran.stdout)
    assert [name for name, outcome in found.items() if outcome == "done"] == []
    assert world.heard() == []
