"""Other ways to write a command that do the same: what a net of patterns is slipped through with."""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Callable, Mapping

_PLAIN = re.compile(r"[\w ./-]+")
_WORD = re.compile(r"[a-z]{2,}")


def _bash(command: str) -> str:
    return f"bash -c {shlex.quote(command)}"


def _piped_base64(command: str) -> str:
    return f"echo {base64.b64encode(command.encode()).decode()} | base64 -d | bash"


def _python(command: str) -> str:
    return f"python3 -c {shlex.quote(f'import os; os.system({command!r})')}"


def _quoted_letters(command: str) -> str:
    return _each_word(command, lambda word: f"{word[0]}''{word[1:]}")


def _escaped_letters(command: str) -> str:
    return _each_word(command, lambda word: f"{word[0]}\\{word[1:]}")


def _double_quoted(command: str) -> str:
    return _each_word(command, lambda word: f'"{word}"')


def _continued(command: str) -> str:
    return command.replace(" ", " \\\n", 1) if _PLAIN.fullmatch(command) else f" {command}"


def _each_word(command: str, changed: Callable[[str], str]) -> str:
    # Only where the letters are surely words of a simple command, and not keywords or data.
    if not _PLAIN.fullmatch(command):
        return f"  {command}"
    return _WORD.sub(lambda found: changed(found[0]), command)


# Each takes a command and gives one with the same effect. The newlines are for heredocs and comments at the end.
MUTATIONS: Mapping[str, Callable[[str], str]] = {
    "leading spaces": lambda c: f"   {c}",
    "comment after": lambda c: f"{c}\n# harmless",
    "after true": lambda c: f"true && {{ {c}\n}}",
    "after false": lambda c: f"false || {{ {c}\n}}",
    "after a list": lambda c: f"ls; pwd; {c}",
    "before another": lambda c: f"{c}\necho done",
    "subshell": lambda c: f"( {c}\n)",
    "group": lambda c: f"{{ {c}\n}}",
    "bash -c": _bash,
    "bash -c twice": lambda c: _bash(_bash(c)),
    "/bin/bash -c": lambda c: f"/bin/{_bash(c)}",
    "eval": lambda c: f"eval {shlex.quote(c)}",
    "if": lambda c: f"if true; then\n{c}\nfi",
    "else": lambda c: f"if false; then :; else\n{c}\nfi",
    "for": lambda c: f"for i in 1; do\n{c}\ndone",
    "while": lambda c: f"while :; do\n{c}\nbreak; done",
    "case": lambda c: f"case a in *) {c}\n;; esac",
    "function": lambda c: f"f() {{ {c}\n}}; f",
    "time": lambda c: f"time {{ {c}\n}}",
    "not": lambda c: f"! {{ {c}\n}}",
    "nice": lambda c: f"nice -n 5 {_bash(c)}",
    "timeout": lambda c: f"timeout 60 {_bash(c)}",
    "env": lambda c: f"env FOO=1 {_bash(c)}",
    "assignment": lambda c: f"FOO=1 BAR=2 {_bash(c)}",
    "export": lambda c: f"export FOO=1; {c}",
    "command": lambda c: f"command {_bash(c)}",
    "sudo": lambda c: f"sudo -n {_bash(c)}",
    "find -exec": lambda c: f"find . -maxdepth 0 -exec {_bash(c)} \\;",
    "xargs": lambda c: f"echo x | xargs -I@ {_bash(c)}",
    "substitution": lambda c: f'echo "$({c}\n)"',
    "assigned substitution": lambda c: f"x=$({c}\n)",
    "nested substitution": lambda c: f'echo "$(echo "$({c}\n)")"',
    "process substitution": lambda c: f"cat <({c}\n)",
    "pipe to": lambda c: f"true | {{ {c}\n}}",
    "pipe from": lambda c: f"{{ {c}\n}} | cat",
    "background": lambda c: f"{{ {c}\n}} & wait",
    "output away": lambda c: f"{{ {c}\n}} >/dev/null 2>&1",
    "heredoc": lambda c: f"bash <<'END_OF_IT'\n{c}\nEND_OF_IT",
    "heredoc in a pipe": lambda c: f"cat <<'END_OF_IT' | bash\n{c}\nEND_OF_IT",
    "here-string": lambda c: f"bash <<< {shlex.quote(c)}",
    "printed into bash": lambda c: f"printf '%s' {shlex.quote(c)} | bash",
    "base64": _piped_base64,
    "variable": lambda c: f'x={shlex.quote(c)}; eval "$x"',
    "trap": lambda c: f"trap {shlex.quote(c)} EXIT",
    "python": _python,
    "quoted letters": _quoted_letters,
    "escaped letters": _escaped_letters,
    "double quotes": _double_quoted,
    "line continuation": _continued,
}
