"""What single calls do: the rows of the table, and the few things that a row cannot say."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace

from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation, git_words
from tools.approval.commands.classes import Classify, Finding
from tools.approval.commands.dangers.programs import PROGRAMS
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
from tools.approval.commands.dangers.verbs import LOCAL, OWN_JUDGES
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
