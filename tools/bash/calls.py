"""From a call to what runs behind it: builtins, wrappers, shells, and programs that start others."""

from __future__ import annotations

from dataclasses import replace

from tools.bash.budget import TooMuch
from tools.bash.builtins import BUILTINS, RUNNING
from tools.bash.containers import CARRYING, CONTAINERS
from tools.bash.doubts import HIDDEN_PROGRAM
from tools.bash.machine import Call, Handler, Machine, texts_of
from tools.bash.option_texts import OPTION_TEXTS, RUN_TEXTS, read_variables
from tools.bash.peeling import Peeled, peeled
from tools.bash.printing import printed
from tools.bash.reading import UNKNOWN, Argument
from tools.bash.shells import OTHER_SHELLS, SHELLS, run_shell
from tools.bash.spreading import SPREADING
from tools.bash.words_of_text import split_words
from tools.bash.wrappers import RUNNERS, WRAPPERS, Wrapper

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
