"""What a script calls: names with dots, and the texts they are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tools.approval.scripts.code.syntax import Token
from tools.bash.reading import UNKNOWN
from tools.light_dataclass import dataclass

_JOINERS = frozenset({".", "?."})
_ENDS_BARE = frozenset({";", ")", "}", "]", "=>", "&&", "||", "?", "|"})
_LOW_WORDS = frozenset(
    {"if", "unless", "or", "and", "do", "for", "foreach", "while", "until", "rescue", "then", "end", "xor"}
)
# More than a call is written with; what follows is looked at all the same, as code of its own.
_MAX_ARGUMENTS = 300
_MAX_PARTS = 24
_CONCATENATIONS = frozenset({".", "+", ".."})
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Call:
    """A name that is used, with or without arguments.

    Attributes:
        parts: the names of the chain in order; `UNKNOWN` for one that is worked out (`fs[x]`), `()` for what a call
            or an expression before it gave.
        words: the arguments, those in lists one by one; `UNKNOWN` in those that are not texts.
        first: the arguments of the first part, if that is called as well and is not the only one.
        tokens: what the arguments are made of.
        is_called: there are arguments, or empty parentheses.
        place: of the first token.
    """

    parts: tuple[str, ...]
    words: tuple[str, ...]
    first: tuple[str, ...]
    tokens: tuple[Token, ...]
    is_called: bool
    place: int = 0
    has_parentheses: bool = False

    @property
    def name(self) -> str:
        """The chain with dots."""
        return ".".join(self.parts)

    def word(self, place: int) -> str:
        """An argument; `UNKNOWN` where there is none."""
        return self.words[place] if place < len(self.words) else UNKNOWN


class _Chain:
    """Reads one chain of names from its first."""

    def __init__(self, tokens: Sequence[Token], place: int, joiners: frozenset[str], *, bare: bool) -> None:
        self._tokens = tokens
        self._place = place
        self._joiners = joiners
        self._bare = bare

    def read(self, before: tuple[str, ...] = ()) -> Iterator[Call]:
        """The call of each part of the chain that has arguments, and the whole chain."""
        start = self._place
        parts = [*before, self._tokens[start].text.replace("'", "::")]
        first: tuple[str, ...] = ()
        self._place += 1
        while True:
            token = self._at(self._place)
            following = self._at(self._place + 1)
            if len(parts) > _MAX_PARTS:
                yield Call((*parts[:1], UNKNOWN), (), first, (), True, start)
                return
            if token.kind == "mark" and token.text in self._joiners and following.kind == "name":
                parts.append(following.text)
                self._place += 2
            elif token.text == "?." and following.text in {"(", "["}:
                self._place += 1
            elif token.kind == "mark" and token.text == "[":
                inside, self._place = bracketed(self._tokens, self._place)
                name = folded(inside)
                parts.append(name if UNKNOWN not in name else UNKNOWN)
            elif token.kind == "mark" and token.text == "(":
                inside, self._place = bracketed(self._tokens, self._place)
                words = words_of(inside)
                yield Call(tuple(parts), words, first, tuple(inside), True, start, True)
                if not first:
                    first = words or (UNKNOWN,)
                following = self._at(self._place)
                if following.kind != "mark" or following.text not in self._joiners | {"[", "("}:
                    return
                # `f(x)(y)` calls what nobody knows; `require("fs").rm` has the parts of a module.
                parts.append(UNKNOWN if following.text == "(" else "()")
            else:
                break
        inside = self._bare_arguments() if self._bare else []
        yield Call(tuple(parts), words_of(inside), first, tuple(inside), bool(inside), start)

    def _at(self, place: int) -> Token:
        return self._tokens[place] if place < len(self._tokens) else Token("mark", "")

    def _bare_arguments(self) -> list[Token]:
        """`system "rm x" if y`: up to the end of the statement."""
        depth, taken = 0, list[Token]()
        for place in range(self._place, min(len(self._tokens), self._place + _MAX_ARGUMENTS)):
            token = self._tokens[place]
            if token.kind == "mark" and token.text in _OPENING:
                depth += 1
            elif token.kind == "mark" and token.text in _CLOSING:
                depth -= 1
            if depth < 0 or (depth == 0 and self._ends(token)):
                break
            if (
                not taken
                and token.kind == "mark"
                and token.text in {"=", "==", "=~", "+=", "<", ">", "-", "*", ".", ","}
            ):
                break
            taken.append(token)
        return taken

    def _ends(self, token: Token) -> bool:
        if token.kind == "mark":
            return token.text in _ENDS_BARE and token.text not in ")]}"
        return token.kind == "line" or (token.kind == "name" and token.text in _LOW_WORDS)


def calls_of(tokens: Sequence[Token], joiners: frozenset[str] = _JOINERS, *, bare: bool = False) -> Iterator[Call]:
    """Every use of a name that is not itself part of a chain.

    Args:
        bare: arguments may follow without parentheses.
    """
    for place, token in enumerate(tokens):
        if token.kind != "name":
            continue
        before = tokens[place - 1] if place else Token("mark", "")
        if before.kind == "mark" and before.text in joiners:
            if place > 1 and tokens[place - 2].kind == "name":
                continue  # a part of the chain before
            # A method of a text, a list, or of what a call gave.
            yield from _Chain(tokens, place, joiners, bare=bare).read(("()",))
            continue
        yield from _Chain(tokens, place, joiners, bare=bare).read()


def bracketed(tokens: Sequence[Token], place: int) -> tuple[list[Token], int]:
    """What is inside the bracket at `place`, and the place behind it; a long inside is not known."""
    depth, last = 0, min(len(tokens), place + _MAX_ARGUMENTS)
    for end in range(place, last):
        token = tokens[end]
        if token.kind == "mark":
            depth += (token.text in _OPENING) - (token.text in _CLOSING)
            if depth == 0:
                return list(tokens[place + 1 : end]), end + 1
    return [*tokens[place + 1 : last], Token("name", UNKNOWN)], last


def words_of(tokens: Sequence[Token]) -> tuple[str, ...]:
    """The arguments: split at commas, those of lists among them, not those of other calls."""
    words: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        if token.kind == "line":
            continue
        if token.kind == "mark" and token.text in "({" and token.text:
            depth += 1
        elif token.kind == "mark" and token.text in ")}" and token.text:
            depth -= 1
        if depth == 0 and token.kind == "mark" and token.text in {",", "[", "]", "=>"}:
            words.append([])
        else:
            words[-1].append(token)
    return tuple(folded(word) for word in words if word)


def folded(tokens: Sequence[Token]) -> str:
    """The text that an expression makes: texts and numbers joined, `UNKNOWN` for everything else."""
    plain = [token for token in tokens if token.kind != "line"]
    if not plain:
        return UNKNOWN
    pieces: list[str] = []
    for token in plain:
        if token.kind in {"text", "number"}:
            pieces.append(token.text)
        elif token.kind == "mark" and token.text in _CONCATENATIONS:
            continue
        else:
            pieces.append(UNKNOWN)
    return "".join(pieces)
