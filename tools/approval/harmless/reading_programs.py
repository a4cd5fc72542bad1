"""Programs that look with some arguments, and write or run others with some."""

from __future__ import annotations

import re

from tools.approval.harmless.arguments import Call, Texts
from tools.approval.scripts.awk import judge_awk
from tools.approval.scripts.sed import judge_sed
from tools.bash.reading import UNKNOWN

_FIND_WRITES = re.compile(r"-(?:delete|ok|okdir|exec|execdir|fls|fprint\w*)")
_SED_OPTIONS = re.compile(
    r"-[nErusz]+|--(?:quiet|silent|regexp-extended|posix|null-data|separate|sandbox|unbuffered)"
)
_AWK_OPTION = re.compile(r"-[Fv].+", re.DOTALL)
_TAR_LISTS = re.compile(r"-?(?=\w*t)[tvzjJfa]+")
_JQ_TELLS = re.compile(r"\b(?:env|input_filename|import|include|modulemeta|get_search_list|halt_error)\b|\$ENV|\$__")
_JQ_OPTIONS = re.compile(
    r"-[rcesSnjaCM]+|--(?:raw-output|compact-output|exit-status|slurp|sort-keys|null-input|tab|raw-input|join-output"
    r"|color-output|monochrome-output|arg|argjson|args|indent|stream|seq)"
)
_YQ_TELLS = re.compile(r"\b(?:\w*env\w*|load\w*|system|filename|eval)\b")
_YQ_OPTIONS = re.compile(
    r"-[reojPCMNnc]+|-[op]=?\w+|--(?:output-format|input-format|prettyPrint|no-colors|raw-output|tojson)(?:=\w+)?"
)
_PS_SELECTS = re.compile(r"-(?:[opOCuUgGtsqkN]|-(?:pid|ppid|user|group|format|sort|forest|no-headers))")
_HARMLESS_VARIABLES = frozenset(
    {"HOME", "PATH", "USER", "LANG", "PWD", "SHELL", "TERM", "TZ", "LOGNAME", "VIRTUAL_ENV"}
)
_XXD_VALUES = frozenset({"-l", "-s", "-c", "-g", "-o", "-len", "-seek", "-cols"})
_BAT_RUNS = ("--pag", "--less", "--gen", "--diag")
_IP_OPTIONS = frozenset({"-br", "-4", "-6", "-c", "-brief", "-j", "-s"})
_IP_OBJECTS = frozenset({"a", "addr", "address", "r", "route", "link", "l", "neigh", "rule"})
_IP_SHOWS = frozenset({
    (), ("show",), ("s",), ("list",), ("ls",), ("l",),
})  # fmt: skip
_PIP_OPTIONS = re.compile(
    r"--(?:format(?:=\w+)?|not-required|user|local|files|verbose|disable-pip-version-check|all)|-[vlf]"
)


def find(call: Call) -> bool:
    """`find` without actions that change something; what it runs is an invocation of its own."""
    return call.are_known and not any(text is None or _FIND_WRITES.fullmatch(text) for text in call.texts)


def sed(call: Call) -> bool:
    """`sed` with a script that neither writes, nor runs, nor reads other files, and not in place."""
    rest = list(call.texts)
    scripts: list[str | None] = []
    while rest and (option := _option(rest)):
        if option in {"-e", "-ne", "-nEe", "--expression"} and rest:
            scripts.append(rest.pop(0))
        elif option.startswith("--expression="):
            scripts.append(option.partition("=")[2])
        elif not _SED_OPTIONS.fullmatch(option):
            return False
    if not scripts:
        scripts, rest = rest[:1], rest[1:]
    is_known = (
        bool(scripts) and call.are_known and all(script is not None and UNKNOWN not in script for script in scripts)
    )
    return is_known and _are_operands(rest) and judge_sed("\n".join(filter(None, scripts))).level == "safe"


