"""What a project's own `.hermes/config.yaml` says of permissions and rules files.

It can only narrow what the user's settings say.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal, Self

import yaml

from agent_core.config import Configuration
from agent_core.providers.choice import is_small
from agent_core.settings.sections import DEFAULT_NAMES
from tools.approval.rule_patterns import spelled_out, with_real_places
from tools.approval.rules import PermissionRule, RuleError, allowlist_rules, parse_rule
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NONBLOCK

# Rules files.

_LEAST, _MOST = 20_000, 500_000
_SHARE = 0.06
_NARROW_SHARE, _SMALL_SHARE = 0.25, 0.125
_CHARS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ContextFileSettings:
    """What the user's settings say, narrowed by the project's.

    Attributes:
        max_chars: of one file; None: by the model's window.
        names: what is looked for in a directory, in this order.
    """

    enabled: bool = True
    max_chars: int | None = None
    names: tuple[str, ...] = DEFAULT_NAMES

    def narrowed(self, other: ContextNarrowing) -> Self:
        """The same with what a project wants less of."""
        limits = [limit for limit in (self.max_chars, other.max_chars) if limit is not None]
        return replace(
            self,
            enabled=self.enabled and other.enabled,
            max_chars=min(limits, default=None),
            names=self.names if other.names is None else tuple(name for name in self.names if name in other.names),
        )


@dataclass(frozen=True, slots=True)
class ContextNarrowing:
    """What a project wants less of; the defaults want nothing."""

    enabled: bool = True
    max_chars: int | None = None
    names: tuple[str, ...] | None = None


def chars_of_a_file(window: int | None, max_chars: int | None) -> int:
    """How many characters of one rules file the model is told.

    20,000, or 6 % of the window where that is more; never more than is set, than a quarter of a narrow window, or an
    eighth of a small one: all of them together have twice as much, and the conversation needs room too.

    Args:
        window: in tokens; None where it is not known.
        max_chars: what is set; None for nothing.
    """
    most = _LEAST
    if window is not None:
        chars = window * _CHARS_A_TOKEN
        share = _SMALL_SHARE if is_small(window) else _NARROW_SHARE
        most = min(max(_LEAST, int(chars * _SHARE)), int(chars * share), _MOST)
    return most if max_chars is None else min(most, max_chars)


# A project's files come from others, and the agent itself may have written them. So of `approvals` only `deny`
# counts, and a `mode` that asks more often, and `context_files` can only have fewer and shorter files read; whatever
# else is there is left out, with a warning that says so.

ApprovalMode = Literal["auto", "all", "off"]

FILE = Path(".hermes/config.yaml")
"""Where it stands in a project."""

MAY_NARROW: Mapping[str, frozenset[str]] = {
    "approvals": frozenset({"deny", "mode"}),
    "context_files": frozenset({"enabled", "max_chars", "names"}),
}
"""By part of the settings: the keys that count in a project."""

_LONGEST = 64 * 1024
_DIGITS = re.compile(r"[0-9]{1,18}")
_STRICTNESS: Mapping[str, int] = {"off": 0, "auto": 1, "all": 2}
_MODES: Mapping[str, ApprovalMode] = {
    "off": "off",
    "auto": "auto",
    "all": "all",
    "manual": "auto",
    "ask": "auto",
    "smart": "auto",
}
# As the user's own settings are read.
_YES, _NO = frozenset({"true", "yes", "on", "y", "t", "1"}), frozenset({"false", "no", "off", "n", "f", "0"})


@dataclass(frozen=True, slots=True)
class ProjectPolicy:
    """What a project narrows.

    Attributes:
        deny: rules that deny.
        mode: when the person is asked; None where the project says nothing about it.
        warnings: what was left out, for the person.
        context_files: what it wants less of.
    """

    deny: tuple[PermissionRule, ...] = ()
    mode: ApprovalMode | None = None
    warnings: tuple[str, ...] = ()
    context_files: ContextNarrowing = field(default_factory=ContextNarrowing)


def read_project_policy(root: Path, home: Path) -> ProjectPolicy:
    """The policy of the project in `root`; an empty one where it has none. Blocks for a small file.

    A file that cannot be understood may have wanted to deny something: then everything is asked about.

    Args:
        home: the user's own directory of settings, which is no project's.
    """
    path = root / FILE
    if not _may_be_there(path):  # as in nearly every project: it needs no paths to be resolved
        return ProjectPolicy()
    # With another home (HERMES_HOME, --profile) the usual one's settings are no project's either.
    settings = (home / "config.yaml", Path.home() / FILE)
    if os.path.realpath(path) in map(os.path.realpath, settings):
        return ProjectPolicy()
    try:
        written = _read(path)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        return unreadable(str(path), reason)
    return _policy(written, path)


def policy_in(data: bytes, path: Path) -> ProjectPolicy:
    """The policy in the content of a file that somebody else has read.

    Args:
        path: what warnings call the file.
    """
    try:
        return _policy(_parsed(data), path)
    except ValueError as problem:
        return unreadable(str(path), str(problem))


def unreadable(file: str, reason: str) -> ProjectPolicy:
    """What holds where it is not known what the project denies."""
    warning = f"{file} cannot be read ({reason}). Until it is mended or removed, everything is asked about."
    return ProjectPolicy(mode="all", warnings=(warning,))


def stricter(one: ApprovalMode, other: ApprovalMode | None) -> ApprovalMode:
    """Of two modes the one that asks more often."""
    return one if other is None or _STRICTNESS[one] >= _STRICTNESS[other] else other


def _policy(written: Mapping[Any, Any], path: Path) -> ProjectPolicy:
    warnings = [_left_out(str(key), path) for key in written if key not in MAY_NARROW]
    narrowing = _narrowing(written.get("context_files"), path, warnings)
    return replace(_permissions(written.get("approvals"), path, warnings), context_files=narrowing)


def _permissions(approvals: object, path: Path, warnings: list[str]) -> ProjectPolicy:
    if approvals is None:
        return ProjectPolicy(warnings=tuple(warnings))
    if not isinstance(approvals, Mapping):
        warnings.append(f"{path}: approvals must hold `key: value` lines. Until then everything is asked about.")
        return ProjectPolicy(mode="all", warnings=tuple(warnings))
    warnings += [_left_out(f"approvals.{key}", path) for key in approvals if key not in MAY_NARROW["approvals"]]
    mode = _mode(approvals, path, warnings)
    rules: list[PermissionRule] = []
    for rule in _rules(approvals.get("deny"), path):
        if isinstance(rule, PermissionRule):
            rules.append(rule)
        else:
            warnings.append(rule)
            mode = "all"
    return ProjectPolicy(tuple(rules), mode, tuple(warnings))


def _narrowing(written: object, path: Path, warnings: list[str]) -> ContextNarrowing:
    """What is understood of it; what would widen something has no effect, for the narrower one always holds."""
    if written is None:
        return ContextNarrowing()
    if not isinstance(written, Mapping):
        warnings.append(f"context_files in {path} is ignored: it must hold `key: value` lines.")
        return ContextNarrowing()
    warnings += [_left_out(f"context_files.{key}", path) for key in written if key not in MAY_NARROW["context_files"]]
    enabled, max_chars, names = (written.get(key) for key in ("enabled", "max_chars", "names"))
    count = _count(max_chars)
    if max_chars is not None and count is None:
        warnings.append(f"context_files.max_chars in {path} is ignored: it must be a whole number above 0.")
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if names is not None and not is_list:
        warnings.append(f"context_files.names in {path} is ignored: it must be a list of file names.")
    word = "true" if enabled is None else _word(enabled)
    if word not in _YES | _NO:
        warnings.append(f"context_files.enabled in {path} must be true or false. Until then no rules files are read.")
    return ContextNarrowing(
        enabled=word in _YES,
        max_chars=count,
        names=tuple(names) if isinstance(names, list) and is_list else None,
    )


def _count(written: object) -> int | None:
    """A whole number above 0, also as text; None for anything else."""
    if isinstance(written, str) and _DIGITS.fullmatch(written.strip()):
        written = int(written)
    return written if isinstance(written, int) and not isinstance(written, bool) and written > 0 else None


def _word(written: object) -> str:
    """A yes or no as one writes it; '' for anything that is neither."""
    return str(written).strip().lower() if isinstance(written, str | bool) or written in (0, 1) else ""


def _mode(approvals: Mapping[Any, Any], path: Path, warnings: list[str]) -> ApprovalMode | None:
    written = approvals.get("mode")
    if written is None:
        return None
    mode = "off" if written is False else _MODES.get(str(written))
    if mode == "off":
        warnings.append(_left_out("approvals.mode: off", path))
        return None
    if mode is None:
        warnings.append(f"{path}: approvals.mode must be auto or all. Until then everything is asked about.")
    return mode or "all"


def _rules(written: object, path: Path) -> Iterator[PermissionRule | str]:
    """Each rule, or what is wrong with it."""
    if written is None:
        return
    if not isinstance(written, list):
        yield f"{path}: approvals.deny must be a list. Until then everything is asked about."
        return
    for entry in written:
        try:
            yield parse_rule(entry, f"approvals.deny in {path}")
        except RuleError as problem:
            yield f"{path}: approvals.deny: {problem}. Until it is mended, everything is asked about."


def _left_out(key: str, path: Path) -> str:
    return f"{key} in {path} is ignored: a project can only deny more, and ask more often, than your own settings."


def _may_be_there(path: Path) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # whoever reads it is told why
        return True
    return True


def _read(path: Path) -> Mapping[Any, Any]:
    """What the file holds.

    Raises:
        OSError: it cannot be read. ValueError: it is no settings file.
    """
    try:
        # O_NONBLOCK: a pipe in the file's place must not make anyone wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        return _parsed(stream.read(_LONGEST + 1))


def _parsed(data: bytes) -> Mapping[Any, Any]:
    if len(data) > _LONGEST:
        raise ValueError(f"it has more than {_LONGEST // 1024} KiB")

    try:
        value = yaml.safe_load(data.decode())
    except (yaml.YAMLError, RecursionError) as problem:
        raise ValueError(" ".join(str(problem).split())[:200]) from problem
    if value is not None and not isinstance(value, Mapping):
        raise ValueError("it must hold `key: value` lines")
    return value or {}


# Its rules files, narrowed.


def context_file_settings(config: Configuration, roots: Sequence[Path]) -> ContextFileSettings:
    """What holds for the rules files of a session in `roots`. Blocks for small files."""
    part = config.settings.context_files
    settings = ContextFileSettings(part.enabled, part.max_chars, part.names)
    for root in roots:
        settings = settings.narrowed(read_project_policy(root, config.home.root).context_files)
    return settings


# Permissions, as the policy wants them: the user's settings and the project's.


@dataclass(frozen=True, slots=True)
class PermissionSettings:
    """What holds for every action of a session.

    Attributes:
        deny, allow: as in `Rules`.
        mode: when the person is asked; sessions begin in dont_ask with `off`.
        smart: a model may say yes to what comes back by itself.
        warnings: what of the project's settings was left out, for the person.
    """

    deny: tuple[PermissionRule, ...] = ()
    allow: tuple[PermissionRule, ...] = ()
    mode: ApprovalMode = "auto"
    smart: bool = False
    warnings: tuple[str, ...] = ()


def permission_settings(
    config: Configuration,
    roots: Sequence[Path],
    further: Sequence[ProjectPolicy] = (),
    there: Callable[[PermissionRule], Iterable[PermissionRule]] = lambda _: (),
) -> PermissionSettings:
    """Read what the user's settings and the projects in `roots` say. Blocks for small files.

    Args:
        roots: the session's directories; each may have a `.hermes/config.yaml` that narrows the user's settings.
        further: what projects say that are not on this machine.
        there: what a denying rule means besides on the machine that the session works on.
    """
    approvals, file = config.settings.approvals, config.home.config_file
    places = tuple(Path(os.path.realpath(root)) for root in roots)
    own = [parse_rule(text, f"approvals.deny in {file}") for text in approvals.deny]
    mode: ApprovalMode = approvals.mode
    warnings: list[str] = []
    for project in (*(read_project_policy(root, config.home.root) for root in roots), *further):
        own += project.deny
        mode = stricter(mode, project.mode)
        warnings += project.warnings
    return PermissionSettings(
        deny=tuple(
            dict.fromkeys(
                place
                for written in own
                for rule in spelled_out(written)
                for place in (*with_real_places(rule, places), *there(rule))
            )
        ),
        allow=(
            *(parse_rule(text, f"approvals.allow in {file}") for text in approvals.allow),
            *allowlist_rules(config.settings.command_allowlist, f"command_allowlist in {file}"),
        ),
        mode=mode,
        smart=approvals.smart and mode == "auto",
        warnings=tuple(warnings),
    )
