"""What a command that is classed as safe would run all the same, where no sandbox confines it.

`git log` runs what a repository's settings name, and every program is whichever comes first on PATH. In a sandbox
that harms nothing; without one the person is asked. Settings are read by git itself, and a repository counts as
harmless where each of them is in a list of those that make no command which only looks run a program or reach a host
(git-config(1)).
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tools.approval.commands.bash.calls import BUILTINS
from tools.approval.commands.bash.interpreter import read_command
from tools.approval.commands.bash.reading import Invocation
from tools.environments.child_env import child_environment
from tools.environments.program_finder import PROGRAMS, first_on_path
from tools.light_dataclass import dataclass

_LIST = ("config", "--list", "--includes", "--show-scope", "-z")
_GITLINKS = ("-c", "core.fsmonitor=false", "ls-files", "--stage", "-z", ":/")
_IS_REPOSITORY = ("rev-parse", "--is-inside-work-tree")
_GITLINK = "160000 "
_OF_REPOSITORY = frozenset({"local", "worktree", "command"})
# They make programs that only look load, run or write something.
_LEADING = re.compile(
    r"GIT_(?:EXTERNAL_DIFF|CONFIG_GLOBAL|CONFIG_SYSTEM|EXEC_PATH|TRACE.*|SSH.*|DIR|WORK_TREE|INDEX_FILE"
    r"|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|PROXY_COMMAND|ASKPASS)"
    r"|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH|BASH_ENV"
    r"|RIPGREP_CONFIG_PATH|LESSOPEN|LESSCLOSE|GREP_OPTIONS|FD_CONFIG_PATH|BAT_CONFIG_PATH|JQ_LIBRARY_PATH"
)
_MOST_REPOSITORIES = 50
_WORK_TREE = "core.worktree"
_HOOK = "hooks/post-index-change"
_SECONDS = 3.0
_PLAIN = re.compile(
    r"""
    core\.(?:hookspath|repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol
      |safecrlf|abbrev|quotepath|compression|loosecompression|bigfilethreshold|sparsecheckout|sparsecheckoutcone
      |untrackedcache|preloadindex|checkstat|trustctime|protectntfs|protecthfs|longpaths|fscache|whitespace
      |commentchar|commitgraph|multipackindex|sharedrepository|hidedotfiles|splitindex|deltabasecachelimit)
  | extensions\.(?:objectformat|compatobjectformat|refstorage|worktreeconfig|relativeworktrees|preciousobjects|noop.*)
  | (?:user|author|committer)\.(?:name|email|signingkey|useconfigonly)
  | remote\..*\.(?:url|pushurl|fetch|push|tagopt|prune|prunetags|mirror|skipdefaultupdate|skipfetchall|gh-resolved
      |followremotehead)
  | remote\.pushdefault | submodule\.active | submodule\..*\.(?:url|active|branch|path|ignore|fetchrecursesubmodules)
  | (?:branch|color|column|status|pull|push|fetch|rebase|rerere|gc|pack|repack|index|feature|init|advice|i18n|blame
      |apply|am|notes|tag|versionsort|transfer|receive|gitflow|http|credential|url|checkout|stash|commitgraph
      |grep|reflog|revert|switch|worktree)\..*
  | merge\.\w+ | lfs\.(?:url|repositoryformatversion|fetchinclude|fetchexclude|locksverify|.*\.(?:access|locksverify))
  | log\.(?:abbrevcommit|date|decorate|follow|graphcolors|mailmap|showroot|initialdecorationset|diffmerges)
  | diff\.(?:algorithm|renames|renamelimit|context|interhunkcontext|mnemonicprefix|noprefix|colormoved|colormovedws
      |indentheuristic|statgraphwidth|statnamewidth|submodule|suppressblankempty|wordregex|wserrorhighlight
      |ignoresubmodules|dirstat|relative|srcprefix|dstprefix|autorefreshindex)
    """,
    re.VERBOSE | re.DOTALL,
)
_ON_OR_OFF = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0", ""})
_PLAIN_WHERE_SWITCHED = frozenset({"core.fsmonitor"})
_PLAIN_WHERE_OFF = frozenset({"log.showsignature"})


@dataclass(frozen=True, slots=True)
class GitPlace:
    """Asks git where commands run.

    Attributes:
        run: what git prints in a directory for these arguments, in a command's environment; None where it fails.
        exists: whether there is a file.
    """

    run: Callable[[Path, Sequence[str]], bytes | None]
    exists: Callable[[Path], bool]


def runs_along(command: str, cwd: Path, path: str | None = None, elsewhere: GitPlace | None = None) -> str:
    """What else would run, in words that follow "may run"; '' for nothing.

    Args:
        command: one that was proved to only look.
        path: the PATH that it runs with; this process's when None.
        elsewhere: the other machine that it runs on, whose PATH is not looked at; None for this one.
    """
    searched = os.environ.get("PATH", os.defpath) if path is None else path
    if elsewhere is None and (leading := _leading_variable(searched)):
        return f"what the variable {leading} names, which is in the workspace or in a temporary directory"
    for each in read_command(command, cwd).invocations:
        if elsewhere is None and (program := _brought(each, searched)):
            return f"{program}, a program that is in the workspace or in a temporary directory"
        if each.program == "git" and (named := _settings_of(each, elsewhere or _THIS_MACHINE)):
            return named
    return ""


def _brought(invocation: Invocation, path: str) -> str:
    """The first program on PATH that anyone may have put there; '' where those that run are the system's."""
    names = [*invocation.via, *([] if "/" in invocation.written else [invocation.program])]
    for name in names:
        if name in BUILTINS or "/" in name or not name:
            continue
        program = first_on_path(name, path, invocation.cwd or "/")
        if program and not PROGRAMS.is_trusted(program):
            return program
    return ""


