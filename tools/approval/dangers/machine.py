"""The machine itself: services, power, users, packages of the system, the firewall, other rights, and processes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.approval.dangers.finding import Finding
from tools.approval.dangers.places import OTHER_MACHINES, Scene
from tools.approval.dangers.words import texts
from tools.bash.reading import UNKNOWN, Invocation

_RIGHTS = frozenset({"sudo", "doas", "su", "pkexec", "runuser", "chroot", "nsenter", "unshare", "setpriv", "gosu",
    "su-exec",
                     "run0", "sudoedit", "newgrp", "sg", "capsh", "machinectl", "please", "calife", "dzdo",
                     "gksudo", "kdesu",
                     "fakechroot", "proot", "runas", "visudo", "setuidgid", "chpst"})  # fmt: skip
_POWER = frozenset({"shutdown", "reboot", "halt", "poweroff", "init", "telinit", "pm-suspend", "pm-hibernate",
    "hibernate",
                    "suspend", "rtcwake", "kexec", "stop-computer", "restart-computer", "systemsetup",
                    "pmset"})  # fmt: skip
_SERVICES = {
    "systemctl": frozenset({"status", "show", "list-units", "list-unit-files", "list-timers", "list-sockets",
    "is-active",
                            "is-enabled", "is-failed", "cat", "help", "list-dependencies", "list-jobs", "get-default",
                            "show-environment"}),
    "service": frozenset({"status", "--status-all"}),
    "launchctl": frozenset({"list", "print", "blame", "version", "help"}),
    "rc-service": frozenset({"status", "-l", "--list"}),
    "rc-update": frozenset({"show"}),
    "supervisorctl": frozenset({"status", "tail", "maintail", "avail", "version", "pid"}),
    "initctl": frozenset({"list", "status", "version"}),
    "update-rc.d": frozenset({"--help"}), "chkconfig": frozenset({"--list"}), "sv": frozenset({"status"}),
    "loginctl": frozenset({"list-sessions", "show-session", "session-status", "show-user", "list-users"}),
    "hostnamectl": frozenset({"status"}), "timedatectl": frozenset({"status", "show", "list-timezones"}),
    "localectl": frozenset({"status"}), "sc": frozenset({"query"}), "s6-svc": frozenset(), "snap": frozenset({
        "list", "info", "find", "version", "services", "logs", "connections", "interfaces"}),
    "monit": frozenset({"status", "summary"}), "nmcli": frozenset({"status", "show"}), "journalctl": frozenset({""}),
}  # fmt: skip
_USERS = re.compile(
    r"(?:user|group)(?:add|del|mod|s)|(?:add|del)(?:user|group)|passwd|chpasswd|chsh|chfn|gpasswd|vipw|vigr|usermod"
    r"|dscl"
    r"|newusers|pwconv|chage|dseditgroup|sysadminctl|faillock|authconfig|pam-auth-update|ypasswd|htpasswd"
)
_HARMLESS_USERS = frozenset({"groups", "users"})
_SHOWS_USERS = frozenset({("passwd", "-S"), ("passwd", "--status"), ("chage", "-l"), ("chage", "--list")})
_SYSTEM = re.compile(
    r"ip6?tables(?:-\w+)?|nft|ufw|firewall-cmd|pfctl|ipset|ebtables|sysctl|setenforce|aa-disable|aa-teardown"
    r"|apparmor_parser"
    r"|hwclock|tc|update-alternatives|alternatives|ldconfig|csrutil|spctl|nvram|bcdedit|reg|netsh|wpa_cli|rfkill"
    r"|swapoff"
    r"|dpkg-reconfigure|depmod|dracut|update-initramfs|mkinitcpio|grub-install|grub2?-mkconfig|auditctl|chronyc"
    r"|ntpdate"
    r"|resolvectl|scutil|networksetup|security|tccutil|defaults|kextload|kextunload|chvt|setterm|loadkeys|zramctl"
)
_SYSTEM_SHOWS = re.compile(
    r"-[nvxL]*[LS][nvxL]*|--list\S*|-l|list|status|show|read|get|-a|--display|-p|-n|-q|query|--query|--state|tracking|sources"
    r"|--help"
    r"|--version|-V|find-identity|verify-cert|print|--get\S*|--info\S*|dump|statistics|is-enabled|export|-v"
)
_SYSTEM_CHANGES = re.compile(
    r"-w|--write|.*=.*|-[ADIFXNPR]|--(?:flush|append|delete|insert|policy|add-\S+|remove-\S+|reload|permanent|set\S*"
    r"|config"
    r"|install|remove|auto|system)|add|delete|flush|enable|disable|reset|allow|deny|write|import|--disable|-f|-e|-d"
    r"|find-\S+password"
    r"|delete-\S+|add-\S+|dump-keychain|unlock-keychain|export"
)
_PACKAGES = {
    **dict.fromkeys(("apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "microdnf", "tdnf", "brew", "port",
    "apk", "snap",
                     "flatpak", "emerge", "guix", "nix-env", "pkg", "choco", "winget", "scoop", "opkg", "eopkg",
                     "xbps-remove"),
                    re.compile(r"remove|purge|autoremove|auto-remove|uninstall|erase|del|rm|delete|--purge|-e|zap"
                        r"|autoclean|--unmerge"
                               r"|-C|--depclean|dist-upgrade|full-upgrade|--uninstall")),
    "pacman": re.compile(r"-[RU]\w*|--remove"), "paru": re.compile(r"-R\w*"), "yay": re.compile(r"-R\w*"),
    "dpkg": re.compile(r"-[rPi]|--remove|--purge|--install|--force\S*|--unpack|--configure"),
    "rpm": re.compile(r"-[eiUF]\w*|--erase|--install|--upgrade"),
}  # fmt: skip
KILLERS = frozenset({"kill", "pkill", "killall", "skill", "killall5", "xkill", "taskkill", "stop-process", "slay",
    "tskill",
                      "fkill", "kill-port", "snice"})  # fmt: skip
_DETACHERS = frozenset({"setsid", "nohup", "disown", "coproc", "daemon", "daemonize", "start-stop-daemon",
    "systemd-run",
                        "dtach", "abduco", "pm2", "forever", "at", "batch", "screen", "tmux", "zellij",
                        "byobu"})  # fmt: skip
_STAYS = {"tmux": frozenset({"ls", "list-sessions", "list-windows", "list-panes", "capture-pane", "-V",
    "show-options", "info"}),
          "screen": frozenset({"-ls", "-list", "-v"}), "pm2": frozenset({"list", "ls", "status", "logs", "show",
          "describe"}),
          "at": frozenset({"-l"}), "zellij": frozenset({"list-sessions", "ls"})}  # fmt: skip


def judge_rights(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """Whether `call` runs as somebody else, or as another machine's."""
    given = texts(call.arguments)
    if _RIGHTS.intersection(call.via) or (
        call.program in _RIGHTS and not {"--version", "--help", "-V"}.intersection(given)
    ):
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
    if {"--help", "--version"}.intersection(given):
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
    if program in {"ip", "ifconfig", "route", "iw", "brctl"} and {
        "add",
        "del",
        "delete",
        "flush",
        "down",
        "set",
    }.intersection(given):
        yield Finding("dangerous", "services", "changes the network of the machine", outside=True)
    if program in {"date", "gdate"} and any(text == "-s" or text.startswith("--set") for text in given):
        yield Finding("dangerous", "services", "sets the clock", outside=True)
    if program == "journalctl" and any(text.startswith(("--vacuum", "--rotate", "--flush")) for text in given):
        yield Finding("dangerous", "deletion", "deletes logs of the system", outside=True)


