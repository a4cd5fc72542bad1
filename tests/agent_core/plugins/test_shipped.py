"""The plugins that come with this program: loaded when their backend is chosen, and not before."""

import os
import sys
from pathlib import Path

import pytest

from agent_core.plugins.discovery import shipped
from agent_core.remote.target import elsewhere_of
from agent_core.settings.model import Settings
from tests.support.each import each
from tests.support.fake_apptainer import FakeApptainer
from tests.support.fake_clouds import FAKES, Sandboxes
from tests.support.plugins import plugins_of
from tests.support.settings_files import configure
from tools.environments.backends import backend_names, forget_backend
from tools.environments.guardian import Guardian
from tools.settings import ToolSettings

ALL = ("apptainer", "daytona", "modal", "vercel")


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    yield
    for name in ALL:
        forget_backend(name)


@each("name", ALL)
def test_one_is_loaded_when_its_backend_is_chosen(name, home, registry):
    plugins = plugins_of(home, registry)
    registry.add_loader(plugins.load)
    plugins.load_for_backend("docker")
    assert plugins.statuses == ()
    plugins.load_for_backend(name)
    (status,) = plugins.statuses
    assert (status.name, status.origin, status.state, status.offers.environments) == (
        name,
        "shipped",
        "loaded",
        [name],
    )
    assert "experimental" in status.description
    assert name in backend_names()
    plugins.load_for_backend(name)
    assert len(plugins.statuses) == 1
    forget_backend(name)


def test_one_that_is_switched_off_is_not_loaded(home, registry):
    configure(home, {"plugins": {"disabled": ["modal"]}})
    plugins = plugins_of(home, registry)
    plugins.load_for_backend("modal")
    assert "modal" not in backend_names()


def test_what_is_loaded_of_others_says_nothing_of_them(home, registry):
    configure(home, {"plugins": {"enabled": []}})
    plugins = plugins_of(home, registry)
    plugins.load_for_backend("modal")
    assert "modal" in backend_names()


@each("name", ["", "..", "../plugins", "state", "__pycache__", "a/b"])
def test_no_other_name_leads_to_one(name):
    assert shipped(name) is None


def test_it_reads_the_home_s_variables_that_its_service_wants(home, registry):
    (home / ".env").write_text("DAYTONA_API_KEY=dtn-1\nOTHER_KEY=not-this\n")
    os.environ.pop("DAYTONA_API_KEY", None)
    plugins_of(home, registry).load_for_backend("daytona")
    assert os.environ["DAYTONA_API_KEY"] == "dtn-1"
    assert "OTHER_KEY" not in os.environ


def _works(settings, cwd):
    guardian = Guardian()
    elsewhere = elsewhere_of(Settings(terminal=settings), "", (cwd,), ToolSettings(), guardian)
    try:
        assert elsewhere.command("pwd -P >/dev/null; echo there") == b"there\n"
        return elsewhere
    finally:
        elsewhere.close()
        guardian.kill_all()


@each("backend", ["modal", "daytona", "vercel"])
def test_a_session_works_in_a_sandbox(backend, home, registry, tmp_path):
    (tmp_path / backend).mkdir()
    service = Sandboxes(tmp_path / backend)
    with pytest.MonkeyPatch.context() as patch:
        for name, module in FAKES[backend](service).items():
            patch.setitem(sys.modules, name, module)
        plugins_of(home, registry).load_for_backend(backend)
        found = _works({"backend": backend, "cwd": str(tmp_path)}, Path("/srv/not-there"))
    assert (found.cwd, found.shared, found.problem, found.wall) == (tmp_path, (), "", "container")
    assert found.warnings == (found.note,)
    assert f"{backend} is experimental: not yet run against the service" in found.note
    assert service.boxes == {}
    forget_backend(backend)


@each("name", ["apptainer", "singularity"])
def test_a_session_works_in_an_instance(name, home, registry, tmp_path):
    program = FakeApptainer(tmp_path / name)
    plugins_of(home, registry).load_for_backend("apptainer")
    settings = {"backend": name, "singularity_image": "x.sif", "singularity_program": str(program.program)}
    found = _works(settings, tmp_path)
    assert (found.cwd, found.shared) == (tmp_path, (tmp_path,))
    assert "experimental: not yet run against the real program" in found.note
    (told,) = program.told("instance", "start")
    assert f"type=bind,source={tmp_path},destination={tmp_path}" in told
    assert told[-2] == "x.sif"
    forget_backend("apptainer")
