"""What an edit broke: problems found by parsers, grammars and language servers, and which of them are new."""

from __future__ import annotations

import functools
import json
import logging
import re
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tools.context import ToolContext
from tools.outline.languages import TONGUES, is_installed, language_of, tree_of
from tools.ports import Problem

if TYPE_CHECKING:
    from tree_sitter import Language, Node

log = logging.getLogger(__name__)


# Syntax by tree-sitter, for languages whose grammar is installed.

# Grammars that take wrong texts for right ones, or right ones for wrong; of Python its own parser says more.
_NOT_TRUSTED = frozenset({"python", "c", "cpp"})
_MOST = 5
_MAX_EXCERPT = 60
SECONDS = 0.5
"""How long a file's syntax may be looked at."""


def tree_checker(path: Path) -> Callable[[str], Sequence[Problem]] | None:
    """Who checks the syntax of such a file; None where its grammar is not installed."""
    tongue = TONGUES.get(path.suffix.lower().removeprefix("."))
    if tongue is None or tongue.name in _NOT_TRUSTED or not is_installed(tongue):
        return None
    return functools.partial(_problems, language_of(tongue), tongue.name.replace("c_sharp", "c#"))


def _problems(language: Language, name: str, text: str) -> Sequence[Problem]:
    until = time.monotonic() + SECONDS
    tree = tree_of(language, text.encode("utf-8", "surrogatepass"), lambda: time.monotonic() > until)
    if tree is None or not tree.root_node.has_error:
        return ()
    return tuple(_told(node, name) for node, _ in zip(_wrong(tree.root_node), range(_MOST), strict=False))


def _wrong(root: Node) -> Iterator[Node]:
    """The nodes that the grammar has no place for, and those that it misses, in the order of the text."""
    left = [root]
    while left:
        node = left.pop()
        if node.is_missing or node.type == "ERROR":
            yield node
        elif node.has_error:
            left.extend(reversed(node.children))


def _told(node: Node, name: str) -> Problem:
    line, column = node.start_point
    if node.is_missing:
        message = f"{node.type!r} is missing"
    else:
        text = (node.text or b"").decode("utf-8", "replace").strip().partition("\n")[0]
        message = f"unexpected {text[:_MAX_EXCERPT]!r}" if text else "syntax error"
    return Problem(line + 1, column + 1, "error", message, name)


# The syntax of a changed file, by the language's own parser, in this process and at once.

MAX_CHARS = 1_000_000
"""Longer files are not looked at: nobody waits for their parser."""

_COMMENTED_JSON = re.compile(r"(?:[tj]sconfig.*|devcontainer|\.eslintrc)\.json", re.IGNORECASE)
_COMMENTED_FOLDERS = frozenset({".vscode", ".zed", ".devcontainer"})
_YAML_SECONDS = 0.5  # its parser needs the square of the depth
# What a program fills in before anybody parses it: its braces are no YAML, no JSON.
_TEMPLATE = re.compile(r"\{\{|\{%|<%")
# Its parser needs the cube of the parts of a dotted key.
_MANY_PARTS = re.compile(r"(?:[\w\"'-]\.[\w\"'-]{0,40}){100}")

_MAKEFILE = re.compile(r"(?:GNU)?[Mm]akefile(?:\.\w+)?")
_MAKES_RULE = re.compile(r"[^\s=:][^=:]*::?(?![=:])(?!\s*[\w.-]+\s*[:?+!]*=)")
# What may be indented with spaces: conditions, and the setting of variables.
_MAKES_OWN = re.compile(
    r"\s*(?:(?:ifn?eq|ifn?def|else|endif|-?include|export|override|unexport)\b|[\w.-]+\s*[:?+!]*=)"
)

Checker = Callable[[str], Sequence[Problem]]


def syntax_problems(path: Path, text: str) -> Sequence[Problem]:
    """What the parser of the file's language says; nothing for a language that nobody here can parse."""
    if len(text) > MAX_CHARS:
        return ()
    checker = _checker(path, text)
    try:
        return checker(text) if checker is not None else ()
    except Exception:  # the file is written: a parser's own fault must not make that look like a failure
        log.warning("the syntax of %s could not be looked at", path, exc_info=True)
        return ()


def _checker(path: Path, text: str) -> Checker | None:
    suffix = path.suffix.lower()
    match suffix:
        case ".py" | ".pyi" | ".pyw":
            return _python
        case ".json" | ".ipynb":
            commented = _COMMENTED_JSON.fullmatch(path.name) or not _COMMENTED_FOLDERS.isdisjoint(path.parts)
            return None if commented or _TEMPLATE.search(text) else _json
        case ".toml":
            return None if _TEMPLATE.search(text) or _MANY_PARTS.search(text) else _toml
        case ".yaml" | ".yml":
            return None if _TEMPLATE.search(text) else _yaml
    if suffix == ".mk" or _MAKEFILE.fullmatch(path.name):
        return _make

    return tree_checker(path)


