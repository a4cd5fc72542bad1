"""From a word as it is written to what the program gets (bash manual, 3.5)."""

from __future__ import annotations

import fnmatch
import itertools
import posixpath
import re
from collections.abc import Callable, Sequence
from typing import Protocol

from tools.approval.commands.bash.reading import MAX_EXPANDED, MAX_TEXT, MAX_WORDS, UNKNOWN, Argument, Budget, TooMuch
from tools.approval.commands.bash.scanner import Scanner
from tools.approval.commands.bash.state import Scope, Value

# Words while they are being expanded: where one ends, and what is known of it.

_GLOB = re.compile(r"[*?]|\[[^\]]*\]|[+@!]\(")


class Fields:
    """Collects words. With no `ifs`, nothing is split and nothing is a pattern."""

    def __init__(self, ifs: str | None) -> None:
        self.done: list[Argument] = []
        self._ifs = ifs
        self._text: list[str] = []
        self._patterns: list[str] = []
        self._is_open = False
        self._splits = False
        self._size = 0

    def quoted(self, text: str) -> None:
        """Text that means itself."""
        self._is_open = True
        self._add(text)
        self._patterns.append("x" * len(text))

    def plain(self, text: str) -> None:
        """Text that stands unquoted in the script: its patterns count, its blanks were cut before."""
        self._is_open = True
        self._add(text)
        self._patterns.append(text)
        self._splits = self._splits or UNKNOWN in text

    def split(self, value: str) -> None:
        """The value of an unquoted expansion: it is split, and its patterns count."""
        if self._ifs is None or not self._ifs:
            if value:
                self.plain(value)
            return
        for place, piece in enumerate(re.split(f"[{re.escape(self._ifs)}]+", value)):
            if place:
                self.close()
            if piece:
                self.plain(piece)

    def several(self, values: Sequence[str]) -> None:
        """Words of their own, the first and the last of which touch what is around them."""
        for place, value in enumerate(values):
            if place:
                self.close()
            self.quoted(value)

    def unknown(self, *, splits: bool) -> None:
        """Something that only the shell can know."""
        self.quoted(UNKNOWN)
        self._splits = self._splits or splits

    def unknown_number(self, value: str | None) -> None:
        """A number: one word, whatever it is."""
        self.quoted(UNKNOWN if value is None else value)

    def close(self) -> None:
        """End the word, where there is one."""
        if not self._is_open:
            return
        text = "".join(self._text)
        expands = self._ifs is not None and _GLOB.search("".join(self._patterns)) is not None
        self.done.append(Argument(text, expands=expands, splits=self._splits and self._ifs is not None))
        self._text, self._patterns = [], []
        self._is_open = self._splits = False

    def _add(self, text: str) -> None:
        self._size += len(text)
        if self._size > MAX_TEXT:
            raise TooMuch
        self._text.append(text)


# Brace expansion: `a{b,c}` is two words before anything else is looked at (bash manual, 3.5.1).

_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?")


def words_of_braces(word: str, lexer: Scanner) -> tuple[str, ...] | None:
    """The words that `word`, which `lexer` reads, becomes; None where they are more than anybody wants to see."""
    if "{" not in word:
        return (word,)
    for opened in _unquoted(word, lexer, "{"):
        parts = _parts(word, lexer, opened)
        if parts is None:
            continue
        values, closed = parts
        if len(values) > MAX_EXPANDED:
            return None
        rest = words_of_braces(word[closed:], lexer.deeper(word[closed:]))
        if rest is None:
            return None
        inner: list[str] = []
        for value in values:
            deeper = words_of_braces(value, lexer.deeper(value))
            if deeper is None:
                return None
            inner.extend(deeper)
        if len(inner) * len(rest) > MAX_EXPANDED:
            return None
        return tuple(word[:opened] + middle + end for middle, end in itertools.product(inner, rest))
    return (word,)


def _unquoted(word: str, lexer: Scanner, wanted: str) -> list[int]:
    places, place = [], 0
    while place < len(word):
        if word[place] in wanted:
            places.append(place)
        elif word[place] in "<>" and word.startswith("(", place + 1):
            place = lexer.script_end(place + 2)
            continue
        place = lexer.part_end(place)
    return places


