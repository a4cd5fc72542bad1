"""Which of the user's rules mean a command or a call of an MCP server, and which paths a refusal is about.

They read commands, which takes a while to load: imported with the first command.
"""

from __future__ import annotations

import functools
import glob
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tools.approval.actions import Action, CallMcpTool, ProcessInput, ReadPath, RunCommand, WriteMemory, WritePath
from tools.approval.commands import classify_command
from tools.approval.commands.bash.calls import OTHER_SHELLS, SHELLS
from tools.approval.commands.bash.interpreter import read_command
from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation, Reading, Redirection
from tools.approval.commands.harmless import is_harmless
from tools.approval.commands.scripts.inline import language_of
from tools.approval.rule_patterns import denies_host, denies_path, fits, may_fit
from tools.approval.rules import Hit, PermissionRule, RuleKind

# What a command names: the paths and the hosts among its words. A word may name a path in many ways: as it is, behind
# an option's letter or `=`, behind `HEAD:`, as a pattern that the shell expands, through a link. So the disk is
# looked at: a name that leads to what is denied means that.

_HOST = re.compile(r"(?:\A|//|@|:)(?:[^\s/@]*@)?(\[[0-9a-f:.]+\]|[a-z0-9-]+(?:\.[a-z0-9-]+)*)(:\d+)?", re.IGNORECASE)
_NETWORK_FILE = re.compile(r"/dev/(?:tcp|udp)/([^/]+)")
_QUOTED = re.compile(r"""'([^'\n]{1,300})'|"([^"\n]{1,300})\"""")
_FILE_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^/]*(/.*)", re.IGNORECASE)
_WILD = re.compile(r"[*?\[{]")
_MARKS = re.compile(r"[=:@]")
_MOST_EXPANDED = 2_000


def paths_named(invocation: Invocation, cwd: Path) -> Iterator[tuple[Path, bool]]:
    """The paths that a program is given, each with whether it is written to by a redirection. Looks at the disk.

    Each comes as it is written and, where links lead elsewhere, as it is.
    """
    base = Path(invocation.cwd) if invocation.cwd is not None else cwd
    for redirection in invocation.redirections:
        if not redirection.operator.endswith("&"):
            for path in _paths((redirection.target.text,), base, expands=redirection.target.expands):
                yield path, redirection.operator != "<"
    for argument in invocation.arguments:
        for path in _paths(_pieces(argument.text), base, expands=argument.expands):
            yield path, False
    for script in scripts_of(invocation):
        for found in _QUOTED.finditer(script):
            for path in _paths((found[1] or found[2],), base, expands=False):
                yield path, False


def places_read(invocation: Invocation, cwd: Path) -> Iterator[Path]:
    """What a program may be given to read, links resolved; of a pattern the directory that is looked through."""
    base = Path(invocation.cwd) if invocation.cwd is not None else cwd
    texts = [piece for argument in invocation.arguments for piece in _pieces(argument.text)]
    texts += [each.target.text for each in invocation.redirections if each.operator == "<"]
    texts += [found[1] or found[2] for script in scripts_of(invocation) for found in _QUOTED.finditer(script)]
    for text in dict.fromkeys(texts):
        known = text.partition(UNKNOWN)[0]
        fixed = _WILD.split(known, maxsplit=1)[0]
        place = fixed if fixed == text else fixed[: fixed.rfind("/") + 1]
        if place and "\0" not in place:
            yield Path(os.path.realpath(base / place))


def hosts_named(invocation: Invocation) -> Iterator[str]:
    """The hosts among a program's words, its variables and what is redirected, with a port where one is written."""
    for redirection in invocation.redirections:
        if found := _NETWORK_FILE.match(redirection.target.text):
            yield found[1]
    words = [argument.text for argument in invocation.arguments]
    words += [value.text for _, value in invocation.assignments]
    for piece in (piece for word in words for piece in _pieces(word)):
        # As the programs read an address: `%2e` is a dot, and a backslash ends a host for some.
        for text in {piece, unquote(piece).replace("\\", "/")}:
            yield from (found[1] + (found[2] or "") for found in _HOST.finditer(text))