def _leading_variable(path: str) -> str:
    """The first variable that commands have and that leads programs to what anyone may have written; '' for none."""
    environ = child_environment(os.environ)
    found = (
        name for name, value in environ.items() if _LEADING.fullmatch(name) and PROGRAMS.leads_astray(value, path)
    )
    return next(found, "")


def _settings_of(invocation: Invocation, place: GitPlace) -> str:
    directory = _directory(invocation)
    if directory is None:
        return "what git's settings name in a directory that is not known"
    waiting, seen = [directory], set[Path]()
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        if len(seen) > _MOST_REPOSITORIES:
            return f"what the settings of one of very many repositories below {directory} name"
        listed = place.run(here, _LIST)
        if listed is None:
            return f"what git's settings in {here} name, which could not be read"
        unplain = [name for name in unplain_settings(listed) if name != _WORK_TREE or not _is_submodule(here, place)]
        if unplain:
            return f"what {unplain[0]} in the settings of {here} names"
        # To compare files is to note what was seen of them, which is a change of the index.
        hook = place.run(here, ("rev-parse", "--git-path", _HOOK))
        if hook and place.exists(found := here / os.fsdecode(hook.rstrip(b"\n"))):
            return str(found)
        # Of a repository within, git asks a git of its own for the state.
        within = place.run(here, _GITLINKS) if place.run(here, _IS_REPOSITORY) else b""
        if within is None:
            return f"what the settings of repositories within {here} name, which could not be read"
        waiting += [Path(os.path.normpath(here / name)) for name in _gitlinks(within)]
    return ""


def _directory(invocation: Invocation) -> Path | None:
    """Where git looks for its repository; None where that is not known."""
    if invocation.cwd is None:
        return None
    found, arguments = Path(invocation.cwd), iter(invocation.arguments)
    for argument in arguments:
        if not argument.is_known:
            return None
        if argument.text == "-C":
            named = next(arguments, None)
            if named is None or not named.is_known:
                return None
            found /= named.text
        elif not argument.text.startswith("-"):
            break
    return found


def unplain_settings(listed: bytes) -> list[str]:
    """Those of a repository's settings that may make git run a program, reach a host or read files elsewhere.

    Args:
        listed: what `git config --list --includes --show-scope -z` prints.
    """
    found = []
    parts = listed.decode("utf-8", "surrogateescape").split("\0")
    for scope, setting in zip(parts[::2], parts[1::2], strict=False):
        name, _, value = setting.partition("\n")
        if scope in _OF_REPOSITORY and not _is_plain(name, value.strip().lower()):
            found.append(name)
    return found


def _is_submodule(directory: Path, place: GitPlace) -> bool:
    """Whether the work tree that a repository's settings name says that it is this repository's."""
    top = place.run(directory, ("rev-parse", "--show-toplevel"))
    its = place.run(directory, ("rev-parse", "--absolute-git-dir"))
    if not top or not its:
        return False
    named = Path(os.fsdecode(top.rstrip(b"\n")))
    led_to = place.run(named, ("rev-parse", "--resolve-git-dir", ".git"))
    found = os.fsdecode((led_to or b"").rstrip(b"\n"))
    return bool(found) and os.path.normpath(named / found) == os.fsdecode(its.rstrip(b"\n"))


def _is_plain(name: str, value: str) -> bool:
    if name in _PLAIN_WHERE_SWITCHED:
        return value in _ON_OR_OFF
    if name in _PLAIN_WHERE_OFF:
        return value in {"false", "no", "off", "0"}
    return _PLAIN.fullmatch(name) is not None


def _gitlinks(listed: bytes) -> Iterator[str]:
    for row in listed.decode("utf-8", "surrogateescape").split("\0"):
        if row.startswith(_GITLINK):
            yield row.partition("\t")[2]


def _run_here(directory: Path, arguments: Sequence[str]) -> bytes | None:
    program = PROGRAMS.find("git")
    if program is None:
        return None
    try:
        ran = subprocess.run(
            [program, *arguments],
            cwd=directory,
            env=child_environment(os.environ, {"GIT_OPTIONAL_LOCKS": "0"}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout if ran.returncode == 0 else None


_THIS_MACHINE = GitPlace(_run_here, os.path.lexists)