def _parts(word: str, lexer: Scanner, opened: int) -> tuple[list[str], int] | None:
    """What stands between the braces, and where they end; None for braces that mean themselves."""
    depth, start, values = 0, opened + 1, []
    for place in _unquoted(word, lexer, "{},"):
        if place <= opened:
            continue
        if word[place] == "{":
            depth += 1
        elif word[place] == "}" and depth:
            depth -= 1
        elif not depth and word[place] == ",":
            values.append(word[start:place])
            start = place + 1
        elif not depth:
            if values:
                return [*values, word[start:place]], place + 1
            run = _range(word[start:place])
            return (run, place + 1) if run else None
    return None


def _range(text: str) -> list[str] | None:
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    first, last = found[1], found[2]
    if first.isalpha() != last.isalpha():
        return None
    low, high = (ord(first), ord(last)) if first.isalpha() else (int(first), int(last))
    step = abs(int(found[3] or 1)) or 1
    count = abs(high - low) // step + 1
    sign = 1 if high >= low else -1
    numbers = [low + sign * step * index for index in range(min(count, MAX_EXPANDED + 1))]
    if first.isalpha():
        return [chr(number) for number in numbers]
    width = max(len(first), len(last)) if re.match(r"-?0\d", first) or re.match(r"-?0\d", last) else 0
    return [str(number).zfill(width) for number in numbers]


# Backslash sequences of `$'…'`, `echo -e` and `printf` (bash manual, 3.1.2.4).

