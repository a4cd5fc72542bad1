"""Commands inside the arguments of programs: `xargs`, `find -exec`, containers, options that hold commands."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

from tools.approval.commands.bash.reading import PARTLY_UNKNOWN_TEXT, UNKNOWN, UNKNOWN_TEXT, Argument, Input
from tools.approval.commands.bash.state import Call, Handler, Machine, texts_of
from tools.approval.commands.bash.wrappers import CARRIERS, peeled

# Splits a text into words the way programs do that are no shells: `env -S`, `xargs`.


def split_words(text: str) -> list[str]:
    """The words of `text`, with quotes resolved where they have partners."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


# Commands that hide in an option, an argument or a variable of another program: `tar --to-command`, `PAGER`.

# Variables whose value other programs run.
_RUN_VARIABLES = frozenset({
    "PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND", "LESSOPEN",
    "LESSCLOSE",    "PROMPT_COMMAND", "BROWSER", "KUBE_EDITOR", "SUDO_EDITOR", "FCEDIT", "RSYNC_RSH",
    "TAR_OPTIONS", "RUSTC_WRAPPER",
    "PS4", "FZF_DEFAULT_COMMAND",
})  # fmt: skip
_GIT_KEYS = re.compile(
    r"(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy)|diff\.external|sequence\.editor|gpg\.program"
    r"|pager\..*|.*\.(?:textconv|command|cmd|driver|clean|smudge|process|program|helper)|credential\..*helper)",
    re.IGNORECASE,
)
_GIT_COMMANDS = re.compile(
    r"--(?:exec|tree-filter|env-filter|index-filter|msg-filter|commit-filter|parent-filter|tag-name-filter"
    r"|upload-pack|receive-pack|extcmd|open-files-in-pager)"
)
# Longer ones are not searched.
_MAX_CHARS = 2_000
_DEBUGGER_RUNS = re.compile(
    r"(?:--?[\w-]+=)?\s*(?:(?:(?:platform\s+)?shell|!|make|pipe\s+[^|]*\||\|[^|]*\|)\s*(?P<line>[\s\S]+)"
    r"|.*\b(?:system|popen|execl?p?)\s*\(\s*(?:\([^)]*\)\s*)?[\"'](?P<text>.*?)[\"'].*)"
)
_OPTIONS: dict[str, frozenset[str]] = {
    "tar": frozenset({"--to-command", "--use-compress-program", "-I", "--info-script", "-F", "--rsh-command",
                      "--new-volume-script"}),
    "rsync": frozenset({"-e", "--rsh", "--rsync-path"}),
    "scp": frozenset({"-S"}),
    "sftp": frozenset({"-S"}),
    "sort": frozenset({"--compress-program"}),
    "split": frozenset({"--filter"}),
    "zip": frozenset({"-TT", "--unzip-command"}),
    "man": frozenset({"-P", "--pager"}),
    "wget": frozenset({"--use-askpass"}),
    "tcpdump": frozenset({"-z"}),
    "rg": frozenset({"--pre", "--hostname-bin"}),
    "fzf": frozenset({"--preview", "--bind"}),
    "make": frozenset({"--eval"}),
}  # fmt: skip


def read_variables(machine: Machine, call: Call) -> None:
    """Read those variables before a command that are commands themselves."""
    for name, value in call.assignments:
        if name in _RUN_VARIABLES and value.text and re.search(r"[\s;|&$`/]", value.text):
            machine.run_text(value.text, replace(call.inner((), name), assignments=()))


