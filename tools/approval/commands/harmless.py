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
from dataclasses import replace
from itertools import pairwise

from tools.approval.commands import harmless_table as table
from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation, Redirection
from tools.approval.commands.classes import Classify
from tools.approval.commands.dangers.scene import full_path, is_below, listed
from tools.approval.commands.harmless_forms import (
    Call,
    Check,
    FormReading,
    always,
    bare,
    call_of,
    may_be_given,
    may_be_searched,
)
from tools.approval.commands.harmless_table import GIT, LANGUAGES
from tools.approval.commands.scripts.awk_sed import judge_awk, judge_sed
from tools.approval.commands.scripts.effects import Effects

# Programs whose words are a language, or mean something else than `getopt` makes of them.

_FIND_FLAGS = re.compile(
    r"-(?:print0?|ls|prune|quit|depth|d|mount|xdev|noleaf|empty|true|false|nouser|nogroup|readable|writable|executable"
    r"|daystart|(?:no)?ignore_readdir_race|nowarn|warn|a|and|o|or|not|P|H|E|s|O\d)|[!(),]"
)
_FIND_TEXTS = re.compile(
    r"-(?:type|xtype|size|[mac](?:time|min)|perm|user|group|uid|gid|maxdepth|mindepth|links|inum|fstype|regextype|used"
    r"|printf|newer[aBcm]t)"
)
_FIND_NAMES = re.compile(r"-(?:i?(?:name|path|wholename|regex|lname)|newer|anewer|cnewer|samefile|newer[aBcm][aBcm])")
_TAR_LISTS = re.compile(r"-?(?=\w*t)[tvzjJfa]+")
_JQ_TELLS = re.compile(r"\b(?:env|input_filename|import|include|modulemeta|get_search_list|halt_error)\b|\$ENV|\$__")
# The words of yq that read variables, files and the output of programs: `strload`, `load_xml`, `envsubst`, `system`.
_YQ_TELLS = re.compile(r"env|load|system|exec|eval|filename", re.IGNORECASE)
# With options that do not go together, and with a user who is not there, `ps` reads all of them as BSD's, where `e`
# shows environments: so `-e` stands with none but the first of these.
_PS_ALL = re.compile(r"-[AaefFlLwjHd]+o?")
_PS_COLUMN = re.compile(
    r"(?:pid|ppid|pgid|sid|user|uid|ruser|group|gid|comm|cmd|args|command|%cpu|pcpu|%mem|pmem|rss|vsz|stat|state|s|time"
    r"|cputime|etime|etimes|start|start_time|lstart|stime|tty|tt|tname|nice|ni|pri|wchan|nlwp|psr|sz|lwp|c|f)"
    r"(?::\d+)?=?"
)
_PS_SORT = re.compile(
    r"[-+]?(?:pid|ppid|user|uid|comm|cmd|%cpu|pcpu|%mem|pmem|rss|vsz|time|etime|start_time|tty|nice)"
)
_PS_CLUSTER = re.compile(r"-(?:[AafFlLTjwHdc]+o?|auxw*|axu?w*)")
_PS_BSD = re.compile(r"[axufljwrT]+o?")
_PS_SELECTS = re.compile(r"-[pCuUgGt]|--(?:pid|ppid|user|group|tty)")
_PS_NUMBERS = re.compile(r"\d+(?:,\d+)*", re.ASCII)
_PS_PLAIN = re.compile(r"--(?:forest|no-headers?|headers|cols=\d+)")
_HARMLESS_VARIABLES = frozenset(
    {"HOME", "PATH", "USER", "LANG", "PWD", "SHELL", "TERM", "TZ", "LOGNAME", "VIRTUAL_ENV"}
)
_XXD_VALUES = frozenset({"-l", "-s", "-c", "-g", "-o", "-len", "-seek", "-cols"})
_XXD_OPTIONS = re.compile(r"-[lscgo][+-]?\d\w*|-(?:a|b|e|E|i|p|ps|plain|u)")
_IP_OPTIONS = frozenset({"-br", "-4", "-6", "-c", "-brief", "-j", "-s"})
_IP_OBJECTS = frozenset({"a", "addr", "address", "r", "route", "link", "l", "neigh", "rule"})
_IP_SHOWS = frozenset({
    (), ("show",), ("s",), ("list",), ("ls",), ("l",),
})  # fmt: skip
_SHORT_TIME = re.compile(r"\d{0,2}\.?\d{1,3}s?|[1-5]m", re.ASCII)
# A name would be looked up.
_SS_FILTER = re.compile(r"[=!<>()]+|:?\d+|:\w+|state|sport|dport|eq|ne|or|and|all|established|listening|connected")
_LSOF_FLAGS = re.compile(r"-(?=([nPtalwRUv]*))\1(?:i(?P<ports>.*)|s(?P<state>.+)|[puc](?P<value>.*))?")
_LSOF_PORTS = re.compile(r"[46]?(?:tcp|udp)?(?::[\w,-]+)?", re.IGNORECASE)


