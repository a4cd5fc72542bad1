"""The forms of tools for disks that only look: told by the option or the verb that stands first, not by any word."""

from __future__ import annotations

import re
from collections.abc import Mapping

_HELP = frozenset({"--help", "--version", "-V", "-h", "help", "version"})

# The verbs that only look; of those with two, both.
_VERBS: Mapping[str, re.Pattern[str]] = {
    "zpool": re.compile(r"(?:list|status|iostat|get|history|events|version)\b"),
    "zfs": re.compile(r"(?:list|get|diff|holds|userspace|groupspace|projectspace|version)\b"),
    "btrfs": re.compile(
        r"(?:fi\w*|filesystem) (?:show|usage|df|du)\b|(?:su\w*|subvolume) (?:list|show|get-default"
        r"|find-new)\b|(?:device|dev) (?:stats|usage|ready)|qgroup show\b|(?:balance|scrub|replace) status\b"
        r"|property (?:get|list)\b|inspect-internal\b"
    ),
    "cryptsetup": re.compile(r"(?:status|luksDump|isLuks|luksUUID|benchmark|\w+Dump)\b"),
    "dmsetup": re.compile(r"(?:ls|info|table|status|deps|targets|version|splitname)\b"),
    "nvme": re.compile(r"(?:list(?:-\w+)*|id-\w+|[\w-]+-log|show-regs|get-[\w-]+|version|gen-hostnqn)\b"),
    "diskutil": re.compile(
        r"(?:list|info|listFilesystems|activity|(?:apfs|cs|coreStorage|appleRAID) list\w*)\b"
    ),
    "bootctl": re.compile(r"(?:status|list|is-installed)\b"),
    "fwupdmgr": re.compile(r"(?:get-[\w-]+|security)\b"),
    "grub-editenv": re.compile(r"(?:\S+ )?list\b"),
    "grub2-editenv": re.compile(r"(?:\S+ )?list\b"),
    "parted": re.compile(r"(?:/\S+ )?(?:unit \S+ )?print(?: (?:devices|free|list|all|\d+))?$|$"),
}  # fmt: skip
# One of the first must be there, and beside them only the second; each cluster of letters is one option.
_OPTIONS: Mapping[str, tuple[str, str]] = {
    "mdadm": (
        "-[DEQX][vsb]*|--(?:detail|examine|query)[\\w-]*", "-[vsbYt]+|--(?:scan|verbose|brief|export|test)",
    ),
    "losetup": ("-[alj]+|--(?:all|list|associated)", "-[nJO]+|--(?:noheadings|json|output\\S*|raw)"),
    "swapon": ("-s|--(?:summary|show\\S*)", "--(?:noheadings|raw|bytes)"),
    "efibootmgr": ("-v|--verbose|-u", ""),
    "tune2fs": ("-l", ""),
    "e2fsck": ("-[fvCnd0]*n[fvCd0]*", "-[fvdC0]+"),
    "xfs_repair": ("-n", "-v"),
    "fsck": ("-[AVTRt]*N[AVTRt]*|-[fv]*n[fv]*|--dry-run", "-[ATVRft]+"),
    "hdparm": ("-[igtTCIHv]+", "--direct"),
    "sgdisk": ("-[piv]+\\d*|--(?:print|verify|info\\S*)", ""),
    "sfdisk": ("-[ldJFTxV]+|--(?:list\\S*|dump|json|verify)", "-[uo]|--(?:unit|output)\\S*"),
    "fdisk": ("-[lxs]+|--(?:list\\S*|getsz)", "-[uoc]\\w*|--(?:units|output|bytes|color)\\S*"),
    "gdisk": ("-l", ""),
    "cfdisk": ("-P\\w*", ""),
    "parted": ("-l|--list|-m|-s|--script|--machine", ""),
    "modprobe": ("-[nDRcq]+|--(?:dry-run|show\\S*|resolve-alias)", "-[va]+|--(?:verbose|all)"),
    "wipefs": ("-[nipJO]+|--(?:no-act|noheadings|parsable|json|output)\\S*", ""),
    "partx": ("-[slrgP]+|--(?:show|list|raw|pairs)", "-[obno]+"),
    "growpart": ("-N|--dry-run", "-v"),
    "resize2fs": ("-P", ""),
    "mokutil": ("--(?:list\\S*|sb-state|test-key)", ""),
    "badblocks": ("-[sv]+", "-[bcop]"),
    "grub-install": ("-V", ""),
}  # fmt: skip
_LOOKS_ALONE = frozenset({"wipefs", "badblocks"})
_MORE_THAN_A_LOOK = re.compile(r"--dump-\w*-key|--showkeys|-z|--reset")


def only_looks(program: str, given: tuple[str, ...]) -> bool:
    """Whether a tool for disks is told to show something, and nothing else."""
    if len(given) == 1 and given[0] in _HELP:
        return True
    words = [text for text in given if not text.startswith("-")]
    options = [text for text in given if text.startswith("-")]
    verbs = _VERBS.get(program)
    line = " ".join(words)
    if verbs is not None and verbs.match(line) and (line or options):
        return not any(_MORE_THAN_A_LOOK.fullmatch(text) for text in options)
    if program not in _OPTIONS or (program == "parted" and words):
        return False
    looking, others = (re.compile(one) for one in _OPTIONS[program])
    seen = [text for text in options if looking.fullmatch(text)]
    return bool(seen or program in _LOOKS_ALONE) and all(text in seen or others.fullmatch(text) for text in options)
