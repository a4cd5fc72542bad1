"""Checks of programs that only look: git, the shell's own words, programs with a language of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from tools.approval.commands.bash.reading import UNKNOWN, Argument
from tools.approval.commands.dangers.scene import full_path, is_below
from tools.approval.commands.harmless_forms import (
    Call,
    Check,
    FormReading,
    Only,
    forms,
    may_be_given,
    may_be_searched,
)
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
_SED = forms(
    "-nErsuz -e: --quiet --silent --regexp-extended --posix --null-data --separate --sandbox --unbuffered"
    " --expression:",
    ":<*", scripts="-e --expression",
)  # fmt: skip
_AWK = forms("-F: -v:", ":<*")
_TAR_LISTS = re.compile(r"-?(?=\w*t)[tvzjJfa]+")
_JQ = forms(
    "-rcesSnjaCM --raw-output --compact-output --exit-status --slurp --sort-keys --null-input --tab --raw-input -R"
    " --join-output --color-output --monochrome-output --args --indent: --stream --seq --ascii-output",
    ":<*",
)  # fmt: skip
_JQ_TELLS = re.compile(r"\b(?:env|input_filename|import|include|modulemeta|get_search_list|halt_error)\b|\$ENV|\$__")
# The words of yq that read variables, files and the output of programs: `strload`, `load_xml`, `envsubst`, `system`.
_YQ_TELLS = re.compile(r"env|load|system|exec|eval|filename", re.IGNORECASE)
_YQ = forms(
    "-rejPCMNnc -o: -p: --output-format: --input-format: --prettyPrint --no-colors --raw-output --tojson"
    " --unwrapScalar"
    " --exit-status --null-input --colors --no-doc",
    "<*",
)  # fmt: skip
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
_DATE = forms("-uR -I? -d: -r@ --date: --utc --universal --rfc-3339: --rfc-email --iso-8601? --reference@", ":*")
_SHORT_TIME = re.compile(r"\d{0,2}\.?\d{1,3}s?|[1-5]m", re.ASCII)
_SS = forms(
    "-tulnpaxwemosiH460OZzb --tcp --udp --listening --numeric --processes --all --unix --summary --no-header --ipv4"
    " --ipv6 --info --extended --memory --options -f: --family:",
    ":*",
)  # fmt: skip
# A name would be looked up.
_SS_FILTER = re.compile(r"[=!<>()]+|:?\d+|:\w+|state|sport|dport|eq|ne|or|and|all|established|listening|connected")
_LSOF_FLAGS = re.compile(r"-(?=([nPtalwRUv]*))\1(?:i(?P<ports>.*)|s(?P<state>.+)|[puc](?P<value>.*))?")
_LSOF_PORTS = re.compile(r"[46]?(?:tcp|udp)?(?::[\w,-]+)?", re.IGNORECASE)
_DIFF = forms(
    "-abBcdeEinNpqstTuwyZr -# -C: -U: -I: -W: -x: -F: --brief --unified? --context? --side-by-side"
    " --suppress-common-lines --ignore-all-space --ignore-blank-lines --ignore-case --ignore-space-change"
    " --ignore-trailing-space --ignore-matching-lines: --strip-trailing-cr --text --minimal --color? --width:"
    " --label:"
    " --new-file --report-identical-files --show-c-function --show-function-line: --exclude: --no-dereference"
    " --speed-large-files --tabsize: --expand-tabs --left-column --ed --normal --recursive",
    "<*",
)  # fmt: skip
_STRINGS = forms("-aofw -n: -t: -e: -s: -# --bytes: --radix: --encoding: --all --print-file-name", "<*")


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
    script = _script(_SED.read(call), "-e", "--expression")
    return (
        call.are_known
        and _SED(call)
        and script is not None
        and judge_sed(script, Effects(call.classify)).level == "safe"
    )


def awk(call: Call) -> bool:
    """`awk` with a program that neither writes, nor runs, nor reads other files."""
    script = _script(_AWK.read(call))
    return (
        call.are_known
        and _AWK(call)
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
    return _JQ(replace(call, texts=tuple(texts), invocation=replace(call.invocation, arguments=tuple(arguments))))


def yq(call: Call) -> bool:
    """`yq` that writes no file, shows no variables and takes in no other files."""
    return _tells_nothing(call, _YQ_TELLS) and _YQ(call)


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
    formats = [one.text for one, _ in _DATE.read(call).operands]
    return _DATE(call) and len(formats) <= 1 and all(one.startswith("+") for one in formats)


def sleep(call: Call) -> bool:
    """`sleep` for a few minutes at most."""
    return len(call.texts) == 1 and bool(_SHORT_TIME.fullmatch(call.texts[0] or ""))


def ss(call: Call) -> bool:
    """`ss`, but for filters with names of hosts, which would be looked up."""
    return _SS(call) and all(_SS_FILTER.fullmatch(one.text) for one, _ in _SS.read(call).operands)


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
    reading = _DIFF.read(call)
    goes_down = not {"-r", "--recursive"}.isdisjoint(reading.options)
    if not _DIFF(call) or (goes_down and {"-q", "--brief"}.isdisjoint(reading.options)):
        return False
    named = [one for one in reading.places if one.text != "-" and "/dev/fd/" not in one.text]
    return goes_down or may_be_searched(call, named)


def strings(call: Call) -> bool:
    """`strings`, but for `@file`: that would hold more options."""
    return _STRINGS(call) and not any(one.text.startswith("@") for one in call.invocation.arguments)


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


# git. Left out is whatever makes it run a program by an option (`--ext-diff`, `--textconv`, `--filters`, `-O`,
# `--open-files-in-pager`, `--show-signature`, `%G?`, `-c`, `--exec-path`, `--paginate`), write a file (`--output`,
# `merge-tree`), reach another machine (`fetch`, `ls-remote`, `remote show`, `archive --remote`), read a file that an
# option names (`blame --contents`, `-X FILE`, `-O FILE`) or work in another repository (`-C` elsewhere, `--git-dir`).
# What a repository's own settings have git run is asked about where nothing contains it.

_GIT_DIFF = (
    " -pusabwzRWMCBD0123456789 -# -U: -S: -G: -M? -C? -B? -X? --patch --no-patch --raw --stat? --numstat --shortstat"
    " --dirstat? --cumulative --summary --name-only --name-status --patch-with-stat --compact-summary --stat-width:"
    " --check --full-index --binary --abbrev? --no-abbrev --no-prefix --src-prefix: --dst-prefix: --default-prefix"
    " --minimal --patience --histogram --diff-algorithm: --anchored: --indent-heuristic --no-indent-heuristic"
    " --word-diff? --word-diff-regex: --color-words? --color? --no-color --color-moved? --color-moved-ws:"
    " --diff-filter: --find-renames? --find-copies? --find-copies-harder --no-renames --break-rewrites?"
    " --rename-empty --irreversible-delete --pickaxe-regex --pickaxe-all --find-object: --relative? --no-relative"
    " --text --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-cr-at-eol"
    " --ignore-matching-lines: -I: --function-context --inter-hunk-context: --unified: --exit-code --quiet"
    " --no-ext-diff --no-textconv --ignore-submodules? --line-prefix: --output-indicator-new: --output-indicator-old:"
    " --output-indicator-context: --ita-invisible-in-index --ws-error-highlight:"
)
_LOG = (
    _GIT_DIFF
    + " -n: -L< -iEFPgtcm --oneline --graph --decorate? --no-decorate --decorate-refs: --decorate-refs-exclude:"
    " --all --branches? --tags? --remotes? --glob: --exclude: --author: --committer: --grep: --grep-reflog:"
    " --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --all-match --invert-grep --since:"
    " --until:"
    " --after: --before: --since-as-filter: --max-age: --min-age: --merges --no-merges --min-parents: --max-parents:"
    " --first-parent --follow --reverse --topo-order --date-order --author-date-order --date: --relative-date"
    " --format: --pretty? --abbrev-commit --no-abbrev-commit --max-count: --skip: --left-right --left-only"
    " --right-only"
    " --cherry --cherry-pick --cherry-mark --boundary --simplify-by-decoration --full-history --simplify-merges"
    " --dense --sparse --ancestry-path? --show-pulls --remove-empty --in-commit-order --source --use-mailmap"
    " --no-mailmap --mailmap --notes? --no-notes --walk-reflogs --no-walk? --parents --children --not --cc"
    " --diff-merges: --encoding: --expand-tabs? --no-expand-tabs --merge --log-size --full-diff --clear-decorations"
)
_LISTS = (
    " --sort: --format: --contains: --no-contains: --merged? --no-merged? --points-at: --color? --no-color --column?"
    " --no-column --ignore-case -i --omit-empty"
)
_NAMES = "-vqz --verbose --quiet"
_FORMS: Mapping[str, Check] = {
    "status": forms(
        "-sbvuz -u? --short --branch --porcelain? --long --verbose --untracked-files? --ignored? --show-stash"
        " --ahead-behind --no-ahead-behind --renames --no-renames --find-renames? --ignore-submodules? --column?"
        " --no-column --null",
        "<*",
    ),
    "diff": forms(
        f"{_GIT_DIFF} --cached --staged --merge-base --no-index --cc --base --ours --theirs", "~*", searches="*"
    ),
    "log": forms(_LOG, "<*"),
    "show": forms(_LOG, "<*"),
    "whatchanged": forms(_LOG, "<*"),
    "reflog": forms(_LOG, "<*"),
    "diff-tree": forms(f"{_LOG} -r --root --stdin --no-commit-id", "<*"),
    "diff-index": forms(f"{_GIT_DIFF} --cached -m --merge-base", "<*"),
    "diff-files": forms(_GIT_DIFF, "<*"),
    "range-diff": forms(f"{_GIT_DIFF} --creation-factor: --no-dual-color --left-only --right-only", "<*"),
    "rev-list": forms(f"{_LOG} --count --objects --bisect --header --timestamp --disk-usage?", "<*"),
    "shortlog": forms(
        "-nsec -w? -n -# --numbered --summary --email --committer --group: --format: --since: --until:"
        " --after: --before:"
        " --all --no-merges --merges --author: --grep: --branches? --tags? --remotes? --max-count:",
        "<*",
    ),
    "rev-parse": forms(
        "-q --abbrev-ref? --verify --short? --show-toplevel --show-prefix --show-cdup --git-dir --absolute-git-dir"
        " --git-common-dir --is-inside-work-tree --is-bare-repository --is-inside-git-dir --is-shallow-repository"
        " --symbolic --symbolic-full-name --all --branches? --tags? --remotes? --quiet"
        " --show-superproject-working-tree"
        " --show-object-format? --revs-only --no-revs --flags --no-flags --not",
        "<*",
    ),
    "blame": forms(
        "-bclnsetwfpkM? -L< -M? -C? -# --root --show-stats --porcelain --line-porcelain --incremental --show-name"
        " --show-number --show-email --date: --since: --reverse --first-parent --abbrev: --color-lines"
        " --color-by-age",
        "<*",
    ),
    "annotate": forms("-lt -L<", "<*"),
    "ls-files": forms(
        "-cdmoiskutzvf --cached --deleted --modified --others --ignored --stage --unmerged --killed"
        " --exclude-standard"
        " --full-name --error-unmatch --eol --abbrev? --deduplicate --directory --no-empty-directory --exclude: -x:"
        " --format: --resolve-undo",
        "@*",
    ),
    "ls-tree": forms(
        "-drtlz --name-only --name-status --long --full-name --full-tree --abbrev? --object-only --format:", "@*"
    ),
    "grep": forms(
        "-nNilLcowvEFGPhHqpWazIr0123456789 -A: -B: -C: -m: -e: -# --line-number --ignore-case --files-with-matches"
        " --files-without-match --name-only --count --only-matching --word-regexp --invert-match --extended-regexp"
        " --fixed-strings --basic-regexp --perl-regexp --quiet --show-function --function-context --text --null"
        " --heading --break --color? --no-color --cached --untracked --max-depth: --and --or --not"
        " --all-match --column"
        " --full-name --after-context: --before-context: --context: --max-count: --no-textconv --recursive"
        " --exclude-standard",
        "<*",
    ),
    "cat-file": forms("-tsep", "<*"),
    "describe": forms(
        "--tags --all --always --long --dirty? --abbrev: --match: --exclude: --exact-match --candidates:"
        " --first-parent --contains",
        "<*",
    ),
    "merge-base": forms("-a --all --octopus --is-ancestor --fork-point --independent", "<*"),
    "name-rev": forms("--tags --refs: --exclude: --all --name-only --always", "<*"),
    "show-ref": forms(
        "-qdsh --head --heads --tags --branches --dereference --hash? --verify --quiet --abbrev?", "<*"
    ),
    "for-each-ref": forms(f"--count: --shell --include-root-refs{_LISTS}", "<*"),
    "count-objects": forms("-vH --verbose --human-readable"),
    "cherry": forms("-v --abbrev?", "<*"),
    "check-ignore": forms("-qvnz --quiet --verbose --non-matching --no-index", "@*"),
    "check-attr": forms("-az --all --cached", "@*"),
    "check-ref-format": forms("--branch --normalize --allow-onelevel", ":*"),
    "check-mailmap": forms("", ":*"),
    "stripspace": forms("-sc --strip-comments --comment-lines"),
    "show-branch": forms(
        "-ar --all --remotes --current --list --sha1-name --no-name --topo-order --date-order --color? --no-color",
        "<*",
    ),
    "version": forms("--build-options"),
    # Of these other forms would change branches, tags, remotes or stashes.
    "branch": forms(f"-arv --all --remotes --verbose --show-current --list --no-abbrev --abbrev:{_LISTS}", ""),
    "tag": forms(f"-l -n? --list{_LISTS}", ""),
    "remote": forms("-v --verbose"),
}
# With one of these first the rest are patterns or names, and nothing is made of them.
_FIRST: Mapping[str, Mapping[str, Check]] = {
    "branch": dict.fromkeys(
        ("--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"),
        forms(f"-arv --all --remotes --verbose --abbrev:{_LISTS}", "<*"),
    ),
    "tag": dict.fromkeys(("-l", "--list"), forms(f"-n?{_LISTS}", "<*")),
    "stash": {"list": forms(_LOG, "<*"), "show": forms(f"{_GIT_DIFF} --include-untracked --only-untracked", "<*")},
    "worktree": {"list": forms("-vz --verbose --porcelain")},
    "remote": {"get-url": forms("--all --push", ":")},
    "submodule": {"status": forms("--cached --recursive -q --quiet", "@*")},
    "reflog": {"show": forms(_LOG, "<*"), "exists": forms("", ":"), "list": forms("")},
    "notes": {"list": forms("", "<*"), "show": forms("", "<*")},
    "bisect": {"log": forms("")},
    "sparse-checkout": {"list": forms("")},
    "cat-file": dict.fromkeys(("blob", "tree", "commit", "tag"), forms("", "<")),
}
# A signature is checked by a program that the settings name.
_SIGNATURES = re.compile(r"%G|%[-+ ]?\(\*?(?:signature|raw)|%\(trailers:[^)]*key_value_separator")
_SETTING = re.compile(r"(?:user\.(?:name|email)|core\.\w+|init\.\w+|branch\.[\w./-]+|pull\.\w+|push\.\w+|merge\.\w+)")
_BEFORE_NAMES = frozenset({"--global", "--local", "--system", "--get"})
_BEFORE = frozenset({
    "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--no-lazy-fetch",
})  # fmt: skip
_VERSION = Only((("--version",), ("-v",)))


def is_harmless_git(call: Call) -> bool:
    """True when git only looks, in the session's directories, and what it shows is not its settings."""
    if _VERSION(call):
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
    check = _FIRST.get(subcommand, {}).get(action or "")
    if check is not None:
        takes_value = action in {"--contains", "--no-contains", "--points-at"}
        return check(rest if takes_value else _without_first(rest, 1))
    check = _FORMS.get(subcommand)
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
