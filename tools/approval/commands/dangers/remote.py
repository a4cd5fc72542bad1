"""What is done to services: by their own programs, by requests, by clients of databases."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping

from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation
from tools.approval.commands.classes import Finding
from tools.approval.commands.dangers.scene import Scene, Words, shown, sort_words, texts

# The verbs of clients, and the programs whose words mean something else.

DESTRUCTIVE = frozenset({
    "delete", "del", "destroy", "purge", "terminate", "unregister", "deregister", "prune", "remove", "rm",
    "rmi", "rb", "wipe", "drop", "deprovision", "teardown", "nuke", "erase", "flushall", "flushdb",
    "truncate", "revoke", "drain", "evict", "kill", "undeploy", "decommission", "obliterate", "uninstall",
    "expunge", "unpublish", "undefine", "zap", "dropdb", "mdelete", "trash", "shred", "removeall",
    "deleteall", "dropall", "unprovision", "rmr", "deletetopic", "rmdir", "removebucket", "dereg", "delall",
})  # fmt: skip
"""They take away, whoever says them."""
NOUNS = frozenset({"deletion", "removal", "termination", "destruction", "deregistration"})
ENDING = frozenset({
    "stop", "restart", "reset", "flush", "cancel", "disable", "down", "shutdown", "poweroff", "reboot",
    "detach", "empty", "clear", "suspend", "rollback", "failover", "expire", "unset", "forget", "leave",
    "retire", "deactivate", "abort", "dispose", "vacate", "unlink", "downgrade", "pause", "hibernate", "halt",
    "quarantine", "sunset", "hard-reset", "power-off", "deallocate", "seal", "gc", "rekey", "deny", "cleanup",
})  # fmt: skip
"""They end or take away, where a client of infrastructure says them."""
REVERTING = frozenset(
    {
        "reset",
        "revert",
        "undo",
        "gc",
        "cancel",
        "disable",
        "shutdown",
        "poweroff",
        "rollback",
        "deactivate",
        "cleanup",
        "leave",
        "retire",
        "failover",
        "seal",
        "deny",
    }
)
"""They end or take back, where a program says them that nobody here knows."""
READING = frozenset({
    "get", "list", "ls", "describe", "show", "view", "status", "logs", "log", "inspect", "search", "help",
    "plan", "diff", "find", "read", "export", "history", "version", "info", "cat", "head", "explain", "top",
    "check", "validate", "lint", "test", "query", "lookup", "print", "dump", "whoami", "preview", "wait",
    "scan", "count", "stat", "stats", "select", "who", "tail", "monitor", "doctor", "fmt", "template",
    "outdated", "audit", "why", "completion", "docs", "size", "ping", "health", "estimate", "watch", "verify",
    "access", "reveal", "decrypt", "fetch", "open", "browse", "graph", "tree", "batch-get", "simulate",
    "compare", "serve", "dev", "build", "grep", "filter", "blame", "download", "pull",
})  # fmt: skip
CHANGING = frozenset({
    "create", "change", "maintenance", "apply", "update", "put", "modify", "run", "start", "set", "patch",
    "edit", "replace", "scale", "execute", "deploy", "upgrade", "install", "add", "attach", "enable",
    "import", "taint", "untaint", "annotate", "label", "rollout", "expose", "cordon", "uncordon", "exec",
    "cp", "sync", "mv", "move", "rename", "copy", "up", "refresh", "promote", "register", "associate",
    "disassociate", "tag", "untag", "invoke", "publish", "send", "upload", "write", "grant", "bind", "unbind",
    "configure", "autoscale", "debug", "resize", "transfer", "merge", "close", "comment", "review", "archive",
    "invite", "rotate", "share", "apply-rules", "push", "submit", "trigger", "dispatch", "unlock",
    "force-unlock", "authorize", "approve", "secret", "ssh", "seek", "certificate", "reopen", "ready",
    "rerun", "fork", "sign", "lock", "pin", "unpin", "proxy", "port-forward",
})  # fmt: skip
SECRETIVE = frozenset({
    "secret", "secrets", "password", "passwords", "credential", "credentials", "token", "tokens", "keychain",
    "vault", "kv", "passphrase", "apikey", "keys", "secretsmanager", "pass", "secretmanager",
})  # fmt: skip

CLOUD: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        (
            "aws", "gcloud", "az", "gsutil", "bq", "doctl", "linode-cli", "hcloud", "oci", "ibmcloud",
            "aliyun", "scw", "exo", "openstack", "vultr-cli", "civo", "flyctl", "fly", "heroku", "vercel",
            "netlify", "wrangler", "firebase", "supabase", "railway", "render", "s3cmd", "mc", "rclone",
            "azcopy", "eksctl", "kops", "rosa", "glab", "confluent", "stripe", "twilio", "pscale", "neonctl",
            "turso", "atlas", "mongocli", "tkn", "argo", "argocd", "flux", "linkerd", "vault", "consul",
            "boundary", "etcdctl", "istioctl", "velero", "serverless", "sls", "sam", "cdk", "amplify", "eb",
            "ecs-cli", "chalice", "zappa", "up", "cf", "gh",
        ),
        frozenset({
            "login", "auth", "configure", "init", "synth", "bootstrap-check", "local", "pr", "local-dev",
            "emulators:start",
        }),
    ),
    **dict.fromkeys(
        ("terraform", "tofu", "terragrunt", "terraform-docs", "packer", "pulumi", "cdktf"),
        frozenset({"init", "providers", "output", "console", "format", "stack", "metadata", "login"}),
    ),
    **dict.fromkeys(
        (
            "kubectl", "oc", "helm", "k3s", "microk8s", "kustomize", "helmfile", "minikube", "kind", "k3d",
            "nomad", "kubeadm", "k9s",
        ),
        frozenset({
            "config", "cluster-info", "api-resources", "api-versions", "auth", "can-i", "kustomize", "repo",
            "dependency", "use-context", "env", "port-forward", "package", "status", "profile", "completion",
        }),
    ),
    **dict.fromkeys(
        (
            "ansible-playbook", "ansible", "chef-client", "puppet", "salt", "knife", "cap", "fab", "kamal",
            "nixops",
        ),
        frozenset({""}),
    ),
}  # fmt: skip
"""Clients of infrastructure, each with the words that only look beyond those of `READING`."""

OWN_JUDGES = frozenset({
    "git", "rsync", "docker", "podman", "nerdctl", "docker-compose", "podman-compose", "systemctl", "service",
    "launchctl", "supervisorctl", "apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "pacman", "brew",
    "apk", "dpkg", "rpm", "snap", "flatpak", "hg", "svn", "jj", "crontab", "tmux", "screen", "rc-service",
    "rc-update", "loginctl", "nmcli", "ip", "iptables", "ufw", "find", "mount", "umount", "psql", "mysql",
    "mariadb", "sqlite3", "sqlite", "redis-cli", "mongosh", "mongo", "curl", "wget", "http", "https", "xh",
    "journalctl", "kill", "pkill", "killall", "shutdown", "reboot", "hermes", "hermes-acp", "gio", "trash",
    "useradd", "passwd", "port", "nix-env",
})  # fmt: skip
"""Programs that another family knows by themselves."""

LOCAL = frozenset({
    # words are data, patterns, names or files
    "echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "mawk", "jq", "yq", "cat",
    "head", "tail", "less",
    "more", "ls", "cd", "pwd", "mkdir", "touch", "cp", "mv", "rm", "rmdir", "ln", "chmod", "chown", "test", "[",
    "[[", "sort", "uniq", "wc",
    "cut", "tr", "diff", "cmp", "comm", "tee", "xargs", "fd", "fdfind", "tree", "stat", "file", "du", "df",
    "which", "type", "whereis",
    "man", "info", "export", "set", "unset", "read", "local", "declare", "readonly", "return", "exit", "true",
    "false", ":", "source", ".",
    "eval", "exec", "trap", "wait", "sleep", "seq", "date", "env", "printenv", "expr", "let", "shift", "getopts",
    "alias", "unalias",
    "hash", "history", "fc", "jobs", "bg", "fg", "ulimit", "umask", "times", "builtin", "command", "case", "for",
    "while", "if", "function",
    "say", "notify-send", "figlet", "cowsay", "toilet", "banner", "espeak", "logger", "wall", "write", "mail",
    "basename", "dirname",
    "realpath", "readlink", "bat", "nl", "fold", "fmt", "column", "paste", "join", "split", "rev", "tac", "od",
    "xxd", "hexdump", "strings",
    "base64", "md5sum", "sha1sum", "sha256sum", "openssl", "gpg", "tar", "zip", "unzip", "gzip", "gunzip", "xz",
    "zstd", "7z", "patch",
    "compgen", "complete", "bind", "shopt", "enable", "dirs", "pushd", "popd", "ps", "top", "htop", "free",
    "uptime", "whoami", "id",
    "pgrep", "pidof", "pstree", "pwdx", "lslocks",
    "groups", "hostname", "uname", "locale", "tty", "stty", "tput", "clear", "reset", "dd", "cal", "bc", "dc",
    "factor", "yes", "look",
    "locate", "mdfind", "open", "xdg-open", "pbcopy", "pbpaste", "xclip", "install", "shuf", "truncate", "tsort",
    "unlink", "apropos",
    "mktemp", "nproc", "lscpu", "lsblk", "lsof", "netstat", "ss", "dig", "nslookup", "host", "ping", "traceroute",
    "whois", "mapfile",
    "readarray", "typeset", "apt-cache", "dpkg-query", "time", "timeout", "nice", "nohup", "stdbuf", "watch",
    # interpreters, compilers, builders and runners: their words are the project's own
    "python", "python3", "python2", "pypy", "pypy3", "ipython", "node", "deno", "bun", "ruby", "perl", "php",
    "lua", "bash", "sh", "zsh",
    "dash", "ksh", "fish", "make", "gmake", "cmake", "ninja", "meson", "bazel", "buck", "just", "task", "rake",
    "gradle", "gradlew", "mvn",
    "mvnw", "ant", "sbt", "lein", "scons", "waf", "pytest", "tox", "nox", "jest", "vitest", "mocha", "karma",
    "cypress", "playwright",
    "rspec", "phpunit", "go", "cargo", "rustc", "rustup", "gcc", "g++", "cc", "clang", "javac", "java", "kotlinc",
    "scala", "swift",
    "swiftc", "dotnet", "msbuild", "ghc", "stack", "cabal", "elixir", "mix", "iex", "erl", "rebar3", "zig", "nim",
    "crystal", "dart",
    "flutter", "tsc", "ts-node", "tsx", "esbuild", "vite", "webpack", "rollup", "parcel", "turbo", "nx", "lerna",
    "next", "nuxt", "eslint",
    "prettier", "biome", "stylelint", "ruff", "black", "isort", "mypy", "pyright", "pylint", "flake8",
    "pre-commit", "gofmt", "golangci-lint",
    "clippy-driver", "rustfmt", "clang-format", "shellcheck", "shfmt", "hadolint", "markdownlint", "vale",
    "coverage", "nosetests",
    "unittest", "hyperfine", "perf", "gdb", "lldb", "valgrind", "strace", "ltrace", "pandoc", "pdflatex",
    "latexmk", "sphinx-build",
    "mkdocs", "jekyll", "hugo", "gatsby", "ffmpeg", "convert", "magick", "protoc", "flex", "bison", "autoconf",
    "automake", "libtool",
    "pkg-config", "ccache", "sccache", "ctags", "cscope", "cloc", "tokei", "scc", "entr", "nodemon",
    "concurrently", "foreman",
    # packages of the project
    "npm", "npx", "pnpm", "pnpx", "yarn", "bunx", "pip", "pip3", "pipx", "pipenv", "poetry", "uv", "uvx", "pdm",
    "rye", "hatch", "conda",
    "mamba", "micromamba", "gem", "bundle", "bundler", "composer", "nuget", "cocoapods", "pod", "carthage", "nvm",
    "fnm", "volta", "pyenv",
    "rbenv", "asdf", "mise", "rtx", "sdk", "goenv", "direnv", "virtualenv", "venv", "corepack", "n", "vcpkg",
    "conan", "luarocks", "opam",
    "cpan", "cpanm", "easy_install", "pip-compile", "pip-sync", "pixi", "nix", "devbox", "rustup-init",
})  # fmt: skip
"""Programs whose words are no verbs over something elsewhere."""

TASK_RUNNERS = frozenset({
    "rails", "rake", "artisan", "manage.py", "console", "prisma", "alembic", "sequelize", "sequelize-cli",
    "typeorm", "knex", "mix", "flyway", "liquibase", "diesel", "sqlx", "drizzle-kit", "dbmate", "goose",
    "migrate", "flask", "django-admin", "doctrine", "phinx", "php", "mikro-orm", "hasura", "strapi",
    "bin/rails", "yii", "spark", "dbt", "ecto", "supabase", "db-migrate", "sqitch", "wp", "airflow",
    "superset", "ef", "drush", "craft", "bin/console", "kit",
})  # fmt: skip
PROJECT_TASKS = re.compile(
    r"(?:\w+:)*(?:db|database|schema|migrate|migrations?)[:.](?:\w+[:.])*(?:drop|reset|wipe|fresh|purge"
    r"|truncate\S*|drop_all|rollback:all|clean|nuke)(?::\S+)?|(?:doctrine:)?(?:schema|database):drop"
    r"|ecto\.(?:drop|reset)|flush|reset_db|sqlflush|reset_schema|drop|drop-all|dropall|clean|reset|down-to"
    r"|wipe|truncate|drop_db|dropdb|clear_cache_and_db|schema:drop|db:seed:replant|db:schema:load"
    r"|migrate:(?:fresh|reset|refresh|rollback|down)|db:rollback|db:truncate_all|purge|base|destroy|clear"
    r"|downgrade|revert|redo|undo|rollback|(?:\w+:)*migrat\w+:(?:undo|revert|down)(?::\w+)?",
    re.IGNORECASE,
)


# Destruction told by the verb rather than by the tool: `anything apps destroy x`.

_MAX_WORDS = 6
_INTERPRETERS = frozenset({"dotnet", "python", "python3", "php", "node", "bundle", "ruby", "tsx", "ts-node"})
# A file that is made is named after what it will do.
_MAKES_TEXTS = re.compile(r"generate|g|new|revision|scaffold|make:\S+|\w+:(?:generate|create|make|new)")
_MODULES_THAT_RUN = frozenset({"shell", "command", "raw", "script", "-a", "reboot", "file", "service"})
_PLAYERS = frozenset({"ansible-playbook", "salt", "puppet", "chef-client", "knife", "cap", "kamal"})
_ONLY_CHECKS = frozenset({"--check", "--list-tasks", "--list-hosts", "--syntax-check", "-C"})
_DEPLOYERS = frozenset({"vercel", "netlify", "eas", "now"})
_QUALIFIERS = frozenset({"batch", "bulk", "admin", "force", "async", "mass", "multi"})
_SERVICES_FIRST = frozenset(
    {"aws", "gcloud", "az", "oci", "aliyun", "ibmcloud", "openstack", "doctl", "gsutil", "awslocal"}
)
_MACHINES = frozenset({"compute", "machine", "machines", "instance", "vm", "console", "node", "server", "box", "env"})
_NAMED_SO = re.compile(r"(?:flush|destroy|purge|nuke|wipe)$")
_PIECES = re.compile(r"[-_:./]+|(?<=[a-z])(?=[A-Z])")
_FILE = re.compile(r".*\.[A-Za-z][A-Za-z0-9]{0,4}|.*/.*|.*=.*|https?:.*", re.DOTALL)
_ONLY_TELLS = re.compile(r"--help|-h|--version|--dry-?run(?:=(?!false|none).*)?|--dryrun|--what-if|--check-only")
_FLAGS = re.compile(
    r"--(?:delete|destroy|purge|prune|wipe|drop|force-reset|force-delete|delete-all|remove-all|erase"
    r"|terminate|nuke|flush|allow-destructive\S*|delete-\S+|purge-\S+|destroy-\S+)(?:=true)?"
)


def judge_verbs(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """Whether `call` takes away, stops or shows something by its verb."""
    program = call.program.casefold().removesuffix(".exe")
    if not program:
        return
    given = texts(call.arguments)
    if any(_ONLY_TELLS.fullmatch(text) for text in given) or "can-i" in given:
        return
    words = _words(call)
    if words and program in _INTERPRETERS and (runner := words[0].rpartition("/")[2]) in TASK_RUNNERS:
        program, words = runner, words[1:]
    if words and program in TASK_RUNNERS and _MAKES_TEXTS.fullmatch(words[0]):
        return
    if program in TASK_RUNNERS:
        yield from _tasks(program, words, given)
    if program in LOCAL or program in OWN_JUDGES:
        return
    yield from _elsewhere(program, words, given)


def _elsewhere(program: str, words: tuple[str, ...], given: tuple[str, ...]) -> Iterator[Finding]:
    """What the words of a client do elsewhere."""
    if program in _PLAYERS:
        if _ONLY_CHECKS.isdisjoint(given):
            yield Finding("dangerous", "infrastructure", "runs commands on other machines", outside=True)
    elif (
        (program == "ansible" and not _MODULES_THAT_RUN.isdisjoint(given))
        or (program in {"bolt", "mco"} and words[1:2] == ("run",))
        or program in {"pyinfra", "rex"}
    ):
        yield Finding("dangerous", "infrastructure", "runs commands on other machines", outside=True)
    elif words[:1] == ("ssh",) or (words[1:2] == ("ssh",) and words[0] in _MACHINES):
        yield Finding("dangerous", "exfiltration", "reaches another machine", outside=True)
    elif (found := _by_verb(program, words, given)) is not None:
        yield found
    elif program in _DEPLOYERS and not {"--prod", "--production"}.isdisjoint(given):
        yield Finding("dangerous", "publishing", "deploys to production", outside=True)
    elif program in CLOUD and words and words[0].startswith(UNKNOWN):
        yield Finding("dangerous", "hidden", f"runs a command of {program} whose name is hidden", outside=True)
    elif program in CLOUD and program not in {"gh", "glab"}:
        yield from _in_cloud(program, words, given)
    elif any(_FLAGS.fullmatch(text) for text in given):
        yield Finding("dangerous", "infrastructure", f"deletes something through {shown(program)}", outside=True)


def _words(call: Invocation) -> tuple[str, ...]:
    """The first words that are no options, in order, values of options among them."""
    found = (text for text in texts(call.arguments) if text and not text.startswith("-"))
    return tuple(itertools.islice(found, _MAX_WORDS))


def _pieces(word: str) -> list[str]:
    return [piece.casefold() for piece in _PIECES.split(word) if piece]


def _by_verb(program: str, words: tuple[str, ...], given: tuple[str, ...]) -> Finding | None:
    own = _pieces(re.sub(r"\.(?:sh|py|pl|rb)$", "", program))
    if (len(own) > 1 and own[-1] in DESTRUCTIVE) or _NAMED_SO.search(program):
        return _takes_away(program)
    taking = DESTRUCTIVE | ENDING if program in CLOUD else DESTRUCTIVE | REVERTING
    for place, word in enumerate(words):
        if _FILE.fullmatch(word) or UNKNOWN in word:
            continue
        pieces = _unqualified(_pieces(word))
        if not pieces:
            continue
        if pieces[0] in READING and not any(piece in taking for piece in pieces[1:2]):
            if _is_noun(program, word, given):
                continue
            return (
                _shows(program, words) if any(piece in SECRETIVE for one in words for piece in _pieces(one)) else None
            )
        if pieces[0] in taking or _takes(pieces, word, program):
            return _takes_away(program)
        if pieces[0] in CHANGING and program not in CLOUD and place > 0:
            return None
    return None


def _unqualified(pieces: list[str]) -> list[str]:
    return pieces if _QUALIFIERS.isdisjoint(pieces[:1]) else pieces[1:]


def _is_noun(program: str, word: str, given: tuple[str, ...]) -> bool:
    """Whether a word that may mean looking is what the next one takes away: `aws logs delete-log-group`."""
    if program not in CLOUD or len(_pieces(word)) > 1 or word == "help":
        return False
    after = next((second for first, second in itertools.pairwise(given) if first == word), "")
    is_service = program in _SERVICES_FIRST and bool(_pieces(after)) and _pieces(after)[0] in DESTRUCTIVE
    return after in DESTRUCTIVE or is_service


def _takes(pieces: list[str], word: str, program: str) -> bool:
    """Whether a word of several pieces says what it does elsewhere: `apps:destroy`, `batch-delete-image`."""
    if program in CLOUD:
        return pieces[-1] in ENDING or any(piece in DESTRUCTIVE or piece in NOUNS for piece in pieces)
    return pieces[-1] in DESTRUCTIVE and ":" in word


def _takes_away(program: str) -> Finding:
    return Finding("dangerous", "infrastructure", f"deletes or ends something through {shown(program)}", outside=True)


def _shows(program: str, words: tuple[str, ...]) -> Finding | None:
    if words[:1] == ("search",):
        return None
    return Finding("dangerous", "credentials", f"shows secrets through {shown(program)}", outside=True)


def _in_cloud(program: str, words: tuple[str, ...], given: tuple[str, ...]) -> Iterator[Finding]:
    reads = CLOUD[program]
    if (program == "aws" and words[:2] in (("s3", "cp"), ("s3", "sync"), ("s3", "mv"))) or (
        program == "gsutil" and words[:1] in (("cp",), ("rsync",), ("mv",))
    ):
        yield Finding("dangerous", "exfiltration", "copies files to or from elsewhere", outside=True)
        return
    if not words or words[:2] in (("rollout", "status"), ("rollout", "history")):
        return
    if words[:2] in (("configure", "set"), ("config", "set")):
        yield Finding("dangerous", "persistence", f"changes the settings of {program}", outside=True)
        return
    for word in words:
        pieces = _unqualified(_pieces(word))
        changes = bool(pieces) and (
            pieces[0] in CHANGING or word in CHANGING or (":" in word and any(one in CHANGING for one in pieces))
        )
        builds = (program, word) == ("packer", "build")
        if (word in reads or (pieces and not changes and pieces[0] in READING)) and not builds:
            return
        if changes or builds:
            yield Finding("dangerous", "infrastructure", f"changes something through {shown(program)}", outside=True)
            return
    if "--auto-approve" in given or "-auto-approve" in given:
        yield Finding("dangerous", "infrastructure", f"changes something through {shown(program)}", outside=True)


def _tasks(program: str, words: tuple[str, ...], given: tuple[str, ...]) -> Iterator[Finding]:
    if {"--force-reset", "--accept-data-loss"}.intersection(given) or (
        program == "drizzle-kit" and "push" in words and "--force" in given
    ):
        yield Finding("dangerous", "sql", "deletes what is in the database")
        return
    if any(PROJECT_TASKS.fullmatch(word) for word in words):
        yield Finding("dangerous", "sql", "deletes what is in the database")


# Requests: what they change elsewhere, what they carry out, and other connections.

_CURL_VALUES = (
    "--request", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--data-ascii", "--form",
    "--form-string", "--json", "--upload-file", "--header", "--cookie", "--output", "--user", "--config",
    "--url", "--url-query", "--user-agent", "--referer", "--max-time", "--connect-timeout", "--retry",
    "--write-out", "--proxy", "--cacert", "--cert", "--key", "--dump-header", "--cookie-jar", "--stderr",
    "--trace", "--trace-ascii", "--libcurl", "--output-dir", "--resolve", "--variable", "--proxy-header",
    "--unix-socket", "--abstract-unix-socket", "--etag-save", "--hsts", "--alt-svc", "--mail-from",
    "--mail-rcpt", "--quote", "--range", "--preproxy", "--socks5", "--socks5-hostname", "--socks4",
    "--socks4a", "--proxy-user",
)  # fmt: skip
_CURL_LETTERS = "ADEFHKPQTUXYbcdeHmortuwxyzCh"
_WGET_VALUES = (
    "--post-file", "--post-data", "--body-file", "--body-data", "--method", "--header", "--output-document",
    "--user", "--directory-prefix", "--password", "--execute", "--input-file", "--use-askpass", "--referer",
    "--user-agent",
)  # fmt: skip
_CURLS = frozenset({"curl", "curlie", "curl.exe"})
_WGETS = frozenset({"wget", "wget2", "aria2c"})
_FORGES = frozenset({"gh", "glab"})
_NETCATS = frozenset({"nc", "ncat", "netcat"})
_CLIENTS = frozenset({"http", "https", "xh", "xhs", "httpie"})
_LOOPBACK = re.compile(
    r"(?:https?://)?(?:[^/@]*@)?(?:localhost|127(?:\.\d+){3}|\[::1\]|0\.0\.0\.0"
    r"|[\w-]+\.localhost)(?::[\d￼]+)?(?:[/?#]|$)|:\d+(?:/|$)",
    re.IGNORECASE,
)
_METADATA = re.compile(
    r"(?:https?://)?(?:169\.254\.|metadata\.google|100\.100\.100\.200|\[?fd00:ec2|\[?fe80:)", re.IGNORECASE
)
_DESTROYING_URL = re.compile(
    r"[/_?=&-](?:delete|destroy|drop|purge|shutdown|terminate|remove|wipe|flush|reset|prune|kill)\w*", re.IGNORECASE
)
_CURL_BODIES = (
    "-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--data-ascii", "-F", "--form",
    "--form-string", "--json",
)  # fmt: skip
_CURL_HEADERS = ("-H", "--header", "--proxy-header", "-A", "--user-agent", "-e", "--referer")
_CURL_PROXIES = ("-x", "--proxy", "--preproxy", "--socks5", "--socks5-hostname", "--socks4", "--socks4a")
_SENT_FILE = re.compile(r"[^@:=]*@")
_ENGINE = re.compile(r"docker|containerd|podman")
_HTTPIE_VALUES = (
    "--auth", "--auth-type", "--output", "--timeout", "--session", "--session-read-only", "--raw", "--print",
    "--style", "--pretty", "--proxy", "--verify", "--cert", "--cert-key", "--ssl", "--ciphers",
    "--max-redirects", "--max-headers", "--history-print", "--response-charset", "--response-mime",
    "--format-options", "--boundary", "--default-scheme",
)  # fmt: skip
_METHOD = re.compile(r"[A-Za-z]{3,7}")
_ITEM = re.compile(r"[\w\]]:?=(?!=)|@")
_STREAMED = re.compile(r"(?:^|=|\]|dst=)(?:tcp|udp|rtmps?|rtp|srt|rtsps?|https?|s?ftp|icecast|tls|zmq)://")
_STREAMED_HERE = re.compile(r"://(?:[^/@]*@)?(?:localhost|127\.|\[::1\])")
_STREAMERS = frozenset({"ffmpeg", "avconv", "gst-launch-1.0", "cvlc", "vlc"})
_PART_OF_A_NAME = re.compile(rf"{UNKNOWN}[^\s]*\.|\.[^\s]*{UNKNOWN}")
_REMOTE = re.compile(r"(?!-)(?:[\w.-]+@)?[\w.-]+::?(?!$)|rsync://|[\w.@-]+:$")
_DESTROYING = frozenset({"DELETE", "PURGE", "UNLINK", "BAN"})
_FORGE_VALUES = (
    "--method", "--field", "--raw-field", "--input", "--header", "--repo", "--jq", "--hostname", "--title",
    "--body", "--cache", "--template", "--preview",
)  # fmt: skip
_FORGE_CHANGES = frozenset({
    "create", "delete", "merge", "close", "edit", "comment", "review", "upload", "transfer", "archive",
    "rename", "set", "run", "cancel", "rerun", "reopen", "ready", "lock", "remove", "disable", "enable",
    "add", "sync", "fork", "logout", "login", "refresh", "import", "approve", "revoke", "publish", "stop",
    "rebuild", "unarchive", "pin", "unpin", "develop",
})  # fmt: skip
_DELETION = re.compile(r"delete|remove", re.IGNORECASE)
_MUTATION = re.compile(rf"mutation|=@|^(?:query=)?{UNKNOWN}")
_SENDING = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND"})
_REACHES = frozenset({
    "ssh", "scp", "sftp", "nc", "ncat", "netcat", "telnet", "ftp", "lftp", "tftp", "socat", "ssh-copy-id",
    "mosh", "rlogin", "rsh", "rcp", "sendmail", "mail", "mailx", "mutt", "swaks", "msmtp", "croc", "wormhole",
    "magic-wormhole", "ngrok", "cloudflared", "bore", "localtunnel", "lt", "chisel", "frpc", "tailscale",
    "sshuttle", "autossh", "smbclient", "curlftpfs", "sshfs", "davfs2", "ffsend", "transfer", "gist",
    "pastebinit", "termbin", "ix", "0x0", "s4cmd", "rclone", "gofile", "onionshare", "proxychains",
    "proxychains4", "cryptcat", "pwncat", "udp-sender", "aircrack-ng", "nmap", "masscan", "sqlmap", "hydra",
    "msfconsole", "msfvenom", "responder", "bettercap", "mysqldump-secure", "iodine", "dnscat", "dnscat2",
    "hping3", "nping", "serveo", "pagekite", "expose", "zrok", "syncthing", "rsyncd", "nsupdate",
})  # fmt: skip
_NAME_SERVICES = frozenset({
    "dig", "drill", "delv", "host", "nslookup", "ping", "ping6", "whois", "traceroute", "traceroute6",
    "tracepath", "mtr", "fping", "getent", "resolvectl", "kdig", "doggo", "dog", "arping",
})  # fmt: skip
_SHOWN_ONLY = frozenset({"--version", "-V", "--help", "-h", "-G", "-Q"})


def judge_requests(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """What `call` sends out, and what it has a server do."""
    program = call.program.casefold()
    judge = _JUDGES.get(program)
    if judge is not None:
        yield from judge(call)
    elif _is_to_others(program, call):
        yield _reaches()


def _is_to_others(program: str, call: Invocation) -> bool:
    """Whether another machine is reached, in whatever way."""
    given = texts(call.arguments)
    match program:
        case "rsync":
            return any(_REMOTE.match(text) or text.startswith(("-e", "--rsh")) for text in given)
        case "openssl":
            return given[:1] in (("s_client",), ("s_server",)) and not _is_local(call)
        case _ if program in _NETCATS and _only_knocks(call):
            return False
        case _:
            return program in _REACHES and bool(given) and given[0] not in _SHOWN_ONLY


def _look_up(call: Invocation) -> Iterator[Finding]:
    if any(map(_PART_OF_A_NAME.search, texts(call.arguments))):
        yield _sends()


def _stream(call: Invocation) -> Iterator[Finding]:
    if _streams(call):
        yield _sends()


def _only_knocks(call: Invocation) -> bool:
    """Whether a netcat only looks whether a port of this machine is open."""
    words = sort_words(call.arguments, "wipsX")
    return words.has("-z") and bool(words.plain) and _LOOPBACK.match(words.plain[0]) is not None


def _streams(call: Invocation) -> bool:
    """Whether what is made goes to another machine: an address that is not behind `-i`."""
    given = texts(call.arguments)
    return any(
        _STREAMED.search(text)
        and given[place - 1] != "-i"
        and not _STREAMED_HERE.search(text)
        and (place == len(given) - 1 or "=" in text)
        for place, text in enumerate(given)
    )


def _is_local(call: Invocation) -> bool:
    """Whether the host of `-connect` is this machine."""
    hosts = sort_words(call.arguments, "", ("-connect", "-host", "-proxy")).values("-connect", "-host", "-proxy")
    return bool(hosts) and all(_LOOPBACK.match(host.text) for host in hosts)


def _reaches() -> Finding:
    return Finding("dangerous", "exfiltration", "reaches another machine", outside=True)


def _sends() -> Finding:
    return Finding("dangerous", "exfiltration", "sends data out", outside=True)


def _destroys() -> Finding:
    return Finding("dangerous", "infrastructure", "deletes something through a request", outside=True)


def _curl(call: Invocation) -> Iterator[Finding]:
    words = sort_words(call.arguments, _CURL_LETTERS, _CURL_VALUES)
    urls = (*words.operands, *words.values("--url"))
    if words.values("-K", "--config"):
        yield _sends()
        return
    if any(_ENGINE.search(one.text) for one in words.values("--unix-socket", "--abstract-unix-socket")):
        yield Finding("dangerous", "containers", "talks to the engine that runs all containers", outside=True)
        return
    methods = [value.text.upper() for value in words.values("-X", "--request")]
    bodies = words.values(*_CURL_BODIES)
    if words.has("-G", "--get") and not any("@" in value.text or UNKNOWN in value.text for value in bodies):
        bodies = ()
    sends = bool(bodies or words.values("-T", "--upload-file"))
    yield from _judged(urls, methods, sends=sends, carries=_curl_carries(words))


def _curl_carries(words: Words) -> bool:
    """Whether something goes out beside a body: in a header, a cookie, the query, a mail, or through a proxy."""
    return (
        any(map(_carries, words.values(*_CURL_HEADERS)))
        or any(map(_carries_cookie, words.values("-b", "--cookie")))
        or any(_SENT_FILE.match(value.text) for value in words.values("--url-query", "--variable"))
        or bool(words.values("-Q", "--quote", "--mail-from", "--mail-rcpt"))
        or not all(_LOOPBACK.match(re.sub(r"^socks\w*://", "", one.text)) for one in words.values(*_CURL_PROXIES))
    )


def _wget(call: Invocation) -> Iterator[Finding]:
    words = sort_words(call.arguments, "OoaPUtTiQewlBDRAIX", _WGET_VALUES)
    methods = [value.text.upper() for value in words.values("--method")]
    sends = bool(words.values("--post-file", "--body-file", "--post-data", "--body-data"))
    if words.values("-e", "--execute", "--use-askpass"):
        yield Finding("dangerous", "hidden", "makes wget run other settings")
    carries = any(_carries(value) for value in words.values("--header", "-U", "--user-agent", "--referer"))
    yield from _judged(words.operands, methods, sends=sends, carries=carries)


def _httpie(call: Invocation) -> Iterator[Finding]:
    words = sort_words(call.arguments, "apoAsP", _HTTPIE_VALUES)
    plain = words.plain
    has_method = len(plain) > 1 and _METHOD.fullmatch(plain[0]) is not None
    url, items = (words.operands[1:2], plain[2:]) if has_method else (words.operands[:1], plain[1:])
    sends = words.has("--raw") or call.input.kind != "inherited"
    sends = sends or any(_ITEM.search(item) and "==" not in item for item in items)
    methods = [plain[0].upper()] if has_method else []
    carries = bool(words.values("--proxy")) or any(UNKNOWN in item for item in items)
    yield from _judged(url, methods, sends=sends, carries=carries)


def _judged(urls: tuple[Argument, ...], methods: list[str], *, sends: bool, carries: bool) -> Iterator[Finding]:
    is_local = bool(urls) and all(_LOOPBACK.match(url.text) for url in urls)
    if not _DESTROYING.isdisjoint(methods):
        yield _destroys()
    elif any(_METADATA.match(url.text) for url in urls):
        yield Finding("dangerous", "credentials", "asks a metadata service for credentials", outside=True)
    elif any(UNKNOWN in method for method in methods):
        yield _sends()
    elif sends or any(method not in _SENDING for method in methods):
        if not is_local:
            yield _sends()
        elif any(_DESTROYING_URL.search(url.text) for url in urls):
            yield _destroys()
    elif not is_local and (carries or any(_tells(url.text) for url in urls)):
        yield _sends()


def _tells(url: str) -> bool:
    """Whether a name or a path that nobody knows goes out behind a host, or as a part of it: `…/?q=$(cat x)`."""
    rest = re.sub(r"^(?:https?|ftp|dict|gopher)://", "", url)
    return (
        UNKNOWN in rest
        and not rest.startswith(UNKNOWN + "/")
        and rest != UNKNOWN
        and not re.fullmatch(rf"[^/{UNKNOWN}]+:{UNKNOWN}(?:/[^{UNKNOWN}]*)?", rest)
    )


def _carries(header: Argument) -> bool:
    return header.text.startswith("@") or UNKNOWN in header.text


def _carries_cookie(value: Argument) -> bool:
    return value.text.startswith("@") or "=" not in value.text or UNKNOWN in value.text


def _forge(call: Invocation) -> Iterator[Finding]:
    words = sort_words(call.arguments, "XfFHRq", _FORGE_VALUES)
    plain = words.plain
    if plain[:1] == ("api",):
        methods = [value.text.upper() for value in words.values("-X", "--method")]
        is_graphql = plain[1:] == ("graphql",)
        if "DELETE" in methods or (is_graphql and any(map(_DELETION.search, texts(call.arguments)))):
            yield _destroys()
        elif _changes_by_api(words, methods) and not (is_graphql and _only_queries(words)):
            yield Finding("dangerous", "infrastructure", "changes things on GitHub", outside=True)
        return
    match plain:
        case ("auth", "token", *_):
            yield Finding("dangerous", "credentials", "shows a token", outside=True)
        case ("auth", "status", *_) if words.has("-t", "--show-token"):
            yield Finding("dangerous", "credentials", "shows a token", outside=True)
    if not _FORGE_CHANGES.isdisjoint(plain[1:2]):
        yield Finding("dangerous", "infrastructure", "changes things on GitHub", outside=True)
    if plain[:2] in (("extension", "install"), ("alias", "set")):
        yield Finding("dangerous", "remote code", "installs an extension that runs code")


def _only_queries(words: Words) -> bool:
    """Whether what GraphQL is asked is all there, and changes nothing."""
    fields = words.values("-f", "-F", "--field", "--raw-field")
    return not words.has("--input") and not any(_MUTATION.search(field.text) for field in fields)


def _changes_by_api(words: Words, methods: list[str]) -> bool:
    if methods:
        return any(method != "GET" for method in methods)
    return bool(words.values("-f", "-F", "--field", "--raw-field", "--input"))


_JUDGES: Mapping[str, Callable[[Invocation], Iterator[Finding]]] = {
    **dict.fromkeys(_CURLS, _curl),
    **dict.fromkeys(_WGETS, _wget),
    **dict.fromkeys(_CLIENTS, _httpie),
    **dict.fromkeys(_FORGES, _forge),
    **dict.fromkeys(_NAME_SERVICES, _look_up),
    **dict.fromkeys(_STREAMERS, _stream),
}  # fmt: skip


# Databases by their own clients; SQL is a script (`inline.py`).

_REDIS = re.compile(
    r"flush(?:all|db)|del|unlink|config|shutdown|debug|script|eval|evalsha|module|slaveof|replicaof|migrate"
    r"|save|bgsave|rename|swapdb|acl|cluster|failover|bgrewriteaof|restore|getdel|hdel|lrem|ltrim|srem"
    r"|zrem\w*|xdel|xtrim|client|reset|spop",
    re.IGNORECASE,
)
_MONGO = re.compile(
    r"drop(?:Database|Index\w*|User|Role|All\w*)?\s*\(|\.(?:deleteMany|deleteOne|remove|findOneAndDelete"
    r"|bulkWrite|updateMany|renameCollection|shutdownServer|rename|\$where)\s*\(",
    re.IGNORECASE,
)
_MONGO_ASKS = re.compile(
    r"find(?:One)?|count\w*|estimatedDocumentCount|distinct|getIndexes|get(?:Collection|Sibling|DB|Name)\w*"
    r"|stats|explain|limit|skip|sort|pretty|toArray|forEach|map|print\w*|version|serverStatus|listDatabases"
    r"|hello|ObjectId|ISODate|Date|projection|hint|size|length|isoDate|tojson"
)
_CYPHER = re.compile(r"\b(?:delete|remove|drop)\b", re.IGNORECASE)
_TOOLS = re.compile(
    r"drop(?:db|user|lang)|mysqladmin|mongorestore|pg_resetwal|pg_ctl|pg_dropcluster|initdb|createuser"
    r"|pg_restore|mysql_secure_installation|mysql_install_db|influxd?|cqlsh|cypher-shell|nodetool"
    r"|rabbitmqctl|rabbitmqadmin|kafka-\S+|zookeeper-shell\S*|zkCli\S*|etcdctl|consul|curator_cli"
    r"|elasticsearch-\S+|neo4j-admin|cockroach|clickhouse\S*|couchdb|memcached-tool|nats|pulsar-admin"
)
_TOOLS_DROP = re.compile(
    r"(?:drop|delete|purge|remove|reset|destroy|truncate|flush|decommission|shutdown|clean|wipe|rmr|del|stop"
    r"|kill|clear|force|promote|stop_app|unregister|forget|evict)(?:[-_]\w+)*|--(?:delete\S*|drop\S*|clean"
    r"|force\S*|purge)",
    re.IGNORECASE,
)


def judge_databases(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """What `call` deletes from a database."""
    program, given = call.program.casefold(), texts(call.arguments)
    why = "deletes database content"
    if program in {"redis-cli", "valkey-cli", "keydb-cli", "iredis"}:
        told = (word for line in call.input.text.splitlines() for word in line.split()[:1])
        if any(_REDIS.fullmatch(text) for text in (*_redis_words(given), *told)):
            yield Finding("dangerous", "sql", why, outside=True)
        elif call.input.kind in {"command", "unknown"} or any(text == UNKNOWN for text in given):
            yield Finding("dangerous", "sql", "runs commands in a database that are not known", outside=True)
    elif program in {"mongosh", "mongo"}:
        script = " ".join((*given, call.input.text))
        if _MONGO.search(script):
            yield Finding("dangerous", "sql", why, outside=True)
        elif _only_asks(script):
            return
        elif "--eval" in given or any(text.startswith("--eval=") for text in given) or call.input.kind == "command":
            yield Finding("dangerous", "inline script", "runs an inline script", outside=True)
    elif (
        (program in {"dropdb", "dropuser", "droplang", "pg_dropcluster", "pg_resetwal"} and "--help" not in given)
        or (program == "cypher-shell" and _CYPHER.search(f"{given} {call.input.text}"))
        or (program in {"nc", "ncat", "memcat", "telnet"} and "flush_all" in call.input.text)
        or (
            _TOOLS.fullmatch(program)
            and any(_TOOLS_DROP.fullmatch(text) for text in (*given, *call.input.text.split()))
        )
    ):
        yield Finding("dangerous", "sql", why, outside=True)


def _only_asks(script: str) -> bool:
    called = re.findall(r"\b(\w+)\s*\(", script)
    return bool(called) and all(_MONGO_ASKS.fullmatch(name) for name in called)


def _redis_words(given: tuple[str, ...]) -> tuple[str, ...]:
    """What follows the options, each of which may take one word."""
    rest = list(given)
    while rest and rest[0].startswith("-"):
        takes = re.fullmatch(r"-[hpansuiDrdc]|--(?:user|pass|uri|tls\S*|cacert|cert|key|sni)", rest[0]) is not None
        rest = rest[2 if takes else 1 :]
    return tuple(word for text in rest for word in text.split())[:1]
