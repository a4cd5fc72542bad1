"""From a call to what it runs: builtins, shells, and programs that run others."""

from __future__ import annotations

import re
from dataclasses import replace

from tools.approval.commands.bash.reading import (
    HIDDEN_PROGRAM,
    MAX_VALUES,
    OTHER_SHELL,
    PARTLY_UNKNOWN_TEXT,
    UNKNOWN,
    UNKNOWN_SCRIPT,
    UNKNOWN_TEXT,
    Argument,
    Input,
    TooMuch,
)
from tools.approval.commands.bash.runners import (
    CARRYING,
    CONTAINERS,
    OPTION_TEXTS,
    RUN_TEXTS,
    SPREADING,
    read_variables,
    split_words,
)
from tools.approval.commands.bash.state import Call, Handler, Machine, Value, texts_of
from tools.approval.commands.bash.stdout import formatted, printed
from tools.approval.commands.bash.wrappers import RUNNERS, WRAPPERS, Peeled, Wrapper, peeled

# Shells that are given a script: as an argument, as their input, or as a file that is none.

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
        return _read_text(machine, given.text, inner)
    machine.emit(call)
    if given.kind in {"command", "unknown"}:
        machine.doubt(UNKNOWN_TEXT)
    return None


def _read_text(machine: Machine, text: str, inner: Call, positional: tuple[str, ...] | None = ()) -> str | None:
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
    return _read_text(machine, script.text, replace(inner, adds_unknown=False), positional)


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


# Builtins of the shell that change what is known, or run text.

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_READ_VALUES = frozenset("dinNptu")


