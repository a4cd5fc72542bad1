"""A session's commands, confined: the shell, its memory, terminals, background processes, refusals."""

import pytest

from agent_core.cancel import CancelToken
from tests.support.shells import QUIET_SECONDS
from tests.support.waiting import wait_until
from tools.environments.local_commands import LocalEnvironment, LocalProcesses
from tools.environments.sandbox.landlock_sandbox import LandlockSandbox
from tools.environments.sandbox.port import Confinement
from tools.environments.sandbox.probe import probe
from tools.errors import CommandError
from tools.ports import CommandSpec
from tools.shell.session import ProcessSpec, ShellCommand, ShellMemory

pytestmark = pytest.mark.skipif(
    not any(each.name == "landlock" and each.works for each in probe()), reason="no Landlock here"
)


@pytest.fixture
def environment(guardian):
    sandbox = LandlockSandbox()
    environment = LocalEnvironment(guardian, None, None, QUIET_SECONDS, sandbox)
    yield environment
    environment.close()
    sandbox.close()


def _run(environment, world, command, confinement="as usual", **fields):
    confinement = world.confinement() if confinement == "as usual" else confinement
    spec = ShellCommand(command, fields.pop("cwd", world.root), 20.0, confinement=confinement, **fields)
    return environment.run(spec, lambda text: None, CancelToken())


def test_a_refusal_is_told_with_the_outcome(environment, world):
    outcome = _run(environment, world, "echo x > ../outside/new")
    assert outcome.exit_code == 1
    assert outcome.refused.startswith("changing ")
    assert outcome.refused.endswith("outside/new")


def test_a_command_that_stays_inside_was_refused_nothing(environment, world):
    outcome = _run(environment, world, "echo x > new; cat new")
    assert (outcome.output, outcome.refused) == ("x\n", "")


def test_the_same_command_runs_free_without_a_confinement(environment, world):
    assert _run(environment, world, "echo x > ../outside/new", None).exit_code == 0


def test_without_a_sandbox_a_confined_command_does_not_run_at_all(guardian, world):
    environment = LocalEnvironment(guardian)
    with pytest.raises(CommandError, match="no sandbox"):
        _run(environment, world, "echo x > new")
    assert not (world.root / "new").exists()


def test_the_shell_is_remembered_and_the_sandboxs_variables_are_not(environment, world):
    outcome = _run(environment, world, 'export MINE=1; mkdir d; cd d; test -n "$XDG_RUNTIME_DIR"')
    assert outcome.exit_code == 0
    assert outcome.left.cwd == world.root / "d"
    assert set(outcome.left.added()) == {"MINE", "OLDPWD"}


def test_a_terminal_of_its_own_and_no_other(environment, world):
    command = f"test -t 0 && echo typed >/dev/tty; cat {world.places['terminal']}"
    outcome = _run(environment, world, command, pty=True)
    assert "typed" in outcome.output
    assert "Permission denied" in outcome.output


def test_background_processes_are_confined(environment, world):
    processes = LocalProcesses(environment, ShellMemory(world.root), None, QUIET_SECONDS)
    spec = ProcessSpec("echo x > ../outside/new; echo y > new", world.root, confinement=world.confinement())
    name = processes.start(spec).id
    wait_until(lambda: not processes.poll(name).info.running)
    assert (world.root / "new").exists()
    assert not (world.outside / "new").exists()
    processes.close()


def test_a_plain_command_is_confined_too(environment, world):
    spec = CommandSpec("echo x > ../outside/new", world.root, 20.0, confinement=world.confinement())
    assert environment.run(spec, lambda text: None, CancelToken()).exit_code == 1


def test_a_sandbox_that_cannot_give_its_variables_runs_nothing(guardian, world):
    class NoProxy(LandlockSandbox):
        def variables(self, confinement):
            raise OSError("no port is free")

    environment = LocalEnvironment(guardian, sandbox=NoProxy())
    with pytest.raises(CommandError, match="no port is free"):
        _run(environment, world, "echo x > new")


def test_what_is_confined_ends_with_the_session(environment, world):
    _run(environment, world, "sleep 60 & sleep 60 &")
    assert environment.is_busy()
    environment.close()
    wait_until(lambda: not environment.is_busy())


def test_the_confinement_is_the_one_of_the_command(environment, world):
    hidden = Confinement("workspace-write", (world.root,), (world.outside,))
    assert _run(environment, world, "cat ../outside/target").output == "as it was"
    assert "as it was" not in _run(environment, world, "cat ../outside/target", hidden).output
