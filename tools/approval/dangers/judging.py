"""All that is dangerous in one reading of a command."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from tools.approval.dangers.app_shells import app_scripts
from tools.approval.dangers.containers import judge_containers
from tools.approval.dangers.credentials import judge_credentials, secrets_given
from tools.approval.dangers.databases import judge_databases
from tools.approval.dangers.deletion import judge_deletion
from tools.approval.dangers.devices import judge_devices, judge_permissions
from tools.approval.dangers.environment import is_about_environment, judge_environment, looks_for_harmless_names
from tools.approval.dangers.finding import Finding
from tools.approval.dangers.flows import judge_flows
from tools.approval.dangers.git import judge_git
from tools.approval.dangers.hidden import SHELLS, judge_hidden
from tools.approval.dangers.http import judge_requests
from tools.approval.dangers.inline import Script, module_run_by, scripts_of
from tools.approval.dangers.machine import judge_machine, judge_processes, judge_rights
from tools.approval.dangers.places import Scene
from tools.approval.dangers.publishing import judge_persistence, judge_publishing
from tools.approval.dangers.surroundings import judge_surroundings, judge_workplace
from tools.approval.dangers.verbs import judge_verbs
from tools.approval.dangers.words import texts
from tools.approval.dangers.writing import judge_writing
from tools.approval.harmless.proof import is_harmless
from tools.bash.doubts import UNKNOWN_SCRIPT
from tools.bash.reading import UNKNOWN, Argument, Doubt, Invocation, Reading

_FAMILIES: tuple[Callable[[Invocation, Scene], Iterator[Finding]], ...] = (
    judge_deletion,
    judge_devices,
    judge_permissions,
    judge_writing,
    judge_credentials,
    judge_environment,
    judge_machine,
    judge_processes,
    judge_hidden,
    judge_requests,
    judge_git,
    judge_publishing,
    judge_persistence,
    judge_databases,
    judge_containers,
    judge_verbs,
    judge_rights,
    judge_surroundings,
)
_FORBIDDEN_DOUBTS = {"starts itself again and again": Finding("forbidden", "fork bomb", "is a fork bomb")}
_INTO_PODS = frozenset({"kubectl", "oc", "k3s", "microk8s", "k"})
_EXEC = re.compile(r"(?:-\S+ (?:[^-\s]\S* )?)*exec(?: |$)")
_NAMED = re.compile(rf"{UNKNOWN}(?:/[\w.-]+)*/[\w-]+(?:\.[\w-]+)*")
_MAX_CHARS = 1_000
_TOO_LONG = Finding("dangerous", "hidden", "is too long or too nested to be read")
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
            found.append(_TOO_LONG)
        if not (is_about_environment(call) and _is_filtered(whole, reading)):
            found.extend(_findings_of(call, scene))
    known = {replace(one, secrets=()) for one in found}
    found.extend(one for one in judge_flows(reading, scene) if one not in known)
    is_named = all(_is_named(call) for call in reading.invocations)
    found.extend(_of_doubt(doubt) for doubt in reading.doubts if not (is_named and doubt.why == UNKNOWN_SCRIPT))
    return tuple(dict.fromkeys(found))


def _only_carrying(reading: Reading) -> tuple[Invocation, ...]:
    """The `kubectl exec`s of a command, where all that they run in pods is proven to look only."""
    from tools.approval.classifying import classify  # noqa: PLC0415 - a circle otherwise

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
    from tools.approval.classifying import classify  # noqa: PLC0415 - a circle otherwise

    if call.adds_unknown and not any(UNKNOWN in one.text for one in call.arguments):
        # With at least one of the arguments that nobody knows.
        call = replace(call, arguments=(*call.arguments, Argument(UNKNOWN, splits=True)))
    module = module_run_by(call)
    for one in (call, *([module] if module is not None else [])):
        found = [finding for judge in _FAMILIES for finding in judge(one, scene)]
        found.extend(judge_workplace(one, scene, classify))
        secrets = secrets_given(one) if found else ()
        yield from (replace(finding, secrets=secrets) for finding in found) if secrets else found


def scripts_in(reading: Reading) -> Iterator[tuple[Invocation, Script]]:
    """Every script in what a command runs, with the program that runs it."""
    for call in reading.invocations:
        for script in (*scripts_of(call), *app_scripts(call)):
            yield call, script


def fed(script: Script) -> Finding | None:
    """What follows from a script that nobody can look into."""
    return _FED if script.is_fed else None


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
