"""A session's network, and programs in it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.host_gate import ScriptedGate
from tests.support.notified import start_notified
from tools.environments.sandbox.network.hosts import HostRules, NetworkRules
from tools.environments.sandbox.network.session_network import SessionNetwork, Watched

MakeNetwork = Callable[..., SessionNetwork]
_PYTHON = (sys.executable, "-I", "-S", "-c")


@pytest.fixture
def make_network() -> Iterator[MakeNetwork]:
    """`SessionNetwork` with a gate (one that says no), closed in the end."""
    made: list[SessionNetwork] = []

    def make(gate: ScriptedGate | None = None, rules: NetworkRules | None = None, **options: Any) -> SessionNetwork:
        hosts = HostRules(rules or NetworkRules(), options.pop("remotes", ()))
        network = SessionNetwork(gate or ScriptedGate(), hosts, **options)
        made.append(network)
        return network

    yield make
    for network in made:
        network.close()


class Ran:
    """A program that has ended."""

    def __init__(self, process: subprocess.Popen[bytes], watched: Watched, output: str) -> None:
        self.code, self.output, self.refusals = process.returncode, output, watched.refusals()


def run_program(network: SessionNetwork, *arguments: str, **options: Any) -> Ran:
    """Run it to its end, with the proxy's variables unless `online` is False."""
    adopt = {name: options.pop(name) for name in ("online", "everywhere", "others") if name in options}
    env = {**os.environ, **options.pop("env", {})}
    if adopt.get("online", True):
        env |= network.variables()
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process, watched = start_notified(network, arguments, adopt=adopt, env=env, **streams, **options)
    output, _ = process.communicate(timeout=30)
    return Ran(process, watched, output.decode("utf-8", "replace"))


def run_python(network: SessionNetwork, script: str, *arguments: object, **options: Any) -> Ran:
    return run_program(network, *_PYTHON, script, *map(str, arguments), **options)


def start_python(network: SessionNetwork, script: str, *arguments: object, **adopt: Any) -> tuple[Any, Watched]:
    """A program that is still running, with pipes for what it reads and prints."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return start_notified(network, (*_PYTHON, script, *map(str, arguments)), adopt=adopt, **pipes)
