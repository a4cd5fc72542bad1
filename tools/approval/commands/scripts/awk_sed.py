"""What programs of awk and scripts of sed would do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from tools.approval.commands.bash.reading import UNKNOWN
from tools.approval.commands.scripts.effects import (
    CONNECTS,
    HIDDEN,
    SHOWS_VARIABLES,
    TOO_MUCH,
    Effects,
    ScriptVerdict,
)
from tools.light_dataclass import dataclass

# Programs of awk: what they run, write and read besides their input.

_MAX_CHARS = 16_000


@dataclass(frozen=True, slots=True)
class _Token:
    kind: Literal["name", "text", "regex", "number", "mark", "end"]
    text: str


_AWK_BLANK = re.compile(r"(?:[ \t\r\f\v]|\\\r?\n|#[^\n]*)+")
_NAME = re.compile(r"[A-Za-z_]\w*(?:::\w+)?", re.ASCII)
_NUMBER = re.compile(r"(?:\d[\w.]*|\.\d\w*)", re.ASCII)
_TEXT = re.compile(r'"((?:[^"\\\n]|\\[\s\S])*+)"')
_REGEX = re.compile(r"/((?:[^/\\\n\[]|\\[^\n]|\[\^?+\]?+(?:[^\]\\\n]|\\[^\n]){0,200}+\])++)/")
_MARK = re.compile(r"\|&|\|\||&&|>>|[<>=!]=|[-+*/%^]=|\+\+|--|\*\*|!~|[\s\S]")
_SLASH = re.compile(r"(?<!\\)(?:\\\\)*/")
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|([\s\S]))")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "/": "/", '"': '"', "\n": ""}
# After these a slash begins an expression; after a value it divides.
_VALUE_MARKS = frozenset({")", "]", "$", "++", "--"})
_AWK_STREAMS = frozenset({"/dev/stdout", "/dev/stderr", "/dev/null", "-", "/dev/tty", "/dev/fd/1", "/dev/fd/2"})
_OPEN_VARIABLES = frozenset({"HOME", "USER", "PATH", "PWD", "LANG", "TERM", "COLUMNS", "SHELL"})
# What ends the expression behind `>`, `|` and `<`.
_ENDS = frozenset({";", "}", "\n", ")", "", "||", "&&", "?", ",", "|", ">", "<"})
_CHANGES_INPUT = frozenset({"ARGV", "ARGC", "PROCINFO", "SYMTAB", "FUNCTAB"})


def judge_awk(source: str, effects: Effects) -> ScriptVerdict:
    """How far a program of awk reaches. Safe: it prints, and reads nothing but the files that it is given."""
    if len(source) > _MAX_CHARS:
        effects.doubt()
        effects.add(TOO_MUCH)
        return effects.verdict
    tokens = _tokens(source)
    if UNKNOWN in source:
        effects.doubt()
    names = {token.text for token in tokens if token.kind == "name"}
    if "@" in {token.text for token in tokens if token.kind == "mark"}:
        # `@include`, `@load`, and calls of a function whose name is a value.
        effects.doubt()
        effects.add(HIDDEN)
    if names & _CHANGES_INPUT:
        effects.doubt()
    for place, token in enumerate(tokens):
        if token.kind == "regex" and _SLASH.search(token.text):
            effects.doubt()  # where it ends, each awk decides differently
        if token.text == UNKNOWN and _stands_alone(tokens, place):
            effects.add(HIDDEN)
        _look(tokens, place, token, effects)
    _look_at_output(tokens, effects)
    return effects.verdict


def _look(tokens: Sequence[_Token], place: int, token: _Token, effects: Effects) -> None:
    if token.kind == "name" and token.text == "system":
        effects.runs(_text_of(_inside(tokens[place + 1 :])))
    elif token.kind == "name" and token.text == "ENVIRON":
        _look_at_environment(tokens[place + 1 : place + 3], effects)
    elif token.kind == "name" and token.text == "getline":
        effects.doubt()
        _look_at_getline(tokens[:place], tokens[place + 1 :], effects)
    elif token.kind == "mark" and token.text == "|&" and not {CONNECTS, HIDDEN} & set(effects.found):
        effects.doubt()
        effects.add(CONNECTS if any("/inet" in other.text for other in tokens) else HIDDEN)


def _stands_alone(tokens: Sequence[_Token], place: int) -> bool:
    """Whether the token is a statement or more, not a value in one."""
    before = tokens[place - 1].text if place else ""
    return before in {"", "{", ";", "}", "\n"} and tokens[place + 1].text in {"", "}", ";", "\n", "{"}


def _look_at_output(tokens: Sequence[_Token], effects: Effects) -> None:
    """`print … > file`, `print … | command`: a `>` inside parentheses compares, as it does anywhere else."""
    place, prints, depth = 0, False, 0
    while place < len(tokens):
        token = tokens[place]
        if token.kind == "name" and token.text in {"print", "printf"}:
            prints, depth = True, 0
        elif token.kind == "mark" and prints:
            if token.text in "([":
                depth += 1
            elif token.text in ")]":
                depth -= 1
            elif depth <= 0 and token.text in {";", "\n", "}"}:
                prints = False
            elif depth <= 0 and token.text in {">", ">>"}:
                _write(_text_of(_until_end(tokens[place + 1 :])), effects)
            elif depth <= 0 and token.text == "|" and not _is_getline(tokens, place + 1):
                effects.feeds(_text_of(_until_end(tokens[place + 1 :])))
        place += 1


def _write(target: str, effects: Effects) -> None:
    effects.doubt()
    if target.startswith("/inet"):
        effects.add(CONNECTS)
    elif target not in _AWK_STREAMS:
        effects.writes(target)


def _look_at_environment(following: Sequence[_Token], effects: Effects) -> None:
    name = (
        following[1].text if len(following) > 1 and following[0].text == "[" and following[1].kind == "text" else ""
    )
    if name not in _OPEN_VARIABLES:
        effects.doubt()
        effects.add(SHOWS_VARIABLES)


def _look_at_getline(before: Sequence[_Token], following: Sequence[_Token], effects: Effects) -> None:
    if before and before[-1].text == "|":
        effects.runs(_text_of(_back_to_start(before[:-1])))
        return
    # `getline < file`, `getline name < file`
    rest = following[1:] if following and following[0].kind == "name" else following
    if rest and rest[0].text == "<":
        effects.reads(_text_of(_until_end(rest[1:])))


def _is_getline(tokens: Sequence[_Token], place: int) -> bool:
    return place < len(tokens) and tokens[place].text == "getline"


def _inside(tokens: Sequence[_Token]) -> list[_Token]:
    """What is between the parentheses that `tokens` begins with."""
    if not tokens or tokens[0].text != "(":
        return [_Token("name", "unknown")]
    depth, inside = 0, list[_Token]()
    for token in tokens:
        depth += (token.text == "(" and token.kind == "mark") - (token.text == ")" and token.kind == "mark")
        if depth == 0:
            break
        inside.append(token)
    return inside[1:]


def _until_end(tokens: Sequence[_Token]) -> list[_Token]:
    if tokens and tokens[0].text == "(" and tokens[0].kind == "mark":
        return _inside(tokens)
    taken: list[_Token] = []
    for token in tokens:
        if token.kind in {"mark", "end"} and token.text in _ENDS:
            break
        taken.append(token)
    return taken


def _back_to_start(tokens: Sequence[_Token]) -> list[_Token]:
    taken: list[_Token] = []
    for token in reversed(tokens):
        if token.kind == "mark" and token.text in {";", "{", "\n", "(", "}", "&&", "||", "!"}:
            break
        taken.append(token)
    return taken[::-1]


def _text_of(tokens: Sequence[_Token]) -> str:
    """The value of an expression of texts side by side; everything else is unknown."""
    plain = [token for token in tokens if not (token.kind == "mark" and token.text in "()")]
    if not plain:
        return UNKNOWN
    if any(token.kind == "mark" and token.text in {"?", ":", "=", ","} for token in plain):
        return UNKNOWN
    return "".join(token.text if token.kind in {"text", "number"} else UNKNOWN for token in plain)


def _tokens(source: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    while place < len(source):
        if blank := _AWK_BLANK.match(source, place):
            place = blank.end()
            continue
        token, place = _next(source, place, tokens[-1] if tokens else None)
        tokens.append(token)
    tokens.append(_Token("end", ""))
    return tokens


def _next(source: str, place: int, before: _Token | None) -> tuple[_Token, int]:
    if source[place] == UNKNOWN:
        return _Token("name", UNKNOWN), place + 1
    if found := _NAME.match(source, place):
        return _Token("name", found[0].rpartition("::")[2]), found.end()
    if found := _NUMBER.match(source, place):
        return _Token("number", found[0]), found.end()
    if found := _TEXT.match(source, place):
        return _Token("text", _ESCAPE.sub(_unescaped, found[1])), found.end()
    if not _is_value(before) and (found := _REGEX.match(source, place)):
        return _Token("regex", found[1]), found.end()
    found = _MARK.match(source, place)
    return _Token("mark", found[0] if found else source[place]), found.end() if found else place + 1


def _is_value(token: _Token | None) -> bool:
    if token is None:
        return False
    if token.kind == "mark":
        return token.text in _VALUE_MARKS
    return token.kind in {"number", "text", "regex"} or (
        token.kind == "name"
        and token.text not in {"print", "printf", "return", "in", "getline", "case", "else", "do"}
    )


def _unescaped(found: re.Match[str]) -> str:
    octal, hexadecimal, letter = found.groups()
    if octal:
        return chr(int(octal, 8) % 256)
    if hexadecimal:
        return chr(int(hexadecimal, 16))
    return _LETTERS.get(letter, letter)


# Scripts of sed: what they run, write and read besides their input.

_BRACKETS = r"\[\^?+\]?+(?:\[:\w{1,9}:\]|[^\]\n]){0,200}+\]"


def _up_to(mark: str, *, is_pattern: bool = True) -> str:
    """What stands before the next `mark` that is not escaped, and with patterns not in brackets, and the mark."""
    brackets = f"|{_BRACKETS}" if is_pattern else ""
    return rf"(?:\\[\s\S]{brackets}|(?!{mark})[^\\])*+{mark}"


def _address(name: str) -> str:
    other = rf"\\(?P<{name}>[^\n]){_up_to(f'(?P={name})')}"
    return rf"(?:[\d{UNKNOWN}]+(?:~\d+)?|\$|[+~]\d+|(?:/{_up_to('/')}|{other})[IM]*)"


_SED_COMMAND = re.compile(
    rf"""
    (?P<address> {_address("at1")} \s* (?: ,\s* {_address("at2")} )? )? [\ \t!]*
    (?: (?P<plain> [{{}}] | [btT:v][\ \t]*[^\s;}}]* | [aic](?:[^\\\n]|\\[\s\S])*\\? )
      | (?P<file> [rRwW])(?P<name> [^\n]*)
      | e(?P<command> [^\n]*)
      | (?: [=dDgGhHlLnNpPqQxzF][\ \t]*\d*
          | y(?P<each> [\s\S]){_up_to("(?P=each)", is_pattern=False)}{_up_to("(?P=each)", is_pattern=False)}
          | s(?P<mark> [^\\\n])(?P<pattern> {_up_to("(?P=mark)")}){_up_to("(?P=mark)", is_pattern=False)}
            [gpiImM\d]* (?P<runs> e)? [gpiImM\de]* (?: w(?P<target> [^\n]*) )? )
        (?= [\ \t\r]*(?: [;\n}}#] | \Z ) )
    )
    """,
    re.VERBOSE,
)
_SED_BLANK = re.compile(r"(?:[\s;{}]++|#[^\n]*+)*+")
_SED_STREAMS = frozenset({"/dev/stdout", "/dev/stderr"})


def judge_sed(source: str, effects: Effects) -> ScriptVerdict:
    """How far a script of sed reaches. Safe: it prints what it makes of its input, and names no file."""
    if len(source) > _MAX_CHARS:
        effects.doubt()
        effects.add(TOO_MUCH)
        return effects.verdict
    if UNKNOWN in source:
        effects.doubt()
    place = 0
    while (place := _end(_SED_BLANK, source, place)) < len(source):
        found = _SED_COMMAND.match(source, place)
        if found is None or found.end() == place:
            effects.doubt()  # nobody knows what the rest does; what runs and writes needs one of these letters
            if re.search(rf"[ewW{UNKNOWN}]", source[place:]):
                effects.add(HIDDEN)
            break
        place = found.end()
        _look_at_command(found, effects)
    return effects.verdict


def _end(pattern: re.Pattern[str], source: str, place: int) -> int:
    found = pattern.match(source, place)
    return found.end() if found else place


def _look_at_command(found: re.Match[str], effects: Effects) -> None:
    # Whether a mark counts in brackets, each sed decides differently.
    for pattern, mark in ((found["pattern"], found["mark"]), (found["address"], found["at1"] or found["at2"] or "/")):
        if pattern and any(mark in brackets for brackets in re.findall(_BRACKETS, pattern)):
            effects.doubt()
    if found["runs"] or found["command"] is not None:
        # Without a command, what stands in the input is run.
        effects.runs((found["command"] or "").strip() or UNKNOWN)
    name = found["name"] if found["file"] else found["target"]
    if name is not None:
        effects.doubt()
        if found["file"] and found["file"] in "rR":
            effects.reads(name.strip())
        elif name.strip() not in _SED_STREAMS:
            effects.writes(name.strip())
