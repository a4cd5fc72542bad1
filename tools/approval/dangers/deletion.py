"""Deleting: files, directories, and what a find matches."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from tools.approval.dangers.essential import why_essential, why_may_be_essential
from tools.approval.dangers.finding import Finding
from tools.approval.dangers.places import Place, Scene, is_on_a_machine, place_of
from tools.approval.dangers.words import Words, shown, sort_words, texts
from tools.bash.reading import UNKNOWN, Argument, Invocation

DELETERS = {
    "rm": "", "grm": "", "rmdir": "", "unlink": "", "shred": "ns", "gshred": "ns", "srm": "", "wipe": "",
    "rimraf": "",
    "del-cli": "", "del": "", "trash": "", "trash-put": "", "gio": "", "truncate": "sr", "gtruncate": "sr", "rd": "",
    "erase": "", "bleachbit": "", "scrub": "", "remove-item": "",
}  # fmt: skip
_EMPTYING = frozenset({"truncate", "gtruncate", "shred", "gshred", "wipe", "scrub"})
_REBUILT = frozenset({
    "node_modules", "dist", "build", "target", ".venv", "venv", "__pycache__", ".pytest_cache", ".mypy_cache",
    ".ruff_cache", ".tox", ".nox", "coverage", "htmlcov", ".coverage", ".next", ".nuxt", ".turbo", ".parcel-cache",
    ".cache", ".gradle", "out", ".svelte-kit", "bower_components", ".eggs", "*.egg-info", "*.pyc", ".nyc_output",
    "_build", ".terraform", "*.o", "*.pyo", ".DS_Store",
})  # fmt: skip
_FIND_ACTIONS = frozenset({"-delete"})
_NARROWING = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-newer", "-user",
    "-size",
                        "-empty", "-mtime", "-mmin", "-perm", "-samefile", "-inum", "-ctime", "-atime"})  # fmt: skip
_DELETING_WORDS = frozenset({"rm", "unlink", "shred", "rmdir", "truncate", "srm", "wipe"})


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
    elif program in {"fd", "fdfind"} and any(text in _DELETING_WORDS for text in texts(call.arguments)):
        yield Finding("dangerous", "deletion", "deletes every file that it finds")


def _deleter(program: str, call: Invocation, scene: Scene) -> Iterator[Finding]:
    words = sort_words(call.arguments, DELETERS[program], {"--size", "--reference"})
    if words.has("--help", "--version") or (program == "gio" and words.plain[:1] != ("trash",)):
        return
    operands = words.operands[1:] if program == "gio" else words.operands
    if not operands and not call.adds_unknown:
        return
    is_deep = program in {"rimraf", "srm", "wipe", "rd", "del-cli"} or words.has("-r", "-R", "--recursive")
    empties = program in _EMPTYING
    found = [_target(operand, call, scene, is_deep=is_deep, empties=empties) for operand in operands]
    if call.adds_unknown:
        found.append(Finding("dangerous", "deletion", _what(words, is_deep=is_deep)))
    # One that does not come back makes the whole command one that does not.
    yield from (finding for finding in found if not finding.undoable)
    yield from (finding for finding in found if finding.undoable and all(other.undoable for other in found))


def _cmake(call: Invocation, scene: Scene) -> Iterator[Finding]:
    given = texts(call.arguments[:2])
    if given[:1] == ("-E",) and given[1:] in (("rm",), ("remove",), ("remove_directory",)):
        rest = (one for one in call.arguments[2:] if not one.text.startswith("-"))
        yield from (_target(one, call, scene, is_deep=True, empties=False) for one in rest)


def _target(argument: Argument, call: Invocation, scene: Scene, *, is_deep: bool, empties: bool) -> Finding:
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
    return Finding("dangerous", "deletion", why, undoable=not empties and _comes_back(argument, place, scene))


def _comes_back(argument: Argument, place: Place, scene: Scene) -> bool:
    if place.kind != "inside" or (not scene.is_placed and argument.text.startswith("..")):
        return False
    below = next((place.path.removeprefix(root) for root in scene.roots if place.path.startswith(f"{root}/")), "")
    return any(part in _REBUILT for part in below.split("/")) or below.rsplit("/", 1)[-1].endswith(".egg-info")


def _floor(why: str, call: Invocation) -> Finding:
    """What no mode lifts, but in a container, whose root is not the machine's."""
    if not is_on_a_machine(call):
        return Finding("dangerous", "deletion", f"{why} of a container", outside=True)
    return Finding("forbidden", "deletion", why)


