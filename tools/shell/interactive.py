"""Programs that wait for somebody to type: when they do, and what to use instead.

Nobody can type into a command, so one that would wait is refused before it runs. The facts are tables; what cannot be
read surely runs as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tools.approval.commands.bash.reading import Invocation, Reading

Needs = Literal["keys", "lines", "editor"]
"""What a program wants: a screen and keys; lines of input; or it opens the user's editor."""

_DRIVE_SCREEN = "To operate it all the same, use background=true with pty=true and then process(action=write)."
_DRIVE_LINES = "For a dialogue use background=true with pty=true and then process(action=submit)."


@dataclass(frozen=True, slots=True)
class Interactive:
    """When a program waits for input.

    Attributes:
        needs: what it waits for.
        advice: what to use instead, a sentence.
        unless: words (or beginnings of long options) with which it does not wait.
        most: it waits only with at most so many words that are no options; None: with any number.
        least: and only with at least so many.
        values: options whose value is the next word.
    """

    needs: Needs
    advice: str
    unless: frozenset[str] = frozenset()
    most: int | None = None
    least: int = 0
    values: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ASKS_ONLY = _words("--version -V --help -h -version -help --usage")
_EDITOR = Interactive(
    "keys", "Change files with patch or write_file, or with sed.", _words("--headless -e -E -es -Es -s")
)
_PAGER = Interactive("keys", "Read files with read_file, or print them with cat, head or tail.", least=1)
_MONITOR = Interactive(
    "keys",
    "Use a command that prints and ends: `ps aux`, `top -b -n 1`, `df -h`.",
    _words("-b -l -o --stdout --export -r -P"),
)
_SHELL = "Give it a query, or the statements by a pipe or here-document."
_CODE = "Give it the code: `{0} {1} '…'`, a file, or a here-document (`{0} <<'EOF'`)."


def _repl(name: str, option: str, more: str = "") -> Interactive:
    return Interactive("lines", _CODE.format(name, option), _words(f"{option} {more}"), most=0)


_PYTHON = _repl("python", "-c", "-m -V")
_PROGRAMS: Mapping[str, Interactive] = {
    **dict.fromkeys(("vim", "vi", "nvim", "view", "vimdiff", "gvim", "ex"), _EDITOR),
    **dict.fromkeys(
        _words("nano pico micro joe ne mcedit hx kak jed"),
        Interactive("keys", _EDITOR.advice, _words("--health --grammar -plugin")),
    ),
    "emacs": Interactive("keys", _EDITOR.advice, _words("--batch -batch --script -script --daemon")),
    "emacsclient": Interactive("keys", _EDITOR.advice, _words("-e --eval -n --no-wait")),
    **dict.fromkeys(("less", "more", "most"), _PAGER),
    **dict.fromkeys(("top", "htop", "btop", "atop", "glances", "iotop", "nvtop"), _MONITOR),
    **dict.fromkeys(
        ("ranger", "nnn", "lazygit", "tig", "k9s"),
        Interactive(
            "keys", "Use commands that print and end (ls, git log, git status, kubectl get).", _words("info version")
        ),
    ),
    **dict.fromkeys(("python", "python2", "python3", "pypy", "pypy3"), _PYTHON),
    "ipython": _repl("ipython", "-c", "-m"),
    **dict.fromkeys(
        ("node", "nodejs"),
        _repl(
            "node", "-e", "-p --eval --print --check -c --test --run -v --v8-options --prof-process --completion-bash"
        ),
    ),
    "irb": Interactive("lines", "Run code with `ruby -e '…'` or a file.", most=0),
    "ghci": Interactive("lines", "Run code with `ghc -e '…'` or runghc.", _words("-e"), most=0),
    "lua": _repl("lua", "-e", "-v"),
    "julia": _repl("julia", "-e", "-E --eval --print -v"),
    "R": Interactive("lines", "Run code with `Rscript -e '…'` or a file.", _words("-e -f --file CMD"), most=0),
    "iex": Interactive("lines", "Run code with `elixir -e '…'` or `mix run`.", _words("-e --eval"), most=0),
    "psql": Interactive("lines", f"{_SHELL} `psql -c '…'`.", _words("-c --command -f --file -l --list")),
    **dict.fromkeys(("mysql", "mariadb"), Interactive("lines", f"{_SHELL} `mysql -e '…'`.", _words("-e --execute"))),
    "sqlite3": Interactive(
        "lines",
        f"{_SHELL} `sqlite3 FILE '…'`.",
        _words("-cmd --cmd -init"),
        most=1,
        values=_words("-separator -newline -nullvalue -mmap -vfs"),
    ),
    **dict.fromkeys(
        ("mongosh", "mongo"),
        Interactive("lines", f"{_SHELL} `mongosh --eval '…'`.", _words("--eval -f --file"), most=1),
    ),
    "redis-cli": Interactive(
        "lines",
        "Give it the command: `redis-cli GET key`.",
        _words("--scan --stat --latency --bigkeys --pipe --rdb --eval --cluster -x"),
        most=0,
        values=_words("-h -p -s -a -u -r -i -n --user --pass"),
    ),
    "ssh": Interactive(
        "lines",
        "Give it the command: `ssh HOST 'command'`.",
        _words("-N -f -T -W -G -Q -O"),
        most=1,
        least=1,
        values=_words("-B -b -c -D -E -e -F -I -i -J -L -l -m -o -p -R -S -w"),
    ),
    "sftp": Interactive("lines", "Use `scp`, or `sftp -b FILE`.", _words("-b"), least=1),
    "telnet": Interactive("lines", "Use `nc -z HOST PORT` or curl.", least=1),
    **dict.fromkeys(
        _words("visudo vipw vigr sudoedit"), Interactive("editor", "Ask the user to change it.", _words("-c --check"))
    ),
}


