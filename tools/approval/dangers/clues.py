"""What only the text of a command tells, because its reading keeps no names of variables and no substitutions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.approval.dangers.finding import Finding
from tools.approval.dangers.machine import KILLERS, named_in_kill
from tools.approval.dangers.words import texts
from tools.bash.doubts import UNKNOWN_TEXT
from tools.bash.reading import UNKNOWN, Invocation, Reading

_REQUESTS = frozenset({
    "curl", "wget", "http", "https", "xh", "dig", "drill", "delv", "host", "nslookup", "ping", "ping6",
    "whois", "traceroute", "tracepath", "mtr", "aria2c", "lynx", "w3m", "links", "fetch", "openssl", "getent",
    "kdig",
})  # fmt: skip
# Longer ones are not searched for what comes after what.
_MAX_CHARS = 8_000
_SUBSTITUTED = re.compile(r"\$\((?!\()|`|<\(")
_SUBSTITUTION_IN_REQUEST = re.compile(
    r"\b(?:curl|wget|https?|xh|dig|drill|delv|host|nslookup|ping6?|whois|traceroute|tracepath|mtr|aria2c"
    r"|lynx|w3m|links|fetch|openssl|getent|kdig|clone|pull|ls-remote)\s[^\n]*?(?:\$\((?!\()|`|<\()"
)
_HOOK = re.compile(
    r"\beval\s+\"?(?:\$\(|`)\s*(?:ssh-agent|direnv|pyenv|rbenv|nodenv|goenv|jenv|starship|zoxide|fnm|mise|rtx|asdf"
    r"|brew|conda|mamba|opam"
    r"|luarocks|dircolors|thefuck|keychain|nvm|volta|register-python-argcomplete|pip|npm|docker-machine|minikube|fzf"
    r"|atuin)"
    r"(?:\s+[\w./=-]+)*\s*(?:\)|`)\"?"
)
_TELLING = r"\w*(?:KEY|TOKEN|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIAL|_PAT|_PWD|DATABASE_URL|DSN)\w*"
_TELLING_VARIABLE = re.compile(rf"\$\{{?!?{_TELLING}", re.IGNORECASE)
_SHOWN_TELLING = re.compile(rf"\b(?:echo|printf|printenv|cat)\b[^;&|\n]*\$\{{?!?{_TELLING}", re.IGNORECASE)
_ALSO_END = frozenset({"fuser", "gdb", "lldb", "strace", "ltrace", "npx", "busybox"})
_OWN_JOB = re.compile(r"\b(\w+)=\"?\$!")
_OTHER_VALUE = re.compile(r"\b(\w+)\+?=(?!\"?\$!)")
_FILLED = re.compile(r"\b(?:for|select|read|mapfile|readarray|getopts|printf\s+-v)\b[^;&|\n]*")
_KILLED = re.compile(
    r"\bkill\b((?:[^\S\n]+(?:-s[^\S\n]+\w+|-\w+|\"?\$\{?[\w!]+\}?\"?|\"?\$\(jobs -p\)\"?|%\w+"
    r"|2>/dev/null|2>&1|>/dev/null))+)"
)
_VARIABLE = re.compile(r"\$\{?([\w!]+)")


def judge_text(command: str, reading: Reading) -> Iterator[Finding]:
    """What `command` would send or show that its reading has no words for."""
    for text in (command, *reading.texts):
        yield from _judge_one(text, reading)


def _judge_one(command: str, reading: Reading) -> Iterator[Finding]:
    text = command.replace("\\\n", "")
    is_long = len(text) > _MAX_CHARS
    carrying = [call for call in reading.invocations if any(UNKNOWN in one.text for one in call.arguments)]
    if any(_is_request(call) for call in carrying):
        pattern = _SUBSTITUTED if is_long else _SUBSTITUTION_IN_REQUEST
        if pattern.search(text):
            yield Finding("dangerous", "exfiltration", "sends data out", outside=True)
    if any(call.program in {"echo", "printf", "printenv", "cat"} for call in reading.invocations):
        pattern = _TELLING_VARIABLE if is_long else _SHOWN_TELLING
        if pattern.search(text):
            yield Finding("dangerous", "credentials", "shows a secret of the environment")


def _is_request(call: Invocation) -> bool:
    if call.program == "git":
        return any(one.text in {"clone", "fetch", "pull", "ls-remote"} for one in call.arguments)
    return call.program in _REQUESTS


def is_known_hook(command: str, reading: Reading) -> bool:
    """Whether all text that cannot be read is what programs print as settings for a shell: `eval "$(ssh-agent)"`."""
    unread = sum(doubt.why == UNKNOWN_TEXT for doubt in reading.doubts)
    return len(_HOOK.findall(command)) == len(re.findall(r"\beval\b", command)) == unread


def kills_only_its_own(command: str, reading: Reading) -> bool:
    """Whether every `kill` of a command ends what the command itself has started: `$!`, or what held it."""
    enders = [call for call in reading.invocations if call.program in KILLERS or call.program in _ALSO_END]
    if len(command) > _MAX_CHARS or not all(call.program == "kill" and _names_jobs(call) for call in enders):
        return False
    own = set(_OWN_JOB.findall(command)) - _set_otherwise(command)
    kills = _KILLED.findall(command)
    if len(kills) != len(re.findall(r"\bkill\b", command)):
        return False
    # All jobs are its own.
    named = _VARIABLE.findall(" ".join(kills).replace("$(jobs -p)", "$!"))
    return bool(named) and all(name == "!" or name in own for name in named)


def _set_otherwise(command: str) -> set[str]:
    """The variables that may hold something else than `$!`: assigned, looped over or read."""
    filled = (re.findall(r"(?<![$\w{!])\w+", part) for part in _FILLED.findall(command))
    return set(_OTHER_VALUE.findall(command)).union(*filled)


def _names_jobs(call: Invocation) -> bool:
    """Whether nothing but variables and jobs is named in a kill, behind at most one signal."""
    targets = named_in_kill(texts(call.arguments))
    are_jobs = all(text == UNKNOWN or text.startswith("%") for text in targets)
    return bool(targets) and are_jobs and not call.adds_unknown
