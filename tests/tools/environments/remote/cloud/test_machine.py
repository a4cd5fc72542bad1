"""Sandboxes of services: what is asked of the service, how long they last, and what is told when they are gone."""

import os
import queue
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent_core.cancel import CancelToken
from agent_core.plugins.shipped.daytona import DaytonaCloud
from agent_core.plugins.shipped.modal import ModalCloud, ModalWire
from agent_core.plugins.shipped.vercel import VercelCloud
from tests.support.each import each
from tests.support.processes import has_ended
from tests.support.waiting import wait_until
from tools.environments.remote.cloud import CloudMachine, TerminalWire, Terms
from tools.environments.remote.connection import Streams
from tools.environments.remote.scripts import began, own_prefix
from tools.environments.remote.session import FarSide
from tools.errors import CommandError
from tools.shell.session import ShellCommand

pytestmark = pytest.mark.long

CLOUDS = {"modal": ModalCloud, "daytona": DaytonaCloud, "vercel": VercelCloud}
PIPE = subprocess.PIPE


@pytest.fixture(params=sorted(CLOUDS))
def backend(request):
    return request.param


@pytest.fixture
def service(backend, service_of):
    return service_of(backend)


@pytest.fixture
def side_of(backend, service, guardian):
    sides = []

    def make(terms=None):
        sides.append(FarSide(CloudMachine(CLOUDS[backend](terms or Terms())), guardian))
        return sides[-1]

    yield make
    for side in sides:
        side.close()


def run(side, command, **spec):
    return side.environment.run(ShellCommand(command, Path("/"), 20.0, **spec), lambda _text: None, CancelToken())


def test_a_session_has_one_sandbox_that_goes_with_it(service, side_of):
    side = side_of()
    assert service.boxes == {}
    assert run(side, "echo in").output == "in\n"
    run(side, "true")
    (name,) = service.boxes
    assert name.startswith(f"{own_prefix()}{os.getpid()}-")
    side.close()
    assert service.boxes == {}


def test_a_program_at_a_terminal_has_one(side_of):
    assert run(side_of(), "test -t 0 && stty size && : >/dev/tty", pty=True).output == "40 120\r\n"


def test_no_command_is_told_to_the_service(service, side_of):
    assert run(side_of(), "echo $MINE not-for-others", env={"MINE": "hidden"}).output == "hidden not-for-others\n"
    assert "not-for-others" not in str(service.calls)
    assert "hidden" not in str(service.calls)


def test_all_bytes_pass_both_ways(side_of):
    data = bytes(range(256)) * 40 + b".\n.\n\\0101%s"
    assert side_of().link.output_of("cat", given=data) == data


@pytest.mark.parametrize(
    "what", ["exec sleep 60", "while :; do echo more; sleep 0.01; done"], ids=["silent", "talking"]
)
def test_a_script_that_nobody_needs_any_more_is_ended(what, side_of, tmp_path):
    side = side_of()
    side.link.session()
    process = side.link.start(
        f"echo $$ >{tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; {what}", Streams(PIPE, PIPE, PIPE)
    )
    wait_until((tmp_path / "pid").exists)
    side.link.ended(process)
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    wait_until(lambda: has_ended(int((tmp_path / "pid").read_text())))


def test_a_script_whose_output_nobody_reads_any_more_is_still_ended_by_its_terminal():
    more, written, token = queue.SimpleQueue(), [], "abcdefgh"

    def write(data):
        written.append(data)
        if data == b"!\n":
            more.put(b"")

    wire = TerminalWire(SimpleNamespace(read=more.get, write=write, kill=lambda: None), token, "yes", None)
    more.put(token.encode() + b"output")
    chunks = wire.chunks()
    assert next(chunks) == b"output"
    chunks.close()
    wire.kill()
    assert written[-1] == b"!\n"


