"""Skills as folders with a SKILL.md (the open Agent Skills format): looked for, read and checked."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import yaml

from tools.agent_ports import DEEPEST, SKILL_FILE, Origin
from tools.approval.sensitive import why_sensitive
from tools.environments.atomic_writes import open_resolved
from tools.light_dataclass import dataclass
from tools.os_compat import O_NOFOLLOW, O_NONBLOCK

# Reading: regular files of a bounded size, whose real path is inside the skill's folder.

MOST_CHARS = 100_000
"""Of a text file; of a SKILL.md too."""

MOST_BYTES = 1024 * 1024
"""Of any file."""

Refusal = Callable[[Path], str]
"""Why a path (absolute, resolved) must not be read, in words that follow «it »; '' where it may be."""


class Unreadable(ValueError):
    """Why a file of a skill is not read, in words that follow its name and «: »."""


def is_below(path: Path, root: Path) -> bool:
    """Whether `path` is `root` or inside it; both with symbolic links resolved."""
    return path == root or root in path.parents


def read_file(path: Path, within: Path, refusal: Refusal, most: int = MOST_BYTES) -> bytes:
    """The content of a file.

    Args:
        path: symbolic links in it may lead to other places in `within`.
        within: a folder, with symbolic links resolved.

    Raises:
        Unreadable: it leads out of there, must not be read, is no regular file, is too big or cannot be read.
        FileNotFoundError.
    """
    try:
        real = Path(os.path.realpath(path, strict=True))
        if not is_below(real, within):
            raise Unreadable("it leads out of the skill's folder")
        # Nobody is asked. Where the folder is does not count: the home, which holds skills, is private as a whole.
        if why := refusal(real) or why_sensitive(Path("/", real.relative_to(within))):
            raise Unreadable(f"it {why}")
        # O_NONBLOCK: a pipe in the file's place must not make anyone wait for a writer.
        descriptor = open_resolved(real, os.O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError) as problem:
        raise FileNotFoundError(str(path)) from problem
    except OSError as problem:
        raise Unreadable(f"it cannot be read ({problem.strerror or problem})") from problem
    with open(descriptor, "rb") as stream:  # noqa: PTH123 - a descriptor
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("it is no regular file")
        data = stream.read(most + 1)
    if len(data) > most:
        raise Unreadable(f"it has more than {most:,} bytes")
    return data


def as_text(data: bytes) -> str | None:
    """The text in a file's bytes, without a byte order mark; None where it is none.

    Raises:
        Unreadable: it is longer than a text of a skill may be.
    """
    if b"\0" in data[:8_192]:
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if len(text) > MOST_CHARS:
        raise Unreadable(f"it has {len(text):,} characters; {MOST_CHARS:,} are allowed")
    return text


# Looking for the folders: what has a SKILL.md, in a few levels of categories, within a number of entries.

PROJECT_FOLDERS = (".hermes/skills", ".agents/skills", ".claude/skills")
MOST_SKILLS = 300
"""Of one source."""

_MOST_ENTRIES = 5_000
_MOST_LEVELS = 4
_MOST_PARENTS = 40


@dataclass(frozen=True, slots=True)
class Source:
    """A folder with skills in it.

    Attributes:
        within: where it must not lead out of (a project); None: it may be anywhere.
    """

    path: Path
    origin: Origin
    within: Path | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A SKILL.md as it is: with these, nothing of it has changed.

    Attributes:
        folder: the skill's, with symbolic links resolved. A text: all of them are looked at before each prompt.
        name: the folder's name as it was found: a link may be called otherwise than what it leads to.
        stamp: changes when the file does; empty where it leads nowhere.
    """

    folder: str
    name: str
    category: str
    origin: Origin
    stamp: tuple[int, ...]


@dataclass(slots=True)
class Survey:
    """What was found of one source; `cut` tells why it is not all of it."""

    found: list[Found] = field(default_factory=list)
    cut: str = ""


def project_sources(cwd: Path) -> Iterator[Source]:
    """Where the skills of the project around `cwd` may be, the closest first: up to the root of its repository."""
    here = Path(os.path.realpath(cwd))
    folders = [here, *here.parents][:_MOST_PARENTS]
    depth = next((number for number, folder in enumerate(folders) if os.path.lexists(folder / ".git")), 0)
    for folder in folders[: depth + 1]:
        for name in PROJECT_FOLDERS:
            yield Source(folder / name, "project", within=folders[depth])


def survey(source: Source) -> tuple[str, Survey]:
    """The source's real path and the skills in it; '' where there is no such folder."""
    result = Survey()
    try:
        # Most places that could hold skills are not there: only of others the links are followed.
        if not stat.S_ISDIR(os.stat(source.path).st_mode):  # noqa: PTH116 - a path as text is quicker
            return "", result
        root = os.path.realpath(source.path, strict=True)
    except (OSError, ValueError):
        return "", result
    if source.within is not None and not is_below(Path(root), source.within):
        result.cut = "it leads out of the project, so nothing in it is used"
        return root, result
    _Walk(source, root, result).look(root, ())
    return root, result