def _said_first(given: tuple[str, ...]) -> Iterator[str]:
    """The options, and the first words between them: the verb, or what an option before it is given."""
    yield from (text for text in given if text.startswith("-"))
    yield from [text for text in given if not text.startswith("-")][:2]


def _loads(given: tuple[str, ...]) -> bool:
    return any(re.match(r"-p|--load", text) for text in given)


def _stops_by_itself(program: str, written: str, given: tuple[str, ...]) -> bool:
    """Whether a server, or a script of the system's, is told to stop, start or turn off."""
    if written.startswith(("/etc/init.d/", "/etc/rc.d/", "/usr/local/etc/rc.d/")):
        return given[:1] not in {("status",), ()}
    match program:
        case "nginx" | "openresty" | "haproxy":
            return "-s" in given
        case (
            "apachectl"
            | "apache2ctl"
            | "httpd"
            | "pg_ctl"
            | "pg_ctlcluster"
            | "unitctl"
            | "caddy"
            | "rabbitmq-server"
            | "mysqladmin"
        ):
            return bool(
                {"stop", "restart", "graceful", "graceful-stop", "start", "reload", "shutdown", "kill"}.intersection(
                    given
                )
            )
        case "net":
            return given[:1] in {("stop",), ("start",), ("user",), ("localgroup",)}
        case "brew":
            return given[:1] == ("services",) and given[1:2] not in ((), ("list",), ("info",))
        case "dbus-send" | "gdbus" | "busctl" | "qdbus":
            return any(
                re.search(r"PowerOff|Reboot|Suspend|Hibernate|Halt|StopUnit|RestartUnit|KillUnit|Disable", text)
                for text in given
            )
        case _:
            return False


