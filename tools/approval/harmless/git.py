"""The forms of git that only look.

Left out is whatever makes git run a program by an option (`--ext-diff`, `--textconv`, `--filters`, `-O`,
`--open-files-in-pager`, `--show-signature`, `%G?`, `-c`, `--exec-path`, `--paginate`), write a file (`--output`,
`merge-tree`), reach another machine (`fetch`, `ls-remote`, `remote show`, `archive --remote`), read a file that an
option names (`blame --contents`, `-X FILE`, `-O FILE`) or work in another repository (`-C` elsewhere, `--git-dir`).
What a repository's own settings have git run is asked about where nothing contains it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from tools.approval.dangers.places import full_path, is_below
from tools.approval.harmless.forms import Call, Check, Only, forms
from tools.bash.reading import UNKNOWN

_DIFF = (
    " -pusabwzRWMCBD0123456789 -# -U: -S: -G: -M? -C? -B? -X? --patch --no-patch --raw --stat? --numstat --shortstat"
    " --dirstat? --cumulative --summary --name-only --name-status --patch-with-stat --compact-summary --stat-width:"
    " --check --full-index --binary --abbrev? --no-abbrev --no-prefix --src-prefix: --dst-prefix: --default-prefix"
    " --minimal --patience --histogram --diff-algorithm: --anchored: --indent-heuristic --no-indent-heuristic"
    " --word-diff? --word-diff-regex: --color-words? --color? --no-color --color-moved? --color-moved-ws:"
    " --diff-filter: --find-renames? --find-copies? --find-copies-harder --no-renames --break-rewrites?"
    " --rename-empty --irreversible-delete --pickaxe-regex --pickaxe-all --find-object: --relative? --no-relative"
    " --text --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-cr-at-eol"
    " --ignore-matching-lines: -I: --function-context --inter-hunk-context: --unified: --exit-code --quiet"
    " --no-ext-diff --no-textconv --ignore-submodules? --line-prefix: --output-indicator-new: --output-indicator-old:"
    " --output-indicator-context: --ita-invisible-in-index --ws-error-highlight:"
)
_LOG = (
    _DIFF + " -n: -L< -iEFPgtcm --oneline --graph --decorate? --no-decorate --decorate-refs: --decorate-refs-exclude:"
    " --all --branches? --tags? --remotes? --glob: --exclude: --author: --committer: --grep: --grep-reflog:"
    " --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --all-match --invert-grep --since:"
    " --until:"
    " --after: --before: --since-as-filter: --max-age: --min-age: --merges --no-merges --min-parents: --max-parents:"
    " --first-parent --follow --reverse --topo-order --date-order --author-date-order --date: --relative-date"
    " --format: --pretty? --abbrev-commit --no-abbrev-commit --max-count: --skip: --left-right --left-only"
    " --right-only"
    " --cherry --cherry-pick --cherry-mark --boundary --simplify-by-decoration --full-history --simplify-merges"
    " --dense --sparse --ancestry-path? --show-pulls --remove-empty --in-commit-order --source --use-mailmap"
    " --no-mailmap --mailmap --notes? --no-notes --walk-reflogs --no-walk? --parents --children --not --cc"
    " --diff-merges: --encoding: --expand-tabs? --no-expand-tabs --merge --log-size --full-diff --clear-decorations"
)
_LISTS = (
    " --sort: --format: --contains: --no-contains: --merged? --no-merged? --points-at: --color? --no-color --column?"
    " --no-column --ignore-case -i --omit-empty"
)
_NAMES = "-vqz --verbose --quiet"
_FORMS: Mapping[str, Check] = {
    "status": forms(
        "-sbvuz -u? --short --branch --porcelain? --long --verbose --untracked-files? --ignored? --show-stash"
        " --ahead-behind --no-ahead-behind --renames --no-renames --find-renames? --ignore-submodules? --column?"
        " --no-column --null",
        "<*",
    ),
    "diff": forms(
        f"{_DIFF} --cached --staged --merge-base --no-index --cc --base --ours --theirs", "~*", searches="*"
    ),
    "log": forms(_LOG, "<*"),
    "show": forms(_LOG, "<*"),
    "whatchanged": forms(_LOG, "<*"),
    "reflog": forms(_LOG, "<*"),
    "diff-tree": forms(f"{_LOG} -r --root --stdin --no-commit-id", "<*"),
    "diff-index": forms(f"{_DIFF} --cached -m --merge-base", "<*"),
    "diff-files": forms(_DIFF, "<*"),
    "range-diff": forms(f"{_DIFF} --creation-factor: --no-dual-color --left-only --right-only", "<*"),
    "rev-list": forms(f"{_LOG} --count --objects --bisect --header --timestamp --disk-usage?", "<*"),
    "shortlog": forms(
        "-nsec -w? -n -# --numbered --summary --email --committer --group: --format: --since: --until:"
        " --after: --before:"
        " --all --no-merges --merges --author: --grep: --branches? --tags? --remotes? --max-count:",
        "<*",
    ),
    "rev-parse": forms(
        "-q --abbrev-ref? --verify --short? --show-toplevel --show-prefix --show-cdup --git-dir --absolute-git-dir"
        " --git-common-dir --is-inside-work-tree --is-bare-repository --is-inside-git-dir --is-shallow-repository"
        " --symbolic --symbolic-full-name --all --branches? --tags? --remotes? --quiet"
        " --show-superproject-working-tree"
        " --show-object-format? --revs-only --no-revs --flags --no-flags --not",
        "<*",
    ),
    "blame": forms(
        "-bclnsetwfpkM? -L< -M? -C? -# --root --show-stats --porcelain --line-porcelain --incremental --show-name"
        " --show-number --show-email --date: --since: --reverse --first-parent --abbrev: --color-lines"
        " --color-by-age",
        "<*",
    ),
    "annotate": forms("-lt -L<", "<*"),
    "ls-files": forms(
        "-cdmoiskutzvf --cached --deleted --modified --others --ignored --stage --unmerged --killed"
        " --exclude-standard"
        " --full-name --error-unmatch --eol --abbrev? --deduplicate --directory --no-empty-directory --exclude: -x:"
        " --format: --resolve-undo",
        "@*",
    ),
    "ls-tree": forms(
        "-drtlz --name-only --name-status --long --full-name --full-tree --abbrev? --object-only --format:", "@*"
    ),
    "grep": forms(
        "-nNilLcowvEFGPhHqpWazIr0123456789 -A: -B: -C: -m: -e: -# --line-number --ignore-case --files-with-matches"
        " --files-without-match --name-only --count --only-matching --word-regexp --invert-match --extended-regexp"
        " --fixed-strings --basic-regexp --perl-regexp --quiet --show-function --function-context --text --null"
        " --heading --break --color? --no-color --cached --untracked --max-depth: --and --or --not"
        " --all-match --column"
        " --full-name --after-context: --before-context: --context: --max-count: --no-textconv --recursive"
        " --exclude-standard",
        "<*",
    ),
    "cat-file": forms("-tsep", "<*"),
    "describe": forms(
        "--tags --all --always --long --dirty? --abbrev: --match: --exclude: --exact-match --candidates:"
        " --first-parent --contains",
        "<*",
    ),
    "merge-base": forms("-a --all --octopus --is-ancestor --fork-point --independent", "<*"),
    "name-rev": forms("--tags --refs: --exclude: --all --name-only --always", "<*"),
    "show-ref": forms(
        "-qdsh --head --heads --tags --branches --dereference --hash? --verify --quiet --abbrev?", "<*"
    ),
    "for-each-ref": forms(f"--count: --shell --include-root-refs{_LISTS}", "<*"),
    "count-objects": forms("-vH --verbose --human-readable"),
    "cherry": forms("-v --abbrev?", "<*"),
    "check-ignore": forms("-qvnz --quiet --verbose --non-matching --no-index", "@*"),
    "check-attr": forms("-az --all --cached", "@*"),
    "check-ref-format": forms("--branch --normalize --allow-onelevel", ":*"),
    "check-mailmap": forms("", ":*"),
    "stripspace": forms("-sc --strip-comments --comment-lines"),
    "show-branch": forms(
        "-ar --all --remotes --current --list --sha1-name --no-name --topo-order --date-order --color? --no-color",
        "<*",
    ),
    "version": forms("--build-options"),
    # Of these other forms would change branches, tags, remotes or stashes.
    "branch": forms(f"-arv --all --remotes --verbose --show-current --list --no-abbrev --abbrev:{_LISTS}", ""),
    "tag": forms(f"-l -n? --list{_LISTS}", ""),
    "remote": forms("-v --verbose"),
}
# With one of these first the rest are patterns or names, and nothing is made of them.
_FIRST: Mapping[str, Mapping[str, Check]] = {
    "branch": dict.fromkeys(
        ("--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"),
        forms(f"-arv --all --remotes --verbose --abbrev:{_LISTS}", "<*"),
    ),
    "tag": dict.fromkeys(("-l", "--list"), forms(f"-n?{_LISTS}", "<*")),
    "stash": {"list": forms(_LOG, "<*"), "show": forms(f"{_DIFF} --include-untracked --only-untracked", "<*")},
    "worktree": {"list": forms("-vz --verbose --porcelain")},
    "remote": {"get-url": forms("--all --push", ":")},
    "submodule": {"status": forms("--cached --recursive -q --quiet", "@*")},
    "reflog": {"show": forms(_LOG, "<*"), "exists": forms("", ":"), "list": forms("")},
    "notes": {"list": forms("", "<*"), "show": forms("", "<*")},
    "bisect": {"log": forms("")},
    "sparse-checkout": {"list": forms("")},
    "cat-file": dict.fromkeys(("blob", "tree", "commit", "tag"), forms("", "<")),
}
# A signature is checked by a program that the settings name.
_SIGNATURES = re.compile(r"%G|%[-+ ]?\(\*?(?:signature|raw)|%\(trailers:[^)]*key_value_separator")
_SETTING = re.compile(r"(?:user\.(?:name|email)|core\.\w+|init\.\w+|branch\.[\w./-]+|pull\.\w+|push\.\w+|merge\.\w+)")
_BEFORE_NAMES = frozenset({"--global", "--local", "--system", "--get"})
_BEFORE = frozenset({
    "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--no-lazy-fetch",
})  # fmt: skip
_VERSION = Only((("--version",), ("-v",)))


def is_harmless_git(call: Call) -> bool:
    """True when git only looks, in the session's directories, and what it shows is not its settings."""
    if _VERSION(call):
        return True
    rest = _after_own_options(call)
    if not call.are_known or rest is None or not rest.texts:
        return False
    subcommand, rest = rest.texts[0] or "", _without_first(rest, 1)
    if any(_SIGNATURES.search(text or "") for text in rest.texts):
        return False
    if subcommand == "config":
        return _shows_setting(rest)
    action = rest.texts[0] if rest.texts else None
    check = _FIRST.get(subcommand, {}).get(action or "")
    if check is not None:
        takes_value = action in {"--contains", "--no-contains", "--points-at"}
        return check(rest if takes_value else _without_first(rest, 1))
    check = _FORMS.get(subcommand)
    return check is not None and check(rest)


