"""Tells the commands that surely change no file, from their text.

Whoever is not known to be harmless is not: a wrong "yes" would leave a change without a way back, a wrong "no" costs
a few milliseconds. What may only be shown, never told, is refused too: options made by globs, by braces or by
variables, for programs that have an option to write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from tools.approval.commands.bash.wrappers import XARGS, wrapped_by
from tools.changes.shell_reader import Redirect, Script, Simple, Word
from tools.light_dataclass import dataclass

# The options of a command line and its operands, as the usual programs tell them apart.

Arguments = tuple[str | None, ...]
"""Words of a command; None stands for what only the shell can know."""


def bare_name(program: str | None) -> str:
    """The program's name without its directory."""
    return program.rpartition("/")[2] if program else ""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The arguments of a program, sorted. None stands for what cannot be known.

    Attributes:
        operands: what is not an option, nor an option's value.
        options: by their name with its dashes; the value, or an empty text for those without.
    """

    operands: tuple[str | None, ...]
    options: dict[str, str | None]

    def has(self, *names: str) -> bool:
        """True when one of the options is there."""
        return any(name in self.options for name in names)

    def value(self, *names: str) -> str | None:
        """The value of the first of these options that is there."""
        return next((self.options[name] for name in names if name in self.options), None)


def sorted_arguments(
    arguments: Sequence[str | None], with_value: str = "", long_with_value: Collection[str] = (), optional: str = ""
) -> CommandLine:
    """Sort `arguments`.

    Args:
        with_value: the letters whose value follows, in the same argument or the next.
        long_with_value: the long options whose value may be the next argument, with their dashes.
        optional: the letters whose value may only follow in the same argument.
    """
    operands: list[str | None] = []
    options: dict[str, str | None] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument is None or argument == "-" or not argument.startswith("-"):
            operands.append(argument)
        elif argument == "--":
            operands.extend(rest)
        elif argument.startswith("--"):
            name, equals, value = argument.partition("=")
            options[name] = value if equals or name not in long_with_value else next(rest, None)
        else:
            letter, value_now, needs_next = _letters(argument[1:], with_value, optional, options)
            if letter:
                options[f"-{letter}"] = next(rest, None) if needs_next else value_now
    return CommandLine(tuple(operands), options)


def _letters(cluster: str, with_value: str, optional: str, options: dict[str, str | None]) -> tuple[str, str, bool]:
    """Note the options of `-abc`; the one that takes a value, its value here, and whether that comes next."""
    for place, letter in enumerate(cluster):
        value = cluster[place + 1 :]
        if letter in optional:
            return letter, value, False
        if letter in with_value:
            return letter, value, not value
        options[f"-{letter}"] = ""
    return "", "", False


# Programs that change no file: those that cannot, and those that do not with certain arguments.

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


# The commands.

_KEYWORDS = frozenset({"if", "then", "elif", "else", "do", "while", "until", "!", "{", "time", "fi", "done", "}"})
_NOT_WRITTEN = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_READING = frozenset({"<", "<<", "<<-", "<<<", "<&"})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
_HARMLESS_NAMES = re.compile(r"[a-z_][a-z0-9_]*|LC_[A-Z]+|LANG|LANGUAGE|TZ|NO_COLOR|COLUMNS|LINES|TERM|FORCE_COLOR")
_SYSTEM_FOLDER = re.compile(r"/(?:usr/)?s?bin/")
_SHELL_MADE = re.compile(r"[*?]|\[.*\]|\{.*(?:,|\.\.)", re.DOTALL)
_XARGS_OPTION = re.compile(r"-[0rtx]+|-[InPLd].+|--null|--no-run-if-empty", re.DOTALL)
_XARGS_WITH_VALUE = frozenset({"-I", "-n", "-P", "-L", "-d"})
_WRAPPERS = frozenset({"command", "env", "timeout", "nice", "builtin"})


def is_read_only(script: Script) -> bool:
    """True when the script is sure to change no file, whatever it meets."""
    return script.is_certain and all(not isinstance(item, Simple) or _is_harmless(item) for item in script.items)


def is_harmless(arguments: Arguments) -> bool:
    """True when the command changes no file, whatever arguments are added to it."""
    return bool(arguments) and arguments[0] in ANY_ARGUMENTS


def _is_harmless(command: Simple) -> bool:
    if not all(_runs_harmless(word) for word in command.words):
        return False
    if not all(_reads(redirect) for redirect in command.redirects):
        return False
    words = command.words
    while words and words[0].bare in _KEYWORDS:
        words = words[1:]
    while words and (name := _assigned_name(words[0])):
        if not _HARMLESS_NAMES.fullmatch(name):
            return False
        words = words[1:]
    return not words or _is_harmless_program(tuple(_known(word) for word in words))


def _runs_harmless(word: Word) -> bool:
    return all(is_read_only(script) for script in word.scripts)


def _reads(redirect: Redirect) -> bool:
    if not _runs_harmless(redirect.target):
        return False
    if redirect.operator in _READING:
        return True
    target = redirect.target.literal
    if redirect.operator == ">&" and target is not None and re.fullmatch(r"\d+-?|-", target, re.ASCII):
        return True
    return redirect.operator != "<>" and target in _NOT_WRITTEN


def _assigned_name(word: Word) -> str | None:
    first = word.parts[0] if word.parts else None
    if first is None or first.kind != "text" or first.quoted:
        return None
    name = _ASSIGNMENT.match(first.text)
    return name[1] if name else None


def _known(word: Word) -> str | None:
    """The argument, as far as it tells whether it is an option; None where it may be any, or several.

    A word that begins with known text and is unquoted nowhere else is one argument, and no option.
    """
    # What is quoted may stand within braces that are not: `{"-delete",x}` is two words.
    unquoted = "".join("" if part.quoted else part.text for part in word.parts)
    if word.literal is not None and not _SHELL_MADE.search(unquoted):
        return word.literal
    if any(part.kind != "text" and not part.quoted for part in word.parts):
        return None
    first = next((part for part in word.parts if part.text or part.kind != "text"), None)
    if (
        first is None
        or first.kind != "text"
        or first.text[0] == "-"
        or (first.text[0] in "*?[{" and not first.quoted)
    ):
        return None
    if "{" in "".join(part.text for part in word.parts if not part.quoted):
        return None
    return "".join(part.text if part.kind == "text" else UNTOLD for part in word.parts)


def _is_harmless_program(arguments: Arguments) -> bool:
    first, rest = arguments[0], arguments[1:]
    if first is None:
        return False
    if first == "for":
        return bool(rest) and rest[0] is not None and OWN_NAMES.fullmatch(rest[0]) is not None
    name = _SYSTEM_FOLDER.sub("", first, count=1) if _SYSTEM_FOLDER.match(first) else first
    if name in ANY_ARGUMENTS or name in SHELL_WORDS:
        return True
    if name in VERSIONS and len(rest) == 1 and rest[0] in VERSIONS[name]:
        return True
    if name in _WRAPPERS:
        return _is_harmless_wrapped(name, rest)
    if name == "xargs":
        command = wrapped_by(XARGS, rest)
        return is_harmless(command) and _is_plain_xargs(rest[: len(rest) - len(command)])
    check = CHECKED.get(name)
    return check is not None and check(rest)


def _is_harmless_wrapped(name: str, rest: Arguments) -> bool:
    if name == "command" and rest and rest[0] in {"-v", "-V"}:
        return True
    if name == "env" and not rest:
        return True
    while rest and rest[0] is not None and rest[0].startswith("-"):
        if name not in {"nice", "timeout"} or not re.fullmatch(r"-n?\d+|-[ks]\w+|--\w+=\w+", rest[0], re.ASCII):
            return False
        rest = rest[1:]
    if name == "timeout":
        if not rest or rest[0] is None:
            return False
        rest = rest[1:]
    while name == "env" and rest and rest[0] is not None and (pair := _ASSIGNMENT.match(rest[0])):
        if not _HARMLESS_NAMES.fullmatch(pair[1]):
            return False
        rest = rest[1:]
    return bool(rest) and _is_harmless_program(rest)


def _is_plain_xargs(options: Arguments) -> bool:
    """True when none of the options takes what looks like the command."""
    rest = iter(options)
    for option in rest:
        if option in _XARGS_WITH_VALUE:
            if next(rest, None) is None:
                return False
        elif option is None or not _XARGS_OPTION.fullmatch(option):
            return False
    return True
