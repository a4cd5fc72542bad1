"""Secrets: in files and in the environment."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation
from tools.approval.commands.classes import Finding
from tools.approval.commands.dangers.scene import (
    Scene,
    full_path,
    has_glob,
    is_below,
    is_home,
    is_own,
    listed,
    shown,
    sort_words,
    texts,
)
from tools.approval.commands.harmless_forms import looks_for_secrets
from tools.approval.sensitive import why_sensitive

# Reading secrets: keys, credentials, other processes' memory, and variables.

# They show that a path is there, its name or its size; or their arguments are only words.
_NO_CONTENT = frozenset(
    listed("""
    ls ll dir vdir eza exa stat file test [ [[ echo printf which type basename dirname realpath readlink mkdir touch
    chmod chown chgrp rm rmdir unlink shred cd pushd popd export unset set tree du true false : expr seq sleep mv fd
    fdfind trap alias declare local readonly wc md5sum sha1sum sha256sum man command hash date kill docker-compose
    gio say notify-send mktemp case for
""")
)
_PATTERN_FIRST: Mapping[str, tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "ggrep"), ("efmABCd", ("-e", "-f", "--regexp", "--file"))),
    **dict.fromkeys(("rg", "ripgrep", "ugrep"), ("efgmtTABCjr", ("-e", "-f", "--regexp", "--files"))),
    **dict.fromkeys(("ag", "ack"), ("efmtTABCjr", ("-e", "-f", "--regexp", "--files"))),
    **dict.fromkeys(("sed", "gsed"), ("efl", ("-e", "-f", "--expression", "--file"))),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), ("Fvf", ("-f", "--file"))),
    **dict.fromkeys(("jq", "yq", "gojq"), ("fL", ("-f", "--from-file"))),
    **dict.fromkeys(("perl", "ruby"), ("eEI", ("-e", "-E"))),
}
# Which files a search looks into, and which not.
_CHOOSING, _LEAVING_OUT = ("--include", "--glob", "--iglob"), ("--exclude", "--exclude-dir")
_TEXT_OPTIONS = frozenset({"-m", "--message", "-S", "-G", "--grep", "--author", "--title", "--body", "--notes", "-k"})
_OPENSSL_PUBLIC = frozenset({"x509", "crl", "verify", "s_client", "ocsp", "pkcs7", "version", "ciphers"})
_GIT_SILENT = frozenset(listed("check-ignore ls-files status rm update-index check-attr commit tag mv"))
_LOADERS = frozenset({"source", "."})
_ENV_FILES = re.compile(
    r"--?(?:var-file|env-file|env-file-if-exists|dotenv|cacert|ca-certificate|cert-file|exclude|ignore|include|glob)(?:=|$)"
)
# What shows another process, and what root has at home; the rest of the secret places are those of `sensitive`.
_SYSTEM = re.compile(
    r"/proc/(?!self/(?:fd|status|limits|stat|mounts|cgroup)\b)[^/]+/(?:task/[^/]+/)?(?:environ|mem|maps|fd|cmdline|auxv"
    r"|pagemap|root|cwd|stack|syscall)|/root/\.",
    re.IGNORECASE,
)
_PERSONAL = re.compile(
    r"(?:^|/)(?:\.history|Library/Application Support/(?:Google|Firefox|BraveSoftware))(?:/|$)", re.IGNORECASE
)
_PARENTS = re.compile(r"(?:\.\./)+((?:etc|proc|root|run|dev|var)/.*)")
_TELLING_FAR = re.compile(
    r"wallet|passw|passphrase|credential|keychain|keystore|private.?key|secret|mnemonic", re.IGNORECASE
)
_SHOW_FILES = frozenset({"cat", "head", "tail", "less", "cp", "base64", "xxd", "bat"})
_ALWAYS_NAMED = re.compile(r"credentials|kubeconfig", re.IGNORECASE)  # the whole name of a file that they show
_ADDRESS = re.compile(r"(?:https?|git|ftp|wss?)://")
_PLAIN_GIT = re.compile(r"(?:^|/)\.git(?:/(?!(?:.*/)?(?:config|credentials)).*)?$", re.DOTALL)
_STARS = re.compile(r"^\*+|\*+$")
_PROC_DEPTH = 3  # /proc/*/environ
_LURES = listed("""
    .ssh .env .aws .gnupg .netrc .kube .hermes .git-credentials .npmrc .pypirc .pgpass id_rsa id_ed25519
    .vault-token .docker .azure .bash_history .config .password-store
""")
_SYSTEM_LURES = ("etc", "proc", "root", "home", "shadow", "environ")
_WHOLE = re.compile(r"(?:cp|tar|zip|7z|rsync|scp|rclone|grep|rg|git|restic|borg|strings|ditto)\Z")


def judge_credentials(call: Invocation, scene: Scene) -> Iterator[Finding]:
    """What secret things `call` reads."""
    for why in dict.fromkeys(_why_secret(argument, call, scene) for argument in _read(call)):
        if why:
            yield Finding("dangerous", "credentials", why)


def secrets_given(call: Invocation) -> tuple[str, ...]:
    """The files of credentials among the words of `call`, whatever it does with them; a wildcard names none."""
    words = (*(redirection.target for redirection in call.redirections), *call.arguments)
    paths = (full_path(text, call.cwd) for word in words for text in _candidates(word.text))
    known = (path for path in paths if UNKNOWN not in path and "\0" not in path)
    return tuple(dict.fromkeys(path for path in known if why_sensitive(Path(path))))


def _read(call: Invocation) -> Iterator[Argument]:
    """The arguments of which the content may be shown."""
    for redirection in call.redirections:
        if redirection.operator in {"<", "<>"}:
            yield redirection.target
    if call.program in _NO_CONTENT or call.program in {"find", "gfind"}:
        return
    if call.program == "git":
        yield from _git_operands(call)
        return
    if call.program == "openssl" and call.arguments and call.arguments[0].text in _OPENSSL_PUBLIC:
        return
    if (found := _PATTERN_FIRST.get(call.program)) is not None:
        letters, scripts = found
        words = sort_words(call.arguments, letters, (*scripts, *_CHOOSING, *_LEAVING_OUT))
        yield from words.operands if words.has(*scripts) else words.operands[1:]
        yield from (one for one in words.values("-f", "--file", "-g", *_CHOOSING) if not one.text.startswith("!"))
        return
    rest = iter(call.arguments)
    for argument in rest:
        yield argument
        is_before_text = argument.text in _TEXT_OPTIONS or _ENV_FILES.match(argument.text)
        if is_before_text and "=" not in argument.text:
            next(rest, None)


def _git_operands(call: Invocation) -> Iterator[Argument]:
    words = sort_words(call.arguments, "CcmSGkFX", tuple(_TEXT_OPTIONS))
    if _GIT_SILENT.intersection(words.plain[:1]):
        yield from words.values("-F")
        return
    skip = 2 if words.plain[:1] == ("grep",) else 1
    yield from words.operands[skip:]


def _why_secret(argument: Argument, call: Invocation, scene: Scene) -> str:
    for text in _candidates(argument.text):
        if why := _secret(Argument(text, argument.expands), call, scene):
            return why
    return ""


def _candidates(text: str) -> Iterator[str]:
    """The paths that may be inside an argument: `--file=x`, `@x`, `name=@x`, `host:x`, `x:/y`, `if=x`."""
    if _ADDRESS.match(text) or _ENV_FILES.match(text):
        return
    if glued := re.match(r"-[A-Za-z]([~./].*)", text):
        yield glued[1]
    if not text.startswith("-"):
        yield from (text, text.partition(":")[0])
    yield from re.split(r"[=:,;]@?|@", text)[1:]


def _secret(argument: Argument, call: Invocation, scene: Scene) -> str:
    text = argument.text
    if not re.search(r"[./~]|^id_", text) and not (call.program in _SHOW_FILES and _ALWAYS_NAMED.fullmatch(text)):
        return ""
    path = full_path(text, call.cwd)
    if not scene.is_placed and (above := _PARENTS.fullmatch(text)):
        path = f"/{above[1]}"
    if _SYSTEM.match(path):
        is_process = path.startswith("/proc")
        return "shows the environments of processes" if is_process else f"reads {shown(path)}, which is secret"
    if is_own(path, scene):
        return "touches this agent's own settings or sessions"
    if _PERSONAL.search(path):
        return f"reads {shown(path)}, which may hold credentials"
    if _PLAIN_GIT.search(path) or _is_project_docker(path, scene):
        return ""
    if why := why_sensitive(Path(path)):
        if call.program in _LOADERS and any(is_below(path, root) for root in scene.roots):
            return ""  # shows nothing of it; whether commands may read it is asked once a project
        return f"reads {shown(path)}, which {why}"
    if _WHOLE.match(call.program) and (path == "/" or is_home(path, scene)):
        return "reads a whole home directory, with the keys in it"
    return "hides a name behind wildcards" if has_glob(argument) and _may_match(path, scene) else ""


def _is_project_docker(path: str, scene: Scene) -> bool:
    return "/.docker/" in path and not path.startswith(f"{scene.home}/.docker") and not path.endswith("config.json")


def _may_match(path: str, scene: Scene) -> bool:
    """Whether names that the shell makes of `path` may be secret ones."""
    parts = path.split("/")
    is_inside = any(is_below(path, root) for root in scene.roots)
    if path.startswith("/") and re.search(r"[*?\[]", parts[1]) and not is_inside:
        return True
    for place, part in enumerate(parts):
        if not re.search(r"[*?\[]", part) or set(part) == {"*"}:
            continue
        # A glob does not find hidden names but by their dot.
        lures = [lure for lure in _LURES if fnmatch.fnmatchcase(lure, part)]
        if any(part[0] == "." if lure[0] == "." else not is_inside for lure in lures):
            return True
        is_system = place <= _PROC_DEPTH and parts[1:2] in (["etc"], ["proc"])
        if is_system and any(fnmatch.fnmatchcase(lure, part) for lure in _SYSTEM_LURES):
            return True
    return False


def names_secrets(call: Invocation, scene: Scene) -> str:
    """What secret things the arguments of a finder name, whether or not it shows them; '' for none."""
    is_far = any(_is_far(one, call, scene) for one in call.arguments)
    for one in (*call.arguments, *_extensions(call)):
        if is_far and _TELLING_FAR.search(one.text):
            return f"looks for {shown(one.text)}, which fits names of secrets"
        if looks_for_secrets(one.text.rpartition("/")[2]):
            return f"looks for {shown(one.text)}, which fits names of secrets"
        if why := _why_secret(one, call, scene) or _why_secret(Argument(_STARS.sub("", one.text)), call, scene):
            return why
    return ""


def _extensions(call: Invocation) -> Iterator[Argument]:
    """The names that `fd -e EXTENSION` looks for."""
    if call.program in {"fd", "fdfind"}:
        words = sort_words(call.arguments, "e", ("--extension",))
        yield from (Argument(f"*.{one.text}") for one in words.values("-e", "--extension"))


def _is_far(argument: Argument, call: Invocation, scene: Scene) -> bool:
    """Whether a finder looks outside of the session's directories."""
    if not re.match(r"[/~]|\.\.(?:/|$)", argument.text):
        return False
    path = full_path(argument.text, call.cwd)
    return not any(is_below(path, root) for root in scene.roots)


PROGRAMS_WITHOUT_CONTENT = _NO_CONTENT


# The variables of the environment, which may hold secrets: who shows them.

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:\w*KEY|\w*TOKEN|\w*SECRET\w*|\w*PASS(?:WORD|WD)?|\w*CREDENTIALS?|AUTH|PAT|DSN)(?:_|$)", re.IGNORECASE
)
_PRINTS_NO_OTHERS = frozenset({"-i", "-i0", "-0i", "--ignore-environment", "--help", "--version"})
# Options of a search that adds no line to those with the pattern.
_SHOWS_NO_OTHERS = re.compile(
    r"-[iEFPGwxoncqsem]|--(?:regexp|max-count|ignore-case|extended-regexp|colou?r\S*|count|quiet)"
)
_NAMES = re.compile(r"\^?(?:\\?\()?\^?[A-Za-z\d-]{3,}=?(?:\\?\|\^?[A-Za-z\d-]{3,}=?)*(?:\\?\))?=?")
_TELLING_PATTERN = re.compile(r"key|tok|sec|pass|pwd|cred|auth|api|priv|dsn|url|aws", re.IGNORECASE)


def is_about_environment(call: Invocation) -> bool:
    """Whether `call` prints every variable of the environment."""
    given = texts(call.arguments)
    match call.program:
        case "env":  # a command behind it would be read in its place
            return _PRINTS_NO_OTHERS.isdisjoint(given)
        case "printenv":
            return all(text in {"-0", "--null"} for text in given)
        case "set":
            return not given
        case "export" | "declare" | "typeset" | "readonly":
            return all(re.fullmatch(r"-[px]+", text) for text in given)
        case "compgen":
            return not {"-v", "-e"}.isdisjoint(given)
        case "ps":
            return _shows_environments(given)
        case _:
            return False


def looks_for_harmless_names(call: Invocation) -> bool:
    """Whether `call` lets only few, harmless variables through: `env | grep PATH`."""
    if call.program not in {"grep", "egrep", "rg"}:
        return False
    words = sort_words(call.arguments, "em", ("--max-count",))
    patterns = (*words.values("-e", "--regexp"), *words.operands)
    return (
        len(patterns) == 1
        and all(_SHOWS_NO_OTHERS.fullmatch(name) for name, _ in words.options)
        and patterns[0].is_known
        and _NAMES.fullmatch(patterns[0].text) is not None
        and not _TELLING_PATTERN.search(patterns[0].text)
    )


def judge_environment(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """Which variables of the environment `call` shows."""
    if call.program == "ps" and is_about_environment(call):
        yield Finding("dangerous", "credentials", "shows the environments of processes")
    elif is_about_environment(call):
        yield Finding(
            "dangerous", "credentials", "shows the variables of the environment, with what is secret in them"
        )
    elif _prints_variables(call) and any(_SECRET_NAME.search(text) for text in texts(call.arguments)):
        yield Finding("dangerous", "credentials", "shows a secret of the environment")


def _prints_variables(call: Invocation) -> bool:
    return call.program == "printenv" or (
        call.program in {"declare", "typeset"} and any(re.match(r"-\w*p", text) for text in texts(call.arguments))
    )


def _shows_environments(given: tuple[str, ...]) -> bool:
    """Whether a `ps` is given the letter for that: `ps aux` and `ps -e`, but `ps auxe`, or `ps -E` on a Mac."""
    rest = iter(given)
    for text in rest:
        letters = re.split(r"[oOpUtqk]", text)[0]  # behind these follows what they are given
        if "E" in letters or ("e" in letters and not text.startswith("-")):
            return True
        if re.fullmatch(r"-\w*[oOpCuUgGtsqk]|[a-zA-Z]*[opOUtqk]", text):
            next(rest, None)
    return False
