"""Places on disk that a sandbox treats apart: secrets of the project, what is hidden, what may be changed."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tools.approval.persistence_paths import names_at_home
from tools.approval.sensitive import why_sensitive
from tools.environments.sandbox.port import Level
from tools.environments.temp_directories import OwnDirectory

# The project's secrets: files that hold credentials, as their names tell. What only looks need not see them, and the
# user says whether other commands may.
# Looked for in the session's directories and two levels below, which is where they are kept, where a command runs,
# and among its words. Each directory is read again when it has changed.

_LEVELS = 2
_MOST_DIRECTORIES = 60
_MOST_LOOKED_AT = 400
_MOST_ENTRIES = 2_000
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build"})
_MOST_WORDS, _LONGEST_WORD = 20, 300

_REPOSITORY = ".git"
"""The file that a work tree or a submodule has in place of the directory: it names a path."""

# Settings that everyday tools have in every project: they count only while there is a secret in them.
_PLAIN_SETTINGS = frozenset({".npmrc", ".yarnrc.yml"})
_SECRET_IN_SETTINGS = re.compile(rb"_auth|token|passw|secret|api_?key|://[^/\s:@]+:[^/\s@]+@", re.IGNORECASE)
_BEGIN, _PRIVATE = b"-----BEGIN ", b"PRIVATE KEY"
_MOST_BYTES = 200_000


class WorkspaceSecrets:
    """Of one session; safe to use from several threads.

    Args:
        roots: the session's directories, resolved.
    """

    def __init__(self, roots: tuple[Path, ...] = ()) -> None:
        self._roots = roots
        self._lock = threading.Lock()
        # By directory: when it changed last, its secret files, the directories in it.
        self._known: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {}

    def __call__(self) -> tuple[Path, ...]:
        """Where they are now; resolved."""
        with self._lock:
            found = dict.fromkeys(os.path.realpath(path) for root in self._roots for path in self._below(root))
            return tuple(map(Path, found))

    def reachable(self, command: str, cwd: Path) -> Mapping[Path, tuple[Path, ...]]:
        """Those that a command could read: also where it runs or goes to, and what it names.

        Returns:
            by the directory of the session that they are in; resolved, each once and in order.
        """
        with self._lock:
            near = list(self._near(words_in(command), Path(os.path.realpath(cwd))))
            found = [(root, path) for root in self._roots for path in self._below(root)]
        places: dict[Path, Path] = {}
        for root, path in (*found, *near):
            places.setdefault(Path(os.path.realpath(path)), root)
        return {root: tuple(path for path, at in places.items() if at == root) for root in self._roots}

    def behind(self, command: str, cwd: Path) -> tuple[Path, ...]:
        """Secret files that links among a command's words lead to, and those of directories that it compares."""
        # Much to load, and where a sandbox hides secrets none of it is needed.
        from tools.approval.commands.bash.interpreter import read_command  # noqa: PLC0415
        from tools.approval.commands.command_rules import paths_named  # noqa: PLC0415

        found = dict.fromkeys(self._led_to(cwd, cwd))
        for invocation in read_command(command, cwd).invocations:
            place = Path(invocation.cwd) if invocation.cwd is not None else cwd
            named = [place, *(path for path, _ in paths_named(invocation, cwd))]
            found.update(dict.fromkeys(led for path in named for led in self._led_to(path, cwd)))
            compares = invocation.program == "diff" or "--no-index" in {one.text for one in invocation.arguments}
            if compares and any(map(os.path.isdir, named[1:])):
                found.update(dict.fromkeys(self()))
        return tuple(found)

    def _led_to(self, path: Path, cwd: Path) -> Iterator[Path]:
        """Where a path leads, if that is another place than it says and one for secrets."""
        from tools.approval.commands.harmless_forms import is_open_path  # noqa: PLC0415 - as above

        real = Path(os.path.realpath(path))
        said = (
            Path(os.path.realpath(cwd), path.relative_to(cwd)) if path.is_relative_to(cwd) and path != cwd else path
        )
        is_inside = any(real.is_relative_to(root) for root in self._roots)
        if real != said and (why_sensitive(real) or not (is_inside or is_open_path(str(real)))):
            yield real

    def _below(self, root: Path) -> Iterator[str]:
        if why_sensitive(root / "x"):
            return  # the whole of it is: whoever works there has to see it
        level, looked_at = [str(root)], 0
        for _ in range(_LEVELS + 1):
            following: list[str] = []
            for directory in level[: max(0, _MOST_LOOKED_AT - looked_at)]:
                secrets, directories = self._look(directory)
                yield from secrets
                following += directories
            looked_at += len(level)
            level = following

    def _near(self, words: list[str], cwd: Path) -> Iterator[tuple[Path, str]]:
        """What is in the directories that a command's words lead to, and what they name there; each with its root."""
        for directory in dict.fromkeys((cwd, *(cwd / word for word in words))):
            if (root := self._root_of(directory)) is None or not os.path.isdir(directory):  # noqa: PTH112
                continue
            yield from ((root, path) for path in self._look(str(directory))[0])
            # Who goes to a directory first means the other words from there.
            for path in (directory / word for word in words):
                if (its_root := self._root_of(path)) is not None and _is_secret(str(path)):
                    yield its_root, str(path)

    def _root_of(self, path: Path) -> Path | None:
        real = Path(os.path.realpath(path))
        root = next((root for root in self._roots if real.is_relative_to(root)), None)
        return None if root is None or why_sensitive(root / "x") else root

    def _look(self, directory: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        try:
            changed = Path(directory).stat().st_mtime_ns
            known = self._known.get(directory)
            if known is None or known[0] != changed:
                known = self._known[directory] = (changed, *_read(directory))
        except OSError:
            return (), ()
        return tuple(filter(_is_secret, known[1])), known[2]


def words_in(command: str) -> list[str]:
    """What of a command may be a name of a file."""
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        words = list(lexer)
    except ValueError:
        words = command.split()
    names = (word.rpartition("=")[2] for word in words if len(word) < _LONGEST_WORD and "\0" not in word)
    return [name for name in dict.fromkeys(names) if name.strip("();<>|&") and not name.startswith("-")][:_MOST_WORDS]


def holds_secret(settings: str) -> bool:
    """Whether there seems to be a secret in a file of settings; what cannot be read needs no hiding."""
    return _SECRET_IN_SETTINGS.search(_content(settings)) is not None


def _is_secret(path: str) -> bool:
    """Whether a file is there that holds credentials: by its name, and where that says little by its content."""
    if not os.path.isfile(path) or not why_sensitive(Path(path)):  # noqa: PTH113 - no name is an error
        return False
    name = path.rpartition("/")[2].casefold()
    if _REPOSITORY in path.casefold().split("/"):  # git's own, but for addresses with passwords
        return name == "config" and holds_secret(path)
    if name in _PLAIN_SETTINGS:
        return holds_secret(path)
    if name.endswith(".pem"):  # most are certificates, which everybody may have
        content = _content(path)
        return _PRIVATE in content or _BEGIN not in content
    return True


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - of the most there are none, and a path object costs more
            return stream.read(_MOST_BYTES)
    except OSError:
        return b""


def _read(directory: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    secrets, directories = [], []
    with os.scandir(directory) as found:
        for entry, _ in zip(found, range(_MOST_ENTRIES), strict=False):
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _PASSED_OVER:
                    directories.append(entry.path)
            elif why_sensitive(Path(entry.path)):
                secrets.append(entry.path)
    return tuple(secrets), tuple(sorted(directories)[:_MOST_DIRECTORIES])


# Which places a confined command never sees, and which it may change besides the session's roots.
# Hidden is what is worth stealing: keys, sign-ins, and what other programs keep of the person. Settings that everyday
# tools must read are hidden only while there is a secret in them.
# Writable are the caches of package managers and compilers, so that everyday work does not ask. They are shared with
# the person's own builds: who fears that a confined build puts something bad into them switches them off. A place
# whose programs others start (`~/.local/bin`, `~/.cargo/bin`, the hooks of pre-commit) is never among them.

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


class Scratch:
    """One for a session, made when it is first needed; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._directory: OwnDirectory | None = None
        self._is_closed = False

    def path(self) -> Path:
        """The directory, for the user alone; resolved.

        Raises:
            OSError: it cannot be made, or the session has ended.
        """
        with self._lock:
            if self._is_closed:
                raise OSError("The session has ended: no command of it begins any more.")
            if self._directory is not None and not self._directory.path.is_dir():
                self._directory.close()
                self._directory = None
            if self._directory is None:
                self._directory = OwnDirectory("hermes-sandbox-")
            return self._directory.path

    def variables(self, level: Level) -> Mapping[str, str]:
        """What tells programs of it.

        Raises:
            OSError: it cannot be made.
        """
        path = str(self.path())
        # The person's own directory for run-time files is full of sockets and sign-ins.
        found = {"XDG_RUNTIME_DIR": path}
        return found | {"TMPDIR": path} if level == "read-only" else found

    def close(self) -> None:
        """Remove it with all that is in it; there is none any more."""
        with self._lock:
            self._is_closed = True
            if self._directory is not None:
                self._directory.close()
            self._directory = None
