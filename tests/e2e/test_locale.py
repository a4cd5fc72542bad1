"""Paths are UTF-8 in every locale: names with other letters, and what else a locale decides."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor import Editor, Frame

_LATIN, _CHINESE = "de_DE.ISO-8859-1", "zh_CN.GBK"
_ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
_AGENT = (sys.executable, "-P", "-m", "acp_adapter")
_MADE = "grün-日本.txt"

Surroundings = Callable[[str], dict[str, str]]


@pytest.fixture
def locale_of(tmp_path: Path) -> Surroundings:
    """The variables of a locale that this machine need not have: it is made for the test."""

    def variables(name: str) -> dict[str, str]:
        if name == "C":
            return _ASCII
        language, _, charmap = name.partition(".")
        maker = shutil.which("localedef")
        if maker is None:
            pytest.skip("localedef is not installed, so this locale cannot be made")
        made = subprocess.run(
            [maker, "-i", language, "-f", charmap, str(tmp_path / name)], capture_output=True, check=False
        )
        if not (tmp_path / name).is_dir():
            pytest.skip(f"localedef could not make {name}: {made.stderr.decode('utf-8', 'replace').strip()}")
        return {"LC_ALL": name, "LOCPATH": str(tmp_path), "PYTHONUTF8": "0"}

    return variables


def _ended_calls(agent: Editor, session: str) -> list[Frame]:
    return [frame for frame in agent.frames if frame.is_update(session) and frame.update.get("status") == "completed"]


@pytest.mark.parametrize("name", ["C", _LATIN, _CHINESE])
async def test_names_with_other_letters_work_in_every_locale(
    name: str, locale_of: Surroundings, editor: EditorFactory, home: Path, tmp_path: Path
) -> None:
    workspace = tmp_path / "Größe-中文-проект"
    workspace.mkdir()
    (workspace / "alt-ä.txt").write_text("hallo ä\n", encoding="utf-8")
    agent = await editor("--offline", home=home, env=locale_of(name))
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
    steps = [
        "read alt-ä.txt",
        f"write {_MADE} neu ö\\n",
        f"edit {_MADE} neu ö => neu ü",
        "search neu ü",
        "run ls; echo ş > Ş.txt; cat alt-ä.txt; echo $LC_ALL.$PYTHONUTF8",
    ]
    await agent.prompt(session, "\n".join(steps))

    calls = _ended_calls(agent, session)
    assert len(calls) == len(steps)
    shown = [json.dumps(call.update, ensure_ascii=False) for call in calls]
    assert str(workspace / "alt-ä.txt") in shown[0]
    assert str(workspace / _MADE) in shown[1]
    assert str(workspace / _MADE) in shown[2]
    assert _MADE in shown[3]
    assert "alt-ä.txt" in shown[4]
    assert "hallo ä" in shown[4]
    # Commands get the locale of the person, not ours.
    assert f"{locale_of(name)['LC_ALL']}.0" in shown[4]
    names = {entry.name for entry in os.scandir(os.fsencode(workspace))}
    assert names == {text.encode() for text in ("alt-ä.txt", _MADE, "Ş.txt")}
    assert (workspace / _MADE).read_bytes() == "neu ü\n".encode()

    await agent.prompt(session, "/undo")
    assert not (workspace / _MADE).exists()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="the command line of a process is read in /proc")
async def test_a_process_starts_again_only_where_its_locale_asks_for_it(editor: EditorFactory, home: Path) -> None:
    for variables, again in (({"LC_ALL": "C.UTF-8"}, False), ({"LC_ALL": "C"}, False), (_ASCII, True)):
        agent = await editor("--offline", home=home, env=variables)
        await agent.initialize()
        assert agent.process is not None
        words = Path(f"/proc/{agent.process.pid}/cmdline").read_bytes().split(b"\0")
        assert (b"-X" in words) is again, variables
        assert words[-2] == b"--offline"


def _prompt(argument: bytes, variables: dict[str, str], home: Path, workspace: Path) -> Any:
    command = [*map(os.fsencode, (*_AGENT, "prompt", "--offline", "--cwd", workspace)), argument]
    surroundings = {**os.environ, "HERMES_HOME": str(home), **variables}
    return subprocess.run(command, capture_output=True, env=surroundings, check=True, timeout=60).stdout


@pytest.mark.parametrize(("name", "text"), [(_LATIN, "größe"), (_CHINESE, "中文")])
def test_a_person_types_and_reads_in_the_encoding_of_the_locale(
    name: str, text: str, locale_of: Surroundings, home: Path, workspace: Path
) -> None:
    encoding = name.partition(".")[2]
    typed = f"say {text}".encode(encoding)
    assert text.encode(encoding) in _prompt(typed, locale_of(name), home, workspace)


def test_what_is_typed_as_utf_8_is_read_as_utf_8_in_every_locale(
    locale_of: Surroundings, home: Path, workspace: Path
) -> None:
    assert "größe".encode("latin-1") in _prompt("say größe".encode(), locale_of(_LATIN), home, workspace)
    assert "größe 中文".encode() in _prompt("say größe 中文".encode(), _ASCII, home, workspace)


async def test_names_that_are_not_utf_8_work_in_a_session_and_its_undo(
    agent_in: EditorFactory, workspace: Path
) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    try:
        (workspace / name).write_text("coffee\n")
    except OSError:
        pytest.skip("names here have to be UTF-8")
    agent = await agent_in("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
    named = r'"path": "caf\udce9.txt"'
    steps = [
        "read .",
        "search coffee",
        f"call read_file {{{named}}}",
        f'call patch {{{named}, "old_string": "coffee", "new_string": "tea"}}',
        f'call write_file {{{named}, "content": "milk\\n"}}',
        r'call terminal {"command": "cat caf\udce9.txt; mv caf\udce9.txt other\udce9.txt"}',
    ]
    await agent.prompt(session, "\n".join(steps))

    assert len(_ended_calls(agent, session)) == len(steps)
    shown = json.dumps([frame.update for frame in agent.frames if frame.is_update(session)], ensure_ascii=False)
    shown.encode()  # no lone surrogate has reached the editor
    assert "caf\ufffd.txt" in shown
    assert "milk" in shown
    assert (workspace / os.fsdecode(b"other\xe9.txt")).exists()

    (workspace / os.fsdecode(b"other\xe9.txt")).rename(workspace / name)
    await agent.prompt(session, "/undo")
    assert (workspace / name).read_text() == "coffee\n"
    since = len(agent.frames)
    await agent.load_session(session, workspace)
    assert any(frame.is_update(session) for frame in agent.frames[since:])
