"""Whether one invocation is proven harmless: it changes nothing, reaches nobody and reveals no secret.

Whoever is not known to be harmless is not. A wrong "yes" would run something nobody was asked about; after a wrong
"no" the sandbox contains it, or the person is asked.

Taken for harmless all the same: searches below an ordinary directory (`grep -r`) and links that lead to a secret,
which are looked at when the command runs where no sandbox hides secrets; variables of the child's environment, which
holds no keys; and programs on `PATH`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tools.approval.commands.bash.reading import Invocation, Redirection
from tools.approval.commands.classes import Classify
from tools.approval.commands.harmless_forms import (
    Call,
    Check,
    Only,
    Starting,
    always,
    bare,
    call_of,
    forms,
    may_be_given,
)
from tools.approval.commands.harmless_programs import (
    awk,
    date,
    declares,
    diff,
    find,
    ip,
    is_harmless_git,
    is_harmless_name,
    jq,
    lsof,
    printenv,
    printf,
    ps,
    reads,
    sed,
    sets,
    shopts,
    sleep,
    ss,
    strings,
    tar,
    tests,
    unsets,
    xxd,
    yq,
)

# The programs whose forms were proved: the options of each, and what its operands are.
# An option is listed only if it changes nothing, runs nothing, reaches nobody and reads no file but those that are
# checked. What GNU's programs and those of macOS understand differently was looked at for both. Left out are, for
# example, `wc --files0-from`, `date -f`, `grep -R`, `diff -l` (runs pr), `fd -l` (runs ls), `rg -z` (runs unpackers),
# `ss -r`, `zstdcat -o`, `tree --fromfile`, `file -f`, `sort -T`; and programs that evaluate code, whatever they get.


def _all(names: str, check: Check) -> dict[str, Check]:
    return dict.fromkeys(names.split(), check)


_GREP = (
    "-abcEFGHhIiLlnopPqrsTUuVvwxyZz0123456789 -A: -B: -C: -m: -e: -f< -d: --regexp: --file< --ignore-case"
    " --no-ignore-case --invert-match --word-regexp --line-regexp --count --color? --colour? --files-without-match"
    " --files-with-matches --max-count: --only-matching --quiet --silent --no-messages --byte-offset --with-filename"
    " --no-filename --label: --line-number --initial-tab --null --after-context: --before-context: --context: --text"
    " --binary-files: --exclude: --exclude-dir: --include@ --recursive --line-buffered --extended-regexp"
    " --fixed-strings --basic-regexp --perl-regexp --null-data"
)
_GREP_SCRIPTS = "-e -f --regexp --file"

PROGRAMS: Mapping[str, Check] = {
    # They print what they are given, or what everybody may know of the machine.
    **_all("echo true false expr", always),
    "pwd": forms("-LP", worst="nothing"),
    "uname": forms("-asnrvmpio --all --kernel-name --kernel-release --machine --operating-system", worst="nothing"),
    "nproc": forms("--all --ignore:", worst="nothing"),
    "free": forms("-bkmghltwv -s: -c: --human --mega --giga --mebi --gibi --kilo --total --wide --si --lohi"),
    "uptime": forms("-ps --pretty --since"),
    "groups": forms("", ":*", "nothing"),
    "id": forms("-ugGnrzapP --user --group --groups --name --real", ":*", "nothing"),
    "users": bare,
    "who": forms("-abdHlmpqrsTtuw --all --boot --heading --count"),
    "tty": forms("-s --silent --quiet", worst="nothing"),
    **_all("whoami logname hostid jobs clear arch", bare),
    "numfmt": forms(
        "-d: -z --to: --from: --suffix: --format: --field: --delimiter: --padding: --header? --round: --grouping"
        " --invalid: --to-unit: --from-unit: --zero-terminated",
        ":*",
        "nothing",
    ),
    "seq": forms("-w -f: -s: -t: -# --separator: --format: --equal-width", ":*", "nothing"),
    "factor": forms("", ":*"),
    "basename": forms("-az -s: --multiple --suffix: --zero", ":*", "nothing"),
    "dirname": forms("-z --zero", ":*", "nothing"),
    "pgrep": forms(
        "-flaxnocvi -u: -U: -P: -d: -g: -G: -s: -t: --full --list-name --list-full --exact --newest --oldest --count"
        " --delimiter: --parent: --euid: --ignore-case",
        ":*",
    ),
    "locale": forms("-amkcv --all-locales --charmaps", ":*"),
    "lscpu": forms("-Jxabcy -e? -p? --json --all --bytes --extended? --parse?"),
    **_all("cal ncal", forms("-mjy31hwNn -A: -B: -#", ":*")),
    "getconf": forms("-a", ":*"),
    "hostname": Only(((), ("-s",))),
    "printenv": printenv,
    "date": date,
    "sleep": sleep,
    "getent": Starting((("passwd",), ("group",), ("services",), ("protocols",))),
    "ps": ps,
    "top": Only((("-bn1",), ("-b", "-n", "1"), ("-b", "-n1"), ("-l", "1"))),
    "ss": ss,
    "netstat": forms(
        "-tulpnaersgixo46Wvm --tcp --udp --listening --numeric --all --programs --route", needs="-n --numeric"
    ),
    "lsof": lsof,
    "bc": Only(((), ("-l",), ("-q",), ("-ql",), ("-lq",))),
    "ip": ip,
    "dpkg": Starting((("-l",), ("-s",), ("-L",), ("--list",), ("--print-architecture",))),
    # Words of the shell. They change what follows in the shell, never a file.
    **_all(": exit return break continue shift times", always),
    "popd": forms("-n", ":*"),
    "dirs": forms("-lpv", ":*"),
    "type": forms("-aftpP", ":*", "nothing"),
    "wait": forms("-n", ":*"),
    "cd": forms("-LPe", "@*", "nothing"),
    "pushd": forms("-n", "@*", "nothing"),
    "umask": forms("-pS", ":*"),
    "ulimit": forms("-SHacdefilmnpqrstuvxPT", ":*"),
    **_all("test [ [[ ((", tests),
    "printf": printf,
    "read": reads,
    "set": sets,
    "shopt": shopts,
    **_all("export declare typeset local readonly", declares),
    "unset": unsets,
    "command": Starting((("-v",), ("-V",))),
    # They show that something is there, and how large it is.
    "ls": forms(
        "-aAbBcCdfFgGhHikKlLmnNopqQrRsStTuUvwxXZ1eO -@ -I: -D? --all --almost-all --color? --group-directories-first"
        " --human-readable --size --sort: --time: --time-style: --ignore: --hide: --recursive --reverse --directory"
        " --classify? --file-type --full-time --inode --numeric-uid-gid --no-group --si --indicator-style: --format:"
        " --show-control-chars --quoting-style: --author --block-size: --width: --hyperlink? --zero",
        "@*",
        "nothing",
    ),
    **_all(
        "eza exa lsd",
        forms(
            "-ahl1TRFrdgHimnGxABSuUDf -@ -L: -s: -t: -I: --tree --level: --depth: --long --all --icons?"
            " --icon: --color?"
            " --no-icons --group-directories-first --sort: --reverse --header --oneline --recurse --recursive"
            " --time-style:"
            " --no-permissions --no-user --no-time --no-filesize --only-dirs --only-files --ignore-glob:"
            " --human-readable",
            "@*",
        ),
    ),
    "wc": forms("-lwcmL --lines --words --bytes --chars --max-line-length --total:", "@*", "reads"),
    "stat": forms("-Lftxsnl -c: --format: --printf: --file-system --terse --dereference --cached:", "@*", "nothing"),
    "du": forms(
        "-abcDHhkLlmSsx0 -A -B: -d: -t: -I: --all --apparent-size --bytes --total --max-depth: --human-readable"
        " --summarize --separate-dirs --threshold: --time? --exclude: --one-file-system --inodes --si --block-size:",
        "@*",
        "reads",
    ),
    "df": forms(
        "-aHhiklmPTgI -B: -t: -x: --all --human-readable --output? --type: --exclude-type: --total --local"
        " --print-type"
        " --inodes --portability --si --block-size:",
        "@*",
        "nothing",
    ),
    "readlink": forms(
        "-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline", "@*", "nothing"
    ),
    "realpath": forms(
        "-emLPqsz --relative-to@ --relative-base@ --canonicalize-existing --canonicalize-missing"
        " --no-symlinks --strip"
        " --quiet --zero --logical --physical",
        "@*",
        "nothing",
    ),
    "which": forms("-as --all", "@*"),
    "whereis": forms("-bmsul", "@*"),
    "lsblk": forms(
        "-abfmplnJtdriSPODz -o: -e: -I: -x: --all --bytes --fs --json --list --noheadings --nodeps --output:"
        " --paths --pairs --output-all",
        "@*",
    ),
    "pathchk": forms("-pP --portability", ":*"),
    "file": forms(
        "-biLhknNr0 -F: --mime --mime-type --mime-encoding --brief --dereference --no-dereference"
        " --extension --separator: --keep-going --no-pad --print0",
        "@*",
    ),
    **_all(
        "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum shasum md5",
        forms(
            "-btzqrsUp0 -a: -l: --tag --binary --text --zero --length: --algorithm: --sysv",
            "@*",
            "reads",
        ),
    ),
    "find": find,
    **_all(
        "fd fdfind",
        forms(
            "-HIusigFap01q -j: -t: -e@ -E: -d: -S: -c: -o: --hidden --no-ignore --type: --extension@"
            " --exclude: --max-depth:"
            " --min-depth: --exact-depth: --glob --regex --fixed-strings --absolute-path --full-path --size:"
            " --changed-within: --changed-before: --color: --max-results: --print0 --case-sensitive"
            " --ignore-case --owner:"
            " --threads: --base-directory@ --search-path@ --no-ignore-vcs --unrestricted --prune --and@",
            "@*",
        ),
    ),
    "tree": forms(
        "-adfishDCnpugFtrvUcQNqASXJx -L: -I: -P@ --noreport --dirsfirst --filesfirst --prune --filelimit: --charset:"
        " --du --si --inodes --device --sort: --timefmt: --matchdirs --ignore-case --gitignore",
        "@*",
    ),
    "tar": tar,
    "unzip": Starting((("-l",), ("-t",), ("-v",), ("-Z1",)), "@"),
    "zipinfo": Starting(((), ("-1",)), "@"),
    # They show lines of files.
    **_all(
        "grep egrep fgrep",
        forms(
            _GREP,
            ":~*",
            "reads",
            scripts=_GREP_SCRIPTS,
            searches="-r --recursive -d",
        ),
    ),
    "zgrep": forms(_GREP, ":~*", scripts=_GREP_SCRIPTS, searches="-r --recursive -d"),
    "rg": forms(
        "-inNlcovwxsSFUPpqua0HI. -A: -B: -C: -e: -f< -g@ -m: -M: -t: -T: -r: -d: -j: -E: --files --type: --type-not:"
        " --type-list --glob@ --iglob@ --hidden --no-ignore --no-ignore-vcs --max-depth: --max-columns: --max-count:"
        " --context: --after-context: --before-context: --line-number --no-line-number --no-heading --heading"
        " --with-filename --no-filename --files-with-matches --files-without-match --count --count-matches"
        " --only-matching --ignore-case --smart-case --case-sensitive --word-regexp --line-regexp --fixed-strings"
        " --multiline --multiline-dotall --pcre2 --json --vimgrep --color: --colors: --column --sort:"
        " --sortr: --stats"
        " --trim --replace: --regexp: --file< --invert-match --passthru --max-filesize: --no-messages --null"
        " --one-file-system --text --no-config --crlf --encoding: --threads: --unrestricted --pretty --quiet --binary"
        " --block-buffered --line-buffered --context-separator: --no-follow --glob-case-insensitive",
        ":~*",
        scripts="-e -f --regexp --file --files --type-list",
        searches="*",
    ),
    # They show what is in files.
    "cat": forms(
        "-AbeEnstTuvl --show-all --number --number-nonblank --squeeze-blank --show-ends --show-tabs"
        " --show-nonprinting",
        "<*",
        "nothing",
    ),
    "head": forms("-n: -c: -qvz -# --lines: --bytes: --quiet --silent --verbose --zero-terminated", "<*", "nothing"),
    "tail": forms(
        "-n: -c: -s: -b: -fFqrvz -# --lines: --bytes: --quiet --silent --verbose --zero-terminated --follow?"
        " --retry --pid: --sleep-interval: --max-unchanged-stats:",
        "<*",
        "nothing",
    ),
    "tac": forms("-br -s: --before --regex --separator:", "<*", "nothing"),
    "rev": forms("", "<*", "nothing"),
    "nl": forms(
        "-b: -d: -f: -h: -i: -l: -n: -p -s: -v: -w: --body-numbering: --number-format: --number-width:"
        " --number-separator:",
        "<*",
        "nothing",
    ),
    "cut": forms(
        "-b: -c: -d: -f: -nsz --delimiter: --fields: --characters: --bytes: --complement --only-delimited"
        " --output-delimiter: --zero-terminated",
        "<*",
        "nothing",
    ),
    "tr": forms("-cCdstu --complement --delete --squeeze-repeats --truncate-set1", ":*", "nothing"),
    "fold": forms("-bs -w: -# --width: --spaces --bytes", "<*", "nothing"),
    **_all("expand unexpand", forms("-iaf -t: -# --tabs: --initial --all --first-only", "<*", "nothing")),
    "paste": forms("-sz -d: --delimiters: --serial --zero-terminated", "<*", "nothing"),
    "join": forms(
        "-iz -a: -e: -1: -2: -j: -o: -t: -v: --check-order --nocheck-order --header --ignore-case", "<*", "nothing"
    ),
    "comm": forms(
        "-123iz --output-delimiter: --total --check-order --nocheck-order --zero-terminated", "<*", "nothing"
    ),
    "column": forms(
        "-txndeLJ -s: -o: -c: -N: -R: -T: -H: -O: --table --separator: --output-separator: --json"
        " --table-name: --table-columns: --table-right: --table-truncate: --table-hide:",
        "<*",
    ),
    "od": forms(
        "-vabcdfhilosx -A: -t: -N: -j: -w? -S: --address-radix: --format: --read-bytes: --skip-bytes: --width?"
        " --output-duplicates",
        "<*",
        "nothing",
    ),
    **_all("hexdump hd", forms("-bcCdoxv -n: -s: -e: --canonical --length: --skip: --no-squeezing", "<*")),
    "strings": strings,
    "diff": diff,
    "cmp": forms("-bls -i: -n: --print-bytes --verbose --silent --quiet --bytes: --ignore-initial:", "<*"),
    **_all("zcat gzcat bzcat xzcat lzcat zstdcat", forms("-fq --force --quiet", "<*")),
    "fmt": forms("-cstu -w: -g: -p: -# --width: --split-only --uniform-spacing", "<*"),
    "pr": forms("-tmdFn -l: -w: -h: -o: -#", "<*"),
    "tsort": forms("", "<"),
    "sort": forms(
        "-bdfgihMnrRsuVzcCm -k: -t: -S: --key: --field-separator: --unique --reverse --numeric-sort"
        " --human-numeric-sort --general-numeric-sort --version-sort --ignore-case --ignore-leading-blanks --stable"
        " --zero-terminated --merge --check? --month-sort --random-sort --buffer-size: --parallel: --batch-size:"
        " --dictionary-order --ignore-nonprinting --sort: --debug",
        "<*",
    ),
    "uniq": forms(
        "-cdDiuz -f: -s: -w: --count --repeated --unique --ignore-case --skip-fields: --skip-chars:"
        " --check-chars: --all-repeated? --group? --zero-terminated",
        "<",
    ),
    **_all("base64 base32", forms("-d -w: --decode --wrap:", "<")),
    "iconv": forms("-f: -t: -lcs --from-code: --to-code: --list --silent", "<*"),
    "shuf": forms("-n: -i: -ez --head-count: --input-range: --echo --zero-terminated", "<*"),
    "xxd": xxd,
    **_all(
        "bat batcat",
        forms(
            "-pPnAu -l: -r: -H: -m: --plain --number --show-all --language: --line-range: --style: --color: --paging:"
            " --decorations: --wrap: --theme: --terminal-width: --highlight-line: --tabs: --file-name:",
            "<*",
        ),
    ),
    **_all("sed gsed", sed),
    **_all("awk gawk mawk nawk", awk),
    "jq": jq,
    "yq": yq,
    "git": is_harmless_git,
}

WRAPPERS: Mapping[str, Check | None] = {
    # Of those with None only the command is known; `find` and `fd` are programs of their own as well.
    "find": None, "fd": None, "fdfind": None,
    "builtin": bare,
    "command": forms("-p"),
    # What it sets is judged as an assignment is.
    "env": forms("-i0v -u: --ignore-environment --unset:", ":*"),
    **_all("timeout gtimeout", forms("-vfp -k: -s: --kill-after: --signal: --foreground --preserve-status --verbose",
                                     ":")),
    "nice": forms("-n: -# --adjustment:"),
    "ionice": forms("-c: -n: -t --class: --classdata: --ignore"),
    "stdbuf": forms("-i: -o: -e: --input: --output: --error:"),
    "xargs": forms(
        "-0rtx -n: -L: -P: -I: -d: -s: -E: -i? -l? --null --no-run-if-empty --max-args: --max-procs: --max-lines?"
        " --replace? --delimiter: --verbose --exit",
    ),
}  # fmt: skip
"""Programs that only run another one, with the forms of the words that are not the other's."""

