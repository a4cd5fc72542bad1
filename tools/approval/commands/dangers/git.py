"""git: what loses history or work, reaches others, or makes git run something."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation, git_words
from tools.approval.commands.classes import Family, Finding
from tools.approval.commands.dangers.scene import Scene, Words, sort_words, texts

CHANGES = "changes files through git"
_REMOTE = "changes git history, the work tree or a remote"
_REWRITES = frozenset({
    "filter-branch", "filter-repo", "update-ref", "replace", "fast-import", "symbolic-ref", "pack-refs",
    "prune", "repack", "read-tree", "checkout-index", "unpack-objects", "push", "rebase", "gc", "send-email",
    "send-pack", "svn", "p4", "lfs", "subtree", "cvsexportcommit", "bfg", "imap-send", "http-push",
    "remote-http", "upload-pack", "receive-pack", "shell", "daemon",
})  # fmt: skip
_HARMLESS_FORMS: Mapping[str, frozenset[str]] = {
    "rebase": frozenset({"--abort", "--continue", "--skip", "--show-current-patch", "--quit"}),
    "lfs": frozenset({
        "install", "ls-files", "status", "env", "track", "pull", "fetch", "checkout", "version",
    }),
    "svn": frozenset({"log", "info", "fetch", "find-rev"}),
    "subtree": frozenset({"pull", "add", "split"}),
    "gc": frozenset(),
    "prune": frozenset({"-n", "--dry-run"}),
    "push": frozenset({"-n", "--dry-run"}),
}  # fmt: skip
_RUNS = re.compile(
    r"alias\.|core\.(?:pager|editor|fsmonitor|sshcommand|hookspath|askpass|gitproxy|attributesfile|worktree)"
    r"|pager\.|diff\..*\.(?:textconv|command)|diff\.external|.*\.(?:cmd|command|process|clean|smudge|driver"
    r"|helper|program|textconv|prompttool)$|credential|gpg\.|ssh\.|sequence\.editor|editor"
    r"|url\..*\.(?:push)?insteadof|http\.proxy|http\.sslverify|include|init\.templatedir|filter\."
    r"|merge\.tool|protocol\..*allow|remote\..*\.(?:uploadpack|receivepack|vcs|proxy|url|pushurl)"
    r"|submodule\..*\.update|uploadpack|browser\.|man\.|receive\.",
    re.IGNORECASE,
)
_HARMLESS_VALUES = frozenset({"cat", "true", "", ":", "less", "false", "vim", "nano", "/dev/null"})
_PLAIN_SETTING = re.compile(
    r"user\.(?:name|email)|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|init\.defaultbranch|commit\.gpgsign"
    r"|core\.(?:autocrlf|filemode|ignorecase|eol|quotepath|longpaths|safecrlf)|color\.\w+|advice\.\w+|fetch\.prune"
    r"|merge\.conflictstyle|rerere\.enabled|branch\.[\w/-]+\.(?:remote|merge|rebase)|diff\.(?:algorithm|renames)",
    re.IGNORECASE,
)
_READS_CONFIG = frozenset({
    "--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list", "--get-urlmatch", "--show-origin",
    "--name-only", "--get-color", "--get-colorbool",
})  # fmt: skip
# Of each command the options whose value may be the next argument, as `sort_words` takes them.
_VALUES: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "clean": ("e", ("--exclude",), ""),
    "restore": ("s", ("--source",), ""),
    "switch": ("cC", ("--create", "--force-create", "--orphan"), ""),
    "checkout": ("bB", ("--orphan", "--conflict", "--pathspec-from-file"), ""),
    "branch": (
        "u",
        ("--set-upstream-to", "--format", "--sort", "--contains", "--merged", "--no-merged", "--points-at"),
        "",
    ),
    "tag": ("muF", ("--message", "--file", "--local-user", "--sort", "--format", "--contains"), "n"),
    "config": ("f", ("--file", "--blob", "--type", "--default"), ""),
    "fetch": ("jo", ("--depth", "--refmap", "--upload-pack"), ""),
    "apply": ("pC", ("--exclude", "--include", "--directory", "--whitespace"), ""),
}
_SETTING = frozenset({"config", "remote"})
_OF_OTHER_FILES = ("--global", "--system", "--worktree", "--file", "-f", "--blob")
_CHANGING: Mapping[str, frozenset[str]] = {
    "worktree": frozenset({"remove", "prune"}),
    "submodule": frozenset({"deinit", "foreach"}),
    "maintenance": frozenset({"start", "register"}),
    "bisect": frozenset({"run"}),
}
_SHOWS_CHANGES = frozenset({"log", "diff", "show", "shortlog", "stash", "whatchanged"})
_OTHERS = frozenset({"hg", "svn", "jj", "sl", "bzr", "fossil"})
_LOSING = frozenset({
    "push", "strip", "rollback", "histedit", "revert", "purge", "abandon", "undo", "restore", "delete", "rm",
    "cleanup", "backout", "forget", "update", "commit", "dcommit", "rebase", "hide", "uncommit", "remove",
})  # fmt: skip
_LOSING_OF_SVN = _LOSING - {"update", "restore", "undo", "rebase"}
_LOSING_OF_OTHERS = _LOSING - {"commit", "update", "forget"}
_SECRET_SETTING = re.compile(r"credential|extraheader", re.IGNORECASE)


def judge_git(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """What `call` does to a repository."""
    program = call.program.casefold()
    if program in _OTHERS:
        yield from _others(program, call)
        return
    if program in {"git-filter-repo", "bfg", "git-filter-branch"}:
        yield _found(_REMOTE)
        return
    if program != "git":
        return
    words = git_words(call)
    command, rest = words.command, words.rest
    for name, value in words.options:
        if name in {"--exec-path", "--config-env"} or (name == "-c" and _is_running(value.text)):
            yield Finding("dangerous", "persistence", "runs git with other settings")
    if command is None:
        return
    if UNKNOWN in command.text or command.splits:
        yield Finding("dangerous", "hidden", "runs a command of git whose name is hidden")
        return
    judge = _JUDGES.get(command.text)
    found = judge(rest) if judge is not None else _rewrites(command.text, rest)
    if command.text in _SETTING and not any(each.text.startswith(_OF_OTHER_FILES) for each in rest):
        found = (replace(one, place=_settings_file(words.folder)) for one in found)
    yield from found
    if command.text in _SHOWS_CHANGES and any(one.text.startswith(("--ext-diff", "--textconv")) for one in rest):
        yield Finding("dangerous", "hidden", "runs a program of the repository's settings")
    if any(re.match(r"--(?:upload-pack|receive-pack|exec)\b", one.text) for one in rest if command.text != "rebase"):
        yield Finding("dangerous", "hidden", "makes git run a program")
    if any(one.text.startswith("ext::") for one in rest):
        yield Finding("dangerous", "hidden", "makes git run a program")


def _settings_file(folder: Path | None) -> str:
    """Where the settings are that a command names, if it runs at the top of its work tree; '' where nobody knows."""
    return "" if folder is None else str(folder / ".git/config")


def _is_running(setting: str) -> bool:
    name, _, value = setting.partition("=")
    if not _RUNS.match(name):
        return UNKNOWN in name
    return value.strip() not in _HARMLESS_VALUES


def _found(why: str, family: Family = "git", *, outside: bool = False) -> Finding:
    return Finding("dangerous", family, why, outside=outside)


def _rewrites(command: str, rest: tuple[Argument, ...]) -> Iterator[Finding]:
    if command in {"difftool", "mergetool"}:
        yield _found("opens files with a program", "hidden")
    if _CHANGING.get(command, frozenset()).intersection(texts(rest)[:1]):
        yield _found(CHANGES)
    if command not in _REWRITES or _HARMLESS_FORMS.get(command, frozenset()).intersection(texts(rest)):
        return
    yield _found(_REMOTE, outside=command in {"push", "send-email", "lfs", "svn", "p4", "daemon"})


def _words(command: str, rest: tuple[Argument, ...]) -> Words:
    return sort_words(rest, *_VALUES[command])


def _reset(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    words = sort_words(rest)
    if words.has("--hard", "--merge", "--keep") or any(one.splits for one in rest):
        yield _found("throws away changes")


def _clean(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    words = _words("clean", rest)
    if not words.has("-n", "--dry-run"):
        yield _found("deletes files that git does not know", "deletion")


def _restore(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    words = _words("restore", rest)
    if not words.has("--staged", "-S") or words.has("--worktree", "-W"):
        yield _found("throws away changes")


def _switch(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    words = _words("switch", rest)
    if words.has("-f", "--discard-changes", "-C", "--force-create"):
        yield _found("throws away changes")


def _checkout(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    given = texts(rest)
    words = _words("checkout", rest)
    if words.has(
        "-f", "--force", "--ours", "--theirs", "-p", "--patch", "--pathspec-from-file", "-B", "-m", "--merge"
    ):
        yield _found("throws away changes")
    elif words.has("-b", "--orphan", "-t", "--track", "--detach", "-d", "--help") and "--" not in given:
        return
    elif "--" in given:
        if given[-1] != "--":
            yield _found("throws away changes")
    elif len(words.operands) > 1 or any(_is_file(one) for one in words.operands):
        yield _found("may throw away changes")


def _is_file(operand: Argument) -> bool:
    text = operand.text
    return operand.expands or text in {".", ".."} or text.startswith(("./", "../", ":/", ":(")) or bool(
        re.search(r"^[^/]+\.(?!\d)[A-Za-z]\w{0,7}$|^[^/]+/.*\.(?!\d)[A-Za-z]\w{0,7}$|/$|^src/|^lib/|^tests?/", text)
    )  # fmt: skip


def _branch(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    words = _words("branch", rest)
    # `-d` takes only what has been merged: nothing is lost, but of another repository.
    if words.has("-D", "-M", "-C", "--force", "-f") or (words.has("-d", "--delete") and words.has("-r", "--remotes")):
        yield _found("deletes git history")


def _tag(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    words = _words("tag", rest)
    if words.has("-d", "--delete", "-f", "--force"):
        yield _found("deletes git history")


def _stash(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    match texts(rest)[:1]:
        case ("list",) | ("show",) | ("pop",) | ("apply",) | ("branch",) | ("create",):
            return
        case ("drop",) | ("clear",):
            yield _found("deletes git history")
        case _:
            yield _found("takes changes out of the work tree")


def _reflog(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    if texts(rest)[:1] in (("expire",), ("delete",), ("drop",)):
        yield _found("deletes git history")


def _config(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    words = _words("config", rest)
    given = texts(rest)
    if _READS_CONFIG.intersection(given) or words.has("--get-regexp"):
        if any(_SECRET_SETTING.search(text) for text in given):
            yield _found("shows credentials", "credentials")
        return
    takes = words.has("--unset-all", "--remove-section") or words.plain == ("edit",)
    if len(words.operands) == 1 and not takes:
        return  # `git config user.name` shows it
    is_wide = words.has("--global", "--system", "--file", "-f", "--rename-section")
    setting = words.plain[1:] if words.plain[:1] in (("set",), ("unset",)) else words.plain
    if is_wide or not any(_PLAIN_SETTING.fullmatch(text) for text in setting[:1]):
        yield _found("changes git settings", "persistence", outside=words.has("--global", "--system"))


def _fetch(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    words = _words("fetch", rest)
    if any(re.match(r"\+.*:refs/heads/", text) for text in words.plain):
        yield _found(_REMOTE)


def _annex(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    if texts(rest)[:1] in (("drop",), ("dropunused",), ("dropkey",), ("uninit",), ("move",), ("dead",)):
        yield _found("deletes files that git keeps elsewhere", "deletion")


def _apply(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    words = _words("apply", rest)
    if words.has("-R", "--reverse") and not words.has("--check", "--stat", "--numstat", "--summary", "--cached"):
        yield _found("throws away changes")


def _rm(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    words = sort_words(rest)
    if words.has("--dry-run", "-n", "--help"):
        return
    if not words.has("--cached"):  # otherwise the files stay, and git add takes them back
        yield _found("deletes files through git", "deletion")


def _grep(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    if any(re.match(r"-[a-zA-Z]*O|--open", one.text) for one in rest):
        yield _found("opens files with a program", "hidden")


def _remote(rest: tuple[Argument, ...]) -> Iterator[Finding]:
    if texts(rest)[:1] in (("set-url",), ("remove",), ("rm",)):
        yield _found("changes where git sends and fetches")


def _credential(rest: tuple[Argument, ...]) -> Iterator[Finding]:  # noqa: ARG001
    yield _found("shows or stores credentials", "credentials")


def _others(program: str, call: Invocation) -> Iterator[Finding]:
    words = sort_words(call.arguments)
    first = words.plain[:1]
    losing = _LOSING_OF_SVN if program == "svn" else _LOSING_OF_OTHERS
    if program in {"hg", "sl"} and first in (("update",), ("up",), ("checkout",), ("co",), ("goto",)):
        if words.has("-C", "--clean"):
            yield _found("throws away changes")
    elif losing.intersection(first) or words.plain[:2] == ("git", "push"):  # `jj git push`
        yield _found(_REMOTE, outside="push" in words.plain[:2])


_JUDGES: Mapping[str, Callable[[tuple[Argument, ...]], Iterator[Finding]]] = {
    "reset": _reset,
    "clean": _clean,
    "restore": _restore,
    "switch": _switch,
    "checkout": _checkout,
    "branch": _branch,
    "tag": _tag,
    "stash": _stash,
    "reflog": _reflog,
    "config": _config,
    "grep": _grep,
    "remote": _remote,
    "rm": _rm,
    "apply": _apply,
    "fetch": _fetch,
    "annex": _annex,
    "credential": _credential,
    "credential-store": _credential,
}  # fmt: skip
