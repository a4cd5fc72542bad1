"""How far a command reaches: what it was read as, joined with what each part of it does.

With all families of dangers it takes a tenth of a second to load, so nothing that a start needs imports it.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from tools.approval.commands.bash.interpreter import read_command
from tools.approval.commands.bash.reading import (
    UNKNOWN,
    UNKNOWN_SCRIPT,
    UNKNOWN_TEXT,
    Argument,
    Doubt,
    Invocation,
    Reading,
)
from tools.approval.commands.classes import (
    DANGEROUS_PATTERNS,
    SOMEWHERE,
    WORST_FIRST,
    CommandClass,
    Finding,
    Level,
)
from tools.approval.commands.dangers.calls import (
    SHELLS,
    is_known_hook,
    judge_containers,
    judge_databases,
    judge_git,
    judge_hidden,
    judge_processes,
    judge_rights,
    judge_table,
    judge_text,
    judge_workplace,
    kills_only_its_own,
)
from tools.approval.commands.dangers.credentials import (
    is_about_environment,
    judge_credentials,
    judge_environment,
    looks_for_harmless_names,
    secrets_given,
)
from tools.approval.commands.dangers.deletion import judge_deletion, judge_devices, judge_permissions
from tools.approval.commands.dangers.pipelines import judge_flows, scripts_written
from tools.approval.commands.dangers.remote import judge_requests, judge_verbs
from tools.approval.commands.dangers.scene import Scene, texts
from tools.approval.commands.dangers.writing import judge_writing
from tools.approval.commands.harmless import is_harmless
from tools.approval.commands.scripts.awk_sed import judge_awk, judge_sed
from tools.approval.commands.scripts.effects import (
    HIDDEN,
    TOO_MUCH,
    Effects,
    ScriptVerdict,
    verdict_of,
)
from tools.approval.commands.scripts.inline import (
    Script,
    app_scripts,
    commands_called,
    is_sql_client,
    language_of,
    module_run_by,
    scripts_of,
)

# The texts that patterns are searched in: the whole command, and a line for each program.


def lines_of(command: str, reading: Reading) -> tuple[str, ...]:
    """The texts to search for patterns in a command that was read: the whole, and a line for each program."""
    lines = (
        " ".join((call.program, *(one.text for one in call.arguments)))
        for call in reading.invocations
        if call.program
    )
    return (_not_at_start(command), *dict.fromkeys(" ".join(line.split("\n")) for line in lines))


def first_match(patterns: Iterable[tuple[str, str]], texts: Iterable[str]) -> tuple[str, ...]:
    """The description of the first pattern that is found in any of the texts; none where none is."""
    given = tuple(texts)
    for pattern, why in patterns:
        if any(_compiled(pattern).search(text) for text in given):
            return (why,)
    return ()


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def _not_at_start(text: str) -> str:
    return "\n".join(f"; {line}" for line in text.split("\n"))


# What is dangerous in one reading.

_FAMILIES: tuple[Callable[[Invocation, Scene], Iterator[Finding]], ...] = (
    judge_deletion,
    judge_devices,
    judge_permissions,
    judge_writing,
    judge_credentials,
    judge_environment,
    judge_processes,
    judge_hidden,
    judge_requests,
    judge_git,
    judge_table,
    judge_databases,
    judge_containers,
    judge_verbs,
    judge_rights,
)
_FORBIDDEN_DOUBTS = {"starts itself again and again": Finding("forbidden", "fork bomb", "is a fork bomb")}
_INTO_PODS = frozenset({"kubectl", "oc", "k3s", "microk8s", "k"})
_EXEC = re.compile(r"(?:-\S+ (?:[^-\s]\S* )?)*exec(?: |$)")
_NAMED = re.compile(rf"{UNKNOWN}(?:/[\w.-]+)*/[\w-]+(?:\.[\w-]+)*")
_MAX_CHARS = 1_000
_UNREADABLE = Finding("dangerous", "hidden", "is too long or too nested to be read")
_FED = Finding("dangerous", "inline script", "feeds text to an interpreter")


def findings_in(reading: Reading, scene: Scene) -> tuple[Finding, ...]:
    """What is dangerous or forbidden in what a command runs; scripts inside it are left out."""
    found: list[Finding] = []
    carriers = _only_carrying(reading)
    for whole in reading.invocations:
        if whole in carriers:
            continue
        call = _shortened(whole)
        if call is not whole and any(".." in one.text for one in whole.arguments if "\n" not in one.text):
            found.append(_UNREADABLE)
        if not (is_about_environment(call) and _is_filtered(whole, reading)):
            found.extend(_findings_of(call, scene))
    known = {replace(one, secrets=()) for one in found}
    found.extend(one for one in judge_flows(reading, scene) if one not in known)
    is_named = all(_is_named(call) for call in reading.invocations)
    found.extend(_of_doubt(doubt) for doubt in reading.doubts if not (is_named and doubt.why == UNKNOWN_SCRIPT))
    return tuple(dict.fromkeys(found))


def _only_carrying(reading: Reading) -> tuple[Invocation, ...]:
    """The `kubectl exec`s of a command, where all that they run in pods is proven to look only."""
    carriers = tuple(
        call for call in reading.invocations
        if call.program in _INTO_PODS and _EXEC.match(" ".join(texts(call.arguments)))
    )  # fmt: skip
    inside = [call for call in reading.invocations if _INTO_PODS.intersection(call.via)]
    # Wherever a pod starts: what holds secrets there are the paths that say so.
    harmless = all(
        is_harmless(replace(call, elsewhere=False, via=(), wrapped=(), cwd=call.cwd or "/workdir"), classify)
        for call in inside
    )
    return carriers if inside and harmless and len(inside) >= len(carriers) else ()


def _shortened(call: Invocation) -> Invocation:
    """With arguments that expressions can be searched in, whoever made them up."""
    if all(len(one.text) <= _MAX_CHARS for one in call.arguments):
        return call
    return replace(call, arguments=tuple(replace(one, text=one.text[:_MAX_CHARS]) for one in call.arguments))


def _findings_of(call: Invocation, scene: Scene) -> Iterator[Finding]:
    if call.adds_unknown and not any(UNKNOWN in one.text for one in call.arguments):
        # With at least one of the arguments that nobody knows.
        call = replace(call, arguments=(*call.arguments, Argument(UNKNOWN, splits=True)))
    module = module_run_by(call)
    for one in (call, *([module] if module is not None else [])):
        found = [finding for judge in _FAMILIES for finding in judge(one, scene)]
        found.extend(judge_workplace(one, scene, classify))
        secrets = secrets_given(one) if found else ()
        yield from (replace(finding, secrets=secrets) for finding in found) if secrets else found


def _is_filtered(call: Invocation, reading: Reading) -> bool:
    """Whether what `call` prints goes through something that lets only harmless parts of it pass."""
    return any(looks_for_harmless_names(other) and other.input.source == call for other in reading.invocations)


def _is_named(call: Invocation) -> bool:
    """Whether a script that is run has at least a name, in whatever directory: `. "$NVM_DIR/nvm.sh"`."""
    if call.program not in {"source", "."} and not SHELLS.fullmatch(call.program):
        return True
    scripts = [one.text for one in call.arguments if not one.text.startswith("-")]
    return all(UNKNOWN not in script or _NAMED.fullmatch(script) for script in scripts[:1])


def _of_doubt(doubt: Doubt) -> Finding:
    if doubt.why in _FORBIDDEN_DOUBTS:
        return _FORBIDDEN_DOUBTS[doubt.why]
    return Finding("dangerous", "hidden", doubt.why)


# What a script inside it would do.

_Judge = Callable[[str, Effects], ScriptVerdict]
_ONLY_UNKNOWN = re.compile(rf"[\s;{UNKNOWN}]*{UNKNOWN}[\s;{UNKNOWN}]*")

_CALLED = {"javascript": "JavaScript", "php": "PHP", "powershell": "PowerShell", "applescript": "AppleScript"}


def judge_script(language: str, source: str, cwd: Path | None = None, roots: tuple[Path, ...] = ()) -> ScriptVerdict:
    """How far a script reaches. Never raises.

    Args:
        language: its name, or that of the program that runs it: `python`, `python3.12`, `node`, `awk`, `psql` …
        source: the script, `UNKNOWN` in it where only the shell knows what stands there.
        cwd: where it runs; None: unknown.
        roots: what the session may change.

    Returns:
        safe: proven to compute, print and read ordinary files; ordinary: nothing dangerous shows, so that the sandbox
        contains it; dangerous, forbidden: what was found, and languages that nobody here can read.
    """
    program = language.rpartition("/")[2]
    judge = _judge_of("sql" if is_sql_client(program) else language_of(program) or program.casefold())
    if not source.strip():
        return ScriptVerdict("safe")
    if _ONLY_UNKNOWN.fullmatch(source):
        return verdict_of([HIDDEN])
    try:
        return judge(source, Effects(classify, cwd, roots))
    except RecursionError:
        return verdict_of([TOO_MUCH])


def _judge_of(name: str) -> _Judge:
    """Who reads the language. Most commands hold no script: what nothing else needs is loaded with the first one."""
    match name:
        case "python":
            from tools.approval.commands.scripts.python_reader import judge_python  # noqa: PLC0415

            return judge_python
        case "awk":
            return judge_awk
        case "sed":
            return judge_sed
        case "sql":
            from tools.approval.commands.scripts.sql import judge_sql  # noqa: PLC0415

            return judge_sql
    return lambda source, effects: _judge_unread(name, source, effects)


def _judge_unread(name: str, source: str, effects: Effects) -> ScriptVerdict:
    """A script in another language asks, whatever it does; the commands that it plainly runs are named."""
    called = f"{'an' if name == 'r' or name[0] in 'aeio' else 'a'} {_CALLED.get(name, name.capitalize())}"
    effects.add(Finding("dangerous", "inline script", f"runs {called} script that is not read"))
    for command in commands_called(source):
        effects.runs(command)
    return effects.verdict


# The judgement.


def classify(command: str, cwd: Path | None = None, roots: tuple[Path, ...] = ()) -> CommandClass:
    """As `classify_command`, which loads this module: the class of `command`, by what it is and where it runs."""
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
        scripts = [script for call in reading.invocations for script in (*scripts_of(call), *app_scripts(call))]
        verdicts = [_judged(script, cwd, roots) for script in scripts]
    except RecursionError:
        return _class_of([_UNREADABLE])
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
        found.extend(_judged(script, cwd, roots)[1])
    return tuple(found)


def _judged(script: Script, cwd: Path | None, roots: tuple[Path, ...]) -> tuple[Level, tuple[Finding, ...]]:
    if script.is_fed:
        return "dangerous", (_FED,)
    if script.language == "shell":
        command = classify(script.source, cwd, roots)
        return command.level, command.findings
    verdict = judge_script(script.language, script.source, cwd, roots)
    return verdict.level, verdict.findings


def _second_net(command: str, reading: Reading, patterns: tuple[tuple[str, str], ...]) -> list[Finding]:
    return [Finding("dangerous", "hidden", why) for why in first_match(patterns, lines_of(command, reading))]
