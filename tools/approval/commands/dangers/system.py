"""What changes the machine and outlives the project: rights, processes, containers, publishing, settings."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping

from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation
from tools.approval.commands.classes import Classify, Family, Finding
from tools.approval.commands.dangers.remote import LOCAL, OWN_JUDGES
from tools.approval.commands.dangers.scene import (
    OTHER_MACHINES,
    Scene,
    Words,
    full_path,
    is_below,
    is_own,
    place_of,
    shown,
    sort_words,
    texts,
)
from tools.approval.commands.harmless import is_harmless

# The machine itself: services, power, users, packages, the firewall, other rights, processes.

_RIGHTS = frozenset({
    "sudo", "doas", "su", "pkexec", "runuser", "chroot", "nsenter", "unshare", "setpriv", "gosu", "su-exec",
    "run0", "sudoedit", "newgrp", "sg", "capsh", "machinectl", "please", "calife", "dzdo", "gksudo", "kdesu",
    "fakechroot", "proot", "runas", "visudo", "setuidgid", "chpst",
})  # fmt: skip
_POWER = frozenset({
    "shutdown", "reboot", "halt", "poweroff", "init", "telinit", "pm-suspend", "pm-hibernate", "hibernate",
    "suspend", "rtcwake", "kexec", "stop-computer", "restart-computer", "systemsetup", "pmset",
})  # fmt: skip
_SERVICES = {
    "systemctl": frozenset({
        "status", "show", "list-units", "list-unit-files", "list-timers", "list-sockets", "is-active",
        "is-enabled", "is-failed", "cat", "help", "list-dependencies", "list-jobs", "get-default",
        "show-environment",
    }),
    "service": frozenset({"status", "--status-all"}),
    "launchctl": frozenset({"list", "print", "blame", "version", "help"}),
    "rc-service": frozenset({"status", "-l", "--list"}),
    "rc-update": frozenset({"show"}),
    "supervisorctl": frozenset({"status", "tail", "maintail", "avail", "version", "pid"}),
    "initctl": frozenset({"list", "status", "version"}),
    "update-rc.d": frozenset({"--help"}),
    "chkconfig": frozenset({"--list"}),
    "sv": frozenset({"status"}),
    "loginctl": frozenset({"list-sessions", "show-session", "session-status", "show-user", "list-users"}),
    "hostnamectl": frozenset({"status"}),
    "timedatectl": frozenset({"status", "show", "list-timezones"}),
    "localectl": frozenset({"status"}),
    "sc": frozenset({"query"}),
    "s6-svc": frozenset(),
    "snap": frozenset({"list", "info", "find", "version", "services", "logs", "connections", "interfaces"}),
    "monit": frozenset({"status", "summary"}),
    "nmcli": frozenset({"status", "show"}),
}  # fmt: skip
# Where of these the verb is, by number; the others have it first.
_VERB_PLACES = {"service": 1, "rc-service": 1, "nmcli": -1}
_SERVERS = frozenset({
    "apachectl", "apache2ctl", "httpd", "pg_ctl", "pg_ctlcluster", "unitctl", "caddy", "rabbitmq-server",
    "mysqladmin",
})  # fmt: skip
_TOLD_TO_SERVERS = frozenset({
    "stop", "restart", "graceful", "graceful-stop", "start", "reload", "shutdown", "kill",
})  # fmt: skip
_INIT_SCRIPTS = ("/etc/init.d/", "/etc/rc.d/", "/usr/local/etc/rc.d/")
_TOLD_TO_THE_SYSTEM = re.compile(r"PowerOff|Reboot|Suspend|Hibernate|Halt|StopUnit|RestartUnit|KillUnit|Disable")
_NETWORK_CHANGES = frozenset({
    "add", "append", "change", "connect", "del", "delete", "disconnect", "down", "flush", "join", "leave",
    "prepend", "replace", "restore", "set",
})  # fmt: skip
_BATCH = re.compile(r"--?b(?:atch)?")
# What else they are given is the script's, also `--help`.
_SCRIPT_RUNNERS = frozenset({"service", "rc-service", "apachectl", "apache2ctl"})
_USERS = re.compile(
    r"(?:user|group)(?:add|del|mod|s)|(?:add|del)(?:user|group)|passwd|chpasswd|chsh|chfn|gpasswd|vipw|vigr"
    r"|usermod|dscl|newusers|pwconv|chage|dseditgroup|sysadminctl|faillock|authconfig|pam-auth-update"
    r"|ypasswd|htpasswd"
)
_HARMLESS_USERS = frozenset({"groups", "users"})
_SHOWS_USERS = frozenset({("passwd", "-S"), ("passwd", "--status"), ("chage", "-l"), ("chage", "--list")})
_SYSTEM = re.compile(
    r"ip6?tables(?:-\w+)?|nft|ufw|firewall-cmd|pfctl|ipset|ebtables|sysctl|setenforce|aa-disable|aa-teardown"
    r"|apparmor_parser|hwclock|tc|update-alternatives|alternatives|ldconfig|csrutil|spctl|nvram|bcdedit|reg"
    r"|netsh|wpa_cli|rfkill|swapoff|dpkg-reconfigure|depmod|dracut|update-initramfs|mkinitcpio|grub-install"
    r"|grub2?-mkconfig|auditctl|chronyc|ntpdate|resolvectl|scutil|networksetup|security|tccutil|defaults"
    r"|kextload|kextunload|chvt|setterm|loadkeys|zramctl"
)
_SYSTEM_SHOWS = re.compile(
    r"-[nvxL]*[LS][nvxL]*|--list\S*|-l|list|status|show|read|get|-a|--display|-p|-n|-q|query|--query|--state"
    r"|tracking|sources|--help|--version|-V|find-identity|verify-cert|print|--get\S*|--info\S*|dump"
    r"|statistics|is-enabled|export|-v"
)
_SYSTEM_CHANGES = re.compile(
    r"-w|--write|.*=.*|-[ADIFXNPR]|--(?:flush|append|delete|insert|policy|add-\S+|remove-\S+|reload"
    r"|permanent|set\S*|config|install|remove|auto|system)|add|delete|flush|enable|disable|reset|allow|deny"
    r"|write|import|--disable|-f|-e|-d|find-\S+password|delete-\S+|add-\S+|dump-keychain|unlock-keychain"
    r"|export"
)
_PACKAGES = {
    **dict.fromkeys(
        (
            "apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "microdnf", "tdnf", "brew", "port", "apk",
            "snap", "flatpak", "emerge", "guix", "nix-env", "pkg", "choco", "winget", "scoop", "opkg",
            "eopkg", "xbps-remove",
        ),
        re.compile(
            r"remove|purge|autoremove|auto-remove|uninstall|erase|del|rm|delete|--purge|-e|zap|autoclean"
            r"|--unmerge|-C|--depclean|dist-upgrade|full-upgrade|--uninstall"
        ),
    ),
    "pacman": re.compile(r"-[RU]\w*|--remove"),
    "paru": re.compile(r"-R\w*"),
    "yay": re.compile(r"-R\w*"),
    "dpkg": re.compile(r"-[rPi]|--remove|--purge|--install|--force\S*|--unpack|--configure"),
    "rpm": re.compile(r"-[eiUF]\w*|--erase|--install|--upgrade"),
}  # fmt: skip
KILLERS = frozenset({
    "kill", "pkill", "killall", "skill", "killall5", "xkill", "taskkill", "stop-process", "slay", "tskill",
    "fkill", "fkill-cli", "kill-port", "snice",
})  # fmt: skip
_SIGNALLERS = frozenset({"kill", "killall", "pkill", "skill"})
_DETACHERS = frozenset({
    "setsid", "nohup", "disown", "coproc", "daemon", "daemonize", "start-stop-daemon", "systemd-run", "dtach",
    "abduco", "pm2", "forever", "at", "batch", "screen", "tmux", "zellij", "byobu",
})  # fmt: skip
_TRACERS = frozenset({"gdb", "lldb", "strace", "ltrace", "py-spy"})
_TRACED = re.compile(r"-p[\d,]*$|--pid|(?:--)?attach|\d+$")
_STAYS = {
    "tmux": frozenset({
        "ls", "list-sessions", "list-windows", "list-panes", "capture-pane", "-V", "show-options", "info",
    }),
    "screen": frozenset({"-ls", "-list", "-v"}),
    "pm2": frozenset({"list", "ls", "status", "logs", "show", "describe"}),
    "at": frozenset({"-l"}),
    "zellij": frozenset({"list-sessions", "ls"}),
}  # fmt: skip
_SHOWN_ONLY = frozenset({"--version", "--help", "-V"})


def judge_rights(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """Whether `call` runs as somebody else, or as another machine's."""
    given = texts(call.arguments)
    if _RIGHTS.intersection(call.via) or (call.program in _RIGHTS and _SHOWN_ONLY.isdisjoint(given[:1])):
        if call.program == "machinectl" and given[:1] in (("list",), ("status",)):
            return
        yield Finding("dangerous", "other rights", "runs with other rights", outside=True)
    if OTHER_MACHINES.intersection(call.via) or (
        call.program in OTHER_MACHINES and not {"--version", "--help", "-V", "-h"}.issuperset(given)
    ):
        yield Finding("dangerous", "exfiltration", "reaches another machine", outside=True)