@dataclass(frozen=True, slots=True)
class _Verb:
    """When a program with this verb waits: with a word of `only`, with none of `unless`; `alone`: with no operand."""

    needs: Needs
    advice: str
    only: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    alone: bool = False


_PIECES = _words("-p --patch -i --interactive")
_MESSAGE = _words(
    "-m --message -F --file -C --reuse-message --no-edit --fixup --squash --dry-run --short --porcelain -h --help"
)
_STAGE = "Name whole files, or write the part as a diff and use `git apply --cached`."
_INIT = "Give -y, which takes the defaults, or write the file itself."
_VERBS: Mapping[tuple[str, str], _Verb] = {
    ("git", "rebase"): _Verb(
        "editor",
        "Set GIT_SEQUENCE_EDITOR to a command that edits the list: "
        "`GIT_SEQUENCE_EDITOR=\"sed -i '2s/^pick/squash/'\" git rebase -i HEAD~2`. Or use `git commit --fixup` and "
        "`GIT_SEQUENCE_EDITOR=true git rebase -i --autosquash`, or `git reset --soft`.",
        _words("-i --interactive --edit-todo"),
    ),
    **{("git", verb): _Verb("lines", _STAGE, _PIECES | _words("-e --edit")) for verb in ("add", "stage")},
    **{("git", verb): _Verb("lines", _STAGE, _words("-p --patch")) for verb in ("checkout", "restore", "reset")},
    ("git", "stash"): _Verb("lines", _STAGE, _words("-p --patch"), _words("show list pop apply drop branch clear")),
    ("git", "commit"): _Verb(
        "editor", "Give the message: `git commit -m '…'`, or --no-edit to keep it.", unless=_MESSAGE
    ),
    ("git", "tag"): _Verb(
        "editor", "Give the message: `git tag -a NAME -m '…'`.", _words("-a -s --annotate --sign"), _MESSAGE
    ),
    ("git", "clean"): _Verb("lines", "Name the paths: `git clean -f PATH`.", _words("-i --interactive")),
    ("git", "config"): _Verb("editor", "Set one value: `git config KEY VALUE`.", _words("-e --edit")),
    ("git", "branch"): _Verb("editor", "Use `git config branch.NAME.description '…'`.", _words("--edit-description")),
    ("git", "mergetool"): _Verb(
        "keys",
        "Read the conflicts with read_file and solve them with patch.",
        unless=_words("--tool-help -y --no-prompt"),
    ),
    ("svn", "commit"): _Verb("editor", "Give the message: `svn commit -m '…'`.", unless=_MESSAGE),
    ("hg", "commit"): _Verb(
        "editor", "Give the message: `hg commit -m '…'`.", unless=_MESSAGE | _words("-l --logfile")
    ),
    ("npm", "init"): _Verb("lines", _INIT, unless=_words("-y --yes -f --force"), alone=True),
    ("yarn", "init"): _Verb("lines", _INIT, unless=_words("-y --yes -2"), alone=True),
    ("bun", "init"): _Verb("lines", _INIT, unless=_words("-y --yes"), alone=True),
    ("poetry", "init"): _Verb(
        "lines", "Give -n, or write pyproject.toml itself.", unless=_words("-n --no-interaction")
    ),
    ("composer", "init"): _Verb(
        "lines", "Give -n, or write composer.json itself.", unless=_words("-n --no-interaction")
    ),
    **{("npm", verb): _Verb("lines", "Ask the user to sign in.", alone=True) for verb in ("login", "adduser")},
    ("gh", "auth"): _Verb("lines", "Ask the user to sign in.", _words("login"), _words("--with-token")),
    ("aws", "configure"): _Verb("lines", "Use `aws configure set KEY VALUE`.", alone=True),
    ("kubectl", "edit"): _Verb("editor", "Use `kubectl patch` or `kubectl apply -f FILE`."),
    **{
        ("make", verb): _Verb("keys", "Use `make olddefconfig`, or `scripts/config`.")
        for verb in ("menuconfig", "nconfig", "xconfig")
    },
    ("crontab", "-e"): _Verb("editor", "Write it to a file and run `crontab FILE`."),
    ("tmux", "attach"): _Verb("keys", "Use `tmux send-keys` and `tmux capture-pane -p`."),
    ("php", "-a"): _Verb("lines", _CODE.format("php", "-r")),
}
_EDITORS_SET = re.compile(
    r"(?:GIT_(?:SEQUENCE_)?EDITOR|EDITOR|VISUAL|KUBE_EDITOR|HGEDITOR|SVN_EDITOR)(?:=.*)?", re.DOTALL
)
_EDITOR_OPTION = re.compile(r"(?:core|sequence)\.editor=", re.IGNORECASE)
_QUITS = re.compile(r"(?:\+|:)?(?:.*[|:;\s])?(?:w?q|wq|x|cq|qa|wqa|xa)(?:a|all)?!?")
_TEXT_FOLLOWS = frozenset({"-c", "--cmd"})
_VERSION = re.compile(r"[\d.]+$")
# Wrappers that run the command that follows where it stands.
_THROUGH = _words(
    "sudo doas env timeout time nice ionice nohup exec command builtin stdbuf setsid unbuffer bash sh zsh dash eval "
    "uv poetry pipenv pdm hatch npx bunx"
)
_NAMES = frozenset(_PROGRAMS) | {program for program, _ in _VERBS} | {"man"}


