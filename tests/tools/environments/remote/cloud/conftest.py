"""Services whose sandboxes are this machine."""

import sys

import pytest

from tests.support.fake_clouds import FAKES, Sandboxes


@pytest.fixture
def service_of(monkeypatch, tmp_path):
    made = []

    def make(backend):
        (tmp_path / "disk").mkdir(exist_ok=True)
        service = Sandboxes(tmp_path / "disk")
        for name, module in FAKES[backend](service).items():
            monkeypatch.setitem(sys.modules, name, module)
        made.append(service)
        return service

    yield make
    for service in made:
        service.end()
