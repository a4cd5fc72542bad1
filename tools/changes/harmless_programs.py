"""Programs that change no file: those that cannot, and those that do not with certain arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tools.changes.options import Arguments

Check = Callable[[Arguments], bool]

# None of these has an option to write a file or to run another program.
ANY_ARGUMENTS = frozenset({
    "ls", "cat", "head", "tail", "grep", "egrep", "fgrep", "wc", "pwd", "echo", "which", "stat", "du", "df", "date",
    "ps", "true", "false", "sleep", "diff", "cmp", "comm", "cut", "tr", "jq", "basename", "dirname", "realpath",
    "readlink", "id", "whoami", "uname", "nl", "tac", "rev", "fold", "expand", "unexpand", "paste", "join", "seq",
    "od", "hexdump", "strings", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum",
    "cksum", "sum", "nproc", "free", "uptime", "groups", "who", "tty", "printenv", "locale", "getent",
    "pgrep", "column", "numfmt", "zcat", "zgrep", "lscpu", "lsblk", "pathchk", "users",
    "whereis", "tsort",
})  # fmt: skip
# Of the shell's own words. They change what follows in the shell, never a file.
SHELL_WORDS = frozenset({
    ":", "cd", "pushd", "popd", "dirs", "exit", "return", "break", "continue", "for", "type", "shift",
    "times", "ulimit", "umask",
})  # fmt: skip
VERSIONS: Mapping[str, tuple[str, ...]] = {
    "python": ("--version", "-V"),
    "python3": ("--version", "-V"),
    "node": ("--version", "-v"),
    "cargo": ("--version", "-V"),
    "rustc": ("--version", "-V"),
    "go": ("version",),
    "git": ("--version",),
    "gcc": ("--version",),
    "clang": ("--version",),
    "make": ("--version",),
    "bash": ("--version",),
    "ruff": ("--version",),
    "mypy": ("--version",),
    "pytest": ("--version",),
}
# Names that no program looks at: `read PATH` would let every later word run something else.
OWN_NAMES = re.compile(r"[a-z_][a-z0-9_]*")
UNTOLD = "\0"
"""Stands in an argument where a part of it is not known."""


def _without(short: str = "", long: tuple[str, ...] = (), *, max_operands: int | None = None) -> Check:
    """Everything is known, and none of these options is among it, abbreviated or not."""

    def check(arguments: Arguments) -> bool:
        operands = 0
        for argument in arguments:
            if argument is None:
                return False
            if argument.startswith("--"):
                name = argument.partition("=")[0]
                if any(option.startswith(name) and name != "--" for option in long):
                    return False
            elif argument.startswith("-") and len(argument) > 1:
                if any(letter in short for letter in argument[1:]):
                    return False
            else:
                # A glob may become any number of operands.
                operands += 2 if re.search(r"[*?\[\0]", argument) else 1
        return max_operands is None or operands <= max_operands

    return check


_FIND_WRITES = re.compile(r"-(?:delete|ok|okdir|fls|fprint\w*)")


def _find(arguments: Arguments) -> bool:
    for place, argument in enumerate(arguments):
        if argument is None or _FIND_WRITES.fullmatch(argument):
            return False
        if argument in {"-exec", "-execdir"} and (*arguments, None)[place + 1] not in ANY_ARGUMENTS:
            return False
    return True


# Numbers, `$`, and regular expressions before `p`, `d`, `q` or `=`. Everything else may be `w file` or `e command`.
_SED_ADDRESS = r"(?:\d+|\$|/[^/\\\n;]*/)"
_SED_STEP = rf"\s*(?:{_SED_ADDRESS}(?:,\s*[+~]?{_SED_ADDRESS})?)?\s*!?[pdq=]\s*"
_SED_SCRIPT = re.compile(rf"{_SED_STEP}(?:[;\n]{_SED_STEP})*;?\s*")
_SED_REPLACE = re.compile(r"s([/|#,])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gpI\d]*")


def _sed(arguments: Arguments) -> bool:
    rest = list(arguments)
    while rest and rest[0] in {"-n", "-E", "-r", "--quiet", "--silent", "-nE", "-En", "-nr", "-rn", "-u", "-z"}:
        rest.pop(0)
    script = rest[0] if rest else None
    if script == "-e" and len(rest) > 1:
        rest.pop(0)
        script = rest[0]
    if script is None or UNTOLD in script or not (_SED_SCRIPT.fullmatch(script) or _SED_REPLACE.fullmatch(script)):
        return False
    return all(argument is not None and not argument.startswith("-") for argument in rest)


_AWK_WRITES = re.compile(r"[>|@]|\bsystem\b|\bgetline\b|\bclose\b|\bfflush\b")


def _awk(arguments: Arguments) -> bool:
    rest = list(arguments)
    while rest and rest[0] is not None and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in {"-F", "-v"} and rest:
            rest.pop(0)
        elif option is None or not re.fullmatch(r"-[Fv].+", option, re.DOTALL):
            return False
    program = rest[0] if rest else None
    if program is None or UNTOLD in program or _AWK_WRITES.search(program):
        return False
    return all(argument is not None and not argument.startswith("-") for argument in rest)


def _test(arguments: Arguments) -> bool:
    # `-v name[$(…)]` runs what is inside.
    return all(argument is not None or len(arguments) == 1 for argument in arguments) and "-v" not in arguments


def _printf(arguments: Arguments) -> bool:
    return bool(arguments) and arguments[0] is not None and not arguments[0].startswith("-v")


def _read(arguments: Arguments) -> bool:
    return all(a is not None and (a == "-r" or OWN_NAMES.fullmatch(a)) for a in arguments)


def _set(arguments: Arguments) -> bool:
    return all(a is not None and re.fullmatch(r"[-+][euxo]+|pipefail|errexit|nounset|xtrace", a) for a in arguments)


_GIT_READING = frozenset({
    "status", "diff", "log", "show", "rev-parse", "blame", "annotate", "ls-files", "ls-tree", "grep", "cat-file",
    "describe", "shortlog", "rev-list", "merge-base", "name-rev", "show-ref", "for-each-ref", "count-objects",
    "cherry", "diff-tree", "diff-index", "diff-files", "whatchanged", "version", "check-ignore", "show-branch",

})  # fmt: skip
# In these, other arguments would change branches, tags, remotes or settings.
_GIT_LISTING: Mapping[str, re.Pattern[str]] = {
    "branch": re.compile(r"--list|-a|-r|-v|-vv|-av|-avv|--all|--remotes|--show-current|--verbose|--no-color"),
    "tag": re.compile(r"-l|--list"),
    "remote": re.compile(r"-v|--verbose"),
    "config": re.compile(r"--list|-l|--show-origin|--global|--local|--show-scope"),
}
_GIT_FIRST = {"stash": {"list", "show"}, "worktree": {"list"}, "remote": {"show", "get-url"}, "submodule": {"status"},
              "config": {"--get", "--get-all", "--get-regexp"}, "reflog": {"show"}, "tag": {"-l", "--list"},
              "branch": {"--list", "--contains", "--merged", "--no-merged"}}  # fmt: skip
_git_options = _without(short="O", long=("--output", "--open-files-in-pager", "--ext-diff", "--textconv"))


def _git(arguments: Arguments) -> bool:
    rest = arguments
    while rest and rest[0] in {"--no-pager", "-P", "-C", "--no-optional-locks"}:
        if rest[0] == "-C" and rest[1:2] in {(), (None,)}:
            return False
        rest = rest[2:] if rest[0] == "-C" else rest[1:]
    if not rest or rest[0] is None:
        return False
    subcommand, options = rest[0], rest[1:]
    # Also behind `--`: to some subcommands that is the value of an option before it.
    if not _git_options(options):
        return False
    if subcommand in _GIT_READING:
        return True
    if options and options[0] in _GIT_FIRST.get(subcommand, ()):
        return all(
            option is not None and (place == 0 or not option.startswith("-")) for place, option in enumerate(options)
        )
    listing = _GIT_LISTING.get(subcommand)
    return listing is not None and all(option is not None and listing.fullmatch(option) for option in options)


CHECKED: Mapping[str, Check] = {
    "find": _find,
    "sed": _sed,
    "awk": _awk,
    "test": _test,
    "[": _test,
    "printf": _printf,
    "read": _read,
    "set": _set,
    "git": _git,
    "rg": _without(long=("--pre", "--hostname-bin")),
    "fd": _without("xX", ("--exec", "--exec-batch")),
    "sort": _without("o", ("--output", "--compress-program")),
    "base64": _without("oD", ("--output",)),
    "base32": _without("o", ("--output",)),
    "uniq": _without(max_operands=1),
    "tree": _without("oR", ("--output",)),
    "file": _without("C", ("--compile",)),
}