def judge_machine(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001
    """What `call` does to services, power, users, and the system's packages and settings."""
    program, given = call.program.casefold(), texts(call.arguments)
    runs_script = program in _SCRIPT_RUNNERS or call.written.startswith(_INIT_SCRIPTS)
    if not runs_script and {"--help", "--version"}.intersection(given):
        return
    if program in _POWER:
        yield Finding("dangerous", "services", "turns the machine off or changes how it runs", outside=True)
    elif (shows := _SERVICES.get(program)) is not None:
        yield from _service(program, given, shows)
    elif _stops_by_itself(program, call.written, given):
        yield Finding("dangerous", "services", "controls services or power", outside=True)
    if _USERS.fullmatch(program) and program not in _HARMLESS_USERS and (program, *given[:1]) not in _SHOWS_USERS:
        yield Finding("dangerous", "system files", "changes users or passwords", outside=True)
    if (removing := _PACKAGES.get(program)) is not None and any(map(removing.fullmatch, _said_first(given))):
        yield Finding("dangerous", "services", "removes or replaces packages of the system", outside=True)
    if _SYSTEM.fullmatch(program) and (_changes_system(given) or (program == "sysctl" and _loads(given))):
        yield Finding("dangerous", "services", "changes settings of the system", outside=True)
    if _changes_network(call):
        yield Finding("dangerous", "services", "changes the network of the machine", outside=True)
    if program in {"date", "gdate"} and _sets_clock(call):
        yield Finding("dangerous", "services", "sets the clock", outside=True)
    if program == "journalctl" and any(text.startswith(("--vacuum", "--rotate", "--flush")) for text in given):
        yield Finding("dangerous", "deletion", "deletes logs of the system", outside=True)


def _said_first(given: tuple[str, ...]) -> Iterator[str]:
    """The options, and the first words between them: the verb, or what an option before it is given."""
    yield from (text for text in given if text.startswith("-"))
    yield from [text for text in given if not text.startswith("-")][:2]


def _loads(given: tuple[str, ...]) -> bool:
    return any(re.match(r"-p|--load", text) for text in given)


def _changes_network(call: Invocation) -> bool:
    words = [text for text in texts(call.arguments) if not text.startswith("-")]
    match call.program.casefold():
        case "ip":
            # Verbs may be written shorter; `s` is mostly `show`.
            said = [text for text in sort_words(call.arguments, "fn").plain[1:2] if text != "s"]
            return any(verb.startswith(text) for verb in _NETWORK_CHANGES for text in said) or (
                not _NETWORK_CHANGES.isdisjoint(words) or any(map(_BATCH.fullmatch, texts(call.arguments)))
            )
        case "route" | "iw":
            return not _NETWORK_CHANGES.isdisjoint(words)
        case "ifconfig":
            return len(words) > 1
        case "brctl":
            return any(not word.startswith("show") for word in words[:1])
        case _:
            return False


def _sets_clock(call: Invocation) -> bool:
    words = sort_words(call.arguments, "dfr", ("--date", "--file", "--reference"), optional="I")
    return words.has("-s", "--set") or (not words.has("-j") and any(re.match(r"\d{8}", text) for text in words.plain))


def _stops_by_itself(program: str, written: str, given: tuple[str, ...]) -> bool:
    """Whether a server, or a script of the system's, is told to stop, start or turn off."""
    if written.startswith(_INIT_SCRIPTS):
        return given[:1] not in {("status",), ()}
    if program in _SERVERS:
        return not _TOLD_TO_SERVERS.isdisjoint(given)
    match program:
        case "nginx" | "openresty" | "haproxy":
            return any(text.startswith("-s") for text in given)
        case "net":
            return given[:1] in {("stop",), ("start",), ("user",), ("localgroup",)}
        case "brew":
            return given[:1] == ("services",) and given[1:2] not in ((), ("list",), ("info",))
        case "dbus-send" | "gdbus" | "busctl" | "qdbus":
            return any(map(_TOLD_TO_THE_SYSTEM.search, given))
        case _:
            return False


def _service(program: str, given: tuple[str, ...], shows: frozenset[str]) -> Iterator[Finding]:
    words = [text for text in given if not text.startswith("-") or text in shows]
    verb = next(iter(words[_VERB_PLACES.get(program) :] or words), None)
    if verb is None or verb in shows or (program == "snap" and verb in {"install", "refresh"}):
        return
    yield Finding("dangerous", "services", "controls services or power", outside=True)


def _changes_system(given: tuple[str, ...]) -> bool:
    if given == ("-h",):
        return False
    if any(_SYSTEM_CHANGES.fullmatch(text) for text in given):
        return True
    return (
        bool(given)
        and not any(_SYSTEM_SHOWS.fullmatch(text) for text in given)
        and not re.fullmatch(r"[\w.]+", given[0])
    )


def judge_processes(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001
    """Which processes `call` ends, and which it leaves behind."""
    program, given = call.program.casefold(), texts(call.arguments)
    if program in KILLERS or (program == "fuser" and any(re.match(r"-\w*k|--kill", text) for text in given)):
        yield from _kill(program, given)
    leaving = _DETACHERS.intersection(call.via)
    if leaving or (program in _DETACHERS and _leaves(program, given)):
        yield Finding("dangerous", "detached", "leaves a process behind")
    if program == "set" and _keeps_jobs_apart(given):
        yield Finding("dangerous", "detached", "leaves a process behind")
    if program in {"gcore", "reptyr"} or (program in _TRACERS and any(map(_TRACED.match, given))):
        yield Finding("dangerous", "processes", "looks into another process")


def _keeps_jobs_apart(given: tuple[str, ...]) -> bool:
    options = " ".join(itertools.takewhile(lambda text: text != "--", given))
    return re.search(r"(?:^|\s)-(?:[a-zA-Z]*m[a-zA-Z]*|[a-zA-Z]*o\s+monitor)(?=\s|$)", options) is not None


def _kill(program: str, given: tuple[str, ...]) -> Iterator[Finding]:
    if program in _SIGNALLERS and (given[:1] == ("-0",) or (program != "pkill" and _only_shows_signals(given))):
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


def _only_shows_signals(given: tuple[str, ...]) -> bool:
    """Whether signals are listed, or the one is sent that only looks whether somebody is there."""
    return given[:1] in (("-l",), ("-L",), ("--list",)) or given[:2] == ("-s", "0")


def named_in_kill(given: tuple[str, ...]) -> tuple[str, ...]:
    """What a `kill` is to end: all that stands behind at most one signal."""
    if given[:1] == ("-s",):
        return given[2:]
    return given[1:] if given and given[0].startswith("-") else given


def _leaves(program: str, given: tuple[str, ...]) -> bool:
    if program == "disown":
        return True
    return bool(given) and given[0] not in _SHOWN_ONLY and given[0] not in _STAYS.get(program, ())


# Containers that get more of the machine than they need, and what is taken away of them.

_ENGINES = frozenset(
    {"docker", "podman", "nerdctl", "lxc", "ctr", "crictl", "incus", "apptainer", "singularity", "buildah"}
)
_RUNS = frozenset({"run", "exec"})
_WITH_NAMESPACES = frozenset({"nerdctl", "ctr", "crictl"})
# The options whose value may be the next argument, as `sort_words` takes them.
_PLACING = ("ftco", ("--output", "--file", "--tag"))
_MOUNTING = ("vewupl", ("--volume", "--mount", "--env", "--name", "--workdir", "--user", "--bind", "-B"))
_LONG = (
    "--file", "--host", "--context", "--project-name", "--profile", "--env-file", "--filter", "--format",
    "--name", "--volume-driver", "--mount", "--namespace", "--env", "--workdir", "--user", "--log-level",
    "--project-directory", "--network",
)  # fmt: skip
_PRIVILEGES = re.compile(
    r"--privileged(?:=true)?|--cap-add\S*|--device\S*|--security-opt\S*|--(?:pid|ipc|uts|userns"
    r"|cgroupns)=host"
)
_HOST = re.compile(r"--(?:pid|ipc|uts|userns|cgroupns)")
_SHOWN = frozenset({
    "swarm", "node", "service", "stack", "secret", "plugin", "checkpoint", "artifact", "play", "kube", "ps",
    "images", "logs", "inspect", "version", "info", "stats", "top", "port", "diff", "events", "search",
    "history", "ls", "list", "build", "pull", "compose", "buildx", "context", "config", "login", "tag", "up",
    "help", "wait", "df", "--version", "start", "attach", "create", "run", "exec", "-v", "network", "volume",
    "container", "image", "system", "manifest", "builder", "load", "save", "import", "export", "unpause",
    "pause", "rename", "show", "bake", "watch", "convert", "stop", "restart", "use", "inspect-image", "trust",
    "scout", "init", "machine", "connect", "pod", "generate", "imagetools", "du", "down",
})  # fmt: skip
_REMOVES = re.compile(
    r"rm|rmi|remove|prune|kill|destroy|delete|purge|leave|disconnect|reset|uninstall|revoke|forget|down|untag"
    r"|terminate"
)


def judge_containers(call: Invocation, scene: Scene) -> Iterator[Finding]:
    """What `call` gives to a container, or takes away."""
    program = call.program.casefold()
    given = texts(call.arguments)
    if program not in _ENGINES and program not in {"docker-compose", "podman-compose"}:
        return
    yield from _mounts(call, scene)
    shared = [first for first, second in itertools.pairwise(given) if second == "host" and _HOST.fullmatch(first)]
    if shared or any(_PRIVILEGES.fullmatch(text) for text in given):
        yield Finding("dangerous", "containers", "gives a container rights over this machine", outside=True)
    yield from _placed(call, scene)
    yield from _taken_away(program, call)


def _placed(call: Invocation, scene: Scene) -> Iterator[Finding]:
    """What is put into a container or onto this machine, and which engine the next command talks to."""
    words = sort_words(call.arguments, *_PLACING)
    plain = words.plain[1:] if words.plain[:1] in (("container",), ("compose",), ("buildx",)) else words.plain
    if plain[:1] == ("cp",) and len(plain) > 2:  # noqa: PLR2004 - cp, from where, to where
        name, _, path = plain[-1].partition(":")
        if not name.startswith((".", "/")) and re.match(r"/(?:etc|usr|bin|sbin|lib|root|boot|var/spool)\b", path):
            yield Finding("dangerous", "containers", "changes the system of a container", outside=True)
    elif plain[:2] == ("context", "use"):
        yield Finding("dangerous", "containers", "turns to another engine of containers", outside=True)
    elif plain[:1] in (("build",), ("bake",)):
        for value in words.values("-o", "--output"):
            target = re.search(r"dest=([^,]*)", value.text)
            place = place_of(Argument(target[1] if target else value.text), call.cwd, scene)
            if place.kind not in {"inside", "temporary", "nothing"}:
                yield Finding("dangerous", "containers", f"writes {place.shown} of this machine", outside=True)


def _mounts(call: Invocation, scene: Scene) -> Iterator[Finding]:
    words = sort_words(call.arguments, *_MOUNTING)
    for value in (*words.values("-v", "--volume", "--bind", "-B"), *_bound(words.values("--mount"))):
        source, is_mounted, _ = value.text.partition(":")
        if not is_mounted or not source.startswith(("/", "~", ".")):
            continue
        path = full_path(source, call.cwd)
        if path.endswith(("docker.sock", "podman.sock", "containerd.sock", "crio.sock")):
            yield Finding(
                "dangerous", "containers", "gives a container the engine that runs all of them", outside=True
            )
            return
        place = place_of(Argument(source), call.cwd, scene)
        is_read_only = re.search(r":(?:\w+,)*ro\b", value.text) is not None
        if place.kind in {"inside", "temporary", "nothing"} or (is_read_only and place.kind == "outside"):
            continue
        yield Finding("dangerous", "containers", f"gives a container {shown(path)} of this machine", outside=True)
        return


def _bound(mounts: tuple[Argument, ...]) -> Iterator[Argument]:
    for mount in mounts:
        if source := re.search(r"(?:source|src)=([^,]*)", mount.text):
            yield Argument(f"{source[1]}:mounted" + ":ro" * bool(re.search(r"readonly|,ro", mount.text)))


def _taken_away(program: str, call: Invocation) -> Iterator[Finding]:
    words = sort_words(call.arguments, "fHcpewlun" if program in _WITH_NAMESPACES else "fHcpewlu", _LONG)
    is_compose = program.endswith("-compose") or words.plain[:1] == ("compose",)
    if words.plain[:1] == ("stop",) and not is_compose:
        yield Finding("dangerous", "services", "stops containers", outside=True)
    elif (
        words.plain[:1] == ("push",)
        or words.plain[:2] in (("image", "push"), ("compose", "push"), ("manifest", "push"))
        or "--push" in texts(call.arguments)
    ):
        yield Finding("dangerous", "publishing", "publishes an image", outside=True)
    yield from _removed(words, is_compose=is_compose)


def _removed(words: Words, *, is_compose: bool) -> Iterator[Finding]:
    for text in words.plain[:3]:
        if text in _RUNS:
            return
        if not _REMOVES.fullmatch(text):
            if text in _SHOWN:
                continue
            return
        if is_compose and text == "down":
            if words.has("-v", "--volumes", "--rmi"):
                yield Finding("dangerous", "infrastructure", "deletes containers with their volumes", outside=True)
            return
        why = "ends containers" if text == "kill" else "deletes containers, images or volumes"
        yield Finding("dangerous", "infrastructure", why, outside=True)
        return


# Publishing packages; timers and start-up entries.

_PUBLISHES: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(
        ("npm", "pnpm", "yarn", "bun", "lerna", "nx", "jsr", "deno", "ni"),
        re.compile(r"publish|unpublish|deprecate|dist-tag|owner|access|token|adduser|npm"),
    ),
    "cargo": re.compile(r"publish|yank|owner|release|login"),
    **dict.fromkeys(("gem", "rake"), re.compile(r"push|yank|owner|release|signin")),
    **dict.fromkeys(
        ("poetry", "uv", "twine", "hatch", "flit", "pdm", "rye", "maturin", "conda", "anaconda"),
        re.compile(r"publish|upload|register|token|login"),
    ),
    **dict.fromkeys(("dotnet", "nuget"), re.compile(r"push|delete")),
    **dict.fromkeys(
        ("mvn", "mvnw", "gradle", "gradlew", "sbt"),
        re.compile(r"(?:\S*:)?(?:deploy|publish\w*|release:perform|upload\w*)"),
    ),
    **dict.fromkeys(("dart", "flutter"), re.compile(r"publish")),
    "pod": re.compile(r"push"),
    "mix": re.compile(r"hex\.publish|hex\.retire"),
    "vsce": re.compile(r"publish|unpublish"),
    "ovsx": re.compile(r"publish"),
    "goreleaser": re.compile(r"release"),
    "changeset": re.compile(r"publish"),
    "oras": re.compile(r"push"),
    "crane": re.compile(r"push|delete"),
    "skopeo": re.compile(r"copy|delete|sync"),
    "chart-releaser": re.compile(r"upload"),
    "opam": re.compile(r"publish"),
    "luarocks": re.compile(r"upload"),
    "stack": re.compile(r"upload"),
    "cabal": re.compile(r"upload"),
    "composer": re.compile(r"publish"),
    "asdf": re.compile(r"publish"),
    "web-ext": re.compile(r"sign"),
    "snapcraft": re.compile(r"upload|release|push"),
    "eas": re.compile(r"submit|update"),
    "modal": re.compile(r"deploy"),
    "huggingface-cli": re.compile(r"upload\S*|delete-\S+"),
    "hf": re.compile(r"upload"),
    "conan": re.compile(r"upload"),
    "ko": re.compile(r"publish|build|apply|resolve|create"),
}  # fmt: skip
_ALWAYS = frozenset({
    "semantic-release", "release-it", "np", "clojars", "cpan-upload", "fastlane", "surge", "gh-pages",
})  # fmt: skip
# Whatever tool says it first: `anything publish`.
_ANY_PUBLISHER = re.compile(r"publish|unpublish")
_OTHER_WORK = frozenset({"run", "run-script", "exec", "install", "add", "i", "view", "info", "config"})
_KEEP_SETTINGS = frozenset(
    {"npm", "pnpm", "yarn", "pip", "pip3", "go", "composer", "gem", "bundle", "conda", "poetry", "cargo"}
)
_LOOKS = frozenset({"--version", "--help", "-h", "doctor", "status"})
_DRY = frozenset({"--dry-run", "--help", "-h", "--dry-run=true"})
_SHORT_DRY = frozenset({"cargo", "rake", "dart", "flutter"})  # to others `-n` means that they do not ask
_TO_AN_INDEX = frozenset({"upload", "register"})  # of a setup.py
_MANY_GOALS = frozenset({"mvn", "mvnw", "gradle", "gradlew", "sbt", "rake"})  # they do all that they are told
_KINDS = frozenset({"package", "pkg", "module", "crate", "extension", "chart", "image"})
_VALUES = (
    "pCF",
    ("--project", "--registry", "--filter", "--workspace", "--cwd", "--dir", "--prefix", "--directory"),
)  # fmt: skip
_COMES_BACK = frozenset({"at", "batch", "atrm", "schtasks", "anacron", "fcron", "fcrontab", "incrontab"})
_MANAGERS = frozenset({"systemctl", "launchctl", "loginctl"})
_STARTS_AGAIN = re.compile(r"enable(?:-linger)?|load|bootstrap|submit|link|edit|set-default|start|import-environment")
_GO_KEEPS = frozenset({"-w", "--w", "-u", "--u"})
_SHOWS_SETTINGS = frozenset({"get", "list", "ls", "debug", "path"})


def judge_publishing(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """Whether `call` puts something before the public."""
    program, given = call.program.casefold(), texts(call.arguments)
    behind = itertools.dropwhile(lambda text: posixpath.basename(text) != "setup.py", (call.written, *given))
    if not _TO_AN_INDEX.isdisjoint(behind):
        yield Finding("dangerous", "publishing", "publishes a package", outside=True)
    if not _DRY.isdisjoint(given) or (program in _SHORT_DRY and "-n" in given):
        return
    verbs = _PUBLISHES.get(program, _ANY_PUBLISHER)
    if program in _ALWAYS or any(verbs.fullmatch(text) for text in _verbs_of(program, call)):
        yield Finding("dangerous", "publishing", "publishes a package", outside=True)


def _verbs_of(program: str, call: Invocation) -> tuple[str, ...]:
    """The words among which is what `call` shall do."""
    words = sort_words(call.arguments, *_VALUES).plain
    if program in _MANY_GOALS:
        return words
    if not _OTHER_WORK.isdisjoint(words[:1]) or texts(call.arguments[:1]) == ("test",):
        return ()
    if program in _PUBLISHES:
        return words[:3]
    if program in LOCAL or program in OWN_JUDGES:
        return ()
    return words[:1] if _KINDS.isdisjoint(words[:1]) else words[1:2]


def judge_persistence(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001
    """Whether `call` installs something that comes back by itself."""
    program, given = call.program.casefold(), texts(call.arguments)
    if (
        (program == "crontab" and given[:1] != ("-l",))
        or program in _COMES_BACK
        or (program == "osascript" and any("login item" in text for text in given))
        or (program in _MANAGERS and any(_STARTS_AGAIN.fullmatch(text) for text in given))
    ):
        yield Finding("dangerous", "persistence", "installs something that comes back", outside=True)
    elif program in {"pre-commit", "husky", "lefthook"} and given[:1] == ("install",):
        yield Finding("dangerous", "persistence", "installs hooks that run at each commit")
    else:
        yield from _left_behind(program, call)


def _left_behind(program: str, call: Invocation) -> Iterator[Finding]:
    given = texts(call.arguments)
    if program in _KEEP_SETTINGS and _sets_something(program, call):
        yield Finding(
            "dangerous", "persistence", f"changes the settings of {program} for all that follows", outside=True
        )
    elif program == "ssh-keygen" and "-R" in given:
        yield Finding("dangerous", "system files", "changes the machines that are trusted", outside=True)
    elif program == "ssh-copy-id" or (program == "ssh-add" and given[:1] not in (("-l",), ("-L",))):
        yield Finding("dangerous", "persistence", "gives somebody a way in", outside=True)
    elif program in {"code", "cursor", "codium"} and "--install-extension" in given:
        yield Finding("dangerous", "persistence", "installs an extension of the editor", outside=True)
    elif program in {"hermes", "hermes-acp", "hermes-agent"} and given and given[0] not in _LOOKS:
        yield Finding("dangerous", "our configuration", "controls this agent itself", outside=True)


def _sets_something(program: str, call: Invocation) -> bool:
    given, words = texts(call.arguments), sort_words(call.arguments, *_VALUES).plain
    if program == "go":
        return words[:1] == ("env",) and not _GO_KEEPS.isdisjoint(given)
    if program in {"bundle", "poetry"} and "--local" in given:
        return False
    return len(words) > 1 and words[0] in {"config", "set"} and words[1] not in _SHOWS_SETTINGS


# Settings of the desktop and the network, installed tools, stored caches.

_SETTINGS = "changes settings of the person's desktop"
_MACHINE = "changes settings of the machine"
_TOOLS = "removes installed tools, or what they have stored"
_LOADS = "makes programs run something else"

# Of each program: what its arguments look like where it changes something, what that is, and its family.
_CHANGES: Mapping[str, tuple[str, str, Family]] = {
    "gsettings": (r"(?:set|reset)\b|reset-recursively", _SETTINGS, "persistence"),
    "dconf": (r"(?:write|reset|load)\b", _SETTINGS, "persistence"),
    "xdg-settings": (r"set\b", _SETTINGS, "persistence"),
    "xdg-mime": (r"(?:default|install|uninstall)\b", _SETTINGS, "persistence"),
    "xdg-desktop-menu": (r"(?:un)?install\b", _SETTINGS, "persistence"),
    **dict.fromkeys(("kwriteconfig", "kwriteconfig5", "kwriteconfig6"), (r".", _SETTINGS, "persistence")),
    "xfconf-query": (r".*(?:^| )(?:-s|--set|-r|--reset)\b", _SETTINGS, "persistence"),
    "rfkill": (r"(?:un)?block\b|toggle\b", _MACHINE, "services"),
    "resolvectl": (r"(?:dns|domain|revert|default-route|llmnr|mdns|dnssec|dnsovertls|nta)\s+\S+\s+\S|revert",
                   _MACHINE, "services"),
    "arp": (r".*(?:^| )-[a-zA-Z]*[sd]\b", _MACHINE, "services"),
    "ethtool": (r"-[sKACGLNX]\b|--(?:change|set-\S+|offload|flash)", _MACHINE, "services"),
    "usbreset": (r".", "resets a device", "device"),
    "eject": (r".", "works on devices or filesystems", "device"),
    "logrotate": (r".*(?:^| )(?:-f|--force)\b", "rotates logs of the system", "system files"),
    "tmutil": (r"delete|disable|enable|restore|set|remove|thin|stopbackup|add",
               "changes backups of the machine", "deletion"),
    "softwareupdate": (r".*(?:^| )(?:-i|-ia|--install|-R|--restart|--ignore|--reset-ignored|--schedule|-a\b)",
                       _MACHINE, "services"),
    "keytool": (r".*(?:^| )-(?:delete|storepasswd|keypasswd|changealias|importkeystore)\b", "changes stored keys",
                "credentials"),
    "direnv": (r"(?:allow|permit|grant|edit)\b", "lets a file of the project run in every shell", "persistence"),
    "mkcert": (r".*-(?:un)?install\b", "changes which certificates are trusted", "persistence"),
    **dict.fromkeys(("update-ca-certificates", "update-ca-trust"), (r"", "changes which certificates are trusted",
                                                                    "system files")),
    "husky": (r"(?:add|set|init)\b", "installs hooks that run at each commit", "persistence"),
    **dict.fromkeys(("simple-git-hooks", "install-hooks"), (r"", "installs hooks that run at each commit",
                                                            "persistence")),
    **dict.fromkeys(("mosquitto_pub", "amqp-publish", "kcat", "kafkacat", "wscat", "websocat"),
                    (r"(?!.*(?:localhost|127\.0\.0\.1))(?!.* -[CL]\b).", "sends data out", "exfiltration")),
    "getent": (r"g?shadow\b", "reads the passwords of the system", "credentials"),
    "nix-collect-garbage": (r"(?!.*--dry-run)", _TOOLS, "deletion"),
    "nix": (r"(?:store\s+(?:gc|delete)|profile\s+(?:remove|wipe-history)|upgrade-nix)\b|collect-garbage", _TOOLS,
            "deletion"),
    "nix-store": (r".*--(?:gc|delete)\b", _TOOLS, "deletion"),
    **dict.fromkeys(("conda", "mamba", "micromamba"),
                    (r"(?:env\s+(?:remove|delete)|clean|(?:remove|uninstall)\s.*--all)\b", _TOOLS, "deletion")),
    "pnpm": (r"store\s+prune\b", _TOOLS, "deletion"),
    **dict.fromkeys(("pyenv", "rbenv", "nodenv", "goenv", "jenv", "asdf", "mise", "nvm", "fnm", "volta", "sdk",
                     "pipx"),
                    (r"uninstall|remove\b|implode|prune", _TOOLS, "deletion")),
    "rustup": (r"(?:self|toolchain|target|component)\s+(?:uninstall|remove)\b|self\s+update", _TOOLS, "deletion"),
    "ssh-keygen": (r".*(?:^| )-D\b", _LOADS, "hidden"),
    "tcpdump": (r".*(?:^| )-z\b", _LOADS, "hidden"),
    **dict.fromkeys(("apt", "apt-get", "aptitude", "apt-cache"),
                    (r".*(?:^| )(?:-o|--option)[ =]?(?:APT::Update::P|DPkg::|\S*Invoke|Dir::Bin|\S*::Run)",
                     _LOADS, "hidden")),
    "open": (r"(?!-e\b|-t\b|-R\b).*(?:-a\s+(?:Terminal|iTerm)|\.(?:command|app|pkg|dmg|terminal|workflow|scpt)\b)",
             "opens a program on the person's desktop", "hidden"),
}  # fmt: skip
_FROM_ANYWHERE = re.compile(
    r"(?:^| )(?:-i|--index-url|--extra-index-url|--registry|--source|--repository|--find-links|-f|--index)[ =]"
    r"http://(?!localhost|127\.|\[::1\])|(?:^| )--trusted-host[ =](?!localhost|127\.)\S",
)
_INSTALLERS = frozenset({
    "pip", "pip3", "uv", "pipx", "npm", "pnpm", "yarn", "bun", "npx", "gem", "bundle", "cargo", "poetry",
    "pdm", "nuget", "dotnet", "conda", "uvx", "easy_install",
})  # fmt: skip

_FOLDER_OPTION = re.compile(r"-C|--(?:directory|work-tree|git-dir|cwd|prefix|chdir|project-dir)(?:=(.+))?", re.DOTALL)
_GIT_LOOKS = frozenset({"status", "log", "diff", "show", "ls-files", "remote", "branch", "rev-parse", "blame"})


def judge_workplace(call: Invocation, scene: Scene, classify: Classify) -> Iterator[Finding]:
    """Whether `call` works inside this agent's own directory, by `cd`, `git -C` or `make -C`, and may change it."""
    folder = _folder_of(call)
    if call.elsewhere or folder is None or not is_own(folder, scene):
        return
    if any(is_below(folder, root) for root in scene.roots) or is_harmless(call, classify, scene.roots):
        return
    if call.program in {"git", "pushd"} and _only_goes_or_looks(call):
        return
    yield Finding("dangerous", "our configuration", "works inside this agent's own directory", outside=True)


def _folder_of(call: Invocation) -> str | None:
    """Where `call` works: its directory, and those that it is told to change to."""
    folder = call.cwd
    given = texts(call.arguments)
    for name, value in itertools.pairwise((*given, "")):
        glued = _FOLDER_OPTION.fullmatch(name)
        if glued is not None and (glued[1] or value):
            folder = full_path(glued[1] or value, folder)
    return folder


def _only_goes_or_looks(call: Invocation) -> bool:
    given = [text for text in texts(call.arguments) if not text.startswith("-")]
    return call.program != "git" or any(text in _GIT_LOOKS for text in given[:2])


def judge_surroundings(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """What `call` changes that outlives the project and its commands."""
    program, given = call.program.casefold(), texts(call.arguments)
    if {"--help", "--version", "--dry-run"}.intersection(given[:3]) or given == ("-h",):
        return
    line = " ".join(given)
    known = _CHANGES.get(program)
    if known is not None and re.match(known[0], line, re.DOTALL):
        yield Finding("dangerous", known[2], known[1], outside=True)
    if program in _INSTALLERS and _FROM_ANYWHERE.search(line):
        yield Finding("dangerous", "remote code", "installs from a place that nobody vouches for", outside=True)