def find(call: Call) -> bool:
    """`find` without actions that change something, and without following links; what it runs is an invocation of
    its own.
    """
    words = list(zip(call.texts, call.invocation.arguments, strict=True))
    if call.invocation.adds_unknown:
        return False
    is_expression = False
    while words:
        text, argument = words.pop(0)
        if text is None:
            return False
        if _FIND_FLAGS.fullmatch(text):
            is_expression = is_expression or text not in {"-P", "-H", "-E", "-d", "-s"}
        elif is_text := _FIND_TEXTS.fullmatch(text) or _FIND_NAMES.fullmatch(text):
            if not words or words[0][1].expands or words[0][1].splits:
                return False
            is_expression = True
            value = words.pop(0)[1]
            if not may_be_given(call, value, ":" if _FIND_TEXTS.fullmatch(is_text[0]) else "@"):
                return False
        elif text.startswith("-") or is_expression or not may_be_given(call, argument, "@"):
            return False
    return True


def sed(call: Call) -> bool:
    """`sed` with a script that neither writes, nor runs, nor reads other files, and not in place."""
    script = _script(LANGUAGES["sed"].read(call), "-e", "--expression")
    return (
        call.are_known
        and LANGUAGES["sed"](call)
        and script is not None
        and judge_sed(script, Effects(call.classify)).level == "safe"
    )


def awk(call: Call) -> bool:
    """`awk` with a program that neither writes, nor runs, nor reads other files."""
    script = _script(LANGUAGES["awk"].read(call))
    return (
        call.are_known
        and LANGUAGES["awk"](call)
        and script is not None
        and judge_awk(script, Effects(call.classify)).level == "safe"
    )


def jq(call: Call) -> bool:
    """`jq` with a filter that shows no variables and takes in no other files."""
    if not _tells_nothing(call, _JQ_TELLS):
        return False
    texts, arguments = list(call.texts), list(call.invocation.arguments)
    for option in ("--arg", "--argjson"):
        while option in texts:
            place = texts.index(option)
            del texts[place : place + 3], arguments[place : place + 3]
    return LANGUAGES["jq"](
        replace(call, texts=tuple(texts), invocation=replace(call.invocation, arguments=tuple(arguments)))
    )


def yq(call: Call) -> bool:
    """`yq` that writes no file, shows no variables and takes in no other files."""
    return _tells_nothing(call, _YQ_TELLS) and LANGUAGES["yq"](call)


def xxd(call: Call) -> bool:
    """`xxd`: its second operand would be written, and `-r` writes what a dump says."""
    if not call.are_known or any(one.expands for one in call.invocation.arguments):
        return False
    rest = iter(call.invocation.arguments)
    operands: list[Argument] = []
    for one in rest:
        if one.text in _XXD_VALUES and not operands:
            next(rest, None)
        elif operands or one.text == "-" or not one.text.startswith("-"):
            operands.append(one)
        elif not _XXD_OPTIONS.fullmatch(one.text):
            return False
    return len(operands) <= 1 and all(may_be_given(call, one, "<") for one in operands)


def tar(call: Call) -> bool:
    """`tar t`: a name with a colon would be one on another machine."""
    texts = call.texts
    if not texts or not call.are_known or not _TAR_LISTS.fullmatch(texts[0] or ""):
        return False
    return all(
        text is not None and not text.startswith("-") and ":" not in text and may_be_given(call, one, "@")
        for text, one in zip(texts[1:], call.invocation.arguments[1:], strict=True)
    )


