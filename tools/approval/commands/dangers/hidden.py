"""Programs that nobody can look into, and what only the raw text shows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.approval.commands.bash.reading import UNKNOWN, UNKNOWN_TEXT, Argument, Invocation, Reading
from tools.approval.commands.classes import Finding
from tools.approval.commands.dangers.calls import KILLERS, named_in_kill
from tools.approval.commands.dangers.scene import Scene, listed, sort_words, texts

# What hides its meaning, runs code from elsewhere, or makes harmless programs run something else.

SHELLS = re.compile(r"(?:ba|z|da|a|k|mk|fi|c|tc|pdk|ya|o|r)?sh|busybox|nu|xonsh|elvish|rbash", re.IGNORECASE)
_FETCHERS = frozenset({
    "curl", "wget", "fetch", "http", "https", "xh", "aria2c", "lynx", "nc", "ncat", "ssh", "git",
    "lwp-request", "GET", "axel", "curlie", "wget2", "scp", "aws", "gsutil", "openssl", "dig", "socat",
})  # fmt: skip
_LOADED = re.compile(
    r"LD_(?:PRELOAD|LIBRARY_PATH|AUDIT|CONFIG\w*)|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|PS[0-4]|GIT_(?:SSH\w*"
    r"|EXTERNAL_DIFF|EXEC_PATH|PROXY_COMMAND|TEMPLATE_DIR|CONFIG\w*|ASKPASS|PAGER|EDITOR|SEQUENCE_EDITOR)"
    r"|SSH_ASKPASS|SUDO_ASKPASS|\w*PAGER|\w*EDITOR|VISUAL|BROWSER|LESS(?:OPEN|CLOSE)|PYTHON(?:STARTUP|HOME"
    r"|INSPECT|BREAKPOINT)|PERL5(?:OPT|LIB|DB)|PERLLIB|RUBY(?:OPT|LIB)|GCONV_PATH|HOSTALIASES|IFS_EVAL"
    r"|RUSTC_WORKSPACE_WRAPPER|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|NODE_OPTIONS|OPENSSL_CONF"
    r"|OPENSSL_ENGINES|TAR_OPTIONS|ZDOTDIR|MAKEFLAGS|BASH_FUNC_\w*|SHELLOPTS|HISTFILE|CURL_HOME|WGETRC"
    r"|npm_config_script_shell|GREP_OPTIONS|KUBECONFIG_EXEC|TERMINFO\w*|MANOPT|SYSTEMD_PAGER"
)
# What may stand in one of them all the same; in those that are not named here, the last.
_JAVA = rf"(?!.*(?:agent|[{UNKNOWN}@]|On(?:OutOfMemory)?Error|bootclasspath|VMOptionsFile|:Flags=)).*"
_HARMLESS_VALUES = (
    ("NODE_OPTIONS", (
        r"(?:(?:^|\s+)--(?:max[-_]\w\S*|no-\S+|openssl-legacy-provider|trace-\S+|enable-source-maps"
        r"|experimental-vm-modules|inspect\S*|unhandled-rejections\S*|stack-size\S*))*\s*"
    )),
    ("JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS", _JAVA),
    ("ENV", rf"(?!\.)[^/~{UNKNOWN}]*"),  # to a shell it is a file; to others it is often a word: `ENV=test`
    ("MAKEFLAGS", r"(?!.*SHELL)[\s\w=-]*"),
    ("GIT_CONFIG_NOSYSTEM", r".*"),
    (r"GIT_CONFIG_\w+", r"/dev/null|<plain>"),
    ("PS[12]", r"(?!.*(?:\$\(|`)).*"),
    (r"\w+", "<plain>"),
)  # fmt: skip
_PLAIN = (
    r"|:|true|false|cat|less(?: -\w+)?|more|/bin/(?:true|cat|less)|/usr/bin/(?:true|cat)|0|1|vim?|nano|none|off"
    r"|ignore(?:::\w+)?|error|default|always|once"
)
_OURS = re.compile(r"HERMES_\w+")


def judge_hidden(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """Whether `call` makes something run that its words do not say."""
    program, given = call.program.casefold(), texts(call.arguments)
    for name, value in (*call.assignments, *_exported(program, call.arguments)):
        if _OURS.fullmatch(name):
            yield Finding("dangerous", "our configuration", "changes what this agent works with")
        elif name == "PATH" and re.search(r"(?:^|:)(?:/tmp|/var/tmp|/dev/shm|\.)(?:/[^:]*)?(?::|$)", value.text):
            yield Finding("dangerous", "hidden", "makes programs run something else through PATH")
        elif _LOADED.fullmatch(name) and not _is_harmless(name, value):
            yield Finding("dangerous", "hidden", f"makes programs run something else through {name}")
    if SHELLS.fullmatch(program):
        yield from _fed_shell(program, call)
    elif program in {"source", "."} and any(
        text == UNKNOWN or text.startswith(("/dev/fd/", "/dev/stdin", "/proc/self/fd")) for text in given[:1]
    ):
        yield Finding("dangerous", "remote code", "feeds text to an interpreter")
    if re.match(r"(?:https?|ftp|git\+\w+|github|gitlab|bitbucket|gist):", call.written):
        yield Finding("dangerous", "remote code", "runs code that comes from elsewhere", outside=True)


def _exported(program: str, arguments: tuple[Argument, ...]) -> Iterator[tuple[str, Argument]]:
    if program not in {"export", "declare", "typeset", "local", "readonly", "setenv"}:
        return
    for argument in arguments:
        name, equals, value = argument.text.partition("=")
        if equals:
            yield name, Argument(value)


def _is_harmless(name: str, value: Argument) -> bool:
    fits = next(values for names, values in _HARMLESS_VALUES if re.fullmatch(names, name))
    return re.fullmatch(fits.replace("<plain>", _PLAIN), value.text, re.DOTALL) is not None


def _fed_shell(program: str, call: Invocation) -> Iterator[Finding]:
    words = sort_words(call.arguments, "cOo", ("--rcfile", "--init-file"))
    if words.has("--version", "--help", "-n"):
        return
    source = words.operands[0].text if words.operands else ""
    is_script = bool(source) and not source.startswith(("/dev/", "/proc/self/fd")) and not words.has("-s")
    if words.values("--rcfile", "--init-file"):
        yield Finding("dangerous", "hidden", "makes the shell run another script")
    if call.adds_unknown and not is_script:
        yield Finding("dangerous", "hidden", "runs text that is not known")
        return
    if is_script and source != UNKNOWN:
        return
    if program == "busybox" or words.has("-c"):
        return  # its text was read
    if source.startswith(("/dev/fd", "/proc/self/fd")) or source == UNKNOWN:
        yield Finding("dangerous", "remote code", "feeds text to an interpreter")
    elif call.input.kind == "command":
        yield _piped(call)
    elif call.input.kind in {"inherited", "unknown"}:
        yield Finding("dangerous", "hidden", "feeds text to an interpreter")


def _piped(call: Invocation) -> Finding:
    source = call.input.source
    if source is not None and source.program in _FETCHERS:
        return Finding("dangerous", "remote code", "runs code that comes from elsewhere")
    return Finding("dangerous", "hidden", "feeds text to an interpreter")


# What only the text tells: readings keep no names of variables and no substitutions.

_REQUESTS = frozenset(
    listed("""
    curl wget http https xh dig drill delv host nslookup ping ping6 whois traceroute tracepath mtr aria2c lynx w3m
    links fetch openssl getent kdig
""")
)
# Longer ones are not searched for what comes after what.
_MAX_CHARS = 8_000
_SUBSTITUTED = re.compile(r"\$\((?!\()|`|<\(")
_SUBSTITUTION_IN_REQUEST = re.compile(
    rf"\b(?:{'|'.join(sorted(_REQUESTS, reverse=True))}|clone|pull|ls-remote)\s[^\n]*?(?:\$\((?!\()|`|<\()"
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
