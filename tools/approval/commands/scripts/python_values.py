"""Python: what names stand for, and which texts values are."""

from __future__ import annotations

import ast
import builtins
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from tools.approval.commands.bash.reading import UNKNOWN
from tools.approval.commands.scripts.effects import at_home, home
from tools.light_dataclass import dataclass

# Names: modules and what is in them, and texts.

_BUILTINS = frozenset(dir(builtins))
_MAX_DEPTH = 40
_MAX_ROUNDS = 12
_MAX_THINGS = 24
# The same modules under other names.
_SAME = {
    "posix": "os", "nt": "os", "posixpath": "os.path", "ntpath": "os.path", "_io": "io",
    "_pickle": "pickle", "cPickle": "pickle", "_socket": "socket", "_ctypes": "ctypes", "_thread": "threading",
    "__builtin__": "builtins", "_posixsubprocess": "subprocess", "importlib._bootstrap": "importlib",
    "os.posix": "os", "subprocess.os": "os", "shutil.os": "os", "pathlib.os": "os", "glob.os": "os",
    "tempfile._os": "os", "io.open": "open",
    "os.sys": "sys", "subprocess.sys": "sys", "shutil.sys": "sys", "os.path.os": "os",
    "os.path.genericpath": "os.path",
    "platform.os": "os", "platform.subprocess": "subprocess", "webbrowser.os": "os", "random._os": "os",
    "inspect.os": "os", "logging.os": "os", "tarfile.os": "os", "zipfile.os": "os",
    "pathlib.PosixPath": "pathlib.Path",
    "pathlib.WindowsPath": "pathlib.Path", "socket.os": "os", "asyncio.subprocess": "asyncio",
}  # fmt: skip


