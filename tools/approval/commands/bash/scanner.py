"""Lexing, and the skeleton of a script: what the grammar is given to parse."""

from __future__ import annotations

import re

from tools.approval.commands.bash.reading import Budget, check_depth
from tools.light_dataclass import dataclass

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_IN_DOUBLE = re.compile(r'[^"\\$`]+')
_PLAIN_IN_BRACES = re.compile(r"""[^}'"\\$`]+""")
_PLAIN_IN_SUM = re.compile(r"""[^()'"\\$`]+""")
_SPECIAL = frozenset("@*#?-$!0123456789")


# The skeleton of a script: its text with each word blotted out, so that the grammar sees only what joins the words.
# Heredocs, comments and continued lines are taken out of the text, so that places in text and skeleton are the same.

_KEYWORD = re.compile(
    r"(?:then|do|else|elif|if|while|until|\{|!|time|coproc|case|esac|for|select|function|\[\[|done|fi|\})"
    r"(?=[ \t\n;&|()<>]|$)"
)
_PLAIN = re.compile(r"[^ \t\n;&|()<>'\"\\$`]+")
_DESCRIPTOR = re.compile(r"\d+(?=[<>])")
_OPERATOR = re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|]")
_REDIRECT = re.compile(r"&>>|&>|>>|>\||>&|<>|<&|<<<|<|>")
_DELIMITER = re.compile(r"""<<-?[ \t]*((?:[^ \t\n;&|()<>'"\\]|'[^']*'|"[^"]*"|\\.)+)""")
_ARRAY_NAME = re.compile(r"[A-Za-z_]\w*(?:\[[^\]\s]*\])?\+?=", re.ASCII)
_FOR_HEAD = re.compile(r"[A-Za-z_]\w*(?:[ \t\n]*(?:#[^\n]*\n)?)*?(?:[ \t\n]+in(?=[ \t\n;]))?", re.ASCII)
_BLANKS = re.compile(r"(?:[ \t]|\\\n)*")
_WIDE_BLANKS = re.compile(r"(?:[ \t\n]|\\\n|(?:(?<=\s)|^)#[^\n]*)*")
_ENDS_CASE = re.compile(r"(?:[ \t\n]|\\\n|#[^\n]*+)*+;[;&]")
_COPROC = re.compile(r"[ \t]+[A-Za-z_]\w*(?=[ \t]*[{(])", re.ASCII)
# Between one of these and one of the next, bash needs no separator, but the grammar does.
_CLOSING = frozenset({"done", "fi", "}", "esac"})
_NEXT = _CLOSING | {"then", "do", "else", "elif"}


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a heredoc."""

    body: str
    is_quoted: bool


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A script's text, and the same with its words blotted out.

    Attributes:
        documents: by the place of the `<` that stands for them in both.
        loose: places of texts outside of commands that may hold substitutions: patterns, arithmetic.
        coprocesses: places where a command begins that runs beside the script.
    """

    text: str
    mask: str
    documents: dict[int, Document]
    loose: tuple[tuple[int, int], ...]
    coprocesses: frozenset[int]
    is_broken: bool


def skeleton_of(text: str, budget: Budget, depth: int = 0) -> Skeleton:
    """Take the words out of `text`. Raises `TooMuch` where it is too tangled."""
    return Scanner(text, budget, depth).skeleton()


