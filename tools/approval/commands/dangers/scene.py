"""The words of a call, where its paths lead, and what nobody can do without."""

from __future__ import annotations

import fnmatch
import os
import posixpath
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Literal

from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation
from tools.approval.persistence_paths import run_later
from tools.approval.sensitive import why_sensitive
from tools.light_dataclass import dataclass

# Words: the options and operands of a call, as the usual programs sort them.

_ABBREVIATED = 5  # `--rec` may stand for `--recursive`; shorter ones are more often something else


@dataclass(frozen=True, slots=True)
class Words:
    """The arguments of a program, sorted.

    Attributes:
        operands: what is no option, nor an option's value.
        options: by name with its dashes, in order; the value is an empty text where there is none.
    """

    operands: tuple[Argument, ...]
    options: tuple[tuple[str, Argument], ...]

    def has(self, *names: str) -> bool:
        """Whether one of the options is there; long ones may be written shorter."""
        return any(_is_named(given, names) for given, _ in self.options)

    def values(self, *names: str) -> tuple[Argument, ...]:
        """What these options are given, in order."""
        return tuple(value for given, value in self.options if value.text and _is_named(given, names))

    @property
    def plain(self) -> tuple[str, ...]:
        """The operands' texts."""
        return tuple(operand.text for operand in self.operands)


def sort_words(
    arguments: Iterable[Argument],
    with_value: str = "",
    long_with_value: Collection[str] = (),
    optional: str = "",
    numbers: str = "",
    *,
    is_led: bool = False,
) -> Words:
    """Sort `arguments`.

    Args:
        with_value: the letters whose value follows, in the same argument or the next.
        long_with_value: the options of more than one letter whose value may be the next argument, with their dashes.
        optional: the letters whose value may only follow in the same argument.
        numbers: those of which that is a number: other letters may follow it.
        is_led: what follows the first operand belongs to that, as with interpreters.
    """
    operands: list[Argument] = []
    options: list[tuple[str, Argument]] = []
    rest = iter(arguments)
    for argument in rest:
        text = argument.text
        if text in {"", "-"} or text[0] != "-":
            operands.append(argument)
            operands.extend(rest if is_led else ())
        elif text == "--":
            operands.extend(rest)
        elif text.startswith("--") or text in long_with_value:
            name, equals, value = text.partition("=")
            takes_next = not equals and name in long_with_value
            options.append((name, next(rest, Argument("")) if takes_next else Argument(value)))
        else:
            options.extend(_letters(text[1:], with_value, optional, numbers, rest))
    return Words(tuple(operands), tuple(options))


def listed(text: str) -> tuple[str, ...]:
    """The words of a table."""
    return tuple(text.split())


def texts(arguments: Iterable[Argument]) -> tuple[str, ...]:
    """The arguments as text, `UNKNOWN` in them where nobody knows."""
    return tuple(argument.text for argument in arguments)


def shown(text: str) -> str:
    """A text for a person: unknown parts as `…`, long ones cut in the middle, as a path's name is at its end."""
    plain = text.replace(UNKNOWN, "…")
    return plain if len(plain) <= 60 else f"{plain[:20]}…{plain[-37:]}"  # noqa: PLR2004 - fits a line of a card


def _letters(
    cluster: str, with_value: str, optional: str, numbers: str, rest: Iterable[Argument]
) -> list[tuple[str, Argument]]:
    if numbers:
        cluster = re.sub(rf"([{numbers}])(?:[0-7]+|x[0-9a-fA-F]+)", r"\1", cluster)
    found: list[tuple[str, Argument]] = []
    for place, letter in enumerate(cluster):
        value = cluster[place + 1 :]
        if letter in optional:
            return [*found, (f"-{letter}", Argument(value))]
        if letter in with_value:
            taken = Argument(value.removeprefix("=")) if value else next(iter(rest), Argument(""))
            return [*found, (f"-{letter}", taken)]
        found.append((f"-{letter}", Argument("")))
    return found


def _is_named(given: str, names: Collection[str]) -> bool:
    if given in names:
        return True
    return len(given) >= _ABBREVIATED and any(name.startswith(given) for name in names if name.startswith("--"))


