"""Other languages: goes through a script, name by name, and notes its effects by the rules of its language."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from tools.approval.commands.bash.reading import UNKNOWN
from tools.approval.commands.classes import Finding
from tools.approval.commands.dangers.deletion import opens_to_others
from tools.approval.commands.scripts.code_tokens import Syntax, Token, Tokenizer, with_known_values
from tools.approval.commands.scripts.effects import (
    CHANGES_RIGHTS,
    DELETES,
    ENDS,
    HIDDEN,
    SENDS,
    SHOWS_SECRETS,
    SHOWS_VARIABLES,
    TOO_MUCH,
    Effects,
    ScriptVerdict,
    names,
    names_secret,
)
from tools.approval.commands.scripts.sql import judge_sql
from tools.light_dataclass import dataclass

# What the functions of a language do, in a few words.

Does = Literal[
    "like",
    "mode",
    "shell",
    "starts",
    "always",
    "writes",
    "reads",
    "opens",
    "evaluates",
    "gets",
    "posts",
    "doubtful",
    "sql",
    "named",
]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a function does with its arguments.

    Attributes:
        template: for «like»: the shell command that does the same, `{0}` for the first argument.
        finding: for «always»; for the others, what it is at least.
        needs: for «like»: how many of the arguments must be known; otherwise the sandbox contains it.
        place: which argument is the path, text or address; for «mode» the first of the paths.
    """

    does: Does
    template: str = ""
    finding: Finding | None = None
    needs: int = 0
    place: int = 0


REMOVES = Rule("like", "rm -f -- {0}", DELETES)
REMOVES_TREE = Rule("like", "rm -rf -- {0}", DELETES)
REMOVES_FOLDER = Rule("like", "rmdir -- {0}", DELETES)
EMPTIES = Rule("like", "truncate -s 0 -- {0}", DELETES)
MOVES = Rule("like", "mv -- {0} {1}", needs=2)
COPIES = Rule("like", "cp -r -- {0} {1}", needs=2)
LINKS = Rule("like", "ln -s -- {0} {1}", needs=2)
MAKES_FOLDER = Rule("like", "mkdir -p -- {0}", needs=1)
TOUCHES = Rule("like", "touch -- {0}", needs=1)
CHANGES_MODE = Rule("mode")
"""The path and then the mode, as most languages have it."""
CHANGES_MODE_OF = Rule("mode", place=1)
"""The mode and then the paths, as the shell has it."""
CHANGES_OWNER = Rule("always", finding=CHANGES_RIGHTS)
KILLS = Rule("always", finding=ENDS)
SHELL = Rule("shell")
STARTS = Rule("starts")
WRITES = Rule("writes")
READS = Rule("reads")
OPENS = Rule("opens")
EVALUATES = Rule("evaluates")
GETS = Rule("gets")
POSTS = Rule("posts")
SQL = Rule("sql")
DOUBTFUL = Rule("doubtful")
NAMED = Rule("named")
"""Calls the function whose name it is given."""


def always(finding: Finding) -> Rule:
    """It is that, whatever the arguments are."""
    return Rule("always", finding=finding)


def rules(*groups: tuple[str, Rule]) -> dict[str, Rule]:
    """A table from names, apart by blanks, to what they do."""
    return {name: rule for names, rule in groups for name in names.split()}


@dataclass(frozen=True, slots=True)
class Language:
    """A language as far as its scripts are judged.

    Attributes:
        rules: by name with dots; `*.name` is that method of whatever object.
        fine: names and methods (`*.name`) that do no harm, whatever they are given.
        hiding: names whose mere use hides what runs.
        environment: how the variables of the environment are called.
        powerful: of these a part that is worked out hides what runs.
        bare: arguments may follow without parentheses.
        names_call: a name alone may be a call.
        modules: those that may be loaded: nothing of the directory can take their place.
        hiding_pairs: tokens side by side that call what is worked out; `""` stands for a text.
        calls_variables: `$f()` calls the function that a variable names.
    """

    syntax: Syntax
    rules: Mapping[str, Rule]
    fine: frozenset[str]
    hiding: frozenset[str] = frozenset()
    environment: frozenset[str] = frozenset()
    powerful: frozenset[str] = frozenset()
    joiners: frozenset[str] = frozenset({".", "?."})
    bare: bool = False
    keywords: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    hiding_pairs: frozenset[tuple[str, str]] = frozenset()
    calls_variables: bool = False
    names_call: bool = False


