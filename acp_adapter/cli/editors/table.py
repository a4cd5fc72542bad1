"""The editors that can be told of the agent: where their settings are, and what goes into them."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acp_adapter.cli.editors.blocks import with_block
from acp_adapter.cli.editors.jsonc import member, with_member

NAME = "Hermes"
_CONFIG = ".config/"
_UV_CACHE = re.compile(r"(?:archive|environments|builds)-v\d+")


@dataclass(frozen=True, slots=True)
class Editor:
    """One editor.

    Attributes:
        name: as the command line has it.
        title: as people know it.
        files: where its settings may be, below the home directory; the first that is there counts.
        new: the one that is made where none is there.
        keys: the place in its JSON; empty where the file is a program.
        docs: the page that tells more.
        entry: what the agent is called there.
    """

    name: str
    title: str
    files: tuple[str, ...]
    new: str
    keys: tuple[str, ...] = ()
    docs: str = ""
    entry: str = NAME

    def settings_file(self, home: Path) -> Path:
        """The file to change; it need not be there yet."""
        paths = [self._placed(home, file) for file in self.files]
        return next((path for path in paths if _is_there(path)), self._placed(home, self.new))

    def _placed(self, home: Path, file: str) -> Path:
        """Where a file of the table is: XDG_CONFIG_HOME counts for who it is set for, and not for Zed on macOS."""
        folder = os.environ.get("XDG_CONFIG_HOME", "")
        if not file.startswith(_CONFIG) or not folder.startswith("/") or home != Path.home():
            return home / file
        return home / file if _MAC and self.name == "zed" else Path(folder) / file.removeprefix(_CONFIG)

    def is_here(self, home: Path) -> bool:
        """Whether there are signs of the editor: its settings, a directory for them, or its program."""
        file = self.settings_file(home)
        has_folder = file.parent != home and _is_there(file.parent) and os.path.isdir(file.parent)  # noqa: PTH112
        return _is_there(file) or has_folder or shutil.which(_PROGRAMS[self.name]) is not None

    def entered(self, text: str, command: Sequence[str]) -> str:
        """Its settings with the agent in them.

        Raises:
            JsoncError: they cannot be read.
        """
        program, *arguments = command
        if self.keys:
            place = (*self.keys, self.entry)
            kind = {"type": "custom"} if self.name == "zed" else {}
            ours = {**kind, "command": program, "args": arguments}
            if not isinstance(member(text, place), dict):
                return with_member(text, place, {**ours, "env": {}})
            # What somebody has added to the entry, variables and comments say, is theirs.
            for key, value in ours.items():
                text = with_member(text, (*place, key), value)
            return text
        if self.name == "emacs":
            return with_block(text, ";;", _emacs(command))
        return with_block(text, "--", _neovim(command))


def own_command(profile: str | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """How an editor starts this program: by its full path, since editors do not read a shell's start-up files."""
    found = shutil.which("hermes-acp", path=environ.get("PATH"))
    beside = Path(sys.executable).with_name("hermes-acp.exe" if _WINDOWS else "hermes-acp")
    program = (
        (str(beside),) if beside.exists() else (found,) if found else (sys.executable, "-P", "-m", "acp_adapter")
    )
    return (*program, *((f"--profile={profile}",) if profile else ()))


def is_passing(prefix: Path) -> bool:
    """Whether `uvx` or `pipx run` made an installation for the moment: their caches are emptied now and then."""
    folder = prefix.parent
    in_pipx = {folder.name, folder.parent.name} == {".cache", "pipx"}
    return in_pipx or _UV_CACHE.fullmatch(folder.name) is not None


def _is_there(path: Path) -> bool:
    """Whether there is something, also where we may not look."""
    try:
        path.stat()  # `exists` says no, from Python 3.14 on, where nobody may look
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _emacs(command: Sequence[str]) -> str:
    words = " ".join(_lisp(word) for word in command)
    return f"(with-eval-after-load 'agent-shell\n  (setq agent-shell-hermes-acp-command '({words})))"


def _neovim(command: Sequence[str]) -> str:
    words = ", ".join(_lisp(word) for word in command)
    return f"""\
local found, config = pcall(require, "codecompanion.config")
if found and config.adapters and config.adapters.acp then
  config.adapters.acp.hermes = function()
    return require("codecompanion.adapters").extend("opencode", {{
      name = "hermes",
      formatted_name = "Hermes",
      commands = {{ default = {{ {words} }} }},
    }})
  end
end"""


def _lisp(word: str) -> str:
    """As a text of Lisp's and of Lua's: they quote alike."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_CODE = ("Code/User/settings.json", "VSCodium/User/settings.json", "Code - Insiders/User/settings.json")
_MAC = sys.platform == "darwin"
_WINDOWS = sys.platform == "win32"
_SETTINGS = "Library/Application Support" if _MAC else "AppData/Roaming" if _WINDOWS else ".config"
_PROGRAMS = {"zed": "zed", "jetbrains": "idea", "vscode": "code", "neovim": "nvim", "emacs": "emacs"}

_ZED = ".config/zed/settings.json"
_NVIM = "AppData/Local/nvim" if _WINDOWS else ".config/nvim"
_VIM_FILE = f"{_NVIM}/after/plugin/hermes_acp.lua"

EDITORS = (
    Editor(
        "zed",
        "Zed",
        (_ZED, ".var/app/dev.zed.Zed/config/zed/settings.json", "AppData/Roaming/Zed/settings.json"),
        "AppData/Roaming/Zed/settings.json" if _WINDOWS else _ZED,
        ("agent_servers",),
        "docs/editors/zed.md",
    ),
    Editor(
        "jetbrains",
        "JetBrains",
        (".jetbrains/acp.json",),
        ".jetbrains/acp.json",
        ("agent_servers",),
        "docs/editors/jetbrains.md",
    ),
    Editor(
        "vscode",
        "VS Code (ACP Client)",
        tuple(f"{_SETTINGS}/{file}" for file in _CODE),
        f"{_SETTINGS}/{_CODE[0]}",
        ("acp.agents",),
        "docs/editors/vscode.md",
        # The extension lists one of that name by itself, which starts another program: ours takes its place.
        "Hermes Agent",
    ),
    Editor("neovim", "Neovim (CodeCompanion)", (_VIM_FILE,), _VIM_FILE, docs="docs/editors/neovim.md"),
    Editor(
        "emacs",
        "Emacs (agent-shell)",
        (".emacs", ".emacs.el", ".emacs.d/init.el", ".config/emacs/init.el"),
        ".emacs.d/init.el",
        docs="docs/editors/emacs.md",
    ),
)
"""All of them, in the order in which they are offered."""
