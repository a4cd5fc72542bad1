"""Which paths programs write, and what harm that does."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation
from tools.approval.commands.classes import Family, Finding
from tools.approval.commands.dangers.scene import Kind, Place, Scene, Words, place_of, sort_words, texts

# The tables: options and words that say where to write.

# The options of a program whose values are written to: letters that take values, then those that are targets.
OPTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "sort": ("okStT", ("-o", "--output")),
    "shuf": ("no", ("-o", "--output")),
    **dict.fromkeys(
        ("curl", "curlie"),
        (
            "oDcKduAHXFTebmwxyYzEUCrtPQh",
            (
                "-D", "--dump-header", "-c", "--cookie-jar", "--stderr", "--trace", "--trace-ascii",
                "--libcurl", "--etag-save", "--hsts", "--alt-svc",
            ),
        ),
    ),
    **dict.fromkeys(
        ("wget", "wget2"),
        (
            "OoaPUtTiQewlBDRAIX",
            (
                "-O", "--output-document", "-P", "--directory-prefix", "-o", "-a", "--output-file",
                "--append-output", "--save-cookies", "--warc-file",
            ),
        ),
    ),
    "aria2c": ("odixsjkl", ("-d", "--dir", "-l", "--log")),
    "axel": ("onsUHS", ("-o", "--output")),
    **dict.fromkeys(("http", "https", "xh", "xhs"), ("oaAps", ("-o", "--output"))),
    "unzip": ("dx", ("-d",)),
    "patch": ("pidDoBrYzFg", ("-d", "-o", "-r", "--directory", "--output", "--reject-file")),
    "gcc": ("oILlDxTe", ("-o",)),
    "cc": ("oILlDxTe", ("-o",)),
    "clang": ("oILlDxTe", ("-o",)),
    "g++": ("oILlDxTe", ("-o",)),
    "go": ("o", ("-o",)),
    "pandoc": ("otfr", ("-o", "--output")),
    "openssl": ("", ("-out", "-keyout")),
    "ssh-keygen": ("fbtCNPOI", ("-f",)),
    "xxd": ("", ()),
    "uniq": ("fsw", ()),
    "split": ("abClnt", ()),
    "csplit": ("bfn", ("-f",)),
    **dict.fromkeys(
        ("pip", "pip3"),
        ("trcied", ("-t", "--target", "--prefix", "--root", "-d", "--dest", "--src")),
    ),
    "7z": ("o", ("-o",)),
    "7za": ("o", ("-o",)),
    "gpg": ("our", ("-o", "--output")),
    "strace": ("oeps", ("-o",)),
    "awk": ("Fvf", ()),
    "mktemp": ("pt", ("-p", "--tmpdir")),
    "tree": ("oLPI", ("-o",)),
    "jq": ("", ()),
    "script": ("cEmoTBIO", ("-B", "-I", "-O", "-T", "--log-io", "--log-in", "--log-out", "--log-timing")),
    "cpio": ("DFOI", ("-D", "--directory", "-O", "-F")),
    "base64": ("wio", ("-o",)),
    "age": ("orRi", ("-o", "--output")),
    "protoc": ("I", ("-o",)),
    "tcpdump": ("wirc", ("-w",)),
    "zip": ("bnPtxi", ()),
}  # fmt: skip
LONG_VALUES = (
    "--output", "--output-document", "--output-dir", "--dump-header", "--cookie-jar", "--directory-prefix",
    "--directory", "--target-directory", "--target", "--suffix", "--out", "--dir", "--outfile",
    "--output-file", "--mode", "--owner", "--group", "--file", "--reference", "--prefix", "--root", "--dest",
    "--stderr", "--trace", "--trace-ascii", "--size", "--date", "--libcurl", "--header", "--data",
    "--request", "--user", "--append-output", "--key", "-out", "-keyout", "-in", "-inkey", "-subj", "-newkey",
    "--exclude", "--include", "--rsh", "--filter",
)  # fmt: skip
ANY_OUTPUT = (
    "--output",
    "--outfile",
    "--output-file",
    "--out",
    "--output-dir",
    "--outdir",
    "--out-dir",
    "--dest",
    "--target-dir",
)
COPIES: Mapping[str, str] = {
    **dict.fromkeys(("cp", "gcp", "mv", "gmv", "ln", "gln"), "tS"),
    "install": "tSmog",
    "ginstall": "tSmog",
    "rsync": "efMB",
    "scp": "iPFoclS",
    **dict.fromkeys(("ditto", "rclone", "robocopy", "mirror"), ""),
}  # fmt: skip
PACKERS = frozenset({
    "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "lz4", "compress", "uncompress",
    "lzma", "brotli",
})  # fmt: skip
# Those that write to each of their operands, with the letters whose value is none.
EVERY_OPERAND: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "tee", "gtee", "mkfifo", "sponge", "fallocate", "nano", "vi", "vim", "nvim", "ed", "ex", "emacs",
            "pico", "micro", "code", "crudini", "mkdirhier", "dos2unix", "unix2dos", "visudo", "subl",
            "rename",
        ),
        "",
    ),
    "touch": "tdr",
    "mkdir": "m",
    "truncate": "sr",
}  # fmt: skip
TAR = frozenset({"tar", "bsdtar", "gtar"})
TAR_LETTERS = "fCTXbIFgKLNVH"
TAR_VALUES = (
    "--file", "--directory", "--files-from", "--exclude", "--use-compress-program", "--to-command",
    "--transform",
)  # fmt: skip
GIT_VALUES = (
    "CcObBoju",
    (
        "--output", "--output-directory", "--git-dir", "--work-tree", "--branch", "--depth", "--origin",
        "--config", "--reference", "--reference-if-able", "--jobs", "--shallow-since", "--shallow-exclude",
        "--template", "--separate-git-dir", "--upload-pack", "--initial-branch", "--filter",
        "--server-option", "--reason",
    ),
)  # fmt: skip
SED_VALUES = "efl"
PERL_VALUES = "eEMmI", (), "iFx", "0l"
PACKER_VALUES = "So", ("--suffix", "--output")
# The letters whose value follows, the options that name the directory, and what makes it unpack, where not all does.
UNPACKERS: Mapping[str, tuple[str, tuple[str, ...], frozenset[str]]] = {
    **dict.fromkeys(TAR, ("", ("-C", "--directory"), frozenset({"-x", "--extract", "--get"}))),
    "unzip": ("dxP", ("-d",), frozenset()),
    "unar": ("o", ("-o", "--output-directory"), frozenset()),
    **dict.fromkeys(("7z", "7za", "7zr", "7zz"), ("o", ("-o",), frozenset({"x", "e"}))),
    "cpio": ("DFOI", ("-D", "--directory"), frozenset({"-i", "--extract"})),
    "unrar": ("", (), frozenset({"x", "e"})),
}


# The paths that a program writes to.

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


# What must not be written: what other programs, the system or this agent live on.

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