# That they print before they read anything else. Not those whose version the workspace may choose, and that would
# then run something of it (rustup, go, yarn); nor those that read a project first: pytest runs its conftest.py, npm
# writes a log where a .npmrc says.
_SAY_THEIR_VERSION = frozenset(
    [
        "python",
        "python3",
        "node",
        "deno",
        "bun",
        "uv",
        "ruff",
        "gcc",
        "g++",
        "clang",
        "clang++",
        "make",
        "cmake",
        "bash",
        "zsh",
        "perl",
        "ruby",
        "php",
        "psql",
        "curl",
        "wget",
        "jq",
        "tar",
        "gzip",
        "openssl",
        "vim",
        "tmux",
        "sed",
        "awk",
        "gawk",
        "grep",
        "rg",
        "fd",
        "find",
        "sort",
        "git",
        "docker",
    ]
)
_VERSIONS = frozenset({("--version",), ("-V",)})
_SHORT_VERSIONS: Mapping[str, tuple[str | None, ...]] = {
    "node": ("-v",), "perl": ("-v",), "ruby": ("-v",), "php": ("-v",), "openssl": ("version",),
}  # fmt: skip


def check_of(name: str, call: Call) -> Check | None:
    """The check of the program; of some only that they say their version is known."""
    if not call.invocation.adds_unknown and (
        (name in _SAY_THEIR_VERSION and call.texts in _VERSIONS) or _SHORT_VERSIONS.get(name) == call.texts
    ):
        return always
    return PROGRAMS.get(name)


