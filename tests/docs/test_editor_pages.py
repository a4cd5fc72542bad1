"""What an editor's page says to put into its settings is what `hermes-acp setup --editor` puts there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import types
from typing import Any

import pytest

from acp_adapter.cli.editors import EDITORS, Editor, loads
from tests.support.doc_blocks import DOCS, blocks
from tests.support.each import each

_COMMAND = ("hermes-acp",)
_LUA = [block for block in blocks("editors/neovim.md") if block.language == "lua"]
_ELISP = [block.code for block in blocks("editors/emacs.md") if block.language == "elisp"]


def _page(editor: Editor) -> str:
    return editor.docs.removeprefix("docs/")


@each("editor", EDITORS)
def test_a_page_s_first_block_is_what_setup_writes(editor: Editor) -> None:
    first = blocks(_page(editor))[0]
    assert first.code == editor.entered("", _COMMAND).rstrip("\n") + "\n" or (
        first.language == "json" and loads(first.code) == loads(editor.entered("", _COMMAND))
    )


@each("editor", EDITORS)
def test_a_page_names_the_command_and_the_file_that_it_writes(editor: Editor) -> None:
    text = " ".join((DOCS / _page(editor)).read_text(encoding="utf-8").split())
    assert f"`hermes-acp setup --editor {editor.name}`" in text
    assert editor.new in text or editor.new.rpartition("/")[2] in text


@each("editor", [editor for editor in EDITORS if editor.key])
def test_every_block_of_settings_fits_beside_what_setup_writes(editor: Editor) -> None:
    for block in blocks(_page(editor))[1:]:
        if block.language != "json" or not block.code.lstrip().startswith("{"):
            continue
        together = editor.entered(block.code, _COMMAND)
        assert loads(together) == {**loads(block.code), **loads(editor.entered("", _COMMAND))}


def test_the_readme_has_zed_s_settings() -> None:
    [shown] = [block.code for block in blocks("../README.md") if block.language == "json"]
    [zed] = [editor for editor in EDITORS if editor.name == "zed"]
    assert loads(shown) == loads(zed.entered("", _COMMAND))


def test_the_lua_of_the_page_gives_each_plugin_the_command() -> None:
    lupa = pytest.importorskip("lupa", reason="there is no Lua to run it with (the extra dev)")
    commands = [_told(lupa, block.code) for block in _LUA]
    assert commands == [["hermes-acp"]] * 4


def _told(lupa: Any, code: str) -> list[str]:
    """Run a block with stand-ins for the plugins: the command that one of them was given."""
    lua = lupa.LuaRuntime(unpack_returned_tuples=True)
    lua.execute(_PLUGINS)
    lua.execute(code)
    return [str(word) for word in lua.globals().told().values()]


_PLUGINS = """
config, given = { adapters = { acp = {} } }, nil
local plugins = {
  ["codecompanion.config"] = config,
  ["codecompanion.adapters"] = { extend = function(_, changes) return changes end },
}
function require(name)
  return plugins[name] or { setup = function(options) given = options end }
end
function told()
  local options = given or config
  if options.adapters then return options.adapters.acp.hermes().commands.default end
  local command = options.acp_providers[options.provider].command
  return type(command) == "table" and command or { command }
end
"""


def test_the_page_on_avante_has_it_ask_which_it_does_not_by_itself() -> None:
    lupa = pytest.importorskip("lupa", reason="there is no Lua to run it with (the extra dev)")
    [avante] = [block.code for block in _LUA if 'require("avante")' in block.code]
    lua = lupa.LuaRuntime(unpack_returned_tuples=True)
    lua.execute(_PLUGINS)
    lua.execute(avante)
    assert lua.globals().given.behaviour.auto_approve_tool_permissions is False


def test_the_persona_of_the_page_on_jupyterlab_starts_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    class Persona:
        def __init__(self, *, executable: list[str]) -> None:
            self.executable = executable

    client, base, manager = (types.ModuleType(name) for name in ("client", "base", "manager"))
    client.__file__ = "/jupyter/client/__init__.py"
    base.BaseAcpPersona = Persona  # type: ignore[attr-defined]
    manager.PersonaDefaults = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jupyter_ai_acp_client", client)
    monkeypatch.setitem(sys.modules, "jupyter_ai_acp_client.base_acp_persona", base)
    monkeypatch.setitem(sys.modules, "jupyter_ai_persona_manager", manager)
    [block] = [block.code for block in blocks("editors/jupyterlab.md") if block.language == "python"]
    written: dict[str, Any] = {}
    exec(block, written)
    persona = written["HermesPersona"]()
    assert persona.executable == ["hermes-acp"]
    assert persona.defaults["name"] == "Hermes"


def test_the_lisp_of_the_page_can_be_read_and_gives_agent_shell_the_command() -> None:
    emacs = shutil.which("emacs")
    if emacs is None:
        pytest.skip("Emacs is not installed: apt-get install emacs-nox")
    forms = json.dumps(_ELISP, ensure_ascii=False)
    done = subprocess.run(
        [emacs, "-Q", "--batch", "--eval", _READ, "--eval", _TRIED],
        input=forms,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={"HOME": "/nonexistent", "PATH": "/usr/bin:/bin", "BLOCKS": forms},
    )
    assert (done.returncode, done.stdout.strip()) == (0, '("hermes-acp")'), done.stderr


_READ = """
(dolist (text (append (json-parse-string (getenv "BLOCKS")) nil))
  (with-temp-buffer
    (insert text)
    (goto-char (point-min))
    (condition-case nil (while t (read (current-buffer))) (end-of-file nil))
    (check-parens)))
"""
_TRIED = """
(progn
  (with-temp-buffer (insert (aref (json-parse-string (getenv "BLOCKS")) 0)) (eval-buffer))
  (provide 'agent-shell)
  (prin1 agent-shell-hermes-acp-command))
"""