class Names:
    """The names of one script. What is bound more than once stands for all of it."""

    def __init__(self, tree: ast.Module, text_of: Callable[[ast.expr, Names], str]) -> None:
        """Collect them.

        Args:
            text_of: the text that an expression makes, `UNKNOWN` in it where that cannot be told.
        """
        self._text_of = text_of
        self._things: dict[str, set[str]] = {}
        self._aliases: dict[str, set[str]] = {}
        self._values: dict[str, list[ast.expr | None]] = {}
        self._stars: list[str] = []
        self._loops: list[tuple[str, ast.expr]] = []
        self.texts: dict[int, str] = {}
        """What was worked out, by the node's identity: expressions share parts."""
        for node in ast.walk(tree):
            self._collect(node)
        self._settle()

    def things_of(self, node: ast.expr, depth: int = 0) -> frozenset[str]:
        """The qualified names that an expression may stand for: `os.remove`, `pathlib.Path()` for an instance.

        Builtins have their bare name. Empty where it is something else, or cannot be told.
        """
        if depth > _MAX_DEPTH:
            return frozenset()
        found = {_canonical(name) for name in self._things_in(node, depth + 1)}
        return frozenset(sorted(found)[:_MAX_THINGS])

    def _settle(self) -> None:
        """Follow names that stand for names, until nothing new comes."""
        for _ in range(_MAX_ROUNDS):
            is_new = False
            for name, values in self._values.items():
                for value in values:
                    found = self.things_of(value) if value is not None else frozenset[str]()
                    is_new = self._note(name, found) or is_new
            for name, source in self._loops:
                if self.things_of(source) & _GIVE_MANY_PATHS:
                    is_new = self._note(name, frozenset({"pathlib.Path()"})) or is_new
            self.texts.clear()
            if not is_new:
                return

    def _note(self, name: str, found: frozenset[str]) -> bool:
        known = self._aliases.setdefault(name, set())
        is_new = not found <= known and len(known) < _MAX_THINGS
        if is_new:
            known |= found
        return is_new

    def value_of(self, name: str) -> ast.expr | None:
        """The only expression that is ever bound to `name`; None where there is none, or another binding."""
        values = self._values.get(name, [])
        return values[0] if len(values) == 1 and name not in self._things else None

    def is_bound(self, name: str) -> bool:
        """Whether the script gives a meaning to `name`."""
        return name in self._values or name in self._things

    def _things_in(self, node: ast.expr, depth: int) -> Iterator[str]:
        match node:
            case ast.Name(id=name):
                yield from self._things_of_name(name)
            case ast.Attribute(value=value, attr=attr):
                yield from (f"{thing}.{attr}" for thing in self.things_of(value, depth))
            case ast.NamedExpr(value=value) | ast.Await(value=value) | ast.Starred(value=value):
                yield from self.things_of(value, depth)
            case ast.IfExp(body=one, orelse=other):
                yield from self.things_of(one, depth) | self.things_of(other, depth)
            case ast.BoolOp(values=values):
                for value in values:
                    yield from self.things_of(value, depth)
            case ast.BinOp(left=left, op=ast.Div()):
                yield from (thing for thing in self.things_of(left, depth) if thing == "pathlib.Path()")
            case ast.Subscript(value=value, slice=index):
                yield from self._things_at(value, index, depth)
            case ast.Call():
                yield from self._things_made(node, depth)
            case _:
                return

    def _things_of_name(self, name: str) -> Iterator[str]:
        yield from self._things.get(name, ())
        yield from self._aliases.get(name, ())
        if name == "__builtins__":
            yield "builtins"
        elif not self.is_bound(name):
            if name in _BUILTINS:
                yield name
            yield from (f"{module}.{name}" for module in self._stars)

    def _things_made(self, call: ast.Call, depth: int) -> Iterator[str]:
        for thing in self.things_of(call.func, depth):
            if thing in {"__import__", "importlib.import_module", "importlib.__import__"} and call.args:
                module = self._constant(call.args[0])
                # `__import__("os.path")` is `os`.
                if module is not None:
                    yield module.partition(".")[0] if thing == "__import__" else module
            elif thing == "getattr" and len(call.args) > 1:
                attribute = self._constant(call.args[1])
                if attribute is not None:
                    yield from (f"{owner}.{attribute}" for owner in self.things_of(call.args[0], depth))
            elif thing == "vars" and call.args:
                yield from (f"{owner}.__dict__" for owner in self.things_of(call.args[0], depth))
            elif thing in _GIVE_PATHS:
                yield "pathlib.Path()"
            else:
                yield f"{thing}()"

    def _things_at(self, value: ast.expr, index: ast.expr, depth: int) -> Iterator[str]:
        key = self._constant(index)
        for thing in self.things_of(value, depth):
            if thing == "sys.modules" and key is not None:
                yield key
            elif thing.endswith(".__dict__") and key is not None:
                yield f"{thing.removesuffix('.__dict__')}.{key}"
            elif thing in {"globals()", "locals()"} and key is not None:
                yield from self._things_of_name(key)
            else:
                yield f"{thing}[]"

    def _constant(self, node: ast.expr) -> str | None:
        text = self._text_of(node, self)
        return None if UNKNOWN in text else text

    def _collect(self, node: ast.AST) -> None:
        match node:
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                self._bind(target, value)
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                self._bind(target, value)
            case ast.AugAssign(target=target):
                self._bind(target, None)
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                self._bind_each(node.target, node.iter)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self._values.setdefault(name, []).append(None)
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                self._values.setdefault(name, []).append(None)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        origin = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            if isinstance(node, ast.Import):
                bound = alias.asname or alias.name.partition(".")[0]
                self._things.setdefault(bound, set()).add(alias.name if alias.asname else bound)
            elif alias.name == "*":
                self._stars.append(origin)
            else:
                self._things.setdefault(alias.asname or alias.name, set()).add(f"{origin}.{alias.name}")

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._values.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple | ast.List):
            values: Sequence[ast.expr | None] = [None] * len(target.elts)
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
                values = value.elts
            for part, its_value in zip(target.elts, values, strict=True):
                self._bind(part.value if isinstance(part, ast.Starred) else part, its_value)

    def _bind_each(self, target: ast.expr, values: ast.expr) -> None:
        """What a loop goes through: each of the elements that are written."""
        if isinstance(values, ast.Tuple | ast.List | ast.Set) and values.elts:
            for value in values.elts:
                self._bind(target, value)
            return
        self._bind(target, None)
        if isinstance(target, ast.Name):
            self._loops.append((target.id, values))


