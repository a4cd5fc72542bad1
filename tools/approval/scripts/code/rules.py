"""What the functions of a language do, in a few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tools.approval.dangers.finding import Finding
from tools.approval.scripts.code.syntax import Syntax
from tools.approval.scripts.effects import CHANGES_RIGHTS, DELETES, ENDS
from tools.approval.scripts.naming import names
from tools.light_dataclass import dataclass

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
