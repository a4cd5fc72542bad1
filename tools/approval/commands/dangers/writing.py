"""Which paths programs write, and what harm that does."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation
from tools.approval.commands.classes import Family, Finding
from tools.approval.commands.dangers.scene import Kind, Place, Scene, Words, listed, place_of, sort_words, texts
from tools.approval.commands.dangers.table import options_with_values

# The tables: options and words that say where to write.

_ANY_OUTPUT = listed("--output --outfile --output-file --out --output-dir --outdir --out-dir --dest --target-dir")
_LONG_VALUES = listed("""
    --output --output-document --output-dir --dump-header --cookie-jar --directory-prefix --directory
    --target-directory --target --suffix --out --dir --outfile --output-file --mode --owner --group --file
    --reference --prefix --root --dest --stderr --trace --trace-ascii --size --date --libcurl --header --data
    --request --user --append-output --key -out -keyout -in -inkey -subj -newkey --exclude --include --rsh --filter
""")
"""Of any program below the longer options whose value may be the next argument."""

# Of each program the letters whose value may be the next argument (`-` for none), then what it writes to: the values
# of options, and `all` operands, the `first`, the `last`, or the `rest` behind the first.
_TARGETS = options_with_values(r"""
    sort             okStT   -o --output
    shuf             no      -o --output
    curl curlie      oDcKduAHXFTebmwxyYzEUCrtPQh  -D --dump-header -c --cookie-jar --stderr --trace --trace-ascii \
                     --libcurl --etag-save --hsts --alt-svc
    wget wget2       OoaPUtTiQewlBDRAIX  -O --output-document -P --directory-prefix -o -a --output-file \
                     --append-output --save-cookies --warc-file
    aria2c           odixsjkl  -d --dir -l --log
    axel             onsUHS  -o --output
    http https xh xhs  oaAps  -o --output
    unzip            dx      -d
    patch            pidDoBrYzFg  first -d -o -r --directory --output --reject-file
    gcc cc clang g++  oILlDxTe  -o
    go               o       -o
    pandoc           otfr    -o --output
    openssl          -       -out -keyout
    ssh-keygen       fbtCNPOI  -f
    csplit           bfn     -f
    pip pip3         trcied  -t --target --prefix --root -d --dest --src
    7z 7za           o       -o
    gpg              our     -o --output
    strace           oeps    -o
    mktemp           pt      -p --tmpdir
    tree             oLPI    -o
    cpio             DFOI    -D --directory -O -F
    base64           wio     -o
    age              orRi    -o --output
    protoc           I       -o
    tcpdump          wirc    -w
    find gfind       -       -fprint -fprintf -fls -fprint0
    script           cEmoTBIO  first -B -I -O -T --log-io --log-in --log-out --log-timing
    zip              bnPtxi  first
    uniq             fsw     rest
    split            abClnt  rest
    xxd ddrescue dd_rescue  -  rest
    ffmpeg convert magick unrar  -  last
    touch            tdr     all
    mkdir            m       all
    truncate         sr      all
    tee gtee mkfifo sponge fallocate nano vi vim nvim ed ex emacs pico micro code crudini mkdirhier dos2unix \
    unix2dos visudo subl rename  -    all
    awk              Fvf
    jq               -
