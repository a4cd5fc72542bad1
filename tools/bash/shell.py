"""A shell that reads instead of running: scripts to statements, and statements to calls."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypedDict, Unpack

from tools.bash.budget import MAX_CHARS, TooMuch, check_depth
from tools.bash.calls import invoke
from tools.bash.doubts import FORK_BOMB, NOT_BASH
from tools.bash.grammar import parse
from tools.bash.machine import Call, Frame
from tools.bash.reading import INHERITED, UNKNOWN, Argument, Input, Invocation
from tools.bash.scanning import Skeleton, skeleton_of
from tools.bash.scope import Function, Scope
from tools.bash.sink import Sink
from tools.bash.statements import Statements
from tools.bash.words import Words


class FrameChanges(TypedDict, total=False):
    """What of a `Frame` may differ inside."""

    via: tuple[str, ...]
    input: Input
    background: bool
    is_piped: bool


_MAX_LATER = 40
# `$0` is not one that programs see.
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Shell:
    """Reads scripts in one scope."""

    def __init__(self, scope: Scope, sink: Sink, frame: Frame) -> None:
        check_depth(frame.depth)
        self.scope = scope
        self.sink = sink
        self.frame = frame

    # Scripts.

    def run(self, text: str) -> str | None:
        """Read a script. Returns what it prints, where that is known."""
        if len(text) > MAX_CHARS:
            raise TooMuch
        skeleton = skeleton_of(text, self.sink.budget, self.frame.depth)
        tree = parse(skeleton.mask)
        if skeleton.is_broken or tree.has_error or "\0" in text:
            self.doubt(NOT_BASH)
        printed = Statements(self, skeleton).block(tree)
        self._read_loose(skeleton)
        return printed

    def _read_loose(self, skeleton: Skeleton) -> None:
        words = self.words()
        for start, end in skeleton.loose:
            text = skeleton.text[start:end]
            if "$" in text or "`" in text:
                words.document(text)

    def words(self) -> Words:
        """Who expands words in this scope."""
        return Words(self.scope, self, self.sink.budget, self.frame.depth)

    def beside(self, **frame: Unpack[FrameChanges]) -> Shell:
        """A subshell: its variables are its own."""
        return Shell(self.scope.copy(), self.sink, replace(self.frame, depth=self.frame.depth + 1, **frame))

    def within(self, scope: Scope, **frame: Unpack[FrameChanges]) -> Shell:
        """The same shell in another scope, or with another input."""
        return Shell(scope, self.sink, replace(self.frame, depth=self.frame.depth + 1, **frame))

    # What words need.

    def substitute(self, script: str) -> str | None:
        """A command substitution."""
        self.sink.budget.spend(10)
        printed = self.beside(input=INHERITED, is_piped=False, background=False).run(script)
        return None if printed is None else printed.rstrip("\n")

    def connect(self, script: str, direction: str) -> str:
        """A process substitution."""
        self.sink.last = None
        given = INHERITED if direction == "<" else Input("unknown")
        printed = self.beside(input=given).run(script)
        return self.sink.connect(printed if direction == "<" else None, self.sink.last)

    def sum_up(self) -> None:
        """A sum of what nobody knows: noted as `((…))` is, which is never proven harmless."""
        self.emit(Call((Argument("(("),), cwd=self.scope.cwd))

    # What calls need.

    def invoke(self, call: Call) -> str | None:
        """Read a call."""
        self.sink.budget.spend()
        name = call.name
        # `command` and `builtin` look past functions.
        is_plain = call.is_direct and call.via[-1:] not in {("command",), ("builtin",)}
        if is_plain and name in self.scope.functions and "/" not in call.words[0].text:
            return self._call(name, self.scope.functions[name], call)
        return invoke(self, call)

    def emit(self, call: Call) -> None:
        """Note a call as it is."""
        self.sink.add(
            Invocation(
                call.name,
                call.words[0].text if call.words else "",
                call.arguments,
                call.redirections,
                call.input,
                call.assignments,
                call.via,
                call.elsewhere,
                call.cwd,
                call.adds_unknown,
                call.background,
                call.wrapped,
            )
        )

    def run_text(
        self, text: str, call: Call, *, shares_scope: bool = False, positional: tuple[str, ...] | None = ()
    ) -> str | None:
        """Read a text that runs in place of a call."""
        frame = replace(
            self.frame,
            via=call.via,
            elsewhere=call.elsewhere,
            input=call.input,
            background=call.background,
            depth=self.frame.depth + 1,
        )
        self._emit_surroundings(call)
        self.sink.note_text(text)
        inner = self.scope if shares_scope else self.scope.copy()
        if not shares_scope:
            inner.cwd, inner.others = None if call.elsewhere else call.cwd, ()
            if not call.is_direct:
                inner.variables, inner.functions, inner.positional = inner.exports(), {}, positional
            for name, argument in call.assignments:
                inner.set(name, argument.text)
        return Shell(inner, self.sink, frame).run(text)

    def _emit_surroundings(self, call: Call) -> None:
        """The files and variables of a call of which only the text inside is read."""
        assignments = tuple(pair for pair in call.assignments if _NAME.fullmatch(pair[0]))
        if call.redirections or assignments:
            self.emit(replace(call, words=(), input=INHERITED, assignments=assignments, adds_unknown=False))

    def run_now_and_later(self, text: str, call: Call) -> None:
        """Read a text now, and again at the end."""
        self.run_text(text, call)
        self.sink.later.append(lambda: self.run_text(text, call))

    def doubt(self, why: str) -> None:
        """Note something that cannot be read."""
        self.sink.doubt(why)

    def connected(self, path: str) -> tuple[str | None, Invocation | None] | None:
        """What is behind the path of a process substitution."""
        return self.sink.connected(path)

    # Functions.

    def define(self, name: str, function: Function) -> None:
        """Note a function. One that nobody calls is read at the end."""
        self.scope.functions[name] = function
        self.sink.defined.append((name, function, self.scope.copy()))

    def _call(self, name: str, function: Function, call: Call) -> str | None:
        self.scope.called.add(id(function))
        via = f"{name}()"
        if function.place in self.frame.calls:
            self.emit(replace(call, via=(*call.via, via)))
            if self.frame.is_piped or call.background:
                self.doubt(FORK_BOMB)
            return None
        frame = replace(
            self.frame,
            via=(*call.via, via),
            input=call.input,
            background=call.background,
            calls=(*self.frame.calls, function.place),
            is_piped=False,
            depth=self.frame.depth + 1,
        )
        positional, self.scope.positional = self.scope.positional, _positional(call)
        if call.redirections:
            self.emit(replace(call, words=(), input=INHERITED))
        printed = Shell(self.scope, self.sink, frame).body(function)
        self.scope.positional = positional
        self.scope.has_ended = False
        return printed

    def body(self, function: Function) -> str | None:
        """Read the body of a function here."""
        return Statements(self, function.skeleton).block_of(function.body)


def read_rest(sink: Sink, frame: Frame) -> None:
    """Read what runs at the end, and the functions that nobody called."""
    for run in sink.later[:_MAX_LATER]:
        run()
    while sink.defined:
        name, function, scope = sink.defined.pop()
        if id(function) in scope.called:
            continue
        scope.called.add(id(function))
        scope.positional = None
        called = replace(frame, via=(*frame.via, f"{name}()"), calls=(function.place,), depth=1)
        Shell(scope, sink, called).body(function)


def _positional(call: Call) -> tuple[str, ...] | None:
    if call.adds_unknown or any(word.splits for word in call.arguments):
        return None
    return tuple(word.text if word.is_known else word.text.replace("*", UNKNOWN) for word in call.arguments)
