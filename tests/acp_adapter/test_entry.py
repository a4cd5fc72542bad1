"""The program's start, as far as it needs no editor."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from acp_adapter import __version__
from acp_adapter.entry import _keep_temporary_files_out_of_it, main

_ROOT = Path(__file__).parents[2]


def _run(*arguments: str, script: str = "", **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", *(("-c", script) if script else ("-m", "acp_adapter")), *arguments]
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command, capture_output=True, text=True, timeout=20, check=False, **options
    )


def test_the_version_is_told_without_loading_anything_heavy() -> None:
    script = (
        "import sys\nfrom acp_adapter.entry import main\n"
        "try:\n    main(['--version'])\n"
        "except SystemExit:\n    print(sorted({'acp', 'pydantic', 'asyncio', 'yaml', 'logging'} & set(sys.modules)))"
    )
    assert _run(script=script).stdout == f"hermes-acp {__version__}\n[]\n"


def test_a_wrong_argument_says_so_on_stderr_alone() -> None:
    ended = _run("--nonsense")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--nonsense" in ended.stderr


def test_a_profile_that_would_leave_the_home_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert main(["--profile", "../elsewhere"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("hermes-acp: --profile '../elsewhere'")


def test_closed_stdin_and_stdout_are_refused_in_one_sentence() -> None:
    for descriptor in (0, 1):
        script = f"import os, sys\nos.close({descriptor})\nfrom acp_adapter.entry import main\nsys.exit(main([]))"
        ended = _run(script=script)
        assert ended.returncode == 2
        assert len(ended.stderr.splitlines()) == 1
        assert "must be open for the protocol" in ended.stderr


def test_a_home_that_cannot_be_written_to_costs_the_log_and_not_the_session(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file, where a directory should be")
    line = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
    ended = _run("--offline", input=line, env={**os.environ, "HERMES_HOME": str(tmp_path / "home")})
    assert ended.returncode == 0
    assert '"protocolVersion":1' in ended.stdout
    assert ended.stderr == ""


@pytest.mark.parametrize("entry", ["", "workspace", "link"])
def test_the_working_directory_is_taken_off_the_module_path(entry: str, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "link").symlink_to(workspace)
    path = str(tmp_path / entry) if entry else ""
    script = (
        f"import sys\nsys.path.insert(0, {path!r})\nfrom acp_adapter.entry import main\n"
        "try:\n    main(['--version'])\nexcept SystemExit:\n    print(sys.path)"
    )
    ended = _run(script=script, cwd=workspace, env={**os.environ, "PYTHONPATH": str(_ROOT)})
    paths = ended.stdout.splitlines()[-1]
    assert f"{path!r}" not in paths
    assert str(_ROOT) in paths


def test_temporary_files_go_into_the_home_where_there_is_no_directory_for_them_and_never_into_a_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("os.access", lambda *_: False)
    _keep_temporary_files_out_of_it()
    assert tempfile.gettempdir() == str(tmp_path / "home" / "tmp")
    assert (tmp_path / "home" / "tmp").stat().st_mode & 0o777 == 0o700
    with tempfile.TemporaryDirectory() as made:
        assert Path(made).parent == tmp_path / "home" / "tmp"


def test_a_working_directory_that_was_deleted_is_no_obstacle(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = "import os, sys\nos.rmdir(os.getcwd())\nfrom acp_adapter.entry import main\nmain(['--version'])"
    ended = _run(script=script, cwd=gone, env={**os.environ, "PYTHONPATH": str(_ROOT)})
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("hermes-acp ")


def test_an_interrupt_before_all_is_loaded_ends_the_server_in_order(home: Path) -> None:
    program = (
        "import sys, acp_adapter.process as process\n"
        "from acp_adapter.entry import main\n"
        "def interrupted(*_): raise KeyboardInterrupt\n"
        "process.greet = interrupted\n"
        "sys.exit(main(['--offline']))\n"
    )
    surroundings = {**os.environ, "HERMES_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        timeout=30,
        env=surroundings,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