def names_in(text: str, base: Path) -> Iterator[Path]:
    """The paths that a text may mean which no shell has read: as it is, as a pattern, in the home, as an address."""
    texts = [*_pieces(text)]
    if found := _FILE_ADDRESS.match(text):
        texts.append(found[1])
    yield from _paths(map(os.path.expanduser, texts), base, expands=True)


def scripts_of(invocation: Invocation) -> Iterator[str]:
    """The texts that a program may run as a script."""
    if _interprets(invocation.program):
        yield from (argument.text for argument in invocation.arguments)
        yield invocation.input.text


def _interprets(program: str) -> bool:
    """Whether it runs the text that it is given. sed's is hardly ever a command, and often has its words."""
    if program in SHELLS or program in OTHER_SHELLS or program in {"source", "."}:
        return True
    return language_of(program) not in {None, "sed"}


def _pieces(text: str) -> Iterator[str]:
    """What of a word may be a name: itself, and what stands behind an option's letter, `=`, `:` or `@`."""
    yield text
    if re.match(r"-[A-Za-z]", text):
        yield text[2:]
    yield from (text[mark.end() :] for mark in islice(_MARKS.finditer(text), 20))


def _paths(texts: Iterable[str], base: Path, *, expands: bool) -> Iterator[Path]:
    for text in dict.fromkeys(map(_as_far_as_known, texts)):
        if not text or "\0" in text:
            continue
        # `..` behind a link leads to where the link leads.
        yield from dict.fromkeys((Path(os.path.normpath(base / text)), Path(os.path.realpath(base / text))))
        if expands:
            for name in islice(_expanded(text, base), _MOST_EXPANDED):
                yield Path(os.path.normpath(base / name))
                yield Path(os.path.realpath(base / name))


def _expanded(text: str, base: Path) -> Iterator[str]:
    """The names that a pattern stands for."""
    place, unknown, _ = text.partition(UNKNOWN)
    # `Path.glob` takes no absolute patterns.
    names = glob.iglob(place, root_dir=base, recursive=True)  # noqa: PTH207
    return (f"{name}{UNKNOWN}" for name in names) if unknown else names


def _as_far_as_known(text: str) -> str:
    """A name with what nobody knows in it: some name in the directory that is known. `a/$X.txt` is in `a`."""
    known, unknown, _ = text.partition(UNKNOWN)
    return f"{known[: known.rfind('/') + 1]}{UNKNOWN}" if unknown else text


# Rules about commands. One that allows covers a command only if each of its programs is covered or proven to be
# harmless, and nothing is left that cannot be read. One that denies hits if a single program fits, also behind
# `sudo`, `env` or `sh -c`.

# They change nothing about what the program behind them does.
_SEE_THROUGH = frozenset({
    "env", "timeout", "time", "nice", "ionice", "stdbuf", "command", "builtin", "exec", "eval", "sh", "bash", "dash",
    "zsh", "xargs", "find",
})  # fmt: skip
_ALIAS = re.compile(r"(?:--config(?:-env)?=)?alias\.")
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "-"})
_MOST_SKIPPED = 200


def covers_command(rules: Sequence[PermissionRule], command: str, reading: Reading, roots: tuple[Path, ...]) -> bool:
    """Whether allowing rules of the kind `run` mean `command`.

    Args:
        reading: what the command was read as.
        roots: the session's directories with symbolic links resolved; elsewhere only the whole text of a rule counts.
    """
    text = command.strip()
    if any(rule.pattern == text for rule in rules):
        return True
    patterns = [rule.pattern for rule in rules if not rule.is_exact]
    if not patterns or reading.doubts or not reading.invocations:
        return False
    covered = [_is_covered(each, patterns, roots) for each in reading.invocations]
    return any(covered) and all(
        is_covered or is_harmless(each, classify_command, tuple(map(str, roots)))
        for is_covered, each in zip(covered, reading.invocations, strict=True)
    )


def denies_command(rule: PermissionRule, command: str, reading: Reading) -> bool:
    """Whether a denying rule of the kind `run` means `command`, or may mean it as far as can be known."""
    if may_fit(rule.pattern, " ".join(command.split())):
        return True
    if any(may_fit(rule.pattern, text) for each in reading.invocations for text in _spellings(each)):
        return True
    # A script may run what it spells out. Elsewhere such a text is only said or searched for.
    words = re.compile(r"\W+".join(map(re.escape, re.findall(r"\w+", rule.pattern))), re.IGNORECASE)
    return any(words.search(text) for each in reading.invocations for text in scripts_of(each) if words.pattern)


