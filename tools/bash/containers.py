"""Programs that run a command on another machine or in a container."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from tools.bash.doubts import PARTLY_UNKNOWN_TEXT, UNKNOWN_TEXT
from tools.bash.machine import Call, Handler, Machine, texts_of
from tools.bash.peeling import peeled
from tools.bash.reading import UNKNOWN, Argument
from tools.bash.wrappers import Wrapper

_SSH = Wrapper("BbcDEeFIiJLlmOopQRSWw", operands=1)
REMOTE_SHELLS = {
    "ssh": _SSH, "autossh": _SSH, "rsh": Wrapper("l", operands=1), "mosh": Wrapper("p", operands=1),
    "sshpass": Wrapper("pfde"), "slogin": _SSH,
}  # fmt: skip
_DOCKER_GLOBAL = frozenset({
    "-H", "--host", "-c", "--context", "--config", "-l", "--log-level", "-f", "--file", "-p", "--project-name",
    "--profile", "--env-file", "--project-directory", "--tlscacert", "--tlscert", "--tlskey", "--namespace", "-n",
    "--address", "-a", "--url", "--connection", "--root", "--runroot",
})  # fmt: skip
_DOCKER_RUN = Wrapper(
    "acehlmpuvw",
    frozenset({
        "--add-host", "--attach", "--cap-add", "--cap-drop", "--cgroup-parent", "--cidfile", "--cpus",
        "--cpuset-cpus",        "--cpu-shares", "--device", "--dns", "--entrypoint", "--env", "--env-file",
        "--expose", "--gpus",
        "--group-add", "--hostname", "--ip", "--ipc", "--label", "--link", "--log-driver", "--log-opt",
        "--mac-address", "--memory", "--memory-swap", "--mount", "--name", "--net", "--network", "--network-alias",
        "--pid", "--pids-limit", "--platform", "--publish", "--pull", "--restart", "--runtime", "--security-opt",
        "--shm-size", "--stop-signal", "--stop-timeout", "--storage-opt", "--sysctl", "--tmpfs", "--ulimit", "--user",
        "--userns", "--uts", "--volume", "--volumes-from", "--workdir", "--detach-keys", "--index", "--annotation",
        "--cgroupns", "--blkio-weight", "--health-cmd", "--isolation", "--domainname",
    }),
    operands=1,
)  # fmt: skip
_DOCKER_EXEC = Wrapper(
    "euw", frozenset({"--env", "--env-file", "--user", "--workdir", "--detach-keys", "--index"}), operands=1
)
_VERBS = {"run": _DOCKER_RUN, "exec": _DOCKER_EXEC, "create": _DOCKER_RUN}
_KUBE_VERBS = frozenset({"exec", "run", "debug", "rsh"})
_KUBE_GLOBAL = frozenset({
    "-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s", "--server", "--token", "--as",
})  # fmt: skip


def _ssh(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    wrapper = REMOTE_SHELLS[call.name]
    parts = peeled(call.arguments, wrapper)
    if parts is None:
        return None
    inner = replace(call.inner(parts.rest, call.name), elsewhere=True, cwd=None)
    if call.name == "sshpass":
        return machine.invoke(replace(inner, elsewhere=call.elsewhere, cwd=call.cwd))
    for name, value in parts.values:
        if name == "-o" and (command := _local_command(value.text)):
            machine.run_text(command, replace(inner, elsewhere=call.elsewhere, cwd=call.cwd))
    if parts.rest:
        rest = (*parts.rest, Argument(UNKNOWN)) if call.adds_unknown else parts.rest
        return _remote(machine, texts_of(rest), inner)
    if call.input.kind == "text":
        return _remote(machine, call.input.text, inner)
    if call.input.kind in {"command", "unknown"} and len(parts.own) > 0:
        machine.doubt(UNKNOWN_TEXT)
    return None


def _local_command(option: str) -> str:
    found = re.match(r"(?:proxycommand|localcommand|knownhostscommand)[ =]+([\s\S]*)", option, re.IGNORECASE)
    return found[1] if found else ""


def _remote(machine: Machine, text: str, inner: Call) -> str | None:
    if UNKNOWN in text:
        machine.doubt(PARTLY_UNKNOWN_TEXT if text.replace(UNKNOWN, "").strip() else UNKNOWN_TEXT)
    machine.run_text(text, inner)
    return None


def _mussh(machine: Machine, call: Call) -> str | None:
    """Its hosts follow `-h`, however many; the command is behind `-c`."""
    machine.emit(call)
    for name, value in itertools.pairwise(call.arguments):
        if name.text == "-c":
            _remote(machine, value.text, replace(call.inner((), call.name), elsewhere=True, cwd=None))
    return None


def _docker(machine: Machine, call: Call) -> str | None:
    words = call.arguments
    place = _verb(words, _DOCKER_GLOBAL, frozenset({"container", "compose", "exec", "run", "create"}))
    while place is not None and place < len(words) and words[place].text in {"container", "compose"}:
        deeper = _verb(words[place + 1 :], _DOCKER_GLOBAL, frozenset(_VERBS))
        place = None if deeper is None else place + 1 + deeper
    parts = None if place is None else peeled(words[place + 1 :], _VERBS[words[place].text])
    if place is None or parts is None:
        machine.emit(call)
        return None
    machine.emit(replace(call, words=(call.words[0], *words[: place + 1], *parts.own)))
    rest = parts.rest
    entry = next((value for name, value in parts.values if name == "--entrypoint"), None)
    if entry is not None and entry.text:
        rest = (entry, *rest)
    if not rest:
        return None
    if rest[0].text.startswith("-") and entry is None:
        return None
    return machine.invoke(replace(call.inner(rest, call.name), elsewhere=True, cwd=None))


def _verb(words: tuple[Argument, ...], with_value: frozenset[str], verbs: frozenset[str]) -> int | None:
    place = 0
    while place < len(words):
        text = words[place].text
        if not text.startswith("-"):
            return place if text in verbs else None
        place += 2 if text in with_value else 1
    return None


def _kubectl(machine: Machine, call: Call) -> str | None:
    words = call.arguments
    place = _verb(words, _KUBE_GLOBAL, _KUBE_VERBS)
    dashes = next((at for at, word in enumerate(words) if word.text == "--"), None)
    if place is None:
        machine.emit(call)
        return None
    if dashes is None:
        dashes = _old_command(words, place)
    own = words if dashes is None else words[:dashes]
    machine.emit(replace(call, words=(call.words[0], *own)))
    if dashes is None:
        return None
    rest = words[dashes + 1 :] if words[dashes].text == "--" else words[dashes:]
    return machine.invoke(replace(call.inner(rest, call.name), elsewhere=True, cwd=None)) if rest else None


def _old_command(words: tuple[Argument, ...], place: int) -> int | None:
    """Where the command begins in `kubectl exec -it POD rm x`."""
    values = _KUBE_GLOBAL | {"-c", "--container", "-f", "--filename", "--image"}
    at = place + 1
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text in values else 1
    return at + 1 if at + 1 < len(words) and words[place].text in {"exec", "rsh"} else None


CONTAINERS: dict[str, Handler] = {
    **dict.fromkeys(REMOTE_SHELLS, _ssh), "mussh": _mussh,
    "docker": _docker, "podman": _docker, "nerdctl": _docker, "docker-compose": _docker, "podman-compose": _docker,
    "finch": _docker, "kubectl": _kubectl, "oc": _kubectl, "k3s": _kubectl, "microk8s": _kubectl, "k": _kubectl,
}  # fmt: skip
CARRYING: dict[str, frozenset[str]] = {
    **dict.fromkeys((*REMOTE_SHELLS, "mussh"), frozenset()),
    **{name: frozenset(_VERBS) for name, handler in CONTAINERS.items() if handler is _docker},
    **{name: _KUBE_VERBS for name, handler in CONTAINERS.items() if handler is _kubectl},
}
"""Each program of `CONTAINERS` with its subcommands that run something; none where all of it does."""
