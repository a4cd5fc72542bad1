"""Patterns of dangerous commands: the second net behind the grammar, and the place where users add their own.

They are searched in the whole command, and in each program that it may run as one line: its bare name, then its
arguments without quotes. `^` is where such a line starts. Text that is only data has no line of its own.
"""

from __future__ import annotations

DANGEROUS_PATTERNS: list[tuple[str, str]] = [
    (r"^(?:mkfs(?:\.\w+)?|wipefs|blkdiscard)\s.*/dev/", "writes over a raw device"),
    (r"^rm\s.*--no-preserve-root", "deletes the root directory"),
    (r"^(?:cmd|cmd\.exe)\s+/c\s+(?:del|rd|rmdir|format)\b", "deletes files"),
    (r"^(?:powershell|pwsh)\S*\s.*(?:remove-item|invoke-expression|\biex\b|-enc)", "runs an inline script"),
    (
        r"^(?:vssadmin|wbadmin)\s+delete|^bcdedit\b|^cipher\s+/w|^diskpart\b|^format\s+[a-z]:",
        "destroys what is on disks",
    ),
    (r"^\S*(?:xmrig|minerd|cpuminer|cgminer|ethminer|nbminer|t-rex)\b", "mines for somebody"),
    (r"^(?:insmod|rmmod|modprobe|kexec)\s+[^-]", "changes the kernel that runs"),
]
"""Commands that ask: `(regex, what it does)`. The list may be extended; letter case does not count."""

LOOSE_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"^(?:rm|rmdir|unlink|shred|truncate|srm|rimraf|del|erase)\b", "deletes files"),
    (
        r"^(?:dd|mkfs\S*|fdisk|parted|wipefs|mkswap|losetup|mount|umount)\b|>\s*/dev/(?:sd|nvme|hd|vd|disk)",
        "works on devices",
    ),
    (r"^(?:chmod|chown|chgrp|setfacl|chattr)\b", "changes permissions or ownership"),
    (r"^(?:sudo|doas|su|pkexec|runuser|chroot|nsenter|unshare)\b", "runs with other rights"),
    (r"^(?:systemctl|service|shutdown|reboot|halt|poweroff|init|launchctl)\b", "controls services or power"),
    (r"^(?:kill|pkill|killall|skill|fuser)\b", "ends processes"),
    (r"^(?:eval|exec|source|\.|trap|alias|crontab|at|batch|nohup|setsid|disown)\b", "runs hidden text"),
    (r"^(?:ba|z|da|k|fi|c|tc)?sh\b|^(?:python|perl|ruby|node|php|lua)[\d.]*\s+-", "runs an inline script"),
    (r"^find\b.*-(?:delete|exec|ok)|^xargs\b|^parallel\b", "runs a command for each file"),
    (
        r"^git\b.*\b(?:push|reset|clean|checkout|restore|rebase|stash|branch\s+-D|filter|update-ref|config)\b",
        "changes git history",
    ),
    (r"^(?:ssh|scp|sftp|rsync|nc|ncat|netcat|telnet|ftp|socat)\b|/dev/(?:tcp|udp)/", "reaches another machine"),
    (r"^(?:curl|wget)\b.*(?:-d|-F|-T|-X|--data|--form|--upload|--post|\$\(|`|\|)", "sends data out"),
    (r"^[^\s=]*\$[\w{('@*!]|^[\"'\\`]", "runs a program whose name is hidden"),
    (r"\b(?:delete|destroy|purge|terminate|unregister|prune|drop|truncate)\b", "deletes something"),
    (r">{1,2}\s*[^&\s]|^(?:tee|mv|cp|ln|install)\b", "writes files"),
    (r"\.(?:ssh|aws|gnupg|env|netrc|kube|hermes|npmrc|pypirc)\b|/etc/|/proc/", "touches credentials or settings"),
)
"""For what is not valid bash, so that nobody knows where its commands begin."""