def _options(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    for text in _values(call.arguments, _OPTIONS[call.name]):
        machine.run_text(text, call.inner((), call.name))
    if call.name == "tar":
        for word in call.arguments:
            if found := re.match(r"--checkpoint-action=exec=([\s\S]*)", word.text):
                machine.run_text(found[1], call.inner((), call.name))
    return None


def _values(words: tuple[Argument, ...], options: frozenset[str]) -> Iterator[str]:
    for place, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        if name in options and equals:
            yield value
        elif word.text in options and place + 1 < len(words):
            yield words[place + 1].text


def _git(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    inner = call.inner((), "git")
    words = call.arguments
    for place, word in enumerate(words):
        follows = words[place + 1 :]
        setting = follows[0].text if word.text in {"-c", "--config"} and follows else ""
        if word.text.startswith("--config-env"):
            continue
        key, _, value = setting.partition("=")
        if key.lower().startswith("alias.") and value.startswith("!"):
            machine.run_text(value[1:], inner)
        elif value and _GIT_KEYS.fullmatch(key):
            machine.run_text(value.removeprefix("!"), inner)
        name, equals, text = word.text.partition("=")
        if _GIT_COMMANDS.fullmatch(name):
            machine.run_text(text if equals else texts_of(follows[:1]), inner)
    _git_verbs(machine, words, inner)
    return None


def _git_verbs(machine: Machine, words: tuple[Argument, ...], inner: Call) -> None:
    texts = [word.text for word in words]
    if "rebase" in texts and "-x" in texts[:-1]:
        machine.run_text(texts[texts.index("-x") + 1], inner)
    for verb, action in (("bisect", "run"), ("submodule", "foreach")):
        if verb in texts and action in texts[texts.index(verb) :]:
            rest = words[texts.index(action) + 1 :]
            rest = tuple(word for word in rest if word.text not in {"--recursive", "--quiet"})
            if rest and action == "run":
                machine.invoke(replace(inner, words=rest))
            elif rest:
                machine.run_text(texts_of(rest), inner)
    if texts[:1] == ["config"] and len(texts) > 2 and texts[-1].startswith("!"):  # noqa: PLR2004 - key and value
        machine.run_text(texts[-1][1:], inner)


def _editor(machine: Machine, call: Call) -> str | None:
    """`vim -c ':!rm x'`."""
    machine.emit(call)
    for word in call.arguments:
        found = re.search(r"(?:^\+?:?|[|\s:])(?:silent!?\s+)?!\s*([\s\S]+)|system\(['\"](.*)['\"]\)", word.text)
        if found:
            machine.run_text(found[1] or found[2], call.inner((), call.name))
    return None


def _terminal(machine: Machine, call: Call) -> str | None:
    """`tmux new-session 'rm x'`, `screen -dm rm x`, `tmux send-keys 'rm x' Enter`."""
    machine.emit(call)
    inner = call.inner((), call.name)
    texts = [word.text for word in call.arguments]
    if call.name == "screen":
        rest = tuple(word for word in call.arguments if not word.text.startswith("-"))
        if "-X" not in texts:
            for start in range(min(2, len(rest))):
                machine.run_text(texts_of(rest[start:]), inner)
        return None
    for text in texts:
        if re.search(r"\s", text.strip()) or text.startswith("/"):
            machine.run_text(text, inner)
    verbs = {"new-session", "new", "new-window", "neww", "split-window", "splitw", "respawn-pane", "run-shell", "run"}
    if texts and texts[0] in verbs | {"send-keys", "send"}:
        rest = tuple(word for word in call.arguments[1:] if not word.text.startswith("-"))
        for start in range(min(3, len(rest))):
            machine.run_text(texts_of(rest[start:]), inner)
    return None


def _later(machine: Machine, call: Call) -> str | None:
    """`at`, `batch`: the input is run later."""
    machine.emit(call)
    if call.input.kind == "text":
        machine.run_text(call.input.text, replace(call.inner((), call.name), background=True))
    return None


def _socat(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    for word in call.arguments:
        if found := re.match(r"(?:EXEC|SYSTEM|SHELL):([^,]+)", word.text, re.IGNORECASE):
            machine.run_text(found[1].strip("'\""), call.inner((), call.name))
    return None


def _netcat(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    for text in _values(call.arguments, frozenset({"-e", "-c", "--exec", "--sh-exec"})):
        machine.run_text(text, call.inner((), call.name))
    return None


def _debugger(machine: Machine, call: Call) -> str | None:
    """`gdb -ex 'shell rm x'`, `lldb -o 'platform shell rm x'`, `gdb --args rm x`."""
    words = call.arguments
    cut = next((place for place, word in enumerate(words) if word.text in {"--args", "-args", "--"}), len(words))
    machine.emit(replace(call, words=(call.words[0], *words[:cut])))
    texts = [word.text for word in words[:cut]]
    if call.input.kind == "text":
        texts.extend(call.input.text.splitlines())
    for text in texts:
        if found := _DEBUGGER_RUNS.fullmatch(text[:_MAX_CHARS]):
            machine.run_text(found["line"] or found["text"], call.inner((), call.name))
    return machine.invoke(call.inner(words[cut + 1 :], call.name)) if words[cut + 1 :] else None


OPTION_TEXTS: dict[str, Handler] = {
    **dict.fromkeys(_OPTIONS, _options),
    "git": _git, "vim": _editor, "vi": _editor, "nvim": _editor, "ex": _editor, "view": _editor,
    "tmux": _terminal, "screen": _terminal, "at": _later, "batch": _later, "socat": _socat,
    **dict.fromkeys(("gdb", "gdb-multiarch", "rust-gdb", "lldb", "rust-lldb"), _debugger),
    "nc": _netcat, "ncat": _netcat, "netcat": _netcat,
}  # fmt: skip
RUN_TEXTS = frozenset(name for name, handler in OPTION_TEXTS.items() if handler not in {_options, _git})
"""Those whose plain arguments are commands, or text in which commands may be: editors, debuggers, terminals."""


# Programs that run a command on another machine or in a container.

_REMOTE_SHELLS = ("ssh", "autossh", "slogin", "rsh", "mosh", "sshpass")
_DOCKER_GLOBAL = frozenset({
    "-H", "--host", "-c", "--context", "--config", "-l", "--log-level", "-f", "--file", "-p", "--project-name",
    "--profile", "--env-file", "--project-directory", "--tlscacert", "--tlscert", "--tlskey", "--namespace", "-n",
    "--address", "-a", "--url", "--connection", "--root", "--runroot",
})  # fmt: skip
_VERBS = {"run": "docker-run", "exec": "docker-exec", "create": "docker-run"}
_KUBE_VERBS = frozenset({"exec", "run", "debug", "rsh"})
_KUBE_GLOBAL = frozenset({
    "-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s", "--server", "--token", "--as",
})  # fmt: skip


def _ssh(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    parts = peeled(call.arguments, CARRIERS[call.name])
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
    parts = None if place is None else peeled(words[place + 1 :], CARRIERS[_VERBS[words[place].text]])
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
    **dict.fromkeys(_REMOTE_SHELLS, _ssh), "mussh": _mussh,
    "docker": _docker, "podman": _docker, "nerdctl": _docker, "docker-compose": _docker, "podman-compose": _docker,
    "finch": _docker, "kubectl": _kubectl, "oc": _kubectl, "k3s": _kubectl, "microk8s": _kubectl, "k": _kubectl,
}  # fmt: skip
CARRYING: dict[str, frozenset[str]] = {
    **dict.fromkeys((*_REMOTE_SHELLS, "mussh"), frozenset()),
    **{name: frozenset(_VERBS) for name, handler in CONTAINERS.items() if handler is _docker},
    **{name: _KUBE_VERBS for name, handler in CONTAINERS.items() if handler is _kubectl},
}
"""Each program of `CONTAINERS` with its subcommands that run something; none where all of it does."""


# Programs that run another one for each thing they find: `xargs`, `find -exec`, `fd -x`, `parallel`.

_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
# Behind letters that take no value, and with the program in the same word: `-Hx rm`, `-xrm`, `--exec=rm`.
_FD_RUNS = re.compile(r"--exec(?:-batch)?(?:=(.*))?|-[^-xXdteESocj]*[xX]=?(.*)", re.DOTALL)
_MAX_GIVEN = 64
_PLACE = re.compile(r"\{[/.]*\}")


def _xargs(machine: Machine, call: Call) -> str | None:
    parts = peeled(call.arguments, CARRIERS["xargs"])
    if parts is None or not parts.rest:
        machine.emit(replace(call, adds_unknown=True))
        return None
    place = _placeholder(parts.values)
    is_other = any(name in {"-a", "--arg-file", "-d", "--delimiter"} for name, _ in parts.values)
    given = None if is_other else _given(call)
    # Its own input is none; whose words they are is still of interest.
    inner = call.inner(parts.rest, call.name, own=parts.own)
    inner = replace(inner, input=Input("text", "", call.input.source))
    if parts.is_unsure:
        machine.invoke(replace(inner, words=parts.rest[1:] or parts.rest, adds_unknown=True))
    if place:
        _replaced(machine, inner, place, given)
        return None
    if given is None:
        return machine.invoke(replace(inner, adds_unknown=True))
    return machine.invoke(replace(inner, words=(*parts.rest, *map(Argument, given))))


def _placeholder(values: tuple[tuple[str, Argument], ...]) -> str:
    for name, value in values:
        if name in {"-I", "-J"}:
            return value.text or "{}"
        if name in {"-i", "--replace"}:
            return value.text or "{}"
    return ""


def _given(call: Call) -> list[str] | None:
    """The words that come as input, where they are known and few."""
    if call.input.kind != "text" or UNKNOWN in call.input.text:
        return None
    words = split_words(call.input.text.replace("\0", "\n"))
    return words if len(words) <= _MAX_GIVEN else None


def _replaced(machine: Machine, inner: Call, place: str, given: list[str] | None) -> None:
    lines = [UNKNOWN] if given is None else inner_lines(given)
    for line in lines:
        words = tuple(_with(word, place, line) for word in inner.words)
        machine.invoke(replace(inner, words=words))


def inner_lines(given: list[str]) -> list[str]:
    """What `xargs -I` puts in: each word, and all of them where they came on one line."""
    return list(dict.fromkeys([" ".join(given), *given]))[:8]


def _with(word: Argument, place: str, text: str) -> Argument:
    return replace(word, text=word.text.replace(place, text)) if place in word.text else word


def _find(machine: Machine, call: Call) -> str | None:
    """The commands of `-exec` are taken off; the other actions stay."""
    own: list[Argument] = []
    commands: list[tuple[str, tuple[Argument, ...]]] = []
    words = list(call.arguments)
    place = 0
    while place < len(words):
        if words[place].text not in _FIND_RUNS:
            own.append(words[place])
            place += 1
            continue
        start = place = place + 1
        while place < len(words) and words[place].text != ";":
            if words[place].text == "+" and ("{}" in words[place - 1].text or UNKNOWN in words[place - 1].text):
                break
            place += 1
        commands.append((words[start - 1].text, tuple(words[start:place])))
        place += 1
    machine.emit(replace(call, words=(call.words[0], *own)))
    for run, command in commands:
        _for_each(machine, call, command, _found(own, run))
    return None


def _for_each(machine: Machine, call: Call, command: tuple[Argument, ...], found: str) -> None:
    if not command:
        return
    words = tuple(replace(word, text=_PLACE.sub(found.replace("\\", "\\\\"), word.text)) for word in command)
    if _PLACE.search(command[0].text):
        # It runs what it finds.
        words = (Argument(UNKNOWN), *words[1:])
    adds = any(_PLACE.fullmatch(word.text) for word in command[1:])
    machine.invoke(replace(call.inner(words, call.name), adds_unknown=adds))


def _found(own: list[Argument], run: str) -> str:
    """What stands for a path that `find` comes upon: as far as is known where it begins."""
    starts = list(itertools.takewhile(lambda word: word.text[:1] not in {"-", "(", "!"}, own))
    if run.endswith("dir") or not starts:
        return "./" + UNKNOWN
    if len(starts) > 1 or not starts[0].is_known:
        return UNKNOWN
    return starts[0].text.rstrip("/") + "/" + UNKNOWN


def _fd(machine: Machine, call: Call) -> str | None:
    own: list[Argument] = []
    commands: list[tuple[Argument, ...]] = []
    words = iter(call.arguments)
    for word in words:
        run = _FD_RUNS.fullmatch(word.text)
        if run is None:
            own.append(word)
            continue
        attached = run[1] or run[2]
        first = (replace(word, text=attached),) if attached else ()
        commands.append((*first, *itertools.takewhile(lambda word: word.text != ";", words)))
    machine.emit(replace(call, words=(call.words[0], *own)))
    for command in commands:
        is_placed = any(_PLACE.search(word.text) for word in command)
        _for_each(machine, call, command if is_placed or not command else (*command, Argument("{}")), "./" + UNKNOWN)
    return None


def _parallel(machine: Machine, call: Call) -> str | None:
    parts = peeled(call.arguments, CARRIERS["parallel"])
    rest = parts.rest if parts else ()
    cut = next((place for place, word in enumerate(rest) if re.fullmatch(r":::\+?|::::\+?", word.text)), len(rest))
    command, values = rest[:cut], rest[cut + 1 :]
    inner = replace(call.inner((), call.name), adds_unknown=not values, input=Input("unknown"))
    if not command:
        if values:
            for value in values[:_MAX_GIVEN]:
                machine.run_text(value.text, inner)
            return None
        return machine.invoke(replace(call, words=(Argument("sh"),)))
    template = texts_of(command)
    is_file = cut < len(rest) and rest[cut].text.startswith("::::")
    texts = [UNKNOWN] if is_file or not values else [value.text for value in values[:8]]
    for text in texts:
        script = _PLACE.sub(text.replace("\\", "\\\\"), template)
        machine.run_text(script if script != template else f"{template} {text}", inner)
    return None


SPREADING: dict[str, Handler] = {
    "xargs": _xargs, "gxargs": _xargs, "find": _find, "gfind": _find, "bfs": _find, "fd": _fd, "fdfind": _fd,
    "parallel": _parallel,
}  # fmt: skip