def methods(*texts: str) -> frozenset[str]:
    """Names of methods apart by blanks."""
    return frozenset(f"*.{name}" for name in names(*texts))


# What a script calls: names with dots, and the texts they are given.

_JOINERS = frozenset({".", "?."})
_ENDS_BARE = frozenset({";", ")", "}", "]", "=>", "&&", "||", "?", "|"})
_LOW_WORDS = frozenset(
    {"if", "unless", "or", "and", "do", "for", "foreach", "while", "until", "rescue", "then", "end", "xor"}
)
# More than a call is written with; what follows is looked at all the same, as code of its own.
_MAX_ARGUMENTS = 300
_MAX_PARTS = 24
_CONCATENATIONS = frozenset({".", "+", ".."})
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Call:
    """A name that is used, with or without arguments.

    Attributes:
        parts: the names of the chain in order; `UNKNOWN` for one that is worked out (`fs[x]`), `()` for what a call
            or an expression before it gave.
        words: the arguments, those in lists one by one; `UNKNOWN` in those that are not texts.
        first: the arguments of the first part, if that is called as well and is not the only one.
        tokens: what the arguments are made of.
        is_called: there are arguments, or empty parentheses.
        place: of the first token.
    """

    parts: tuple[str, ...]
    words: tuple[str, ...]
    first: tuple[str, ...]
    tokens: tuple[Token, ...]
    is_called: bool
    place: int = 0
    has_parentheses: bool = False

    @property
    def name(self) -> str:
        """The chain with dots."""
        return ".".join(self.parts)

    def word(self, place: int) -> str:
        """An argument; `UNKNOWN` where there is none."""
        return self.words[place] if place < len(self.words) else UNKNOWN


class _Chain:
    """Reads one chain of names from its first."""

    def __init__(self, tokens: Sequence[Token], place: int, joiners: frozenset[str], *, bare: bool) -> None:
        self._tokens = tokens
        self._place = place
        self._joiners = joiners
        self._bare = bare

    def read(self, before: tuple[str, ...] = ()) -> Iterator[Call]:
        """The call of each part of the chain that has arguments, and the whole chain."""
        start = self._place
        parts = [*before, self._tokens[start].text.replace("'", "::")]
        first: tuple[str, ...] = ()
        self._place += 1
        while True:
            token = self._at(self._place)
            following = self._at(self._place + 1)
            if len(parts) > _MAX_PARTS:
                yield Call((*parts[:1], UNKNOWN), (), first, (), True, start)
                return
            if token.kind == "mark" and token.text in self._joiners and following.kind == "name":
                parts.append(following.text)
                self._place += 2
            elif token.text == "?." and following.text in {"(", "["}:
                self._place += 1
            elif token.kind == "mark" and token.text == "[":
                inside, self._place = bracketed(self._tokens, self._place)
                name = folded(inside)
                parts.append(name if UNKNOWN not in name else UNKNOWN)
            elif token.kind == "mark" and token.text == "(":
                inside, self._place = bracketed(self._tokens, self._place)
                words = words_of(inside)
                yield Call(tuple(parts), words, first, tuple(inside), True, start, True)
                if not first:
                    first = words or (UNKNOWN,)
                following = self._at(self._place)
                if following.kind != "mark" or following.text not in self._joiners | {"[", "("}:
                    return
                # `f(x)(y)` calls what nobody knows; `require("fs").rm` has the parts of a module.
                parts.append(UNKNOWN if following.text == "(" else "()")
            else:
                break
        inside = self._bare_arguments() if self._bare else []
        yield Call(tuple(parts), words_of(inside), first, tuple(inside), bool(inside), start)

    def _at(self, place: int) -> Token:
        return self._tokens[place] if place < len(self._tokens) else Token("mark", "")

    def _bare_arguments(self) -> list[Token]:
        """`system "rm x" if y`: up to the end of the statement."""
        depth, taken = 0, list[Token]()
        for place in range(self._place, min(len(self._tokens), self._place + _MAX_ARGUMENTS)):
            token = self._tokens[place]
            if token.kind == "mark" and token.text in _OPENING:
                depth += 1
            elif token.kind == "mark" and token.text in _CLOSING:
                depth -= 1
            if depth < 0 or (depth == 0 and self._ends(token)):
                break
            if (
                not taken
                and token.kind == "mark"
                and token.text in {"=", "==", "=~", "+=", "<", ">", "-", "*", ".", ","}
            ):
                break
            taken.append(token)
        return taken

    def _ends(self, token: Token) -> bool:
        if token.kind == "mark":
            return token.text in _ENDS_BARE and token.text not in ")]}"
        return token.kind == "line" or (token.kind == "name" and token.text in _LOW_WORDS)


