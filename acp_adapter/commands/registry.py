"""The commands of one session beside the built-in ones: from folders, skills, MCP servers and plugins."""

from __future__ import annotations

import logging
import os
import re
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acp_adapter.commands.builtin import BUILT_IN
from acp_adapter.commands.command import AsPrompt, Desk, OtherCommands, SlashCommand, Told, Typed
from acp_adapter.commands.custom import (
    MCP_PREFIX,
    SKILL_PREFIX,
    CommandOrigin,
    CustomCommand,
    as_command,
    prompt_commands,
    read_command,
    renamed,
    skill_commands,
)
from agent_core.errors import RequestError
from agent_core.events import Command, CommandsOffered
from agent_core.hooks.hook import HookFailed
from agent_core.plugins.plugin import CommandCall, Prompt
from tools.approval.actions import ReadPath
from tools.approval.policy import denied_by
from tools.approval.sensitive import why_sensitive
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK

if TYPE_CHECKING:
    from agent_core.mcp.session_servers import SessionServers
    from agent_core.plugins.plugin import PluginCommand
    from agent_core.skills import SessionSkills
    from agent_core.workspace import Workspace


# Commands of plugins.


def as_slash(command: PluginCommand) -> SlashCommand:
    """The command, ready to be run."""

    def run(typed: Typed, desk: Desk) -> Told | AsPrompt:
        call = CommandCall(typed.rest, desk.session.id, desk.session.seed.cwd)
        try:
            answer = command.run(call)
        except HookFailed as problem:
            raise RequestError(f"/{command.name} was not done. {command.source}: its command {problem}.") from problem
        return AsPrompt(answer.text) if isinstance(answer, Prompt) else Told(answer or "Done.")

    return SlashCommand(command.name, f"{command.description} (plugin)", run, command.hint)


# Folders of commands, looked at again before each prompt.

log = logging.getLogger(__name__)

MOST_COMMANDS = 200
"""Of one folder."""

MOST_BYTES = 64 * 1024
"""Of one file."""

_MOST_ENTRIES = 2_000
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_ENDING = ".md"
_PROJECTS = (".hermes", "commands")


@dataclass(frozen=True, slots=True)
class _File:
    """A command's file as it is: with these, nothing of it has changed."""

    name: str
    path: str
    origin: CommandOrigin
    inode: int
    size: int
    changed_ns: int


@dataclass(frozen=True, slots=True)
class _Folder:
    """Where commands lie. `within`: it must not lead out of there; None: it may be anywhere."""

    path: Path
    origin: CommandOrigin
    within: Path | None = None


