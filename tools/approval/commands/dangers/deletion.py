"""Deleting files; devices, partitions and permissions."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator

from tools.approval.commands.bash import lines_of_table
from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation
from tools.approval.commands.classes import Finding
from tools.approval.commands.dangers.scene import (
    Place,
    Scene,
    full_path,
    is_on_a_machine,
    listed,
    place_of,
    shown,
    sort_words,
    texts,
    why_essential,
    why_may_be_essential,
)
from tools.approval.commands.dangers.writing import sources_and_target

# Deleting: files, directories, and what a find matches.

# Those that delete or empty each operand; of the second the letters that take a value.
DELETERS = {
    **dict.fromkeys(
        listed("""
            rm grm rmdir unlink srm wipe rimraf del-cli del trash trash-put gio rd erase bleachbit scrub remove-item
        """),
        "",
    ),
    "shred": "ns", "gshred": "ns", "truncate": "sr", "gtruncate": "sr",
}  # fmt: skip
_DEEP = frozenset(listed("rimraf srm rd del-cli"))
_DELETER_VALUES = ("--size", "--reference")
EMPTYING = frozenset(listed("truncate gtruncate shred gshred wipe scrub"))
_REBUILT = frozenset(
    listed("""
    node_modules dist build target .venv venv __pycache__ .pytest_cache .mypy_cache .ruff_cache .tox .nox coverage
    htmlcov .coverage .next .nuxt .turbo .parcel-cache .cache .gradle out .svelte-kit bower_components .eggs
    *.egg-info *.pyc .nyc_output _build .terraform *.o *.pyo .DS_Store
""")
)
_NAMES = frozenset(listed("-name -iname -path -ipath -wholename -iwholename -regex -iregex"))
_NOT = frozenset({"!", "-not"})
_NARROWING = _NAMES.union(listed("-newer -user -size -empty -mtime -mmin -perm -samefile -inum -ctime -atime"))
_OTHERS = frozenset({*_NOT, "-o", "-or", ","})
# GNU's and BSD's, before where it begins to look.
_FIND_OPTIONS = re.compile(r"-[EHLPXdsx]+|-O\d*|-D")


def judge_deletion(call: Invocation, scene: Scene) -> Iterator[Finding]:
    """What `call` deletes."""
    program = call.program.casefold()
    if program in DELETERS:
        yield from _deleter(program, call, scene)
    elif program in {"find", "gfind", "bfs"}:
        yield from _find(call, scene)
    elif program in {"mv", "gmv"}:
        yield from _moved_away(call, scene)
    elif program in {"rsync", "rclone", "robocopy", "mirror"}:
        yield from _mirrored(call, scene)
    elif program == "cmake":
        yield from _cmake(call, scene)


def _deleter(program: str, call: Invocation, scene: Scene) -> Iterator[Finding]:
    words = sort_words(call.arguments, DELETERS[program], _DELETER_VALUES)
    operands = words.operands
    if program == "gio":
        if words.plain[:1] != ("trash",):
            return
        operands = operands[1:]
    is_deep = program in _DEEP or words.has("-r", "-R", "--recursive")
    found = [_target(operand, call, scene, is_deep=is_deep) for operand in operands]
    if call.adds_unknown:
        found.append(Finding("dangerous", "deletion", "deletes files, and more than are named here"))
    # One that does not come back makes the whole command one that does not.
    yield from (finding for finding in found if not finding.undoable)
    yield from (finding for finding in found if finding.undoable and all(other.undoable for other in found))


def _cmake(call: Invocation, scene: Scene) -> Iterator[Finding]:
    given = texts(call.arguments[:2])
    if given[:1] == ("-E",) and given[1:] in (("rm",), ("remove",), ("remove_directory",)):
        rest = (one for one in call.arguments[2:] if not one.text.startswith("-"))
        yield from (_target(one, call, scene, is_deep=True) for one in rest)


def _target(argument: Argument, call: Invocation, scene: Scene, *, is_deep: bool) -> Finding:
    empties = call.program.casefold() in EMPTYING
    verb = "empties" if empties else "deletes"
    if gone := why_essential(argument, call.cwd, scene):
        return _floor(f"{verb} {gone}", call)
    place = place_of(argument, call.cwd, scene)
    if place.kind == "disk":
        return Finding("forbidden", "device", "writes over a raw device")
    if place.kind == "own":
        return Finding(
            "dangerous", "our configuration", f"{verb} this agent's own settings or sessions", outside=True
        )
    if why_may_be_essential(argument):
        return Finding("dangerous", "deletion", f"{verb} everything from the root on where a variable is empty")
    if place.kind in {"system", "outside"}:
        why = f"{verb} {place.shown}, which is outside of the session's directories"
        return Finding("dangerous", "deletion", why, outside=True)
    if place.kind in {"sensitive", "startup"}:
        what = "the git history" if re.search(r"(?:^|/)\.git(?:/|$)", place.path) else place.shown
        return Finding("dangerous", "deletion", f"{verb} {what}")
    if place.path in scene.roots:
        return Finding("dangerous", "deletion", "deletes the whole directory that the session works in")
    if UNKNOWN in argument.text:
        return Finding("dangerous", "deletion", f"{verb} files that nobody can name beforehand")
    why = (
        "empties files" if empties else "deletes directories with all that is in them" if is_deep else "deletes files"
    )
    return Finding("dangerous", "deletion", why, undoable=not empties and _comes_back(place, scene))


def _comes_back(place: Place, scene: Scene) -> bool:
    root = next((root for root in scene.roots if place.path.startswith(f"{root}/")), None)
    if root is None:
        return False
    parts = place.path.removeprefix(root).split("/")
    return not _REBUILT.isdisjoint(parts) or parts[-1].endswith(".egg-info")


def _floor(why: str, call: Invocation) -> Finding:
    """What no mode lifts, but in a container, whose root is not the machine's."""
    if not is_on_a_machine(call):
        return Finding("dangerous", "deletion", f"{why} of a container", outside=True)
    return Finding("forbidden", "deletion", why)