def _service(program: str, given: tuple[str, ...], shows: frozenset[str]) -> Iterator[Finding]:
    words = [text for text in given if not text.startswith("-") or text in shows]
    if program == "journalctl":
        return
    # `service NAME status` has its verb last, the others have it first.
    verbs = words[:1] if program not in {"service", "nmcli", "rc-service"} else words[-1:]
    if verbs and verbs[0] not in shows:
        if program == "snap" and verbs[0] in {"install", "refresh"}:
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
    if "kill" in given[:2] and program in {"npx", "bunx", "busybox"}:
        yield Finding("dangerous", "processes", "ends processes")
    leaving = _DETACHERS.intersection(call.via)
    if leaving or (program in _DETACHERS and _leaves(program, given)):
        yield Finding("dangerous", "detached", "leaves a process behind")
    if program == "set" and re.search(
        r"(?:^|\s)-(?:[a-z]*m|[a-z]*o\s+monitor)(?=\s|$)", " ".join(given).split(" -- ")[0]
    ):
        yield Finding("dangerous", "detached", "leaves a process behind")
    if program in {"gdb", "lldb", "strace", "ltrace", "rr", "reptyr", "py-spy", "gcore"} and any(
        re.match(r"-p\d*$|--pid|attach|\d+$", text) for text in given
    ):
        yield Finding("dangerous", "processes", "looks into another process")


def _kill(program: str, given: tuple[str, ...]) -> Iterator[Finding]:
    if program == "kill":
        if given[:1] in (("-l",), ("-L",), ("-0",)) or given[:2] == ("-s", "0"):
            return
        targets = [text for text in given if not re.fullmatch(r"-(?:\d+|[A-Za-z]\w*|-[a-z]\S*)|--", text)]
        if _is_everybody(given):
            yield Finding("forbidden", "processes", "ends every process of the person")
            return
        if given == ("0",) or (targets and all(re.fullmatch(r"%[\w%+-]*", text) for text in targets)):
            return  # all that this very command has started, or jobs of it
    if not given and program not in {"xkill", "killall5"}:
        return
    if program == "killall5" or (program in {"pkill", "killall"} and {"-1", "."}.intersection(given[-1:])):
        yield Finding("dangerous", "processes", "ends all processes", outside=True)
        return
    if program in {"killall", "pkill"} and given[:1] in (("-l",), ("-0",), ("--list",)):
        return
    yield Finding("dangerous", "processes", "ends processes", outside=not given or UNKNOWN not in given[-1])


def _is_everybody(given: tuple[str, ...]) -> bool:
    if "--" in given:
        return "-1" in given[given.index("--") + 1 :]
    places = [place for place, text in enumerate(given) if text == "-1"]
    # Alone `-1` is the signal; behind one it is everybody.
    return any(place > 0 for place in places)


def _leaves(program: str, given: tuple[str, ...]) -> bool:
    if program in {"disown", "coproc"}:
        return True
    return bool(given) and given[0] not in _STAYS.get(program, frozenset({"--version", "--help", "-V"}))
