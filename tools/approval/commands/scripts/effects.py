"""The effects of scripts, told as the shell commands that do the same: so one judge decides about both.

`os.remove("a")` is `rm -- a`. What the script's text does not tell is `UNKNOWN` in the command.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path
from typing import Literal, TypeVar

from tools.approval.commands.bash.reading import UNKNOWN
from tools.approval.commands.classes import Classify, Finding, Level
from tools.approval.sensitive import why_sensitive, why_sensitive_to_write
from tools.light_dataclass import dataclass

# Verdicts.

INLINE = "runs an inline script"


@dataclass(frozen=True, slots=True)
class ScriptVerdict:
    """How far a script reaches.

    Attributes:
        level: safe only where it is proven to compute and print, and to read nothing but ordinary files.
        findings: what is dangerous or forbidden in it, the worst first; empty for safe and ordinary ones.
    """

    level: Level
    findings: tuple[Finding, ...] = ()

    @property
    def why(self) -> str:
        """Completes «because it …»; '' for a safe one."""
        return self.findings[0].why if self.findings else INLINE if self.level == "ordinary" else ""


def verdict_of(findings: Iterable[Finding], *, is_proven: bool = False) -> ScriptVerdict:
    """The verdict that follows from what was found, in a stable order."""
    ordered = tuple(sorted(dict.fromkeys(findings), key=lambda found: found.level != "forbidden"))
    if not ordered:
        return ScriptVerdict("safe" if is_proven else "ordinary")
    return ScriptVerdict(ordered[0].level, ordered)


# Tables of names are written as texts with blanks between.

T = TypeVar("T")


def names(*texts: str) -> frozenset[str]:
    """Names apart by blanks."""
    return frozenset(name for text in texts for name in text.split())


def each(text: str, value: T) -> dict[str, T]:
    """The same for each of the names in `text`."""
    return dict.fromkeys(text.split(), value)


# The person's directory in the texts of scripts.


def home() -> str:
    """The person's own directory."""
    return os.path.expanduser("~")  # noqa: PTH111 - text


def at_home(text: str) -> str:
    """`text` with the directory in place of a leading `~`; those of other people are left as they are."""
    return home() + text[1:] if text == "~" or text.startswith("~/") else text


# Texts in scripts that name a place of secrets.

_MAX_PATH = 200
_SECRET = re.compile(r"/proc/[^/]+/environ|/etc/g?shadow|/run/secrets")
# Skipped by many scripts, and named by none that reads passwords.
_OFTEN_SKIPPED = re.compile(r"(?:^|/)\.(?:git|docker)(?:/|$)")


def names_secret(text: str) -> bool:
    """Whether a text of a script is the path of something secret."""
    if not text or len(text) > _MAX_PATH or re.search(r"[\s\0]", text):
        return False
    return bool(_SECRET.search(text)) or (bool(why_sensitive(Path(text))) and not _OFTEN_SKIPPED.search(text))


# Effects.

Strong = Literal["dangerous", "forbidden"]
# More than a person would read: whoever has so many hides one among them.
_MAX_COMMANDS = 60
_MAX_CHARS = 8_000
_UNKNOWN_PARTS = re.compile(rf"{UNKNOWN}{{2,}}")

HIDDEN = Finding("dangerous", "hidden", "runs text that is not known")
TOO_MUCH = Finding("dangerous", "hidden", "does too much to be checked")
DELETES = Finding("dangerous", "deletion", "deletes files")
CHANGES_RIGHTS = Finding("dangerous", "permissions", "changes permissions or ownership")
ENDS = Finding("dangerous", "processes", "ends processes", outside=True)
SENDS = Finding("dangerous", "exfiltration", "may send data out", outside=True)
CONNECTS = Finding("dangerous", "exfiltration", "opens a connection to another machine", outside=True)
SHOWS_VARIABLES = Finding("dangerous", "credentials", "shows the variables of the environment")
SHOWS_SECRETS = Finding("dangerous", "credentials", "reads credentials or settings")
BOMB = Finding("forbidden", "fork bomb", "is a fork bomb")
LEAVES = Finding("dangerous", "detached", "leaves a process behind")
BEYOND = Finding("dangerous", "hidden", "calls into the system's libraries")
OTHER_RIGHTS = Finding("dangerous", "other rights", "runs with other rights", outside=True)
REMOVES_ELSEWHERE = Finding("dangerous", "infrastructure", "deletes or stops things of a service", outside=True)