def _what(words: Words, *, is_deep: bool) -> str:
    if words.operands:
        return "deletes files, and more than are named here"
    return "deletes directories that are not named here" if is_deep else "deletes files that are not named here"


def _find(call: Invocation, scene: Scene) -> Iterator[Finding]:
    given = texts(call.arguments)
    deletes = "-delete" in given or _runs_deleter(given)
    if not deletes:
        return
    starts = find_starts(call)
    tests = given[len(starts) :]
    names = [value for test, value in itertools.pairwise(tests) if test in {"-name", "-iname", "-path"}]
    is_narrow = is_narrowed(call)
    for start in starts or (Argument("."),):
        gone = why_essential(start, call.cwd, scene)
        if gone and (not is_narrow or start.text.rstrip("/") == ""):
            yield _floor(f"deletes {gone}", call)
            return
    places = [place_of(start, call.cwd, scene) for start in starts or (Argument("."),)]
    if any(place.kind not in {"inside", "temporary"} for place in places):
        yield Finding(
            "dangerous", "deletion", "deletes what a find matches outside of the session's directories", outside=True
        )
        return
    comes_back = bool(names) and all(name.rstrip("/").rsplit("/", 1)[-1] in _REBUILT for name in names)
    yield Finding(
        "dangerous", "deletion", "deletes every file that it finds", undoable=comes_back and "-o" not in tests
    )


def is_narrowed(call: Invocation) -> bool:
    """Whether a find looks for some files only."""
    tests = texts(call.arguments)
    names = [value for test, value in itertools.pairwise(tests) if test in {"-name", "-iname", "-path"}]
    return any(test in _NARROWING for test in tests) and "*" not in names


def find_starts(call: Invocation) -> tuple[Argument, ...]:
    """Where a find begins to look."""
    arguments = call.arguments
    while arguments and arguments[0].text in {"-L", "-H", "-P"}:
        arguments = arguments[1:]
    place = next((index for index, one in enumerate(arguments) if one.text[:1] in {"-", "(", "!"}), len(arguments))
    return arguments[:place]


def _runs_deleter(given: tuple[str, ...]) -> bool:
    runs = [index for index, text in enumerate(given) if text in {"-exec", "-execdir", "-ok", "-okdir"}]
    return any(
        text.rsplit("/", 1)[-1] in _DELETING_WORDS or re.search(r"(?:^|[\s;&|])(?:rm|unlink|shred)\s", text)
        for index in runs
        for text in given[index + 1 :]
    )


def _moved_away(call: Invocation, scene: Scene) -> Iterator[Finding]:
    words = sort_words(call.arguments, "tS", {"--target-directory", "--suffix"})
    sources = words.operands if words.has("-t", "--target-directory") else words.operands[:-1]
    for source in sources:
        if gone := why_essential(source, call.cwd, scene):
            yield _floor(f"moves away {gone}", call)
            continue
        place = place_of(source, call.cwd, scene)
        if place.kind in {"system", "outside", "own", "sensitive", "startup"}:
            yield Finding("dangerous", "deletion", f"moves away {place.shown}", outside=place.kind != "sensitive")
    if words.plain and words.plain[-1] == "/dev/null":
        yield Finding("dangerous", "deletion", "moves files to nowhere")


def _mirrored(call: Invocation, scene: Scene) -> Iterator[Finding]:
    given = texts(call.arguments)
    if not any(text.startswith(("--del", "--remove-source", "/MIR", "/mir")) for text in given):
        return
    if any(text == "--dry-run" or re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", text) for text in given):
        return
    words = sort_words(call.arguments, "ef", {"--exclude", "--include", "--rsh", "--filter"})
    target = words.operands[-1] if words.operands else Argument("")
    if gone := why_essential(target, call.cwd, scene):
        yield _floor(f"deletes {gone}", call)
    yield Finding("dangerous", "deletion", f"deletes what is only in {shown(target.text)}")