def calls_of(tokens: Sequence[Token], joiners: frozenset[str] = _JOINERS, *, bare: bool = False) -> Iterator[Call]:
    """Every use of a name that is not itself part of a chain.

    Args:
        bare: arguments may follow without parentheses.
    """
    for place, token in enumerate(tokens):
        if token.kind != "name":
            continue
        before = tokens[place - 1] if place else Token("mark", "")
        if before.kind == "mark" and before.text in joiners:
            if place > 1 and tokens[place - 2].kind == "name":
                continue  # a part of the chain before
            # A method of a text, a list, or of what a call gave.
            yield from _Chain(tokens, place, joiners, bare=bare).read(("()",))
            continue
        yield from _Chain(tokens, place, joiners, bare=bare).read()


def bracketed(tokens: Sequence[Token], place: int) -> tuple[list[Token], int]:
    """What is inside the bracket at `place`, and the place behind it; a long inside is not known."""
    depth, last = 0, min(len(tokens), place + _MAX_ARGUMENTS)
    for end in range(place, last):
        token = tokens[end]
        if token.kind == "mark":
            depth += (token.text in _OPENING) - (token.text in _CLOSING)
            if depth == 0:
                return list(tokens[place + 1 : end]), end + 1
    return [*tokens[place + 1 : last], Token("name", UNKNOWN)], last


def words_of(tokens: Sequence[Token]) -> tuple[str, ...]:
    """The arguments: split at commas, those of lists among them, not those of other calls."""
    words: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        if token.kind == "line":
            continue
        if token.kind == "mark" and token.text in "({" and token.text:
            depth += 1
        elif token.kind == "mark" and token.text in ")}" and token.text:
            depth -= 1
        if depth == 0 and token.kind == "mark" and token.text in {",", "[", "]", "=>"}:
            words.append([])
        else:
            words[-1].append(token)
    return tuple(folded(word) for word in words if word)


def folded(tokens: Sequence[Token]) -> str:
    """The text that an expression makes: texts and numbers joined, `UNKNOWN` for everything else."""
    plain = [token for token in tokens if token.kind != "line"]
    if not plain:
        return UNKNOWN
    pieces: list[str] = []
    for token in plain:
        if token.kind in {"text", "number"}:
            pieces.append(token.text)
        elif token.kind == "mark" and token.text in _CONCATENATIONS:
            continue
        else:
            pieces.append(UNKNOWN)
    return "".join(pieces)


# Other names that a script gives to modules and to what is in them.

_MAX_ALIASES = 200
_MAX_ALIAS_TOKENS = 100


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
    while start > max(0, place - _MAX_ALIAS_TOKENS) and tokens[start].text != "{":
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
    for count, token in enumerate(tokens[place : place + _MAX_ALIAS_TOKENS]):
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


# What a script makes of the permissions of files.

_DECIMAL = re.compile(r"[1-9]\d{0,8}")
# Whoever names more of them names one that is looked at.
_MAX_PATHS = 8


def change_mode(call: Call, first_path: int, effects: Effects) -> None:
    """Note what `call` does as the `chmod` of a shell.

    Args:
        first_path: 0 where the path comes before the mode, 1 where paths follow it.
    """
    effects.doubt()
    # What is in brackets counts as a word of its own: `chmod(a[1], 0o777)`.
    modes = [_mode(call, place) for place in (range(1, len(call.words)) if not first_path else (0,))] or [UNKNOWN]
    mode = next((one for one in modes if UNKNOWN not in one and opens_to_others(one)), modes[0])
    paths = call.words[first_path:] if first_path else call.words[:1]
    known = [path for path in paths if UNKNOWN not in path][:_MAX_PATHS]
    for path in known:
        effects.does("chmod {0} -- {1}", mode, path)
    if len(known) < len(paths) and UNKNOWN not in mode and opens_to_others(mode):
        effects.does("chmod {0} -- {1}", mode, UNKNOWN)