def awk(call: Call) -> bool:
    """`awk` with a program that neither writes, nor runs, nor reads other files."""
    if not call.are_known:
        return False
    rest = list(call.texts)
    while rest and (option := _option(rest)):
        if option in {"-F", "-v"} and rest:
            rest.pop(0)
        elif option == "--":
            break
        elif not _AWK_OPTION.fullmatch(option):
            return False
    program = rest[0] if rest else None
    if program is None or UNKNOWN in program or not _are_operands(rest[1:]):
        return False
    return judge_awk(program).level == "safe"


def jq(call: Call) -> bool:
    """`jq` with a filter that shows no variables and takes in no other files."""
    return _filters(call, _JQ_OPTIONS, _JQ_TELLS)


def yq(call: Call) -> bool:
    """`yq` that writes no file and shows no variables."""
    return _filters(call, _YQ_OPTIONS, _YQ_TELLS)


def xxd(call: Call) -> bool:
    """`xxd`: its second operand would be written, and `-r` writes what a dump says."""
    operands = 0
    rest = iter(call.texts)
    for text in rest:
        if text is None or text.startswith("-r"):
            return False
        if operands or not text.startswith("-") or text in {"-", "--"}:
            operands += 1
        elif text in _XXD_VALUES:
            next(rest, None)
    return operands <= 1 and call.are_known and not any(a.expands for a in call.invocation.arguments)


def bat(call: Call) -> bool:
    """`bat` without another program to look at things with."""
    return call.are_known and not any(text == "cache" or (text or "").startswith(_BAT_RUNS) for text in call.texts)


def tar(call: Call) -> bool:
    """`tar t`: a name with a colon would be one on another machine."""
    texts = call.texts
    if not texts or not call.are_known or not _TAR_LISTS.fullmatch(texts[0] or ""):
        return False
    return _are_operands(texts[1:]) and not any(":" in (text or "") for text in texts)


def ps(call: Call) -> bool:
    """`ps`, but not with the environments of the processes."""
    if not call.are_known:
        return False
    is_value = False
    for text in call.texts:
        if text is None or "E" in text:
            return False
        if not text.startswith("-") and "e" in text and not is_value:
            return False
        is_value = _PS_SELECTS.fullmatch(text) is not None or bool(re.fullmatch(r"-[a-z]*[opuU]", text))
    return True


def printenv(call: Call) -> bool:
    """One variable that is no secret."""
    return len(call.texts) == 1 and call.texts[0] in _HARMLESS_VARIABLES


def ip(call: Call) -> bool:
    """`ip addr` and its like."""
    rest = [text for text in call.texts if text not in _IP_OPTIONS]
    return call.are_known and bool(rest) and rest[0] in _IP_OBJECTS and tuple(rest[1:]) in _IP_SHOWS


def pip(call: Call) -> bool:
    """`pip list`, `show`, `freeze`, `check`: of what is installed, without asking the index."""
    texts = call.texts
    if not texts or not call.are_known or texts[0] not in {"list", "show", "freeze", "check"}:
        return False
    if texts[0] == "list" and "--disable-pip-version-check" not in texts:
        return False  # it looks for a newer pip, and notes that
    return all(text is not None and (text[:1] != "-" or _PIP_OPTIONS.fullmatch(text)) for text in texts[1:])


def _option(rest: list[str | None]) -> str:
    """The first of the arguments, taken away, if that is an option; else ''."""
    first = rest[0]
    if first is None or not first.startswith("-") or first == "-":
        return ""
    del rest[0]
    return first


def _filters(call: Call, options: re.Pattern[str], telling: re.Pattern[str]) -> bool:
    """Known options only, and no argument that would show variables or read other files."""
    if not call.are_known:
        return False
    return all(
        text is not None
        and UNKNOWN not in text
        and not telling.search(text)
        and (not text.startswith("-") or text in {"-", "--"} or options.fullmatch(text) is not None)
        for text in call.texts
    )


def _are_operands(texts: list[str | None] | Texts) -> bool:
    return all(text is not None and (not text.startswith("-") or text == "-") for text in texts)
