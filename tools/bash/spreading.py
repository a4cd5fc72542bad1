"""Programs that run another one for each thing they find: `xargs`, `find -exec`, `fd -x`, `parallel`."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from tools.bash.machine import Call, Handler, Machine, texts_of
from tools.bash.peeling import peeled
from tools.bash.reading import UNKNOWN, Argument, Input
from tools.bash.words_of_text import split_words
from tools.bash.wrappers import PARALLEL, XARGS

_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
# Behind letters that take no value, and with the program in the same word: `-Hx rm`, `-xrm`, `--exec=rm`.
_FD_RUNS = re.compile(r"--exec(?:-batch)?(?:=(.*))?|-[^-xXdteESocj]*[xX]=?(.*)", re.DOTALL)
_MAX_GIVEN = 64
_PLACE = re.compile(r"\{[/.]*\}")


def _xargs(machine: Machine, call: Call) -> str | None:
    parts = peeled(call.arguments, XARGS)
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
    parts = peeled(call.arguments, PARALLEL)
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