def _mode(call: Call, place: int) -> str:
    """The mode as a shell writes it: 493 is `755`, as `0o755` and `0755` are."""
    written = call.word(place)
    is_number = any(token.kind == "number" and token.text == written for token in call.tokens)
    if is_number and _DECIMAL.fullmatch(written):
        return f"{int(written):o}"
    return written.lower().removeprefix("0o")


# The reader.

_MAX_CHARS = 16_000
_MAX_TOKENS = 6_000
_MAX_DEPTH = 6
_MAX_CALLS = 3_000
_VERBS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_BODIES = frozenset({"body", "data", "json", "files", "postdata"})
_OPEN_VARIABLES = re.compile(r"HOME|PATH|USER|LANG|PWD|SHELL|TERM|TZ|LOGNAME|NODE_ENV|CI|RAILS_ENV|DEBUG|PORT")
_PIPED = re.compile(r"\|\s*[^|\s-].*|[^|]*[^|\s-]\s*\|", re.DOTALL)
_SECRET_VARIABLES = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|\[\w*\]$|\{\$", re.IGNORECASE)
_ONE_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*|fetch|get|has|key\?|include\?|\(\)")
_READS = frozenset({"reads", "opens", "shell", "starts"})


def judge_code(language: Language, source: str, effects: Effects) -> ScriptVerdict:
    """How far a script of `language` reaches."""
    read_into(language, source, effects, 0)
    return effects.verdict


def read_into(language: Language, source: str, effects: Effects, depth: int) -> None:
    """Look at a script, or at a text that one runs."""
    if len(source) > _MAX_CHARS or depth > _MAX_DEPTH:
        effects.doubt()
        effects.add(TOO_MUCH)
        return
    readings = [source]
    if "<?" in source.lstrip()[2:] and language.calls_variables:
        readings.append(source[source.index("<?", 2) :])  # what stands before may be no code
    seen: list[list[Token]] = []
    for text in readings:
        for is_eager in (False, True):
            tokens = with_known_values(Tokenizer(text, language.syntax, is_eager=is_eager).tokens())
            if len(tokens) > _MAX_TOKENS:
                effects.doubt()
                effects.add(TOO_MUCH)
                return
            if tokens not in seen:
                seen.append(tokens)
                _Reader(language, tokens, effects, depth).read()


class _Reader:
    def __init__(self, language: Language, tokens: Sequence[Token], effects: Effects, depth: int) -> None:
        self._language = language
        self._tokens = tokens
        self._effects = effects
        self._depth = depth
        self._aliases, self._named = aliases_in(tokens)
        self._has_read = False
        self._requests: list[tuple[Call, Rule]] = []

    def read(self) -> None:
        if any(UNKNOWN in token.text for token in self._tokens if token.kind != "text"):
            self._effects.doubt()
        for token in self._tokens:
            self._look_at_token(token)
        self._look_at_pairs()
        for count, call in enumerate(calls_of(self._tokens, self._language.joiners, bare=self._language.bare)):
            if count > _MAX_CALLS:
                self._effects.doubt()
                self._effects.add(TOO_MUCH)
                break
            if call.place not in self._named or call.is_called:
                self._look_at_call(call)
        for call, rule in self._requests:
            self._look_at_request(call, rule)
        if not self._effects.is_proven:
            self._look_for_secrets()

    def _look_at_token(self, token: Token) -> None:
        if token.kind == "command":
            self._has_read = True
            self._effects.runs(token.text)
        elif (token.kind == "regex" and re.search(r"\(\?\??\{", token.text)) or (
            token.kind == "name" and token.text in self._language.hiding
        ):
            self._effects.doubt()
            self._effects.add(HIDDEN)

    def _look_at_pairs(self) -> None:
        texts = [
            token.text if token.kind == "mark" else "" if token.kind == "text" else "x" for token in self._tokens
        ]
        if any(pair in self._language.hiding_pairs for pair in itertools.pairwise(texts)):
            self._effects.doubt()
            self._effects.add(HIDDEN)

    def _look_at_call(self, call: Call) -> None:
        language = self._language
        parts = self._resolved(call)
        name = ".".join(parts)
        if name in {"require", "import"} and call.is_called:
            self._load(call.word(0))
            return
        if call.has_parentheses and language.calls_variables and parts[-1].startswith("$"):
            self._effects.doubt()
            self._effects.add(HIDDEN)
            return
        if parts[0] == UNKNOWN:
            self._effects.doubt()
            if call.is_called or len(self._tokens) == 1:
                self._effects.add(HIDDEN)
            return
        if parts[-1] == UNKNOWN or UNKNOWN in parts[1:]:
            self._effects.doubt()
            if parts[0] in language.powerful or (call.is_called and parts[0].startswith("$")):
                self._effects.add(HIDDEN)
            return
        if any(name == known or name.startswith(f"{known}.") for known in language.environment):
            self._look_at_variables(call, parts)
            return
        rule = self._rule(parts)
        if rule is not None:
            self._apply(rule, call)
        elif not self._is_fine(parts, call):
            self._effects.doubt()

    def _load(self, module: str) -> None:
        """A module is loaded: one that comes with the language, data, or something that runs."""
        if UNKNOWN in module:
            self._effects.doubt()
            self._effects.add(HIDDEN)
        elif module.endswith(".json") and module.startswith((".", "/")):
            self._effects.reads(module)
        elif module.removeprefix("node:") not in self._language.modules:
            self._effects.doubt()

    def _resolved(self, call: Call) -> tuple[str, ...]:
        """The chain with the names of modules in place of their aliases, and of `require(…)`."""
        parts = call.parts
        if parts[0] == "require" and len(parts) > 1 and parts[1] == "()":
            module = call.first[0].removeprefix("node:") if call.first else UNKNOWN
            return (module, *parts[2:])
        alias = self._aliases.get(parts[0])
        return parts if alias is None else (*alias.split("."), *parts[1:])

    def _rule(self, parts: tuple[str, ...]) -> Rule | None:
        rules = self._language.rules
        plain = tuple(part for part in parts if part != "()") or parts
        for start in range(len(plain)):
            found = rules.get(".".join(plain[start:]))
            if found is not None and (start == 0 or len(plain) - start > 1):
                return found
        return rules.get(f"*.{parts[-1]}") if len(parts) > 1 else None

    def _is_fine(self, parts: tuple[str, ...], call: Call) -> bool:
        language = self._language
        if len(parts) == 1:
            name = parts[0]
            is_plain = not call.is_called and not language.names_call
            return name in language.fine or name in language.keywords or is_plain or name[:1] in "$@%"
        if ".".join(parts) in language.fine or f"{parts[0]}.*" in language.fine:
            return True
        if not call.is_called and not language.names_call:
            return parts[0] not in language.powerful
        return f"*.{parts[-1]}" in language.fine and parts[0] not in language.powerful

    def _look_at_variables(self, call: Call, parts: tuple[str, ...]) -> None:
        names = [part for part in (*parts, *call.words) if _OPEN_VARIABLES.fullmatch(part)]
        if names:
            return
        self._effects.doubt()
        end = call.place + 2 * len(parts) - 1
        following = "".join(token.text for token in self._tokens[end : end + 3])
        is_one = following[:1] in {"{", "[", "(", "."} and not following.startswith("()")
        is_whole = (
            not is_one if ".".join(parts) in self._language.environment else not _ONE_VARIABLE.fullmatch(parts[-1])
        )
        if is_whole or _SECRET_VARIABLES.search(f"{parts[-1]} {call.word(0)} {following}"):
            self._effects.add(SHOWS_VARIABLES)

    def _apply(self, rule: Rule, call: Call) -> None:
        effects = self._effects
        self._has_read = self._has_read or rule.does in _READS
        match rule.does:
            case "like":
                self._do_like(rule, call)
            case "mode":
                change_mode(call, rule.place, effects)
            case "shell":
                self._run(call)
            case "starts":
                effects.starts(call.words[rule.place :] or (UNKNOWN,))
            case "always":
                effects.doubt()
                effects.add(rule.finding or HIDDEN)
            case "writes":
                effects.writes(call.word(rule.place))
            case "reads":
                effects.reads(call.word(rule.place))
            case "opens":
                self._open(rule, call)
            case "evaluates":
                self._evaluate(rule, call)
            case _:
                effects.doubt()
                self._apply_doubtful(rule, call)

    def _apply_doubtful(self, rule: Rule, call: Call) -> None:
        effects = self._effects
        if rule.does in {"gets", "posts"}:
            self._requests.append((call, rule))
        elif rule.does == "sql":
            effects.found.extend(judge_sql(call.word(rule.place), effects.of_another()).findings)
        elif rule.does == "named":
            named = self._language.rules.get(call.word(0))
            if named is not None and named.does != "reads":
                effects.add(HIDDEN)

    def _do_like(self, rule: Rule, call: Call) -> None:
        self._effects.doubt()
        words = call.words[rule.place :]
        known = words[: rule.needs]
        if rule.needs and (len(known) < rule.needs or any(UNKNOWN in word for word in known)):
            return
        self._effects.does(rule.template, *words, at_least=rule.finding)

    def _run(self, call: Call) -> None:
        words = tuple(word for word in call.words if word not in {"", UNKNOWN}) if len(call.words) > 1 else call.words
        if not call.words or call.words[0].startswith(UNKNOWN):
            self._effects.doubt()
            self._effects.add(HIDDEN)
        elif len(words) == 1:
            self._effects.runs(words[0])
            if UNKNOWN in call.words:
                self._effects.starts(call.words)
        else:
            self._effects.starts(call.words)

    def _open(self, rule: Rule, call: Call) -> None:
        path, mode = call.word(rule.place), call.words[rule.place + 1] if len(call.words) > rule.place + 1 else "r"
        piped = next((text.strip() for text in (path, mode) if _PIPED.fullmatch(text.strip())), "")
        if piped:
            command = piped.strip("|")
            self._effects.feeds(command) if piped.startswith("|") else self._effects.runs(command)
        elif len(mode) > 2 and mode.startswith((">", "+>")):  # noqa: PLR2004 - the mode and the name in one
            self._effects.writes(mode.lstrip("+> "))
        elif mode in {"-|", "|-"}:
            rest = call.words[rule.place + 2 :]
            self._effects.runs(rest[0]) if len(rest) == 1 else self._effects.starts(rest)
        elif path.startswith((">", "+<")):
            self._effects.writes(path.lstrip("+<> "))
        elif mode.startswith((">", "+")):
            self._effects.writes(call.word(rule.place + 2))
        elif mode.startswith("<"):
            self._effects.reads(call.word(rule.place + 2))
        elif re.fullmatch(r"r[bt]*(?::.*)?", mode):
            self._effects.reads(path.lstrip("< "))
        else:
            self._effects.writes(path)

    def _evaluate(self, rule: Rule, call: Call) -> None:
        if not call.words:
            # A block: its code is among the tokens. Elsewhere the function itself is handed on.
            if not self._language.bare:
                self._effects.doubt()
                self._effects.add(HIDDEN)
            return
        text = call.word(rule.place)
        if UNKNOWN in text:
            self._effects.doubt()
            if not (call.tokens and call.tokens[0].text in {"{", "do"}):
                self._effects.add(HIDDEN)
        else:
            read_into(self._language, text, self._effects, self._depth + 1)

    def _look_at_request(self, call: Call, rule: Rule) -> None:
        """A request: with a body it sends; an address that is made of what was read carries it, too."""
        address = next((word for word in call.words if re.match(r"(?i)https?://", word)), call.word(0))
        texts = {token.text.upper() for token in call.tokens if token.kind == "text"}
        has_body = bool(_BODIES & {token.text for token in call.tokens if token.kind == "name"})
        verbs = sorted(_VERBS & texts)
        if rule.does == "posts" or has_body or verbs:
            self._effects.does(
                "curl -sS -X {1} -d x {0}",
                address,
                verbs[0] if verbs else "POST",
                at_least=SENDS if UNKNOWN in address else None,
            )
        elif UNKNOWN not in address:
            self._effects.does("curl -sS {0}", address)
        elif self._has_read:
            self._effects.add(SENDS)

    def _look_for_secrets(self) -> None:
        """Names of secret places in a script that opens what nobody can tell."""
        for token in self._tokens:
            if token.kind == "text" and names_secret(token.text):
                self._effects.add(SHOWS_SECRETS)
