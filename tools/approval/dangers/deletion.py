"""Deleting: files, directories, and what a find matches."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator

from tools.approval.dangers.essential import why_essential, why_may_be_essential
from tools.approval.dangers.finding import Finding
from tools.approval.dangers.places import Place, Scene, full_path, is_on_a_machine, place_of
from tools.approval.dangers.targets import sources_and_target
from tools.approval.dangers.words import shown, sort_words, texts
from tools.bash.reading import UNKNOWN, Argument, Invocation

DELETERS = {
    "rm": "",
    "grm": "",
    "rmdir": "",
    "unlink": "",
    "shred": "ns",
    "gshred": "ns",
    "srm": "",
    "wipe": "",
    "rimraf": "",
    "del-cli": "",
    "del": "",
    "trash": "",
    "trash-put": "",
    "gio": "",
    "truncate": "sr",
    "gtruncate": "sr",
    "rd": "",
    "erase": "",
    "bleachbit": "",
    "scrub": "",
    "remove-item": "",
}  # fmt: skip
_DEEP = frozenset({"rimraf", "srm", "rd", "del-cli"})
_DELETER_VALUES = ("--size", "--reference")
_EMPTYING = frozenset({"truncate", "gtruncate", "shred", "gshred", "wipe", "scrub"})
_REBUILT = frozenset({
    "node_modules", "dist", "build", "target", ".venv", "venv", "__pycache__", ".pytest_cache", ".mypy_cache",
    ".ruff_cache", ".tox", ".nox", "coverage", "htmlcov", ".coverage", ".next", ".nuxt", ".turbo",
    ".parcel-cache", ".cache", ".gradle", "out", ".svelte-kit", "bower_components", ".eggs", "*.egg-info",
    "*.pyc", ".nyc_output", "_build", ".terraform", "*.o", "*.pyo", ".DS_Store",
})  # fmt: skip
_NAMES = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex"})
_NOT = frozenset({"!", "-not"})
_NARROWING = frozenset({
    *_NAMES, "-newer", "-user", "-size", "-empty", "-mtime", "-mmin", "-perm", "-samefile", "-inum", "-ctime",
    "-atime",
})  # fmt: skip
_OTHERS = frozenset({*_NOT, "-o", "-or", ","})
# GNU's and BSD's, before where it begins to look.
_FIND_OPTIONS = re.compile(r"-[EHLPXdsx]+|-O\d*|-D")


def judge_deletion(call: Invocation, scene: Scene) -> Iterator[Finding]:
    """What `call` deletes."""
    program = call.program.casefold()
    if program in DELETERS:
        yield from _deleter(program, call, scene)
    elif program in {"find", "gfind", "bfs"}:
        yield from _find(call, scene)
    elif program in {"mv", "gmv"}:
        yield from _moved_away(call, scene)
    elif program in {"rsync", "rclone", "robocopy", "mirror"}:
        yield from _mirrored(call, scene)
    elif program in {"gpg", "gpg2"} and any(text.startswith("--delete") for text in texts(call.arguments)):
        yield Finding("dangerous", "deletion", "deletes keys", outside=True)
    elif program == "cmake":
        yield from _cmake(call, scene)


def _deleter(program: str, call: Invocation, scene: Scene) -> Iterator[Finding]:
    words = sort_words(call.arguments, DELETERS[program], _DELETER_VALUES)
    operands = words.operands
    if program == "gio":
        if words.plain[:1] != ("trash",):
            return
        operands = operands[1:]
    is_deep = program in _DEEP or words.has("-r", "-R", "--recursive")
    found = [_target(operand, call, scene, is_deep=is_deep) for operand in operands]
    if call.adds_unknown:
        found.append(Finding("dangerous", "deletion", "deletes files, and more than are named here"))
    # One that does not come back makes the whole command one that does not.
    yield from (finding for finding in found if not finding.undoable)
    yield from (finding for finding in found if finding.undoable and all(other.undoable for other in found))


def _cmake(call: Invocation, scene: Scene) -> Iterator[Finding]:
    given = texts(call.arguments[:2])
    if given[:1] == ("-E",) and given[1:] in (("rm",), ("remove",), ("remove_directory",)):
        rest = (one for one in call.arguments[2:] if not one.text.startswith("-"))
        yield from (_target(one, call, scene, is_deep=True) for one in rest)


def _target(argument: Argument, call: Invocation, scene: Scene, *, is_deep: bool) -> Finding:
    empties = call.program.casefold() in _EMPTYING
    verb = "empties" if empties else "deletes"
    if gone := why_essential(argument, call.cwd, scene):
        return _floor(f"{verb} {gone}", call)
    place = place_of(argument, call.cwd, scene)
    if place.kind == "disk":
        return Finding("forbidden", "device", "writes over a raw device")
    if place.kind == "own":
        return Finding(
            "dangerous", "our configuration", f"{verb} this agent's own settings or sessions", outside=True
        )
    if why_may_be_essential(argument):
        return Finding("dangerous", "deletion", f"{verb} everything from the root on where a variable is empty")
    if place.kind in {"system", "outside"}:
        why = f"{verb} {place.shown}, which is outside of the session's directories"
        return Finding("dangerous", "deletion", why, outside=True)
    if place.kind in {"sensitive", "startup"}:
        what = "the git history" if re.search(r"(?:^|/)\.git(?:/|$)", place.path) else place.shown
        return Finding("dangerous", "deletion", f"{verb} {what}")
    if place.path in scene.roots:
        return Finding("dangerous", "deletion", "deletes the whole directory that the session works in")
    if UNKNOWN in argument.text:
        return Finding("dangerous", "deletion", f"{verb} files that nobody can name beforehand")
    why = (
        "empties files" if empties else "deletes directories with all that is in them" if is_deep else "deletes files"
    )
    return Finding("dangerous", "deletion", why, undoable=not empties and _comes_back(place, scene))


def _comes_back(place: Place, scene: Scene) -> bool:
    root = next((root for root in scene.roots if place.path.startswith(f"{root}/")), None)
    if root is None:
        return False
    parts = place.path.removeprefix(root).split("/")
    return not _REBUILT.isdisjoint(parts) or parts[-1].endswith(".egg-info")


def _floor(why: str, call: Invocation) -> Finding:
    """What no mode lifts, but in a container, whose root is not the machine's."""
    if not is_on_a_machine(call):
        return Finding("dangerous", "deletion", f"{why} of a container", outside=True)
    return Finding("forbidden", "deletion", why)


