"""Plugins, loaded to see whether they work."""

import pytest

from acp_adapter.cli.doctor.configuration import check_plugins
from tests.support.plugins import add_plugin, forget_plugins, plugins_of, tool


@pytest.fixture(autouse=True)
def _plugins_go_with_the_test():
    yield
    forget_plugins()


def test_one_that_fails_and_trusted_projects_are_told(case, home, tmp_path):
    add_plugin(home / "plugins", "bad", "1 / 0")
    add_plugin(tmp_path / "app" / ".hermes" / "plugins", "theirs", tool("theirs_tool"))
    plugins_of(home).project(tmp_path / "app").trust()

    bad, trusted = check_plugins(case())

    assert bad.state == "fail"
    assert "plugins disable bad" in bad.fix
    assert trusted.text == f"trusted in {tmp_path / 'app'}: plugins/theirs"


def test_one_that_works_is_well(case, home):
    add_plugin(home / "plugins", "good", tool("good_tool"))
    (finding,) = check_plugins(case())
    assert (finding.state, ": loaded" in finding.text) == ("ok", True)
