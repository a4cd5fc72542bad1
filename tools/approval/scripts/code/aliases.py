"""Other names that a script gives to modules and to what is in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.approval.scripts.code.calls import bracketed
from tools.approval.scripts.code.syntax import Token

_MAX_ALIASES = 200
_MAX_TOKENS = 100


def aliases_in(tokens: Sequence[Token]) -> tuple[Mapping[str, str], frozenset[int]]:
    """By name, the dotted chain that it stands for: `const {rmSync: r} = require("fs")` gives `r` → `fs.rmSync`.

    Returns:
        the names, and the places of tokens that only say so: what they name is used elsewhere.
    """
    found: dict[str, str] = {}
    places: set[int] = set()
    for place, token in enumerate(tokens):
        if len(found) >= _MAX_ALIASES:
            break
        if token.kind == "mark" and token.text == "=":
            thing, end = _thing_at(tokens, place + 1, found)
            if thing:
                places.update(range(_bind(tokens, place - 1, thing, found), end))
        elif token.kind == "name" and token.text == "import":
            places.update(range(place, _import(tokens, place + 1, found)))
    return found, frozenset(places)


def _thing_at(tokens: Sequence[Token], place: int, known: Mapping[str, str]) -> tuple[str, int]:
    """The chain of names at `place`, if nothing is called there but `require`, and where it ends."""
    parts: list[str] = []
    while place < len(tokens):
        token = tokens[place]
        if token.kind == "name" and token.text in {"await", "new"} and not parts:
            place += 1
        elif token.kind == "name" and token.text in {"require", "import"} and not parts:
            inside, place = bracketed(tokens, place + 1) if place + 1 < len(tokens) else ([], place + 1)
            if len(inside) != 1 or inside[0].kind != "text":
                return "", place
            parts.append(inside[0].text.removeprefix("node:").replace("/", "."))
        elif token.kind == "name" and not parts:
            parts.append(known.get(token.text, token.text))
            place += 1
        elif token.text == "." and place + 1 < len(tokens) and tokens[place + 1].kind == "name":
            parts.append(tokens[place + 1].text)
            place += 2
        else:
            break
    if place < len(tokens) and tokens[place].text == "(":
        return "", place
    return ".".join(parts), place


def _bind(tokens: Sequence[Token], place: int, thing: str, found: dict[str, str]) -> int:
    """Note what is before the `=`; returns where that begins."""
    target = tokens[place] if place >= 0 else Token("mark", "")
    if target.kind == "name":
        if target.text != thing.partition(".")[0]:
            found[target.text] = thing
        return place
    if target.text != "}":
        return place + 1
    start = place
    while start > max(0, place - _MAX_TOKENS) and tokens[start].text != "{":
        start -= 1
    _bind_each(tokens[start + 1 : place], thing, ":", found)
    return start


def _bind_each(tokens: Sequence[Token], thing: str, renames: str, found: dict[str, str]) -> None:
    """`{a, b: c}` and `{a, b as c}`."""
    names = [token.text for token in tokens if token.kind == "name" or token.text in {renames, ","}]
    part: list[str] = []
    for name in (*names, ","):
        if name != ",":
            part.append(name)
        elif part:
            found[part[-1]] = f"{thing}.{part[0]}"
            part = []


def _import(tokens: Sequence[Token], place: int, found: dict[str, str]) -> int:
    """`import x, {a as b} from "m"`, `import * as x from "m"`; returns where it ends."""
    inside: list[Token] = []
    for count, token in enumerate(tokens[place : place + _MAX_TOKENS]):
        if token.kind == "name" and token.text == "from":
            following = tokens[place + count + 1 : place + count + 2]
            if following and following[0].kind == "text":
                _bind_imported(inside, following[0].text.removeprefix("node:").replace("/", "."), found)
            return place + count + 2
        if token.text in {";", "("}:
            break
        inside.append(token)
    return place


def _bind_imported(tokens: Sequence[Token], module: str, found: dict[str, str]) -> None:
    texts = [token.text for token in tokens]
    if "{" in texts:
        start = texts.index("{")
        end = texts.index("}") if "}" in texts else len(texts)
        _bind_each(tokens[start + 1 : end], module, "as", found)
        texts = texts[:start]
    for text in texts:
        if text not in {"*", "as", ",", "type"}:
            found[text] = module
