"""Paths that hold keys, credentials or hooks: they ask even where other paths of a workspace do not.

And the commands that print what is in files which they do not name: searches below directories, and git.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tools.approval.persistence_paths import folded_path, run_later
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tools.approval.commands.bash.reading import GitWords, Invocation


# The lists of places that hold secrets, all in lower case. A path in a list counts wherever it is in the person's
# home, in another's, in a copy of one. On macOS and Windows the same programs keep their things elsewhere; those
# places are listed everywhere, as homes are mounted and copied.

_CHROMIUMS = (
    "google-chrome",
    "google-chrome-beta",
    "chromium",
    "bravesoftware",
    "microsoft-edge",
    "vivaldi",
    "opera",
)
_ON_MACS = (
    "google/chrome", "chromium", "bravesoftware", "microsoft edge", "vivaldi", "com.operasoftware.opera", "firefox",
    "arc", "thunderbird", "1password", "bitwarden", "keepassxc", "signal", "slack", "discord", "com.apple.tcc",
    "gcloud", "doctl", "github-copilot",
)  # fmt: skip
_ON_WINDOWS = (
    "local/google/chrome", "local/chromium", "local/bravesoftware", "local/microsoft/edge", "local/vivaldi",
    "roaming/opera software", "roaming/mozilla", "roaming/thunderbird", "local/microsoft/credentials",
    "local/microsoft/vault", "roaming/microsoft/credentials", "roaming/microsoft/protect", "roaming/microsoft/crypto",
    "roaming/microsoft/vault", "roaming/bitwarden", "local/1password", "roaming/keepassxc", "roaming/gcloud",
    "roaming/gnupg", "roaming/github cli", "roaming/doctl", "roaming/composer/auth.json",
    "roaming/nuget/nuget.config", "roaming/postgresql/pgpass.conf",
)  # fmt: skip
_IN_CONFIG = (
    *_CHROMIUMS,
    # Sign-ins of tools, by themselves or with their settings.
    "gh", "glab-cli", "hub", "gcloud", "doctl", "heroku", "fly", "netlify", "vercel", ".wrangler", "hcloud", "scw",
    "linode-cli", "op", "sops", "age", "rclone", "stripe", "openai", "github-copilot", "configstore", "helm/registry",
    "composer/auth.json", "containers/auth.json", "pypoetry/auth.toml", "pip/pip.conf", "git/credentials",
    "1password", "bitwarden", "keepassxc", "filezilla", "signal", "slack", "discord", "wireguard",
)  # fmt: skip

GUARDED_PLACES = (
    ".ssh", ".gnupg", ".pki", ".aws", ".azure", ".kube", ".docker", ".git", ".hermes", ".password-store", ".oci",
    ".bluemix", ".fly", ".terraform.d", ".kaggle", ".snowsql", ".snowflake", ".huggingface", ".mozilla",
    ".thunderbird", ".electrum", ".bitcoin", ".ethereum", ".wrangler/config", ".dbt/profiles.yml",
    ".cache/huggingface/token", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
    ".nuget/nuget/nuget.config", ".composer/auth.json", ".bundle/config", ".pip/pip.conf", ".streamlit/secrets.toml",
    ".local/share/keyrings", ".local/share/kwalletd", ".local/share/com.vercel.cli", ".local/share/telegramdesktop",
    ".local/share/heroku", "snap/firefox", "snap/chromium", "snap/brave",
    ".var/app/org.mozilla.firefox", ".var/app/org.chromium.chromium", ".var/app/com.google.chrome",
    ".var/app/com.brave.browser", ".var/app/com.microsoft.edge", ".var/app/org.keepassxc.keepassxc",
    "library/keychains", "library/cookies", "library/safari", "library/messages", "library/mail",
    *(f".config/{name}" for name in _IN_CONFIG),
    *(f"library/application support/{name}" for name in _ON_MACS),
    *(f"appdata/{name}" for name in _ON_WINDOWS),
)  # fmt: skip
"""Directories that are secret as a whole, and files that are so at that place."""

GUARDED_NAMES = frozenset(
    {
        ".env", ".env~", ".envrc", ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", "pgpass.conf",
        ".my.cnf", ".mylogin.cnf", ".mongorc.js", ".mongoshrc.js", ".dbshell", ".htpasswd", ".vault-token",
        ".git-credentials", ".dockercfg", "kubeconfig", "credentials", ".boto", ".s3cfg", ".databrickscfg",
        ".terraformrc", "terraform.rc", "rclone.conf", ".credentials.json", "application_default_credentials.json",
        "secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml", "secrets.env", "secrets.properties",
        "age.key", "age-key.txt", "ipsec.secrets", "wallet.dat", "key3.db", "key4.db", "logins.json",
        "cookies.sqlite", "login data", ".lesshst", ".viminfo", "fish_history", ".zhistory",
        "consolehost_history.txt", "ntuser.dat",
    }
)  # fmt: skip
GUARDED_SUFFIXES = frozenset(
    {
        ".env", ".pem", ".key", ".ppk", ".p8", ".p12", ".pfx", ".pkcs12", ".keystore", ".jks", ".bks", ".kdb",
        ".kdbx", ".psafe3", ".agilekeychain", ".opvault", ".1pux", ".keychain", ".keychain-db", ".ovpn", ".agekey",
        ".keytab", ".tfvars", ".tfstate", ".kubeconfig", ".mobileprovision",
    }
)  # fmt: skip
GUARDED_FORMS = (
    r"\.env[._].*|id_(?:rsa|ed25519|ecdsa|dsa)(?!\w*\.(?:py|js|ts|go|rs|c|h|md)$).*|credentials\..*"
    r"|terraform\.tfstate.*|wg\d+\.conf|\.\w+_history"
)
"""Names, as an expression for the whole of one."""
GUARDED_JSON = (
    r".*\.tfvars\.json|(?:.*[-_.])?service[-_]?account(?:[-_.].*)?\.json|.*firebase-adminsdk.*\.json"
    r"|client_secret.*\.json"
)
"""Names that end in `.json`, likewise."""
HARMLESS_FORMS = (
    # Templates, source code about credentials, and certificates that everybody may have.
    r".*[._-](?:example|sample|template|tmpl|dist|defaults|schema)(?:\.(?:json|ya?ml|toml|env))?|\.env\.d\.ts"
    r"|(?:example|sample|template)\.env"
    r"|credentials(?:[._-][\w-]+)*\.(?:pyi?|[cm]?[jt]sx?|go|rs|rb|erb|java|kts?|cs|c|cc|cpp|h|hpp|php|swift|scala|dart"
    r"|exs?|lua|vue|svelte|md|mdx|rst|html|css|feature|graphql|proto|sql|svg|png)"
    r"|cacert\.pem|ca[-_]?bundle\.pem|(?:.*[-_.])?pub(?:lic)?\.pem"
)
"""Names that one of the lists above has, and that are no secret all the same."""

GUARDED_AT_ROOT = (
    r"(?:/private)?/etc/(?:g?shadow|sudoers|master\.passwd|krb5\.keytab|security/opasswd|ssl/private|ssh/ssh_host_"
    r"|pki/tls/private|letsencrypt/(?:live|archive|accounts)|wireguard|openvpn|ipsec\.|swanctl|ppp/|kubernetes"
    r"|networkmanager/system-connections|wpa_supplicant|docker/key)"
    r"|/(?:var/)?run/(?:secrets|credentials|keys|agenix)(?:/|$)|/var/lib/(?:docker|kubelet|sss|bluetooth|iwd)(?:/|$)"
    r"|(?:/private)?/var/(?:db/(?:dslocal|sudo)|spool/cron|mail|backups)(?:/|$)|/library/keychains"
    r"|/proc/(?:[^/]+/(?:task/[^/]+/)?(?:environ|mem|maps|auxv|pagemap)$|kcore$)|/dev/(?:k?mem|port)$"
)
"""Paths of a system, as an expression for their beginning."""


# What may only be changed with a question because others run it later is listed in `persistence_paths`. A name in
# source code that only sounds like a secret (`credentials.py`) and a template (`.env.example`) are none.

_Tails = Mapping[str, tuple[tuple[str, ...], ...]]


def _by_first_part(named: Iterable[str]) -> _Tails:
    """Where each place begins, with the rests that may follow there: a search asks about every file that it finds."""
    tails: dict[str, tuple[tuple[str, ...], ...]] = {}
    for place in named:
        first, *rest = place.split("/")
        tails[first] = (*tails.get(first, ()), tuple(rest))
    return tails


_GUARDED_PLACES = _by_first_part(GUARDED_PLACES)
_GUARDED_FORMS = re.compile(GUARDED_FORMS, re.DOTALL)
_GUARDED_JSON = re.compile(GUARDED_JSON, re.DOTALL)
_GUARDED_AT_ROOT = re.compile(GUARDED_AT_ROOT, re.DOTALL)
_HARMLESS_FORMS = re.compile(HARMLESS_FORMS, re.DOTALL)
# What a repository has besides its history: a directory with HEAD, objects and refs is one, whatever its name.
_REPOSITORY = ("HEAD", "objects", "refs")
_RUN_IN_REPOSITORY = frozenset(
    {"config", "config.worktree", "commondir", "hooks", "info", "objects", "refs", "remotes"}
)
_REPOSITORY_DEPTH = 4


def why_sensitive(path: Path, private: tuple[Path, ...] = ()) -> str:
    """Why `path` asks for itself («holds …»), or '' when it is ordinary.

    Args:
        path: absolute, symbolic links resolved.
        private: directories that are sensitive as a whole.
    """
    if any(path == root or root in path.parents for root in private):
        return "holds this agent's own settings"
    return _why_secret(folded_path(path))


def why_sensitive_to_write(path: Path, private: tuple[Path, ...] = ()) -> str:
    """Like `why_sensitive`, and also for what others run later (`persistence_paths`).

    Args:
        path: absolute, symbolic links resolved.
        private: directories that are sensitive as a whole.
    """
    if reason := why_sensitive(path, private):
        return reason
    if (place := run_later(path)) is not None:
        return place.why
    return "belongs to a git repository without a work tree" if _is_in_repository(path) else ""


def _is_in_repository(path: Path) -> bool:
    """Whether git would take the directory that a file is in, or one near above, for a repository of its own."""
    for depth, folder in zip(range(_REPOSITORY_DEPTH), path.parents, strict=False):
        if path.parts[-1 - depth] in _RUN_IN_REPOSITORY and all(
            os.path.lexists(folder / name) for name in _REPOSITORY
        ):
            return True
    return False


def _why_secret(folded: str) -> str:
    parts = folded.split("/")
    if hit := _place(parts, _GUARDED_PLACES):
        return "may hold credentials" if hit.count("/") and folded.endswith(f"/{hit}") else f"is inside {hit}"
    name = parts[-1]
    dot = name.rfind(".")
    is_guarded = (
        name in GUARDED_NAMES
        or (dot > 0 and name[dot:] in GUARDED_SUFFIXES)
        or _GUARDED_FORMS.fullmatch(name)
        or (name.endswith(".json") and _GUARDED_JSON.fullmatch(name))
    )
    if is_guarded and not _HARMLESS_FORMS.fullmatch(name):
        return "may hold what was typed" if name.endswith("_history") else "may hold credentials"
    return "holds secrets of the system" if _GUARDED_AT_ROOT.match(folded) else ""


def _place(parts: list[str], tails: _Tails) -> str:
    for number, part in enumerate(parts):
        for tail in tails.get(part, ()):
            if tuple(parts[number + 1 : number + 1 + len(tail)]) == tail:
                return "/".join((part, *tail))
    return ""


# Searches below directories, and git.

_SEARCHERS = frozenset({"rg", "ag", "ack", "ugrep", "rgrep"})
_GREPS = frozenset({"grep", "egrep", "fgrep", "zgrep", "bzgrep", "xzgrep"})
# In a cluster of short options; long ones may be abbreviated.
_GOES_DOWN = re.compile(r"-[A-Za-z0-9]*[rR].*|--(?:r|de).*|-d.*|--di.*", re.DOTALL)
_SHOWS = frozenset({
    "diff", "show", "diff-tree", "diff-index", "diff-files", "range-diff", "grep", "cat-file", "archive",
    "format-patch", "difftool", "fast-export", "merge-tree",
})  # fmt: skip
_SHOWS_IF_ASKED = frozenset({"log", "whatchanged", "reflog", "stash", "request-pull"})
_ASKS_PIECE_BY_PIECE = frozenset({"add", "stage", "checkout", "commit", "reset", "restore"})
_PIECES = frozenset({"-p", "--patch", "-i", "--interactive"})
_SUMMARY = re.compile(
    r"-s|-q|--(?:no-patch|quiet|stat|shortstat|numstat|dirstat|summary|raw|name-only|name-status)(?:=.*)?"
)
_PATCH = re.compile(
    r"-[A-Za-z0-9]*[pucmWUL].*|--(?:pat|uni|cc|dd|rem|diff-m|fun|bin|word-d|color-w|che).*", re.DOTALL
)
_NAMED = re.compile(r"[\w./~^-]+:[^:/][^:]*")
_STAGED = re.compile(r"-\w*v\w*|--verb.*")
# A blob that is named by its id is printed whatever paths are named.
_PRINTS_BLOBS = frozenset({"show", "grep", "cat-file"})
_ID = re.compile(r"[0-9a-f]{4,64}")


@dataclass(frozen=True, slots=True)
class GitLook:
    """A command of git that looks at what it has.

    Attributes:
        directory: where it runs; None: that is not known.
        only: the paths that it is held to, as git reads them; none: all of the repository.
        shows: it may print what is in files that it does not name.
    """

    directory: Path | None
    only: tuple[str, ...]
    shows: bool


@functools.lru_cache(maxsize=256)
def looks_of_git(command: str, cwd: Path) -> tuple[GitLook, ...]:
    """What git is made to look at by `command`."""
    if "git" not in command:
        return ()
    from tools.approval.commands.bash.interpreter import read_command  # noqa: PLC0415
    from tools.approval.commands.bash.reading import git_words, sets_git_up  # noqa: PLC0415 - as below

    try:
        invocations = read_command(command, cwd).invocations
    except RecursionError:
        return (GitLook(None, (), shows=True),)
    is_elsewhere = sets_git_up(command)
    return tuple(_look(git_words(each), each, is_elsewhere) for each in invocations if each.program == "git")


def _look(words: GitWords, call: Invocation, is_elsewhere: bool) -> GitLook:
    if words.command is None:
        return GitLook(words.folder, (), shows=False)
    if not words.command.is_known:
        return GitLook(None, (), shows=True)
    texts = [argument.text if argument.is_known else None for argument in words.rest]
    given = ["-p" if text is None else text for text in texts]  # it may be that
    begin = given.index("--") if "--" in given else len(given)
    before, only = given[:begin], given[begin + 1 :]
    is_whole = (
        None in texts
        or call.adds_unknown
        or "--full-diff" in before
        or (words.command.text in _PRINTS_BLOBS and any(map(_ID.fullmatch, before)))
        or any(name.endswith("-pathspecs") for name, _ in words.options)
    )
    shows = _shows([words.command.text, *before])
    return GitLook(None if is_elsewhere else words.folder, () if is_whole else tuple(only), shows)


def _shows(words: list[str]) -> bool:
    """Whether these words after `git` may make it print what is in files that they do not name."""
    subcommand, *rest = words
    asks = any(map(_PATCH.fullmatch, rest))
    if subcommand in _SHOWS_IF_ASKED:
        return asks
    if subcommand == "status" or (subcommand == "commit" and "--dry-run" in rest):
        return any(map(_STAGED.fullmatch, rest))
    if subcommand in _ASKS_PIECE_BY_PIECE:
        return not _PIECES.isdisjoint(rest)
    operands = [word for word in rest if not word.startswith("-")]
    is_named = subcommand in {"show", "cat-file"} and bool(operands) and all(map(_NAMED.fullmatch, operands))
    is_plain = is_named or "--no-index" in rest or (not asks and any(map(_SUMMARY.fullmatch, rest)))
    return subcommand in _SHOWS and not is_plain


@functools.lru_cache(maxsize=256)
def searches_below(command: str, cwd: Path) -> bool:
    """Whether one of the programs that `command` runs prints lines of files that the command does not name.

    True as well where it is not sure which options a program gets.
    """
    from tools.approval.commands.bash.interpreter import read_command  # noqa: PLC0415 - much to load

    for each in read_command(command, cwd).invocations:
        texts = [argument.text if argument.is_known else "-r" for argument in each.arguments]
        if each.program in _SEARCHERS or (each.program == "git" and "grep" in texts):
            return True
        may_go_down = each.adds_unknown or any(map(_GOES_DOWN.fullmatch, texts))
        if (each.program in _GREPS or each.program == "diff") and may_go_down:
            return True
    return False
