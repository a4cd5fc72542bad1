"""Which paths a program writes to, by its arguments."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping

from tools.approval.dangers.words import Words, sort_words
from tools.bash.reading import UNKNOWN, Argument, Invocation

_HERE = Argument(".")

# The options of a program whose values are written to: letters that take values, then those that are targets.
_OPTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "sort": ("okStT", ("-o", "--output")),
    "shuf": ("no", ("-o", "--output")),
    "curl": (
        "oDcKduAHXFTebmwxyYzEUCrtPQh",
        ("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar", "--stderr", "--trace", "--trace-ascii",
         "--output-dir", "--libcurl", "--etag-save", "--hsts", "--alt-svc"),
    ),
    "wget": ("OoaPUtTiQewlBDRAIX", ("-O", "--output-document", "-P", "--directory-prefix", "-o", "-a",
    "--output-file",
                                    "--append-output", "--save-cookies", "--warc-file")),
    "aria2c": ("od", ("-o", "-d", "--dir", "--out")),
    "unzip": ("dx", ("-d",)),
    "patch": ("pidDoBrYzFg", ("-d", "-o", "-r", "--directory", "--output", "--reject-file")),
    "gcc": ("oILlDxTe", ("-o",)), "cc": ("oILlDxTe", ("-o",)), "clang": ("oILlDxTe", ("-o",)),
    "g++": ("oILlDxTe", ("-o",)), "go": ("o", ("-o",)), "pandoc": ("otfr", ("-o", "--output")),
    "openssl": ("", ("-out", "-keyout")), "ssh-keygen": ("fbtCNPOI", ("-f",)),
    "xxd": ("", ()), "uniq": ("fsw", ()), "split": ("abClnt", ()), "csplit": ("bfn", ("-f",)),
    **dict.fromkeys(("pip", "pip3"), ("trcied", ("-t", "--target", "--prefix", "--root", "-d", "--dest", "--src"))),
    "7z": ("o", ("-o",)), "7za": ("o", ("-o",)), "gpg": ("our", ("-o", "--output")), "strace": ("oeps", ("-o",)),
    "awk": ("Fvf", ()), "mktemp": ("pt", ("-p", "--tmpdir")), "tree": ("oLPI", ("-o",)), "jq": ("", ()),
    "script": ("cEtTBIO", ()), "cpio": ("DFOI", ("-D", "--directory", "-O", "-F")), "base64": ("wio", ("-o",)),
    "age": ("orRi", ("-o", "--output")), "protoc": ("I", ("-o",)), "tcpdump": ("wirc", ("-w",)),
}  # fmt: skip
_LONG_VALUES = (
    "--output", "--output-document", "--output-dir", "--dump-header", "--cookie-jar", "--directory-prefix",
    "--directory", "--target-directory", "--target", "--suffix", "--out", "--dir", "--outfile", "--output-file",
    "--mode", "--owner", "--group", "--file", "--reference", "--prefix", "--root", "--dest", "--stderr", "--trace",
    "--trace-ascii", "--libcurl", "--header", "--data", "--request", "--user", "--append-output", "--key",
    "-out", "-keyout", "-in", "-inkey", "-subj", "-newkey", "--exclude", "--include", "--rsh", "--filter",
)  # fmt: skip
_ANY_OUTPUT = (
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
_COPIES: Mapping[str, str] = {"cp": "tS", "gcp": "tS", "mv": "tS", "gmv": "tS", "install": "tSmog",
    "ginstall": "tSmog",
                              "ln": "tS", "gln": "tS", "ditto": "", "rsync": "efMB", "scp": "iPFoclS"}  # fmt: skip
_PACKERS = frozenset({"gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "lz4", "compress",
    "uncompress",
                      "lzma", "brotli"})  # fmt: skip
_EVERY_OPERAND = frozenset({"tee", "touch", "mkdir", "mkfifo", "sponge", "truncate", "fallocate", "nano", "vi",
    "vim", "nvim",
                            "ed", "ex", "emacs", "pico", "micro", "code", "crudini", "mkdirhier", "gtee", "dos2unix",
                            "unix2dos", "visudo", "subl", "rename"})  # fmt: skip
_TAR = frozenset({"tar", "bsdtar", "gtar"})
_SED_VALUES = "efl"


def written_by(call: Invocation) -> Iterator[Argument]:
    """The paths that `call` would write to, as far as its arguments say so; its redirections left out."""
    program = call.program.casefold()
    special = _SPECIAL.get(program)
    if special is not None:
        yield from special(call)
    elif program in _EVERY_OPERAND:
        yield from sort_words(call.arguments, "mtdrsp" if program in {"touch", "mkdir", "truncate"} else "").operands
    elif program in _COPIES:
        yield from _copied(call, _COPIES[program])
    elif program in _PACKERS:
        yield from _packed(call)
    elif program in _TAR:
        yield from _archived(call)
    elif program in _OPTIONS:
        letters, names = _OPTIONS[program]
        words = sort_words(call.arguments, letters, _LONG_VALUES)
        yield from words.values(*names)
    else:
        yield from sort_words(call.arguments, "", _ANY_OUTPUT).values(*_ANY_OUTPUT)


def _copied(call: Invocation, letters: str) -> Iterator[Argument]:
    words = sort_words(call.arguments, letters, _LONG_VALUES)
    given = words.values("-t", "--target-directory")
    sources, target = (
        (words.operands, given[-1])
        if given
        else (words.operands[:-1], words.operands[-1] if words.operands else _HERE)
    )
    if not given and len(words.operands) < 2:  # noqa: PLR2004 - `ln -s x` makes ./x
        sources, target = words.operands, _HERE
    if words.has("-d", "--directory") and call.program.endswith("install"):
        yield from words.operands
        return
    if ":" in target.text.split("/", 1)[0]:
        return
    yield target
    for source in sources:
        name = posixpath.basename(source.text.rstrip("/"))
        if name and name not in {".", ".."} and UNKNOWN not in name:
            yield Argument(posixpath.join(target.text, name))


def _packed(call: Invocation) -> Iterator[Argument]:
    words = sort_words(call.arguments, "So", ("--suffix", "--output"), "T")
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
        yield from words.values("-f", "--file")


def unpacked_into(call: Invocation) -> str | None:
    """The directory that `call` unpacks an archive into, `.` where none is named; None where it unpacks nothing."""
    match call.program.casefold():
        case "tar" | "bsdtar" | "gtar":
            words = tar_words(call)
            folders = words.values("-C", "--directory") if words.has("-x", "--extract", "--get") else None
        case "unzip" | "unar":
            words = sort_words(call.arguments, "dxPo", ("-d", "--output-directory"))
            folders = words.values("-d", "-o", "--output-directory")
        case "7z" | "7za" | "7zr" | "7zz":
            words = sort_words(call.arguments, "o", ("-o",))
            folders = words.values("-o") if words.plain[:1] in (("x",), ("e",)) else None
        case "cpio":
            words = sort_words(call.arguments, "DFOI", ("--directory",))
            folders = words.values("-D", "--directory") if words.has("-i", "--extract") else None
        case "unrar":
            words = sort_words(call.arguments)
            folders = words.operands[2:3] if words.plain[:1] in (("x",), ("e",)) else None
        case _:
            folders = None
    if folders is None:
        return None
    return folders[0].text if folders else "."


def tar_words(call: Invocation) -> Words:
    """The arguments of a tar, whose first word may be options without a dash."""
    arguments = list(call.arguments)
    if arguments and re.fullmatch(r"[A-Za-z]+", arguments[0].text):
        arguments[0] = Argument(f"-{arguments[0].text}")
        # Old style: the values follow all the letters, and only `f` is of interest.
        letters = arguments[0].text
        if "f" in letters and not letters.endswith("f"):
            arguments[0] = Argument(letters.replace("f", "") + "f")
    return sort_words(
        arguments, "fCTXbIFgKLNVH",
        ("--file", "--directory", "--files-from", "--exclude", "--use-compress-program", "--to-command",
        "--transform"),
    )  # fmt: skip


def _in_place(call: Invocation) -> Iterator[Argument]:
    words = sort_words(call.arguments, _SED_VALUES, ("--expression", "--file", "--line-length"), "i")
    if not words.has("-i", "--in-place"):
        return
    has_script = words.has("-e", "--expression", "-f", "--file")
    yield from words.operands if has_script else words.operands[1:]


def _perl(call: Invocation) -> Iterator[Argument]:
    words = sort_words(call.arguments, "eEMmI", (), "iFx", "0l")
    if words.has("-i"):
        yield from words.operands if words.has("-e", "-E") else words.operands[1:]


def _dd(call: Invocation) -> Iterator[Argument]:
    yield from (Argument(one.text[3:], one.expands) for one in call.arguments if one.text.startswith("of="))


def _curl(call: Invocation) -> Iterator[Argument]:
    letters, names = _OPTIONS["curl"]
    words = sort_words(call.arguments, letters, _LONG_VALUES)
    yield from words.values(*names)
    if words.has("-O", "--remote-name", "--remote-name-all"):
        yield from (Argument(posixpath.basename(url)) for url in words.plain if posixpath.basename(url))


def _wget(call: Invocation) -> Iterator[Argument]:
    letters, names = _OPTIONS["wget"]
    words = sort_words(call.arguments, letters, _LONG_VALUES)
    yield from (value for value in words.values(*names) if value.text != "-")


def _second(call: Invocation) -> Iterator[Argument]:
    letters, names = _OPTIONS.get(call.program, ("", ()))
    words = sort_words(call.arguments, letters, _LONG_VALUES)
    yield from words.operands[1:2]
    yield from words.values(*names)


def _git(call: Invocation) -> Iterator[Argument]:
    words = sort_words(
        call.arguments, "CcObo", ("--output", "--output-directory", "--git-dir", "--work-tree", "--branch")
    )
    yield from words.values("--output", "--output-directory")
    match words.plain[:1]:
        case ("clone",):
            yield from words.operands[2:3]
        case ("archive",) | ("format-patch",):
            yield from words.values("-o")
        case ("init",):
            yield from (one for one in words.operands[1:2])
        case ("bundle",) | ("worktree",):
            yield from words.operands[2:3]
        case _:
            return


def _yq(call: Invocation) -> Iterator[Argument]:
    words = sort_words(call.arguments)
    if words.has("-i", "--inplace", "--in-place"):
        yield from words.operands[1:]


def _cmake(call: Invocation) -> Iterator[Argument]:
    given = call.arguments
    if [one.text for one in given[:1]] != ["-E"]:
        return
    match given[1].text if len(given) > 1 else "":
        case "copy" | "copy_directory" | "rename" | "copy_if_different" | "create_symlink" | "create_hardlink":
            yield given[-1]
        case "touch" | "touch_nocreate" | "make_directory" | "rm" | "remove" | "remove_directory":
            yield from (one for one in given[2:] if not one.text.startswith("-"))
        case _:
            return


def _find(call: Invocation) -> Iterator[Argument]:
    for test, value in itertools.pairwise(call.arguments):
        if test.text in {"-fprint", "-fprintf", "-fls", "-fprint0"}:
            yield value


def _last(call: Invocation) -> Iterator[Argument]:
    yield from sort_words(call.arguments).operands[-1:]


def _zip(call: Invocation) -> Iterator[Argument]:
    yield from sort_words(call.arguments, "bnPtxi").operands[:1]


_SPECIAL: Mapping[str, Callable[[Invocation], Iterator[Argument]]] = {
    "sed": _in_place, "gsed": _in_place, "perl": _perl, "ruby": _perl, "dd": _dd, "gdd": _dd, "curl": _curl,
    "wget": _wget,
    "find": _find, "gfind": _find, "uniq": _second, "split": _second, "git": _git, "yq": _yq, "cmake": _cmake,
    "xxd": _second, "ffmpeg": _last,
    "convert": _last, "magick": _last, "zip": _zip, "unrar": _last,
}  # fmt: skip