def waits_for_input(
    command: str, cwd: Path, *, variables: Collection[str] = (), background: bool = False, pty: bool = False
) -> str:
    """What the model is told of a command that would wait for somebody to type; '' where nothing says that it would.

    Args:
        variables: names of those that the shell has from earlier commands.
        background: it is started in the background, where the model itself can type into it.
        pty: it runs at a terminal.
    """
    if (background and pty) or _NAMES.isdisjoint(re.findall(r"[A-Za-z][\w-]*", command)):
        return ""
    from tools.approval.commands.bash.interpreter import read_command  # noqa: PLC0415 - loaded with the first command that may be one

    reading = read_command(command, cwd)
    if reading.doubts or _sets_editor(reading) or any(map(_EDITORS_SET.fullmatch, variables)):
        return ""
    printed_on = [call.input.source for call in reading.invocations]
    for call in reading.invocations:
        if not _gets_no_input(call):
            continue
        found = _found(call, pty=pty)
        if found is None or (background and found[1].needs == "lines"):
            continue
        shown, when = found
        is_printed = call in printed_on or any(each.operator[0] in ">&" for each in call.redirections)
        if when is _PAGER and is_printed:
            continue
        return _told(shown, when)
    return ""


def _gets_no_input(call: Invocation) -> bool:
    """Whether a program surely runs as it is written, with nothing that it could read."""
    return (
        call.input.kind == "inherited"
        and not call.elsewhere
        and not call.adds_unknown
        and not any(name == "TERM" or _EDITORS_SET.fullmatch(name) for name, _ in call.assignments)
        and _THROUGH.issuperset(call.via)
        and all(word.is_known for word in call.arguments)
    )