class _Walk:
    """One walk through a source."""

    def __init__(self, source: Source, root: str, result: Survey) -> None:
        self._source = source
        self._border = source.within or Path(root)
        self._result = result
        self._left = _MOST_ENTRIES

    def look(self, folder: str, category: tuple[str, ...]) -> None:
        for entry in self._entries(folder):
            if len(self._result.found) >= MOST_SKILLS:
                self._result.cut = f"it holds {MOST_SKILLS} skills or more; others are not used"
                return
            if entry.name.startswith(".") or not _is_directory(entry):
                continue
            is_link = entry.is_symlink()
            real = os.path.realpath(entry.path) if is_link else entry.path
            # The user's own links lead where they like; a project's stay in the project.
            if is_link and self._source.within is not None and not is_below(Path(real), self._border):
                continue
            if (stamp := _stamp(f"{real}/{SKILL_FILE}")) is not None:
                self._result.found.append(Found(real, entry.name, "/".join(category), self._source.origin, stamp))
            elif not is_link and len(category) < _MOST_LEVELS - 1:
                self.look(real, (*category, entry.name))

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                listed = []
                for entry in entries:
                    if self._left <= 0:
                        self._result.cut = f"it holds more than {_MOST_ENTRIES:,} files; not all were looked at"
                        break
                    self._left -= 1
                    listed.append(entry)
        except OSError:  # one that cannot be listed has no skills
            return []
        return sorted(listed, key=lambda entry: entry.name)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _stamp(path: str) -> tuple[int, ...] | None:
    """Of the file or what it leads to; the one who reads it finds out whether it leads out."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - a path as text is quicker
    except OSError:
        # A link that leads nowhere, or round in a circle, is a broken skill and no category.
        return () if os.path.lexists(path) else None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


# What is in a skill's folder.

MOST_TOLD = 60
"""Files of a skill that are told by name."""

_MOST_FILES = 500


def files_of(folder: Path) -> tuple[tuple[str, ...], int]:
    """The regular files in a skill's folder, relative, by name; how many more there are. Links are passed over."""
    found: list[str] = []
    budget = _MOST_FILES
    waiting = [(folder, 0)]
    left_out = 0
    while waiting and budget > 0:
        here, level = waiting.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    budget -= 1
                    if budget < 0:
                        left_out += 1
                        break
                    if entry.name.startswith(".") or not _is_told(entry.name):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        if level < DEEPEST - 1:
                            waiting.append((here / entry.name, level + 1))
                    elif entry.is_file(follow_symlinks=False):
                        found.append((here / entry.name).relative_to(folder).as_posix())
        except OSError:
            continue  # a folder that cannot be listed has nothing that could be read
    return tuple(sorted(found)), left_out


def _is_told(name: str) -> bool:
    """Whether a name can be written down: it may be no UTF-8."""
    return not any("\udc80" <= sign <= "\udcff" for sign in name)


# The text of a SKILL.md: its head in YAML, checked, and the instructions below it.

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1_024
_LONGEST_HEAD = 16_384
_LONGEST_HINT = 60
_DEEPEST = 12
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FENCE = "---"
_HINT = "argument-hint"
_FLAT = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9_-]*)[ \t]*:[ \t]+(?P<value>\S.*)")
_QUOTES = "\"'"
_MARK = "\ufeff"
_JOINERS = "\u200c\u200d"
_NAMING = "small letters, digits and single hyphens, at most 64"


class BadSkill(ValueError):
    """Why a text is no skill, in a sentence for people."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Where a skill is of use; an empty set says nothing. Names of tools and toolsets are in the same sets.

    Attributes:
        platforms: names of operating systems: linux, macos, windows.
        requires: not shown to a model that lacks one of these tools.
        instead_of: not shown to a model that has one of these tools.
    """

    platforms: frozenset[str] = frozenset()
    requires: frozenset[str] = frozenset()
    instead_of: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Head:
    """What the head of a SKILL.md says.

    Attributes:
        description: one line, without signs that hide something.
        hint: what may be typed behind its name; '' where it does not say.
        for_model, for_person: whether it is shown to the model, and offered as a command.
    """

    name: str
    description: str
    conditions: Conditions = Conditions()
    for_model: bool = True
    for_person: bool = True
    hint: str = ""


def is_name(name: str) -> bool:
    """Whether a skill or a category may be called so."""
    return len(name) <= LONGEST_NAME and _NAME.fullmatch(name) is not None


