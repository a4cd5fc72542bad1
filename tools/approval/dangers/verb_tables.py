"""The words that tell what a client does, and the programs whose words mean something else."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
