"""The machine itself: services, power, users, packages of the system, the firewall, other rights, and processes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from tools.approval.dangers.finding import Finding
from tools.approval.dangers.places import OTHER_MACHINES, Scene
from tools.approval.dangers.words import sort_words, texts
from tools.bash.reading import UNKNOWN, Invocation

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