def _cd(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    words = [word for word in call.arguments if not re.fullmatch(r"-[LPe@]+|--", word.text)]
    if not words:
        home = machine.scope.get("HOME")
        machine.scope.move(home if isinstance(home, str) else None)
    elif words[0].text == "-":
        machine.scope.move(machine.scope.before)
    else:
        machine.scope.move(words[0].text if words[0].is_known else None)
    return ""


def _pushd(machine: Machine, call: Call) -> str | None:
    stack = machine.scope.stack
    if call.arguments and not re.match(r"[-+]\d|-n", call.arguments[0].text):
        machine.scope.stack = (*stack, machine.scope.cwd)
        _cd(machine, call)
    else:
        machine.emit(call)
        machine.scope.move(None)
    return None


def _popd(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    stack = machine.scope.stack
    if stack and not call.arguments:
        machine.scope.stack = stack[:-1]
        machine.scope.cwd = stack[-1]
    else:
        machine.scope.move(None)
    return None


def _eval(machine: Machine, call: Call) -> str | None:
    words = call.arguments[1:] if call.arguments and call.arguments[0].text == "--" else call.arguments
    return _run_here(machine, call, texts_of(words))


def _run_here(machine: Machine, call: Call, text: str) -> str | None:
    inner = call.inner((), call.name, is_direct=True)
    if UNKNOWN in text or call.adds_unknown:
        if not text.replace(UNKNOWN, "").strip():
            machine.emit(call)
            machine.doubt(UNKNOWN_TEXT)
            return None
        machine.doubt(PARTLY_UNKNOWN_TEXT)
    return machine.run_text(text, inner, shares_scope=True)


def _source(machine: Machine, call: Call) -> str | None:
    if not call.arguments:
        machine.emit(call)
        return None
    path = call.arguments[0].text
    if path in {"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}:
        return run_input(machine, call)
    connected = machine.connected(path)
    if connected is None:
        machine.emit(call)
        if not call.arguments[0].is_known:
            machine.doubt(UNKNOWN_SCRIPT)
        return None
    text, program = connected
    if text is not None:
        return _run_here(machine, call, text)
    machine.emit(replace(call, input=Input("command", source=program)))
    machine.doubt(UNKNOWN_TEXT)
    return None


def _trap(machine: Machine, call: Call) -> str | None:
    words = [word for word in call.arguments if word.text != "--"]
    machine.emit(call)
    if len(words) > 1 and words[0].text not in {"-", "", "-p", "-l"}:
        machine.run_now_and_later(words[0].text, call.inner((), "trap", is_direct=True))
        _doubt_unknown(machine, words[0].text)
        return None  # it prints when it runs
    return ""


def _alias(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    for word in call.arguments:
        name, equals, body = word.text.partition("=")
        if equals and name != "-p":
            machine.run_now_and_later(body, call.inner((), "alias", is_direct=True))
            _doubt_unknown(machine, body)
    return ""


def _doubt_unknown(machine: Machine, text: str) -> None:
    if UNKNOWN in text:
        machine.doubt(PARTLY_UNKNOWN_TEXT if text.replace(UNKNOWN, "").strip() else UNKNOWN_TEXT)


def _exec(machine: Machine, call: Call) -> str | None:
    if not call.arguments:
        if call.redirections:
            machine.emit(call)
        return ""
    words = call.arguments
    while words and words[0].text.startswith("-") and len(words[0].text) > 1:
        takes_next = words[0].text.endswith("a")
        words = words[2:] if takes_next else words[1:]
    text = machine.invoke(call.inner(words, "exec"))
    machine.scope.has_ended = True
    return text


def _ending(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    machine.scope.has_ended = True
    return ""


def _set(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    words = call.arguments
    dashes = next((place for place, word in enumerate(words) if word.text == "--"), None)
    if dashes is not None:
        _position(machine, call, words[dashes + 1 :])
    elif words and words[0].text[:1] not in {"-", "+"}:
        _position(machine, call, words)
    return "" if words else None


def _position(machine: Machine, call: Call, words: tuple[Argument, ...]) -> None:
    is_known = not call.adds_unknown and not any(word.splits or word.expands for word in words)
    machine.scope.positional = tuple(word.text for word in words) if is_known else None


def _shift(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    positional = machine.scope.positional
    if positional is not None:
        count = call.arguments[0].text if call.arguments else "1"
        machine.scope.positional = positional[int(count) :] if count.isdecimal() else None
    return ""


def _unset(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    for word in call.arguments:
        if _NAME.fullmatch(word.text):
            machine.scope.remove(word.text)
    return ""


def _declare(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    options = "".join(word.text for word in call.arguments if word.text.startswith("-"))
    if call.name == "export" or "x" in options:
        names = {word.text.partition("=")[0] for word in call.arguments}
        machine.scope.exported = machine.scope.exported | names
    if "n" in options and call.name != "export":
        for word in call.arguments:
            machine.scope.set(word.text.partition("=")[0], UNKNOWN)
    return "" if any(not word.text.startswith("-") for word in call.arguments) else None


def _read_into(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    words = [word.text for word in call.arguments]
    names: list[str] = []
    place, is_plain = 0, True
    while place < len(words):
        text = words[place]
        place += 1
        if text.startswith("-") and len(text) > 1:
            is_plain = is_plain and set(text[1:]) <= {"r"}
            place += len(text) > 1 and text[-1] in _READ_VALUES | {"a"}
            if text[-1] == "a" and place <= len(words):
                names.append(words[place - 1])
        else:
            names.append(text)
    values = _lines_read(call.input, len(names)) if is_plain else None
    for index, name in enumerate(names or ["REPLY"]):
        machine.scope.removed -= {name}
        machine.scope.variables[name] = (UNKNOWN,) if values is None else values[index]
    return ""


def _lines_read(given: Input, count: int) -> list[tuple[Value, ...]] | None:
    """The values that each of `count` variables may get, one for each line."""
    if given.kind != "text" or count == 0:
        return None
    lines = given.text.splitlines()
    if not lines or len(lines) > MAX_VALUES:
        return None
    rows = [line.strip().split(None, count - 1) if count > 1 else [line.strip()] for line in lines]
    return [tuple(dict.fromkeys(row[index] if index < len(row) else "" for row in rows)) for index in range(count)]


def _setting(machine: Machine, call: Call) -> str | None:
    """`let`, `getopts`, `mapfile`: their variables are no longer known."""
    machine.emit(call)
    for place, word in enumerate(call.arguments):
        if found := _NAME.match(word.text):
            machine.scope.set(found[0], UNKNOWN)
        if word.text == "-C" and call.name in {"mapfile", "readarray"} and call.arguments[place + 1 :]:
            machine.run_text(call.arguments[place + 1].text, call.inner((), call.name, is_direct=True))
    return None


def _printf(machine: Machine, call: Call) -> str | None:
    machine.emit(call)
    words = [word.text for word in call.arguments]
    if len(words) < 3 or words[0] != "-v":  # noqa: PLR2004 - -v, the name, the format
        return printed(call)
    text = None if call.adds_unknown else formatted(words[2], words[3:])
    machine.scope.set(words[1], UNKNOWN if text is None else text)
    return ""


# They are read behind a wrapper too, though no wrapper finds them.
RUNNING = frozenset({"eval", "exec", "trap", "source", "."})
BUILTINS: dict[str, Handler] = {
    "cd": _cd, "chdir": _cd, "pushd": _pushd, "popd": _popd, "eval": _eval, "source": _source, ".": _source,
    "trap": _trap, "alias": _alias, "exec": _exec, "exit": _ending, "return": _ending, "break": _ending,
    "continue": _ending, "set": _set, "shift": _shift, "unset": _unset, "declare": _declare, "typeset": _declare,
    "local": _declare, "export": _declare, "readonly": _declare, "read": _read_into, "let": _setting,
    "getopts": _setting, "mapfile": _setting, "readarray": _setting, "printf": _printf,
}  # fmt: skip


# From a call to what runs behind it: builtins, wrappers, shells, and programs that start others.

_MAX_WRAPPERS = 16
# A program for other architectures or shells is named with an ending on some machines.
_ENDINGS = (".exe",)
_RUN_EVERYTHING = SHELLS | OTHER_SHELLS | RUN_TEXTS | BUILTINS.keys() | SPREADING.keys()


def invoke(machine: Machine, call: Call) -> str | None:
    """Read a call that is no function of the script. Returns what it prints, where that is known."""
    if len(call.via) > _MAX_WRAPPERS * 2:
        raise TooMuch
    if not call.words:
        if call.redirections or call.assignments or call.adds_unknown:
            machine.emit(call)
        return ""
    read_variables(machine, call)
    name = call.name.removesuffix(".exe") if call.name.endswith(_ENDINGS) else call.name
    if not name:
        _hidden(machine, call)
        return None
    if name in BUILTINS and (call.is_direct or name in RUNNING):
        return BUILTINS[name](machine, call)
    handler = _handler(name)
    if handler is not None:
        return handler(machine, call)
    if name in WRAPPERS and not _only_asks(call):
        return _unwrap(machine, call, name, WRAPPERS[name])
    machine.emit(call)
    return printed(call)


def runs_what_follows(words: tuple[str, ...]) -> bool:
    """Whether a command that begins with these words, the program's bare name first, runs what further words name.

    `uv run` and `numactl` do, `uv sync` does not.
    """
    name, verbs = words[0], frozenset(words[1:3])
    if name in _RUN_EVERYTHING or any(words[:length] in RUNNERS for length in range(1, len(words) + 1)):
        return True
    if name in CARRYING:
        return not CARRYING[name] or not CARRYING[name].isdisjoint(verbs)
    wrapper = WRAPPERS.get(name)
    return wrapper is not None and (not wrapper.subcommand or bool(wrapper.subcommand.intersection(words[1:2])))


def _handler(name: str) -> Handler | None:
    if name in SHELLS or name in OTHER_SHELLS:
        return run_shell
    return SPREADING.get(name) or CONTAINERS.get(name) or OPTION_TEXTS.get(name)


def _hidden(machine: Machine, call: Call) -> None:
    machine.emit(call)
    machine.doubt(HIDDEN_PROGRAM)
    if call.words[0].splits and len(call.words) > 1 and not call.words[1].text.startswith("-"):
        # What is not known may be nothing at all.
        machine.invoke(call.inner(call.words[1:], call.words[0].text, is_direct=True))


def _only_asks(call: Call) -> bool:
    """`command -v x`, `sudo -l`: nothing is run."""
    first = call.arguments[0].text if call.arguments else ""
    return call.name == "command" and first[:1] == "-" and bool({"v", "V"} & set(first))


def _unwrap(machine: Machine, call: Call, name: str, wrapper: Wrapper) -> str | None:
    parts = peeled(call.arguments, wrapper)
    if parts is not None and name == "env":
        parts = _with_text(parts)
    if parts is None or not (parts.rest or parts.texts):
        machine.emit(call)
        return _interactive(machine, call, name)
    if wrapper.is_shown and parts.own:
        machine.emit(replace(call, words=(call.words[0], *parts.own)))
    inner = _inside(call, name, wrapper, parts)
    for text in parts.texts:
        machine.run_text(text.text, inner)
    if not parts.rest:
        return None
    if wrapper.is_text:
        _run_texts(machine, inner, parts)
        return None
    if parts.is_unsure:
        _read_later(machine, inner, parts.rest)
    return machine.invoke(inner)


def _inside(call: Call, name: str, wrapper: Wrapper, parts: Peeled) -> Call:
    values = dict(parts.values)
    is_direct = call.is_direct and name in {"command", "builtin", "noglob", "nocorrect"}
    inner = call.inner(parts.rest, name, is_direct=is_direct, own=parts.own)
    folder = values.get("-C") or values.get("--chdir") if name == "env" else values.get("--chdir")
    if folder is not None:
        inner = replace(inner, cwd=folder.text if folder.text.startswith("/") else None)
    if parts.assignments:
        inner = replace(inner, assignments=(*call.assignments, *parts.assignments))
    if name in {"nohup", "setsid", "daemonize", "systemd-run"}:
        inner = replace(inner, background=call.background)
    return replace(inner, elsewhere=call.elsewhere or wrapper.elsewhere)


def _with_text(parts: Peeled) -> Peeled:
    """`env -S 'rm -rf x' y`: the text's words come first, assignments and options among them."""
    text = next((value.text for option, value in parts.values if option in {"-S", "--split-string"}), "")
    if not text:
        return parts
    words = (*(Argument(word) for word in split_words(text)), *parts.rest)
    inner = peeled(words, WRAPPERS["env"])
    if inner is None:
        return parts
    assignments = (*parts.assignments, *inner.assignments)
    return replace(parts, rest=inner.rest, assignments=assignments)


def _run_texts(machine: Machine, inner: Call, parts: Peeled) -> None:
    """`watch 'a; b'` joins its words to a script; several scripts may stand side by side."""
    given = (*parts.rest, Argument(UNKNOWN)) if inner.adds_unknown else parts.rest
    machine.run_text(texts_of(given), inner)
    for word in parts.rest:
        if " " in word.text.strip() and len(parts.rest) > 1:
            machine.run_text(word.text, inner)


def _read_later(machine: Machine, inner: Call, rest: tuple[Argument, ...]) -> None:
    """An option that nobody knows may have taken the first word of the command."""
    if len(rest) > 1 and not rest[1].text.startswith("-"):
        machine.invoke(replace(inner, words=rest[1:]))


def _interactive(machine: Machine, call: Call, name: str) -> str | None:
    """`sudo -s` and `script` start a shell that reads its input."""
    options = "".join(word.text for word in call.arguments if word.text.startswith("-") and word.text[:2] != "--")
    starts_shell = name in {"script", "chroot", "unshare", "nsenter"} or (
        name in {"sudo", "doas"} and ("s" in options or "i" in options)
    )
    if starts_shell and call.input.kind != "inherited":
        return run_shell(machine, call.inner((Argument("sh"),), name))
    return None
