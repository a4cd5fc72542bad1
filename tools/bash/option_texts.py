"""Commands that hide in an option, an argument or a variable of another program: `tar --to-command`, `PAGER`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tools.bash.machine import Call, Handler, Machine, texts_of
from tools.bash.reading import Argument

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
    "pv": frozenset(),
    "socat": frozenset(),
    "make": frozenset({"--eval"}),
    "cmake": frozenset(),
    "tmux": frozenset(),
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
    **dict.fromkeys((name for name, options in _OPTIONS.items() if options), _options),
    "git": _git, "vim": _editor, "vi": _editor, "nvim": _editor, "ex": _editor, "view": _editor,
    "tmux": _terminal, "screen": _terminal, "at": _later, "batch": _later, "socat": _socat,
    **dict.fromkeys(("gdb", "gdb-multiarch", "rust-gdb", "lldb", "rust-lldb"), _debugger),
    "nc": _netcat, "ncat": _netcat, "netcat": _netcat,
}  # fmt: skip
RUN_TEXTS = frozenset(name for name, handler in OPTION_TEXTS.items() if handler not in {_options, _git})
"""Those whose plain arguments are commands, or text in which commands may be: editors, debuggers, terminals."""