# Places: where a path leads. Text alone, no disk.

Kind = Literal[
    "nothing", "disk", "device", "network", "own", "sensitive", "startup", "inside", "temporary", "system", "outside",
    "unknown",
]  # fmt: skip
"""What is at a place. «inside» is below the roots and nothing special; «unknown» is anywhere."""

SYSTEM_FOLDERS = listed("""
    bin boot dev etc home lib lib32 lib64 libx32 opt proc root run sbin srv sys usr var mnt media snap nix Users
    System Library Applications private Volumes cores
""")
_SYSTEM = re.compile(
    r"/(?:bin|boot|dev|etc|lib\w*|opt|proc|root|run|sbin|srv|sys|usr|var|snap|nix|System|Library"
    r"|Applications|private)(?:/|$)",
    re.IGNORECASE,
)
_TEMPORARY = re.compile(r"(?:/private)?(?:/tmp|/var/tmp|/var/folders/[^/]+/[^/]+|/dev/shm)(?:/|$)", re.IGNORECASE)
_STREAMS = re.compile(r"/dev/(?:null|zero|full|stdin|stdout|stderr|tty|fd/\d+)|/proc/self/fd/[012]")
_DISK = re.compile(
    r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk|dm-|md\d|loop|mapper/|sr\d|zd\d|sg\d|ram\d|mtd|nbd|by-|mem|kmem|port"
    r"|disk/|block/|pmem|root\b)"
)
_NETWORK = re.compile(r"/dev/(?:tcp|udp)/")
_HOME = re.compile(r"/home/[^/]+|/Users/[^/]+|/root|/var/root", re.IGNORECASE)
_OWN = re.compile(r"(?:^|/)\.hermes(?:/|$)", re.IGNORECASE)
OTHER_MACHINES = frozenset(listed("ssh autossh slogin rsh mosh pssh parallel-ssh prsh pdsh clush dsh mussh"))
"""Programs that run a command on other machines, one or many."""
_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a command runs.

    Attributes:
        roots: what the session may change, absolute and without a slash at the end.
        home: the person's own directory.
        own: our directory, "" where it is below `.hermes` as usual.
        is_placed: whether anybody said where the command runs; `roots` is made up otherwise.
    """

    roots: tuple[str, ...]
    home: str
    own: str = ""
    is_placed: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads. `path` is normal and absolute as far as it is known; `why` follows "which".

    Attributes:
        is_run_later: others run it later.
    """

    kind: Kind
    path: str
    why: str = ""
    is_run_later: bool = False

    @property
    def shown(self) -> str:
        """For a person to read."""
        return shown(self.path)


def is_on_a_machine(call: Invocation) -> bool:
    """Whether `call` runs on a whole machine, this one or another, and not in a container."""
    return not call.elsewhere or not OTHER_MACHINES.isdisjoint(call.via)


def full_path(text: str, cwd: str | None) -> str:
    """`text` as a normal path, absolute where that can be told; it starts with `UNKNOWN` where it cannot."""
    text = text.removeprefix("file://")
    if text.startswith("~"):
        name, slash, rest = text[1:].partition("/")
        text = f"/home/{name}{slash}{rest}" if name else f"{os.path.expanduser('~')}{slash}{rest}"  # noqa: PTH111
    if text.startswith(UNKNOWN):
        return text
    path = posixpath.normpath(posixpath.join(UNKNOWN if cwd is None else cwd, text))
    return path[1:] if path.startswith("//") else path