def _find(call: Invocation, scene: Scene) -> Iterator[Finding]:
    given = texts(call.arguments)
    if "-delete" not in given:
        return
    if gone := finds_essential(call, scene):
        yield _floor(f"deletes {gone}", call)
        return
    places = [place_of(start, call.cwd, scene) for start in _find_starts(call)]
    if any(place.kind not in {"inside", "temporary"} for place in places):
        yield Finding(
            "dangerous", "deletion", "deletes what a find matches outside of the session's directories", outside=True
        )
        return
    names = _names(given)
    comes_back = bool(names) and all(posixpath.basename(name) in _REBUILT for name in names)
    yield Finding(
        "dangerous", "deletion", "deletes every file that it finds", undoable=comes_back and _OTHERS.isdisjoint(given)
    )


def finds_essential(call: Invocation, scene: Scene) -> str:
    """What would be gone with all that a find comes upon; '' where it looks for some files, and not from the root."""
    for start in _find_starts(call):
        gone = why_essential(start, call.cwd, scene)
        if gone and (full_path(start.text, call.cwd) == "/" or not _is_narrowed(texts(call.arguments))):
            return gone
    return ""


def _is_narrowed(given: tuple[str, ...]) -> bool:
    # All but what has a name is nearly everything.
    tests = [test for place, test in enumerate(given) if test not in _NAMES or given[place - 1] not in _NOT]
    return not _NARROWING.isdisjoint(tests) and "*" not in _names(given)


def _names(given: tuple[str, ...]) -> list[str]:
    return [value for test, value in itertools.pairwise(given) if test in {"-name", "-iname", "-path"}]


