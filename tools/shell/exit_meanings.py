"""What single exit codes mean: which are answers and no failures, and which tell more than their number."""

from __future__ import annotations

from collections.abc import Mapping

_NO_MATCH = "1 means: no match."
_DIFFER = "1 means: they differ."
_FALSE = "1 means: the condition is false."
_NOT_FOUND = "1 means: it was not found."
_TESTS_FAILED = "1 means: it ran, and tests failed."
_FINDINGS = "1 means: it ran, and found problems."
_WOULD_CHANGE = "1 means: it ran, and files would be changed."

ANSWERS: Mapping[tuple[str, int], str] = {
    **{(name, 1): _NO_MATCH for name in ("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "git grep", "pgrep")},
    **{(name, 1): _DIFFER for name in ("diff", "cmp", "colordiff", "git diff", "zdiff", "sdiff")},
    **{(name, 1): _FALSE for name in ("test", "[", "[[", "expr", "jq", "((")},
    **{(name, 1): _NOT_FOUND for name in ("which", "type", "hash", "command -v", "git config")},
    ("git merge-base", 1): "1 means: no.",
    ("git check-ignore", 1): "1 means: none of them is ignored.",
    ("git show-ref", 1): _NOT_FOUND,
    ("git ls-remote", 2): "2 means: there is no such reference.",
    ("terraform plan", 2): "2 means: there are changes to apply.",
    ("dnf check-update", 100): "100 means: there are updates.",
    ("yum check-update", 100): "100 means: there are updates.",
    ("systemctl is-active", 3): "3 means: it is not active.",
    ("systemctl status", 3): "3 means: it is not running.",
    ("npm outdated", 1): "1 means: there are newer versions.",
}
"""(program, exit code) of answers: nothing went wrong."""

FAILURES: Mapping[tuple[str, int], str] = {
    ("grep", 2): "grep had an error: a bad pattern, or a file that cannot be read.",
    ("diff", 2): "diff had trouble: a file is missing or cannot be read.",
    ("curl", 3): "The URL is malformed.",
    ("curl", 5): "The proxy's name could not be resolved.",
    ("curl", 6): "The host's name could not be resolved.",
    ("curl", 7): "The connection was refused or the host cannot be reached.",
    ("curl", 18): "The transfer ended before all data came.",
    ("curl", 22): "The server answered with an HTTP error.",
    ("curl", 23): "The output could not be written.",
    ("curl", 28): "curl's own time limit passed.",
    ("curl", 35): "The TLS handshake failed.",
    ("curl", 47): "Too many redirects.",
    ("curl", 52): "The server answered nothing.",
    ("curl", 56): "The connection broke while receiving.",
    ("curl", 60): "The server's certificate is not trusted.",
    ("wget", 4): "The network failed: the host was not found or not reached.",
    ("wget", 5): "The server's certificate is not trusted.",
    ("wget", 6): "The server wants a user name and password.",
    ("wget", 8): "The server answered with an HTTP error.",
    **{(name, 1): _TESTS_FAILED for name in ("pytest", "jest", "vitest", "mocha", "go test", "tox", "nox")},
    ("pytest", 2): "The run was interrupted: often an error while collecting tests.",
    ("pytest", 3): "pytest itself failed.",
    ("pytest", 4): "pytest was used wrongly: an unknown option or path.",
    ("pytest", 5): "No tests were collected.",
    ("cargo test", 101): "Tests failed, or it did not compile.",
    ("cargo", 101): "It did not compile, or it panicked.",
    **{(name, 1): _FINDINGS for name in ("ruff", "mypy", "flake8", "eslint", "shellcheck", "pyright", "yamllint")},
    ("eslint", 2): "eslint itself failed: usually its configuration.",
    ("mypy", 2): "mypy itself failed: its message says why.",
    ("ruff", 2): "ruff itself failed: bad options or configuration.",
    ("tsc", 1): "It found type errors and wrote nothing.",
    ("tsc", 2): "It found type errors, and wrote its output all the same.",
    ("black", 1): _WOULD_CHANGE,
    ("prettier", 1): _WOULD_CHANGE,
    ("black", 123): "black could not read a file: usually a syntax error.",
    ("make", 2): "make stopped at an error: the first one above is the cause.",
    ("git", 128): "git refused; its message says why.",
    ("git", 129): "git does not know this option.",
    ("git merge", 1): "There are conflicts to resolve.",
    ("git rebase", 1): "It stopped: resolve the conflicts, or abort.",
    ("git apply", 1): "The patch does not apply.",
    ("patch", 1): "Some hunks were rejected: see the .rej files.",
    ("rsync", 12): "The protocol's stream broke: often rsync is missing on the other side.",
    ("rsync", 23): "Some files were not transferred.",
    ("rsync", 24): "Some files vanished before they were transferred.",
    ("rsync", 30): "rsync's own time limit passed.",
    ("ssh", 255): "ssh itself failed: no connection, or no permission (nothing can be typed here).",
    ("scp", 255): "ssh itself failed: no connection, or no permission (nothing can be typed here).",
    ("sftp", 255): "ssh itself failed: no connection, or no permission (nothing can be typed here).",
    ("timeout", 125): "`timeout` itself failed.",
    ("docker", 125): "docker itself failed; its message says why.",
    ("terraform", 1): "terraform had an error.",
    ("terraform plan", 1): "terraform had an error.",
    ("apt-get", 100): "apt had an error: a package was not found, a lock is held, or there is no network.",
    ("apt", 100): "apt had an error: a package was not found, a lock is held, or there is no network.",
    ("find", 1): "Some places could not be read; what was found is above.",
    ("ls", 2): "It is not there, or cannot be read.",
    ("xargs", 123): "One of the commands that it ran failed.",
    ("ping", 1): "No answer came.",
    ("ping", 2): "The host's name could not be resolved, or there is no network.",
}
"""(program, exit code) of failures that tell more than that."""

GENERAL: Mapping[int, str] = {
    124: "Usually: the `timeout` program ended it.",
    126: "It was found but cannot be executed (permissions, or not a program).",
    127: "The command was not found: check its name, or install it.",
    129: "Ended by SIGHUP: its terminal went away.",
    130: "Ended by SIGINT.",
    131: "Ended by SIGQUIT.",
    132: "Ended by SIGILL: the program does not fit this processor, or crashed.",
    134: "Ended by SIGABRT: it crashed.",
    135: "Ended by SIGBUS: it crashed.",
    136: "Ended by SIGFPE: an arithmetic error such as a division by zero.",
    137: "Ended by SIGKILL: often out of memory.",
    139: "Ended by SIGSEGV: it crashed (segmentation fault).",
    141: "Ended by SIGPIPE: the reader of its output closed early.",
    143: "Ended by SIGTERM.",
    152: "Ended by SIGXCPU: its limit of processor time passed.",
    153: "Ended by SIGXFSZ: a file became larger than its limit.",
}
"""What shells and most programs mean by a code."""