def _python(text: str) -> Sequence[Problem]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<file>", "exec", dont_inherit=True)
        except SyntaxError as problem:
            return (_problem(problem.lineno, problem.offset, problem.msg, "python"),)
        except (ValueError, RecursionError, MemoryError) as problem:
            return (_problem(1, 1, str(problem) or type(problem).__name__, "python"),)
    return ()


def _json(text: str) -> Sequence[Problem]:
    if not text.strip():
        return (_problem(1, 1, "the file is empty", "json"),)
    try:
        json.loads(text, parse_int=str)  # as a number, one of thousands of digits is refused
    except json.JSONDecodeError as problem:
        return (_problem(problem.lineno, problem.colno, problem.msg, "json"),)
    except RecursionError:
        return ()
    return ()


def _toml(text: str) -> Sequence[Problem]:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        where = re.search(r"\(at line (\d+), column (\d+)\)", str(problem))
        line, column = (int(where[1]), int(where[2])) if where else (text.count("\n") + 1, 1)
        return (_problem(line, column, re.sub(r"\s*\(at .*\)$", "", str(problem)), "toml"),)
    except (ValueError, RecursionError):  # a number of thousands of digits is one for TOML, not for Python
        return ()
    return ()


def _yaml(text: str) -> Sequence[Problem]:
    import yaml  # noqa: PLC0415 - few files are YAML

    # Only the form counts: what tags and anchors mean is for whoever reads the file.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        until = time.monotonic() + _YAML_SECONDS
        for _ in yaml.parse(text, Loader=loader):
            if time.monotonic() > until:
                return ()
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        return (_problem(line, column, problem.problem or "not valid YAML", "yaml"),)
    except (yaml.YAMLError, RecursionError) as problem:
        return (_problem(1, 1, " ".join(str(problem).split()), "yaml"),)
    return ()


def _make(text: str) -> Sequence[Problem]:
    """Lines of recipes that begin with spaces: make takes only a tab there."""
    if ".RECIPEPREFIX" in text:
        return ()
    found: list[Problem] = []
    in_rule, goes_on, in_define = False, False, False
    for number, line in enumerate(text.split("\n"), 1):
        continued, goes_on = goes_on, line.rstrip("\r").endswith("\\")
        if in_define or continued or not line.strip() or line.lstrip().startswith("#"):
            in_define = in_define and not line.startswith("endef")
        elif line.startswith("define "):
            in_define = True
        elif line.startswith(" "):
            if in_rule and not _MAKES_OWN.match(line):
                message = "a line of a recipe has to begin with a tab, not with spaces"
                found.append(_problem(number, 1, message, "make"))
        elif not line.startswith("\t"):
            in_rule = _MAKES_RULE.match(line) is not None or (in_rule and _MAKES_OWN.match(line) is not None)
    return tuple(found)


def _problem(line: int | None, column: int | None, message: str, source: str) -> Problem:
    return Problem(max(1, line or 1), max(1, column or 1), "error", message, source)


# Tells the model what its edit broke: what is wrong now and was not before.

_MAX_MESSAGE = 200


def new_problems(path: Path, before: str | None, after: str, ctx: ToolContext) -> str:
    """What is wrong with `after` that was not with `before` (None: no file), a line each; '' when nothing is.

    The syntax is looked at here; a language server is asked only about what can be parsed.

    Raises:
        ToolInterrupted: the turn was cancelled.
    """
    # Also before an edit that breaks the syntax: the one that mends it is compared with what was there before both.
    baseline = None if ctx.diagnostics is None else ctx.diagnostics.before(path, before)
    found = syntax_problems(path, after)
    if found:
        return told(new_of(found, after, syntax_problems(path, before or ""), before or ""))
    if ctx.diagnostics is None:
        return ""
    return told(ctx.diagnostics.after(path, after, baseline, ctx.interrupt))


def new_of(now: Sequence[Problem], text: str, earlier: Sequence[Problem], earlier_text: str) -> Sequence[Problem]:
    """The problems of `now` that `earlier` did not have; one that only moved to another line is not new."""
    known = Counter(_key(problem, earlier_text) for problem in earlier)
    new: list[Problem] = []
    for problem in now:
        key = _key(problem, text)
        if known[key]:
            known[key] -= 1
        else:
            new.append(problem)
    return new


def told(problems: Sequence[Problem]) -> str:
    """The problems for the model: errors first, a line each, the rest counted."""
    ordered = sorted(problems, key=lambda problem: (problem.severity != "error", problem.line, problem.column))
    lines = [
        f"line {problem.line}: {' '.join(problem.message.split())[:_MAX_MESSAGE]} ({problem.source})"
        for problem in ordered[:_MOST]
    ]
    if len(ordered) > _MOST:
        lines.append(f"and {len(ordered) - _MOST} more")
    return "\n".join(lines)


def _key(problem: Problem, text: str) -> tuple[str, str, str]:
    lines = text.split("\n")
    line = lines[problem.line - 1].strip() if problem.line <= len(lines) else ""
    return problem.source, problem.message, line
