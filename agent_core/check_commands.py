"""Which commands count as a check of code (tests, builds, linters, running the code), and how one came out."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from tools.light_dataclass import dataclass
from tools.result import ShownOutput, ShownText, ToolResult
from tools.shell.exit_codes import explain_exit

_ANY: frozenset[str] = frozenset()
_BUILDS = frozenset({"test", "build", "check", "run", "bench", "vet", "verify", "compile", "lint", "clippy"})
_SCRIPTS = re.compile(r"test|check|lint|build|tsc|type|verify|start|dev|e2e|spec|compile|run")
_SEPARATOR = re.compile(r"[();|&\n]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_DURATION = re.compile(r"[\d.]+[smhd]?")
_INTERPRETER = re.compile(r"(?:python|pypy|ruby|perl|php|node|bash|sh|zsh|lua|julia|Rscript)[\d.]*$")

# Programs that run the command behind them, with the words that stand in between.
_RUNNERS: Mapping[str, frozenset[str]] = {
    "sudo": _ANY, "env": _ANY, "time": _ANY, "nice": _ANY, "nohup": _ANY, "timeout": _ANY, "exec": _ANY,
    "xvfb-run": _ANY, "stdbuf": _ANY, "uv": frozenset({"run"}), "uvx": _ANY, "poetry": frozenset({"run"}),
    "pipenv": frozenset({"run"}), "pdm": frozenset({"run"}), "hatch": frozenset({"run"}), "rye": frozenset({"run"}),
    "npx": _ANY, "bunx": _ANY, "bundle": frozenset({"exec"}), "dotenv": _ANY, "coverage": frozenset({"run"}),
    "nix": frozenset({"develop", "shell"}),
}  # fmt: skip

# Programs that check something whatever stands behind them.
_CHECKERS = frozenset({
    "pytest", "py.test", "tox", "nox", "nose2", "mypy", "pyright", "basedpyright", "pyre", "ty", "flake8", "pylint",
    "bandit", "jest", "vitest", "mocha", "ava", "karma", "cypress", "playwright", "eslint", "tsc", "vue-tsc",
    "biome", "oxlint", "stylelint", "webpack", "rollup", "esbuild", "rspec", "rubocop", "phpunit", "phpstan",
    "psalm", "pest", "golangci-lint", "staticcheck", "gotestsum", "rustc", "gcc", "g++", "cc", "c++", "clang",
    "clang++", "clang-tidy", "javac", "kotlinc", "scalac", "ghc", "shellcheck", "hadolint", "cppcheck", "ctest",
    "ninja", "msbuild", "xcodebuild", "bats", "prove", "luacheck", "ktlint", "detekt", "pre-commit", "trunk",
    "ruff",
})  # fmt: skip

# Programs that check with one of these words as their own command.
_WITH_COMMAND: Mapping[str, frozenset[str]] = {
    "cargo": _BUILDS | {"nextest", "miri"}, "go": _BUILDS, "dotnet": _BUILDS, "swift": _BUILDS,
    "zig": _BUILDS | {"build-exe", "test"}, "mix": _BUILDS | {"credo", "dialyzer"},
    "rebar3": _BUILDS | {"eunit", "ct"}, "sbt": _BUILDS | {"testOnly"}, "deno": _BUILDS, "stack": _BUILDS,
    "cabal": _BUILDS, "dart": _BUILDS | {"analyze"}, "flutter": _BUILDS | {"analyze"}, "bazel": _BUILDS,
    "buck2": _BUILDS, "meson": _BUILDS, "terraform": frozenset({"validate", "plan"}),
    "docker": frozenset({"build"}), "django-admin": frozenset({"test", "check"}),
}  # fmt: skip

_TASK_RUNNERS = frozenset({
    "npm", "pnpm", "yarn", "bun", "composer", "rake", "just", "task", "invoke", "gradle", "gradlew", "mvn", "mvnw",
    "make", "gmake", "ant",
})  # fmt: skip
_WHOLE = frozenset({"make", "gmake", "rake", "ninja", "mvn", "mvnw", "ant", "just"})
_TASK_ASIDE = frozenset({"run", "exec", "run-script", "dlx", "x"})
_PACKAGES = frozenset({"install", "i", "add", "ci", "remove", "update", "upgrade", "require", "init", "link"})
_ONLY_LOOKS = frozenset({"--version", "-V", "--help", "-h", "-v"})
_INLINE_FORMAT = frozenset({"format"})
_LONGEST_COMMAND = 10_000
_INLINE = frozenset({"-", "-c", "-e", "-p", "-r", "-pe", "-i", "-pi", "-ne", "-lc", "<<", "<<<"})
_VERSION_CONTROL = frozenset({"git", "hg", "svn", "jj", "gh"})


def is_check(command: str, *, edited: bool = False) -> bool:
    """Whether running the shell command `command` tells something about code: a test, a build, a linter, a run.

    Args:
        edited: it was seen to change code: a program in the command's own text was there for that.
    """
    return any(_checks(words, inline=not edited) for words in _simple_commands(command))


def only_brings(command: str) -> bool:
    """Whether what the shell command changes was written earlier, or by others: it is a matter of version control."""
    return any(
        PurePosixPath(words[0]).name in _VERSION_CONTROL and words[1:2] != ["apply"]
        for words in _simple_commands(command)
    )


def _simple_commands(command: str) -> list[list[str]]:
    """The words of each simple command; substitutions and nested scripts are not looked into."""
    if len(command) > _LONGEST_COMMAND:
        # What is that long writes a file by the way: what it does stands before and behind.
        command = f"{command[: _LONGEST_COMMAND // 2]}\n{command[-_LONGEST_COMMAND // 2 :]}"
    text = command.replace("\\\n", " ")
    found: list[list[str]] = []
    try:
        found.extend(_split(text))
    except ValueError:  # an apostrophe in a text that is none of the shell's: then a line at a time
        found.clear()
        for line in text.splitlines():
            # What was read before the open quotation mark counts all the same.
            with contextlib.suppress(ValueError):
                found.extend(_split(line))
    return [words for words in found if words]


def _split(text: str) -> Iterator[list[str]]:
    """The words between separators, also those before an error.

    Raises:
        ValueError: a quotation mark is open at the end.
    """
    lexer = shlex.shlex(text, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    words: list[str] = []
    is_comment = False
    try:
        for word in lexer:
            is_comment = (is_comment or word.startswith("#")) and "\n" not in word
            if is_comment:
                continue
            if _SEPARATOR.fullmatch(word):
                yield words
                words = []
            else:
                words.append(word)
    except ValueError:
        yield words
        raise
    yield words


def _checks(words: Sequence[str], *, inline: bool) -> bool:
    rest = list(words)
    while rest:
        if _ASSIGNMENT.match(rest[0]):
            rest.pop(0)
            continue
        name = PurePosixPath(rest[0]).name
        between = _RUNNERS.get(name)
        if between is None:
            return _is_checker(rest[0], name, rest[1:], inline=inline)
        rest = _behind(rest[1:], between)
    return False


def _behind(rest: list[str], between: frozenset[str]) -> list[str]:
    """The command that a runner runs: what comes behind its own word, options and durations."""
    if between and not any(word in between for word in rest):
        return []
    while rest and (rest[0] in between or rest[0].startswith("-") or _DURATION.fullmatch(rest[0])):
        rest = rest[1:]
    return rest


def _is_checker(path: str, name: str, rest: Sequence[str], *, inline: bool) -> bool:
    if rest and rest[0] in _ONLY_LOOKS and len(rest) == 1:
        return False
    if name in _CHECKERS:
        return not (rest and rest[0] in _INLINE_FORMAT and "--check" not in rest)
    if name in _WITH_COMMAND:
        own = [word for word in rest if not word.startswith(("-", "+"))]
        return bool(own) and own[0] in _WITH_COMMAND[name]
    if name in _TASK_RUNNERS:
        return _is_task(name, rest)
    if _INTERPRETER.match(name):
        # An interpreter without a program only waits for one.
        if not rest or rest[0] in {"-V", "--version"} or (rest[0] in _INLINE and not inline):
            return False
        return not _is_housekeeping(rest)
    return path.startswith(("./", "../", "/", "~/")) and not path.startswith(("/bin/", "/usr/bin/", "/usr/sbin/"))


def _is_task(name: str, rest: Sequence[str]) -> bool:
    tasks = [word for word in rest if not word.startswith("-") and word not in _TASK_ASIDE]
    if tasks and tasks[0] in _PACKAGES:
        return False
    if not tasks:
        return name in _WHOLE
    return any(_SCRIPTS.search(task.lower()) for task in tasks)


def _is_housekeeping(rest: Sequence[str]) -> bool:
    """`python -m pip` and the like: a module that has nothing to do with the code."""
    return (
        list(rest[:1]) == ["-m"]
        and rest[1:2] != []
        and rest[1] in {"pip", "venv", "ensurepip", "http.server", "json.tool"}
    )


# How a check came out: by its exit status, by that of each part of a pipe, and by what test runners print.

_TAIL = 20_000
_LONGEST_OUTCOME = 160
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_FINE = frozenset({0, 141})
"""141: the next part of the pipe wanted no more, as `head` does."""
_NOTHING_COLLECTED = 5
_PIPE = re.compile(r"(?<!\|)\|&?(?!\|)")

# Lines by which the well-known runners say that something failed, whatever the exit status is.
_FAILURES = re.compile(
    r"""^[ \t]*(?:
      =+[ ](?:[^=\n]*,[ ])?\d+[ ](?:failed|errors?)\b[^=\n]*=+[ \t]*$                # pytest
    | \d+[ ](?:failed|errors?)(?:,[ ]\d+[ ]\w+)*[ ]in[ ][\d.]+\ ?m?s\b.*$              # pytest -q
    | (?:FAILED|ERROR)[ ]\S+\.py(?:::\S+|\b).*$                                      # pytest's short summary
    | FAILED[ ]\((?:failures|errors)=.*$                                             # unittest
    | Tests?:?[ \t]+(?:[^\n]*\D)??[1-9]\d*[ ]failed\b.*$                             # jest, vitest
    | [1-9]\d*[ ]failing$                                                            # mocha
    | (?:[#ℹ][ ])fail[ ][1-9]\d*$                                                    # node --test, TAP
    | not[ ]ok[ ]\d+\b.*$                                                            # TAP
    | test[ ]result:[ ]FAILED.*$                                                      # cargo test
    | error(?:\[E\d+\])?:[ ].*$                                                      # rustc, cargo
    | ---[ ]FAIL:.*$ | FAIL(?:[ \t]+\S.*)?$                                          # go test
    | \S+:\d+:\d+:[ ](?:fatal[ ])?error:[ ].*$                                        # gcc, clang
    | \S+\(\d+,\d+\):[ ]error[ ]\w+\d+:.*$ | \S+[ ]-[ ]error[ ]TS\d+:.*$             # tsc, msbuild
    | \S+\.pyi?:\d+:(?:\d+:)?[ ]error:[ ].*$                                         # mypy
    | Found[ ][1-9]\d*[ ]errors?(?:[ ]in[ ].*|\.?)$                                   # mypy, ruff, tsc
    | ✖[ ]\d+[ ]problems?[ ]\([1-9]\d*[ ]errors?\b.*$                                # eslint
    | g?make(?:\[\d+\])?:[ ]\*\*\*[ ].*$                                              # make
    | \d+[ ](?:examples?|runs|tests),[ ](?:.*[ ])?[1-9]\d*[ ](?:failures?|errors?)\b.*$ # rspec, minitest
    | FAILURES!$ | BUILD[ ](?:FAILURE|FAILED)\b.*$                                    # phpunit, maven, gradle
    | Failed![ ]+-[ ]Failed:.*$                                                       # dotnet
    | \d+%[ ]tests[ ]passed,[ ][1-9]\d*[ ]tests?[ ]failed.*$                          # ctest
    | npm[ ](?:ERR!|error)[ ].*$
    )""",
    re.MULTILINE | re.VERBOSE,
)


_EXPECTED = re.compile(r"\(ignored\)$|#\s*(?:TODO|SKIP)\b", re.IGNORECASE)
# Lines by which they say that all is well.
_PASSES = re.compile(
    r"""^[ \t]*(?:
      =+[ ](?:[^=\n]*,[ ])?\d+[ ]passed\b[^=\n]*=+[ \t]*$
    | \d+[ ]passed(?:,[ ]\d+[ ]\w+)*[ ]in[ ][\d.]+.*$                                # pytest
    | OK(?:[ ]\(.*\))?$ | Tests?:?[ \t]+[^\n]*\d+[ ]passed\b.*$                          # unittest, jest
    | (?:[#ℹ][ ])fail[ ]0$                                                            # TAP
    | test[ ]result:[ ]ok\b.*$ | (?:ok|PASS)(?:[ \t]+\S.*)?$ | \d+[ ]passing\b.*$        # cargo, go, mocha
    )""",
    re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """Whether a check passed, and by what its failure is seen, '' for none. Neither: nothing was checked."""

    passed: bool
    failure: str = ""


def outcome_of(result: ToolResult) -> CheckOutcome:
    """How the check came out whose call, or a later look at it, has this result.

    What still runs, or was ended because it took long, has shown that it runs: that counts as passed.
    """
    facts, output = result.facts, _output(result)
    command, code = str(facts.get("command", "")), facts.get("exit_code")
    if facts.get("timed_out") or (code is None and not _signal(result)):
        return CheckOutcome(passed=True)
    if code == _NOTHING_COLLECTED and "pytest" in command:
        return CheckOutcome(passed=False)
    if seen := _seen_in(output, fine=code == 0):
        return CheckOutcome(passed=False, failure=f"its output says `{seen}`")
    if code is None:
        return CheckOutcome(passed=False, failure=f"it was ended by {_signal(result)}")
    if code != 0 and _is_failure(result, command, code):
        return CheckOutcome(passed=False, failure=f"it ended with exit code {code}")
    status = _failing_part(command, facts.get("pipe_statuses"))
    if status:
        return CheckOutcome(passed=False, failure=f"it ended with exit code {status} before the pipe")
    return CheckOutcome(passed=True)


def _output(result: ToolResult) -> str:
    parts = (
        shown.output if isinstance(shown, ShownOutput) else shown.text
        for shown in result.shown
        if isinstance(shown, ShownOutput | ShownText)
    )
    return "\n".join(parts)[-_TAIL:].replace("\r\n", "\n")


def _signal(result: ToolResult) -> str:
    return next((shown.signal or "" for shown in result.shown if isinstance(shown, ShownOutput)), "")


def _seen_in(output: str, *, fine: bool) -> str:
    """The last line of the output that says that something failed; '' for none.

    Args:
        fine: the exit code says that all is well: then the last summary counts, not a text before it.
    """
    text = _COLOURS.sub("", output)
    passed = max((match.start() for match in _PASSES.finditer(text)), default=-1) if fine else -1
    found = ""
    for match in _FAILURES.finditer(text):
        if match.start() >= passed and not (fine and _EXPECTED.search(match[0].strip())):
            found = match[0].strip()
    return found if len(found) <= _LONGEST_OUTCOME else f"{found[:_LONGEST_OUTCOME]}…"


def _is_failure(result: ToolResult, command: str, code: int) -> bool:
    """Whether the exit code tells of a failure: `grep` behind a pipe has an answer of its own."""
    return result.failed or explain_exit(command, code).failed


def _failing_part(command: str, statuses: object) -> int:
    """The status of the check in a pipe, where it is one of failure; 0 otherwise."""
    if not isinstance(statuses, Sequence) or not all(isinstance(each, int) for each in statuses):
        return 0
    parts = _PIPE.split(_without_quotes(command))[-len(statuses) :]
    checks = [
        status
        for part, status in zip(parts, statuses, strict=False)
        if len(parts) == len(statuses) and is_check(part.strip())
    ]
    return next((status for status in checks or statuses[:1] if status not in _FINE), 0)


def _without_quotes(command: str) -> str:
    """The command with its quoted texts emptied, so that a `|` in them is none."""
    try:
        lexer = shlex.shlex(command, posix=False, punctuation_chars="|&;\n")
        lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
        return " ".join("''" if word[:1] in {"'", '"'} else word for word in lexer)
    except ValueError:
        return command
