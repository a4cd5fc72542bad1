"""Reads the text of a shell command: its statements, in the shell that they run in."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from tools.approval.commands.bash.calls import invoke
from tools.approval.commands.bash.reading import (
    FORK_BOMB,
    INHERITED,
    MAX_CHARS,
    MAX_VALUES,
    MAX_WITH_DOCUMENTS,
    NO_GRAMMAR,
    NOT_BASH,
    TOO_MUCH,
    UNKNOWN,
    Argument,
    Budget,
    Input,
    Invocation,
    NoGrammar,
    Reading,
    TooMuch,
    check_depth,
    parse,
)
from tools.approval.commands.bash.scanner import Skeleton, skeleton_of
from tools.approval.commands.bash.simple_commands import SimpleCommand, redirections_of
from tools.approval.commands.bash.state import Call, Frame, Function, Scope, Sink, Value, merged
from tools.approval.commands.bash.words import Words

if TYPE_CHECKING:
    from tree_sitter import Node


# Goes through the tree of a script, branch by branch.

_NAMES = re.compile(r"\$\{?[!#]?([A-Za-z_]\w*)", re.ASCII)
_MAYBE_SET = re.compile(r"\$\{([A-Za-z_]\w*)(?::?[-+=])", re.ASCII)
_PATTERN = re.compile(r"\[[^\]]+\]|[*?]+")
_MAX_CHOICES = 32
# In place of a program, the skeleton has no other letter than x, but for a keyword that came too early.
_KEYWORD_STARTS = frozenset({"}", "f", "d", "t", "e", "w", "u"})
_COMPOUND = frozenset({
    "compound_statement", "subshell", "if_statement", "while_statement", "for_statement", "case_statement",
})  # fmt: skip


class Statements:
    """Reads the statements of one script in one shell. Each method returns what is printed, where that is known."""

    def __init__(self, shell: Shell, skeleton: Skeleton, *, is_coprocess: bool = False) -> None:
        self._shell = shell
        self._skeleton = skeleton
        self._is_coprocess = is_coprocess

    def block(self, node: Node) -> str | None:
        """The statements that are children of `node`, one after the other."""
        return self.sequence(node.children)

    def block_of(self, node: Node) -> str | None:
        """One statement, as the body of a function is."""
        return self.statement(node, node.end_byte)

    def sequence(self, nodes: Iterable[Node]) -> str | None:
        """Statements one after the other."""
        known: list[str | None] = []
        statements = list(nodes)
        for place, node in enumerate(statements):
            if not node.is_named or node.type == "comment":
                continue
            follows = statements[place + 1].type if place + 1 < len(statements) else ""
            if follows == "&":
                # In a substitution its output is waited for; nobody knows in which order it comes.
                known.append(self._on(self._shell.beside(background=True)).block_of(node) and None)
            else:
                known.append(self.statement(node, node.end_byte))
        return None if None in known else "".join(text or "" for text in known)

    def _on(self, shell: Shell) -> Statements:
        return Statements(shell, self._skeleton)

    def statement(self, node: Node, end: int) -> str | None:
        """One statement.

        Args:
            end: where it ends together with the redirections that the grammar gave to what is around it.
        """
        self._shell.sink.budget.spend(3)
        kind = node.type
        if node.start_byte in self._skeleton.coprocesses and not self._is_coprocess:
            beside = self._shell.beside(background=True, via=(*self._shell.frame.via, "coproc"))
            inner = Statements(beside, self._skeleton, is_coprocess=True)
            return inner.statement(node, end)
        if kind == "redirected_statement":
            return self._redirected(node, end)
        if kind == "list":
            return self._list(node, end)
        if kind == "pipeline":
            return self._pipeline(node, end)
        if kind in _COMPOUND:
            return self._compound(node, end)
        if kind == "function_definition":
            self._function(node, end)
            return ""
        if kind in {"ERROR", "do_group"}:
            return self.sequence(node.children)
        return self._simple(node.start_byte, end)

    def _redirected(self, node: Node, end: int) -> str | None:
        body = node.child_by_field_name("body")
        if body is None or body.type not in {*_COMPOUND, "list", "pipeline", "function_definition"}:
            return self._simple(node.start_byte, end)
        return self.statement(body, end)

    # Lists and pipes.

    def _list(self, node: Node, end: int) -> str | None:
        scope = self._shell.scope
        operator, parts = _flattened(node)
        before: list[Scope] = []
        known: list[str | None] = []
        for place, part in enumerate(parts):
            if place:
                before.append(scope.copy())
            part_end = end if place == len(parts) - 1 else part.end_byte
            known.append(self.statement(part, part_end))
            if place and operator[place - 1 : place] != ["&&"]:
                scope.take(merged([before.pop(), scope]))
        scope.take(merged([scope, *before]))
        return None if None in known or set(operator) != {"&&"} else "".join(text or "" for text in known)

    def _pipeline(self, node: Node, end: int) -> str | None:
        parts = [child for child in node.children if child.is_named and child.type != "comment"]
        given = self._shell.frame.input
        printed: str | None = None
        for place, part in enumerate(parts):
            self._shell.sink.last = None
            inner = self._on(self._shell.beside(input=given, is_piped=True))
            printed = inner.statement(part, end if place == len(parts) - 1 else part.end_byte)
            program = self._shell.sink.last
            if part.next_sibling is not None and part.next_sibling.type == "|&":
                printed = None  # complaints come too
            if printed is not None:
                given = Input("text", printed, program)
            else:
                given = Input("command", source=program) if program else Input("unknown")
        return printed

    # Compound statements.

    def _compound(self, node: Node, end: int) -> str | None:
        shell = self._shell
        redirections = redirections_of(shell, self._skeleton, node.end_byte, end)
        inner = self
        if redirections.items or redirections.input is not None:
            inner = self._on(shell.within(shell.scope, input=redirections.input or shell.frame.input))
            if redirections.items:
                shell.emit(
                    Call(
                        (),
                        redirections.items,
                        via=shell.frame.via,
                        elsewhere=shell.frame.elsewhere,
                        cwd=shell.scope.cwd,
                    )
                )
        return redirections.printed(inner.compound(node), complains=True)

    def compound(self, node: Node) -> str | None:
        """A compound statement without its redirections."""
        if node.type == "compound_statement":
            return self.sequence(node.children)
        if node.type == "subshell":
            return self._on(self._shell.beside()).block(node)
        reader = {
            "if_statement": self._if,
            "while_statement": self._while,
            "for_statement": self._for,
            "case_statement": self._case,
        }[node.type]
        reader(node)
        return None

    def _if(self, node: Node) -> None:
        scope = self._shell.scope
        ways: list[Scope] = []
        parts = [child for child in node.children if child.type not in {"elif_clause", "else_clause"}]
        clauses = [child for child in node.children if child.type in {"elif_clause", "else_clause"}]
        ways.append(self._branch(parts))
        ways.extend(self._branch(list(clause.children)) for clause in clauses)
        if not any(clause.type == "else_clause" for clause in clauses):
            ways.append(scope.copy())
        scope.take(merged(ways))

    def _branch(self, parts: list[Node]) -> Scope:
        """The scope after a branch; its condition is read in the scope that the next one goes on with."""
        cut = next((place for place, part in enumerate(parts) if part.type == "then"), 0)
        self.sequence(parts[:cut])
        inner = self._shell.scope.copy()
        self._in(inner).sequence(parts[cut:])
        return inner

    def _in(self, scope: Scope) -> Statements:
        return self._on(self._shell.within(scope))

    def _while(self, node: Node) -> None:
        self._loop(lambda: self.sequence(node.children))

    def _loop(self, once: Callable[[], object]) -> None:
        """Read a body twice where the first time changes what is known for the second."""
        scope = self._shell.scope
        for _ in range(2):
            before = scope.copy()
            once()
            scope.has_ended = False
            scope.take(merged([before, scope]))
            if scope.variables == before.variables and scope.places == before.places:
                return

    def _for(self, node: Node) -> None:
        name_node = node.child_by_field_name("variable")
        text = self._skeleton.text
        if name_node is None:
            self._while(node)
            return
        name = text[name_node.start_byte : name_node.end_byte]
        body = [child for child in node.children if child.type in {"do_group", "compound_statement"}]
        if name.startswith("("):
            self._shell.words().arithmetic(text[name_node.start_byte : body[0].start_byte if body else node.end_byte])
            self._loop(lambda: self.sequence(body))
            return
        raws = [text[value.start_byte : value.end_byte] for value in node.children_by_field_name("value")]
        has_list = any(child.type == "in" for child in node.children)
        values = tuple(self._loop_values(raws if has_list else ['"$@"']))
        scope = self._shell.scope
        if name.isupper():
            # Programs may look at it: `for PATH in …`.
            frame = self._shell.frame
            self._shell.emit(Call((), assignments=((name, Argument(UNKNOWN)),), via=frame.via, cwd=scope.cwd))

        def once() -> None:
            scope.variables[name] = values or (UNKNOWN,)
            self.sequence(body)

        self._loop(once)

    def _loop_values(self, raws: list[str]) -> Iterator[Value]:
        words = self._shell.words()
        values: dict[str, None] = {}
        for raw in raws:
            for argument in words.arguments(raw):
                text = _PATTERN.sub(UNKNOWN, argument.text) if argument.expands else argument.text
                values[text] = None
        if len(values) > MAX_VALUES:
            if all(re.fullmatch(r"[\w.-]+", value) and not value.startswith("-") for value in values):
                values = dict.fromkeys([*list(values)[: MAX_VALUES - 1], UNKNOWN])
            else:
                values = {UNKNOWN: None}
        yield from values

    def _case(self, node: Node) -> None:
        scope = self._shell.scope
        ways = [scope.copy()]
        for child in node.children:
            if child.type == "case_item":
                inner = scope.copy()
                patterns = {value.start_byte for value in child.children_by_field_name("value")}
                body = [part for part in child.children if part.start_byte not in patterns]
                self._in(inner).sequence(body)
                ways.append(inner)
        scope.take(merged(ways))

    def _function(self, node: Node, end: int) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            self._shell.doubt(NOT_BASH)
            self.sequence(node.children)
            return
        redirections = redirections_of(self._shell, self._skeleton, body.end_byte, max(end, node.end_byte))
        if redirections.items:
            frame = self._shell.frame
            self._shell.emit(Call((), redirections.items, via=frame.via, cwd=self._shell.scope.cwd))
        written = self._skeleton.text[name.start_byte : name.end_byte]
        self._shell.define(written, Function(self._skeleton, body))

    # Simple commands.

    def _simple(self, start: int, end: int) -> str | None:
        """A simple command, once for each directory it may run in and each choice of values of its variables."""
        mask = self._skeleton.mask
        if mask[start : start + 1] in _KEYWORD_STARTS or "\n" in mask[start:end].strip():
            self._shell.doubt(NOT_BASH)
        scope = self._shell.scope
        places = scope.places
        if len(places) == 1:
            return self._chosen(start, end)
        base = scope.copy()
        ways, printed = [], set()
        for place in places:
            scope.take(base)
            scope.cwd, scope.others = place, ()
            printed.add(self._chosen(start, end))
            ways.append(scope.copy())
            ways[-1].has_ended = scope.has_ended
        scope.take(merged(ways))
        return printed.pop() if len(printed) == 1 else None

    def _chosen(self, start: int, end: int) -> str | None:
        scope = self._shell.scope
        choices = _choices(self._skeleton.text[start:end], scope)
        if not choices:
            return self._once(start, end)
        base = scope.copy()
        ways, printed = [], set()
        for choice in choices:
            scope.take(base)
            for name, value in choice.items():
                if value is None:
                    scope.remove(name)
                else:
                    scope.set(name, value)
            printed.add(self._once(start, end))
            for name, value in choice.items():
                if scope.variables.get(name) == (None if value is None else (value,)):
                    scope.restore(name, base)
            ways.append(scope.copy())
            ways[-1].has_ended = scope.has_ended
        scope.take(merged(ways))
        return printed.pop() if len(printed) == 1 else None

    def _once(self, start: int, end: int) -> str | None:
        return SimpleCommand(self._shell, self._skeleton, start, end).read()


def _choices(raw: str, scope: Scope) -> list[dict[str, Value | None]]:
    """The values that the variables in `raw` may have together, where there is more than one choice.

    None is a variable that is not set: of one that is not known, and whose being set counts, both is read.
    """
    options: dict[str, tuple[Value | None, ...]] = {}
    for name in dict.fromkeys([*_NAMES.findall(raw), *(("IFS",) if "$" in raw else ())]):
        values = scope.variables.get(name, ())
        if len(values) > 1:
            options[name] = values
    for name in dict.fromkeys(_MAYBE_SET.findall(raw)):
        if scope.get(name) is None:
            options[name] = (None, UNKNOWN)
    if not options or math.prod(map(len, options.values())) > _MAX_CHOICES:
        return []
    return [dict(zip(options, choice, strict=True)) for choice in itertools.product(*options.values())]


def _flattened(node: Node) -> tuple[list[str], list[Node]]:
    """The operators of a list, and what they join."""
    operators: list[str] = []
    parts: list[Node] = []
    left = [node]
    while left:
        current = left.pop()
        if current.type != "list":
            if current.is_named and current.type != "comment":
                parts.append(current)
            elif current.type in {"&&", "||"}:
                operators.append(current.type)
            continue
        left.extend(reversed(current.children))
    return operators, parts


# A shell that reads instead of running: scripts to statements, and statements to calls.


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
        if len(text) > MAX_WITH_DOCUMENTS:
            raise TooMuch
        skeleton = skeleton_of(text, self.sink.budget, self.frame.depth)
        if len(skeleton.text) > MAX_CHARS:
            raise TooMuch
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


def read_command(command: str, cwd: Path | None = None, *, home: str | None = None) -> Reading:
    """Read `command` as bash would: which programs it may run, and what cannot be known.

    Nothing runs and the disk is not looked at. Every text can be read, in bounded time: what is too long or too
    nested for that is a doubt.

    Args:
        command: what is given to `bash -c`.
        cwd: the absolute directory it starts in; None where it is not known.
        home: the value of HOME; the process's own when None.
    """
    sink = Sink(Budget())
    frame = Frame()
    scope = Scope(cwd=str(cwd) if cwd else None)
    if home is not None:
        scope.set("HOME", home)
        scope.exported = frozenset({"HOME"})
    try:
        Shell(scope, sink, frame).run(command)
        read_rest(sink, frame)
    except (TooMuch, RecursionError):
        sink.doubt(TOO_MUCH)
    except NoGrammar:
        sink.doubt(NO_GRAMMAR)
    return sink.reading()