def ps(call: Call) -> bool:
    """`ps`, but not with the environments of the processes."""
    if not call.are_known:
        return False
    texts = [text or "" for text in call.texts]
    shows_all = any(_PS_ALL.fullmatch(text) and "e" in text for text in texts)
    clusters = (_PS_ALL,) if shows_all else (_PS_CLUSTER, _PS_BSD, _PS_NUMBERS)
    while texts:
        text = texts.pop(0)
        name, equals, value = text.partition("=")
        is_cluster = any(one.fullmatch(text) for one in clusters)
        if text == "-o" or (is_cluster and text.endswith("o")):
            if not texts or not all(map(_PS_COLUMN.fullmatch, texts.pop(0).split(","))):
                return False
        elif name == "--sort":
            keys = value if equals or not texts else texts.pop(0)
            if not all(map(_PS_SORT.fullmatch, keys.split(","))):
                return False
        elif _PS_SELECTS.fullmatch(name) and not shows_all:
            if not equals and (not texts or texts.pop(0).startswith("-")):
                return False
        elif not is_cluster and not _PS_PLAIN.fullmatch(text):
            return False
    return True


def printenv(call: Call) -> bool:
    """One variable that is no secret."""
    return len(call.texts) == 1 and call.texts[0] in _HARMLESS_VARIABLES


def date(call: Call) -> bool:
    """`date`: an operand that is no format sets the clock."""
    formats = [one.text for one, _ in LANGUAGES["date"].read(call).operands]
    return LANGUAGES["date"](call) and len(formats) <= 1 and all(one.startswith("+") for one in formats)


def getent(call: Call) -> bool:
    """What everybody may know of the machine: not `shadow`, and no hosts, which would be looked up."""
    is_plain = call.are_known and not any((text or "").startswith("-") for text in call.texts)
    return is_plain and call.texts[:1] in {("passwd",), ("group",), ("services",), ("protocols",)}


def sleep(call: Call) -> bool:
    """`sleep` for a few minutes at most."""
    return len(call.texts) == 1 and bool(_SHORT_TIME.fullmatch(call.texts[0] or ""))


def ss(call: Call) -> bool:
    """`ss`, but for filters with names of hosts, which would be looked up."""
    return LANGUAGES["ss"](call) and all(
        _SS_FILTER.fullmatch(one.text) for one, _ in LANGUAGES["ss"].read(call).operands
    )


def lsof(call: Call) -> bool:
    """`lsof` where it looks up no names of hosts: with `-n`, or where it only prints numbers of processes."""
    rest, looks_up_none = [text or "" for text in call.texts], False
    while rest and call.are_known:
        text = rest.pop(0)
        found = _LSOF_FLAGS.fullmatch(text)
        if found is None:
            if text.startswith(("-", "+")) or not may_be_given(call, Argument(text), "@"):
                return False
            continue
        looks_up_none = looks_up_none or not {"n", "t", "v"}.isdisjoint(found[1])
        ports = found["ports"]
        if ports == "" and rest and not rest[0].startswith(("-", "+")):
            ports = rest.pop(0)
        if ports is not None and not _LSOF_PORTS.fullmatch(ports):
            return False
        if found["value"] == "" and rest:
            rest.pop(0)
    return call.are_known and looks_up_none


def ip(call: Call) -> bool:
    """`ip addr` and its like."""
    rest = [text for text in call.texts if text not in _IP_OPTIONS]
    return call.are_known and bool(rest) and rest[0] in _IP_OBJECTS and tuple(rest[1:]) in _IP_SHOWS


def diff(call: Call) -> bool:
    """`diff` of what may be directories; below them it only names what differs, as it follows links there."""
    reading = LANGUAGES["diff"].read(call)
    goes_down = not {"-r", "--recursive"}.isdisjoint(reading.options)
    if not LANGUAGES["diff"](call) or (goes_down and {"-q", "--brief"}.isdisjoint(reading.options)):
        return False
    named = [one for one in reading.places if one.text != "-" and "/dev/fd/" not in one.text]
    return goes_down or may_be_searched(call, named)


def strings(call: Call) -> bool:
    """`strings`, but for `@file`: that would hold more options."""
    return LANGUAGES["strings"](call) and not any(one.text.startswith("@") for one in call.invocation.arguments)


def _script(reading: FormReading, *gives: str) -> str | None:
    """The script among the arguments, if it is surely all of it; None where it is not."""
    given = [value for name, value in reading.values if name in gives]
    found = given or [one for one, kind in reading.operands[:1] if kind == ":"]
    if not found or not all(one.is_known for one in found):
        return None
    return "\n".join(one.text for one in found)


