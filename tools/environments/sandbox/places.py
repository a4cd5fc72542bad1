"""Which places a confined command never sees, and which it may change besides the session's roots.

Hidden is what is worth stealing: keys, sign-ins, and what other programs keep of the person. Settings that everyday
tools must read are hidden only while there is a secret in them.

Writable are the caches of package managers and compilers, so that everyday work does not ask. They are shared with
the person's own builds: who fears that a confined build puts something bad into them switches them off. A place whose
programs others start (`~/.local/bin`, `~/.cargo/bin`, the hooks of pre-commit) is never among them.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tools.approval.persistence_paths import names_at_home
from tools.environments.workspace_secrets import holds_secret

DEVICES = tuple(Path("/dev", name) for name in ("null", "zero", "full", "random", "urandom", "tty"))
"""What a command may open of /dev. Not terminals: another one's keys could be read there. Not what sees or hears."""

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - POSIX semaphores and shared memory live there
"""Python's multiprocessing, browsers and databases cannot work without it."""

_HIDDEN = (
    # Keys and sign-ins of tools.
    *(".ssh", ".gnupg", ".pki", ".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".password-store"),
    *(".aws", ".azure", ".kube", ".docker/config.json", ".config/containers/auth.json", ".config/gcloud"),
    *(
        ".config/gh",
        ".config/glab-cli",
        ".config/hub",
        ".config/doctl",
        ".config/heroku",
        ".config/op",
        ".config/sops",
    ),
    *(".config/rclone", ".oci", ".boto", ".s3cfg", ".terraform.d/credentials.tfrc.json", ".vault-token", ".fly"),
    *(".config/netlify", ".config/vercel", ".local/share/com.vercel.cli", ".wrangler", ".config/.wrangler"),
    *(".pypirc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings-security.xml"),
    *(".config/composer/auth.json", ".composer/auth.json", ".config/hcloud", ".databrickscfg"),
    *(".cache/huggingface/token", ".huggingface/token", ".kaggle", ".config/openai", ".config/github-copilot"),
    *(".pgpass", ".my.cnf", ".mylogin.cnf", ".config/age", ".config/stripe", ".snowsql", ".snowflake"),
    # What programs keep of the person: browsers, mail, messages, wallets, keyrings.
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *(".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".local/share/keyrings", ".local/share/kwalletd"),
    *(".config/Signal", ".config/Slack", ".config/discord", ".config/Bitwarden", ".config/1Password"),
    *(".local/share/TelegramDesktop", ".electrum", ".bitcoin", ".ethereum", ".config/keepassxc", "snap", ".var/app"),
    *("Library/Keychains", "Library/Cookies", "Library/Application Support/Google/Chrome", "Library/Messages"),
    *("Library/Application Support/Firefox", "Library/Mail", "Library/Safari"),
    # What was typed.
    *(".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".node_repl_history"),
    *(".local/share/fish/fish_history", ".rediscli_history", ".sqlite_history", ".lesshst"),
)
_HIDDEN_WITH_SECRETS = (
    *(".npmrc", ".yarnrc", ".yarnrc.yml", ".config/pip/pip.conf", ".pip/pip.conf", ".config/uv/uv.toml", ".condarc"),
    *(".gradle/gradle.properties", ".m2/settings.xml", ".nuget/NuGet/NuGet.Config", ".bundle/config", ".gitconfig"),
    *(".Renviron", ".config/containers/registries.conf", ".config/pypoetry/auth.toml"),
)
# Of these a user without rights sees only what is there for everybody.
_HIDDEN_OF_THE_SYSTEM = (
    *("/run/secrets", "/run/credentials", "/run/user", "/run/keys", "/run/agenix", "/etc/shadow", "/etc/shadow-"),
    *("/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private", "/etc/kubernetes"),
    *("/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key"),
    *("/etc/NetworkManager/system-connections", "/etc/wireguard", "/var/lib/docker", "/var/spool/cron", "/var/mail"),
)
_CONFIG = ".config"  # the most of them lie there
_HOMES = (Path("/home"), Path("/Users"))
_ROOTS_HOME = Path("/root")
_NO_PERSONS_HOME = frozenset({"linuxbrew"})

_CACHES = (
    # The directory, and the tool whose it is: where the tool is not, nothing is made.
    (".cache/pip", "pip"),
    (".cache/uv", "uv"),
    (".cache/pypoetry", "poetry"),
    (".cache/pdm", "pdm"),
    (".cache/go-build", "go"),
    ("go/pkg", "go"),
    (".npm", "npm"),
    (".cache/node-gyp", "npm"),
    (".cache/yarn", "yarn"),
    (".yarn/berry", "yarn"),
    (".cache/pnpm", "pnpm"),
    (".local/share/pnpm/store", "pnpm"),
    (".bun/install/cache", "bun"),
    (".cache/deno", "deno"),
    (".cargo/registry", "cargo"),
    (".cargo/git", "cargo"),
    (".cache/ccache", "ccache"),
    (".ccache", "ccache"),
    (".cache/sccache", "sccache"),
    (".m2/repository", "mvn"),
    (".gradle/caches", "gradle"),
    (".gradle/daemon", "gradle"),
    (".gradle/native", "gradle"),
    (".gradle/wrapper/dists", "gradle"),
    (".nuget/packages", "dotnet"),
    (".cache/composer", "composer"),
    (".cache/zig", "zig"),
    (".cache/mypy", "mypy"),
    (".cache/ruff", "ruff"),
    (".cache/matplotlib", "python3"),
    (".cache/fontconfig", "fc-cache"),
)
# Files that a tool opens for writing and that must be there for a rule to name them.
_LOCKS = ((".cargo/.package-cache", "cargo"), (".cargo/.package-cache-mutate", "cargo"))


def hidden_places(home: Path, own: Iterable[Path], roots: Iterable[Path] = ()) -> tuple[Path, ...]:
    """What no confined command may read: those of the lists that exist, resolved.

    Args:
        home: the person's.
        own: this program's directories: settings, keys, sessions.
        roots: the session's; a home of others that one of them lies in is not hidden as a whole.
    """
    homes = _own_homes(home)
    named = [path for each in homes for path in _inside(each, _HIDDEN)]
    named += [path for each in homes for path in _inside(each, _HIDDEN_WITH_SECRETS) if holds_secret(path)]
    named += [name for name in _HIDDEN_OF_THE_SYSTEM if os.access(name, os.R_OK)]
    ours = frozenset(_existing(own))
    found = _existing([*named, *_homes_of_others(homes), *ours])
    kept = [_resolved(root) for root in (*homes, *roots)]
    # What holds a root is not hidden as a whole: the root would be, too.
    return tuple(each for each in found if each in ours or not any(root.is_relative_to(each) for root in kept))


def signs_of(home: Path, own: Iterable[Path]) -> tuple[object, ...]:
    """What shows, quickly, that the answers of `hidden_places` and `protected_places` may have changed.

    Args:
        home, own: as there.
    """
    paths = [path for each in _own_homes(home) for path in _perhaps_there(str(each))]
    return tuple((path, _sign(path)) for path in (*paths, *_HIDDEN_OF_THE_SYSTEM, *map(str, (*own, *_HOMES))))


def _perhaps_there(home: str) -> Iterator[str]:
    """Of the lists' places in a home, those whose first part is there, and in `.config` the second: looked at before
    each command.
    """
    there, settings = _names(home), None
    for first, names in _by_part("").items():
        if there is not None and first not in there:
            continue
        if first == _CONFIG:
            settings = _names(f"{home}/{_CONFIG}")
        if settings is None or first != _CONFIG:
            yield from (f"{home}/{name}" for name in names)
        else:
            for second, below in _by_part(f"{_CONFIG}/").items():
                if second in settings:
                    yield from (f"{home}/{name}" for name in below)


def _names(directory: str) -> frozenset[str] | None:
    """What lies in a directory, for comparing; None where that cannot be seen."""
    try:
        return frozenset(name.casefold() for name in os.listdir(directory))  # noqa: PTH208 - names are enough
    except OSError:
        return None


@functools.cache
def _by_part(below: str) -> Mapping[str, Sequence[str]]:
    """The lists' places that begin with `below`, by the part that comes next."""
    parts: dict[str, list[str]] = {}
    for name in (*_HIDDEN, *_HIDDEN_WITH_SECRETS, *names_at_home()):
        if name.startswith(below):
            parts.setdefault(name[len(below) :].partition("/")[0].casefold(), []).append(name)
    return parts


def _sign(path: str) -> tuple[int, int] | None:
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns


def cache_places(home: Path, installed: Iterable[str]) -> tuple[Path, ...]:
    """The caches of those tools, resolved; they are made where they are missing, for the person alone.

    Args:
        installed: names of tools that are there.
    """
    tools = frozenset(installed)
    for name, tool in _CACHES:
        if tool in tools:
            _make(home / name)
    for name, tool in _LOCKS:
        if tool in tools and (home / name).parent.is_dir():
            _touch(home / name)
    return _existing(_inside(home, (name for name, _ in (*_CACHES, *_LOCKS))))


def cache_tools() -> frozenset[str]:
    """The names of tools that have caches."""
    return frozenset(tool for _, tool in _CACHES)


def temporary_places(variables: Mapping[str, str], roots: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Where temporary files are made: the two everybody uses, and what TMPDIR names; resolved.

    Args:
        roots: the session's, resolved.
    """
    common = _existing([Path("/tmp"), Path("/var/tmp")])  # noqa: S108 - so they are
    named = [Path(variables["TMPDIR"])] if variables.get("TMPDIR", "").startswith("/") else []
    return (*common, *not_within([*named, Path(tempfile.gettempdir())], (*roots, *common)))


def not_within(places: Iterable[Path], writable: Iterable[Path]) -> tuple[Path, ...]:
    """Those of `places` that are there, resolved, without those whose path leads through what commands may change.

    They may be changed with it; and a command of another session may have put a link there, to where none may write.

    Args:
        writable: resolved.
    """
    changeable = tuple(writable)
    return _existing(place for place in places if not _leads_through(place, changeable))


def _leads_through(place: Path, writable: tuple[Path, ...]) -> bool:
    path = Path(os.path.abspath(place))  # noqa: PTH100 - without following links
    steps = (_resolved(step.parent) / step.name for step in (path, *path.parents))
    return any(step.is_relative_to(each) for step in steps for each in writable)


def protected_places(home: Path, roots: Iterable[Path]) -> tuple[Path, ...]:
    """What others run later in the person's home, where a root holds the home; resolved."""
    if not any(_resolved(home).is_relative_to(_resolved(root)) for root in roots):
        return ()
    return _existing(_inside(home, names_at_home()))


def _inside(home: Path, names: Iterable[str]) -> Iterator[str]:
    """As text: of hundreds of names few are there, and each path object costs more than the look at the disk."""
    place = str(home).rstrip("/")
    return (f"{place}/{name}" for name in names)


def _own_homes(home: Path) -> tuple[Path, ...]:
    """The home that the environment names, and the one that the system knows."""
    try:
        import pwd  # noqa: PLC0415 - not on every system

        known = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except (ImportError, KeyError, RuntimeError):  # a user that the system does not know
        return (home,)
    return tuple(dict.fromkeys((home, known)))


def _homes_of_others(own: Iterable[Path]) -> list[Path]:
    """For root, who could read them; another user reads what their owners let everybody read."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return []
    others = [_ROOTS_HOME]
    for homes in _HOMES:
        if homes.is_dir():
            others += [each for each in homes.iterdir() if each.name not in _NO_PERSONS_HOME]
    homes_of_ours = [_resolved(each) for each in own]
    return [each for each in others if not any(home.is_relative_to(_resolved(each)) for home in homes_of_ours)]


def _existing(places: Iterable[Path | str]) -> tuple[Path, ...]:
    """Those that are there, resolved, each once, in order."""
    return tuple(dict.fromkeys(_resolved(place) for place in places if os.path.lexists(place)))


def _resolved(place: Path | str) -> Path:
    return Path(os.path.realpath(place))


def _make(place: Path) -> None:
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:  # a home that cannot be written has no caches
        return


def _touch(place: Path) -> None:
    try:
        place.touch(mode=0o600)
    except OSError:
        return
