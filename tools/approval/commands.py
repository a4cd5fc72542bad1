"""What a shell command would do, by family: the first net, made of regular expressions.

A pattern sees through quoting only as far as `_variants` undoes it. It errs towards asking.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_START = r"(?:^|[;&|\n(`{]|\$\(|\b(?:sudo|env|nohup|time|xargs|exec|then|do|else|command)\b[^;&|\n]*?)\s*"
_RM_FLAGS = r"(?:\s+-{1,2}[\w-]+)*"

FORBIDDEN_PATTERNS: tuple[tuple[str, str], ...] = (
    (
        _START + r"rm" + _RM_FLAGS + r"\s+(?:--\s+)?(?:/|/\*|~/?|\$HOME/?|\$\{HOME\}/?)(?:\s|$|[;&|)])",
        "deletes the root or home directory",
    ),
    (_START + r"mkfs(?:\.\w+)?\b[^;&|\n]*/dev/", "makes a filesystem on a device"),
    (r"\bdd\b[^;&|\n]*\bof=/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk)", "writes over a raw device"),
    (r">\s*/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk)", "writes over a raw device"),
    (r":\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:", "is a fork bomb"),
)
"""Commands that no mode runs: `(regex, what it does)`."""

DANGEROUS_PATTERNS: list[tuple[str, str]] = [
    (_START + r"(?:\S*/)?rm\b", "deletes files"),
    (_START + r"(?:\S*/)?(?:rmdir|unlink|shred|truncate)\b", "deletes files"),
    (r"\bfind\b[^;&|\n]*\s-(?:delete|exec|execdir|ok)\b", "runs or deletes through find"),
    (r"\bxargs\b", "runs a command for each input"),
    (
        _START + r"(?:\S*/)?(?:dd|mkfs\S*|fdisk|parted|mkswap|wipefs|losetup|mount|umount)\b",
        "works on devices",
    ),
    (_START + r"(?:\S*/)?(?:chmod|chown|chgrp|setfacl|chattr)\b", "changes permissions or ownership"),
    (r"\b(?:sudo|doas|su|pkexec)\b", "runs with other rights"),
    (
        r"\b(?:drop|truncate)\s+(?:table|database|schema|index)\b|\bdelete\s+from\b",
        "deletes database content",
    ),
    (
        _START + r"(?:\S*/)?(?:systemctl|service|shutdown|reboot|halt|poweroff|init|launchctl)\b",
        "controls services or power",
    ),
    (_START + r"(?:\S*/)?(?:kill|pkill|killall|skill)\b", "ends processes"),
    (
        r"\|\s*(?:sudo\s+)?(?:\S*/)?(?:ba|z|da|k|fi)?sh\b|\|\s*(?:\S*/)?(?:python|perl|ruby|node)\d*\b",
        "feeds text to an interpreter",
    ),
    (r"\b(?:ba|z|da|k)?sh\b[^;&|\n]*<\s*\(|\b(?:source|\.)\s+<\(", "feeds text to an interpreter"),
    (r"\beval\b|\bbase64\b[^;&|\n]*(?:-d|--decode)", "runs or unpacks hidden text"),
    (
        (
            r"\b(?:python|perl|ruby|node|php|lua)[\d.]*(?:\s+-\w+)*?\s+(?:-\w*[ceErp]\b|--eval\b)"
            r"|\b(?:ba|z|da|k)?sh\b\s+-\w*c\b"
        ),
        "runs an inline script",
    ),
    (
        (
            r"\bgit\b[^;&|\n]*\b(?:reset\s+--hard|clean\b|push\b|checkout\s+(?:--|\.)|restore\b|"
            r"branch\s+-D|rebase\b|filter-branch|stash\s+(?:drop|clear)|reflog\s+expire|gc\b)"
        ),
        "changes git history, the work tree or a remote",
    ),
    (
        (
            r"\b(?:docker|podman|kubectl|helm|terraform|tofu|pulumi|aws|gcloud|az)\b[^;&|\n]*"
            r"\b(?:rm|rmi|delete|destroy|prune|down|terminate|purge|kill|stop|uninstall|apply)\b"
        ),
        "changes containers, clusters or cloud resources",
    ),
    (
        r"\b(?:npm|pnpm|yarn|cargo|gem|poetry|uv|twine|hatch|flit)\b[^;&|\n]*\b(?:publish|upload|push|yank)\b",
        "publishes a package",
    ),
    (
        r"\bcrontab\b|\bat\s+now\b|\.bashrc|\.zshrc|\.profile|\.bash_profile",
        "installs something that comes back",
    ),
    (r"\b(?:ssh|scp|sftp|rsync|nc|ncat|netcat|telnet)\b", "reaches another machine"),
    (
        r"\b(?:curl|wget)\b[^;&|\n]*\s(?:-X|--request|-d|--data\S*|-F|--form|-T|--upload-file|--post\S*)",
        "sends data out",
    ),
    (r"(?<![<>&\d=-])>{1,2}(?!>)\|?\s*(?!&|/dev/(?:null|stdout|stderr)\b)\S", "writes a file"),
    (r"[&\d]>{1,2}(?!>)\s*(?!&|/dev/null\b)\S", "writes a file"),
    (_START + r"(?:\S*/)?(?:tee|install|mv|cp|ln|rsync|patch|ed|ex)\b", "writes files"),
    (r"\b(?:sed|perl|ruby|awk|gawk)\b[^;&|\n]*\s(?:-\w*i|--in-place)", "edits files in place"),
    (r"\bgit\b[^;&|\n]*\b(?:apply|am|mv|rm|config)\b", "changes files or settings through git"),
    (r"(?:^|[\s\"'=/])\.(?:env|ssh|aws|gnupg|netrc|kube|docker|hermes)\b", "touches credentials or settings"),
    (r"(?:^|[\s\"'=])/(?:etc|boot|sys|proc)/", "touches the system"),
]
"""Commands that ask: `(regex, what it does)`. The list may be extended."""


@dataclass(frozen=True, slots=True)
class CommandClass:
    """How far a command reaches: `why` completes the sentence «this command …»."""

    level: Literal["ordinary", "dangerous", "forbidden"]
    why: str = ""


def classify_command(command: str) -> CommandClass:
    """The strongest class that any reading of `command` falls into."""
    variants = _variants(command)
    for level, patterns in (("forbidden", FORBIDDEN_PATTERNS), ("dangerous", DANGEROUS_PATTERNS)):
        for pattern, why in patterns:
            if any(_search(pattern, text) for text in variants):
                return CommandClass("forbidden" if level == "forbidden" else "dangerous", why)
    return CommandClass("ordinary")


def detect_dangerous_command(command: str) -> tuple[bool, str]:
    """Whether `command` would not run unasked, and why."""
    found = classify_command(command)
    return found.level != "ordinary", found.why


def _variants(command: str) -> tuple[str, ...]:
    """The command as written, and with the usual disguises (quotes, escapes, `$IFS`, line breaks) taken off."""
    plain = command.replace("\\\n", "")
    plain = re.sub(r"\$\{?IFS\}?", " ", plain)
    plain = re.sub(r"\\(.)", r"\1", plain)
    plain = re.sub(r"[\"']", "", plain)
    return (command,) if plain == command else (command, plain)


def _search(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, re.IGNORECASE | re.MULTILINE)