_SYSTEM_FOLDER = re.compile(r"(?:/usr)?(?:/local)?/s?bin/")
_NOT_WRITTEN = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2"})
_DESCRIPTOR = re.compile(r"\d+-?|-", re.ASCII)


def is_harmless(invocation: Invocation, classify: Classify, roots: tuple[str, ...] = ()) -> bool:
    """True when the invocation is proven to change nothing, to reach nobody and to reveal no secret.

    Args:
        classify: who judges the commands that a script may run: `classify_command`.
        roots: the session's directories, absolute; the one that it runs in where there are none.
    """
    if not _surroundings_are_harmless(invocation, classify):
        return False
    if not invocation.program:
        return not invocation.written and not invocation.arguments
    if not _is_of_the_system(invocation):
        return False
    call = call_of(invocation, classify, roots)
    check = check_of(invocation.program, call)
    return check is not None and check(call)


def _surroundings_are_harmless(invocation: Invocation, classify: Classify) -> bool:
    """True when only the program and its arguments can do harm: not redirections, assignments, wrappers,
    or a place.
    """
    return (
        not invocation.elsewhere
        and _wrappers_are_harmless(invocation, classify)
        and all(is_harmless_name(name) for name, _ in invocation.assignments)
        and all(_only_reads(redirection, invocation, classify) for redirection in invocation.redirections)
    )


def _wrappers_are_harmless(invocation: Invocation, classify: Classify) -> bool:
    """Whether each wrapper is a known one, and given nothing but proved forms besides the command."""
    if [name for name in invocation.via if not name.endswith("()")] != [name for name, _ in invocation.wrapped]:
        return False
    for name, own in invocation.wrapped:
        if name not in WRAPPERS:
            return False
        check = WRAPPERS[name]
        if check is not None and not check(call_of(Invocation(name, name, own, cwd=invocation.cwd), classify)):
            return False
    return True


def _only_reads(redirection: Redirection, invocation: Invocation, classify: Classify) -> bool:
    target = redirection.target
    if not target.is_known:
        return False
    if redirection.operator in {">&", "<&"} and _DESCRIPTOR.fullmatch(target.text):
        return True
    if redirection.operator == "<":
        return may_be_given(call_of(invocation, classify), target, "<")
    return target.text in _NOT_WRITTEN


def _is_of_the_system(invocation: Invocation) -> bool:
    """Whether it is the program of that name, as far as `PATH` can be trusted."""
    written, name = invocation.written, invocation.program
    folder = _SYSTEM_FOLDER.match(written)
    return written in {name, f"\\{name}"} or (folder is not None and written[folder.end() :] == name)
