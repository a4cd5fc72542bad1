"""The sandbox: tried, and used."""

import pytest

from acp_adapter.cli.doctor.installation import check_sandbox
from tests.support.settings_files import configure
from tools.environments.sandbox import probe as probing
from tools.environments.sandbox.port import Probed

HOLDS = Probed("landlock", works=True, why_not="", promises=("writes", "secrets", "network", "memory"))
LEAKS = Probed("bubblewrap", works=False, why_not="a command in it can change files outside")


@pytest.fixture
def tried(monkeypatch):
    def tried(*found):
        monkeypatch.setattr(probing, "MECHANISMS", [lambda each=each: each for each in found])

    return tried


def test_one_that_holds_is_well_and_what_it_does_not_keep_off_is_told(case, tried):
    tried(LEAKS, HOLDS)
    (finding,) = check_sandbox(case())
    assert (finding.state, finding.text.startswith("landlock")) == ("ok", True)
    assert "it does not keep them from signalling other processes" in finding.text


@pytest.mark.parametrize("found", [(), (LEAKS,)])
def test_without_one_that_holds_it_is_told_why(case, tried, found):
    tried(*found)
    (finding,) = check_sandbox(case())
    assert finding.state == "warn"
    assert "commands are not contained" in finding.text
    assert not found or "can change files outside" in finding.text


def test_one_that_the_settings_turn_off_is_told(case, tried, home):
    configure(home, {"sandbox": {"level": "full"}})
    tried(HOLDS)
    (finding,) = check_sandbox(case())
    assert finding.state == "warn"
    assert "sandbox.level is full" in finding.text


def test_what_is_tried_is_the_real_thing(case):
    (finding,) = check_sandbox(case())
    assert finding.state == ("ok" if any(each.works for each in probing.probe()) else "warn")
