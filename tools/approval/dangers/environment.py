"""The variables of the environment, which may hold secrets: who shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tools.approval.dangers.finding import Finding
from tools.approval.dangers.places import Scene
from tools.approval.dangers.words import sort_words, texts
from tools.bash.reading import Invocation

_ANY_ENTRY = r"^(?!(?:ls|list|find|version|help|git|login|status|--version|--help)\b)."
# What is searched in the arguments of a keeper of secrets.
_ASKS: Mapping[str, str] = {
    **dict.fromkeys(("gpg", "gpg2"), r"--export-secret|--decrypt|(?:^| )-d "),
    **dict.fromkeys(
        ("pass", "gopass", "op", "bw", "lpass", "keepassxc-cli", "secret-tool", "kwallet-query", "chamber", "doppler",
         "infisical", "teller", "git-credential-store", "docker-credential-desktop", "docker-credential-osxkeychain"),
        _ANY_ENTRY,
    ),
    "security": r"find-\S*password|dump-keychain|export",
    **dict.fromkeys(("sops", "ansible-vault", "age", "eyaml"),
    r"(?:^| )(?:-d|--decrypt|decrypt|view|edit|exec-env)\b"),
    "vault": r"^(?:read|print|kv get|token)\b",
    **dict.fromkeys(("rails", "bundle"), r"\bcredentials:"),
    "aws": r"configure (?:get|export-credentials)|get-secret-value|get-session-token|--with-decryption"
           r"|get-login-password|get-authorization-token|assume-role",
    **dict.fromkeys(("gcloud", "az"),
    r"(?:access|identity)-token|print-credentials|secrets? versions access|keyvault secret show"),
    "heroku": r"^(?:config|config:get|auth:token)\b",
    **dict.fromkeys(("npm", "yarn", "pnpm"), r"(?i)_auth"),
    "kubectl": r"\bget\b.*\bsecrets?\b.* -o|create token|config view.*--raw",
}  # fmt: skip
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:\w*KEY|\w*TOKEN|\w*SECRET\w*|\w*PASS(?:WORD|WD)?|\w*CREDENTIALS?|AUTH|PAT|DSN)(?:_|$)", re.IGNORECASE
)
_PRINTS_NO_OTHERS = frozenset({"-i", "-i0", "-0i", "--ignore-environment", "--help", "--version"})
# Options of a search that adds no line to those with the pattern.
_SHOWS_NO_OTHERS = re.compile(
    r"-[iEFPGwxoncqsem]|--(?:regexp|max-count|ignore-case|extended-regexp|colou?r\S*|count|quiet)"
)
_NAMES = re.compile(r"\^?(?:\\?\()?\^?[A-Za-z\d-]{3,}=?(?:\\?\|\^?[A-Za-z\d-]{3,}=?)*(?:\\?\))?=?")
_TELLING = re.compile(r"key|tok|sec|pass|pwd|cred|auth|api|priv|dsn|url|aws", re.IGNORECASE)


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
        and not _TELLING.search(patterns[0].text)
    )


def judge_environment(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """Which variables of the environment `call` shows."""
    if _shows_secrets(call):
        yield Finding("dangerous", "credentials", f"shows secrets through {call.program}", outside=True)
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


def _shows_secrets(call: Invocation) -> bool:
    """Whether a keeper of secrets is asked for one."""
    asked = _ASKS.get(call.program)
    return asked is not None and re.search(asked, " ".join(texts(call.arguments))) is not None