def _sets_editor(reading: Reading) -> bool:
    return any(
        _EDITORS_SET.fullmatch(word.text)
        for call in reading.invocations
        if call.program in {"export", "declare"}
        for word in call.arguments
    )


def _found(call: Invocation, *, pty: bool) -> tuple[str, Interactive | _Verb] | None:
    """The program, with its verb, that waits, and when it does."""
    words = [word.text for word in call.arguments]
    if any(word in _ASKS_ONLY for word in words) or words == ["-h"]:
        return None
    if call.program == "man":
        return ("man", _PAGER) if pty and not _has(words, _words("-k -f -w")) else None
    program = call.program if call.program in _PROGRAMS else _VERSION.sub("", call.program)
    when = _PROGRAMS.get(program)
    if when is not None:
        return (call.program, when) if _is_waiting(when, words) else None
    return _with_verb(call, words)


def _is_waiting(when: Interactive, words: Sequence[str]) -> bool:
    if when is _EDITOR and any(
        _QUITS.fullmatch(word)
        for before, word in pairwise(("", *words))
        if before in _TEXT_FOLLOWS or word[:1] == "+"
    ):
        return False
    if when is _PYTHON and words[:1] == ["-i"]:
        return True
    operands = _operands(words, when.values)
    most = len(operands) if when.most is None else when.most
    return when.least <= len(operands) <= most and not _has(words, when.unless)


def _with_verb(call: Invocation, words: Sequence[str]) -> tuple[str, _Verb] | None:
    if call.program == "git":
        from tools.approval.commands.bash.reading import git_words  # noqa: PLC0415 - as above

        git = git_words(call)
        if git.command is None or any(_EDITOR_OPTION.match(value.text) for _, value in git.options):
            return None
        verb, rest = git.command.text, [word.text for word in git.rest]
    else:
        verb, rest = (words[0] if words else ""), list(words[1:])
    when = _VERBS.get((call.program, verb))
    if when is None or _has(rest, when.unless) or (when.alone and _operands(rest, frozenset())):
        return None
    before = rest[: rest.index("--")] if "--" in rest else rest
    return (f"{call.program} {verb}", when) if not when.only or not when.only.isdisjoint(before) else None


def _operands(words: Sequence[str], values: frozenset[str]) -> list[str]:
    """The words that are neither options nor values of those."""
    rest, found = iter(words), list[str]()
    for word in rest:
        if word in values:
            next(rest, None)
        elif not word.startswith("-"):
            found.append(word)
    return found


def _has(words: Sequence[str], options: frozenset[str]) -> bool:
    """Whether one of the options is there: as it is, with its value behind `=`, or as a letter among others."""
    letters = {option[1] for option in options if len(option) == len("-x") and option[0] == "-"}
    return any(
        word.partition("=")[0] in options or (word[:1] == "-" != word[1:2] and not letters.isdisjoint(word[1:]))
        for word in words
    )


def _told(shown: str, when: Interactive | _Verb) -> str:
    what = {"keys": "keys at a screen", "lines": "input", "editor": "an editor"}[when.needs]
    drive = {"keys": _DRIVE_SCREEN, "lines": _DRIVE_LINES, "editor": ""}[when.needs]
    return f"`{shown}` waits for {what}, and nobody can type here. Nothing was run. {when.advice} {drive}".rstrip()
