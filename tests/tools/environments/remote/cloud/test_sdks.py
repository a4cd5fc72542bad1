"""What we ask of the SDKs of services is what the real ones take, where they are installed."""

import functools
import importlib
import importlib.util
import inspect
import sys

import pytest

from agent_core.plugins.shipped.daytona import DaytonaCloud
from agent_core.plugins.shipped.modal import ModalCloud
from agent_core.plugins.shipped.vercel import VercelCloud
from tests.support.each import each
from tests.support.fake_clouds import FAKES, Sandboxes
from tools.environments.remote.cloud import Size, Terms

CLOUDS = {"modal": ModalCloud, "daytona": DaytonaCloud, "vercel": VercelCloud}


@each("backend", sorted(CLOUDS))
def test_the_real_sdk_takes_our_calls(backend, tmp_path):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"The SDK is not installed; install it with: pip install 'hermes-editor-agent[{backend}]'")
    for name, args, named in _made_by_us(backend, tmp_path):
        try:
            inspect.signature(_real(name)).bind(*args, **named)
        except TypeError as problem:
            raise AssertionError(f"{name}: {problem}") from problem


def _made_by_us(backend, folder):
    service = Sandboxes(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, module in FAKES[backend](service).items():
            patch.setitem(sys.modules, name, module)
        for terms in (Terms(), Terms("some:1", has_network=True, cpus=1.0, memory=512)):
            cloud = CLOUDS[backend](terms)
            sandbox = cloud.make(f"hermes-acp-{len(service.calls)}")
            for size in (None, Size(40, 120)):
                wire = sandbox.start("true", size)
                assert b"".join(wire.chunks()) == b""
                wire.kill()
            assert [each.name for each in cloud.named("hermes-acp")] == [sandbox.name]
            sandbox.end()
    return service.calls


def _real(name):
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        return functools.reduce(getattr, parts[length:], found)
    raise AssertionError(f"there is no {name}")
