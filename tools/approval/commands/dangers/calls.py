"""What single calls do: the rows of the table, the few things that a row cannot say, and what only the text tells."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace

from tools.approval.commands.bash.reading import UNKNOWN, UNKNOWN_TEXT, Argument, Invocation, Reading, git_words
from tools.approval.commands.classes import Classify, Finding
from tools.approval.commands.dangers.programs import PROGRAMS
from tools.approval.commands.dangers.remote import LOCAL, OWN_JUDGES
from tools.approval.commands.dangers.scene import (
    OTHER_MACHINES,
    Scene,
    full_path,
    is_below,
    is_own,
    listed,
    place_of,
    sort_words,
    texts,
)
from tools.approval.commands.harmless import is_harmless

_INIT_SCRIPTS = ("/etc/init.d/", "/etc/rc.d/", "/usr/local/etc/rc.d/")
_TO_AN_INDEX = frozenset({"upload", "register"})  # of a setup.py
_PUBLISHED = Finding("dangerous", "publishing", "publishes a package", outside=True)
_KINDS = frozenset({"package", "pkg", "module", "crate", "extension", "chart", "image"})
_DRY = frozenset({"--dry-run", "--help", "-h", "--dry-run=true"})
_SHORT_DRY = frozenset({"cargo", "rake", "dart", "flutter"})  # to others `-n` means that they do not ask


def judge_table(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """What the rows say of `call`."""
    program = call.program.casefold()
    name = "init.d" if call.written.startswith(_INIT_SCRIPTS) else program
    found = PROGRAMS.findings(name, call.arguments, call)
    if program in _SHORT_DRY and Argument("-n") in call.arguments:
        found = (one for one in found if one != _PUBLISHED)
    yield from found
    # Whatever tool says it first: `anything publish`.
    words, given = PROGRAMS.words_of("npm", call.arguments).plain, texts(call.arguments)
    said = words[:1] if _KINDS.isdisjoint(words[:1]) else words[1:2]
    is_known = program in LOCAL or program in OWN_JUDGES or not _DRY.isdisjoint(given)
    behind = itertools.dropwhile(lambda text: posixpath.basename(text) != "setup.py", (call.written, *given))
    if (said in (("publish",), ("unpublish",)) and not is_known) or not _TO_AN_INDEX.isdisjoint(behind):
        yield _PUBLISHED


# Other rights, other machines, processes.

_RIGHTS = frozenset(
    listed("""
        sudo doas su pkexec runuser chroot nsenter unshare setpriv gosu su-exec run0 sudoedit newgrp sg capsh
        machinectl please calife dzdo gksudo kdesu fakechroot proot runas visudo setuidgid chpst
""")
)
_DETACHERS = frozenset(
    listed("""
        setsid nohup disown coproc daemon daemonize start-stop-daemon systemd-run dtach abduco pm2 forever at batch
        screen tmux zellij byobu
""")
)
_SHOWN_ONLY = frozenset({"--version", "--help", "-V"})
KILLERS = frozenset(
    listed("""
        kill pkill killall skill killall5 xkill taskkill stop-process slay tskill fkill fkill-cli kill-port snice
