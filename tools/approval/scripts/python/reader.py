"""Goes through a script of Python and notes its effects."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from tools.approval.scripts.effects import (
    BOMB,
    CONNECTS,
    ENDS,
    HIDDEN,
    REMOVES_ELSEWHERE,
    SENDS,
    SHOWS_SECRETS,
    SHOWS_VARIABLES,
    Effects,
)
from tools.approval.scripts.python.calls import Call, calls_of
from tools.approval.scripts.python.files import look_at_file
from tools.approval.scripts.python.folding import text_of
from tools.approval.scripts.python.harmless import METHODS as HARMLESS_METHODS
from tools.approval.scripts.python.harmless import may_use
from tools.approval.scripts.python.names import Names
from tools.approval.scripts.python.starting import look_at_start
from tools.approval.scripts.python.tables import (
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
    RUN_FILES,
    SENDS_WITH,
    SHELLS,
    SQL_METHODS,
    STARTERS,
    TRICKS,
    WRITERS,
)
from tools.approval.scripts.secret_names import names_secret
from tools.approval.scripts.sql import judge_sql
from tools.bash.reading import UNKNOWN

_MAX_DEPTH = 6
_OPEN_VARIABLES = re.compile(
    r"HOME|PATH|USER|LANG|PWD|SHELL|TERM|TZ|LOGNAME|VIRTUAL_ENV|CONDA_PREFIX|CI|PYTHONPATH|EDITOR"
)
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
        if not self._effects.is_proven:
            self._look_for_secrets(nodes)

    def _folder(self, nodes: list[ast.AST]) -> None:
        """Where the script moves to: names without a folder are below it from then on."""
        for node in nodes:
            if isinstance(node, ast.Call) and "os.chdir" in self._names.things_of(node.func) and node.args:
                self._effects.doubt()
                self._effects.folder = text_of(node.args[0], self._names)

    # what is called

    def _look_at_call(self, call: Call) -> None:
        is_known = False
        for thing in sorted(call.things):
            is_known = self._look_at_thing(thing, call) or is_known
        if call.method and not is_known:
            self._look_at_method(call)
        elif not call.things and not call.method and not self._is_own(call):
            self._effects.doubt()

    def _is_own(self, call: Call) -> bool:
        """Whether it is a function of the script, or a value that is called: both were looked at."""
        return isinstance(call.node.func, ast.Name) and self._names.is_bound(call.node.func.id)

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
            effects.doubt()
            effects.add(BOMB if thing == "os.fork" and self._is_endless(call) else ALWAYS[thing])
        elif thing in GETTERS or thing in POSTERS:
            effects.doubt()
            self._sends.append(call)
        elif thing in {"os.kill", "os.chmod", "os.lchmod", "pathlib.Path().chmod"}:
            self._change(thing, call)
        elif look_at_file(thing, call, effects):
            self._has_read = True
        elif not self._reach(thing, call):
            if not may_use(thing):
                effects.doubt()
            return may_use(thing) and "()" not in thing
        return True

    def _reach(self, thing: str, call: Call) -> bool:
        """Note what is reached by its name: modules, attributes, variables, files with code."""
        if thing in RUN_FILES:
            self._effects.doubt()
        elif thing in {"getattr", "setattr", "delattr"}:
            self._reach_by_name(call)
        elif thing in {"os.environ.get", "os.getenv", "os.environ.pop"}:
            self._show_variable(call.text(0))
        elif thing == "__import__" or thing.startswith("importlib."):
            self._effects.doubt()
            if not call.node.args or UNKNOWN in call.text(0):
                self._effects.add(HIDDEN)
        else:
            return False
        return True

    def _do_like(self, thing: str, call: Call) -> None:
        like = LIKE_A_COMMAND[thing]
        values = call.texts
        if call.owner is not None and thing.startswith("pathlib.Path()."):
            values = (text_of(call.owner, self._names), *values)
        known = values[: like.needs]
        self._effects.doubt()
        if like.needs and (len(known) < like.needs or any(value.startswith(UNKNOWN) for value in known)):
            for value in known:
                self._effects.reads(value)
            return
        self._effects.does(like.template, *values, at_least=like.at_least)

    def _change(self, thing: str, call: Call) -> None:
        if thing == "os.kill":
            # Signal 0 only asks whether the process is there.
            self._effects.doubt()
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
            self._effects.doubt()
            self._effects.add(HIDDEN)
        else:
            self._again(text)

    def _reach_by_name(self, call: Call) -> None:
        """`getattr(x, name)` with a name that is not known, of something that can do anything."""
        owners = self._names.things_of(call.node.args[0]) if call.node.args else frozenset[str]()
        name = call.text(1)
        if name in HIDING_ATTRIBUTES or (UNKNOWN in name and owners & POWERFUL):
            self._effects.doubt()
            self._effects.add(HIDDEN)
        elif UNKNOWN in name or not all(may_use(f"{owner}.{name}") for owner in owners) or not owners:
            self._effects.doubt()

    def _show_variable(self, name: str) -> None:
        if _OPEN_VARIABLES.fullmatch(name):
            return
        self._effects.doubt()
        if _SECRET_VARIABLES.search(name):
            self._effects.add(SHOWS_VARIABLES)

    def _look_at_method(self, call: Call) -> None:
        """A method of something that is not known: its name tells."""
        name, effects = call.method, self._effects
        if name in HARMLESS_METHODS and not self._may_move(call):
            if name in {"read", "readlines", "readline", "read_text"}:
                self._has_read = True
            elif name in {"format", "format_map"} and "__" in text_of(call.owner or call.node, self._names):
                effects.doubt()
            return
        effects.doubt()
        if name in METHODS:
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
        elif name in {"get", "post", "put", "patch", "request"} and _ADDRESS.match(call.text(0)):
            self._sends.append(call)

    def _may_move(self, call: Call) -> bool:
        # `Path.replace` takes one argument, `str.replace` two.
        return call.method == "replace" and len(call.node.args) < 2  # noqa: PLR2004 - see above

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
                self._effects.doubt()
                self._effects.add(HIDDEN)
            case ast.Attribute(ctx=ast.Load()) | ast.Name(ctx=ast.Load()) if id(node) not in self._called:
                self._look_at_reference(node)
            case ast.Attribute(value=value) if not (isinstance(value, ast.Name) and value.id in {"self", "cls"}):
                # Something is put into what others use.
                if id(node) not in self._called and not isinstance(node.ctx, ast.Load):
                    self._effects.doubt()
            case ast.Subscript(value=value, slice=index):
                self._look_at_part(value, index)

    def _look_at_reference(self, node: ast.Attribute | ast.Name) -> None:
        for thing in self._names.things_of(node):
            if thing in {"os.environ", "os.environb"}:
                if not self._is_one_variable(node):
                    self._effects.doubt()
                    self._effects.add(SHOWS_VARIABLES)
            elif id(node) in self._inner or self._is_passed_harmlessly(node):
                continue
            elif thing in POWERFUL or thing in TRICKS:
                if not self._is_assigned(node):
                    self._effects.doubt()
                    self._effects.add(HIDDEN)
            elif thing in SHELLS or thing in STARTERS or thing in REPLACERS:
                self._effects.doubt()
                if not self._is_assigned(node):
                    self._effects.add(HIDDEN)
            elif thing in LIKE_A_COMMAND or thing in ALWAYS:
                floor = ALWAYS.get(thing) or LIKE_A_COMMAND[thing].at_least
                self._effects.doubt()
                if floor is not None and not self._is_assigned(node):
                    self._effects.add(floor)
            elif not may_use(thing):
                self._effects.doubt()

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
            self._effects.doubt()
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