def _find_starts(call: Invocation) -> tuple[Argument, ...]:
    """Where a find begins to look; an fd has a pattern first, and nothing where it names no place."""
    arguments = call.arguments
    while arguments and _FIND_OPTIONS.fullmatch(arguments[0].text):
        arguments = arguments[1:]  # what follows `-D` is taken for a directory inside
    starts = tuple(itertools.takewhile(lambda one: not one.text.startswith(("-", "(", "!")), arguments))
    return starts if starts or call.program in {"fd", "fdfind"} else (Argument("."),)


def _moved_away(call: Invocation, scene: Scene) -> Iterator[Finding]:
    sources, target = sources_and_target(call)
    for source in sources:
        if gone := why_essential(source, call.cwd, scene):
            yield _floor(f"moves away {gone}", call)
            continue
        place = place_of(source, call.cwd, scene)
        if place.kind in {"system", "outside", "own", "sensitive", "startup"}:
            yield Finding("dangerous", "deletion", f"moves away {place.shown}", outside=place.kind != "sensitive")
    if target.text == "/dev/null":
        yield Finding("dangerous", "deletion", "moves files to nowhere")


def _mirrored(call: Invocation, scene: Scene) -> Iterator[Finding]:
    given = texts(call.arguments)
    if not any(text.startswith(("--del", "--remove-source", "/MIR", "/mir")) for text in given):
        return
    if any(text == "--dry-run" or re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", text) for text in given):
        return
    _, target = sources_and_target(call)
    if gone := why_essential(target, call.cwd, scene):
        yield _floor(f"deletes {gone}", call)
    yield Finding("dangerous", "deletion", f"deletes what is only in {shown(target.text)}")


# Devices, partitions and filesystems.

# Of each tool for disks what it is told where it only looks: the beginning of its operands.
_VERBS = {name: re.compile(form) for name, form in (
    ("zpool", r"(?:list|status|iostat|get|history|events|version)\b"),
    ("zfs", r"(?:list|get|diff|holds|userspace|groupspace|projectspace|version)\b"),
    ("btrfs", (
        r"(?:fi\w*|filesystem) (?:show|usage|df|du)\b|(?:su\w*|subvolume) (?:list|show|get-default|find-new)\b"
        r"|(?:device|dev) (?:stats|usage|ready)|qgroup show\b|(?:balance|scrub|replace) status\b"
        r"|property (?:get|list)\b|inspect-internal\b"
    )),
    ("cryptsetup", r"(?:status|luksDump|isLuks|luksUUID|benchmark|\w+Dump)\b"),
    ("dmsetup", r"(?:ls|info|table|status|deps|targets|version|splitname)\b"),
    ("nvme", r"(?:list(?:-\w+)*|id-\w+|[\w-]+-log|show-regs|get-[\w-]+|version|gen-hostnqn)\b"),
    ("diskutil", r"(?:list|info|listFilesystems|activity|(?:apfs|cs|coreStorage|appleRAID) list\w*)\b"),
    ("bootctl", r"(?:status|list|is-installed)\b"),
    ("fwupdmgr", r"(?:get-[\w-]+|security)\b"),
    ("grub-editenv", r"(?:\S+ )?list\b"),
    ("grub2-editenv", r"(?:\S+ )?list\b"),
    ("parted", r"(?:/\S+ )?(?:unit \S+ )?print(?: (?:devices|free|list|all|\d+))?$|$"),
)}  # fmt: skip
# Of each tool the options with which it only looks, one of which must be there, and those that may be beside them.
_OPTIONS = {
    name: (looking, others)
    for name, looking, others in (
        line.split("  ") for line in lines_of_table(r"""
        mdadm  -[DEQX][vsb]*|--(?:detail|examine|query)[\w-]*  -[vsbYt]+|--(?:scan|verbose|brief|export|test)
        losetup  -[alj]+|--(?:all|list|associated)  -[nJO]+|--(?:noheadings|json|output\S*|raw)
        swapon  -s|--(?:summary|show\S*)  --(?:noheadings|raw|bytes)
        efibootmgr  -v|--verbose|-u  -
        tune2fs  -l  -
        e2fsck  -[fvCnd0]*n[fvCd0]*  -[fvdC0]+
        xfs_repair  -n  -v
        fsck  -[AVTRt]*N[AVTRt]*|-[fv]*n[fv]*|--dry-run  -[ATVRft]+
        hdparm  -[igtTCIHv]+  --direct
        sgdisk  -[piv]+\d*|--(?:print|verify|info\S*)  -
        sfdisk  -[ldJFTxV]+|--(?:list\S*|dump|json|verify)  -[uo]|--(?:unit|output)\S*
        fdisk  -[lxs]+|--(?:list\S*|getsz)  -[uoc]\w*|--(?:units|output|bytes|color)\S*
        gdisk  -l  -
        cfdisk  -P\w*  -
        parted  -l|--list|-m|-s|--script|--machine  -
        modprobe  -[nDRcq]+|--(?:dry-run|show\S*|resolve-alias)  -[va]+|--(?:verbose|all)
        wipefs  -[nipJO]+|--(?:no-act|noheadings|parsable|json|output)\S*  -
        partx  -[slrgP]+|--(?:show|list|raw|pairs)  -[obno]+
        growpart  -N|--dry-run  -v
        resize2fs  -P  -
        mokutil  --(?:list\S*|sb-state|test-key)  -
        badblocks  -[sv]+  -[bcop]
        grub-install  -V  -
        """)
    )
}  # fmt: skip
_HELP = frozenset(listed("--help --version -V -h help version"))
_LOOKS_ALONE = frozenset({"wipefs", "badblocks"})
_MORE_THAN_A_LOOK = re.compile(r"--dump-\w*-key|--showkeys|-z|--reset")
_MAKES = re.compile(r"mkfs(?:\..+)?|mke2fs|mkdosfs|newfs\w*|mkntfs|mkswap|mkreiserfs")
# What writes over all of a disk: an argument that one of these fits.
_WIPES = {
    "wipefs": r"-\w*[afo].*|--all.*|--offset.*",
    "hdparm": r".*(?:erase|write|trim).*",
    "nvme": "format|sanitize|write-zeroes|delete-ns",
    "badblocks": "-[a-z]*[wn].*",
    "sgdisk": "-[zZo].*|--zap.*|--clear.*",
    **dict.fromkeys(("blkdiscard", "shred", "scrub", "sg_format"), ".*"),
}
_REMAKES = {
    "parted": "mklabel|mktable|mkpart|mkfs|rm|resizepart|rescue",
    "cryptsetup": "(?i:luksFormat|erase|luksErase|reencrypt|luksKillSlot|format|create)",
    "diskutil": r"(?i:(?:erase|partition|zero|random|secureErase|reformat|split|merge)\w*)",
    "mdadm": "--create|-C|--zero-superblock|--build|-B",
    "zpool": "create|labelclear",
    "btrfs": "add|replace",
    **dict.fromkeys(("pvcreate", "vgcreate", "sfdisk", "gdisk", "mkswap"), ".*"),
}
_LOOKS_ONLY = re.compile(r"-l|--list|-d|--dump|-J|--json|-n|--no-act|print|--test|-t")
_TOOLS = re.compile(
    r"fdisk|parted|gdisk|cfdisk|sfdisk|partprobe|diskutil|gparted|diskpart|format|fsck|tune2fs|resize2fs|debugfs"
    r"|xfs_repair|e2fsck|growpart|partx|(?:lv|vg|pv)(?:remove|create|reduce|extend|resize|change|move|convert)|zpool"
    r"|zfs|btrfs|mdadm|cryptsetup|dmsetup|losetup|mount|umount|swapoff|swapon|fstrim|efibootmgr|grub\S*|flashrom"
    r"|fwupdmgr|dd_rescue|ddrescue|kexec|insmod|rmmod|modprobe|mknod|pvresize|fusermount3?|vgcfgrestore|bootctl"
    r"|update-grub|mokutil"
)
# Options, but for the one that means whatever the table of mounts has.
_NOT_ALL = re.compile(r"-[b-zA-Z]*|--(?!all\b).*")


def judge_devices(call: Invocation, scene: Scene) -> Iterator[Finding]:
    """What `call` does to devices and filesystems."""
    program, given = call.program.casefold(), texts(call.arguments)
    makes = _MAKES.fullmatch(program) is not None
    if not makes and program not in _WIPES and not _TOOLS.fullmatch(program):
        return
    named = {place_of(one, call.cwd, scene).kind for one in call.arguments}
    is_disk = "disk" in named or (program == "diskutil" and any(re.fullmatch(r"disk\d\w*", text) for text in given))
    if makes and is_disk:
        yield Finding("forbidden", "device", "makes a filesystem on a device")
    elif makes and ("device" in named or _HELP.isdisjoint(given)):
        yield Finding("dangerous", "device", "makes a filesystem", outside=True)
    elif is_disk and not makes and _is_overwritten(program, given):
        yield Finding("forbidden", "device", "writes over a raw device")
    elif makes or (program in {"mount", "umount"} and all(map(_NOT_ALL.fullmatch, given))):
        return  # shows what is mounted
    elif given and (is_disk or program not in _WIPES) and not _only_looks(program, given):
        yield Finding("dangerous", "device", "works on devices or filesystems", outside=True)


def _is_overwritten(program: str, given: tuple[str, ...]) -> bool:
    if any(re.fullmatch(_WIPES[program], text) for text in given if program in _WIPES):
        return True
    is_telling = program in {"sfdisk", "gdisk"} and any(map(_LOOKS_ONLY.fullmatch, given))
    return not is_telling and any(re.fullmatch(_REMAKES[program], text) for text in given if program in _REMAKES)


def _only_looks(program: str, given: tuple[str, ...]) -> bool:
    """Whether a tool for disks is told to show something, and nothing else."""
    if len(given) == 1 and given[0] in _HELP:
        return True
    line = " ".join(text for text in given if not text.startswith("-"))
    options = [text for text in given if text.startswith("-")]
    if program in _VERBS and _VERBS[program].match(line) and (line or options):
        return not any(map(_MORE_THAN_A_LOOK.fullmatch, options))
    if program not in _OPTIONS or (program == "parted" and line):
        return False
    looking, others = _OPTIONS[program]
    seen = [text for text in options if re.fullmatch(looking, text)]
    return bool(seen or program in _LOOKS_ALONE) and all(
        text in seen or re.fullmatch(others, text) for text in options
    )


# The permissions of files.

_OWNERS = frozenset(
    listed("""
        chown chgrp setfacl chattr setcap chcon icacls takeown chflags lchown gchown gchgrp semanage setsebool
        setenforce restorecon xattr
""")
)
_OPEN_MODE = re.compile(r"0?[0-7]?[0-7]{2}[2367]|(?:[^,]*,)*(?:[ugoa]*[oa][ugoa]*|)[+=][rwxXst]*w[rwxXst]*(?:,.*)?")
_SPECIAL_MODE = re.compile(
    r"0*[1-7][0-7]{3}|(?:[^,]*,)*[ugoa]*(?:[-+=][rwxX]*)*[+=][rwxX]*[st]+[rwxXst]*(?:[-+,=].*)?"
)
_MILD_MODE = re.compile(r"[0-7]?7[05]{2}|(?:(?:[ugoa]*\+[rX]+|[ugoa]*-w|go-[rwx]+|u\+[rwxX]+|\+x)(?:,(?!$)|$))+")
_MODE_VALUES = "mogtS", ("--mode", "--owner", "--group")
_MAX_MODE = 100
_RUNNABLE_MODE = re.compile(r"[ugoa]*\+[xX]+")


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
