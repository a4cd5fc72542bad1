"""The programs that a script of Python starts."""

from __future__ import annotations

import ast

from tools.approval.scripts.effects import HIDDEN, LEAVES, Effects
from tools.approval.scripts.python.calls import Call
from tools.approval.scripts.python.folding import text_of
from tools.approval.scripts.python.names import Names
from tools.approval.scripts.python.tables import REPLACERS, SHELLS
from tools.bash.reading import UNKNOWN


def look_at_start(thing: str, call: Call, effects: Effects, names: Names) -> None:
    """Note what is started by calling `thing`."""
    effects.doubt()
    if call.is_set("start_new_session") or call.is_set("preexec_fn") or call.is_set("process_group"):
        effects.add(LEAVES)
    folder = effects.folder
    if call.is_set("cwd"):
        effects.folder = call.keyword_text("cwd")
    if thing in SHELLS or call.is_set("shell"):
        words = call.words(0)
        effects.runs(words[0] if words else _first(call, names))
    elif thing in REPLACERS:
        _replace(thing, call, effects)
    elif thing == "asyncio.create_subprocess_exec":
        effects.starts(call.texts)
    else:
        _start(call, effects, names)
    effects.folder = folder


def _first(call: Call, names: Names) -> str:
    if call.node.args:
        return call.text(0)
    return next(
        (text_of(value, names) for key, value in call.keywords.items() if key in {"args", "cmd", "command"}), UNKNOWN
    )


def _start(call: Call, effects: Effects, names: Names) -> None:
    words = call.words(0)
    if words is None and isinstance(call.keywords.get("args"), ast.List):
        words = tuple(text_of(word, names) for word in getattr(call.keywords["args"], "elts", ()))
    if words is None:
        text = _first(call, names)
        # One text is the name of a program, and on Windows a whole command.
        if text.startswith(UNKNOWN):
            effects.add(HIDDEN)
        else:
            effects.starts(text.split())
        return
    program = call.keyword_text("executable")
    effects.starts((program, *words[1:]) if program else words)
    given = call.keyword_text("input")
    if given and UNKNOWN not in given and words and words[0].rpartition("/")[2] in {"sh", "bash", "zsh", "dash"}:
        effects.runs(given)


def _replace(thing: str, call: Call, effects: Effects) -> None:
    start, is_list = REPLACERS[thing]
    program = call.text(start)
    words = (call.words(start + 1) if is_list else call.texts[start + 1 :]) or (UNKNOWN, UNKNOWN)
    effects.starts((program, *words[1:]))