def _after_own_options(call: Call) -> Call | None:
    """The call from the subcommand on, where it runs; None where that may be outside of the session's directories."""
    cwd = call.invocation.cwd
    rest = call
    while rest.texts and (rest.texts[0] in _BEFORE or rest.texts[0] == "-C"):
        if rest.texts[0] != "-C":
            rest = _without_first(rest, 1)
            continue
        folder = rest.texts[1] if rest.texts[1:] else None
        if folder is None or UNKNOWN in folder or cwd is None:
            return None
        cwd = full_path(folder, cwd)
        rest = _without_first(rest, 2)
    if cwd is None or (call.roots and not any(is_below(cwd, root) for root in call.roots)):
        return None
    return replace(rest, invocation=replace(rest.invocation, cwd=cwd))


def _without_first(call: Call, count: int) -> Call:
    arguments = call.invocation.arguments[count:]
    return replace(call, texts=call.texts[count:], invocation=replace(call.invocation, arguments=arguments))


def _shows_setting(call: Call) -> bool:
    """One setting by name: those of remotes and credentials hold passwords."""
    options = ("--get", *call.texts[1:]) if call.texts[:1] == ("get",) else call.texts
    *before, name = options or ("",)
    is_known = all(text in _BEFORE_NAMES for text in before)
    return bool(before) and is_known and bool(_SETTING.fullmatch(name or ""))
