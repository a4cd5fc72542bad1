"""The agent gets into an editor's settings, what was there stays, and nothing is lost when it cannot be done."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from acp_adapter.cli.editors import (
    EDITORS,
    Editor,
    NotEntered,
    enter,
    is_passing,
    loads,
    own_command,
    planned_entry,
)
from tests.support.each import each
from tests.support.subcommands import main_of
from tests.support.terminal import Terminal

main = main_of("setup")

COMMAND = ("/srv/bin/hermes-acp", "--profile=work")
BY_NAME = {editor.name: editor for editor in EDITORS}


def entered(editor: Editor, home: Path, before: str | None = None) -> str:
    path = editor.settings_file(home)
    if before is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(before, encoding="utf-8")
    enter(planned_entry(editor, home, COMMAND))
    return editor.settings_file(home).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "keys"), [("zed", "agent_servers"), ("jetbrains", "agent_servers"), ("vscode", "acp.agents")]
)
def test_editors_with_json_settings_get_the_documented_entry(name: str, keys: str, tmp_path: Path) -> None:
    entries = json.loads(entered(BY_NAME[name], tmp_path))[keys]
    # The extension for VS Code has one of its own that does not work: ours has its name, and so takes its place.
    (entry,) = entries.values()
    assert [*entries] == ["Hermes Agent" if name == "vscode" else "Hermes"]
    assert (entry["command"], entry["args"], entry["env"]) == (COMMAND[0], [COMMAND[1]], {})
    assert entry.get("type") == ("custom" if name == "zed" else None)


def test_what_was_there_is_kept_beside_and_never_written_over(tmp_path: Path) -> None:
    zed = BY_NAME["zed"]
    changed = entered(zed, tmp_path, '{ "theme": "x" } // mine\n')
    assert "// mine" in changed
    path = zed.settings_file(tmp_path)
    assert path.with_name("settings.json.before-hermes").read_text() == '{ "theme": "x" } // mine\n'
    path.write_text('{"theme": "y"}')
    backup = enter(planned_entry(zed, tmp_path, COMMAND))
    assert backup is not None
    assert (backup.name, backup.read_text()) == ("settings.json.before-hermes1", '{"theme": "y"}')


def test_what_somebody_added_to_the_entry_is_theirs(tmp_path: Path) -> None:
    mine = {"command": "old", "args": ["--old"], "env": {"TOKEN": "x"}, "default_mode": "plan"}
    changed = loads(entered(BY_NAME["zed"], tmp_path, json.dumps({"agent_servers": {"Hermes": mine}})))
    assert changed["agent_servers"]["Hermes"] == {
        **mine,
        "type": "custom",
        "command": COMMAND[0],
        "args": [COMMAND[1]],
    }


def test_an_entry_with_comments_is_left_and_told(tmp_path: Path) -> None:
    before = '{"agent_servers": {"Hermes": {\n  // mine\n  "env": {"A": "b"}, // for work\n  "command": "old"\n}}}\n'
    with pytest.raises(NotEntered, match="by hand"):
        entered(BY_NAME["zed"], tmp_path, before)
    assert BY_NAME["zed"].settings_file(tmp_path).read_text() == before


def test_a_pipe_in_the_settings_place_is_not_waited_for(tmp_path: Path) -> None:
    path = BY_NAME["zed"].settings_file(tmp_path)
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(NotEntered, match="It is a pipe"):
        planned_entry(BY_NAME["zed"], tmp_path, COMMAND)


def test_a_folder_of_settings_that_the_person_has_named_is_the_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "named"))
    assert BY_NAME["neovim"].settings_file(tmp_path) == tmp_path / "named/nvim/after/plugin/hermes_acp.lua"
    assert BY_NAME["emacs"].settings_file(tmp_path) == tmp_path / ".emacs.d/init.el"
    assert BY_NAME["neovim"].settings_file(tmp_path / "another").is_relative_to(tmp_path / "another")


def test_an_earlier_backup_with_the_same_content_is_enough(tmp_path: Path) -> None:
    zed, text = BY_NAME["zed"], '{"theme": "x"}'
    for _ in range(3):
        entered(zed, tmp_path, text)
    folder = zed.settings_file(tmp_path).parent
    assert sorted(path.name for path in folder.iterdir()) == ["settings.json", "settings.json.before-hermes"]


@pytest.mark.parametrize(
    "prefix",
    [
        "/home/me/.cache/uv/archive-v0/hOzIgrDb9ZxkVFs1",
        "/home/me/.cache/uv/environments-v2/x-1",
        "/home/me/.cache/pipx/ab12",
        "/home/me/.local/share/pipx/.cache/ab12",
    ],
)
def test_a_program_that_was_made_for_the_moment_is_entered_nowhere(
    prefix: str, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    assert main(["--non-interactive", "--editor", "zed"]) == 1
    assert "Install it to stay" in capsys.readouterr().err
    assert not BY_NAME["zed"].settings_file(Path.home()).exists()


def test_installations_that_stay_are_known() -> None:
    places = (sys.prefix, "/home/me/.local/share/uv/tools/hermes-editor-agent", "/home/me/.local/pipx/venvs/x")
    assert not any(is_passing(Path(place)) for place in places)


def test_entering_twice_changes_nothing(tmp_path: Path) -> None:
    for editor in EDITORS:
        entered(editor, tmp_path)
        assert planned_entry(editor, tmp_path, COMMAND).is_done


def test_settings_that_cannot_be_read_stay_and_the_entry_is_told(tmp_path: Path) -> None:
    path = BY_NAME["zed"].settings_file(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text('{"theme": ')
    with pytest.raises(NotEntered, match="by hand") as refused:
        planned_entry(BY_NAME["zed"], tmp_path, COMMAND)
    assert COMMAND[0] in refused.value.public
    assert path.read_text() == '{"theme": '


def test_settings_that_changed_meanwhile_are_left(tmp_path: Path) -> None:
    zed = BY_NAME["zed"]
    entered(zed, tmp_path, "{}")
    path = zed.settings_file(tmp_path)
    path.write_text('{"a": 1}')
    planned = planned_entry(zed, tmp_path, COMMAND)
    path.write_text('{"a": 2}')
    with pytest.raises(NotEntered, match="meanwhile"):
        enter(planned)
    assert path.read_text() == '{"a": 2}'


def test_a_link_to_the_settings_stays_one(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "zed.json"
    real.parent.mkdir()
    real.write_text("{}")
    link = BY_NAME["zed"].settings_file(tmp_path)
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    enter(planned_entry(BY_NAME["zed"], tmp_path, COMMAND))
    assert link.is_symlink()
    assert "Hermes" in real.read_text()


def test_a_link_to_settings_that_are_not_there_yet_stays_one(tmp_path: Path) -> None:
    link = BY_NAME["zed"].settings_file(tmp_path)
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "dotfiles" / "zed.json")
    assert enter(planned_entry(BY_NAME["zed"], tmp_path, COMMAND)) is None
    assert link.is_symlink()
    assert "Hermes" in (tmp_path / "dotfiles" / "zed.json").read_text()


def test_settings_that_are_read_only_are_left_and_the_page_with_the_entry_is_told(tmp_path: Path) -> None:
    path = BY_NAME["zed"].settings_file(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    path.chmod(0o444)
    with pytest.raises(NotEntered, match=r"read-only.*docs/editors/zed.md"):
        enter(planned_entry(BY_NAME["zed"], tmp_path, COMMAND))
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]
    assert path.read_text() == "{}"


@each("text", ['{"agent_servers": [1]}', '{"agent_servers": null}', "null", "[]", '"text"'])
def test_settings_of_an_unknown_shape_are_left_and_the_entry_is_told(tmp_path: Path, text: str) -> None:
    path = BY_NAME["zed"].settings_file(tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    with pytest.raises(NotEntered, match="by hand"):
        planned_entry(BY_NAME["zed"], tmp_path, COMMAND)
    assert path.read_text() == text


_LUA = """\
package.preload["codecompanion.config"] = function() return {{ adapters = {{ acp = {{}} }} }} end
package.preload["codecompanion.adapters"] = function() return {{ extend = function(of, with)
  return {{ of, with }} end }} end
