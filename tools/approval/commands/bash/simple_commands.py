"""A simple command: its words, assignments and redirections, out of the text between two places."""

from __future__ import annotations

import re
from typing import Protocol

from tools.approval.commands.bash.reading import UNKNOWN, Argument, Input, Redirection
from tools.approval.commands.bash.scanner import Scanner, Skeleton
from tools.approval.commands.bash.state import Call, Frame, Machine, Value
from tools.approval.commands.bash.stdout import PRINTERS
from tools.approval.commands.bash.words import Words
from tools.light_dataclass import dataclass

_TOKEN = re.compile(
    r"(?P<descriptor>\d+)?(?P<operator>&>>|&>|>>|>\||>&|<&|<<<|<|>)|(?P<word>[^\s<>&|;]+)|(?P<other>\S)"
)
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<index>\[[^\]]*\])?(?P<adds>\+)?=(?P<value>[\s\S]*)", re.ASCII)
DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
# Their arguments are names of variables, or sums.
_NAMING = DECLARING | {"let", "test", "[", "unset", "read", "wait", "getopts", "mapfile", "readarray"}
_SUBSCRIPT = re.compile(r"\[[^\[\]]*(?:\$\(|`)")
_STREAM = re.compile(r"/dev/(?:stdout|fd/)|/proc/[^/]+/fd/")
_OUTPUT = frozenset({">", ">>", ">|", "&>", "&>>"})


class CommandHost(Machine, Protocol):
    """The shell that a simple command is read in."""

    frame: Frame

    def words(self) -> Words:
        """Who expands words in its scope."""


@dataclass(frozen=True, slots=True)
class Redirections:
    """The redirections of a command; `input` where they say where it comes from."""

    items: tuple[Redirection, ...] = ()
    input: Input | None = None

    def printed(self, text: str | None, *, complains: bool) -> str | None:
        """What of `text` still goes to standard output.

        Args:
            complains: what runs may write to standard error, too.
        """
        for item in self.items:
            is_output = item.descriptor in {None, 1}
            if is_output and item.operator in _OUTPUT:
                # It goes back to where it came from, or through another program.
                return None if _STREAM.match(item.target.text) or UNKNOWN in item.target.text else ""
            if item.operator == ">&" and is_output and item.target.text != "1":
                return "" if item.target.text in {"2", "-"} else None
            if item.operator == ">&" and not is_output and (complains or not text):
                return None
        return text


@dataclass(frozen=True, slots=True)
class _Token:
    start: int
    end: int
    operator: str = ""
    descriptor: int | None = None


def redirections_of(shell: CommandHost, skeleton: Skeleton, start: int, end: int) -> Redirections:
    """The redirections that stand between two places, behind a compound statement."""
    if start >= end:
        return Redirections()
    return SimpleCommand(shell, skeleton, start, end).redirections()


