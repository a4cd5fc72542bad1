"""`hermes-acp doctor`, in homes that are well and in homes that are not."""

import importlib.util
import json
import subprocess
import sys
from types import ModuleType

import pytest

from acp_adapter.cli import doctor_checks
from acp_adapter.cli.doctor import main
from acp_adapter.cli.doctor_checks import size_text
from agent_core.activity import Activity
from agent_core.home import Home
from agent_core.running import RunReport, running_processes
from tests.support.fake_apptainer import FakeApptainer
from tests.support.fake_engine import FakeEngine
from tests.support.filled_database import counted, fill, overwrite, pages_of
from tests.support.settings_files import configure
from tests.support.waiting import wait_until
from tools.environments.backends import forget_backend

MAIN = [sys.executable, "-c", "import sys; from acp_adapter.cli.doctor import main; sys.exit(main(sys.argv[1:]))"]


@pytest.fixture
def run(capsys):
    def run(*arguments):
        try:
            code = main(list(arguments))
        except SystemExit as ended:
            code = ended.code
        said = capsys.readouterr()
        return code, " ".join(said.out.split()), said.err

    return run


@pytest.fixture
def database(home):
    home.chmod(0o700)
    path = home / "hermes-acp.db"
    fill(path, sessions=4)
    return path


def test_a_new_home_is_well_and_stays_empty(home, run):
    code, out, err = run()
    assert (code, err) == (0, "")
    assert f"Home: {home}" in out
    assert "no sessions are stored yet" in out
    assert out.endswith("All is well.")
    assert list(home.iterdir()) == []


def test_what_is_stored_is_told(home, database, run):
    code, out, _ = run()
    assert code == 0
    assert "4 sessions, 40 messages" in out
    assert "4 earlier contents" in out
    assert "WRONG" not in out


def test_wrong_settings_are_told_with_what_to_do(home, run):
    (home / "config.yaml").write_text("model: [unclosed\n")
    code, out, _ = run()
    assert code == 1
    assert "WRONG settings" in out
    assert f"Next: Correct it in {home}/config.yaml." in out
    assert "1 of 5 checks found something wrong." in out


def test_ignored_settings_are_told(home, run):
    configure(home, {"modle": {"provider": "custom"}})
    code, out, _ = run()
    assert code == 1
    assert "modle" in out


def test_a_damaged_database_is_told_and_the_fix_says_where_the_broken_file_is(home, database, run):
    pages = pages_of(database, "messages")
    overwrite(database, pages[1])
    broken = database.read_bytes()
    code, out, _ = run()
    assert code == 1
    assert "WRONG database" in out
    assert "hermes-acp doctor --fix" in out
    assert database.read_bytes() == broken
    code, out, _ = run("--fix")
    assert code == 0
    (aside,) = home.glob("hermes-acp.db.broken-*")
    assert aside.read_bytes() == broken
    assert f"the broken file is now {aside}" in out
    assert "Not readable, and in the broken file only:" in out
    assert "kept beside it" in out
    assert out.endswith("All is well.")
    assert counted(database)["sessions"] == 4


def test_open_permissions_are_told_and_closed(database, run):
    database.chmod(0o666)
    code, out, _ = run()
    assert code == 1
    assert "WRONG permissions" in out
    code, out, _ = run("--fix")
    assert code == 0
    assert database.stat().st_mode & 0o777 == 0o600


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


def test_little_space_is_told(home, run, monkeypatch):
    monkeypatch.setattr(doctor_checks, "_LITTLE_SPACE", 1 << 80)
    code, out, _ = run()
    assert code == 1
    assert "WRONG disk" in out


def test_a_home_that_is_no_directory_is_told(tmp_path, run, monkeypatch):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "file"))
    code, out, _ = run()
    assert code == 1
    assert "is not a directory" in out


def test_a_profile_of_its_own_is_looked_at(home, run):
    code, out, _ = run("--profile", "work")
    assert code == 0
    assert f"Home: {home}/profiles/work" in out
    assert run("--profile", "../x")[0] == 1


@pytest.mark.parametrize("arguments", [["--unknown"], ["extra"]])
def test_a_wrong_command_line_is_told(run, arguments):
    code, _, err = run(*arguments)
    assert code == 2
    assert "usage: hermes-acp doctor" in err


def test_whoever_reads_the_output_may_go(home):
    child = subprocess.Popen(MAIN, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(30) in {0, 1}


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 KB"), (2_500_000, "2.5 MB"), (4e15, "4000.0 TB")],
)
def test_sizes_are_for_people(count, text):
    assert size_text(count) == text


def test_turns_of_other_processes_are_told_and_one_that_tells_nothing_any_more_is_wrong(home, run):
    home.chmod(0o700)
    activity, report = Activity(), RunReport(Home(home).running, pause=0.01)
    activity.begin()
    activity.turn("running", "terminal make test")
    report.follow("session-1", "/srv/project", activity)
    wait_until(lambda: list(running_processes(Home(home).running)))
    code, out, _ = run()
    assert code == 0
    assert "running: terminal make test, for 0 s" in out
    (file,) = Home(home).running.glob("*.json")
    told = json.loads(file.read_text())
    report.close()
    file.write_text(json.dumps({**told, "told": told["told"] - 300}))
    code, out, _ = run()
    assert code == 1
    assert "told nothing for 5 min" in out


def test_another_machine_that_sessions_work_on_is_looked_at(home, run, tmp_path):
    engine = FakeEngine(tmp_path / "engine")
    configure(home, {"terminal": {"backend": "docker", "docker_program": str(engine.program)}})
    code, out, _ = run()
    assert code == 0
    assert "sessions work on the container hermes-acp-" in out
    assert engine.boxes() == {}
    engine.go_down()
    code, out, _ = run()
    assert code == 1
    assert "the engine does not run" in out
    assert "docs/environments.md" in out


def test_a_backend_that_comes_as_a_plugin_is_looked_at_and_told_to_be_experimental(home, run, tmp_path):
    home.chmod(0o700)
    program = FakeApptainer(tmp_path / "apptainer")
    configure(home, {"terminal": {"backend": "singularity", "singularity_program": str(program.program)}})
    code, out, _ = run()
    forget_backend("apptainer")
    assert code == 0
    assert "sessions work on the instance hermes-acp-" in out
    assert "The backend apptainer is experimental: not yet run against the real program" in out
    assert program.instances() == set()


def test_a_backend_whose_sdk_is_not_installed_is_named_with_its_install_line(home, run, monkeypatch):
    home.chmod(0o700)
    monkeypatch.setitem(sys.modules, "modal", ModuleType("modal"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    configure(home, {"terminal": {"backend": "modal"}})
    code, out, _ = run()
    forget_backend("modal")
    assert code == 1
    assert "pip install 'hermes-editor-agent[modal]'" in out
