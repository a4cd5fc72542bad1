"""Devices, partitions, filesystems, and the permissions of files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tools.approval.dangers.device_looks import only_looks
from tools.approval.dangers.essential import why_essential
from tools.approval.dangers.finding import Finding
from tools.approval.dangers.places import Scene, is_on_a_machine, place_of
from tools.approval.dangers.words import sort_words, texts
from tools.bash.reading import UNKNOWN, Argument, Invocation

_MAKES = re.compile(r"mkfs(?:\..+)?|mke2fs|mkdosfs|newfs\w*|mkntfs|mkswap|mkreiserfs")
_WIPES = frozenset({"wipefs", "blkdiscard", "shred", "hdparm", "nvme", "badblocks", "sgdisk", "scrub", "sg_format"})
_PARTITIONS = frozenset({
    "fdisk", "parted", "gdisk", "cfdisk", "sfdisk", "partprobe", "diskutil", "gparted", "diskpart", "format", "fsck",
    "tune2fs", "resize2fs", "debugfs", "xfs_repair", "e2fsck", "growpart", "partx",
})  # fmt: skip
_VOLUMES = re.compile(
    r"(?:lv|vg|pv)(?:remove|create|reduce|extend|resize|change|move|convert)|zpool|zfs|btrfs|mdadm|cryptsetup|dmsetup"
    r"|losetup|mount|umount|swapoff|swapon|fstrim|efibootmgr|grub\S*|flashrom|fwupdmgr|dd_rescue|ddrescue|kexec"
    r"|insmod|rmmod|modprobe|mknod|pvresize|fusermount3?|vgcfgrestore|bootctl|update-grub|mokutil"
)
_NEVER_SHOWS = frozenset({"shred", "blkdiscard"})
_OWNERS = frozenset({"chown", "chgrp", "setfacl", "chattr", "setcap", "chcon", "icacls", "takeown", "chflags",
    "lchown",
                     "gchown", "gchgrp", "semanage", "setsebool", "setenforce", "restorecon", "xattr"})  # fmt: skip
_OPEN_MODE = re.compile(r"0?[0-7]?[0-7]{2}[2367]|(?:[^,]*,)*(?:[ugoa]*[oa][ugoa]*|)[+=][rwxXst]*w[rwxXst]*(?:,.*)?")
_SPECIAL_MODE = re.compile(
    r"0*[1-7][0-7]{3}|(?:[^,]*,)*[ugoa]*(?:[-+=][rwxX]*)*[+=][rwxX]*[st]+[rwxXst]*(?:[-+,=].*)?"
)
_MILD_MODE = re.compile(r"[0-7]?7[05]{2}|(?:(?:[ugoa]*\+[rX]+|[ugoa]*-w|go-[rwx]+|u\+[rwxX]+|\+x)(?:,(?!$)|$))+")
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


def judge_devices(call: Invocation, scene: Scene) -> Iterator[Finding]:
    """What `call` does to devices and filesystems."""
    program, given = call.program.casefold(), texts(call.arguments)
    named = [place_of(one, call.cwd, scene).kind for one in call.arguments if "/dev/" in one.text]
    if _MAKES.fullmatch(program):
        if not named and {"-V", "--version", "-h", "--help"}.intersection(given):
            return
        if "disk" in named:
            yield Finding("forbidden", "device", "makes a filesystem on a device")
        else:
            yield Finding("dangerous", "device", "makes a filesystem", outside=True)
    elif (
        (program in {"dd", "gdd", "dcfldd", "dd_rescue", "ddrescue"} and "disk" in _written(call, scene))
        or (program in _WIPES and "disk" in named and (program in _NEVER_SHOWS or _is_wiping(program, given)))
        or ((remakes := _REMAKES.get(program)) is not None and _is_remade(program, given, named, remakes))
    ):
        yield Finding("forbidden", "device", "writes over a raw device")
    elif program in {"mount", "umount"} and not any(not text.startswith("-") for text in given):
        return  # shows what is mounted
    elif given and _works_on_disks(program, named) and not only_looks(program, given):
        yield Finding("dangerous", "device", "works on devices or filesystems", outside=True)


def _is_remade(program: str, given: tuple[str, ...], named: Sequence[str], remakes: re.Pattern[str]) -> bool:
    is_disk = "disk" in named or (program == "diskutil" and any(re.fullmatch(r"disk\d\w*", text) for text in given))
    verbs = [text for text in given if "/dev/" not in text]
    is_telling = any(_LOOKS_ONLY.fullmatch(text) for text in verbs) and program in {"sfdisk", "gdisk", "parted"}
    return is_disk and not is_telling and any(remakes.fullmatch(text) for text in (*verbs, ""))


def _works_on_disks(program: str, named: Sequence[str]) -> bool:
    return program in _PARTITIONS or bool(_VOLUMES.fullmatch(program)) or (program in _WIPES and "disk" in named)


def _written(call: Invocation, scene: Scene) -> set[str]:
    targets = [one for one in call.arguments if one.text.startswith("of=")]
    kinds = {place_of(Argument(one.text[3:]), call.cwd, scene).kind for one in targets}
    if call.program.casefold() in {"dd_rescue", "ddrescue"}:
        kinds |= {place_of(one, call.cwd, scene).kind for one in call.arguments[1:]}
    return {str(kind) for kind in kinds}


def _is_wiping(program: str, given: tuple[str, ...]) -> bool:
    match program:
        case "wipefs":
            return any(text.startswith(("-a", "--all", "-f", "-o", "--offset")) or "a" in text[:3] for text in given)
        case "hdparm":
            return any("erase" in text or "write" in text or "trim" in text for text in given)
        case "nvme":
            return any(text in {"format", "sanitize", "write-zeroes", "delete-ns"} for text in given)
        case "badblocks":
            return any(re.match(r"-[a-z]*[wn]", text) for text in given)
        case "sgdisk":
            return any(re.match(r"-[zZo]|--zap|--clear", text) for text in given)
        case _:
            return True


def judge_permissions(call: Invocation, scene: Scene) -> Iterator[Finding]:
    """How `call` changes who may do what with files."""
    program = call.program.casefold()
    if program in _OWNERS:
        words = sort_words(call.arguments)
        if words.has("--help", "--version", "--restore") or not call.arguments:
            return
        yield _on_everything(call, scene) or Finding(
            "dangerous", "permissions", "changes permissions or ownership", outside=True
        )
    elif program in {"chmod", "gchmod"}:
        yield from _chmod(call, scene)
    elif program in {"install", "ginstall", "mkdir"}:
        modes = sort_words(call.arguments, "mogtS", ("--mode", "--owner", "--group")).values("-m", "--mode")
        if any(_SPECIAL_MODE.fullmatch(mode.text) for mode in modes):
            yield Finding("dangerous", "permissions", "lets programs run with the rights of their owner")
    elif program == "umask" and call.arguments and set(call.arguments[0].text) == {"0"}:
        yield Finding("dangerous", "permissions", "lets everybody change the files that are made from now on")


def _on_everything(call: Invocation, scene: Scene) -> Finding | None:
    is_deep = any(re.fullmatch(r"-[a-zA-Z]*R[a-zA-Z]*|--recurs\w*", one.text) for one in call.arguments)
    gone = (
        next((why for one in call.arguments if (why := why_essential(one, call.cwd, scene))), "") if is_deep else ""
    )
    if not gone:
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
    if _OPEN_MODE.fullmatch(mode) or UNKNOWN in mode or len(mode) > _MAX_MODE:
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
    if re.fullmatch(r"0*|a?-[rwx]+|a?=", mode) and mode:
        yield Finding("dangerous", "permissions", "takes away permissions")
