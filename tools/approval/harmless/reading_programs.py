"""Programs whose words are a language of their own, or mean something else than `getopt` makes of them."""

from __future__ import annotations

import re
from dataclasses import replace

from tools.approval.harmless.forms import Call, FormReading, forms, may_be_given, may_be_searched
from tools.approval.scripts.awk import judge_awk
from tools.approval.scripts.effects import Effects
from tools.approval.scripts.sed import judge_sed
from tools.bash.reading import UNKNOWN, Argument

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
