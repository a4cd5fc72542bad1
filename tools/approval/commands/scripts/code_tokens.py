"""Other languages: cuts a script into tokens, by the syntax of its language."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from tools.approval.commands.bash.reading import UNKNOWN
from tools.approval.commands.scripts.effects import at_home, home
from tools.light_dataclass import dataclass

# What scripts are made of, and how the languages write their texts and comments.

Kind = Literal["name", "text", "command", "regex", "number", "mark", "line"]


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a script. `text` of a text or command is its value, `UNKNOWN` where something is interpolated."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Syntax:
    """How the texts and comments of a language look.

    Attributes:
        name: a regular expression for names, with their sigils.
        comments: what begins one that lasts to the end of the line.
        interpolates: by quote, what begins code in a text; '' for texts that are as they stand.
        sigils: an interpolated name begins with one of these (`"$x"`).
        backtick: what it quotes.
        quote_words: words before a delimiter that quote (`q{…}`): what they make.
        long_text: Lua's `[[…]]`.
        raw: quotes without escapes but for themselves.
        nests: code in a text may hold the same quotes again.
        decimals: numbers after a backslash are decimal.
        before_regex: names after which a slash begins a regular expression.
        documents: what begins and ends documentation at the start of a line, as regular expressions.
    """

    name: str
    comments: tuple[str, ...]
    blocks: tuple[tuple[str, str], ...] = ()
    interpolates: Mapping[str, str] = field(default_factory=lambda: {"'": "", '"': ""})
    sigils: str = ""
    backtick: Literal["command", "template", "name"] = "name"
    has_regexes: bool = False
    quote_words: Mapping[str, Kind] = field(default_factory=dict)
    percent_quotes: bool = False
    has_heredocs: bool = False
    long_text: bool = False
    raw: str = ""
    nests: bool = False
    decimals: bool = False
    before_regex: frozenset[str] = frozenset()
    documents: tuple[str, str] | None = None
    marks: str = r"=>|->|\?->|\+\+|--|&\.|::|\.\.\.?|=~|!~|\?\.|&&|\|\||<<|>>|[=!<>]=+|[\s\S]"


# The values of texts: their escapes, and the code that is put into them.

_LAST_CHARACTER = 0x10FFFF
_MAX_KEY = 80
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(
    r"\\(?:x(\{[0-9a-fA-F]{1,6}\}|[0-9a-fA-F]{1,2})|u(\{[0-9a-fA-F]{1,6}\}|[0-9a-fA-F]{4})|([0-7]{1,3})|([\s\S]))"
)
_VARIABLES = frozenset({"ENV", "_ENV", "_SERVER"})


def unescaped(syntax: Syntax, text: str) -> str:
    """The text that these escapes mean."""
    if syntax.decimals:
        text = re.sub(r"\\(\d{1,3})", lambda found: chr(int(found[1])), text)
    return _ESCAPE.sub(_meant, text)


def interpolated(syntax: Syntax, text: str, marker: str) -> tuple[str, list[str]]:
    """The text with `UNKNOWN` where code is put in, and the pieces of code.

    Args:
        marker: what begins code, as `#{`.
    """
    pieces: list[str] = []
    codes: list[str] = []
    place = 0
    opening = _opening(syntax, marker)
    while found := opening.search(text, place):
        pieces.append(text[place : found.start()])
        place = found.end()
        if found[0].startswith("\\"):
            pieces.append(found[0])
            continue
        pieces.append(UNKNOWN)
        if found[0][1:] in _VARIABLES:
            codes.append(found[0] + text[place : place + _MAX_KEY].partition("}")[0] + "}")
        elif found[0].endswith("{") or found[0] == "{$":
            code, place = balanced(text, place)
            codes.append(("$" if found[0] == "{$" else "") + code)
    return "".join((*pieces, text[place:])), codes


def balanced(text: str, place: int, opening: str = "{", closing: str = "}") -> tuple[str, int]:
    """What is before the closing mark that belongs to an opening one just passed, and where it ends."""
    depth, start = 1, place
    while place < len(text):
        char = text[place]
        place += 2 if char == "\\" else 1
        depth += (char == opening) - (char == closing)
        if depth == 0:
            return text[start : place - 1], place
    return text[start:], len(text)


def _opening(syntax: Syntax, marker: str) -> re.Pattern[str]:
    pattern = rf"\\[\s\S]|{re.escape(marker)}"
    if syntax.sigils:
        pattern += rf"|[{re.escape(syntax.sigils)}][\w:]+|[$@]\{{|\{{\$"
    return re.compile(pattern)


def _meant(found: re.Match[str]) -> str:
    hexadecimal, unicode, octal, letter = found.groups()
    if hexadecimal or unicode:
        number = int((hexadecimal or unicode).strip("{}"), 16)
        return chr(number) if number <= _LAST_CHARACTER else UNKNOWN
    if octal:
        return chr(int(octal, 8))
    return _ESCAPES.get(letter, letter)


# Cuts a script into names, texts, regular expressions and marks, so that data is told from code.
# What is interpolated into a text is code: its tokens follow those of the text.

_MAX_DEPTH = 10
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_NUMBER = re.compile(r"\d[\w.]*", re.ASCII)
_BLANK = re.compile(r"[ \t\r\f\v]+")
# `q{…}`; a blank may come before the delimiter, and comments after the blank.
_QUOTING_WORD = re.compile(
    r"(qq|qw|qx|qr|q|m|s|tr|y)\b(?:#|(?:\s+(?:#[^\n]*\n\s*)*)?(?!=>|,|;|\)|\}|=[^~]?\s)[^\w\s#])"
)


class Tokenizer:
    """One pass over a script.

    Where only a whole parser knows whether a slash divides, or `<<` shifts, there are two readings: each is made by
    one pass, and what any of them shows counts.
    """

    def __init__(
        self, source: str, syntax: Syntax, *, is_eager: bool = False, depth: int = 0, place: int = 0
    ) -> None:
        """Prepare it.

        Args:
            is_eager: take what may begin a text for one.
            depth: in how many texts this code is.
            place: where to begin.
        """
        self._source = source
        self._syntax = syntax
        self._is_eager = is_eager
        self._depth = depth
        self._place = place
        self._no_regex_before = 0
        self._tokens: list[Token] = []
        self._name = re.compile(syntax.name)
        self._mark = re.compile(syntax.marks)
        self._pending: list[tuple[int, str, str]] = []

    def tokens(self) -> list[Token]:
        """All of them."""
        self._documentation()
        while self._place < len(self._source):
            self._step()
        return self._tokens

    def tokens_of_block(self) -> tuple[list[Token], int]:
        """Those up to the brace that closes what was open before, and the place behind it."""
        braces, seen = 1, 0
        while self._place < len(self._source):
            self._step()
            for token in self._tokens[seen:]:
                braces += (token.text == "{") - (token.text == "}") if token.kind == "mark" else 0
            seen = len(self._tokens)
            if braces <= 0:
                break
        return self._tokens[:-1] if braces <= 0 else self._tokens, self._place

    def _step(self) -> None:
        if blank := _BLANK.match(self._source, self._place):
            self._place = blank.end()
            return
        char = self._source[self._place]
        if char == "\n":
            self._place += 1
            if not self._tokens or self._tokens[-1].kind != "line":
                self._tokens.append(Token("line", "\n"))
            self._bodies()
            self._documentation()
        elif not (self._comment() or self._quoted(char) or self._worded() or self._expression(char)):
            self._plain()

    def _documentation(self) -> None:
        """Pass over `=begin … =end`, where a statement may begin."""
        if self._syntax.documents is None:
            return
        start, end = self._syntax.documents
        last = next((token for token in reversed(self._tokens) if token.kind != "line"), Token("mark", ";"))
        if re.compile(start).match(self._source, self._place) and last.text in {";", "}", "end"}:
            found = re.compile(rf"\n{end}[^\n]*").search(self._source, self._place)
            self._place = found.end() if found else len(self._source)

    def _comment(self) -> bool:
        for start, end in self._syntax.blocks:
            if self._source.startswith(start, self._place):
                close = self._source.find(end, self._place + len(start))
                self._place = len(self._source) if close < 0 else close + len(end)
                return True
        if not self._source.startswith(self._syntax.comments, self._place):
            return False
        end_of_line = self._source.find("\n", self._place)
        self._place = len(self._source) if end_of_line < 0 else end_of_line
        return True

    def _quoted(self, char: str) -> bool:
        if self._syntax.long_text and (found := re.compile(r"\[(=*)\[").match(self._source, self._place)):
            self._place = found.end()
            self._tokens.append(Token("text", self._up_to(f"]{found[1]}]")))
            return True
        if char in self._syntax.interpolates:
            self._place += 1
            self._read_text("text", char, self._syntax.interpolates[char], is_raw=char in self._syntax.raw)
            return True
        if char == "?" and self._syntax.percent_quotes and not self._after_value():
            found = re.compile(r"\?(?:\\.|[^\s\w])").match(self._source, self._place)
            if found is not None:
                self._place = found.end()
                self._tokens.append(Token("text", found[0][-1]))
                return True
        if char == "`" and self._syntax.backtick != "name":
            self._place += 1
            is_command = self._syntax.backtick == "command"
            self._read_text("command" if is_command else "text", "`", self._marker or "${", is_raw=False)
            return True
        return self._syntax.has_heredocs and char == "<" and self._heredoc()

    def _worded(self) -> bool:
        """`q{…}`, `qw(…)`, `s/…/…/e` of Perl; `%w[…]` of Ruby."""
        if self._syntax.percent_quotes and (
            found := re.compile(r"%([qQwWiIxrs]?)([(\[{<|!/])").match(self._source, self._place)
        ):
            if self._after_value():
                return False
            self._place = found.end()
            kind: Kind = "command" if found[1] == "x" else "regex" if found[1] == "r" else "text"
            is_raw = found[1] in {"q", "w", "i", "s"}
            self._read_text(kind, found[2], "" if is_raw else self._marker, is_raw=is_raw)
            return True
        if not self._syntax.quote_words or self._after_sign():
            return False
        found = _QUOTING_WORD.match(self._source, self._place)
        if found is None:
            return False
        self._place = found.end()
        opening_mark = found[0][-1]
        first = self._delimited(opening_mark)
        word, second = found[1], ""
        if word in {"s", "tr", "y"}:
            if opening_mark in _PAIRS:
                opening = re.compile(r"\s*([^\w\s])").match(self._source, self._place)
                if opening is not None:
                    self._place = opening.end()
                    second = self._delimited(opening[1])
            else:
                second = self._until(opening_mark)
        flags = self._match(r"[a-z]*") if word in {"m", "qr", "s", "tr", "y"} else ""
        is_raw = word in {"q", "qw"} or opening_mark == "'"
        kind = self._syntax.quote_words[word]
        self._add(kind, first, "" if is_raw else self._marker, is_raw=is_raw)
        if word == "s":
            self._replacement(second, flags)
        return True

    def _replacement(self, text: str, flags: str) -> None:
        if flags.count("e") > 1:
            self._tokens.append(Token("name", "eval"))
            self._tokens.append(Token("text", UNKNOWN))
        elif "e" in flags:
            self._code(text)
        else:
            self._add("text", text, self._marker, is_raw=False)

    def _expression(self, char: str) -> bool:
        if not self._syntax.has_regexes or char != "/" or self._place < self._no_regex_before or self._after_value():
            return False
        start = self._place
        self._place += 1
        text = self._regex_until_slash()
        if text is None:
            self._no_regex_before, self._place = self._place, start
            return False
        self._add("regex", text, self._marker, is_raw=False)
        self._match(r"[a-z]*")
        return True

    def _regex_until_slash(self) -> str | None:
        in_class, start = False, self._place
        while self._place < len(self._source):
            char = self._source[self._place]
            if char == "\n":
                return None
            if char == "\\":
                self._place += 1
            elif char == "/" and not in_class:
                self._place += 1
                return self._source[start : self._place - 1]
            else:
                in_class = (in_class or char == "[") and char != "]"
            self._place += 1
        return None

    def _plain(self) -> None:
        if self._source[self._place] == UNKNOWN:
            self._place += 1
            self._tokens.append(Token("name", UNKNOWN))
        elif found := self._name.match(self._source, self._place):
            self._place = found.end()
            self._tokens.append(Token("name", found[0]))
        elif found := _NUMBER.match(self._source, self._place):
            self._place = found.end()
            self._tokens.append(Token("number", found[0]))
        else:
            mark = self._match(self._syntax.marks)
            if not mark:
                self._place += 1
            self._tokens.append(Token("mark", mark))

    # texts

    @property
    def _marker(self) -> str:
        """What begins code in a text of this language."""
        return next((mark for mark in self._syntax.interpolates.values() if mark), "")

    def _read_text(self, kind: Kind, opening: str, marker: str, *, is_raw: bool) -> None:
        """A text from behind its first mark."""
        if not (marker and self._syntax.nests):
            self._add(kind, self._delimited(opening), marker, is_raw=is_raw)
            return
        closing, level = _PAIRS.get(opening, opening), 1
        pieces: list[str] = []
        inside: list[Token] = []
        while self._place < len(self._source):
            char = self._source[self._place]
            if char == "\\":
                pieces.append(self._source[self._place : self._place + 2])
                self._place += 2
                continue
            if self._source.startswith((marker, "{$") if self._syntax.sigils else marker, self._place):
                self._place += 2 if char == "{" else len(marker)
                self._place -= char == "{"
                pieces.append(UNKNOWN)
                inside.extend(self._code_in_text())
                continue
            self._place += 1
            if char == closing:
                level -= 1
                if level == 0:
                    break
            elif char == opening:
                level += 1
            pieces.append(char)
        text, codes = (
            interpolated(self._syntax, "".join(pieces), marker) if self._syntax.sigils else ("".join(pieces), [])
        )
        self._tokens.append(Token(kind, text if kind == "regex" else unescaped(self._syntax, text)))
        if inside:
            self._tokens.extend((Token("mark", ";"), *inside, Token("mark", ";")))
        for code in codes:
            self._code(code)

    def _code_in_text(self) -> list[Token]:
        if self._depth >= _MAX_DEPTH:
            self._place = len(self._source)
            return [Token("name", "eval"), Token("mark", "("), Token("name", UNKNOWN), Token("mark", ")")]
        inner = Tokenizer(
            self._source, self._syntax, is_eager=self._is_eager, depth=self._depth + 1, place=self._place
        )
        tokens, self._place = inner.tokens_of_block()
        return tokens

    def _add(self, kind: Kind, text: str, marker: str, *, is_raw: bool) -> None:
        codes: list[str] = []
        if marker:
            text, codes = interpolated(self._syntax, text, marker)
        if is_raw:
            text = re.sub(r"\\([\\'])", r"\1", text)
        elif kind != "regex":
            text = unescaped(self._syntax, text)
        self._tokens.append(Token(kind, text))
        for code in codes:
            self._code(code)

    def _code(self, source: str) -> None:
        """Code inside a text."""
        if self._depth >= _MAX_DEPTH:
            self._tokens.extend((Token("name", "eval"), Token("text", UNKNOWN)))
            return
        self._tokens.append(Token("mark", ";"))
        self._tokens.extend(Tokenizer(source, self._syntax, is_eager=self._is_eager, depth=self._depth + 1).tokens())
        self._tokens.append(Token("mark", ";"))

    def _until(self, mark: str) -> str:
        start = self._place
        while self._place < len(self._source):
            char = self._source[self._place]
            self._place += 2 if char == "\\" else 1
            if char == mark:
                return self._source[start : self._place - 1]
        return self._source[start:]

    def _delimited(self, opening: str) -> str:
        closing = _PAIRS.get(opening)
        if closing is None:
            return self._until(opening)
        text, self._place = balanced(self._source, self._place, opening, closing)
        return text

    def _up_to(self, end: str) -> str:
        start, close = self._place, self._source.find(end, self._place)
        self._place = len(self._source) if close < 0 else close + len(end)
        return self._source[start : len(self._source) if close < 0 else close]

    def _heredoc(self) -> bool:
        found = re.compile(r"<<(<?[ \t]*|[~-]?)(?:\"(\w+)\"|'(\w+)'|`(\w+)`|([A-Z_]\w*))").match(
            self._source, self._place
        )
        if found is None:
            return False
        before = next((token for token in reversed(self._tokens)), Token("mark", ";"))
        is_sure = not found[5] or before.text in {"=", "(", ",", "=>", "print", "puts", "say", "echo", "return", ";"}
        if not is_sure and not self._is_eager:
            return False
        self._place = found.end()
        if len(self._pending) > _MAX_DEPTH:
            return False
        name = next(group for group in found.groups()[1:] if group)
        kind = "command" if found[4] else "raw" if found[3] else "text"
        self._tokens.append(Token("command" if kind == "command" else "text", UNKNOWN))
        end = rf"{name}\b" if "<" in found[1] else rf"{name}\r?(?:\n|\Z)"
        self._pending.append((len(self._tokens) - 1, kind, f"[ \t]*{end}" if found[1].strip() else end))
        return True

    def _bodies(self) -> None:
        """The bodies of the heredocs that the line before began."""
        pending, self._pending = self._pending, []
        for item in pending:
            index, kind, last_line = item
            end = re.compile(rf"^{last_line}", re.MULTILINE).search(self._source, self._place)
            body = self._source[self._place : end.start() if end else len(self._source)]
            self._place = end.end() if end else len(self._source)
            marker = next((mark for mark in self._syntax.interpolates.values() if mark), "") if kind != "raw" else ""
            plain, codes = interpolated(self._syntax, body, marker) if marker else (body, [])
            plain = plain if kind == "raw" else unescaped(self._syntax, plain)
            self._tokens[index] = Token("command" if kind == "command" else "text", plain)
            for code in codes:
                self._code(code)

    def _match(self, pattern: str) -> str:
        found = re.compile(pattern).match(self._source, self._place)
        if found is None:
            return ""
        self._place = found.end()
        return found[0]

    def _after_value(self) -> bool:
        """Whether the last token is a value, so that a slash divides."""
        last = next((token for token in reversed(self._tokens) if token.kind != "line"), None)
        if last is None:
            return False
        if last.kind == "mark":
            return last.text == "]" or (last.text in {")", "}", "++", "--"} and not self._is_eager)
        if last.kind != "name":
            return True
        return last.text not in self._syntax.before_regex and (not self._is_eager or last.text[0] in "$@%")

    def _after_sign(self) -> bool:
        """Whether the last token makes a plain name of what follows: `->s`, `{s}`, `&s`, `sub s`."""
        if not self._tokens:
            return False
        last = self._tokens[-1]
        if last.text in {"->", "&", "sub"}:
            return True
        if last.text == "-" and self._source[self._place - 1] == "-":
            return True  # `-s $file`
        return last.text == "{" and re.compile(r"\w+\s*\}").match(self._source, self._place) is not None


# Texts that scripts work out in well-known ways: the home, a path of parts.

_HOME = (
    ("process", ".", "env", ".", "HOME"),
    ("process", ".", "env", "[", "HOME", "]"),
    ("os", ".", "homedir", "(", ")"),
    ("require", "(", "os", ")", ".", "homedir", "(", ")"),
    ("require", "(", "node:os", ")", ".", "homedir", "(", ")"),
    ("ENV", "[", "HOME", "]"),
    ("ENV", ".", "fetch", "(", "HOME", ")"),
    ("Dir", ".", "home"),
    ("$ENV", "{", "HOME", "}"),
    ("getenv", "(", "HOME", ")"),
    ("os", ".", "getenv", "(", "HOME", ")"),
    ("Sys.getenv", "(", "HOME", ")"),
)
_HERE = (("process", ".", "cwd", "(", ")"), ("__dirname",), ("Dir", ".", "pwd"), ("getcwd", "(", ")"))
_JOINS = (
    ("path", ".", "join", "("),
    ("path", ".", "resolve", "("),
    ("File", ".", "join", "("),
    ("File", ".", "expand_path", "("),
)
_STARTS = frozenset(sequence[0] for sequence in (*_HOME, *_HERE, *_JOINS))


def with_known_values(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with texts in place of expressions whose value is known."""
    return _joined(_replaced(tokens))


