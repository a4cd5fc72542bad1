"""Which files the usual programs write, move or delete, by their command lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from tools.changes.expansion import Surroundings
from tools.changes.options import Arguments, sorted_arguments
from tools.changes.targets import Targets

Rule = Callable[[Arguments, Targets, Surroundings], None]

_TARGET_DIRECTORY = ("--target-directory", "--suffix")
_COMPRESSED = {
    "gzip": ".gz",
    "gunzip": ".gz",
    "bzip2": ".bz2",
    "bunzip2": ".bz2",
    "xz": ".xz",
    "unxz": ".xz",
    "zstd": ".zst",
}


def _removed(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    for operand in sorted_arguments(arguments, "n").operands:
        targets.tree(operand, around)


def _deleted(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    for operand in sorted_arguments(arguments, optional="rfv").operands:
        targets.tree(operand, around)


def _overwritten(with_value: str, long_with_value: tuple[str, ...] = ()) -> Rule:
    def rule(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
        for operand in sorted_arguments(arguments, with_value, long_with_value).operands:
            targets.written(operand, around)

    return rule


def _created(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    for operand in sorted_arguments(arguments, "drt", ("--date", "--reference")).operands:
        absolute = around.absolute(operand) if operand else None
        if absolute and not around.disk.exists(absolute):
            targets.written(operand, around)


def _placed(with_value: str, *, removes: bool = False, is_link: bool = False) -> Rule:
    """For `mv`, `cp`, `install`, `ln`: sources, then where they come to be."""

    def rule(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
        line = sorted_arguments(arguments, with_value, _TARGET_DIRECTORY)
        folder = line.value("-t", "--target-directory")
        sources, target = line.operands, folder
        if not folder and sources:
            sources, target = sources[:-1], sources[-1]
        if is_link and len(line.operands) == 1 and not folder:
            sources, target = line.operands, "."
        if removes:
            for source in sources:
                targets.tree(source, around)
        absolute = around.absolute(target) if target else None
        if target is None or absolute is None:
            return
        into = bool(folder) or (not line.has("-T") and around.disk.is_directory(absolute))
        for source in sources:
            if source is None:
                continue
            place = f"{target}/{PurePosixPath(source).name}" if into else target
            if is_link:
                targets.replaced(place, around)
            else:
                targets.copied(source, place, around)

    return rule


def _mode_changed(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    # `-x` is a mode here, not an option.
    operands = [
        argument for argument in arguments if argument is None or not re.fullmatch(r"--.*|-[Rcfv]+", argument)
    ]
    for operand in (
        operands if any(a is not None and a.startswith("--reference") for a in arguments) else operands[1:]
    ):
        targets.tree(operand, around, follows=True)


def _edited_by_sed(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    line = sorted_arguments(arguments, "efl", ("--expression", "--file"), optional="i")
    if not line.has("-i", "--in-place"):
        return
    files = line.operands if line.has("-e", "-f", "--expression", "--file") else line.operands[1:]
    _in_place(files, line.value("-i", "--in-place") or "", targets, around)


def _edited_by_perl(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    line = sorted_arguments(arguments, "eEIMmF", optional="i")
    if line.has("-i"):
        files = line.operands if line.has("-e", "-E") else line.operands[1:]
        _in_place(files, line.value("-i") or "", targets, around)


def _in_place(files: Arguments, suffix: str, targets: Targets, around: Surroundings) -> None:
    for file in files:
        targets.replaced(file, around)
        targets.written(file, around)
        if file and suffix and "*" not in suffix:
            targets.replaced(file + suffix, around)


def _edited_by_awk(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    line = sorted_arguments(arguments, "ivfFe", ("--include", "--file", "--assign"))
    if "inplace" in {line.value("-i"), line.value("--include")}:
        _in_place(line.operands if line.has("-f", "--file", "-e") else line.operands[1:], "", targets, around)


def _output(*options: str, with_value: str) -> Rule:
    def rule(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
        line = sorted_arguments(arguments, with_value, [name for name in options if name.startswith("--")])
        for name in options:
            if line.has(name):
                targets.written(line.value(name), around)

    return rule


def _copied_blocks(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    for argument in arguments:
        if argument and argument.startswith("of="):
            targets.written(argument[3:], around)


def _patched(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    line = sorted_arguments(arguments, "piodDFBVYzrg", ("--input", "--output", "--directory", "--strip"))
    targets.written(line.value("-o", "--output"), around)
    targets.written((*line.operands, None)[0], around)


def _compressed(suffix: str) -> Rule:
    def rule(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
        for operand in sorted_arguments(arguments, "S").operands:
            if operand:
                targets.replaced(operand, around)
                targets.replaced(
                    operand.removesuffix(suffix) if operand.endswith(suffix) else operand + suffix, around
                )

    return rule


RULES: Mapping[str, Rule] = {
    "rm": _removed,
    "unlink": _deleted,
    "shred": _removed,
    "srm": _deleted,
    "trash": _deleted,
    "rimraf": _deleted,
    "truncate": _overwritten("sr", ("--size", "--reference")),
    "tee": _overwritten(""),
    "sponge": _overwritten(""),
    "touch": _created,
    "mv": _placed("tS", removes=True),
    "cp": _placed("tS"),
    "install": _placed("tSmog"),
    "ln": _placed("tS", is_link=True),
    "chmod": _mode_changed,
    "sed": _edited_by_sed,
    "gsed": _edited_by_sed,
    "perl": _edited_by_perl,
    "ruby": _edited_by_perl,
    "awk": _edited_by_awk,
    "gawk": _edited_by_awk,
    "sort": _output("-o", "--output", with_value="okStT"),
    "shuf": _output("-o", "--output", with_value="oin"),
    "tree": _output("-o", with_value="oLPIHT"),
    "curl": _output("-o", "--output", with_value="oXHduAbFeTK"),
    "wget": _output("-O", "--output-document", with_value="OPUo"),
    "gcc": _output("-o", with_value="oIDLlx"),
    "g++": _output("-o", with_value="oIDLlx"),
    "cc": _output("-o", with_value="oIDLlx"),
    "clang": _output("-o", with_value="oIDLlx"),
    "pandoc": _output("-o", "--output", with_value="oftV"),
    "dd": _copied_blocks,
    "patch": _patched,
} | {name: _compressed(suffix) for name, suffix in _COMPRESSED.items()}
