"""Containers that get more of the machine than they need, and what is taken away of them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from tools.approval.dangers.finding import Finding
from tools.approval.dangers.places import Scene, full_path, place_of
from tools.approval.dangers.words import Words, shown, sort_words, texts
from tools.bash.reading import Argument, Invocation

_ENGINES = frozenset(
    {"docker", "podman", "nerdctl", "lxc", "ctr", "crictl", "incus", "apptainer", "singularity", "buildah"}
)
_RUNS = frozenset({"run", "exec"})
_WITH_NAMESPACES = frozenset({"nerdctl", "ctr", "crictl"})
# The options whose value may be the next argument, as `sort_words` takes them.
_PLACING = ("ftco", ("--output", "--file", "--tag"))
_MOUNTING = ("vewupl", ("--volume", "--mount", "--env", "--name", "--workdir", "--user", "--bind", "-B"))
_LONG = (
    "--file", "--host", "--context", "--project-name", "--profile", "--env-file", "--filter", "--format",
    "--name", "--volume-driver", "--mount", "--namespace", "--env", "--workdir", "--user", "--log-level",
    "--project-directory", "--network",
)  # fmt: skip
_PRIVILEGES = re.compile(
    r"--privileged(?:=true)?|--cap-add\S*|--device\S*|--security-opt\S*|--(?:pid|ipc|uts|userns"
    r"|cgroupns)=host"
)
_HOST = re.compile(r"--(?:pid|ipc|uts|userns|cgroupns)")
_SHOWN = frozenset({
    "swarm", "node", "service", "stack", "secret", "plugin", "checkpoint", "artifact", "play", "kube", "ps",
    "images", "logs", "inspect", "version", "info", "stats", "top", "port", "diff", "events", "search",
    "history", "ls", "list", "build", "pull", "compose", "buildx", "context", "config", "login", "tag", "up",
    "help", "wait", "df", "--version", "start", "attach", "create", "run", "exec", "-v", "network", "volume",
    "container", "image", "system", "manifest", "builder", "load", "save", "import", "export", "unpause",
    "pause", "rename", "show", "bake", "watch", "convert", "stop", "restart", "use", "inspect-image", "trust",
    "scout", "init", "machine", "connect", "pod", "generate", "imagetools", "du", "down",
})  # fmt: skip
_REMOVES = re.compile(
    r"rm|rmi|remove|prune|kill|destroy|delete|purge|leave|disconnect|reset|uninstall|revoke|forget|down|untag"
    r"|terminate"
)


def judge_containers(call: Invocation, scene: Scene) -> Iterator[Finding]:
    """What `call` gives to a container, or takes away."""
    program = call.program.casefold()
    given = texts(call.arguments)
    if program not in _ENGINES and program not in {"docker-compose", "podman-compose"}:
        return
    yield from _mounts(call, scene)
    shared = [first for first, second in itertools.pairwise(given) if second == "host" and _HOST.fullmatch(first)]
    if shared or any(_PRIVILEGES.fullmatch(text) for text in given):
        yield Finding("dangerous", "containers", "gives a container rights over this machine", outside=True)
    yield from _placed(call, scene)
    yield from _taken_away(program, call)


def _placed(call: Invocation, scene: Scene) -> Iterator[Finding]:
    """What is put into a container or onto this machine, and which engine the next command talks to."""
    words = sort_words(call.arguments, *_PLACING)
    plain = words.plain[1:] if words.plain[:1] in (("container",), ("compose",), ("buildx",)) else words.plain
    if plain[:1] == ("cp",) and len(plain) > 2:  # noqa: PLR2004 - cp, from where, to where
        name, _, path = plain[-1].partition(":")
        if not name.startswith((".", "/")) and re.match(r"/(?:etc|usr|bin|sbin|lib|root|boot|var/spool)\b", path):
            yield Finding("dangerous", "containers", "changes the system of a container", outside=True)
    elif plain[:2] == ("context", "use"):
        yield Finding("dangerous", "containers", "turns to another engine of containers", outside=True)
    elif plain[:1] in (("build",), ("bake",)):
        for value in words.values("-o", "--output"):
            target = re.search(r"dest=([^,]*)", value.text)
            place = place_of(Argument(target[1] if target else value.text), call.cwd, scene)
            if place.kind not in {"inside", "temporary", "nothing"}:
                yield Finding("dangerous", "containers", f"writes {place.shown} of this machine", outside=True)


def _mounts(call: Invocation, scene: Scene) -> Iterator[Finding]:
    words = sort_words(call.arguments, *_MOUNTING)
    for value in (*words.values("-v", "--volume", "--bind", "-B"), *_bound(words.values("--mount"))):
        source, is_mounted, _ = value.text.partition(":")
        if not is_mounted or not source.startswith(("/", "~", ".")):
            continue
        path = full_path(source, call.cwd)
        if path.endswith(("docker.sock", "podman.sock", "containerd.sock", "crio.sock")):
            yield Finding(
                "dangerous", "containers", "gives a container the engine that runs all of them", outside=True
            )
            return
        place = place_of(Argument(source), call.cwd, scene)
        is_read_only = re.search(r":(?:\w+,)*ro\b", value.text) is not None
        if place.kind in {"inside", "temporary", "nothing"} or (is_read_only and place.kind == "outside"):
            continue
        yield Finding("dangerous", "containers", f"gives a container {shown(path)} of this machine", outside=True)
        return


def _bound(mounts: tuple[Argument, ...]) -> Iterator[Argument]:
    for mount in mounts:
        if source := re.search(r"(?:source|src)=([^,]*)", mount.text):
            yield Argument(f"{source[1]}:mounted" + ":ro" * bool(re.search(r"readonly|,ro", mount.text)))


def _taken_away(program: str, call: Invocation) -> Iterator[Finding]:
    words = sort_words(call.arguments, "fHcpewlun" if program in _WITH_NAMESPACES else "fHcpewlu", _LONG)
    is_compose = program.endswith("-compose") or words.plain[:1] == ("compose",)
    if words.plain[:1] == ("stop",) and not is_compose:
        yield Finding("dangerous", "services", "stops containers", outside=True)
    elif (
        words.plain[:1] == ("push",)
        or words.plain[:2] in (("image", "push"), ("compose", "push"), ("manifest", "push"))
        or "--push" in texts(call.arguments)
    ):
        yield Finding("dangerous", "publishing", "publishes an image", outside=True)
    yield from _removed(words, is_compose=is_compose)


def _removed(words: Words, *, is_compose: bool) -> Iterator[Finding]:
    for text in words.plain[:3]:
        if text in _RUNS:
            return
        if not _REMOVES.fullmatch(text):
            if text in _SHOWN:
                continue
            return
        if is_compose and text == "down":
            if words.has("-v", "--volumes", "--rmi"):
                yield Finding("dangerous", "infrastructure", "deletes containers with their volumes", outside=True)
            return
        why = "ends containers" if text == "kill" else "deletes containers, images or volumes"
        yield Finding("dangerous", "infrastructure", why, outside=True)
        return
