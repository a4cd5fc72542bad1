"""Builtins of the shell that change what is known, or run text."""

from __future__ import annotations

import re
from dataclasses import replace

from tools.bash.budget import MAX_VALUES
from tools.bash.doubts import PARTLY_UNKNOWN_TEXT, UNKNOWN_SCRIPT, UNKNOWN_TEXT
from tools.bash.machine import Call, Handler, Machine, texts_of
from tools.bash.printing import formatted, printed
from tools.bash.reading import UNKNOWN, Argument, Input
from tools.bash.scope import Value
from tools.bash.shells import run_input

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


def _read(machine: Machine, call: Call) -> str | None:
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
    "local": _declare, "export": _declare, "readonly": _declare, "read": _read, "let": _setting,
    "getopts": _setting, "mapfile": _setting, "readarray": _setting, "printf": _printf,
}  # fmt: skip