""")  # fmt: skip
_OPERANDS = {"all": slice(None), "first": slice(1), "last": slice(-1, None), "rest": slice(1, None)}
_COPIES: Mapping[str, str] = {
    **dict.fromkeys(("cp", "gcp", "mv", "gmv", "ln", "gln"), "tS"),
    **dict.fromkeys(("install", "ginstall"), "tSmog"),
    **dict.fromkeys(("ditto", "rclone", "robocopy", "mirror"), ""),
    "rsync": "efMB",
    "scp": "iPFoclS",
}
_PACKERS = frozenset(listed("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 compress uncompress lzma brotli"))
_PACKER_VALUES = "So", ("--suffix", "--output")
_TARS = frozenset({"tar", "bsdtar", "gtar"})
_TAR_LETTERS = "fCTXbIFgKLNVH"
_TAR_VALUES = listed("--file --directory --files-from --exclude --use-compress-program --to-command --transform")
_GIT_VALUES = (
    "CcObBoju",
    listed("""
        --output --output-directory --git-dir --work-tree --branch --depth --origin --config --reference
        --reference-if-able --jobs --shallow-since --shallow-exclude --template --separate-git-dir --upload-pack
        --initial-branch --filter --server-option --reason
    """),
)
# Of editors of streams the options with values, those with which they change files, and those that hold a script.
_SED = (
    ("efl", ("--expression", "--file", "--line-length")),
    ("-i", "--in-place"),
    ("-e", "--expression", "-f", "--file"),
)
_PERL = ("eEMmI", (), "iFx", "0l"), ("-i",), ("-e", "-E")
_YQ = (), ("-i", "--inplace", "--in-place"), ()
# The letters whose value follows, the options that name the directory, and what makes it unpack, where not all does.
_UNPACKERS: Mapping[str, tuple[str, tuple[str, ...], frozenset[str]]] = {
    **dict.fromkeys(_TARS, ("", ("-C", "--directory"), frozenset({"-x", "--extract", "--get"}))),
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
    if (special := _SPECIAL.get(program)) is not None:
        found = special(call)
    elif program in _COPIES:
        found = _copied(call)
    elif program in _PACKERS:
        found = _packed(call)
    elif program in _TARS:
        found = _archived(call)
    elif program in _TARGETS:
        found = _by_table(call)
    else:
        found = iter(sort_words(call.arguments, long_with_value=_ANY_OUTPUT).values(*_ANY_OUTPUT))
    yield from (one for one in found if one.text != "-")  # that is its output


def _by_table(call: Invocation) -> Iterator[Argument]:
    words, names = _sorted_options(call)
    for part in _OPERANDS.keys() & set(names):
        yield from words.operands[_OPERANDS[part]]
    yield from words.values(*names)


def _sorted_options(call: Invocation) -> tuple[Words, tuple[str, ...]]:
    """What `call` is given, and the options whose values it writes to."""
    letters, names = _TARGETS[call.program.casefold()]
    return sort_words(call.arguments, letters, (*_LONG_VALUES, *names)), names


def sources_and_target(call: Invocation) -> tuple[tuple[Argument, ...], Argument]:
    """What a program that copies, moves or links is given, and where to."""
    words = _copy_words(call)
    operands, given = words.operands, words.values("-t", "--target-directory")
    if given:
        return operands, given[-1]
    # `ln -s x` makes ./x
    return (operands[:-1], operands[-1]) if len(operands) > 1 else (operands, _HERE)


def _copy_words(call: Invocation) -> Words:
    return sort_words(call.arguments, _COPIES[call.program.casefold()], _LONG_VALUES)


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
    words = sort_words(call.arguments, *_PACKER_VALUES)
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
    program = call.program.casefold()
    if program not in _UNPACKERS:
        return None
    letters, names, signs = _UNPACKERS[program]
    words = tar_words(call) if program in _TARS else sort_words(call.arguments, letters, names)
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
        rest = [Argument("-" + re.sub(f"[{_TAR_LETTERS}]", "", bundle))]
        for letter in re.findall(f"[{_TAR_LETTERS}]", bundle):
            rest += [Argument(f"-{letter}"), *values[:1]]
            values = values[1:]
        rest += values
    return sort_words(rest, _TAR_LETTERS, _TAR_VALUES)


def _edited(call: Invocation) -> Iterator[Argument]:
    """The files that an editor of streams changes: its operands, but for a script that is the first of them."""
    program = call.program.casefold()
    values, in_place, scripts = _SED if program.endswith("sed") else _YQ if program == "yq" else _PERL
    words = sort_words(call.arguments, *values)
    if words.has(*in_place):
        yield from words.operands if words.has(*scripts) else words.operands[1:]


def _dd(call: Invocation) -> Iterator[Argument]:
    yield from (Argument(one.text[3:]) for one in call.arguments if one.text.startswith("of="))


def _curl(call: Invocation) -> Iterator[Argument]:
    words, names = _sorted_options(call)
    yield from words.values(*names)
    saved = [one for one in words.values("-o", "--output") if one.text != "-"]
    if words.has("-O", "--remote-name-all"):
        saved.extend(_named_by(words.plain))
    # `--output` is no abbreviation of it.
    folders = [value.text for name, value in words.options if name == "--output-dir"]
    for folder in folders or [""]:
        yield from (replace(one, text=posixpath.join(folder, one.text)) for one in saved)


def _wget(call: Invocation) -> Iterator[Argument]:
    words, names = _sorted_options(call)
    yield from words.values(*names)
    if not words.has("-O", "--output-document", "--spider"):
        yield from _named_by(words.plain, *texts(words.values("-P", "--directory-prefix")))


def _aria2c(call: Invocation) -> Iterator[Argument]:
    words, names = _sorted_options(call)
    yield from words.values(*names)
    yield from _named_by(texts(words.values("-o", "--out")) or words.plain, *texts(words.values("-d", "--dir")))


def _named_by(urls: Iterable[str], *folders: str) -> Iterator[Argument]:
    """The files that are named after the last part of addresses."""
    names = (posixpath.basename(url.partition("?")[0]) for url in urls)
    return (Argument(posixpath.join(*folders, name)) for name in names if name)


def _git(call: Invocation) -> Iterator[Argument]:
    words = sort_words(call.arguments, *_GIT_VALUES)
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


_CMAKE_COPIES = frozenset(listed("copy copy_directory rename copy_if_different create_symlink create_hardlink"))
_CMAKE_CHANGES = frozenset(listed("touch touch_nocreate make_directory rm remove remove_directory"))


def _cmake(call: Invocation) -> Iterator[Argument]:
    first, *verb = texts(call.arguments[:2]) or ("",)
    if first == "-E" and not _CMAKE_COPIES.isdisjoint(verb):
        yield call.arguments[-1]
    elif first == "-E" and not _CMAKE_CHANGES.isdisjoint(verb):
        yield from call.arguments[2:]


_SPECIAL: Mapping[str, Callable[[Invocation], Iterator[Argument]]] = {
    **dict.fromkeys(("sed", "gsed", "perl", "ruby", "yq"), _edited),
    **dict.fromkeys(("dd", "gdd", "dcfldd"), _dd),
    **dict.fromkeys(("curl", "curlie"), _curl),
    **dict.fromkeys(("wget", "wget2"), _wget),
    "aria2c": _aria2c,
    "git": _git,
    "cmake": _cmake,
}


# What must not be written: what other programs, the system or this agent live on.

_OUTPUTS = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_DESCRIPTOR = re.compile(r"\d+-?|-")
_DATABASE = re.compile(r"\.db(?:-wal|-shm|-journal)?$")
_NEEDS_A_NAME = frozenset(listed("tee cp mv install ln dd curl wget tar rsync"))
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
_OF_THIS_MACHINE = frozenset({"system", "outside", "startup"})
_COMPRESSORS = re.compile(r"(?:p?igz|gzip|bzip2|pbzip2|xz|pixz|zstd(?:mt)?|lz4|lzip|lzma|brotli)(?: -[\w-]+)*")
_TAR_RUNS = listed("--to-command --checkpoint-action --info-script --new-volume-script --rsh-command")


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
    if call.program.casefold() in _TARS:
        words = tar_words(call)
        runs = words.values("-I", "--use-compress-program")
        if words.values(*_TAR_RUNS) or any(not _COMPRESSORS.fullmatch(one.text) for one in runs):
            yield Finding("dangerous", "hidden", "runs a program for the files of an archive")
        if words.has("--remove-files"):
            yield Finding("dangerous", "deletion", "deletes the files that it packs")


def _on(target: Argument, call: Invocation, scene: Scene) -> Iterator[Finding]:
    place = place_of(target, call.cwd, scene)
    if call.elsewhere and place.kind in _OF_THIS_MACHINE:
        return  # in a container: not this machine's
    if (finding := _at(place)) is not None:
        yield finding


def _at(place: Place) -> Finding | None:
    if place.kind == "own" and _DATABASE.search(place.path):
        return Finding("forbidden", "our configuration", "writes over this agent's own database")
    if place.kind == "sensitive":
        family: Family = "persistence" if place.is_run_later else "credentials"
        return Finding("dangerous", family, f"writes {place.shown}, which {place.why}", place=place.path)
    found = _AT.get(place.kind)
    return found and replace(found, why=found.why.replace("{}", place.shown).replace("{why}", place.why))
