"""Devices, partitions, filesystems, and the permissions of files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.approval.dangers.device_looks import only_looks
from tools.approval.dangers.essential import why_essential
from tools.approval.dangers.finding import Finding
from tools.approval.dangers.places import Scene, is_on_a_machine, place_of
from tools.approval.dangers.words import sort_words, texts
from tools.bash.reading import UNKNOWN, Invocation

_MAKES = re.compile(r"mkfs(?:\..+)?|mke2fs|mkdosfs|newfs\w*|mkntfs|mkswap|mkreiserfs")
_WIPES = frozenset({"wipefs", "blkdiscard", "shred", "hdparm", "nvme", "badblocks", "sgdisk", "scrub", "sg_format"})
_PARTITIONS = frozenset({
    "fdisk", "parted", "gdisk", "cfdisk", "sfdisk", "partprobe", "diskutil", "gparted", "diskpart", "format",
    "fsck", "tune2fs", "resize2fs", "debugfs", "xfs_repair", "e2fsck", "growpart", "partx",
})  # fmt: skip
_VOLUMES = re.compile(
    r"(?:lv|vg|pv)(?:remove|create|reduce|extend|resize|change|move|convert)|zpool|zfs|btrfs|mdadm|cryptsetup|dmsetup"
    r"|losetup|mount|umount|swapoff|swapon|fstrim|efibootmgr|grub\S*|flashrom|fwupdmgr|dd_rescue|ddrescue|kexec"
    r"|insmod|rmmod|modprobe|mknod|pvresize|fusermount3?|vgcfgrestore|bootctl|update-grub|mokutil"
)
# Options, but for the one that means whatever the table of mounts has.
_NOT_ALL = re.compile(r"-[b-zA-Z]*|--(?!all\b).*")
_OWNERS = frozenset({
    "chown", "chgrp", "setfacl", "chattr", "setcap", "chcon", "icacls", "takeown", "chflags", "lchown",
    "gchown", "gchgrp", "semanage", "setsebool", "setenforce", "restorecon", "xattr",
})  # fmt: skip
_OPEN_MODE = re.compile(r"0?[0-7]?[0-7]{2}[2367]|(?:[^,]*,)*(?:[ugoa]*[oa][ugoa]*|)[+=][rwxXst]*w[rwxXst]*(?:,.*)?")
_SPECIAL_MODE = re.compile(
    r"0*[1-7][0-7]{3}|(?:[^,]*,)*[ugoa]*(?:[-+=][rwxX]*)*[+=][rwxX]*[st]+[rwxXst]*(?:[-+,=].*)?"
)
_MILD_MODE = re.compile(r"[0-7]?7[05]{2}|(?:(?:[ugoa]*\+[rX]+|[ugoa]*-w|go-[rwx]+|u\+[rwxX]+|\+x)(?:,(?!$)|$))+")
_MODE_VALUES = "mogtS", ("--mode", "--owner", "--group")
_MAX_MODE = 100
_RUNNABLE_MODE = re.compile(r"[ugoa]*\+[xX]+")


_REMAKES = {
    "parted": re.compile(r"mklabel|mktable|mkpart|mkfs|rm|resizepart|rescue"),
    "cryptsetup": re.compile(r"luksFormat|erase|luksErase|reencrypt|luksKillSlot|format|create", re.IGNORECASE),
    "diskutil": re.compile(r"(?:erase|partition|zero|random|secureErase|reformat|split|merge)\w*", re.IGNORECASE),
    "mdadm": re.compile(r"--create|-C|--zero-superblock|--build|-B"),
    "zpool": re.compile(r"create|labelclear"),
    "btrfs": re.compile(r"add|replace"),
    **dict.fromkeys(("pvcreate", "vgcreate", "sfdisk", "gdisk", "mkswap"), re.compile(r".*")),
}
_LOOKS_ONLY = re.compile(r"-l|--list|-d|--dump|-J|--json|-n|--no-act|print|--test|-t")
_ANY = re.compile("|".join((_MAKES.pattern, _VOLUMES.pattern, *_WIPES, *_PARTITIONS)))


def judge_devices(call: Invocation, scene: Scene) -> Iterator[Finding]:
    """What `call` does to devices and filesystems."""
    program, given = call.program.casefold(), texts(call.arguments)
    if not _ANY.fullmatch(program):
        return
    named = {place_of(one, call.cwd, scene).kind for one in call.arguments}
    is_disk = "disk" in named or (program == "diskutil" and any(re.fullmatch(r"disk\d\w*", text) for text in given))
    if _MAKES.fullmatch(program):
        if named.isdisjoint({"disk", "device"}) and {"-V", "--version", "-h", "--help"}.intersection(given):
            return
        if is_disk:
            yield Finding("forbidden", "device", "makes a filesystem on a device")
        else:
            yield Finding("dangerous", "device", "makes a filesystem", outside=True)
    elif is_disk and (_is_wiping(program, given) or _is_remade(program, given)):
        yield Finding("forbidden", "device", "writes over a raw device")
    elif program in {"mount", "umount"} and all(_NOT_ALL.fullmatch(text) for text in given):
        return  # shows what is mounted
    elif given and (is_disk or program not in _WIPES) and not only_looks(program, given):
        yield Finding("dangerous", "device", "works on devices or filesystems", outside=True)


def _is_remade(program: str, given: tuple[str, ...]) -> bool:
    remakes = _REMAKES.get(program)
    is_telling = program in {"sfdisk", "gdisk"} and any(_LOOKS_ONLY.fullmatch(text) for text in given)
    return remakes is not None and not is_telling and any(remakes.fullmatch(text) for text in given)


def _is_wiping(program: str, given: tuple[str, ...]) -> bool:
    match program:
        case "wipefs":
            return any(re.match(r"-\w*[afo]|--all|--offset", text) for text in given)
        case "hdparm":
            return any("erase" in text or "write" in text or "trim" in text for text in given)
        case "nvme":
            return any(text in {"format", "sanitize", "write-zeroes", "delete-ns"} for text in given)
        case "badblocks":
            return any(re.match(r"-[a-z]*[wn]", text) for text in given)
        case "sgdisk":
            return any(re.match(r"-[zZo]|--zap|--clear", text) for text in given)
        case _:
            return program in _WIPES


def judge_permissions(call: Invocation, scene: Scene) -> Iterator[Finding]:
    """How `call` changes who may do what with files."""
    program = call.program.casefold()
    if program in _OWNERS:
        words = sort_words(call.arguments)
        if words.has("--help", "--version") or not call.arguments:
            return
        yield _on_everything(call, scene) or Finding(
            "dangerous", "permissions", "changes permissions or ownership", outside=True
        )
    elif program in {"chmod", "gchmod"}:
        yield from _chmod(call, scene)
    elif program in {"install", "ginstall", "mkdir"}:
        modes = sort_words(call.arguments, *_MODE_VALUES).values("-m", "--mode")
        if any(_SPECIAL_MODE.fullmatch(mode.text) for mode in modes):
            yield Finding("dangerous", "permissions", "lets programs run with the rights of their owner")
    elif program == "umask" and call.arguments and set(call.arguments[0].text) == {"0"}:
        yield Finding("dangerous", "permissions", "lets everybody change the files that are made from now on")


def _on_everything(call: Invocation, scene: Scene) -> Finding | None:
    if not any(re.fullmatch(r"-[a-zA-Z]*R[a-zA-Z]*|--recurs\w*", one.text) for one in call.arguments):
        return None
    gone = next((why for one in call.arguments if (why := why_essential(one, call.cwd, scene))), None)
    if gone is None:
        return None
    return Finding(
        "forbidden" if is_on_a_machine(call) else "dangerous",
        "permissions",
        f"changes permissions or ownership of {gone}",
    )


def opens_to_others(mode: str) -> bool:
    """Whether a mode lets others change a file, or lets it run with the rights of its owner."""
    return (
        len(mode) > _MAX_MODE or _OPEN_MODE.fullmatch(mode) is not None or _SPECIAL_MODE.fullmatch(mode) is not None
    )


def _chmod(call: Invocation, scene: Scene) -> Iterator[Finding]:
    given = texts(call.arguments)
    # `-x` and `-w` are modes, not options.
    options = [text for text in given if re.fullmatch(r"-[Rvcf]+|--\w.*", text)]
    rest = [one for one in call.arguments if one.text not in options]
    by_reference = any(option.startswith("--ref") for option in options)
    mode, targets = ("", rest) if by_reference or not rest else (rest[0].text, rest[1:])
    if found := _on_everything(call, scene):
        yield found
        return
    if _SPECIAL_MODE.fullmatch(mode):
        yield Finding("dangerous", "permissions", "lets programs run with the rights of their owner")
        return
    if UNKNOWN in mode or opens_to_others(mode):
        yield Finding("dangerous", "permissions", "lets everybody change files")
        return
    if any("R" in option or option.startswith("--rec") for option in options) and not _MILD_MODE.fullmatch(mode):
        yield Finding("dangerous", "permissions", "changes permissions of whole directories")
        return
    for target in targets:
        place = place_of(target, call.cwd, scene)
        if place.kind == "unknown" and _RUNNABLE_MODE.fullmatch(mode):
            continue
        if place.kind in {"system", "outside", "own", "sensitive", "startup", "disk", "device", "unknown"}:
            is_far = place.kind not in {"sensitive", "startup"}
            yield Finding("dangerous", "permissions", f"changes permissions of {place.shown}", outside=is_far)
            return
    if re.fullmatch(r"0+|a?-[rwx]+|a?=", mode):
        yield Finding("dangerous", "permissions", "takes away permissions")
