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


def is_about_environment(call: Invocation) -> bool:
    """Whether `call` prints every variable of the environment."""
    given = texts(call.arguments)
    match call.program:
        case "env" | "printenv":
            return all(text in {"-0", "--null", "-v"} for text in given)
        case "set":
            return not given
        case "export" | "declare" | "typeset" | "readonly":
            return all(re.fullmatch(r"-[px]+", text) for text in given)
        case "compgen":
            return given[:1] == ("-v",) or given[:1] == ("-e",)
        case "ps":
            return _shows_environments(given)
        case _:
            return False


def looks_for_harmless_names(call: Invocation) -> bool:
    """Whether `call` lets only few, harmless variables through: `env | grep PATH`."""
    if call.program not in {"grep", "egrep", "rg"}:
        return False
    words = sort_words(call.arguments, "emABC", ("--regexp",))
    patterns = (*words.values("-e", "--regexp"), *words.operands)
    return (
        len(patterns) == 1
        and not words.has("-v", "-L", "--invert-match", "-f")
        and patterns[0].is_known
        and re.fullmatch(r"\^?[\w|\\()=-]{3,}", patterns[0].text) is not None
        and not re.search(r"key|tok|sec|pass|pwd|cred|auth|api|priv|dsn|url|aws|_", patterns[0].text, re.IGNORECASE)
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
    elif call.program in {"printenv", "echo", "declare", "export"} and any(
        _SECRET_NAME.search(text) for text in texts(call.arguments) if call.program == "printenv"
    ):
        yield Finding("dangerous", "credentials", "shows a secret of the environment")


def _shows_environments(given: tuple[str, ...]) -> bool:
    skip = False
    for text in given:
        if skip:
            skip = False
            continue
        if text.startswith("-"):
            skip = bool(re.fullmatch(r"-\w*[oOpCuUgGtsqk]", text))
        elif re.fullmatch(r"[a-zA-Z]+", text):
            if "e" in re.sub(r"[opOUtqk].*", "", text):
                return True
            skip = bool(re.search(r"[opOUtqk]$", text))
    return False


def _shows_secrets(call: Invocation) -> bool:
    """Whether a keeper of secrets is asked for one."""
    asked = _ASKS.get(call.program)
    return asked is not None and re.search(asked, " ".join(texts(call.arguments))) is not None