def _tells_nothing(call: Call, telling: re.Pattern[str]) -> bool:
    """Whether everything is known, and no argument would show variables or read other files."""
    return call.are_known and all(
        text is not None and UNKNOWN not in text and not telling.search(text) for text in call.texts
    )


# Words of the shell itself that change only what nobody looks at.

# Names that no program looks at: `read PATH` would let every later word run something else.
_OWN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_HARMLESS_NAME = re.compile(
    r"[a-z_][a-z0-9_]*|LC_[A-Z]+|LANG|LANGUAGE|TZ|NO_COLOR|COLUMNS|LINES|TERM|FORCE_COLOR|CI|CLICOLOR|OLDPWD"
)
_LOWER_CASE_THAT_COUNTS = frozenset({
    "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "rsync_proxy", "path", "fpath", "cdpath",
    "module_path", "manpath", "prompt", "ps1", "precmd", "preexec", "psvar", "argv", "histchars",
})  # fmt: skip
_NOT_LOOKED_AT = re.compile(r"[-+][euxofC]+|pipefail|errexit|nounset|xtrace|noglob|noclobber|--")
_SHOPTS = frozenset({"-s", "-u", "-q", "nullglob", "globstar", "dotglob", "extglob", "failglob", "nocaseglob"})
# Not `-i`: whatever the variable is given later is computed.
_DECLARED = re.compile(r"-[rxgaA]+|--")
_STORES = re.compile(r"%[-+ #'0-9.*hljztL]*n")


def is_harmless_name(name: str) -> bool:
    """True when a variable of this name changes nothing about what programs do later,
    but for language and colours.
    """
    return _HARMLESS_NAME.fullmatch(name) is not None and name not in _LOWER_CASE_THAT_COUNTS


def tests(call: Call) -> bool:
    """`test` and `[`, but with `-v` an index (`name[$(…)]`) is run; what `[[` and `((` compare is not told."""
    arguments = call.invocation.arguments
    texts = [argument.text for argument in arguments]
    if call.invocation.program in {"[[", "(("} or call.invocation.adds_unknown or "-v" in texts or "-R" in texts:
        return False
    # Two that nobody knows may be `-v` and a name.
    return not any(one.splits for one in arguments) and all(
        one.is_known or other.is_known for one, other in pairwise(arguments)
    )


def printf(call: Call) -> bool:
    """`-v` sets a variable whose name may be an index that is run, and `%n` one that programs are looked for in."""
    first = call.texts[0] if call.texts else None
    if first is None or first.startswith("-v") or any(map(_STORES.search, filter(None, call.texts))):
        return False
    # What is not known of the format may be `%n` as well.
    return UNKNOWN not in (call.texts[1] or UNKNOWN if first == "--" and call.texts[1:] else first)


def reads(call: Call) -> bool:
    """`read` into variables of one's own."""
    return call.are_known and all(text == "-r" or _is_own(text) for text in call.texts)


def sets(call: Call) -> bool:
    """`set` with options that only make the shell stricter."""
    return call.are_known and bool(call.texts) and all(text and _NOT_LOOKED_AT.fullmatch(text) for text in call.texts)


def shopts(call: Call) -> bool:
    """`shopt` with options about globs."""
    return call.are_known and bool(call.texts) and all(text in _SHOPTS for text in call.texts)


def declares(call: Call) -> bool:
    """`export NAME=value` and its like, but not without names: that shows the variables."""
    if not call.are_known:
        return False
    operands = [text for text in call.texts if text is not None and not _DECLARED.fullmatch(text)]
    return bool(operands) and all(is_harmless_name(text.partition("=")[0]) for text in operands)


def unsets(call: Call) -> bool:
    """`unset` of variables of one's own."""
    return call.are_known and all(_is_own(text) for text in call.texts)


def _is_own(text: str | None) -> bool:
    return text is not None and _OWN_NAME.fullmatch(text) is not None and is_harmless_name(text)


# git.

# A signature is checked by a program that the settings name.
_SIGNATURES = re.compile(r"%G|%[-+ ]?\(\*?(?:signature|raw)|%\(trailers:[^)]*key_value_separator")
_SETTING = re.compile(r"(?:user\.(?:name|email)|core\.\w+|init\.\w+|branch\.[\w./-]+|pull\.\w+|push\.\w+|merge\.\w+)")
_BEFORE_NAMES = frozenset({"--global", "--local", "--system", "--get"})
_BEFORE = frozenset({
    "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--no-lazy-fetch",
})  # fmt: skip