dofile({file})
local made = require("codecompanion.config").adapters.acp.hermes()
io.stdout:write(made[1], " ", made[2].name, " ", table.concat(made[2].commands.default, " "))
"""


@pytest.mark.skipif(shutil.which("nvim") is None, reason="there is no Neovim: apt-get install neovim")
def test_neovim_reads_the_block(tmp_path: Path) -> None:
    entered(BY_NAME["neovim"], tmp_path)
    script = tmp_path / "look.lua"
    script.write_text(_LUA.format(file=json.dumps(str(BY_NAME["neovim"].settings_file(tmp_path)))))
    ran = subprocess.run(
        ["nvim", "--headless", "-u", "NONE", "-c", f"luafile {script}", "-c", "quit"],
        check=True, capture_output=True, text=True, timeout=60, env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    assert ran.stdout == f"opencode hermes {' '.join(COMMAND)}"


def test_start_up_files_keep_their_lines_and_get_one_block(tmp_path: Path) -> None:
    emacs = BY_NAME["emacs"]
    first = entered(emacs, tmp_path, "(setq mine 1)")
    again = emacs.entered(first.replace("/srv/bin/", "/old/bin/"), COMMAND)
    assert first == again
    assert first.startswith("(setq mine 1)\n\n;; hermes-acp: begin")


def test_a_block_has_the_line_ends_of_its_file(tmp_path: Path) -> None:
    (tmp_path / ".emacs").write_bytes(b"(setq a 1)\r\n")
    entered(BY_NAME["emacs"], tmp_path)
    after = (tmp_path / ".emacs").read_bytes()
    assert after.count(b"\n") == after.count(b"\r\n") > 3
    assert planned_entry(BY_NAME["emacs"], tmp_path, COMMAND).is_done


@pytest.mark.skipif(shutil.which("emacs") is None, reason="there is no Emacs: apt-get install emacs-nox")
def test_emacs_reads_the_block(tmp_path: Path) -> None:
    entered(BY_NAME["emacs"], tmp_path)
    path = BY_NAME["emacs"].settings_file(tmp_path)
    words = '(progn (provide (quote agent-shell)) (princ (format "%S" agent-shell-hermes-acp-command)))'
    ran = subprocess.run(
        ["emacs", "-Q", "--batch", "-l", str(path), "--eval", words],
        check=True, capture_output=True, text=True, timeout=60, env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    assert ran.stdout == f'("{COMMAND[0]}" "{COMMAND[1]}")'


def test_the_command_is_a_full_path_that_there_is() -> None:
    program, *arguments = own_command("work", os.environ)
    assert Path(program).is_absolute()
    assert Path(program).exists()
    assert arguments[-1] == "--profile=work"


def test_setup_enters_the_editors_that_are_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--non-interactive", "--editor", "zed", "--editor", "jetbrains"]) == 0
    user = Path.home()
    said = capsys.readouterr().out
    assert said.count("Written: ") == 2
    assert f"Next, in Zed: {BY_NAME['zed'].next_step}" in said
    assert f"Next, in JetBrains: {BY_NAME['jetbrains'].next_step}" in said
    assert (user / ".jetbrains" / "acp.json").exists()
    assert list(home.iterdir()) == [], "the agent's own settings are left alone"


def test_setup_shows_the_change_and_a_no_changes_nothing(home: Path) -> None:
    settings = BY_NAME["zed"].settings_file(Path.home())
    settings.parent.mkdir(parents=True)
    settings.write_text('{\n  "theme": "x"\n}\n')
    command = [sys.executable, "-P", "-m", "acp_adapter", "setup", "--editor", "zed"]
    for answer, expected in (("n", False), ("y", True)):
        with Terminal(command, {**os.environ, "TERM": "dumb"}) as terminal:
            terminal.read_until("Add the agent to this file? [y/N]: ")
            assert '+  "agent_servers": {' in terminal.text
            terminal.type(f"{answer}\n")
            assert terminal.end() == 0
            assert ("hermes-acp setup --editor zed" in terminal.text) is not expected, "how to do it later"
        assert ("Hermes" in settings.read_text()) is expected
