"""Which language server is for which file, and where its program is."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from tools.environments.program_finder import PROGRAMS
from tools.light_dataclass import dataclass

Command = tuple[str, ...]

# Language → servers, the first that is installed is used. Those that know types go before those that only look at
# names.
_SERVERS: Mapping[str, Sequence[Command]] = {
    "python": (
        ("basedpyright-langserver", "--stdio"),
        ("pyright-langserver", "--stdio"),
        ("pylsp",),
        ("ruff", "server"),
        ("jedi-language-server",),
    ),
    "go": (("gopls",),),
    "rust": (("rust-analyzer",),),
    "typescript": (("typescript-language-server", "--stdio"),),
    "c": (("clangd",),),
}
# Suffix → language of the table above, language id of the protocol.
_SUFFIXES: Mapping[str, tuple[str, str]] = {
    ".py": ("python", "python"),
    ".pyi": ("python", "python"),
    ".go": ("go", "go"),
    ".rs": ("rust", "rust"),
    ".ts": ("typescript", "typescript"),
    ".mts": ("typescript", "typescript"),
    ".cts": ("typescript", "typescript"),
    ".tsx": ("typescript", "typescriptreact"),
    ".js": ("typescript", "javascript"),
    ".mjs": ("typescript", "javascript"),
    ".cjs": ("typescript", "javascript"),
    ".jsx": ("typescript", "javascriptreact"),
    ".c": ("c", "c"),
    ".h": ("c", "c"),
    ".cc": ("c", "cpp"),
    ".cpp": ("c", "cpp"),
    ".cxx": ("c", "cpp"),
    ".hpp": ("c", "cpp"),
}
LANGUAGES = tuple(_SERVERS)
"""The languages that have a name in the settings."""

_BIN = "Scripts" if os.name == "nt" else "bin"
_ENVIRONMENTS = (".venv", "venv")


@dataclass(frozen=True, slots=True)
class Language:
    """A language with its server; `suffix_id` is what the protocol calls the language of one file."""

    name: str
    suffix_id: str


@dataclass(frozen=True, slots=True)
class Places:
    """Where programs are looked for: the variables' PATH, beside our own, and in the workspace's environments.

    Attributes:
        roots: the session's directories.
        variables: of this process.
    """

    roots: tuple[Path, ...]
    variables: Mapping[str, str]
    own: Path = field(default_factory=lambda: Path(sys.executable).parent)

    def environment(self) -> Path | None:
        """The Python environment of the workspace, where it has one."""
        found = (root / name for root in self.roots for name in _ENVIRONMENTS)
        return next((path for path in found if (path / "pyvenv.cfg").is_file()), None)

    def path(self) -> str:
        """The PATH of a server: the workspace's own programs first, so that it asks the right interpreter."""
        return os.pathsep.join([*self._of_workspace(), self._inherited()])

    def program(self, name: str, *, is_named: bool = False) -> str | None:
        """The absolute path of a program, None where it is not installed.

        Args:
            is_named: the user's settings name it; then the workspace's own counts too, last.
        """
        own = self.own / name
        found = PROGRAMS.find(name, self._inherited()) or (str(own) if os.access(own, os.X_OK) else None)
        if found is None and is_named:  # anyone may have written what a workspace brings
            brought = (f"{folder}/{name}" for folder in self._of_workspace())
            found = next((program for program in brought if os.access(program, os.X_OK)), None)
        return found

    def _inherited(self) -> str:
        return self.variables.get("PATH", os.defpath)

    def _of_workspace(self) -> list[str]:
        environment = self.environment()
        own = [] if environment is None else [environment / _BIN]
        nodes = (root / "node_modules" / ".bin" for root in self.roots)
        return [str(path) for path in (*own, *nodes) if path.is_dir()]


def language_of(path: Path, configured: Mapping[str, Command]) -> Language | None:
    """The language of a file, None where it has no server.

    Args:
        configured: the user's servers, by language («python») or by suffix («.vue»).
    """
    suffix = path.suffix.lower()
    if suffix in configured:
        return Language(suffix, suffix.lstrip("."))
    if (known := _SUFFIXES.get(suffix)) is not None:
        return Language(*known)
    return None


def command_of(language: Language, configured: Mapping[str, Command], places: Places) -> Command | None:
    """The command of the language's server with the absolute path of its program; None where none is installed.

    A server that the user has configured is the only choice; an empty command means none.
    """
    own = configured.get(language.name)
    choices = _SERVERS.get(language.name, ()) if own is None else (own,)
    for command in choices:
        if not command:
            continue
        program = places.program(os.path.expanduser(command[0]), is_named=own is not None)  # noqa: PTH111 - text
        if program is not None:
            return (program, *command[1:])
    return None
