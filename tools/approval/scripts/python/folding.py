"""The text that an expression of Python makes, as far as it can be told: joined, formatted, decoded."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import posixpath
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress

from tools.approval.scripts.homes import at_home, home
from tools.approval.scripts.python.names import Names
from tools.bash.reading import UNKNOWN

_MAX_CHARS = 64_000
_MAX_DEPTH = 40
_LAST_CHARACTER = 0x10FFFF
_KNOWN = {"sys.executable": "python3", "os.sep": "/"}
_DECODERS: Mapping[str, Callable[[bytes], bytes]] = {
    "base64.b64decode": base64.b64decode,
    "base64.standard_b64decode": base64.b64decode,
    "base64.decodebytes": base64.b64decode,
    "base64.urlsafe_b64decode": base64.urlsafe_b64decode,
    "base64.b32decode": base64.b32decode,
    "base64.b16decode": base64.b16decode,
    "base64.b85decode": base64.b85decode,
    "base64.a85decode": base64.a85decode,
    "binascii.unhexlify": binascii.unhexlify,
    "binascii.a2b_hex": binascii.unhexlify,
    "binascii.a2b_base64": binascii.a2b_base64,
    "bytes.fromhex": lambda data: bytes.fromhex(data.decode("ascii")),
    "bytearray.fromhex": lambda data: bytes.fromhex(data.decode("ascii")),
    "zlib.decompress": lambda data: zlib.decompressobj().decompress(data, _MAX_CHARS),
}
_SAME_TEXT = frozenset({
    "str", "bytes", "bytearray", "os.fspath", "os.fsencode", "os.fsdecode", "os.path.abspath", "os.path.normpath",
    "os.path.realpath", "pathlib.PurePath", "pathlib.PurePosixPath", "textwrap.dedent", "shlex.quote",
    "sqlalchemy.text", "sqlalchemy.sql.text", "sqlalchemy.sql.expression.text", "psycopg.sql.SQL", "psycopg2.sql.SQL",
})  # fmt: skip
_SAME_METHODS = frozenset({"decode", "encode", "resolve", "absolute", "as_posix", "__str__", "format_map"})
_CHANGING: Mapping[str, Callable[[str], str]] = {
    "lower": str.lower, "upper": str.upper, "strip": str.strip, "lstrip": str.lstrip, "rstrip": str.rstrip,
    "swapcase": str.swapcase, "title": str.title, "capitalize": str.capitalize, "expanduser": at_home,
}  # fmt: skip


def text_of(node: ast.expr, names: Names, depth: int = 0) -> str:
    """The text (or bytes, or path) that `node` makes, with `UNKNOWN` for each part that cannot be told."""
    if depth > _MAX_DEPTH:
        return UNKNOWN
    known = names.texts.get(id(node))
    if known is not None:
        return known
    text = _text_in(node, names, depth + 1)
    names.texts[id(node)] = text = text if len(text) <= _MAX_CHARS else UNKNOWN
    return text


def words_of(node: ast.expr, names: Names, depth: int = 0) -> tuple[str, ...] | None:
    """The texts of a list of arguments, `UNKNOWN` for what may be any number of them; None where it is no list."""
    if depth > _MAX_DEPTH:
        return None
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return tuple(UNKNOWN if isinstance(e, ast.Starred) else text_of(e, names, depth) for e in elements)
        case ast.Name(id=name):
            value = names.value_of(name)
            return None if value is None else words_of(value, names, depth + 1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = words_of(left, names, depth + 1), words_of(right, names, depth + 1)
            return None if first is None and second is None else (*(first or (UNKNOWN,)), *(second or (UNKNOWN,)))
        case ast.Call(func=ast.Attribute(value=value, attr="split"), args=[]):
            text = text_of(value, names, depth)
            return None if text == UNKNOWN else tuple(text.split())
        case ast.Call(args=[argument, *_]) if names.things_of(node.func) & {"shlex.split", "list", "tuple"}:
            words = words_of(argument, names, depth + 1)
            return words or tuple(text_of(argument, names, depth).split()) or None
    return None


def _text_in(node: ast.expr, names: Names, depth: int) -> str:
    match node:
        case ast.Constant(value=value):
            return _literal(value)
        case ast.Name(id=name):
            value = names.value_of(name)
            return UNKNOWN if value is None else text_of(value, names, depth)
        case ast.NamedExpr(value=value) | ast.FormattedValue(value=value, format_spec=None):
            return text_of(value, names, depth)
        case ast.JoinedStr(values=values):
            return "".join(text_of(value, names, depth) for value in values)
        case ast.BinOp():
            return _combined(node, names, depth)
        case ast.Subscript():
            return _indexed(node, names, depth)
        case ast.Attribute(attr=("executable" | "sep")):
            return next((_KNOWN[thing] for thing in names.things_of(node) if thing in _KNOWN), UNKNOWN)
        case ast.Call():
            return _called(node, names, depth)
    return UNKNOWN


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _literal(value: object) -> str:
    match value:
        case str():
            return value
        case bytes():
            return value.decode("latin-1")
        case int() if not isinstance(value, bool) and value.bit_length() < 64:  # noqa: PLR2004 - no name is that long
            return str(value)
    return UNKNOWN


def _indexed(node: ast.Subscript, names: Names, depth: int) -> str:
    if "os.environ" in names.things_of(node.value) and text_of(node.slice, names, depth) == "HOME":
        return home()
    return _part(text_of(node.value, names, depth), node.slice)


def _combined(node: ast.BinOp, names: Names, depth: int) -> str:
    left, right = text_of(node.left, names, depth), text_of(node.right, names, depth)
    match node.op:
        case ast.Add():
            both_numbers = _is_number(left.lstrip("-")) and _is_number(right.lstrip("-"))
            is_sum = both_numbers and not _is_text(node.left) and not _is_text(node.right)
            return str(int(left) + int(right)) if is_sum and len(left) + len(right) < 30 else left + right  # noqa: PLR2004
        case ast.Div():
            return UNKNOWN if left == UNKNOWN and right == UNKNOWN else posixpath.join(left or ".", right)
        case ast.Mult() if _is_number(right) and len(right) < 5:  # noqa: PLR2004 - no larger than what is taken
            return left * int(right) if len(left) * int(right) <= _MAX_CHARS else UNKNOWN
        case ast.Mod() if "%" in left:
            return left.replace("%s", right) if left.count("%") == 1 and "%s" in left else _holes(left)
    return UNKNOWN


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _holes(template: str) -> str:
    return template.partition("%")[0] + UNKNOWN


def _part(text: str, index: ast.expr) -> str:
    if UNKNOWN in text:
        return UNKNOWN
    # `[::-1]`, `[2:5]`, `[0]`: with numbers only.
    with suppress(ValueError, TypeError, IndexError, SyntaxError, RecursionError):
        if isinstance(index, ast.Slice):
            bounds = [None if b is None else ast.literal_eval(b) for b in (index.lower, index.upper, index.step)]
            return text[slice(*bounds)]
        return text[int(ast.literal_eval(index))]
    return UNKNOWN


def _called(node: ast.Call, names: Names, depth: int) -> str:
    things = names.things_of(node.func)
    first = text_of(node.args[0], names, depth) if node.args else ""
    if things:
        text = _from_function(node, next(iter(sorted(things))), first, names, depth)
        if text is not None:
            return text
    if isinstance(node.func, ast.Attribute):
        return _from_method(node, node.func, first, names, depth)
    return UNKNOWN


def _from_function(node: ast.Call, thing: str, first: str, names: Names, depth: int) -> str | None:
    if thing in _SAME_TEXT:
        return first
    if thing in {"pathlib.Path", "os.path.join"}:
        return posixpath.join(*(text_of(argument, names, depth) for argument in node.args)) if node.args else "."
    if thing in {"pathlib.Path.home", "pathlib.Path().home"}:
        return home()
    if thing in {"os.getcwd", "pathlib.Path.cwd"}:
        return "."
    if thing in {"os.path.expanduser", "os.path.expandvars"}:
        return at_home(first.replace("${HOME}", home()).replace("$HOME", home()))
    if thing in {"os.environ.get", "os.getenv"} and first == "HOME":
        return home()
    if thing == "chr":
        return chr(int(first)) if _is_number(first) and int(first[:8]) <= _LAST_CHARACTER else UNKNOWN
    if thing in _DECODERS:
        return _decoded(_DECODERS[thing], first)
    if thing == "codecs.decode" and len(node.args) > 1:
        return _recoded(first, text_of(node.args[1], names, depth))
    return None


def _from_method(node: ast.Call, method: ast.Attribute, first: str, names: Names, depth: int) -> str:
    text = text_of(method.value, names, depth)
    name = method.attr
    if name == "join":
        return text.join(_joined(node.args[0], names, depth)) if node.args and text != UNKNOWN else UNKNOWN
    if name == "joinpath":
        return posixpath.join(text, *(text_of(argument, names, depth) for argument in node.args))
    if (
        name == "decode"
        and first not in {"", UNKNOWN}
        and first.replace("_", "").replace("-", "") in {"rot13", "hex"}
    ):
        return _recoded(text, first)
    if name in _SAME_METHODS:
        return text
    if UNKNOWN in text and name != "format":
        return UNKNOWN
    if name in _CHANGING and not node.args:
        return _CHANGING[name](text)
    if name == "replace" and len(node.args) > 1:
        other = text_of(node.args[1], names, depth)
        return UNKNOWN if UNKNOWN in first else text.replace(first, other)
    if name == "format":
        return _formatted(text, [text_of(argument, names, depth) for argument in node.args])
    return UNKNOWN


def _joined(node: ast.expr, names: Names, depth: int) -> tuple[str, ...]:
    """What is joined: texts of a list, or characters by number (`map(chr, [114, 109])`)."""
    if isinstance(node, ast.Call) and "map" in names.things_of(node.func) and len(node.args) > 1:
        if "chr" not in names.things_of(node.args[0]):
            return (UNKNOWN,)
        return _characters(words_of(node.args[1], names, depth))
    if isinstance(node, ast.GeneratorExp | ast.ListComp) and len(node.generators) == 1:
        made, source = node.elt, node.generators[0]
        if isinstance(made, ast.Call) and "chr" in names.things_of(made.func) and isinstance(made.args[0], ast.Name):
            return _characters(words_of(source.iter, names, depth))
        return (UNKNOWN,)
    if isinstance(node, ast.Call) and "reversed" in names.things_of(node.func) and node.args:
        return tuple(reversed(text_of(node.args[0], names, depth)))
    words = words_of(node, names, depth)
    return (UNKNOWN,) if words is None else words


def _characters(numbers: tuple[str, ...] | None) -> tuple[str, ...]:
    if numbers is None or not all(_is_number(number) and int(number[:8]) <= _LAST_CHARACTER for number in numbers):
        return (UNKNOWN,)
    return tuple(chr(int(number)) for number in numbers)


def _formatted(template: str, values: list[str]) -> str:
    """`format` with `{}` and `{0}`; everything else in braces is unknown."""
    pieces: list[str] = []
    rest, place = template, 0
    while (start := rest.find("{")) >= 0:
        pieces.append(rest[:start])
        name, brace, rest = rest[start + 1 :].partition("}")
        if not brace:
            return UNKNOWN
        index = place if name == "" else int(name) if _is_number(name) and len(name) < 4 else len(values)  # noqa: PLR2004
        place += 1
        pieces.append(values[index] if index < len(values) else UNKNOWN)
    return "".join((*pieces, rest))


def _decoded(decoder: Callable[[bytes], bytes], text: str) -> str:
    if UNKNOWN in text:
        return UNKNOWN
    with suppress(ValueError, binascii.Error, zlib.error, UnicodeError):
        return decoder(text.encode("latin-1")).decode("latin-1")
    return UNKNOWN


def _recoded(text: str, encoding: str) -> str:
    if UNKNOWN in text or UNKNOWN in encoding:
        return UNKNOWN
    plain = encoding.lower().replace("-", "").replace("_", "")
    if plain == "rot13":
        return codecs.decode(text, "rot13")
    if plain in {"hex", "base64"}:
        return _decoded(binascii.unhexlify if plain == "hex" else base64.b64decode, text)
    return text if plain in {"utf8", "ascii", "latin1"} else UNKNOWN