_PATH_METHODS = (
    "resolve", "absolute", "expanduser", "joinpath", "with_suffix", "with_name", "with_stem", "relative_to", "parent",
    "parents[]", "readlink", "rename", "replace",
)  # fmt: skip
_GIVE_PATHS = frozenset({
    "pathlib.Path", "pathlib.Path.home", "pathlib.Path.cwd", *(f"pathlib.Path().{name}" for name in _PATH_METHODS),
})  # fmt: skip
_GIVE_MANY_PATHS = frozenset({"pathlib.Path().glob()", "pathlib.Path().rglob()", "pathlib.Path().iterdir()"})


def _canonical(name: str) -> str:
    """One name for what has several."""
    if name in {"pathlib.Path().parent", "pathlib.Path().parents[]"}:
        return "pathlib.Path()"
    for _ in range(3):
        parts = name.split(".")
        for count in range(len(parts), 0, -1):
            same = _SAME.get(".".join(parts[:count]))
            if same is not None:
                name = ".".join((same, *parts[count:]))
                break
        else:
            break
    return name.removeprefix("builtins.")


# The text that an expression of Python makes, as far as it can be told: joined and formatted. What is decoded or
# computed is not: who runs it runs what is not known.

_MAX_CHARS = 64_000
_KNOWN = {"sys.executable": "python3", "os.sep": "/"}
_SAME_TEXT = frozenset({
    "str", "bytes", "bytearray", "os.fspath", "os.fsencode", "os.fsdecode", "os.path.abspath", "os.path.normpath",
    "os.path.realpath", "pathlib.PurePath", "pathlib.PurePosixPath", "textwrap.dedent", "shlex.quote",
    "sqlalchemy.text", "sqlalchemy.sql.text", "sqlalchemy.sql.expression.text", "psycopg.sql.SQL", "psycopg2.sql.SQL",
})  # fmt: skip
_SAME_METHODS = frozenset({
    "encode", "decode", "resolve", "absolute", "as_posix", "__str__", "format_map", "strip", "lstrip", "rstrip",
})  # fmt: skip
_HOMES = frozenset({"pathlib.Path.home", "pathlib.Path().home"})


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
        case ast.Attribute(attr=("executable" | "sep")):
            return next((_KNOWN[thing] for thing in names.things_of(node) if thing in _KNOWN), UNKNOWN)
        case ast.Subscript(value=value, slice=key) if "os.environ" in names.things_of(value):
            return home() if text_of(key, names, depth) == "HOME" else UNKNOWN
        case ast.Call():
            return _called(node, names, depth)
    return UNKNOWN


def _literal(value: object) -> str:
    match value:
        case str():
            return value
        case bytes():
            return value.decode("latin-1")
        case int() if not isinstance(value, bool) and value.bit_length() < 64:  # noqa: PLR2004 - no name is that long
            return str(value)
    return UNKNOWN


def _combined(node: ast.BinOp, names: Names, depth: int) -> str:
    left, right = text_of(node.left, names, depth), text_of(node.right, names, depth)
    match node.op:
        case ast.Add():
            return left + right
        case ast.Div():
            return UNKNOWN if left == UNKNOWN and right == UNKNOWN else posixpath.join(left or ".", right)
        case ast.Mod() if "%" in left:
            is_plain = left.count("%") == 1 and "%s" in left
            return left.replace("%s", right) if is_plain else left.partition("%")[0] + UNKNOWN
    return UNKNOWN


