"""Writing to what other programs, the system or this agent live on, by redirection or by any program that writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tools.approval.dangers.finding import Family, Finding
from tools.approval.dangers.places import Kind, Place, Scene, place_of
from tools.approval.dangers.targets import tar_words, written_by
from tools.approval.dangers.words import sort_words, texts
from tools.bash.reading import UNKNOWN, Argument, Invocation

_OUTPUTS = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_DESCRIPTOR = re.compile(r"\d+-?|-")
_DATABASE = re.compile(r"\.db(?:-wal|-shm|-journal)?$")
_NEEDS_A_NAME = frozenset({"tee", "cp", "mv", "install", "ln", "dd", "curl", "wget", "tar", "rsync"})
_CONNECTS = Finding("dangerous", "exfiltration", "opens a connection to another machine", outside=True)
_AT: Mapping[Kind, Finding] = {
    "disk": Finding("forbidden", "device", "writes over a raw device"),
    "device": Finding("dangerous", "device", "writes to the device {}", outside=True),
    "network": _CONNECTS,
    "own": Finding("dangerous", "our configuration", "changes this agent's own settings", outside=True),
    "startup": Finding("dangerous", "persistence", "writes {}, which {why}", outside=True),
    "system": Finding("dangerous", "system files", "writes the system file {}", outside=True),
    "outside": Finding(
        "dangerous", "writing", "writes {}, which is outside of the session's directories", outside=True
    ),
    "unknown": Finding("dangerous", "writing", "writes a file whose name is not known"),
}
_EDITORS = re.compile(r"g?vim?|nvim|view|vimdiff|emacs(?:client)?|nano|pico|micro|joe|ed|ex|red")
_COMPRESSORS = re.compile(r"(?:p?igz|gzip|bzip2|pbzip2|xz|pixz|zstd(?:mt)?|lz4|lzip|lzma|brotli)(?: -[\w-]+)*")
_HELPS = frozenset({"--version", "--help"})
_OF_THIS_MACHINE = frozenset({"system", "outside", "startup"})
_TARS = frozenset({"tar", "bsdtar", "gtar"})
_SEARCHERS = frozenset({"rg", "ripgrep", "ag", "ack"})
_SEARCHERS_VALUES, _SEARCHERS_RUN = "gtTefmABCj", ("--pre", "--hostname-bin", "--pager")
_TAR_RUNS = ("--to-command", "--checkpoint-action", "--info-script", "--new-volume-script", "--rsh-command")


def judge_writing(call: Invocation, scene: Scene) -> Iterator[Finding]:
    """What `call` writes to, where that is more than an ordinary file inside."""
    for redirection in call.redirections:
        if redirection.operator in _OUTPUTS and not _DESCRIPTOR.fullmatch(redirection.target.text):
            yield from _on(redirection.target, call, scene)
        elif redirection.operator == "<" and place_of(redirection.target, None, scene).kind == "network":
            yield _CONNECTS
    for target in written_by(call):
        if target.text == UNKNOWN and call.program not in _NEEDS_A_NAME:
            continue  # `sed -i s/a/b/ $(git ls-files)`: the sandbox holds it
        yield from _on(target, call, scene)
    yield from _runs_or_writes_anything(call)


def _on(target: Argument, call: Invocation, scene: Scene) -> Iterator[Finding]:
    place = place_of(target, call.cwd, scene)
    if call.elsewhere and place.kind in _OF_THIS_MACHINE:
        return  # in a container: not this machine's
    finding = _at(place)
    if finding is not None:
        yield finding


def _at(place: Place) -> Finding | None:
    if place.kind == "own" and _DATABASE.search(place.path):
        return Finding("forbidden", "our configuration", "writes over this agent's own database")
    if place.kind == "sensitive":
        family: Family = "persistence" if place.is_run_later else "credentials"
        return Finding("dangerous", family, f"writes {place.shown}, which {place.why}", place=place.path)
    found = _AT.get(place.kind)
    if found is None:
        return None
    why = found.why.replace("{}", place.shown).replace("{why}", place.why)
    return replace(found, why=why)


def _runs_or_writes_anything(call: Invocation) -> Iterator[Finding]:
    program = call.program.casefold()
    if _EDITORS.fullmatch(program) and _HELPS.isdisjoint(texts(call.arguments)):
        yield Finding("dangerous", "writing", "opens a program that can run and write anything")
    elif program in _TARS:
        words = tar_words(call)
        runs = words.values("-I", "--use-compress-program")
        if words.values(*_TAR_RUNS) or any(not _COMPRESSORS.fullmatch(one.text) for one in runs):
            yield Finding("dangerous", "hidden", "runs a program for the files of an archive")
        if words.has("--remove-files"):
            yield Finding("dangerous", "deletion", "deletes the files that it packs")
    elif program in _SEARCHERS:
        words = sort_words(call.arguments, _SEARCHERS_VALUES, _SEARCHERS_RUN)
        if words.values(*_SEARCHERS_RUN):
            yield Finding("dangerous", "hidden", "runs a program for each file")
