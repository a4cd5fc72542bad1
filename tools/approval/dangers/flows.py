"""What several programs of one command do together: fetched and then run, found and then deleted, written and run."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tools.approval.dangers.credentials import PROGRAMS_WITHOUT_CONTENT, names_secrets
from tools.approval.dangers.deletion import DELETERS, find_starts, is_narrowed
from tools.approval.dangers.essential import why_essential
from tools.approval.dangers.finding import Finding
from tools.approval.dangers.hidden import SHELLS
from tools.approval.dangers.inline import language_of
from tools.approval.dangers.places import Scene, full_path, is_below, place_of
from tools.approval.dangers.targets import written_by
from tools.approval.dangers.words import sort_words, texts
from tools.bash.reading import UNKNOWN, Argument, Invocation, Reading

_FETCHERS = frozenset({
    "curl", "wget", "wget2", "aria2c", "http", "https", "xh", "axel", "fetch", "lynx", "scp", "sftp", "nc", "ncat",
    "ftp",
    "aws", "gsutil", "rclone", "lwp-request", "curlie",
})  # fmt: skip
_WRITES = frozenset({">", ">>", ">|", "&>"})
_FINDERS = frozenset({"find", "gfind", "bfs", "fd", "fdfind", "ls", "locate", "rg", "grep", "git", "tree"})
_PROGRAMS = re.compile(r"(?:/usr)?(?:/local)?/s?bin/[^/]+")
_MAX_PIPE = 5


@dataclass(frozen=True, slots=True)
class WrittenScript:
    """The text of a file that a command writes and then runs; `language` is «shell», or that of an interpreter."""

    language: str
    source: str


def judge_flows(reading: Reading, scene: Scene) -> Iterator[Finding]:
    """What the programs of a command do together."""
    yield from _fetched_and_run(reading)
    yield from _found_and_deleted(reading, scene)
    yield from _found_and_shown(reading, scene)
    yield from _through_links(reading, scene)


def scripts_written(reading: Reading) -> Iterator[WrittenScript]:
    """The scripts that a command writes itself, and then runs."""
    written: dict[str, str] = {}
    for call in reading.invocations:
        started = _started(call)
        if started in written:
            language = language_of(call.program) or "shell"
            source = written[started]
            if (shebang := re.match(r"#!\s*\S*?(?:env\s+(?:-S\s+)?)?([\w.]+)(?:\s|$)", source)) is not None:
                language = language_of(shebang[1]) or language
            yield WrittenScript(language, source)
        text = _printed(call)
        if text is None:
            continue
        targets = [one.target for one in call.redirections if one.operator in _WRITES]
        if call.program == "tee":
            targets.extend(written_by(call))
        for target in targets:
            path = full_path(target.text, call.cwd)
            written[path] = f"{written.get(path, '')}\n{text}".strip("\n")


def _printed(call: Invocation) -> str | None:
    """What `call` prints, as far as its arguments tell; None where that is nothing."""
    match call.program:
        case "cat" | "tee" if call.input.kind == "text":
            return call.input.text
        case "echo":
            words = [text for text in texts(call.arguments) if text not in {"-e", "-n", "-ne", "-en", "-E"}]
            return " ".join(words).replace("\\n", "\n")
        case "printf" if call.arguments:
            form, *values = texts(call.arguments)
            shown = form.replace("\\n", "\n")
            for value in values:
                shown = shown.replace("%s", value, 1) if "%s" in shown else f"{shown}\n{value}"
            return shown
        case _:
            return None


def _fetched_and_run(reading: Reading) -> Iterator[Finding]:
    files: set[str] = set()
    folders: set[str] = set()
    renamed: set[str] = set()
    for call in reading.invocations:
        started = _started(call)
        if started in files or (started and any(is_below(started, folder) for folder in folders)):
            yield Finding("dangerous", "remote code", "runs code that comes from elsewhere")
            return
        if started in renamed:
            yield Finding("dangerous", "hidden", "runs a program under another name")
            return
        files.update(_fetched(call))
        if call.program in {"mv", "cp", "install", "ln"}:
            files.update(_copies(call, lambda path: path in files))
            renamed.update(_copies(call, lambda path: _PROGRAMS.fullmatch(path) is not None))
        if call.program == "git" and texts(call.arguments[:1]) == ("clone",):
            folders.update(_cloned(call))


def _fetched(call: Invocation) -> Iterator[str]:
    source: Invocation | None = call
    for _ in range(_MAX_PIPE):
        if source is None or source.program in _FETCHERS:
            break
        source = source.input.source
    if source is None or source.program not in _FETCHERS:
        return
    targets = [one.target for one in call.redirections if one.operator in _WRITES]
    targets.extend(written_by(call))
    if call.program.startswith("wget") and not targets:
        targets.extend(Argument(_last_part(url.text)) for url in sort_words(call.arguments, "PTtUQ").operands)
    yield from (full_path(one.text, call.cwd) for one in targets if one.text and UNKNOWN not in one.text)


def _last_part(url: str) -> str:
    return posixpath.basename(url.split("?", 1)[0].rstrip("/"))


def _copies(call: Invocation, is_of_interest: Callable[[str], bool]) -> Iterator[str]:
    operands = sort_words(call.arguments, "mtS").operands
    for source in operands[:-1]:
        if is_of_interest(full_path(source.text, call.cwd)):
            yield full_path(operands[-1].text, call.cwd)
            yield full_path(posixpath.join(operands[-1].text, posixpath.basename(source.text)), call.cwd)


def _cloned(call: Invocation) -> Iterator[str]:
    operands = sort_words(
        call.arguments[1:], "bocj", ("--branch", "--depth", "--origin", "--config", "--reference")
    ).operands
    if operands:
        name = operands[1].text if len(operands) > 1 else re.sub(r"\.git$", "", _last_part(operands[0].text))
        yield full_path(name, call.cwd)


def _started(call: Invocation) -> str:
    """The file whose text `call` runs, as a full path; '' where it runs an installed program."""
    if "/" in call.written:
        return full_path(call.written, call.cwd)
    is_script = call.program in {"source", "."} or SHELLS.fullmatch(call.program)
    if is_script or language_of(call.program) not in {None, "sed", "awk"}:
        first = next((one.text for one in call.arguments if not one.text.startswith("-")), "")
        return full_path(first, call.cwd) if first else ""
    return ""


def _found_and_deleted(reading: Reading, scene: Scene) -> Iterator[Finding]:
    deletes = [
        call for call in reading.invocations
        if call.program in DELETERS and not call.elsewhere and (call.adds_unknown or "find" in call.via)
    ]  # fmt: skip
    every = [call for call in reading.invocations if call.program in DELETERS and not call.elsewhere]
    if gone := _lists_and_deletes(reading, every, scene):
        yield Finding("forbidden", "deletion", f"deletes {gone}")
        return
    finders = [call for call in reading.invocations if call.program in {"find", "gfind", "bfs", "fd", "fdfind"}]
    for finder in finders if deletes else ():
        for start in find_starts(finder):
            gone = why_essential(start, finder.cwd, scene)
            if gone and (not start.text.rstrip("/") or not is_narrowed(finder)):
                yield Finding("forbidden", "deletion", f"deletes {gone}")
                return


def _lists_and_deletes(reading: Reading, deletes: list[Invocation], scene: Scene) -> str:
    """What essential directory is listed, and each name in it deleted: `ls / | xargs -I{} rm -rf /{}`."""
    for lister in reading.invocations:
        if lister.program not in {"ls", "find", "dir"}:
            continue
        for start in sort_words(lister.arguments).operands:
            below = f"{start.text.rstrip('/')}/{UNKNOWN}"
            if (gone := why_essential(start, lister.cwd, scene)) and any(
                one.text.rstrip("/*") == below for call in deletes for one in call.arguments
            ):
                return gone
    return ""


def _through_links(reading: Reading, scene: Scene) -> Iterator[Finding]:
    """A file elsewhere that is written through a link which the same command makes."""
    links: dict[str, Argument] = {}
    for call in reading.invocations:
        targets = [one.target for one in call.redirections if one.operator in _WRITES]
        if call.program in {"ln", "gln"}:
            operands = sort_words(call.arguments, "tS", ("--target-directory", "--suffix")).operands
            for source in operands[:-1]:
                goal = full_path(operands[-1].text, call.cwd)
                links[goal] = links[posixpath.join(goal, posixpath.basename(source.text))] = source
        elif links:
            for target in (*targets, *written_by(call)):
                path = full_path(target.text, call.cwd)
                link = next((link for link in links if is_below(path, link)), None)
                if link is None:
                    continue
                place = place_of(Argument(links[link].text + path.removeprefix(link)), call.cwd, scene)
                if place.kind not in {"inside", "temporary", "nothing", "unknown"}:
                    yield Finding("dangerous", "writing", f"writes {place.shown} through a link", outside=True)


def _found_and_shown(reading: Reading, scene: Scene) -> Iterator[Finding]:
    """`find . -name .env | xargs cat`: the names are secret ones, and another program gets them."""
    readers = [
        call for call in reading.invocations
        if call.program not in PROGRAMS_WITHOUT_CONTENT and call.program not in _FINDERS
        and (call.adds_unknown or any(one.text.startswith(UNKNOWN) for one in call.arguments))
    ]  # fmt: skip
    for finder in reading.invocations if readers else ():
        if finder.program in _FINDERS and (why := names_secrets(finder, scene)):
            yield Finding("dangerous", "credentials", why)
            return