""")
)
_SIGNALLERS = frozenset({"kill", "killall", "pkill", "skill"})


def judge_rights(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001
    """Whether `call` runs as somebody else, on another machine, or on after the command."""
    given = texts(call.arguments)
    if _RIGHTS.intersection(call.via) or (call.program in _RIGHTS and _SHOWN_ONLY.isdisjoint(given[:1])):
        if call.program == "machinectl" and given[:1] in (("list",), ("status",)):
            return
        yield Finding("dangerous", "other rights", "runs with other rights", outside=True)
    if OTHER_MACHINES.intersection(call.via) or (
        call.program in OTHER_MACHINES and not {"--version", "--help", "-V", "-h"}.issuperset(given)
    ):
        yield Finding("dangerous", "exfiltration", "reaches another machine", outside=True)
    if _DETACHERS.intersection(call.via):
        yield Finding("dangerous", "detached", "leaves a process behind")


def judge_processes(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001
    """Which processes `call` ends."""
    program, given = call.program.casefold(), texts(call.arguments)
    if program == "fuser":
        if not any(re.match(r"-\w*k|--kill", text) for text in given):
            return
    elif program not in KILLERS:
        return
    only_shows = given[:1] in (("-l",), ("-L",), ("--list",)) or given[:2] == ("-s", "0")
    if program in _SIGNALLERS and (given[:1] == ("-0",) or (program != "pkill" and only_shows)):
        return
    if program == "kill":
        # Alone `-1` is the signal; behind one it is everybody.
        if "-1" in given[1:]:
            yield Finding("forbidden", "processes", "ends every process of the person")
            return
        targets = named_in_kill(given)
        if given == ("0",) or (targets and all(re.fullmatch(r"%[\w%+-]*", text) for text in targets)):
            return  # all that this very command has started, or jobs of it
    if not given and program not in {"xkill", "killall5"}:
        return
    if program == "killall5" or given[-1:] == (".",):
        yield Finding("dangerous", "processes", "ends all processes", outside=True)
        return
    yield Finding("dangerous", "processes", "ends processes", outside=not given or UNKNOWN not in given[-1])


def named_in_kill(given: tuple[str, ...]) -> tuple[str, ...]:
    """What a `kill` is to end: all that stands behind at most one signal."""
    if given[:1] == ("-s",):
        return given[2:]
    return given[1:] if given and given[0].startswith("-") else given


# What a container gets of this machine, and what is put into one.

_ENGINES = frozenset(listed("docker podman nerdctl lxc ctr crictl incus apptainer singularity buildah"))
_COMPOSES = frozenset({"docker-compose", "podman-compose"})
_PLACING = "ftco", ("--output", "--file", "--tag")
_MOUNTING = "vewupl", ("--volume", "--mount", "--env", "--name", "--workdir", "--user", "--bind", "-B")
_HARMLESS_PLACES = frozenset({"inside", "temporary", "nothing"})


def judge_containers(call: Invocation, scene: Scene) -> Iterator[Finding]:
    """What `call` mounts into a container, copies into one, or has one write here."""
    if call.program.casefold() not in _ENGINES | _COMPOSES:
        return
    words = sort_words(call.arguments, *_MOUNTING)
    for value in (*words.values("-v", "--volume", "--bind", "-B"), *_bound(words.values("--mount"))):
        if why := _mounted(value, call, scene):
            yield Finding("dangerous", "containers", f"gives a container {why}", outside=True)
            break
    words = sort_words(call.arguments, *_PLACING)
    plain = words.plain[1:] if words.plain[:1] in (("container",), ("compose",), ("buildx",)) else words.plain
    if plain[:1] == ("cp",) and len(plain) > 2:  # noqa: PLR2004 - cp, from where, to where
        name, _, path = plain[-1].partition(":")
        if not name.startswith((".", "/")) and re.match(r"/(?:etc|usr|bin|sbin|lib|root|boot|var/spool)\b", path):
            yield Finding("dangerous", "containers", "changes the system of a container", outside=True)
    elif plain[:1] in (("build",), ("bake",)):
        for value in words.values("-o", "--output"):
            target = re.search(r"dest=([^,]*)", value.text)
            place = place_of(Argument(target[1] if target else value.text), call.cwd, scene)
            if place.kind not in _HARMLESS_PLACES:
                yield Finding("dangerous", "containers", f"writes {place.shown} of this machine", outside=True)


def _mounted(value: Argument, call: Invocation, scene: Scene) -> str:
    """What of this machine a container gets with a mount, where that is more than the session's own files."""
    source, is_mounted, _ = value.text.partition(":")
    if not is_mounted or not source.startswith(("/", "~", ".")):
        return ""
    if source.endswith(("docker.sock", "podman.sock", "containerd.sock", "crio.sock")):
        return "the engine that runs all of them"
    place = place_of(Argument(source), call.cwd, scene)
    is_read_only = re.search(r":(?:\w+,)*ro\b", value.text) is not None
    is_harmless_place = place.kind in _HARMLESS_PLACES or (is_read_only and place.kind == "outside")
    return "" if is_harmless_place else f"{place.shown} of this machine"


