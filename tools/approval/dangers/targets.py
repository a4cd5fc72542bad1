"""Which paths a program writes to, by its arguments."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from tools.approval.dangers.target_tables import (
    ANY_OUTPUT,
    COPIES,
    EVERY_OPERAND,
    GIT_VALUES,
    LONG_VALUES,
    OPTIONS,
    PACKER_VALUES,
    PACKERS,
    PERL_VALUES,
    SED_VALUES,
    TAR,
    TAR_LETTERS,
    TAR_VALUES,
    UNPACKERS,
)
from tools.approval.dangers.words import Words, sort_words, texts
from tools.bash.reading import UNKNOWN, Argument, Invocation

_HERE = Argument(".")


def written_by(call: Invocation) -> Iterator[Argument]:
    """The paths that `call` would write to, as far as its arguments say so; its redirections left out."""
    program = call.program.casefold()
    special = _SPECIAL.get(program)
    if special is not None:
        yield from special(call)
    elif program in EVERY_OPERAND:
        yield from sort_words(call.arguments, EVERY_OPERAND[program], LONG_VALUES).operands
    elif program in COPIES:
        yield from _copied(call)
    elif program in PACKERS:
        yield from _packed(call)
    elif program in TAR:
        yield from _archived(call)
    elif program in OPTIONS:
        words, names = _sorted_options(call)
        yield from words.values(*names)
    else:
        yield from sort_words(call.arguments, long_with_value=ANY_OUTPUT).values(*ANY_OUTPUT)


def _sorted_options(call: Invocation) -> tuple[Words, tuple[str, ...]]:
    """What `call` is given, and the options whose values it writes to."""
    letters, names = OPTIONS[call.program.casefold()]
    return sort_words(call.arguments, letters, (*LONG_VALUES, *names)), names


def sources_and_target(call: Invocation) -> tuple[tuple[Argument, ...], Argument]:
    """What a program that copies, moves or links is given, and where to."""
    words = _copy_words(call)
    operands, given = words.operands, words.values("-t", "--target-directory")
    if given:
        return operands, given[-1]
    # `ln -s x` makes ./x
    return (operands[:-1], operands[-1]) if len(operands) > 1 else (operands, _HERE)


def _copy_words(call: Invocation) -> Words:
    return sort_words(call.arguments, COPIES[call.program.casefold()], LONG_VALUES)


def _copied(call: Invocation) -> Iterator[Argument]:
    words = _copy_words(call)
    if call.program.endswith("install") and words.has("-d", "--directory"):
        yield from words.operands
        return
    sources, target = sources_and_target(call)
    if ":" in target.text.partition("/")[0]:
        return
    yield target
    for source in sources:
        name = posixpath.basename(posixpath.normpath(source.text))
        if name != ".." and UNKNOWN not in name:
            yield Argument(posixpath.join(target.text, name))


def _packed(call: Invocation) -> Iterator[Argument]:
    words = sort_words(call.arguments, *PACKER_VALUES)
    if not words.has("-c", "--stdout", "-l", "--list", "-t", "--test"):
        yield from words.operands
    yield from words.values("-o", "--output")


def _archived(call: Invocation) -> Iterator[Argument]:
    words = tar_words(call)
    if words.has("-x", "--extract", "--get"):
        yield from words.values("-C", "--directory") or (_HERE,)
        if words.has("-P", "--absolute-names"):
            yield Argument(UNKNOWN)
    if words.has("-c", "--create", "-r", "--append", "-u", "--update", "-A", "--delete", "--concatenate"):
        yield from _no_stream(words.values("-f", "--file"))


def unpacked_into(call: Invocation) -> str | None:
    """The directory that `call` unpacks an archive into, `.` where none is named; None where it unpacks nothing."""
    program = call.program.casefold()
    if program not in UNPACKERS:
        return None
    letters, names, signs = UNPACKERS[program]
    words = tar_words(call) if program in TAR else sort_words(call.arguments, letters, names)
    if signs and not words.has(*signs) and signs.isdisjoint(words.plain):
        return None
    folders = words.operands[2:] if program == "unrar" else words.values(*names)
    return folders[0].text if folders else "."


def tar_words(call: Invocation) -> Words:
    """The arguments of a tar, whose first word may be options without a dash."""
    first, rest = texts(call.arguments[:1]), list(call.arguments)
    for bundle in filter(str.isalpha, first):
        # The values follow all the letters, in their order.
        values = rest[1:]
        rest = [Argument("-" + re.sub(f"[{TAR_LETTERS}]", "", bundle))]
        for letter in re.findall(f"[{TAR_LETTERS}]", bundle):
            rest += [Argument(f"-{letter}"), *values[:1]]
            values = values[1:]
        rest += values
    return sort_words(rest, TAR_LETTERS, TAR_VALUES)


def _in_place(call: Invocation) -> Iterator[Argument]:
    words = sort_words(call.arguments, SED_VALUES, ("--expression", "--file", "--line-length"))
    if not words.has("-i", "--in-place"):
        return
    has_script = words.has("-e", "--expression", "-f", "--file")
    yield from words.operands if has_script else words.operands[1:]


def _perl(call: Invocation) -> Iterator[Argument]:
    words = sort_words(call.arguments, *PERL_VALUES)
    if words.has("-i"):
        yield from words.operands if words.has("-e", "-E") else words.operands[1:]


def _dd(call: Invocation) -> Iterator[Argument]:
    yield from (Argument(one.text[3:]) for one in call.arguments if one.text.startswith("of="))


def _curl(call: Invocation) -> Iterator[Argument]:
    words, names = _sorted_options(call)
    yield from _no_stream(words.values(*names))
    saved = list(_no_stream(words.values("-o", "--output")))
    if words.has("-O", "--remote-name-all"):
        saved.extend(Argument(name) for url in words.plain if (name := _last_part(url)))
    # `--output` is no abbreviation of it.
    folders = [value.text for name, value in words.options if name == "--output-dir"]
    for folder in folders or [""]:
        yield from (replace(one, text=posixpath.join(folder, one.text)) for one in saved)


def _wget(call: Invocation) -> Iterator[Argument]:
    words, names = _sorted_options(call)
    yield from _no_stream(words.values(*names))
    if not words.has("-O", "--output-document", "--spider"):
        folders = texts(words.values("-P", "--directory-prefix"))
        yield from (Argument(posixpath.join(*folders, name)) for url in words.plain if (name := _last_part(url)))


def _aria2c(call: Invocation) -> Iterator[Argument]:
    words, names = _sorted_options(call)
    yield from words.values(*names)
    folders = texts(words.values("-d", "--dir"))
    saved = texts(words.values("-o", "--out")) or tuple(map(_last_part, words.plain))
    yield from (Argument(posixpath.join(*folders, name)) for name in saved)


def _no_stream(given: Iterable[Argument]) -> Iterator[Argument]:
    """The files among what these programs are given; `-` is their output."""
    return (one for one in given if one.text != "-")


def _last_part(url: str) -> str:
    return posixpath.basename(url.partition("?")[0])


def _second(call: Invocation) -> Iterator[Argument]:
    letters, _ = OPTIONS[call.program.casefold()]
    yield from sort_words(call.arguments, letters).operands[1:]


def _git(call: Invocation) -> Iterator[Argument]:
    words = sort_words(call.arguments, *GIT_VALUES)
    below = texts(words.values("-C"))
    yield from words.values("--output-directory")  # `--output` is short for it
    match words.plain:
        case (
            ("bundle", "create", path, *_)
            | ("worktree", "add" | "remove", path, *_)
            | ("worktree", "move", _, path, *_)
            | ("init", path, *_)
        ):
            yield Argument(posixpath.join(*below, path))
        case ("clone", url, *path):
            name = re.split("[/:]", posixpath.normpath(url))[-1].removesuffix(".git")
            yield Argument(posixpath.join(*below, *path[:1] or (name,)))
        case ("archive" | "format-patch", *_):
            yield from words.values("-o")


def _yq(call: Invocation) -> Iterator[Argument]:
    words = sort_words(call.arguments)
    if words.has("-i", "--inplace", "--in-place"):
        yield from words.operands[1:]


def _cmake(call: Invocation) -> Iterator[Argument]:
    given = call.arguments
    match texts(given[:2]):
        case (
            "-E",
            "copy" | "copy_directory" | "rename" | "copy_if_different" | "create_symlink" | "create_hardlink",
        ):
            yield given[-1]
        case ("-E", "touch" | "touch_nocreate" | "make_directory" | "rm" | "remove" | "remove_directory"):
            yield from given[2:]


def _rescued(call: Invocation) -> Iterator[Argument]:
    yield from call.arguments[1:]


def _find(call: Invocation) -> Iterator[Argument]:
    for test, value in itertools.pairwise(call.arguments):
        if test.text in {"-fprint", "-fprintf", "-fls", "-fprint0"}:
            yield value


def _script(call: Invocation) -> Iterator[Argument]:
    words, names = _sorted_options(call)
    yield from (*words.operands[:1], *words.values(*names))


def _last(call: Invocation) -> Iterator[Argument]:
    yield from sort_words(call.arguments).operands[-1:]


def _zip(call: Invocation) -> Iterator[Argument]:
    letters, _ = OPTIONS["zip"]
    yield from _no_stream(sort_words(call.arguments, letters).operands[:1])


_SPECIAL: Mapping[str, Callable[[Invocation], Iterator[Argument]]] = {
    "sed": _in_place,
    "gsed": _in_place,
    "perl": _perl,
    "ruby": _perl,
    "dd": _dd,
    "gdd": _dd,
    "dcfldd": _dd,
    "ddrescue": _rescued,
    "dd_rescue": _rescued,
    "curl": _curl,
    "curlie": _curl,
    "aria2c": _aria2c,
    "wget": _wget,
    "wget2": _wget,
    "script": _script,
    "find": _find,
    "gfind": _find,
    "uniq": _second,
    "split": _second,
    "git": _git,
    "yq": _yq,
    "cmake": _cmake,
    "xxd": _second,
    "ffmpeg": _last,
    "convert": _last,
    "magick": _last,
    "zip": _zip,
    "unrar": _last,
}  # fmt: skip