@dataclass(slots=True)
class Effects:
    """What has been found in a script so far.

    Attributes:
        classify: who judges the commands that do the same.
        cwd, roots: where the script runs, and what the session may change.
        is_proven: everything was known to be harmless until now.
        folder: where the script moved to; None while it has not.
    """

    classify: Classify
    cwd: Path | None = None
    roots: tuple[Path, ...] = ()
    is_proven: bool = True
    folder: str | None = None
    found: list[Finding] = field(default_factory=list)
    _commands: set[str] = field(default_factory=set)

    def add(self, finding: Finding) -> None:
        """Note a finding."""
        self.found.append(finding)

    def doubt(self) -> None:
        """Note something that is not proven harmless."""
        self.is_proven = False

    def runs(self, command: str, at_least: Finding | None = None) -> None:
        """Note that a shell runs `command`. A part that is not known may be anything there."""
        self.is_proven = False
        if UNKNOWN in command:
            self.add(at_least or HIDDEN)
            self._judge(command)
            return
        self._note(command, at_least)

    def starts(self, arguments: Iterable[str], at_least: Finding | None = None) -> None:
        """Note that a program is started without a shell: an unknown part is part of one word."""
        words = tuple(arguments)
        self.is_proven = False
        if not words or words[0].startswith(UNKNOWN):
            self.add(at_least or HIDDEN)
            return
        self._note(command_of(words), at_least)

    def feeds(self, command: str) -> None:
        """Note that what the script prints goes into a command: a shell would run it."""
        self.runs(f"cat | {command}")

    def does(self, template: str, *values: str, at_least: Finding | None = None) -> None:
        """Note an effect that is that of a shell command; `{0}` in it is the first value, quoted."""
        self.is_proven = False
        self._note(template.format(*(_quoted(value) for value in (*values, *[UNKNOWN] * 3))), at_least)

    def reads(self, path: str) -> None:
        """Note that a file's content is looked at."""
        if UNKNOWN in path:
            self.is_proven = False
            if why_sensitive(Path(path.replace("\0", ""))):
                self.add(SHOWS_SECRETS)
            return
        if self._judge(self._placed(f"cat -- {_quoted(path)}")) != "safe":
            self.is_proven = False

    def writes(self, path: str) -> None:
        """Note that a file is written; one that is not known is left to the sandbox."""
        self.is_proven = False
        if path.startswith(UNKNOWN) and not why_sensitive_to_write(Path(path.replace("\0", ""))):
            return
        if path:
            self._judge(self._placed(f"printf x > {_quoted(path)}"))

    def of_another(self) -> Effects:
        """Those of another script in the same place: none yet."""
        return Effects(self.classify, self.cwd, self.roots)

    @property
    def verdict(self) -> ScriptVerdict:
        """What follows from all that was found."""
        return verdict_of(self.found, is_proven=self.is_proven)

    def _note(self, command: str, at_least: Finding | None) -> None:
        # The floor of the effect first: the command may say it better, never less.
        if self._judge(self._placed(command)) not in {"dangerous", "forbidden"} and at_least is not None:
            self.add(at_least)

    def _placed(self, command: str) -> str:
        return command if self.folder is None else f"cd -- {_quoted(self.folder)} && {command}"

    def _judge(self, command: str) -> str:
        command = _UNKNOWN_PARTS.sub(UNKNOWN, command)
        is_too_much = len(self._commands) >= _MAX_COMMANDS or len(command) > _MAX_CHARS
        if is_too_much and command not in self._commands:
            self.add(TOO_MUCH)
            return "dangerous"
        self._commands.add(command)
        found = self.classify(command, self.cwd, self.roots)
        if found.level in {"dangerous", "forbidden"}:
            strongest: Strong = "forbidden" if found.level == "forbidden" else "dangerous"
            self.found.extend(found.findings or (Finding(strongest, "inline script", found.why),))
        return found.level


def command_of(words: Iterable[str]) -> str:
    """The text of a command made of these words, each quoted."""
    return " ".join(_quoted(word) for word in words)


def _quoted(value: str) -> str:
    return shlex.quote(value.replace("\0", ""))