class CommandShelf:
    """The commands of one session. Thread-safe; `refresh` blocks."""

    def __init__(
        self,
        cwd: Path,
        home: Path,
        skills: SessionSkills | None = None,
        bring: Callable[[], Sequence[SlashCommand]] = tuple,
        refusal: Callable[[Path], str] = lambda _: "",
    ) -> None:
        """Make it; nothing is read before the first `refresh`.

        Args:
            refusal: why a file of the project (its real path) must not be read, in words that follow «it »; '' where
                it may be.
            skills: the session's, each of which is a command.
            bring: the commands that others bring now, as plugins do; may block.
            cwd: the session's directory; the project's commands are in `.hermes/commands`.
            home: the directory of settings and sessions; the person's commands are in `commands`.
        """
        # The project's come later, and take the place of those of the same name.
        self._folders = (
            _Folder(home / "commands", "yours"),
            _Folder(cwd.joinpath(*_PROJECTS), "project", within=cwd),
        )
        self._lock = threading.Lock()
        self._read: dict[_File, CustomCommand | None] = {}
        self._commands: tuple[CustomCommand, ...] = ()
        self._skills = skills
        self._skill_commands: tuple[SlashCommand, ...] = ()
        # Of the session's MCP servers, once they are known.
        self.servers: SessionServers | None = None

        self._bring = bring
        self._refusal = refusal
        self._added: tuple[SlashCommand, ...] = ()

    @property
    def prompts(self) -> tuple[SlashCommand, ...]:
        """The prompts of the session's MCP servers as commands, as they were last told. Never waits."""
        return () if self.servers is None else prompt_commands(self.servers.prompts())

    @property
    def commands(self) -> tuple[CustomCommand, ...]:
        """The commands of the folders as they were last seen, by name. Never waits."""
        return self._commands

    def by_name(self) -> Mapping[str, SlashCommand]:
        """All that can be typed, as it was last seen. Never waits."""
        return by_name(self._commands, self._skill_commands, self.prompts, self._added)

    def offer(self) -> CommandsOffered:
        """The same, as a client is told of it."""
        return CommandsOffered(tuple(command.offer for command in self.by_name().values()))

    def beside(self, taken: Collection[str]) -> OtherCommands:
        """Those that are not called like one of `taken`, as they were last seen. Never waits."""
        return OtherCommands(
            own=[Command(one.name, one.description, one.hint) for one in self._commands if one.name not in taken],
            added=[one.offer for one in self._added if one.name not in taken],
            skills=[one.offer for one in renamed(self._skill_commands, SKILL_PREFIX, taken)],
            prompts=[one.offer for one in renamed(self.prompts, MCP_PREFIX, taken)],
        )

    def renew(self) -> bool:
        """Look at all that may have changed; whether the commands that are offered are others now. Blocks."""
        changed = self.refresh()
        brought = {command.name: command for command in self._bring()}
        found = None if self._skills is None else self._skills.look()
        with self._lock:
            before = self._brought()
            self._added = tuple(brought.values())
            if found is not None:  # after the folders: their commands win
                taken = {command.name for command in self._commands}
                self._skill_commands = skill_commands(found.used, taken)
            return changed or before != self._brought()

    def _brought(self) -> list[Command]:
        """What is offered of what others bring, and of skills."""
        return [command.offer for command in (*self._added, *self._skill_commands)]

    def refresh(self) -> bool:
        """Look at the folders, and read what is new or has changed; whether the commands are others now."""
        with self._lock:
            read: dict[_File, CustomCommand | None] = {}
            for file in self._files():
                try:
                    read[file] = self._read[file] if file in self._read else _command(file)
                except ValueError as problem:
                    read[file] = None
                    log.debug("%s is no command: %s", file.path, problem)
                except OSError as problem:
                    log.debug("%s cannot be read: %s", file.path, problem)
            found = {command.name: command for command in read.values() if command is not None}
            commands = tuple(found[name] for name in sorted(found))
            changed, self._commands, self._read = commands != self._commands, commands, read
            return changed

    def _files(self) -> Iterator[_File]:
        seen: set[str] = set()
        for folder in self._folders:
            root = _root(folder)
            if root is None or root in seen:
                continue
            seen.add(root)
            for name, path in _named_files(root)[:MOST_COMMANDS]:
                try:
                    file = _looked_at(name, path, root, folder.origin)
                    # Nobody is asked before it is read.
                    why = self._refusal(Path(file.path)) if file.origin == "project" else ""
                except (OSError, ValueError) as problem:
                    log.debug("%s is no command: %s", path, problem)
                    continue
                if why:
                    log.debug("%s is no command: it %s", path, why)
                else:
                    yield file


def by_name(
    custom: Sequence[CustomCommand] = (),
    skills: Sequence[SlashCommand] = (),
    prompts: Sequence[SlashCommand] = (),
    added: Sequence[SlashCommand] = (),
) -> Mapping[str, SlashCommand]:
    """Commands by name. A built-in one is never replaced, nor is one of the person's own by one that others bring
    (`added`) or a skill, nor any by a server's prompt.
    """
    if not (custom or skills or prompts or added):
        return BUILT_IN
    own = {one.name: as_command(one) for one in custom if one.name not in BUILT_IN}
    brought = {one.name: one for one in added if one.name not in BUILT_IN and one.name not in own}
    beside = (one for one in renamed(skills, SKILL_PREFIX, {**BUILT_IN, **brought}) if one.name not in own)
    known = {**BUILT_IN, **own, **brought, **{one.name: one for one in beside}}
    return {**known, **{one.name: one for one in renamed(prompts, MCP_PREFIX, known)}}