def _called(node: ast.Call, names: Names, depth: int) -> str:
    things = sorted(names.things_of(node.func))
    given = [text_of(argument, names, depth) for argument in node.args]
    if things and (text := _from_function(things[0], given)) is not None:
        return text
    if isinstance(node.func, ast.Attribute):
        return _from_method(node, node.func, given, names, depth)
    return UNKNOWN


def _from_function(thing: str, given: list[str]) -> str | None:
    first = given[0] if given else ""
    if thing in _SAME_TEXT:
        return first
    if thing in {"pathlib.Path", "os.path.join"}:
        return posixpath.join(*given) if given else "."
    if thing in {"os.getcwd", "pathlib.Path.cwd"}:
        return "."
    if thing in _HOMES or (thing in {"os.environ.get", "os.getenv"} and first == "HOME"):
        return home()
    if thing in {"os.path.expanduser", "os.path.expandvars"}:
        return at_home(first.replace("${HOME}", home()).replace("$HOME", home()))
    return None


def _from_method(node: ast.Call, method: ast.Attribute, given: list[str], names: Names, depth: int) -> str:
    text, name = text_of(method.value, names, depth), method.attr
    if name == "join" and node.args and text != UNKNOWN:
        return text.join(words_of(node.args[0], names, depth) or (UNKNOWN,))
    if name == "joinpath":
        return posixpath.join(text, *given)
    if name == "expanduser":
        return at_home(text)
    if name == "format":
        values = iter(given)
        return re.sub(r"\{[^}]*\}?", lambda found: next(values, UNKNOWN) if found[0] == "{}" else UNKNOWN, text)
    # Of a codec (`decode("rot13")`) nothing is told.
    return text if name in _SAME_METHODS and not (name == "decode" and given) else UNKNOWN


# The calls of a script of Python, with the texts of their arguments.

_MAX_CALLS = 3_000


@dataclass(frozen=True, slots=True)
class Call:
    """One call.

    Attributes:
        things: what is called, as far as it is known.
        method: the attribute that is called; '' for a plain name.
        owner: what the attribute is of.
        texts: the arguments that have no name.
    """

    node: ast.Call
    names: Names
    things: frozenset[str]
    method: str
    owner: ast.expr | None
    texts: tuple[str, ...]

    def text(self, place: int) -> str:
        """An argument; `UNKNOWN` where there is none."""
        return self.texts[place] if place < len(self.texts) else UNKNOWN

    def words(self, place: int) -> tuple[str, ...] | None:
        """An argument that is a list of texts."""
        return words_of(self.node.args[place], self.names) if place < len(self.node.args) else None

    @property
    def keywords(self) -> dict[str, ast.expr]:
        """The arguments that have a name."""
        return {keyword.arg: keyword.value for keyword in self.node.keywords if keyword.arg is not None}

    def keyword_text(self, name: str) -> str:
        """A named argument; '' where there is none."""
        value = self.keywords.get(name)
        return "" if value is None else text_of(value, self.names)

    def is_set(self, name: str) -> bool:
        """Whether a named argument is given, and is not False or None."""
        value = self.keywords.get(name)
        return value is not None and not (isinstance(value, ast.Constant) and not value.value)


def calls_of(nodes: Iterable[ast.AST], names: Names) -> Iterator[Call]:
    """The calls among `nodes`, a decorator without parentheses too."""
    count = 0
    for node in nodes:
        if isinstance(node, ast.Call) and count < _MAX_CALLS:
            count += 1
            is_method = isinstance(node.func, ast.Attribute)
            yield Call(
                node,
                names,
                names.things_of(node.func),
                node.func.attr if isinstance(node.func, ast.Attribute) else "",
                node.func.value if isinstance(node.func, ast.Attribute) and is_method else None,
                tuple(UNKNOWN if isinstance(a, ast.Starred) else text_of(a, names) for a in node.args),
            )
