"""What a script of Python would do."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable

from tools.approval.commands.bash.reading import UNKNOWN
from tools.approval.commands.scripts.effects import (
    BOMB,
    CONNECTS,
    ENDS,
    HIDDEN,
    LEAVES,
    REMOVES_ELSEWHERE,
    SENDS,
    SHOWS_SECRETS,
    SHOWS_VARIABLES,
    TOO_MUCH,
    Effects,
    ScriptVerdict,
    each,
    names,
    names_secret,
)
from tools.approval.commands.scripts.python_tables import (
    ALWAYS,
    EVALUATORS,
    GETTERS,
    HIDING_ATTRIBUTES,
    LIKE_A_COMMAND,
    METHODS,
    POSTERS,
    POWERFUL,
    REMOVING_PREFIXES,
    REPLACERS,
    SENDS_WITH,
    SHELLS,
    SQL_METHODS,
    STARTERS,
    TRICKS,
    WRITERS,
)
from tools.approval.commands.scripts.python_values import Call, Names, calls_of, text_of
from tools.approval.commands.scripts.sql import judge_sql

# The files that a script of Python opens.

# Where the mode is among the arguments.
_OPENERS = each(
    "open codecs.open gzip.open bz2.open lzma.open tarfile.open zipfile.ZipFile io.FileIO gzip.GzipFile os.fdopen"
    " shelve.open dbm.open",
    1,
)
_READERS = names(
    "linecache.getline linecache.getlines fileinput.input fileinput.FileInput io.open_code pandas.read_json json.load"
    " tomllib.load numpy.load numpy.loadtxt"
)
_PATH_READERS = frozenset({"pathlib.Path().read_text", "pathlib.Path().read_bytes"})
_PATH_WRITERS = frozenset({"pathlib.Path().write_text", "pathlib.Path().write_bytes"})
_WRITING_FLAGS = ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND")
_TAKE_OPEN_FILES = frozenset({"json.load", "tomllib.load"})


def look_at_file(thing: str, call: Call, effects: Effects) -> bool:
    """Note that a file is read or written; False where `thing` opens none."""
    path = text_of(call.owner, call.names) if call.owner is not None and thing.startswith("pathlib.Path().") else ""
    if thing in _OPENERS:
        _open(_first_text(call), call, _OPENERS[thing], effects)
    elif thing == "pathlib.Path().open":
        _open(path, call, 0, effects)
    elif thing in _PATH_READERS:
        effects.reads(path)
    elif thing in _PATH_WRITERS:
        effects.writes(path)
    elif thing == "os.open":
        _open_low(call, effects)
    elif thing in _TAKE_OPEN_FILES:
        return False
    elif thing in _READERS:
        effects.reads(call.text(0))
    else:
        return False
    return True


def _first_text(call: Call) -> str:
    return call.text(0) if call.node.args else call.keyword_text("file") or UNKNOWN


def _open(path: str, call: Call, place: int, effects: Effects) -> None:
    mode = call.text(place) if len(call.node.args) > place else call.keyword_text("mode") or "r"
    if UNKNOWN in mode or any(letter in mode for letter in "wax+cn"):
        effects.writes(path)
    elif not path.isdigit():  # which is a descriptor
        effects.reads(path)


def _open_low(call: Call, effects: Effects) -> None:
    flags = ast.dump(call.node.args[1]) if len(call.node.args) > 1 else ""
    if any(flag in flags for flag in _WRITING_FLAGS) or not flags:
        effects.writes(call.text(0))
    else:
        effects.reads(call.text(0))


# The programs that a script of Python starts.


def look_at_start(thing: str, call: Call, effects: Effects, names: Names) -> None:
    """Note what is started by calling `thing`."""
    if call.is_set("start_new_session") or call.is_set("preexec_fn") or call.is_set("process_group"):
        effects.add(LEAVES)
    folder = effects.folder
    if call.is_set("cwd"):
        effects.folder = call.keyword_text("cwd")
    if thing in SHELLS or call.is_set("shell"):
        words = call.words(0)
        effects.runs(words[0] if words else _first_word(call, names))
    elif thing in REPLACERS:
        _replace(thing, call, effects)
    elif thing == "asyncio.create_subprocess_exec":
        effects.starts(call.texts)
    else:
        _start(call, effects, names)
    effects.folder = folder


def _first_word(call: Call, names: Names) -> str:
    if call.node.args:
        return call.text(0)
    return next(
        (text_of(value, names) for key, value in call.keywords.items() if key in {"args", "cmd", "command"}), UNKNOWN
    )


def _start(call: Call, effects: Effects, names: Names) -> None:
    words = call.words(0)
    if words is None and isinstance(call.keywords.get("args"), ast.List):
        words = tuple(text_of(word, names) for word in getattr(call.keywords["args"], "elts", ()))
    if words is None:
        text = _first_word(call, names)
        # One text is the name of a program, and on Windows a whole command.
        if text.startswith(UNKNOWN):
            effects.add(HIDDEN)
        else:
            effects.starts(text.split())
        return
    program = call.keyword_text("executable")
    effects.starts((program, *words[1:]) if program else words)
    given = call.keyword_text("input")
    if given and UNKNOWN not in given and words and words[0].rpartition("/")[2] in {"sh", "bash", "zsh", "dash"}:
        effects.runs(given)


def _replace(thing: str, call: Call, effects: Effects) -> None:
    start, is_list = REPLACERS[thing]
    program = call.text(start)
    words = (call.words(start + 1) if is_list else call.texts[start + 1 :]) or (UNKNOWN, UNKNOWN)
    effects.starts((program, *words[1:]))


# The reader.

_MAX_DEPTH = 6
_SECRET_VARIABLES = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|PRIVATE", re.IGNORECASE)
# Strings that are looked at or printed, not opened.
_ONLY_TEXT = frozenset(
    {"print", "len", "repr", "hasattr", "isinstance", "str", "input", "exit", "sys.exit", "set", "frozenset"}
)
# They look at what they are given, and call nothing of it.
_PASSES_MODULES = frozenset({
    "print", "dir", "help", "len", "type", "repr", "hasattr", "id", "str", "vars", "isinstance", "getattr",
    "callable",
    "inspect.getsource", "inspect.signature", "inspect.getdoc", "inspect.getfile", "inspect.getmembers",
})  # fmt: skip
# Where such a thing is given to others, nobody sees what is done with it.
_HIDE_WHAT_IS_DONE = POWERFUL | TRICKS | SHELLS | STARTERS | REPLACERS.keys()
_ADDRESS = re.compile(r"(?i)(?:https?|wss?|ftp)://")


class Reader:
    """One look through a tree. Functions are looked at where they stand, whether they are called or not."""

    def __init__(
        self, tree: ast.Module, names: Names, effects: Effects, again: Callable[[str], None], depth: int
    ) -> None:
        self._tree = tree
        self._names = names
        self._effects = effects
        self._again = again
        self._depth = depth
        self._called: set[int] = set()
        self._parents: dict[int, ast.AST] = {}
        self._inner: set[int] = set()
        self._has_read = False
        self._sends: list[Call] = []

    def read(self) -> None:
        """Note all that is there."""
        nodes = list(ast.walk(self._tree))
        self._parents = {id(child): node for node in nodes for child in ast.iter_child_nodes(node)}
        self._folder(nodes)
        calls = list(calls_of(nodes, self._names))
        self._called = {id(call.node.func) for call in calls}
        self._inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        for call in calls:
            self._look_at_call(call)
        for node in nodes:
            self._look_at(node)
        for call in self._sends:
            self._look_at_sending(call)
        self._look_for_secrets(nodes)

    def _folder(self, nodes: list[ast.AST]) -> None:
        """Where the script moves to: names without a folder are below it from then on."""
        for node in nodes:
            if isinstance(node, ast.Call) and "os.chdir" in self._names.things_of(node.func) and node.args:
                self._effects.folder = text_of(node.args[0], self._names)

    # what is called

    def _look_at_call(self, call: Call) -> None:
        is_known = False
        for thing in sorted(call.things):
            is_known = self._look_at_thing(thing, call) or is_known
        if call.method and not is_known:
            self._look_at_method(call)

    def _look_at_thing(self, thing: str, call: Call) -> bool:
        """Note what calling `thing` does; False where it is not in the tables."""
        effects = self._effects
        if thing in EVALUATORS:
            self._evaluate(call)
        elif thing in SHELLS or thing in STARTERS or thing in REPLACERS:
            self._has_read = True
            look_at_start(thing, call, effects, self._names)
        elif thing in LIKE_A_COMMAND:
            self._do_like(thing, call)
        elif thing in ALWAYS:
            effects.add(BOMB if thing == "os.fork" and self._is_endless(call) else ALWAYS[thing])
        elif thing in GETTERS or thing in POSTERS:
            self._sends.append(call)
        elif thing in {"os.kill", "os.chmod", "os.lchmod", "pathlib.Path().chmod"}:
            self._change(thing, call)
        elif look_at_file(thing, call, effects):
            self._has_read = True
        elif thing in {"getattr", "setattr", "delattr"}:
            self._reach_by_name(call)
        elif thing in {"os.environ.get", "os.getenv", "os.environ.pop"}:
            self._show_variable(call.text(0))
        elif thing == "__import__" or thing.startswith("importlib."):
            if not call.node.args or UNKNOWN in call.text(0):
                effects.add(HIDDEN)
        else:
            return False
        return True

    def _do_like(self, thing: str, call: Call) -> None:
        like = LIKE_A_COMMAND[thing]
        values = call.texts
        if call.owner is not None and thing.startswith("pathlib.Path()."):
            values = (text_of(call.owner, self._names), *values)
        known = values[: like.needs]
        if like.needs and (len(known) < like.needs or any(value.startswith(UNKNOWN) for value in known)):
            for value in known:
                self._effects.reads(value)
            return
        self._effects.does(like.template, *values, at_least=like.at_least)

    def _change(self, thing: str, call: Call) -> None:
        if thing == "os.kill":
            # Signal 0 only asks whether the process is there.
            if call.text(1) != "0":
                self._effects.does("kill -{1} -- {0}", call.text(0), call.text(1), at_least=ENDS)
            return
        path = text_of(call.owner, self._names) if call.owner is not None and "()" in thing else call.text(0)
        mode = call.text(0 if "()" in thing else 1)
        mode = f"{int(mode):o}" if mode.isdigit() else mode
        self._effects.does("chmod {1} -- {0}", path, mode)

    def _is_endless(self, call: Call) -> bool:
        node: ast.AST | None = call.node
        while node is not None:
            if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value:
                return True
            node = self._parents.get(id(node))
        return False

    def _evaluate(self, call: Call) -> None:
        text = call.text(0)
        if UNKNOWN in text or self._depth >= _MAX_DEPTH:
            self._effects.add(HIDDEN)
        else:
            self._again(text)

    def _reach_by_name(self, call: Call) -> None:
        """`getattr(x, name)` with a name that is not known, of something that can do anything."""
        owners = self._names.things_of(call.node.args[0]) if call.node.args else frozenset[str]()
        name = call.text(1)
        if name in HIDING_ATTRIBUTES or (UNKNOWN in name and owners & POWERFUL):
            self._effects.add(HIDDEN)

    def _show_variable(self, name: str) -> None:
        if _SECRET_VARIABLES.search(name):
            self._effects.add(SHOWS_VARIABLES)

    def _look_at_method(self, call: Call) -> None:
        """A method of something that is not known: its name tells."""
        name, effects = call.method, self._effects
        if name in {"read", "readlines", "readline", "read_text"}:
            self._has_read = True
        elif name in METHODS:
            effects.add(METHODS[name])
        elif name.startswith(REMOVING_PREFIXES) or (name == "delete" and not call.node.args):
            effects.add(REMOVES_ELSEWHERE)
        elif name in SQL_METHODS:
            effects.found.extend(judge_sql(call.text(0), effects.of_another()).findings)
        elif name in WRITERS:
            effects.writes(call.text(0))
        elif name in {"system", "popen", "spawn"}:
            effects.runs(call.text(0))
        elif name in {"kill", "terminate"} and "subprocess.Popen()" not in self._owners(call):
            effects.add(ENDS)
        elif name in {"connect", "connect_ex", "open_connection"} and any(
            isinstance(argument, ast.Tuple) for argument in call.node.args
        ):
            effects.add(CONNECTS)
        elif name in {"post", "put", "patch", "request"} and _ADDRESS.match(call.text(0)):
            self._sends.append(call)

    def _owners(self, call: Call) -> frozenset[str]:
        return self._names.things_of(call.owner) if call.owner is not None else frozenset()

    def _look_at_sending(self, call: Call) -> None:
        """A request: with a body it sends; an address that is made of what was read carries it, too."""
        address = next((text for text in call.texts[:2] if _ADDRESS.match(text)), call.text(0))
        has_body = bool(SENDS_WITH & set(call.keywords)) or (
            call.things & {"urllib.request.urlopen", "urllib.request.Request"} != frozenset()
            and len(call.node.args) > 1
        )
        verb = (call.keyword_text("method") or (call.text(0) if call.method == "request" else call.method)).upper()
        if has_body or verb in {"POST", "PUT", "PATCH", "DELETE"}:
            self._effects.does(
                "curl -sS -X {1} -d x {0}",
                address,
                verb if verb in {"PUT", "PATCH", "DELETE"} else "POST",
                at_least=SENDS if UNKNOWN in address else None,
            )
        elif UNKNOWN in address:
            if self._has_read or self._shows_variables():
                self._effects.add(SENDS)
        else:
            self._effects.does("curl -sS {0}", address)

    def _shows_variables(self) -> bool:
        return any(isinstance(node, ast.Attribute) and node.attr == "environ" for node in ast.walk(self._tree))

    # what is only named

    def _look_at(self, node: ast.AST) -> None:
        match node:
            case ast.Attribute(attr=attr) if attr in HIDING_ATTRIBUTES:
                self._effects.add(HIDDEN)
            case ast.Attribute(ctx=ast.Load()) | ast.Name(ctx=ast.Load()) if id(node) not in self._called:
                self._look_at_reference(node)
            case ast.Subscript(value=value, slice=index):
                self._look_at_part(value, index)

    def _look_at_reference(self, node: ast.Attribute | ast.Name) -> None:
        for thing in self._names.things_of(node):
            if thing in {"os.environ", "os.environb"}:
                if not self._is_one_variable(node):
                    self._effects.add(SHOWS_VARIABLES)
            elif id(node) in self._inner or self._is_passed_harmlessly(node):
                continue
            elif thing in _HIDE_WHAT_IS_DONE:
                if not self._is_assigned(node):
                    self._effects.add(HIDDEN)
            elif thing in LIKE_A_COMMAND or thing in ALWAYS:
                floor = ALWAYS.get(thing) or LIKE_A_COMMAND[thing].at_least
                if floor is not None and not self._is_assigned(node):
                    self._effects.add(floor)

    def _is_one_variable(self, node: ast.expr) -> bool:
        """`os.environ["HOME"]`, `"X" in os.environ`, a copy for a child: not the whole of it shown."""
        match self._parents.get(id(node)):
            case ast.Subscript(value=value) if value is node:
                return True
            case ast.Attribute(attr=attr):
                return attr in {"get", "setdefault", "pop", "update"} or (attr == "copy" and self._has_child())
            case ast.Compare(comparators=[value]) if value is node:
                return True
            case ast.Dict() | ast.Call(func=ast.Name(id="dict")) | ast.keyword(arg="env"):
                return self._has_child()
        return False

    def _has_child(self) -> bool:
        return any(isinstance(node, ast.keyword) and node.arg == "env" for node in ast.walk(self._tree))

    def _look_at_part(self, value: ast.expr, index: ast.expr) -> None:
        things = self._names.things_of(value)
        key = text_of(index, self._names)
        if "os.environ" in things:
            self._show_variable(key)
        elif UNKNOWN in key and any(
            thing in {"sys.modules", "globals()", "locals()", "vars()"} or thing.endswith(".__dict__")
            for thing in things
        ):
            self._effects.add(HIDDEN)

    def _is_assigned(self, node: ast.expr) -> bool:
        """Whether the reference only gives the thing another name: its uses are seen under that, too."""
        parent = self._parents.get(id(node))
        return isinstance(parent, ast.Assign | ast.NamedExpr) and parent.value is node

    def _is_passed_harmlessly(self, node: ast.expr) -> bool:
        parent = self._parents.get(id(node))
        return (
            isinstance(parent, ast.Call)
            and node is not parent.func
            and bool(self._names.things_of(parent.func) & _PASSES_MODULES)
        )

    def _look_for_secrets(self, nodes: list[ast.AST]) -> None:
        """Names of secret places in a script that opens what nobody can tell."""
        harmless = {id(inner) for node in nodes if self._only_compares(node) for inner in ast.walk(node)}
        for node in nodes:
            match node:
                case ast.Constant(value=str(text)) if id(node) not in harmless and names_secret(text):
                    self._effects.add(SHOWS_SECRETS)

    def _only_compares(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Compare):
            return True
        if not isinstance(node, ast.Call):
            return False
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        return bool(self._names.things_of(node.func) & _ONLY_TEXT) or method in {
            "replace", "startswith", "endswith", "append", "add", "write", "find", "split", "count", "index",
            "remove",
        }  # fmt: skip


_MAX_CHARS = 64_000
_MAX_NODES = 20_000
_UNKNOWN_NAME = "_unknown_part_"


def judge_python(source: str, effects: Effects) -> ScriptVerdict:
    """How far a script of Python reaches. None is proven to only look: whatever it imports runs."""
    effects.doubt()
    _read_into(source, effects)
    return effects.verdict


def _read_into(source: str, effects: Effects, depth: int = 0) -> None:
    """Look at a script, or at a text that one runs."""
    tree = _parsed(source)
    if tree is None:
        # Also what holds unknown parts where they are no text: nobody knows what that does.
        effects.add(TOO_MUCH if len(source) > _MAX_CHARS else HIDDEN)
        return
    names = Names(tree, text_of)
    if UNKNOWN in source and _runs_unknown(tree):
        effects.add(HIDDEN)

    def again(text: str) -> None:
        _read_into(text, effects, depth + 1)

    Reader(tree, names, effects, again, depth).read()


def _parsed(source: str) -> ast.Module | None:
    if len(source) > _MAX_CHARS:
        return None
    # A text given to `-c` may be indented as a whole since 3.13.
    for text in (source, _unindented(source), _named(source)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return tree if sum(1 for _ in ast.walk(tree)) <= _MAX_NODES else None
    return None


def _unindented(source: str) -> str:
    import textwrap  # noqa: PLC0415 - rarely needed

    return textwrap.dedent(source)


def _runs_unknown(tree: ast.Module) -> bool:
    """Whether an unknown part is a statement, a module, or what is called, and not a value."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Name(id=name)) | ast.Call(func=ast.Name(id=name)) if _UNKNOWN_NAME in name:
                return True
            case ast.Call(func=ast.Attribute(attr=name)) | ast.alias(name=name) if _UNKNOWN_NAME in name:
                return True
    return False


def _named(source: str) -> str:
    """Unknown parts as names where they are no part of a text."""
    return source.replace(UNKNOWN, _UNKNOWN_NAME)