def is_below(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or inside it."""
    return path == folder or path.startswith("/" if folder == "/" else f"{folder}/")


def is_home(path: str, scene: Scene) -> bool:
    """Whether a whole home directory is at `path`: the person's own, or anybody's."""
    return path == scene.home or _HOME.fullmatch(path) is not None


def place_of(argument: Argument, cwd: str | None, scene: Scene) -> Place:
    """What a program that writes to `argument` would write to."""
    path = full_path(argument.text, cwd)
    if _STREAMS.fullmatch(path):
        return Place("nothing", path)
    if _NETWORK.match(path):
        return Place("network", path)
    if path.startswith("/dev/") and not _TEMPORARY.match(path):
        return Place("disk" if _DISK.match(path) else "device", path)
    if is_own(path, scene):
        return Place("own", path)
    named = Path(path.replace("\0", ""))
    runs = run_later(named)
    if why := why_sensitive(named):
        is_started = runs is not None and not runs.is_read and _is_elsewhere(path, scene)
        return Place("startup" if is_started else "sensitive", path, why, "/.git" in path)
    if runs is not None:
        return Place("startup" if _is_elsewhere(path, scene) else "sensitive", path, runs.why, is_run_later=True)
    # Behind a `cd` that nobody can follow a relative path is as good as one in the directory.
    is_followed = cwd is not None or argument.text.startswith(("/", "~", UNKNOWN))
    return Place(_plain_kind(path, scene) if is_followed else "inside", path)


def _plain_kind(path: str, scene: Scene) -> Kind:
    if any(is_below(path, root) for root in scene.roots):
        return "inside"
    if _TEMPORARY.match(path):
        return "temporary"
    if path.startswith(UNKNOWN):
        return "unknown" if path == UNKNOWN else "inside"
    return "system" if _SYSTEM.match(path) or path == "/" else "outside"


def is_own(path: str, scene: Scene) -> bool:
    """Whether our settings or sessions are there."""
    return bool(_OWN.search(path)) or (bool(scene.own) and is_below(path, scene.own))


def _is_elsewhere(path: str, scene: Scene) -> bool:
    return not (_TEMPORARY.match(path) or any(is_below(path, root) for root in scene.roots))


def has_glob(argument: Argument) -> bool:
    """Whether the shell makes names of it that are not written."""
    return argument.expands and _GLOB.search(argument.text) is not None


# What a machine or a person has nothing left without, however it is spelled.

_SECOND_LEVEL = listed("""
    /usr/bin /usr/sbin /usr/lib /usr/lib64 /usr/libexec /usr/local /usr/share /usr/include /var/lib /var/log
    /var/www /var/spool /var/backups /etc/ssh /etc/systemd /etc/pam.d /boot/efi /boot/grub /lib/modules /lib/systemd
    /usr/local/bin /usr/local/lib /System/Library
""")
_KEPT = frozenset({"/", *(f"/{name}" for name in SYSTEM_FOLDERS), *_SECOND_LEVEL})
_FOLDED = frozenset(path.casefold() for path in _KEPT)
_BROAD = re.compile(r"[.*?\[\]!^{},]*[*?\]][.*?\[\]!^{},]*")
_TEMPORARY_FOLDERS = frozenset({"/tmp", "/var/tmp", "/private/tmp"})  # noqa: S108 - names, not used


def why_essential(argument: Argument, cwd: str | None, scene: Scene) -> str:
    """What would be gone with everything that `argument` names («the root directory»); '' for anything else."""
    path = full_path(argument.text, cwd)
    if path.startswith(UNKNOWN):
        return ""
    if not has_glob(argument):
        return _essential(path, scene)
    folder, name = posixpath.split(path)
    if not re.search(r"[*?\[]", folder) and _BROAD.fullmatch(name):
        return _essential(folder, scene)
    return next((_named(kept) for kept in sorted(_KEPT) if _matches(kept, path)), "")


def why_may_be_essential(argument: Argument) -> bool:
    """Whether nothing but an unknown part keeps `argument` from naming the root: `"$DIR"/*` where `DIR` is empty."""
    if UNKNOWN not in argument.text:
        return False
    rest = full_path(argument.text.replace(UNKNOWN, ""), None)
    return full_path(rest.partition("*")[0], None).casefold() in _FOLDED


def _essential(path: str, scene: Scene) -> str:
    if is_home(path, scene):
        return "a whole home directory"
    if path.casefold() in _FOLDED:
        return _named(path)
    return (
        "the directory that holds the home" if is_below(scene.home, path) and path not in _TEMPORARY_FOLDERS else ""
    )


def _matches(kept: str, pattern: str) -> bool:
    parts, wanted = kept.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(
        fnmatch.fnmatchcase(part, want) for part, want in zip(parts, wanted, strict=True)
    )


def _named(path: str) -> str:
    return "the root directory" if path == "/" else f"the system directory {path}"