def read_skill(text: str, folder: str) -> Head:
    """What the text of the SKILL.md in `folder` (its name) says of itself.

    Raises:
        BadSkill: it is none, and why.
    """
    head, body = split(text)
    fields = _fields(head)
    name = fields.get("name")
    if not isinstance(name, str) or not name.strip():
        raise BadSkill("its head has no name")
    name = name.strip()
    if not is_name(name):
        raise BadSkill(f"its name {name[:80]!r} is not made of {_NAMING}")
    if name != folder:
        raise BadSkill(f"its name {name!r} is not its folder's name {folder[:80]!r}")
    description = fields.get("description")
    if not isinstance(description, str) or not (line := _one_line(description)):
        raise BadSkill("its head has no description")
    if len(description) > LONGEST_DESCRIPTION:
        raise BadSkill(f"its description has {len(description):,} characters; {LONGEST_DESCRIPTION:,} are allowed")
    if not body.strip():
        raise BadSkill("there are no instructions below its head")
    return Head(
        name,
        line,
        _conditions(fields),
        for_model=fields.get("disable-model-invocation") is not True,
        for_person=fields.get("user-invocable") is not False,
        hint=_hint(fields.get(_HINT)),
    )


def split(text: str) -> tuple[str, str]:
    """The head and the text below it, with plain line ends.

    Raises:
        BadSkill: there is no head between two lines of three dashes.
    """
    lines = text.removeprefix(_MARK).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        raise BadSkill(f"{_FENCE} is not its first line: it begins with a head between two lines of three dashes")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), 0)
    if not end:
        raise BadSkill("its head has no end: a second line of three dashes is missing")
    return "\n".join(lines[1:end]), "\n".join(lines[end + 1 :])


def _fields(head: str) -> Mapping[Any, Any]:
    if len(head) > _LONGEST_HEAD:
        raise BadSkill(f"its head has {len(head):,} characters; {_LONGEST_HEAD:,} are allowed")

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_shape(yaml, loader, head)
        value = yaml.load(head, Loader=loader)  # noqa: S506 - it is a safe one
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        if isinstance(problem, BadSkill):
            raise
        flat = _flat(head)
        if flat is None:
            raise BadSkill(f"its head is no YAML: {' '.join(str(problem).split())[:160]}") from problem
        return flat
    if not isinstance(value, Mapping):
        raise BadSkill("its head does not hold `key: value` lines")
    return value


def _check_shape(yaml: Any, loader: Any, head: str) -> None:
    """Refuse what a small text can grow huge by: aliases, and nesting without end."""
    depth = 0
    for event in yaml.parse(head, Loader=loader):
        if isinstance(event, yaml.AliasEvent):
            raise BadSkill("its head has YAML aliases, which are not read")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise BadSkill("its head is nested too deeply")


def _flat(head: str) -> Mapping[str, str] | None:
    """Lines `key: value`, for heads with a colon in an unquoted value; None where there is anything else."""
    fields: dict[str, str] = {}
    for line in head.split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        found = _FLAT.fullmatch(line.rstrip())
        # `argument-hint: [issue] [branch]` is how people write it.
        if found is None or (found["value"][0] in "|>&*[{!" and found["key"] != _HINT):
            return None
        value = found["value"].strip()
        is_quoted = len(value) > 1 and value[0] in _QUOTES and value[0] == value[-1]
        fields[found["key"]] = value[1:-1] if is_quoted else value
    return fields


def _conditions(fields: Mapping[Any, Any]) -> Conditions:
    metadata = fields.get("metadata")
    more = metadata.get("hermes") if isinstance(metadata, Mapping) else None
    own = more if isinstance(more, Mapping) else {}
    return Conditions(
        platforms=_words(fields.get("platforms")),
        requires=_words(own.get("requires_tools")) | _words(own.get("requires_toolsets")),
        instead_of=_words(own.get("fallback_for_tools")) | _words(own.get("fallback_for_toolsets")),
    )


def _words(value: object) -> frozenset[str]:
    listed = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return frozenset(str(word).strip().lower() for word in listed if isinstance(word, str) and word.strip())


def _hint(value: object) -> str:
    """One line of what a head says; `[issue]` is a list in YAML."""
    text = f"[{', '.join(map(str, value))}]" if isinstance(value, list) else value
    return _one_line(text)[:_LONGEST_HINT] if isinstance(text, str) else ""


def _one_line(text: str) -> str:
    """All of `text` on one line, without signs that nobody sees."""
    return " ".join("".join(map(_seen, text)).split())


def _seen(sign: str) -> str:
    category = unicodedata.category(sign)
    if category in {"Cc", "Zl", "Zp"}:
        return " "
    return "" if category in {"Cf", "Cs"} and sign not in _JOINERS else sign