def refusal_in(workspace: Workspace) -> Callable[[Path], str]:
    """Why a file of the project must not be read unasked."""

    def refusal(path: Path) -> str:
        rules = workspace.approvals.rules
        if hit := denied_by(ReadPath(path), rules.deny, rules.roots):
            return f"is denied by the user's rule {hit.rule.shown}"
        if any(place in path.parents for place in rules.private):
            return "holds this agent's own settings"
        return why_sensitive(_in_project(path, Path(os.path.realpath(workspace.cwd))))

    return refusal


def _in_project(path: Path, root: Path) -> Path:
    """A path as it is to be judged: that it is in the folder of commands is no reason to ask."""
    parts = path.relative_to(root).parts
    return Path("/", *(parts[len(_PROJECTS) :] if parts[: len(_PROJECTS)] == _PROJECTS else parts))


def _root(folder: _Folder) -> str | None:
    """The folder's real path; None where there is none, or it leads out of the project."""
    try:
        root = os.path.realpath(folder.path, strict=True)
    except OSError:
        return None
    if folder.within is not None and not _is_below(root, os.path.realpath(folder.within)):
        log.warning("%s leads out of the project; its commands are not used", folder.path)
        return None
    return root


def _named_files(root: str) -> list[tuple[str, str]]:
    """Names of commands with their files, by name: those in the folder, and `folder:name` for those one below."""
    found: list[tuple[str, str]] = []
    budget = iter(range(_MOST_ENTRIES))
    for entry, stem in _entries(root, budget):
        if stem:
            found.append((stem, entry.path))
        elif _NAME.fullmatch(entry.name) and (folder := _folder(entry, root)):
            found += [(f"{entry.name}:{inner}", file.path) for file, inner in _entries(folder, budget) if inner]
    return sorted(found)


def _entries(folder: str, budget: Iterator[int]) -> list[tuple[os.DirEntry[str], str]]:
    """What is in a folder, each with the name of the command that it may be the file of, or ''."""
    try:
        with os.scandir(folder) as entries:
            return [(entry, _stem(entry.name)) for _, entry in zip(budget, entries, strict=False)]
    except OSError:
        log.debug("%s cannot be read", folder, exc_info=True)
        return []


def _stem(file_name: str) -> str:
    stem = file_name.removesuffix(_ENDING)
    return stem if stem != file_name and _NAME.fullmatch(stem) else ""


def _folder(entry: os.DirEntry[str], root: str) -> str:
    """The real path of a folder; '' where it is none, or leads out of `root`."""
    try:
        if not entry.is_dir():
            return ""
        path = os.path.realpath(entry.path, strict=True) if entry.is_symlink() else entry.path
    except OSError:
        return ""
    return path if _is_below(path, root) else ""


def _looked_at(name: str, path: str, root: str, origin: CommandOrigin) -> _File:
    """A command's file as it is now.

    Args:
        path: in a folder whose path is real.

    Raises:
        OSError: it is not there. ValueError: it is none that a command may be in.
    """
    real, found = path, os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        real = os.path.realpath(path, strict=True)
        if not _is_below(real, root):
            raise ValueError("it leads out of its folder")
        found = os.lstat(real)
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("it is no file")
    if found.st_size > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES // 1024} KiB")
    return _File(name, real, origin, found.st_ino, found.st_size, found.st_mtime_ns)


def _command(file: _File) -> CustomCommand | None:
    """The command in a file.

    Raises:
        OSError: it cannot be read. ValueError: it is no UTF-8, or is another file by now.
    """
    # What has taken its place meanwhile may be a link, or a pipe that nobody writes to.
    descriptor = os.open(file.path, os.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    with open(descriptor, "rb") as opened:  # noqa: PTH123 - a descriptor
        if os.fstat(descriptor).st_ino != file.inode:
            raise ValueError("it was replaced while it was read")
        content = opened.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError("it grew while it was read")
    return read_command(file.name, content.decode("utf-8-sig"), file.origin)


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)