_SEQUENCE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|(0?[0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_THEMSELVES = frozenset("\\'\"?")


def unescaped(text: str, *, is_echo: bool = False) -> str:
    """`text` with its sequences resolved.

    Args:
        is_echo: as `echo -e` and `%b` do it: octal numbers begin with a zero, a `c` ends the text, and quotes stay
            escaped.
    """
    if "\\" not in text:
        return text
    if is_echo and (end := re.search(r"(?<!\\)(?:\\\\)*\\c", text)):
        text = text[: end.end() - 2]
    return _joined(_SEQUENCE.sub(lambda found: _value(found, is_echo=is_echo), text))


def _value(found: re.Match[str], *, is_echo: bool) -> str:
    hexadecimal, short, long, octal, control, letter = found.groups()
    if hexadecimal:
        return _byte(int(hexadecimal, 16))
    if short or long:
        number = int(short or long, 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"  # noqa: PLR2004
    if octal:
        return _byte(int(octal[: 4 if is_echo and octal[0] == "0" else 3], 8) & 0xFF) + (
            "" if is_echo and octal[0] == "0" else octal[3:]
        )
    if control:
        return chr(ord(control.upper()) & 0x1F)
    if letter in _LETTERS:
        return _LETTERS[letter]
    return letter if letter == "\\" or (letter in _THEMSELVES and not is_echo) else found[0]


def _byte(number: int) -> str:
    # Bytes beyond ASCII are joined to characters afterwards.
    return chr(number) if number < 0x80 else chr(0xDC00 + number)  # noqa: PLR2004


def _joined(text: str) -> str:
    if text.isascii():
        return text
    return re.sub(
        "[\udc80-\udcff]+",
        lambda found: found[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
        text,
    )


# `${…}` in all its forms (bash manual, 3.5.3).

_FORM = re.compile(
    r"(?P<mark>[#!]?)(?P<name>[A-Za-z_]\w*|[@*#?$!-]|\d+)(?:\[(?P<index>[^\]]*)\])?"
    r"(?P<operator>:[-=+?]|[-=+?]|##?|%%?|//|/#|/%|/|\^\^?|,,?|@[A-Za-z]|:)?(?P<rest>[\s\S]*)",
    re.ASCII,
)
_LENGTH = re.compile(r"#([A-Za-z_]\w*|[@*]|\d+)(?:\[([^\]]*)\])?", re.ASCII)
_MAX_MATCHED = 2000
_MAX_STARS = 2


def sums_in(content: str) -> tuple[str, ...]:
    """What of `${content}` is computed: a subscript, also of what `!name` names, and where a part begins and ends."""
    form = _FORM.fullmatch(content)
    if form is None:
        return ()
    return (
        form["index"] or "",
        form["name"] if form["mark"] == "!" else "",
        form["rest"] if form["operator"] == ":" else "",
    )


def braced(content: str, values: Words) -> Value | None:
    """The value of `${content}`; None where it is not known. Several values are a tuple."""
    if (length := _LENGTH.fullmatch(content)) is not None:
        return _length(values.value_of(length[1]), length[2])
    form = _FORM.fullmatch(content)
    if form is None:
        return None
    name = form["name"]
    if form["mark"] == "!":
        target = values.value_of(name)
        if not isinstance(target, str) or UNKNOWN in target or form["operator"] or form["rest"]:
            return None
        return braced(target, values)
    value = _item(values.value_of(name), form["index"], values)
    operator, rest = form["operator"] or "", form["rest"]
    if operator.lstrip(":")[:1] in {"-", "=", "+", "?"} and operator:
        return _default(name, value, operator, rest, values)
    if not operator:
        return value if not rest else None
    if value is None:
        return None
    if operator == ":":
        return _slice((UNKNOWN, *value) if name in "@*" and isinstance(value, tuple) else value, rest, values)
    if isinstance(value, tuple):
        changed = [_changed(item, operator, rest, values) for item in value]
        return tuple(UNKNOWN if item is None else item for item in changed)
    return _changed(value, operator, rest, values)


def _length(value: Value | None, index: str | None) -> str | None:
    if value is None:
        return None
    if isinstance(value, tuple):
        return str(len(value)) if index in {None, "@", "*"} else None
    return str(len(value)) if UNKNOWN not in value and not index else None


def _item(value: Value | None, index: str | None, values: Words) -> Value | None:
    if value is None or index in {"@", "*"}:
        return value
    if index is None:
        return value
    number = values.text(index)
    if not re.fullmatch(r"-?\d+", number):
        return None
    items = value if isinstance(value, tuple) else (value,)
    place = int(number)
    return items[place] if -len(items) <= place < len(items) else ""


def _default(name: str, value: Value | None, operator: str, rest: str, values: Words) -> Value | None:
    counts_empty = operator[0] == ":"
    kind = operator[-1]
    is_missing = not value and not values.is_set(name)
    is_empty = value is not None and counts_empty and not value
    if kind == "?":
        values.text(rest)  # what is said where there is no value
        return value
    if kind == "+":
        return "" if is_empty or (is_missing and value is not None) else values.text(rest)
    if not is_missing and not is_empty:
        return value
    # What the environment may have set is not known; what the script would do itself is.
    text = values.text(rest)
    if kind == "=":
        values.assign(name, text)
    return text


def _slice(value: Value, rest: str, values: Words) -> Value | None:
    start, _, count = values.text(rest).partition(":")
    if not re.fullmatch(r"\s*-?\d+\s*", start) or not re.fullmatch(r"\s*(-?\d+)?\s*", count):
        return None
    if isinstance(value, str) and UNKNOWN in value:
        return None
    first = int(start)
    first = max(len(value) + first, 0) if first < 0 else first
    if not count.strip():
        return value[first:]
    size = int(count)
    return value[first:size] if size < 0 else value[first : first + size]


def _changed(text: str, operator: str, rest: str, values: Words) -> str | None:
    if UNKNOWN in text or len(text) > _MAX_MATCHED:
        return None
    if operator[0] in "^,":
        change: Callable[[str], str] = str.upper if operator[0] == "^" else str.lower
        if rest:
            return None
        return change(text) if operator[1:] else change(text[:1]) + text[1:]
    if operator[0] == "@":
        return None
    if operator[0] in "#%":
        return _trimmed(text, operator, values.text(rest))
    return _replaced(text, operator, rest, values)


def _trimmed(text: str, operator: str, pattern: str) -> str | None:
    if UNKNOWN in pattern or pattern.count("*") > _MAX_STARS:
        return None
    matches = re.compile(fnmatch.translate(pattern)).match
    is_greedy = len(operator) > 1
    if operator[0] == "#":
        ends = range(len(text), -1, -1) if is_greedy else range(len(text) + 1)
        return next((text[end:] for end in ends if matches(text[:end])), text)
    starts = range(len(text) + 1) if is_greedy else range(len(text), -1, -1)
    return next((text[:start] for start in starts if matches(text[start:])), text)


def _replaced(text: str, operator: str, rest: str, values: Words) -> str | None:
    cut = re.match(r"((?:\\[\s\S]|[^/\\])+)(?:/([\s\S]*))?", rest)
    if cut is None:
        return text
    pattern, new = values.text(cut[1]), values.text(cut[2] or "")
    if UNKNOWN in pattern + new or re.search(r"[*?\[]", pattern) or operator not in {"/", "//"}:
        return None
    return text.replace(pattern, new, 1 if operator == "/" else -1)


_TILDE = re.compile(r"~([A-Za-z0-9._-]*|\+|-)(?=/|$|:)")
_PLAIN = re.compile(r"""[^\\'"$`<>]+""")
_BACKTICK_ESCAPE = re.compile(r"\\([\\$`])")
_MAY_VANISH = re.compile(r"\$@|\$\{(?:@|\w+\[@\])[^}]*\}")
_NAMED_TILDE = re.compile(r"[A-Za-z_]\w*=(?=~)", re.ASCII)
_BARE_NUMBERS = frozenset("#?$!-")


class Host(Protocol):
    """Who runs what a word contains."""

    def substitute(self, script: str) -> str | None:
        """Read the commands of a substitution. Returns what they print, where that is known."""

    def connect(self, script: str, direction: str) -> str:
        """Read the commands of `<(…)` or `>(…)`. Returns the path that stands for them."""

    def sum_up(self) -> None:
        """A sum is computed of what nobody knows: a subscript in it may run anything."""


class Words:
    """Expands words in one scope. `has_rest` is set once a word stood for arguments that nobody knows."""

    def __init__(self, scope: Scope, host: Host, budget: Budget, depth: int) -> None:
        self._scope = scope
        self._host = host
        self.budget = budget
        self._depth = depth
        self.has_rest = False

    def arguments(self, raw: str) -> list[Argument]:
        """The words that one word becomes."""
        self.budget.spend(2)
        lexer = Scanner(raw, self.budget, self._depth)
        words = words_of_braces(raw, lexer)
        fields = Fields(self._ifs())
        for word in words or (raw,):
            self._expand(word, fields)
            fields.close()
            if len(fields.done) > MAX_WORDS:
                raise TooMuch
        if words is None:
            return [Argument(field.text, expands=True, splits=field.splits) for field in fields.done]
        return fields.done

    def single(self, raw: str) -> Argument:
        """A word that stays one word: of an assignment, a redirection."""
        fields = Fields(None)
        self._expand(raw, fields, is_assignment=True)
        fields.close()
        return fields.done[0] if fields.done else Argument("")

    def document(self, body: str) -> str:
        """The text of a heredoc whose delimiter is not quoted."""
        fields = Fields(None)
        self._walk(body, fields, is_double=True, is_document=True)
        fields.close()
        return fields.done[0].text if fields.done else ""

    # The values that `${…}` needs.

    def value_of(self, name: str) -> Value | None:
        """The value of a variable or a special parameter."""
        scope = self._scope
        if name in {"@", "*"}:
            return scope.positional
        if name == "#":
            return None if scope.positional is None else str(len(scope.positional))
        if name in _BARE_NUMBERS:
            return None
        if name == "0":
            return scope.get(name)
        if name.isdecimal():
            if scope.positional is None:
                return None
            number = int(name)
            return scope.positional[number - 1] if number <= len(scope.positional) else ""
        return scope.get(name)

    def is_set(self, name: str) -> bool:
        """Whether the script gave it a value."""
        return self._scope.is_set(name)

    def text(self, raw: str) -> str:
        """A word with its expansions, as one text."""
        return self.single(raw).text

    def assign(self, name: str, value: str) -> None:
        """`${name:=value}`."""
        self._scope.set(name, value)

    # How a word is walked through.

    def _ifs(self) -> str | None:
        value = self._scope.get("IFS")
        return value if isinstance(value, str) and UNKNOWN not in value else None

    def _expand(self, word: str, fields: Fields, *, is_assignment: bool = False) -> None:
        start = 0
        if named := _NAMED_TILDE.match(word):
            fields.quoted(named[0])
            self._expand(word[named.end() :], fields, is_assignment=True)
            return
        if word.startswith("~") and (tilde := _TILDE.match(word)):
            home = self._home(tilde[1])
            fields.quoted(UNKNOWN if home is None else home)
            start = tilde.end()
        if is_assignment and ":~" in word and "'" not in word and '"' not in word:
            word = word.replace(":~/", ":" + (self._home("") or UNKNOWN) + "/")
        self._walk(word[start:] if start else word, fields)

    def _home(self, name: str) -> str | None:
        if name in {"+", "-"}:
            return self._scope.cwd if name == "+" else self._scope.before
        home = self._scope.get("HOME")
        if not name or name == self._scope.get("USER"):
            return home if isinstance(home, str) else None
        return "/root" if name == "root" else posixpath.join("/home", name)

    def _walk(self, raw: str, fields: Fields, *, is_double: bool = False, is_document: bool = False) -> None:
        lexer = Scanner(raw, self.budget, self._depth)
        place = 0
        while place < len(raw):
            self.budget.spend()
            plain = _PLAIN.match(raw, place)
            if plain:
                self._plain(plain[0], fields, is_double=is_double)
                place = plain.end()
                continue
            char = raw[place]
            if char in "<>" and not is_double and raw.startswith("(", place + 1):
                end = lexer.script_end(place + 2)
                fields.quoted(self._host.connect(raw[place + 2 : end - 1], char))
            else:
                end = lexer.part_end(place, in_double=is_double)
                self._part(raw[place:end], fields, is_double=is_double, is_document=is_document)
            place = end

    def _plain(self, text: str, fields: Fields, *, is_double: bool) -> None:
        if len(text) > MAX_TEXT:
            raise TooMuch
        if is_double:
            fields.quoted(text)
        else:
            fields.plain(text)

    def _part(self, part: str, fields: Fields, *, is_double: bool, is_document: bool) -> None:
        first = part[0]
        if first == "\\":
            self._escape(part, fields, is_double=is_double, is_document=is_document)
        elif first == "'" and not is_double:
            fields.quoted(part[1:-1] if len(part) > 1 and part.endswith("'") else part[1:])
        elif first == '"' and not is_double:
            inner = _inside(part, '"')
            if not _MAY_VANISH.fullmatch(inner):
                fields.quoted("")
            self._walk(inner, fields, is_double=True)
        elif first == "`":
            inner = _BACKTICK_ESCAPE.sub(r"\1", _inside(part, "`"))
            inner = inner.replace('\\"', '"') if is_double and not is_document else inner
            self._value(self._host.substitute(inner), fields, is_double=is_double)
        elif first == "$" and len(part) > 1:
            self._dollar(part, fields, is_double=is_double)
        else:
            self._plain(part, fields, is_double=is_double)

    def _escape(self, part: str, fields: Fields, *, is_double: bool, is_document: bool) -> None:
        if part == "\\\n":
            return
        special = "$`\\" if is_document else '$`"\\'
        if is_double and part[1:] not in special:
            fields.quoted(part)
        else:
            fields.quoted(part[1:] or "\\")

    def _dollar(self, part: str, fields: Fields, *, is_double: bool) -> None:
        follows = part[1]
        if follows == "'":
            fields.quoted(unescaped(part[2:-1] if part.endswith("'") else part[2:]))
        elif follows == '"':
            self._part(part[1:], fields, is_double=False, is_document=False)
        elif part.startswith("$((") and part.endswith("))") and Scanner(part, self.budget).sum_end(1) == len(part):
            fields.unknown_number(self._number(part[3:-2]))
        elif follows == "[":
            fields.unknown_number(self._number(part[2:-1]))
        elif follows == "(":
            script = part[2:-1] if part.endswith(")") else part[2:]
            self._value(self._host.substitute(script), fields, is_double=is_double)
        elif follows == "{":
            self._braced(part, fields, is_double=is_double)
        else:
            self._named(part[1:], fields, is_double=is_double)

    def arithmetic(self, raw: str) -> None:
        """The variables of a sum: their values are sums too, and what a subscript there runs is run."""
        seen = set[str]()
        texts = [*self._values_in(raw, seen), *((self._scope.positional or ()) if "$" in raw else ())]
        while texts:
            self.budget.spend()
            text = texts.pop()
            if UNKNOWN in text:
                self._host.sum_up()
            if "[" in text and ("$(" in text or "`" in text):
                self.document(text)
            texts += self._values_in(text, seen)

    def _values_in(self, text: str, seen: set[str]) -> list[str]:
        names = set(re.findall(r"[A-Za-z_]\w*", text, re.ASCII)) - seen
        seen |= names
        return [value for name in sorted(names) for value in self._scope.texts(name)]

    def _number(self, raw: str) -> str | None:
        """Arithmetic is not computed but for a plain number; its substitutions run, its assignments count."""
        self.arithmetic(raw)
        text = self.document(raw).strip()
        for name in re.findall(r"([A-Za-z_]\w*)\s*(?:\+\+|--|[-+*/%&|^]?=(?!=))", text, re.ASCII):
            self._scope.set(name, UNKNOWN)
        return text if re.fullmatch(r"\d+", text) and not text.startswith("0") else None

    def _braced(self, part: str, fields: Fields, *, is_double: bool) -> None:
        content = part[2:-1] if part.endswith("}") else part[2:]
        self.arithmetic(" ".join(sums_in(content)))
        value = braced(content, self)
        if prompt := re.fullmatch(r"([A-Za-z_]\w*)@P", content, re.ASCII):
            # It is expanded as a prompt is, with its substitutions.
            text = self._scope.get(prompt[1])
            self.document(text if isinstance(text, str) else "")
        if value is None or "$(" in content or "`" in content:
            self.document(content)  # for the substitutions inside, also where the value needs none of them
        if re.match(r"[@*](?!\w)|[!]?[A-Za-z_]\w*\[[@*]\]", content, re.ASCII):
            self._several(value, fields, is_double=is_double, joins="*" in content[:2] or "[*]" in content)
        elif isinstance(value, tuple):
            self._value(value[0] if value else "", fields, is_double=is_double)
        elif value is None and content[:1] in _BARE_NUMBERS:
            fields.unknown_number(None)
        else:
            self._value(value, fields, is_double=is_double)

    def _named(self, name: str, fields: Fields, *, is_double: bool) -> None:
        value = self.value_of(name)
        if name in {"@", "*"}:
            self._several(value, fields, is_double=is_double, joins=name == "*")
        elif value is None and name in _BARE_NUMBERS:
            fields.unknown_number(None)
        elif isinstance(value, tuple):
            self._value(value[0] if value else "", fields, is_double=is_double)
        else:
            self._value(value, fields, is_double=is_double)

    def _several(self, value: Value | None, fields: Fields, *, is_double: bool, joins: bool) -> None:
        if value is None or value == UNKNOWN:
            self.has_rest = self.has_rest or not (is_double and joins)
            fields.unknown(splits=not (is_double and joins))
            return
        items = value if isinstance(value, tuple) else (value,)
        if is_double and joins:
            fields.quoted(" ".join(items))
        elif is_double:
            fields.several(items)
        else:
            for place, item in enumerate(items):
                if place:
                    fields.close()
                fields.split(item)

    def _value(self, value: Value | None, fields: Fields, *, is_double: bool) -> None:
        if value is None:
            fields.unknown(splits=not is_double)
        elif is_double:
            fields.quoted(value if isinstance(value, str) else " ".join(value))
        else:
            fields.split(value if isinstance(value, str) else " ".join(value))


def _inside(part: str, quote: str) -> str:
    return part[1:-1] if len(part) > 1 and part.endswith(quote) else part[1:]