def test_a_script_that_nobody_needs_before_its_number_came_is_ended_once_it_does():
    ended, more = [], queue.SimpleQueue()
    made = SimpleNamespace(exec=lambda *words: (ended.append(words[-1]), SimpleNamespace(wait=lambda: 0))[1])
    wire = ModalWire(made, SimpleNamespace(stdout=iter(more.get, b"")))
    printed = []
    reading = threading.Thread(target=lambda: printed.extend(wire.chunks()))
    reading.start()
    more.put(b"4")
    wire.kill()
    assert ended == []
    for chunk in (b"2\nfirst", b"last", b""):
        more.put(chunk)
    reading.join(15)
    wire.kill()
    assert ended == ["kill -KILL -42 || kill -KILL 42"]
    assert printed == [b"first", b"last"]


def test_a_sandbox_that_is_gone_is_told_and_a_new_one_is_empty(service, side_of):
    side = side_of()
    run(side, "true")
    (first,) = service.boxes
    service.end()
    told = []

    def succeeds():
        try:
            return run(side, "echo new").output == "new\n"
        except CommandError as problem:
            told.append(str(problem))
        return False

    wait_until(succeeds)
    assert any(f"{first} is gone, and what was in it" in text for text in told), told
    assert first not in service.boxes


def test_what_processes_that_are_gone_left_behind_is_removed(service, side_of):
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = f"{own_prefix()}{ended.pid}-1-aa"
    others = {f"{own_prefix()}{os.getpid()}-{began(os.getpid())}-bb", f"hermes-acp-00000000-{ended.pid}-1-aa", "mine"}
    for name in (left, *others):
        service.make(name)
    run(side_of(), "true")
    wait_until(lambda: left not in service.boxes)
    assert others < set(service.boxes)


def test_who_is_not_signed_in_is_told_how(backend, service, side_of):
    service.refusal = RuntimeError("Token missing: could not authenticate client")
    named = {"modal": "MODAL_TOKEN_ID", "daytona": "DAYTONA_API_KEY", "vercel": "VERCEL_TOKEN"}
    with pytest.raises(CommandError, match=rf"Token missing.*Sign in: put {named[backend]}"):
        run(side_of(), "true")
    service.refusal = RuntimeError("no capacity")
    with pytest.raises(CommandError, match=r"no capacity"):
        run(side_of(), "true")


@each(
    "backend, made, terms, told",
    [
        (
            "modal",
            "modal.Sandbox.create",
            Terms(lifetime=90, cpus=1.5, memory=600),
            {"block_network": True, "timeout": 90, "cpu": 1.5, "memory": 600, "image": "slim"},
        ),
        (
            "modal",
            "modal.Sandbox.create",
            Terms("some:1", has_network=True),
            {"block_network": False, "image": "image"},
        ),
        (
            "daytona",
            "daytona.CreateSandboxFromSnapshotParams",
            Terms(lifetime=90),
            {"network_block_all": True, "ephemeral": True, "auto_stop_interval": 2, "ttl_minutes": 2},
        ),
        (
            "daytona",
            "daytona.CreateSandboxFromImageParams",
            Terms("some:1", has_network=True),
            {"network_block_all": False, "image": "some:1"},
        ),
        ("daytona", "daytona.Resources", Terms("some:1", cpus=1.5, memory=1500), {"cpu": 2, "memory": 2}),
        (
            "vercel",
            "vercel.sandbox.sync.create_sandbox",
            Terms(lifetime=90),
            {"network_policy": "deny-all", "execution_time_limit": 90, "persistent": False, "image": None},
        ),
        (
            "vercel",
            "vercel.sandbox.sync.create_sandbox",
            Terms("some:1", has_network=True),
            {"network_policy": "allow-all", "image": "some:1"},
        ),
        ("vercel", "vercel.sandbox.sync.SandboxResources", Terms(cpus=4), {"vcpus": 4}),
    ],
)
def test_what_the_settings_say_is_asked_of_the_service(backend, made, terms, told, service_of):
    service = service_of(backend)
    CLOUDS[backend](terms).make("hermes-acp-test")
    (named,) = service.told(made)
    assert told.items() <= named.items()


@each("backend", sorted(CLOUDS))
def test_an_sdk_that_is_not_installed_is_named_with_its_install_line(backend, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(CommandError, match=rf"pip install .*'hermes-editor-agent\[{backend}\]'"):
        CLOUDS[backend](Terms())