def _bound(mounts: tuple[Argument, ...]) -> Iterator[Argument]:
    for mount in mounts:
        if source := re.search(r"(?:source|src)=([^,]*)", mount.text):
            yield Argument(f"{source[1]}:mounted" + ":ro" * bool(re.search(r"readonly|,ro", mount.text)))


# git, whose commands are rows; its settings.

_RUNS = re.compile(
    r"alias\.|core\.(?:pager|editor|fsmonitor|sshcommand|hookspath|askpass|gitproxy|attributesfile|worktree)"
    r"|pager\.|diff\..*\.(?:textconv|command)|diff\.external|.*\.(?:cmd|command|process|clean|smudge|driver"
    r"|helper|program|textconv|prompttool)$|credential|gpg\.|ssh\.|sequence\.editor|editor"
    r"|url\..*\.(?:push)?insteadof|http\.proxy|http\.sslverify|include|init\.templatedir|filter\."
    r"|merge\.tool|protocol\..*allow|remote\..*\.(?:uploadpack|receivepack|vcs|proxy|url|pushurl)"
    r"|submodule\..*\.update|uploadpack|browser\.|man\.|receive\.",
    re.IGNORECASE,
)
_HARMLESS_VALUES = frozenset({"cat", "true", "", ":", "less", "false", "vim", "nano", "/dev/null"})
_PLAIN_SETTING = re.compile(
    r"user\.(?:name|email)|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|init\.defaultbranch|commit\.gpgsign"
    r"|core\.(?:autocrlf|filemode|ignorecase|eol|quotepath|longpaths|safecrlf)|color\.\w+|advice\.\w+|fetch\.prune"
    r"|merge\.conflictstyle|rerere\.enabled|branch\.[\w/-]+\.(?:remote|merge|rebase)|diff\.(?:algorithm|renames)",
    re.IGNORECASE,
)
_READS_CONFIG = frozenset(
    listed("""
        --get --get-all --get-regexp --list -l get list --get-urlmatch --show-origin --name-only --get-color
        --get-colorbool
""")
)
_OF_OTHER_FILES = ("--global", "--system", "--worktree", "--file", "-f", "--blob")


