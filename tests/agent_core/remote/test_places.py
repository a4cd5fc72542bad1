"""What a copy does in every place: on this machine's shell, in the services' sandboxes, in a container."""

import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest

from agent_core.remote.target import make_elsewhere
from tests.support.fake_clouds import FAKES, Sandboxes
from tests.support.far_copies import CopyBench
from tests.support.local_machine import LocalMachine
from tests.support.plugins import plugin_registry, plugins_of
from tests.support.real_engine import IMAGE, real_engine
from tools.environments.backends import Wanted, forget_backend
from tools.environments.guardian import Guardian
from tools.environments.remote.containers import Box, DockerMachine
from tools.environments.remote.session import FarSide
from tools.settings import ToolSettings


@contextmanager
def in_a_cloud(name, folder, home, monkeypatch):
    service, guardian = Sandboxes(folder / "disk"), Guardian()
    service.folder.mkdir()
    for module, fake in FAKES[name](service).items():
        monkeypatch.setitem(sys.modules, module, fake)
    with plugin_registry() as registry:
        plugins = plugins_of(home, registry)
        plugins.load_for_backend(name)
        options = {"cwd": str(folder / "there"), "sync": "both"}
        elsewhere = make_elsewhere(name, Wanted("s", folder / "here", (), options, ToolSettings(), guardian))
        try:
            yield elsewhere
        finally:
            elsewhere.close()
            service.end()
            guardian.kill_all()
            forget_backend(name)


def small_system(folder):
    """A shell that has the programs of busybox and no others."""
    if (program := shutil.which("busybox")) is None:
        pytest.skip("There is no busybox here.")
    (folder / "bin").mkdir()
    subprocess.run([program, "--install", "-s", str(folder / "bin")], check=True)
    return ("env", "-i", f"PATH={folder / 'bin'}", f"TMPDIR={folder}", str(folder / "bin" / "sh"))


@pytest.fixture(params=["shell", "small system", *sorted(FAKES)])
def bench(request, tmp_path, home, monkeypatch):
    if request.param in {"shell", "small system"}:
        made = CopyBench(tmp_path)
        if request.param == "small system":
            made.machine = LocalMachine(small_system(tmp_path))
        yield made
        return
    with in_a_cloud(request.param, tmp_path, home, monkeypatch) as elsewhere:
        yield CopyBench(tmp_path, begin=elsewhere.begin)


def goes_there_and_back(bench):
    bench.git("init", "-q")
    odd = ["with space", "-dash", "ünïcode", "sub/deep/file", "'quoted'"]
    for name in odd:
        (bench.here / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.here / name).write_text(name)
    (bench.here / "binary").write_bytes(bytes(range(256)) * 300)
    (bench.here / "run.sh").write_text("#!/bin/sh\n")
    (bench.here / "run.sh").chmod(0o755)
    (bench.here / "link").symlink_to("binary")
    bench.renew()
    told = bench.run_there(
        "cat 'with space' ./-dash 'sub/deep/file'; test -x run.sh && test ! -x binary && readlink link"
    )
    assert told == "with space-dashsub/deep/filebinary\n"
    assert bench.changes() == {}
    bench.run_there(
        'for f in *; do [ -d "$f" ] || [ -L "$f" ] || printf more >>"$f"; done; rm sub/deep/file; echo x >\'new one\''
    )
    done = bench.back()
    assert done.words == []
    assert {name: (bench.here / name).read_text() for name in odd[:3]} == {name: f"{name}more" for name in odd[:3]}
    assert (bench.here / "binary").read_bytes() == bytes(range(256)) * 300 + b"more"
    assert (bench.here / "new one").read_text() == "x\n"
    assert not (bench.here / "sub/deep/file").exists()
    assert bench.changes() == {}
    (bench.here / "with space").write_text("mine")
    (bench.here / "new one").unlink()
    assert bench.renew() == []
    assert bench.run_there("cat 'with space'; ls 'new one' 2>/dev/null") == "mine"
    assert bench.changes() == {}


def test_a_workspace_goes_there_and_what_changes_there_comes_back(bench):
    goes_there_and_back(bench)


def test_a_file_takes_the_place_of_a_directory_there_whatever_is_left_in_it(bench):
    for name in ("d", "e"):
        (bench.here / name).mkdir()
        (bench.here / name / "a").write_text("x")
    bench.renew()
    bench.run_there("mkdir e/__pycache__ d/empty; echo x >e/__pycache__/y")
    for name in ("d", "e"):
        shutil.rmtree(bench.here / name)
        (bench.here / name).write_text(name)
    assert bench.renew() == []
    assert bench.run_there("cat d e") == "de"
    assert bench.changes() == {}


@pytest.mark.slow
def test_a_container_has_the_copy_at_the_same_path(tmp_path):
    with real_engine(tmp_path / "engine") as engine:
        guardian = Guardian()
        box = Box(IMAGE, (), engine.volumes, own=tmp_path / "there")
        side = FarSide(DockerMachine(box, "", engine.program), guardian, ToolSettings())
        bench = CopyBench(tmp_path, begin=side.link.running)
        try:
            goes_there_and_back(bench)
            assert not bench.there.exists()
        finally:
            side.close()
            guardian.kill_all()
