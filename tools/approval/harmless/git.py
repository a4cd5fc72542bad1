"""The commands of git that only look.

git runs what `.git/config` names (a file-system monitor, a text converter): that file is protected like our own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tools.approval.harmless.arguments import Call, Texts

_READING = frozenset({
    "status", "diff", "log", "show", "rev-parse", "blame", "annotate", "ls-files", "ls-tree", "grep", "cat-file",
    "describe", "shortlog", "rev-list", "merge-base", "name-rev", "show-ref", "for-each-ref", "count-objects",
    "cherry", "diff-tree", "diff-index", "diff-files", "whatchanged", "version", "check-ignore", "show-branch",
    "check-attr", "check-ref-format", "range-diff", "merge-tree", "stripspace", "check-mailmap",
})  # fmt: skip
# In these, other arguments would change branches, tags, remotes or settings.
_LISTING: Mapping[str, re.Pattern[str]] = {
    "branch": re.compile(
        r"--list|-a|-r|-v|-vv|-av|-avv|-ra|-ar|-vva|--all|--remotes|--show-current|--verbose|--no-color"
        r"|--(?:sort|format|color)=.*",
        re.DOTALL,
    ),
    "tag": re.compile(r"-l|-n\d*|--list|--(?:sort|format|color)=.*", re.DOTALL),
    "remote": re.compile(r"-v|--verbose"),
    "reflog": re.compile(r"-n\d*|-\d+|--oneline|--all"),
}
_FIRST: Mapping[str, frozenset[str]] = {
    "stash": frozenset({"list", "show"}), "worktree": frozenset({"list"}), "remote": frozenset({"get-url"}),
    "submodule": frozenset({"status"}),
    "reflog": frozenset({"show"}), "tag": frozenset({"-l", "--list", "--contains"}),
    "branch": frozenset({"--list", "--contains", "--merged", "--no-merged"}),
    "notes": frozenset({"list", "show"}),
    "bisect": frozenset({"log"}), "sparse-checkout": frozenset({"list"}), "lfs": frozenset({"ls-files"}),
}  # fmt: skip
_QUIET = re.compile(
    r"--(?:oneline|stat|patch|name-only|name-status|porcelain(?:=.*)?|no-color|max-count=\d+)|-p|-\d+|-n\d*"
)
# Of these programs are run, files are written or signatures are checked, whatever stands before.
_NEVER = ("--output", "--open-files-in-pager", "--ext-diff", "--textconv", "--show-signature", "--filters")
_SIGNATURES = re.compile(r"%G")
_SETTING = re.compile(r"(?:user\.(?:name|email)|core\.\w+|init\.\w+|branch\.[\w./-]+|pull\.\w+|push\.\w+|merge\.\w+)")
_BEFORE_NAMES = frozenset({"--global", "--local", "--system", "--get"})
_BEFORE = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})


def is_harmless_git(call: Call) -> bool:
    """True when git only looks, and what it shows is not its settings."""
    if not call.are_known:
        return False
    rest = call.texts
    while rest and (rest[0] in _BEFORE or rest[0] == "-C"):
        rest = rest[2:] if rest[0] == "-C" else rest[1:]
    if rest == ("--version",):
        return True
    if not rest:
        return False
    subcommand, options = rest[0] or "", rest[1:]
    # Also behind `--`: to some subcommands that is the value of an option before it.
    if not all(text is not None and _may_stand(text) for text in options):
        return False
    if subcommand == "config":
        return _shows_setting(options)
    if subcommand in _READING:
        return True
    if options and options[0] in _FIRST.get(subcommand, ()):
        return all(text is not None and (text[:1] != "-" or _QUIET.fullmatch(text)) for text in options[1:])
    listing = _LISTING.get(subcommand)
    return listing is not None and all(text is not None and listing.fullmatch(text) for text in options)


def _may_stand(text: str) -> bool:
    if text.startswith("--"):
        name = text.partition("=")[0]
        return not (name != "--" and any(option.startswith(name) for option in _NEVER)) and not _SIGNATURES.search(
            text
        )
    return not (text.startswith("-") and "O" in text)


def _shows_setting(options: Texts) -> bool:
    """One setting by name: those of remotes and credentials hold passwords."""
    if options[:1] == ("get",):
        options = ("--get", *options[1:])
    *before, name = options or ("",)
    is_known = all(text in _BEFORE_NAMES for text in before)
    return bool(before) and is_known and bool(_SETTING.fullmatch(name or ""))
