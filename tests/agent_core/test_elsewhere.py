"""A session that works on another machine: what its tools reach, what it asks about, and what stays here."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from agent_core.errors import SettingsError
from agent_core.prompt.layers import PromptSettings, session_prompt
from agent_core.remote.target import denied_there, elsewhere_of, is_copied
from agent_core.settings.model import Settings
from agent_core.workspace import CallIdentity, local_workspace
from tests.support.choices import choice_for
from tests.support.fake_engine import FakeEngine
from tests.support.services import turn_services
from tests.support.ssh_server import needs_sshd, ssh_server, why_no_other_disk
from tests.support.tool_context import ScriptedApprover, page_of, value_of
from tools.approval.actions import ReadPath, RunCommand, WritePath
from tools.approval.policy import denied_by
from tools.approval.rules import parse_rule
from tools.dispatch import dispatch
from tools.environments.backends import forget_backend, register_backend
from tools.errors import CommandError
from tools.settings import ToolSettings
from tools.toolsets import load_tools


@pytest.fixture(autouse=True)
def _tools():
    load_tools()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """`project` has other files there than here."""
    base = tmp_path_factory.mktemp("place")
    for name in ("here", "there"):
        (base / name / "src").mkdir(parents=True)
        (base / name / "src" / "where.py").write_text(f"WHERE = '{name}'\n")
    (base / "there" / "AGENTS.md").write_text("Only metres here.\n")
    (base / "there" / ".env").write_text("KEY=1\n")
    (base / "there" / "out").symlink_to("/etc/hostname")
    (base / "here").rename(base / "project")
    return base


@pytest.fixture(scope="module")
def server(place, tmp_path_factory):
    if why := why_no_other_disk():
        pytest.skip(why)
    with ssh_server(tmp_path_factory.mktemp("sshd"), (place / "there", place / "project")) as server:
        yield server


def settings_for(server, **terminal):
    target = server.target()
    part = {
        "backend": "ssh",
        "ssh_host": target.host,
        "ssh_user": target.user,
        "ssh_port": target.port,
        "ssh_key": str(target.key),
        "ssh_options": list(target.options),
    }
    return Settings(terminal=part | terminal)


class Session:
    """A workspace, and its tools as a model calls them."""

    def __init__(self, cwd, elsewhere, guardian, mode="accept_edits", choice="reject_once", readable=()):
        self.approver = ScriptedApprover(choice)
        self.workspace = local_workspace(
            cwd,
            guardian=guardian,
            approver=self.approver,
            mode=mode,
            elsewhere=elsewhere,
            containment=elsewhere.containment,
            readable=readable,
        )

    def context(self):
        return self.workspace.context(
            CallIdentity("s", "t", "t", "c"),
            CancelToken(),
            turn_services(),
            on_allowed=lambda _action: None,
            on_output=lambda _text: None,
        )

    def call(self, name, **arguments):
        result = dispatch(name, arguments, self.context())
        if name == "read_file" and not result.failed:
            return page_of(result)
        return value_of(result) if result.value is not None else {"text": result.text}


@pytest.fixture
def session(server, place, guardian):
    project = place / "project"
    elsewhere = elsewhere_of(settings_for(server), "s", (project,), ToolSettings(), guardian)
    session = Session(project, elsewhere, guardian)
    yield session
    session.workspace.close()


def test_the_tools_reach_the_files_of_the_other_machine(session, place):
    project = place / "project"
    assert session.workspace.cwd == project
    assert session.call("read_file", path="src/where.py")["content"] == "1|WHERE = 'there'"
    assert "there" in json.dumps(session.call("search_files", pattern="WHERE"))
    session.call("patch", path="src/where.py", old_string="'there'", new_string="'changed'")
    session.call("write_file", path="new.txt", content="new\n")
    try:
        assert (place / "there" / "src" / "where.py").read_text() == "WHERE = 'changed'\n"
        assert (place / "there" / "new.txt").read_text() == "new\n"
        assert (project / "src" / "where.py").read_text() == "WHERE = 'here'\n"
        assert not (project / "new.txt").exists()
    finally:
        (place / "there" / "src" / "where.py").write_text("WHERE = 'there'\n")
        (place / "there" / "new.txt").unlink()
    assert session.approver.asked == []


def test_commands_run_there_and_are_asked_about_unless_they_only_look(session, place):
    assert session.call("terminal", command="cat src/where.py")["output"].strip() == "WHERE = 'there'"
    assert session.approver.asked == []
    refused = session.call("terminal", command="touch made")
    assert "error" in refused
    (asked,) = session.approver.asked
    assert isinstance(asked, RunCommand)
    assert "no sandbox" in session.approver.questions[0].reason
    assert len(session.approver.questions[0].reaches) == 1
    assert not (place / "there" / "made").exists()


def test_a_link_there_leads_where_it_leads_there(session, place):
    session.call("read_file", path="out")
    (asked,) = session.approver.asked
    assert isinstance(asked, ReadPath)
    assert asked.path == Path("/etc/hostname")


def test_what_the_person_denies_is_denied_under_the_names_that_it_has_there(
    session, place, server, guardian, tmp_path
):
    (place / "there" / "vault").mkdir(exist_ok=True)
    (place / "there" / "vault" / "x.txt").write_text("not for you")
    elsewhere = session.workspace.elsewhere
    # The home there is the project, and a link there leads to the vault.
    elsewhere = replace(elsewhere, facts=lambda: replace(session.workspace.elsewhere.facts(), home=place / "project"))
    (place / "there" / "door").symlink_to("vault")
    x = ReadPath(place / "project" / "vault" / "x.txt", None)
    for pattern in ("~/vault/", "door/", f"{place}/project/door/*.txt"):
        rules = denied_there(parse_rule({"read": pattern}), elsewhere)
        assert denied_by(x, rules, elsewhere.real_roots), pattern
        (rule,) = denied_there(parse_rule({"read": pattern}), replace(elsewhere, problem="it is down"))
        assert bool(denied_by(x, (rule,), ())) == pattern.startswith("~"), pattern
    assert denied_there(parse_rule({"run": "git push"}), None) == ()


def test_what_is_denied_by_its_place_here_is_denied_in_a_copy_of_it(home, tmp_path, guardian):
    top, there, engine = tmp_path / "w", tmp_path / "there", FakeEngine(tmp_path / "engine")
    (top / "kept").mkdir(parents=True)
    (tmp_path / "door").symlink_to(top)
    part = {"docker_program": str(engine.program), "docker_mount": False, "cwd": str(there)}
    denied = {}
    try:
        for sync in ("in", "off"):
            settings = Settings(terminal={"backend": "docker", **part, "sync": sync})
            elsewhere = elsewhere_of(settings, "s", (tmp_path / "door",), ToolSettings(), guardian)
            copied = tmp_path / "door" if is_copied(settings.terminal, elsewhere) else None
            for pattern in (f"{top}/kept/", f"{tmp_path}/door/kept/**", f"{top}/k*/x"):
                rules = denied_there(parse_rule({"write": pattern}), elsewhere, copied)
                action = WritePath(there / "kept" / "x", None, b"x", shown=there / "kept" / "x")
                denied[sync, pattern] = bool(denied_by(action, rules, elsewhere.real_roots))
            elsewhere.close()
    finally:
        engine.end()
    assert [sync for (sync, _), is_denied in denied.items() if is_denied] == ["in"] * 3


def test_secrets_there_are_not_printed_by_a_search_unasked(session):
    session.call("terminal", command="grep -r KEY .")
    assert ".env" in session.approver.questions[0].reason


def test_a_link_there_to_a_secret_is_not_printed_unasked(session, place):
    there = place / "there"
    (there / "deep").mkdir()
    (there / "deep" / "peek").symlink_to("../.env")
    (there / "deep" / "plain.txt").write_text("plain")
    for command in ("cat deep/peek", "cat 'deep/pee'*", "cd deep && cat peek", "cat < deep/peek"):
        assert "Denied" in session.call("terminal", command=command)["error"], command
        assert session.approver.asked[-1].reveals == ".env", command
    assert session.call("terminal", command="cat deep/plain.txt")["output"] == "plain"


def test_settings_of_git_there_that_name_programs_are_asked_about(session, place):
    git = place / "there" / ".git"
    subprocess.run(["git", "init", "-q", place / "there"], check=True)
    try:
        assert "error" not in session.call("terminal", command="git status")
        with (git / "config").open("a") as config:
            config.write("[core]\n\tfsmonitor = ./evil\n")
        session.call("terminal", command="git status")
        assert "core.fsmonitor" in session.approver.questions[0].reason
    finally:
        shutil.rmtree(git)


def test_the_session_s_saved_outputs_stay_on_this_machine(server, place, guardian, tmp_path):
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "1.txt").write_text("all of it\n")
    elsewhere = elsewhere_of(settings_for(server), "s", (place / "project",), ToolSettings(), guardian)
    session = Session(place / "project", elsewhere, guardian, readable=(tmp_path / "outputs",))
    assert session.call("read_file", path=str(tmp_path / "outputs" / "1.txt"))["content"] == "1|all of it"
    session.workspace.close()


def prompt_of(session):
    choice = choice_for("http://127.0.0.1:9")
    return session_prompt(session.workspace, PromptSettings(None), choice, platform="acp", tools=())


def test_the_prompt_tells_of_the_other_machine_and_has_its_rules(session, place):
    (place / "there" / ".cursorrules").symlink_to("/etc/hostname")
    prompt, _notes = prompt_of(session)
    (place / "there" / ".cursorrules").unlink()
    assert "Only metres here." in prompt.text
    assert "Files and commands are those of another machine: " in prompt.text
    assert f"Working directory: {place / 'project'}" in prompt.text
    assert Path("/etc/hostname").read_text().strip() not in prompt.text.split("Only metres here.")[1]
    assert "hermes-rules-" not in prompt.text


def test_the_rules_of_a_repository_there_reach_down_to_the_session_s_directory(server, place, guardian):
    subprocess.run(["git", "init", "-q", place / "there"], check=True)
    (place / "there" / "src" / "AGENTS.md").write_text("Only seconds here.\n")
    try:
        elsewhere = elsewhere_of(
            settings_for(server, cwd=str(place / "project" / "src")), "s", (place,), ToolSettings(), guardian
        )
        session = Session(place, elsewhere, guardian)
        prompt, _notes = prompt_of(session)
        assert prompt.text.index("Only metres here.") < prompt.text.index("Only seconds here.")
        assert f"Git repository at {place / 'project'}" in prompt.text
        session.workspace.close()
    finally:
        (place / "there" / "src" / "AGENTS.md").unlink()
        shutil.rmtree(place / "there" / ".git")


@pytest.mark.parametrize(("cwd", "expected"), [("~/", "home"), ("/usr/share", "/usr/share")])
def test_the_directory_there_is_that_of_the_settings(cwd, expected, server, guardian, tmp_path):
    elsewhere = elsewhere_of(settings_for(server, cwd=cwd), "s", (tmp_path,), ToolSettings(), guardian)
    assert elsewhere.cwd == (elsewhere.facts().home if expected == "home" else Path(expected))
    elsewhere.close()


@needs_sshd
def test_a_machine_that_cannot_be_reached_leaves_the_session_usable_and_says_so(guardian, tmp_path):
    settings = Settings(terminal={"backend": "ssh", "ssh_host": "127.0.0.1", "ssh_port": 1})
    elsewhere = elsewhere_of(settings, "s", (tmp_path,), ToolSettings(), guardian)
    assert "nothing listens there" in elsewhere.problem
    session = Session(tmp_path, elsewhere, guardian, mode="dont_ask")
    assert session.workspace.approvals.take_warnings() == (elsewhere.problem,)
    assert "nothing listens there" in prompt_of(session)[0].text
    (tmp_path / "f").write_text("of this machine")
    for name, arguments in {"read_file": {"path": "f"}, "terminal": {"command": "pwd"}}.items():
        assert "Could not connect to 127.0.0.1" in session.call(name, **arguments)["error"]
    session.workspace.close()


def test_in_a_container_the_session_s_files_are_this_machine_s_and_others_the_container_s(guardian, tmp_path):
    engine = FakeEngine(tmp_path / "engine")
    (tmp_path / "project").mkdir()
    settings = Settings(terminal={"backend": "docker", "docker_program": str(engine.program)})
    elsewhere = elsewhere_of(settings, "s", (tmp_path / "project",), ToolSettings(), guardian)
    session = Session(tmp_path / "project", elsewhere, guardian, choice="allow_once")
    session.call("write_file", path="a.txt", content="a\n")
    assert engine.boxes() == {}
    assert (tmp_path / "project" / "a.txt").read_text() == "a\n"
    assert session.call("read_file", path="/etc/os-release")["content"]
    assert list(engine.boxes().values()) == [True]
    assert session.call("terminal", command="cat a.txt")["output"].strip() == "a"
    session.workspace.close()
    assert engine.boxes() == {}


def test_a_link_to_a_secret_is_not_printed_unasked_in_a_container(guardian, tmp_path):
    engine = FakeEngine(tmp_path / "engine")
    project = tmp_path / "project"
    project.mkdir()
    (project / ".env").write_text("KEY=1\n")
    (project / "plain.txt").write_text("a\n")
    (project / "peek").symlink_to(".env")
    # As a command has made it, on the container's own disk.
    (tmp_path / "out").symlink_to(project / ".env")
    settings = Settings(terminal={"backend": "docker", "docker_program": str(engine.program)})
    elsewhere = elsewhere_of(settings, "s", (project,), ToolSettings(), guardian)
    session = Session(project, elsewhere, guardian, choice="reject_once")
    assert session.call("terminal", command="cat plain.txt")["output"].strip() == "a"
    for name in ("peek", tmp_path / "out"):
        assert "KEY=1" not in str(session.call("terminal", command=f"cat {name}"))
    session.workspace.close()


def test_a_variable_that_is_named_for_containers_reaches_commands_and_no_other_secret_does(
    guardian, tmp_path, monkeypatch
):
    monkeypatch.setenv("NAMED_TOKEN", "named")
    monkeypatch.setenv("OTHER_TOKEN", "other")
    engine = FakeEngine(tmp_path / "engine")
    part = {"backend": "docker", "docker_program": str(engine.program), "docker_forward_env": ["NAMED_TOKEN"]}
    elsewhere = elsewhere_of(Settings(terminal=part), "s", (tmp_path,), ToolSettings(), guardian)
    session = Session(tmp_path, elsewhere, guardian, choice="allow_once")
    assert session.call("terminal", command='echo "$NAMED_TOKEN,$OTHER_TOKEN"')["output"].strip() == "named,"
    session.workspace.close()


def test_a_backend_that_there_is_not_is_an_error_and_nothing_runs_here(guardian, tmp_path):
    with pytest.raises(SettingsError, match="'nowhere', and there is no such backend"):
        elsewhere_of(Settings(terminal={"backend": "nowhere"}), "s", (tmp_path,), ToolSettings(), guardian)
    with pytest.raises(SettingsError, match=r"terminal\.ssh_host"):
        elsewhere_of(Settings(terminal={"backend": "ssh"}), "s", (tmp_path,), ToolSettings(), guardian)


def test_a_plugin_s_backend_is_chosen_by_its_name(guardian, tmp_path):
    wanted = []

    def factory(want):
        wanted.append(want)
        raise CommandError("not today")

    register_backend("mine", factory)
    try:
        with pytest.raises(ValueError, match="already"):
            register_backend("Mine", factory)
        settings = Settings(terminal={"backend": "mine", "backend_options": {"a": 1}})
        with pytest.raises(SettingsError, match="not today"):
            elsewhere_of(settings, "s", (tmp_path,), ToolSettings(), guardian)
        assert wanted[0].options["backend_options"] == {"a": 1}
    finally:
        forget_backend("mine")


@pytest.mark.parametrize("name", ["local", "ssh", "Docker "])
def test_the_names_of_our_own_backends_are_taken(name):
    with pytest.raises(ValueError, match="already"):
        register_backend(name, lambda _wanted: None)


@pytest.mark.long
def test_upstream_s_names_are_understood():
    part = Settings(
        terminal={"backend": "Native", "docker_mount_cwd_to_workspace": False, "docker_forward_env": "A"}
    ).terminal
    assert (part.backend, part.docker_mount, part.docker_forward_env) == ("local", False, ("A",))