class SimpleCommand:
    """Reads what is between `start` and `end` as one command."""

    def __init__(self, shell: CommandHost, skeleton: Skeleton, start: int, end: int) -> None:
        self._shell = shell
        self._skeleton = skeleton
        self._words = shell.words()
        self._raws: list[str] = []
        self._pairs: list[tuple[_Token, str]] = []
        self._cut(start, end)

    def _cut(self, start: int, end: int) -> None:
        text, waiting = self._skeleton.text, None
        for found in _TOKEN.finditer(self._skeleton.mask, start, end):
            if found["other"]:
                continue
            if found["operator"]:
                operator = found["operator"]
                for longer in ("<>", "<<<"):
                    if text.startswith(longer, found.start("operator")):
                        operator = longer
                number = int(found["descriptor"]) if found["descriptor"] else None
                waiting = _Token(found.start("operator"), found.end(), operator, number)
                continue
            raw = text[found.start() : found.end()]
            if waiting:
                self._pairs.append((waiting, raw))
                waiting = None
            else:
                self._raws.append(raw)

    def read(self) -> str | None:
        """Read the command. Returns what it prints, where that is known."""
        shell, frame = self._shell, self._shell.frame
        if self._raws and self._raws[0].startswith(("((", "[[")):
            return self._test(self._raws[0])
        prefix: list[re.Match[str]] = []
        for raw in self._raws:
            found = _ASSIGNMENT.fullmatch(raw)
            if found is None:
                break
            prefix.append(found)
        is_kept = len(prefix) == len(self._raws)
        assignments = tuple((found["name"], self._assigned(found, is_kept=is_kept)) for found in prefix)
        arguments = self._arguments(self._raws[len(prefix) :])
        self._read_subscripts(arguments)
        redirections = self.redirections()
        call = Call(
            tuple(arguments),
            redirections.items,
            redirections.input or frame.input,
            assignments,
            frame.via,
            frame.elsewhere,
            shell.scope.cwd,
            self._words.has_rest,
            frame.background,
        )
        printed = shell.invoke(call)
        if not self._raws and any(token.operator == "<" for token, _ in self._pairs):
            # `$(<file)` is the file's text, and in zsh a `<file` alone prints it, too.
            return redirections.input.text if redirections.input and redirections.input.kind == "text" else None
        complains = call.name not in PRINTERS or call.name in shell.scope.functions
        return redirections.printed(printed, complains=complains)

    def redirections(self) -> Redirections:
        """The redirections, and the input that they make."""
        items: list[Redirection] = []
        given: Input | None = None
        for token, raw in self._pairs:
            document = self._skeleton.documents.get(token.start)
            if document is not None:
                body = document.body if document.is_quoted else self._words.document(document.body)
                given = Input("text", body) if token.descriptor in {None, 0} else given
                continue
            if token.operator == "<<<":
                given = Input("text", self._words.single(raw).text + "\n")
                continue
            target = self._target(raw)
            items.append(Redirection(token.operator, token.descriptor, target))
            if token.operator in {"<", "<>", "<&"} and token.descriptor in {None, 0}:
                given = self._input_from(token.operator, target)
        return Redirections(tuple(items), given)

    def _target(self, raw: str) -> Argument:
        targets = self._words.arguments(raw)
        if len(targets) == 1:
            return targets[0]
        return Argument(" ".join(target.text for target in targets), expands=True)

    def _input_from(self, operator: str, target: Argument) -> Input:
        if operator == "<&":
            return Input("unknown")
        connected = self._shell.connected(target.text)
        if connected is None:
            return Input("file")
        printed, program = connected
        if printed is not None:
            return Input("text", printed, program)
        return Input("command", source=program) if program else Input("unknown")

    def _arguments(self, raws: list[str]) -> list[Argument]:
        arguments: list[Argument] = []
        for raw in raws:
            is_declaring = bool(arguments) and arguments[0].text in DECLARING
            found = _ASSIGNMENT.fullmatch(raw) if is_declaring else None
            if found is None:
                arguments.extend(self._words.arguments(raw))
                continue
            value = self._assigned(found, is_kept=True)
            arguments.append(Argument(f"{found['name']}={value.text}"))
        return arguments

    def _read_subscripts(self, arguments: list[Argument]) -> None:
        """`let 'a[$(x)]=1'`: what is quoted is expanded after all, where it is the subscript of a name.

        Sums are computed, and so is a list that is quoted: `declare -a 'x=($(y))'`.
        """
        name = arguments[0].text if arguments else ""
        if name in _NAMING or (name == "printf" and arguments[1:2] == [Argument("-v")]):
            for argument in arguments[1:]:
                if name == "let" or {"[", "="} & set(argument.text):  # what a plain name holds is not computed
                    self._words.arithmetic(argument.text)
                if _SUBSCRIPT.search(argument.text) or (name in DECLARING and "=(" in argument.text):
                    self._words.document(argument.text)

    # Assignments.

    def _assigned(self, found: re.Match[str], *, is_kept: bool) -> Argument:
        """The value as one text. With `is_kept` the shell's own variable gets it, and not that of one command."""
        raw = found["value"]
        if found["index"]:
            self._words.arithmetic(found["index"])
            self._words.document(found["index"])  # for the substitutions inside
        value: Value
        if raw.startswith("("):
            items = _items(raw, self._words)
            is_known = all(not (item.splits or item.expands) for item in items)
            is_keyed = any(re.match(r"\[[^\]]*\]=", item.text) for item in items)
            if is_keyed:
                self._words.arithmetic(raw)
            value = tuple(item.text for item in items) if is_known and not is_keyed else UNKNOWN
            argument = Argument(" ".join(item.text for item in items))
        else:
            argument = self._words.single(raw)
            value = argument.text
        if is_kept:
            self._keep(found, value)
        return argument

    def _keep(self, found: re.Match[str], value: Value) -> None:
        scope, name = self._shell.scope, found["name"]
        if found["index"]:
            value = UNKNOWN
        elif found["adds"]:
            old = scope.get(name)
            value = _added(old, value)
        scope.set(name, value)

    def _test(self, raw: str) -> str | None:
        """`[[ … ]]` and `((…))`: what is in them is read apart, but for assignments."""
        self._words.arithmetic(raw[2:-2])
        if raw.startswith("(("):
            for name in re.findall(r"([A-Za-z_]\w*)\s*(?:\+\+|--|[-+*/%&|^]?=(?!=))", raw, re.ASCII):
                self._shell.scope.set(name, UNKNOWN)
        frame = self._shell.frame
        words = (Argument(raw[:2]),)
        redirections = self.redirections()
        self._shell.emit(
            Call(words, redirections.items, via=frame.via, elsewhere=frame.elsewhere, cwd=self._shell.scope.cwd)
        )
        return ""


def _items(raw: str, words: Words) -> list[Argument]:
    """The values of `(a b "c d")`."""
    inner = raw[1:-1] if raw.endswith(")") else raw[1:]
    items: list[Argument] = []
    place = 0
    lexer = Scanner(inner, words.budget)
    while place < len(inner):
        if inner[place] in " \t\n":
            place += 1
            continue
        if inner[place] == "#":
            end = inner.find("\n", place)
            place = len(inner) if end < 0 else end
            continue
        start = place
        while place < len(inner) and inner[place] not in " \t\n":
            if inner[place] in "<>" and inner.startswith("(", place + 1):
                place = lexer.script_end(place + 2)
            else:
                place = lexer.part_end(place)
        items.extend(words.arguments(inner[start:place]))
    return items


def _added(old: Value | None, new: Value) -> Value:
    if old is None:
        return UNKNOWN
    if isinstance(old, tuple) and isinstance(new, tuple):
        return old + new
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    return UNKNOWN