def judge_git(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001
    """What `call` does to a repository."""
    if call.program.casefold() != "git":
        return
    words = git_words(call)
    command, rest = words.command, words.rest
    for name, value in words.options:
        if name in {"--exec-path", "--config-env"} or (name == "-c" and _is_running(value.text)):
            yield Finding("dangerous", "persistence", "runs git with other settings")
    if command is None:
        return
    if UNKNOWN in command.text or command.splits:
        yield Finding("dangerous", "hidden", "runs a command of git whose name is hidden")
        return
    found = PROGRAMS.findings(f"git-{command.text}", rest, call)
    if command.text == "config":
        found = itertools.chain(found, _config(rest))
    is_here = words.folder is not None and not any(each.text.startswith(_OF_OTHER_FILES) for each in rest)
    if command.text in {"config", "remote"} and is_here:
        # If it runs at the top of its work tree.
        found = (replace(one, place=str(words.folder / ".git/config")) for one in found if words.folder)
    yield from found


def _is_running(setting: str) -> bool:
    name, _, value = setting.partition("=")
    if not _RUNS.match(name):
        return UNKNOWN in name
    return value.strip() not in _HARMLESS_VALUES


def _config(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    words = PROGRAMS.words_of("git-config", rest)
    if _READS_CONFIG.intersection(texts(rest)) or words.has("--get-regexp"):
        return
    takes = words.has("--unset-all", "--remove-section") or words.plain == ("edit",)
    if len(words.operands) == 1 and not takes:
        return  # `git config user.name` shows it
    is_wide = words.has("--global", "--system", "--file", "-f", "--rename-section")
    setting = words.plain[1:] if words.plain[:1] in (("set",), ("unset",)) else words.plain
    if is_wide or not any(_PLAIN_SETTING.fullmatch(text) for text in setting[:1]):
        everywhere = words.has("--global", "--system")
        yield Finding("dangerous", "persistence", "changes git settings", outside=everywhere)


# Databases whose own language is no SQL.

_REDIS = re.compile(
    r"flush(?:all|db)|del|unlink|config|shutdown|debug|script|eval|evalsha|module|slaveof|replicaof|migrate"
    r"|save|bgsave|rename|swapdb|acl|cluster|failover|bgrewriteaof|restore|getdel|hdel|lrem|ltrim|srem"
    r"|zrem\w*|xdel|xtrim|client|reset|spop",
    re.IGNORECASE,
)
_REDIS_VALUES = "hpansuiDrdc", ("--user", "--pass", "--uri", "--cacert", "--cert", "--key", "--sni", "-u")
_MONGO = re.compile(
    r"drop(?:Database|Index\w*|User|Role|All\w*)?\s*\(|\.(?:deleteMany|deleteOne|remove|findOneAndDelete"
    r"|bulkWrite|updateMany|renameCollection|shutdownServer|rename|\$where)\s*\(",
    re.IGNORECASE,
)
_MONGO_ASKS = re.compile(
    r"find(?:One)?|count\w*|estimatedDocumentCount|distinct|getIndexes|get(?:Collection|Sibling|DB|Name)\w*"
    r"|stats|explain|limit|skip|sort|pretty|toArray|forEach|map|print\w*|version|serverStatus|listDatabases"
    r"|hello|ObjectId|ISODate|Date|projection|hint|size|length|isoDate|tojson"
)


def judge_databases(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001
    """What `call` deletes from a database; SQL is a script (`scripts/sql.py`)."""
    program, given = call.program.casefold(), texts(call.arguments)
    if program in {"redis-cli", "valkey-cli", "keydb-cli", "iredis"}:
        lines = (*sort_words(call.arguments, *_REDIS_VALUES, is_led=True).plain[:1], *call.input.text.splitlines())
        if any(_REDIS.fullmatch(word) for line in lines for word in line.split()[:1]):
            yield Finding("dangerous", "sql", "deletes database content", outside=True)
        elif call.input.kind in {"command", "unknown"} or UNKNOWN in given:
            yield Finding("dangerous", "sql", "runs commands in a database that are not known", outside=True)
    elif program in {"mongosh", "mongo"}:
        script = " ".join((*given, call.input.text))
        called = re.findall(r"\b(\w+)\s*\(", script)
        if _MONGO.search(script):
            yield Finding("dangerous", "sql", "deletes database content", outside=True)
        elif called and all(map(_MONGO_ASKS.fullmatch, called)):
            return
        elif any(text.partition("=")[0] == "--eval" for text in given) or call.input.kind == "command":
            yield Finding("dangerous", "inline script", "runs an inline script", outside=True)


# This agent's own directory.

_FOLDER_OPTION = re.compile(r"-C|--(?:directory|work-tree|git-dir|cwd|prefix|chdir|project-dir)(?:=(.+))?", re.DOTALL)
_GIT_LOOKS = frozenset(listed("status log diff show ls-files remote branch rev-parse blame"))


def judge_workplace(call: Invocation, scene: Scene, classify: Classify) -> Iterator[Finding]:
    """Whether `call` works inside this agent's own directory, by `cd`, `git -C` or `make -C`, and may change it."""
    folder, given = call.cwd, texts(call.arguments)
    for name, value in itertools.pairwise((*given, "")):
        glued = _FOLDER_OPTION.fullmatch(name)
        if glued is not None and (glued[1] or value):
            folder = full_path(glued[1] or value, folder)
    if call.elsewhere or folder is None or not is_own(folder, scene):
        return
    if any(is_below(folder, root) for root in scene.roots) or is_harmless(call, classify, scene.roots):
        return
    plain = [text for text in given if not text.startswith("-")]
    if call.program == "pushd" or (call.program == "git" and not _GIT_LOOKS.isdisjoint(plain[:2])):
        return
    yield Finding("dangerous", "our configuration", "works inside this agent's own directory", outside=True)


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
_HARMLESS_VARIABLES = (
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
    fits = next(values for names, values in _HARMLESS_VARIABLES if re.fullmatch(names, name))
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