def _find(call: Invocation, scene: Scene) -> Iterator[Finding]:
    given = texts(call.arguments)
    if "-delete" not in given:
        return
    if gone := finds_essential(call, scene):
        yield _floor(f"deletes {gone}", call)
        return
    places = [place_of(start, call.cwd, scene) for start in _find_starts(call)]
    if any(place.kind not in {"inside", "temporary"} for place in places):
        yield Finding(
            "dangerous", "deletion", "deletes what a find matches outside of the session's directories", outside=True
        )
        return
    names = _names(given)
    comes_back = bool(names) and all(posixpath.basename(name) in _REBUILT for name in names)
    yield Finding(
        "dangerous", "deletion", "deletes every file that it finds", undoable=comes_back and _OTHERS.isdisjoint(given)
    )


def finds_essential(call: Invocation, scene: Scene) -> str:
    """What would be gone with all that a find comes upon; '' where it looks for some files, and not from the root."""
    for start in _find_starts(call):
        gone = why_essential(start, call.cwd, scene)
        if gone and (full_path(start.text, call.cwd) == "/" or not _is_narrowed(texts(call.arguments))):
            return gone
    return ""


def _is_narrowed(given: tuple[str, ...]) -> bool:
    # All but what has a name is nearly everything.
    tests = [test for place, test in enumerate(given) if test not in _NAMES or given[place - 1] not in _NOT]
    return not _NARROWING.isdisjoint(tests) and "*" not in _names(given)


def _names(given: tuple[str, ...]) -> list[str]:
    return [value for test, value in itertools.pairwise(given) if test in {"-name", "-iname", "-path"}]


def _find_starts(call: Invocation) -> tuple[Argument, ...]:
    """Where a find begins to look; an fd has a pattern first, and nothing where it names no place."""
    arguments = call.arguments
    while arguments and _FIND_OPTIONS.fullmatch(arguments[0].text):
        arguments = arguments[1:]  # what follows `-D` is taken for a directory inside
    starts = tuple(itertools.takewhile(lambda one: not one.text.startswith(("-", "(", "!")), arguments))
    return starts if starts or call.program in {"fd", "fdfind"} else (Argument("."),)


def _moved_away(call: Invocation, scene: Scene) -> Iterator[Finding]:
    sources, target = sources_and_target(call)
    for source in sources:
        if gone := why_essential(source, call.cwd, scene):
            yield _floor(f"moves away {gone}", call)
            continue
        place = place_of(source, call.cwd, scene)
        if place.kind in {"system", "outside", "own", "sensitive", "startup"}:
            yield Finding("dangerous", "deletion", f"moves away {place.shown}", outside=place.kind != "sensitive")
    if target.text == "/dev/null":
        yield Finding("dangerous", "deletion", "moves files to nowhere")


def _mirrored(call: Invocation, scene: Scene) -> Iterator[Finding]:
    given = texts(call.arguments)
    if not any(text.startswith(("--del", "--remove-source", "/MIR", "/mir")) for text in given):
        return
    if any(text == "--dry-run" or re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", text) for text in given):
        return
    _, target = sources_and_target(call)
    if gone := why_essential(target, call.cwd, scene):
        yield _floor(f"deletes {gone}", call)
    yield Finding("dangerous", "deletion", f"deletes what is only in {shown(target.text)}")