def is_harmless_git(call: Call) -> bool:
    """True when git only looks, in the session's directories, and what it shows is not its settings."""
    if not call.invocation.adds_unknown and call.texts in {("--version",), ("-v",)}:
        return True
    rest = _after_own_options(call)
    if not call.are_known or rest is None or not rest.texts:
        return False
    subcommand, rest = rest.texts[0] or "", _without_first(rest, 1)
    if any(_SIGNATURES.search(text or "") for text in rest.texts):
        return False
    if subcommand == "config":
        return _shows_setting(rest)
    action = rest.texts[0] if rest.texts else None
    if (check := GIT.get(f"{subcommand}:{action}")) is not None:
        takes_value = action in {"--contains", "--no-contains", "--points-at"}
        return check(rest if takes_value else _without_first(rest, 1))
    check = GIT.get(subcommand)
    return check is not None and check(rest)


def _after_own_options(call: Call) -> Call | None:
    """The call from the subcommand on, where it runs; None where that may be outside of the session's directories."""
    cwd = call.invocation.cwd
    rest = call
    while rest.texts and (rest.texts[0] in _BEFORE or rest.texts[0] == "-C"):
        if rest.texts[0] != "-C":
            rest = _without_first(rest, 1)
            continue
        folder = rest.texts[1] if rest.texts[1:] else None
        if folder is None or UNKNOWN in folder or cwd is None:
            return None
        cwd = full_path(folder, cwd)
        rest = _without_first(rest, 2)
    if cwd is None or (call.roots and not any(is_below(cwd, root) for root in call.roots)):
        return None
    return replace(rest, invocation=replace(rest.invocation, cwd=cwd))


def _without_first(call: Call, count: int) -> Call:
    arguments = call.invocation.arguments[count:]
    return replace(call, texts=call.texts[count:], invocation=replace(call.invocation, arguments=arguments))


def _shows_setting(call: Call) -> bool:
    """One setting by name: those of remotes and credentials hold passwords."""
    options = ("--get", *call.texts[1:]) if call.texts[:1] == ("get",) else call.texts
    *before, name = options or ("",)
    is_known = all(text in _BEFORE_NAMES for text in before)
    return bool(before) and is_known and bool(_SETTING.fullmatch(name or ""))


# All of them, and whether one invocation is harmless.


def _all(names: str, check: Check) -> dict[str, Check]:
    return dict.fromkeys(names.split(), check)


PROGRAMS: Mapping[str, Check] = {
    **table.PROGRAMS,
    # They print what they are given, or what everybody may know of the machine.
    **_all("echo true false expr : exit return break continue shift times", always),
    **_all("users whoami logname hostid jobs clear arch", bare),
    "printenv": printenv,
    "date": date,
    "sleep": sleep,
    "getent": getent,
    "ps": ps,
    "ss": ss,
    "lsof": lsof,
    "ip": ip,
    # Words of the shell. They change what follows in the shell, never a file.
    **_all("test [ [[ ((", tests),
    "printf": printf,
    "read": reads,
    "set": sets,
    "shopt": shopts,
    **_all("export declare typeset local readonly", declares),
    "unset": unsets,
    # They show what is there, or in files.
    "find": find,
    "tar": tar,
    "strings": strings,
    "diff": diff,
    "xxd": xxd,
    **_all("sed gsed", sed),
    **_all("awk gawk mawk nawk", awk),
    "jq": jq,
    "yq": yq,
    "git": is_harmless_git,
}
"""Those whose forms were proved."""

# Of those with None only the command is known; `find` and `fd` are programs of their own as well.
WRAPPERS: Mapping[str, Check | None] = {
    **table.WRAPPERS,
    **dict.fromkeys(("find", "fd", "fdfind")),
    "builtin": bare,
}
"""Programs that only run another one."""


# That they print before they read anything else. Not those whose version the workspace may choose, and that would
# then run something of it (rustup, go, yarn); nor those that read a project first: pytest runs its conftest.py, npm
# writes a log where a .npmrc says.
_SAY_THEIR_VERSION = frozenset(
    listed("""
    python python3 node deno bun uv ruff gcc g++ clang clang++ make cmake bash zsh perl ruby php psql curl wget jq
    tar gzip openssl vim tmux sed awk gawk grep rg fd find sort git docker
""")
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
