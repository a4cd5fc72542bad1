"""What a turn has edited since it last checked anything, and when the model is told so."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.messages import Content, ToolCall, text_of
from agent_core.verifying.commands import is_check
from tools.result import ShownDiff, ToolResult

_CODE = frozenset({
    "py", "pyi", "pyx", "ipynb", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte", "go",
    "rs", "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "m", "mm", "cu", "cs", "java", "kt", "kts", "scala",
    "groovy", "rb", "php", "pl", "pm", "swift", "dart", "ex", "exs", "erl", "hrl", "hs", "ml", "mli", "clj",
    "cljs", "lua", "r", "jl", "zig", "nim", "sh", "bash", "zsh", "fish", "ps1", "sql", "sol", "vb", "fs", "fsx",
    "gradle", "cmake", "proto", "tf",
})  # fmt: skip
_CODE_NAMES = frozenset({"makefile", "dockerfile", "cmakelists.txt", "rakefile", "justfile", "build", "meson.build"})
_EDITING = frozenset({"write_file", "patch"})
_RUNS_COMMANDS = frozenset({"terminal", "execute_code"})
_MOST_NAMES = 5
_ENOUGH_LEFT = 3
"""Requests that a nudge needs: the check, what it shows, the last word."""

_NOT_WANTED = re.compile(
    r"\b(?:do\s*n[o'’]?t|don['’]?t|never|without|no need to|not necessary to|skip(?:ping)?|avoid)\b[^.!?;\n]{0,40}?"
    r"\b(?:run|running|tests?|testing|execut\w+|commands?|build\w*|verif\w+|check\w*|lint\w*)\b"
    r"|\bno (?:tests?|commands?|checks?|verification)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class UncheckedEdits:
    """Watches the calls of one turn. Not safe for several threads: the loop of the turn uses it.

    Attributes:
        wanted: whether the model is to be told at all.
        told: whether it was told in this turn.
    """

    wanted: bool = True
    told: bool = False
    _files: dict[Path, None] = field(default_factory=dict)

    def see(self, call: ToolCall, result: ToolResult) -> None:
        """Take down what a call edited or checked; in the order of the answer's calls."""
        name = call["function"]["name"]
        if name in _RUNS_COMMANDS:
            command = result.facts.get("command", "")
            # A check that failed was a check: what it found is the model's to deal with.
            if "exit_code" in result.facts and (
                name != "terminal" or (isinstance(command, str) and is_check(command))
            ):
                self._files.clear()
        elif name in _EDITING and not result.failed:
            self._files.update(dict.fromkeys(path for path in _edited(result) if is_code(path)))

    def owed(self, left: int) -> bool:
        """Whether the model is to be told now; `left` is how many requests the turn has."""
        return self.wanted and not self.told and bool(self._files) and left >= _ENOUGH_LEFT

    def nudge(self) -> str:
        """What the model is told; it counts as told from now on."""
        self.told = True
        names = [path.name for path in self._files]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return (
            f"[Not from the user. You changed code in this turn ({', '.join(names[:_MOST_NAMES])}{more}) and have "
            "run nothing since that shows whether it works. Run the narrowest check that covers it (its tests, a "
            "type check, a build, or the code itself) and mend what it shows. If no check is possible or needed, say "
            "in one sentence why. Do not repeat what you have said already.]"
        )


def is_code(path: Path) -> bool:
    """Whether a change of the file could break something that a check would find: prose and data do not count."""
    return path.suffix.lower().removeprefix(".") in _CODE or path.name.lower() in _CODE_NAMES


def forbids_checks(content: Content) -> bool:
    """Whether the person's words ask not to run anything. Unsure means that they do."""
    return _NOT_WANTED.search(text_of(content)) is not None


def _edited(result: ToolResult) -> list[Path]:
    """The files whose text is another now; what was deleted or left as it was has nothing to check."""
    return [
        shown.path
        for shown in result.shown
        if isinstance(shown, ShownDiff) and shown.after is not None and shown.after != shown.before
    ]
