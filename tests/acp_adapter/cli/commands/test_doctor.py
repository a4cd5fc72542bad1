"""`hermes-acp doctor`, in homes that are well and in homes that are not."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from types import ModuleType

import pytest

from acp_adapter.cli.doctor import run as table
from acp_adapter.cli.doctor.configuration import check_model
from acp_adapter.cli.doctor.installation import check_elsewhere
from acp_adapter.cli.doctor.main import main
from acp_adapter.cli.doctor.run import Check
from acp_adapter.format import size_text
from agent_core.activity import Activity, RunReport, running_processes
from agent_core.home import Home
from tests.support.fake_apptainer import FakeApptainer
from tests.support.fake_engine import FakeEngine
from tests.support.filled_database import counted, fill, overwrite, pages_of
from tests.support.model_server import Reply, ToolCall
from tests.support.plugins import add_plugin, forget_plugins
from tests.support.settings_files import configure, use_model
from tests.support.subcommands import start_of
from tests.support.waiting import wait_until
from tools.environments.backends import forget_backend
from tools.errors import install_line

MAIN = start_of("doctor")
OFFLINE = {"provider": "offline"}


@pytest.fixture
def run(capsys):
    """Runs it; without what waits unless it is told otherwise. What it writes comes in one line."""

    def run(*arguments, quick=True):
        try:
            code = main([*arguments, *(["--quick"] if quick else [])])
        except SystemExit as ended:
            code = ended.code
        said = capsys.readouterr()
        return code, " ".join(said.out.split()), said.err

    return run


@pytest.fixture
def looks(home, run, monkeypatch):
    """The same with the one check."""

    def looks(name, look):
        home.chmod(0o700)
        monkeypatch.setattr(table, "CHECKS", (Check(name, look),))
        return run()

    return looks


@pytest.fixture
def set_up(home):
    """A home that is well: private, with a model."""
    home.chmod(0o700)
    configure(home, {"model": OFFLINE})
    return home


@pytest.fixture
def database(set_up):
    path = set_up / "hermes-acp.db"
    fill(path, sessions=4)
    return path


def test_a_new_home_lacks_a_model_and_nothing_else_and_stays_empty(home, run):
    home.chmod(0o700)
    code, out, err = run()
    assert (code, err) == (1, "")
    assert f"home {home}" in out
    assert "x key No model is configured" in out
    assert "no sessions are stored yet" in out
    assert "1 problem" in out
    assert list(home.iterdir()) == []


def test_all_that_is_looked_at_in_a_home_that_is_set_up_is_well(home, run, model_server):
    home.chmod(0o700)
    use_model(home, model_server)
    model_server.add(Reply("", tool_calls=[ToolCall("c1", "report", {"state": "ready"})]))
    code, out, err = run("--json", quick=False)
    assert (code, err) == (0, "")
    value = json.loads(out)
    states = {finding["check"]: finding["state"] for finding in value["findings"]}
    assert {name for name, state in states.items() if state != "ok"} <= {"editor", "sandbox"}
    assert {"key", "model", "database", "ripgrep"} <= states.keys()
    assert value["left_out"] == []


def test_what_is_stored_is_told(database, run):
    code, out, _ = run()
    assert code == 0
    assert "4 sessions, 40 messages" in out
    assert "4 earlier contents" in out


def test_wrong_settings_are_told_with_what_to_do(set_up, run):
    (set_up / "config.yaml").write_text("model: [unclosed\n")
    code, out, _ = run()
    assert code == 1
    assert f"x settings {set_up}/config.yaml:2:1: it is not valid YAML" in out
    assert "Correct it" in out


def test_ignored_settings_are_told_and_are_no_failure(set_up, run):
    configure(set_up, {"model": OFFLINE, "agnet": {}})
    code, out, _ = run()
    assert code == 0
    assert "agnet is not a setting" in out


@pytest.mark.long
def test_a_damaged_database_is_told_and_the_fix_says_where_the_broken_file_is(database, run, set_up):
    overwrite(database, pages_of(database, "messages")[1])
    broken = database.read_bytes()
    code, out, _ = run()
    assert code == 1
    assert "x database" in out
    assert "hermes-acp doctor --fix" in out
    assert database.read_bytes() == broken
    code, out, _ = run("--fix")
    assert code == 0
    (aside,) = set_up.glob("hermes-acp.db.broken-*")
    assert aside.read_bytes() == broken
    assert f"the broken file is now {aside}" in out
    assert "Not readable, and in the broken file only:" in out
    assert "kept beside it" in out
    assert counted(database)["sessions"] == 4


@pytest.mark.long
def test_open_permissions_are_told_and_closed(database, run):
    database.chmod(0o666)
    database.parent.chmod(0o755)
    code, out, _ = run()
    assert code == 1
    assert "x permissions" in out
    code, out, _ = run("--fix")
    assert code == 0
    assert f"Mended: {database.parent} is for you alone now" in out
    assert database.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_that_is_left_alone_is_a_failure_of_the_fix(database, run):
    with database.open("r+b") as stream:
        stream.seek(68)
        stream.write(b"else")
    before = database.read_bytes()
    code, out, _ = run("--fix")
    assert code == 1
    assert "Not mended:" in out
    assert "another program's" in out
    assert database.read_bytes() == before


@pytest.mark.parametrize("argument", ["--fix", "--no-model", "--quick"])
def test_the_model_is_asked_for_nothing_but_looking(home, run, model_server, monkeypatch, argument):
    home.chmod(0o700)
    use_model(home, model_server)
    (home / "config.yaml").chmod(0o600)
    monkeypatch.setattr(table, "CHECKS", (Check("model", check_model, waits=True),))
    _, out, _ = run(argument, quick=False)
    assert "Left out: model." in out
    assert ("There was nothing to mend." in out) is (argument == "--fix")
    assert model_server.requests == []


@pytest.mark.long
def test_secrets_that_look_like_words_are_not_shown_beside_what_is_wrong(set_up, run):
    servers = {"x": {"url": "https://mcp.example.com", "headers": {"Authorization": "Bearer swordfishswordfish"}}}
    configure(set_up, {"model": OFFLINE, "agent": {"max_turn": 5}, "mcp_servers": servers})
    _, out, err = run("--fix", "--yes")  # of scripts from when it asked
    assert "max_turn" in out
    assert "swordfish" not in out + err


def test_where_it_cannot_begin_the_json_says_so_too(home, run):
    code, out, err = run("--json", "--profile", "../x")
    (finding,) = json.loads(out)["findings"]
    assert (code, finding["state"], "profile" in finding["text"]) == (1, "fail", True)
    assert err.startswith("hermes-acp doctor: ")


@pytest.mark.long
def test_a_link_to_settings_that_are_not_there_is_told(set_up, run):
    (set_up / "config.yaml").unlink()
    (set_up / "config.yaml").symlink_to("gone.yaml")
    assert "is a link to gone.yaml, which is not there" in run()[1]


@pytest.mark.long
def test_a_profile_of_its_own_is_looked_at(home, run):
    _, out, _ = run("--profile", "work")
    assert f"home {home}/profiles/work" in out


@pytest.mark.parametrize("arguments", [["--unknown"], ["extra"]])
def test_a_wrong_command_line_is_told(run, arguments):
    code, _, err = run(*arguments)
    assert code == 2
    assert "usage: hermes-acp doctor" in err


def test_whoever_reads_the_output_may_go(home):
    child = subprocess.Popen([*MAIN, "--quick"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(30) in {0, 1}


def test_a_command_that_is_started_without_streams_goes_on(home):
    command = ["/bin/sh", "-c", 'exec "$@" <&- >&-', "sh", sys.executable, "-P", "-m", "acp_adapter", "doctor"]
    command += ["--json", "--profile", "../x"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    assert ran.returncode == 1
    assert ran.stderr.startswith("hermes-acp doctor: --profile")


@pytest.mark.long
def test_what_a_plugin_prints_is_not_between_the_findings(set_up, run):
    add_plugin(set_up / "plugins", "loud", "print('HELLO')")
    code, out, err = run("--json")
    forget_plugins()
    assert (code, json.loads(out)["state"]) != (1, "fail")
    assert "HELLO" in err


@pytest.mark.long
def test_an_interrupt_ends_it_at_once_whatever_hangs_and_leaves_nothing(set_up, tmp_path, monkeypatch, model_server):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    engine = tmp_path / "docker"
    engine.write_text(f"#!/bin/sh\nmkdir {tmp_path}/once || exit 1\necho >{fifo}; exec sleep 600\n")
    engine.chmod(0o755)
    configure(set_up, {"model": OFFLINE, "terminal": {"backend": "docker", "docker_program": str(engine)}})
    child = subprocess.Popen(MAIN, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    with fifo.open("rb") as waits:
        waits.read(1)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does
    assert child.wait(30) == 130
    assert child.stderr.read() == b""
    child.stderr.close()
    assert not list(tmp_path.glob("hermes-doctor-*"))


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 KB"), (2_500_000, "2.5 MB"), (4e15, "4000.0 TB")],
)
def test_sizes_are_for_people(count, text):
    assert size_text(count) == text


@pytest.mark.long
def test_turns_of_other_processes_are_told_and_one_that_tells_nothing_any_more_is_wrong(home, run):
    home.chmod(0o700)
    configure(home, {"model": OFFLINE})
    activity, report = Activity(), RunReport(Home(home).running, pause=0.01)
    activity.begin()
    activity.turn("running", "terminal make test")
    report.follow("session-1", "/srv/project", activity)
    wait_until(lambda: list(running_processes(Home(home).running)))
    code, out, _ = run()
    assert code == 0
    assert re.search(r"running: terminal make test, for \d+ s", out)
    (file,) = Home(home).running.glob("*.json")
    told = json.loads(file.read_text())
    report.close()
    file.write_text(json.dumps({**told, "told": told["told"] - 300}))
    code, out, _ = run()
    assert code == 1
    assert "told nothing for 5 min" in out


def test_another_machine_that_sessions_work_on_is_looked_at(home, looks, tmp_path):
    engine = FakeEngine(tmp_path / "engine")
    configure(home, {"terminal": {"backend": "docker", "docker_program": str(engine.program)}})
    code, out, _ = looks("terminal", check_elsewhere)
    assert code == 0
    assert "sessions work on the container hermes-acp-" in out
    assert engine.boxes() == {}
    engine.go_down()
    code, out, _ = looks("terminal", check_elsewhere)
    assert code == 1
    assert "the engine does not run" in out
    assert "docs/environments.md" in out


def test_a_backend_that_comes_as_a_plugin_is_looked_at_and_told_to_be_experimental(home, looks, tmp_path):
    program = FakeApptainer(tmp_path / "apptainer")
    configure(home, {"terminal": {"backend": "singularity", "singularity_program": str(program.program)}})
    code, out, _ = looks("terminal", check_elsewhere)
    forget_backend("apptainer")
    assert code == 0
    assert "sessions work on the instance hermes-acp-" in out
    assert "The backend apptainer is experimental: not yet run against the real program" in out
    assert program.instances() == set()


def test_a_backend_whose_sdk_is_not_installed_is_named_with_its_install_line(home, looks, monkeypatch):
    monkeypatch.setitem(sys.modules, "modal", ModuleType("modal"))
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "modal" else found(name))
    configure(home, {"terminal": {"backend": "modal"}})
    code, out, _ = looks("terminal", check_elsewhere)
    forget_backend("modal")
    assert code == 1
    assert install_line("modal") in out
