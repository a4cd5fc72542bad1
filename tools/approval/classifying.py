"""The judgement behind `classify_command`: what a command was read as, joined with what each part of it does.

With all families of dangers it takes a tenth of a second to load, so nothing that a start needs imports it.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

from tools.approval.command_patterns import DANGEROUS_PATTERNS, LOOSE_PATTERNS
from tools.approval.command_reading import first_match, lines_of, readings
from tools.approval.commands.classes import SOMEWHERE, CommandClass
from tools.approval.dangers.clues import is_known_hook, judge_text, kills_only_its_own
from tools.approval.dangers.finding import WORST_FIRST, Finding, Level
from tools.approval.dangers.inline import Script
from tools.approval.dangers.judging import fed, findings_in, scripts_in
from tools.approval.dangers.places import Scene
from tools.approval.dangers.written_scripts import scripts_written
from tools.approval.harmless.proof import is_harmless
from tools.approval.scripts.judge import judge_script
from tools.bash.doubts import NOT_BASH, UNKNOWN_TEXT
from tools.bash.read import read_command
from tools.bash.reading import Reading

_TOO_NESTED = Finding("dangerous", "hidden", "is too long or too nested to be read")


def classify(command: str, cwd: Path | None = None, roots: tuple[Path, ...] = ()) -> CommandClass:
    """As `classify_command`."""
    own = os.environ.get("HERMES_HOME", "").strip().rstrip("/")
    home = os.path.expanduser("~")  # noqa: PTH111 - text
    folders = tuple(map(str, roots or (cwd or SOMEWHERE,)))
    scene = Scene(folders, home, own, is_placed=cwd is not None)
    return _classified(command, cwd, roots, scene, tuple(DANGEROUS_PATTERNS))


@functools.lru_cache(maxsize=1024)
def _classified(
    command: str, cwd: Path | None, roots: tuple[Path, ...], scene: Scene, patterns: tuple[tuple[str, str], ...]
) -> CommandClass:
    """The class of `command`; kept for whoever asks the same again.

    Args:
        scene: what its paths are looked at in.
        patterns: the second net, `(regex, what it does)`.
    """
    try:
        reading = read_command(command, cwd or SOMEWHERE)
        found = [*findings_in(reading, scene), *judge_text(command, reading)]
        if is_known_hook(command, reading):
            found = [one for one in found if one.why != UNKNOWN_TEXT]
        found.extend(_of_written_scripts(reading, cwd, roots))
        verdicts = [_judged(script, cwd, roots) for _, script in scripts_in(reading)]
    except RecursionError:
        return _class_of([_TOO_NESTED])
    found.extend(finding for _, findings in verdicts for finding in findings)
    if kills_only_its_own(command, reading):
        found = [one for one in found if one.family != "processes" or one.level == "forbidden"]
    found.extend(_second_net(command, reading, patterns))
    if found:
        return _class_of(found)
    if (
        not reading.doubts
        and reading.invocations
        and all(is_harmless(call, classify, scene.roots) for call in reading.invocations)
    ):
        return CommandClass("safe")
    return CommandClass(
        "ordinary", "runs an inline script" if any(level == "ordinary" for level, _ in verdicts) else ""
    )


def _class_of(found: list[Finding]) -> CommandClass:
    ordered = tuple(sorted(dict.fromkeys(found), key=_weakness))
    first = ordered[0]
    return CommandClass(first.level, first.why, ordered, first.family, any(one.outside for one in ordered))


def _weakness(finding: Finding) -> tuple[bool, int]:
    return finding.level != "forbidden", WORST_FIRST.index(finding.family)


def _of_written_scripts(reading: Reading, cwd: Path | None, roots: tuple[Path, ...]) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for script in scripts_written(reading):
        found.extend(_judged(Script(script.language, script.source), cwd, roots)[1])
    return tuple(found)


def _judged(script: Script, cwd: Path | None, roots: tuple[Path, ...]) -> tuple[Level, tuple[Finding, ...]]:
    unseen = fed(script)
    if unseen is not None:
        return "dangerous", (unseen,)
    if script.language == "shell":
        command = classify(script.source, cwd, roots)
        return command.level, command.findings
    verdict = judge_script(script.language, script.source, cwd, roots)
    return verdict.level, verdict.findings


def _second_net(command: str, reading: Reading, patterns: tuple[tuple[str, str], ...]) -> list[Finding]:
    texts = lines_of(command, reading)
    found = [Finding("dangerous", "hidden", why) for why in first_match(patterns, texts)]
    if any(doubt.why == NOT_BASH for doubt in reading.doubts):
        loose = first_match((*LOOSE_PATTERNS, *patterns), readings(command[:20_000]))
        found.extend(Finding("dangerous", "hidden", f"{why}, as far as it can be read") for why in loose)
    return found
