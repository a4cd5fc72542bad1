"""Shells that are given a script: as an argument, as their input, or as a file that is none."""

from __future__ import annotations

from dataclasses import replace

from tools.bash.doubts import OTHER_SHELL, PARTLY_UNKNOWN_TEXT, UNKNOWN_SCRIPT, UNKNOWN_TEXT
from tools.bash.machine import Call, Machine
from tools.bash.reading import UNKNOWN, Argument, Input

SHELLS = frozenset({
    "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "pdksh", "ash", "fish", "rbash", "yash", "rzsh", "posh",
    "git-shell", "su", "runuser", "csh", "tcsh",
})  # fmt: skip
OTHER_SHELLS = frozenset({
    "powershell", "pwsh", "cmd", "nu", "xonsh", "elvish", "osh", "ysh", "rc", "es", "ion", "murex",
})  # fmt: skip
_WITH_VALUE = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
_USERS = frozenset({"su", "runuser"})
_USER_VALUES = frozenset({
    "-s", "--shell", "-g", "--group", "-G", "--supp-group", "-w", "--whitelist-environment", "-u", "--user", "-C",
})  # fmt: skip
_OTHER_TEXT = frozenset({"-c", "/c", "/k", "-command", "-encodedcommand", "-e", "-ec", "-enc", "--commands"})
_TELL_NAMES = frozenset({
    "find", "fd", "fdfind", "ls", "git", "rg", "grep", "egrep", "cat", "head", "tail", "sort", "uniq", "sed", "awk",
    "cut", "tr", "seq", "echo", "printf", "jq", "wc", "basename", "dirname", "tree",
})  # fmt: skip
_MAX_PIPE = 8
_INPUT_PATHS = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-")


def run_shell(machine: Machine, call: Call) -> str | None:
    """Read the script that a shell is given."""
    if call.name in OTHER_SHELLS:
        _other(machine, call)
        return None
    is_user = call.name in _USERS
    script, operands, is_checking = _options(call, _USER_VALUES if is_user else _WITH_VALUE, is_user=is_user)
    if is_checking:
        machine.emit(call)
        return None
    if is_user and script is None:
        return _as_user(machine, call, operands)
    if script is not None:
        return _text(machine, call, script, operands)
    if call.adds_unknown and not operands:
        machine.emit(call)
        machine.doubt(UNKNOWN_TEXT)
        return None
    if operands and operands[0].text not in _INPUT_PATHS and not _reads_input(call):
        return _file(machine, call, operands[0])
    return run_input(machine, call)


def run_input(machine: Machine, call: Call) -> str | None:
    """Read what comes as input as a script."""
    given = call.input
    if given.kind == "text" and not given.text.replace(UNKNOWN, "").strip() and given.text.strip():
        machine.emit(call)
        machine.doubt(UNKNOWN_TEXT)
        return None
    if given.kind == "text" and given.text.strip():
        inner = replace(call.inner((), call.name), input=Input("text", ""))
        return _read(machine, given.text, inner)
    machine.emit(call)
    if given.kind in {"command", "unknown"}:
        machine.doubt(UNKNOWN_TEXT)
    return None


def _read(machine: Machine, text: str, inner: Call, positional: tuple[str, ...] | None = ()) -> str | None:
    if UNKNOWN in text and not _is_filled_in_here(inner):
        machine.doubt(PARTLY_UNKNOWN_TEXT)
    return machine.run_text(text, inner, positional=positional)


def _is_filled_in_here(inner: Call) -> bool:
    """Whether what is not known are names of files or lines of one, as for a script that is in a file."""
    wrapper = inner.via[-2] if len(inner.via) > 1 else ""
    if wrapper in {"find", "fd", "fdfind", "bfs"}:
        return True
    source, steps = inner.input.source, 0
    while source is not None and source.program in _TELL_NAMES and steps < _MAX_PIPE:
        source, steps = source.input.source, steps + 1
    return wrapper == "xargs" and source is None


def _text(machine: Machine, call: Call, script: Argument, operands: tuple[Argument, ...]) -> str | None:
    inner = call.inner((), call.name)
    if not script.text.replace(UNKNOWN, "").strip() or script.expands:
        machine.emit(call)
        if script.text.strip():
            machine.doubt(UNKNOWN_TEXT)
        return None
    is_known = not call.adds_unknown and not any(word.splits for word in operands)
    positional = tuple(word.text for word in operands[1:]) if is_known else None
    if operands:
        inner = replace(inner, assignments=(*inner.assignments, ("0", operands[0])))
    return _read(machine, script.text, replace(inner, adds_unknown=False), positional)


def _file(machine: Machine, call: Call, script: Argument) -> str | None:
    connected = machine.connected(script.text)
    if connected is not None:
        printed, program = connected
        given = Input("text", printed, program) if printed is not None else Input("command", source=program)
        return run_input(machine, replace(call, words=call.words[:1], input=given))
    machine.emit(call)
    if not script.is_known:
        machine.doubt(UNKNOWN_SCRIPT)
    return None


def _reads_input(call: Call) -> bool:
    return any(_is_letters(word.text) and "s" in word.text for word in call.arguments[:1])


def _as_user(machine: Machine, call: Call, operands: tuple[Argument, ...]) -> str | None:
    """`runuser -u name command`, or a shell that reads its input."""
    named = any(word.text in {"-u", "--user"} or word.text.startswith("--user=") for word in call.arguments)
    if call.name == "runuser" and named and operands:
        return machine.invoke(call.inner(operands, call.name))
    if call.input.kind != "inherited":
        return run_input(machine, call)
    machine.emit(call)
    return None


def _is_letters(text: str) -> bool:
    return len(text) > 1 and text[0] in "-+" and text[1:].isalpha()


def _options(
    call: Call, with_value: frozenset[str], *, is_user: bool
) -> tuple[Argument | None, tuple[Argument, ...], bool]:
    """The script of `-c`, the operands, and whether nothing is run (`bash -n`)."""
    words = call.arguments
    place, wants_script, is_checking = 0, False, False
    script: Argument | None = None
    operands: list[Argument] = []
    while place < len(words):
        text = words[place].text
        place += 1
        if script is None and is_user and text.startswith(("--command=", "--session-command=")):
            script = Argument(text.partition("=")[2])
        elif is_user and text in {"-c", "--command", "--session-command"} and place < len(words):
            script = words[place]
            place += 1
        elif text in with_value:
            place += 1
        elif text == "--" or (text == "-" and not is_user):
            operands.extend(words[place:])
            break
        elif _is_letters(text) and not is_user:
            wants_script = wants_script or ("c" in text and text[0] == "-")
            is_checking = is_checking or (text == "-n")
            place += text[-1] in "oO" and len(text) > 2  # noqa: PLR2004 - `-eo pipefail`
        elif text.startswith("--") or (text == "--command" and not is_user):
            wants_script = wants_script or text == "--command"
        elif text in {"-", "-l"} or (is_user and text.startswith("-")):
            continue
        else:
            operands.append(words[place - 1])
            if not is_user:
                operands.extend(words[place:])
                break
    if wants_script and operands:
        return operands[0], tuple(operands[1:]), False
    return script, tuple(operands), is_checking


def _other(machine: Machine, call: Call) -> None:
    machine.emit(call)
    words = {word.text.lower() for word in call.arguments}
    if words & _OTHER_TEXT or call.input.kind in {"text", "command", "unknown"}:
        machine.doubt(OTHER_SHELL)
