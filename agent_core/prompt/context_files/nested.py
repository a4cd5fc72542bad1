"""Rules of sub-folders: told with the result of the first call that works in there.

What was told is found again in the conversation itself: so it is told again once a compression, or the person, has
taken that result away, and a later process knows as much as this one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_core.messages import Message, ToolCall, parse_arguments, text_of
from agent_core.prompt.context_files.loading import RulesLoader
from agent_core.prompt.context_files.names import chain
from agent_core.prompt.context_files.reading import Region
from agent_core.prompt.context_files.settings import ContextFileSettings
from agent_core.prompt.context_files.telling import left_out_line, told_of_work, work_mark
from tools.light_dataclass import dataclass
from tools.os_compat import absolute
from tools.patching.v4a import paths_of
from tools.result import ToolResult

MOST_CHARS = 8_000
_FILE_TOOLS = frozenset({"read_file", "write_file", "patch", "search_files"})


@dataclass(frozen=True, slots=True)
class NestedRules:
    """The rules of folders below a session's directories; without state, safe to use from several threads.

    Attributes:
        roots: the session's directories, `cwd` first.
    """

    cwd: Path
    roots: tuple[Path, ...]
    region: Region
    settings: ContextFileSettings

    def added(
        self,
        call: ToolCall,
        result: ToolResult,
        shown: Callable[[], Sequence[Message]],
        tell: Callable[[str], None],
    ) -> ToolResult:
        """The result with the rules of the folders that the call worked in, where the model does not have them yet.

        Args:
            shown: the conversation as the model sees it; asked only where there are rules.
            tell: is told what the person should know.
        """
        if not self.settings.enabled or result.failed:
            return result
        parts: list[str] = []
        known = _Known(shown)
        loader = RulesLoader(self.cwd, self.region, self.settings.names, MOST_CHARS, MOST_CHARS, known)
        for path in dict.fromkeys(self._worked_in(call, result)):
            parts += self._of(path, loader)
        for note in loader.left_out:
            if not known.says(line := left_out_line(note)):
                parts.append(line)
                tell(note.for_person)
        return replace(result, text="\n\n".join([result.text, *parts])) if parts else result

    def _of(self, path: Path, loader: RulesLoader) -> Iterator[str]:
        root = max((root for root in self.roots if path.is_relative_to(root)), key=_depth, default=None)
        if root is None:
            return
        is_folder = os.path.isdir(path)  # noqa: PTH112 - never raises
        for folder in chain(root, path if is_folder else path.parent):
            files = [] if folder == root else loader.of_directory(folder)
            told = [(file, f"in {loader.label(folder)}/") for file in files]
            if not is_folder:
                told += ((file, f"on files like {loader.label(path)}") for file in loader.for_file(folder, path))
            for file, work in told:
                if file.path != Path(os.path.realpath(path)):  # the model has just seen it
                    yield told_of_work(file, work)

    def _worked_in(self, call: ToolCall, result: ToolResult) -> Iterator[Path]:
        """Which files and directories a call was about; the names are those of the session's directories."""
        name = call["function"]["name"]
        arguments = _arguments(call)
        if name == "patch":
            written: list[Any] = list(paths_of(arguments))
        elif name in _FILE_TOOLS:
            written = [result.facts.get("path")]
        elif name == "execute_code":
            written = list(result.facts.get("worked_in", ()))
        else:
            written = [result.facts.get(each) for each in ("cwd", "moved_to")] if name == "terminal" else []
        for text in written:
            if isinstance(text, str) and "\0" not in text:
                yield self._named(Path(absolute(text, self.cwd)))

    def _named(self, path: Path) -> Path:
        """A path by the name that it has below the session's directories, where these are reached over links."""
        if any(path.is_relative_to(root) for root in self.roots):
            return path
        real = Path(os.path.realpath(path))
        for root in self.roots:
            if real.is_relative_to(top := os.path.realpath(root)):
                return root / real.relative_to(top)
        return path


class _Known:
    """What the model has before it of rules of folders; the conversation is looked at when first asked."""

    def __init__(self, shown: Callable[[], Sequence[Message]]) -> None:
        self._shown = shown
        self._texts: list[str] | None = None

    def __call__(self, label: str) -> bool:
        return self.says(f"{work_mark(label)},")

    def says(self, text: str) -> bool:
        if self._texts is None:
            self._texts = [text_of(message["content"]) for message in self._shown() if message["role"] == "tool"]
        return any(text in each for each in self._texts)


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        return parse_arguments(call["function"]["arguments"])
    except ValueError:
        return {}


def _depth(path: Path) -> int:
    return len(path.parts)