def may_rename(rule: PermissionRule, invocation: Invocation) -> bool:
    """Whether a program that `rule` denies is given a name of its own for something else: `git -c alias.p=push p`."""
    if not invocation.program or not may_fit(rule.pattern.split()[0], invocation.program):
        return False
    return any(_ALIAS.match(word) for word in _words(invocation))


def _is_covered(invocation: Invocation, patterns: Sequence[str], roots: tuple[Path, ...]) -> bool:
    if invocation.elsewhere or invocation.assignments or not _SEE_THROUGH.issuperset(invocation.via):
        return False
    if not all(map(_goes_nowhere, invocation.redirections)) or _is_fed(invocation):
        return False
    if not _is_inside(invocation.cwd, roots):
        return False
    # A program of another directory may be called like one that was meant.
    text = _joined(invocation.written, invocation)
    return any(fits(pattern, text) for pattern in patterns)


def _goes_nowhere(redirection: Redirection) -> bool:
    target = redirection.target
    return target.is_known and (
        target.text in _NOWHERE or (redirection.operator.endswith("&") and target.text.isdigit())
    )


def _is_fed(invocation: Invocation) -> bool:
    """Whether it runs what another program prints."""
    return invocation.input.kind in {"command", "unknown"} and _interprets(invocation.program)


def _is_inside(cwd: str | None, roots: tuple[Path, ...]) -> bool:
    if cwd is None:
        return False
    real = Path(os.path.realpath(cwd))
    return any(real == root or root in real.parents for root in roots)


def _spellings(invocation: Invocation) -> Iterator[str]:
    """The ways in which a person may have meant this program: by name or path, with its wrappers, without options."""
    if not invocation.written and not invocation.program:
        return
    for name in dict.fromkeys((invocation.program or UNKNOWN, invocation.written)):
        text = _joined(name, invocation)
        yield text
        for start in range(len(invocation.via)):
            yield " ".join((*invocation.via[start:], text))
        words = _words(invocation)
        # `git -C x push` is a push. How many words belong to the options before it nobody knows.
        for end in range(min(len(words), _MOST_SKIPPED)):
            skipped = words[:end]
            options = sum(word.startswith("-") for word in skipped)
            if words[0].startswith("-") and end - options <= options:
                yield " ".join((name, *words[end:]))
        if len(words) > _MOST_SKIPPED and words[0].startswith("-"):
            yield f"{name} {UNKNOWN}"


def _joined(name: str, invocation: Invocation) -> str:
    return " ".join((name, *_words(invocation), *([UNKNOWN] if invocation.adds_unknown else ())))


def _words(invocation: Invocation) -> list[str]:
    return [_word(argument) for argument in invocation.arguments]


def _word(argument: Argument) -> str:
    return UNKNOWN if argument.expands or argument.splits else argument.text


# Rules about commands, and about the paths and hosts that a command is given.

_ABOUT_COMMANDS: frozenset[RuleKind] = frozenset({"run", "host", "read", "write", "delete"})


def is_covered_by(rules: Sequence[PermissionRule], command: str, cwd: Path, roots: tuple[Path, ...]) -> bool:
    """Whether allowing rules of the kind `run` mean `command`, run in `cwd`.

    Args:
        roots: the session's directories with symbolic links resolved.
    """
    return covers_command(rules, command, read(command, cwd), roots)


def hit_of(command: str, cwd: Path, rules: Sequence[PermissionRule], roots: tuple[Path, ...]) -> Hit | None:
    """The first denying rule that means `command`, a sure one first; None where there is none.

    Args:
        roots: the session's directories with symbolic links resolved.
    """
    about = [rule for rule in rules if rule.kind in _ABOUT_COMMANDS]
    if not about:
        return None
    reading = read(command, cwd)
    for rule in about:
        if _is_denied(rule, command, reading, cwd, roots):
            return Hit(rule)
    runs = [rule for rule in about if rule.kind == "run"]
    # What runs unseen may be what is denied.
    if runs and reading.doubts:
        return Hit(runs[0], is_sure=False)
    renamed = (rule for rule in runs if any(may_rename(rule, each) for each in reading.invocations))
    found = next(renamed, None)
    return None if found is None else Hit(found, is_sure=False)


