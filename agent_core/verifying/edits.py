"""What a turn has edited since a check last passed, and how the last check came out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path

from agent_core.messages import Content, ToolCall, parse_arguments, text_of
from agent_core.verifying.commands import is_check, only_brings
from tools.light_dataclass import dataclass
from tools.result import ChangedFile, ShownDiff, ToolResult

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
_LOOKS = frozenset({"poll", "log", "wait"})
_MOST_NAMES = 5
_LONGEST_COMMAND = 120

_NOT_WANTED = re.compile(
    r"\b(?:do\s*n[o'’]?t|don['’]?t|never|without|no need to|not necessary to|skip(?:ping)?|avoid)\b[^.!?;\n]{0,40}?"
    r"\b(?:run|running|tests?|testing|execut\w+|commands?|build\w*|verif\w+|check\w*|lint\w*)\b"
    r"|\bno (?:tests?|commands?|checks?|verification)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that failed; `how` says by what that is seen: an exit code, a line of its output."""

    command: str
    how: str


@dataclass(slots=True)
class UncheckedEdits:
    """Watches the calls of one turn. Not safe for several threads: the loop of the turn uses it.

    Attributes:
        has_any: whether the turn has changed code at all.
        failed: the last check, where it failed.
    """

    has_any: bool = False
    failed: FailedCheck | None = None
    _files: dict[Path, None] = field(default_factory=dict)
    _made: set[Path] = field(default_factory=set)
    _checking: set[str] = field(default_factory=set)

    def see(self, call: ToolCall, result: ToolResult) -> None:
        """Take down what a call edited or checked; in the order of the answer's calls."""
        name = call["function"]["name"]
        if name in _EDITING:
            if not result.failed:
                self._edit(_edited(result))
        elif name in _RUNS_COMMANDS and "exit_code" in result.facts:
            self._ran(name, result)
        elif name == "process" and _looks(call) and result.facts.get("process") in self._checking:
            self._checked(result)

    def _ran(self, name: str, result: ToolResult) -> None:
        command = str(result.facts.get("command", ""))
        code = [file for file in result.changed if is_code(file.path)]
        if name == "execute_code":
            self._ran_program(code, result)
            return
        if not only_brings(command):
            self._edit(code)
        if not is_check(command, edited=bool(code)):
            return
        process = result.facts.get("process")
        if process is not None and result.facts["exit_code"] is None:
            self._checking.add(str(process))
            return
        self._checked(result)

    def _ran_program(self, code: Iterable[ChangedFile], result: ToolResult) -> None:
        calls = result.facts.get("calls") or ()
        # The calls of a program were seen one by one; among them may be a check of what it has changed itself.
        if "terminal" not in calls:
            self._edit(code)
        if not calls and not code and result.facts["exit_code"] == 0:
            self._settle()

    def _checked(self, result: ToolResult) -> None:
        """A check has ended, or runs on, which shows something, too."""
        from agent_core.verifying.outcomes import outcome_of  # noqa: PLC0415 - not before the first check

        outcome = outcome_of(result)
        if outcome.passed:
            self._settle()
        elif outcome.failure:
            self._files.clear()
            command = " ".join(str(result.facts.get("command", "")).split())
            self.failed = FailedCheck(
                command if len(command) <= _LONGEST_COMMAND else f"{command[:_LONGEST_COMMAND]}…", outcome.failure
            )

    def _settle(self) -> None:
        self._files.clear()
        self.failed = None

    def _edit(self, files: Iterable[ChangedFile]) -> None:
        for file in files:
            if not is_code(file.path):
                continue
            self.has_any = True
            if not file.was_there:
                self._made.add(file.path)
            if not file.is_there and file.path in self._made:
                # What came and went with the turn has nothing to check.
                self._files.pop(file.path, None)
            else:
                self._files[file.path] = None

    @property
    def unchecked(self) -> str:
        """The names of the files that were edited since the last check, the first of many; '' for none."""
        names = [path.name for path in self._files]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return f"{', '.join(names[:_MOST_NAMES])}{more}"


def is_code(path: Path) -> bool:
    """Whether a change of the file could break something that a check would find: prose and data do not count."""
    return path.suffix.lower().removeprefix(".") in _CODE or path.name.lower() in _CODE_NAMES


def forbids_checks(content: Content) -> bool:
    """Whether the person's words ask not to run anything. Unsure means that they do."""
    return _NOT_WANTED.search(text_of(content)) is not None


def _looks(call: ToolCall) -> bool:
    try:
        return parse_arguments(call["function"]["arguments"]).get("action") in _LOOKS
    except ValueError:
        return False


def _edited(result: ToolResult) -> list[ChangedFile]:
    """The files whose text is another now."""
    return [
        ChangedFile(shown.path, shown.before is not None, shown.after is not None)
        for shown in result.shown
        if isinstance(shown, ShownDiff) and shown.after != shown.before
    ]
