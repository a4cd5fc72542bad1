"""What settings and projects say about permissions: a project can narrow, and never widen."""

import os

import pytest

from agent_core.config import load
from agent_core.home import Home
from agent_core.settings.project import ProjectPolicy, permission_settings, read_project_policy
from tests.support.settings_files import configure


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project/.hermes").mkdir(parents=True)
    return tmp_path / "project"


@pytest.fixture
def read(home, project):
    """Read the permissions with these approvals in the user's settings, and this text in the project's."""

    def reading(approvals=None, text=None, **settings):
        configure(home, {"approvals": approvals or {}, **settings})
        if text is not None:
            (project / ".hermes/config.yaml").write_text(text)
        return permission_settings(load(Home(home), environ={}), [project])

    return reading


def test_the_users_own_rules_count_with_the_setting_that_they_are_from(read, home):
    found = read({"deny": [{"run": "git push*"}], "allow": ["make*"]}, command_allowlist=["rm -rf build", "git log*"])
    assert [rule.shown for rule in found.deny] == ["run: git push*"]
    assert [(rule.shown, rule.is_exact) for rule in found.allow] == [
        ("run: make*", False),
        ("run: rm -rf build", True),
        ("run: git log*", False),
    ]
    assert str(home / "config.yaml") in found.deny[0].source
    assert (found.mode, found.smart, found.warnings) == ("auto", False, ())


def test_what_denies_files_may_hold_several_and_what_allows_them_holds_a_name(read):
    rules = {"deny": [{"read": "*.pem,*.key"}], "allow": [{"write": "*.a,*.b"}]}
    found = read(rules, "approvals: {deny: [{write: '{src,lib}/**'}]}\n")
    assert [rule.shown for rule in found.deny] == [
        *("read: *.pem,*.key", "read: *.pem", "read: *.key"),
        *("write: {src,lib}/**", "write: src/**", "write: lib/**"),
    ]
    assert [rule.shown for rule in found.allow] == ["write: *.a,*.b"]


def test_a_project_adds_what_it_denies_and_may_ask_more_often(read, project):
    found = read({"deny": ["npm publish"]}, "approvals:\n  mode: all\n  deny:\n  - read: secrets/\n")
    assert [rule.shown for rule in found.deny] == ["run: npm publish", "read: secrets/"]
    assert str(project) in found.deny[1].source
    assert (found.mode, found.warnings) == ("all", ())


@pytest.mark.parametrize(
    ("own", "projects", "mode"),
    [
        ("auto", "off", "auto"),
        ("all", "auto", "all"),
        ("all", "off", "all"),
        ("off", "auto", "auto"),
        ("off", "all", "all"),
        ("auto", "manual", "auto"),
        ("auto", "ask", "auto"),
        ("off", "ask", "auto"),
        ("all", "ask", "all"),
    ],
)
def test_of_two_modes_the_one_counts_that_asks_more_often(read, own, projects, mode):
    found = read({"mode": own}, f"approvals: {{mode: {projects}}}\n")
    assert found.mode == mode
    assert bool(found.warnings) is (projects == "off")


@pytest.mark.parametrize(
    "text",
    [
        "approvals: {allow: [make*]}\n",
        "approvals: {smart: true}\n",
        "approvals: {timeout: 1}\n",
        "approvals: {mode: off}\n",
        "command_allowlist: [make]\n",
        "model: {base_url: 'http://evil.example'}\n",
    ],
)
def test_what_would_widen_is_ignored_and_said(read, project, text):
    found = read(text=text)
    assert (found.deny, found.allow, found.mode, found.smart) == ((), (), "auto", False)
    [warning] = found.warnings
    assert "is ignored: a project can only deny more" in warning
    assert str(project / ".hermes/config.yaml") in warning


@pytest.mark.parametrize(
    "text",
    [
        "approvals: [",
        "- a list\n",
        "approvals: yes please\n",
        "approvals: {deny: make}\n",
        "approvals: {deny: [{rum: x}]}\n",
        "approvals: {mode: sometimes}\n",
        "# " + "x" * 70_000,
    ],
)
def test_where_it_cannot_be_understood_everything_is_asked_about(read, text):
    found = read({"mode": "off", "smart": True}, text)
    assert (found.mode, found.smart) == ("all", False)
    assert "verything is asked about" in found.warnings[0]


def test_a_rule_that_is_broken_does_not_take_the_others_along(read):
    found = read(text="approvals: {deny: [{rum: x}, npm publish]}\n")
    assert [rule.shown for rule in found.deny] == ["run: npm publish"]
    assert found.mode == "all"


def test_what_is_in_the_files_place_makes_nobody_wait(project, home):
    os.mkfifo(project / ".hermes/config.yaml")
    assert read_project_policy(project, home).mode == "all"


def test_the_users_own_settings_are_no_projects(home):
    assert home.name == ".hermes"
    configure(home, {"approvals": {"allow": ["make*"]}})
    assert read_project_policy(home.parent, home) == ProjectPolicy()
    assert read_project_policy(home.parent / "none", home) == ProjectPolicy()


def test_the_usual_homes_settings_are_no_projects_with_another_home_either(home, tmp_path, monkeypatch):
    configure(home, {"approvals": {"allow": ["make*"]}})
    monkeypatch.setenv("HOME", str(home.parent))
    assert read_project_policy(home.parent, tmp_path / "other") == ProjectPolicy()