def looks_elsewhere(command: str, cwd: Path, roots: tuple[Path, ...]) -> bool:
    """Whether `command`, run in `cwd`, is given files that are not below `roots` to read, or works among some."""
    for invocation in read(command, cwd).invocations:
        place = Path(os.path.realpath(cwd if invocation.cwd is None else invocation.cwd))
        if _is_elsewhere(place, roots) and _holds_something(place):
            return True
        if any(_is_elsewhere(path, roots) for path in places_read(invocation, cwd)):
            return True
    return False


def _is_elsewhere(path: Path, roots: tuple[Path, ...]) -> bool:
    """Whether something is at the path that is not the session's. A lone slash is mostly no directory."""
    if any(path == root or root in path.parents for root in roots) or not path.name or path.parts[1:2] == ("dev",):
        return False
    return os.path.lexists(path)


def _holds_something(directory: Path) -> bool:
    try:
        return any(directory.iterdir())
    except OSError:
        return False


@functools.lru_cache(maxsize=256)
def read(command: str, cwd: Path) -> Reading:
    """As `read_command`; the latest readings are kept."""
    return read_command(command, cwd)


def _is_denied(rule: PermissionRule, command: str, reading: Reading, cwd: Path, roots: tuple[Path, ...]) -> bool:
    if rule.kind == "run":
        return denies_command(rule, command, reading)
    if rule.kind == "host":
        return any(denies_host(rule.pattern, host) for each in reading.invocations for host in hosts_named(each))
    return any(_touches(rule, each, cwd, roots) for each in reading.invocations)


def _touches(rule: PermissionRule, invocation: Invocation, cwd: Path, roots: tuple[Path, ...]) -> bool:
    """Whether a program is given a path that it must not read, or not change."""
    only_reads = rule.kind != "read" and is_harmless(invocation, classify_command, tuple(map(str, roots)))
    return any(
        (is_written or not only_reads) and denies_path(rule, path, roots)
        for path, is_written in paths_named(invocation, cwd)
    )


# Calls of an MCP server. It is no program of ours: neither a gate nor a sandbox stands between it and the files. So a
# text that names what must not be read is denied; one that names what must not be changed, or has such a name among
# other words, may be meant for something else and is asked about.

_KINDS: frozenset[RuleKind] = frozenset({"host", "read", "write", "delete"})
_CHANGES: frozenset[RuleKind] = frozenset({"write", "delete"})
_MOST_LINES, _MOST_WORDS, _LONGEST = 1_000, 500, 4_096
_HOST_IN_URL = re.compile(r"://(?:[^\s/@]*@)?(\[[0-9a-f:.]+\]|[^\s/:?#@]+)(:\d+)?", re.IGNORECASE)
# A bare word is a name where there is such a file; with one of these it may be of one that is to come.
_LIKE_A_NAME = re.compile(r"[/.~]")
_ANYTHING = "\0"  # a name that only a pattern for all names fits: who is given a directory looks below it
_AROUND = "'\"`()[]{}<>,;"


def mcp_hit_of(
    arguments: str, rules: Sequence[PermissionRule], roots: tuple[Path, ...], *, only_reads: bool
) -> Hit | None:
    """The first denying rule that means what a server is given, a sure one first; None where there is none.

    Args:
        arguments: JSON text.
        roots: the session's directories with symbolic links resolved.
        only_reads: it is asked for a resource.
    """
    about = [rule for rule in rules if rule.kind in _KINDS and not (only_reads and rule.kind in _CHANGES)]
    if not about:
        return None
    texts = list(islice(_lines_given(arguments), _MOST_LINES))
    for rule in about:
        if rule.kind not in _CHANGES and any(_means(rule, text, roots) for text in texts):
            return Hit(rule)
    for rule in about:
        if any(_means(rule, word, roots) for text in texts for word in _words_in(text)):
            return Hit(rule, is_sure=False)
    return None


