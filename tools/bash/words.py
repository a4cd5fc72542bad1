"""From a word as it is written to what the program gets (bash manual, 3.5)."""

from __future__ import annotations

import posixpath
import re
from typing import Protocol

from tools.bash.braces import words_of_braces
from tools.bash.budget import MAX_TEXT, MAX_WORDS, Budget, TooMuch
from tools.bash.escapes import unescaped
from tools.bash.fields import Fields
from tools.bash.lexing import NAME
from tools.bash.parameters import braced, sums_in
from tools.bash.reading import UNKNOWN, Argument
from tools.bash.scanning import Scanner
from tools.bash.scope import Scope, Value

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


def is_name(text: str) -> bool:
    """Whether `text` can be the name of a variable."""
    return NAME.fullmatch(text) is not None


def _inside(part: str, quote: str) -> str:
    return part[1:-1] if len(part) > 1 and part.endswith(quote) else part[1:]