class Scanner:
    """Finds ends in `raw`, and goes through its commands from `at` on.

    What is never closed reaches to the end of the text, and makes the text broken.
    """

    def __init__(self, raw: str, budget: Budget, depth: int = 0, at: int = 0) -> None:
        check_depth(depth)
        self.raw = raw
        self.budget = budget
        self.is_broken = False
        self._depth = depth
        self._at = at
        self._text: list[str] = []
        self._mask: list[str] = []
        self._size = 0
        self._documents: dict[int, Document] = {}
        self._pending: list[tuple[int, str, bool, bool]] = []
        self._loose: list[tuple[int, int]] = []
        self._coprocesses: set[int] = set()
        self._awaits_coprocess = False
        self._nest: list[str] = []
        self._starts = True  # the next word begins a command
        self._in_word = False
        self._named = False  # only one word of the command was seen
        self._after_block = False

    def skeleton(self) -> Skeleton:
        """The skeleton of the whole text."""
        self._scan(closing=False)
        return Skeleton(
            "".join(self._text),
            "".join(self._mask),
            self._documents,
            tuple(self._loose),
            frozenset(self._coprocesses),
            self.is_broken,
        )

    def script_end(self, at: int) -> int:
        """The end of a command substitution whose commands begin at `at`."""
        inner = Scanner(self.raw, self.budget, self._depth + 1, at)
        end = inner._scan(closing=True)
        self.is_broken = self.is_broken or inner.is_broken
        return end

    def deeper(self, raw: str) -> Scanner:
        """For a part of the text, one level deeper."""
        return Scanner(raw, self.budget, self._depth + 1)

    # The parts of a word: quotes, escapes and expansions (bash manual, 3.1.2 and 3.5).

    def part_end(self, at: int, *, in_double: bool = False) -> int:
        """The end of the quote, escape or expansion that begins at `at`; one character where none does."""
        self.budget.spend()
        first = self.raw[at]
        if first == "\\":
            return min(at + 2, len(self.raw))
        if first == "'" and not in_double:
            return self._after("'", at + 1)
        if first == '"' and not in_double:
            return self.double_end(at)
        if first == "`":
            return self.backtick_end(at)
        if first == "$":
            return self._dollar_end(at, in_double=in_double)
        return at + 1

    def double_end(self, at: int) -> int:
        """The end of the double quotes that open at `at`."""
        return self._until('"', at + 1, _PLAIN_IN_DOUBLE, in_double=True)

    def backtick_end(self, at: int) -> int:
        """The end of the backticks that open at `at`."""
        found = re.compile(r"(?:[^`\\]|\\[\s\S])*+`").match(self.raw, at + 1)
        return found.end() if found else self._broken()

    def braces_end(self, at: int, *, in_double: bool) -> int:
        """The end of the `${` at `at`."""
        return self._until("}", at + 2, _PLAIN_IN_BRACES, in_double=in_double)

    def sum_end(self, at: int) -> int | None:
        """The end of `((…))` at `at`; None where it is no arithmetic but two parentheses of commands."""
        place, opened, was_broken = at + 2, 0, self.is_broken
        while place < len(self.raw):
            self.budget.spend()
            if plain := _PLAIN_IN_SUM.match(self.raw, place):
                place = plain.end()
                continue
            char = self.raw[place]
            if char == ")" and not opened:
                self.is_broken = was_broken
                return place + 2 if self.raw.startswith("))", place) else None
            opened += {"(": 1, ")": -1}.get(char, 0)
            place = self.part_end(place)
        self.is_broken = was_broken
        return None

    def _dollar_end(self, at: int, *, in_double: bool) -> int:
        raw = self.raw
        follows = raw[at + 1 : at + 2]
        if follows == "(":
            if raw.startswith("((", at + 1) and (end := self.sum_end(at + 1)) is not None:
                return end
            return self.script_end(at + 2)
        if follows == "{":
            return self.braces_end(at, in_double=in_double)
        if follows == "[":  # the old way to write arithmetic
            return self._until("]", at + 2, re.compile(r"[^\]'\"\\$`]+"), in_double=True)
        if follows == "'" and not in_double:
            found = re.compile(r"(?:[^'\\]|\\[\s\S])*+'").match(raw, at + 2)
            return found.end() if found else self._broken()
        if follows == '"' and not in_double:
            return self.double_end(at + 1)
        if name := _NAME.match(raw, at + 1):
            return name.end()
        return at + 2 if follows in _SPECIAL and follows else at + 1

    def _until(self, closing: str, at: int, plain: re.Pattern[str], *, in_double: bool) -> int:
        place = at
        while place < len(self.raw):
            if self.raw[place] == closing:
                return place + 1
            run = plain.match(self.raw, place)
            if run:
                place = run.end()
            elif self.raw[place] == '"' and in_double and closing != '"':
                place = self.double_end(place)
            else:
                place = self.part_end(place, in_double=in_double)
        return self._broken()

    def _after(self, closing: str, at: int) -> int:
        found = self.raw.find(closing, at)
        return found + 1 if found >= 0 else self._broken()

    def _broken(self) -> int:
        self.is_broken = True
        return len(self.raw)

    # The commands.

    def _scan(self, *, closing: bool) -> int:
        while self._at < len(self.raw):
            self.budget.spend()
            if closing and self.raw[self._at] == ")" and not self._nest:
                return self._at + 1
            self._step(self.raw[self._at])
        if closing or self._nest:
            self.is_broken = True
        for start, delimiter, strips_tabs, is_quoted in self._pending:
            del delimiter, strips_tabs
            self._documents[start] = Document("", is_quoted)
        return self._at

    def _step(self, char: str) -> None:
        if char in " \t":
            self._keep(1)
            self._in_word = False
        elif self.raw.startswith("\\\n", self._at):
            self._at += 2
        elif self._nest and self._nest[-1] == "pattern":
            self._pattern(char)
        elif char == "\n":
            self._newline()
        elif char == "#" and not self._in_word:
            self._at = self._line_end()
        elif char in ";&|" and not self.raw.startswith("&>", self._at):
            self._operator()
        elif char == "(":
            self._opened()
        elif char == ")":
            self._closed()
        elif char in "<>&":
            self._redirect()
        else:
            self._word()

    # What is put out.

    def _keep(self, count: int) -> None:
        self._put(self.raw[self._at : self._at + count], self.raw[self._at : self._at + count])

    def _hide(self, end: int) -> None:
        text = self.raw[self._at : end]
        self._put(text, "x" * len(text))

    def _put(self, text: str, mask: str) -> None:
        self._text.append(text)
        self._mask.append(mask)
        self._size += len(text)
        self._at += len(text)

    def _insert(self, joint: str) -> None:
        """Put something out that the grammar needs and bash does not."""
        self._text.append(joint)
        self._mask.append(joint)
        self._size += len(joint)

    def _line_end(self) -> int:
        found = self.raw.find("\n", self._at)
        return found if found >= 0 else len(self.raw)

    # Words.

    def _word(self) -> None:
        if not self._in_word:
            if self._starts and (keyword := _KEYWORD.match(self.raw, self._at)):
                self._keyword(keyword[0])
                return
            self._begin()
            self._named, self._starts = self._starts, False
            self._in_word, self._after_block = True, False
            if number := _DESCRIPTOR.match(self.raw, self._at):
                self._keep(len(number[0]))
                return
        if plain := _PLAIN.match(self.raw, self._at):
            self._plain(plain)
            return
        self._hide(self.part_end(self._at))

    def _begin(self) -> None:
        """A command begins here."""
        if self._awaits_coprocess:
            self._coprocesses.add(self._size)
            self._awaits_coprocess = False

    def _plain(self, plain: re.Match[str]) -> None:
        start = self._at
        self._hide(plain.end())
        if not self.raw.startswith("(", self._at):
            return
        is_array = _ARRAY_NAME.fullmatch(plain[0]) and not self.raw[start - 1 : start].strip(" \t\n;&|(")
        if is_array or plain[0][-1] in "?*+@!":
            self._hide_group()

    def _hide_group(self) -> None:
        """Take parentheses that belong to a word: the values of an array, an extended pattern."""
        place = self._at + 1
        opened = 1
        while place < len(self.raw) and opened:
            char = self.raw[place]
            opened += {"(": 1, ")": -1}.get(char, 0)
            if char in "<>" and self.raw.startswith("(", place + 1):
                place = self.script_end(place + 2)
            else:
                place = self.part_end(place)
        self.is_broken = self.is_broken or opened > 0
        self._hide(min(place, len(self.raw)))

    def _keyword(self, word: str) -> None:
        if word not in {"time", "coproc", "!"}:
            self._begin()
        if word == "[[":
            self._test()
        elif word == "case":
            self._case()
        elif word in {"for", "select"}:
            self._for(word)
        elif word == "function":
            self._keep(len(word))
            self._keep(_BLANKS.match(self.raw, self._at).end() - self._at)  # type: ignore[union-attr]
            while self._at < len(self.raw) and self.raw[self._at] not in " \t\n;&|()<>":
                self._hide(self._at + 1)
            self._named = self._starts = True
        elif word in {"time", "coproc", "!"}:
            self._prefix(word)
        else:
            if self._after_block and word in _NEXT:
                self._insert(";")
            self._keep(len(word))
            if word == "esac" and self._nest and self._nest[-1] == "case":
                self._nest.pop()
            self._after_block = word in _CLOSING

    def _prefix(self, word: str) -> None:
        """A word before a command that is no part of it: blotted out without a trace."""
        end = self._at + len(word)
        if word == "coproc":
            self._awaits_coprocess = True
            if name := _COPROC.match(self.raw, end):
                end = name.end()
        elif word == "time" and (option := re.compile(r"[ \t]+-p(?=[ \t])").match(self.raw, end)):
            end = option.end()
        text = self.raw[self._at : end]
        self._put(text, " " * len(text))

    def _test(self) -> None:
        place = self._at + 2
        while place < len(self.raw):
            if self.raw.startswith("]]", place) and self.raw[place - 1] in " \t\n":
                self._loose.append((self._size + 2, self._size + place - self._at))
                self._hide(place + 2)
                self._starts = self._in_word = False
                return
            place = self.part_end(place)
        self.is_broken = True
        self._hide(len(self.raw))

    def _for(self, word: str) -> None:
        # The grammar knows `select` only in parts, and it is read like `for`.
        self._put(word, "for".ljust(len(word)))
        self._keep(len(_BLANKS.match(self.raw, self._at)[0]))  # type: ignore[index]
        if self.raw.startswith("((", self._at) and (end := self.sum_end(self._at)) is not None:
            text = self.raw[self._at : end]
            self._loose.append((self._size, self._size + len(text)))
            ends_alone = re.compile(r"[ \t]*[;\n]").match(self.raw, end)
            self._put(text, "x in " + "x" * (len(text) - 6) + ("x" if ends_alone else ";"))
            self._starts = not ends_alone
        elif head := _FOR_HEAD.match(self.raw, self._at):
            name = re.compile(r"\w+").match(head[0])
            size = name.end() if name else 0
            self._put(head[0], "x" * size + head[0][size:])
            self._starts = not re.search(r"\sin$", head[0])
            self._after_block = self._starts

    def _case(self) -> None:
        self._keep(4)
        self._keep_blanks()
        start = self._size
        while self._at < len(self.raw) and self.raw[self._at] not in " \t\n;&|()<>":
            self._hide(self.part_end(self._at))
        self._loose.append((start, self._size))
        self._keep_blanks()
        if self.raw.startswith("in", self._at):
            self._keep(2)
            self._nest.append("pattern")
        else:
            self.is_broken = True

    def _keep_blanks(self) -> None:
        blanks = _WIDE_BLANKS.match(self.raw, self._at)
        text = blanks[0] if blanks else ""
        self._put(text, re.sub(r"[^\n]", " ", text))

    def _pattern(self, char: str) -> None:
        if char == "\n" or (char == "#" and not self._in_word):
            self._keep_blanks()
            return
        if re.compile(r"esac(?=[ \t\n;&|()<>]|$)").match(self.raw, self._at):
            self._keep(4)
            self._nest.pop()
            self._starts, self._in_word = True, False
            return
        if char == "(":
            self._put("(", " ")
        start, opened = self._at, 0
        while start < len(self.raw) and (self.raw[start] != ")" or opened):
            opened += {"(": 1, ")": -1}.get(self.raw[start], 0)
            start = self.part_end(start)
        self._loose.append((self._size, self._size + start - self._at))
        self._hide(start)
        self.is_broken = self.is_broken or self._at >= len(self.raw)
        self._keep(1)
        self._nest[-1] = "case"
        self._starts, self._in_word = True, False

    # What joins words.

    def _newline(self) -> None:
        ends_command = self._after_block or not self._starts
        place = len(self._mask)
        self._keep(1)
        self._in_word, self._starts, self._after_block = False, True, False
        pending, self._pending = self._pending, []
        for start, delimiter, strips_tabs, is_quoted in pending:
            lines = []
            while self._at < len(self.raw):
                self.budget.spend()
                line = self._document_line(joins=not is_quoted)
                line = line.lstrip("\t") if strips_tabs else line
                if line == delimiter:
                    break
                lines.append(line + "\n")
            self._documents[start] = Document("".join(lines), is_quoted)
        if ends_command and not _ENDS_CASE.match(self.raw, self._at):
            # The grammar loses sight of a line's end behind a longer pipe.
            self._mask[place] = ";"

    def _document_line(self, *, joins: bool) -> str:
        """The next line of a heredoc; one that goes on in the next (`joins`) is no delimiter for itself."""
        line = ""
        while self._at < len(self.raw):
            end = self._line_end()
            line += self.raw[self._at : end]
            self._at = min(end + 1, len(self.raw))
            if not joins or (len(line) - len(line.rstrip("\\"))) % 2 == 0:
                break
            line = line[:-1]
            self.budget.spend()
        return line

    def _operator(self) -> None:
        operator = _OPERATOR.match(self.raw, self._at)
        self._keep(len(operator[0]) if operator else 1)
        self._in_word, self._starts, self._after_block = False, True, False
        if operator and operator[0] in {";;", ";&", ";;&"} and self._nest and self._nest[-1] == "case":
            self._nest[-1] = "pattern"

    def _opened(self) -> None:
        self._begin()
        empty = re.compile(r"\([ \t]*\)").match(self.raw, self._at)
        if self._starts and self.raw.startswith("((", self._at) and (end := self.sum_end(self._at)) is not None:
            self._loose.append((self._size, self._size + end - self._at))
            self._hide(end)
            self._starts = self._in_word = False
            return
        if empty and self._named:
            self._keep(len(empty[0]))
        else:
            self._keep(1)
            self._nest.append("(")
            self._insert(" ")
        self._starts, self._in_word = True, False

    def _closed(self) -> None:
        if self._nest and self._nest[-1] == "(":
            self._nest.pop()
        else:
            self.is_broken = True
        self._keep(1)
        self._starts, self._in_word, self._after_block = True, False, True

    def _redirect(self) -> None:
        raw = self.raw
        if raw.startswith(("<(", ">("), self._at):
            self._named, self._starts, self._in_word = self._starts, False, True
            self._hide(self.script_end(self._at + 2))
            return
        self._starts = self._in_word = False
        if raw.startswith("<<", self._at) and not raw.startswith("<<<", self._at):
            self._heredoc()
            return
        operator = _REDIRECT.match(raw, self._at)
        text = operator[0] if operator else raw[self._at]
        # The grammar does not know the first one, and the second not everywhere.
        self._put(text, "<".ljust(len(text)) if text in {"<>", "<<<"} else text)

    def _heredoc(self) -> None:
        found = _DELIMITER.match(self.raw, self._at)
        if found is None:
            self.is_broken = True
            self._keep(2)
            return
        word = found[1]
        strips_tabs = self.raw.startswith("<<-", self._at)
        delimiter = re.sub(r"\\(.)|['\"]", lambda part: part[1] or "", word)
        self._pending.append((self._size, delimiter, strips_tabs, word != delimiter))
        self._put(found[0], "<" + "x" * (len(found[0]) - 1))