def _replaced(tokens: Sequence[Token]) -> list[Token]:
    result: list[Token] = []
    place = 0
    while place < len(tokens):
        found, value = None, ""
        if tokens[place].kind == "name" and tokens[place].text in _STARTS:
            found = _matching(tokens, place, _HOME)
            value = home()
            if found is None:
                found, value = _matching(tokens, place, _HERE), "."
        if found is None:
            result.append(tokens[place])
            place += 1
        else:
            result.append(Token("text", value))
            place += found
    return result


def _joined(tokens: Sequence[Token]) -> list[Token]:
    result: list[Token] = []
    place = 0
    while place < len(tokens):
        found = (
            _matching(tokens, place, _JOINS)
            if tokens[place].kind == "name" and tokens[place].text in _STARTS
            else None
        )
        end = None if found is None else _end_of_texts(tokens, place + found)
        if found is None or end is None:
            result.append(tokens[place])
            place += 1
        else:
            parts = [token.text for token in tokens[place + found : end] if token.kind == "text"]
            result.append(Token("text", at_home(posixpath.join(*parts))))
            place = end + 1
    return result


def _matching(tokens: Sequence[Token], place: int, sequences: Sequence[tuple[str, ...]]) -> int | None:
    """How many tokens one of the sequences takes at `place`."""
    for sequence in sequences:
        if tuple(token.text for token in tokens[place : place + len(sequence)]) == sequence:
            return len(sequence)
    return None


def _end_of_texts(tokens: Sequence[Token], place: int) -> int | None:
    """Where the parenthesis closes, if there is nothing but texts before."""
    start = place
    while place < len(tokens) and (tokens[place].kind == "text" or tokens[place].text == ","):
        place += 1
    return place if place > start and place < len(tokens) and tokens[place].text == ")" else None