def _lines_given(arguments: str) -> Iterator[str]:
    """Each line of each text in the arguments, of keys too, of the shortest text first: long ones are contents."""
    try:
        given = json.loads(arguments)
    except ValueError:
        given = arguments
    for text in sorted(_strings(given), key=len):
        yield from (line.strip() for line in text.splitlines() if line.strip())


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield str(key)
            yield from _strings(each)


def _words_in(text: str) -> Iterator[str]:
    yield text
    words = (word.strip(_AROUND) for word in text.split(maxsplit=_MOST_WORDS))
    yield from (word for word in words if word != text and _LIKE_A_NAME.search(word))


def _means(rule: PermissionRule, text: str, roots: tuple[Path, ...]) -> bool:
    readings = {text, unquote(text)}
    if rule.kind == "host":
        places = {place for reading in readings for place in _hosts(reading)}
        return any(denies_host(rule.pattern, place) for place in places)
    return any(
        # Unlike a path's own methods these raise for no name: a sentence may be too long for one.
        denies_path(rule, path / _ANYTHING if os.path.isdir(path) else path, roots)  # noqa: PTH112
        for reading in map(_shortened, readings)
        if len(reading) <= _LONGEST
        for root in roots
        for path in names_in(reading, root)
        if _LIKE_A_NAME.search(reading) or os.path.exists(path)  # noqa: PTH110
    )


def _shortened(text: str) -> str:
    """A long text may be a short name with much that means nothing: `././`."""
    return os.path.normpath(text) if len(text) > _LONGEST else text


def _hosts(text: str) -> Iterator[str]:
    if not re.search(r"\s|/", text):
        yield text
    yield from (found[1] + (found[2] or "") for found in _HOST_IN_URL.finditer(text.replace("\\", "/")))


# What a refused action named, and whether another would change that.

_ONLY_MOVES = frozenset({"cd", "pushd", "popd"})
_MOST_TEXTS = 200
_NO_FILES = frozenset(map(Path, ("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero")))


def paths_of(action: Action, cwd: Path) -> frozenset[Path]:
    """The paths that an action names: those it would change, and those among a command's words.

    Each comes as it is written and with its links resolved; of a name that is not known, the directory it is in.

    Args:
        cwd: where the relative names begin that a server is given.
    """
    return frozenset(_known(path) for path in _named(action, cwd) if not _is_no_file(path))


def changes_any(action: Action, refused: frozenset[Path], cwd: Path) -> bool:
    """Whether an action may change one of these paths, something below it or a directory that it is in."""
    if isinstance(action, ReadPath) or (isinstance(action, CallMcpTool) and action.only_reads):
        return False
    above = {parent for path in refused for parent in path.parents}
    return any(
        path in refused or path in above or not refused.isdisjoint(path.parents) for path in paths_of(action, cwd)
    )


def _is_no_file(path: Path) -> bool:
    """An option, or what output is thrown into: a no to the command says nothing of these."""
    return path.name.startswith("-") or path in _NO_FILES


def _named(action: Action, cwd: Path) -> Iterator[Path]:
    match action:
        case ReadPath(path=path) | WriteMemory(path=path):
            yield path
        case WritePath(path=path, shown=shown):
            yield from (path, shown)
        case RunCommand(command=command, cwd=base):
            yield from (path for change in action.changes for path in (change.path, change.shown))
            yield from _of_command(command, base)
        case ProcessInput(data=data, cwd=base):
            yield from _of_command(data, base)
        case CallMcpTool(arguments=arguments):
            for text in _texts_given(arguments):
                yield from names_in(text, cwd)


def _of_command(command: str, cwd: Path) -> Iterator[Path]:
    for invocation in read(command, cwd).invocations:
        if invocation.program not in _ONLY_MOVES:
            yield from (path for path, _ in paths_named(invocation, cwd))


def _known(path: Path) -> Path:
    parts = path.parts
    unknown = next((at for at, part in enumerate(parts) if UNKNOWN in part), len(parts))
    return Path(os.path.normpath(Path(*parts[:unknown])))


def _texts_given(arguments: str) -> list[str]:
    """The texts in a call's arguments, at whatever depth; the first of many."""
    try:
        waiting = [json.loads(arguments)]
    except (ValueError, RecursionError):
        return []
    found: list[str] = []
    while waiting and len(found) < _MOST_TEXTS:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return found
