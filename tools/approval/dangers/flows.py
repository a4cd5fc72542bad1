"""What several programs of one command do together: fetched and then run, found and then deleted, written and run."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from tools.approval.dangers.credentials import PROGRAMS_WITHOUT_CONTENT, names_secrets
from tools.approval.dangers.deletion import DELETERS, finds_essential
from tools.approval.dangers.essential import why_essential
from tools.approval.dangers.finding import Finding
from tools.approval.dangers.places import Scene, full_path, is_below, is_on_a_machine, place_of
from tools.approval.dangers.targets import sources_and_target, unpacked_into, written_by
from tools.approval.dangers.words import sort_words, texts
from tools.approval.dangers.written_scripts import WRITES, copies_of, started_by
from tools.bash.reading import UNKNOWN, Argument, Invocation, Reading

_FETCHERS = frozenset({
    "curl", "wget", "wget2", "aria2c", "http", "https", "xh", "axel", "fetch", "lynx", "scp", "sftp", "nc",
    "ncat", "ftp", "aws", "gsutil", "rclone", "lwp-request", "curlie",
})  # fmt: skip
_FINDERS = frozenset({"find", "gfind", "bfs", "fd", "fdfind", "ls", "locate", "rg", "grep", "git", "tree"})
_COPIERS = frozenset({"mv", "cp", "install", "ln"})
_PROGRAMS = re.compile(r"(?:/usr)?(?:/local)?/s?bin/[^/]+")
_PACKED = re.compile(r"\.(?:gz|xz|bz2|zst|lz4|lzma|br|Z|gpg|asc|b64|age|enc)$")
_MAX_PIPE = 5


def judge_flows(reading: Reading, scene: Scene) -> Iterator[Finding]:
    """What the programs of a command do together."""
    yield from _fetched_and_run(reading)
    yield from _found_and_deleted(reading, scene)
    yield from _found_and_shown(reading, scene)
    yield from _through_links(reading, scene)


def _fetched_and_run(reading: Reading) -> Iterator[Finding]:
    files: set[str] = set()
    folders: set[str] = set()
    renamed: set[str] = set()
    unpacked: set[str] = set()  # where nobody named a directory for what was fetched
    for call in reading.invocations:
        started = started_by(call)
        if any(
            path in files
            or any(is_below(path, folder) for folder in folders)
            or any(_is_new(path, folder, call) for folder in unpacked)
            for path in started
        ):
            yield Finding("dangerous", "remote code", "runs code that comes from elsewhere")
            return
        if not renamed.isdisjoint(started):
            yield Finding("dangerous", "hidden", "runs a program under another name")
            return
        files.update(_fetched(call))
        if named := files.intersection(full_path(one.text, call.cwd) for one in call.arguments):
            files.update(_made_of(named, call))
        if call.program in _COPIERS:
            files.update([copy for _, copy in copies_of(call, files.__contains__)])
            renamed.update(copy for _, copy in copies_of(call, lambda path: _PROGRAMS.fullmatch(path) is not None))
        if call.program == "git" and "clone" in texts(call.arguments):
            folders.update(full_path(one.text, call.cwd) for one in written_by(call))
        elif (folder := unpacked_into(call)) is not None and _is_of(files, call):
            (folders if folder != "." else unpacked).add(full_path(folder, call.cwd))


def _made_of(fetched: set[str], call: Invocation) -> Iterator[str]:
    """What `call` makes of fetched files: `gunzip -c x.gz > x`, `gunzip x.gz`, `openssl … -out x`."""
    targets = [one.target for one in call.redirections if one.operator in WRITES]
    if call.program not in _COPIERS:
        targets.extend(written_by(call))
    yield from (full_path(one.text, call.cwd) for one in targets)
    yield from (_PACKED.sub("", path) for path in fetched)


def _is_new(started: str, folder: str, call: Invocation) -> bool:
    """Whether what is started may come from an archive that was unpacked right there, and not from the project."""
    return is_below(started, folder) and (posixpath.dirname(started) != folder or "/" in call.written)


def _is_of(files: set[str], call: Invocation) -> bool:
    """Whether `call` gets something that was fetched, by name or through a pipe."""
    named = {full_path(one.text, call.cwd) for one in call.arguments}
    return bool(files & named) or _fetcher_of(call) is not None


def _fetched(call: Invocation) -> Iterator[str]:
    if _fetcher_of(call) is None:
        return
    targets = [one.target for one in call.redirections if one.operator in WRITES]
    targets.extend(written_by(call))
    yield from (full_path(one.text, call.cwd) for one in targets)


def _fetcher_of(call: Invocation) -> Invocation | None:
    """What fetches the text that `call` gets or prints, itself or before it in its pipe."""
    source: Invocation | None = call
    for _ in range(_MAX_PIPE):
        if source is None or source.program in _FETCHERS:
            return source
        source = source.input.source
    return None


def _found_and_deleted(reading: Reading, scene: Scene) -> Iterator[Finding]:
    deletes = [
        call for call in reading.invocations
        if call.program in DELETERS and is_on_a_machine(call)
    ]  # fmt: skip
    if gone := _lists_and_deletes(reading, deletes, scene):
        yield Finding("forbidden", "deletion", f"deletes {gone}")
        return
    finders = [call for call in reading.invocations if call.program in {"find", "gfind", "bfs", "fd", "fdfind"}]
    for finder in finders if any(call.adds_unknown for call in deletes) else ():
        if gone := finds_essential(finder, scene):
            yield Finding("forbidden", "deletion", f"deletes {gone}")
            return


def _lists_and_deletes(reading: Reading, deletes: list[Invocation], scene: Scene) -> str:
    """What essential directory is listed, and each name in it deleted: `ls / | xargs -I{} rm -rf /{}`."""
    for lister in reading.invocations:
        if lister.program not in {"ls", "find", "dir"}:
            continue
        deleted = {path for call in deletes for path in _deleted_by_name(call, lister)}
        for start in sort_words(lister.arguments).operands or (Argument("."),):
            each = full_path(posixpath.join(start.text, UNKNOWN), lister.cwd)
            gone = why_essential(start, lister.cwd, scene)
            if gone and not deleted.isdisjoint((each, f"{each}*", f"{each}/*")):
                return gone
    return ""


def _deleted_by_name(call: Invocation, lister: Invocation) -> Iterator[str]:
    """The paths that `call` deletes, where each name that it does not know comes from `lister`."""
    yield from (full_path(one.text, call.cwd) for one in call.arguments)
    is_bare = call.adds_unknown or UNKNOWN in texts(call.arguments)
    # The names alone are those of `ls`; `find` puts its directory before each.
    if is_bare and "xargs" in call.via and call.input.source == lister and lister.program != "find":
        yield full_path(f"./{UNKNOWN}", call.cwd)


def _through_links(reading: Reading, scene: Scene) -> Iterator[Finding]:
    """A file elsewhere that is written through a link which the same command makes."""
    links: dict[str, Argument] = {}
    for call in reading.invocations:
        targets = [one.target for one in call.redirections if one.operator in WRITES]
        if call.program in {"ln", "gln"}:
            sources, target = sources_and_target(call)
            goal = full_path(target.text, call.cwd)
            for source in sources:
                links[posixpath.join(goal, posixpath.basename(source.text))] = source
                if goal != call.cwd:
                    links[goal] = source
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
